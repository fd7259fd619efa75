//! The clap tree, grown from the table of operations.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, ColorChoice, Command, value_parser};

use crate::op::Entry;

const HELP: &str = "Examples:
  mcpkg init                                  make the database and see how to connect a client
  mcpkg project create auth-module            make a project; the first one is selected
  mcpkg import CLAUDE.md .claude/commands     bring in what is there already
  mcpkg prompt create code-review @review.md  add a prompt from a file
  mcpkg serve                                 serve it over MCP, as a client's child process

Environment:
  MCPKG_DB, MCPKG_PROJECT  as --db and --project
  MCPKG_LOG                what to log to stderr, such as info";

/// Returns the whole command line of `mcpkg`.
pub fn command() -> Command {
    let mut root = Command::new("mcpkg")
        .version(env!("CARGO_PKG_VERSION"))
        .about("One SQLite file for what you give your coding agents, served to every MCP client")
        .after_help(HELP)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args_override_self(true)
        .args(globals());
    root = branches(root, &[]);
    root.subcommand(super::serve::command()).subcommand(super::demo::command()).subcommands(super::generate::commands())
}

/// Adds what stands below the words `path`: first the words that have commands below them, then the commands.
fn branches(mut command: Command, path: &[&'static str]) -> Command {
    let below = |words: &[&str]| words.len() == path.len() + 1 && words.starts_with(path);
    for (words, about) in crate::DOMAINS.iter().flat_map(|domain| domain.commands) {
        let words: Vec<&'static str> = words.split(' ').collect();
        if let (true, Some(name)) = (below(&words), words.last()) {
            let branch = Command::new(*name).about(*about).subcommand_required(true).arg_required_else_help(true);
            command = command.subcommand(branches(branch, &words));
        }
    }
    shell_operations().filter(|entry| below(entry.cli)).map(leaf).fold(command, Command::subcommand)
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

/// Returns the operation that a command line which could not be parsed was meant for.
pub(super) fn meant(arguments: &[OsString]) -> Option<&'static Entry> {
    let words: Vec<&str> = arguments.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let is_meant = |entry: &&Entry| words.windows(entry.cli.len()).any(|window| window == entry.cli);
    shell_operations().filter(is_meant).max_by_key(|entry| entry.cli.len())
}

fn shell_operations() -> impl Iterator<Item = &'static Entry> {
    crate::operations().filter(|entry| entry.faces.shell())
}

fn leaf(entry: &Entry) -> Command {
    let name = entry.cli.last().copied().unwrap_or_default();
    let command = entry.augment(Command::new(name)).about(entry.about).long_about(None).visible_aliases(entry.aliases);
    if entry.help.is_empty() { command } else { command.after_help(entry.help) }
}

/// The environment is read elsewhere: clap would show a variable that is set in the usage of every failure.
fn globals() -> [Arg; 7] {
    let global = |name: &'static str| Arg::new(name).long(name).global(true).help_heading("Global options");
    [
        global("db")
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help("Database file [default: mcpkg.db in the user's data directory]"),
        global("project")
            .short('p')
            .value_name("NAME")
            .value_parser(clap::builder::NonEmptyStringValueParser::new())
            .help("Project to use"),
        global("json").action(ArgAction::SetTrue).help("Print the data as JSON, errors too"),
        global("quiet").short('q').action(ArgAction::SetTrue).help("Print no hints and no progress"),
        global("verbose").short('v').action(ArgAction::Count).help("Log more to stderr, and show causes of errors"),
        global("color")
            .value_name("WHEN")
            .value_parser(value_parser!(ColorChoice))
            .help("When to use colour [default: auto]")
            .hide_possible_values(false),
        global("yes").action(ArgAction::SetTrue).help("Confirm what cannot be undone"),
    ]
}

/// Returns what `--color` says on a command line that could not be parsed.
pub(super) fn color_of(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => continue,
        };
        match value {
            Some("always") => return ColorChoice::Always,
            Some("never") => return ColorChoice::Never,
            _ => {}
        }
    }
    ColorChoice::Auto
}
