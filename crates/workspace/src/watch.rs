//! Watches the files that resources depend on, and signals when their contents may have changed.
//!
//! It watches the manifest, the git folder of each repository with its refs and worktrees, the trees of specs, and the folder of
//! worktrees, but no other files in work trees. This is the only module that uses the `notify` crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::lock;
use super::names::OWN;
use super::root::{self, Workspace};
use mcpkg_base::git;
use mcpkg_base::platform;
use mcpkg_core::op::{Context, Finding, Health, Ring, Watching};

/// Files in git's folder that no resource depends on, such as the markers of running commands.
const SILENT: [&str; 4] = ["FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "gc.pid"];

/// Starts watching the workspace of a call.
pub(super) fn watch(context: &Context, ring: Ring) -> Box<dyn Watching> {
    let mut watch = Watch::new(ring);
    watch.follow(context);
    Box::new(watch)
}

/// Warns in `mcpkg doctor` if the system cannot watch the workspace.
pub(super) fn health(context: &Context) -> Vec<Finding> {
    if root::find(&root::start(&context.selection)).is_none() {
        return Vec::new();
    }
    let mut watch = Watch::new(Arc::new(|| {}));
    watch.cover(context);
    let Some(why) = watch.lacks else { return Vec::new() };
    let what = format!("cannot watch the workspace's files: {why}; servers check them every few seconds instead");
    vec![Finding::new("workspace", Health::Note, what)]
}

struct Watch {
    watcher: Option<RecommendedWatcher>,
    /// The watches registered with the system.
    watched: BTreeMap<PathBuf, Depth>,
    places: Arc<Mutex<Places>>,
    /// The reason why some files are not watched.
    lacks: Option<String>,
    /// The last reason that was logged.
    logged: Option<String>,
}

/// The part of a folder that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// The entries of the folder itself.
    Folder,
    /// All files below the folder.
    Tree,
    /// Only the arrival of certain entries: see [`Places::missing`].
    Arrivals,
}

/// The places where a change triggers a signal.
#[derive(Debug, Default)]
struct Places {
    folders: BTreeMap<PathBuf, Depth>,
    /// Paths that do not exist yet; their creation triggers a signal.
    missing: BTreeSet<PathBuf>,
    /// Watched paths that were removed. A new folder at the same path is not watched yet.
    gone: BTreeSet<PathBuf>,
}

impl Places {
    /// Watches a folder. If the folder does not exist, watches for its creation.
    fn add(&mut self, folder: PathBuf, depth: Depth) {
        if folder.is_dir() {
            self.put(folder, depth);
        } else if let Some(above) = folder.ancestors().skip(1).find(|above| above.is_dir()) {
            // Wait for the first missing part of the path.
            let arrives = folder.strip_prefix(above).ok().and_then(|below| below.iter().next());
            self.missing.extend(arrives.map(|name| above.join(name)));
            self.put(above.to_owned(), Depth::Arrivals);
        }
    }

    fn put(&mut self, folder: PathBuf, depth: Depth) {
        let known = self.folders.entry(folder).or_insert(depth);
        *known = match (*known, depth) {
            (Depth::Tree, _) | (_, Depth::Tree) => Depth::Tree,
            (Depth::Folder, _) | (_, Depth::Folder) => Depth::Folder,
            (Depth::Arrivals, Depth::Arrivals) => Depth::Arrivals,
        };
    }

