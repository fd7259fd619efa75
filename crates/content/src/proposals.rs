//! Proposals: changes that wait for a person's decision, because a source, a synced folder or a deployed file conflicts with
//! the project.

use super::item::{Entry, server};
use super::stored::{self, Stored};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Action, NewProposal, Origin, Proposal};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, blobs};

/// A proposed change of an item.
#[derive(Clone, Copy, Debug)]
pub enum Proposed<'p> {
    /// Gives the item this entry and content. A deleted item is created again.
    Change {
        entry: &'p Entry,
        /// The key of the proposed content.
        blob: i64,
    },
    Delete,
    /// Deletes the item's file in the synced folder, during the next sync.
    DeleteFile {
        /// The entry of the file that would be deleted.
        entry: &'p Entry,
        /// The key of the file's content.
        blob: i64,
    },
}

/// A proposal about an item.
#[derive(Clone, Copy, Debug)]
pub struct New<'p> {
    pub origin: Origin,
    /// The item's permanent key ([`Stored::key`]).
    pub item: &'p str,
    /// The item in the project; `None` if it was deleted.
    pub ours: Option<&'p Stored>,
    /// The path of the file that the proposal is about.
    pub path: &'p str,
    pub proposed: Proposed<'p>,
}

/// Stores a proposal and returns its number. An open proposal of the same origin for the same item is replaced.
pub fn propose(db: &Db<'_>, author: Author<'_>, project: &Project, new: New<'_>) -> Result<i64> {
    let New { origin, item, ours, path, proposed } = new;
    let (action, entry, blob) = match proposed {
        Proposed::Change { entry, blob } => (Action::Change, Some(entry), Some(blob)),
        Proposed::Delete => (Action::Delete, None, None),
        Proposed::DeleteFile { entry, blob } => (Action::DeleteFile, Some(entry), Some(blob)),
    };
    let named = entry.or(ours.map(|ours| &ours.entry));
    let module_id = named.map_or_else(|| item.to_owned(), label);
    let entry = entry.map(serde_json::to_string).transpose();
    let entry = entry.map_err(|error| Error::internal("a proposal cannot be written as JSON").with_source(error))?;
    let new = NewProposal {
        project: project.id,
        origin,
        action,
        item,
        module_id: &module_id,
        path,
        base: ours.map(|ours| ours.blob(db)).transpose()?,
        blob,
        entry: entry.as_deref(),
        actor: author.actor,
        now: author.now,
    };
    proposals::insert(db, new)
}

/// Returns an item's name in output: its URI, or `prompt:NAME` and the like if it has no URI or a `file:` URI.
fn label(entry: &Entry) -> String {
    match entry.what.uri() {
        Some(uri) if !uri.starts_with("file:") => uri.to_owned(),
        _ => format!("{}:{}", entry.what.word(), entry.name),
    }
}

/// Carries out a proposal and returns a sentence about it. The next sync carries out [`Action::DeleteFile`]. Fails with
/// `E_INVALID_ARGUMENT` if the item was changed since the proposal was made, so that nothing is overwritten unseen, and
/// with `E_ALREADY_EXISTS` if the name or URI is taken.
pub fn accept(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    clock: &Clock,
    proposal: &Proposal,
) -> Result<String> {
    let label = &proposal.module_id;
    let ours = current(db, project, proposal)?;
    match (proposal.action, proposal.blob, ours) {
        (Action::Change, Some(blob), ours) => {
            let entry = entry(proposal)?;
            let content = blobs::content(db, blob)?;
            stored::check(&entry, &content)?;
            stored::put(db, author, project, clock, ours, &entry, &content)?;
            Ok(format!("{label} now matches {}", place(proposal)))
        }
        (Action::Delete, _, Some(ours)) => {
            stored::delete(db, author, project, &ours)?;
            Ok(format!("{label} was deleted"))
        }
        (Action::DeleteFile, _, None) if server::is_path(&proposal.path) => {
            Ok(format!("the next sync removes {label} from the folder"))
        }
        (Action::DeleteFile, _, None) => Ok(format!("the next sync deletes `{}`", proposal.path)),
        _ => Err(blobs::damaged_value("a proposal's row is malformed")),
    }
}

/// Returns the item of a proposal. Fails if the item was changed, deleted or created since the proposal was made.
fn current(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<Option<Stored>> {
    let ours = stored::get(db, project, &proposal.item)?;
    let why = match (&ours, proposal.base) {
        (Some(ours), Some(base)) if ours.holds(db, base)? => return Ok(Some(ours.clone())),
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => "was changed",
        (Some(_), None) => "was created again",
        (None, Some(_)) => "was deleted",
    };
    let again = match proposal.origin {
        Origin::Sync => "`mcpkg sync` then proposes the change again",
        Origin::Source => "`mcpkg source update` then proposes the change again",
        Origin::Deploy => "`mcpkg evolve propose` then proposes the change again",
    };
    let message = format!("{} {why} since proposal {}", proposal.module_id, proposal.id);
    Err(Error::new(Code::InvalidArgument, message).hint(format!(
        "review both versions with `mcpkg evolve show {}`, or reject the proposal; {again}",
        proposal.id
    )))
}

/// Returns the proposed name and attributes.
fn entry(proposal: &Proposal) -> Result<Entry> {
    let entry = proposal.entry.as_deref().map(serde_json::from_str).transpose();
    let entry = entry.map_err(|error| blobs::damaged_value("a proposal's entry is malformed").with_source(error))?;
    entry.ok_or_else(|| blobs::damaged_value("a proposal has no stored entry"))
}

/// Returns the words for where the proposed version comes from, such as `the file on disk`.
fn place(proposal: &Proposal) -> &'static str {
    match proposal.origin {
        Origin::Deploy => "the file on disk",
        Origin::Source => "the source",
        Origin::Sync => "the folder",
    }
}

/// Returns the content that the item of a proposal has now; `None` if there is no such item.
pub fn now(db: &Db<'_>, project: &Project, proposal: &Proposal) -> Result<Option<Vec<u8>>> {
    stored::get(db, project, &proposal.item)?.map(|stored| stored.content(db)).transpose()
}

/// Returns the item's content before and after the proposed change.
pub fn contents(db: &Db<'_>, proposal: &Proposal) -> Result<(Vec<u8>, Vec<u8>)> {
    let content = |blob: Option<i64>| blob.map_or_else(|| Ok(Vec::new()), |blob| blobs::get(db, blob));
    match proposal.action {
        Action::Change => Ok((content(proposal.base)?, content(proposal.blob)?)),
        Action::Delete => Ok((content(proposal.base)?, Vec::new())),
        Action::DeleteFile => Ok((content(proposal.blob)?, Vec::new())),
    }
}
