//! A password among the arguments: sent as it was approved, and in no row, blob, log or record.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Ground, code, execute, with_nonce};
use crate::support::{Client, at_a_terminal};

/// What is planted, each where a command takes a password.
const BY_FORMAT: &str = "planted-by-format-4711";
const BY_NAME: &str = "planted-by-name-4712";
const WRITE_ONLY: &str = "planted-write-only-4713";
const INSIDE: &str = "planted-inside-4714";

fn document(base: &str) -> String {
    let text = json!({ "type": "string" });
    let properties = json!({
        "name": { "type": "string", "format": "password" },
        "password": text,
        "pin": { "type": "string", "writeOnly": true },
        "more": { "type": "object", "properties": { "api_key": text } },
        "region": text,
    });
    let body =
        json!({ "content": { "application/json": { "schema": { "type": "object", "properties": properties } } } });
    let answer = json!({ "200": { "description": "ok", "content": { "application/json": { "schema": { "type": "object" } } } } });
    let operation = json!({ "operationId": "login", "requestBody": body, "responses": answer });
    json!({
        "openapi": "3.0.3", "info": { "title": "Sec", "version": "1" }, "servers": [{ "url": base }],
        // The one repeats what it was sent as text, the other makes an app of it.
        "paths": { "/login": { "post": operation }, "/apps": { "post": { "operationId": "app", "requestBody": body, "responses": answer } } },
    })
    .to_string()
}

fn arguments() -> Value {
    json!({ "name": BY_FORMAT, "password": BY_NAME, "pin": WRITE_ONLY, "more": { "api_key": INSIDE }, "region": "eu" })
}

const WORKFLOW: &str = "workflow: signs_in\n\
    inputs:\n  who: { type: string }\n  password: { type: string }\n\
    steps:\n  - id: a\n    run: sec:login:create\n    with: { name: '${{ inputs.who }}', password: '${{ inputs.password }}', region: eu }\n";

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => walk(&path, files),
            path => files.push(path),
        }
    }
}

#[track_caller]
fn nowhere(place: &str, text: &str) {
    for secret in [BY_FORMAT, BY_NAME, WRITE_ONLY, INSIDE] {
        assert!(!text.contains(secret), "{place} has {secret}: {text}");
    }
}

#[test]
fn a_password_is_sent_and_kept_nowhere() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    let file = scratch.file("sec.json", document(&ground.api.base())).display().to_string();
    scratch.ok(&["catalog", "import", &file, "--prefix", "sec", "--yes"]);
    let logs = tempfile::tempdir().expect("a folder");
    let log = logs.path().join("server.log");
    let mut command = scratch.command();
    command.arg("serve").env("MCPKG_LOG", "debug").stderr(File::create(&log).expect("a log"));
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    // Asked and denied, asked and approved, and sent as it was approved.
    for id in ["sec:login:create", "sec:apps:create"] {
        let call = json!({ "command": id, "args": arguments(), "wait_s": 20 });
        let asked = execute(&mut client, call.clone());
        assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
        nowhere("what is asked", &asked.to_string());
        assert!(asked.to_string().contains("name = *** (22 characters)"), "{asked}");
        // What is approved is bound to the value: another one is asked about again.
        ground.approve(&asked);
        let mut other = call.clone();
        other["args"]["name"] = json!("another-password");
        assert_ne!(code(&execute(&mut client, with_nonce(&other, &asked))), "ok");
        let done = execute(&mut client, with_nonce(&call, &asked));
        assert_eq!(code(&done), "ok", "{done}");
        nowhere("the answer", &done.to_string());
    }
    let sent = ground.api.seen();
    let sent: Vec<Value> = sent.iter().map(|seen| serde_json::from_slice(&seen.body).unwrap_or_default()).collect();
    assert_eq!(sent.iter().filter(|body| **body == arguments()).count(), 2, "{sent:?}");
    // One that an API refuses, with what it was sent in its words.
    ground.api.require("another");
    let call = json!({ "command": "sec:login:create", "args": arguments(), "wait_s": 20 });
    let asked = execute(&mut client, call.clone());
    ground.approve(&asked);
    execute(&mut client, with_nonce(&call, &asked));
    ground.api.reset();
    // A workflow, whose inputs become such arguments; a step of it alone; and checks of its text.
    let inputs = json!({ "who": BY_FORMAT, "password": BY_NAME });
    for mut call in
        [json!({ "yaml": WORKFLOW, "inputs": inputs }), json!({ "yaml": WORKFLOW, "inputs": inputs, "step": "a" })]
    {
        call["wait_s"] = json!(20);
        let asked = execute(&mut client, call.clone());
        assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
        nowhere("what is asked", &asked.to_string());
        ground.approve(&asked);
        nowhere("the answer", &execute(&mut client, with_nonce(&call, &asked)).to_string());
    }
    let literal = WORKFLOW.replace("'${{ inputs.who }}'", BY_FORMAT);
    for tool in ["propose_workflow", "validate_workflow", "dry_run_workflow"] {
        client.request("tools/call", json!({ "name": tool, "arguments": { "yaml": literal, "text": literal } }));
    }
    client.request("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": literal } }));
    client.finish();
    // At the shell, by a person.
    let mut command = scratch.command();
    command.args(["command", "run", "sec:login:create", "--arg", &format!("name={BY_FORMAT}"), "--arg", "region=eu"]);
    if let Some((shown, ok)) = at_a_terminal(&command, "y\n") {
        assert!(ok, "{shown}");
        nowhere("the terminal", &shown);
    }
    for line in [&["workflow", "runs"][..], &["--json", "workflow", "runs"], &["consent", "list"], &["events"]] {
        nowhere(&format!("{line:?}"), &scratch.ok(line));
    }
    let runs = scratch.json(&["workflow", "runs"]);
    for run in runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()) {
        nowhere("a run", &scratch.json(&["workflow", "runs", run]).to_string());
    }
    scratch.ok(&["backup", "copy.db"]);
    nowhere("the log", &std::fs::read_to_string(&log).expect("a log"));
    let mut files = Vec::new();
    walk(scratch.path(), &mut files);
    assert!(files.len() > 4, "{files:?}");
    for path in files {
        nowhere(&path.display().to_string(), &String::from_utf8_lossy(&std::fs::read(&path).expect("a file")));
    }
}
