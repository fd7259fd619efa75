//! Parses the text of one argument into literal text and `{{param}}` placeholders.

use super::is_parameter;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Value(String),
    /// The path of a private file that contains a parameter's value.
    File(String),
}

impl Piece {
    /// Returns the name of the parameter, unless the piece is literal text.
    pub(super) fn parameter(&self) -> Option<&str> {
        match self {
            Self::Literal(_) => None,
            Self::Value(name) | Self::File(name) => Some(name),
        }
    }
}

/// Parses an element of a list, where quotes have no special meaning.
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

pub(super) fn literal(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Literal(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Literal(text.to_owned())),
    }
}

/// Parses a placeholder after its `{{`, and returns the text after its `}}`.
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
