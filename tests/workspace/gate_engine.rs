//! Tests of running models with the engine in its worker. They need the cargo feature `gate-onnx`, so `just gate` runs
//! them.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gate::{RELU, fixtures};
use super::shop::Shop;

fn shop() -> Shop {
    let shop = Shop::bare();
    shop.scratch.file("work/shop/.smctl/workspace.toml", "[workspace]\nname = \"shop\"\n");
    shop
}

/// Returns a workspace with a model that replaces negative numbers with zero.
fn with_relu() -> Shop {
    let shop = shop();
    shop.ok(&["gate", "models", "add", &format!("{}/relu/model.onnx", fixtures()), "--name", "relu"]);
    shop
}

/// Encodes a field of a protobuf message that contains bytes.
fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut part = vec![number << 3 | 2];
    let mut size = bytes.len();
    while size >= 0x80 {
        part.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    part.push(size as u8);
    [part, bytes.to_vec()].concat()
}

fn varint(number: u8, mut value: u64) -> Vec<u8> {
    let mut field = vec![number << 3];
    while value >= 0x80 {
        field.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    field.push(value as u8);
    field
}

/// Encodes an input or output of floats.
fn port(name: &str, shape: &[u64]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|length| part(1, &varint(1, *length))).collect();
    let tensor = [varint(1, 1), part(2, &dims)].concat();
    [part(1, name.as_bytes()), part(2, &part(1, &tensor))].concat()
}

fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| part(1, input.as_bytes())).collect::<Vec<_>>();
    [inputs, part(2, output.as_bytes()), part(4, op.as_bytes())].concat()
}

/// Encodes a weight that contains integers.
fn longs(name: &str, values: &[i64]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [varint(1, values.len() as u64), varint(2, 7), part(8, name.as_bytes()), part(9, &raw)].concat()
}

/// Encodes a model of these nodes with the input `x` and the output `y`.
fn model(nodes: &[Vec<u8>], weights: &[Vec<u8>], x: &[u64], y: &[u64]) -> Vec<u8> {
    model_with(nodes, weights, &[port("x", x)], &[port("y", y)], 13)
}

/// Encodes a model of these nodes for this version of ONNX's operators.
fn model_with(nodes: &[Vec<u8>], weights: &[Vec<u8>], takes: &[Vec<u8>], gives: &[Vec<u8>], version: u64) -> Vec<u8> {
    let all = |number, parts: &[Vec<u8>]| parts.iter().flat_map(|one| part(number, one)).collect::<Vec<_>>();
    let graph = [all(1, nodes), part(2, b"test"), all(5, weights), all(11, takes), all(12, gives)].concat();
    [varint(1, 8), part(7, &graph), part(8, &varint(2, version))].concat()
}

/// Encodes an input of integers.
fn longs_port(name: &str, shape: &[u64]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|length| part(1, &varint(1, *length))).collect();
    let tensor = [varint(1, 7), part(2, &dims)].concat();
    [part(1, name.as_bytes()), part(2, &part(1, &tensor))].concat()
}

/// Encodes an attribute whose value is a string.
fn text_attribute(name: &str, text: &str) -> Vec<u8> {
    let attribute = [part(1, name.as_bytes()), part(4, text.as_bytes()), vec![0xa0, 1, 3]].concat();
    part(5, &attribute)
}

/// Registers a model, and runs it.
#[track_caller]
fn ran(shop: &Shop, name: &str, model: &[u8], input: &str) -> Value {
    let file = shop.scratch.file(&format!("work/shop/{name}.onnx"), model).display().to_string();
    shop.ok(&["gate", "models", "add", &file]);
    shop.scratch.file("work/shop/input.json", input);
    shop.data(&["gate", "test", name, "input.json"])
}

