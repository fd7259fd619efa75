//! The findings of `mcpkg doctor` about the database and the selected project.

use std::path::Path;

use super::limit::tables;
use crate::op::{Context, Finding, Health};
use mcpkg_base::disk::network_of;
use mcpkg_base::error::Result;
use mcpkg_store::limits::Limits;
use mcpkg_store::projects::{self, Reason};
use mcpkg_store::{Access, check, events};

/// The largest database file, in bytes, that `doctor` checks for damage.
const QUICK: u64 = 64 << 20;

/// `doctor` suggests compacting if at least this many bytes, and at least a quarter of the file, are free.
const WORTH_COMPACTING: u64 = 16 << 20;

/// `doctor` reports an audit trail without limits if it has at least this many events.
const MANY: i64 = 1_000_000;

/// `doctor` suggests pruning if at least this many rows, in all tables together, are beyond the limits.
const WORTH_PRUNING: u64 = 10_000;

/// Checks the database file, the selected project, tables that have grown, free space and the audit log. Also reports
/// if the file is on another machine.
pub fn health(context: &Context) -> Vec<Finding> {
    let mut findings = vec![file(context), selection(context)];
    // Ignore errors here: if the database cannot be read, the finding about the file already says so.
    findings.extend(grown(context).unwrap_or_default());
    findings.extend(space(context).unwrap_or_default());
    findings.extend(network(context));
    findings.extend(super::audit_log::health(context));
    findings
}

/// Reports that many rows are beyond the limits, or that the audit trail is long and has no limits.
fn grown(context: &Context) -> Result<Option<Finding>> {
    context.store.read(|db| {
        let mut beyond = 0;
        for growing in tables(context.domains) {
            beyond += growing.count(db, context.clock.now())?;
        }
        if beyond >= WORTH_PRUNING {
            let what = format!("{beyond} rows exceed the limits");
            return Ok(Some(Finding::new("database", Health::Note, what).action("mcpkg prune")));
        }
        // Estimate the number of rows from the sequence numbers, which are assigned one by one. Counting would read all rows.
        let trail = events::newest(db)? - events::oldest(db)?;
        if trail < MANY || events::GROWING.limits(db)? != Limits::NONE {
            return Ok(None);
        }
        let what = format!("the audit trail has {trail} events, and no limit is set for the trail");
        Ok(Some(Finding::new("database", Health::Note, what).action("mcpkg limit set events --age 365d")))
    })
}

/// Reports that compacting would make the file much smaller.
fn space(context: &Context) -> Result<Option<Finding>> {
    let (free, size) = (context.store.free()?, context.store.size());
    Ok((free >= WORTH_COMPACTING && free >= size / 4).then(|| {
        let what = format!("{} MiB of the database's {} MiB are unused", free >> 20, size >> 20);
        Finding::new("database", Health::Note, what).action("mcpkg compact")
    }))
}

/// Reports that the file is on another machine.
fn network(context: &Context) -> Option<Finding> {
    let what = on_network(context.store.location().file()?)?;
    Some(Finding::new("database", Health::Note, what).action(
        "move the file to a local disk; to share the database between machines, run `mcpkg move --to postgres://...`",
    ))
}

/// Returns the warning for a database file on another machine.
pub(super) fn on_network(file: &Path) -> Option<String> {
    let kind = network_of(file)?;
    Some(format!(
        "{} is on a network file system ({kind}): locks are not reliable there, and writes from two machines can \
            damage the database",
        file.display()
    ))
}

fn file(context: &Context) -> Finding {
    if let Some(missing) = &context.stands_for {
        let what = format!("{} does not exist", missing.display());
        return Finding::new("database", Health::Note, what).action("mcpkg init");
    }
    let shown = context.store.location();
    let problem = |what: String| Finding::new("database", Health::Problem, what);
    let access = match context.store.access() {
        Ok(access) => access,
        Err(error) => return problem(error.message().to_owned()),
    };
    match access {
        Access::Writable => {}
        Access::Full => return problem(format!("{shown} is on a full disk")).action("free some space"),
        Access::ReadOnly if shown.file().is_none() => {
            return problem(format!("{shown} does not accept writes: it is a standby, or set to read-only"))
                .action("name all hosts in the address, with target_session_attrs=read-write");
        }
        Access::ReadOnly | Access::Immutable => {
            return problem(format!("{shown} is read-only")).action("make the file and its folder writable");
        }
    }
    if shown.file().and_then(|file| std::fs::metadata(file).ok()).is_some_and(|metadata| metadata.len() > QUICK) {
        return Finding::new(
            "database",
            Health::Note,
            format!("{shown} is writable; it was not checked for damage, because it is large"),
        )
        .action("mcpkg check");
    }
    match context.store.read(check::faults) {
        Ok(faults) if faults.is_empty() => Finding::new("database", Health::Ok, format!("{shown} is sound")),
        Ok(faults) => problem(format!("{shown} is damaged: {}", faults.join("; "))).action("mcpkg restore FILE"),
        Err(error) => problem(error.message().to_owned()).action("mcpkg check"),
    }
}

fn selection(context: &Context) -> Finding {
    let found = context.store.read(|db| {
        let Some(project) = projects::resolve(db, &context.selection)? else { return Ok(None) };
        Ok(Some((project.name, projects::reason(db, &context.selection)?)))
    });
    match found {
        Ok(Some((name, reason))) => {
            let why = match reason {
                Reason::Named(by) => format!("named by {by}"),
                Reason::Bound(folder) => format!("bound to {folder}"),
                Reason::Selected => "selected".to_owned(),
            };
            Finding::new("selection", Health::Ok, format!("using project '{name}' ({why})"))
        }
        Ok(None) => Finding::new("selection", Health::Note, "no project is selected, so servers have nothing to list")
            .action("mcpkg project create NAME"),
        Err(error) => Finding::new("selection", Health::Problem, error.message()).action("mcpkg project list"),
    }
}
