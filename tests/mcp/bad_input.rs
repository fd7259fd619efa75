//! Invalid and unusual lines, after which the next valid request still gets its answer.

use serde_json::{Value, json};

use crate::support::{Client, Scratch};

fn legacy() -> (Scratch, Client) {
    let scratch = Scratch::with_project();
    let client = Client::legacy(&scratch, "2025-06-18");
    (scratch, client)
}

fn error(client: &mut Client, line: &[u8], id: &Value) -> (i64, String) {
    client.raw(line);
    client.raw(b"\n");
    let answer = client.answer(id);
    let shown = String::from_utf8_lossy(line).chars().take(100).collect::<String>();
    let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{shown}: {answer}"));
    // The next valid request is answered.
    assert_eq!(client.result("prompts/list", json!({})), json!({ "prompts": [] }), "after {shown}");
    (code, answer["error"]["message"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn invalid_json_is_a_parse_error_without_an_id() {
    let (_scratch, mut client) = legacy();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{{"a":{}1{}}}}}"#,
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    let deep_other = deep.replace("prompts/list", "tools/list");
    for line in [
        b"not json".as_slice(),
        br#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
        b"\xff\xfe",
        br#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"\ud800"}}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\udc00"}}"#,
        deep.as_bytes(),
        deep_other.as_bytes(),
    ] {
        assert_eq!(
            error(&mut client, line, &Value::Null).0,
            -32700,
            "{}",
            String::from_utf8_lossy(&line[..line.len().min(80)])
        );
    }
    client.finish();
}

#[test]
fn a_wrong_shape_is_an_invalid_request_with_the_id_that_was_readable() {
    let (_scratch, mut client) = legacy();
    for (line, id) in [
        ("5", Value::Null),
        ("\"x\"", Value::Null),
        ("[]", Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null),
        (r#"{"id":71,"method":"ping"}"#, json!(71)),
        (r#"{"jsonrpc":"1.0","id":72,"method":"ping"}"#, json!(72)),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":73,"method":5}"#, json!(73)),
        (r#"{"jsonrpc":"2.0","id":"s","method":"ping","params":[1]}"#, json!("s")),
        (r#"{"jsonrpc":"2.0","id":74}"#, json!(74)),
        (
            r#"{"jsonrpc":"2.0","id":75,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
            json!(75),
        ),
    ] {
        assert_eq!(error(&mut client, line.as_bytes(), &id).0, -32600, "{line}");
    }
    client.finish();
}

#[test]
fn wrong_parameters_name_the_parameter_and_unknown_methods_say_so() {
    let (_scratch, mut client) = legacy();
    for (method, params, code, says) in [
        ("prompts/get", json!({}), -32602, "name"),
        ("prompts/get", json!({ "name": [] }), -32602, "name"),
        ("resources/read", json!({}), -32602, "uri"),
        ("tools/call", json!({}), -32602, "name"),
        ("tools/call", json!({ "name": "create_prompt", "arguments": 5 }), -32602, "arguments"),
        ("tools/call", json!({ "name": "no_such_tool" }), -32602, "no_such_tool"),
        ("tools/call", json!({ "name": "create_promt" }), -32602, "did you mean 'create_prompt'?"),
        ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "x" } }), -32602, "argument"),
        ("prompts/list", json!({ "cursor": 5 }), -32602, "cursor"),
        ("prompts/list", json!({ "cursor": "x" }), -32602, "x"),
        ("tools/list", json!({ "cursor": "x" }), -32602, "x"),
        ("no/such/method", json!({}), -32601, "no/such/method"),
        ("tools/list", json!({ "cursor": 5 }), -32602, "cursor"),
        ("resources/templates/list", json!({ "cursor": [] }), -32602, "cursor"),
        ("skills/list", json!({ "cursor": 5 }), -32602, "cursor"),
        ("skills/get", json!({ "uri": 5 }), -32602, "uri"),
        ("resources/directory/read", json!({}), -32602, "uri"),
        ("resources/subscribe", json!({}), -32602, "uri"),
        ("resources/subscribe", json!({ "uri": "smctl://nope" }), -32602, "smctl://nope"),
        ("resources/unsubscribe", json!({ "uri": 5 }), -32602, "uri"),
        ("logging/setLevel", json!({}), -32602, "level"),
        ("logging/setLevel", json!({ "level": "loud" }), -32602, "logging/setLevel"),
    ] {
        let error = client.error(method, params.clone());
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(says)), "{method} {params}: {error}");
    }
    client.finish();
}

