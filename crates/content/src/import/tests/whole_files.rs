//! Tests that an export restores agents' files with MCP servers and other settings byte for byte, or lists them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::export::Export;

/// Imports the files and exports them again. Returns the paths of files that changed although neither the import nor
/// the export lists them. If `listed` is given, also checks that the export lists exactly these files.
fn silently_changed(files: &[(String, String)], listed: Option<&[&str]>) -> Vec<String> {
    let world = World::new();
    for (path, text) in files {
        world.file(path, text);
    }
    let imported = world.import_as(&[], &[""]).unwrap();
    let out = world.folder.path().join("out");
    let reply = world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let altered: Vec<&str> =
        reply.data["altered"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    if let Some(listed) = listed {
        assert_eq!(altered, listed, "{:?}", reply.hints);
    }
    let left: Vec<&str> =
        imported.data["left_out"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    let is_changed = |(path, text): &&(String, String)| {
        let is_listed = left.contains(&path.as_str()) || altered.contains(&path.as_str());
        !is_listed && std::fs::read(out.join(path)).unwrap_or_default() != text.as_bytes()
    };
    files.iter().filter(is_changed).map(|(path, _)| path.clone()).collect()
}

fn silently_changed_file(path: &str, text: &str, is_listed: bool) -> bool {
    let listed: &[&str] = if is_listed { &[path] } else { &[] };
    !silently_changed(&[(path.to_owned(), text.to_owned())], Some(listed)).is_empty()
}

#[test]
fn settings_next_to_servers_come_back() {
    let codex = "# ours\nmodel = \"o4\"\n\n[permissions]\napproval_policy = \"on-request\"\n\n[mcp_servers.a]\ncommand = \
        \"npx\" # run\n\n[history]\npersistent_instructions = \"\"\"\nTest first\n\"\"\"\n";
    let opencode = "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"model\": \"m\",\n  \"instructions\": [\"A.md\"],\n  \
        \"mcp\": { \"a\": { \"type\": \"local\", \"command\": [\"x\"] } },\n  \"agent\": { \"plan\": { \"prompt\": \"{file:p.txt}\" } }\n}\n";
    let oauth = "{\n  \"mcpServers\": {\n    \"notion\": {\n      \"type\": \"http\",\n      \"url\": \"https://mcp.notion.com/mcp\",\n      \
        \"oauth_resource\": \"https://mcp.notion.com\"\n    }\n  }\n}\n";
    for (path, text) in [
        (".codex/config.toml", codex),
        ("opencode.json", opencode),
        (".opencode/opencode.json", opencode),
        ("plugins/notion/.mcp.json", oauth),
    ] {
        assert!(!silently_changed_file(path, text, false), "{path}");
    }
}

#[test]
fn a_file_that_cannot_come_back_is_listed_with_the_reason() {
    let server = |entry: Value| json!({ "mcpServers": { "a": entry } }).to_string();
    for (path, text) in [
        (".mcp.json", server(json!({ "type": "http", "url": "https://h", "headers": { "X-Client": "VsCode" } }))),
        (".mcp.json", server(json!({ "command": "x", "env": { "A": "plain" } }))),
        (".mcp.json", server(json!({ "command": "x", "oauth": { "clientSecret": "hunter-two" } }))),
        (".gemini/settings.json", json!({ "apiKey": "hunter-two", "mcpServers": {} }).to_string()),
        (".codex/config.toml", "[projects.\"/home/me/x\"]\ntrust_level = \"trusted\"\n".to_owned()),
        (".claude/settings.json", json!({ "env": { "A": "hunter-two" }, "hooks": {} }).to_string()),
    ] {
        silently_changed_file(path, &text, true);
    }
    let world = World::new();
    world.file(".mcp.json", server(json!({ "command": "x", "env": { "A": "plain" } })));
    world.import_as(&[], &[""]).unwrap();
    let export = |folder: &str| world.run::<Export>(&[], &[world.folder.path().join(folder)]).unwrap();
    let why = "server 'a': the value of env A was not stored; set the variable A to that value";
    assert_eq!(export("out").hints, [format!("`.mcp.json` differs from the imported file: {why}")]);
    // Values that may be stored come back.
    world.import_as(&["--keep-env", "A", "--update"], &[""]).unwrap();
    assert_eq!(export("kept").hints, Vec::<String>::new());
    assert_eq!(
        std::fs::read(world.folder.path().join("kept/.mcp.json")).unwrap(),
        std::fs::read(world.path(".mcp.json")).unwrap()
    );
}

/// Generates the entry of an MCP server in the formats of several agents, with additional fields.
fn entry() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("plain"),
        Just("${TOKEN}"),
        Just("$TOKEN"),
        Just("${env:TOKEN}"),
        Just("${T:-d}"),
        Just("Bearer ${TOKEN}"),
        Just("${CLAUDE_PLUGIN_ROOT}/x"),
        Just("${PLUGIN_ROOT}/x"),
        Just("./x"),
        Just("https://h/mcp"),
        Just("")
    ];
    let program = (text.clone(), prop::collection::vec(text.clone(), 0..3), prop::option::of(text.clone()));
    let program = program.prop_map(|(command, args, env)| {
        let mut entry = json!({ "command": command, "args": args });
        if let Some(env) = env {
            entry["env"] = json!({ "TOKEN": env });
        }
        entry
    });
    let address = (prop::option::of("http|sse|streamable-http"), prop::option::of(text.clone()));
    let address = address.prop_map(|(kind, header)| {
        let mut entry = json!({ "url": "https://h/mcp" });
        if let Some(kind) = kind {
            entry["type"] = kind.into();
        }
        if let Some(header) = header {
            entry["headers"] = json!({ "X": header });
        }
        entry
    });
    let opencode = prop_oneof![
        Just(json!({ "type": "local", "command": ["x", "y"], "environment": { "TOKEN": "{env:TOKEN}" } })),
        Just(json!({ "type": "remote", "url": "https://h/mcp", "enabled": false })),
    ];
    let codex = Just(json!({ "command": "x", "env_vars": ["TOKEN"], "startup_timeout_sec": 20 }));
    let more = prop::collection::vec(
        (prop::sample::select(vec!["timeout", "oauth_resource", "disabled", "clientSecret", "note"]), text),
        0..2,
    );
    (prop_oneof![4 => program, 4 => address, 1 => opencode, 1 => codex], more).prop_map(|(mut entry, more)| {
        more.into_iter().for_each(|(key, value)| entry[key] = value.into());
        entry
    })
}

