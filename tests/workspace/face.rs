//! Tests of contract 003 as its clients see it: `serve --as smctl` over stdio, in an older revision and in the newest.

use std::process::Stdio;

use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use crate::support::{Client, Scratch, Wait};

/// Starts a server with smctl's command line, and a client of an older revision or of 2026-07-28.
fn client(shop: &Shop, modern: bool) -> Client {
    let mut command = shop.command();
    command.args(["serve", "--mcp", "--stdio", "--as", "smctl"]);
    match modern {
        true => Client::modern_with(&mut command, json!({})),
        false => Client::spawn(&mut command).shake_hands("2025-06-18"),
    }
}

/// Calls a tool, which must fail, and returns the error. In the newest revision, it is inside the result.
#[track_caller]
fn failure(client: &mut Client, modern: bool, tool: &str, arguments: Value) -> Value {
    let mut answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    if !modern {
        assert!(answer.get("result").is_none(), "{answer}");
        return answer["error"].take();
    }
    let result = &mut answer["result"];
    assert_eq!(result["isError"], true, "{result}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(text, result["structuredContent"]);
    result["structuredContent"]["error"].take()
}

/// `serve --confirm destructive`: a person confirms each call that may destroy something, but not calls that only
/// create or read.
#[test]
fn a_person_consents_to_destructive_calls_if_the_server_asks_for_it() {
    let shop = Shop::new();
    let mut command = shop.command();
    command.args(["serve", "--as", "smctl", "--confirm", "destructive"]);
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    let call = |tool: &str| json!({ "name": tool, "arguments": { "name": "login" } });
    client.result("tools/call", call("smctl_flow_feature_start"));
    shop.work("login.txt");
    let before = shop.state();
    let refused = client.error("tools/call", call("smctl_flow_feature_finish"));
    assert_eq!(refused["data"]["code"], "E_CONSENT_REQUIRED", "{refused}");
    let other = json!({ "name": "smctl_flow_feature_finish", "arguments": { "nmae": "login" } });
    assert_eq!(client.error("tools/call", other)["code"], -32602, "what is wrong is said before anybody is asked");
    assert_eq!(shop.state(), before);
    let consent = refused["data"]["consent"].as_str().expect("a request").to_owned();
    let shown = shop.data(&["consent", "show", &consent]);
    assert_eq!(shown["operation"], "smctl_flow_feature_finish", "{shown}");
    assert_eq!(shown["effects"], json!(["name = \"login\""]), "{shown}");
    client.finish();
    // A client that supports forms asks its user, who consents once.
    let mut client = Client::spawn(&mut command);
    let info = json!({ "name": "test-client", "version": "1" });
    let capabilities = json!({ "elicitation": { "form": {} } });
    client.result(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info }),
    );
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let id = client.post("tools/call", call("smctl_flow_feature_finish"));
    let question = client.notification("elicitation/create");
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes }));
    let answer = client.answer(&json!(id));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_ne!(shop.state(), before);
    client.finish();
}

#[test]
fn a_session_of_an_older_revision() {
    let shop = Shop::new();
    let mut client = Client::spawn(shop.command().args(["serve", "--as", "smctl"]));
    let info = json!({ "name": "test-client", "version": "1" });
    let hello = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info });
    let answer = client.result("initialize", hello);
    assert_eq!(answer["serverInfo"]["name"], "smctl");
    let capabilities = json!({ "tools": {}, "resources": { "subscribe": true, "listChanged": true }, "logging": {} });
    assert_eq!(answer["capabilities"], capabilities);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for method in ["prompts/list", "prompts/get", "skills/list", "tasks/get"] {
        assert_eq!(client.error(method, json!({}))["code"], -32601, "{method}");
    }
    assert_eq!(client.result("logging/setLevel", json!({ "level": "debug" })), json!({}));
    let listed = client.result("resources/list", json!({}));
    let listed = listed["resources"].as_array().expect("resources");
    assert_eq!(listed[0]["uri"], "smctl://workspace/config");
    assert_eq!(listed[0]["mimeType"], "application/toml");
    assert!(listed.iter().all(|resource| resource["uri"].as_str().is_some_and(|uri| uri.starts_with("smctl://"))));
    for resource in listed {
        let read = client.result("resources/read", json!({ "uri": resource["uri"] }));
        assert_eq!(read["contents"][0]["mimeType"], resource["mimeType"], "{read}");
    }
    let config = client.result("resources/read", json!({ "uri": "smctl://workspace/config" }));
    let manifest = std::fs::read_to_string(shop.root().join(".smctl/workspace.toml")).expect("a manifest");
    assert_eq!(config["contents"][0]["text"], manifest.as_str());
    let missing = client.error("resources/read", json!({ "uri": "smctl://workspace/nothing" }));
    assert_eq!((&missing["code"], &missing["data"]["code"]), (&json!(-32000), &json!("E_NOT_FOUND")), "{missing}");
    // The database's resources are not part of this contract.
    assert_eq!(client.error("resources/read", json!({ "uri": "mcpkg://events" }))["code"], -32000);
    client.finish();
}

