//! Tests contract 001 (projects, prompts, resources and skills), sentence by sentence.

use serde_json::json;

use crate::support::{Client, Scratch};

fn auth_module() -> (Scratch, Client) {
    let scratch = Scratch::new();
    scratch.ok(&["project", "create", "auth-module"]);
    let client = Client::legacy(&scratch, "2024-11-05");
    (scratch, client)
}

#[test]
fn initialize_is_answered_with_the_servers_name_and_capabilities() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]);
    let result = client.result(
        "initialize",
        json!({
            "protocolVersion": "2024-11-05",
            "capabilities": { "prompts": {}, "resources": {}, "tools": {} },
            "clientInfo": { "name": "claude-desktop", "version": "1.0.0" },
        }),
    );
    assert_eq!(result["protocolVersion"], "2024-11-05");
    assert_eq!(result["serverInfo"], json!({ "name": "mcpkg", "version": env!("CARGO_PKG_VERSION") }));
    for kind in ["prompts", "resources", "tools"] {
        assert_eq!(result["capabilities"][kind]["listChanged"], true, "agents ignore what was not advertised");
    }
    assert!(result["capabilities"]["completions"].is_object());
    client.finish();
}

#[test]
fn front_matter_makes_a_template_only_where_it_declares_arguments() {
    let (_scratch, mut client) = auth_module();
    let text_of = |client: &mut Client, name: &str, arguments: serde_json::Value| {
        let mut result = client.result("prompts/get", json!({ "name": name, "arguments": arguments }));
        result["messages"][0]["content"]["text"].take()
    };
    for plain in [
        "---\ndescription: x\n---\nReview {{ file }} $ARGUMENTS\r\n",
        "---\nargument-hint: [pr]\n---\nTakes none",
        "---\narguments: 3\n---\nmalformed",
        "Just $ARGUMENTS",
    ] {
        let (_, failed) = client.call("create_prompt", json!({ "name": "plain", "content": plain }));
        assert!(!failed);
        assert_eq!(text_of(&mut client, "plain", json!({})), plain, "byte for byte");
        client.call("delete_prompt", json!({ "name": "plain" }));
    }
    let declared = "---\ndescription: Look\narguments:\n  - name: file\n    required: true\n---\nLook at {{ file }}\n";
    client.call("create_prompt", json!({ "name": "look", "content": declared }));
    assert_eq!(
        client.result("prompts/list", json!({}))["prompts"],
        json!([{ "name": "look", "description": "Look", "arguments": [{ "name": "file", "required": true }] }])
    );
    assert_eq!(text_of(&mut client, "look", json!({ "file": "a.rs" })), "Look at a.rs\n");
    client.call(
        "update_prompt",
        json!({ "name": "look", "content": "---\nargument-hint: [pr]\n---\nFix $1", "description": "Fix" }),
    );
    assert_eq!(text_of(&mut client, "look", json!({ "arg1": "7" })), "Fix 7");
    // Arguments that the caller declares take precedence over the front matter.
    client.call("create_prompt", json!({ "name": "own", "content": declared, "arguments": [] }));
    assert_eq!(text_of(&mut client, "own", json!({})), declared);
    client.finish();
}

#[test]
fn prompts_are_created_read_updated_and_deleted() {
    let (_scratch, mut client) = auth_module();
    let ok = |text: &str| (text.to_owned(), false);
    let arguments = json!({ "name": "test-prompt", "content": "This is a test prompt", "description": "A test prompt for demonstration" });
    let result = client.result("tools/call", json!({ "name": "create_prompt", "arguments": arguments }));
    let text = "Created prompt 'test-prompt' in project 'auth-module'";
    assert_eq!(result, json!({ "content": [{ "type": "text", "text": text }], "isError": false }));
    assert_eq!(
        client.result("prompts/list", json!({})),
        json!({ "prompts": [{ "name": "test-prompt", "description": "A test prompt for demonstration" }] })
    );
    assert_eq!(
        client.result("prompts/get", json!({ "name": "test-prompt" })),
        json!({
            "description": "A test prompt for demonstration",
            "messages": [{ "role": "user", "content": { "type": "text", "text": "This is a test prompt" } }],
        })
    );
    assert_eq!(
        client.call("update_prompt", json!({ "name": "test-prompt", "content": "Updated prompt content" })),
        ok("Updated prompt 'test-prompt' in project 'auth-module'")
    );
    assert_eq!(
        client.call("delete_prompt", json!({ "name": "test-prompt" })),
        ok("Deleted prompt 'test-prompt' from project 'auth-module'")
    );
    assert_eq!(client.result("prompts/list", json!({})), json!({ "prompts": [] }));
    client.finish();
}

