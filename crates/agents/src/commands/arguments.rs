//! Derives a command's arguments from the placeholders in its text.

use super::dialect::{Dialect, Piece, Placeholder};
use super::word_names::{LINE, Names};
use crate::template;
use mcpkg_store::prompts::Argument;

/// Returns the arguments of a command, all optional: first the positional words that have names, then
/// the other placeholders in order of appearance.
pub fn all(dialect: Dialect, names: &Names, pieces: &[Piece<'_>], hint: Option<&str>) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    let mut add = |name: String, description: Option<&str>| {
        if arguments.len() < template::MAX_ARGUMENTS && !arguments.iter().any(|known| known.name == name) {
            arguments.push(Argument { name, description: description.map(str::to_owned), required: false });
        }
    };
    for word in 0..names.0.len() {
        add(names.argument(word), None);
    }
    let places: Vec<Placeholder> = pieces.iter().filter_map(Piece::place).collect();
    for place in &places {
        match *place {
            Placeholder::Word(word) if word < names.0.len() => {}
            Placeholder::Word(word) if dialect == Dialect::Claude => add(format!("arg{word}"), hint),
            Placeholder::Word(word) => add(format!("arg{}", word + 1), hint),
            Placeholder::All => add(LINE.to_owned(), hint),
            Placeholder::Nothing => {}
        }
    }
    // Claude Code appends the typed text to a command without placeholders. A hint shows that the command expects such
    // text.
    if places.is_empty() && names.0.is_empty() && hint.is_some() {
        add(LINE.to_owned(), hint);
    }
    arguments
}

/// For each argument that is also in `before`, copies its description, and whether a value is required.
pub fn known_of(mut arguments: Vec<Argument>, before: &[Argument]) -> Vec<Argument> {
    for argument in &mut arguments {
        if let Some(known) = before.iter().find(|known| known.name == argument.name) {
            argument.clone_from(known);
        }
    }
    arguments
}
