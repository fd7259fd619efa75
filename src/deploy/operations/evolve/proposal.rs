//! What the commands on proposals share.

use serde_json::{Value, json};

use crate::clock::{self, Millis};
use crate::error::{Code, Error, Result};
use crate::store::Db;
use crate::store::projects::Project;
use crate::store::proposals::{self, Proposal};

/// The data of a proposal.
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
    })
}

/// Returns a proposal of the project.
///
/// # Errors
/// `E_NOT_FOUND`.
pub(super) fn get(db: &Db<'_>, project: &Project, id: i64) -> Result<Proposal> {
    proposals::get(db, project.id, id)?.ok_or_else(|| {
        Error::new(Code::NotFound, format!("Project '{}' has no proposal {id}", project.name))
            .with_details(json!({ "id": id }))
            .hint("`mcpkg evolve list` shows those there are")
    })
}

/// Accepts or rejects an open proposal, and returns it; of two at once the second hears what became of it.
///
/// # Errors
/// `E_NOT_FOUND`, `E_INVALID_ARGUMENT`.
pub(super) fn decide(db: &Db<'_>, project: &Project, id: i64, accepted: bool, now: Millis) -> Result<Proposal> {
    let proposal = get(db, project, id)?;
    if proposals::decide(db, proposal.id, accepted, now)? {
        return Ok(proposal);
    }
    Err(Error::new(Code::InvalidArgument, format!("The proposal {id} was {} already", proposal.state.word())))
}