#[test]
fn resources_are_created_read_updated_and_deleted() {
    let (_scratch, mut client) = auth_module();
    let ok = |text: &str| (text.to_owned(), false);
    assert_eq!(
        client.call(
            "create_resource",
            json!({
                "name": "test-doc",
                "uri": "file:///test.md",
                "content": "# Test Document\n\nThis is a test.",
                "mime_type": "text/markdown",
                "description": "Test documentation",
            })
        ),
        ok("Created resource 'test-doc' in project 'auth-module'")
    );
    assert_eq!(
        client.result("resources/list", json!({})),
        json!({ "resources": [{
            "uri": "file:///test.md",
            "name": "test-doc",
            "description": "Test documentation",
            "mimeType": "text/markdown",
        }] })
    );
    assert_eq!(
        client.result("resources/read", json!({ "uri": "file:///test.md" })),
        json!({ "contents": [{
            "uri": "file:///test.md",
            "mimeType": "text/markdown",
            "text": "# Test Document\n\nThis is a test.",
        }] })
    );
    assert_eq!(
        client.call(
            "update_resource",
            json!({ "name": "test-doc", "content": "# Updated Test Document\n\nContent has changed.", "description": "Updated documentation" })
        ),
        ok("Updated resource 'test-doc' in project 'auth-module'")
    );
    assert_eq!(
        client.call("delete_resource", json!({ "name": "test-doc" })),
        ok("Deleted resource 'test-doc' from project 'auth-module'")
    );
    let blob =
        json!({ "name": "image", "uri": "file:///image.png", "content": "iVBORw0KGgo=", "mime_type": "image/png" });
    client.call("create_resource", blob);
    assert_eq!(
        client.result("resources/read", json!({ "uri": "file:///image.png" })),
        json!({ "contents": [{ "uri": "file:///image.png", "mimeType": "image/png", "blob": "iVBORw0KGgo=" }] })
    );
    client.finish();
}

#[test]
fn reads_that_miss_are_invalid_params_with_the_contracts_sentence() {
    let (_scratch, mut client) = auth_module();
    assert_eq!(
        client.error("prompts/get", json!({ "name": "code-review" })),
        json!({
            "code": -32602,
            "message": "Prompt 'code-review' not found in project 'auth-module'",
            "data": { "name": "code-review" },
        })
    );
    assert_eq!(
        client.error("resources/read", json!({ "uri": "file:///docs/api.md" })),
        json!({
            "code": -32602,
            "message": "Resource 'file:///docs/api.md' not found in project 'auth-module'",
            "data": { "uri": "file:///docs/api.md" },
        })
    );
    client.finish();
}

