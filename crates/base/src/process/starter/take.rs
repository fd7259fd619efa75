//! Collects the files that a program left in a folder, and sends them.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::protocol::{Allowance, Frame, MOST_LEFT_OUT, Output, PIECE};
use crate::platform::entry::Kind;
use crate::platform::folder::{self, Handle};
use crate::platform::{self, Socket};

/// The maximum depth of nested folders that are searched.
const DEEPEST: usize = 32;

/// Sends the files of a folder. Does nothing if the folder cannot be opened.
///
/// # Errors
/// The system's error if reading or sending an opened file fails.
pub(super) fn take(channel: &mut Socket, output: &Output) -> io::Result<()> {
    let (allowed, most) = (Allowance::of(Some(output)), output.files + 8 * MOST_LEFT_OUT);
    Collection { channel, allowed, links: output.links, most }.take(output)
}

/// The progress of collecting files from a folder.
struct Collection<'a> {
    channel: &'a mut Socket,
    allowed: Allowance,
    links: bool,
    /// The most names that are examined in one folder.
    most: usize,
}

impl Collection<'_> {
    /// Sends the files of a folder. Something may still be writing there, so links are not followed, and pipes are not
    /// waited for.
    fn take(&mut self, output: &Output) -> io::Result<()> {
        let path = Path::new(&output.folder);
        match folder::open_top(path) {
            Ok(folder) => self.folder(&folder, path, "", DEEPEST),
            Err(_) => Ok(()),
        }
    }

    fn folder(&mut self, folder: &Handle, path: &Path, below: &str, deep: usize) -> io::Result<()> {
        let Ok(entries) = folder::names(folder, path) else { return self.leave(below) };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            match entry.into_string() {
                Ok(name) if names.len() < self.most => names.push(name),
                Ok(name) => self.leave(&format!("{below}{name}"))?,
                Err(name) => self.leave(&format!("{below}{}", name.to_string_lossy()))?,
            }
        }
        names.sort_unstable();
        for name in names {
            let named = format!("{below}{name}");
            let os_name = OsStr::new(&name);
            match folder::entry(folder, path, os_name).map(|entry| entry.kind) {
                Ok(Kind::Link) if self.links => self.link(folder, path, os_name, named)?,
                Ok(Kind::File) => match folder::open_file(folder, path, os_name) {
                    Ok(file) => self.file(file, &named)?,
                    Err(_) => self.leave(&named)?,
                },
                Ok(Kind::Folder) if deep > 0 => match folder::open_child(folder, path, os_name) {
                    Ok(inner) => self.folder(&inner, &path.join(os_name), &format!("{named}/"), deep - 1)?,
                    Err(_) => self.leave(&named)?,
                },
                _ => self.leave(&named)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, mut file: File, path: &str) -> io::Result<()> {
        let (size, executable) = match file.metadata() {
            Ok(metadata) if metadata.is_file() => (metadata.len(), platform::is_executable(&metadata)),
            _ => return self.leave(path),
        };
        if size > self.allowed.bytes || !self.allowed.file(path) {
            return self.leave(path);
        }
        let begin = if executable { Frame::Program } else { Frame::File };
        begin(path.to_owned()).write(self.channel)?;
        // Send at most the size that was checked against the limit: the file may still grow.
        let mut left = size;
        let mut piece = vec![0; PIECE as usize];
        while left > 0 {
            let most = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match file.read(&mut piece[..most])? {
                0 => break,
                read => {
                    Frame::Bytes(piece[..read].to_vec()).write(self.channel)?;
                    left -= read as u64;
                }
            }
        }
        self.allowed.bytes -= size;
        Ok(())
    }

    fn link(&mut self, folder: &Handle, above: &Path, name: &OsStr, path: String) -> io::Result<()> {
        let text = folder::read_link(folder, above, name).ok().and_then(|text| text.into_string().ok());
        match text {
            Some(text) if self.allowed.file(&path) => Frame::Link(path, text).write(self.channel),
            _ => self.leave(&path),
        }
    }

    fn leave(&mut self, path: &str) -> io::Result<()> {
        match self.allowed.leave(path) {
            true => Frame::LeftOut(path.to_owned()).write(self.channel),
            false => Ok(()),
        }
    }
}
