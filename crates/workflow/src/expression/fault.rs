//! What is wrong with an expression.

use std::ops::Range;

/// What is wrong with an expression, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing.
    pub kind: FaultKind,
    /// The bytes in the text that was parsed.
    pub at: Range<usize>,
    /// A sentence, without a final period.
    pub message: String,
}

/// What kind of thing is wrong with an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It is not written as one.
    Syntax,
    /// It has an operator or a call that expressions do not have.
    Unsupported,
    /// It is too long or too deep.
    Limit,
    /// It begins with two braces and without the dollar sign.
    WithoutDollar,
}

impl Fault {
    /// Returns the fault of what is not written as an expression.
    pub(super) fn syntax(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { kind: FaultKind::Syntax, at, message: message.into() }
    }
}