#[test]
fn tools_that_fail_say_so_in_the_result() {
    let (_scratch, mut client) = auth_module();
    let failed = |text: &str| (format!("Error: {text}"), true);
    client.call("create_prompt", json!({ "name": "test-prompt", "content": "x" }));
    client.call("create_resource", json!({ "name": "doc", "uri": "file:///a", "content": "x" }));
    for (tool, arguments, text) in [
        (
            "create_prompt",
            json!({ "name": "test-prompt", "content": "x" }),
            "Prompt 'test-prompt' already exists in project 'auth-module'",
        ),
        (
            "create_prompt",
            json!({ "name": "test prompt", "content": "x" }),
            "Prompt name 'test prompt' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .",
        ),
        ("create_prompt", json!({ "name": "", "content": "x" }), "Prompt name cannot be empty"),
        ("create_prompt", json!({ "name": "a", "content": "" }), "Prompt content cannot be empty"),
        (
            "update_prompt",
            json!({ "name": "nope", "content": "x" }),
            "Prompt 'nope' does not exist in project 'auth-module'",
        ),
        (
            "update_prompt",
            json!({ "name": "test-prompt" }),
            "At least one of --content or --description must be provided",
        ),
        ("delete_prompt", json!({ "name": "nope" }), "Prompt 'nope' does not exist in project 'auth-module'"),
        (
            "create_resource",
            json!({ "name": "doc", "uri": "file:///b", "content": "x" }),
            "Resource 'doc' already exists in project 'auth-module'",
        ),
        (
            "create_resource",
            json!({ "name": "doc2", "uri": "file:///a", "content": "x" }),
            "Resource with URI 'file:///a' already exists in project 'auth-module'",
        ),
        (
            "create_resource",
            json!({ "name": "doc2", "uri": "file:///b", "content": "" }),
            "Resource content cannot be empty",
        ),
        (
            "update_resource",
            json!({ "name": "doc" }),
            "At least one of --content, --description or --mime-type must be provided",
        ),
        ("delete_resource", json!({ "name": "nope" }), "Resource 'nope' does not exist in project 'auth-module'"),
    ] {
        assert_eq!(client.call(tool, arguments), failed(text));
    }
    let (text, failed) = client.call("create_prompt", json!({ "name": 5, "content": "x" }));
    assert!(failed && text.starts_with("Error: Invalid arguments for create_prompt: "), "{text}");
    let (text, failed) = client.call("create_prompt", json!({ "content": "x" }));
    assert!(failed && text.contains("missing field `name`"), "{text}");
    client.finish();
}

#[test]
fn without_a_project_lists_are_empty_and_the_rest_says_what_to_do() {
    let scratch = Scratch::new();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    assert_eq!(client.result("prompts/list", json!({})), json!({ "prompts": [] }));
    assert_eq!(client.result("resources/list", json!({})), json!({ "resources": [] }));
    let error = client.error("prompts/get", json!({ "name": "x" }));
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("No project is selected; select a project with `mcpkg project select NAME`"))
    );
    let (text, failed) = client.call("create_prompt", json!({ "name": "a", "content": "x" }));
    assert!(failed && text.contains("mcpkg project select NAME"), "{text}");
    scratch.ok(&["project", "create", "p"]);
    assert!(!client.call("create_prompt", json!({ "name": "a", "content": "x" })).1);
    client.finish();
}

#[test]
fn templates_are_rendered_and_a_missing_argument_is_named() {
    let (scratch, mut client) = auth_module();
    let arguments = json!([{ "name": "file", "description": "The file", "required": true }, { "name": "focus" }]);
    client.call(
        "create_prompt",
        json!({ "name": "look", "content": "Look at {{ file }}{% if focus == 'speed' %} fast{% endif %}\n", "arguments": arguments }),
    );
    let listed = client.result("prompts/list", json!({}));
    assert_eq!(
        listed["prompts"][0]["arguments"],
        json!([{ "name": "file", "description": "The file", "required": true }, { "name": "focus", "required": false }])
    );
    let got =
        client.result("prompts/get", json!({ "name": "look", "arguments": { "file": "a.rs", "focus": "speed" } }));
    assert_eq!(got["messages"][0]["content"]["text"], "Look at a.rs fast\n");
    let error = client.error("prompts/get", json!({ "name": "look" }));
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Prompt 'look' requires the argument 'file'");
    let complete = |client: &mut Client, argument: &str, value: &str| {
        let reference = json!({ "type": "ref/prompt", "name": "look" });
        let argument = json!({ "name": argument, "value": value });
        client.result("completion/complete", json!({ "ref": reference, "argument": argument }))["completion"].clone()
    };
    assert_eq!(complete(&mut client, "focus", "s")["values"], json!(["speed"]));
    assert_eq!(complete(&mut client, "file", "")["values"], json!([]));
    assert_eq!(complete(&mut client, "name", "lo")["values"], json!(["look"]));
    assert_eq!(
        scratch.ok(&["prompt", "show", "look", "--raw"]),
        "Look at {{ file }}{% if focus == 'speed' %} fast{% endif %}\n"
    );
    client.finish();
}

