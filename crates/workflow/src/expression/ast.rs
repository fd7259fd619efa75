//! The parts of an expression. Each knows its bytes in the text that was parsed.

use std::fmt;
use std::ops::Range;

use serde_json::Value;

/// An expression, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub node: Node,
    /// Its bytes.
    pub at: Range<usize>,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// True where one is.
    Or(Vec<Expression>),
    /// True where all are.
    And(Vec<Expression>),
    /// True where it is false.
    Not(Box<Expression>),
    /// Whether two values are the same, also by type; the flag is false for `!=`.
    Equal(bool, Box<Expression>, Box<Expression>),
    /// Whether a list has an element, or a text a part.
    Includes(Box<Expression>, Box<Expression>),
    /// A value that is named.
    Path(Path),
    /// A value that is written out.
    Literal(Value),
}

/// A value that is named.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// What it begins with.
    pub root: Root,
    /// The bytes of the name.
    pub name_at: Range<usize>,
    /// Whether `.output` was written; of steps only.
    pub says_output: bool,
    /// The way from there.
    pub segments: Vec<Segment>,
    /// The bytes of the segments.
    pub segments_at: Range<usize>,
}

/// What a path begins with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    Input(String),
    /// The answer of a step.
    Step(String),
    /// A variable that the project allows.
    Env(String),
    /// A secret, by its name.
    Secret(String),
}

/// A part of the way into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The value of a key.
    Key(String),
    /// The element at an index.
    Index(usize),
}

impl Expression {
    /// Calls `f` with every path in it.
    pub fn paths<'a>(&'a self, f: &mut impl FnMut(&'a Path, &'a Range<usize>)) {
        match &self.node {
            Node::Or(parts) | Node::And(parts) => parts.iter().for_each(|part| part.paths(f)),
            Node::Not(part) => part.paths(f),
            Node::Equal(_, left, right) | Node::Includes(left, right) => {
                left.paths(f);
                right.paths(f);
            }
            Node::Path(path) => f(path, &self.at),
            Node::Literal(_) => {}
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, ".{key}"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for Path {
    /// The path as it is written in full: `steps.create_app.output.id`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Input(name) => write!(f, "inputs.{name}")?,
            Root::Step(id) => write!(f, "steps.{id}.output")?,
            Root::Env(name) => write!(f, "env.{name}")?,
            Root::Secret(name) => write!(f, "secrets.{name}")?,
        }
        self.segments.iter().try_for_each(|segment| segment.fmt(f))
    }
}
