//! `mcpkg`, `mcpkg help`, and what stands below the options in the help of each command.

mod headings;
mod page;
mod topics;

use std::fmt::Write as _;

use anstyle::Style;
use clap::builder::{StyledStr, Styles};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::generate::EXAMPLES;
use super::output::Output;
use super::shown::folded;
use super::{globals, tree};
use crate::error::{Code, Error, Result, nearest};
use crate::op::{Names, first_clause};

/// The most columns that help takes: longer lines are hard to read.
const WIDEST: u16 = 100;

/// The command lines to begin with, and what each is for.
const BEGIN: [(&str, &str); 5] = [
    ("mcpkg demo", "see it at work, in a scratch folder"),
    ("mcpkg init", "make your database, see how to connect an agent"),
    ("mcpkg import . --create-project app", "bring in the rules and skills of a folder"),
    ("mcpkg client add claude-code", "let an agent read them over MCP"),
    ("mcpkg deploy", "show what would be written for agents on disk"),
];

/// The variables that count most, for `mcpkg --help` and its man page.
const ENVIRONMENT: &str = "Environment:
  MCPKG_DB, MCPKG_PROJECT  as --db and --project
  MCPKG_WORKSPACE          as --workspace
  MCPKG_LOG                what to log to stderr, such as info
  MCPKG_PAGER, PAGER       what shows long output: empty for nothing [default: less]";

/// Begins the part about the options that every command takes.
pub(super) const GLOBALS: &str = "Global options:";

/// Columns of the lines that name the global options: a narrow terminal has room for them.
const ROOM: usize = 74;

/// Examples that the short help shows.
const FEW: usize = 2;

fn header() -> Style {
    *Styles::styled().get_header()
}

fn literal() -> Style {
    *Styles::styled().get_literal()
}

/// Returns the flag that asks for help.
pub(super) fn flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help)
        .global(true)
        .help_heading("Global options")
        .hide_short_help(true)
        .hide_long_help(true)
        .help("Print help: -h in short, --help all of it")
}

/// Returns the command `help`, which stands below every command that has others.
pub(super) fn command() -> Command {
    let command = Command::new("help").arg(
        Arg::new("words")
            .value_name("COMMAND|TOPIC")
            .num_args(0..)
            .add(Names::Known(names))
            .help("Words of a command, or the name of a topic"),
    );
    let examples = ["mcpkg help", "mcpkg help prompt create", "mcpkg help words", "mcpkg help options"];
    finished(command, "Show the help of a command or a topic", &["help"], "", &examples)
}

fn names() -> Vec<String> {
    headings::HEADINGS.iter().flat_map(|(_, names)| *names).copied().chain(topics::names()).map(str::to_owned).collect()
}

/// Returns the root's command with what its man page says besides the options.
pub(super) fn of_root(root: Command) -> Command {
    let examples: Vec<String> = BEGIN.iter().map(|(line, about)| format!("{line:<38}{about}")).collect();
    root.after_help(format!("{EXAMPLES}  {}\n\n{ENVIRONMENT}", examples.join("\n  ")))
}

/// Returns a command with what it does, its notes and examples, and where its global options are explained. The short help has the first
/// clause of it, and a few examples.
pub(super) fn finished(command: Command, about: &str, path: &[&str], notes: &str, examples: &[&str]) -> Command {
    let (style, path) = (header(), path.join(" "));
    let shown = |examples: &[&str]| match examples {
        [] => String::new(),
        examples => format!("{style}{}{style:#}\n  {}", EXAMPLES.trim_end(), examples.join("\n  ")),
    };
    let few = &examples[..examples.len().min(FEW)];
    let more = format!("All about it: `mcpkg {path} --help`. Global options: `mcpkg help options`");
    let short = paragraphs([shown(few), more]);
    let long = paragraphs([notes.to_owned(), shown(examples), globals_in_short()]);
    with_about(command, about).after_help(short).after_long_help(long)
}

/// Returns a command that has others below it, with where more is said.
pub(super) fn of_branch(command: Command, about: &str, path: &[&str]) -> Command {
    let path = path.join(" ");
    let more = format!("One of them: `mcpkg help {path} COMMAND`. Global options: `mcpkg help options`");
    with_about(command, about).after_help(more.clone()).after_long_help(paragraphs([more, globals_in_short()]))
}

fn with_about(command: Command, about: &str) -> Command {
    command.about(first_clause(about)).long_about(about.to_owned())
}

