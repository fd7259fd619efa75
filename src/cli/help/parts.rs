//! Builds the parts of a command's help that follow its options.

use clap::{Arg, Command};

use super::HEADINGS;
use super::options::IN_SHORT;
use super::page::header;
use super::topics;
use mcpkg_core::op::{Names, first_clause};

/// The heading of the examples at the end of a help text.
pub(crate) const EXAMPLES: &str = "Examples:\n";

/// The commands to begin with, and what each is for.
pub(crate) const BEGIN: [(&str, &str); 6] = [
    ("mcpkg up", "set up this folder for all your agents"),
    ("mcpkg demo", "try mcpkg in a scratch folder"),
    ("mcpkg import . --create-project app", "import a folder's rules and skills"),
    ("mcpkg client add claude-code", "let an agent read your content over MCP"),
    ("mcpkg deploy", "show what a deploy would write to disk"),
    ("mcpkg console", "see what agents ask for, and decide"),
];

/// The most important environment variables, for the help and the man page of `mcpkg` itself.
pub(crate) const ENVIRONMENT: &str = "Environment:
  MCPKG_DB, MCPKG_PROJECT  same as --db and --project
  MCPKG_WORKSPACE          same as --workspace
  MCPKG_LOG                what to log to stderr, such as info
  MCPKG_PAGER, PAGER       program used to page long output [default: less]";

/// The number of examples that the short help shows.
const FEW: usize = 2;

/// Returns the `help` subcommand, which every command with subcommands has.
pub(crate) fn command() -> Command {
    let command = Command::new("help").arg(
        Arg::new("words")
            .value_name("COMMAND|TOPIC")
            .num_args(0..)
            .add(Names::Known(|_| names()))
            .help("Command or topic to show the help of"),
    );
    let examples = ["mcpkg help", "mcpkg help prompt create", "mcpkg help words", "mcpkg help options"];
    finished(command, "Show help for a command or a topic", &["help"], "", &examples)
}

fn names() -> Vec<String> {
    HEADINGS.iter().flat_map(|(_, names)| *names).copied().chain(topics::names()).map(str::to_owned).collect()
}

/// Adds the examples and the environment variables to the root command.
pub(crate) fn of_root(root: Command) -> Command {
    let examples: Vec<String> = BEGIN.iter().map(|(line, about)| format!("{line:<38}{about}")).collect();
    root.after_help(format!("{EXAMPLES}  {}\n\n{ENVIRONMENT}", examples.join("\n  ")))
}

/// Adds a description, notes, examples, and a line about the global options to a command. The short help shows only the
/// first clause of the description and a few examples.
pub(crate) fn finished(command: Command, about: &str, path: &[&str], notes: &str, examples: &[&str]) -> Command {
    let (style, path) = (header(), path.join(" "));
    let shown = |examples: &[&str]| match examples {
        [] => String::new(),
        examples => format!("{style}{}{style:#}\n  {}", EXAMPLES.trim_end(), examples.join("\n  ")),
    };
    let few = &examples[..examples.len().min(FEW)];
    let more = format!("Full help: `mcpkg {path} --help`\nGlobal options: `mcpkg help options`");
    let short = paragraphs([shown(few), more]);
    let long = paragraphs([notes.to_owned(), shown(examples), IN_SHORT.clone()]);
    with_about(command, about).after_help(short).after_long_help(long)
}

/// Adds the description to a command with subcommands, and a line on where to find more help.
pub(crate) fn of_branch(command: Command, about: &str, path: &[&str]) -> Command {
    let path = path.join(" ");
    let more = format!("Help for a command: `mcpkg help {path} COMMAND`");
    let short = format!("{more}\nGlobal options: `mcpkg help options`");
    with_about(command, about).after_help(short).after_long_help(paragraphs([more, IN_SHORT.clone()]))
}

fn with_about(command: Command, about: &str) -> Command {
    command.about(first_clause(about)).long_about(about.to_owned())
}

fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}
