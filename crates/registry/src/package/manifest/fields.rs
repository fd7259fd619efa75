//! Reads the fields of a mapping, and records the problems of each.

use serde_json::Value;

use super::node::{Node, Pair, Place, Tree};
use super::problem::{Kind, Problems};
use mcpkg_base::error::nearest;

pub(super) struct Fields<'a> {
    pub(super) pairs: &'a [Pair],
    pub(super) at: Place,
    /// The mapping's JSON Pointer.
    pub(super) path: String,
}

impl<'a> Fields<'a> {
    /// Returns the fields of a mapping; records an error if the value is not a mapping.
    pub(super) fn of(node: &'a Node, path: String, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Tree::Mapping(pairs) => Some(Self { pairs, at: node.at, path }),
            _ => {
                problems.error(&path, node.at, Kind::Type, "it must be a mapping");
                None
            }
        }
    }

    /// Returns the JSON Pointer of a field.
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}/{}", self.path, key.replace('~', "~0").replace('/', "~1"))
    }

    /// Returns a field if it exists and is not null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Pair> {
        self.pairs.iter().find(|pair| pair.key == key && !pair.node.is_null())
    }

    pub(super) fn text(&self, key: &str, problems: &mut Problems) -> Option<&'a str> {
        let pair = self.get(key)?;
        let text = pair.node.text();
        if text.is_none() {
            let hint = match &pair.node.value {
                Tree::Scalar(value) => format!("it must be a string; put {value} in quotes"),
                _ => "it must be a string".to_owned(),
            };
            problems.error(&self.path(key), pair.node.at, Kind::Type, hint);
        }
        text
    }

    /// Reads a boolean.
    pub(super) fn truth(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        let pair = self.get(key)?;
        match pair.node.value {
            Tree::Scalar(Value::Bool(truth)) => Some(truth),
            _ => {
                problems.error(&self.path(key), pair.node.at, Kind::Type, "it must be true or false");
                None
            }
        }
    }

    /// Reads a string. A number or a boolean is converted to a string.
    pub(super) fn scalar(&self, key: &str, problems: &mut Problems) -> Option<String> {
        let pair = self.get(key)?;
        match &pair.node.value {
            Tree::Scalar(Value::String(text)) => Some(text.clone()),
            Tree::Scalar(value) => Some(value.to_string()),
            _ => {
                problems.error(&self.path(key), pair.node.at, Kind::Type, "it must be a string");
                None
            }
        }
    }

    /// Reads a string or a list of strings.
    pub(super) fn texts(&self, key: &str, problems: &mut Problems) -> Vec<String> {
        let Some(pair) = self.get(key) else { return Vec::new() };
        let nodes = match &pair.node.value {
            Tree::List(list) => list.as_slice(),
            _ => std::slice::from_ref(&pair.node),
        };
        let mut texts = Vec::new();
        for node in nodes {
            match node.text() {
                Some(text) => texts.push(text.to_owned()),
                None => {
                    problems.error(&self.path(key), node.at, Kind::Type, "it must be a string or a list of strings")
                }
            }
        }
        texts
    }

    /// Warns about unknown fields, except `x-*`, which authors can use freely.
    pub(super) fn warn_of_unknown(&self, known: &[&str], problems: &mut Problems) {
        for pair in self.pairs {
            if known.contains(&pair.key.as_str()) || pair.key.starts_with("x-") {
                continue;
            }
            let message = match nearest(&pair.key, known.iter().copied()) {
                Some(near) => format!("unknown field; did you mean `{near}`?"),
                None => "unknown field".to_owned(),
            };
            problems.warn(&self.path(&pair.key), pair.at, Kind::Unknown, message);
        }
    }
}
