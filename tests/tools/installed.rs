//! Tests installed tools: their installation, what agents see of them, and calls.

use serde_json::{Value, json};

use super::trusting;
use crate::support::{Client, Http, Scratch, http, skipped};

/// Publishes a tool with an input schema and an output schema.
pub(super) fn extract(scratch: &Scratch, name: &str, version: &str) {
    let front = format!(
        "---\nname: {name}\nversion: {version}\ndescription: Takes the text out of a PDF\n\
         scripts:\n  main: \"printf '{{\\\"text\\\":\\\"%s\\\"}}' {{{{file}}}}\"\n\
         inputSchema:\n  type: object\n  properties:\n    file: {{type: string, description: The file}}\n  required: [file]\n\
         outputSchema:\n  type: object\n  properties:\n    text: {{type: string}}\n  required: [text]\n\
         annotations:\n  readOnlyHint: true\n  openWorldHint: false\n---\n# PDF Extract\n\nHow to use it.\n"
    );
    let file = scratch.file(&format!("packages/{name}-{version}/SKILL.md"), front);
    let folder = file.parent().expect("a folder").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
}

/// Signs a tool with a key that the user trusts.
pub(super) fn signed(scratch: &Scratch, tool: &str) {
    let made = scratch.run(&["--json", "tool", "key", "new"]);
    assert!(made.status == 0 || made.stdout.contains("E_ALREADY_EXISTS"), "{made}");
    let signed = scratch.json(&["tool", "sign", tool]);
    trusting(scratch, signed["identity"].as_str().expect("an identity"));
}

/// Returns a scratch folder whose database contains `alice/pdf/extract`, signed with a trusted key.
pub(super) fn with_extract() -> Scratch {
    let scratch = Scratch::new();
    extract(&scratch, "alice/pdf/extract", "1.2.0");
    signed(&scratch, "alice/pdf/extract");
    scratch
}

pub(super) fn enact(scratch: &Scratch) -> Client {
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact"]);
    Client::spawn(&mut command).shake_hands("2025-06-18")
}

/// Calls a tool, checks that its text and its structured content are equal, and returns the content.
pub(super) fn data(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
    let text: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON as text");
    assert_eq!(text, result["structuredContent"], "the text is the data");
    result["structuredContent"].clone()
}

pub(super) fn listed(client: &mut Client) -> Vec<String> {
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    tools.as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

pub(super) const META: [&str; 6] =
    ["enact__search", "enact__learn", "enact__install", "enact__uninstall", "enact__list", "enact__run"];

/// If tools cannot run on this machine, reports the test as skipped and returns true.
pub(super) fn no_sandbox(failed: &Value) -> bool {
    let unavailable = failed.to_string().contains("E_RUNNER_UNAVAILABLE");
    if unavailable {
        skipped("tools cannot be run here");
    }
    unavailable
}

#[test]
fn the_contracts_session() {
    let scratch = with_extract();
    let mut client = enact(&scratch);
    let mut names = listed(&mut client);
    names.sort();
    let mut six = META.map(str::to_owned).to_vec();
    six.sort();
    assert_eq!(names, six);

    let found = data(&mut client, "enact__search", json!({ "query": "pdf extract" }));
    assert_eq!(found["results"][0]["name"], "alice/pdf/extract", "{found}");
    let learned = data(&mut client, "enact__learn", json!({ "tool": "alice/pdf/extract" }));
    assert!(learned["documentation"].as_str().is_some_and(|text| text.starts_with("# PDF Extract")), "{learned}");
    assert_eq!(learned["verification"]["status"], "verified");

    let installed = data(&mut client, "enact__install", json!({ "tool": "alice/pdf/extract" }));
    assert_eq!(installed["message"], "Installed alice/pdf/extract@1.2.0");
    assert_eq!(
        (&installed["success"], &installed["mcp_tools"], &installed["scope"], &installed["exposed"]),
        (&json!(true), &json!(["alice__pdf__extract"]), &json!("global"), &json!(true))
    );
    // The client is notified, and the next list contains the tool.
    client.notification("notifications/tools/list_changed");
    let tools = client.result("tools/list", json!({}))["tools"].clone();
    let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == "alice__pdf__extract");
    let tool = tool.expect("the installed tool");
    assert_eq!(tool["title"], "alice/pdf/extract");
    assert_eq!(tool["inputSchema"]["required"], json!(["file"]), "x47: schemas are kept");
    assert_eq!(tool["outputSchema"]["required"], json!(["text"]));
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "x29: annotations are forwarded");
    assert_eq!(tool["annotations"]["idempotentHint"], false, "what a manifest does not say is not promised");

    let call = json!({ "name": "alice__pdf__extract", "arguments": { "file": "doc.pdf" } });
    let called = client.result("tools/call", call);
    if no_sandbox(&called) {
        return;
    }
    assert_eq!(called["structuredContent"], json!({ "text": "doc.pdf" }), "x31: {called}");
    assert_eq!(called["_meta"]["mcpkg/run"]["runner"], "bubblewrap");

    let gone = data(&mut client, "enact__uninstall", json!({ "tool": "alice/pdf/extract" }));
    assert_eq!(gone["versions"], json!(["1.2.0"]));
    client.notification("notifications/tools/list_changed");
    assert!(!listed(&mut client).contains(&"alice__pdf__extract".to_owned()));
    client.finish();
}

