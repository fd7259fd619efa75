//! Does what the screen of `mcpkg up` showed.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::find::{Found, adds_block, digest, gather, key_of_finding};
use super::wish::Wish;
use crate::apply::{self, Work, write_row_changes};
use crate::plan::Change;
use crate::plan::prepare::Prepared;
use crate::plan::show::changed_meanwhile;
use crate::repo::Checkouts;
use crate::source::Adopt;
use mcpkg_agents::agents::Agent;
use mcpkg_agents::audit::Finding;
use mcpkg_agents::client::connections;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::import::merge::Update;
use mcpkg_content::{ignored, source};
use mcpkg_core::op::{Confirmation, Context};
use mcpkg_store::{Store, deploys};

/// What [`apply()`] did.
#[derive(Default)]
pub(super) struct Done {
    pub(super) snapshot: Option<Uuid>,
    pub(super) written: usize,
    pub(super) connected: Vec<&'static Agent>,
    pub(super) warnings: Vec<String>,
    /// The hints about the source that was added.
    pub(super) hints: Vec<String>,
}

/// Imports the folder, deploys, and connects the agents. Files that need a person's permission are left out, unless the
/// permission is in `allowed`. An agent that cannot be connected is only a warning.
///
/// # Errors
/// `E_PLAN_CHANGED` if the folder, the source or the plan has changed since the screen was shown; the errors of the
/// import and the deploy.
pub(super) fn apply(context: &Context, wish: &Wish, found: &Found, allowed: &HashSet<String>) -> Result<Done> {
    let is_by_person = context.confirmation == Confirmation::Ask;
    let mut context = context.clone();
    if let Some(database) = context.stands_for.take() {
        context.store = Store::open(&database)?;
    }
    let context = wish.context(&context);
    let (gathered, audited) = gather(&context, wish, is_by_person)?;
    if gathered.digest()? != found.gathered.digest()? {
        return Err(changed_meanwhile());
    }
    wish.make_project(&context)?;
    let mut hints = Vec::new();
    if let (Some(source), Some(offer)) = (&wish.source, &found.offer) {
        let (mut adding, shown) = (context.clone(), offer.question.clone());
        adding.confirmation = if is_by_person { Confirmation::Ask } else { Confirmation::Given };
        adding.ask = Arc::new(move |_, question| if question == shown { Ok(()) } else { Err(changed_meanwhile()) });
        hints = source::add(source, &wish.only, &wish.plugins, &adding)?;
    }
    // No other deploy may run between this import and this deploy.
    let right = apply::begin(&context)?;
    gathered.content(false, Update::IfNewer).write(&context, &wish.folder.to_string_lossy(), audited.plan)?;
    let prepared = Prepared::again(&context, &wish.choice(), Checkouts::default())?;
    if digest(&prepared.plan) != digest(found.plan()) {
        return Err(Error::new(Code::PlanChanged, "The plan changed since it was shown, so no file was written")
            .hint("see the new plan with `mcpkg up`"));
    }
    let mut done = Done { warnings: prepared.warnings.clone(), hints, ..Done::default() };
    let Prepared { site, mut plan, hash, fingerprint, .. } = prepared;
    plan.changes.retain(|change| found.is_written(change, allowed));
    let blocks: Vec<_> = plan.changes.iter().filter(|change| adds_block(change)).map(path).collect();
    let adopted = Adopt::of_tool(false, blocks).find(&context, &site.place.root);
    if plan.is_empty() {
        context.store.write(|db| match deploys::place(db, &site.place)? {
            Some(place) => write_row_changes(db, &site.place.machine, place, &plan.row_changes),
            None => Ok(()),
        })?;
    } else {
        done.written = plan.changes.len();
        let snapshot = apply::apply(&context, &right, Work::deploy(&site, plan, &hash, adopted), |db| {
            match site.fingerprint(db)? == fingerprint {
                true => Ok(()),
                false => Err(changed_meanwhile()),
            }
        })?;
        done.snapshot = Some(snapshot);
    }
    drop(right);
    let report = found.report();
    let is_allowed = |finding: &&Finding| allowed.contains(&key_of_finding(finding));
    let accepted = report.critical().chain(found.critical()).filter(is_allowed);
    done.warnings.extend(ignored::accept(accepted, &context));
    for connection in found.to_connect() {
        match connections::connect(&context, connection.agent, &wish.folder) {
            Ok(()) => done.connected.push(connection.agent),
            Err(error) => done.warnings.push(format!("{} is not connected: {error}", connection.agent.title)),
        }
    }
    Ok(done)
}

fn path(change: &Change) -> std::path::PathBuf {
    change.path.clone()
}
