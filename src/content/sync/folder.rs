//! What lies in a folder that is synced.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::clock::Millis;
use crate::content::export::layout::is_safe;
use crate::content::import::item::{self, Understood};
use crate::content::import::kept::{Found, KeptFiles};
use crate::content::import::manifest::{self, Entry, Manifest, Server, What};
use crate::content::import::place::Places;
use crate::content::import::scan::{self, File, Reading};
use crate::content::import::walk::{self, Take};
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::op::Context;
use crate::store::new_content::NewContent;
use crate::store::syncs::{Base, Seen};

/// What the names of files begin with that are being written.
pub(super) const TEMPORARY: &str = ".mcpkg-";

/// An item as the folder has it.
#[derive(Clone, Debug)]
pub(super) struct There {
    /// Its name and attributes.
    pub(super) entry: Entry,
    /// Its content.
    pub(super) content: NewContent,
    /// The bytes of the file: a prompt's begin with front matter.
    pub(super) file: NewContent,
    /// Whether the file can be executed.
    pub(super) executable: bool,
    /// Whether the manifest lists it.
    pub(super) listed: bool,
}

impl There {
    /// Whether the file says more than the project has of it, such as the values of variables. What is written from the
    /// project would lose that.
    pub(super) fn says_more(&self) -> bool {
        matches!(self.entry.what, What::AgentFile { .. }) && self.content != self.file
    }
}

/// What lies in the folder.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// The items by path.
    pub(super) items: BTreeMap<String, There>,
    /// Files that are let be this time, with the reason, and as they are.
    pub(super) let_be: BTreeMap<String, (String, File)>,
    /// Paths of all that lies there and is no item.
    pub(super) others: BTreeSet<String>,
    /// The files and folders as the disk describes them.
    pub(super) seen: Vec<Seen>,
    /// When the first of them was looked at.
    pub(super) looked_at: Millis,
    /// Whether there is a manifest.
    pub(super) has_manifest: bool,
    /// What the manifest lists though no such file is there.
    pub(super) stale: Vec<String>,
    /// What killed syncs left.
    pub(super) leftovers: Vec<PathBuf>,
    /// The MCP servers, each with the file that says it.
    pub(super) found_servers: Vec<Found>,
    /// Those of them that were taken among the items, by path.
    pub(super) servers: BTreeMap<String, Found>,
    /// Those that the manifest lists.
    pub(super) listed_servers: Vec<Server>,
}

/// Returns what lies in the folder `top`, a real path. `bases` are what was there when it was last synced.
///
/// Ignore files apply, and links and special files are let be; what the manifest lists, or was synced before, is looked at in
/// any case.
///
/// # Errors
/// `E_NOT_FOUND` where the folder is gone, or nothing that was synced is in it any more; `E_FILE_FAILED`;
/// `E_INVALID_ARGUMENT` for a manifest that is malformed; `E_CANCELLED`.
pub(super) fn look(top: &Path, bases: &[Base], context: &Context) -> Result<Look> {
    let mut look = Look { looked_at: context.clock.now(), ..Look::default() };
    let manifest = Manifest::read(top)?;
    look.has_manifest = manifest.is_some();
    let (mut listed, servers) = manifest.map(|manifest| (manifest.files, manifest.servers)).unwrap_or_default();
    servers.iter().try_for_each(manifest::check_server)?;
    look.listed_servers = servers;
    let paths = look.paths(top, bases, &listed, context)?;
    look.stale = listed.keys().filter(|path| !paths.contains(*path)).cloned().collect();
    refuse_an_empty_folder(top, bases, &paths, look.has_manifest)?;
    let mut files = Vec::new();
    let (mut reading, total) = (Reading::default(), paths.len() as u64);
    for (done, relative) in (1..).zip(paths) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        // What changes while it is read is newer than this, so that the next sync reads it again.
        look.note(top, &relative, false)?;
        let (content, executable) = reading.read(&top.join(&relative))?;
        let listed = listed.remove(&relative);
        files.push(File { relative, content, executable, listed });
        (context.progress)("Reading", done, total);
    }
    look.found_servers = look.understand(files, bases)?;
    Ok(look)
}

/// Returns the failure of a sync that the user gave up before it changed anything.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The sync was given up; nothing was changed")
}

/// Refuses a folder in which nothing is left of what was synced: it is more likely another one, or not mounted.
fn refuse_an_empty_folder(top: &Path, bases: &[Base], paths: &BTreeSet<String>, has_manifest: bool) -> Result<()> {
    let mut known = bases.iter().filter(|base| base.version.is_some()).peekable();
    if has_manifest || known.peek().is_none() || known.any(|base| paths.contains(&base.path)) {
        return Ok(());
    }
    Err(Error::new(Code::NotFound, format!("Nothing of what was synced is in `{}` any more", top.display()))
        .hint("nothing was taken for deleted; is it the right folder, and is it mounted?")
        .hint("`mcpkg sync DIR --anew` fills it again, as if it had never been synced"))
}

