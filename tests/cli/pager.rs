//! Tests of long output: the pager, wrapped warnings, repeated warnings, and names that are never cut.

use std::os::unix::fs::PermissionsExt;

use super::terminal::{NO_SCRIPT, unstyled};
use crate::support::{Scratch, screen_at, shown_on, skipped};

/// Returns a project with more prompts than a terminal has rows, and the path of a pager that prints when it is called.
fn long() -> (Scratch, String) {
    let scratch = Scratch::with_project();
    for n in 0..30 {
        scratch.ok(&["prompt", "create", &format!("prompt-{n}"), "x"]);
    }
    let pager = scratch.file("pager", "#!/bin/sh\necho \"PAGED less=$LESS\"\ncat \"$1\"\n");
    std::fs::set_permissions(&pager, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let pager = pager.display().to_string();
    (scratch, pager)
}

#[test]
fn long_output_goes_through_the_pager() {
    let (scratch, pager) = long();
    let shown = |arguments: &[&str], rows: u16, variables: &[(&str, &str)]| {
        let mut command = scratch.command();
        command.env("TERM", "xterm").args(arguments).envs(variables.iter().copied());
        screen_at((80, rows), &command, "", "").map(|(_, shown, status)| (shown, status))
    };
    let list = &["prompt", "list"][..];
    for (arguments, rows, variables, is_paged) in [
        (list, 24, &[("PAGER", pager.as_str())][..], true),
        (&["prompt", "list", "--json"], 24, &[("PAGER", &pager)], true),
        (&["help"], 24, &[("PAGER", &pager)], true),
        (&["prompt", "--help"], 10, &[("PAGER", &pager)], true),
        (&["help", "words"], 24, &[("PAGER", &pager)], true),
        // mcpkg's own variable comes first.
        (list, 24, &[("PAGER", "cat"), ("MCPKG_PAGER", &pager)], true),
        (list, 24, &[("PAGER", &pager), ("MCPKG_PAGER", "")], false),
        // Output that fits the screen is not paged.
        (list, 50, &[("PAGER", &pager)], false),
        (&["prompt", "list", "--no-pager"], 24, &[("PAGER", &pager)], false),
        (&["--no-pager", "help"], 24, &[("PAGER", &pager)], false),
        (list, 24, &[("PAGER", "")], false),
        (list, 24, &[("PAGER", "cat")], false),
        (list, 24, &[("PAGER", &pager), ("TERM", "dumb")], false),
    ] {
        let Some((shown, status)) = shown(arguments, rows, variables) else { return skipped(NO_SCRIPT) };
        assert_eq!(shown.contains("PAGED less=-F -R -X -P"), is_paged, "{arguments:?} {variables:?}: {shown}");
        assert_eq!(status, 0, "{shown}");
        assert!(!shown.contains("warning:"), "{shown}");
    }
    // The user's own `LESS` is kept. If the pager cannot be started, the output is still shown.
    let (own, _) = shown(list, 24, &[("PAGER", &pager), ("LESS", "S")]).expect("a terminal");
    assert!(own.contains("PAGED less=S"), "{own}");
    let (missing, status) = shown(list, 24, &[("PAGER", "/nonexistent/pager")]).expect("a terminal");
    assert!(
        status == 0 && missing.contains("prompt-29") && unstyled(&missing).contains("warning: Cannot start"),
        "{missing}"
    );
}

#[test]
fn output_that_never_ends_or_goes_to_a_pipe_is_not_paged() {
    let (scratch, pager) = long();
    let piped = scratch.finish(scratch.command().env("PAGER", &pager).args(["prompt", "list"]));
    assert!(piped.status == 0 && !piped.stdout.contains("PAGED"), "{piped}");
    let mut events = scratch.command();
    events.env("PAGER", &pager).env("TERM", "xterm").args(["demo"]);
    let Some((_, shown, _)) = screen_at((80, 8), &events, "", "") else { return skipped(NO_SCRIPT) };
    assert!(!shown.contains("PAGED"), "{shown}");
}

#[test]
fn errors_warnings_and_hints_are_wrapped_between_words() {
    let scratch = Scratch::with_project();
    let long = "a-name-that-is-long-".repeat(2);
    let Some(shown) = shown_on(40, scratch.command().args(["prompt", "show", &long])) else {
        return skipped(NO_SCRIPT);
    };
    let shown = unstyled(&shown);
    assert!(shown.starts_with("error: Prompt\n       '"), "{shown}");
    assert!(shown.ends_with("'\n       does not exist in project 'p'\n"), "{shown}");
    // A command in a hint is not wrapped, so that it can be copied.
    let other = Scratch::new();
    let Some(shown) = shown_on(40, other.command().args(["prompt", "list"])) else { return skipped(NO_SCRIPT) };
    assert!(unstyled(&shown).contains(" `mcpkg init`\n"), "{shown}");
    // In a pipe, each message is one line.
    let piped = scratch.run(&["prompt", "show", &long]);
    assert_eq!(piped.stderr.lines().count(), 1, "{piped}");
}

#[test]
fn repeated_warnings_are_one_line() {
    let scratch = Scratch::with_project();
    for name in ["one", "two", "three", "four", "five"] {
        let uri = format!("skill://{name}/notes.md");
        scratch.ok(&["resource", "create", name, &uri, "Notes"]);
    }
    std::fs::create_dir(scratch.path().join("work")).expect("a folder");
    let plan = scratch.run(&["plan", "--root", "work"]);
    let warnings: Vec<&str> = plan.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(
        warnings,
        [
            "warning: 5 skills: skill://five/ has no SKILL.md, so it is not a skill; it is left out; the same for skill://four/, \
          skill://one/ and 2 more; `-v` lists them"
        ],
        "{plan}"
    );
    let whole = scratch.run(&["plan", "--root", "work", "-v"]);
    assert_eq!(whole.stderr.lines().filter(|line| line.starts_with("warning: ")).count(), 5, "{whole}");
    let data = scratch.json(&["plan", "--root", "work"]);
    assert_eq!(data["warnings"].as_array().map(Vec::len), Some(5), "{data}");
}

#[test]
fn the_column_that_names_a_row_is_never_cut() {
    let scratch = Scratch::with_project();
    let names = ["a-long-name-".repeat(9), "short".to_owned()];
    for name in &names {
        scratch.ok(&["prompt", "create", name, "x", "-d", &"long words ".repeat(20)]);
    }
    for width in [30, 40, 80, 100] {
        let mut list = scratch.command();
        list.args(["prompt", "list", "--quiet"]);
        let Some(shown) = shown_on(width, &list) else { return skipped(NO_SCRIPT) };
        let shown = unstyled(&shown);
        let column = shown.lines().skip(1).map(|line| line.split("  ").next().unwrap_or_default()).collect::<String>();
        assert!(names.iter().all(|name| column.contains(name)), "{width}: {column}\n{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{shown}");
    }
}
