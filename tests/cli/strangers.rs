//! Tests with hidden or dangerous characters in strangers' texts: on a terminal they are shown as marks and do nothing.

use mcpkg_core::op::Confirmation;
use serde_json::{Value, json};

use crate::support::plugin::{Play, tool};
use crate::support::{Client, Scratch, screen, skipped, typed_after};

/// The columns and rows of a terminal on which no table cuts the texts of these tests.
const WIDE: (u16, u16) = (400, 60);

/// Each class of characters that a terminal obeys or hides: a clipboard write, a color, C1 codes, marks that change the
/// text's direction, zero-width characters, fillers and tags.
const HIDDEN: &str =
    "Ox\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[35m\u{9b}2J\u{202e}\u{2066}\u{61c}\u{200b}\u{3164}\u{ad}\u{e0048}\u{e0069}!";

/// The marks for the characters that are not control characters. In tables, control characters become blanks.
const SHOWN: &str = "<U+202E><U+2066><U+061C><U+200B><U+3164><U+00AD><tags: Hi>!";

/// Runs a command at a wide terminal with colors, types `typed` when it asks, and checks what it shows.
fn checked(scratch: &Scratch, arguments: &[&str], typed: Option<&str>) -> Option<String> {
    let mut command = std::process::Command::new("/bin/sh");
    let plain = scratch.command();
    let (columns, rows) = WIDE;
    command.args(["-c", &format!("stty columns {columns} rows {rows} && exec \"$0\" \"$@\"")]).arg(plain.get_program());
    command.args(arguments).args(["--color", "always"]).current_dir(scratch.path());
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.env("PATH", "/usr/bin:/bin");
    let (written, _) = typed_after(&command, typed.map_or("", |_| "[y/N"), typed.unwrap_or_default())?;
    for raw in ["\u{1b}]", "\u{1b}[35m", "\u{7}", "\u{9b}"] {
        assert!(!written.contains(raw), "{arguments:?}: {raw:?} in {written:?}");
    }
    let screen = screen(WIDE, &written).join("\n");
    assert!(screen.contains(SHOWN), "{arguments:?}:\n{screen}");
    Some(screen)
}

/// Returns [`HIDDEN`] with the escapes that JSON and YAML use for characters outside of ASCII.
fn escaped() -> String {
    HIDDEN.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

#[test]
fn stored_texts_are_shown_with_marks() {
    let scratch = Scratch::with_project();
    let description: String = HIDDEN.chars().filter(|c| !c.is_control()).collect();
    scratch.file("note.md", format!("{HIDDEN}\n"));
    scratch.file("pdf/SKILL.md", format!("---\nname: pdf\ndescription: \"{description}\"\n---\n{HIDDEN}\n"));
    scratch.ok(&["prompt", "create", "note", "@note.md", "--description", HIDDEN]);
    scratch.ok(&["skill", "create", "--from", "pdf"]);
    let document = json!({
        "openapi": "3.0.0", "info": { "title": HIDDEN, "version": "1" }, "servers": [{ "url": "https://example.com" }],
        "paths": { "/a": { "get": { "operationId": "a/list", "summary": HIDDEN, "responses": {} } } },
    });
    scratch.file("api.json", document.to_string());
    std::fs::create_dir(scratch.path().join("work")).expect("a folder");
    let import = ["catalog", "import", "api.json", "--prefix", "api"];
    for arguments in [
        &["prompt", "show", "note"][..],
        &["prompt", "list"],
        &["search", "Ox"],
        &["skill", "show", "pdf"],
        &["skill", "list"],
        &["resource", "show", "skill://pdf/SKILL.md"],
        &["preview", "--diff", "--root", "work", "--target", "claude_code"],
        &import,
        &["catalog", "list"],
        &["catalog", "show", "api"],
        &["command", "search", "list"],
        &["command", "show", "api:a:list"],
    ] {
        if checked(&scratch, arguments, None).is_none() {
            return skipped("there is no script of util-linux");
        }
    }
    // In a pipe, the characters are not changed, as with `cat` and `git show`.
    assert_eq!(scratch.ok(&["prompt", "show", "note"]), format!("{HIDDEN}\n"));
    // JSON is the same on a terminal and in a pipe.
    let mut json = scratch.command();
    json.args(["--json", "prompt", "show", "note"]);
    let (shown, _) = typed_after(&json, "", "").expect("a terminal");
    assert!(shown.is_ascii(), "{shown}");
    let data: Value = serde_json::from_str(&shown).expect("JSON");
    assert!(data.to_string().contains(&json!(HIDDEN).to_string()[1..20]), "{data}");
}

#[test]
fn texts_of_agents_are_shown_with_marks() {
    let scratch = Scratch::with_project();
    let mut client = Client::start(&scratch, &[]);
    let info = json!({ "name": HIDDEN, "version": "1" });
    client.result("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let unescaped: String = HIDDEN.chars().filter(|c| !c.is_control()).collect();
    let yaml = format!(
        "workflow: w\ndescription: \"{}\"\ntitle: \"{unescaped}\"\nsteps:\n  - id: a\n    run: mcpkg:prompt:list\n",
        escaped()
    );
    let proposed = client
        .result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": yaml, "message": HIDDEN } }));
    let draft = proposed["structuredContent"]["id"].as_str().expect("a draft").to_owned();
    let asked = client.result("tools/call", json!({ "name": "execute", "arguments": { "yaml": yaml } }));
    let consent = asked["structuredContent"]["error"]["details"]["consent"].as_str().expect("a request").to_owned();
    client.finish();
    for (arguments, typed) in [
        (&["draft", "list"][..], None),
        (&["draft", "show", &draft], None),
        (&["draft", "diff", &draft], None),
        (&["draft", "approve", &draft], Some("n\n")),
        (&["consent", "list"], None),
        (&["consent", "show", &consent], None),
        (&["consent", "approve", &consent], Some("n\n")),
        (&["events"], None),
    ] {
        if checked(&scratch, arguments, typed).is_none() {
            return skipped("there is no script of util-linux");
        }
    }
}

#[test]
fn texts_of_a_plugin_are_shown_with_marks() {
    let scratch = Scratch::with_project();
    let play = Play::new(scratch.path(), &json!({ "tools": [tool("list_notes", "Lists", json!({}))] }));
    let mut given = play.given();
    given["name"] = json!("toy");
    let person = mcpkg_core::op::Context {
        confirmation: Confirmation::Ask,
        ask: std::sync::Arc::new(|_, _| Ok(())),
        ..scratch.context()
    };
    let add = mcpkg::DOMAINS.operations().find(|entry| entry.cli == ["plugin", "add"]).expect("an operation");
    add.from_agent(given).expect("a call").run(&person).expect("it is added");
    play.now(&json!({ "tools": [tool("list_notes", HIDDEN, json!({})), tool("more", HIDDEN, json!({}))] }));
    for (arguments, typed) in [
        (&["plugin", "check", "toy", "--check"][..], None),
        (&["plugin", "check", "toy"], Some("y\n")),
        (&["command", "search", "notes"], None),
        (&["command", "show", "toy:list_notes"], None),
    ] {
        if checked(&scratch, arguments, typed).is_none() {
            return skipped("there is no script of util-linux");
        }
    }
    let remove = mcpkg::DOMAINS.operations().find(|entry| entry.cli == ["plugin", "remove"]).expect("an operation");
    let _ = remove.from_agent(json!({ "name": "toy" })).expect("a call").run(&person);
}
