//! Draws the pictures in docs/pictures from real output with `UPDATE_DOCS=1 cargo test docs`. Otherwise checks that
//! they are current.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anstyle::{Color, RgbColor};
use anstyle_svg::Term;
use regex::Regex;
use serde_json::json;

use crate::support::{BINARY, Client, Scratch, Screen, morning, skipped, typed_on};
use crate::workflow::runs::Ground;

const COLUMNS: u16 = 100;

/// A terminal on which commands run one after the other, as they would for a reader.
struct Terminal {
    scratch: Scratch,
    folder: &'static str,
    /// A folder of programs, which comes first on `PATH`.
    programs: Option<PathBuf>,
    /// What the terminal shows, with its colors.
    shown: String,
}

impl Terminal {
    fn new(folder: &'static str) -> Self {
        Self::of(Scratch::new(), folder)
    }

    fn of(scratch: Scratch, folder: &'static str) -> Self {
        std::fs::create_dir_all(scratch.path().join(folder)).expect("a folder");
        Self { scratch, folder, programs: None, shown: String::new() }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.scratch.command();
        command.args(words).current_dir(self.scratch.path().join(self.folder));
        command
            .env("TMPDIR", self.scratch.path())
            .env("TERM", "xterm-256color")
            .env("PAGER", "cat")
            .env_remove("NO_COLOR");
        if let Some(first) = &self.programs {
            let others = std::env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(first.clone()).chain(std::env::split_paths(&others));
            command.env("PATH", std::env::join_paths(all).expect("a path"));
        }
        command
    }

    /// Runs a command that the picture does not show.
    fn quietly(&self, words: &[&str]) {
        let ran = self.scratch.finish(&mut self.command(words));
        assert_eq!(ran.status, 0, "{words:?}: {ran}");
    }

    /// Runs a command, and adds it and its output to the picture. `typed` answers when the output contains `awaited`.
    ///
    /// Returns false without `script`, which makes the terminal.
    fn show(&mut self, words: &[&str], awaited: &str, typed: &str) -> bool {
        let Some(shown) = typed_on(COLUMNS, &self.command(words), awaited, typed) else { return false };
        writeln!(self.shown, "\u{1b}[1m$ mcpkg {}\u{1b}[0m", words.join(" ")).expect("text");
        self.shown.push_str(shown.trim_end());
        self.shown.push_str("\n\n");
        true
    }

    /// Draws what the terminal shows.
    #[track_caller]
    fn draw(self, name: &str) {
        draw(&self.shown, &self.scratch, name);
    }
}

/// Draws a text on a light and on a dark terminal.
#[track_caller]
fn draw(shown: &str, scratch: &Scratch, name: &str) {
    // Replace what differs from run to run.
    let home = scratch.path().display().to_string();
    let mut text = shown.replace(&home, "~");
    for (pattern, same) in [
        (
            r"\b01[0-9a-f]{6}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b",
            "01a2230f-8c8f-74f3-8e90-6f323431f323",
        ),
        (r"\b[0-9a-f]{12}\b", "6f323431f323"),
        (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-28T09:00:00Z"),
        // A time that a table has cut.
        (r"20\d\d-\d\d-\d\dT[\d:]*…", "2026-11-28T09:00…"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:8080"),
        // A time, also after the code of a color.
        (r"([m ])[0-2]\d:[0-5]\d(:[0-5]\d)?\b", "${1}09:00"),
        (r"mcpkg-demo-\w+", "mcpkg-demo"),
        // A table's column of milliseconds.
        (r"(?m)(ok +)\d+(\s*)$", "${1}4$2"),
        (r"with \d+ variables", "with 5 variables"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, same).into_owned();
    }
    let color = |[red, green, blue]: [u8; 3]| Color::Rgb(RgbColor(red, green, blue));
    for (ending, foreground, background) in
        [("", [0x1f, 0x23, 0x28], [0xf6, 0xf8, 0xfa]), ("-dark", [0xe6, 0xed, 0xf3], [0x16, 0x1b, 0x22])]
    {
        let term = Term::new().fg_color(color(foreground)).bg_color(color(background));
        let svg = term.render_svg(text.trim_end());
        let file = format!("{name}{ending}.svg");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(&file);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &svg).expect("a picture is written");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == svg, "docs/pictures/{file} is not current: run `UPDATE_DOCS=1 cargo test docs`\n{text}");
    }
}

/// Returns a terminal. Its scratch folder has a team's rules, command and skill, and a repository that does not have
/// them yet.
fn shop() -> Terminal {
    let terminal = Terminal::new("code/shop");
    let scratch = &terminal.scratch;
    scratch.file("kit/CLAUDE.md", "# House rules\n\nUse British spelling. Run `make test` before you commit.\n");
    scratch.file(
        "kit/.claude/rules/sql.md",
        "---\npaths: [\"migrations/**/*.sql\"]\n---\nNever edit a migration that has run.\n",
    );
    scratch.file(
        "kit/.claude/commands/review.md",
        "---\ndescription: Review a change before it is committed\nargument-hint: [what]\n---\nReview $ARGUMENTS for races first.\n",
    );
    scratch.file(
        "kit/.claude/skills/release/SKILL.md",
        "---\nname: release\ndescription: Cut a release. Use when asked to publish a version.\n---\n1. Tag.\n",
    );
    terminal.quietly(&["project", "create", "shop"]);
    let kit = scratch.path().join("kit").display().to_string();
    terminal.quietly(&["import", &kit]);
    terminal.quietly(&["project", "select", "shop", "--here"]);
    terminal
}