/// Generates a document: its servers, and the settings around them.
fn document() -> impl Strategy<Value = (Map<String, Value>, Map<String, Value>)> {
    let servers = prop::collection::btree_map("[ab]|gh", entry(), 0..3);
    let value = prop_oneof![
        Just(json!(true)),
        Just(json!(["a", "b"])),
        Just(json!({ "x": "y", "list": [1, 2.5] })),
        Just(json!("${TOKEN}")),
        Just(json!("/home/me/x")),
        Just(json!("plain é \" text")),
    ];
    let settings = prop::collection::btree_map("model|theme|hooks|apiKey|[$]schema|description", value, 0..4);
    (servers, settings).prop_map(|(servers, settings)| (servers.into_iter().collect(), settings.into_iter().collect()))
}

fn json_text(
    key: &str,
    (servers, settings): (Map<String, Value>, Map<String, Value>),
    (style, at_end): (u8, bool),
) -> String {
    let mut document = Map::new();
    if !at_end {
        document.insert(key.to_owned(), Value::Object(servers.clone()));
    }
    document.extend(settings);
    document.entry(key).or_insert(Value::Object(servers));
    let document = Value::Object(document);
    let pretty = || serde_json::to_string_pretty(&document).unwrap();
    match style {
        0 => document.to_string(),
        1 => pretty() + "\n",
        2 => pretty().replace('\n', "\r\n"),
        3 => format!("\u{feff}{}\n\n", pretty()),
        _ => pretty().replace("  ", "\t"),
    }
}

fn toml_text((servers, settings): (Map<String, Value>, Map<String, Value>)) -> String {
    let mut text = String::from("# ours\n");
    for (key, value) in settings {
        let value = match value {
            Value::Object(_) => "{ x = \"y\", list = [1, 2.5] }".to_owned(),
            other => other.to_string(),
        };
        text.push_str(&format!("\"{key}\" = {value}\n"));
    }
    for (name, entry) in servers {
        text.push_str(&format!("\n[mcp_servers.{name}] # one\n"));
        for (key, value) in entry.as_object().into_iter().flatten() {
            let value = match value {
                Value::Object(named) => {
                    let named: Vec<String> = named.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                    format!("{{ {} }}", named.join(", "))
                }
                other => other.to_string(),
            };
            text.push_str(&format!("{key} = {value}\n"));
        }
    }
    text
}

fn file() -> impl Strategy<Value = (String, String)> {
    let places = [
        (".mcp.json", "mcpServers"),
        ("plugins/a/.mcp.json", "mcpServers"),
        ("plugins/a/mcp.json", "mcpServers"),
        ("plugins/a/plugin.json", "mcpServers"),
        ("plugins/a/.claude-plugin/plugin.json", "mcpServers"),
        (".cursor/mcp.json", "mcpServers"),
        (".vscode/mcp.json", "servers"),
        (".gemini/settings.json", "mcpServers"),
        ("opencode.json", "mcp"),
        (".opencode/opencode.json", "mcp"),
    ];
    let written = (prop::sample::select(places.to_vec()), document(), (0..5_u8, any::<bool>()));
    let json = written.prop_map(|((path, key), document, style)| {
        let is_manifest = path.ends_with("plugin.json");
        let (servers, mut settings) = document;
        if is_manifest {
            settings.insert("name".to_owned(), "a".into());
        }
        (path.to_owned(), json_text(key, (servers, settings), style))
    });
    let toml = document().prop_map(|document| (".codex/config.toml".to_owned(), toml_text(document)));
    prop_oneof![6 => json, 1 => toml]
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn files_with_servers_and_settings_come_back_or_are_listed(files in prop::collection::vec(file(), 1..4)) {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        let files: Vec<(String, String)> = files.into_iter().collect();
        prop_assert_eq!(silently_changed(&files, None), Vec::<String>::new());
    }
}
