//! Packs and unpacks the results of a build: files, programs and symbolic links.
//!
//! The stricter rules of packages ([`archive`](crate::package::archive)) are for archives from strangers. A build
//! result is created on this machine from the tool's workspace, so it may contain folders such as `node_modules`,
//! and links. Links are stored as text, and only the tool in its sandbox follows them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::EntryType;

use crate::package::archive::{self, MAX_MEMBER, MAX_MEMBERS, MAX_UNPACKED};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;
use mcpkg_base::platform;
use mcpkg_base::process::starter::Left;

/// The maximum length in bytes of a path or of a link's target.
const LONGEST: usize = 1_024;

/// Packs the result of a build. The same files give the same bytes.
///
/// # Errors
/// `E_TOOL_OUTPUT` if a path, a file or a link's target breaks a rule: for example, if a path leads out of the
/// folder or is below a link, or if a file is too large.
pub fn pack(left: Vec<Left>) -> Result<Vec<u8>> {
    let entries = checked(left)?;
    let failed = |error: io::Error| Error::internal("cannot pack the files of a build").with_source(error);
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::fast());
    let mut tar = tar::Builder::new(gzip);
    for (path, entry) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        match entry {
            Left::File { bytes, executable, .. } => {
                header.set_entry_type(EntryType::Regular);
                header.set_size(bytes.len() as u64);
                header.set_mode(if executable { 0o755 } else { 0o644 });
                tar.append_data(&mut header, &path, bytes.as_slice()).map_err(failed)?;
            }
            Left::Link { to, .. } => {
                header.set_entry_type(EntryType::Symlink);
                header.set_size(0);
                header.set_mode(0o777);
                tar.append_link(&mut header, &path, &to).map_err(failed)?;
            }
        }
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(failed)
}

/// Returns the files by path, if all of them are allowed.
fn checked(left: Vec<Left>) -> Result<BTreeMap<String, Left>> {
    let refused = |path: &str, why: &str| {
        let shown: String = path.chars().take(80).collect();
        Err(Error::new(Code::ToolOutput, format!("The build wrote `{}`, which {why}", shown.escape_debug())))
    };
    let mut entries = BTreeMap::new();
    for entry in left {
        let (path, length, to) = match &entry {
            Left::File { path, bytes, .. } => (path.clone(), bytes.len() as u64, ""),
            Left::Link { path, to } => (path.clone(), 0, to.as_str()),
        };
        if !stays_inside(&path) || path.len() > LONGEST || to.len() > LONGEST || to.contains('\0') {
            return refused(&path, "has a name that mcpkg cannot store");
        }
        if length > MAX_MEMBER {
            return refused(&path, &format!("is larger than {} MiB", MAX_MEMBER >> 20));
        }
        if entries.insert(path.clone(), entry).is_some() {
            return refused(&path, "appears twice");
        }
    }
    for path in entries.keys() {
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if above.into_iter().any(|above| entries.contains_key(above)) {
            return refused(path, "has a parent that is a link or a file, not a folder");
        }
    }
    Ok(entries)
}

/// Unpacks the result of a build to `folder`, which must not exist. Links are created last, so that no file is
/// written through a link.
pub fn unpack(archive: &[u8], folder: &Path) -> Result<()> {
    let entries = read(archive)?;
    archive::whole(folder, |beside| write(&entries, beside))
}

/// Reads the packed result of a build.
fn read(archive: &[u8]) -> Result<BTreeMap<String, Left>> {
    let damaged =
        |_| Error::new(Code::Damaged, "Cannot read the stored files of a build").hint("install the tool again");
    let mut entries = Vec::new();
    let most = MAX_UNPACKED + MAX_MEMBERS as u64 * 4 * 1024;
    let mut tar = tar::Archive::new(GzDecoder::new(archive).take(most));
    for entry in tar.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        match entry.header().entry_type() {
            EntryType::Regular => {
                let executable = entry.header().mode().map_err(damaged)? & 0o111 != 0;
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(damaged)?;
                entries.push(Left::File { path, bytes, executable });
            }
            EntryType::Symlink => {
                let to = entry.link_name_bytes().unwrap_or_default();
                entries.push(Left::Link { path, to: String::from_utf8_lossy(&to).into_owned() });
            }
            _ => return Err(damaged(io::ErrorKind::InvalidData.into())),
        }
    }
    checked(entries)
}

fn write(entries: &BTreeMap<String, Left>, folder: &Path) -> Result<()> {
    let failed = |error| Error::file("unpack into", folder, error);
    let make_above = |path: &Path| path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed);
    for (path, entry) in entries {
        if let Left::File { bytes, executable, .. } = entry {
            let path = folder.join(path);
            make_above(&path)?;
            let mode = if *executable { 0o555 } else { 0o444 };
            let written = platform::create_new(&path, mode).and_then(|mut file| {
                platform::set_mode(&file, mode)?;
                file.write_all(bytes)
            });
            written.map_err(failed)?;
        }
    }
    for (path, entry) in entries {
        if let Left::Link { to, .. } = entry {
            let path = folder.join(path);
            make_above(&path)?;
            platform::symlink(to, &path).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, bytes: &[u8], executable: bool) -> Left {
        Left::File { path: path.to_owned(), bytes: bytes.to_vec(), executable }
    }

    fn link(path: &str, to: &str) -> Left {
        Left::Link { path: path.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn packing_keeps_files_programs_and_links_and_ignores_their_order() {
        let long = format!("node_modules/{}index.js", "deep/".repeat(30));
        let left = || {
            vec![
                file("bin/tool", b"#!/bin/sh\n", true),
                link("node_modules/.bin/tool", "../../bin/tool"),
                file(&long, &[0, 255], false),
                link("venv/bin/python", "/usr/bin/python3"),
            ]
        };
        let bytes = pack(left()).expect("packed");
        assert_eq!(bytes, pack(left().into_iter().rev().collect()).expect("packed"));
        let folder = tempfile::tempdir().expect("a folder");
        let tree = folder.path().join("tree");
        unpack(&bytes, &tree).expect("unpacked");
        let at = |path: &str| tree.join(path);
        assert_eq!(fs::read(at(&long)).expect("a file"), [0, 255]);
        assert_eq!(platform::mode(&fs::metadata(at("bin/tool")).expect("a program")) & 0o777, 0o555);
        assert_eq!(fs::read_link(at("venv/bin/python")).expect("a link"), Path::new("/usr/bin/python3"));
        assert_eq!(fs::read(at("node_modules/.bin/tool")).expect("a link"), b"#!/bin/sh\n");
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for left in [
            vec![file("../evil", b"", false)],
            vec![file("/etc/passwd", b"", false)],
            vec![link("a", "/etc"), file("a/passwd", b"", false)],
            vec![link("a", "/etc"), link("a/b", "c")],
            vec![file("a", b"", false), file("a", b"", false)],
            vec![file("a/../b", b"", false)],
        ] {
            assert_eq!(pack(left).expect_err("refused").code(), Code::ToolOutput);
        }
    }

    #[test]
    fn a_damaged_build_result_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = pack(vec![file("a", &[7; 4096], false)]).expect("packed");
        let tree = folder.path().join("tree");
        for cut in [10, bytes.len() / 2] {
            assert!(unpack(&bytes[..cut], &tree).is_err());
        }
        assert!(unpack(b"no archive", &tree).is_err());
        assert!(!tree.exists());
    }
}
