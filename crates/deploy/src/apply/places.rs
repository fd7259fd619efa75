//! Reports in `doctor` on each source and root folder that the database lists as deployed on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::roots;
use crate::repo::identity;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_base::shell;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::deploys::{self, Deployed, Image, PlaceKey};
use mcpkg_store::{Db, projects};

const AREA: &str = "deployed";

struct Place {
    key: PlaceKey,
    /// The project's name. `None` for a config repo or a deleted project.
    project: Option<String>,
    files: Vec<Deployed>,
}

/// Reports on each deployed place. It checks only whether the deployed files exist; `mcpkg status` compares their
/// contents.
pub fn health(context: &Context) -> Vec<Finding> {
    let machine = identity::machine(None);
    // If the database cannot be read, another finding reports it.
    let places = context.store.read(|db| places(db, &machine)).unwrap_or_default();
    let look = |place: &Place| {
        look(context, place).unwrap_or_else(|error| Finding::new(AREA, Health::Problem, error.message()))
    };
    places.iter().map(look).collect()
}

fn places(db: &Db<'_>, machine: &str) -> Result<Vec<Place>> {
    let mut found = Vec::new();
    for (place, key) in deploys::places_on(db, machine)? {
        let uuid = key.source.strip_prefix("project:").and_then(|uuid| Uuid::parse_str(uuid).ok());
        let project = uuid.map_or(Ok(None), |uuid| projects::by_uuid(db, uuid))?.map(|project| project.name);
        let files = deploys::of_place(db, place)?.into_iter().filter(|file| file.applied != Image::Absent).collect();
        found.push(Place { key, project, files });
    }
    Ok(found)
}

fn look(context: &Context, place: &Place) -> Result<Finding> {
    let Place { key, project, files } = place;
    let count = plural::count(files.len(), "file");
    let root = shell::quote(&key.root);
    let (of, named) = match (project, key.origin.as_str()) {
        (Some(name), _) => (format!("project '{name}'"), format!(" --project {} --root {root}", shell::quote(name))),
        (None, "") => ("a deleted project".to_owned(), String::new()),
        (None, repo) => (format!("the config repo {repo}"), format!(" --repo {} --root {root}", shell::quote(repo))),
    };
    let what = format!("{count} of {of} below {}", key.root);
    let note = |what: String, action: String| {
        let finding = Finding::new(AREA, Health::Note, what);
        // A deleted project cannot be named in a command.
        if named.is_empty() { finding } else { finding.action(action) }
    };
    let below: BTreeSet<PathBuf> = files.iter().map(|file| PathBuf::from(&file.root)).collect();
    if !roots::unapproved(context, &below)?.is_empty() {
        let what = format!(
            "{what}, according to the database; you have never deployed there, so mcpkg did not check these files"
        );
        return Ok(Finding::new(AREA, Health::Note, what));
    }
    if !Path::new(&key.root).is_dir() {
        return Ok(note(
            format!("{what}, a folder that no longer exists"),
            format!("mcpkg rollback{named} --to pristine --forget"),
        ));
    }
    let missing = files.iter().filter(|file| Path::new(&file.path).symlink_metadata().is_err()).count();
    if missing > 0 {
        let are = if missing == 1 { "is" } else { "are" };
        return Ok(note(format!("{what}; {missing} of them {are} missing"), format!("mcpkg status{named}")));
    }
    Ok(Finding::new(AREA, Health::Ok, what))
}
