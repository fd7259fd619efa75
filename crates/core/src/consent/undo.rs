//! How `mcpkg undo` treats requests for consent: it denies a request that is still waiting.

use uuid::Uuid;

use crate::op::{Context, Undo, Undoable};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::consents::{self, Request, State};
use mcpkg_store::revisions::Author;

pub const UNDO: Undo = Undo {
    items: &[&Requests],
    lasting: &[
        ("consent.approve", "take an approval back with `mcpkg consent deny`"),
        ("approval.revoke", "mcpkg asks you again when it needs the approval"),
        ("consent.consume", "the consent was used"),
        ("consent.decline", "the request still waits for you: see `mcpkg consent list`"),
        ("consent.deny", FINAL),
    ],
    ..Undo::NOTHING
};

/// Requests for consent. A state is a word of [`State`], or `expired`.
struct Requests;

const EXPIRED: &str = "expired";

/// Why a denial cannot be undone.
const FINAL: &str = "a denial is final; the agent can ask again";

fn find(db: &Db<'_>, item: &str) -> Result<Option<Request>> {
    Uuid::parse_str(item).map_or(Ok(None), |uuid| consents::get(db, uuid))
}

impl Undoable for Requests {
    fn kind(&self) -> &'static str {
        "consent"
    }

    fn now(&self, context: &Context, db: &Db<'_>, item: &str) -> Result<String> {
        Ok(match find(db, item)? {
            Some(request) if request.state != State::Consumed && request.expires_at <= context.clock.now() => {
                EXPIRED.to_owned()
            }
            Some(request) => request.state.word().to_owned(),
            None => EXPIRED.to_owned(),
        })
    }

    fn content(&self, _: &Db<'_>, _: &str, state: &str) -> Result<Option<String>> {
        // An expired or missing request counts as denied, because it no longer waits for a decision.
        let is_over = state.is_empty() || state == EXPIRED;
        Ok(Some(if is_over { State::Denied.word() } else { state }.to_owned()))
    }

    fn name(&self, db: &Db<'_>, item: &str, _: &str) -> Result<Option<String>> {
        Ok(find(db, item)?.map(|request| format!("request {}", request.summary)))
    }

    fn going(&self, _: &Db<'_>, _: &str, _: &str, to: &str) -> Result<Result<String, String>> {
        Ok(match to.is_empty() {
            true => Ok("deny it".to_owned()),
            false => Err(FINAL.to_owned()),
        })
    }

    fn put(&self, context: &Context, db: &Db<'_>, _: Author<'_>, item: &str, _: &str) -> Result<()> {
        let Some(request) = find(db, item)? else { return Ok(()) };
        consents::deny(db, request.uuid, context.clock.now(), None).map(drop)
    }
}
