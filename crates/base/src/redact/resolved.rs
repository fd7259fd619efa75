//! Hides secrets with known values, in every encoding that they may appear in.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::sync::{PoisonError, RwLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use zeroize::Zeroizing;

/// The mark that replaces a secret.
pub const HIDDEN: &str = "***";

/// The minimum length of a value that is searched for. Shorter ones occur in ordinary words.
pub const SHORTEST: usize = 4;

/// The most values that are kept. Beyond that, the oldest are forgotten.
const MOST: usize = 1_000;

/// The characters that are percent-encoded in URLs.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The secrets that this process has read.
static RESOLVED: RwLock<Secrets> = RwLock::new(Secrets::new());

/// A set of secret values to search for.
#[derive(Default)]
pub struct Secrets {
    values: VecDeque<Zeroizing<String>>,
    /// All encodings of the values, longest first, so that a longer form is replaced before a shorter one inside it.
    forms: Vec<Zeroizing<String>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

impl Secrets {
    pub const fn new() -> Self {
        Self { values: VecDeque::new(), forms: Vec::new() }
    }

    /// Adds a value, unless it is shorter than four bytes.
    pub fn learn(&mut self, value: &str) {
        if value.len() < SHORTEST || self.knows(value) {
            return;
        }
        if self.values.len() >= MOST {
            self.values.pop_front();
            self.forms = self.values.iter().flat_map(|value| forms(value)).collect();
        }
        self.values.push_back(Zeroizing::new(value.to_owned()));
        self.forms.extend(forms(value));
        self.sort();
    }

    /// Returns the values plus each of their lines, for output that is redacted line by line. Lines shorter than four
    /// bytes are skipped.
    pub fn by_line(&self) -> Self {
        let whole = self.values.iter().map(|value| value.as_str());
        let lines = self.values.iter().flat_map(|value| value.lines()).map(str::trim);
        let mut seen = HashSet::new();
        let values = whole.chain(lines).filter(|value| value.len() >= SHORTEST && seen.insert(*value)).take(MOST);
        let values: VecDeque<_> = values.map(|value| Zeroizing::new(value.to_owned())).collect();
        let mut all = Self { forms: values.iter().flat_map(|value| forms(value)).collect(), values };
        all.sort();
        all
    }

    fn sort(&mut self) {
        self.forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.forms.dedup();
    }

    fn knows(&self, value: &str) -> bool {
        self.values.iter().any(|known| known.as_str() == value)
    }

    /// Hides the values in a text: plain, escaped as in JSON, percent-encoded or in base64.
    pub fn hidden_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.forms.iter().fold(Cow::Borrowed(text), |text, form| match text.contains(form.as_str()) {
            true => Cow::Owned(text.replace(form.as_str(), HIDDEN)),
            false => text,
        })
    }

