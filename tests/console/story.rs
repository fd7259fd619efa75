//! Tests the story of a workflow, using only keys. An agent drafts it with a mistake. A person finds and fixes the
//! mistake, plans the workflow, reads the diff, saves it and runs it. The console is killed in the middle of a request,
//! and the run continues from there.
//!
//! The page docs/how-to/console-story.md shows the screens. `UPDATE_DOCS=1 cargo test docs` writes the page. Without
//! it, the test compares the page.

use std::path::Path;

use regex::Regex;
use serde_json::json;

use super::{NO_SCRIPT, read_to_the_end};
use crate::support::api::Trouble;
use crate::support::{Screen, eventually, morning, skipped};
use crate::workflow::{ask, runs};

const SIZE: (u16, u16) = (90, 30);

/// The agent's draft. It misspells the name of an input.
const DRAFT: &str = "\
# An app with a small database
workflow: app_with_db
inputs:
  region:
    default: {from: literal, value: eu}
steps:
  - id: create_app
    run: hosting:apps:create
    with:
      name: shop
      region: ${{ inputs.regoin }}
  - id: add_db
    run: hosting:databases:create
    with:
      app_id: ${{ steps.create_app.output.id }}
      plan: small
";

/// The page that the test builds.
struct Story {
    page: String,
}

impl Story {
    fn says(&mut self, text: &str) {
        self.page.push_str(&format!("\n{text}\n"));
    }

    /// Adds the screen to the page once it has stopped changing. Consecutive equal rows become one.
    fn shows(&mut self, screen: &Screen) {
        screen.settle();
        let text = same_each_time(&screen.text());
        let mut rows: Vec<&str> = text.lines().collect();
        rows.dedup();
        self.page.push_str(&format!("\n```text\n{}\n```\n", rows.join("\n").trim_matches('\n')));
    }

    fn check(&self) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/console-story.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &self.page).expect("a page");
            return;
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == self.page, "docs/how-to/console-story.md is not current: run `just docs`\n{}", self.page);
    }
}

/// Replaces values that differ between two runs: ports, times, ids and sizes.
fn same_each_time(text: &str) -> String {
    let replaced = [
        (r"127\.0\.0\.1:\d{5}", "127.0.0.1:18291"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", "2026-11-28T12:48:20Z"),
        (r"\b\d\d:\d\d:\d\d\b", "12:48:20"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b", "019ac8e2-6f3a-7c41-9d5e-03fc9abdbf2d"),
        (r"\b[0-9a-f]{12}\b", "03fc9abdbf2d"),
        (r"\b\d+ bytes", "665 bytes"),
    ];
    replaced.iter().fold(text.to_owned(), |text, (found, instead)| {
        Regex::new(found).expect("a pattern").replace_all(&text, *instead).into_owned()
    })
}

#[test]
fn docs_show_the_story_of_a_workflow() {
    let runs::Ground { api, scratch } = runs::Ground::new();
    scratch.ok(&["project", "select", "p"]);
    let ground = ask::Ground::on(scratch, &["claude"]);
    let scratch = &ground.scratch;
    std::fs::write(scratch.path().join("notes/proposal"), json!({ "yaml": DRAFT }).to_string()).expect("a note");
    let start = || {
        let mut command = ground.command("");
        command.env("TERM", "xterm-256color").env("TZ", morning()).args(["console", "--ascii"]);
        Screen::start(SIZE, &command)
    };
    let Some(mut screen) = start() else { return skipped(NO_SCRIPT) };
    let mut story = Story { page: "# A workflow from a request to a finished run\n".to_owned() };
    story.says(
        "This is a recording: the screens of `mcpkg console --ascii` at 90x30, with the keys between them. An agent drafts a\n\
         workflow with a mistake. You fix it, save it and run it. Then the console is killed in the middle of a request.\n\
         [See and decide in the console](console.md) explains the keys.",
    );
    screen.wait("nothing waits for you");
    screen.keys("5");
    screen.wait("No workflows yet");
    story.says("## Ask\n\n`5` opens the workflows, and `@` the panel. Type the request, then press esc and `r`.");
    screen.keys("@");
    screen.wait("claude-code");
    screen.keys("An app with a small database");
    screen.wait("small database_");
    story.shows(&screen);
    screen.keys("\u{1b}");
    screen.wait_until(|text| !text.contains("TYPING"), "the request is typed");
    screen.keys("r");
    read_to_the_end(&mut screen, "other keys no");
    story.says(
        "## Read the draft\n\nThe first time, mcpkg shows the whole command that it would run, and `y` starts it. The draft of the agent opens as a\n\
         diff.",
    );
    screen.keys("y");
    screen.wait("draft app_with_db: what changes");
    screen.wait("Claude Code proposed 1 draft");
    story.shows(&screen);
    story.says("## Find and fix the mistake\n\n`e` opens the editor. The cursor is at the mistake.");
    screen.keys("e");
    screen.wait("f fixes it: region");
    story.shows(&screen);
    story.says("`f` fixes it. `p` shows what the workflow would do.");
    screen.keys("f");
    screen.wait("inputs.region }}");
    screen.wait_until(|text| text.contains("errors 0"), "no error");
    screen.keys("p");
    screen.wait("create_app  POST /apps");
    story.shows(&screen);
    story.says("## Save\n\n`s` shows what saving would change, and asks. Only `y` saves.");
    screen.keys("s");
    read_to_the_end(&mut screen, "other keys no");
    story.shows(&screen);
    screen.keys("y");
    screen.wait("Approved draft");
    assert_eq!(scratch.ok(&["workflow", "show", "app_with_db"]), DRAFT.replace("regoin", "region"));
    assert_eq!(api.count("POST"), 0);
    story.says("## Run\n\n`r` on the workflow asks with both requests and their values.");
    screen.keys("5");
    screen.wait("> app_with_db");
    // The second request does its work, but its answer never arrives.
    api.trouble_after(1, Trouble::Unheard);
    screen.keys("r");
    read_to_the_end(&mut screen, "other keys no");
    story.shows(&screen);
    screen.keys("y");
    eventually("both requests came", || (api.count("POST") == 2).then_some(()));
    screen.kill();
    drop(screen);
    story.says(
        "## After a crash\n\nHere the console is killed (`kill -9`) while it waits for the second answer. Start it again: the run is in the\n\
         inbox. `z` resumes it.",
    );
    let mut screen = start().expect("a terminal");
    screen.wait("app_with_db interrupted");
    story.shows(&screen);
    screen.keys("z");
    screen.wait("app_with_db uncertain");
    story.says(
        "The first step is done, and mcpkg does not repeat it. Nobody knows whether the second request did its work, so mcpkg does\n\
         not send it again by itself. Enter shows the whole message. After esc, enter shows the run.",
    );
    screen.keys("\r");
    screen.wait("command: mcpkg workflow resume");
    screen.keys("\u{1b}");
    screen.wait_until(|text| !text.contains("command: "), "the inbox");
    screen.keys("\r");
    screen.wait("Did add_db do its work?");
    story.shows(&screen);
    story.says("`r` sends the request again, after `y`.");
    screen.keys("r");
    read_to_the_end(&mut screen, "other keys no");
    screen.keys("y");
    screen.wait("SUCCEEDED");
    story.shows(&screen);
    assert_eq!((api.count("POST /api/v1/apps"), api.count("POST /api/v1/databases")), (1, 2));
    story.check();
}
