//! Fills every screen of the console with foreign text that tries to harm the reader.

use serde_json::json;

use super::agent;
use crate::support::{Client, typed_after};
use crate::workflow::runs::{Ground, create, execute};

/// A hostile text: it clears the screen, sets the title and the clipboard, moves the cursor, and hides and reverses
/// text.
pub const HOSTILE: &str =
    "ok\u{1b}[2J\u{1b}[H\u{1b}]52;c;aGk=\u{7}\u{1b}]0;pwned\u{7}\u{9b}31m\u{202e}gnp.exe\u{200b}\u{e0041}\r";

/// A line that imitates the console. [`text`] puts it after blank lines and spaces that could move it to the console's
/// own rows.
pub const FORGED: &str = "Approved: forged";

/// Returns a text of several lines with everything that a hostile text may try.
fn text() -> String {
    format!("{HOSTILE}\n{}\n{FORGED}\n{}{FORGED}\n", "\n".repeat(30), " ".repeat(200))
}

/// Fills every screen. Keep the client alive as long as the test looks at its requests.
pub fn filled() -> (Ground, Client) {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.ok(&["project", "select", "p"]);
    let text = text();
    scratch.ok(&["prompt", "create", "review", &text, "--description", HOSTILE]);
    scratch.ok(&["prompt", "create", "other", "Look for bugs."]);
    scratch.ok(&["resource", "create", "notes", "file:///notes.md", &text, "--description", HOSTILE]);
    scratch.ok(&["resource", "create", "style", "instructions://style", &text]);
    let skill = format!("---\nname: tidy\ndescription: Tidies up\n---\n{text}");
    scratch.ok(&["resource", "create", "tidy", "skill://tidy/SKILL.md", &skill]);
    let mut client = agent(&ground, &format!("codex{HOSTILE}"));
    let name = format!("web{text}");
    let arguments = json!({ "name": name, "region": "eu" });
    execute(&mut client, json!({ "command": "hosting:apps:create", "args": arguments, "wait_s": 0 }));
    execute(&mut client, json!({ "command": "hosting:apps:delete", "args": { "app_id": name }, "wait_s": 0 }));
    for app in ["a", "b"] {
        execute(&mut client, json!({ "command": "hosting:apps:info", "args": { "app_id": app }, "wait_s": 0 }));
    }
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    execute(&mut client, crate::workflow::runs::with_nonce(&create(), &asked));
    let steps = "steps:\n  - id: first\n    run: hosting:apps:list\n";
    let yaml = format!("workflow: kept\ndescription: {}\n{steps}", json!(text.replace('\u{9b}', "")));
    let file = scratch.path().join("kept.yaml");
    std::fs::write(&file, format!("workflow: kept\n{steps}")).expect("written");
    scratch.ok(&["workflow", "import", &file.display().to_string()]);
    let changed = json!({ "yaml": yaml, "replaces": "kept", "revision": 1, "message": text });
    let new = json!({ "yaml": yaml.replace("kept", "fresh"), "message": text });
    let other = json!({ "name": "other", "content": text });
    for (tool, arguments) in [("propose_workflow", changed), ("propose_workflow", new), ("update_prompt", other)] {
        let made = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_ne!(made["isError"], true, "{made:#}");
    }
    // Deploy, change a deployed file on disk, and propose the change.
    let root = scratch.path().join("root");
    std::fs::create_dir_all(root.join(".git")).expect("a folder");
    // The audit finds the hidden characters, so a person has to agree at a terminal.
    let mut deploy = scratch.command();
    deploy.args(["deploy", "--apply", "--root", "."]).current_dir(&root);
    // Without script(1) there is no deploy, and the tests that need a terminal are skipped.
    if let Some((shown, status)) = typed_after(&deploy, "[y/N", "y\n") {
        assert_eq!(status, 0, "{shown}");
        std::fs::write(root.join(".claude/commands/other.md"), format!("{text}{text}")).expect("written");
        let proposed =
            scratch.finish(scratch.command().args(["evolve", "propose", "--target", "claude_code"]).current_dir(&root));
        assert_eq!(proposed.status, 0, "{proposed}");
    }
    scratch.ok(&["prompt", "update", "review", "--content", &format!("{text}and more")]);
    (ground, client)
}
