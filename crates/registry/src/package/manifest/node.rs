//! Parses YAML and JSON into a tree that knows the position of each value.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

use mcpkg_base::yaml;

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: &'static str,
    /// The line, from 1; 0 if the manifest came as JSON.
    pub(super) line: u64,
    /// The column, from 1; 0 if the manifest came as JSON.
    pub(super) column: u64,
}

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Tree,
}

/// A value whose parts have positions.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    /// Null, a boolean, a number or a string.
    Scalar(Value),
    List(Vec<Node>),
    Mapping(Vec<Pair>),
}

#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) key: String,
    pub(super) at: Place,
    pub(super) node: Node,
}

/// The maximum number of values that the YAML aliases of a file may expand to, so that a short file cannot expand into
/// a huge one.
const MAX_ALIASED: usize = 10_000;

impl Node {
    /// Parses the YAML of `file`, which starts after `lines_before` lines. Empty YAML is null. An error says what
    /// is malformed, and where.
    pub(super) fn yaml(file: &'static str, text: &str, lines_before: u64) -> Result<Self, (String, Place)> {
        let read: Result<Spanned<Raw>, _> = yaml::read(text, yaml::options(MAX_ALIASED));
        let place = |at: &serde_saphyr::Location| Place {
            file,
            line: at.line().max(1) + lines_before,
            column: at.column().max(1),
        };
        read.map(|raw| raw.value.placed(place(&raw.referenced), &place)).map_err(|malformed| {
            let at = malformed.at.map_or(Place { file, line: 1 + lines_before, column: 1 }, |at| place(&at));
            (malformed.why.chars().take(200).collect(), at)
        })
    }

    /// Converts JSON to a tree without positions.
    pub(super) fn json(file: &'static str, value: &Value) -> Self {
        let at = Place { file, line: 0, column: 0 };
        let value = match value {
            Value::Array(list) => Tree::List(list.iter().map(|value| Self::json(file, value)).collect()),
            Value::Object(map) => {
                let pair =
                    |(key, value): (&String, &Value)| Pair { key: key.clone(), at, node: Self::json(file, value) };
                Tree::Mapping(map.iter().map(pair).collect())
            }
            scalar => Tree::Scalar(scalar.clone()),
        };
        Self { at, value }
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.value {
            Tree::Scalar(value) => value.clone(),
            Tree::List(list) => list.iter().map(Self::to_json).collect(),
            Tree::Mapping(pairs) => {
                Value::Object(pairs.iter().map(|pair| (pair.key.clone(), pair.node.to_json())).collect::<Map<_, _>>())
            }
        }
    }

    /// Follows a JSON Pointer as far as its values exist, and returns the last of these values.
    pub(super) fn below(&self, pointer: &str) -> &Self {
        let mut node = self;
        for part in pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            let next = match &node.value {
                Tree::Mapping(pairs) => pairs.iter().find(|pair| pair.key == key).map(|pair| &pair.node),
                Tree::List(list) => key.parse::<usize>().ok().and_then(|index| list.get(index)),
                Tree::Scalar(_) => None,
            };
            let Some(next) = next else { break };
            node = next;
        }
        node
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self.value, Tree::Scalar(Value::Null))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Tree::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }
}

/// A parsed value with the parser's positions, before they become [`Place`]s.
struct Raw(RawTree);

enum RawTree {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Mapping(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl Raw {
    fn placed(self, at: Place, place: &impl Fn(&serde_saphyr::Location) -> Place) -> Node {
        let value = match self.0 {
            RawTree::Scalar(value) => Tree::Scalar(value),
            RawTree::List(list) => {
                Tree::List(list.into_iter().map(|item| item.value.placed(place(&item.referenced), place)).collect())
            }
            RawTree::Mapping(pairs) => {
                let pair = |(key, item): (Spanned<String>, Spanned<Self>)| Pair {
                    at: place(&key.referenced),
                    key: key.value,
                    node: item.value.placed(place(&item.referenced), place),
                };
                Tree::Mapping(pairs.into_iter().map(pair).collect())
            }
        };
        Node { at, value }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Raw, E> {
                Ok(Raw(RawTree::Scalar(Value::Null)))
            }

            fn visit_none<E>(self) -> Result<Raw, E> {
                Ok(Raw(RawTree::Scalar(Value::Null)))
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
                Raw::deserialize(deserializer)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
                Ok(Raw(RawTree::Scalar(value.into())))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
                Ok(Raw(RawTree::Scalar(value.into())))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
                Ok(Raw(RawTree::Scalar(value.into())))
            }

            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Raw, E> {
                let number = Number::from_f64(value).ok_or_else(|| E::custom("JSON cannot represent this number"))?;
                Ok(Raw(RawTree::Scalar(number.into())))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Raw, E> {
                if value.contains('\0') {
                    return Err(E::custom("a string contains U+0000"));
                }
                Ok(Raw(RawTree::Scalar(value.into())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Raw, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    list.push(item);
                }
                Ok(Raw(RawTree::List(list)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
                let mut pairs: Vec<(Spanned<String>, Spanned<Raw>)> = Vec::new();
                while let Some(pair) = map.next_entry::<Spanned<String>, _>()? {
                    if pair.0.value.contains('\0') {
                        return Err(A::Error::custom("a key contains U+0000"));
                    }
                    pairs.push(pair);
                }
                Ok(Raw(RawTree::Mapping(pairs)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_place() {
        let node = Node::yaml("enact.yaml", "a:\n  - x: yes\n    y: [1, 2.5]\nb: &k {c: ~}\nd: *k\n", 0).unwrap();
        assert_eq!(
            node.to_json(),
            serde_json::json!({ "a": [{ "x": "yes", "y": [1, 2.5] }], "b": { "c": null }, "d": { "c": null } })
        );
        let Tree::Mapping(pairs) = &node.value else { panic!() };
        let Tree::List(list) = &pairs[0].node.value else { panic!() };
        let Tree::Mapping(inner) = &list[0].value else { panic!() };
        assert_eq!((inner[1].at.line, inner[1].at.column), (3, 5));
        assert_eq!((pairs[2].at.line, pairs[2].at.column), (5, 1));
    }

    #[test]
    fn a_pointer_ends_at_the_last_value_that_exists() {
        let node = Node::yaml("enact.yaml", "type: object\nproperties:\n  type: {a: 1}\nitems: [x, y]\n", 0).unwrap();
        let line = |pointer| node.below(pointer).at.line;
        assert_eq!([line("/properties/type/a"), line("/items/1"), line("/properties")], [3, 4, 3]);
        // `type` of the top is not what `/missing/type` names.
        assert_eq!([line("/missing/type"), line("/items/7/0")], [node.at.line, node.below("/items").at.line]);
    }

    #[test]
    fn malformed_yaml_is_reported_with_its_position() {
        for (text, line) in [("a: [", 2), ("a: 1\nb: {\n", 4), ("a: 1\na: 2\n", 3), ("x: \"a\\0b\"\n", 2)] {
            let (why, at) = Node::yaml("SKILL.md", text, 1).unwrap_err();
            assert!(!why.contains("line"), "{why}");
            assert!(at.line >= line.min(2) && at.line <= line + 1, "{text}: {at:?} {why}");
        }
        let deep = format!("a: {}{}", "[".repeat(500), "]".repeat(500));
        assert!(Node::yaml("enact.yaml", &deep, 0).is_err());
    }
}
