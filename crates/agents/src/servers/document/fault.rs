//! Defines the reason why a file cannot be edited.

/// The reason why a file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line and column, counted from 1, if they are known.
    pub at: Option<(usize, usize)>,
    pub what: String,
}

impl Fault {
    /// Returns a fault that concerns the whole file.
    pub fn new(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// Returns a fault at a byte offset of a text.
    pub fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { at: Some((line, column)), what: what.into() }
    }
}
