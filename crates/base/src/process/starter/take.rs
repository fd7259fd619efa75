//! Collects the files that a program left in a folder, and sends them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::protocol::{Allowance, Frame, MOST_LEFT_OUT, Output, PIECE};

/// The maximum depth of nested folders that are searched.
const DEEPEST: usize = 32;

/// Sends the files of a folder. Does nothing if the folder cannot be opened.
///
/// # Errors
/// The system's error if reading an opened file fails or the other side cannot be reached.
pub(super) fn take(channel: &mut UnixStream, output: &Output) -> io::Result<()> {
    let (allowed, most) = (Allowance::of(Some(output)), output.files + 8 * MOST_LEFT_OUT);
    Collection { channel, allowed, links: output.links, most }.take(output)
}

/// The progress of collecting files from a folder.
struct Collection<'a> {
    channel: &'a mut UnixStream,
    allowed: Allowance,
    links: bool,
    /// The most names that are examined in one folder.
    most: usize,
}

impl Collection<'_> {
    /// Sends the files of a folder. Something may still be writing there, so links are not followed, and pipes are not
    /// waited for.
    fn take(&mut self, output: &Output) -> io::Result<()> {
        match rustix::fs::open(&*output.folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(folder) => self.folder(&folder, "", DEEPEST),
            Err(_) => Ok(()),
        }
    }

    fn folder(&mut self, folder: &OwnedFd, below: &str, deep: usize) -> io::Result<()> {
        let Ok(entries) = Dir::read_from(folder) else { return self.leave(below) };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) if names.len() < self.most => names.push(name.to_owned()),
                Ok(_) | Err(_) => self.leave(&format!("{below}{}", entry.file_name().to_string_lossy()))?,
            }
        }
        names.sort_unstable();
        for name in names {
            let path = format!("{below}{name}");
            let kind = rustix::fs::statat(folder, &*name, AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| FileType::from_raw_mode(stat.st_mode));
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match kind {
                Ok(FileType::Symlink) if self.links => self.link(folder, &name, path)?,
                Ok(FileType::RegularFile) => match rustix::fs::openat(folder, &*name, flags, Mode::empty()) {
                    Ok(file) => self.file(File::from(file), &path)?,
                    Err(_) => self.leave(&path)?,
                },
                Ok(FileType::Directory) if deep > 0 => {
                    match rustix::fs::openat(folder, &*name, flags | OFlags::DIRECTORY, Mode::empty()) {
                        Ok(inner) => self.folder(&inner, &format!("{path}/"), deep - 1)?,
                        Err(_) => self.leave(&path)?,
                    }
                }
                _ => self.leave(&path)?,
            }
        }
        Ok(())
    }

    fn file(&mut self, mut file: File, path: &str) -> io::Result<()> {
        let (size, mode) = match file.metadata() {
            Ok(metadata) if metadata.is_file() => (metadata.len(), metadata.mode()),
            _ => return self.leave(path),
        };
        if size > self.allowed.bytes || !self.allowed.file(path) {
            return self.leave(path);
        }
        let begin = if mode & 0o111 == 0 { Frame::File } else { Frame::Program };
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

    fn link(&mut self, folder: &OwnedFd, name: &str, path: String) -> io::Result<()> {
        let text = rustix::fs::readlinkat(folder, name, Vec::new()).ok().and_then(|text| text.into_string().ok());
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