    /// Returns whether a change to this path may affect a resource.
    fn concerns(&self, path: &Path) -> bool {
        if self.missing.contains(path) || self.folders.get(path).is_some_and(|depth| *depth != Depth::Arrivals) {
            return true;
        }
        let is_silent = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| SILENT.contains(&name));
        if is_silent || path.extension().is_some_and(|extension| extension == "lock") {
            return false;
        }
        let mut above = path.ancestors().skip(1);
        let in_folder = above.next().and_then(|folder| self.folders.get(folder));
        in_folder.is_some_and(|depth| *depth != Depth::Arrivals)
            || above.any(|folder| self.folders.get(folder) == Some(&Depth::Tree))
    }

    /// Processes an event; returns whether it triggers a signal.
    fn take(&mut self, event: &Event) -> bool {
        match event.kind {
            EventKind::Access(_) => return false,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => {
                let gone: Vec<_> =
                    event.paths.iter().filter(|path| self.folders.contains_key(*path)).cloned().collect();
                self.gone.extend(gone);
            }
            _ => {}
        }
        // An event without a path means that the system has lost events.
        event.need_rescan() || event.paths.is_empty() || event.paths.iter().any(|path| self.concerns(path))
    }
}

impl Watch {
    fn new(ring: Ring) -> Self {
        let places = Arc::<Mutex<Places>>::default();
        let handler = {
            let places = Arc::clone(&places);
            move |event: notify::Result<Event>| match event {
                Ok(event) if !lock(&places).take(&event) => {}
                Ok(_) => ring(),
                Err(error) => {
                    tracing::warn!(%error, "the workspace's files could not be watched");
                    ring();
                }
            }
        };
        let watcher = RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false));
        let mut watch = Self { watcher: None, watched: BTreeMap::new(), places, lacks: None, logged: None };
        match watcher {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.lack(error.to_string()),
        }
        watch
    }

    /// Stores the first reason why some files are not watched.
    fn lack(&mut self, why: String) {
        self.lacks.get_or_insert(why);
    }

    /// Watches the files of the workspace, as it is now.
    fn cover(&mut self, context: &Context) {
        let wanted = places(context);
        let gone = {
            let mut places = lock(&self.places);
            let gone = std::mem::take(&mut places.gone);
            places.folders.clone_from(&wanted.folders);
            places.missing.clone_from(&wanted.missing);
            gone
        };
        self.lacks = self.lacks.take().filter(|_| self.watcher.is_none());
        if let Some(kind) = wanted.folders.keys().find_map(|folder| remote(folder)) {
            self.lack(format!("the files are on {kind}"));
        }
        let Some(mut watcher) = self.watcher.take() else { return };
        let stale = |(folder, depth): (&PathBuf, &Depth)| {
            let stays = wanted.folders.get(folder).is_some_and(|wanted| wanted.is_tree() == depth.is_tree());
            (!stays || gone.contains(folder)).then(|| folder.clone())
        };
        let stale: Vec<PathBuf> = self.watched.iter().filter_map(stale).collect();
        for folder in stale {
            // The folder may be gone, in which case its watch is gone too.
            let _ = watcher.unwatch(&folder);
            self.watched.remove(&folder);
        }
        for (folder, depth) in wanted.folders {
            if self.watched.contains_key(&folder) {
                continue;
            }
            let mode = if depth.is_tree() { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            match watcher.watch(&folder, mode) {
                Ok(()) => drop(self.watched.insert(folder, depth)),
                // The folder has just been removed. The event for its removal triggers the signal.
                Err(error) if matches!(error.kind, notify::ErrorKind::PathNotFound) => {}
                Err(error) => self.lack(error.to_string()),
            }
        }
        self.watcher = Some(watcher);
    }
}

impl Watching for Watch {
    fn follow(&mut self, context: &Context) {
        self.cover(context);
        if self.logged != self.lacks {
            if let Some(why) = &self.lacks {
                tracing::warn!(why, "cannot watch the workspace's files; checking them every few seconds instead");
            }
            self.logged.clone_from(&self.lacks);
        }
    }

    fn is_settled(&self, context: &Context) -> bool {
        let root = root::find(&root::start(&context.selection));
        root.is_none_or(|root| lock::holder(&root).is_none())
    }

    fn is_complete(&self) -> bool {
        self.lacks.is_none()
    }
}

impl Depth {
    fn is_tree(self) -> bool {
        self == Depth::Tree
    }
}