fn paragraphs(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the global options by their names alone, a few to a line.
fn globals_in_short() -> String {
    let style = header();
    let options = globals::args().into_iter().chain([flag()]).map(|option| {
        let short = option.get_short().map_or(String::new(), |short| format!("-{short}, "));
        let value = option.get_value_names().map_or(String::new(), |names| format!(" <{}>", names.join(" ")));
        format!("{short}--{}{value}", option.get_long().unwrap_or_default())
    });
    let mut lines = vec![String::new()];
    for option in options {
        match lines.last_mut().filter(|line| line.is_empty() || line.len() + option.len() < ROOM) {
            Some(line) => line.extend(["  ", &option]),
            None => lines.push(format!("  {option}")),
        }
    }
    format!("{style}{GLOBALS}{style:#} (`mcpkg help options` explains them)\n{}", lines.join("\n"))
}

/// Returns the global options, a line each.
pub fn options(width: u16) -> StyledStr {
    let shown = |option: Arg| option.global(false).hide_short_help(false).hide_long_help(false);
    let options = globals::args().into_iter().chain([flag()]).map(shown);
    Command::new("mcpkg")
        .disable_help_flag(true)
        .args(options)
        .help_template("{all-args}")
        .term_width(width.into())
        .render_help()
}

/// Returns what `mcpkg` alone shows: what it is, the commands to begin with, and the groups of all of them.
pub(super) fn screen() -> String {
    let (head, name) = (header(), literal());
    let mut text = format!(
        "{}\n\n{head}Usage:{head:#} {name}mcpkg{name:#} COMMAND [OPTIONS]\n\n{head}Begin with:{head:#}\n",
        tree::ABOUT
    );
    for (line, about) in BEGIN {
        // Writing to a String does not fail, here and below.
        let _ = writeln!(text, "  {name}{line}{name:#}{:gap$}{about}", "", gap = 38 - line.len());
    }
    let _ = writeln!(text, "\n{head}Commands:{head:#}");
    for (heading, commands) in headings::HEADINGS {
        let title = heading.split(':').next().unwrap_or_default();
        let rows = folded(&commands.join(", "), 80 - 24);
        for (place, row) in rows.iter().enumerate() {
            let title = if place == 0 { title } else { "" };
            let _ = writeln!(text, "  {name}{title}{name:#}{:gap$}{row}", "", gap = 22 - title.len());
        }
    }
    let _ = writeln!(text);
    for (line, about) in [
        ("mcpkg help", "all commands, and the topics"),
        ("mcpkg help COMMAND", "one of them, such as `mcpkg help prompt create`"),
        ("mcpkg help words", "what the words mean: project, skill, target and others"),
    ] {
        let _ = writeln!(text, "{name}{line}{name:#}{:gap$}{about}", "", gap = 24 - line.len());
    }
    text
}

/// Returns what `mcpkg help` shows: all commands under their headings, the topics and the global options.
pub fn all(width: u16) -> String {
    let root = tree::command();
    let (head, name, width) = (header(), literal(), width.min(WIDEST));
    let mut text = format!("{}\n\n{head}Usage:{head:#} {name}mcpkg{name:#} COMMAND [OPTIONS]\n", tree::ABOUT);
    let room = usize::from(width).saturating_sub(16).max(20);
    let row = |text: &mut String, word: &str, about: &str| {
        for (place, line) in folded(about, room).iter().enumerate() {
            let word = if place == 0 { word } else { "" };
            let _ = writeln!(
                text,
                "  {name}{word}{name:#}{:gap$}{line}",
                "",
                gap = 14_usize.saturating_sub(word.len()).max(1)
            );
        }
    };
    for (heading, commands) in headings::HEADINGS {
        let _ = writeln!(text, "\n{head}{heading}{head:#}");
        for word in commands {
            let about = root.find_subcommand(word).and_then(Command::get_about).map(ToString::to_string);
            row(&mut text, word, &about.unwrap_or_default());
        }
    }
    let _ = writeln!(text, "\n{head}Topics:{head:#} mcpkg help TOPIC");
    topics::TOPICS.iter().for_each(|topic| row(&mut text, topic.name, topic.about));
    let _ = write!(text, "\n{}\n\n{ENVIRONMENT}\n", options(width).ansi().to_string().trim_end());
    text
}

/// Returns the words that a parsed command line asks to have explained: those before `help`, and those behind it.
pub(super) fn asked(matches: &ArgMatches) -> Option<Vec<String>> {
    let (mut words, mut innermost) = (Vec::new(), matches);
    while let Some((word, inner)) = innermost.subcommand() {
        if word == "help" {
            words.extend(inner.get_many::<String>("words").into_iter().flatten().cloned());
            return Some(words);
        }
        words.push(word.to_owned());
        innermost = inner;
    }
    None
}

/// Shows the help of a command or a topic, or all commands.
pub(super) fn run(words: &[String], output: &Output) -> Result<u8> {
    let width = output.width();
    let text = match (words, topics::named(words)) {
        ([], _) => all(width),
        (words, topic) => match (of_command(words, width), topic) {
            (Ok(text), _) => text,
            (Err(_), Some(topic)) => topic.text(width),
            (Err(error), None) => return Err(error),
        },
    };
    output.styled(&text)?;
    Ok(0)
}

/// Returns the whole help of a command.
fn of_command(words: &[String], width: u16) -> Result<String> {
    let mut root = tree::command().term_width(width.min(WIDEST).into());
    root.build();
    let mut command = &mut root;
    for (place, word) in words.iter().enumerate() {
        if command.find_subcommand(word).is_none() {
            return Err(unknown(command, &words[..=place]));
        }
        command = match command.find_subcommand_mut(word) {
            Some(below) => below,
            None => return Err(Error::internal("a command that was found is gone")),
        };
    }
    Ok(command.render_long_help().ansi().to_string())
}

fn unknown(command: &Command, words: &[String]) -> Error {
    let (word, before) = words.split_last().map_or(("", &[][..]), |(word, before)| (word.as_str(), before));
    let path = before.iter().map(|word| format!("{word} ")).collect::<String>();
    let below = command.get_subcommands().filter(|below| !below.is_hide_set()).map(Command::get_name);
    let topics = topics::names().filter(|_| before.is_empty());
    let error = Error::new(Code::InvalidArgument, format!("There is no command or topic '{path}{word}'"));
    let known: Vec<String> = below.map(str::to_owned).chain(topics.map(str::to_owned)).collect();
    match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `mcpkg help {path}{near}`?")),
        None => error.hint("`mcpkg help` lists them all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_under_one_heading() {
        let mut listed: Vec<&str> = headings::HEADINGS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        let root = tree::command();
        let mut commands: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        commands.sort_unstable();
        assert_eq!(listed, commands);
    }
}
