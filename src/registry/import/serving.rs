//! What a server that stands in for the original takes from the original's files when it starts. An agent can write these files: what
//! tightens applies at once, and what lets through more than now waits for a person at a terminal.

use super::home::Home;
use super::{gather, widening, write};
use crate::error::{Code, Result};
use crate::op::{Confirmation, Context, Identity, Taken};
use crate::registry::trust;
use crate::store::tools::toolsets;

/// Takes what tightens from `config.yaml` and `mcp.json` of this user; nothing where the files are not there.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for a malformed file, of which nothing is taken; `E_FILE_FAILED`, `E_DB_BUSY`, `E_STORAGE` and their like.
pub fn take(context: &Context, identity: Identity) -> Result<Taken> {
    if identity != Identity::Enact {
        return Ok(Taken::default());
    }
    let home = match Home::of_user(None) {
        Err(error) if matches!(error.code(), Code::NotFound | Code::RootRequired) => return Ok(Taken::default()),
        home => home?,
    };
    let (mut plan, wanted) = gather::of_server(context, &home)?;
    let (now, active) = context.store.read(|db| Ok((trust::rules(db, context)?, toolsets::active(db)?)))?;
    let mut waiting = widening::lines(&now, &plan);
    waiting.extend(plan.registry.take().map(|place| format!("registry {}", place.location)));
    // Nobody is asked: whoever starts the server is a program.
    widening::decide(&Context { confirmation: Confirmation::Nobody, ..context.clone() }, &now, &mut plan)?;
    if !plan.toolsets.is_empty() || plan.policy.is_some() || plan.minimum.is_some() {
        write::tighten(context, &plan)?;
        write::write(context, &plan, &home.own.display().to_string())?;
    }
    let waiting = waiting.into_iter().map(|waiting| {
        format!(
            "~/.enact asks for more than you approved ({waiting}); run `mcpkg tool import` at a terminal to approve it"
        )
    });
    Ok(Taken { toolset: wanted.filter(|_| active.is_none()), waiting: waiting.collect() })
}
