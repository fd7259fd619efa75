//! Represents one edit of a text, which can be undone.

use serde::{Deserialize, Serialize};

/// An edit: at the byte offset `at`, `inserted` replaces `removed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splice {
    pub at: usize,
    pub removed: String,
    pub inserted: String,
}

impl Splice {
    /// Finds the edit that turns `before` into `after`.
    pub fn between(before: &str, after: &str) -> Self {
        let same = |(a, b): &(char, char)| a == b;
        let start: usize = before.chars().zip(after.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (old, new) = (&before[start..], &after[start..]);
        let end: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        Self { at: start, removed: old[..old.len() - end].to_owned(), inserted: new[..new.len() - end].to_owned() }
    }

    /// Applies the edit; `None` if the text at the offset is not `removed`.
    pub fn apply(&self, before: &str) -> Option<String> {
        let rest = before.get(self.at..)?.strip_prefix(self.removed.as_str())?;
        Some([&before[..self.at], &self.inserted, rest].concat())
    }

    /// Returns the edit that undoes this one.
    pub fn reversed(&self) -> Self {
        Self { at: self.at, removed: self.inserted.clone(), inserted: self.removed.clone() }
    }

    /// Applies the edit where `removed` is now; `None` if `removed` is blank or does not occur exactly once.
    pub fn apply_elsewhere(&self, text: &str) -> Option<String> {
        let mut found = text.match_indices(self.removed.as_str());
        match (found.next(), found.next()) {
            (Some((at, _)), None) if !self.removed.trim().is_empty() => Self { at, ..self.clone() }.apply(text),
            _ => None,
        }
    }
}