impl Look {
    /// Returns the paths of the files that are read, and notes what else is there.
    fn paths(
        &mut self,
        top: &Path,
        bases: &[Base],
        listed: &BTreeMap<String, Entry>,
        context: &Context,
    ) -> Result<BTreeSet<String>> {
        let walked = walk::walk(top, Take::Skill)?;
        for folder in &walked.folders {
            if let Some(relative) = relative(top, folder) {
                self.note(top, &relative, true)?;
            }
        }
        let database = context.store.location().to_string();
        let mut paths = BTreeSet::new();
        for path in walked.files {
            let Some(relative) = relative(top, &path) else { continue };
            let name = relative.rsplit('/').next().unwrap_or_default();
            let is_own = relative == manifest::FILE;
            if name.starts_with(TEMPORARY) {
                self.leftovers.push(path);
            } else if !is_own && is_safe(&relative) && !scan::is_of_database(&path, &database) {
                paths.insert(relative);
            } else if is_own || !scan::is_of_database(&path, &database) {
                self.note(top, &relative, false)?;
                self.others.insert(relative);
            }
        }
        for link in walked.links {
            if let Some(relative) = relative(top, &link) {
                self.note(top, &relative, false)?;
                self.others.insert(relative);
            }
        }
        for left in walked.left_out {
            self.others.extend(relative(top, &left.path));
        }
        // What an ignore file names counts where it was synced before, or the manifest lists it.
        let known = bases.iter().map(|base| &base.path).chain(listed.keys());
        for relative in known.filter(|path| is_safe(path)).cloned().collect::<BTreeSet<String>>() {
            if !paths.contains(&relative) && is_file_below(top, &relative)? {
                self.others.remove(&relative);
                paths.insert(relative);
            }
        }
        Ok(paths)
    }

    /// Notes what the disk says of a file or folder.
    fn note(&mut self, top: &Path, relative: &str, is_folder: bool) -> Result<()> {
        let stat = disk::metadata(&top.join(relative))?.and_then(|metadata| disk::stat(&metadata));
        self.seen.extend(stat.map(|stat| Seen { path: relative.to_owned(), is_folder, stat }));
        Ok(())
    }

    /// Finds out what the files are, and returns the MCP servers that they and the manifest say. A file that was synced before
    /// keeps its name and URI, whatever came to lie beside it.
    fn understand(&mut self, files: Vec<File>, bases: &[Base]) -> Result<Vec<Found>> {
        let bases: HashMap<&str, &Base> = bases.iter().map(|base| (base.path.as_str(), base)).collect();
        let places = Places::of_export(files.iter().map(|file| file.relative.as_str()));
        let places: Vec<_> = files.iter().map(|file| places.of(&file.relative).ok()).collect();
        let mut kept = KeptFiles::default();
        kept.list(self.listed_servers.clone(), manifest::FILE);
        let Understood { items, same, left_out, clashes, kept, .. } =
            item::understand(files.iter().zip(places.iter().map(Option::as_ref)), kept)?;
        let mut found: HashMap<String, (Entry, NewContent)> =
            items.into_iter().map(|item| (item.path, (item.entry, item.content))).collect();
        let same: HashMap<String, String> = same.into_iter().collect();
        let why: HashMap<String, String> = left_out
            .into_iter()
            .map(|left| match left.reason.is_known() {
                true => (left.path, left.reason.text().to_owned()),
                false => (left.path, format!("holds {}", left.reason.text())),
            })
            .chain(clashes.into_iter().map(|clash| {
                let why = format!("wants '{}', which another file has", clash.wanted);
                (clash.path, why)
            }))
            .collect();
        for file in &files {
            let Some(twin) = same.get(&file.relative) else { continue };
            // A copy of another file is no item of its own, unless it was one before.
            let base = bases.get(file.relative.as_str()).and_then(|base| entry_of(base));
            if let (Some(base), Some((_, content))) = (base, found.get(twin).cloned()) {
                found.insert(file.relative.clone(), (base, content));
            }
        }
        for file in files {
            let File { relative, content: bytes, executable, listed } = file;
            match found.remove(&relative) {
                Some((mut entry, content)) => {
                    let base = bases.get(relative.as_str()).filter(|base| listed.is_none() && !base.listed);
                    if let Some(base) = base.and_then(|base| entry_of(base)) {
                        keep_identity(&mut entry, base);
                    }
                    let listed = listed.is_some();
                    self.items.insert(relative, There { entry, content, file: bytes, executable, listed });
                }
                None => match why.get(&relative) {
                    Some(why) => {
                        let file = File { relative: relative.clone(), content: bytes, executable, listed };
                        self.let_be.insert(relative, (why.clone(), file));
                    }
                    None => drop(self.others.insert(relative)),
                },
            }
        }
        Ok(kept.servers)
    }
}

/// Gives what a file says the name and URI that it had.
fn keep_identity(entry: &mut Entry, base: Entry) {
    match (&mut entry.what, base.what) {
        (What::Prompt(_), What::Prompt(_)) => entry.name = base.name,
        (What::Resource(attributes), What::Resource(before)) => {
            entry.name = base.name;
            attributes.uri = before.uri;
        }
        _ => {}
    }
}

/// Returns the name and attributes of a base. A row that cannot be read is as good as none: then nothing was the same.
pub(super) fn entry_of(base: &Base) -> Option<Entry> {
    serde_json::from_str(&base.version.as_ref()?.0).ok()
}

/// Whether `relative` is a file below `top`, without a link on the way.
fn is_file_below(top: &Path, relative: &str) -> Result<bool> {
    let mut path = top.to_path_buf();
    let mut parts = relative.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        let Some(metadata) = disk::metadata(&path)? else { return Ok(false) };
        let fits = if parts.peek().is_some() { metadata.is_dir() } else { metadata.is_file() };
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns a path below `top` with `/` between; `None` where it is no UTF-8.
fn relative(top: &Path, path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.strip_prefix(top).ok()?.iter().map(|part| part.to_str()).collect();
    Some(parts?.join("/"))
}