    /// Whether bytes contain one of the values in any form.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.forms.iter().any(|form| memchr::memmem::find(bytes, form.as_bytes()).is_some())
    }

    /// Hides the values in the beginning and end of a text with a missing middle. Also hides possible parts of a value
    /// at the cut.
    pub fn hidden_at_cut(&self, head: &str, tail: &str) -> (String, String) {
        let (mut head, mut tail) = (self.hidden_in(head).into_owned(), self.hidden_in(tail).into_owned());
        let begun = self.forms.iter().filter_map(|form| cuts(form).rev().find(|at| head.ends_with(&form[..*at])));
        if let Some(size) = begun.max() {
            head.truncate(head.len() - size);
            head.push_str(HIDDEN);
        }
        let ended = self.forms.iter().filter_map(|form| {
            let at = cuts(form).find(|at| tail.starts_with(&form[*at..]))?;
            Some(form.len() - at)
        });
        if let Some(size) = ended.max() {
            tail.replace_range(..size, HIDDEN);
        }
        (head, tail)
    }

    /// Returns the start of a multi-line value that may continue after the text.
    fn open_in(&self, text: &str) -> Option<usize> {
        let lines = |form: &str| form.match_indices('\n').map(|(end, _)| end + 1).collect::<Vec<_>>();
        let begun = self.forms.iter().filter_map(|form| {
            lines(form).into_iter().rev().find(|at| *at < form.len() && text.ends_with(&form[..*at]))
        });
        begun.max().map(|size| text.len() - size)
    }

    /// Hides the values in all strings and field names of `value`.
    pub fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hidden_in(text) {
                    *text = hidden;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in(value)),
            Value::Object(fields) => {
                for (name, mut value) in std::mem::take(fields) {
                    self.hide_in(&mut value);
                    fields.insert(self.hidden_in(&name).into_owned(), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the positions at which a form may be cut, between its characters.
fn cuts(form: &str) -> impl DoubleEndedIterator<Item = usize> {
    (1..form.len()).filter(|at| form.is_char_boundary(*at))
}

/// Returns all encodings of a value.
fn forms(value: &str) -> Vec<Zeroizing<String>> {
    let json = serde_json::Value::from(value).to_string();
    let json = json.trim_start_matches('"').strip_suffix('"').unwrap_or(&json).to_owned();
    let ascii: String = json.chars().map(ascii).collect();
    let percent = utf8_percent_encode(value, RESERVED).to_string();
    let mut forms = vec![
        value.to_owned(),
        json.replace('/', "\\/"),
        ascii.replace('/', "\\/"),
        json,
        ascii,
        utf8_percent_encode(value, NON_ALPHANUMERIC).to_string(),
        percent.replace("%20", "+"),
        percent,
    ];
    forms.extend([STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|base64| base64.encode(value)));
    forms.into_iter().map(Zeroizing::new).collect()
}

/// Returns a character as JSON escapes it in ASCII.
fn ascii(c: char) -> String {
    if c.is_ascii() {
        return c.to_string();
    }
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Makes [`super::redact`] hide a value from now on. This must be called for every secret that is read.
pub fn learn(value: &str) {
    if RESOLVED.read().unwrap_or_else(PoisonError::into_inner).knows(value) {
        return;
    }
    RESOLVED.write().unwrap_or_else(PoisonError::into_inner).learn(value);
}

/// Like [`Secrets::hidden_at_cut`], for the secrets that this process has read.
pub(super) fn hidden_at_cut(head: &str, tail: &str) -> (String, String) {
    RESOLVED.read().unwrap_or_else(PoisonError::into_inner).hidden_at_cut(head, tail)
}

/// Returns the start of a multi-line secret that may continue after the text.
pub(super) fn open_in(text: &str) -> Option<usize> {
    RESOLVED.read().unwrap_or_else(PoisonError::into_inner).open_in(text)
}

/// Hides the secrets that this process has read.
pub(super) fn hidden_in(text: &str) -> Cow<'_, str> {
    RESOLVED.read().unwrap_or_else(PoisonError::into_inner).hidden_in(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_each_form_and_nothing_else_is_touched() {
        let mut secrets = Secrets::new();
        secrets.learn("s3cr3t/ä \"x\"");
        for form in [
            "s3cr3t/ä \"x\"",
            "s3cr3t/ä \\\"x\\\"",
            "s3cr3t\\/ä \\\"x\\\"",
            "s3cr3t/\\u00e4 \\\"x\\\"",
            "s3cr3t%2F%C3%A4%20%22x%22",
            "s3cr3t%2F%C3%A4+%22x%22",
            &STANDARD.encode("s3cr3t/ä \"x\""),
            &URL_SAFE_NO_PAD.encode("s3cr3t/ä \"x\""),
        ] {
            assert_eq!(secrets.hidden_in(&format!("<{form}>")), "<***>");
        }
        assert!(matches!(secrets.hidden_in("s3cr3t"), Cow::Borrowed("s3cr3t")));
        secrets.learn("eu");
        assert_eq!(secrets.hidden_in("eu"), "eu");
        assert_eq!(format!("{secrets:?}"), "Secrets(1)");
    }

    #[test]
    fn a_secret_that_contains_another_is_hidden_whole() {
        let mut secrets = Secrets::new();
        secrets.learn("hunter");
        secrets.learn("hunter22");
        assert_eq!(secrets.hidden_in("hunter22 hunter"), "*** ***");
    }

    #[test]
    fn nothing_of_a_value_is_left_at_a_cut() {
        let mut secrets = Secrets::new();
        secrets.learn("hunter2222/ä");
        secrets.learn("abab");
        let whole = "hunter2222/ä";
        for at in (1..whole.len()).filter(|at| whole.is_char_boundary(*at)) {
            let (head, tail) = (format!("<{}", &whole[..at]), format!("{}>", &whole[at..]));
            assert_eq!(secrets.hidden_at_cut(&head, "<>"), ("<***".to_owned(), "<>".to_owned()));
            assert_eq!(secrets.hidden_at_cut("<>", &tail), ("<>".to_owned(), "***>".to_owned()));
        }
        // A complete value does not count as the beginning of another one.
        assert_eq!(secrets.hidden_at_cut("<abab", "abab>"), ("<***".to_owned(), "***>".to_owned()));
        assert_eq!(secrets.hidden_at_cut("<ababab", "bab>"), ("<******".to_owned(), "***>".to_owned()));
        assert_eq!(secrets.hidden_at_cut("plain", "text"), ("plain".to_owned(), "text".to_owned()));
    }

    #[test]
    fn a_value_is_hidden_in_every_string_of_json() {
        let mut secrets = Secrets::new();
        secrets.learn("pa\"ss-word");
        let mut value = serde_json::json!({ "a": ["is pa\"ss-word", 1, null], "pa\"ss-word": { "b": "pa\"ss-word" } });
        secrets.hide_in(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["is ***", 1, null], "***": { "b": "***" } }));
    }

    #[test]
    fn a_value_of_several_lines_is_found_line_by_line() {
        let mut secrets = Secrets::new();
        secrets.learn("-----BEGIN KEY-----\nMIIEvQIBADAN\n  +abc/def\n==\n");
        let secrets = secrets.by_line();
        assert_eq!(secrets.hidden_in("got MIIEvQIBADAN and +abc/def =="), "got *** and *** ==");
        assert_eq!(secrets.hidden_in("-----BEGIN KEY-----\nMIIEvQIBADAN\n  +abc/def\n==\n"), "***");
    }

    #[test]
    fn the_oldest_of_too_many_secrets_is_forgotten() {
        let mut secrets = Secrets::new();
        for n in 0..=MOST {
            secrets.learn(&format!("value-{n}-x"));
        }
        assert_eq!(secrets.hidden_in("value-0-x"), "value-0-x");
        assert_eq!((secrets.hidden_in("value-1-x"), secrets.hidden_in("value-1000-x")), ("***".into(), "***".into()));
    }

    #[test]
    fn redact_hides_resolved_secrets() {
        learn("r3s0lved-in-this-process");
        assert_eq!(super::super::redact("at https://u:p@h/?k=r3s0lved-in-this-process"), "at https://***@h/?k=***");
    }
}
