//! The syntax tree of expressions. Each node records its byte range in the text.

use std::fmt;
use std::ops::Range;

use serde_json::Value;

/// An expression with its byte range.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    pub node: Node,
    /// The expression's byte range in the text.
    pub at: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// True if any part is true.
    Or(Vec<Expression>),
    /// True if all parts are true.
    And(Vec<Expression>),
    Not(Box<Expression>),
    /// Compares both value and type. The flag is false for `!=`.
    Equal(bool, Box<Expression>, Box<Expression>),
    /// Whether a list contains an element, or a string contains another.
    Includes(Box<Expression>, Box<Expression>),
    Path(Path),
    Literal(Value),
}

/// A path to a value, such as `steps.create_app.output.id`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The first part of the path, such as `steps.create_app`.
    pub root: Root,
    /// The byte range of the name after the first dot, such as `create_app`.
    pub name_at: Range<usize>,
    /// Whether a path to a step's output is written with `.output`, which is optional.
    pub says_output: bool,
    pub segments: Vec<Segment>,
    /// The byte range of the segments.
    pub segments_at: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    Input(String),
    /// The output of a step.
    Step(String),
    /// A variable that the project allows.
    Env(String),
    /// A secret of the command's catalog.
    Secret(String),
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    Index(usize),
}

impl Expression {
    /// Calls `f` with every path in the expression.
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
    /// Writes the path in full: `steps.create_app.output.id`.
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