#[test]
fn odd_but_good_lines_are_served() {
    let (_scratch, mut client) = legacy();
    for (line, id) in [
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":101,\"method\":\"ping\"}\r", json!(101)),
        (r#"   {"jsonrpc":"2.0","id":"text","method":"prompts/list"}  "#, json!("text")),
        (r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"prompts/list"}"#, json!(9_007_199_254_740_993_i64)),
        (r#"{"jsonrpc":"2.0","id":1,"id":102,"method":"x","method":"prompts/list"}"#, json!(102)),
        (r#"{"jsonrpc":"2.0","id":1,"id":103,"method":"x","method":"ping"}"#, json!(103)),
        (r#"{"jsonrpc":"2.0","id":104,"method":"prompts\/list","params":null}"#, json!(104)),
    ] {
        client.raw(b"\n\r\n  \n");
        client.raw(line.as_bytes());
        client.raw(b"\n");
        let answer = client.answer(&id);
        assert!(answer["result"].is_object(), "{line}: {answer}");
    }
    client.finish();
}

#[test]
fn a_line_past_the_limit_is_refused_and_the_rest_of_it_skipped() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &["--max-line", "100000"]).shake_hands("2025-06-18");
    let long = |id: &str| {
        format!("{{\"jsonrpc\":\"2.0\",{id}\"method\":\"ping\",\"params\":{{\"a\":\"{}\"}}}}", "x".repeat(300_000))
    };
    assert_eq!(error(&mut client, long("\"id\":55,").as_bytes(), &json!(55)).0, -32600);
    assert_eq!(error(&mut client, long("").as_bytes(), &Value::Null).0, -32600);
    let late = format!(
        "{{\"jsonrpc\":\"2.0\",\"params\":{{\"a\":\"{}\"}},\"id\":56,\"method\":\"ping\"}}",
        "x".repeat(300_000)
    );
    assert_eq!(error(&mut client, late.as_bytes(), &Value::Null).0, -32600);
    let fits = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":57,\"method\":\"ping\",\"params\":{{\"a\":\"{}\"}}}}\n",
        "x".repeat(90_000)
    );
    client.raw(fits.as_bytes());
    assert!(client.answer(&json!(57))["result"].is_object());
    client.finish();
}

#[test]
fn the_last_line_needs_no_end() {
    let (_scratch, mut client) = legacy();
    client.raw(br#"{"jsonrpc":"2.0","id":1000,"method":"prompts/list"}"#);
    client.close_input();
    assert!(client.answer(&json!(1000))["result"].is_object());
    assert!(client.ended().success());
}

#[test]
fn nothing_before_initialize_ends_the_server() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]);
    client.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    client.raw(b"garbage\n");
    assert_eq!(client.answer(&Value::Null)["error"]["code"], -32700);
    for method in ["prompts/list", "tools/list", "no/such/method"] {
        assert_eq!(client.error(method, json!({}))["code"], -32600, "{method}");
    }
    assert!(client.result("ping", json!({})).is_object());
    let error = client.error("initialize", json!({ "capabilities": {} }));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("protocolVersion")), "{error}");
    let mut client = client.shake_hands("2025-03-26");
    assert_eq!(client.result("prompts/list", json!({})), json!({ "prompts": [] }));
    client.finish();
}

#[test]
fn batches_are_answered_as_an_array_on_2025_03_26() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-03-26");
    client.raw(
        concat!(
            r#"[{"jsonrpc":"2.0","id":"a","method":"prompts/list"},{"jsonrpc":"2.0","method":"notifications/x"},"#,
            r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"create_prompt","arguments":{"name":"n","content":"c"}}},"#,
            r#"{"jsonrpc":"2.0","id":"c","method":"prompts/get","params":{"name":"n"}},7,{"jsonrpc":"2.0","id":"d","method":"nope"}]"#,
            "\n"
        )
        .as_bytes(),
    );
    // A notification of the change may come before the answers.
    let answers = loop {
        match client.wait(crate::support::DEADLINE) {
            crate::support::Wait::Line(Value::Array(answers)) => break answers,
            crate::support::Wait::Line(line) if line.get("method").is_some() => {}
            other => panic!("an array, not {other:?}"),
        }
    };
    let find =
        |id: Value| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("{id} in {answers:?}"));
    assert_eq!(answers.len(), 5);
    assert_eq!(find(json!("a"))["result"]["prompts"], json!([]));
    assert_eq!(find(json!("b"))["result"]["isError"], false);
    assert_eq!(find(json!("c"))["result"]["messages"][0]["content"]["text"], "c");
    assert_eq!(find(json!("d"))["error"]["code"], -32601);
    assert_eq!(find(Value::Null)["error"]["code"], -32600);
    assert_eq!(client.result("prompts/list", json!({}))["prompts"][0]["name"], "n");
    client.raw(b"[]\n");
    assert_eq!(client.answer(&Value::Null)["error"]["code"], -32600);
    client.finish();
}

#[test]
fn a_batch_sent_before_initialize_was_answered_waits_for_that() {
    for (version, has_batches) in [("2025-03-26", true), ("2025-06-18", false)] {
        let scratch = Scratch::with_project();
        let mut client = Client::start(&scratch, &[]);
        let hello =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let batch = json!([{ "jsonrpc": "2.0", "id": 2, "method": "ping" }]);
        client.raw(format!("{initialize}\n{initialized}\n{batch}\n").as_bytes());
        match client.wait(crate::support::DEADLINE) {
            crate::support::Wait::Line(first) => assert_eq!(first["result"]["protocolVersion"], version, "{first}"),
            other => panic!("no answer to initialize: {other:?}"),
        }
        match client.wait(crate::support::DEADLINE) {
            crate::support::Wait::Line(Value::Array(answers)) => assert!(has_batches && answers[0]["id"] == 2),
            crate::support::Wait::Line(refused) => assert!(!has_batches && refused["error"]["code"] == -32600),
            other => panic!("no answer to the batch: {other:?}"),
        }
        client.finish();
    }
}
