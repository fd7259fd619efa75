//! Appends lines to a file that several processes may share, and keeps a limited number of older files.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use crate::file;
use crate::platform;

/// A file of lines. When it would grow beyond its limit, it becomes `NAME.1`, `NAME.1` becomes `NAME.2`, and so on.
#[derive(Debug)]
pub struct Rolling {
    path: PathBuf,
    limit: u64,
    keep: u32,
    open: File,
}

impl Rolling {
    /// Opens or creates the file. The file grows to at most `limit` bytes, or to the size of its first append if that is
    /// larger. `keep` older files stay.
    pub fn open(path: &Path, limit: u64, keep: u32) -> Result<Self> {
        Ok(Self { path: path.to_owned(), limit, keep, open: opened(path)? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file at the path again, because another program may have renamed or deleted the open one.
    pub fn reopen(&mut self) -> Result<()> {
        self.open = opened(&self.path)?;
        Ok(())
    }

    /// Appends whole lines: all of them, or none if it fails.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        loop {
            // Other processes wait here until this process has appended its lines, so they do not rename or append to
            // the file.
            self.open.lock()?;
            let appended = self.append_locked(lines);
            let _ = self.open.unlock();
            match appended? {
                true => return Ok(()),
                false => self.reopen()?,
            }
        }
    }

    /// Appends the lines to the open file. Writes nothing and returns false if the open file is no longer at its path:
    /// another process has moved or deleted the file, or this call has renamed it because it was full.
    fn append_locked(&mut self, lines: &[u8]) -> Result<bool> {
        let size = self.open.metadata()?.len();
        if !self.is_current()? {
            return Ok(false);
        }
        if size > 0 && size.saturating_add(lines.len() as u64) > self.limit {
            self.shift()?;
            return Ok(false);
        }
        let written = self.open.write_all(lines);
        if written.is_err() {
            // Half a line would join the next one.
            let _ = self.open.set_len(size);
        }
        written.map(|()| true)
    }

    fn is_current(&self) -> Result<bool> {
        let now = match fs::metadata(&self.path) {
            Ok(now) => now,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(!platform::is_renamed(&self.open.metadata()?, &now))
    }

    /// Renames the older files and then the file itself, so that each number grows by one. The oldest file is lost.
    fn shift(&self) -> Result<()> {
        for number in (1..self.keep).rev() {
            absent_is_fine(fs::rename(self.older(number), self.older(number + 1)))?;
        }
        match self.keep {
            0 => fs::remove_file(&self.path),
            _ => fs::rename(&self.path, self.older(1)),
        }
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        name.into()
    }
}

/// Checks whether the file at a path can grow: whether it can be opened for writing, and whether its disk has space.
/// Returns `None` if there is no file.
pub fn probe(path: &Path) -> Option<Result<()>> {
    let tried = file::open_with(OpenOptions::new().append(true), path).and_then(|_| {
        let mut beside = tempfile::tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
        beside.write_all(&[0; 4096])?;
        beside.sync_all()
    });
    match tried {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        tried => Some(tried),
    }
}

fn opened(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    file::open_with(platform::with_mode(options.append(true).create(true), 0o600), path)
}

fn absent_is_fine(result: Result<()>) -> Result<()> {
    result.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<(String, String)> = entries
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn are(folder: &Path, expected: &[(&str, &str)]) {
        let found = files(folder);
        let found: Vec<(&str, &str)> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_full_file_becomes_an_older_one_and_the_oldest_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = Rolling::open(&path, 8, 2).unwrap();
        for line in ["one\n", "two\n", "three\n", "longer than the limit\n", "four\n"] {
            log.append(line.as_bytes()).unwrap();
        }
        are(folder.path(), &[("log", "four\n"), ("log.1", "longer than the limit\n"), ("log.2", "three\n")]);
        let mut none = Rolling::open(&path, 8, 0).unwrap();
        none.append(b"five\n").unwrap();
        none.append(b"six\n").unwrap();
        are(folder.path(), &[("log", "six\n"), ("log.1", "longer than the limit\n"), ("log.2", "three\n")]);
    }

    #[test]
    fn two_writers_share_a_file_and_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let [mut one, mut two] = [(); 2].map(|()| Rolling::open(&path, 8, 9).unwrap());
        one.append(b"aaa\n").unwrap();
        two.append(b"bbb\n").unwrap();
        one.append(b"ccc\n").unwrap();
        two.append(b"ddd\n").unwrap();
        are(folder.path(), &[("log", "ccc\nddd\n"), ("log.1", "aaa\nbbb\n")]);
        // Another program may rename the file too.
        fs::rename(&path, folder.path().join("moved")).unwrap();
        two.append(b"eee\n").unwrap();
        one.append(b"fff\n").unwrap();
        are(folder.path(), &[("log", "eee\nfff\n"), ("log.1", "aaa\nbbb\n"), ("moved", "ccc\nddd\n")]);
    }
}
