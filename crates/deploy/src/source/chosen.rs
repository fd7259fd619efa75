//! Finds the targets that `--target all` stands for: those that the user chose for the project or for all projects.

use crate::targets::Target;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::targets::{self, Of};

/// Returns the targets of a project: those chosen for the project, else those chosen for all projects, else the
/// targets that contract 000 (agentpack) defines.
pub fn of(db: &Db<'_>, project: &Project) -> Result<Vec<Target>> {
    match targets::chosen(db, Of::Project(project.uuid))? {
        Some(names) => Ok(known(&names)),
        None => of_all(db),
    }
}

/// Returns the targets for projects that did not choose their own.
pub fn of_all(db: &Db<'_>) -> Result<Vec<Target>> {
    Ok(match targets::chosen(db, Of::All)? {
        Some(names) => known(&names),
        None => Target::of_contract().collect(),
    })
}

fn known(names: &[String]) -> Vec<Target> {
    names.iter().filter_map(|name| Target::named(name)).collect()
}
