//! Tests the `mcpkg plugin` commands.

use serde_json::json;

use super::{Ground, person_runs};
use crate::support::Scratch;

#[test]
fn a_plugin_is_listed_changed_and_removed() {
    let ground = Ground::new();
    let listed = ground.scratch.ok(&["plugin", "list"]);
    assert!(listed.starts_with("toy\twell\t3\t"), "{listed}");
    let ran = ground.scratch.run(&["plugin", "check", "toy"]);
    insta::assert_snapshot!(ran.to_string(), @r"
    status: 0
    --- stdout
    The plugin 'toy' lists 3 tools, as before
    --- stderr
    ");
    ground.scratch.ok(&["plugin", "set", "toy", "--timeout", "9", "--idle", "60"]);
    let listed = ground.listed();
    assert_eq!((&listed["timeout_s"], &listed["idle_s"], &listed["state"]), (&json!(9), &json!(60), &json!("well")));
    let ran = ground.scratch.run(&["plugin", "set", "toy", "--provider", "list_note", "--value", "id"]);
    assert!(ran.status == 1 && ran.stderr.contains("did you mean 'list_notes'?"), "{ran}");
    let ran = ground.scratch.run(&["plugin", "chek", "toy"]);
    assert_eq!(ran.status, 2, "{ran}");
    let unasked = ground.scratch.run(&["plugin", "remove", "toy"]);
    assert!(unasked.status == 1 && unasked.stderr.contains("needs to be confirmed"), "{unasked}");
    ground.scratch.ok(&["plugin", "remove", "toy", "--yes"]);
    assert_eq!(ground.scratch.json(&["plugin", "list"])["plugins"], json!([]));
    assert_eq!(ground.scratch.json(&["mcp", "list"])["servers"][0]["name"], "toy", "the server stays");
    let kinds: Vec<String> = ground.scratch.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .filter_map(|event| event["kind"].as_str().filter(|kind| kind.starts_with("plugin")).map(str::to_owned))
        .collect();
    // The trail also contains the second `plugin set`, which was refused.
    assert_eq!(kinds, ["plugin.add", "plugin.set", "plugin.set", "plugin.remove"]);
}

#[test]
fn plugins_and_catalogs_share_one_namespace() {
    let ground = Ground::new();
    let api =
        json!({ "openapi": "3.1.0", "info": { "title": "Toy", "version": "1" }, "paths": { "/a": { "get": {} } } });
    ground.scratch.file("api.json", api.to_string());
    let ran = ground.scratch.run(&["catalog", "import", "api.json", "--prefix", "toy"]);
    assert!(ran.status == 1 && ran.stderr.contains("The group 'toy' is already used by the plugin"), "{ran}");
    ground.scratch.ok(&["catalog", "import", "api.json", "--prefix", "other"]);
    for (name, why) in
        [("other", "A catalog already has commands"), ("mcpkg", "mcpkg's own"), ("Toy", "not a valid name of a plugin")]
    {
        let mut given = ground.play.given();
        given["name"] = json!(name);
        let refused = ground.person_runs(&["plugin", "add"], given).expect_err(name);
        assert!(refused.message().contains(why), "{refused}");
    }
    // A server that was renamed to a taken name has no commands. `doctor` reports why.
    ground.scratch.ok(&["mcp", "set", "toy", "--rename", "other"]);
    assert!(
        ground.scratch.json(&["command", "search", "note"])["results"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|found| found["id"] != "other:add_note")
    );
    assert!(ground.scratch.run(&["doctor", "--scope", "user"]).stdout.contains("'other' has no commands"));
    ground.scratch.ok(&["mcp", "set", "other", "--rename", "toy"]);
    assert_eq!(ground.scratch.json(&["command", "search", "add note"])["results"][0]["id"], "toy:add_note");
}

#[test]
fn plugins_of_another_program_are_imported_but_not_started() {
    let scratch = Scratch::with_project();
    let file = json!({ "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "files"], "env": { "TOKEN": "hunter22" }, "disabled": true, "tags": ["a"] },
        "docs": { "baseUrl": "https://docs.example/mcp", "headers": { "X-Key": "${env:DOCS_KEY}" } },
        "Old": { "command": "old" },
        "leaky": { "command": "leaky", "args": ["--token", "${env:TOKEN}"] },
    } });
    scratch.file("mcp.json", file.to_string());
    let ran = scratch.run(&["plugin", "import", "mcp.json"]);
    insta::assert_snapshot!(ran.to_string(), @r"
    status: 0
    --- stdout
    Imported 2 plugins from `mcp.json`
    --- stderr
    warning: server 'files': it is disabled; enable the server with `mcpkg mcp set NAME --enabled true`
    warning: server 'files': the value of env TOKEN was not stored; set the variable TOKEN to that value
    warning: server 'files': skipped its key `tags`
    warning: server 'docs': `baseUrl` is read as `url`
    warning: skipped 'Old': 'Old' is not a valid name of a plugin
    warning: skipped 'leaky': MCP server 'leaky' cannot be a plugin: its command line contains the variable TOKEN, and every user of this machine can read command lines
    hint: nothing was started; approve the plugins with `mcpkg plugin check` at a terminal
    ");
    let listed = scratch.json(&["plugin", "list"]);
    let states: Vec<_> =
        listed["plugins"].as_array().expect("a list").iter().map(|one| (&one["name"], &one["state"])).collect();
    assert_eq!(states, [(&json!("docs"), &json!("unapproved")), (&json!("files"), &json!("disabled"))]);
    assert!(!scratch.bytes().windows(8).any(|window| window == b"hunter22"));
    let again = scratch.run(&["plugin", "import", "mcp.json"]);
    assert!(
        again.status == 0 && again.stderr.contains("the project already has an MCP server of this name"),
        "{again}"
    );
}

#[test]
fn plugin_add_uses_an_mcp_server_of_the_project() {
    let ground = Ground::new();
    ground.person_runs(&["plugin", "remove"], json!({ "name": "toy" })).expect("it is removed");
    let mut given = ground.play.given();
    given["name"] = json!("toy");
    let refused = ground.person_runs(&["plugin", "add"], given).expect_err("another definition");
    assert!(refused.message().contains("already exists"), "{refused}");
    ground.person_runs(&["plugin", "add"], json!({ "name": "toy" })).expect("it is added");
    let twice = ground.person_runs(&["plugin", "add"], json!({ "name": "toy" })).expect_err("twice");
    assert!(twice.message().contains("already provides commands"), "{twice}");
    let none =
        person_runs(&Scratch::with_project(), &["plugin", "add"], json!({ "name": "toy" })).expect_err("nothing");
    assert_eq!(none.message(), "Project 'p' has no MCP server 'toy'");
    assert!(none.hints()[0].contains("`mcpkg plugin add toy -- PROGRAM ARGUMENTS`"), "{:?}", none.hints());
}