#[test]
fn a_server_is_notified_of_an_install_by_another_process() {
    let scratch = with_extract();
    let mut client = enact(&scratch);
    assert!(!listed(&mut client).contains(&"alice__pdf__extract".to_owned()));
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    client.notification("notifications/tools/list_changed");
    assert!(listed(&mut client).contains(&"alice__pdf__extract".to_owned()));
    client.finish();
}

#[test]
fn x26_all_arguments_are_checked_before_anything_runs() {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    let mut client = enact(&scratch);
    for arguments in [json!({}), json!({ "file": 5 })] {
        let answer = client.result("tools/call", json!({ "name": "alice__pdf__extract", "arguments": arguments }));
        assert_eq!(answer["isError"], true, "{answer}");
        assert_eq!(answer["_meta"]["mcpkg/error"]["code"], "E_TOOL_INPUT", "{answer}");
        assert!(answer["structuredContent"].is_null(), "{answer}");
    }
    client.finish();
    // A refused run is recorded too.
    let runs = scratch.json(&["tool", "runs"])["runs"].clone();
    let outcomes = runs.as_array().expect("runs").iter().map(|run| run["outcome"].clone()).collect::<Vec<_>>();
    assert_eq!(outcomes, ["E_TOOL_INPUT", "E_TOOL_INPUT"]);
}

#[test]
fn x05_unsigned_tools_are_neither_shown_nor_installed() {
    let scratch = Scratch::new();
    extract(&scratch, "alice/pdf/extract", "1.2.0");
    let mut client = enact(&scratch);
    for tool in ["enact__learn", "enact__install"] {
        let refused = data(&mut client, tool, json!({ "tool": "alice/pdf/extract" }));
        assert_eq!(refused["error"]["code"], "E_CONSENT_REQUIRED", "{refused}");
        assert!(!refused.to_string().contains("How to use it"), "{refused}");
    }
    assert_eq!(data(&mut client, "enact__list", json!({}))["tools"], json!([]));
    client.finish();
}

#[test]
fn x12_a_refused_call_leaves_no_install_and_no_files() {
    let scratch = Scratch::new();
    extract(&scratch, "alice/pdf/extract", "1.2.0");
    let mut client = enact(&scratch);
    let of_run = json!({ "tool": "alice/pdf/extract", "args": { "file": "x" } });
    let other = json!({ "tool": "alice/pdf/extract" });
    for (tool, arguments) in [("enact__learn", &other), ("enact__install", &other), ("enact__run", &of_run)] {
        let refused = data(&mut client, tool, arguments.clone());
        assert_eq!(refused["error"]["code"], "E_CONSENT_REQUIRED", "{tool}: {refused}");
    }
    client.finish();
    assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]));
    let unpacked = scratch.path().join(".cache/mcpkg/tools");
    let trees = std::fs::read_dir(&unpacked).into_iter().flatten().flatten();
    let left: Vec<_> = trees.map(|entry| entry.file_name()).filter(|name| name.len() == 64).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_distrusted_signers_tool_is_refused_at_the_next_call() {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    let listed = scratch.json(&["tool", "trust", "list"]);
    let identity = listed["trusted"][0]["identity"].as_str().expect("an identity").to_owned();
    scratch.ok(&["tool", "trust", "remove", &identity, "--yes"]);
    let mut client = enact(&scratch);
    let call = json!({ "name": "alice__pdf__extract", "arguments": { "file": "doc.pdf" } });
    let refused = client.result("tools/call", call);
    assert_eq!(refused["_meta"]["mcpkg/error"]["code"], "E_CONSENT_REQUIRED", "{refused}");
    client.finish();
}

