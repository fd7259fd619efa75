//! Reads the front matter of a text line by line, to find where its values are.

use std::ops::Range;

/// Returns the keys of a text's front matter, with the ranges of their values. A further line of a value, such as an
/// element of a list, is returned separately with the same key.
pub(super) fn front_matter(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut values = Vec::new();
    let mut at = text.find('\n').map_or(text.len(), |end| end + 1);
    if text.trim_start_matches('\u{feff}').lines().next().map(str::trim_end) != Some("---") {
        return values;
    }
    let mut key = "";
    for line in text[at..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return values;
        }
        let end = at + line.trim_end().len();
        match line.split_once(':') {
            Some((name, _)) if !name.starts_with([' ', '\t', '-', '#']) => {
                key = name.trim_end();
                values.push((key, at + name.len() + 1..end.max(at + name.len() + 1)));
            }
            _ if !key.is_empty() => values.push((key, at..end.max(at))),
            _ => {}
        }
        at += line.len();
    }
    // Without a closing `---`, the text has no front matter.
    Vec::new()
}
