//! Tests the list of `mcpkg up`, from which a person at a terminal chooses.

use super::up::{command, ground, with_server};
use crate::support::{Ground, Scratch, Screen, Upstream, skill, skipped};

const ENTER: &str = "\r";
const DOWN: &str = "\u{1b}[B";
const RIGHT: &str = "\u{1b}[C";

/// Starts `mcpkg up` on a terminal that can show a list.
fn start(ground: &Ground, arguments: &[&str]) -> Option<Screen> {
    let mut command = command(ground, arguments);
    command.env("TERM", "xterm-256color");
    let screen = Screen::start((90, 44), &command);
    if screen.is_none() {
        skipped("there is no script(1)");
    }
    screen
}

const UP: [&str; 2] = ["--agents", "claude-code,codex,cursor"];

#[test]
fn a_terminal_that_hangs_up_ends_the_list() {
    let ground = ground();
    let first = ground.tree();
    let Some(screen) = start(&ground, &UP) else { return };
    screen.wait("enter: go on");
    screen.hang_up();
    ground.tree().assert_is(&first, "after the terminal is gone");
}

#[test]
fn enter_sets_up_everything_that_is_ticked_at_first() {
    let ground = ground();
    with_server(&ground);
    let first = ground.tree();
    let Some(mut screen) = start(&ground, &UP) else { return };
    let text = screen.wait("enter: go on");
    for part in
        ["Found in ", "> [x] + 1 skill", "[x] + 2 commands", "[x] + 4 rules", "[x] + 1 MCP server", "Would be written:"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let look = "  [ ] - Look at this first; only you can allow it\n      [ ] 'files' starts npx -y files\n";
    assert!(text.contains(look), "{text}");
    if ground.scratch.is_file() {
        assert!(!ground.scratch.db().exists(), "the database was made before the answer");
    }
    screen.keys(ENTER);
    let text = screen.wait("to undo all of it");
    assert!(text.contains("Set up root for Claude Code, Codex and Cursor? yes, "), "{text}");
    assert!(!text.contains("enter: go on"), "the list is still there:\n{text}");
    assert!(text.contains("you did not tick what agents would run"), "{text}");
    assert_eq!(screen.end(), 0);
    assert!(ground.read("AGENTS.md").contains("British spelling"));
    assert!(!ground.root().join(".codex/config.toml").exists(), "a server was written without a tick");
    // The list still offers the server. If the person ticks the server, it is written.
    let Some(mut screen) = start(&ground, &UP) else { return };
    let text = screen.wait("enter: go on");
    assert!(text.contains("> [ ] - Look at this first"), "{text}");
    screen.keys(&format!("{DOWN} "));
    screen.wait("[x] 'files' starts npx -y files");
    screen.keys(ENTER);
    screen.wait("Set up project 'root'");
    assert_eq!(screen.end(), 0);
    assert!(ground.read(".codex/config.toml").contains("npx"));
    let undone = ground.scratch.finish(&mut command(&ground, &["--undo", "--yes"]));
    assert_eq!(undone.status, 0, "{undone}");
    ground.tree().assert_is(&first, "after --undo");
}

#[test]
fn unticked_items_are_left_out_and_the_command_for_the_choice_is_shown() {
    let ground = ground();
    let Some(mut screen) = start(&ground, &UP) else { return };
    screen.wait("enter: go on");
    // Filter for the skill and untick it. Then open the commands and untick the first one.
    screen.keys("release");
    screen.wait("filter: release");
    screen.keys(" ");
    screen.wait("[ ] - 1 skill");
    screen.keys("\u{15}");
    screen.wait("enter: go on");
    screen.keys(&format!("{DOWN}{RIGHT}{DOWN} "));
    screen.wait("[ ] .claude/commands/review.md");
    screen.keys(ENTER);
    let text = screen.wait("to undo all of it");
    let chosen = "mcpkg up --agents claude-code,codex,cursor --only '!.claude/skills/release' --only \
                  '!.claude/commands/review.md'";
    let joined: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(chosen), "{text}");
    assert_eq!(screen.end(), 0);
    assert!(ground.root().join(".cursor/commands/gem.md").exists());
    assert!(!ground.root().join(".cursor/commands/review.md").exists());
    assert!(!ground.root().join(".agents/skills/release").exists());
    // The command that was shown makes the same choice.
    let same = command(&ground, &[&UP[..], &["--only", "!.claude/skills/release"]].concat());
    let mut same = same;
    let ran = ground.scratch.finish(same.args(["--only", "!.claude/commands/review.md", "--yes"]));
    assert!(ran.stdout.starts_with("Nothing changed"), "{ran}");
}

