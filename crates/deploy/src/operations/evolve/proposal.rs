//! Shares code between the commands on proposals.

use serde_json::{Value, json};

use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::note;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Proposal};

pub(super) fn summary(proposal: &Proposal) -> Value {
    json!({
        "id": proposal.id,
        "state": proposal.state.word(),
        "origin": proposal.origin.word(),
        "action": proposal.action.word(),
        "module_id": proposal.module_id,
        "path": proposal.path,
        "actor": proposal.actor,
        "created_at": clock::rfc3339(proposal.created_at),
        "note": proposal.note,
    })
}

pub(super) fn get(db: &Db<'_>, project: &Project, id: i64) -> Result<Proposal> {
    proposals::get(db, project.id, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Project '{}' has no proposal {id}", project.name))
            .with_details(json!({ "id": id }))
            .hint("`mcpkg evolve list` shows the existing proposals")
    })
}

/// The prefix of the keys of files in new skills.
const NEW: &str = "new:";

/// Returns the key for a file of a new skill: `new:review/SKILL.md`.
pub(super) fn new_item(module_id: &str, file: &str) -> String {
    format!("{NEW}{}/{file}", module_id.strip_prefix("skill:").unwrap_or(module_id))
}

/// Returns the skill and the path inside it if the proposal is for a file of a new skill.
pub(super) fn new_file(proposal: &Proposal) -> Option<(&str, &str)> {
    proposal.item.strip_prefix(NEW)?.split_once('/')
}

/// Accepts or rejects an open proposal and returns it. If two calls decide at the same time, the second gets an error
/// with the decision. The proposals for other files of the same new skill are decided too and returned after it.
pub(super) fn decide(
    db: &Db<'_>,
    project: &Project,
    id: i64,
    accepted: bool,
    now: Millis,
    note: Option<&str>,
) -> Result<Vec<Proposal>> {
    let note = note::checked(note)?;
    let proposal = Proposal { note: note.map(str::to_owned), ..get(db, project, id)? };
    if proposals::decide(db, proposal.id, accepted, now, note)? {
        let mut decided = vec![proposal];
        if let Some((skill, _)) = new_file(&decided[0]).map(|(skill, file)| (skill.to_owned(), file)) {
            let open = proposals::list(db, project.id, false)?;
            for other in open.into_iter().filter(|other| new_file(other).is_some_and(|(name, _)| name == skill)) {
                if proposals::decide(db, other.id, accepted, now, note)? {
                    decided.push(other);
                }
            }
        }
        return Ok(decided);
    }
    Err(Error::new(Code::InvalidArgument, format!("Proposal {id} was already {}", proposal.state.word())))
}
