//! The description, tags and licence of a tool in lists: untrusted text, cleaned to be safe to show.

use serde_json::Value;

/// The maximum length of a description in characters.
const LONGEST: usize = 1024;

/// The maximum number of tags of a tool, and the maximum length of a tag in characters.
const TAGS: usize = 32;
const TAG: usize = 64;

/// The facts about a tool that a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The description, as one line.
    pub description: String,
    pub tags: Vec<String>,
    pub license: Option<String>,
}

impl Facts {
    /// Reads the facts from a manifest or a registry's response; values of the wrong type are skipped.
    pub fn of(object: &Value) -> Self {
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(one_line);
        let license = text("license").filter(|license| !license.is_empty());
        Self { description: text("description").unwrap_or_default(), tags: tags(object.get("tags")), license }
    }
}

pub fn tags(array: Option<&Value>) -> Vec<String> {
    let texts = array.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(one_line);
    texts.filter(|tag| !tag.is_empty() && tag.chars().count() <= TAG).take(TAGS).collect()
}

/// Returns a text as one line without control characters, cut to the maximum length of a description.
pub fn one_line(text: &str) -> String {
    // Bidirectional control characters could make a line look like a different one.
    let is_odd = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let plain: String = text.chars().take(4 * LONGEST).map(|c| if is_odd(c) { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_strangers_text_is_one_line() {
        assert_eq!(one_line(" a\nb\u{1b}[31m\tc \u{202e}d\u{0}"), "a b [31m c d");
        assert_eq!(one_line(&"x".repeat(5000)).len(), 1024);
    }

    #[test]
    fn a_field_of_the_wrong_type_counts_as_missing() {
        let facts = Facts::of(&json!({ "description": 7, "tags": ["a", 1, "", "b\n"], "license": "" }));
        assert_eq!(facts, Facts { tags: vec!["a".to_owned(), "b".to_owned()], ..Facts::default() });
        assert_eq!(Facts::of(&json!(null)), Facts::default());
    }
}
