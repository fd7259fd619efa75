//! Reads what `mcpkg audit` audits: files on disk, the items of a source, or the items of a project.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::audited;
use crate::ignored::{self, Ignored};
use crate::import::find;
use crate::import::reason::Reason;
use crate::import::recognise::{self, Choice};
use crate::item::{What, server};
use crate::stored::{self, Stored};
use mcpkg_agents::audit::{Report, scan_bytes};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::projects::{self, Project};
use mcpkg_store::{Db, sources};
use serde_json::{Value, json};

pub(super) enum Subject {
    Path(PathBuf),
    Source(String),
    Project(String),
}

/// The findings, and the files that were not audited.
#[derive(Default)]
pub(super) struct Audited {
    pub(super) report: Report,
    /// Files that are not UTF-8 text, or too large.
    pub(super) skipped: Vec<String>,
    /// The number of files that no agent reads.
    pub(super) unread: u64,
    /// The stored items that were audited, by the path in their findings. Empty for files on disk.
    pub(super) items: HashMap<String, Value>,
}

impl Subject {
    /// Finds what a word means: a path that exists, else a source of the project, else a project.
    pub(super) fn find(what: Option<&str>, context: &Context) -> Result<Self> {
        let Some(what) = what else { return Ok(Subject::Path(PathBuf::from("."))) };
        let path = Path::new(what);
        if path.exists() {
            return Ok(Subject::Path(path.to_path_buf()));
        }
        let is_source = context.read(|db, project| Ok(sources::get(db, project, what).is_ok())).unwrap_or_default();
        if is_source {
            return Ok(Subject::Source(what.to_owned()));
        }
        match context.store.read(|db| projects::get(db, what)) {
            Ok(project) => Ok(Subject::Project(project.name)),
            Err(error) if error.code() == Code::NotFound => {
                let why = format!("'{what}' is not a file, a source of the project, or a project");
                Err(Error::new(Code::NotFound, why)
                    .hint("`mcpkg source list` lists the sources, and `mcpkg project list` the projects"))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self {
            Subject::Path(_) => "path",
            Subject::Source(_) => "source",
            Subject::Project(_) => "project",
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Subject::Path(path) => path.display().to_string(),
            Subject::Source(name) | Subject::Project(name) => name.clone(),
        }
    }

    /// Returns the findings that the audited project ignores, or for a path or source, those that the selected project
    /// ignores. Without a project, a path is audited as if nothing were ignored.
    pub(super) fn ignored(&self, context: &Context) -> Result<Vec<Ignored>> {
        let list = match self {
            Subject::Project(name) => context.store.read(|db| ignored::list(db, &projects::get(db, name)?)),
            Subject::Path(_) | Subject::Source(_) => context.read(ignored::list),
        };
        match (self, list) {
            (Subject::Path(_), Err(error)) if matches!(error.code(), Code::NoProject | Code::NotFound) => {
                Ok(Vec::new())
            }
            (_, list) => list,
        }
    }

    pub(super) fn audit(&self, documents: bool, context: &Context) -> Result<Audited> {
        match self {
            Subject::Path(path) => of_path(path, documents, context),
            Subject::Source(name) => context.read(|db, project| {
                let row = sources::get(db, project, name)?;
                let keys = sources::items(db, row.id)?.into_iter().map(|item| item.item).collect::<HashSet<_>>();
                of_items(stored::all(db, project)?.into_iter().filter(|item| keys.contains(&item.key())), db, context)
            }),
            Subject::Project(name) => context.store.read(|db| {
                let project: Project = projects::get(db, name)?;
                of_items(stored::all(db, &project)?.into_iter(), db, context)
            }),
        }
    }
}

/// Audits the files that an import would take.
fn of_path(path: &Path, documents: bool, context: &Context) -> Result<Audited> {
    let choice = Choice { documents, ..Choice::default() };
    let recognised = recognise::recognise(find::find(&[path.to_path_buf()], false, context)?, &choice, context)?;
    let mut found = Audited::default();
    let total = recognised.files.len() as u64;
    for (done, (file, _)) in (1..).zip(&recognised.files) {
        context.unless_cancelled()?;
        (context.progress)("Auditing", done, total);
        if !audited::add(&mut found.report, &file.relative, &file.content)? {
            found.skipped.push(file.relative.clone());
        }
    }
    let left_out = recognised.account.left_out.iter().filter(|left| left.reason == Reason::Unread);
    found.unread = left_out.map(|left| left.files).sum();
    Ok(found)
}

fn of_items(items: impl Iterator<Item = Stored>, db: &Db<'_>, context: &Context) -> Result<Audited> {
    let mut audited = Audited::default();
    for item in items {
        context.unless_cancelled()?;
        let path = path_of(&item);
        audited.add(&path, &item.content(db)?);
        audited.items.insert(path, named(&item));
    }
    Ok(audited)
}

/// Returns the path under which an item is audited and shown: the path of its file, its URI, or its name.
fn path_of(item: &Stored) -> String {
    let entry = &item.entry;
    match (&entry.what, &entry.origin.path) {
        (What::Resource(attributes), _) => attributes.uri.clone(),
        (What::Server, _) => server::path(&entry.name),
        (What::AgentFile { .. }, _) => entry.name.clone(),
        (What::Prompt(_), Some(path)) => path.clone(),
        (What::Prompt(_), None) => format!("{}.md", entry.name),
    }
}

/// Returns the stored item as JSON, such as `{"prompt": "review"}`. A resource has its URI, other items their name.
fn named(item: &Stored) -> Value {
    let entry = &item.entry;
    match &entry.what {
        What::Prompt(_) => json!({ "prompt": entry.name }),
        What::Resource(attributes) => json!({ "resource": attributes.uri }),
        What::Server => json!({ "server": entry.name }),
        What::AgentFile { .. } => json!({ "agent_file": entry.name }),
    }
}

impl Audited {
    fn add(&mut self, path: &str, bytes: &[u8]) {
        match scan_bytes(path, bytes) {
            Some(findings) => self.report.add(findings),
            None => self.skipped.push(path.to_owned()),
        }
    }
}
