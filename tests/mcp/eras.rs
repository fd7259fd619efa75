//! Tests all protocol revisions, and that mcpkg's fast path (the front) and rmcp give the same answers.

use serde_json::{Value, json};

use crate::support::{Client, LEGACY, Scratch, modern_meta};

fn filled() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "plain", "text \"q\" \\ \n é 🦀", "-d", "A \"description\""]);
    scratch.ok(&["prompt", "create", "asks", "{{ who }}", "--argument", "who=Who is it"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc.md", "# Doc", "-m", "text/markdown", "-d", "d"]);
    let blob = scratch.file("x.bin", [0, 159, 146, 150, 255]);
    scratch.ok(&["resource", "create", "blob", "file:///x.bin", &format!("@{}", blob.display())]);
    scratch
}

#[test]
fn every_revision_is_spoken_and_an_unknown_one_gets_2025_06_18() {
    let scratch = filled();
    for version in LEGACY {
        let mut client = Client::legacy(&scratch, version);
        assert_eq!(client.result("prompts/list", json!({}))["prompts"][1]["name"], "plain");
        client.finish();
    }
    for unknown in ["1999-01-01", "2026-07-28", "nonsense"] {
        let mut client = Client::start(&scratch, &[]);
        let hello =
            json!({ "protocolVersion": unknown, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        assert_eq!(client.result("initialize", hello)["protocolVersion"], "2025-06-18", "{unknown}");
    }
}

#[test]
fn the_modern_era_needs_no_handshake() {
    let scratch = filled();
    let mut client = Client::modern(&scratch);
    let discovered = client.result("server/discover", json!({}));
    let versions = discovered["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{discovered}");
    // A read gets the same answer before and after rmcp has finished its start.
    let first = client.result("prompts/get", json!({ "name": "plain" }));
    assert_eq!(first, client.result("prompts/get", json!({ "name": "plain" })));
    assert_eq!(first["resultType"], "complete");
    let listed = client.result("resources/list", json!({}));
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(0), &json!("private")));
    assert_eq!(client.error("ping", json!({}))["code"], -32601);
    let mut odd = modern_meta();
    odd["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    client.send(&json!({ "jsonrpc": "2.0", "id": "odd", "method": "prompts/list", "params": { "_meta": odd } }));
    assert_eq!(client.answer(&json!("odd"))["error"]["code"], -32022);
    client.send(&json!({ "jsonrpc": "2.0", "id": "bare", "method": "prompts/list" }));
    assert_eq!(client.answer(&json!("bare"))["error"]["code"], -32602);
    client.finish();
}

#[test]
fn discover_may_come_before_initialize() {
    let scratch = filled();
    let mut client = Client::start(&scratch, &[]);
    let probe =
        json!({ "jsonrpc": "2.0", "id": "probe", "method": "server/discover", "params": { "_meta": modern_meta() } });
    client.send(&probe);
    assert!(client.answer(&json!("probe"))["result"].is_object());
    let mut client = client.shake_hands("2025-11-25");
    let listed = client.result("prompts/list", json!({}));
    assert_eq!(listed.get("resultType"), None, "a legacy answer has no modern fields: {listed}");
    client.finish();
}

/// Returns the requests that the front and rmcp must answer in the same way.
fn requests() -> Vec<(&'static str, Value)> {
    vec![
        ("prompts/list", json!({})),
        ("prompts/list", json!({ "cursor": "nonsense" })),
        ("prompts/get", json!({ "name": "plain" })),
        ("prompts/get", json!({ "name": "plain", "arguments": {} })),
        ("prompts/get", json!({ "name": "asks" })),
        ("prompts/get", json!({ "name": "asks", "arguments": { "who": "me \"you\"" } })),
        ("prompts/get", json!({ "name": "asks", "arguments": { "who": 5 } })),
        ("prompts/get", json!({ "name": "nobody" })),
        ("prompts/get", json!({})),
        ("prompts/get", json!({ "name": 7 })),
        ("resources/list", json!({})),
        ("resources/list", json!({ "cursor": "" })),
        ("resources/read", json!({ "uri": "file:///doc.md" })),
        ("resources/read", json!({ "uri": "file:///x.bin" })),
        ("resources/read", json!({ "uri": "file:///nowhere" })),
        ("resources/read", json!({})),
        ("resources/read", json!({ "uri": "mcpkg://prompt/asks" })),
        ("resources/read", json!({ "uri": "mcpkg://prompt/nobody" })),
        ("resources/read", json!({ "uri": "mcpkg://resource/blob" })),
        ("resources/read", json!({ "uri": "mcpkg://history/prompt/plain" })),
        ("resources/read", json!({ "uri": "mcpkg://history/tool/plain" })),
        ("resources/read", json!({ "uri": "mcpkg://events" })),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "skill://plain/SKILL.md" })),
        ("resources/read", json!({ "uri": "skill://nobody/SKILL.md" })),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://plain/SKILL.md" })),
        ("skills/get", json!({})),
        ("resources/directory/read", json!({ "uri": "skill://plain" })),
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": "nonsense" })),
        ("tools/list", json!({ "cursor": 5 })),
        ("ping", json!({})),
        ("ping", json!({ "_meta": { "progressToken": 1 } })),
        ("tools/call", json!({ "name": "list_prompts" })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": null })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": { "limit": 1 } })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": { "limit": 0 } })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": { "limit": 100_000 } })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": { "cursor": "nonsense" } })),
        ("tools/call", json!({ "name": "list_prompts", "arguments": [] })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "plain" } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "asks" } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "asks", "raw": true } })),
        (
            "tools/call",
            json!({ "name": "get_prompt", "arguments": { "name": "asks", "arguments": { "who": "\"\n\u{1F600}" } } }),
        ),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "nobody" } })),
        ("tools/call", json!({ "name": "get_prompt", "arguments": {} })),
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", json!({ "name": "nothing" })),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": "list_resources" })),
        ("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "file:///doc.md" } })),
        ("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "file:///x.bin" } })),
        ("tools/call", json!({ "name": "read_resource", "arguments": { "uri": "nowhere" } })),
        ("tools/call", json!({ "name": "list_skills" })),
        ("tools/call", json!({ "name": "get_skill", "arguments": { "name": "plain" } })),
        ("tools/call", json!({ "name": "get_skill", "arguments": { "name": "nobody" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "plain" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "plain", "limit": 1 } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "nothing-that-is-there" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "?!" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "plain", "limit": 0 } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "a ".repeat(3000) } })),
        ("tools/call", json!({ "name": "search_content", "arguments": {} })),
    ]
}

