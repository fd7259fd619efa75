//! Finds an edit of a text that changes one value, and parses the edited text to check that no other value changes.

use serde_json::{Map, Value};

use super::block;
use crate::check::scalar;
use crate::finding::Fix;
use crate::span::Span;
use crate::yaml;
use crate::yaml::places::{Place, Places, below};

/// The change to make to a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change<'v> {
    Set(&'v Value),
    Remove,
}

/// Returns the edit that changes the value at a JSON pointer. A pointer that ends with `-` appends to a list. Returns `None` if
/// no single edit makes exactly this change, for example because the value comes from an alias.
pub(super) fn edit(text: &str, pointer: &str, change: Change<'_>) -> Option<Fix> {
    let read = yaml::read(text);
    let value = read.value?;
    let editing = Editing { text, places: &read.places, value: &value };
    let parts: Vec<String> =
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let candidates = match change {
        Change::Set(new) => editing.set(&parts, new),
        Change::Remove => editing.remove(&parts),
    };
    candidates.into_iter().flatten().find_map(|Candidate { start, end, text: new, expected }| {
        let before = text.get(..start)?;
        let edited = format!("{before}{new}{}", text.get(end..)?);
        let found = yaml::read(&edited);
        let is_right = found.value.as_ref() == Some(&expected) && found.findings.len() <= read.findings.len();
        is_right.then(|| Fix { text: new, span: span(text, start, end) })
    })
}

/// An edit to try, with the value of the whole text that must result.
struct Candidate {
    start: usize,
    end: usize,
    text: String,
    expected: Value,
}

struct Editing<'t> {
    text: &'t str,
    places: &'t Places,
    value: &'t Value,
}

