//! Finds the passwords in values of a JSON Schema: follows the schema as a graph, along all paths that lead to a password.

use std::collections::HashMap;

use serde_json::Value;

use super::FORMAT;
use super::places::{ANY, ANY_DEPTH, Places};
use crate::api::reference::References;

/// Maximum depth of a place. If this, [`MOST`] or [`STEPS`] is exceeded, the search is given up. A key whose value is a password
/// somewhere then counts as a password everywhere.
const DEPTH: usize = 16;
/// Maximum number of places.
const MOST: usize = 100;
/// Maximum number of search steps.
const STEPS: usize = 10_000;

/// Keywords with a schema for the same value.
const SAME: [&str; 3] = ["if", "then", "else"];
/// Keywords with a list of schemas for the same value.
const SAME_LISTS: [&str; 3] = ["allOf", "oneOf", "anyOf"];
/// Keywords with a mapping of schemas for the same value.
const SAME_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with a schema for elements, or for keys that are not listed.
const EACH: [&str; 6] =
    ["items", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties"];

/// Returns the places that a schema marks as passwords with `format: password`, `writeOnly` or `x-secret`. Broken references are
/// ignored.
pub fn of_schema<'d>(references: References<'d>, schema: &'d Value) -> Places {
    let graph = Graph::of(references, schema);
    let mut ways = Ways {
        graph: &graph,
        leads: graph.leading(),
        steps: 0,
        stack: Vec::new(),
        found: Vec::new(),
        cycles: Vec::new(),
    };
    let found = ways.walk(0, &[]).and_then(|()| ways.with_cycles());
    Places::at(found.unwrap_or_else(|| graph.anywhere()))
}

/// Schemas as nodes, and keys as edges between them. An edge without a key leads to another schema for the same value.
#[derive(Default)]
struct Graph<'d> {
    is_password: Vec<bool>,
    edges: Vec<Vec<(Option<&'d str>, usize)>>,
}

impl<'d> Graph<'d> {
    fn of(references: References<'d>, schema: &'d Value) -> Self {
        let (mut graph, mut known, mut schemas) =
            (Self::default(), HashMap::from([(std::ptr::from_ref(schema), 0)]), vec![schema]);
        let mut at = 0;
        while let Some(schema) = schemas.get(at).copied() {
            let marked = schema["format"] == FORMAT || schema["writeOnly"] == true || schema["x-secret"] == true;
            graph.is_password.push(marked);
            let edges = next(references, schema).into_iter().map(|(key, schema)| {
                let place = *known.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
                    schemas.push(schema);
                    schemas.len() - 1
                });
                (key, place)
            });
            graph.edges.push(edges.collect());
            at += 1;
        }
        graph
    }

    /// Returns which schemas lead to a password.
    fn leading(&self) -> Vec<bool> {
        self.back(self.is_password.clone(), |_| true)
    }

    /// Returns which schemas lead to one of `leads`, over edges for which `counts` is true.
    fn back(&self, mut leads: Vec<bool>, counts: impl Fn(Option<&str>) -> bool) -> Vec<bool> {
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); self.edges.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().filter(|(key, _)| counts(*key)).for_each(|(_, to)| before[*to].push(from));
        }
        let mut open: Vec<usize> = (0..leads.len()).filter(|at| leads[*at]).collect();
        while let Some(at) = open.pop() {
            for from in &before[at] {
                if !std::mem::replace(&mut leads[*from], true) {
                    open.push(*from);
                }
            }
        }
        leads
    }

    /// Returns the places to use if the search was given up: every key whose value is a password in some schema counts,
    /// wherever the key occurs. If the whole value, an element of a list or a key that the schema does not name can be a
    /// password, the whole value counts as one.
    fn anywhere(&self) -> Vec<Vec<String>> {
        let is_one = self.back(self.is_password.clone(), |key| key.is_none());
        let edges = self.edges.iter().flatten().filter(|(_, to)| is_one[*to]);
        let mut keys: Vec<&str> = edges.filter_map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys.dedup();
        match is_one[0] || keys.contains(&ANY) {
            true => vec![Vec::new()],
            false => keys.into_iter().map(|key| vec![ANY_DEPTH.to_owned(), key.to_owned()]).collect(),
        }
    }
}

