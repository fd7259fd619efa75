//! Tests that MCP servers, hooks, settings and ignore files are imported and exported again.

use serde_json::{Value, json};

use super::*;
use crate::export::Export;
use mcpkg_store::agent_files;
use mcpkg_store::servers::{self, Server};

const TOKEN: &str = "ghp_0123456789abcdefghij";

fn all(world: &World) -> Vec<Server> {
    world.context.read(|db, project| servers::all(db, project.id)).unwrap()
}

fn names(world: &World) -> Vec<(String, bool)> {
    all(world).into_iter().map(|server| (server.name, server.enabled)).collect()
}

/// Returns the raw bytes of the database files, to search them for secrets.
fn bytes_of(world: &World) -> Vec<u8> {
    let location = world.context.store.location().to_string();
    let read = |suffix: &str| std::fs::read(format!("{location}{suffix}")).unwrap_or_default();
    [read(""), read("-wal")].concat()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn no_text_of_a_variable_or_header_reaches_the_database() {
    let world = World::new();
    let secrets = ["hunter-two", TOKEN, "pass-word", "abc-def-123", "in-a-plugin", "of-settings"];
    let claude = json!({ "mcpServers": {
        "a": { "command": "npx", "args": ["-y", "pkg", "--token", secrets[3]], "env": { "KEY": secrets[0] } },
        "b": { "type": "http", "url": format!("https://u:{}@h/mcp", secrets[2]), "headers": { "X": format!("Bearer {TOKEN}") } },
    } });
    let plugin = json!({ "name": "p", "mcpServers": { "c": { "command": "c", "env": { "K": secrets[4] } } } });
    world
        .file(".mcp.json", claude.to_string())
        .file("plugins/p/.claude-plugin/plugin.json", plugin.to_string())
        .file(".claude/settings.json", json!({ "env": { "E": secrets[5] }, "hooks": {} }).to_string());
    let reply = world.import(&[], &[""]).unwrap();
    for secret in secrets {
        assert!(!holds(&bytes_of(&world), secret), "{secret} is in the database");
        assert!(!format!("{reply:?}").contains(secret), "{secret} was told");
    }
    let notes = reply.data["notes"].to_string();
    assert!(notes.contains("set the variable KEY to that value"), "{notes}");
    assert_eq!(names(&world), [("a".to_owned(), true), ("b".to_owned(), true), ("c".to_owned(), false)]);
    let kept = world.context.read(|db, project| agent_files::all(db, project.id)).unwrap();
    let kinds: Vec<_> = kept.iter().map(|file| (file.path.as_str(), file.kind.word())).collect();
    let expected = [
        (".claude/settings.json", "hook"),
        (".mcp.json", "servers"),
        ("plugins/p/.claude-plugin/plugin.json", "plugin"),
    ];
    assert_eq!(kinds, expected);
    // A second import changes nothing, and an export writes references instead of values.
    let again = world.import(&[], &[""]).unwrap();
    assert!(again.data["servers"].as_array().unwrap().iter().all(|server| server["action"] == "unchanged"));
    let out = world.path("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let back: Value = serde_json::from_slice(&std::fs::read(out.join(".mcp.json")).unwrap()).unwrap();
    assert_eq!(back["mcpServers"]["a"]["env"], json!({ "KEY": "${KEY}" }));
    assert_eq!(back["mcpServers"]["b"]["headers"], json!({ "X": "Bearer ${B_TOKEN}" }));
}

#[test]
fn one_server_in_the_files_of_several_agents_is_one() {
    let world = World::new();
    world
        .file(
            ".mcp.json",
            r#"{"mcpServers":{"x":{"command":"a","env":{"K":"${K}"}},"y":{"type":"sse","url":"http://h"}}}"#,
        )
        .file(".codex/config.toml", "[mcp_servers.x]\ncommand = 'a'\nenv_vars = ['K']\n")
        .file(".cursor/mcp.json", r#"{"mcpServers":{"x":{"command":"a","env":{"K":"${env:K}"},"timeout":3}}}"#)
        .file("web/.mcp.json", r#"{"mcpServers":{"deep":{"command":"d"}}}"#);
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(sentence_of(&reply), "Imported 4 agents' files, 3 MCP servers into project 'p'");
    let found = all(&world);
    // Cursor's entry is the most complete one, so it is stored.
    let x = found.iter().find(|server| server.name == "x").unwrap();
    assert_eq!((x.origin.agent.as_deref(), x.definition.extra.len()), (Some("cursor"), 1));
    assert_eq!(found[0].name, "deep");
    assert!(!found[0].enabled, "it is read in a folder alone");
    // A different server with the same name gets the agent's name as a prefix.
    world.file(".vscode/mcp.json", r#"{"servers":{"x":{"command":"other"}}}"#);
    world.import(&[], &[""]).unwrap();
    let other = all(&world).into_iter().find(|server| server.name == "vscode-x").unwrap();
    assert_eq!((other.entry(), other.origin.path.as_deref()), ("x", Some(".vscode/mcp.json")));
}

#[test]
fn an_export_gives_agents_files_back_to_the_byte() {
    let world = World::new();
    let files = [
        (
            ".vscode/mcp.json",
            "{\n  // mine\n  \"inputs\": [{\"id\": \"k\", \"type\": \"promptString\"}],\n  \"servers\": {\"a\": {\"command\": \"a\", \"env\": {\"K\": \"${input:k}\"}, \"sandbox\": {\"x\": 1}}},\n}\n",
        ),
        (".mcp.json", "{\"mcpServers\": {\"b\":{\"command\":\"b\"}}}"),
        (".github/mcp.json", "{\"mcpServers\": {\"c\":{\"type\":\"local\",\"command\":\"c\",\"tools\":[\"*\"]}}}"),
        (".claude/settings.json", "{ \"hooks\": { \"Stop\": [] }, \"permissions\": { \"deny\": [\"Read(.env)\"] } }"),
        (".cursor/hooks.json", "{\"version\": 1}"),
        (".cursorignore", "*.pem\r\n"),
        (".claude-plugin/marketplace.json", "{ \"name\": \"m\" }"),
        (".codex/config.toml", "# mine\n[mcp_servers.d]\ncommand = \"d\" # run\n"),
    ];
    for (path, text) in files {
        world.file(path, text);
    }
    world.file(".claude/hooks/x.sh", "#!/bin/sh\n");
    set_executable(&world.path(".claude/hooks/x.sh"));
    world.import(&[], &[""]).unwrap();
    let out = world.path("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(out.join(path)).unwrap(), text, "{path}");
    }
    let manifest = std::fs::read_to_string(out.join("mcpkg.export.json")).unwrap();
    assert!(!manifest.contains("servers"), "{manifest}");
    let other = World::new();
    other.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    let bare = |world: &World| -> Vec<_> {
        all(world).into_iter().map(|server| (server.name, server.definition, server.origin, server.enabled)).collect()
    };
    assert_eq!(bare(&other), bare(&world));
    let files = |world: &World| -> Vec<_> {
        let kept = world.context.read(|db, project| agent_files::all(db, project.id)).unwrap();
        kept.into_iter().map(|file| (file.path, file.kind, file.agent, file.executable, file.size)).collect()
    };
    assert_eq!(files(&other), files(&world));
}

#[test]
fn the_manifest_lists_what_agents_files_cannot_express() {
    let world = World::new();
    world.file(".mcp.json", r#"{"mcpServers":{"b":{"command":"b"},"gone":{"command":"g"}}}"#);
    world.import(&["--keep-env", "MODE"], &[""]).unwrap();
    world
        .context
        .write("test", "", |db, project, author| {
            let before = servers::get(db, project, "b")?;
            let mut after = before.clone();
            after.definition.args = vec![servers::Text::plain("-v")];
            after.enabled = false;
            servers::update(db, project, &before, after, author.now)?;
            servers::delete(db, project, "gone")?;
            let mut made = servers::Definition::stdio(servers::Text::plain("m"));
            made.env.push(("MODE".to_owned(), servers::Text::plain("fast")));
            servers::insert(
                db,
                project,
                world.context.clock.uuid(),
                "made",
                made,
                servers::Origin::default(),
                true,
                author.now,
            )
        })
        .unwrap();
    let out = world.path("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let file: Value = serde_json::from_slice(&std::fs::read(out.join(".mcp.json")).unwrap()).unwrap();
    assert_eq!(file["mcpServers"]["b"]["args"], json!(["-v"]));
    assert!(file["mcpServers"].get("gone").is_none());
    let other = World::new();
    other.run::<Import>(&[], &[out]).unwrap();
    let bare = |world: &World| -> Vec<_> {
        all(world).into_iter().map(|server| (server.name, server.definition, server.origin, server.enabled)).collect()
    };
    assert_eq!(bare(&other), bare(&world));
}

#[test]
fn a_manifest_that_names_commands_keeps_them_beside_the_folder() {
    let world = World::new();
    world
        .file("plugins/p/.claude-plugin/plugin.json", r#"{ "name": "p", "commands": ["./extra/x.md"] }"#)
        .file("plugins/p/extra/x.md", "X\n")
        .file("plugins/p/commands/y.md", "Y\n");
    let reply = world.import(&[], &[""]).unwrap();
    let mut paths: Vec<_> =
        reply.data["created"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    let expected = ["plugins/p/.claude-plugin/plugin.json", "plugins/p/commands/y.md", "plugins/p/extra/x.md"];
    assert_eq!(paths, expected);
}

#[test]
fn what_opencode_writes_into_its_folder_is_not_taken() {
    let world = World::new();
    let own =
        ["package.json", ".gitignore", "bun.lock", "package-lock.json", "node_modules/a/index.js", "node_modules/b.md"];
    for file in own {
        world.file(&format!(".opencode/{file}"), "{}");
    }
    for (flags, folder) in [(&[][..], ".opencode"), (&["--all"], ".opencode"), (&[], "")] {
        let reply = world.import(flags, &[folder]).unwrap();
        assert_eq!(reply.data["created"], json!([]), "{flags:?} {folder}");
        assert!(reply.data["files"]["left_out"].as_u64().is_some_and(|left| left >= 6), "{}", reply.data["files"]);
    }
}

#[test]
fn malformed_files_are_skipped_with_their_line() {
    let world = World::new();
    world.file(".mcp.json", "{\n  \"mcpServers\": [\n").file(".cursor/mcp.json", r#"{"mcpServers":{"a":{"url":1}}}"#);
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(
        reply.data["left_out"],
        json!([{ "path": ".mcp.json", "reason": "cannot be read in its agent's format" }])
    );
    assert_eq!(reply.data["notes"][1]["path"], ".mcp.json");
    assert!(reply.data["notes"][1]["line"].as_u64().is_some(), "{}", reply.data["notes"]);
    assert!(all(&world).is_empty());
}

fn change(world: &World, name: &str, edit: impl Fn(&mut Server)) {
    let changed = world.context.write("mcp.set", name, |db, project, author| {
        let before = servers::get(db, project, name)?;
        let mut after = before.clone();
        edit(&mut after);
        servers::update(db, project, &before, after, author.now)
    });
    changed.unwrap();
}

fn stdio(command: &str) -> servers::Definition {
    servers::Definition::stdio(servers::Text::plain(command))
}

#[test]
fn edits_after_an_export_are_imported() {
    let world = World::new();
    world.file("repo/.mcp.json", r#"{"mcpServers":{"x":{"command":"a"},"y":{"command":"y"}}}"#);
    world.import(&[], &["repo"]).unwrap();
    // Claude Code's file cannot express that a server is disabled, so the manifest lists both servers.
    for name in ["x", "y"] {
        change(&world, name, |server| server.enabled = false);
    }
    let out = world.path("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let manifest = std::fs::read_to_string(out.join("mcpkg.export.json")).unwrap();
    assert!(manifest.contains("\"command\""), "{manifest}");
    let file = std::fs::read_to_string(out.join(".mcp.json")).unwrap();
    std::fs::write(out.join(".mcp.json"), file.replace("\"a\"", "\"b\"")).unwrap();
    let other = World::new();
    other.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    let found: Vec<_> =
        all(&other).into_iter().map(|server| (server.name, server.definition, server.enabled)).collect();
    let of = |name: &str, command: &str| (name.to_owned(), stdio(command), false);
    assert_eq!(found, [of("x", "b"), of("y", "y")]);
}

#[test]
fn an_export_writes_each_server_to_its_own_file() {
    let world = World::new();
    world
        .file("repo/.mcp.json", r#"{"mcpServers":{"x":{"command":"a"}}}"#)
        .file("repo/.vscode/mcp.json", r#"{"servers":{"x":{"command":"b"}}}"#);
    world.import(&[], &["repo"]).unwrap();
    assert_eq!(names(&world), [("vscode-x".to_owned(), true), ("x".to_owned(), true)]);
    // Now the entry in VS Code's file equals the server `x`, and no longer `vscode-x`, which was imported from it.
    change(&world, "x", |server| server.definition = stdio("b"));
    change(&world, "vscode-x", |server| server.definition = stdio("c"));
    let before = all(&world);
    let out = world.path("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let other = World::new();
    other.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    let plain = |servers: Vec<Server>| -> Vec<_> {
        servers.into_iter().map(|server| (server.name, server.definition, server.origin, server.enabled)).collect()
    };
    assert_eq!(plain(all(&other)), plain(before));
}