const NO_SCRIPT: &str = "there is no script of util-linux";

#[test]
fn docs_show_a_plan() {
    let mut terminal = shop();
    if !terminal.show(&["plan"], "", "") {
        return skipped(NO_SCRIPT);
    }
    terminal.draw("plan");
}

#[test]
fn docs_show_a_status_after_an_edit() {
    let mut terminal = shop();
    terminal.quietly(&["deploy", "--apply", "--yes"]);
    let skill = terminal.scratch.path().join("code/shop/.claude/skills/release/SKILL.md");
    let text = std::fs::read_to_string(&skill).expect("the skill");
    std::fs::write(&skill, text + "2. Announce it.\n").expect("an edit");
    if !terminal.show(&["status"], "", "") {
        return skipped(NO_SCRIPT);
    }
    terminal.show(&["evolve", "propose"], "", "");
    terminal.show(&["evolve", "show", "1"], "", "");
    terminal.show(&["evolve", "accept", "1"], "", "");
    terminal.draw("status");
}

#[test]
fn docs_show_a_consent() {
    let mut terminal = shop();
    let mut client = Client::start(&terminal.scratch, &[]).shake_hands("2025-06-18");
    let arguments = json!({ "command": "mcpkg:prompt:restore", "args": { "name": "review", "revision": 1 } });
    let asked = client.call("execute", arguments).0;
    let id = Regex::new("[0-9a-f-]{36}").expect("a pattern").find(&asked).expect("a request").as_str().to_owned();
    if !terminal.show(&["consent", "list"], "", "") {
        return skipped(NO_SCRIPT);
    }
    terminal.show(&["consent", "approve", &id], "[y/N", "y\n");
    client.finish();
    terminal.draw("consent");
}

#[test]
fn docs_show_the_demo() {
    let mut terminal = Terminal::new("code");
    if !terminal.show(&["demo"], "", "") {
        return skipped(NO_SCRIPT);
    }
    terminal.draw("demo");
}

#[test]
fn docs_show_a_check_of_a_client() {
    let mut terminal = Terminal::of(Scratch::with_project_in_tmp(), "code");
    let scratch = &terminal.scratch;
    // Use a name for the program that is the same on every machine.
    std::fs::create_dir(scratch.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink(BINARY, scratch.path().join("bin/mcpkg")).expect("a link");
    // The server that Codex starts finds the database at its default path.
    for words in [&["project", "create", "shop"][..], &["prompt", "create", "review", "Look for races first"]] {
        let ran = scratch.finish(terminal.command(words).env_remove("MCPKG_DB"));
        assert_eq!(ran.status, 0, "{words:?}: {ran}");
    }
    scratch.file(".codex/config.toml", "[mcp_servers.mcpkg]\ncommand = \"mcpkg\"\nargs = [\"serve\"]\n");
    terminal.programs = Some(scratch.path().join("bin"));
    if !terminal.show(&["client", "check", "codex"], "", "") {
        return skipped(NO_SCRIPT);
    }
    terminal.draw("check");
}

/// Draws screens of the console after two agents worked and made requests.
#[test]
fn docs_of_the_console_are_current() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.ok(&["project", "select", "p"]);
    scratch.ok(&["prompt", "create", "review", "Look for missing tests first."]);
    let mut claude = Client::start(scratch, &[]).shake_hands_as("claude-code", "2025-06-18");
    let mut call = |name: &str, arguments: serde_json::Value| {
        claude.result("tools/call", json!({ "name": name, "arguments": arguments }));
    };
    call("create_prompt", json!({ "name": "changelog", "content": "List the changes by kind." }));
    call("update_prompt", json!({ "name": "review", "content": "Look for missing tests and for unsafe SQL first." }));
    let draft = "workflow: app_in_eu\ninputs:\n  name: {}\nsteps:\n  - id: create\n    run: hosting:apps:create\n    with:\n      name: ${{ inputs.nmae }}\n      region: eu\n";
    call("propose_workflow", json!({ "yaml": draft }));
    let create = json!({ "command": "hosting:apps:create", "args": { "name": "shop", "region": "eu" }, "wait_s": 0 });
    call("execute", create);
    let mut codex = Client::start(scratch, &[]).shake_hands_as("codex", "2025-06-18");
    let text = "Look for missing tests and for unsafe SQL first. End with a verdict.";
    let update = json!({ "name": "update_prompt", "arguments": { "name": "review", "content": text } });
    codex.result("tools/call", update);
    let mut command = scratch.command();
    command.env("TERM", "xterm-256color").env("TZ", morning()).arg("console");
    let Some(mut screen) = Screen::start((90, 24), &command) else {
        return skipped("there is no script of util-linux");
    };
    let mut picture = |keys: &str, awaited: &[&str], name: &str| {
        screen.keys(keys);
        for text in awaited {
            screen.wait(text);
        }
        // The preview appears a moment after the list.
        screen.settle();
        if name.is_empty() {
            return;
        }
        draw(&screen.colored(), scratch, name);
    };
    picture("", &["2 wait for you", "A yes counts once"], "console-inbox");
    picture("a", &["other keys no"], "console-question");
    // The refusal is shown and recorded before the next key.
    picture("x", &["Not confirmed; nothing was changed"], "");
    picture("2", &["Feed, by time", "prompt update review", "outcome  E_CONFIRM_REQUIRED"], "console-feed");
    picture("GkkkkU", &["Undo what", "stop  ", "outcome  ok"], "console-undo");
    picture("3", &["PROMPTS", "List the changes"], "console-content");
    picture("1je", &["f fixes it"], "console-editor");
}
