//! Completes the names of modules, targets, snapshots and proposals in a shell.

use super::project::catalog;
use super::rollback::goal::PRISTINE;
use super::targets::Target;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::plural::count;
use mcpkg_core::op::{Name, Names, Typed};
use mcpkg_store::{proposals, snapshots};

pub(super) const MODULES: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    let modules = catalog::list(typed.db, &project)?.0;
    Ok(typed.matching(modules.into_iter().map(|module| module.id)))
});

/// Completes the names of all targets, but not the word `all`.
pub(super) const TARGETS: Names = Names::Known(|_| Target::all_names().into_iter().map(str::to_owned).collect());

/// Completes the snapshots, newest first.
pub(super) const SNAPSHOTS: Names = Names::Stored(stored);

/// Completes `pristine` (the state before the first deploy) and the snapshots.
pub(super) const GOALS: Names = Names::Stored(|typed| {
    let mut names = typed.matching([PRISTINE.to_owned()]);
    names.extend(stored(typed)?);
    Ok(names)
});

/// Completes the open proposals of the project.
pub(super) const PROPOSALS: Names = Names::Stored(|typed| {
    let Some(project) = typed.project()? else { return Ok(Vec::new()) };
    let open = proposals::list(typed.db, project.id, false)?;
    let named =
        open.into_iter().map(|proposal| Name { name: proposal.id.to_string(), about: Some(proposal.module_id) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});

fn stored(typed: &Typed<'_>) -> Result<Vec<Name>> {
    let stored = snapshots::of_place(typed.db, None)?;
    let named = stored.into_iter().map(|snapshot| Name {
        about: Some(format!(
            "{} {}, {}",
            snapshot.kind,
            rfc3339(snapshot.created_at),
            count(usize::try_from(snapshot.files).unwrap_or(usize::MAX), "file")
        )),
        name: snapshot.uuid.to_string(),
    });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
}
