//! Reads an archive as a stream, and refuses archives that break a rule.

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use tar::EntryType;

use super::names::{self, Names};
use super::rule::{Rule, malformed, refused};
use mcpkg_base::error::{Error, Result};

/// The maximum size of an archive in bytes.
pub const MAX_PACKED: u64 = 50 << 20;

/// The maximum size of all files together in bytes.
pub const MAX_UNPACKED: u64 = 200 << 20;

/// The maximum size of one file in bytes.
pub const MAX_MEMBER: u64 = 64 << 20;

/// The maximum number of files and folders.
pub const MAX_MEMBERS: usize = 10_000;

/// All files together may be at most this many times as large as the archive.
pub const MAX_RATIO: u64 = 100;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The path relative to the package, with `/` separators.
    pub path: String,
    pub size: u64,
    pub executable: bool,
}

/// The maximum number of bytes of tar overhead: for each member a header, a long name with its own header, and the
/// padding of the last block.
const MAX_AROUND: u64 = MAX_MEMBERS as u64 * 4 * 512;

/// Calls `visit` with each file of an archive of `packed` bytes, in archive order. Content that `visit` does not
/// read is still checked.
pub(super) fn each(
    archive: impl BufRead,
    packed: u64,
    visit: &mut dyn FnMut(&Member, &mut dyn Read) -> Result<()>,
) -> Result<()> {
    if packed > MAX_PACKED {
        return Err(refused(Rule::PackedSize, "", format!("it is larger than {} MiB", MAX_PACKED >> 20)));
    }
    let is_over = Cell::new(false);
    let stream = Bounded { inner: GzDecoder::new(archive), left: MAX_UNPACKED + MAX_AROUND, is_over: &is_over };
    let failed = |error: &io::Error| match is_over.get() {
        true => refused(Rule::UnpackedSize, "", format!("it unpacks to more than {} MiB", MAX_UNPACKED >> 20)),
        false => malformed(error),
    };
    let mut archive = tar::Archive::new(stream);
    let mut names = Names::default();
    let mut sizes = Sizes { packed, unpacked: 0, members: 0 };
    for entry in archive.entries().map_err(|error| failed(&error))? {
        let mut entry = entry.map_err(|error| failed(&error))?;
        let path = entry.path_bytes().into_owned();
        let kind = entry.header().entry_type();
        let path = match kind {
            EntryType::Directory => path.strip_suffix(b"/").unwrap_or(&path),
            _ => &path,
        };
        let path = names::check(path)?;
        check_kind(kind, path)?;
        check_extensions(&mut entry, path).map_err(|refusal| refusal.unwrap_or_else(|error| failed(&error)))?;
        names.add(path, kind.is_dir())?;
        sizes.add(path, entry.size())?;
        if kind.is_dir() {
            continue;
        }
        let executable = entry.header().mode().map_err(|error| failed(&error))? & 0o111 != 0;
        let member = Member { path: path.to_owned(), size: entry.size(), executable };
        let mut content = Counted { inner: &mut entry, count: 0 };
        visit(&member, &mut content)?;
        io::copy(&mut content, &mut io::sink()).map_err(|error| failed(&error))?;
        if content.count != member.size {
            return Err(malformed(&io::Error::from(ErrorKind::UnexpectedEof)));
        }
    }
    let mut stream = archive.into_inner();
    check_padding(&mut stream).map_err(|refusal| refusal.unwrap_or_else(|error| failed(&error)))?;
    let mut after = stream.inner.into_inner();
    match after.fill_buf().map_err(|error| malformed(&error))? {
        [] => Ok(()),
        [0x1f, 0x8b, ..] => Err(refused(Rule::SecondMember, "", "it contains a second gzip member")),
        _ => Err(refused(Rule::AfterEnd, "", "there is data after its end")),
    }
}

/// The sizes so far, to check the limits.
struct Sizes {
    packed: u64,
    unpacked: u64,
    members: usize,
}

impl Sizes {
    fn add(&mut self, path: &str, size: u64) -> Result<()> {
        self.members += 1;
        if self.members > MAX_MEMBERS {
            return Err(refused(Rule::Members, "", format!("it contains more than {MAX_MEMBERS} files and folders")));
        }
        if size > MAX_MEMBER {
            return Err(refused(Rule::MemberSize, path, format!("is larger than {} MiB", MAX_MEMBER >> 20)));
        }
        self.unpacked += size;
        if self.unpacked > MAX_UNPACKED {
            let message = format!("it unpacks to more than {} MiB", MAX_UNPACKED >> 20);
            return Err(refused(Rule::UnpackedSize, "", message));
        }
        if self.unpacked > self.packed * MAX_RATIO {
            let message = format!("it unpacks to more than {MAX_RATIO} times its size");
            return Err(refused(Rule::Ratio, "", message));
        }
        Ok(())
    }
}

fn check_kind(kind: EntryType, path: &str) -> Result<()> {
    match kind {
        EntryType::Regular | EntryType::Directory => Ok(()),
        EntryType::Link | EntryType::Symlink => Err(refused(Rule::Link, path, "is a link")),
        EntryType::GNUSparse => Err(refused(Rule::Sparse, path, "is a sparse file")),
        _ => Err(refused(Rule::Special, path, "is neither a file nor a folder")),
    }
}

/// Refuses sparse files in the pax format. Their entries look like those of regular files, and the tar reader does not
/// support them.
fn check_extensions<R: Read>(entry: &mut tar::Entry<'_, R>, path: &str) -> Result<(), Result<Error, io::Error>> {
    let Some(extensions) = entry.pax_extensions().map_err(Err)? else { return Ok(()) };
    for extension in extensions {
        if extension.map_err(Err)?.key_bytes().starts_with(b"GNU.sparse") {
            return Err(Ok(refused(Rule::Sparse, path, "is a sparse file")));
        }
    }
    Ok(())
}

/// Refuses anything but zeros after the last member.
fn check_padding(stream: &mut impl Read) -> Result<(), Result<Error, io::Error>> {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) if buffer[..length].iter().all(|byte| *byte == 0) => {}
            Ok(_) => return Err(Ok(refused(Rule::AfterEnd, "", "there is data after its end"))),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Err(error)),
        }
    }
}

/// A stream that returns an error after its limit.
struct Bounded<'a, R> {
    inner: R,
    left: u64,
    is_over: &'a Cell<bool>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => self.left = left,
            None => {
                self.is_over.set(true);
                return Err(io::Error::other("it is too large"));
            }
        }
        Ok(length)
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}
