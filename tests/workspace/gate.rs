//! Tests of the embedded gate: models and routes in the database, what agents may name, and what is refused.
//! `gate_engine` tests running models, which needs the cargo feature `gate-onnx`.

use std::path::Path;

use serde_json::{Value, json};

use super::shop::Shop;
use crate::support::Client;

/// A model that replaces negative numbers with zero.
pub const RELU: &[u8] = include_bytes!("../fixtures/onnx/relu/model.onnx");

const SQUEEZENET: &[u8] = include_bytes!("../fixtures/onnx/squeezenet/model.onnx");

/// Returns the folder of ONNX's own models.
pub fn fixtures() -> String {
    format!("{}/tests/fixtures/onnx", env!("CARGO_MANIFEST_DIR"))
}

/// Returns a workspace whose folder contains the file of a model.
fn shop() -> Shop {
    let shop = Shop::bare();
    shop.scratch.file("work/shop/.smctl/workspace.toml", "[workspace]\nname = \"shop\"\n");
    shop.scratch.file("work/shop/models/relu.onnx", RELU);
    shop
}

/// Calls a tool that fails, and returns the error.
#[track_caller]
fn failure(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert!(answer.get("result").is_none(), "{answer}");
    answer["error"].take()
}

#[track_caller]
fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let mut answer = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    assert_eq!(answer["isError"], false, "{answer}");
    answer["structuredContent"].take()
}

/// Returns the number of contents in the database.
fn stored(shop: &Shop) -> i64 {
    shop.scratch.column("SELECT count(*) FROM blob")[0].parse().expect("a number")
}

