//! Resolves symbolic links within an import.

use std::path::{Path, PathBuf};

use crate::import::find::walk::{self, Take};
use crate::import::paths::entered::VERSION_CONTROL;
use crate::import::reason::Reason;
use mcpkg_base::error::{Error, Result};

/// How deep links to folders may be nested. Deeper links are not followed.
const MAX_DEPTH: usize = 4;

/// The target of a link.
pub enum End {
    /// A file, by its real path.
    File(PathBuf),
    /// A folder, by its real path.
    Folder(PathBuf),
    /// Nothing that can be imported, for this reason.
    None(Reason),
}

/// Resolves a link. Only a target below `root` can be imported. `root` must be a real path.
pub fn follow(link: &Path, root: &Path) -> Result<End> {
    let real = match mcpkg_base::platform::real(link) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(End::None(Reason::LinkBroken)),
        // For example, a link to itself, or a path that treats a file as a folder.
        Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => return Ok(End::None(Reason::LinkBroken)),
        Err(_) => return Ok(End::None(Reason::Unreadable)),
    };
    if !real.starts_with(root) {
        return Ok(End::None(Reason::LinkOut));
    }
    if real.components().any(|part| VERSION_CONTROL.iter().any(|name| part.as_os_str() == *name)) {
        return Ok(End::None(Reason::VersionControl));
    }
    let metadata = std::fs::metadata(&real).map_err(|error| Error::file("follow", link, error))?;
    if metadata.is_file() {
        return Ok(End::File(real));
    }
    if !metadata.is_dir() {
        return Ok(End::None(Reason::Special));
    }
    if std::fs::read_dir(&real).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        return Ok(End::None(Reason::Unreadable));
    }
    let lies_in = link.parent().and_then(|folder| mcpkg_base::platform::real(folder).ok());
    if lies_in.is_some_and(|folder| folder.starts_with(&real)) {
        return Ok(End::None(Reason::LinkLoop));
    }
    Ok(End::Folder(real))
}

/// Resolves the link at `path` from its text alone, without looking at the disk. Paths are relative to the root. `None`
/// if the text is absolute or contains a backslash, or if the link leads to the root itself or out of it.
pub fn end(path: &str, text: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in text.split('/') {
        match part {
            "" if parts.is_empty() && text.starts_with('/') => return None,
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let leads_on = !text.starts_with('/') && !text.contains('\\') && !parts.is_empty();
    leads_on.then(|| parts.join("/"))
}

/// Returns the text of a link, if the link stays below the root. `path` is the link's path relative to the root.
pub fn text(link: &Path, path: &str) -> Option<String> {
    let text = std::fs::read_link(link).ok()?.to_str()?.to_owned();
    end(path, &text).map(|_| text)
}

pub struct Behind {
    pub shown: PathBuf,
    pub real: PathBuf,
}

#[derive(Default)]
pub struct Reached {
    /// The files in the folder, and those behind further links in it.
    pub files: Vec<Behind>,
    /// Links without a usable target and folders that cannot be read, with the reasons.
    pub dead: Vec<(PathBuf, Reason)>,
}

/// Returns the files in the folder `real`, each with the path that leads through the link.
pub fn behind(link: &Path, real: &Path, root: &Path, take: Take) -> Result<Reached> {
    let mut reached = Reached::default();
    reached.gather(link, real, root, take, &mut vec![real.to_path_buf()])?;
    Ok(reached)
}

impl Reached {
    fn gather(&mut self, link: &Path, real: &Path, root: &Path, take: Take, above: &mut Vec<PathBuf>) -> Result<()> {
        let walked = walk::walk(real, take)?;
        let shown = |path: &Path| link.join(path.strip_prefix(real).unwrap_or(path));
        self.files.extend(walked.files.into_iter().map(|path| Behind { shown: shown(&path), real: path }));
        let unreadable = walked.left_out.into_iter().filter(|left| left.reason == Reason::Unreadable);
        self.dead.extend(unreadable.map(|left| (shown(&left.path), left.reason)));
        for path in walked.links {
            match follow(&path, root)? {
                End::File(end) => self.files.push(Behind { shown: shown(&path), real: end }),
                End::Folder(end) if above.contains(&end) || above.len() >= MAX_DEPTH => {
                    self.dead.push((shown(&path), Reason::LinkLoop));
                }
                End::Folder(end) => {
                    above.push(end.clone());
                    self.gather(&shown(&path), &end, root, take, above)?;
                    above.pop();
                }
                End::None(reason) => self.dead.push((shown(&path), reason)),
            }
        }
        Ok(())
    }
}
