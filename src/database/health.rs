//! What `mcpkg doctor` says of the database and of the project that applies.

use crate::op::{Context, Finding, Health};
use crate::store::projects::{self, Reason};
use crate::store::{Access, check};

/// The largest file that is read whole without being asked to.
const QUICK: u64 = 64 << 20;

/// Free bytes from which on giving them back is worth it, where they are a quarter of the file too.
const WORTH_COMPACTING: u64 = 16 << 20;

/// Looks at the file, and at which project applies.
pub fn health(context: &Context) -> Vec<Finding> {
    [Some(file(context)), space(context), Some(selection(context))].into_iter().flatten().collect()
}

fn space(context: &Context) -> Option<Finding> {
    let (free, size) = (context.store.free().ok()?, context.store.size());
    (free >= WORTH_COMPACTING && free >= size / 4).then(|| {
        let what = format!("{} MiB of the database's {} MiB are free", free >> 20, size >> 20);
        Finding::new("space", Health::Note, what).action("mcpkg compact")
    })
}

fn file(context: &Context) -> Finding {
    let shown = context.store.location();
    let problem = |what: String| Finding::new("database", Health::Problem, what);
    match context.store.access() {
        Access::Writable => {}
        Access::Full => return problem(format!("{shown} is on a full disk")).action("free some space"),
        Access::ReadOnly | Access::Immutable => {
            return problem(format!("{shown} is read-only")).action("make it writable, and its folder");
        }
    }
    if shown.file().and_then(|file| std::fs::metadata(file).ok()).is_some_and(|metadata| metadata.len() > QUICK) {
        return Finding::new("database", Health::Note, format!("{shown} can be written; it was not looked through"))
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
            Finding::new("selection", Health::Ok, format!("project '{name}' applies, {why}"))
        }
        Ok(None) => Finding::new("selection", Health::Note, "no project is selected: servers list nothing")
            .action("mcpkg project create NAME"),
        Err(error) => Finding::new("selection", Health::Problem, error.message()).action("mcpkg project list"),
    }
}
