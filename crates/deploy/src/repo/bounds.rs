//! Limits which folders a config repo may read, and reads files there.
//!
//! A config repo often comes from somebody else. mcpkg reads a path only if its real path, with all links resolved, is
//! below the repo's own folder or a folder that the user allowed. Files below these folders are opened without
//! following links.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::inside::is_gits;
use mcpkg_base::platform::{self, SYSTEM, System};

/// The maximum number of bytes read for one composition of a repo. The limit for single files is not enough, because
/// many modules may name the same folder.
const TOTAL: u64 = 256 << 20;

/// The maximum size of a module's file in bytes, because everything that is read from a repo stays in memory.
pub(super) const FILE: u64 = 64 << 20;

/// The folders that may be read.
#[derive(Debug)]
pub(super) struct Bounds {
    own: Root,
    allowed: Arc<[Root]>,
    /// How many more bytes may be read.
    left: Arc<AtomicU64>,
}

/// An open folder. Because the handle stays open, nobody can swap the folder by changing its path later.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    handle: File,
}

/// Why a path is not read.
#[derive(Debug)]
pub(super) enum Refusal {
    Missing,
    /// The path is outside the allowed folders. `link` is the first link on the way, if there is one.
    Outside {
        link: Option<PathBuf>,
        target: PathBuf,
    },
    /// The path belongs to git's own files.
    Private,
    /// The path is not a regular file or is too large. The text says which.
    Unfit(String),
    /// Reading the file would exceed the limit for one repo.
    TooMuch,
    /// The operating system reported an error.
    Failed(io::Error),
}

impl Root {
    /// Opens the folder `path` and keeps it open. `path` must not contain links.
    fn open(path: PathBuf) -> Result<Self> {
        let failed = |error| Error::file("read", &path, error);
        let handle = platform::open_root(&path).map_err(failed)?;
        if !handle.metadata().map_err(failed)?.is_dir() {
            return Err(failed(ErrorKind::NotADirectory.into()));
        }
        Ok(Self { handle, path })
    }
}

impl Bounds {
    /// Creates the bounds of the repo in `own`. The folders in `allowed` may also be read.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if an allowed folder cannot be opened; the error of the file system if `own` cannot be
    /// opened.
    pub(super) fn new(own: &Path, allowed: &[PathBuf]) -> Result<Self> {
        let real = |path: &Path| mcpkg_base::platform::real(path).map_err(|error| Error::file("read", path, error));
        let allow = |path: &PathBuf| {
            real(path).and_then(Root::open).map_err(|error| {
                let why = format!("--allow-outside `{}`: not a readable folder", path.display());
                Error::new(Code::InvalidArgument, why).with_source(error)
            })
        };
        let allowed = allowed.iter().map(allow).collect::<Result<_>>()?;
        Ok(Self { own: Root::open(real(own)?)?, allowed, left: Arc::new(AtomicU64::new(TOTAL)) })
    }

    /// Creates the bounds of a git checkout in `own`. The user's allowed folders may also be read.
    pub(super) fn of_checkout(&self, own: &Path) -> Result<Self> {
        let real = mcpkg_base::platform::real(own).map_err(|error| Error::file("read", own, error))?;
        Ok(Self { own: Root::open(real)?, allowed: Arc::clone(&self.allowed), left: Arc::clone(&self.left) })
    }

    /// Returns the repo's own folder, with links resolved.
    pub(super) fn own(&self) -> &Path {
        &self.own.path
    }

    /// Resets the number of bytes that may still be read.
    pub(super) fn begin(&self) {
        self.left.store(TOTAL, Ordering::Relaxed);
    }

    /// Whether the user allowed any folder outside the repo.
    pub(super) fn has_allowed(&self) -> bool {
        !self.allowed.is_empty()
    }

    /// Whether the real path `path` is in a folder that the user allowed.
    pub(super) fn allows(&self, path: &Path) -> bool {
        self.allowed.iter().any(|root| path.strip_prefix(&root.path).is_ok_and(|below| !is_private(below)))
    }

    /// Returns the real path of `path` and its metadata. Fails if these bounds do not allow reading it.
    pub(super) fn real(&self, path: &Path) -> Result<(PathBuf, Metadata), Refusal> {
        if let Some(looked) = self.without_links(path) {
            return Ok(looked);
        }
        let real = mcpkg_base::platform::real(path)?;
        match real.strip_prefix(&self.own.path) {
            _ if self.allows(&real) => {}
            Ok(below) if is_private(below) => return Err(Refusal::Private),
            Ok(_) => {}
            Err(_) => return Err(Refusal::Outside { link: first_link(&self.own.path, path), target: real }),
        }
        let metadata = fs::symlink_metadata(&real)?;
        Ok((real, metadata))
    }

