//! Changes a folder registry. A lock lets only one process change it at a time. What a killed process leaves behind is
//! cleaned up by the next publish, yank or rebuild of the index.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use semver::Version;

use super::index::{self, listed};
use super::record::Record;
use super::root::{REGISTRY, Root};
use super::versions;
use crate::backend::tool::{Publication, VersionInfo};
use crate::package::Name;
use mcpkg_base::disk::{self, FolderLock};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::tools::packages::{Visibility, Yank};

/// The prefix of the folder in which a version is prepared.
const UNFINISHED: &str = ".publishing-";

/// A file with this name exists while the index may be outdated. The next publish or yank then rebuilds the index.
const BEHIND: &str = ".index-behind";

/// The delay between two attempts to get the lock, and the number of attempts: half a minute in total.
const EACH: Duration = Duration::from_millis(50);
const TIMES: u32 = 600;

/// Creates an empty registry in a folder that is empty or does not exist.
pub fn create(name: &str, path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|error| disk::failed("make", path, error))?;
    let mut entries = fs::read_dir(path).map_err(|error| disk::failed("read", path, error))?;
    if entries.next().is_some() {
        let why = format!("`{}` is neither empty nor a registry", path.display());
        return Err(Error::new(Code::AlreadyExists, why).hint("choose a folder that is empty or does not exist yet"));
    }
    let path = mcpkg_base::platform::real(path).map_err(|error| disk::failed("read", path, error))?;
    let root = Root::new(name, &path);
    index::write(&root, &Default::default())?;
    root.write(REGISTRY, Root::described(name).as_bytes())
}

/// Rebuilds the index from the files, and returns how many tools it lists.
pub fn index(root: &Root, context: &Context) -> Result<usize> {
    let _lock = lock(root, context)?;
    sweep(root)?;
    remake(root)
}

fn remake(root: &Root) -> Result<usize> {
    let listings = index::made(root)?;
    index::write(root, &listings)?;
    root.remove(BEHIND)?;
    Ok(listings.len())
}

/// Publishes a version, and returns whether it is new.
pub fn publish(root: &Root, context: &Context, publication: &Publication<'_>) -> Result<bool> {
    let Publication { name, version, archive, sha256, visibility, attestations, .. } = *publication;
    if visibility == Visibility::Private {
        return Err(Error::new(
            Code::InvalidArgument,
            "A folder registry cannot hide a private version: everyone who can read the folder can see the version's files",
        )
        .hint("publish the version with --unlisted, or without --private"));
    }
    let _lock = lock(root, context)?;
    sweep(root)?;
    let folder = versions::folder(name, version);
    if let Some(there) = versions::one(root, name, version)? {
        if there.sha256 != *sha256 {
            return Err(Error::new(
                Code::AlreadyExists,
                format!("{name}@{version} is already published with different files"),
            )
            .hint("published versions cannot be changed; increase the version number"));
        }
        sweep_version(root, &folder)?;
        write_attestations(root, &folder, attestations)?;
        relist(root, name)?;
        return Ok(false);
    }
    let author = context.author();
    let record = Record {
        sha256: *sha256,
        size: archive.size(),
        publisher: None,
        visibility,
        published_at: author.now,
        yank: None,
    };
    let unfinished = format!("{}/{UNFINISHED}{}", versions::TOOLS, mcpkg_base::clock::unique().simple());
    let written = write_version(root, &unfinished, &record, publication)
        .and_then(|()| root.write(BEHIND, b""))
        .and_then(|()| root.put_folder(&unfinished, &folder));
    if let Err(error) = written {
        root.remove_folder(&unfinished);
        return Err(error);
    }
    relist(root, name)?;
    Ok(true)
}

