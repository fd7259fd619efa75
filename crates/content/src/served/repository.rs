//! Keeps a bare git repository of a project, or of all projects, in the user's cache folder.
//!
//! A request that finds the project changed updates the repository first. Requests that arrive during the update wait,
//! so there is only one update. The commit depends only on the files.
//!
//! The repository contains each project as a plugin. A plugin's version is `1.0.N`, where N is the number of the
//! project's newest event in the audit trail when the files changed. So the version rises when a change of the project
//! changes the files, and stays the same while the files do. If the files change without a newer event, for example
//! because an update of mcpkg lays them out differently, N rises beyond that number ([`number`]): agents install a
//! plugin again only if its version is new. A repository that was removed from the cache does not know its last version.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::route::Route;
use super::scope::{all_projects, project};
use crate::export::plugin::marketplace::{self, Market};
use crate::export::plugin::{Plugin, PluginFile, Wish, of_project};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::served::Item;
use mcpkg_base::git::{self, served};
use mcpkg_base::process::Limits;
use mcpkg_base::{file, hex, sha256};
use mcpkg_core::op::Context;
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, events};

/// The marketplace with all projects.
const ALL: &str = "mcpkg";

/// The beginning of each version.
const VERSION: &str = "1.0.";

const STATE: &str = "state.json";
const REPOSITORY: &str = "repository.git";

/// How long a repository may stay unused. It is then removed the next time another repository is made.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often the time of the last use is recorded.
const USED: Duration = Duration::from_secs(24 * 3600);

/// After this many new events that did not change the repository, [`State::trail`] is updated, so that requests need
/// not read these events again.
const READ: i64 = 1000;

/// The state of the projects from which the repository in a folder was made.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// The version of mcpkg that made the repository. Another version may lay out the files differently.
    made_by: String,
    /// The repository is up to date with all events up to this number.
    trail: i64,
    /// The plugins, by the UUIDs of their projects.
    plugins: BTreeMap<String, Made>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    project: String,
    /// The SHA-256 of the plugin's files, laid out without a version.
    files: String,
    version: String,
}

impl State {
    /// Reads the state in a folder. A missing or malformed file counts as an empty state, so the repository is made
    /// again.
    fn read(folder: &Path) -> Self {
        let bytes = file::read(&folder.join(STATE), file::TEXT).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let json = serde_json::to_vec(self)
            .map_err(|error| Error::internal("the state of a repository cannot be written").with_source(error))?;
        disk::replace(&folder.join(STATE), &json)
    }

