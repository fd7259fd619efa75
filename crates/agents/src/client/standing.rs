//! Compares an entry in an agent's file with the wanted entry, and edits the file.

use std::path::Path;

use serde_json::{Value, json};

use super::config_file::ConfigFile;
use super::entry;
use super::file::{self, FileText};
use super::our_entry::our_entries;
use super::record::{Record, Records};
use super::runs::Runs;
use crate::servers::document::{Document, Fault};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context};

/// The current state of an entry.
pub struct Standing {
    /// The file that may contain the entry.
    pub config: ConfigFile,
    pub name: String,
    pub read: FileText,
    /// The entry, if it exists.
    pub entry: Option<Value>,
    /// The record of mcpkg's changes to the entry, if there is one.
    pub record: Option<Record>,
    document: Document,
}

impl Standing {
    pub fn of(context: &Context, config: ConfigFile, name: &str) -> Result<Self> {
        let read = FileText::of(&config)?;
        let document = config.agent.document();
        let mut entries = document.entries(read.text()).map_err(|fault| file::invalid(&config.path, &fault))?;
        let entry = entries.shift_remove(name);
        let record = Records::look(context).get(&read, name);
        Ok(Self { config, name: name.to_owned(), read, entry, record, document })
    }

    /// Returns the program that the agent starts for the entry, or the URL that it connects to.
    pub fn runs(&self) -> Option<Runs> {
        self.entry.as_ref().and_then(Runs::of)
    }

    /// Returns whether the entry is mcpkg's: it starts mcpkg, or is exactly what mcpkg wrote.
    pub fn is_ours(&self) -> bool {
        let written = self.record.as_ref().map(|record| &record.entry);
        self.runs().is_some_and(|runs| runs.is_mcpkg()) || (self.entry.is_some() && self.entry.as_ref() == written)
    }

    /// Warns about syntax in the file that the agent may reject, although mcpkg can edit it.
    pub fn warning(&self) -> Option<String> {
        let Fault { at, what } = self.document.unreadable(self.read.text())?;
        let line = at.map_or(String::new(), |(line, _)| format!(" in line {line}"));
        let (title, path) = (self.config.agent.title, self.config.path.display());
        Some(format!("{title} reads plain JSON only and may reject `{path}`{line}: {what}"))
    }

    /// Returns the edit that writes the wanted entry; `None` if it is already there.
    pub fn with(&self, fields: Vec<(String, Value)>) -> Result<Option<Edit<'_>>> {
        let replaces = self.entry.is_some() && !self.is_ours();
        let Some(change) = entry::change(fields, self.entry.as_ref(), replaces) else { return Ok(None) };
        let edited = || {
            let before = match &self.record {
                // Start from the text before the first change, so that one removal undoes both changes.
                Some(record) if self.is_ours() => record.undo(self.document, self.read.text())?,
                _ => self.read.text.clone(),
            };
            let after = self.document.set(self.read.text(), &self.name, &change)?;
            let mut record = Record::between(self.document, &self.read.real, &self.name, before.as_deref(), &after)?;
            if let (Some(old), true) = (&self.record, record.created) {
                record.folders.clone_from(&old.folders);
            }
            Ok(Edit { standing: self, after: Some(after), record: Some(record) })
        };
        edited().map(Some).map_err(|fault| self.refused(&fault))
    }

    /// Returns the edit that removes the entry and restores what was there before.
    pub fn without(&self) -> Result<Edit<'_>> {
        let text = self.read.text();
        let after = match &self.record {
            Some(record) => record.undo(self.document, text),
            None => self.document.remove(text, &self.name, false).map(Some),
        };
        let after = after.map_err(|fault| self.refused(&fault))?;
        Ok(Edit { standing: self, after, record: None })
    }

    fn refused(&self, fault: &Fault) -> Error {
        let name = self.config.agent.name;
        file::invalid(&self.config.path, fault)
            .hint(format!("`mcpkg client show {name}` prints the entry to add by hand"))
    }

    /// Asks the user before mcpkg replaces or removes an entry that it did not write.
    ///
    /// # Errors
    /// `E_CONFIRM_REQUIRED` if nobody confirmed.
    pub fn ask(&self, context: &Context, edit: &Edit<'_>, verb: &str) -> Result<()> {
        let Some(entry) = self.entry.as_ref().filter(|_| !self.is_ours()) else { return Ok(()) };
        let runs = Runs::of(entry).map_or_else(|| "something else".to_owned(), |runs| format!("`{}`", runs.shown()));
        let (name, path) = (&self.name, self.config.path.display());
        let question = format!("{verb} '{name}' in `{path}`, an entry that mcpkg did not write and that runs {runs}?");
        (context.ask)(Body::Diff(edit.diff()), &question).map_err(|error| {
            if error.code() != Code::ConfirmRequired {
                return error;
            }
            let error = Error::new(Code::ConfirmRequired, error.message().to_owned())
                .with_details(json!({ "path": path.to_string(), "name": name, "entry": entry }));
            if verb == "Replace" {
                return error.hint("confirm with --yes, or choose another name for mcpkg's entry with --name NAME");
            }
            match our_entries(context, &self.config).unwrap_or_default().first() {
                Some(ours) => error.hint(format!(
                    "mcpkg's entry in this file is '{}'; to remove that entry, run `{}`",
                    ours.name,
                    ours.remove()
                )),
                None => error.hint("mcpkg did not write this entry; --yes removes it anyway"),
            }
        })
    }
}

/// A planned change to a file.
pub struct Edit<'s> {
    standing: &'s Standing,
    /// The text after the change; `None` if the file will be deleted.
    pub after: Option<String>,
    record: Option<Record>,
}

impl Edit<'_> {
    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let read = &self.standing.read;
        let path = self.standing.config.path.display().to_string();
        let name = |text: Option<&String>| if text.is_some() { path.clone() } else { "/dev/null".to_owned() };
        let (old, new) = (name(read.text.as_ref()), name(self.after.as_ref()));
        mcpkg_base::diff::unified(read.text(), self.after.as_deref().unwrap_or_default(), &old, &new)
    }

    /// Records the folder in which `mcpkg up` makes the change.
    pub fn made_in(mut self, folder: &Path) -> Self {
        if let Some(record) = &mut self.record {
            record.made_in = Some(folder.to_owned());
        }
        self
    }

    /// Applies the change: first saves a copy of the file and a record, then writes. Returns the path of the copy.
    pub fn apply(mut self, context: &Context) -> Result<Option<std::path::PathBuf>> {
        let Standing { config, name, read, record: old, .. } = self.standing;
        let records = Records::hold(context)?;
        let copy = read.back_up(&records.copies(config.agent.name))?;
        if let Some(record) = &self.record {
            records.put(read, name, Some(record))?;
        }
        let folders = match read.replace(self.after.as_deref()) {
            Ok(folders) => folders,
            Err(error) => {
                records.put(read, name, old.as_ref())?;
                return Err(error);
            }
        };
        match &mut self.record {
            Some(record) if !folders.is_empty() => {
                record.folders.extend(folders);
                records.put(read, name, Some(record))?;
            }
            Some(_) => {}
            None => {
                records.put(read, name, None)?;
                if self.after.is_none() {
                    file::remove_folders(old.as_ref().map_or(&[], |record| &record.folders));
                }
            }
        }
        Ok(copy)
    }
}
