//! Decides what a sync does with one item.

use super::base::{entry_of, plain};
use super::contents::{Contents, There};
use super::servers;
use super::step::{Act, Step};
use crate::audited;
use crate::ignored::Accepted;
use crate::item::{Entry, Origin, What, conflict};
use crate::merge::{Outcome, sides::Sides};
use crate::stored::{self, Stored};
use mcpkg_agents::audit::{Finding, Report, scan_bytes};
use mcpkg_base::error::{Error, Result};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Action, Proposal, State};
use mcpkg_store::syncs::Base;
use mcpkg_store::{Db, blobs};

/// Returns the step for the item at a path. `recorded` is the base that the last sync recorded.
pub(super) fn step(
    db: &Db<'_>,
    project: &Project,
    path: &str,
    there: Option<&There>,
    ours: Option<Stored>,
    recorded: Option<&Base>,
    contents: &Contents,
) -> Result<Step> {
    let proposal = recorded.and_then(|recorded| recorded.proposal);
    let proposal = proposal.map(|id| proposals::get(db, project.id, id)).transpose()?.flatten();
    let base = basis(recorded, proposal.as_ref());
    let label = ours
        .as_ref()
        .map(|ours| &ours.entry)
        .or(there.map(|there| &there.entry))
        .or(base.as_ref().map(|(entry, _)| entry));
    let label = label.map_or_else(|| path.to_owned(), |entry| format!("{} '{}'", word(entry), entry.name));
    let unread = servers::unread(there, ours.as_ref(), contents);
    let act = match contents.skipped.get(path).map(|(why, _)| why.clone()).or(unread) {
        Some(why) => Act::Skip(why),
        None if contents.disk.others.contains(path) && !contents.disk.links.contains_key(path) => {
            Act::Skip(NO_FILE.to_owned())
        }
        None => match act(db, there, ours.as_ref(), base.as_ref(), proposal.as_ref())? {
            Act::Give(..) | Act::Merge(..) | Act::DeleteFile if there.is_some_and(There::has_more) => {
                Act::Skip(SAYS_MORE.to_owned())
            }
            Act::Take | Act::Merge(..) | Act::ProposeChange(_) | Act::ProposeDeleteFile
                if there.is_some_and(There::is_unmerged) =>
            {
                Act::Skip(conflict::WHY.to_owned())
            }
            Act::Give(..) | Act::Merge(..) if contents.disk.others.contains(path) => Act::Skip(IS_LINK.to_owned()),
            Act::Take | Act::Merge(..) | Act::ProposeChange(_)
                if !contents.accepts_critical
                    && !critical(db, path, there, ours.as_ref(), &contents.accepted)?.is_empty() =>
            {
                Act::Skip(CRITICAL.to_owned())
            }
            act if act.does_something() && contents.disk.unmerged.contains(path) => {
                Act::Skip(conflict::UNRESOLVED.to_owned())
            }
            act => act,
        },
    };
    Ok(Step { path: path.to_owned(), label, ours, recorded: recorded.cloned(), base, act })
}

/// The reason to skip a path at which there is no regular file any more.
const NO_FILE: &str = "is no longer a regular file";

/// The reason to skip a file if there is a link at its path.
const IS_LINK: &str = "is a link, and sync never replaces links; delete the link to get the file back";

/// The reason not to overwrite an agent's file that contains more than the project stores.
const SAYS_MORE: &str = "contains values or settings that the project does not store, so writing the file would \
    lose them; replace the values with variables, or edit the file by hand";

/// The reason to skip a file with critical audit findings.
pub(super) const CRITICAL: &str = "has critical audit findings, which only a person at a terminal can accept";

/// Returns the critical audit findings in a file. Leaves out those that the project's version also has, and those that
/// a person accepted.
pub(super) fn critical(
    db: &Db<'_>,
    path: &str,
    there: Option<&There>,
    ours: Option<&Stored>,
    accepted: &Accepted,
) -> Result<Vec<Finding>> {
    let mut report = Report::default();
    if let Some(there) = there {
        audited::add(&mut report, path, &there.file)?;
    }
    let mut found: Vec<Finding> = report.critical().filter(|finding| !accepted.has(finding)).cloned().collect();
    if let (Some(ours), false) = (ours, found.is_empty()) {
        let known = scan_bytes(path, &ours.content(db)?).unwrap_or_default();
        found.retain(|new| !known.iter().any(|old| old.rule.id == new.rule.id && old.sha256 == new.sha256));
    }
    Ok(found)
}

