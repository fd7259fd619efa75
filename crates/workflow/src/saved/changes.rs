//! Compares two workflows by meaning. Finds the steps and inputs that were added, removed, moved or changed, with their positions
//! in both texts.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::model::Model;
use crate::span::Span;
use crate::yaml::places::{Place, Places, below};
use mcpkg_core::op::Body;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    Added,
    Removed,
    Changed,
    /// The position in the list changed.
    Moved,
}

/// A changed part of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    pub change: Happened,
    /// The changed part: `workflow`, `input`, `step` or `output`.
    pub what: &'static str,
    /// The name of the input or step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The changed field, such as `with.region`. Absent if the whole part was added, removed or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// Position of the changed part in the earlier text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub was_at: Option<Span>,
    /// Position of the changed part in the later text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_at: Option<Span>,
}

/// Returns the changes in the order of the later workflow. Removed parts follow the other parts of their kind.
pub fn between(before: &Model, after: &Model) -> Vec<Change> {
    let mut changes = Vec::new();
    let sides = Sides { was: &before.places, is: &after.places };
    let (old, new) = (object(&before.value), object(&after.value));
    let plain = |map: &Map<String, Value>| {
        map.iter()
            .filter(|(key, _)| !matches!(key.as_str(), "inputs" | "steps" | "final_output" | "schema_version"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<_, _>>()
    };
    sides.fields(("workflow", None), ["", ""], [&plain(&old), &plain(&new)], None, &mut changes);
    sides.named("input", "inputs", [&old, &new], &mut changes);
    sides.named("step", "steps", [&old, &new], &mut changes);
    let output = |map: &Map<String, Value>| {
        map.get("final_output")
            .cloned()
            .map_or_else(Map::new, |value| Map::from_iter([("final_output".to_owned(), value)]))
    };
    sides.fields(("output", None), ["", ""], [&output(&old), &output(&new)], None, &mut changes);
    changes
}

/// Returns the changes between two texts; `None` if either is not a valid workflow.
pub fn of_texts(before: &str, after: &str) -> Option<Vec<Change>> {
    Some(between(&Model::of(before).ok()?, &Model::of(after).ok()?))
}

/// Formats the changes for people: one line each, followed by the unified diff.
pub fn body(diff: String, changes: &Option<Vec<Change>>) -> Body {
    match changes.iter().flatten().next() {
        None => Body::Diff(diff),
        Some(_) => {
            let lines = Body::lines(changes.iter().flatten().map(Change::to_string));
            Body::Several(vec![lines, Body::Diff(diff)])
        }
    }
}

/// The positions of the values in both texts.
struct Sides<'a> {
    was: &'a Places,
    is: &'a Places,
}

impl Sides<'_> {
    /// Compares the inputs or the steps.
    fn named(&self, what: &'static str, key: &str, [old, new]: [&Map<String, Value>; 2], changes: &mut Vec<Change>) {
        let (old, new) = (entries(old.get(key), key), entries(new.get(key), key));
        let common = |own: &[Entry<'_>], other: &[Entry<'_>]| {
            let is_there = |entry: &&Entry<'_>| other.iter().any(|found| found.name == entry.name);
            own.iter().filter(is_there).map(|entry| entry.name.clone()).collect::<Vec<_>>()
        };
        let moved = if what == "step" { moved(&common(&old, &new), &common(&new, &old)) } else { Vec::new() };
        for entry in &new {
            let Some(earlier) = old.iter().find(|earlier| earlier.name == entry.name) else {
                changes.push(entry.whole(what, Happened::Added, None, span(self.is, &entry.pointer)));
                continue;
            };
            if moved.contains(&entry.name) {
                let [was, is] = [span(self.was, &earlier.pointer), span(self.is, &entry.pointer)];
                changes.push(Change { before: None, after: None, ..entry.whole(what, Happened::Moved, was, is) });
            }
            let pointers = [earlier.pointer.as_str(), entry.pointer.as_str()];
            let fields = [&earlier.fields, &entry.fields];
            self.fields((what, Some(&entry.name)), pointers, fields, None, changes);
        }
        for entry in old.iter().filter(|entry| !new.iter().any(|later| later.name == entry.name)) {
            changes.push(entry.whole(what, Happened::Removed, span(self.was, &entry.pointer), None));
        }
    }

    /// Compares the fields of a part. Mappings inside a field are compared entry by entry.
    fn fields(
        &self,
        (what, name): (&'static str, Option<&str>),
        [was, is]: [&str; 2],
        [old, new]: [&Map<String, Value>; 2],
        above: Option<&str>,
        changes: &mut Vec<Change>,
    ) {
        let keys = new.keys().chain(old.keys().filter(|key| !new.contains_key(*key)));
        for key in keys.filter(|key| old.get(*key) != new.get(*key)) {
            let pointers = [below(was, key), below(is, key)];
            let field = above.map_or_else(|| key.clone(), |above| format!("{above}.{key}"));
            let (before, after) = (old.get(key), new.get(key));
            if let (Some(Value::Object(before)), Some(Value::Object(after))) = (before, after) {
                self.fields((what, name), [&pointers[0], &pointers[1]], [before, after], Some(&field), changes);
                continue;
            }
            changes.push(Change {
                change: match (before, after) {
                    (None, _) => Happened::Added,
                    (_, None) => Happened::Removed,
                    _ => Happened::Changed,
                },
                what,
                name: name.map(str::to_owned),
                field: Some(field),
                before: before.cloned(),
                after: after.cloned(),
                was_at: before.and_then(|_| span(self.was, &pointers[0])),
                is_at: after.and_then(|_| span(self.is, &pointers[1])),
            });
        }
    }
}

/// An input or a step.
struct Entry<'v> {
    name: String,
    pointer: String,
    value: &'v Value,
    fields: Map<String, Value>,
}