    /// Looks up a path in the repo that contains no links. Returns `None` if the path needs the slower lookup. Most
    /// paths have no links, and this lookup does not check the folders above the repo again for each file.
    fn without_links(&self, path: &Path) -> Option<(PathBuf, Metadata)> {
        // On systems other than Linux, a folder may have several names. A path that ends with a slash must be a folder.
        if SYSTEM != System::Linux || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return None;
        }
        let (mut at, mut looked) = (self.own.path.clone(), None);
        for part in path.strip_prefix(&self.own.path).ok()?.components() {
            let Component::Normal(name) = part else { return None };
            if is_gits(&name.to_string_lossy()) {
                return None;
            }
            at.push(name);
            looked = Some(fs::symlink_metadata(&at).ok().filter(|metadata| !metadata.is_symlink())?);
        }
        Some((at, looked?))
    }

    /// Reads the file `path`, or the file that it links to, if these bounds allow it.
    pub(super) fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, Refusal> {
        let (real, metadata) = self.real(path)?;
        // Check the file type first: opening a device may already have an effect.
        file::check_kind(&metadata).map_err(Refusal::unfit)?;
        self.read_real(&real, limit).map(|(bytes, _)| bytes)
    }

    /// Reads a file at or below a path that [`Bounds::real`] returned. If the path has been replaced by a link since,
    /// the link is not followed.
    pub(super) fn read_real(&self, real: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), Refusal> {
        let of = |root: &&Root| real.starts_with(&root.path);
        let root = std::iter::once(&self.own).chain(self.allowed.iter()).find(of).ok_or(Refusal::Missing)?;
        let below = real.strip_prefix(&root.path).map_err(|_| Refusal::Missing)?;
        let opened = platform::open_below(&root.handle, &root.path, below)?;
        let metadata = opened.metadata()?;
        file::check_kind(&metadata).and_then(|()| file::check_size(metadata.len(), limit)).map_err(Refusal::unfit)?;
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(metadata.len()))
            .map_err(|_| Refusal::TooMuch)?;
        Ok((file::read_sized(opened, metadata.len(), limit).map_err(Refusal::unfit)?, metadata))
    }
}

/// Whether a path leads to git's own files, which may contain credentials.
fn is_private(below: &Path) -> bool {
    below.components().any(|part| is_gits(&part.as_os_str().to_string_lossy()))
}

/// Returns the first link in `path` below `root`.
fn first_link(root: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(root).ok()?;
    let mut at = root.to_path_buf();
    for part in below {
        at.push(part);
        if at.is_symlink() {
            return Some(at);
        }
    }
    None
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Refusal::Missing,
            _ => Refusal::Failed(error),
        }
    }
}

impl Refusal {
    /// Converts an error of [`mcpkg_base::file`]. The kinds matched first mean that the file is unfit; every other kind
    /// comes from the operating system.
    fn unfit(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::IsADirectory | ErrorKind::Unsupported | ErrorKind::FileTooLarge => {
                Refusal::Unfit(error.to_string().trim_start_matches("it ").to_owned())
            }
            _ => Refusal::Failed(error),
        }
    }

    /// Returns the error for `path`. `refuse` builds it from the reason. If the path is outside the repo, a hint says
    /// how to allow it.
    pub(super) fn error(self, path: &Path, refuse: impl FnOnce(&str) -> Error) -> Error {
        match self {
            Refusal::Failed(error) => Error::file("read", path, error),
            Refusal::Missing => refuse("does not exist"),
            Refusal::Private => refuse("is inside `.git`, which belongs to git"),
            Refusal::Unfit(why) => refuse(&why),
            Refusal::TooMuch => refuse(&format!("exceeds the config repo's size limit of {} MiB", TOTAL >> 20)),
            Refusal::Outside { link: None, target } => {
                allowable(refuse("is outside the config repo; a config repo can only read its own files"), &target)
            }
            Refusal::Outside { link: Some(link), target } => {
                let to = target.display();
                let why = match link == path {
                    true => format!("is a link to `{to}`, outside the config repo"),
                    false => format!("is below `{}`, a link to `{to}`, outside the config repo", link.display()),
                };
                allowable(refuse(&why), &target)
            }
        }
    }
}

/// Adds a hint on how to allow the path `target`.
pub(super) fn allowable(error: Error, target: &Path) -> Error {
    let folder = if target.is_dir() { target } else { target.parent().unwrap_or(target) };
    let folder = mcpkg_base::shell::quote(&folder.to_string_lossy());
    error.hint(format!("to allow this, pass --allow-outside {folder}"))
}
