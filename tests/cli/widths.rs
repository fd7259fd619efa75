//! Tests that no list is wider than the terminal.

use super::terminal::{NO_SCRIPT, unstyled};
use crate::support::{Scratch, at_a_terminal, shown_on, skipped};

/// Lists whose rows have names and descriptions that are wider than a terminal, including double-width characters.
const LISTS: &[&[&str]] = &[
    &["project", "list"],
    &["prompt", "list"],
    &["resource", "list"],
    &["skill", "list"],
    &["search", "报告"],
    &["search", "--all", "words"],
    &["source", "list"],
    &["mcp", "list"],
    &["registry", "list"],
    &["tool", "search", "long"],
    &["tool", "list"],
    &["tool", "env", "list"],
    &["tool", "runs"],
    &["command", "search", "create", "app"],
    &["catalog", "list"],
    &["plugin", "list"],
    &["workflow", "list"],
    &["workflow", "runs"],
    &["draft", "list"],
    &["template", "list"],
    &["consent", "list"],
    &["snapshot", "list", "--all"],
    &["access", "list"],
    &["limit", "list"],
    &["events"],
    &["client", "list"],
];

/// Returns a database with rows for each of [`LISTS`], except the rows that only a person can create.
fn with_long_names() -> Scratch {
    let scratch = Scratch::with_project();
    let (long, wide) = ("a-long-name-".repeat(12), "很长的说明文字和报告".repeat(9));
    scratch.ok(&["project", "create", &long]);
    for (name, text) in [(long.as_str(), "报告 words"), ("short", wide.as_str())] {
        scratch.ok(&["prompt", "create", name, text, "-d", &wide]);
        let uri = format!("file:///{long}/{name}.md");
        scratch.ok(&["resource", "create", name, &uri, text, "-d", &wide, "-m", "text/markdown"]);
    }
    scratch.ok(&["mcp", "add", &long, "--description", &wide, "--", "npx", "-y", &long, &long]);
    scratch.ok(&["access", "create", &long]);
    scratch.file("src/.claude/skills/pdf/SKILL.md", format!("---\nname: pdf\ndescription: {wide}\n---\n# PDF\n"));
    scratch.ok(&["source", "add", "./src", "--yes"]);
    let manifest = format!(
        "name: alice/a-very-long-name-of-a-tool/and-more-of-it\nversion: 1.0.0\ndescription: long {wide}\n\
         tags: [tag-one-is-long, tag-two-is-long, tag-three-is-long]\ncommand: 'true'\n"
    );
    scratch.file("tool/enact.yaml", manifest);
    scratch.ok(&["registry", "add", "a-long-name-for-a-registry-of-a-team", "reg", "--create"]);
    scratch.ok(&["tool", "publish", "tool", "--to", "a-long-name-for-a-registry-of-a-team"]);
    scratch.ok(&["tool", "env", "set", "KEY", &format!("env:{}", "A_LONG_NAME_".repeat(12)), "--for", "alice/*"]);
    let document = format!("{}/tests/fixtures/api/hosting.json", env!("CARGO_MANIFEST_DIR"));
    scratch.ok(&["catalog", "import", &document, "--prefix", "hosting", "--base-url", "http://127.0.0.1:9/api"]);
    let name = format!("a_{}", "long_name_".repeat(6));
    let workflow = format!(
        "workflow: {name}\ntitle: {wide}\ndescription: {wide}\nsteps:\n  - id: a\n    run: mcpkg:prompt:list\n"
    );
    scratch.file("workflow.yaml", &workflow);
    scratch.ok(&["workflow", "import", "workflow.yaml"]);
    scratch.file("draft.yaml", workflow.replace(&name, &name.replace("long", "wide")));
    scratch.ok(&["draft", "add", "draft.yaml", "--message", &wide]);
    scratch.ok(&["command", "run", "mcpkg:prompt:list"]);
    // The install is refused, and leaves a request that a person can approve.
    scratch.run(&["tool", "install", "alice/a-very-long-name-of-a-tool/and-more-of-it"]);
    scratch
}

/// Returns how many columns a line takes.
fn columns(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(unstyled(line).as_str())
}

#[test]
fn no_list_is_wider_than_the_terminal() {
    let scratch = with_long_names();
    for list in LISTS {
        for width in [80, 40] {
            let Some(shown) = shown_on(width, scratch.command().args(*list).arg("--quiet")) else {
                return skipped(NO_SCRIPT);
            };
            let wide = shown.lines().find(|line| columns(line) > usize::from(width));
            // A list without rows prints a sentence, which the terminal wraps.
            assert!(wide.is_none() || shown.lines().count() == 1, "{list:?} at {width}: {wide:?}\n{shown}");
        }
    }
}

#[test]
fn the_width_of_a_terminal_without_a_size_is_columns_or_80() {
    let scratch = with_long_names();
    for (sized, columns_told, width) in [
        ("stty rows 0 columns 50; ", None, 50),
        ("", Some("60"), 60),
        ("", None, 80),
        ("stty rows 0 columns 50; ", Some("60"), 50),
    ] {
        let list = scratch.command();
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", &format!("{sized}exec \"$0\" prompt list --quiet")]).arg(list.get_program());
        command.envs(list.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(scratch.path());
        if let Some(columns) = columns_told {
            command.env("COLUMNS", columns);
        }
        let Some((shown, done)) = at_a_terminal(&command, "") else { return skipped(NO_SCRIPT) };
        assert!(done && shown.contains("a-long-name-"), "{shown}");
        let widest = shown.lines().map(columns).max();
        assert!(widest.is_some_and(|widest| widest <= width && widest + 12 > width), "{widest:?} of {width}: {shown}");
    }
}
