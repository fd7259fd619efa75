//! Errors in expressions.

use std::ops::Range;

/// An error in an expression, with its byte range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The byte range in the text.
    pub at: Range<usize>,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The text is not a valid expression.
    Syntax,
    /// The expression uses an unsupported operator or call.
    Unsupported,
    /// The expression is too long or nested too deeply.
    Limit,
    /// The template begins with `{{` instead of `${{`.
    WithoutDollar,
}

impl Fault {
    pub(super) fn syntax(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Syntax, at, message: message.into() }
    }
}
