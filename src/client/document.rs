//! The text of an agent's file: edits touch the entry and nothing else, to the byte.

use serde_json::{Map, Value};

use super::agent::{Agent, Format};
use super::{json, toml};

const BOM: char = '\u{feff}';

/// What an entry shall be.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its fields.
    pub fields: Vec<(String, Value)>,
    /// Whether an entry that is there goes whole, else only the fields that mcpkg writes.
    pub replaces: bool,
}

/// The fields that mcpkg writes with any agent; what else stands in its entry is the user's.
const OURS: [&str; 11] = [
    "type",
    "command",
    "args",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "bearer_token_env_var",
    "env_http_headers",
    "cwd",
];

impl Change {
    /// The fields of ours that the entry shall not have.
    pub fn unwanted(&self) -> impl Iterator<Item = &'static str> {
        OURS.into_iter().filter(|name| !self.fields.iter().any(|(field, _)| field == name))
    }
}

/// Why a file cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line and the column, from 1, where they are known.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    /// Returns what is wrong with the whole.
    pub fn new(what: impl Into<String>) -> Self {
        Self { at: None, what: what.into() }
    }

    /// Returns what is wrong at a byte of a text.
    pub fn at(text: &str, byte: usize, what: impl Into<String>) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { at: Some((line, column)), what: what.into() }
    }
}

/// One edit: what stood at a byte, and what stands there now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Splice {
    /// Where it begins.
    pub at: usize,
    /// What goes.
    pub removed: String,
    /// What comes.
    pub inserted: String,
}

impl Splice {
    /// Finds what makes `after` of `before`.
    pub fn between(before: &str, after: &str) -> Self {
        let same = |(a, b): &(char, char)| a == b;
        let start: usize = before.chars().zip(after.chars()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        let (old, new) = (&before[start..], &after[start..]);
        let end: usize = old.chars().rev().zip(new.chars().rev()).take_while(same).map(|(c, _)| c.len_utf8()).sum();
        Self { at: start, removed: old[..old.len() - end].to_owned(), inserted: new[..new.len() - end].to_owned() }
    }

    /// Does it; `None` where the text is another one.
    pub fn apply(&self, before: &str) -> Option<String> {
        let rest = before.get(self.at..)?.strip_prefix(self.removed.as_str())?;
        Some([&before[..self.at], &self.inserted, rest].concat())
    }

    /// The edit that takes this one back.
    pub fn reversed(&self) -> Self {
        Self { at: self.at, removed: self.inserted.clone(), inserted: self.removed.clone() }
    }

    /// Does it where the removed text stands now, if that is one place only.
    pub fn apply_elsewhere(&self, text: &str) -> Option<String> {
        let mut found = text.match_indices(self.removed.as_str());
        match (found.next(), found.next()) {
            (Some((at, _)), None) if !self.removed.trim().is_empty() => Self { at, ..self.clone() }.apply(text),
            _ => None,
        }
    }
}

/// How an agent's file is read and edited.
#[derive(Clone, Copy, Debug)]
pub struct Document {
    format: Format,
    key: &'static str,
}

impl Document {
    /// Returns how an agent's file is read and edited.
    pub const fn of(agent: Agent) -> Self {
        Self { format: agent.format(), key: agent.key() }
    }

    /// Returns the whole document; null where it is blank.
    ///
    /// # Errors
    /// Where it is malformed.
    pub fn value(self, text: &str) -> Result<Value, Fault> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        match self.format {
            Format::Json { .. } => json::value(body),
            Format::Toml => toml::value(body),
        }
    }

    /// Returns the entries by name.
    ///
    /// # Errors
    /// Where it is malformed, or what holds the servers is no object.
    pub fn entries(self, text: &str) -> Result<Map<String, Value>, Fault> {
        match self.value(text)? {
            Value::Null => Ok(Map::new()),
            Value::Object(mut document) => match document.shift_remove(self.key) {
                None => Ok(Map::new()),
                Some(Value::Object(entries)) => Ok(entries),
                Some(_) => Err(Fault::new(format!("`{}` is no object", self.key))),
            },
            _ => Err(Fault::new("it is no object")),
        }
    }

    /// Whether what holds the servers is there.
    ///
    /// # Errors
    /// Where it is malformed.
    pub fn holds(self, text: &str) -> Result<bool, Fault> {
        Ok(self.value(text)?.get(self.key).is_some())
    }

