//! Undoes changes to drafts for `mcpkg undo`: a proposed draft becomes rejected, and a rejected draft becomes open again.

use uuid::Uuid;

use super::kept::overtaken;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Undoable};
use mcpkg_store::Db;
use mcpkg_store::drafts::{self, Decision, Draft, State};
use mcpkg_store::revisions::Author;

/// Undoes changes to drafts. The state of a draft is a word such as `rejected`. For an open draft, the key of the stored text
/// follows the word `open`, so that an edit counts as a change.
pub struct Drafts;

fn find(db: &Db<'_>, item: &str) -> Result<Option<Draft>> {
    Uuid::parse_str(item).map_or(Ok(None), |uuid| drafts::by_uuid(db, uuid))
}

impl Undoable for Drafts {
    fn kind(&self) -> &'static str {
        "draft"
    }

    fn now(&self, _: &Context, db: &Db<'_>, item: &str) -> Result<String> {
        Ok(find(db, item)?.map_or(String::new(), |draft| match draft.state {
            State::Open | State::Stale => format!("open {}", draft.blob),
            decided => decided.word().to_owned(),
        }))
    }

    fn content(&self, _: &Db<'_>, _: &str, state: &str) -> Result<Option<String>> {
        // Before a proposal, the draft did not exist. Undoing the proposal rejects the draft instead of deleting it.
        Ok(Some(if state.is_empty() { State::Rejected.word().to_owned() } else { state.to_owned() }))
    }

    fn name(&self, db: &Db<'_>, item: &str, _: &str) -> Result<Option<String>> {
        Ok(find(db, item)?.map(|draft| format!("draft {}", draft.name)))
    }

    fn going(&self, _: &Db<'_>, _: &str, from: &str, to: &str) -> Result<Result<String, String>> {
        let is_open = |state: &str| state.starts_with(State::Open.word());
        Ok(match (is_open(from), is_open(to)) {
            (true, true) => Err("mcpkg keeps no earlier text of a draft".to_owned()),
            (true, false) => Ok("reject it".to_owned()),
            (false, true) if from == State::Rejected.word() => Ok("open it again".to_owned()),
            _ => Err("an approved draft is a revision of its workflow: see `mcpkg workflow restore`".to_owned()),
        })
    }

    fn put(&self, _: &Context, db: &Db<'_>, author: Author<'_>, item: &str, to: &str) -> Result<()> {
        let Some(draft) = find(db, item)? else { return Ok(()) };
        let done = match to.starts_with(State::Open.word()) {
            true => drafts::reopen(db, draft.uuid)?,
            false => drafts::decide(
                db,
                draft.uuid,
                draft.blob,
                Decision { approved: false, actor: author.actor, now: author.now, note: None },
            )?,
        };
        if done { Ok(()) } else { Err(overtaken(draft.uuid)) }
    }
}
