//! Where each value of a text stands, by JSON pointer.

use std::collections::HashMap;
use std::fmt::Write;

use crate::span::Span;

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its key, where it has one.
    pub key: Option<Span>,
    /// The value itself. Where an alias stands for it, the alias.
    pub value: Span,
    /// Where the value was written that an alias stands for.
    pub defined_at: Option<Span>,
    /// The text of a scalar as it was written, where that is the scalar itself to the byte: on one line, without escapes.
    pub exact: Option<Span>,
}

/// How well a value is the one at a place in the text; a later one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    None,
    /// Around it: the line and column where the value begins.
    Around(usize, usize),
    /// On its line, with a key before it: the column of the key.
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

/// Where the values of a text stand.
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
    /// The node of the whole text.
    pub(super) const ROOT: usize = 0;

    /// Returns the places of a text of which nothing is known but that it is there.
    pub(super) fn new() -> Self {
        let place = Place { key: None, value: Span::BEGINNING, defined_at: None, exact: None };
        Self { nodes: vec![Node { place, children: Children::None }] }
    }

    /// Sets where a node stands.
    pub(super) fn set(&mut self, node: usize, place: Place) {
        self.nodes[node].place = place;
    }

    /// Returns where a node stands.
    pub(super) fn of(&self, node: usize) -> Place {
        self.nodes[node].place
    }

    /// Adds the value of a key.
    pub(super) fn named(&mut self, parent: usize, key: &str, place: Place) -> usize {
        let node = self.push(place);
        match &mut self.nodes[parent].children {
            Children::Map(children) => drop(children.insert(key.into(), node)),
            other => *other = Children::Map(HashMap::from([(key.into(), node)])),
        }
        node
    }

    /// Adds the next element of a list.
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

    /// Returns the nodes of the elements or values below a node.
    pub(super) fn child(&self, node: usize, key: &str) -> Option<usize> {
        match &self.nodes[node].children {
            Children::None => None,
            Children::Map(children) => children.get(key).copied(),
            Children::List(children) => children.get(key.parse::<usize>().ok()?).copied(),
        }
    }

    /// Returns where the value of a JSON pointer stands; `None` where the text has no such value.
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

    /// Returns where the value of a JSON pointer stands, else what is nearest above it.
    pub fn nearest(&self, pointer: &str) -> Place {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.get(pointer) {
                return place;
            }
            pointer = pointer.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }

    /// Returns the JSON pointer of the value at a place in the text: the one whose key stands last before it on its line, else the
    /// innermost one around it.
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

    /// Returns every place of a value.
    pub fn all(&self) -> impl Iterator<Item = Place> {
        self.nodes.iter().map(|node| node.place)
    }
}

/// Returns a JSON pointer with one part more.
pub fn below(pointer: &str, part: impl std::fmt::Display) -> String {
    let mut below = String::with_capacity(pointer.len() + 24);
    below.push_str(pointer);
    below.push('/');
    let start = below.len();
    // Writing to a text does not fail.
    let _ = write!(below, "{part}");
    if below[start..].contains(['~', '/']) {
        let part = below[start..].replace('~', "~0").replace('/', "~1");
        below.replace_range(start.., &part);
    }
    below
}
