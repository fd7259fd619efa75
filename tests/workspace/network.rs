//! Tests of workspaces over HTTP: a server offers them only with `--groups workspace` or `--as smctl`, and some keys
//! cannot use them.

use serde_json::{Value, json};

use super::shop::Shop;
use crate::support::{Http, http};

const STATUS: &str = "smctl://flow/branches";
const TOOL: &str = "smctl_flow_feature_start";

fn server(shop: &Shop, arguments: &[&str]) -> Http {
    let mut command = shop.command();
    Http::spawn(command.args(["--json", "serve", "--mcp", "--http", "--port", "0"]).args(arguments))
}

fn tools(server: &Http, key: Option<&str>) -> Vec<String> {
    let listed = ask(server, key, "tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
}

fn ask(server: &Http, key: Option<&str>, method: &str, params: Value) -> Value {
    let request = http::modern("/mcp", method, params);
    let request = match key {
        Some(key) => request.with("Authorization", &format!("Bearer {key}")),
        None => request,
    };
    server.send(&request).message()
}

#[test]
fn a_server_on_the_network_serves_workspaces_only_if_started_for_them() {
    let shop = Shop::new();
    for arguments in [&[][..], &["--groups", "all"], &["--groups", "content"]] {
        let server = server(&shop, arguments);
        assert!(!tools(&server, None).iter().any(|name| name.starts_with("smctl_")), "{arguments:?}");
        let called = ask(&server, None, "tools/call", json!({ "name": TOOL, "arguments": { "name": "x" } }));
        assert_eq!(called["error"]["code"], -32602, "{called}");
        let read = ask(&server, None, "resources/read", json!({ "uri": STATUS }));
        assert!(read["error"]["code"].is_i64(), "{read}");
        let templates = ask(&server, None, "resources/templates/list", json!({}));
        assert!(!templates.to_string().contains("smctl://"), "{templates}");
    }
    for arguments in [&["--groups", "workspace"], &["--as", "smctl"]] {
        let server = server(&shop, arguments);
        assert!(tools(&server, None).iter().any(|name| name == TOOL), "{arguments:?}");
        let read = ask(&server, None, "resources/read", json!({ "uri": STATUS }));
        assert_eq!(read["result"]["contents"][0]["uri"], STATUS, "{read}");
        let session = server.session("/mcp", "2025-06-18");
        let called =
            http::in_session("/mcp", &session, "tools/call", json!({ "name": TOOL, "arguments": { "nam": "x" } }));
        let called = server.send(&called).message();
        assert_eq!(called["error"]["code"], -32602, "{called}");
        assert!(
            called["error"]["message"].as_str().is_some_and(|said| said.contains("did you mean `name`?")),
            "{called}"
        );
    }
}

#[test]
fn keys_of_a_project_cannot_use_workspaces_and_read_only_keys_only_read() {
    let shop = Shop::new();
    shop.ok(&["project", "create", "p"]);
    let key = |arguments: &[&str]| {
        let made = shop.data(&[&["access", "create"], arguments].concat());
        made["key"].as_str().expect("a key").to_owned()
    };
    let of_project = key(&["one", "--project", "p"]);
    let reads = key(&["two", "--read-only"]);
    let server = server(&shop, &["--as", "smctl"]);
    assert_eq!(tools(&server, Some(&of_project)), Vec::<String>::new());
    let read = ask(&server, Some(&of_project), "resources/read", json!({ "uri": STATUS }));
    assert!(read["error"]["code"].is_i64(), "{read}");
    let listed = tools(&server, Some(&reads));
    assert!(!listed.iter().any(|name| name == TOOL), "{listed:?}");
    let read = ask(&server, Some(&reads), "resources/read", json!({ "uri": STATUS }));
    assert_eq!(read["result"]["contents"][0]["uri"], STATUS, "{read}");
}

#[test]
fn the_default_identity_lists_the_tools_inside_a_workspace() {
    let shop = Shop::new();
    let listed = |folder: &std::path::Path| {
        let mut command = shop.command();
        let mut client = crate::support::Client::spawn(command.current_dir(folder).arg("serve"));
        let info = json!({ "name": "test-client", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let told = client.result("initialize", hello)["instructions"].to_string();
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let tools = client.result("tools/list", json!({})).to_string();
        let templates = client.result("resources/templates/list", json!({})).to_string();
        assert!(tools.len() <= 32 << 10, "tools/list is {} bytes", tools.len());
        assert!(!client.result("resources/list", json!({})).to_string().contains("smctl://"));
        client.finish();
        let told = told.contains("is in a workspace of several git repositories");
        (tools.contains(TOOL), templates.contains("smctl://workspace/config"), told)
    };
    assert_eq!(listed(&shop.root()), (true, true, true));
    assert_eq!(listed(&shop.repo("api")), (true, true, true), "below it too");
    assert_eq!(listed(shop.scratch.path()), (false, false, false));
}
