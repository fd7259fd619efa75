//! Fixes names: finds the name that was certainly meant, and writes it into the text.

use std::ops::Range;

use serde_json::{Value, json};

use super::book::Book;
use crate::finding::Fix;
use crate::yaml;

/// Returns the name that was certainly meant by a misspelt one. At most two characters of the misspelt name may be wrong, and at
/// most a third of all its characters. No other name may be as similar.
pub(super) fn meant<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let of = |name: &'a str| (strsim::damerau_levenshtein(&wanted, &name.to_lowercase()), name);
    let mut near: Vec<(usize, &str)> = names.into_iter().map(of).collect();
    near.sort_unstable();
    near.dedup();
    let (wrong, name) = *near.first()?;
    let is_certain = wrong <= 2 && wrong * 3 <= wanted.chars().count();
    (is_certain && near.get(1).is_none_or(|(other, _)| *other > wrong)).then_some(name)
}

impl Book<'_> {
    /// Returns the fix that replaces a byte range inside a scalar. `None` if the scalar's source differs from its value.
    pub(super) fn fix_inside(&self, pointer: &str, range: &Range<usize>, text: &str) -> Option<Fix> {
        Some(Fix { text: text.to_owned(), span: self.part(pointer, range)? })
    }

    /// Returns the fix that replaces a key.
    pub(super) fn fix_key(&self, pointer: &str, key: &str) -> Option<Fix> {
        let span = self.places().get(pointer)?.key?;
        Some(Fix { text: scalar(&key.into(), self.text().get(span.bytes())?), span })
    }

    /// Returns the fix that replaces a scalar. `None` if it spans several lines or is an alias.
    pub(super) fn fix_value(&self, pointer: &str, value: &Value) -> Option<Fix> {
        let place = self.places().get(pointer).filter(|place| place.defined_at.is_none())?;
        let span = Some(place.value).filter(|span| span.line == span.end_line)?;
        Some(Fix { text: scalar(value, self.text().get(span.bytes())?), span })
    }

    /// Returns the fix that replaces the first key of a path. `path` is the byte range of the path inside a scalar.
    pub(super) fn fix_first(&self, pointer: &str, path: &Range<usize>, old: &str, new: &str) -> Option<Fix> {
        let written = self.text().get(self.part(pointer, path)?.bytes())?;
        let start = path.start + usize::from(written.starts_with('.'));
        let is_first = written.trim_start_matches('.').starts_with(old);
        self.fix_inside(pointer, &(start..start + old.len()), new).filter(|_| is_first)
    }

    /// Returns the fix that replaces the last key of a path. `path` is the byte range of the path inside a scalar.
    pub(super) fn fix_last(&self, pointer: &str, path: &Range<usize>, old: &str, new: &str) -> Option<Fix> {
        let written = self.text().get(self.part(pointer, path)?.bytes())?;
        let is_last = written.strip_suffix(old).is_some_and(|before| before.is_empty() || before.ends_with('.'));
        let start = path.end.checked_sub(old.len()).filter(|_| is_last)?;
        self.fix_inside(pointer, &(start..path.end), new)
    }

    /// Returns the byte range of a whole scalar, as `fix_last` takes it.
    pub(super) fn whole(&self, pointer: &str) -> Option<Range<usize>> {
        self.places().get(pointer)?.exact.map(|span| 0..span.bytes().len())
    }
}

/// Writes a value on one line. A string gets no quotes if the text that it replaces, `before`, has none, and if YAML
/// needs none.
pub fn scalar(value: &Value, before: &str) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/');
    let is_plain = !text.ends_with(':') && text.chars().all(is_simple) && !before.starts_with(['"', '\'']);
    let read = yaml::read(text);
    match is_plain && read.findings.is_empty() && read.value.as_ref() == Some(value) {
        true => text.clone(),
        false => json!(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clearly_most_similar_name_is_suggested() {
        for (wanted, names, expected) in [
            ("regoin", &["region", "regions"][..], Some("region")),
            ("appp", &["app", "apps"], None),
            ("ap", &["app"], None),
            ("Nmae", &["name"], Some("name")),
            ("zone", &["region"], None),
            ("apps:lst", &["apps:list", "apps:old"], Some("apps:list")),
        ] {
            assert_eq!(meant(wanted, names.iter().copied()), expected, "{wanted}");
        }
        assert_eq!([scalar(&json!("apps:list"), "apps:lst"), scalar(&json!("no"), "na")], ["apps:list", "\"no\""]);
        assert_eq!(
            [scalar(&json!("a"), "\"b\""), scalar(&json!("a, b"), "c"), scalar(&json!(5), "6")],
            ["\"a\"", "\"a, b\"", "5"]
        );
    }
}
