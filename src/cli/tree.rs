//! Builds the clap tree from the table of operations.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

use super::{console, demo, generate, globals, help, serve, version};
use mcpkg_core::op::Entry;

pub(super) const ABOUT: &str = "One SQLite file for what you give your coding agents, served to every MCP client";

/// Returns the whole command line of `mcpkg`.
pub fn command() -> Command {
    grown(&|_| true)
}

/// Returns the command line with only the commands that `words` may name, because building all of them takes a third of
/// a server's start time. The smaller tree accepts the same lines as the complete one, but its error messages differ.
pub(super) fn of_line(words: &[OsString]) -> Command {
    grown(&|name| words.iter().any(|word| word == name))
}

/// The names of a command, and the function that builds it.
type Other = (&'static [&'static str], fn() -> Command);

/// The commands that are not operations, with their names and aliases.
const OTHERS: [Other; 7] = [
    (&["serve", "start"], serve::command),
    (&["console", "ui"], console::command),
    (&["demo"], demo::command),
    (&["version"], version::command),
    (&["help"], help::command),
    (&["completions"], generate::completions_command),
    (&["man"], generate::man_command),
];

/// Returns the command line with the commands whose names `named` accepts.
fn grown(named: &dyn Fn(&str) -> bool) -> Command {
    let root = Command::new("mcpkg")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .subcommand_required(true)
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .args(globals::args())
        .arg(help::flag());
    let others = OTHERS.into_iter().filter(|(names, _)| names.iter().any(|name| named(name)));
    branches(help::of_root(root), &[], named).subcommands(others.map(|(_, command)| command()))
}

/// Adds the subcommands below `path`: first the groups, then the operations.
fn branches(mut command: Command, path: &[&'static str], named: &dyn Fn(&str) -> bool) -> Command {
    let below = |words: &[&str]| words.len() == path.len() + 1 && words.starts_with(path);
    for (words, about) in crate::DOMAINS.iter().flat_map(|domain| domain.commands) {
        let words: Vec<&'static str> = words.split(' ').collect();
        if let (true, Some(name)) = (below(&words), words.last())
            && named(name)
        {
            let branch = Command::new(*name).subcommand_required(true).arg_required_else_help(true);
            let branch = help::of_branch(branch, about, &words).subcommand(help::command().hide(true));
            command = command.subcommand(branches(branch, &words, named));
        }
    }
    let is_named = |entry: &&Entry| entry.cli.last().into_iter().chain(entry.aliases).any(|name| named(name));
    shell_operations().filter(|entry| below(entry.cli)).filter(is_named).map(leaf).fold(command, Command::subcommand)
}

/// Returns the operation that a parsed command line names, with its arguments.
pub(super) fn find(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let mut words = Vec::new();
    let mut innermost = matches;
    while let Some((word, inner)) = innermost.subcommand() {
        words.push(word);
        innermost = inner;
    }
    shell_operations().find(|entry| entry.cli == words).map(|entry| (entry, innermost))
}

/// Returns the operation that an unparsable command line was probably meant for.
pub(super) fn meant(arguments: &[OsString]) -> Option<&'static Entry> {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let is_meant = |entry: &&Entry| words.windows(entry.cli.len()).any(|window| window == entry.cli);
    shell_operations().filter(is_meant).max_by_key(|entry| entry.cli.len())
}

/// Returns the operations whose last word, or an alias of it, is `word`.
pub(super) fn ending_with(word: &str) -> impl Iterator<Item = &'static Entry> {
    let ends = move |entry: &&Entry| {
        entry.cli.len() > 1 && entry.cli.last().into_iter().chain(entry.aliases).any(|name| *name == word)
    };
    shell_operations().filter(ends)
}

/// Words that mean the same action to users, one action in each row. Most nouns have only one command from each row.
const SYNONYMS: [&[&str]; 4] = [
    &["add", "create", "import", "init", "install", "new"],
    &["delete", "remove", "revoke", "rm", "uninstall", "unset"],
    &["get", "info", "show", "view"],
    &["list", "ls"],
];

/// Returns the operations directly below `group` whose last word is a synonym of `word`, such as `catalog import` for
/// `add`.
pub(super) fn meaning(group: &[OsString], word: &str) -> Vec<&'static Entry> {
    let Some(same) = SYNONYMS.iter().find(|same| same.contains(&word)) else { return Vec::new() };
    let is_meant = |entry: &&'static Entry| {
        entry.cli.len() == group.len() + 1
            && group.iter().zip(entry.cli).all(|(given, known)| given == known)
            && entry.cli.last().is_some_and(|last| same.contains(last))
    };
    shell_operations().filter(is_meant).collect()
}

/// Returns the command words directly before `word`, such as `gate` in `mcpkg gate list`.
pub(super) fn group_before<'a>(arguments: &'a [OsString], word: &str) -> &'a [OsString] {
    let Some(place) = arguments.iter().position(|given| given == word) else { return &[] };
    let is_group = |words: &&[OsString]| {
        let begins = |entry: &'static Entry| {
            entry.cli.len() > words.len() && words.iter().zip(entry.cli).all(|(given, known)| given == known)
        };
        shell_operations().any(begins)
    };
    (1..place).map(|start| &arguments[start..place]).find(is_group).unwrap_or_default()
}

fn shell_operations() -> impl Iterator<Item = &'static Entry> {
    crate::DOMAINS.operations().filter(|entry| entry.faces.shell())
}

/// Returns the clap command of an operation.
pub(super) fn leaf(entry: &Entry) -> Command {
    let name = entry.cli.last().copied().unwrap_or_default();
    let command = entry.augment(Command::new(name));
    let command = command.visible_aliases(entry.aliases);
    help::finished(command, entry.about, entry.cli, entry.help, entry.examples)
}