#[test]
fn a_session_of_the_newest_revision() {
    let shop = Shop::new();
    let mut client = client(&shop, true);
    let found = client.result("server/discover", json!({}));
    let capabilities = json!({ "tools": {}, "resources": { "subscribe": true, "listChanged": true } });
    assert_eq!(found["capabilities"], capabilities);
    let listed = client.result("resources/list", json!({}));
    assert_eq!(listed["resources"][0]["uri"], "smctl://workspace/config", "{listed}");
    let branches = client.result("resources/read", json!({ "uri": "smctl://flow/branches" }));
    assert_eq!(branches["contents"][0]["mimeType"], "application/json");
    let missing = client.error("resources/read", json!({ "uri": "smctl://workspace/nothing" }));
    assert_eq!((&missing["code"], &missing["data"]["code"]), (&json!(-32602), &json!("E_NOT_FOUND")), "{missing}");
    assert!(missing["data"]["uri"].is_string());
    client.finish();
}

#[test]
fn outside_a_workspace_the_resources_are_listed_and_each_reports_that_there_is_none() {
    let shop = Shop::bare();
    for modern in [false, true] {
        let mut client = client(&shop, modern);
        let listed = client.result("resources/list", json!({}));
        let listed = listed["resources"].as_array().expect("resources");
        assert_eq!((&listed[0]["uri"], listed.len()), (&json!("smctl://workspace/config"), 7), "{listed:?}");
        let asked = json!({
            "ref": { "type": "ref/resource", "uri": "smctl://spec/{name}/tasks" },
            "argument": { "name": "name", "value": "" },
        });
        assert_eq!(client.result("completion/complete", asked)["completion"]["values"], json!([]));
        let missing = client.error("resources/read", json!({ "uri": "smctl://workspace/config" }));
        assert_eq!(missing["data"]["code"], "E_WORKSPACE_NOT_FOUND", "{missing}");
        client.finish();
    }
    // A manifest that cannot be parsed is not reported as missing.
    std::fs::create_dir(shop.root().join(".smctl")).expect("a folder");
    std::fs::write(shop.root().join(".smctl/workspace.toml"), "[[").expect("a file");
    let mut client = client(&shop, false);
    let invalid = client.error("resources/list", json!({}));
    assert_eq!(invalid["data"]["code"], "E_WORKSPACE_INVALID", "{invalid}");
    client.finish();
}

#[test]
fn x36_a_specs_documents_are_listed_completed_and_read_to_the_byte() {
    let shop = Shop::new();
    shop.ok(&["spec", "new", "login"]);
    let proposal = shop.root().join("openspec/changes/login/proposal.md");
    std::fs::write(&proposal, "# Why\r\nübermäßig \u{0}").expect("a file");
    let mut client = client(&shop, false);
    let listed = client.result("resources/list", json!({}));
    let uris: Vec<_> =
        listed["resources"].as_array().expect("resources").iter().map(|row| row["uri"].clone()).collect();
    assert_eq!(
        uris,
        [
            "smctl://workspace/config",
            "smctl://workspace/status",
            "smctl://worktree/list",
            "smctl://flow/branches",
            "smctl://spec/list",
            "smctl://gate/models",
            "smctl://gate/routes",
            "smctl://spec/login/proposal",
            "smctl://spec/login/design",
            "smctl://spec/login/tasks",
            "smctl://spec/login/status",
        ]
    );
    let templates = client.result("resources/templates/list", json!({}));
    let templates: Vec<_> = templates["resourceTemplates"]
        .as_array()
        .expect("templates")
        .iter()
        .map(|row| row["uriTemplate"].clone())
        .collect();
    assert_eq!(
        templates,
        ["proposal", "design", "tasks", "status"].map(|what| format!("smctl://spec/{{name}}/{what}"))
    );
    let asked = json!({
        "ref": { "type": "ref/resource", "uri": "smctl://spec/{name}/tasks" },
        "argument": { "name": "name", "value": "lo" },
    });
    assert_eq!(client.result("completion/complete", asked)["completion"]["values"], json!(["login"]));
    let read = client.result("resources/read", json!({ "uri": "smctl://spec/login/proposal" }));
    assert_eq!(read["contents"][0]["text"], "# Why\r\nübermäßig \u{0}");
    assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
    let status = client.result("resources/read", json!({ "uri": "smctl://spec/login/status" }));
    let status: Value = serde_json::from_str(status["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    let told = client.result("tools/call", json!({ "name": "smctl_spec_status", "arguments": { "name": "login" } }));
    assert_eq!(told["structuredContent"], status);
    let missing = client.error("resources/read", json!({ "uri": "smctl://spec/lgoin/tasks" }));
    assert_eq!(missing["code"], -32000, "{missing}");
    // The list changes with the specs, even if nobody subscribed to one.
    shop.ok(&["spec", "new", "logout"]);
    client.notification("notifications/resources/list_changed");
    let listed = client.result("resources/list", json!({}));
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(15));
    client.finish();
}

#[test]
fn the_branches_of_the_flow_are_grouped_by_kind() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login", "--repo", "lib"]);
    let mut client = client(&shop, false);
    let read = client.result("resources/read", json!({ "uri": "smctl://flow/branches" }));
    let branches: Value = serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    let feature = json!({
        "repo_name": "lib",
        "branch": "feature/login",
        "branch_type": "Feature",
        "head": shop.id("lib", "feature/login"),
        "merged": true,
        "worktree": null,
    });
    assert_eq!(branches["features"], json!([feature]));
    assert_eq!((&branches["releases"], &branches["hotfixes"]), (&json!([]), &json!([])));
    let base = branches["base"].as_array().expect("branches");
    assert_eq!(base.len(), 2 * REPOS.len(), "{branches}");
    assert!(base.iter().all(|base| base["branch_type"] == "Develop" || base["branch_type"] == "Main"), "{branches}");
    shop.commit(&shop.repo("lib"), "login.txt", "login\n");
    let read = client.result("resources/read", json!({ "uri": "smctl://flow/branches" }));
    let branches: Value = serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(branches["features"][0]["merged"], false);
    client.finish();
}