#[test]
fn models_are_registered_once_and_removed_with_their_routes() {
    let shop = shop();
    let model = shop.data(&["gate", "models", "add", "models/relu.onnx"]);
    let port = |name: &str| json!([{ "name": name, "dtype": "float32", "shape": [1, 2] }]);
    assert_eq!((&model["name"], &model["size_bytes"], &model["opset"]), (&json!("relu"), &json!(98), &json!(9)));
    assert_eq!((&model["inputs"], &model["outputs"]), (&port("x"), &port("y")));
    assert_eq!(model["registered"], true);
    let again = shop.data(&["gate", "models", "add", "models/relu.onnx"]);
    assert_eq!((&again["registered"], &again["sha256"]), (&json!(false), &model["sha256"]));
    // Other bytes under the same name are refused, and are not stored.
    shop.scratch.file("work/shop/other/relu.onnx", SQUEEZENET);
    let before = stored(&shop);
    let (error, exit) = shop.refused(&["gate", "models", "add", "other/relu.onnx"]);
    assert_eq!((exit, &error["code"]), (1, &json!("E_ALREADY_EXISTS")), "{error}");
    assert_eq!(stored(&shop), before);
    shop.ok(&["gate", "models", "add", "other/relu.onnx", "--name", "squeezenet"]);
    // The same bytes under another name are another model with the same content.
    shop.ok(&["gate", "models", "add", "models/relu.onnx", "--name", "relu-2"]);
    assert_eq!(stored(&shop), before + 1);
    let names = |data: &Value| -> Vec<String> {
        let models = data["models"].as_array().expect("models");
        models.iter().map(|model| model["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&shop.data(&["gate", "models", "list"])), ["relu", "relu-2", "squeezenet"]);
    // Another workspace has its own models.
    let elsewhere = shop.scratch.file("work/else/.smctl/workspace.toml", "[workspace]\nname = \"else\"\n");
    let elsewhere = elsewhere.parent().and_then(Path::parent).expect("a folder").display().to_string();
    assert_eq!(shop.data(&["gate", "models", "list", "-w", &elsewhere])["models"], json!([]));
    let route = shop.data(&["gate", "routes", "set", "relu", "/v1/relu"]);
    assert_eq!(
        route["route"],
        json!({ "model": "relu", "endpoint": "/v1/relu", "active": true, "request_count": null })
    );
    shop.ok(&["gate", "routes", "set", "relu-2", "/v1/other", "--inactive"]);
    shop.ok(&["gate", "routes", "set", "relu-2", "/v1/other"]);
    let (error, _) = shop.refused(&["gate", "routes", "set", "rleu", "/v1/relu"]);
    assert_eq!((&error["code"], &error["hints"]), (&json!("E_NOT_FOUND"), &json!(["did you mean 'relu'?"])));
    assert_eq!(shop.refused(&["gate", "routes", "set", "relu", "v1"]).1, 2);
    assert_eq!(shop.data(&["gate", "routes", "list"])["routes"].as_array().map(Vec::len), Some(2));
    // Removing a model needs a confirmation.
    let (error, _) = shop.refused(&["gate", "models", "remove", "relu"]);
    assert_eq!(error["code"], "E_CONFIRM_REQUIRED");
    let removed = shop.data(&["gate", "models", "remove", "relu", "--yes"]);
    assert_eq!((&removed["removed"], removed["routes"].as_array().map(Vec::len)), (&json!("relu"), Some(1)));
    assert_eq!(shop.data(&["gate", "routes", "list"])["routes"].as_array().map(Vec::len), Some(1));
    assert_eq!(stored(&shop), before + 1, "another model has the same content");
    let removed = shop.run(&["gate", "models", "remove", "relu-2", "--yes"]);
    assert!(removed.status == 0 && removed.stderr.contains("mcpkg compact"), "{removed}");
    shop.ok(&["gate", "models", "remove", "squeezenet", "--yes"]);
    assert_eq!(stored(&shop), before - 1);
    assert_eq!(shop.refused(&["gate", "models", "remove", "relu", "--yes"]).0["code"], "E_NOT_FOUND");
    let logs = shop.data(&["gate", "logs", "-n", "3"]);
    let lines = logs["logs"].as_array().expect("lines");
    assert!(lines.len() == 3 && lines[2]["line"].as_str().is_some_and(|line| line.ends_with("E_NOT_FOUND")), "{logs}");
}

#[test]
fn x7_a_dry_run_shows_what_would_be_done_and_changes_nothing() {
    let shop = shop();
    let shown = shop.data(&["gate", "models", "add", "models/relu.onnx", "--dry-run"]);
    assert_eq!((&shown["dry_run"], &shown["model"]["name"]), (&json!(true), &json!("relu")));
    assert_eq!(shop.data(&["gate", "models", "list"])["models"], json!([]));
    shop.ok(&["gate", "models", "add", "models/relu.onnx"]);
    shop.ok(&["gate", "routes", "set", "relu", "/a", "--dry-run"]);
    assert_eq!(shop.data(&["gate", "routes", "list"])["routes"], json!([]));
    assert_eq!(shop.refused(&["gate", "routes", "set", "none", "/a", "--dry-run"]).0["code"], "E_NOT_FOUND");
    let shown = shop.data(&["gate", "models", "remove", "relu", "--dry-run"]);
    assert_eq!((&shown["dry_run"], &shown["removed"]), (&json!(true), &json!("relu")));
    assert_eq!(shop.data(&["gate", "models", "list"])["models"].as_array().map(Vec::len), Some(1));
}

#[test]
fn x43_a_file_that_is_not_a_model_is_refused_and_not_stored() {
    let shop = shop();
    shop.ok(&["gate", "models", "add", "models/relu.onnx"]);
    let before = stored(&shop);
    for (name, bytes, kind) in [
        ("garbage.onnx", &b"\xff\xfe\xfd no model"[..], "not_onnx"),
        ("page.onnx", b"<!doctype html><html></html>", "not_onnx"),
        ("empty.onnx", b"", "not_onnx"),
        ("half.onnx", &RELU[..RELU.len() / 2], "truncated"),
        ("graphless.onnx", &[0x08, 4, 0x42, 2, 0x10, 9], "no_graph"),
        ("external.onnx", &[0x08, 4, 0x42, 2, 0x10, 9, 0x3a, 4, 0x2a, 2, 0x70, 1], "external_data"),
    ] {
        shop.scratch.file(&format!("work/shop/{name}"), bytes);
        let (error, exit) = shop.refused(&["gate", "models", "add", name]);
        assert_eq!(
            (exit, &error["code"], &error["details"]["kind"]),
            (1, &json!("E_GATE_FAILED"), &json!(kind)),
            "{name}: {error}"
        );
    }
    // A sparse file of a gibibyte and one byte.
    let large = std::fs::File::create(shop.root().join("large.onnx")).expect("a file");
    large.set_len((1 << 30) + 1).expect("a sparse file");
    assert_eq!(shop.refused(&["gate", "models", "add", "large.onnx"]).0["details"]["kind"], "too_large");
    assert_eq!(shop.refused(&["gate", "models", "add", "models"]).0["code"], "E_FILE_FAILED");
    assert_eq!(shop.refused(&["gate", "models", "add", "none.onnx"]).0["code"], "E_NOT_FOUND");
    std::fs::rename(shop.root().join("models/relu.onnx"), shop.root().join("a model.onnx")).expect("renamed");
    assert_eq!(shop.refused(&["gate", "models", "add", "a model.onnx"]).1, 2, "its name is none");
    assert_eq!(stored(&shop), before);
}

#[test]
fn x35_an_agents_paths_stay_in_the_workspace() {
    use std::os::unix::fs::symlink;
    let shop = shop();
    let outside = shop.scratch.file("secret/relu.onnx", RELU).display().to_string();
    shop.scratch.file("secret/input.json", "[0.5, -1]");
    symlink(&outside, shop.root().join("link.onnx")).expect("a link");
    symlink(shop.scratch.path().join("secret"), shop.root().join("out")).expect("a link");
    symlink("models", shop.root().join("in")).expect("a link");
    symlink("models/relu.onnx", shop.root().join("beside.onnx")).expect("a link");
    let mut client = shop.client(&["--as", "smctl"]);
    for path in
        ["../../secret/relu.onnx", &outside, "link.onnx", "out/relu.onnx", "beside.onnx", "models/../models/relu.onnx"]
    {
        let error = failure(&mut client, "smctl_gate_models_add", json!({ "path": path }));
        assert_eq!(
            (&error["code"], &error["data"]["code"]),
            (&json!(-32000), &json!("E_IO_INVALID_PATH")),
            "{path}: {error}"
        );
    }
    // A link between folders of the workspace is allowed, and so is an absolute path in the workspace.
    let added = call(&mut client, "smctl_gate_models_add", json!({ "path": "in/relu.onnx" }));
    assert_eq!(added["name"], "relu");
    let absolute = shop.root().canonicalize().expect("a path").join("models/relu.onnx").display().to_string();
    assert_eq!(call(&mut client, "smctl_gate_models_add", json!({ "path": absolute }))["registered"], false);
    symlink(shop.scratch.path().join("secret/input.json"), shop.root().join("input.json")).expect("a link");
    let folder = shop.root().join("data");
    std::fs::create_dir(&folder).expect("a folder");
    symlink(format!("{}/relu/input_0.pb", fixtures()), folder.join("input_0.pb")).expect("a link");
    for input in ["../../secret/input.json", "/etc/passwd", "input.json", "out/input.json", "out", "data"] {
        let error = failure(&mut client, "smctl_gate_test", json!({ "model": "relu", "input": input }));
        assert_eq!(error["data"]["code"], "E_IO_INVALID_PATH", "{input}: {error}");
    }
    client.finish();
    // A person's own paths may be anywhere.
    assert_eq!(shop.data(&["gate", "models", "add", &outside])["registered"], false);
}

#[test]
fn inputs_are_first_compared_with_the_header() {
    let shop = shop();
    shop.ok(&["gate", "models", "add", "models/relu.onnx"]);
    shop.scratch.file("work/shop/empty/README", "");
    for (name, bytes, says) in [
        ("a.json", &b"[1, 2, 3]"[..], "`x` is [3], but the model takes [1, 2]"),
        ("b.json", b"{\"y\": {\"dtype\": \"float32\", \"shape\": [1, 2], \"data\": [1, 2]}}", "has no input `y`"),
        (
            "c.json",
            b"{\"x\": {\"dtype\": \"int8\", \"shape\": [1, 2], \"data\": [1, 2]}}",
            "`x` is int8, but the model takes float32",
        ),
        ("d.json", b"{}", "`x` is missing"),
        ("e.json", b"nonsense", "it is not valid JSON"),
        ("f.npy", b"PK", "it is not a .npy file"),
        ("g.pb", b"\xff", "it is not an ONNX tensor"),
        ("h.txt", b"1 2", "an input must be a .json, .pb or .npy file, or a folder"),
    ] {
        shop.scratch.file(&format!("work/shop/{name}"), bytes);
        let (error, _) = shop.refused(&["gate", "test", "relu", name]);
        assert_eq!((&error["code"], &error["details"]["kind"]), (&json!("E_GATE_FAILED"), &json!("input")), "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(says)), "{name}: {error}");
    }
    assert!(shop.refused(&["gate", "test", "relu", "empty"]).0.to_string().contains("does not contain `input_0.pb`"));
    assert_eq!(shop.refused(&["gate", "test", "relu", "none.json"]).0["code"], "E_NOT_FOUND");
    assert_eq!(shop.refused(&["gate", "test", "rleu", "a.json"]).0["hints"], json!(["did you mean 'relu'?"]));
    shop.ok(&["gate", "routes", "set", "relu", "/v1/relu", "--inactive"]);
    assert_eq!(shop.refused(&["gate", "test", "/v1/relu", "a.json"]).0["details"]["kind"], "inactive_route");
    shop.ok(&["gate", "routes", "set", "relu", "/v1/relu"]);
    assert_eq!(shop.refused(&["gate", "test", "/v1/relu", "a.json"]).0["details"]["kind"], "input");
}

#[test]
fn agents_have_the_contracts_tools_and_resources() {
    let shop = shop();
    let mut client = shop.client(&["--as", "smctl"]);
    let listed = client.result("resources/list", json!({}));
    let uris: Vec<&str> =
        listed["resources"].as_array().expect("resources").iter().filter_map(|r| r["uri"].as_str()).collect();
    assert!(uris.ends_with(&["smctl://gate/models", "smctl://gate/routes"]), "{uris:?}");
    let read = |client: &mut Client, uri: &str| -> Value {
        let mut contents = client.result("resources/read", json!({ "uri": uri }));
        assert_eq!(contents["contents"][0]["mimeType"], "application/json");
        serde_json::from_str(contents["contents"][0]["text"].take().as_str().expect("a text")).expect("JSON")
    };
    assert_eq!(read(&mut client, "smctl://gate/models"), json!({ "models": [] }));
    client.result("resources/subscribe", json!({ "uri": "smctl://gate/models" }));
    call(&mut client, "smctl_gate_models_add", json!({ "path": "models/relu.onnx" }));
    assert_eq!(client.notification("notifications/resources/updated")["params"]["uri"], "smctl://gate/models");
    let models = call(&mut client, "smctl_gate_models_list", json!({}));
    assert_eq!(models["models"][0]["name"], "relu");
    assert_eq!(read(&mut client, "smctl://gate/models"), models);
    client.result("resources/subscribe", json!({ "uri": "smctl://gate/routes" }));
    // Another process makes a change.
    shop.ok(&["gate", "routes", "set", "relu", "/v1/relu"]);
    assert_eq!(client.notification("notifications/resources/updated")["params"]["uri"], "smctl://gate/routes");
    assert_eq!(read(&mut client, "smctl://gate/routes")["routes"][0]["endpoint"], "/v1/relu");
    let status = call(&mut client, "smctl_gate_status", json!({}));
    assert_eq!((&status["mode"], &status["model_count"]), (&json!("embedded"), &json!(1)));
    // Arguments that only the shell has are refused.
    for (tool, arguments) in [
        ("smctl_gate_status", json!({ "url": "http://127.0.0.1:1" })),
        ("smctl_gate_models_list", json!({ "url": "http://127.0.0.1:1" })),
        ("smctl_gate_models_add", json!({ "path": "models/relu.onnx", "name": "x" })),
        ("smctl_gate_models_add", json!({ "path": "models/relu.onnx", "dry_run": true })),
        ("smctl_gate_test", json!({ "model": "relu", "input": "a.json", "url": "http://127.0.0.1:1" })),
    ] {
        assert_eq!(failure(&mut client, tool, arguments.clone())["code"], -32602, "{tool} {arguments}");
    }
    client.finish();
}

#[cfg(not(feature = "gate-onnx"))]
#[test]
fn without_the_engine_errors_say_how_to_build_it() {
    const LINE: &str = "cargo install --path . --features full";
    let shop = shop();
    shop.ok(&["gate", "models", "add", "models/relu.onnx"]);
    shop.scratch.file("work/shop/input.json", "[0.5, -1]");
    let (error, exit) = shop.refused(&["gate", "test", "relu", "input.json"]);
    assert_eq!((exit, &error["code"]), (7, &json!("E_GATE_ENGINE_MISSING")));
    assert_eq!(error["details"]["kind"], "engine_missing");
    assert!(error["hints"].to_string().contains(LINE), "{error}");
    let mut client = shop.client(&["--as", "smctl"]);
    let error = failure(&mut client, "smctl_gate_test", json!({ "model": "relu", "input": "input.json" }));
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32005), &json!("engine_missing")), "{error}");
    // Many clients show only the message.
    assert!(error["message"].as_str().is_some_and(|said| said.contains(LINE)), "{error}");
    client.finish();
    let status = shop.data(&["gate", "status"]);
    assert_eq!((&status["status"], &status["engine"]), (&json!("degraded"), &Value::Null));
    let doctor = shop.run(&["doctor"]);
    assert!(doctor.stdout.contains(LINE), "{doctor}");
}
