//! From paths to files: what lies there, what is ignored, where links lead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::WalkBuilder;

use super::manifest::{self, Entry, Manifest};
use super::place;
use crate::error::{Code, Error, Result};
use crate::file;
use crate::op::Context;
use crate::store::source::Source;

/// The folders that version control keeps in a working copy.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

/// A file that is to be imported.
#[derive(Debug)]
pub struct File {
    /// Where it lies below the import root, `/` between.
    pub relative: String,
    /// Its content.
    pub content: Source,
    /// Whether it can be executed.
    pub executable: bool,
    /// What the manifest says of it.
    pub listed: Option<Entry>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Scanned {
    /// By their relative path.
    pub files: Vec<File>,
    /// What people should know of it.
    pub hints: Vec<String>,
}

/// Where a file lies, before it is looked through.
struct Candidate {
    relative: String,
    listed: Option<Entry>,
}

/// Looks through the files at and below `paths`.
///
/// # Errors
/// `E_NOT_FOUND`; `E_FILE_FAILED`, also for a link that leads out of its import root; `E_INVALID_ARGUMENT` for a
/// manifest that is malformed; `E_CANCELLED`.
pub fn scan(paths: &[PathBuf], context: &Context) -> Result<Scanned> {
    let mut found = Scanned::default();
    let mut candidates = BTreeMap::new();
    for path in paths {
        gather(path, &mut candidates, &mut found.hints)?;
    }
    // The database may stand in the folder, with SQLite's files beside it.
    let database = context.store.location().to_string();
    candidates.retain(|path, _| {
        let path = path.to_string_lossy();
        path.strip_prefix(&database).is_none_or(|suffix| {
            !matches!(suffix, "" | "-wal" | "-shm" | "-journal" | ".lock" | ".serving")
                && !suffix.starts_with(".before-restore-")
                && !suffix.starts_with(".pre-v")
        })
    });

    found.files = look_through(candidates, context)?;
    Ok(found)
}

/// What npm puts beside a project's own files.
const INSTALLED: &str = "node_modules";

/// Looks through the files below one folder, by their path in it. `.gitignore` applies; what is hidden is taken, as in
/// any skill's folder.
///
/// # Errors
/// `E_NOT_FOUND`; `E_INVALID_ARGUMENT` where it is no folder; `E_FILE_FAILED`, also for a link that leads out of it;
/// `E_CANCELLED`.
pub fn folder(path: &Path, context: &Context) -> Result<Scanned> {
    let root = path.canonicalize().map_err(|error| Error::file("read", path, error))?;
    if !root.is_dir() {
        return Err(Error::new(Code::InvalidArgument, format!("`{}` is no folder", path.display())));
    }
    let mut found = Scanned::default();
    let take = Take { hidden: true, ignored: false };
    let mut files = walk(&root, &root, take, &mut found.hints)?;
    let is_in = |folder: &str, file: &Path| {
        file.strip_prefix(&root).unwrap_or(file).components().any(|part| part.as_os_str() == folder)
    };
    for folder in VERSION_CONTROL {
        if root.join(folder).exists() {
            found.hints.push(format!("left out, as version control's: {folder}"));
        }
        files.retain(|file| !is_in(folder, file));
    }
    let is_env = |file: &&PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name == ".env" || (name.starts_with(".env.") && !name.ends_with(".example"))
    };
    for file in files.iter().filter(is_env) {
        let file = relative(file, &root);
        found
            .hints
            .push(format!("`{file}` was taken, and agents can read it; a .gitignore that names it keeps it out"));
    }
    let installed = files.iter().filter(|file| is_in(INSTALLED, file)).count();
    if installed > 0 {
        let why = format!("{installed} files of `{INSTALLED}` were taken; a .gitignore that names it keeps them out");
        found.hints.push(why);
    }
    let candidate = |file: PathBuf| {
        let relative = relative(&file, &root);
        (file, Candidate { relative, listed: None })
    };
    found.files = look_through(files.into_iter().map(candidate).collect(), context)?;
    Ok(found)
}

/// Returns the files by their relative path.
fn look_through(candidates: BTreeMap<PathBuf, Candidate>, context: &Context) -> Result<Vec<File>> {
    let total = candidates.len() as u64;
    let mut files = Vec::new();
    for (done, (path, Candidate { relative, listed })) in (1..).zip(candidates) {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        let failed = |error| Error::file("read", &path, error);
        let content = Source::file(&path)?;
        let executable = is_executable(&std::fs::metadata(&path).map_err(failed)?);
        files.push(File { relative, content, executable, listed });
        (context.progress)("Importing", done, total);
    }
    files.sort_by(|a, b| a.relative.cmp(&b.relative));
    Ok(files)
}