/// Returns the schemas inside a schema, or that it refers to, each with its key.
fn next<'d>(references: References<'d>, schema: &'d Value) -> Vec<(Option<&'d str>, &'d Value)> {
    let mut next: Vec<(Option<&str>, &Value)> = Vec::new();
    let listed = |key: &str| schema[key].as_array().into_iter().flatten();
    let named = |key: &str| schema[key].as_object().into_iter().flatten();
    next.extend(references.target_of(schema).map(|target| (None, target)));
    next.extend(SAME.iter().filter_map(|key| schema.get(*key)).map(|schema| (None, schema)));
    next.extend(SAME_LISTS.iter().flat_map(|key| listed(key)).map(|schema| (None, schema)));
    next.extend(SAME_MAPS.iter().flat_map(|key| named(key)).map(|(_, schema)| (None, schema)));
    next.extend(named("properties").map(|(name, schema)| (Some(name.as_str()), schema)));
    next.extend(named("patternProperties").map(|(_, schema)| (Some(ANY), schema)));
    next.extend(EACH.iter().filter_map(|key| schema.get(*key)).map(|schema| (Some(ANY), schema)));
    next.extend(["items", "prefixItems"].iter().flat_map(|key| listed(key)).map(|schema| (Some(ANY), schema)));
    next.retain(|(_, schema)| schema.is_object());
    next
}

/// The search for paths to passwords.
struct Ways<'g> {
    graph: &'g Graph<'g>,
    leads: Vec<bool>,
    steps: usize,
    /// The schemas on the current path, each with the length of the path that leads to it.
    stack: Vec<(usize, usize)>,
    found: Vec<Vec<String>>,
    /// Recursive schemas: the length of the path to the schema, and the path to the place where the same schema occurs again.
    cycles: Vec<(usize, Vec<String>)>,
}