/// Registers a model, runs it, and returns the error.
#[track_caller]
fn stopped(shop: &Shop, name: &str, model: &[u8], input: &str) -> Value {
    let file = shop.scratch.file(&format!("work/shop/{name}.onnx"), model).display().to_string();
    shop.ok(&["gate", "models", "add", &file]);
    shop.scratch.file("work/shop/input.json", input);
    let (error, exit) = shop.refused(&["gate", "test", name, "input.json"]);
    assert_eq!((exit, &error["code"]), (1, &json!("E_GATE_FAILED")), "{error}");
    error
}

#[test]
fn models_of_onnx_give_the_expected_output() {
    let shop = with_relu();
    let tested = shop.data(&["gate", "test", "relu", &format!("{}/relu", fixtures())]);
    assert_eq!((&tested["expected_match"], &tested["differs"]), (&json!(true), &json!([])), "{tested}");
    assert_eq!(tested["engine"], "tract-onnx 0.23.9");
    assert!(tested["latency_ms"].is_number() && tested["load_ms"].is_number(), "{tested}");
    shop.scratch.file("work/shop/flat.json", "[0.1, -1]");
    shop.scratch
        .file("work/shop/whole.json", r#"{"x": {"dtype": "float32", "shape": [1, 2], "data": [-0.5, "Infinity"]}}"#);
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n";
    let npy = [
        b"\x93NUMPY\x01\x00",
        &(header.len() as u16).to_le_bytes()[..],
        header.as_bytes(),
        &1.5_f32.to_le_bytes(),
        &(-1.0_f32).to_le_bytes(),
    ];
    shop.scratch.file("work/shop/x.npy", npy.concat());
    for (input, data) in
        [("flat.json", json!([0.1, 0.0])), ("whole.json", json!([0.0, "Infinity"])), ("x.npy", json!([1.5, 0.0]))]
    {
        let output = &shop.data(&["gate", "test", "relu", input])["output"]["y"];
        assert_eq!((&output["data"], &output["shape"]), (&data, &json!([1, 2])), "{input}");
    }
    shop.ok(&["gate", "routes", "set", "relu", "/v1/relu"]);
    let pb = format!("{}/relu/input_0.pb", fixtures());
    assert_eq!(shop.data(&["gate", "test", "/v1/relu", &pb])["model"], "relu");
    let text = shop.ok(&["gate", "test", "relu", &pb]);
    assert!(text.starts_with("Model 'relu' ran in ") && text.contains("y float32[1,2]: ["), "{text}");
    // The model's output differs from the expected one.
    let folder = shop.scratch.path().join("work/shop/wrong");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::copy(&pb, folder.join("input_0.pb")).expect("a copy");
    let raw = [9.0_f32, 9.0].map(f32::to_le_bytes).concat();
    let expected = [varint(1, 1), varint(1, 2), varint(2, 1), part(9, &raw)].concat();
    std::fs::write(folder.join("output_0.pb"), expected).expect("a file");
    let ran = shop.run(&["--json", "gate", "test", "relu", "wrong"]);
    let tested: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.status, &tested["expected_match"]), (1, &json!(false)), "{ran}");
    assert!(
        tested["differs"][0]
            .as_str()
            .is_some_and(|differs| differs.starts_with("`y`: 2 of 2 elements differ; element 0 is ")),
        "{tested}"
    );
    let near = shop.run(&["--json", "gate", "test", "relu", "wrong", "--rtol", "0", "--atol", "100"]);
    assert!(near.status == 0 && near.stdout.contains("\"expected_match\": true"), "{near}");
    let wrong = shop.run(&["gate", "test", "relu", "wrong", "--atol=-1"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("it must be 0 or more"), "{wrong}");
}

