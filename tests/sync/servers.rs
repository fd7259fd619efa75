//! Tests of MCP servers in a project and a folder: in the manifest, and in the files of agents.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::Scratch;

fn text(scratch: &Scratch, path: &str) -> String {
    fs::read_to_string(scratch.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns a file of Claude Code with a server `b` that has these arguments.
fn file(args: &str) -> String {
    format!(
        "{{\n  \"mcpServers\": {{\n    \"b\": {{\n      \"command\": \"b\",\n      \"args\": [\"{args}\"],\n      \"env\": {{\n        \
         \"TOKEN\": \"${{TOKEN}}\"\n      }}\n    }}\n  }}\n}}\n"
    )
}

/// Returns a project with a server from `mcp add`, and one from an agent's file, synced with `team`.
fn synced() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "Review it.\n"]);
    scratch.ok(&["mcp", "add", "a", "-e", "A_TOKEN", "--", "npx", "-y", "a"]);
    scratch.file("repo/.mcp.json", file("b"));
    scratch.ok(&["import", "repo/.mcp.json"]);
    scratch.ok(&["sync", "team"]);
    scratch
}

/// Returns another home that is synced with the same folder.
fn another(scratch: &Scratch) -> Scratch {
    let other = Scratch::with_project();
    other.ok(&["sync", &scratch.path().join("team").display().to_string()]);
    other
}

/// Returns the servers of a home, without the fields that differ between homes.
fn servers(scratch: &Scratch) -> Vec<Value> {
    let list = scratch.json(&["mcp", "list"]);
    let names = list["servers"].as_array().expect("a list").iter().map(|server| server["name"].clone());
    names
        .map(|name| {
            let mut server = scratch.json(&["mcp", "show", name.as_str().expect("a name")]);
            let fields = server.as_object_mut().expect("an object");
            for own in ["id", "revision", "created_at", "updated_at", "enabled"] {
                fields.shift_remove(own);
            }
            server
        })
        .collect()
}

fn server(scratch: &Scratch, name: &str) -> Value {
    servers(scratch).into_iter().find(|server| server["name"] == name).unwrap_or_else(|| panic!("no server {name}"))
}

fn is_enabled(scratch: &Scratch, name: &str) -> Value {
    scratch.json(&["mcp", "show", name])["enabled"].clone()
}

/// Returns the servers in the folder's manifest.
fn listed(scratch: &Scratch) -> Value {
    let manifest: Value = serde_json::from_str(&text(scratch, "team/mcpkg.export.json")).expect("JSON");
    manifest["servers"].clone()
}

#[track_caller]
fn is_settled(scratch: &Scratch) {
    let checked = scratch.run(&["sync", "--check"]);
    assert_eq!(checked.status, 0, "{checked}");
}

#[test]
fn servers_are_written_to_the_folder_as_by_an_export() {
    let scratch = synced();
    scratch.ok(&["export", "out"]);
    for path in ["mcpkg.export.json", ".mcp.json"] {
        assert_eq!(text(&scratch, &format!("team/{path}")), text(&scratch, &format!("out/{path}")));
    }
    assert_eq!(listed(&scratch).as_array().map(Vec::len), Some(1), "the file says the other one");
    is_settled(&scratch);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 0
    --- stdout
    Project 'p' and <SCRATCH>/team are in sync
    --- stderr
    ");
}