#[test]
fn the_front_and_rmcp_give_the_same_answers() {
    let scratch = filled();
    let legacy = |arguments: &[&str]| Client::start(&scratch, arguments).shake_hands("2025-06-18");
    let (mut front, mut rmcp) = (legacy(&[]), legacy(&["--no-front"]));
    for (method, params) in requests() {
        let expected = rmcp.request(method, params.clone());
        // The first answer is not cached, the second is cached, and the third comes from the cache.
        for _ in 0..3 {
            let mut answer = front.request(method, params.clone());
            answer["id"] = expected["id"].clone();
            assert_eq!(answer, expected, "{method} {params}");
        }
    }
    let modern = |arguments: &[&str]| {
        let mut client = Client::start(&scratch, arguments);
        client
            .send(&json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": { "_meta": modern_meta() } }));
        client.answer(&json!(0));
        client
    };
    let (mut front, mut rmcp) = (modern(&[]), modern(&["--no-front"]));
    for (method, mut params) in requests() {
        params["_meta"] = modern_meta();
        let expected = rmcp.request(method, params.clone());
        for _ in 0..3 {
            let mut answer = front.request(method, params.clone());
            answer["id"] = expected["id"].clone();
            assert_eq!(answer, expected, "{method} {params}");
        }
    }
}

#[test]
fn pages_survive_inserts_and_deletes() {
    let scratch = Scratch::with_project();
    let store = scratch.context();
    store
        .write("test", "", |db, project, author| {
            for n in 0..250 {
                let attributes = mcpkg_store::prompts::Attributes::default();
                let name = format!("n{n:03}");
                mcpkg_store::prompts::insert(db, author, project, store.clock.uuid(), &name, attributes, "x")?;
            }
            Ok(())
        })
        .expect("250 prompts");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let first = client.result("prompts/list", json!({}));
    assert_eq!(first["prompts"].as_array().expect("a page").len(), 100);
    // Delete the row that the cursor names, and insert one before it.
    scratch.ok(&["prompt", "delete", "n099"]);
    scratch.ok(&["prompt", "create", "n050b", "x"]);
    let second = client.result("prompts/list", json!({ "cursor": first["nextCursor"] }));
    assert_eq!(second["prompts"][0]["name"], "n100");
    let third = client.result("prompts/list", json!({ "cursor": second["nextCursor"] }));
    assert_eq!(third["prompts"].as_array().expect("a page").len(), 50);
    assert_eq!(third.get("nextCursor"), None);
    // A cursor is refused for another list, and for another project.
    assert_eq!(client.error("resources/list", json!({ "cursor": first["nextCursor"] }))["code"], -32602);
    scratch.ok(&["project", "create", "other"]);
    scratch.ok(&["project", "select", "other"]);
    assert_eq!(client.error("prompts/list", json!({ "cursor": first["nextCursor"] }))["code"], -32602);
    client.finish();
}

#[test]
fn an_answer_that_is_too_large_says_its_size_and_how_to_get_it() {
    let scratch = Scratch::with_project();
    let big = scratch.file("big.txt", "x".repeat(5000));
    scratch.ok(&["resource", "create", "big", "file:///big.txt", &format!("@{}", big.display())]);
    let mut client = Client::start(&scratch, &["--max-answer", "4096"]).shake_hands("2025-06-18");
    let error = client.error("resources/read", json!({ "uri": "file:///big.txt" }));
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("5000 bytes") && message.contains("mcpkg resource show big -o FILE"), "{message}");
    let (text, failed) = client.call("read_resource", json!({ "uri": "big" }));
    assert!(failed && text.contains("5000 bytes"), "{text}");
    client.finish();
}