#[test]
fn squeezenet_gives_the_expected_output() {
    let shop = shop();
    shop.ok(&["gate", "models", "add", &format!("{}/squeezenet/model.onnx", fixtures()), "--name", "squeezenet"]);
    // The same input as in ONNX's own runner: from 0 to 1 in equal steps.
    let count = 3 * 224 * 224_u32;
    let raw: Vec<u8> = (0..count).flat_map(|n| ((f64::from(n) / f64::from(count)) as f32).to_le_bytes()).collect();
    let dims: Vec<u8> = [1, 3, 224, 224].into_iter().flat_map(|length| varint(1, length)).collect();
    let input = [dims, varint(2, 1), part(9, &raw)].concat();
    shop.scratch.file("work/shop/data/input_0.pb", input);
    let expected = std::fs::read(format!("{}/squeezenet/output_0.pb", fixtures())).expect("an output");
    shop.scratch.file("work/shop/data/output_0.pb", expected);
    let tested = shop.data(&["gate", "test", "squeezenet", "data"]);
    assert_eq!((&tested["expected_match"], &tested["differs"]), (&json!(true), &json!([])));
    let output = &tested["output"]["softmaxout_1"];
    assert_eq!((&output["shape"], &output["truncated"]), (&json!([1, 1000, 1, 1]), &json!(true)));
    assert_eq!(output["data"].as_array().map(Vec::len), Some(32));
    assert_eq!((&output["min"], &output["max"], &output["argmax"]), (&json!(0.001), &json!(0.001), &json!(0)));
    shop.ok(&["gate", "test", "squeezenet", "data", "--output", "all.json"]);
    let all = std::fs::read(shop.scratch.path().join("work/shop/all.json")).expect("the outputs");
    let all: Value = serde_json::from_slice(&all).expect("JSON");
    assert_eq!(all["softmaxout_1"]["data"].as_array().map(Vec::len), Some(1000));
}

#[test]
fn x43_a_model_that_expands_past_the_limit_is_stopped() {
    let shop = shop();
    // A model of one kilobyte that needs 16 GiB.
    let shape = longs("shape", &[1 << 16, 1 << 16]);
    let large = |y: &[u64]| model(&[node("Expand", &["x", "shape"], "y")], std::slice::from_ref(&shape), &[1, 1], y);
    // If the header declares this size, the model cannot even be registered.
    let file = shop.scratch.file("work/shop/large.onnx", large(&[1 << 16, 1 << 16])).display().to_string();
    let (error, _) = shop.refused(&["gate", "models", "add", &file]);
    assert_eq!(error["details"]["kind"], "too_large", "{error}");
    let expanding = large(&[]);
    let begun = Instant::now();
    let error = stopped(&shop, "expand", &expanding, "[1]");
    assert_eq!(error["details"]["kind"], "memory_limit", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    // An agent's server survives the same call.
    let mut client = shop.client(&["--as", "smctl"]);
    let error = client.error(
        "tools/call",
        json!({ "name": "smctl_gate_test", "arguments": { "model": "expand", "input": "input.json" } }),
    );
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32000), &json!("memory_limit")), "{error}");
    let status = client.result("tools/call", json!({ "name": "smctl_gate_status", "arguments": {} }));
    assert_eq!(status["structuredContent"]["status"], "healthy");
    client.finish();
}