fn write_version(root: &Root, folder: &str, record: &Record, publication: &Publication<'_>) -> Result<()> {
    let Publication { name, version, archive, manifest, attestations, .. } = publication;
    root.write(&format!("{folder}/{}", versions::BUNDLE), &archive.bytes()?)?;
    root.write(&format!("{folder}/{}", versions::MANIFEST), format!("{manifest:#}\n").as_bytes())?;
    write_attestations(root, folder, attestations)?;
    root.write(&format!("{folder}/{}", versions::PACKAGE), record.text(name, version).as_bytes())
}

fn write_attestations(root: &Root, folder: &str, bundles: &[String]) -> Result<()> {
    bundles.iter().try_for_each(|bundle| {
        let sha256 = sha256::hex(bundle);
        root.write(&format!("{folder}/{}/{sha256}.json", versions::ATTESTATIONS), bundle.as_bytes())
    })
}

/// Yanks a version, or reverts the yank.
pub fn yank(root: &Root, context: &Context, name: &Name, version: &Version, yank: Option<&Yank>) -> Result<()> {
    let _lock = lock(root, context)?;
    sweep(root)?;
    sweep_version(root, &versions::folder(name, version))?;
    let Some(record) = versions::one(root, name, version)? else {
        return Err(root.malformed(format!("{name}@{version} has disappeared")));
    };
    let record = Record { yank: yank.cloned(), ..record };
    root.write(BEHIND, b"")?;
    root.write(&versions::file(name, version, versions::PACKAGE), record.text(name, version).as_bytes())?;
    relist(root, name)
}

pub fn attest(root: &Root, context: &Context, version: &VersionInfo, bundle: &str) -> Result<()> {
    let _lock = lock(root, context)?;
    let folder = versions::folder(&version.name, &version.version);
    sweep_version(root, &folder)?;
    write_attestations(root, &folder, &[bundle.to_owned()])
}

/// Updates the index entry of a tool from its files; rebuilds the whole index if it is missing or malformed.
fn relist(root: &Root, name: &Name) -> Result<()> {
    let listings = match index::read(root) {
        Ok(Some(mut listings)) => {
            match listed(root, name)? {
                Some(listing) => drop(listings.insert(name.to_string(), listing)),
                None => drop(listings.remove(name.as_str())),
            }
            listings
        }
        Ok(None) => index::made(root)?,
        Err(error) if error.code() == Code::RegistryAnswer => index::made(root)?,
        Err(error) => return Err(error),
    };
    index::write(root, &listings)?;
    root.remove(BEHIND)
}

/// Removes unfinished files of killed processes, and brings the index up to date. The caller must hold the lock, so
/// that no other process is writing.
fn sweep(root: &Root) -> Result<()> {
    for name in root.names(versions::TOOLS)?.iter().filter(|name| name.starts_with(UNFINISHED)) {
        root.remove_folder(&format!("{}/{name}", versions::TOOLS));
    }
    root.sweep("")?;
    match root.validator(BEHIND)? {
        Some(_) => remake(root).map(drop),
        None => Ok(()),
    }
}

fn sweep_version(root: &Root, folder: &str) -> Result<()> {
    root.sweep(folder)?;
    root.sweep(&format!("{folder}/{}", versions::ATTESTATIONS))
}

/// Locks the registry for changes. Waits up to 30 seconds for another process that holds the lock.
fn lock(root: &Root, context: &Context) -> Result<FolderLock> {
    if let Err(error) = fs::read_dir(root.path())
        && error.kind() == ErrorKind::NotFound
    {
        root.check()?;
    }
    for _ in 0..TIMES {
        if let Some(lock) = disk::lock_folder(root.path()) {
            return Ok(lock);
        }
        if context.is_cancelled() {
            return Err(Error::new(
                Code::Cancelled,
                "Cancelled while waiting for another process that is changing the registry",
            ));
        }
        std::thread::sleep(EACH);
    }
    let why = format!("Another process has been changing `{}` for 30 seconds", root.path().display());
    Err(Error::new(Code::Busy, why).hint("try again when that process has finished"))
}