    /// What the agent's own reader does not take, though it can be edited.
    pub fn unreadable(self, text: &str) -> Option<Fault> {
        match self.format {
            Format::Json { comments: false } => {
                let body = text.strip_prefix(BOM).unwrap_or(text);
                json::strictly(body).filter(|_| !body.trim().is_empty())
            }
            _ => None,
        }
    }

    /// Makes or changes an entry.
    ///
    /// # Errors
    /// Where it is malformed, or cannot be edited without changing something else.
    pub fn set(self, text: &str, name: &str, change: &Change) -> Result<String, Fault> {
        let after = self.edit(text, |body| match self.format {
            Format::Json { .. } => json::set(body, self.key, name, change),
            Format::Toml => toml::set(body, self.key, name, change),
        })?;
        let entry = self.entries(&after)?.shift_remove(name).unwrap_or(Value::Null);
        let wanted = change.fields.iter().all(|(field, value)| entry.get(field) == Some(value));
        if wanted && self.rest(text, name)? == self.rest(&after, name)? {
            return Ok(after);
        }
        Err(Fault::new("the entry cannot be written without changing something else"))
    }

    /// Takes an entry out; with `emptied`, what held it too where nothing else is left there.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn remove(self, text: &str, name: &str, emptied: bool) -> Result<String, Fault> {
        let after = self.edit(text, |body| match self.format {
            Format::Json { .. } => json::remove(body, self.key, name, emptied),
            Format::Toml => toml::remove(body, self.key, name, emptied),
        })?;
        if !self.entries(&after)?.contains_key(name) && self.rest(text, name)? == self.rest(&after, name)? {
            return Ok(after);
        }
        Err(Fault::new("the entry cannot be taken out without changing something else"))
    }

    /// Returns everything but an entry, and what holds it where that is empty without it.
    ///
    /// # Errors
    /// Where it is malformed.
    pub fn rest(self, text: &str, name: &str) -> Result<Value, Fault> {
        let mut value = self.value(text)?;
        if value.is_null() {
            value = Value::Object(Map::new());
        }
        if let Some(document) = value.as_object_mut()
            && let Some(entries) = document.get_mut(self.key).and_then(Value::as_object_mut)
        {
            entries.shift_remove(name);
            if entries.is_empty() {
                document.shift_remove(self.key);
            }
        }
        Ok(value)
    }

    /// Returns an entry as it stands in a file of its own, to be put in by hand.
    pub fn snippet(self, name: &str, fields: Vec<(String, Value)>) -> String {
        self.set("", name, &Change { fields, replaces: true }).unwrap_or_default()
    }

    /// Whether nothing is left in it, not even a comment.
    pub fn is_bare(self, text: &str) -> bool {
        let dense: String = text.trim_start_matches(BOM).chars().filter(|c| !c.is_whitespace()).collect();
        ["", "{}", &format!("{{\"{}\":{{}}}}", self.key), &format!("[{}]", self.key)].contains(&dense.as_str())
    }

    /// Edits the text with plain line ends and without a mark, and does the same to the text as it is.
    fn edit(self, text: &str, edit: impl FnOnce(&str) -> Result<String, Fault>) -> Result<String, Fault> {
        let body = text.strip_prefix(BOM).unwrap_or(text);
        let crlf = body.matches("\r\n").count();
        let plain = body.replace("\r\n", "\n");
        let unended = self.format == Format::Toml && !plain.is_empty() && !plain.ends_with('\n');
        let edited = edit(&if unended { format!("{plain}\n") } else { plain.clone() })?;
        let splice = Splice::between(&plain, &edited);
        let crlf_rules = crlf * 2 > plain.matches('\n').count();
        let inserted = if crlf_rules { splice.inserted.replace('\n', "\r\n") } else { splice.inserted.clone() };
        let (start, end) = (marked(body, splice.at), marked(body, splice.at + splice.removed.len()));
        let mark = &text[..text.len() - body.len()];
        Ok([mark, &body[..start], &inserted, &body[end..]].concat())
    }
}

/// Returns where a byte of the text with plain line ends stands in the text as it is.
fn marked(body: &str, plain: usize) -> usize {
    let bytes = body.as_bytes();
    let mut at = 0;
    for _ in 0..plain {
        at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    at
}

#[cfg(test)]
mod tests;
