//! Tests of a gate on another server, over HTTP: calls and failures.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gate::{RELU, fixtures};
use super::model_gate::{ModelGate, Sent, with};
use super::shop::Shop;

fn shop(url: &str) -> Shop {
    let shop = Shop::bare();
    let manifest = format!("[workspace]\nname = \"shop\"\n[gate]\nurl = \"{url}\"\ntimeout_secs = 2\n");
    shop.scratch.file("work/shop/.smctl/workspace.toml", manifest);
    shop.scratch.file("work/shop/relu.onnx", RELU);
    shop.scratch.file("work/shop/input.json", "{\"x\": [0.5, -1]}");
    shop
}

#[test]
fn every_call_reaches_the_remote_gate() {
    let gate = ModelGate::start();
    let shop = shop(&gate.url);
    let status = shop.data(&["gate", "status"]);
    assert_eq!(
        status,
        json!({ "status": "healthy", "version": "1.2.3", "uptime_secs": 42, "model_count": 0, "mode": "remote", "url": format!("{}/", gate.url), "engine": null })
    );
    assert_eq!(shop.data(&["gate", "models", "list"])["models"], json!([]));
    let added = shop.data(&["gate", "models", "add", "relu.onnx"]);
    assert_eq!(
        (&added["name"], &added["status"], &added["size_bytes"]),
        (&json!("relu"), &json!("loaded"), &json!(98))
    );
    // A file that is sent in many pieces arrives complete.
    let large: Vec<u8> = [RELU, &[0xa2, 0x06, 0x80, 0x80, 0x80, 0x01], &vec![7; 2 << 20]].concat();
    shop.scratch.file("work/shop/large.onnx", &large);
    assert_eq!(shop.data(&["gate", "models", "add", "large.onnx"])["size_bytes"], json!(large.len()));
    assert_eq!(shop.data(&["gate", "models", "list"])["models"][0]["name"], "large");
    let tested = shop.data(&["gate", "test", "relu", "input.json"]);
    assert_eq!(tested, json!({ "model": "relu", "output": { "given": { "x": [0.5, -1] } }, "latency_ms": 1.5 }));
    let set = shop.data(&["gate", "routes", "set", "relu", "/v1/relu"]);
    assert_eq!(set["route"], json!({ "model": "relu", "endpoint": "/v1/relu", "active": true, "request_count": 7 }));
    assert_eq!(shop.data(&["gate", "routes", "list"])["routes"][0]["request_count"], 7);
    let logs = shop.data(&["gate", "logs", "-n", "2"]);
    assert_eq!(logs["logs"], json!([{ "line": "two" }, { "line": "three" }]));
    let removed = shop.run(&["gate", "models", "remove", "large", "--yes"]);
    assert!(removed.status == 0 && !removed.stderr.contains("mcpkg compact"), "{removed}");
    assert_eq!(shop.data(&["gate", "models", "list"])["models"].as_array().map(Vec::len), Some(1));
    // The models of the remote gate are not stored in this database.
    let embedded = shop.scratch.file("work/embedded/.smctl/workspace.toml", "[workspace]\nname = \"embedded\"\n");
    let embedded = embedded.parent().and_then(|folder| folder.parent()).expect("a folder").display().to_string();
    assert_eq!(shop.data(&["gate", "models", "list", "-w", &embedded])["models"], json!([]));
    // `--url` overrides `MODELGATE_URL`, and `MODELGATE_URL` overrides the manifest.
    let other = ModelGate::start();
    let mut command = shop.command();
    let ran = shop.scratch.finish(command.env("MODELGATE_URL", &other.url).args(["--json", "gate", "models", "list"]));
    assert!(ran.status == 0 && ran.stdout.contains("[]"), "{ran}");
    let mut command = shop.command();
    command.env("MODELGATE_URL", &other.url).args(["--json", "gate", "models", "list", "--url", &gate.url]);
    assert!(shop.scratch.finish(&mut command).stdout.contains("relu"));
    assert_eq!(
        (other.asked().len(), gate.asked().iter().all(|asked| !asked.head.contains("authorization"))),
        (1, true)
    );
}

#[test]
fn names_do_not_lead_elsewhere() {
    let gate = ModelGate::start();
    let shop = shop(&gate.url);
    for (model, path) in [("../../health", "..%2F..%2Fhealth"), ("a b?x#y%", "a%20b%3Fx%23y%25"), ("é", "%C3%A9")] {
        let (error, _) = shop.refused(&["gate", "test", model, "input.json"]);
        assert_eq!(error["code"], "E_NOT_FOUND", "{error}");
        let asked = gate.asked();
        assert_eq!(asked[asked.len() - 1].path, format!("/api/v1/inference/{path}"));
    }
    let before = gate.asked().len();
    for model in ["..", "."] {
        assert_eq!(shop.refused(&["gate", "test", model, "input.json"]).0["code"], "E_NOT_FOUND");
    }
    assert_eq!(gate.asked().len(), before, "nothing was asked");
}

