//! Converts a prompt's text to Claude Code's syntax. A deploy writes that text, and makes the files for other agents
//! from it.

use std::collections::BTreeMap;

use super::dialect::{self, Dialect, Piece, Placeholder};
use crate::template;
use mcpkg_base::error::Result;
use mcpkg_store::prompts::{Argument, Attributes};

/// Returns a prompt's text in Claude Code's syntax. `names` are the names of the prompt's words.
pub fn to_claude(name: &str, attributes: &Attributes, text: &str, names: &[String]) -> Result<String> {
    Ok(match (attributes.template, attributes.dialect) {
        (true, Some(Dialect::Claude)) => text.to_owned(),
        (true, Some(Dialect::OpenCode)) => from_opencode(text, names),
        (true, None) => from_jinja(name, attributes, text, names)?,
        (false, _) => dialect::escape(text, names),
    })
}

/// Converts OpenCode's placeholders to Claude Code's. OpenCode's highest number stands for all remaining words. Claude
/// Code can only express that as `$ARGUMENTS`, so the last words are lost unless `$1` is the only number.
fn from_opencode(text: &str, names: &[String]) -> String {
    let mut pieces = dialect::pieces(Dialect::OpenCode, text, &[]);
    if pieces.iter().filter_map(Piece::word).max() == Some(0) {
        for piece in &mut pieces {
            if let Piece::Placeholder(_, place @ Placeholder::Word(_)) = piece {
                *place = Placeholder::All;
            }
        }
    }
    write(&pieces, names)
}

/// Converts an edited text in Claude Code's syntax back to OpenCode's.
pub fn to_opencode(text: &str, names: &[String]) -> String {
    let pieces = dialect::pieces(Dialect::Claude, text, names);
    let only_all = !pieces.iter().any(|piece| piece.word().is_some());
    let typed = |piece: &Piece<'_>| match *piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Placeholder(_, Placeholder::All) if only_all => "$ARGUMENTS".to_owned(),
        Piece::Placeholder(_, Placeholder::Word(word)) => format!("${}", word + 1),
        Piece::Placeholder(typed, _) => typed.to_owned(),
    };
    pieces.iter().map(typed).collect()
}

/// Renders a Jinja template with a mark for each value, escapes other text that looks like a placeholder, such as `$1`, and
/// replaces the marks with placeholders.
fn from_jinja(name: &str, attributes: &Attributes, text: &str, names: &[String]) -> Result<String> {
    let arguments = &attributes.arguments;
    let mark = unused(text);
    let marks = arguments.iter().enumerate().map(|(at, argument)| (argument.name.clone(), format!("{mark}{at}{mark}")));
    let given: BTreeMap<_, _> = marks.collect();
    // Report an undeclared name if there is one: that helps more than the line at which rendering failed.
    let rendered = template::render(name, text, arguments, &given, mcpkg_core::op::MAX_ANSWER)
        .map_err(|error| template::check_declared(text, arguments).err().unwrap_or(error))?;
    let mut pieces = Vec::new();
    for (at, part) in rendered.split(mark).enumerate() {
        let word = part.parse().ok().filter(|_| at % 2 == 1);
        pieces.push(match word {
            Some(_) if arguments.len() == 1 => Piece::Placeholder(part, Placeholder::All),
            Some(word) => Piece::Placeholder(part, Placeholder::Word(word)),
            None => Piece::Text(part),
        });
    }
    Ok(write(&pieces, names))
}

/// Returns a private-use character that does not occur in the text.
fn unused(text: &str) -> char {
    ('\u{e000}'..'\u{f8ff}').find(|mark| !text.contains(*mark)).unwrap_or('\u{f8ff}')
}

/// Returns the names of a Jinja template's words for Claude Code; empty for other prompts. A template's only argument
/// needs no name, because it is the whole typed line.
pub fn names(attributes: &Attributes) -> Vec<String> {
    let is_jinja = attributes.template && attributes.dialect.is_none();
    let several = attributes.arguments.len() > 1;
    if is_jinja && several {
        attributes.arguments.iter().map(|Argument { name, .. }| name.clone()).collect()
    } else {
        Vec::new()
    }
}

/// Writes pieces in Claude Code's syntax.
fn write(pieces: &[Piece<'_>], names: &[String]) -> String {
    let mut out = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => out.push_str(&dialect::escape(text, names)),
            Piece::Placeholder(_, place) => {
                let next = match pieces.get(at + 1) {
                    Some(Piece::Text(next)) => next,
                    _ => "",
                };
                out.push_str(&dialect::claude(*place, names, next));
            }
        }
    }
    out
}
