//! Quotes untrusted texts and values on one line, so that they cannot imitate other output.
//!
//! Visible text is put in quotes. Hidden characters and runs of blanks become marks outside the quotes, such as
//! `"ok" <300 spaces> <U+202E right-to-left> "gnp.exe"`. Quotes in the text are escaped, so no text can fake a mark.

use serde_json::{Map, Value};

use crate::marks::{is_hidden, joins, untagged};
use crate::plural::count;
use crate::redact::redact;

/// Values with more characters than this are shown with their length.
const LONG: usize = 200;

/// Quotes a text.
pub fn text(text: &str) -> String {
    let mut pieces = Pieces::default();
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut before) = (0, ' ');
    while let Some(&c) = chars.get(at) {
        let run = |is_same: &dyn Fn(char) -> bool| chars[at..].iter().take_while(|c| is_same(**c)).count();
        let same = run(&|other| other == c);
        let mut taken = same;
        if untagged(c).is_some() {
            taken = run(&|other| untagged(other).is_some());
            let spelled: String = chars[at..at + taken].iter().filter_map(|c| untagged(*c)).collect();
            pieces.mark(format!("tags: {}", self::text(&spelled)));
        } else if joins(before, c, chars.get(at + 1).copied()) {
            taken = 1;
            pieces.plain.push(c);
        } else if let Some(name) = blank(c) {
            match same {
                1 => pieces.plain.push(c),
                _ => pieces.mark(count(same, name)),
            }
        } else if is_hidden(c) || c.is_whitespace() {
            pieces.mark(named_mark(c, same));
        } else {
            taken = 1;
            pieces.plain.push(c);
        }
        before = chars[at + taken - 1];
        at += taken;
    }
    pieces.end()
}

/// Quotes a value, with secrets redacted. Strings inside lists and objects are quoted like other texts.
pub fn value(value: &Value) -> String {
    match value {
        Value::String(text) => self::text(&redact(text)),
        Value::Array(values) => format!("[{}]", values.iter().map(self::value).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => format!("{{{}}}", members(fields)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn members(fields: &Map<String, Value>) -> String {
    let member = |(name, value): (&String, &Value)| format!("{}:{}", text(&redact(name)), self::value(value));
    fields.iter().map(member).collect::<Vec<_>>().join(",")
}

/// Formats a name and its quoted value. If the value is long or has hidden characters, adds its length and the number
/// of hidden characters.
pub fn named(name: &str, value: &Value) -> String {
    let characters = value.as_str().map_or_else(|| value.to_string().chars().count(), |text| text.chars().count());
    let hidden = hidden_in(value);
    let size = match (characters > LONG, hidden) {
        (false, 0) => String::new(),
        (_, 0) => format!(" ({})", count(characters, "character")),
        (_, hidden) => format!(" ({}, {hidden} hidden)", count(characters, "character")),
    };
    format!("{}{size} = {}", name_of(name), self::value(value))
}

/// Returns a name unchanged, or quoted if it could look like more than a name.
fn name_of(name: &str) -> String {
    let is_plain = |c: char| !is_hidden(c) && !c.is_whitespace() && !matches!(c, '"' | '=' | '<' | '(');
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => text(name),
    }
}

fn hidden_in(value: &Value) -> usize {
    match value {
        Value::String(text) => text.chars().filter(|c| is_hidden(*c) && blank(*c).is_none()).count(),
        Value::Array(values) => values.iter().map(hidden_in).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| hidden_in(&name.as_str().into()) + hidden_in(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the name of a blank character. A single blank stays inside the quotes; a run of them becomes a mark.
const fn blank(c: char) -> Option<&'static str> {
    Some(match c {
        ' ' => "space",
        '\n' => "line end",
        '\t' => "tab",
        '\r' => "carriage return",
        '\u{3000}' => "wide space",
        _ => return None,
    })
}

fn named_mark(c: char, times: usize) -> String {
    let name = match c {
        '\0' => " null",
        '\u{7}' => " bell",
        '\u{8}' => " backspace",
        '\u{1b}' => " escape",
        '\u{7f}' => " delete",
        '\u{a0}' => " no-break space",
        '\u{ad}' => " soft hyphen",
        '\u{200b}' | '\u{feff}' | '\u{2060}' => " zero width",
        '\u{200c}' | '\u{200d}' => " joiner",
        '\u{200e}' | '\u{202a}' | '\u{202d}' | '\u{2066}' => " left-to-right",
        '\u{200f}' | '\u{61c}' | '\u{202b}' | '\u{202e}' | '\u{2067}' => " right-to-left",
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}' => " filler",
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => " variation",
        c if c.is_control() => " control",
        _ => "",
    };
    let times = if times > 1 { format!(", {times} times") } else { String::new() };
    format!("U+{:04X}{name}{times}", u32::from(c))
}

/// The quoted parts and the marks of a text.
#[derive(Default)]
struct Pieces {
    done: Vec<String>,
    /// The visible text since the last mark.
    plain: String,
}

impl Pieces {
    fn mark(&mut self, mark: String) {
        self.quote();
        self.done.push(format!("<{mark}>"));
    }

    fn quote(&mut self) {
        if !self.plain.is_empty() {
            self.done.push(Value::String(std::mem::take(&mut self.plain)).to_string());
        }
    }

    fn end(mut self) -> String {
        self.quote();
        if self.done.is_empty() { "\"\"".to_owned() } else { self.done.join(" ") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_outside_the_quotes_and_cannot_be_faked() {
        for (plain, quoted) in [
            ("", r#""""#),
            ("a b\nc\t", r#""a b\nc\t""#),
            ("say \"hi\" \\", r#""say \"hi\" \\""#),
            ("a\" <300 spaces> \"b", r#""a\" <300 spaces> \"b""#),
            ("ok   \n\n\n", r#""ok" <3 spaces> <3 line ends>"#),
            ("\u{a0}\u{a0}x", r#"<U+00A0 no-break space, 2 times> "x""#),
            ("\u{202e}gnp\u{202c}\u{1b}[2J", r#"<U+202E right-to-left> "gnp" <U+202C> <U+001B escape> "[2J""#),
            ("x\u{e0048}\u{e0069}\u{e0022}", r#""x" <tags: "Hi\"">"#),
            ("日本\u{3000}語 ⚠\u{fe0f} 👩\u{200d}💻", "\"日本\u{3000}語 ⚠\u{fe0f} 👩\u{200d}💻\""),
            ("a\u{200d}\u{fe0f}", r#""a" <U+200D joiner> <U+FE0F variation>"#),
        ] {
            assert_eq!(text(plain), quoted);
        }
    }

    #[test]
    fn named_values_stay_on_one_line_and_long_ones_show_their_size() {
        assert_eq!(value(&json!({ "a": [1, null, "x  \""] })), r#"{"a":[1,null,"x" <2 spaces> "\""]}"#);
        assert_eq!(named("plan", &json!("small")), r#"plan = "small""#);
        assert_eq!(named("x = \"y", &json!(1)), r#""x = \"y" = 1"#);
        let note = format!("ok{}\u{202e}gnp.exe\u{202c}", " ".repeat(300));
        let shown = r#"note (311 characters, 2 hidden) = "ok" <300 spaces> <U+202E right-to-left> "gnp.exe" <U+202C>"#;
        assert_eq!(named("note", &json!(note)), shown);
        assert!(named("note", &json!("é".repeat(201))).starts_with("note (201 characters) = \"é"));
    }
}