#[test]
fn x44_each_way_to_fail_has_its_kind() {
    let refusing = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let (error, exit) = shop(&refusing).refused(&["gate", "status"]);
    assert_eq!(
        (exit, &error["code"], &error["details"]["kind"]),
        (7, &json!("E_GATE_UNREACHABLE"), &json!("refused")),
        "{error}"
    );
    assert_eq!(error["details"]["url"], format!("{refusing}/"));
    assert!(error["details"]["suggestion"].is_string());
    let (error, _) = shop("http://nobody.invalid/").refused(&["gate", "status"]);
    assert_eq!(error["details"]["kind"], "dns", "{error}");
    let page = || with("200 OK", "Content-Type: text/html\r\n", b"<html>It works</html>");
    let elsewhere = ModelGate::start();
    let location = format!("Location: {}/health\r\n", elsewhere.url);
    for (sent, kind, status) in [
        (with("500 Internal Server Error", "", br#"{"error":"out of order"}"#), "http", json!(500)),
        (with("503 Service Unavailable", "", b"<html>"), "http", json!(503)),
        (with("404 Not Found", "", b""), "http", json!(404)),
        (with("302 Found", &location, b""), "http", json!(302)),
        (page(), "parse", json!(200)),
        (with("200 OK", "", br#"{"status":"healthy"}"#), "parse", json!(200)),
        (with("200 OK", "", b""), "parse", json!(200)),
        (Sent::Bytes(b"220 mail.example ESMTP\r\n".to_vec()), "parse", Value::Null),
        (Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{".to_vec()), "http", Value::Null),
        (Sent::Endless(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec()), "parse", Value::Null),
        (Sent::Nothing, "timeout", Value::Null),
    ] {
        let gate = ModelGate::answering(move |_| sent.clone());
        let begun = Instant::now();
        let (error, exit) = shop(&gate.url).refused(&["gate", "status"]);
        let details = &error["details"];
        assert_eq!((exit, &details["kind"], &details["status"]), (7, &json!(kind), &status), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{kind}");
    }
    assert!(elsewhere.asked().is_empty(), "a redirect is not followed");
    let gate = ModelGate::answering(|_| with("500 Internal Server Error", "", br#"{"error":"out of order"}"#));
    assert!(shop(&gate.url).refused(&["gate", "models", "list"]).0["message"].to_string().contains("out of order"));
    let (error, _) = shop(&gate.url.replace("http:", "https:")).refused(&["gate", "status"]);
    assert_eq!(error["details"]["kind"], "tls", "{error}");
    // Agents get the same errors.
    let shop = shop(&refusing);
    let mut client = shop.client(&["--as", "smctl"]);
    let error = client.error("tools/call", json!({ "name": "smctl_gate_status", "arguments": {} }));
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(-32005), &json!("refused")), "{error}");
    let error = client.error("resources/read", json!({ "uri": "smctl://gate/models" }));
    assert_eq!(error["code"], -32005, "{error}");
    client.finish();
}

#[test]
fn addresses_with_passwords_and_others_than_http_are_refused() {
    let shop = shop("http://127.0.0.1:1");
    for (url, status) in [
        ("https://ada:s3cret@gate.example/", 2),
        ("ftp://gate.example/", 2),
        ("gate.example", 2),
        ("file:///etc/passwd", 2),
        ("http://127.0.0.1:1/?token=s3cret", 7),
    ] {
        let ran = shop.run(&["gate", "status", "--url", url]);
        assert_eq!(ran.status, status, "{ran}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cret"), "{ran}");
    }
}

#[test]
fn a_file_that_is_not_a_model_or_json_is_not_sent() {
    let gate = ModelGate::start();
    let shop = shop(&gate.url);
    shop.scratch.file("work/shop/garbage.onnx", b"\xff");
    assert_eq!(shop.refused(&["gate", "models", "add", "garbage.onnx"]).0["code"], "E_GATE_FAILED");
    shop.scratch.file("work/shop/bad.json", b"{");
    let relu = format!("{}/relu", fixtures());
    for input in ["bad.json", &relu, &format!("{relu}/input_0.pb")] {
        let (error, _) = shop.refused(&["gate", "test", "relu", input]);
        assert_eq!(error["details"]["kind"], "input", "{error}");
    }
    shop.ok(&["gate", "models", "add", "relu.onnx", "--dry-run"]);
    assert!(gate.asked().is_empty());
}
