//! Records changes to agents' files in the audit trail (`events`), and in the user's data directory, so that each
//! change can be undone byte for byte.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::file::{FileText, Modes, make_folders};
use crate::servers::document::{Change, Document, Fault, Splice};
use mcpkg_base::disk;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;

/// Returns the folder for copies of agents' files and for records of changes. It is in the user's data directory, because the
/// files may contain secrets and the database may be in a repository. If the user has no home folder, it is next to the database.
pub fn folder(context: &Context) -> PathBuf {
    let usual = mcpkg_core::database::default_path();
    let database = usual.as_deref().unwrap_or_else(|| context.database());
    database.parent().unwrap_or(Path::new("/")).join("client-backups")
}

/// Appends an event to the audit trail. If this fails, the change to the agent's file is kept.
pub fn append_event(context: &Context, kind: &str, subject: &str) {
    let appended = context.store.write(|db| context.event(db, context.author(), None, kind, subject));
    if let Err(error) = appended {
        tracing::warn!(kind, subject, %error, "the event could not be recorded");
    }
}

/// A change to one entry of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub file: PathBuf,
    pub name: String,
    /// Whether the change created the file.
    pub created: bool,
    /// The folders that were created for the file.
    pub folders: Vec<PathBuf>,
    /// The edit of the text.
    pub splice: Splice,
    /// The SHA-256 of the text before the change.
    pub before: String,
    /// The SHA-256 of the text after the change.
    pub after: String,
    /// The entry before the change, if there was one.
    pub previous: Option<Value>,
    /// The entry that mcpkg wrote.
    pub entry: Value,
    /// Whether the change created the object that contains the servers.
    pub held: bool,
    /// The folder in which `mcpkg up` made the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_in: Option<PathBuf>,
}

impl Record {
    /// Returns the record of a change from `before` to `after`.
    ///
    /// # Errors
    /// A [`Fault`] if one of the texts is malformed.
    pub fn between(
        document: Document,
        file: &Path,
        name: &str,
        before: Option<&str>,
        after: &str,
    ) -> Result<Self, Fault> {
        let text = before.unwrap_or_default();
        let entries = document.entries(text)?;
        Ok(Self {
            file: file.to_owned(),
            name: name.to_owned(),
            created: before.is_none(),
            folders: Vec::new(),
            splice: Splice::between(text, after),
            before: hash(text),
            after: hash(after),
            previous: entries.get(name).cloned(),
            entry: document.entries(after)?.shift_remove(name).unwrap_or(Value::Null),
            held: !document.holds(text)?,
            made_in: None,
        })
    }

    /// Returns the file's text `current` without mcpkg's change, with the previous entry restored. `None` if mcpkg
    /// created the file and nothing else is in it.
    ///
    /// # Errors
    /// A [`Fault`] if the text is malformed, or cannot be edited without changing something else.
    pub fn undo(&self, document: Document, current: &str) -> Result<Option<String>, Fault> {
        let back = self.splice.reversed();
        if hash(current) == self.after {
            if self.created {
                return Ok(None);
            }
            if let Some(before) = back.apply(current).filter(|before| hash(before) == self.before) {
                return Ok(Some(before));
            }
        }
        let rest = document.rest(current, &self.name)?;
        let is_it = |text: &String| {
            let entry = document.entries(text).map(|mut entries| entries.shift_remove(&self.name));
            entry == Ok(self.previous.clone()) && document.rest(text, &self.name).as_ref() == Ok(&rest)
        };
        let text = match (back.apply_elsewhere(current).filter(is_it), &self.previous) {
            (Some(text), _) => text,
            (None, Some(Value::Object(previous))) => {
                let fields = previous.iter().map(|(field, value)| (field.clone(), value.clone())).collect();
                document.set(current, &self.name, &Change::whole(fields))?
            }
            (None, _) => document.remove(current, &self.name, self.held)?,
        };
        Ok((!(self.created && document.is_bare(&text))).then_some(text))
    }
}

fn hash(text: &str) -> String {
    sha256::hex(text.as_bytes())
}

/// The folder of records. Other mcpkg processes cannot write there while it is locked.
pub struct Records {
    folder: PathBuf,
    _lock: Option<File>,
}

impl Records {
    /// Opens the records for reading.
    pub fn look(context: &Context) -> Self {
        Self { folder: folder(context), _lock: None }
    }

