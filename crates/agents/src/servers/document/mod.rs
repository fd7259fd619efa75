//! Edits an agent's file so that only the bytes of the edited entry, list item or keys change.

mod change;
mod fault;
mod json;
mod splice;
mod toml;

use std::ops::Range;

use serde_json::{Map, Value};

pub use change::Change;
pub use fault::Fault;
pub use splice::Splice;

const BOM: char = '\u{feff}';

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, with comments and trailing commas if the agent reads them.
    Json {
        /// Whether the agent accepts comments and trailing commas.
        comments: bool,
    },
    Toml,
}

/// Reads and edits the files of an agent, which contain entries below one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    format: Format,
    key: &'static str,
}

impl Document {
    /// Returns an editor for files of this format, with the entries below `key`.
    pub const fn new(format: Format, key: &'static str) -> Self {
        Self { format, key }
    }

    /// Returns the key that contains the entries.
    pub const fn key(self) -> &'static str {
        self.key
    }

    /// Returns the whole document; null if the text is blank.
    ///
    /// # Errors
    /// A fault if the text is malformed.
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
    /// A fault if the text is malformed, or if the document or the value that should contain the entries is not an
    /// object.
    pub fn entries(self, text: &str) -> Result<Map<String, Value>, Fault> {
        match self.value(text)? {
            Value::Null => Ok(Map::new()),
            Value::Object(mut document) => match document.shift_remove(self.key) {
                None => Ok(Map::new()),
                Some(Value::Object(entries)) => Ok(entries),
                Some(_) => Err(Fault::new(format!("`{}` is not an object", self.key))),
            },
            _ => Err(Fault::new("it is not an object")),
        }
    }

    /// Finds the entries in each item of a top-level JSON list, such as the plugins of a marketplace. Returns the
    /// `name` of each item, and the place of its entries in the text.
    pub fn in_list(self, text: &str, list: &str) -> Vec<(String, Range<usize>)> {
        json::in_list(text, list, self.key)
    }

    /// Returns whether the object that contains the servers exists.
    ///
    /// # Errors
    /// A fault if the text is malformed.
    pub fn holds(self, text: &str) -> Result<bool, Fault> {
        Ok(self.value(text)?.get(self.key).is_some())
    }

    /// Returns the first error that the agent's own parser would report, although mcpkg can edit the file.
    pub fn unreadable(self, text: &str) -> Option<Fault> {
        match self.format {
            Format::Json { comments: false } => {
                let body = text.strip_prefix(BOM).unwrap_or(text);
                json::strictly(body).filter(|_| !body.trim().is_empty())
            }
            _ => None,
        }
    }

    /// Creates or changes an entry.
    ///
    /// # Errors
    /// A fault if the text is malformed, or cannot be edited without changing something else.
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

    /// Removes an entry. With `emptied`, also removes the object that contained it if that is empty afterwards.
    pub fn remove(self, text: &str, name: &str, emptied: bool) -> Result<String, Fault> {
        let after = self.edit(text, |body| match self.format {
            Format::Json { .. } => json::remove(body, self.key, name, emptied),
            Format::Toml => toml::remove(body, self.key, name, emptied),
        })?;
        if !self.entries(&after)?.contains_key(name) && self.rest(text, name)? == self.rest(&after, name)? {
            return Ok(after);
        }
        Err(Fault::new("the entry cannot be removed without changing something else"))
    }

    /// Removes all top-level keys except these.
    ///
    /// # Errors
    /// A fault if the text is malformed, or cannot be edited without changing something else.
    pub fn retain(self, text: &str, keys: &[&str]) -> Result<String, Fault> {
        let extra = match self.value(text)? {
            Value::Object(document) => document.keys().any(|key| !keys.contains(&key.as_str())),
            _ => false,
        };
        if !extra {
            return Ok(text.to_owned());
        }
        self.edit(text, |body| match self.format {
            Format::Json { .. } => json::retain(body, keys),
            Format::Toml => toml::retain(body, keys),
        })
    }

    /// Returns the items of a top-level list by their `id`.
    ///
    /// # Errors
    /// A fault if the text is malformed.
    pub fn listed(self, text: &str, list: &str) -> Result<Map<String, Value>, Fault> {
        let document = self.value(text)?;
        let items = document.get(list).and_then(Value::as_array).into_iter().flatten();
        Ok(items.filter_map(|item| Some((item.get("id")?.as_str()?.to_owned(), item.clone()))).collect())
    }

    /// Adds an item to a top-level list. Replaces the item with the same `id`, if there is one.
    ///
    /// # Errors
    /// A fault if the text is malformed or not JSON, if `list` is not a list, or if the key `list` occurs twice.
    pub fn put_listed(self, text: &str, list: &str, item: &Value) -> Result<String, Fault> {
        self.edit(text, |body| match self.format {
            Format::Json { .. } => json::put_listed(body, list, item),
            Format::Toml => Err(Fault::new(format!("`{list}` is supported in JSON only"))),
        })
    }

    /// Removes the item with this `id` from a top-level list, and the list if it is empty afterwards.
    ///
    /// # Errors
    /// A fault if the text is malformed or not JSON, or if the key `list` occurs twice.
    pub fn take_listed(self, text: &str, list: &str, id: &str) -> Result<String, Fault> {
        self.edit(text, |body| match self.format {
            Format::Json { .. } => json::take_listed(body, list, id),
            Format::Toml => Err(Fault::new(format!("`{list}` is supported in JSON only"))),
        })
    }

    /// Returns the document without an entry. If the object that contained the entry is then empty, it is dropped too.
    ///
    /// # Errors
    /// A fault if the text is malformed.
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

    /// Returns a file with only this entry, for people who add the entry by hand.
    pub fn snippet(self, name: &str, fields: Vec<(String, Value)>) -> String {
        self.set("", name, &Change::whole(fields)).unwrap_or_default()
    }

    /// Returns whether the text contains no entries, settings or comments.
    pub fn is_bare(self, text: &str) -> bool {
        let dense: String = text.trim_start_matches(BOM).chars().filter(|c| !c.is_whitespace()).collect();
        ["", "{}", &format!("{{\"{}\":{{}}}}", self.key), &format!("[{}]", self.key)].contains(&dense.as_str())
    }

    /// Edits a copy of the text with LF line ends and without a byte order mark, and applies the same edit to the original text.
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

/// Converts an offset in the text with LF line ends to one in the original text.
fn marked(body: &str, plain: usize) -> usize {
    let bytes = body.as_bytes();
    let mut at = 0;
    for _ in 0..plain {
        at += if bytes[at..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    at
}