#[test]
fn operators_that_the_engine_does_not_have_are_named() {
    let shop = shop();
    let unknown = model(&[node("Teleport", &["x"], "y")], &[], &[1, 2], &[1, 2]);
    let error = stopped(&shop, "teleport", &unknown, "[1, 2]");
    assert_eq!(error["details"]["kind"], "unsupported_operator", "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("Teleport")), "{error}");
}

/// Tests models for which the engine's result could differ from ONNX's.
#[test]
fn models_that_the_engine_would_get_wrong_are_refused_by_name() {
    let shop = shop();
    let (x, y) = (port("x", &[1, 2]), port("y", &[1, 2]));
    let relu = node("Relu", &["x"], "y");
    let one =
        |node: Vec<u8>, version| model_with(&[node], &[], std::slice::from_ref(&x), std::slice::from_ref(&y), version);
    let of_domain = |operator: &str, domain: &str| [node(operator, &["x"], "y"), part(7, domain.as_bytes())].concat();
    let reverse =
        |operator: &str| [node(operator, &["x", "w", "r"], "y"), text_attribute("direction", "reverse")].concat();
    let alpha = [part(1, b"alpha"), vec![0x15], 2.0_f32.to_le_bytes().to_vec(), vec![0xa0, 1, 1]].concat();
    let swish = [node("Swish", &["x"], "y"), part(5, &alpha)].concat();
    let crd = [node("SpaceToDepth", &["x"], "y"), text_attribute("mode", "CRD")].concat();
    // A function of the model that has the name of an operator.
    let function = part(2, &[part(1, b"Relu"), part(10, b"")].concat());
    let function = [&[0xca, 0x01][..], &function[1..]].concat();
    for (n, (model, named)) in [
        (one(of_domain("Neg", "com.evil"), 13), "com.evil:Neg"),
        (one(of_domain("Neg", "ai.onnx.ml"), 13), "ai.onnx.ml:Neg"),
        (one(of_domain("Normalizer", ""), 13), "Normalizer"),
        (one(reverse("RNN"), 14), "RNN with direction \"reverse\""),
        (one(reverse("GRU"), 14), "GRU with direction \"reverse\""),
        (one(reverse("LSTM"), 14), "LSTM with direction \"reverse\""),
        (one(relu.clone(), 29), "version 29"),
        (one(relu.clone(), 99), "version 99"),
        (one(relu.clone(), 1 << 31), "version 2147483648"),
        (one(swish, 24), "Swish with an alpha other than 1"),
        (one(crd, 28), "SpaceToDepth with mode \"CRD\""),
        (one(node("BitShift", &["x", "counts"], "y"), 28), "BitShift with shift counts"),
        ([one(relu.clone(), 13), function].concat(), "Relu, which the model itself defines"),
    ]
    .into_iter()
    .enumerate()
    {
        let error = stopped(&shop, &format!("m{n}"), &model, "[-1, 2]");
        assert_eq!(error["details"]["kind"], "unsupported_operator", "{named}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{named}: {error}");
    }
    assert_eq!(ran(&shop, "relu28", &one(relu, 28), "[-1, 2]")["output"]["y"]["data"], json!([0.0, 2.0]));
}

#[test]
fn models_with_computed_or_wrongly_declared_shapes_run() {
    let shop = shop();
    // The shape is an input, so the engine can compute the output's shape only from its value.
    let reshape = node("Reshape", &["x", "shape"], "y");
    let takes = [port("x", &[2, 3]), longs_port("shape", &[2])];
    let model = model_with(&[reshape], &[], &takes, &[port("y", &[3, 2])], 13);
    let input = r#"{"x": [[1, 2, 3], [4, 5, 6]], "shape": [3, 2]}"#;
    assert_eq!(ran(&shop, "reshape", &model, input)["output"]["y"]["shape"], json!([3, 2]));
    // `value_info` claims a wrong shape for a value inside the graph.
    let nodes = [node("Relu", &["x"], "t"), node("Neg", &["t"], "y")];
    let (any, claimed) = (part(11, &port("x", &[])), part(13, &port("t", &[7, 7])));
    let graph = [nodes.map(|node| part(1, &node)).concat(), any, part(12, &port("y", &[])), claimed].concat();
    let open = |graph: &[u8]| [varint(1, 8), part(7, graph), part(8, &varint(2, 13))].concat();
    let input = r#"{"x": {"dtype": "float32", "shape": [], "data": [-3]}}"#;
    assert_eq!(ran(&shop, "claimed", &open(&graph), input)["output"]["y"]["data"][0].as_f64().map(f64::abs), Some(0.0));
    // A model without inputs.
    let constant =
        model_with(&[node("Shape", &["w"], "y")], &[longs("w", &[5, 6, 7])], &[], &[longs_port("y", &[1])], 13);
    assert_eq!(ran(&shop, "constant", &constant, "{}")["output"]["y"]["data"], json!([3]));
    // A model that outputs dimensions outputs integers.
    let shape = model_with(&[node("Shape", &["x"], "y")], &[], &[port("x", &[2, 3])], &[longs_port("y", &[2])], 13);
    let output = &ran(&shop, "shape", &shape, "[[1, 2, 3], [4, 5, 6]]")["output"]["y"];
    assert_eq!((&output["dtype"], &output["data"]), (&json!("int64"), &json!([2, 3])));
}

#[test]
fn the_maximum_of_infinities_is_infinity() {
    let shop = shop();
    let no_axes = |operator: &str| model(&[node(operator, &["x"], "y")], &[], &[1, 2], &[1, 1]);
    let least = r#"{"x": {"dtype": "float32", "shape": [1, 2], "data": ["-Infinity", "-Infinity"]}}"#;
    assert_eq!(ran(&shop, "max", &no_axes("ReduceMax"), least)["output"]["y"]["data"], json!(["-Infinity"]));
    let most = least.replace('-', "");
    assert_eq!(ran(&shop, "min", &no_axes("ReduceMin"), &most)["output"]["y"]["data"], json!(["Infinity"]));
    assert_eq!(ran(&shop, "largest", &no_axes("ReduceMax"), "[2, -3]")["output"]["y"]["data"], json!([2.0]));
}

#[test]
fn a_wrong_name_of_an_input_is_reported_with_the_nearest_name() {
    let shop = with_relu();
    shop.scratch.file("work/shop/input.json", r#"{"X1": [1, 2]}"#);
    let (error, _) = shop.refused(&["gate", "test", "relu", "input.json"]);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("has no input `X1`; ")), "{error}");
}

