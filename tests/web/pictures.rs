//! Takes the pictures of pages for the docs, at a server with a console.

use serde_json::json;

use super::chromium::Chromium;
use super::picture::{check, check_both};
use crate::support::Client;
use crate::support::api::Trouble;
use crate::support::http::Http;
use crate::workflow::runs::{Ground, code, execute};

/// The size of a window, and of a phone.
const WINDOW: (u32, u32) = (1280, 720);
pub const PHONE: (u32, u32) = (320, 640);

/// A workflow that makes an app and a database, waits for the database, and reads both.
pub const WORKFLOW: &str = "\
# An app with a small database
workflow: app_with_db
steps:
  - id: create_app
    run: hosting:apps:create
    with: { name: shop, region: eu }
  - id: add_db
    run: hosting:databases:create
    with: { app_id: '${{ steps.create_app.output.id }}', plan: small }
  - id: ready
    run: hosting:databases:info
    with: { database_id: '${{ steps.add_db.output.id }}' }
    repeat: { until: '${{ steps.ready.output.state == \"ready\" }}', every: 300ms, max_attempts: 9 }
  - id: read_app
    run: hosting:apps:info
    depends_on: [add_db]
    with: { app_id: '${{ steps.create_app.output.id }}' }
  - id: list_apps
    run: hosting:apps:list
    depends_on: [ready, read_app]
";

const SKILL: &str = "\
---
name: release
description: Cuts a release. Use when asked to publish a version.
---
# Release

Publish only what [the checklist](checklist.md) allows. The numbers are in the
[handbook](https://handbook.example/release).

1. Run `make test`, and stop if it fails.
2. Tag the commit:

   ```sh
   git tag --sign v1.2.0
   ```

3. Announce it.

| kind of change | next version |
| --- | --- |
| a fix | 1.2.1 |
| a new feature | 1.3.0 |

> A release that was announced cannot be taken back.

<details>Never shown by a renderer</details>
";

/// Returns a project that two agents work on.
fn filled() -> (Ground, Client) {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.ok(&["project", "select", "p"]);
    scratch.ok(&["resource", "create", "release", "skill://release/SKILL.md", SKILL]);
    scratch.ok(&["resource", "create", "checklist", "skill://release/checklist.md", "- tests\n- changelog"]);
    let before = "# Review\n\nLook for missing tests first.\nName the file and the line of each finding.\n\n\
                  Write the review in English.\nUse short sentences.\nEnd with a question.\n";
    scratch.ok(&["prompt", "create", "review", before]);
    let mut claude = Client::start(scratch, &[]).shake_hands_as("claude-code", "2025-06-18");
    let after = before
        .replace("missing tests", "missing tests and unsafe SQL")
        .replace("End with a question.", "End with a verdict: ship it, or fix it first.");
    let mut call = |name: &str, arguments: serde_json::Value| {
        let result = claude.result("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_ne!(result["isError"], true, "{result}");
    };
    call("update_prompt", json!({ "name": "review", "content": after }));
    call("create_prompt", json!({ "name": "changelog", "content": "List the changes by kind." }));
    let file = scratch.file("workflow.yaml", WORKFLOW);
    scratch.ok(&["workflow", "import", &file.display().to_string()]);
    (ground, claude)
}

/// Opens a page, and waits for a text on it.
#[track_caller]
fn open(chromium: &Chromium, address: &str, awaited: &str) {
    chromium.open(address);
    chromium.wait(awaited);
}

#[test]
fn docs_show_pages_of_a_server() {
    let (ground, mut claude) = filled();
    let Some(mut chromium) = Chromium::launch() else { return };
    let server = Http::start(&ground.scratch, &["--console"]);
    let origin = format!("http://localhost:{}", server.address.port());
    let Some((_terminal, token)) = super::passkeys::invited(&ground.scratch, "laptop", &origin, None) else { return };
    chromium.visit(&origin);
    chromium.add_authenticator();
    open(&chromium, &format!("/passkey?token={token}"), "registers a passkey");
    chromium.press("Make a passkey");
    chromium.wait("is registered");
    open(&chromium, "/inbox", "Not signed in");
    check_both(&chromium, "console-web-sign-in", (WINDOW.0, 230));
    chromium.press("Sign in with a passkey");
    chromium.wait("nothing waits for you");
    let draft = WORKFLOW.replace("app_with_db", "app_in_eu").replace("create_app.output.id", "create_app.output.uid");
    let proposed = json!({ "name": "propose_workflow", "arguments": { "yaml": draft } });
    claude.result("tools/call", proposed);
    let delete = json!({ "command": "hosting:apps:delete", "args": { "app_id": "app_7f3" }, "wait_s": 0 });
    assert_eq!(code(&execute(&mut claude, delete)), "E_CONSENT_REQUIRED");
    open(&chromium, "/inbox", "2 wait for you");
    check_both(&chromium, "console-web", (WINDOW.0, 400));
    check(&chromium, "console-web-phone", "light", PHONE);
    // The requests take a while, so that the timeline has lengths.
    ground.api.trouble((0..8).map(|at| Trouble::Late(std::time::Duration::from_millis(60 + at * 35))));
    mcpkg_console::Invocation::new("workflow run").with("app_with_db").run(&ground.person()).expect("it runs");
    let run = ground.run()["run"].as_str().expect("an id").to_owned();
    open(&chromium, "/workflow?name=app_with_db", "Last run: succeeded");
    check_both(&chromium, "console-web-graph", (WINDOW.0, 644));
    open(&chromium, &format!("/run?id={run}"), "Timeline");
    check_both(&chromium, "console-web-timeline", (WINDOW.0, 510));
    open(&chromium, "/skill?name=release", "Publish only");
    check_both(&chromium, "console-web-content", (WINDOW.0, 760));
    open(&chromium, "/revision?noun=prompt&name=review", "unsafe SQL");
    check_both(&chromium, "console-web-diff", (WINDOW.0, 470));
    open(&chromium, "/database", "Requests since the server started");
    check_both(&chromium, "console-web-health", (WINDOW.0, 820));
}
