//! Finds and removes unpacked copies that are not needed: copies of deleted archives, and unfinished copies.

use std::fs::{self, DirEntry, File};
use std::path::Path;
use std::time::SystemTime;

use crate::package::archive;
use mcpkg_base::error::{Error, Result};
use mcpkg_store::tools::unused::Amount;

/// The length of a copy's name, which is a SHA-256 in hex.
const DIGEST: usize = 64;

/// Returns the number and size of the copies below `cache` that can be removed: unfinished copies, and complete copies
/// for which `is_needed` returns false. Leaves out copies that were used at `before` or later, or that a process is
/// using. Removes the counted copies unless this is a dry run.
pub fn sweep(cache: &Path, is_needed: &dyn Fn(&str) -> bool, before: SystemTime, is_dry: bool) -> Result<Amount> {
    let mut amount = Amount::default();
    for entry in entries(cache)? {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_copy = name.len() == DIGEST && name.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        let is_half = name.starts_with(archive::UNPACKING);
        let path = entry.path();
        // A link is never a copy, and is not followed.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if !(is_copy || is_half) || !metadata.is_dir() || (is_copy && is_needed(name)) {
            continue;
        }
        let notes = cache.join(format!("{name}.json"));
        let used = fs::metadata(&notes).as_ref().map_or(&metadata, |notes| notes).modified();
        if used.is_ok_and(|used| used >= before) {
            continue;
        }
        // A process that is using the copy holds the lock of the copy.
        let lock = File::options().write(true).open(cache.join(format!("{name}.lock")));
        if lock.as_ref().is_ok_and(|lock| lock.try_lock().is_err()) {
            continue;
        }
        let bytes = size(&path);
        if !is_dry {
            // The notes are removed first: a copy without notes is unpacked again.
            let gone = |removed: std::io::Result<()>, path: &Path| match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file("remove", path, error)),
                _ => Ok(()),
            };
            gone(fs::remove_file(&notes), &notes)?;
            gone(fs::remove_dir_all(&path), &path)?;
        }
        amount.add(Amount { count: 1, bytes });
    }
    Ok(amount)
}

/// Returns the number and size of all copies below `cache`.
pub fn all(cache: &Path) -> Result<Amount> {
    let mut amount = Amount::default();
    for entry in entries(cache)? {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            amount.add(Amount { count: 1, bytes: size(&entry.path()) });
        }
    }
    Ok(amount)
}

fn entries(cache: &Path) -> Result<Vec<DirEntry>> {
    let entries = match fs::read_dir(cache) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| Error::file("read", cache, error))?,
    };
    Ok(entries.flatten().collect())
}

/// Returns the size of all files below a folder, without following links. Unreadable files do not count.
fn size(folder: &Path) -> u64 {
    let (mut bytes, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn copies_that_nobody_needs_go_and_those_that_were_just_used_stay() {
        let scratch = tempfile::tempdir().expect("a folder");
        let cache = scratch.path();
        let copy = |letter: &str, used: SystemTime| {
            let name = letter.repeat(DIGEST);
            fs::create_dir(cache.join(&name)).expect("a folder");
            fs::write(cache.join(&name).join("file"), "12345").expect("a file");
            fs::write(cache.join(format!("{name}.json")), "{}").expect("notes");
            let notes = File::options().append(true).open(cache.join(format!("{name}.json"))).expect("notes");
            notes.set_modified(used).expect("a time");
            name
        };
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let old = now - Duration::from_secs(10_000);
        let (needed, unused, fresh, held) = (copy("a", old), copy("b", old), copy("c", now), copy("d", old));
        let lock = File::create(cache.join(format!("{held}.lock"))).expect("a lock");
        lock.lock().expect("a lock");
        fs::create_dir(cache.join(format!("{}x", archive::UNPACKING))).expect("a folder");
        let sweep = |before, is_dry| sweep(cache, &|name| name == needed, before, is_dry).expect("swept");
        let before = now - Duration::from_secs(60);
        assert_eq!(sweep(before, true), Amount { count: 1, bytes: 5 });
        assert!(cache.join(&unused).exists(), "a dry run removed it");
        assert_eq!(sweep(before, false), Amount { count: 1, bytes: 5 });
        assert!(!cache.join(&unused).exists() && !cache.join(format!("{unused}.json")).exists());
        for name in [&needed, &fresh, &held] {
            assert!(cache.join(name).join("file").exists(), "{name}");
        }
        // With a later time, the sweep also removes fresh and unfinished copies.
        assert_eq!(sweep(UNIX_EPOCH + Duration::from_secs(4_000_000_000), false), Amount { count: 2, bytes: 5 });
        // The needed copy and the locked copy stay.
        assert_eq!(all(cache).expect("counted"), Amount { count: 2, bytes: 10 });
        assert_eq!(sweep(now, false), Amount::default());
    }

    #[test]
    fn a_cache_that_is_not_there_holds_nothing() {
        let gone = Path::new("/none/at/all");
        assert_eq!(all(gone).expect("counted"), Amount::default());
        assert_eq!(sweep(gone, &|_| false, UNIX_EPOCH, false).expect("swept"), Amount::default());
    }
}
