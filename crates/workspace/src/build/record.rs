//! Stores builds in the database when they start and end, and reads the last build of each repository.

use std::collections::HashMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::report::Report;
use crate::journal;
use crate::root::Workspace;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::builds::{self, Last};

/// Records the start of a build; returns its id.
pub fn begin(context: &Context, workspace: &Workspace, options: &Value) -> Result<Uuid> {
    let (uuid, now) = (context.clock.uuid(), context.clock.now());
    context.store.write(|db| {
        let begun = builds::Begun {
            uuid,
            workspace: journal::key(context, db, &workspace.root, &workspace.manifest.name)?,
            actor: context.caller.actor(),
            options: &options.to_string(),
            started_at: now,
        };
        builds::begin(db, &begun)
    })?;
    Ok(uuid)
}

/// Records how a build ended and, if it passed, appends an event to the audit trail. A failed build needs no event here, because
/// the failed call appends its own. Returns a warning if the write fails; the build itself has already run.
pub fn end(context: &Context, report: &Report, subject: &str) -> Option<String> {
    let ended = builds::Ended {
        uuid: report.run,
        all_passed: report.all_passed(),
        ended_at: context.clock.now(),
        rows: &report.stored(),
    };
    let kept = context.store.write(|db| {
        builds::end(db, &ended)?;
        match ended.all_passed {
            true => context.event(db, context.author(), None, "build", subject),
            false => Ok(()),
        }
    });
    kept.err().map(|error| {
        tracing::warn!(%error, run = %report.run, "the result of a build could not be written to the database");
        format!("the build's outcome could not be saved: {error}")
    })
}

/// Returns the database key of a workspace, if the workspace is known.
pub fn key(context: &Context, workspace: &Workspace) -> Result<Option<i64>> {
    context.store.read(|db| journal::known(db, &workspace.root))
}

/// Returns the last build of each repository as JSON, by repository name.
pub fn last(context: &Context, workspace: &Workspace) -> Result<HashMap<String, Value>> {
    let Some(key) = key(context, workspace)? else { return Ok(HashMap::new()) };
    let found = context.store.read(|db| builds::last(db, key))?;
    let shown = |last: Last| {
        let shown = json!({ "run": last.run.to_string(), "success": last.success, "ended_at": rfc3339(last.ended_at) });
        (last.repo, shown)
    };
    Ok(found.into_iter().map(shown).collect())
}

/// Returns how long a finished build took.
pub fn took(run: &builds::Run) -> Option<Millis> {
    run.ended_at.map(|ended_at| ended_at.saturating_sub(run.started_at))
}
