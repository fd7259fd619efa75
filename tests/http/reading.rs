//! Tests that a read-only key changes no row of the database, whatever it calls.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Http, Request, Scratch, http};

/// Returns every row of every table, by the table's name.
fn rows(scratch: &Scratch) -> BTreeMap<String, Vec<String>> {
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    let mut statement = connection.prepare(tables).expect("a statement");
    let names = statement.query_map([], |row| row.get::<_, String>(0)).expect("the tables");
    let names: Vec<String> = names.map(|name| name.expect("a name")).collect();
    let of_table = |name: &String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).expect("a statement");
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let values = (0..columns).map(|at| row.get_ref(at).map(|value| format!("{value:?}")));
            values.collect::<rusqlite::Result<Vec<_>>>().map(|values| values.join("|"))
        };
        let rows: Vec<String> = statement.query_map([], row).expect("rows").map(|row| row.expect("a row")).collect();
        (name.clone(), rows)
    };
    names.iter().map(of_table).collect()
}

/// Returns arguments for a tool: a value for each required property of its schema, chosen so that it names existing
/// content.
fn arguments(schema: &Value) -> Value {
    let value = |name: &String, property: &Value| match (name.as_str(), property["type"].as_str()) {
        ("name" | "prompt", _) => json!("of-p"),
        ("uri", _) => json!("file:///doc"),
        ("root", _) => Value::Null,
        (_, Some("boolean")) => json!(true),
        (_, Some("integer" | "number")) => json!(1),
        (_, Some("string")) => json!("P"),
        _ => Value::Null,
    };
    let given =
        schema["properties"].as_object().into_iter().flatten().map(|(name, of)| (name.clone(), value(name, of)));
    let required = |name: &String| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    // Optional properties are left out, because a filter that matches nothing would end a call early.
    Value::Object(given.filter(|(name, value)| !value.is_null() && required(name)).collect())
}

#[test]
fn a_read_only_key_changes_no_row_whatever_it_calls() {
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    let code = scratch.path().join("code");
    std::fs::create_dir(&code).expect("a folder");
    scratch.ok(&["prompt", "create", "of-p", "P"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc", "P"]);
    let bound = scratch.finish(scratch.command().current_dir(&code).args(["project", "select", "p", "--here"]));
    assert_eq!(bound.status, 0, "{bound}");
    let made = scratch.json(&["access", "create", "reader", "--read-only"]);
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let mut command = scratch.command();
    command.current_dir(&code).args(["--json", "serve", "--http", "--sse", "--port", "0"]);
    let server = Http::spawn(&mut command);
    let before = rows(&scratch);
    let tools: Vec<_> = mcpkg::DOMAINS.operations().filter(|entry| entry.faces.tool()).collect();
    assert!(tools.len() > 20);
    let mut planned = None;
    for entry in tools {
        let given = arguments(&Value::Object(entry.input_schema()));
        let call = json!({ "name": entry.tool, "arguments": given });
        let answer = server.send(&http::modern("/mcp", "tools/call", call).with("Authorization", &bearer));
        assert!(matches!(answer.status, 200 | 403), "{} {}", entry.tool, answer.text());
        if entry.tool == "deploy" {
            planned = Some(answer.message()["result"]["structuredContent"].clone());
        }
        let after = rows(&scratch);
        for (table, rows) in &before {
            assert_eq!(after.get(table), Some(rows), "{} wrote to {table}: {}", entry.tool, answer.text());
        }
    }
    // The key gets the plan of a deploy, but no token to confirm it.
    let planned = planned.expect("deploy is a tool");
    assert_eq!((&planned["ok"], planned["data"].get("confirm_token")), (&json!(true), None), "{planned}");
    assert!(planned["warnings"].to_string().contains("can only read"), "{planned}");
    // Batches and requests other than tool calls change nothing either.
    let session = server.send(&http::message("/mcp", &http::hello("2025-03-26")).with("Authorization", &bearer));
    let session = session.header("mcp-session-id").expect("a session").to_owned();
    let ask = |id: u32, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let write = ask(1, "tools/call", json!({ "name": "delete_prompt", "arguments": { "name": "of-p" } }));
    let batch = json!([
        write,
        ask(2, "prompts/get", json!({ "name": "of-p" })),
        ask(3, "tools/call", json!({ "name": "deploy" }))
    ]);
    let in_session = |message: &Value| {
        http::message("/mcp", message).with("Mcp-Session-Id", &session).with("Authorization", &bearer)
    };
    let answers = server.send(&in_session(&batch)).messages();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers[0]["error"].is_object(), "{answers:?}");
    server.send(&in_session(&ask(4, "resources/subscribe", json!({ "uri": "file:///doc" }))));
    server.send(&Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &session).with("Authorization", &bearer));
    assert_eq!(rows(&scratch), before);
}