impl Ways<'_> {
    /// Continues the search from a schema. Returns `None` if a limit is exceeded.
    fn walk(&mut self, at: usize, way: &[String]) -> Option<()> {
        self.steps += 1;
        if !self.leads[at] {
            return Some(());
        }
        if self.graph.is_password[at] {
            self.found.push(way.to_vec());
            return Some(());
        }
        if let Some((_, length)) = self.stack.iter().find(|(above, _)| *above == at) {
            self.cycles.push((*length, way.to_vec()));
            return Some(());
        }
        if way.len().max(self.stack.len() / 8) > DEPTH || self.found.len() > MOST || self.steps > STEPS {
            return None;
        }
        self.stack.push((at, way.len()));
        for (key, to) in &self.graph.edges[at] {
            let further: Vec<String> = way.iter().cloned().chain(key.map(str::to_owned)).collect();
            self.walk(*to, &further)?;
        }
        self.stack.pop();
        Some(())
    }

    /// Returns all paths, including those through recursive schemas. Inner cycles come first, because outer cycles repeat them.
    fn with_cycles(&mut self) -> Option<Vec<Vec<String>>> {
        self.cycles.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        for (length, way) in &self.cycles {
            let (above, again) = (&way[..*length], [way.as_slice(), &[ANY_DEPTH.to_owned()]].concat());
            let inside: Vec<Vec<String>> =
                self.found.iter().filter(|found| found.starts_with(above) && way.len() > *length).cloned().collect();
            self.found.extend(inside.iter().map(|found| [&again, &found[*length..]].concat()));
            if self.found.len() > MOST {
                return None;
            }
        }
        Some(std::mem::take(&mut self.found))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn places(root: &Value) -> Vec<String> {
        of_schema(References::new(root), &root["s"]).pointers()
    }

    #[test]
    fn each_place_of_a_schema_is_found() {
        let secret = json!({ "type": "string", "format": "password" });
        for (schema, expected) in [
            (json!({ "type": "string" }), &[][..]),
            (secret.clone(), &[""]),
            (json!({ "properties": { "a/b": secret, "c": { "writeOnly": true } } }), &["/a~1b", "/c"]),
            (json!({ "properties": { "c": { "properties": { "v": { "x-secret": true } } } } }), &["/c/v"]),
            (json!({ "items": secret }), &["/*"]),
            (json!({ "prefixItems": [{}, secret] }), &["/*"]),
            (json!({ "additionalProperties": { "properties": { "v": secret } } }), &["/*/v"]),
            (json!({ "allOf": [{ "properties": { "v": {} } }, { "properties": { "v": secret } }] }), &["/v"]),
            (json!({ "oneOf": [{ "type": "null" }, { "anyOf": [secret] }] }), &[""]),
            (json!({ "properties": { "v": { "$ref": "#/plain", "writeOnly": true } } }), &["/v"]),
            (json!({ "properties": { "v": { "$ref": "#/marked" }, "gone": { "$ref": "#/gone" } } }), &["/v"]),
        ] {
            let root =
                json!({ "s": schema, "plain": { "type": "string" }, "marked": { "$ref": "#/again" }, "again": secret });
            assert_eq!(places(&root), expected, "{}", root["s"]);
        }
    }

    #[test]
    fn a_recursive_schema_has_its_places_at_every_depth() {
        let root = json!({ "s": { "$ref": "#/tree" }, "tree": { "properties": {
            "pin": { "format": "password" },
            "children": { "type": "array", "items": { "$ref": "#/tree" } },
            "other": { "$ref": "#/other" },
        } }, "other": { "properties": { "back": { "$ref": "#/tree" }, "self": { "$ref": "#/other" } } } });
        let places = of_schema(References::new(&root), &root["s"]);
        let is_at = |way: &[&str]| way.iter().fold(places.clone(), |places, key| places.within(key)).is_whole();
        for way in [
            &["pin"][..],
            &["children", "0", "pin"],
            &["children", "0", "children", "7", "pin"],
            &["other", "back", "pin"],
            &["children", "1", "other", "self", "self", "back", "children", "2", "pin"],
        ] {
            assert!(is_at(way), "{way:?} is not at {:?}", places.pointers());
        }
        assert!(!is_at(&["children", "0", "name"]) && !is_at(&["other"]));
    }

    #[test]
    fn too_many_places_become_keys_at_any_depth() {
        let of = |count: usize| {
            (0..count).map(|n| (format!("k{n}"), json!({ "properties": { "v": { "format": "password" } } })))
        };
        let root = json!({ "s": { "properties": of(500).collect::<serde_json::Map<_, _>>() } });
        assert_eq!(places(&root), ["/**/v"]);
        // Each of 40 schemas refers to all 40, so there are far too many paths to list.
        let all: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("p{n}"), json!({ "$ref": format!("#/l{n}") }))).collect();
        let mut root: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("l{n}"), json!({ "properties": all }))).collect();
        root.insert("s".to_owned(), json!({ "properties": { "x": { "$ref": "#/l0" }, "pin": { "writeOnly": true } } }));
        assert_eq!(places(&Value::Object(root.clone())), ["/pin"]);
        root.insert("l39".to_owned(), json!({ "properties": { "pin": { "writeOnly": true } } }));
        assert_eq!(places(&Value::Object(root)), ["/**/pin"]);
        let lists = json!({ "s": { "properties": of(500).map(|(key, _)| (key, json!({ "items": { "format": "password" } }))).collect::<serde_json::Map<_, _>>() } });
        assert_eq!(places(&lists), [""]);
    }
}
