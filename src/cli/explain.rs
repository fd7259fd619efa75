//! Shows the help of `mcpkg` and `mcpkg help`: all commands under their headings, one command, or a topic.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};

use super::help::{BEGIN, ENVIRONMENT, HEADINGS, WIDEST, header, literal, options, topics};
use super::output::Output;
use super::styled_text::folded;
use super::tree;
use mcpkg_base::error::{Code, Error, Result, nearest};

/// Returns the text that `mcpkg` alone shows: what mcpkg is, the commands to begin with, and the command groups.
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
    for (heading, commands) in HEADINGS {
        let title = heading.split(':').next().unwrap_or_default();
        let rows = folded(&commands.join(", "), 80 - 24);
        for (place, row) in rows.iter().enumerate() {
            let title = if place == 0 { title } else { "" };
            let _ = writeln!(text, "  {name}{title}{name:#}{:gap$}{row}", "", gap = 22 - title.len());
        }
    }
    let _ = writeln!(text);
    for (line, about) in [
        ("mcpkg help", "all commands and topics"),
        ("mcpkg help COMMAND", "a command, such as `mcpkg help prompt create`"),
        ("mcpkg help words", "what words such as project, skill and target mean"),
    ] {
        let _ = writeln!(text, "{name}{line}{name:#}{:gap$}{about}", "", gap = 24 - line.len());
    }
    text
}

/// Returns the text of `mcpkg help`: all commands under their headings, the topics and the global options.
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
    for (heading, commands) in HEADINGS {
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

/// Returns the words around `help` on a parsed command line. For example, `skill help add` and `help skill add` both ask about
/// `skill add`.
pub(super) fn topic_words(matches: &ArgMatches) -> Option<Vec<String>> {
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
            None => return Err(Error::internal("a subcommand was found, but a second lookup failed")),
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
        None => error.hint("`mcpkg help` lists all commands and topics"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_under_one_heading() {
        let mut listed: Vec<&str> = HEADINGS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        let root = tree::command();
        let mut commands: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        commands.sort_unstable();
        assert_eq!(listed, commands);
    }
}
