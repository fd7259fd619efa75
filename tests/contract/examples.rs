//! Tests that every command has examples, and that the command line accepts them.

use std::ffi::OsString;

use clap::Command;

use crate::support::Scratch;

/// Returns the words of the mcpkg command in an example, without the shell syntax around the command. Arguments that read
/// a file or standard input (`@FILE`, `-`) are replaced with a text, because a test has neither.
pub(super) fn words(example: &str) -> Vec<OsString> {
    let command = &example[example.find("mcpkg ").expect("mcpkg")..];
    let command = if example.contains("$(mcpkg") { command.trim_end_matches(')') } else { command };
    let words = shlex::split(command).expect("words");
    let is_ours = |word: &String| !matches!(word.as_str(), "|" | "||" | ">" | "<" | "&&");
    let as_text = |word: String| if word.starts_with('@') || word == "-" { "text".to_owned() } else { word };
    words.into_iter().take_while(is_ours).map(as_text).map(OsString::from).collect()
}

/// Calls `each` for every command without subcommands, with its path.
fn leaves(command: &Command, path: &[String], each: &mut dyn FnMut(&Command, &[String])) {
    if command.get_subcommands().next().is_none() {
        return each(command, path);
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        leaves(below, &[path, &[below.get_name().to_owned()]].concat(), each);
    }
}

#[test]
fn every_command_has_examples_that_it_takes() {
    let mut tree = mcpkg::cli::command();
    tree.build();
    let mut root = tree.clone();
    let (mut checked, mut wrong) = (0, Vec::new());
    leaves(&tree, &[], &mut |command, path| {
        let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples).split("\n\n").next();
        let examples: Vec<&str> = examples.unwrap_or_default().lines().map(str::trim).collect();
        let mut of_its_own = 0;
        for example in &examples {
            let words = words(example);
            if let Err(error) = root.try_get_matches_from_mut(&words) {
                wrong.push(format!("{example}: {error}"));
            }
            let names: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            of_its_own += usize::from(path.iter().all(|word| names.contains(&word.as_str())));
            checked += 1;
        }
        if of_its_own == 0 {
            wrong.push(format!("mcpkg {} has no example of its own", path.join(" ")));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 120, "only {checked} examples were found");
}

#[test]
fn a_man_page_has_its_examples_line_by_line() {
    let scratch = Scratch::new();
    scratch.ok(&["man", "man1"]);
    let page = std::fs::read_to_string(scratch.path().join("man1/mcpkg-prompt-show.1")).expect("a page");
    let (_, examples) = page.split_once(".SH EXAMPLES\n").expect("examples");
    let lines: Vec<&str> = examples.lines().take_while(|line| *line != ".fi").collect();
    assert_eq!(lines.first(), Some(&".nf"), "{page}");
    assert_eq!(lines.get(1), Some(&r"mcpkg prompt show code\-review"), "{page}");
    let mut without = Vec::new();
    for file in std::fs::read_dir(scratch.path().join("man1")).expect("pages") {
        let path = file.expect("a page").path();
        let page = std::fs::read_to_string(&path).expect("a page");
        let is_a_branch = page.contains(".SH SUBCOMMANDS");
        if !is_a_branch && !page.contains(".SH EXAMPLES\n") {
            without.push(path);
        }
    }
    assert!(without.is_empty(), "{without:?}");
    let first = std::fs::read_to_string(scratch.path().join("man1/mcpkg.1")).expect("the first page");
    for section in [".SH EXAMPLES\n", ".SH ENVIRONMENT\n"] {
        assert!(first.contains(section), "{first}");
    }
}
