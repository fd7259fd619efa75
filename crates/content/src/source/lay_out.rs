//! Writes the files of a commit to a folder.
//!
//! Files are written exactly as the repository stores them: no filters, no line-ending conversion, and no Git LFS.
//! Nothing is written through a link, and no path leaves the folder.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use super::cancelled;
use super::git_output::lost;
use super::mirror::Mirror;
use super::tree::{Entry, Mode};
use crate::import::reason::{LeftOut, Reason};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::platform;
use mcpkg_core::op::Context;

/// Writes the files of `entries` below the empty folder `top`. Returns the files that could not be written.
pub fn lay_out(entries: &[Entry], mirror: &Mirror<'_>, top: &Path, context: &Context) -> Result<Vec<LeftOut>> {
    let mut left_out = Vec::new();
    let mut good = Vec::new();
    for entry in entries {
        match entry.mode {
            _ if !entry.has_good_path() => left_out.push(LeftOut::file(&entry.path, Reason::BadPath)),
            Mode::Submodule => left_out.push(LeftOut::file(&entry.path, Reason::Submodule)),
            _ => good.push(entry),
        }
    }
    // Create all folders first, then files, then links, so that nothing is written through a link.
    let mut made: Option<&str> = None;
    for entry in &good {
        let folder = entry.path.rsplit_once('/').map(|(folder, _)| folder);
        if folder != made {
            let path = top.join(folder.unwrap_or_default());
            fs::create_dir_all(&path).map_err(|error| Error::file("write", &path, error))?;
            made = folder;
        }
    }
    let total = good.len() as u64;
    let (files, links): (Vec<_>, Vec<_>) = good.into_iter().partition(|entry| entry.mode.is_file());
    mirror.read(files.iter().map(|entry| entry.object.as_str()), |at, content| {
        if context.is_cancelled() {
            return Err(cancelled());
        }
        let path = top.join(&files[at].path);
        let failed = |error| Error::file("write", &path, error);
        match create(&path, files[at].mode) {
            // The file system considers this name equal to an earlier one, for example because it ignores case.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                left_out.push(LeftOut::file(&files[at].path, Reason::BadPath));
            }
            file => drop(std::io::copy(content, &mut file.map_err(failed)?).map_err(failed)?),
        }
        (context.progress)("Reading", at as u64 + 1, total);
        Ok(())
    })?;
    let mut targets = vec![Vec::new(); links.len()];
    mirror.read(links.iter().map(|entry| entry.object.as_str()), |at, content| {
        content.take(MAX_LINK).read_to_end(&mut targets[at]).map(drop).map_err(lost)
    })?;
    for (entry, target) in links.iter().zip(targets) {
        if platform::symlink(platform::path(&target), &top.join(&entry.path)).is_err() {
            left_out.push(LeftOut::file(&entry.path, Reason::BadPath));
        }
    }
    (context.progress)("Reading", total, total);
    Ok(left_out)
}

/// The maximum length of a link's target in bytes.
const MAX_LINK: u64 = 4096;

fn create(path: &Path, mode: Mode) -> std::io::Result<fs::File> {
    let mut file = platform::create_new(path, if mode == Mode::Executable { 0o755 } else { 0o644 })?;
    file.flush()?;
    Ok(file)
}