#[test]
fn x16_the_contracts_example_error() {
    let shop = Shop::new();
    for modern in [false, true] {
        let mut client = client(&shop, modern);
        let arguments = json!({ "name": "foo" });
        let error = failure(&mut client, modern, "smctl_flow_feature_finish", arguments);
        assert_eq!(error["code"], -32000, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("Feature branch 'foo' does not exist in repo "), "{message}");
        let data = &error["data"];
        assert_eq!(
            (&data["branch"], &data["suggestion"]),
            (&json!("feature/foo"), &json!("Run smctl_flow_feature_start first"),),
            "{error}"
        );
        assert!(data["repo"].is_string(), "{error}");
        assert_eq!(data["code"], "E_BRANCH_NOT_FOUND");
        client.finish();
    }
}

#[test]
fn x33_codes_of_a_missing_workspace_of_git_of_a_gate_and_of_a_spec() {
    let outside = Scratch::new();
    for modern in [false, true] {
        let mut command = outside.command();
        command.args(["serve", "--as", "smctl"]);
        let mut client = match modern {
            true => Client::modern_with(&mut command, json!({})),
            false => Client::spawn(&mut command).shake_hands("2025-11-25"),
        };
        let error = failure(&mut client, modern, "smctl_flow_feature_start", json!({ "name": "x" }));
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32001), &json!("E_WORKSPACE_NOT_FOUND")));
        assert!(error["data"]["path"].is_string() && error["data"]["suggestion"].is_string(), "{error}");
        let read = client.error("resources/read", json!({ "uri": "smctl://workspace/config" }));
        assert_eq!(read["code"], if modern { -32602 } else { -32001 }, "{read}");
        assert_eq!(read["data"]["code"], "E_WORKSPACE_NOT_FOUND");
        client.finish();
        let shop = Shop::new();
        shop.ok(&["flow", "feature", "start", "login"]);
        shop.work("login.txt");
        let api = shop.repo("api");
        shop.git(&api, &["switch", "-q", "develop"]);
        shop.commit(&api, "login.txt", "another\n");
        let mut client = self::client(&shop, modern);
        let error = failure(&mut client, modern, "smctl_flow_feature_finish", json!({ "name": "login" }));
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32002), &json!("E_FLOW_CONFLICT")), "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("api") && message.contains("login.txt"), "{message}");
        let manifest = shop.root().join(".smctl/workspace.toml");
        let text = std::fs::read_to_string(&manifest).expect("a manifest");
        // No server listens there.
        std::fs::write(&manifest, format!("{text}\n[gate]\nurl = \"http://127.0.0.1:1\"\n")).expect("a file");
        let error = failure(&mut client, modern, "smctl_gate_status", json!({}));
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32005), &json!("E_GATE_UNREACHABLE")), "{error}");
        shop.ok(&["spec", "new", "login"]);
        let error = failure(&mut client, modern, "smctl_spec_archive", json!({ "name": "login" }));
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32003), &json!("E_SPEC_INVALID")), "{error}");
        client.finish();
    }
}