    /// Opens the records for writing. Waits for the lock.
    pub fn hold(context: &Context) -> Result<Self> {
        let folder = folder(context);
        make_folders(&folder, Modes::PRIVATE)?;
        let path = folder.join(".lock");
        let locked = || {
            let lock = File::options().create(true).truncate(false).write(true).open(&path)?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = locked().map_err(|error| disk::failed("lock", &path, error))?;
        Ok(Self { folder, _lock: Some(lock) })
    }

    /// Returns the folder for copies of an agent's files.
    pub fn copies(&self, agent: &str) -> PathBuf {
        self.folder.join(agent)
    }

    fn path(&self, read: &FileText, name: &str) -> PathBuf {
        let key = format!("{}\n{name}", read.real.display());
        self.folder.join(format!("{}.json", &hash(&key)[..24]))
    }

    /// Returns the record of an entry. An unreadable record counts as missing.
    pub fn get(&self, read: &FileText, name: &str) -> Option<Record> {
        let text = mcpkg_base::file::read(&self.path(read, name), mcpkg_base::file::TEXT).ok()?;
        let record: Record = serde_json::from_slice(&text).ok()?;
        (record.file == read.real && record.name == name).then_some(record)
    }

    /// Saves the record of an entry, or deletes it for `None`.
    pub fn put(&self, read: &FileText, name: &str, record: Option<&Record>) -> Result<()> {
        let path = self.path(read, name);
        let Some(record) = record else { return disk::remove(&path) };
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| Error::internal(format!("a record is not valid JSON: {error}")))?;
        let temporary = self.folder.join(format!(".mcpkg-{}", mcpkg_base::clock::unique().simple()));
        disk::write_beside(&path, &temporary, &text, 0o600)?;
        disk::put_in_place(&path, &temporary, false)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents;
    use crate::agents::agent::Agent;
    use crate::client::fields;

    fn change() -> Change {
        Change {
            fields: vec![("command".to_owned(), json!("/m")), ("args".to_owned(), json!(["serve"]))],
            replaces: false,
            decided: fields::written_fields(),
        }
    }

    fn agent(name: &str) -> &'static Agent {
        agents::named(name).expect("an agent")
    }

    fn added(agent: &Agent, before: Option<&str>) -> (Document, Record, String) {
        let document = agent.document();
        let after = document.set(before.unwrap_or_default(), "mcpkg", &change()).expect("an edit");
        let record = Record::between(document, Path::new("/f"), "mcpkg", before, &after).expect("a record");
        (document, record, after)
    }

    #[test]
    fn undo_restores_an_unchanged_file_byte_for_byte() {
        for before in ["", "{}", "{ }\n", "{\r\n\t\"a\" : 1, // one\r\n}", "\u{feff}{\"mcpServers\":{}}"] {
            let (document, record, after) = added(agent("vscode"), Some(before));
            assert_eq!(record.undo(document, &after), Ok(Some(before.to_owned())), "{after}");
        }
        let (document, record, after) = added(agent("codex"), None);
        assert_eq!(record.undo(document, &after), Ok(None));
    }

    #[test]
    fn undo_keeps_later_changes_by_others() {
        let before = "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }\n  }\n}\n";
        let (document, record, after) = added(agent("cursor"), Some(before));
        let since = after.replace("\"x\"", "\"y\" /* new */");
        assert_eq!(record.undo(document, &since), Ok(Some(before.replace("\"x\"", "\"y\" /* new */"))));
        // Another program has appended an entry after mcpkg's.
        let other = Change { fields: vec![("command".to_owned(), json!("/o"))], replaces: false, ..change() };
        let since = document.set(&after, "other", &other).expect("an edit");
        let alone = document.set(before, "other", &other).expect("an edit");
        assert_eq!(record.undo(document, &since), Ok(Some(alone)));
    }

    #[test]
    fn undo_deletes_a_created_file_only_if_nothing_else_is_in_it() {
        let (document, record, after) = added(agent("claude-code"), None);
        assert_eq!(record.undo(document, &after.replace("  ", "\t")), Ok(None));
        let since = after.replacen('{', "{ \"theme\": \"dark\",", 1);
        let left = record.undo(document, &since).expect("an edit").expect("a file");
        assert_eq!(document.value(&left), Ok(json!({ "theme": "dark" })));
    }

    #[test]
    fn undo_restores_the_previous_entry_in_a_changed_file() {
        let before = "[mcp_servers.mcpkg] # mine\ncommand = 'npx'\n";
        let document = agent("codex").document();
        let replaces = Change { replaces: true, ..change() };
        let after = document.set(before, "mcpkg", &replaces).expect("an edit");
        let record = Record::between(document, Path::new("/f"), "mcpkg", Some(before), &after).expect("a record");
        assert_eq!(record.undo(document, &after), Ok(Some(before.to_owned())));
        let since = format!("model = 'x'\n{}", after.replace("[\"serve\"]", "[\"serve\", \"-v\"]"));
        let back = record.undo(document, &since).expect("an edit").expect("a file");
        assert_eq!(
            document.value(&back),
            Ok(json!({ "model": "x", "mcp_servers": { "mcpkg": { "command": "npx" } } }))
        );
    }
}
