//! Packs a folder into an archive.

use std::path::Path;

use flate2::{Compression, GzBuilder};

use super::left_out::{self, FolderContents, Source};
use super::names::{self, Names};
use super::read::{MAX_MEMBER, MAX_MEMBERS, MAX_UNPACKED};
use super::rule::{Rule, refused};
use super::{Contents, Opened, open};
use crate::package::manifest;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;

/// The value of gzip's OS field for "unknown", so that archives do not depend on the system.
const NO_SYSTEM: u8 = 255;

#[derive(Debug)]
pub struct Packed {
    /// The archive, parsed again just as a receiver would.
    pub opened: Opened,
    /// The files and folders that were left out, by their path in the package.
    pub left_out: Vec<String>,
}

/// Packs the package in a folder. The same files always give the same bytes: members are sorted, times and owners
/// are left out, and modes only say whether a file is executable.
///
/// # Errors
/// `E_MANIFEST_INVALID`, also if the version is missing or the name has only one segment; `E_ARCHIVE_INVALID` if
/// the folder contains a file that archives must not contain.
pub fn pack(folder: &Path) -> Result<Packed> {
    manifest::of_folder(folder)?.manifest()?.published("packed")?;
    let FolderContents { files, left_out } = files_to_pack(folder)?;
    let failed = |error| Error::file("pack", folder, error);
    let gzip = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM).write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for source in files {
        let bytes = bytes_of(&source)?;
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(if source.executable { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, &source.path, bytes.as_slice()).map_err(failed)?;
    }
    let bytes = tar.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(failed)?;
    Ok(Packed { opened: open(bytes.into())?, left_out })
}

/// Reads the files that would be packed.
pub fn contents_of(folder: &Path) -> Result<Contents> {
    let read = |source: Source| Ok((source.path.clone(), bytes_of(&source)?.into()));
    files_to_pack(folder)?.files.into_iter().map(read).collect()
}

fn bytes_of(source: &Source) -> Result<Vec<u8>> {
    file::read(&source.on_disk, MAX_MEMBER).map_err(|error| Error::file("read", &source.on_disk, error))
}

/// Returns the files to pack, if an archive may contain all of them.
fn files_to_pack(folder: &Path) -> Result<FolderContents> {
    let found = left_out::walk(folder)?;
    let files = &found.files;
    let mut names = Names::default();
    let mut size: u64 = 0;
    for file in files {
        names.add(names::check(file.path.as_bytes())?, false)?;
        size = size.saturating_add(file.size);
        if file.size > MAX_MEMBER {
            return Err(refused(Rule::MemberSize, &file.path, format!("is larger than {} MiB", MAX_MEMBER >> 20)));
        }
    }
    if files.len() > MAX_MEMBERS {
        return Err(refused(Rule::Members, "", format!("it has more than {MAX_MEMBERS} files")));
    }
    if size > MAX_UNPACKED {
        return Err(refused(Rule::UnpackedSize, "", format!("it is larger than {} MiB", MAX_UNPACKED >> 20)));
    }
    Ok(found)
}
