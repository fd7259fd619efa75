//! A program and its arguments, with `{{param}}` in the place of values. No shell reads them.

/// A part of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Literal(String),
    /// A parameter's value.
    Value(String),
    /// The path of a private file that holds a parameter's value.
    File(String),
}

/// An argument, or several that go away together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// One argument, whatever the values hold.
    One(Vec<Piece>),
    /// Arguments that go away together where a value is missing.
    Group(Vec<Vec<Piece>>),
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argv {
    elements: Vec<Element>,
}