/// Returns the places to watch for a workspace. If there is no manifest, only watches for its creation.
fn places(context: &Context) -> Places {
    let mut places = Places::default();
    let start = root::start(&context.selection);
    let Some(root) = root::find(&start) else {
        if let Ok(start) = mcpkg_base::platform::real(&start) {
            places.add(start.join(root::MANIFEST), Depth::Folder);
        }
        return places;
    };
    places.add(root.join(OWN), Depth::Folder);
    // Reading a resource already reports an invalid manifest. Watching the manifest is enough to notice a fix.
    let Ok(workspace) = Workspace::read(&root) else { return places };
    let manifest = &workspace.manifest;
    let specs = |places: &mut Places, folder: &Path| {
        places.add(folder.join(&manifest.spec.openspec_dir), Depth::Tree);
    };
    specs(&mut places, &root);
    for repo in &manifest.repos {
        let Ok(folder) = workspace.folder(repo) else { continue };
        let (Some(own), Some(common)) = (git::own_folder(&folder), git::folder(&folder)) else {
            places.add(folder.join(".git"), Depth::Folder);
            continue;
        };
        specs(&mut places, &folder);
        for below in ["refs", "reftable", "worktrees"] {
            let tree = common.join(below);
            if tree.is_dir() {
                places.add(tree, Depth::Tree);
            }
        }
        places.add(own, Depth::Folder);
        places.add(common, Depth::Folder);
    }
    if let Ok(base) = workspace.below(&manifest.worktree.base_dir) {
        let sets = base.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
        sets.filter(|set| set.is_dir()).for_each(|set| places.add(set, Depth::Folder));
        places.add(base, Depth::Folder);
    }
    places
}

/// Returns the name of a file system that another machine or program can change without this system noticing; `None`
/// for others. mcpkg only recognizes such file systems on Linux.
fn remote(folder: &Path) -> Option<&'static str> {
    match platform::file_system(folder)? {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("a Windows share"),
        0x0102_1997 => Some("9P"),
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, CreateKind, RemoveKind};

    use super::*;

    fn event(kind: EventKind, path: &Path) -> Event {
        Event::new(kind).add_path(path.to_owned())
    }

    #[test]
    fn only_relevant_changes_count() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        std::fs::create_dir_all(git.join("refs/heads")).unwrap();
        let mut places = Places::default();
        places.add(git.clone(), Depth::Folder);
        places.add(git.join("refs"), Depth::Tree);
        places.add(folder.path().join("openspec"), Depth::Tree);
        let created = EventKind::Create(CreateKind::File);
        for rings in [".git/HEAD", ".git/refs/heads/feature/x", ".git/index", "openspec"] {
            assert!(places.take(&event(created, &folder.path().join(rings))), "{rings}");
        }
        for silent in [".git/index.lock", ".git/FETCH_HEAD", ".git/objects/aa/bb", "README.md", "src/main.rs"] {
            assert!(!places.take(&event(created, &folder.path().join(silent))), "{silent}");
        }
        assert!(!places.take(&event(EventKind::Access(AccessKind::Any), &git.join("HEAD"))));
        assert!(places.gone.is_empty());
        let removed = EventKind::Remove(RemoveKind::Folder);
        assert!(places.take(&event(removed, &git.join("refs"))));
        assert_eq!(places.gone, BTreeSet::from([git.join("refs")]));
    }

    #[test]
    fn the_first_missing_part_of_a_path_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let mut places = Places::default();
        places.add(folder.path().join(".smctl/workspace.toml"), Depth::Folder);
        assert_eq!(places.missing, BTreeSet::from([folder.path().join(".smctl")]));
        assert_eq!(places.folders.get(folder.path()), Some(&Depth::Arrivals));
        places.put(folder.path().to_owned(), Depth::Folder);
        assert_eq!(places.folders.get(folder.path()), Some(&Depth::Folder), "what is more stays");
    }
}
