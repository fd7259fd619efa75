//! Finds the projects that a request is about.

use super::route::Route;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Project, Selection};

/// Returns the project that a request is about. If the access key is for another project, the answer is the same as for
/// a missing project.
pub(super) fn project(db: &Db<'_>, context: &Context, route: &Route) -> Result<Project> {
    let Some(name) = &route.project else { return projects::require(db, &context.selection) };
    match &context.selection.named {
        Some(only) if only != name => Err(missing(name)),
        _ => projects::get(db, name).map_err(|error| match error.code() {
            Code::NotFound => missing(name),
            _ => error,
        }),
    }
}

fn missing(name: &str) -> Error {
    Error::new(Code::NotFound, format!("Project '{name}' does not exist on this server"))
}

/// Returns all projects that the request may read, by name.
pub(super) fn all_projects(db: &Db<'_>, selection: &Selection) -> Result<Vec<Project>> {
    match &selection.named {
        Some(only) => Ok(vec![projects::get(db, only)?]),
        None => {
            let listed = projects::list(db, &Page::all())?;
            Ok(listed.rows.into_iter().map(|summary| summary.project).collect())
        }
    }
}