/// An answer to an agent is small, however large the model's output is.
#[test]
fn a_large_output_is_an_answer_of_a_few_kilobytes() {
    let shop = shop();
    let expanding =
        model(&[node("Expand", &["x", "shape"], "y")], &[longs("shape", &[1000, 1000])], &[1, 1], &[1000, 1000]);
    let file = shop.scratch.file("work/shop/wide.onnx", &expanding).display().to_string();
    shop.ok(&["gate", "models", "add", &file]);
    shop.scratch.file("work/shop/input.json", "[1.5]");
    let mut client = shop.client(&["--as", "smctl"]);
    let call = json!({ "name": "smctl_gate_test", "arguments": { "model": "wide", "input": "input.json" } });
    let answer = client.result("tools/call", call);
    assert!(answer.to_string().len() < 4 << 10, "{} bytes", answer.to_string().len());
    let y = &answer["structuredContent"]["output"]["y"];
    assert_eq!((&y["shape"], &y["mean"], &y["argmax"]), (&json!([1000, 1000]), &json!(1.5), &json!(0)), "{answer}");
    client.finish();
}

/// While tests of models run, the server answers other requests at once. When it is killed, its workers end too.
#[cfg(target_os = "linux")]
#[test]
fn the_status_does_not_wait_for_tests_and_workers_end_with_their_server() {
    let shop = shop();
    shop.ok(&["gate", "models", "add", &shop.scratch.file("work/shop/endless.onnx", endless()).display().to_string()]);
    shop.scratch.file("work/shop/input.json", "[1]");
    let mut client = shop.client(&["--as", "smctl"]);
    for _ in 0..24 {
        client.post(
            "tools/call",
            json!({ "name": "smctl_gate_test", "arguments": { "model": "endless", "input": "input.json" } }),
        );
    }
    let begun = Instant::now();
    for tool in ["smctl_gate_status", "smctl_gate_models_list"] {
        client.result("tools/call", json!({ "name": tool, "arguments": {} }));
    }
    // A test is stopped only after 30 seconds.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    let pid = client.pid().to_string();
    let workers = || {
        let all = std::fs::read_dir("/proc").expect("processes").flatten().map(|entry| entry.path());
        all.filter(|path| {
            std::fs::read_to_string(path.join("stat")).is_ok_and(|stat| {
                let is_worker = stat.contains("(mcpkg-gate-work") && !stat.contains(") Z ");
                is_worker && stat.rsplit(") ").next().is_some_and(|rest| rest.split(' ').nth(1) == Some(&pid))
            })
        })
        .collect::<Vec<_>>()
    };
    let running = workers();
    assert!(!running.is_empty());
    client.kill();
    let until = Instant::now() + Duration::from_secs(20);
    while running.iter().any(|worker| {
        std::fs::read_to_string(worker.join("stat"))
            .is_ok_and(|stat| stat.contains("(mcpkg-gate-work") && !stat.contains(") Z "))
    }) {
        assert!(Instant::now() < until, "a worker outlived its server");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn x43_a_broken_graph_is_reported_and_ends_only_the_worker() {
    let shop = shop();
    // A node whose input does not exist.
    let broken = model(&[node("Relu", &["nothing"], "y")], &[], &[1, 2], &[1, 2]);
    let error = stopped(&shop, "broken", &broken, "[1, 2]");
    assert!(["engine", "crashed"].iter().any(|kind| error["details"]["kind"] == *kind), "{error}");
    // The graph's header is valid, but a node is not.
    let mut garbled = RELU.to_vec();
    let at = garbled.windows(4).position(|window| window == b"Relu").expect("its operator");
    garbled[at - 2] = 0xff;
    let file = shop.scratch.file("work/shop/garbled.onnx", &garbled).display().to_string();
    if shop.run(&["gate", "models", "add", &file]).status == 0 {
        let (error, _) = shop.refused(&["gate", "test", "garbled", "input.json"]);
        assert_eq!(error["code"], "E_GATE_FAILED", "{error}");
    }
}

#[test]
fn a_worker_opens_no_file_and_limits_itself_before_it_reads() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mcpkg-gate-worker"))
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a worker starts");
    let limits = format!("/proc/{}/limits", child.id());
    let until = Instant::now() + Duration::from_secs(10);
    let read = || std::fs::read_to_string(&limits).unwrap_or_default();
    let limit = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).map(str::to_owned).unwrap_or_default();
        line[name.len().min(line.len())..].split_whitespace().next().unwrap_or_default().to_owned()
    };
    while limit(&read(), "Max open files") != "0" && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let text = read();
    for (name, value) in [
        ("Max open files", "0"),
        ("Max address space", "2147483648"),
        ("Max cpu time", "30"),
        ("Max core file size", "0"),
        ("Max file size", "0"),
    ] {
        assert_eq!(limit(&text, name), value, "{name}:\n{text}");
    }
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(b"\xff\xff\xff\xff").expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("its end");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["stopped"]["kind"], "crashed", "{answer}");
}

#[test]
fn x43_a_model_that_never_ends_is_stopped() {
    let shop = shop();
    let begun = Instant::now();
    let error = stopped(&shop, "endless", &endless(), "[1]");
    assert_eq!(error["details"]["kind"], "time_limit", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(90));
}

/// Returns a model that multiplies matrices of 3000 x 3000 numbers for minutes.
fn endless() -> Vec<u8> {
    const PRODUCTS: usize = 4000;
    let output = |n: usize| if n == PRODUCTS { "y".to_owned() } else { format!("t{n}") };
    let widened = node("Expand", &["x", "shape"], "t0");
    let product = |n: usize| node("MatMul", &[&output(n - 1), "t0"], &output(n));
    let nodes: Vec<Vec<u8>> = std::iter::once(widened).chain((1..=PRODUCTS).map(product)).collect();
    let shape = longs("shape", &[3000, 3000]);
    model(&nodes, &[shape], &[1, 1], &[3000, 3000])
}
