//! Records where each value is in a text, by JSON pointer.

use std::collections::HashMap;
use std::fmt::Write;

use crate::span::Span;

/// The position of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The key, if there is one.
    pub key: Option<Span>,
    /// The value. For an alias, this is the alias itself.
    pub value: Span,
    /// For an alias: the position of the anchored value.
    pub defined_at: Option<Span>,
    /// The span of a scalar's text without its quotes. `None` if the value differs from this text, for example because
    /// of escapes, and for block scalars, lists, mappings and aliases.
    pub exact: Option<Span>,
}

/// How well a value matches a position in the text, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    None,
    /// The position is inside the value. Holds the line and column where the value begins.
    Around(usize, usize),
    /// The key is on the same line, before the position. Holds the column of the key.
    Keyed(usize),
}

impl Place {
    fn matches(&self, at: (usize, usize)) -> Match {
        let (value, (line, column)) = (self.value, at);
        match self.key {
            Some(key) if key.line == line && key.column <= column => Match::Keyed(key.column),
            _ if (value.line, value.column) <= at && at <= (value.end_line, value.end_column) => {
                Match::Around(value.line, value.column)
            }
            _ => Match::None,
        }
    }
}

/// The positions of all values in a text.
#[derive(Clone, Debug)]
pub struct Places {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    place: Place,
    children: Children,
}

#[derive(Clone, Debug)]
enum Children {
    None,
    Map(HashMap<Box<str>, usize>),
    List(Vec<usize>),
}

impl Places {
    pub(super) const ROOT: usize = 0;

    /// Returns positions with only the root, the value of the whole text.
    pub(super) fn new() -> Self {
        let place = Place { key: None, value: Span::BEGINNING, defined_at: None, exact: None };
        Self { nodes: vec![Node { place, children: Children::None }] }
    }

    pub(super) fn set(&mut self, node: usize, place: Place) {
        self.nodes[node].place = place;
    }

    pub(super) fn of(&self, node: usize) -> Place {
        self.nodes[node].place
    }

    pub(super) fn named(&mut self, parent: usize, key: &str, place: Place) -> usize {
        let node = self.push(place);
        match &mut self.nodes[parent].children {
            Children::Map(children) => drop(children.insert(key.into(), node)),
            other => *other = Children::Map(HashMap::from([(key.into(), node)])),
        }
        node
    }

    pub(super) fn element(&mut self, parent: usize, place: Place) -> usize {
        let node = self.push(place);
        match &mut self.nodes[parent].children {
            Children::List(children) => children.push(node),
            other => *other = Children::List(vec![node]),
        }
        node
    }

    fn push(&mut self, place: Place) -> usize {
        self.nodes.push(Node { place, children: Children::None });
        self.nodes.len() - 1
    }

    /// Returns the child of a node with this key or index.
    pub(super) fn child(&self, node: usize, key: &str) -> Option<usize> {
        match &self.nodes[node].children {
            Children::None => None,
            Children::Map(children) => children.get(key).copied(),
            Children::List(children) => children.get(key.parse::<usize>().ok()?).copied(),
        }
    }

    /// Returns the position of the value at a JSON pointer; `None` if the text has no such value.
    pub fn get(&self, pointer: &str) -> Option<Place> {
        let mut node = Self::ROOT;
        for part in pointer.split('/').skip(1) {
            node = match part.contains('~') {
                true => self.child(node, &part.replace("~1", "/").replace("~0", "~"))?,
                false => self.child(node, part)?,
            };
        }
        Some(self.of(node))
    }

    /// Returns the position of the value at a JSON pointer, or else of its nearest existing parent.
    pub fn nearest(&self, pointer: &str) -> Place {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.get(pointer) {
                return place;
            }
            pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Returns the JSON pointer for a position in the text: the last key before it on the same line, or else the innermost value
    /// around it.
    pub fn at(&self, line: usize, column: usize) -> String {
        let mut best = (Match::None, String::new());
        self.look(Self::ROOT, (line, column), String::new(), &mut best);
        best.1
    }

    fn look(&self, node: usize, at: (usize, usize), pointer: String, best: &mut (Match, String)) {
        let Node { place, children } = &self.nodes[node];
        let matched = place.matches(at);
        match children {
            Children::None => {}
            Children::Map(children) => {
                for (key, child) in children {
                    self.look(*child, at, below(&pointer, key), best);
                }
            }
            Children::List(children) => {
                for (index, child) in children.iter().enumerate() {
                    self.look(*child, at, below(&pointer, index), best);
                }
            }
        }
        if matched > best.0 {
            *best = (matched, pointer);
        }
    }

    pub fn all(&self) -> impl Iterator<Item = Place> {
        self.nodes.iter().map(|node| node.place)
    }
}

/// Appends a part to a JSON pointer.
pub fn below(pointer: &str, part: impl std::fmt::Display) -> String {
    let mut below = String::with_capacity(pointer.len() + 24);
    below.push_str(pointer);
    below.push('/');
    let start = below.len();
    // Writing to a string cannot fail.
    let _ = write!(below, "{part}");
    if below[start..].contains(['~', '/']) {
        let part = below[start..].replace('~', "~0").replace('/', "~1");
        below.replace_range(start.., &part);
    }
    below
}