fn word(entry: &Entry) -> &'static str {
    match entry.what.uri().and_then(|uri| uri.split_once("://")) {
        Some(("skill", _)) => "skill file",
        Some(("instructions", _)) => "instructions",
        Some(("subagent", _)) => "subagent",
        _ if entry.what == What::Server => "MCP server",
        _ => entry.what.word(),
    }
}

/// Returns the base for the merge: the version at the last sync or, after a person has decided on a proposal, the
/// proposed version. So after a decision, only later edits count as changes. `None` after a decision about the item's
/// deletion, or after the file's deletion was rejected.
fn basis(recorded: Option<&Base>, proposal: Option<&Proposal>) -> Option<(Entry, i64)> {
    let recorded = recorded?;
    match proposal {
        Some(proposal) if proposal.state != State::Open => match (proposal.action, proposal.state) {
            (Action::Delete, _) | (Action::DeleteFile, State::Rejected) => None,
            _ => proposed(proposal),
        },
        _ => entry_of(recorded).zip(recorded.version.as_ref().map(|(_, blob)| *blob)),
    }
}

fn proposed(proposal: &Proposal) -> Option<(Entry, i64)> {
    let entry: Entry = serde_json::from_str(proposal.entry.as_deref()?).ok()?;
    Some((plain(&entry), proposal.blob?))
}

fn act(
    db: &Db<'_>,
    there: Option<&There>,
    ours: Option<&Stored>,
    base: Option<&(Entry, i64)>,
    proposal: Option<&Proposal>,
) -> Result<Act> {
    if let (Some(there), Some(ours)) = (there, ours)
        && there.entry.what.word() != ours.entry.what.word()
    {
        let (theirs, ours) = (there.entry.what.word(), ours.entry.what.word());
        return Ok(Act::Skip(format!("is a {ours} in the project, but a {theirs} in the folder")));
    }
    let entries = (there.map(|there| plain(&there.entry)), ours.map(|ours| plain(&ours.entry)));
    let theirs = entries.0.as_ref().zip(there.map(|there| &there.content));
    let base = base.map(|(entry, blob)| (entry, *blob));
    let sides = Sides { db, base, theirs, ours: entries.1.as_ref().zip(ours) };
    // Returns whether an open proposal already contains this change to the current version.
    let waits = |action: Action, what: Option<(&Entry, [u8; 32])>| -> Result<bool> {
        let Some(open) = proposal.filter(|proposal| proposal.state == State::Open && proposal.action == action) else {
            return Ok(false);
        };
        let same = match (proposed(open), what) {
            (Some((entry, blob)), Some((theirs, sha256))) => entry == *theirs && blobs::sha256(db, blob)? == sha256,
            (None, None) => true,
            _ => false,
        };
        Ok(same && stored::is_at(db, ours, open.base)?)
    };
    let what = theirs.map(|(entry, content)| (entry, content.sha256()));
    let or_wait = |action, what, act| Ok::<_, Error>(if waits(action, what)? { Act::Wait } else { act });
    Ok(match sides.merge()? {
        Outcome::Unchanged if there.is_none() => Act::Forget,
        Outcome::Unchanged => Act::Same,
        Outcome::Taken => Act::Take,
        Outcome::Kept => match ours {
            Some(ours) => Act::Give(ours.entry.clone(), NewContent::from(ours.content(db)?)),
            None => Act::Same,
        },
        Outcome::Merged(merged) => {
            let content = sides.content(&merged.content)?;
            let origin = ours.map(|ours| ours.entry.origin.clone()).unwrap_or_default();
            let origin = Origin { applies: merged.entry.origin.applies.clone(), ..origin };
            let entry = Entry { origin, ..merged.entry };
            match stored::check(&entry, &content) {
                Ok(()) => Act::Merge(entry, content),
                // The merged content is not valid, for example because a template no longer parses.
                Err(_) => or_wait(Action::Change, what, Act::ProposeChange(vec!["content"]))?,
            }
        }
        Outcome::Conflict(parts) => or_wait(Action::Change, what, Act::ProposeChange(parts))?,
        Outcome::DeletedThere { .. } => or_wait(Action::Delete, None, Act::ProposeDelete)?,
        Outcome::DeletedHere { changed } => {
            let accepted = |proposal: &Proposal| {
                proposal.action == Action::DeleteFile && proposal.state == State::Accepted && !changed
            };
            match proposal.is_some_and(accepted) {
                true => Act::DeleteFile,
                false => or_wait(Action::DeleteFile, what, Act::ProposeDeleteFile)?,
            }
        }
    })
}
