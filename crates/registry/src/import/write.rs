//! Writes the plan of an import, completely or not at all.

use super::plan::{Package, Plan};
use crate::backend::approval::Use;
use crate::config;
use crate::installed::place::{Arrival, Bytes, place};
use crate::trust::Policy;
use crate::trust::records::{self, Record};
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::tools::{aliases, env, registries, toolsets, trust};

/// Writes a plan. First records the user's approvals outside of the database, then writes all rows in one transaction.
/// If the transaction fails, nothing is imported, and the new approvals are withdrawn, except the approval of the
/// registry.
pub fn write(context: &Context, plan: &Plan, from: &str) -> Result<()> {
    let mut kept: Vec<Record<'_>> = Vec::new();
    let recorded = keep(context, plan, &mut kept);
    let written = recorded.and_then(|()| {
        let author = context.author();
        context.store.write(|db| {
            rows(context, db, plan)?;
            context.event(db, author, None, "tool.import", from)
        })
    });
    if written.is_err() {
        for record in kept {
            record.withdraw(context)?;
        }
    }
    written
}

/// Records the user's approvals. Adds the new ones to `kept`, except the approval of the registry.
fn keep<'p>(context: &Context, plan: &'p Plan, kept: &mut Vec<Record<'p>>) -> Result<()> {
    for record in plan.trusted.iter().chain(&plan.reduced).map(Record::Identity) {
        if !record.is_kept(context)? {
            record.keep_from(context, &plan.config)?;
            kept.push(record);
        }
    }
    if let Some(record) = plan.policy.filter(|policy| *policy == Policy::Allow).map(Record::Policy)
        && !record.is_kept(context)?
    {
        record.keep(context)?;
        kept.push(record);
    }
    // If the transaction fails, this approval may stay: without the registry's row, mcpkg never contacts the registry.
    plan.registry.as_ref().map_or(Ok(()), |place| Use(place).approve(context))
}

fn rows(context: &Context, db: &Db<'_>, plan: &Plan) -> Result<()> {
    let author = context.author();
    for package in &plan.packages {
        install(context, db, package)?;
    }
    for (alias, tool) in &plan.aliases {
        aliases::set(db, alias, tool)?;
    }
    for (name, tools) in &plan.toolsets {
        let id = toolsets::create(db, name, author.now)?;
        for tool in tools {
            toolsets::add(db, id, tool)?;
        }
        if plan.active.as_ref() == Some(name) {
            toolsets::activate(db, Some(id))?;
        }
    }
    for (name, tools) in &plan.added {
        let set = toolsets::get(db, name)?;
        for tool in tools {
            toolsets::add(db, set.id, tool)?;
        }
    }
    for (name, tools) in &plan.taken_out {
        let set = toolsets::get(db, name)?;
        for tool in tools {
            toolsets::take_out(db, set.id, tool)?;
        }
    }
    if let Some(follow) = &plan.follow {
        toolsets::follow(db, follow.wanted.as_deref())?;
    }
    if let Some(place) = &plan.registry {
        registries::insert(db, place, author.now)?;
    }
    for (key, text) in &plan.settings {
        config::set(db, *key, text)?;
    }
    for variable in &plan.variables {
        env::set(db, variable)?;
    }
    for row in plan.trusted.iter().chain(&plan.reduced) {
        trust::add(db, row)?;
    }
    if !plan.withdrawn.is_empty() {
        // The rows of identities that are no longer trusted stay, since their failed audits still count.
        trust::raise_epoch(db)?;
    }
    if let Some(policy) = plan.policy {
        trust::set_policy(db, policy.word())?;
    }
    if let Some(minimum) = plan.minimum {
        trust::set_minimum(db, minimum)?;
    }
    Ok(())
}

/// Stores an archive and installs it. No trusted identity vouches for it, so the trust policy decides whenever it is
/// used.
fn install(context: &Context, db: &Db<'_>, package: &Package) -> Result<()> {
    let author = context.author();
    let (arrived, opened) = (&package.package, &package.package.opened);
    let arrival = Arrival {
        subject: &arrived.subject,
        manifest: &opened.manifest,
        raw_manifest: &opened.raw_manifest,
        archive: Bytes::Here(&opened.content),
        release: &arrived.without_registry(author.now),
        publisher: None,
    };
    place(db, &package.scope, &arrival, author).map(drop)
}

/// Withdraws the approvals that the plan ends. Call it before the plan is written, so that they are gone even if
/// writing fails.
pub fn tighten(context: &Context, plan: &Plan) -> Result<()> {
    for row in &plan.withdrawn {
        Record::Identity(row).end_from(context, &plan.config)?;
    }
    let before = context.store.read(|db| records::policy(db, context))?.0;
    match plan.policy {
        Some(policy) if before.is_looser_than(policy) => Record::Policy(before).withdraw(context),
        _ => Ok(()),
    }
}