#[test]
fn a_plain_prompt_goes_out_byte_for_byte() {
    let (_scratch, mut client) = auth_module();
    let text = "Literal {{ braces }} {% and %} \"quotes\" \\ tab\t nul-free \u{1} \u{2028} 🦀 trailing \n\n";
    client.call("create_prompt", json!({ "name": "plain", "content": text }));
    let got = client.result("prompts/get", json!({ "name": "plain" }));
    assert_eq!(got["messages"][0]["content"]["text"], text);
    client.finish();
}

#[test]
fn lists_return_structured_data_and_reads_return_the_content_once() {
    let (_scratch, mut client) = auth_module();
    client.call("create_prompt", json!({ "name": "a", "content": "the needle", "description": "d" }));
    client.call("create_resource", json!({ "name": "doc", "uri": "file:///doc", "content": "needle two" }));
    client.call(
        "create_resource",
        json!({ "name": "pic", "uri": "file:///pic", "content": "AAEC", "mime_type": "image/png" }),
    );
    let mut structured = |tool: &str, arguments: serde_json::Value| {
        let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], false, "{result}");
        (result["structuredContent"].clone(), result["content"][0].clone())
    };
    assert_eq!(structured("list_prompts", json!({})).0, json!({ "prompts": [{ "name": "a", "description": "d" }] }));
    assert_eq!(structured("list_resources", json!({})).0["resources"][1]["uri"], "file:///pic");
    let hits = structured("search_content", json!({ "query": "needle" })).0;
    assert_eq!(hits["hits"].as_array().expect("hits").len(), 2, "{hits}");
    // Some agents show structuredContent instead of the content blocks, and others show both. So content is only in a
    // block, and its metadata is in `_meta`, which no model reads.
    let image = json!({ "type": "image", "data": "AAEC", "mimeType": "image/png" });
    let doc = json!({ "uri": "file:///doc", "name": "doc", "mime_type": "text/plain", "size": 10 });
    let pic = json!({ "uri": "file:///pic", "name": "pic", "mime_type": "image/png", "size": 3 });
    for (tool, arguments, block, item) in [
        (
            "get_prompt",
            json!({ "name": "a" }),
            json!({ "type": "text", "text": "the needle" }),
            json!({ "name": "a", "description": "d" }),
        ),
        ("read_resource", json!({ "uri": "doc" }), json!({ "type": "text", "text": "needle two" }), doc.clone()),
        ("read_resource", json!({ "uri": "file:///doc" }), json!({ "type": "text", "text": "needle two" }), doc),
        ("read_resource", json!({ "uri": "pic" }), image, pic),
    ] {
        let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        let expected = json!({ "content": [block], "isError": false, "_meta": { "mcpkg/item": item } });
        assert_eq!(result, expected, "{tool}");
    }
    client.finish();
}

#[test]
fn a_read_that_fails_has_no_data_and_says_what_to_do() {
    let (_scratch, mut client) = auth_module();
    client.call("create_prompt", json!({ "name": "code-review", "content": "x" }));
    let arguments = json!({ "name": "code-reveiw" });
    let result = client.result("tools/call", json!({ "name": "get_prompt", "arguments": arguments }));
    let text = "Error: Prompt 'code-reveiw' does not exist in project 'auth-module'\nhint: did you mean 'code-review'?";
    // The result has no structuredContent, because clients check it against the outputSchema even if isError is true.
    assert_eq!(result, json!({ "content": [{ "type": "text", "text": text }], "isError": true }));
    client.finish();
}