#[test]
fn each_list_is_shown_at_once() {
    let ground = ground();
    let Some(mut screen) = start(&ground, &UP) else { return };
    screen.wait("enter: go on");
    screen.keys(DOWN);
    screen.wait_until(|text| !text.contains("> [x] + 1 skill"), "the next row");
    let before = screen.text();
    screen.resize((70, 40));
    screen.wait_until(|text| *text != before && text.contains("enter: go on"), "the list of the new size");
    screen.keys("\u{1b}");
    screen.wait("Not confirmed");
    screen.assert_frames();
}

#[test]
fn leaving_writes_nothing() {
    let ground = ground();
    with_server(&ground);
    let first = ground.tree();
    for (keys, status, why) in
        [("\u{1b}", 1, "Not confirmed; nothing was changed"), ("\u{3}", 130, "Cancelled; nothing was changed")]
    {
        let Some(mut screen) = start(&ground, &UP) else { return };
        screen.wait("enter: go on");
        screen.keys(&format!("{DOWN} "));
        screen.keys(keys);
        screen.wait(why);
        let written = String::from_utf8_lossy(&screen.written()).into_owned();
        assert!(written.rfind("\u{1b}[?25h") > written.rfind("\u{1b}[?25l"), "the cursor stays hidden: {written:?}");
        assert_eq!(screen.end(), status);
        ground.tree().assert_is(&first, "after leaving");
        if ground.scratch.is_file() {
            assert!(!ground.scratch.db().exists());
        }
    }
}

#[test]
fn hidden_characters_of_names_are_shown_as_marks() {
    let ground = ground();
    ground.put(".claude/commands/a\u{1b}[31mb\u{202e}c.md", "Say <\u{200b}b>\u{202e} hello.\n", 0o644);
    let Some(mut screen) = start(&ground, &UP) else { return };
    let text = screen.wait("enter: go on");
    assert!(text.contains("[ ] .claude/commands/a^[[31mb<U+202E>c.md"), "{text}");
    let written = String::from_utf8_lossy(&screen.written()).into_owned();
    assert!(!written.contains("\u{1b}[31mb") && !written.contains('\u{202e}'), "{written:?}");
    screen.keys(ENTER);
    screen.wait("Set up project 'root'");
    assert_eq!(screen.end(), 0);
    let commands = ground.ok(&["prompt", "list"]);
    assert!(commands.contains("review") && !commands.contains("31mb"), "{commands}");
}

#[test]
fn a_terminal_that_cannot_redraw_and_plain_get_one_question() {
    let ground = ground();
    for (term, more) in [("dumb", &[][..]), ("xterm-256color", &["--plain"])] {
        let mut command = command(&ground, &[&UP[..], more].concat());
        command.env("TERM", term);
        let Some(mut screen) = Screen::start((90, 44), &command) else { return skipped("there is no script(1)") };
        screen.wait("[y/N");
        screen.keys("n\n");
        screen.wait("Not confirmed");
    }
    let mut colorless = command(&ground, &UP);
    colorless.env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let Some(screen) = Screen::start((90, 44), &colorless) else { return };
    screen.wait("enter: go on");
    let written = String::from_utf8_lossy(&screen.written()).into_owned();
    assert!(!written.contains("\u{1b}[36m") && !written.contains("\u{1b}[1m"), "{written:?}");
}

#[test]
fn the_items_of_a_repository_are_chosen_too() {
    let ground = Ground::below(Scratch::new());
    let upstream = Upstream::new(&[
        ("skills/tidy/SKILL.md", &skill("tidy", "Tidy up.\n")),
        ("skills/pdf/SKILL.md", &skill("pdf", "Read it.\n")),
    ]);
    let Some(mut screen) = start(&ground, &[&upstream.url(), "--agents", "codex", "--no-connect"]) else { return };
    let text = screen.wait("enter: go on");
    assert!(text.contains("licence") && text.contains("> [x] + 2 skills  skills/pdf, skills/tidy"), "{text}");
    screen.keys("pdf");
    screen.wait("filter: pdf");
    screen.keys(" ");
    screen.wait("[ ] skills/pdf");
    screen.keys(ENTER);
    screen.wait("to undo all of it");
    assert_eq!(screen.end(), 0);
    assert!(ground.root().join(".agents/skills/tidy").exists() && !ground.root().join(".agents/skills/pdf").exists());
}