/// Adds the files at and below `path`; one that was found before stays as it was found.
fn gather(path: &Path, candidates: &mut BTreeMap<PathBuf, Candidate>, hints: &mut Vec<String>) -> Result<()> {
    let failed = |error| Error::file("read", path, error);
    let named = absolute(path).map_err(failed)?;
    let metadata = std::fs::metadata(&named).map_err(failed)?;
    if !metadata.is_dir() && !metadata.is_file() {
        return Err(Error::new(Code::InvalidArgument, format!("`{}` is neither a file nor a folder", path.display())));
    }
    let manifest = if metadata.is_dir() { Manifest::read(&named)? } else { None };
    let is_export = manifest.is_some();
    let base = match (is_export, metadata.is_dir()) {
        (true, _) => named.clone(),
        (false, true) => place::base(&named).unwrap_or_else(|| named.clone()),
        (false, false) => place::base(&named)
            .or_else(|| named.parent().map(Path::to_path_buf))
            .ok_or_else(|| Error::internal("a file has no folder"))?,
    };
    let root = base.canonicalize().map_err(failed)?;
    stay_inside(&named, &root)?;
    for (relative, entry) in manifest.into_iter().flat_map(|manifest| manifest.files) {
        let file = named.join(&relative);
        stay_inside(&file, &root)?;
        if !file.is_file() {
            return Err(Error::new(
                Code::NotFound,
                format!("`{}` lists `{relative}`, which is no file", manifest::FILE),
            ));
        }
        candidates.entry(file).or_insert(Candidate { relative, listed: Some(entry) });
    }
    for file in walk(&named, &root, Take { hidden: is_export, ignored: is_export }, hints)? {
        if is_export && file == named.join(manifest::FILE) {
            continue;
        }
        let relative = relative(&file, &base);
        candidates.entry(file).or_insert(Candidate { relative, listed: None });
    }
    Ok(())
}

/// What is taken of a folder beside the rest. An export is read whole; elsewhere `.gitignore` applies, and what is hidden
/// is left out, such as `.env`, but for agents' folders and what lies in them.
#[derive(Clone, Copy)]
struct Take {
    hidden: bool,
    ignored: bool,
}

/// Returns the files at and below `named`.
fn walk(named: &Path, root: &Path, take: Take, hints: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let (refused, refusals) = mpsc::channel();
    let mut walk = WalkBuilder::new(named);
    walk.standard_filters(!take.ignored).hidden(false).require_git(false).follow_links(true);
    check_ignore_files(named)?;
    let (root, top) = (root.to_path_buf(), named.to_path_buf());
    walk.filter_entry(move |entry| {
        let hidden = entry.depth() > 0 && entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden && !take.hidden && !place::is_agents(entry.path().strip_prefix(&top).unwrap_or(entry.path()), &top) {
            return false;
        }
        let inside = if entry.path_is_symlink() { stay_inside(entry.path(), &root) } else { Ok(()) };
        // The other end is read below, and lives as long as this.
        inside.and_then(|()| check_ignore_files(entry.path())).map_err(|error| refused.send(error)).is_ok()
            && entry.file_name() != ".git"
    });
    let mut files = Vec::new();
    for entry in walk.build() {
        match entry {
            // What is neither file nor folder, such as a socket, has no content.
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => files.push(entry.into_path()),
            Ok(_) => {}
            Err(error) => match loop_at(&error) {
                Some(link) => {
                    hints.push(format!("`{}` leads back to a folder it lies in; it was not followed", link.display()));
                }
                None => return Err(unreadable(named, &error)),
            },
        }
    }
    match refusals.try_recv() {
        Ok(error) => Err(error),
        Err(_) => Ok(files),
    }
}

/// Refuses a folder with a named pipe or a device for an ignore file: the walker would wait for it.
fn check_ignore_files(folder: &Path) -> Result<()> {
    for name in [".gitignore", ".ignore", ".git/info/exclude", ".git/commondir"] {
        let path = folder.join(name);
        if std::fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            file::open(&path).map_err(|error| Error::file("read", &path, error))?;
        }
    }
    Ok(())
}

fn loop_at(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::WithPath { err, .. } | ignore::Error::WithDepth { err, .. } => loop_at(err),
        _ => None,
    }
}

/// Returns the failure of a folder or link at or below `named`.
fn unreadable(named: &Path, error: &ignore::Error) -> Error {
    match (error, error.io_error()) {
        (ignore::Error::WithPath { path, .. }, Some(cause)) => Error::file("read", path, cause.kind().into()),
        (ignore::Error::WithDepth { err, .. }, _) => unreadable(named, err),
        _ => Error::new(Code::FileFailed, format!("Cannot read `{}`: {error}", named.display())),
    }
}

/// Refuses a path that leads out of `root` by a link.
fn stay_inside(path: &Path, root: &Path) -> Result<()> {
    let real = path.canonicalize().map_err(|error| Error::file("follow", path, error))?;
    if real.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        Code::FileFailed,
        format!("`{}` is a link that leads out of `{}`; nothing was imported", path.display(), root.display()),
    )
    .hint("remove the link, list it in .gitignore, or import the folder that holds both"))
}

/// Returns `path` from the root of the disk, with the links above its last part resolved.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            Ok(folder.canonicalize()?.join(name))
        }
        _ => path.canonicalize(),
    }
}

fn relative(file: &Path, base: &Path) -> String {
    let below = file.strip_prefix(base).unwrap_or(file);
    below.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(unix)]
fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

/// Returns the failure of an import that the user gave up.
pub(super) fn cancelled() -> Error {
    Error::new(Code::Cancelled, "The import was given up; nothing was imported")
}
