//! What was done to an agent's file, kept beside the database so that it can be taken back to the byte.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::document::{Change, Document, Fault, Splice};
use super::file::{Modes, Read, make_folders};
use crate::disk;
use crate::error::{Error, Result};
use crate::op::Context;

/// The folder beside the database that holds copies of agents' files and what was done to them.
pub fn folder(context: &Context) -> PathBuf {
    context.store.path().parent().unwrap_or(Path::new("/")).join("client-backups")
}

/// What was done to one entry of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The file.
    pub file: PathBuf,
    /// The entry's name.
    pub name: String,
    /// Whether there was no file before.
    pub created: bool,
    /// The folders that were made for it.
    pub folders: Vec<PathBuf>,
    /// What was done to the text.
    pub splice: Splice,
    /// The SHA-256 of the text before.
    pub before: String,
    /// The SHA-256 of the text after.
    pub after: String,
    /// The entry that stood there before.
    pub previous: Option<Value>,
    /// The entry that was written.
    pub entry: Value,
    /// Whether what holds the servers was made for it.
    pub held: bool,
}

impl Record {
    /// Returns what makes `after` of `before`.
    ///
    /// # Errors
    /// Where one of them is malformed.
    pub fn between(
        document: Document,
        read: &Read,
        name: &str,
        before: Option<&str>,
        after: &str,
    ) -> Result<Self, Fault> {
        let text = before.unwrap_or_default();
        let entries = document.entries(text)?;
        Ok(Self {
            file: read.real.clone(),
            name: name.to_owned(),
            created: before.is_none(),
            folders: Vec::new(),
            splice: Splice::between(text, after),
            before: hash(text),
            after: hash(after),
            previous: entries.get(name).cloned(),
            entry: document.entries(after)?.shift_remove(name).unwrap_or(Value::Null),
            held: !document.holds(text)?,
        })
    }

    /// Returns the text that `current` would be, had the entry not been written; `None` for no file.
    ///
    /// # Errors
    /// Where it is malformed, or cannot be edited without changing something else.
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
                document.set(current, &self.name, &Change { fields, replaces: true })?
            }
            (None, _) => document.remove(current, &self.name, self.held)?,
        };
        Ok((!(self.created && document.is_bare(&text))).then_some(text))
    }
}

fn hash(text: &str) -> String {
    disk::hex(&disk::sha256(text.as_bytes()))
}

/// The records of a database, held against every other mcpkg while one is written.
pub struct Records {
    folder: PathBuf,
    _lock: Option<File>,
}

impl Records {
    /// Returns the records to look at.
    pub fn look(context: &Context) -> Self {
        Self { folder: folder(context), _lock: None }
    }

    /// Returns the records to change.
    ///
    /// # Errors
    /// How the disk failed.
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

    /// The folder for copies of an agent's files.
    pub fn copies(&self, agent: &str) -> PathBuf {
        self.folder.join(agent)
    }

    fn path(&self, read: &Read, name: &str) -> PathBuf {
        let key = format!("{}\n{name}", read.real.display());
        self.folder.join(format!("{}.json", &hash(&key)[..24]))
    }

    /// Returns what was done to an entry; one that cannot be read is as good as none.
    pub fn get(&self, read: &Read, name: &str) -> Option<Record> {
        let text = fs::read(self.path(read, name)).ok()?;
        let record: Record = serde_json::from_slice(&text).ok()?;
        (record.file == read.real && record.name == name).then_some(record)
    }

    /// Keeps a record, or none.
    ///
    /// # Errors
    /// How the disk failed.
    pub fn put(&self, read: &Read, name: &str, record: Option<&Record>) -> Result<()> {
        let path = self.path(read, name);
        let Some(record) = record else { return disk::remove(&path) };
        let text =
            serde_json::to_vec_pretty(record).map_err(|error| Error::internal(format!("a record is JSON: {error}")))?;
        let temporary = self.folder.join(format!(".mcpkg-{}", uuid::Uuid::now_v7().simple()));
        disk::write_beside(&path, &temporary, &text, 0o600)?;
        disk::put_in_place(&path, &temporary, false)
    }
}
