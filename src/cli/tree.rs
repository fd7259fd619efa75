//! The clap tree, grown from the table of operations.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, ColorChoice, Command, value_parser};

use crate::op::Entry;

/// What the groups of operations are about.
const GROUPS: &[(&str, &str)] = &[
    ("project", "Create, select and manage projects"),
    ("prompt", "Create, show and manage prompts"),
    ("resource", "Create, show and manage resources: documents, images, skills"),
    ("skill", "Create, check, show and manage skills"),
    ("module", "Say what the project gives to a deploy: commands, skills, instructions"),
    ("snapshot", "Look at stored deploys, pin and prune them"),
    ("access", "Make, list and revoke the keys that clients of an HTTP server show"),
    ("consent", "Decide on what agents ask your consent for"),
    ("client", "Connect the agents on this machine: Claude Code, Codex, Cursor, VS Code and others"),
    ("evolve", "Take back into the project what was changed on disk"),
];

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
    for (name, about) in GROUPS {
        let mut group = Command::new(*name).about(*about).subcommand_required(true).arg_required_else_help(true);
        for entry in shell_operations().filter(|entry| entry.cli.len() == 2 && entry.cli[0] == *name) {
            group = group.subcommand(leaf(entry));
        }
        root = root.subcommand(group);
    }
    for entry in shell_operations().filter(|entry| entry.cli.len() == 1) {
        root = root.subcommand(leaf(entry));
    }
    root.subcommand(super::serve::command()).subcommand(super::demo::command()).subcommands(super::generate::commands())
}

/// Returns the operation that a parsed command line names, with its arguments.
pub(super) fn find(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let (first, inner) = matches.subcommand()?;
    let (words, arguments) = match inner.subcommand() {
        Some((second, arguments)) => (vec![first, second], arguments),
        None => (vec![first], inner),
    };
    shell_operations().find(|entry| entry.cli == words).map(|entry| (entry, arguments))
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
