//! Packs, reads and unpacks archives: `bundle.tar.gz`, with paths relative to the package. The same files always
//! give the same bytes.
//!
//! An archive is read as a stream; [`Rule`] lists what is refused. An unpacked folder appears only after the whole
//! archive was read.

mod left_out;
mod names;
mod pack;
mod read;
mod rule;
#[cfg(test)]
mod tests;
mod unpack;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::manifest::{self, FILES, MAX_FILE, Manifest};
use mcpkg_base::error::Result;
use mcpkg_base::sha256::Sha;
use mcpkg_store::blobs::NewContent;

pub use pack::{Packed, contents_of, pack};
pub use read::{MAX_MEMBER, MAX_MEMBERS, MAX_PACKED, MAX_RATIO, MAX_UNPACKED, Member};
pub use rule::Rule;
pub use unpack::PREFIX as UNPACKING;

/// An archive that was read completely and breaks no rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The manifest, which has a version and a name that registries accept.
    pub manifest: Manifest,
    /// The manifest file's text.
    pub raw_manifest: String,
    /// The files, in archive order.
    pub members: Vec<Member>,
    pub sha256: Sha,
    pub content: NewContent,
}

/// The contents of a package's files, by path.
pub type Contents = BTreeMap<String, Arc<[u8]>>;

/// Reads all files of an archive into memory.
///
/// # Errors
/// `E_ARCHIVE_INVALID` if it breaks a rule.
pub fn contents(archive: &NewContent) -> Result<Contents> {
    let mut files = Contents::new();
    read::each(archive.reader(), archive.size(), &mut |member, content| {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(|error| rule::malformed(&error))?;
        files.insert(member.path.clone(), bytes.into());
        Ok(())
    })?;
    Ok(files)
}

/// Reads and checks an archive.
///
/// # Errors
/// `E_ARCHIVE_INVALID` if it breaks a rule, `E_MANIFEST_INVALID` if its manifest is invalid.
pub fn open(archive: NewContent) -> Result<Opened> {
    let mut members = Vec::new();
    let mut manifests: Vec<(String, Vec<u8>)> = Vec::new();
    read::each(archive.reader(), archive.size(), &mut |member, content| {
        if FILES.contains(&member.path.as_str()) {
            let mut text = Vec::new();
            // Read one byte more than allowed, so that the manifest's own check reports a file that is too large.
            content.take(MAX_FILE + 1).read_to_end(&mut text).map_err(|error| rule::malformed(&error))?;
            manifests.push((member.path.clone(), text));
        }
        members.push(member.clone());
        Ok(())
    })?;
    let mut text = |name: &str| Ok(manifests.iter().find(|(path, _)| path == name).map(|(_, text)| text.clone()));
    let mut checked = manifest::read(&mut text)?;
    let raw_manifest = std::mem::take(&mut checked.raw);
    let manifest = checked.manifest()?;
    manifest.published("published")?;
    Ok(Opened { manifest, raw_manifest, members, sha256: archive.sha256(), content: archive })
}

/// Creates `folder`, which must not exist. `write` fills a private folder next to it, which is then renamed.
pub fn whole(folder: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    unpack::whole(folder, write)
}

/// Removes the unfinished folders that killed processes left next to `folder`. No other process may be unpacking
/// into `folder` at the same time.
pub fn sweep(folder: &Path) -> Result<()> {
    unpack::sweep(folder)
}

impl Opened {
    /// Returns the size of all files together.
    pub fn size(&self) -> u64 {
        self.members.iter().map(|member| member.size).sum()
    }

    /// Returns the contents of a file; `None` if there is no such file.
    pub fn file(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        read::each(self.content.reader(), self.content.size(), &mut |member, content| {
            if member.path == path {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes).map_err(|error| rule::malformed(&error))?;
                found = Some(bytes);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Unpacks the files to `folder`, which must not exist. They are written to a private folder next to it, which
    /// is then renamed; on an error it is removed. Files become read-only, and only this user can access the
    /// folder.
    pub fn unpack(&self, folder: &Path) -> Result<()> {
        unpack::unpack(&self.content, folder)
    }
}