#[test]
fn a_toolset_limits_lists_and_calls() {
    let scratch = with_extract();
    extract(&scratch, "bob/other", "1.0.0");
    signed(&scratch, "bob/other");
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    // A new toolset contains the installed tools. Tools that are not installed cannot be added.
    scratch.ok(&["toolset", "create", "pdf"]);
    assert_eq!(scratch.json(&["toolset", "show", "pdf"])["tools"], json!(["alice/pdf/extract"]));
    assert_eq!(scratch.run(&["toolset", "create", "pdf"]).status, 1);
    assert_eq!(scratch.run(&["toolset", "add", "pdf", "bob/other"]).status, 1);
    scratch.ok(&["toolset", "use", "pdf"]);
    let mut client = enact(&scratch);
    // A tool that is installed while a toolset is active is not shown.
    let installed = data(&mut client, "enact__install", json!({ "tool": "bob/other" }));
    assert_eq!((&installed["success"], &installed["exposed"]), (&json!(true), &json!(false)));
    let names = listed(&mut client);
    assert!(names.contains(&"alice__pdf__extract".to_owned()) && !names.contains(&"bob__other".to_owned()));
    // A tool that is not shown cannot be called either.
    let call = json!({ "name": "bob__other", "arguments": { "file": "x" } });
    let refused = client.result("tools/call", call);
    assert_eq!(refused["_meta"]["mcpkg/error"]["code"], "E_NOT_IN_TOOLSET", "{refused}");
    // The active toolset cannot be deleted.
    assert_eq!(scratch.run(&["toolset", "delete", "pdf", "--yes"]).status, 2);
    // `toolset use` in the shell takes effect in the running server at once.
    scratch.ok(&["toolset", "use", "--all"]);
    client.notification("notifications/tools/list_changed");
    assert!(listed(&mut client).contains(&"bob__other".to_owned()));
    client.finish();
}

#[test]
fn a_server_with_a_missing_toolset_shows_no_installed_tool_and_warns() {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    let ran = scratch.run(&["serve", "--toolset", "nope"]);
    assert!(ran.status == 0 && ran.stderr.contains("toolset 'nope' does not exist"), "{ran}");
    let mut command = scratch.command();
    command.args(["serve", "--as", "enact", "--toolset", "nope"]);
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    assert_eq!(listed(&mut client).len(), META.len());
    client.finish();
}

#[test]
fn x54_several_versions_can_be_installed() {
    let scratch = with_extract();
    extract(&scratch, "alice/pdf/extract", "1.3.0");
    signed(&scratch, "alice/pdf/extract@1.3.0");
    scratch.ok(&["tool", "install", "alice/pdf/extract@1.2.0"]);
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    let versions = |scratch: &Scratch| {
        let tools = scratch.json(&["tool", "list"])["tools"].clone();
        let rows = tools.as_array().expect("tools").iter();
        rows.map(|tool| (tool["version"].clone(), tool["active"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(versions(&scratch), [(json!("1.2.0"), json!(false)), (json!("1.3.0"), json!(true))]);
    scratch.ok(&["tool", "use", "alice/pdf/extract@1.2.0"]);
    assert_eq!(versions(&scratch), [(json!("1.2.0"), json!(true)), (json!("1.3.0"), json!(false))]);
    scratch.ok(&["tool", "uninstall", "alice/pdf/extract@1.2.0"]);
    assert_eq!(versions(&scratch), [(json!("1.3.0"), json!(true))]);
}

#[test]
fn x55_invalid_json_changes_nothing() {
    let scratch = with_extract();
    scratch.ok(&["tool", "install", "alice/pdf/extract"]);
    scratch.ok(&["toolset", "create", "pdf"]);
    scratch.file("mcp.json", r#"{"toolsets": {"a": ["alice/pdf/extract"], }"#);
    assert_eq!(scratch.run(&["toolset", "import", "mcp.json"]).status, 2);
    scratch.file("mcp.json", r#"{"toolsets": {"a": ["alice/pdf/extract"], "pdf": []}}"#);
    assert_eq!(scratch.run(&["toolset", "import", "mcp.json"]).status, 1);
    assert_eq!(scratch.json(&["toolset", "list"])["toolsets"].as_array().map(Vec::len), Some(1));
    let text = scratch.ok(&["toolset", "export"]);
    scratch.ok(&["toolset", "rename", "pdf", "was"]);
    scratch.file("mcp.json", text);
    scratch.ok(&["toolset", "import", "mcp.json"]);
    assert_eq!(scratch.json(&["toolset", "show", "pdf"])["tools"], json!(["alice/pdf/extract"]));
}

#[test]
fn x52_tenants_see_and_call_only_their_own_installs() {
    let scratch = with_extract();
    let key = |name: &str| scratch.json(&["access", "create", name])["key"].as_str().expect("a key").to_owned();
    let (one, two) = (key("one"), key("two"));
    let server = Http::start(&scratch, &["--as", "enact"]);
    let ask = |key: &str, method: &str, params: Value| {
        let request = http::modern("/mcp", method, params).with("authorization", &format!("Bearer {key}"));
        server.send(&request).message()["result"].clone()
    };
    let names = |key: &str| ask(key, "tools/list", json!({}))["tools"].to_string();
    let install = json!({ "name": "enact__install", "arguments": { "tool": "alice/pdf/extract" } });
    let installed = ask(&one, "tools/call", install);
    assert_eq!(installed["structuredContent"]["scope"], "key", "{installed}");
    assert!(names(&one).contains("alice__pdf__extract"));
    assert!(!names(&two).contains("alice__pdf__extract"));
    let list = ask(&two, "tools/call", json!({ "name": "enact__list", "arguments": {} }));
    assert_eq!(list["structuredContent"]["tools"], json!([]));
}