#[test]
fn a_server_from_others_is_disabled_and_refers_to_its_secrets() {
    let scratch = synced();
    let other = Scratch::with_project();
    let team = scratch.path().join("team").display().to_string();
    assert_snapshot!(other.run(&["-v", "sync", &team]).to_string().replace(&team, "TEAM"), @r"
    status: 0
    --- stdout
    Synced project 'p' with TEAM: 4 items copied into the project
    --- stderr
    .claude/commands/review.md: import prompt 'review'
    .mcp.json: import agent_file '.mcp.json'
    mcp_server:a: import MCP server 'a'
    mcp_server:b: import MCP server 'b'
    hint: MCP server 'a' came from the folder, so it is disabled until `mcpkg mcp set a --enabled true`
    hint: MCP server 'b' came from the folder, so it is disabled until `mcpkg mcp set b --enabled true`
    ");
    assert_eq!(servers(&other), servers(&scratch));
    for name in ["a", "b"] {
        assert_eq!((is_enabled(&scratch, name), is_enabled(&other, name)), (json!(true), json!(false)), "{name}");
    }
    assert_eq!(server(&other, "a")["env"]["A_TOKEN"], json!([{ "env": "A_TOKEN" }]));
    assert_eq!(server(&other, "b")["env"]["TOKEN"], json!([{ "env": "TOKEN" }]));
    // Each user decides which servers are enabled, so the folder does not change.
    let before = text(&scratch, "team/mcpkg.export.json");
    other.ok(&["mcp", "set", "a", "--enabled", "true"]);
    other.ok(&["sync"]);
    scratch.ok(&["mcp", "set", "b", "--enabled", "false"]);
    scratch.ok(&["sync"]);
    assert_eq!(text(&scratch, "team/mcpkg.export.json"), before);
    is_settled(&other);
    // A server that runs something else than before is disabled again.
    scratch.ok(&["mcp", "set", "a", "--", "npx", "-y", "other"]);
    scratch.ok(&["sync"]);
    let ran = other.run(&["sync"]);
    assert!(ran.status == 0 && ran.stderr.contains("mcpkg mcp set a --enabled true"), "{ran}");
    assert_eq!((is_enabled(&scratch, "a"), is_enabled(&other, "a")), (json!(true), json!(false)));
    assert_eq!(servers(&other), servers(&scratch));
}

#[test]
fn a_server_that_was_changed_here_is_changed_in_the_folder() {
    let scratch = synced();
    let other = another(&scratch);
    scratch.ok(&["mcp", "set", "a", "-d", "The first"]);
    scratch.ok(&["mcp", "set", "b", "--", "b", "new"]);
    scratch.ok(&["mcp", "add", "c", "--url", "https://c.example/mcp"]);
    assert_snapshot!(scratch.run(&["sync", "--dry-run"]), @r"
    status: 0
    --- stdout
    write	agent_file '.mcp.json'	.mcp.json	
    write	MCP server 'a'	mcp_server:a	
    write	MCP server 'b'	mcp_server:b	
    write	MCP server 'c'	mcp_server:c	
    --- stderr
    ");
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    assert_eq!(text(&scratch, "team/.mcp.json"), file("b"), "nothing was written");
    scratch.ok(&["sync"]);
    assert_snapshot!(text(&scratch, "team/.mcp.json"), @r#"
    {
      "mcpServers": {
        "b": {
          "type": "stdio",
          "command": "b",
          "args": ["new"],
          "env": {
            "TOKEN": "${TOKEN}"
          }
        }
      }
    }
    "#);
    assert_snapshot!(listed(&scratch).to_string(), @r#"[{"name":"a","transport":"stdio","command":["npx"],"args":[["-y"],["a"]],"env":[["A_TOKEN",[{"env":"A_TOKEN"}]]],"description":"The first","origin":{},"enabled":true},{"name":"c","transport":"http","url":["https://c.example/mcp"],"origin":{},"enabled":true}]"#);
    is_settled(&scratch);
    assert_eq!(other.run(&["sync", "--check"]).status, 3);
    other.ok(&["sync"]);
    assert_eq!(servers(&other), servers(&scratch));
    is_settled(&other);
    scratch.ok(&["export", "out"]);
    assert_eq!(text(&scratch, "out/.mcp.json"), text(&scratch, "team/.mcp.json"));
}

#[test]
fn a_server_that_was_changed_in_the_folder_is_changed_here() {
    let scratch = synced();
    scratch.file("team/.mcp.json", file("edited"));
    let manifest = text(&scratch, "team/mcpkg.export.json");
    scratch.file("team/mcpkg.export.json", manifest.replace("\"-y\"", "\"--yes\""));
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    scratch.ok(&["sync"]);
    assert_eq!(server(&scratch, "a")["args"], json!([["--yes"], ["a"]]));
    assert_eq!(server(&scratch, "b")["args"], json!([["edited"]]));
    assert_eq!((is_enabled(&scratch, "a"), is_enabled(&scratch, "b")), (json!(false), json!(false)));
    assert_eq!(text(&scratch, "team/.mcp.json"), file("edited"));
    is_settled(&scratch);
}

#[test]
fn changes_of_different_parts_of_a_server_are_merged() {
    let scratch = synced();
    let other = another(&scratch);
    scratch.ok(&["mcp", "set", "a", "-d", "The first"]);
    other.ok(&["mcp", "set", "a", "--", "npx", "--yes", "a"]);
    scratch.ok(&["sync"]);
    other.ok(&["sync"]);
    scratch.ok(&["sync"]);
    for home in [&scratch, &other] {
        let server = server(home, "a");
        assert_eq!((&server["description"], &server["args"]), (&json!("The first"), &json!([["--yes"], ["a"]])));
        is_settled(home);
    }
}

/// Returns a synced project in which both sides changed the arguments of `b`.
fn in_conflict() -> Scratch {
    let scratch = synced();
    scratch.file("team/.mcp.json", file("theirs"));
    scratch.ok(&["mcp", "set", "b", "--", "b", "ours"]);
    scratch
}

#[test]
fn a_server_that_both_changed_is_proposed() {
    let scratch = in_conflict();
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item copied into the project, 1 item proposed
    --- stderr
    hint: MCP server 'b' (`mcp_server:b`): both changed: content
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Nothing has changed in the project or in <SCRATCH>/team since the last sync
    --- stderr
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    assert_eq!(text(&scratch, "team/.mcp.json"), file("theirs"));
    assert_eq!(server(&scratch, "b")["args"], json!([["ours"]]));
    assert_snapshot!(scratch.ok(&["evolve", "list"]), @"1	open	change	mcp_server:b	mcp_server:b");
    assert_snapshot!(scratch.ok(&["evolve", "show", "1"]), @r#"
    --- a/mcp_server:b
    +++ b/mcp_server:b
    @@ -5,7 +5,7 @@
       ],
       "args": [
         [
    -      "ours"
    +      "theirs"
         ]
       ],
       "env": [
    "#);
    // The next sync writes other changes, but not this server.
    scratch.ok(&["mcp", "set", "a", "-d", "The first"]);
    assert_eq!(scratch.run(&["sync"]).status, 1);
    assert_eq!(listed(&scratch)[0]["description"], "The first");
    assert_eq!(text(&scratch, "team/.mcp.json"), file("theirs"));
    scratch.ok(&["evolve", "accept", "1"]);
    assert_eq!((server(&scratch, "b")["args"].clone(), is_enabled(&scratch, "b")), (json!([["theirs"]]), json!(false)));
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    assert_eq!(text(&scratch, "team/.mcp.json"), file("theirs"));
}

#[test]
fn a_rejected_server_is_ours_in_the_folder_too() {
    let scratch = in_conflict();
    assert_eq!(scratch.run(&["sync"]).status, 1);
    scratch.ok(&["evolve", "reject", "1"]);
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    assert!(text(&scratch, "team/.mcp.json").contains("\"ours\""));
    assert_eq!(servers(&another(&scratch)), servers(&scratch));
}

#[test]
fn a_server_that_was_deleted_here_is_proposed_for_the_folder() {
    let scratch = synced();
    let other = another(&scratch);
    scratch.ok(&["mcp", "remove", "a", "--yes"]);
    scratch.ok(&["mcp", "remove", "b", "--yes"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 2 items proposed
    --- stderr
    hint: MCP server 'a' (`mcp_server:a`): was deleted from the project
    hint: MCP server 'b' (`mcp_server:b`): was deleted from the project
    hint: 2 proposals wait for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_eq!(text(&scratch, "team/.mcp.json"), file("b"));
    assert_eq!(listed(&scratch).as_array().map(Vec::len), Some(1));
    scratch.ok(&["evolve", "reject", "1"]);
    assert_snapshot!(scratch.ok(&["evolve", "accept", "2"]), @"Accepted proposal 2: the next sync removes mcp_server:b from the folder");
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    assert_eq!(servers(&scratch), [server(&other, "a")], "one came back, and the other one is gone");
    assert_snapshot!(text(&scratch, "team/.mcp.json"), @r#"
    {
      "mcpServers": {}
    }
    "#);
    // For the other home, the server was deleted in the folder.
    let ran = other.run(&["sync"]);
    assert!(
        ran.status == 1 && ran.stderr.contains("MCP server 'b' (`mcp_server:b`): was deleted from the folder"),
        "{ran}"
    );
    assert_eq!(servers(&other).len(), 2);
    other.ok(&["evolve", "accept", "1"]);
    other.ok(&["sync"]);
    assert_eq!(servers(&other), servers(&scratch));
    is_settled(&other);
}

#[test]
fn a_server_that_was_deleted_in_the_folder_comes_back_if_that_is_rejected() {
    let scratch = synced();
    scratch.file("team/.mcp.json", "{\n  \"mcpServers\": {}\n}\n");
    assert_eq!(scratch.run(&["sync"]).status, 1);
    assert_eq!(servers(&scratch).len(), 2, "it is not deleted unasked");
    scratch.ok(&["evolve", "reject", "1"]);
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    assert_eq!(listed(&scratch).as_array().map(Vec::len), Some(2), "the manifest says it");
    assert_eq!(servers(&another(&scratch)), servers(&scratch));
}

#[test]
fn a_renamed_server_is_the_same_one_here() {
    let scratch = synced();
    scratch.ok(&["mcp", "set", "b", "--rename", "renamed"]);
    scratch.ok(&["mcp", "add", "b", "--", "another"]);
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    assert_eq!(text(&scratch, "team/.mcp.json"), file("b"), "the file's entry has the name that it had");
    let other = another(&scratch);
    assert_eq!(servers(&other), servers(&scratch));
    scratch.ok(&["mcp", "set", "renamed", "--", "b", "changed"]);
    scratch.ok(&["sync"]);
    other.ok(&["sync"]);
    assert_eq!(servers(&other), servers(&scratch));
}

#[test]
fn two_servers_of_one_name_are_a_conflict() {
    let scratch = synced();
    let other = Scratch::with_project();
    other.ok(&["mcp", "add", "a", "--", "mine"]);
    let ran = other.run(&["sync", &scratch.path().join("team").display().to_string()]);
    assert!(ran.status == 1 && ran.stderr.contains("MCP server 'a' (`mcp_server:a`): differs: content"), "{ran}");
    assert_eq!(server(&other, "a")["command"], json!(["mine"]));
    other.ok(&["evolve", "reject", "1"]);
    other.ok(&["sync"]);
    is_settled(&other);
    scratch.ok(&["sync"]);
    assert_eq!(server(&scratch, "a")["command"], json!(["mine"]));
}

#[test]
fn a_server_in_a_file_that_is_never_written_is_skipped() {
    const VALUE: &str = "hunter-two-of-the-user";
    let scratch = synced();
    let with_value = file("b").replace("${TOKEN}", VALUE);
    scratch.file("team/.mcp.json", &with_value);
    scratch.ok(&["sync"]);
    scratch.ok(&["mcp", "set", "b", "--", "b", "new"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: nothing to do
    --- stderr
    warning: `mcp_server:b` is in `.mcp.json`, which mcpkg does not write because values would be lost; replace the file's values with variables, or edit the file by hand; skipped
    ");
    assert_eq!(scratch.run(&["sync"]).status, 1, "it is said each time");
    assert_eq!(text(&scratch, "team/.mcp.json"), with_value);
    assert_eq!(server(&scratch, "b")["args"], json!([["new"]]));
    scratch.file("team/.mcp.json", file("b"));
    scratch.ok(&["sync"]);
    assert!(text(&scratch, "team/.mcp.json").contains("\"new\""));
    is_settled(&scratch);
    let database = scratch.bytes();
    assert!(!database.windows(VALUE.len()).any(|bytes| bytes == VALUE.as_bytes()), "the value is in the database");
}

#[test]
fn a_file_that_both_changed_keeps_its_servers_apart() {
    let scratch = synced();
    scratch.file("team/.mcp.json", file("theirs"));
    scratch.file("repo/.mcp.json", file("ours"));
    scratch.ok(&["import", "--update", "repo/.mcp.json"]);
    assert_eq!(scratch.run(&["sync"]).status, 1);
    assert_snapshot!(scratch.ok(&["evolve", "list"]), @r"
    1	open	change	agent_file:.mcp.json	.mcp.json
    2	open	change	mcp_server:b	mcp_server:b
    ");
    assert_eq!(text(&scratch, "team/.mcp.json"), file("theirs"));
    // Accept the proposal for the server, and reject the one for the file's text.
    scratch.ok(&["evolve", "accept", "2"]);
    scratch.ok(&["evolve", "reject", "1"]);
    scratch.ok(&["sync"]);
    is_settled(&scratch);
    let file = text(&scratch, "team/.mcp.json");
    assert!(file.contains("\"theirs\"") && !file.contains("\"ours\""), "{file}");
    assert_eq!(server(&scratch, "b")["args"], json!([["theirs"]]));
}

#[test]
fn a_manifest_that_names_a_server_twice_is_refused() {
    let scratch = synced();
    let mut manifest: Value = serde_json::from_str(&text(&scratch, "team/mcpkg.export.json")).expect("JSON");
    let twice = [manifest["servers"][0].clone(), manifest["servers"][0].clone()];
    manifest["servers"] = json!(twice);
    scratch.file("team/mcpkg.export.json", manifest.to_string());
    let ran = scratch.run(&["sync"]);
    assert!(ran.status == 2 && ran.stderr.contains("lists the MCP server 'a' twice"), "{ran}");
}

#[test]
fn a_change_of_a_server_is_noticed_without_a_change_of_a_file() {
    let scratch = synced();
    for _ in 0..2 {
        scratch.ok(&["sync"]);
    }
    is_settled(&scratch);
    scratch.ok(&["mcp", "set", "b", "-d", "Described"]);
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    scratch.ok(&["sync"]);
    assert_eq!(listed(&scratch)[1]["description"], "Described", "the file does not say it");
    assert_eq!(text(&scratch, "team/.mcp.json"), file("b"));
    is_settled(&scratch);
}

#[test]
fn the_servers_of_a_file_that_cannot_be_read_are_not_taken_for_deleted() {
    let scratch = synced();
    scratch.file("team/.mcp.json", "{ \"mcpServers\": ");
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: nothing to do
    --- stderr
    warning: `.mcp.json` cannot be read in its agent's format; skipped
    warning: `mcp_server:b` came from `.mcp.json`, which cannot be read; skipped
    ");
    assert_eq!(servers(&scratch).len(), 2);
    scratch.file("team/.mcp.json", file("again"));
    scratch.ok(&["sync"]);
    assert_eq!(server(&scratch, "b")["args"], json!([["again"]]));
    is_settled(&scratch);
}

#[test]
fn a_server_whose_file_waits_for_a_person_is_skipped() {
    let scratch = synced();
    scratch.file("team/.mcp.json", file("b").replace("{\n  \"mcp", "{\n  \"theirs\": 1,\n  \"mcp"));
    scratch.file("repo/.mcp.json", file("b").replace("{\n  \"mcp", "{\n  \"ours\": 1,\n  \"mcp"));
    scratch.ok(&["import", "--update", "repo/.mcp.json"]);
    scratch.ok(&["mcp", "set", "b", "--", "b", "new"]);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: 1 item proposed
    --- stderr
    warning: `mcp_server:b` is in `.mcp.json`, which is waiting for your decision; skipped
    hint: agent_file '.mcp.json' (`.mcp.json`): both changed: content
    hint: 1 proposal waits for your decision: `mcpkg evolve list`, then accept or reject
    ");
    assert_eq!(server(&scratch, "b")["args"], json!([["new"]]));
    scratch.ok(&["evolve", "accept", "1"]);
    scratch.ok(&["sync"]);
    let file = text(&scratch, "team/.mcp.json");
    assert!(file.contains("\"theirs\"") && file.contains("\"new\""), "{file}");
    is_settled(&scratch);
}
