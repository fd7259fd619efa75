//! Finds the line and column of a value in a document. This parses the document a second time, so it is done only to report faults.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

/// The key under which referenced files are embedded in the document.
pub const KEY: &str = "x-mcpkg-files";

/// A file that a document refers to. Its value is embedded in the document.
#[derive(Debug)]
pub struct Part {
    /// Path relative to the document's folder.
    pub name: String,
    pub text: String,
    pub format: Format,
}

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Yaml,
}

/// A text together with its parsed value.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'d> {
    pub text: &'d str,
    pub format: Format,
    pub value: &'d Value,
}

/// Returns the JSON pointer of a value inside `root`. The value is found by its address in memory.
pub fn pointer(root: &Value, wanted: &Value) -> Option<String> {
    fn walk(value: &Value, wanted: &Value, path: &mut String) -> bool {
        if std::ptr::eq(value, wanted) {
            return true;
        }
        let length = path.len();
        let mut enter = |key: &str, value: &Value| {
            path.truncate(length);
            push(path, key);
            walk(value, wanted, path)
        };
        match value {
            Value::Array(values) => values.iter().enumerate().any(|(n, value)| enter(&n.to_string(), value)),
            Value::Object(fields) => fields.iter().any(|(key, value)| enter(key, value)),
            _ => false,
        }
    }
    let mut path = String::new();
    walk(root, wanted, &mut path).then_some(path)
}

fn push(path: &mut String, key: &str) {
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

/// Returns the line and column, counted from 1, of each JSON pointer that is found.
pub fn find(parsed: Parsed<'_>, pointers: &[String]) -> HashMap<String, (usize, usize)> {
    match parsed.format {
        Format::Json => in_json(parsed.text, pointers),
        Format::Yaml => in_yaml(parsed.text, pointers),
    }
}

/// Returns the line and column of a byte offset.
pub fn at(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

fn in_json(text: &str, pointers: &[String]) -> HashMap<String, (usize, usize)> {
    let options = jsonc_parser::CollectOptions::default();
    let Ok(parsed) = jsonc_parser::parse_to_ast(text, &options, &jsonc_parser::ParseOptions::default()) else {
        return HashMap::new();
    };
    let Some(root) = &parsed.value else { return HashMap::new() };
    let found = |pointer: &String| Some((pointer.clone(), at(text, node(root, pointer)?.start())));
    pointers.iter().filter_map(found).collect()
}

fn node<'n, 'a>(root: &'n ast::Value<'a>, pointer: &str) -> Option<&'n ast::Value<'a>> {
    let mut keys = pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~"));
    keys.try_fold(root, |value, key| match value {
        ast::Value::Object(object) => {
            // If a key is repeated, the last one counts, as in serde_json.
            object.properties.iter().rev().find(|property| property.name.as_str() == key).map(|found| &found.value)
        }
        ast::Value::Array(array) => array.elements.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// An unfinished collection: a list with its number of elements so far, or a mapping with its current key.
enum Open {
    List(usize),
    Mapping(Option<String>),
}

fn in_yaml(text: &str, pointers: &[String]) -> HashMap<String, (usize, usize)> {
    let wanted: HashSet<&str> = pointers.iter().map(String::as_str).collect();
    let mut found = HashMap::new();
    let mut open: Vec<(Open, usize)> = Vec::new();
    let mut path = String::new();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return found };
        if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            if let Some((_, length)) = open.pop() {
                path.truncate(length);
            }
            continue;
        }
        if !event.is_node() {
            continue;
        }
        // A scalar in the position of a key is not a value.
        if let (Some((Open::Mapping(key @ None), _)), Some((scalar, _))) = (open.last_mut(), event.scalar()) {
            *key = Some(scalar.to_owned());
            continue;
        }
        let length = path.len();
        match open.last_mut() {
            Some((Open::List(n), _)) => {
                push(&mut path, &n.to_string());
                *n += 1;
            }
            Some((Open::Mapping(key), _)) => push(&mut path, &key.take().unwrap_or_default()),
            None => {}
        }
        if wanted.contains(path.as_str()) {
            found.entry(path.clone()).or_insert((span.start.line(), span.start.col() + 1));
        }
        match event {
            Event::SequenceStart(..) => open.push((Open::List(0), length)),
            Event::MappingStart(..) => open.push((Open::Mapping(None), length)),
            _ => path.truncate(length),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_give_the_place_of_a_value() {
        let json = "{\"openapi\": \"3.0.0\",\n \"pa/th\": {\"é\": [1, {\"x\": \"ö\", \"y\": true}]}}";
        let yaml = "openapi: 3.0.0\npa/th:\n  é:\n  - 1\n  - x: ö\n    y: true\n";
        let value: Value = serde_json::from_str(json).expect("JSON");
        let wanted = &value["pa/th"]["é"][1]["y"];
        let path = pointer(&value, wanted).expect("a pointer");
        assert_eq!(path, "/pa~1th/é/1/y");
        for (text, format, place) in [(json, Format::Json, (2, 37)), (yaml, Format::Yaml, (6, 8))] {
            let parsed = Parsed { text, format, value: &value };
            assert_eq!(find(parsed, std::slice::from_ref(&path)).get(&path), Some(&place), "{text}");
        }
    }

    #[test]
    fn a_value_of_another_document_has_no_pointer() {
        let (one, other) = (serde_json::json!([1]), serde_json::json!([1]));
        assert_eq!(pointer(&one, &other[0]), None);
        assert_eq!(pointer(&one, &one).as_deref(), Some(""));
    }
}