impl Editing<'_> {
    fn set(&self, parts: &[String], new: &Value) -> Vec<Option<Candidate>> {
        let pointer = joined(parts);
        if let Some(place) = self.own(parts) {
            let mut expected = self.value.clone();
            if let Some(old) = expected.pointer_mut(&pointer) {
                *old = new.clone();
            }
            return self.replaced(place, new, &expected);
        }
        // The text does not have this value yet. Add an entry to its nearest parent that exists.
        let Some(depth) = (0..parts.len()).rev().find(|depth| self.own(&parts[..*depth]).is_some()) else {
            return Vec::new();
        };
        let (above, key) = (&parts[..depth], &parts[depth]);
        let inner = parts[depth + 1..].iter().rev().fold(new.clone(), |inner, part| match part.as_str() {
            "-" => Value::Array(vec![inner]),
            part => Value::Object(Map::from_iter([(part.to_owned(), inner)])),
        });
        let mut expected = self.value.clone();
        let Some(parent) = expected.pointer_mut(&joined(above)) else { return Vec::new() };
        match (parent, key.as_str()) {
            (Value::Array(list), "-") => {
                list.push(inner.clone());
                self.appended(above, &inner, &expected)
            }
            (parent @ Value::Null, "-") => {
                *parent = Value::Array(vec![inner.clone()]);
                self.appended(above, &inner, &expected)
            }
            (Value::Object(map), key) => {
                map.insert(key.to_owned(), inner.clone());
                self.entered(above, key, &inner, &expected)
            }
            (parent @ Value::Null, key) => {
                *parent = Value::Object(Map::from_iter([(key.to_owned(), inner.clone())]));
                self.entered(above, key, &inner, &expected)
            }
            _ => Vec::new(),
        }
    }

    /// Returns the place of a value. `None` if the text has no such value, or takes it, or a value around it, from an alias.
    fn own(&self, parts: &[String]) -> Option<Place> {
        let mut pointer = String::new();
        let mut place = self.places.get(&pointer).filter(|place| place.defined_at.is_none())?;
        for part in parts {
            pointer = below(&pointer, part);
            place = self.places.get(&pointer).filter(|place| place.defined_at.is_none())?;
        }
        Some(place)
    }

    fn at(&self, parts: &[String]) -> Option<&Value> {
        self.value.pointer(&joined(parts))
    }

    fn source(&self, place: Place) -> &str {
        self.text.get(place.value.bytes()).unwrap_or_default()
    }

    fn replaced(&self, place: Place, new: &Value, expected: &Value) -> Vec<Option<Candidate>> {
        let before = self.source(place);
        let candidate = |start, end, text| Some(Candidate { start, end, text, expected: expected.clone() });
        if before.is_empty() {
            // The text has only `key:`, so insert the value after the colon.
            let Some(start) = place.key.and_then(|key| self.colon(key)) else { return Vec::new() };
            let of = |text: String| candidate(start, start, format!(" {text}"));
            return notations(new, before).into_iter().map(of).collect();
        }
        // A block scalar includes its last line end. Keep that line end.
        let (start, end) = (place.value.start, place.value.start + before.trim_end_matches(['\n', '\r']).len());
        let is_below = place.key.is_some_and(|key| key.line != place.value.line);
        let start = match place.key.and_then(|key| self.colon(key)).filter(|_| is_below) {
            Some(colon) => colon,
            None => start,
        };
        let of = |text: String| candidate(start, end, if is_below { format!(" {text}") } else { text });
        notations(new, before).into_iter().map(of).collect()
    }

    /// Adds an entry at the end of a mapping.
    fn entered(&self, above: &[String], key: &str, new: &Value, expected: &Value) -> Vec<Option<Candidate>> {
        let Some(place) = self.own(above) else { return Vec::new() };
        let flow = |quoted: bool| {
            let key = scalar(&key.into(), if quoted { "\"" } else { "" });
            format!("{key}: {}", flow_value(new))
        };
        let last = self.at(above).and_then(Value::as_object).and_then(|map| map.keys().next_back());
        let Some(last) = last else {
            let block = |indent| {
                let mut text = String::new();
                block::entry(key, new, indent, self.newline(), &mut text);
                text
            };
            return vec![
                self.first_in_block(place, block, expected),
                self.first_in_flow(place, '{', &flow(false), expected),
                self.first_in_flow(place, '{', &flow(true), expected),
            ];
        };
        let mut path = above.to_vec();
        path.push(last.clone());
        let Some(child) = self.own(&path).or_else(|| self.places.get(&joined(&path))) else { return Vec::new() };
        if self.source(place).starts_with('{') {
            let at = self.end(child);
            let of = |quoted| Candidate {
                start: at,
                end: at,
                text: format!(", {}", flow(quoted)),
                expected: expected.clone(),
            };
            return vec![Some(of(false)), Some(of(true))];
        }
        let Some(first) = child.key else { return Vec::new() };
        let mut text = String::new();
        let indent = first.column - 1;
        block::entry(key, new, indent, self.newline(), &mut text);
        let at = self.line_end(self.end(child));
        let text = format!("{}{}{text}", self.newline(), " ".repeat(indent));
        vec![Some(Candidate { start: at, end: at, text, expected: expected.clone() })]
    }

    /// Adds an element at the end of a list.
    fn appended(&self, above: &[String], new: &Value, expected: &Value) -> Vec<Option<Candidate>> {
        let Some(place) = self.own(above) else { return Vec::new() };
        let block = |indent| {
            let mut text = String::new();
            block::element(new, indent, self.newline(), &mut text);
            text
        };
        let length = self.at(above).and_then(Value::as_array).map_or(0, Vec::len);
        if length == 0 {
            return vec![
                self.first_in_block(place, block, expected),
                self.first_in_flow(place, '[', &flow_value(new), expected),
            ];
        }
        let child = |index: usize| self.places.get(&below(&joined(above), index));
        let Some(last) = child(length - 1) else { return Vec::new() };
        if self.source(place).starts_with('[') {
            let at = self.end(last);
            let text = format!(", {}", flow_value(new));
            return vec![Some(Candidate { start: at, end: at, text, expected: expected.clone() })];
        }
        let Some(dash) = self.dash(last) else { return Vec::new() };
        let indent = self.column(dash);
        let at = self.line_end(self.end(last));
        // If a blank line separates the last two elements, also put one before the new element.
        let before = length.checked_sub(2).and_then(child).map(|place| self.end(place));
        let gap = before.and_then(|before| self.text.get(before..dash)).unwrap_or_default();
        let lines: Vec<&str> = gap.lines().collect();
        let has_gap = lines.len() > 2 && lines[1..lines.len() - 1].iter().any(|line| line.trim().is_empty());
        let blank = if has_gap { self.newline() } else { "" };
        let text = format!("{blank}{}{}{}", self.newline(), " ".repeat(indent), block(indent));
        vec![Some(Candidate { start: at, end: at, text, expected: expected.clone() })]
    }

    /// Replaces an empty value with a first entry on a new line. A comment after the empty value stays on the line of the key.
    fn first_in_block(&self, place: Place, block: impl Fn(usize) -> String, expected: &Value) -> Option<Candidate> {
        let key = place.key?;
        let colon = self.colon(key)?;
        let source = self.source(place);
        let (mut start, rest) = match source.is_empty() {
            true => (colon, colon),
            false => (place.value.start, place.value.end),
        };
        let end = self.line_end(rest);
        let comment = self.text.get(rest..end)?.trim_end();
        if comment.is_empty() {
            // Also remove the blanks after the colon.
            start = colon;
        }
        let indent = key.column - 1 + 2;
        let text = format!("{}{}{}{}", comment.trim_start(), self.newline(), " ".repeat(indent), block(indent));
        let text = if start == colon && !comment.is_empty() { format!(" {text}") } else { text };
        Some(Candidate { start, end, text, expected: expected.clone() })
    }

    /// Puts a first entry between empty braces or brackets.
    fn first_in_flow(&self, place: Place, open: char, entry: &str, expected: &Value) -> Option<Candidate> {
        let close = if open == '{' { '}' } else { ']' };
        let (start, end) = match self.source(place) {
            "" => return None,
            source if source.starts_with(open) => (place.value.start, place.value.end),
            _ => return None,
        };
        Some(Candidate { start, end, text: format!("{open}{entry}{close}"), expected: expected.clone() })
    }

    fn remove(&self, parts: &[String]) -> Vec<Option<Candidate>> {
        let Some((key, above)) = parts.split_last() else { return Vec::new() };
        let Some(place) = self.own(parts) else { return Vec::new() };
        let mut expected = self.value.clone();
        let is_only = match expected.pointer_mut(&joined(above)) {
            Some(Value::Object(map)) => {
                map.shift_remove(key);
                map.is_empty()
            }
            Some(Value::Array(list)) => {
                key.parse().ok().filter(|at: &usize| *at < list.len()).map(|at| list.remove(at));
                list.is_empty()
            }
            _ => return Vec::new(),
        };
        let Some(start) = place.key.map(|key| key.start).or_else(|| self.element_start(place)) else {
            return Vec::new();
        };
        let end = self.end(place);
        let candidate =
            |start, end, text: &str| Some(Candidate { start, end, text: text.to_owned(), expected: expected.clone() });
        let mut candidates = Vec::new();
        if is_only {
            // This entry is the only one. Also remove its mapping or list, unless that is at the top level or a comment in
            // it would be lost.
            let parent = self.own(above).filter(|_| !above.is_empty());
            let between = parent.and_then(|parent| self.text.get(self.colon(parent.key?)?..start)).unwrap_or("#");
            if above.len() > 1 && (between.trim().is_empty() || between.trim() == "{") {
                candidates.extend(self.remove(above));
            }
            let empty = if place.key.is_some() { "{}" } else { "[]" };
            candidates.push(candidate(start, end, empty));
            candidates.extend(parent.map(|parent| candidate(parent.value.start, parent.value.end, empty)));
            return candidates;
        }
        let line = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let is_line = self.text[line..start].trim().is_empty();
        let rest = self.line_end(end);
        if is_line {
            let after = if self.text[rest..].is_empty() { rest } else { rest + self.newline().len() };
            // If the last line of the text has no line end, remove the line end of the line before it.
            let whole = if after == rest { (line.saturating_sub(self.newline().len()), rest) } else { (line, after) };
            candidates.push(candidate(whole.0, whole.1, ""));
        }
        // The value may share its line, as in `- id: a` or inside braces. Then remove the text up to the next entry, or from the
        // comma before the value.
        let next = self.text[end..].find(|c: char| !c.is_whitespace() && c != ',').map(|at| end + at);
        let next = next.filter(|next| !self.text[*next..].starts_with(['}', ']']));
        candidates.extend(next.map(|next| candidate(start, next, "")));
        let before = self.text[..start].trim_end();
        candidates.push(candidate(before.strip_suffix(',').map_or(start, str::len), end, ""));
        candidates
    }

    /// Returns where an element of a list starts: at its dash or, if the list is in brackets, at its value.
    fn element_start(&self, place: Place) -> Option<usize> {
        self.dash(place).or(Some(place.value.start))
    }

    /// Returns the position of the dash before an element.
    fn dash(&self, element: Place) -> Option<usize> {
        let before = self.text.get(..element.value.start)?.trim_end();
        before.ends_with('-').then(|| before.len() - 1)
    }

    /// Returns the position after the colon of a key.
    fn colon(&self, key: Span) -> Option<usize> {
        let rest = self.text.get(key.end..)?;
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        rest[blank..].starts_with(':').then_some(key.end + blank + 1)
    }

    /// Returns the end of a value, without the line ends after a block scalar. For a key without a value, this is the position
    /// after its colon.
    fn end(&self, place: Place) -> usize {
        match (self.source(place), place.key) {
            ("", Some(key)) => self.colon(key).unwrap_or(place.value.end),
            (source, _) => place.value.start + source.trim_end_matches(['\n', '\r', ' ']).len(),
        }
    }

    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    fn column(&self, at: usize) -> usize {
        let line = self.text[..at].rfind('\n').map_or(0, |line| line + 1);
        self.text[line..at].chars().count()
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }
}

/// Returns the ways to write a value on one line, best first. `before` is the old value: its quotes are kept if possible.
fn notations(value: &Value, before: &str) -> Vec<String> {
    let mut ways = vec![scalar(value, before), value.to_string()];
    let plain = value.as_str().filter(|text| block::is_plain_template(text) && !before.starts_with(['"', '\'']));
    if let Some(text) = plain {
        ways.insert(0, text.to_owned());
    }
    if let (Some(text), true) = (value.as_str(), before.starts_with('\'')) {
        ways.insert(0, format!("'{}'", text.replace('\'', "''")));
    }
    ways
}

fn flow_value(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => value.to_string(),
        scalar_value => scalar(scalar_value, ""),
    }
}

fn joined(parts: &[String]) -> String {
    parts.iter().fold(String::new(), |pointer, part| below(&pointer, part))
}

/// Returns the span of a byte range.
fn span(text: &str, start: usize, end: usize) -> Span {
    let place = |at: usize| {
        let line = text[..at].rfind('\n').map_or(0, |line| line + 1);
        (text[..at].matches('\n').count() + 1, text[line..at].chars().count() + 1)
    };
    let ((line, column), (end_line, end_column)) = (place(start), place(end));
    Span { start, end, line, column, end_line, end_column }
}
