//! Imports a file of MCP servers. In the result, references replace the secrets.

use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::document::{Change, Fault};
use super::read::Read;
use super::secrets::{Secrets, is_personal};
use mcpkg_base::redact::holds_token;

/// An imported file of MCP servers.
#[derive(Debug, Default)]
pub struct Intake {
    /// The servers, by the names of their entries.
    pub servers: Vec<(String, Read)>,
    /// The text with the imported entries. It is unchanged if nothing had to be removed or replaced.
    pub text: String,
    /// Notes for people, one per line.
    pub notes: Vec<String>,
}

/// The key of the questions that VS Code asks its user.
pub const INPUTS: &str = "inputs";

impl Dialect {
    /// Imports a file.
    ///
    /// # Errors
    /// A fault if the text is malformed.
    pub fn take_in(&self, text: &str, secrets: &mut Secrets) -> Result<Intake, Fault> {
        let document = self.document;
        let value = document.value(text)?;
        let inputs = match value.get(INPUTS) {
            Some(Value::Array(inputs)) if self.expansion.has_inputs() => inputs.clone(),
            _ => Vec::new(),
        };
        let mut taken = Intake::default();
        let is_personal = |keys: &[&str], value: &Value| {
            let settings = value.as_object().into_iter().flatten();
            settings.filter(|(key, _)| !keys.contains(&key.as_str())).any(|(key, value)| is_personal(key, value))
        };
        let mut kept = match self.keeps {
            // If the agent reads no file in projects, the file is the user's own.
            Some(keys) if self.project.is_none() || is_personal(keys, &value) => document.retain(text, keys)?,
            _ => text.to_owned(),
        };
        if kept != text {
            taken.notes.push(
                "contains settings other than MCP servers and hooks, which may be secret or personal; these settings were \
                 not imported"
                    .to_owned(),
            );
        }
        let mut texts = Vec::new();
        for (name, entry) in document.entries(text)? {
            let mut read = match self.read(&entry, &inputs) {
                Ok(read) => read,
                Err(why) => {
                    taken.notes.push(format!("'{name}' {why}, so it is not a valid server"));
                    kept = document.remove(&kept, &name, false)?;
                    continue;
                }
            };
            let before = read.clone();
            let out = secrets.take_out(&name, &mut read.definition);
            taken.notes.extend(out.notes);
            texts.extend(out.texts);
            if read != before {
                kept = match self.rewritten(&entry, &read) {
                    Some(fields) => {
                        let decided =
                            entry.as_object().map(|entry| entry.keys().cloned().collect()).unwrap_or_default();
                        document.set(&kept, &name, &Change { fields, replaces: false, decided })?
                    }
                    None => {
                        taken.notes.push(format!(
                            "'{name}' now refers to variables in a way that the agent's file cannot express"
                        ));
                        document.remove(&kept, &name, false)?
                    }
                };
            }
            taken.servers.push((name, read));
        }
        let stands_elsewhere = |text: &String| text.len() > 3 && kept.contains(text.as_str());
        let is_touched = !texts.is_empty() || kept != text;
        if texts.iter().any(stands_elsewhere) || (is_touched && holds_token(&kept)) || holds_token_outside(&kept) {
            kept = self.again(&taken.servers)?;
            taken.notes.push("may contain a secret outside of its servers, so only the servers were stored".to_owned());
        }
        taken.text = kept;
        Ok(taken)
    }

    /// Returns an entry's fields, in their original order, with the server's new values. `None` if the agent's format
    /// cannot express the new values.
    fn rewritten(&self, entry: &Value, read: &Read) -> Option<Vec<(String, Value)>> {
        let written: Map<String, Value> = self.write(&read.definition, true).ok()?.fields.into_iter().collect();
        let entry = entry.as_object()?;
        let is_kept = |key: &str| key == "type" || self.switch.is_some_and(|(switch, _)| switch == key);
        let old = entry.iter().filter_map(|(key, value)| match written.get(key) {
            _ if is_kept(key) => Some((key.clone(), value.clone())),
            Some(value) => Some((key.clone(), value.clone())),
            None => None,
        });
        let new = written.iter().filter(|(key, _)| !entry.contains_key(*key) && *key != "type");
        let fields: Vec<_> = old.chain(new.map(|(key, value)| (key.clone(), value.clone()))).collect();
        let again = Value::Object(fields.iter().cloned().collect());
        (self.read(&again, &read.definition.inputs).as_ref() == Ok(read)).then_some(fields)
    }

    /// Returns a text with only these servers.
    fn again(&self, servers: &[(String, Read)]) -> Result<String, Fault> {
        let mut text = String::new();
        for (name, read) in servers {
            if let Some(entry) = self.entry(&read.definition, read.enabled) {
                text = self.document.set(&text, name, &Change::whole(entry))?;
            }
            for input in &read.definition.inputs {
                text = self.document.put_listed(&text, INPUTS, input)?;
            }
        }
        Ok(text)
    }

    /// Returns the fields of the entry for a server. If the server is disabled, they include the switch. `None` if the
    /// agent's format cannot express the server.
    pub fn entry(&self, definition: &mcpkg_store::servers::Definition, enabled: bool) -> Option<Vec<(String, Value)>> {
        let mut fields = self.write(definition, true).ok()?.fields;
        if let Some((key, on)) = self.switch.filter(|_| !enabled) {
            fields.push((key.to_owned(), (!on).into()));
        }
        Some(fields)
    }
}

/// Returns whether a line that begins with a comment contains text that looks like a token.
fn holds_token_outside(text: &str) -> bool {
    text.lines().any(|line| {
        let comment = line.trim_start();
        (comment.starts_with("//") || comment.starts_with('#') || comment.starts_with("/*")) && holds_token(comment)
    })
}