    /// Returns whether this version of mcpkg made the repository from the same projects, and none of them changed
    /// since.
    fn is_of(&self, db: &Db<'_>, projects: &[Project], trail: i64) -> Result<bool> {
        if self.made_by != env!("CARGO_PKG_VERSION") || self.trail > trail || self.plugins.len() != projects.len() {
            return Ok(false);
        }
        for project in projects {
            let is_known = self.plugins.get(&project.uuid.to_string()).is_some_and(|made| made.project == project.name);
            let is_changed = self.trail < trail && events::newest_of(db, &project.name, self.trail)?.is_some();
            if !is_known || is_changed {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the repository that a request is about, and updates it first if necessary.
pub(super) fn current(context: &Context, route: &Route, limits: &Limits<'_>) -> Result<PathBuf> {
    git::required(limits)?;
    let chosen = context.store.read(|db| chosen(db, context, route))?;
    let cache = cache()?;
    let folder = cache.join(name(context, route, &chosen));
    let repository = folder.join(REPOSITORY);
    let ready = |db: &Db<'_>| {
        let (state, trail) = (State::read(&folder), events::newest(db)?);
        Ok((repository.join("HEAD").is_file() && state.is_of(db, &chosen, trail)?).then_some((state, trail)))
    };
    if let Some((state, trail)) = context.store.read(ready)? {
        note_use(context, &folder, state, trail);
        return Ok(repository);
    }
    disk::make_private(&folder)?;
    let _held = disk::hold_folder(&folder);
    if context.store.read(ready)?.is_some() {
        return Ok(repository);
    }
    make(context, route, &folder, limits)?;
    prune(context, &cache, &folder);
    Ok(repository)
}

fn chosen(db: &Db<'_>, context: &Context, route: &Route) -> Result<Vec<Project>> {
    match route.project {
        Some(_) => Ok(vec![project(db, context, route)?]),
        None => all_projects(db, &context.selection),
    }
}

/// Returns the name of a repository's folder. It differs for each database and each set of projects.
fn name(context: &Context, route: &Route, chosen: &[Project]) -> String {
    let mut text = context.store.location().to_string();
    match (&route.project, &context.selection.named) {
        (None, None) => text.push_str("\nall"),
        _ => chosen.iter().for_each(|project| text.push_str(&format!("\n{}", project.uuid))),
    }
    text.push_str(if route.project.is_some() { "\none" } else { "\nlist" });
    sha256::hex(text.as_bytes())[..32].to_owned()
}

fn make(context: &Context, route: &Route, folder: &Path, limits: &Limits<'_>) -> Result<()> {
    let before = State::read(folder);
    let (state, files) = context.store.read(|db| {
        let trail = events::newest(db)?;
        let chosen = chosen(db, context, route)?;
        let mut state = State { made_by: env!("CARGO_PKG_VERSION").to_owned(), trail, plugins: BTreeMap::new() };
        let mut plugins: Vec<Plugin> = Vec::new();
        for project in &chosen {
            let (plugin, made) = laid_out(db, project, &before, &plugins, trail)?;
            state.plugins.insert(project.uuid.to_string(), made);
            // Leave out empty projects, but not the one that a client asks for by name.
            if route.project.is_some() || !plugin.holds.is_empty() {
                plugins.push(plugin);
            }
        }
        let market = |name: &str| Market { name: name.to_owned(), owner: ALL.to_owned() };
        let files = match (&route.project, plugins.as_slice()) {
            (Some(_), [plugin]) => marketplace::of_one(plugin, &market(&plugin.about.name))?,
            _ => marketplace::of_several(&plugins, &market(ALL))?,
        };
        Ok((state, files))
    })?;
    let repository = folder.join(REPOSITORY);
    if !repository.join("HEAD").is_file() {
        disk::make_private(&repository)?;
        served::create(&repository, limits)?;
    }
    let items =
        files.iter().map(|PluginFile { path, bytes, executable }| Item { path, bytes, executable: *executable });
    served::publish(&repository, items, limits)?;
    state.write(folder)
}

/// Lays a project out as a plugin. The plugin keeps its version if its files are the same as before.
fn laid_out(db: &Db<'_>, project: &Project, before: &State, others: &[Plugin], trail: i64) -> Result<(Plugin, Made)> {
    let mut wish = Wish::default();
    let mut plugin = of_project(db, project, &wish)?;
    let is_taken = |name: &str| others.iter().any(|other| other.about.name == name);
    if is_taken(&plugin.about.name) {
        let short: String = plugin.about.name.chars().take(56).collect();
        wish.name = (2..).map(|n| format!("{}-{n}", short.trim_end_matches('-'))).find(|name| !is_taken(name));
        plugin = of_project(db, project, &wish)?;
    }
    let files = digest(&plugin.files);
    let version = match before.plugins.get(&project.uuid.to_string()) {
        Some(made) if made.files == files => made.version.clone(),
        made => {
            let newest = events::newest_of(db, &project.name, 0)?.unwrap_or(trail);
            let used = made.and_then(|made| made.version.strip_prefix(VERSION)?.parse().ok());
            format!("{VERSION}{}", number(newest, trail, used))
        }
    };
    wish.version = Some(version.clone());
    Ok((of_project(db, project, &wish)?, Made { project: project.name.clone(), files, version }))
}

/// Returns the number of a new version. `newest` is the project's newest event, `trail` the newest event of all, and
/// `used` the number of the version before. A number that was already used is never returned again.
fn number(newest: i64, trail: i64, used: Option<i64>) -> i64 {
    match used {
        Some(used) if newest <= used => trail.max(used + 1),
        _ => newest,
    }
}

fn digest(files: &[PluginFile]) -> String {
    let mut text = String::new();
    for PluginFile { path, bytes, executable } in files {
        text.push_str(&format!("{path}\0{executable}\0{}\n", hex::encode(&sha256::of(bytes))));
    }
    sha256::hex(text.as_bytes())
}

/// From time to time, records that a repository is in use, and up to which event it is up to date.
fn note_use(context: &Context, folder: &Path, state: State, trail: i64) {
    if trail - state.trail > READ || age(context, folder).is_some_and(|age| age > USED) {
        let _held = disk::hold_folder(folder);
        // Another request may have made the repository again after `state` was read.
        if State::read(folder) == state
            && let Err(error) = (State { trail, ..state }).write(folder)
        {
            tracing::debug!(%error, "cannot note that a repository is used");
        }
    }
}

/// Removes the repositories that were not used for a long time ([`UNUSED`]), except `but`.
fn prune(context: &Context, cache: &Path, but: &Path) {
    let folders = std::fs::read_dir(cache).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders.filter(|folder| folder != but) {
        if age(context, &folder).is_some_and(|age| age > UNUSED)
            && let Some(_held) = disk::lock_folder(&folder)
            && let Err(error) = std::fs::remove_dir_all(&folder)
        {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove an unused repository");
        }
    }
}

/// Returns the time since a repository was made, or since its last use was recorded.
fn age(context: &Context, folder: &Path) -> Option<Duration> {
    let used = std::fs::metadata(folder.join(STATE)).ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(u64::try_from(context.clock.now()).ok()?);
    now.checked_sub(used)
}

/// Returns the folder of all repositories, which only the user may enter.
fn cache() -> Result<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|error| {
        Error::new(Code::RootRequired, "Your cache folder is unknown, because HOME is not set")
            .hint("set HOME, or XDG_CACHE_HOME")
            .with_source(error)
    })?;
    let folder = etcetera::base_strategy::BaseStrategy::cache_dir(&strategy).join("mcpkg").join("marketplace");
    disk::make_private(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_number_is_never_used_twice() {
        assert_eq!(number(7, 9, None), 7, "the first version is the same on every server");
        assert_eq!(number(8, 9, Some(7)), 8, "a change of the project");
        assert_eq!(number(7, 7, Some(7)), 8, "only the layout changed");
        assert_eq!(number(8, 8, Some(8)), 9, "and then the project did, with the number that the layout has used");
        assert_eq!(number(7, 9, Some(7)), 9, "another project gave its name free");
        assert_eq!(number(3, 4, Some(9)), 10, "an older database was restored");
    }
}
