//! The text of one argument: literals, and `{{param}}` instead of values.

use super::is_parameter;

/// A part of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text as it is.
    Literal(String),
    Value(String),
    /// The path of a private file that holds a parameter's value.
    File(String),
}

impl Piece {
    /// The parameter that it stands for.
    pub(super) fn parameter(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Value(name) | Self::File(name) => Some(name),
        }
    }
}

/// Reads a list's element: nothing in it is quoted.
///
/// # Errors
/// What is wrong with it.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        literal(&mut pieces, before);
        let (piece, after) = template(after)?;
        pieces.push(piece);
        rest = after;
    }
    literal(&mut pieces, rest);
    Ok(pieces)
}

/// Adds text to the pieces of an argument.
pub(super) fn literal(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Literal(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Literal(text.to_owned())),
    }
}

/// Reads a template after its `{{`, and returns what follows its `}}`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn template(text: &str) -> Result<(Piece, &str), String> {
    let Some((inside, after)) = text.split_once("}}") else {
        return Err("a `{{` has no `}}`".to_owned());
    };
    let inside = inside.trim();
    let (name, is_file) = match inside.strip_prefix("file:") {
        Some(name) => (name.trim(), true),
        None => (inside, false),
    };
    if !is_parameter(name) {
        let shown: String = inside.chars().take(40).collect();
        return Err(format!("`{{{{{}}}}}` names no parameter", shown.escape_debug()));
    }
    let name = name.to_owned();
    Ok((if is_file { Piece::File(name) } else { Piece::Value(name) }, after))
}