impl Entry<'_> {
    fn whole(&self, what: &'static str, change: Happened, was_at: Option<Span>, is_at: Option<Span>) -> Change {
        let value = Some(self.value.clone());
        let (before, after) = if change == Happened::Removed { (value, None) } else { (None, value) };
        Change { change, what, name: Some(self.name.clone()), field: None, before, after, was_at, is_at }
    }
}

/// Returns the entries of a mapping by name, or of a list whose elements have names.
fn entries<'v>(value: Option<&'v Value>, key: &str) -> Vec<Entry<'v>> {
    let pointer = below("", key);
    match value {
        Some(Value::Array(values)) => {
            let entry = |(place, value): (usize, &'v Value)| {
                let mut fields = object(value);
                let name = ["id", "name"].iter().find_map(|key| fields.shift_remove(*key));
                let name = name.and_then(|name| name.as_str().map(str::to_owned));
                Some(Entry { name: name?, pointer: below(&pointer, place), value, fields })
            };
            values.iter().enumerate().filter_map(entry).collect()
        }
        Some(Value::Object(values)) => {
            let entry = |(name, value): (&'v String, &'v Value)| {
                let pointer = below(&pointer, name);
                Entry { name: name.clone(), pointer, value, fields: object(value) }
            };
            values.iter().map(entry).collect()
        }
        _ => Vec::new(),
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// Returns the names that were moved: a smallest set that explains the new order.
fn moved(old: &[String], new: &[String]) -> Vec<String> {
    let mut moved = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        match op {
            DiffOp::Equal { .. } => {}
            _ => moved.extend(new[op.new_range()].iter().cloned()),
        }
    }
    moved
}

/// Returns the span of a value with its key. In the text, a step's `if` may be written as `when`.
fn span(places: &Places, pointer: &str) -> Option<Span> {
    let alias = || places.get(&format!("{}/when", pointer.strip_suffix("/if")?));
    let Place { key, value, .. } = places.get(pointer).or_else(alias)?;
    Some(key.map_or(value, |key| key.to_end_of(value)))
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_deref().map(|name| format!(" '{name}'")).unwrap_or_default();
        write!(f, "{}{name}", self.what)?;
        let said = |value: &Option<Value>| value.as_ref().map(shown).unwrap_or_default();
        match (&self.field, self.change) {
            (None, Happened::Added) => write!(f, " added"),
            (None, Happened::Removed) => write!(f, " removed"),
            (None, _) => write!(f, " moved"),
            (Some(field), Happened::Added) => write!(f, ": {field} added: {}", said(&self.after)),
            (Some(field), Happened::Removed) => write!(f, ": {field} removed: {}", said(&self.before)),
            (Some(field), _) => write!(f, ": {field} changed: {} -> {}", said(&self.before), said(&self.after)),
        }
    }
}

/// Maximum length of a value in a line for people, in characters.
const SHOWN: usize = 60;

/// Formats a value on one line, shortened if necessary.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
