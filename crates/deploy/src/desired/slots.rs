//! Reads and edits mcpkg's entries in an agent's configuration file, and for VS Code also the inputs that the entries
//! use.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::document::{Change, Fault};
use mcpkg_agents::servers::intake::INPUTS;

/// The entries and inputs of a file, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slots {
    pub entries: Map<String, Value>,
    /// The inputs: questions that VS Code asks the user to get values, by id.
    #[serde(default)]
    pub inputs: Map<String, Value>,
}

impl Slots {
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// Reads the slots of a file. A malformed file has no slots.
    pub fn of(dialect: &Dialect, text: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(text) else { return Self::default() };
        let entries = dialect.document.entries(text).unwrap_or_default();
        let inputs = dialect.document.listed(text, INPUTS).unwrap_or_default();
        Self { entries, inputs }
    }

    /// Returns the slots that differ from `before`, with their new values.
    pub fn changed_from(&self, before: &Self) -> Vec<(Slot, Option<Value>)> {
        let one = |kind: fn(String) -> Slot, now: &Map<String, Value>, before: &Map<String, Value>| {
            let names = now.keys().chain(before.keys().filter(|name| !now.contains_key(*name)));
            let changed = names.filter(|name| now.get(*name) != before.get(*name));
            changed.map(|name| (kind(name.clone()), now.get(name).cloned())).collect::<Vec<_>>()
        };
        let entries = one(Slot::Entry, &self.entries, &before.entries);
        [entries, one(Slot::Input, &self.inputs, &before.inputs)].concat()
    }

    pub fn get(&self, slot: &Slot) -> Option<&Value> {
        match slot {
            Slot::Entry(name) => self.entries.get(name),
            Slot::Input(id) => self.inputs.get(id),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Value)> {
        let entries = self.entries.iter().map(|(name, value)| (Slot::Entry(name.clone()), value));
        entries.chain(self.inputs.iter().map(|(id, value)| (Slot::Input(id.clone()), value)))
    }
}

/// The place of one entry or input in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// An entry, by its name.
    Entry(String),
    /// An input, by its id.
    Input(String),
}

impl Slot {
    /// Returns the file with this value in the slot, or without the slot if there is no value. With `emptied`, also
    /// removes the container of the entries if nothing else is left in it.
    ///
    /// # Errors
    /// The reason if the file cannot be edited without changing something else.
    pub fn put(&self, dialect: &Dialect, text: &str, value: Option<&Value>, emptied: bool) -> Result<String, Fault> {
        let document = dialect.document;
        match (self, value) {
            (Slot::Entry(name), Some(Value::Object(fields))) => {
                let fields: Vec<_> = fields.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                let decided = Slots::of(dialect, text.as_bytes());
                let decided = decided.entries.get(name).and_then(Value::as_object);
                let decided = decided.map(|entry| entry.keys().cloned().collect()).unwrap_or_default();
                document.set(text, name, &Change { fields, replaces: false, decided })
            }
            (Slot::Entry(name), _) => document.remove(text, name, emptied),
            (Slot::Input(_), Some(value)) => document.put_listed(text, INPUTS, value),
            (Slot::Input(id), None) => document.take_listed(text, INPUTS, id),
        }
    }
}