/// Two servers are asked to finish the same feature. One does it. The error of the other names the run that did it.
#[test]
fn x45_two_servers_that_finish_one_feature() {
    for modern in [false, true] {
        let shop = Shop::new();
        shop.ok(&["flow", "feature", "start", "login"]);
        shop.work("login.txt");
        let mut servers = [client(&shop, modern), client(&shop, modern)];
        let finish = json!({ "name": "smctl_flow_feature_finish", "arguments": { "name": "login" } });
        let asked = servers.each_mut().map(|server| server.post("tools/call", finish.clone()));
        let answers: Vec<Value> = servers.iter_mut().zip(asked).map(|(server, id)| server.answer(&id.into())).collect();
        let done = answers.iter().filter(|answer| answer["result"]["isError"] == false).count();
        let named = answers.iter().filter(|answer| answer.to_string().contains("was already finished by run"));
        assert_eq!((done, named.count()), (1, 1), "{answers:?}");
        for (repo, _) in REPOS {
            assert_eq!(shop.git(&shop.repo(repo), &["rev-list", "--count", "--merges", "develop"]), "1");
        }
        servers.into_iter().for_each(Client::finish);
    }
}

#[test]
fn x41_unknown_arguments_of_tools_are_refused() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let before = shop.state();
    for modern in [false, true] {
        let mut client = client(&shop, modern);
        for unknown in ["push", "dry_run", "yes", "no_delte"] {
            let arguments = json!({ "name": "login", unknown: true });
            let error = failure(&mut client, modern, "smctl_flow_feature_finish", arguments);
            assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32602), &json!("E_INVALID_ARGUMENT")));
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains(&format!("`{unknown}`")), "{message}");
            assert_eq!(message.contains("did you mean `no_delete`?"), unknown == "no_delte", "{message}");
        }
        let error = failure(&mut client, modern, "smctl_flow_feature_finish", json!({ "name": 7 }));
        assert_eq!(error["code"], -32602, "{error}");
        client.finish();
    }
    assert_eq!(shop.state(), before);
}

#[test]
fn x10_standard_output_is_protocol_only_at_debug_too() {
    let shop = Shop::new();
    let log = shop.scratch.path().join("log");
    let mut command = shop.command();
    command.args(["serve", "--as", "smctl"]).env("SMCTL_LOG", "debug");
    let mut client = Client::spawn_logging(&mut command, Stdio::from(std::fs::File::create(&log).expect("a file")));
    client = client.shake_hands("2025-06-18");
    // The client fails at each line that is not JSON-RPC.
    client.result("tools/list", json!({}));
    client.result("resources/read", json!({ "uri": "smctl://flow/branches" }));
    let arguments = json!({ "name": "https://ada:hunter2@example.org/x" });
    failure(&mut client, false, "smctl_flow_feature_start", arguments);
    assert_eq!(client.wait(std::time::Duration::from_millis(100)), Wait::Nothing);
    client.finish();
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(log.contains(" INFO ") && log.contains("smctl_flow_feature_start"), "{log}");
    assert!(log.contains("DEBUG") && log.contains("example.org"), "bodies are logged at debug: {log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn calls_are_logged_by_default() {
    let shop = Shop::new();
    let log = shop.scratch.path().join("log");
    let mut command = shop.command();
    command.args(["serve", "--as", "smctl"]);
    let mut client = Client::spawn_logging(&mut command, Stdio::from(std::fs::File::create(&log).expect("a file")));
    client = client.shake_hands("2025-06-18");
    client.result("tools/call", json!({ "name": "smctl_worktree_list", "arguments": {} }));
    client.finish();
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(
        log.contains(" INFO ") && log.contains("tool=\"smctl_worktree_list\"") && log.contains("outcome=\"ok\""),
        "{log}"
    );
}

#[test]
fn a_manifest_that_does_not_parse_can_be_read_to_repair_it() {
    let shop = Shop::new();
    let manifest = shop.root().join(".smctl/workspace.toml");
    let broken = "[workspace\nname = \"shop\"\nurl = \"https://ada:hunter2@example.org/x\"\n";
    std::fs::write(&manifest, broken).expect("a manifest");
    for modern in [false, true] {
        let mut client = client(&shop, modern);
        let read = client.result("resources/read", json!({ "uri": "smctl://workspace/config" }));
        let text = read["contents"][0]["text"].as_str().expect("a text");
        assert!(text.starts_with("[workspace\n") && !text.contains("hunter2"), "{text}");
        failure(&mut client, modern, "smctl_workspace_status", json!({}));
        client.finish();
    }
}
