//! Models that are run, by the engine in its worker: what `just gate` tests, with the feature.

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

/// A workspace with a model that sets what is negative to nothing.
fn with_relu() -> Shop {
    let shop = shop();
    shop.ok(&["gate", "models", "add", &format!("{}/relu/model.onnx", fixtures()), "--name", "relu"]);
    shop
}

/// A field of a message: bytes.
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

/// An input or output of floats.
fn port(name: &str, shape: &[u64]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|length| part(1, &varint(1, *length))).collect();
    let tensor = [varint(1, 1), part(2, &dims)].concat();
    [part(1, name.as_bytes()), part(2, &part(1, &tensor))].concat()
}

fn node(op: &str, inputs: &[&str], output: &str) -> Vec<u8> {
    let inputs = inputs.iter().flat_map(|input| part(1, input.as_bytes())).collect::<Vec<_>>();
    [inputs, part(2, output.as_bytes()), part(4, op.as_bytes())].concat()
}

/// A weight of whole numbers.
fn longs(name: &str, values: &[i64]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    [varint(1, values.len() as u64), varint(2, 7), part(8, name.as_bytes()), part(9, &raw)].concat()
}

/// A model of these nodes, which takes `x` and gives `y`.
fn model(nodes: &[Vec<u8>], weights: &[Vec<u8>], x: &[u64], y: &[u64]) -> Vec<u8> {
    let nodes = nodes.iter().flat_map(|node| part(1, node)).collect::<Vec<_>>();
    let weights = weights.iter().flat_map(|weight| part(5, weight)).collect::<Vec<_>>();
    let graph = [nodes, part(2, b"test"), weights, part(11, &port("x", x)), part(12, &port("y", y))].concat();
    [varint(1, 8), part(7, &graph), part(8, &varint(2, 13))].concat()
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
fn models_of_onnx_give_what_is_expected() {
    let shop = with_relu();
    let tested = shop.data(&["gate", "test", "relu", &format!("{}/relu", fixtures())]);
    assert_eq!((&tested["expected_match"], &tested["differs"]), (&json!(true), &json!([])), "{tested}");
    assert_eq!(tested["engine"], "tract-onnx 0.23.9");
    assert!(tested["latency_ms"].is_number() && tested["load_ms"].is_number(), "{tested}");
    let y = |data: Value| json!({ "y": { "dtype": "float32", "shape": [1, 2], "data": data, "truncated": false } });
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
        assert_eq!(shop.data(&["gate", "test", "relu", input])["output"], y(data), "{input}");
    }
    shop.ok(&["gate", "routes", "set", "relu", "/v1/relu"]);
    let pb = format!("{}/relu/input_0.pb", fixtures());
    assert_eq!(shop.data(&["gate", "test", "/v1/relu", &pb])["model"], "relu");
    let text = shop.ok(&["gate", "test", "relu", &pb]);
    assert!(text.starts_with("Model 'relu' ran in ") && text.contains("y float32[1,2]: ["), "{text}");
    // What is expected and does not come.
    let folder = shop.scratch.path().join("work/shop/wrong");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::copy(&pb, folder.join("input_0.pb")).expect("a copy");
    let raw = [9.0_f32, 9.0].map(f32::to_le_bytes).concat();
    let expected = [varint(1, 1), varint(1, 2), varint(2, 1), part(9, &raw)].concat();
    std::fs::write(folder.join("output_0.pb"), expected).expect("a file");
    let ran = shop.run(&["--json", "gate", "test", "relu", "wrong"]);
    let tested: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((ran.status, &tested["expected_match"]), (1, &json!(false)), "{ran}");
    assert!(tested["differs"][0].as_str().is_some_and(|differs| differs.starts_with("`y`: element ")), "{tested}");
}

#[test]
fn squeezenet_gives_what_is_expected() {
    let shop = shop();
    shop.ok(&["gate", "models", "add", &format!("{}/squeezenet/model.onnx", fixtures()), "--name", "squeezenet"]);
    // As ONNX's own runner makes it: from 0 to 1 in equal steps.
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
    assert_eq!((&output["shape"], &output["truncated"]), (&json!([1, 1000, 1, 1]), &json!(false)));
}

#[test]
fn x43_a_model_that_expands_past_the_limit_is_stopped() {
    let shop = shop();
    // A kilobyte that asks for 16 GiB.
    let shape = longs("shape", &[1 << 16, 1 << 16]);
    let expanding = model(&[node("Expand", &["x", "shape"], "y")], &[shape], &[1, 1], &[1 << 16, 1 << 16]);
    let begun = Instant::now();
    let error = stopped(&shop, "expand", &expanding, "[1]");
    assert_eq!(error["details"]["kind"], "memory_limit", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    // Once more by an agent: its server lives on.
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

#[test]
fn x43_a_broken_graph_is_told_and_the_worker_is_all_that_ends() {
    let shop = shop();
    // A node that takes what nobody gives.
    let broken = model(&[node("Relu", &["nothing"], "y")], &[], &[1, 2], &[1, 2]);
    let error = stopped(&shop, "broken", &broken, "[1, 2]");
    assert!(["engine", "crashed"].iter().any(|kind| error["details"]["kind"] == *kind), "{error}");
    // The graph's header is sound, what is in its node is not.
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
    // Products of 3000 x 3000 numbers, one after the other: minutes of them.
    const PRODUCTS: usize = 4000;
    let output = |n: usize| if n == PRODUCTS { "y".to_owned() } else { format!("t{n}") };
    let widened = node("Expand", &["x", "shape"], "t0");
    let product = |n: usize| node("MatMul", &[&output(n - 1), "t0"], &output(n));
    let nodes: Vec<Vec<u8>> = std::iter::once(widened).chain((1..=PRODUCTS).map(product)).collect();
    let shape = longs("shape", &[3000, 3000]);
    let endless = model(&nodes, &[shape], &[1, 1], &[3000, 3000]);
    let begun = Instant::now();
    let error = stopped(&shop, "endless", &endless, "[1]");
    assert_eq!(error["details"]["kind"], "time_limit", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(90));
}
