//! Content that is about to be stored, and may be larger than memory.
//!
//! The content is read once to compute its size, SHA-256 and kind, and again in pieces to store it.

use std::borrow::Cow;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempPath;
use xxhash_rust::xxh3::xxh3_64;

use super::survey::{PIECE, ServerWords, Survey, Text};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::platform;
use mcpkg_base::sha256;

/// Content that can be read repeatedly and cloned cheaply. Two contents are equal if their bytes are.
#[derive(Clone, Debug)]
pub struct NewContent {
    holder: Holder,
    size: u64,
    pub(crate) sha256: [u8; 32],
    /// The XXH3 of the bytes.
    pub(crate) checksum: u64,
    is_text: bool,
    /// See [`NewContent::names_servers`]. `None` if the content is in memory, where it is searched on request.
    names_servers: Option<bool>,
}

#[derive(Clone, Debug)]
enum Holder {
    Memory(Arc<Vec<u8>>),
    File(PathBuf),
    /// An open file, with the path at which it was opened.
    Open(Arc<File>, PathBuf),
    /// A temporary file of mcpkg, removed with the last clone.
    Temporary(Arc<TempPath>),
}

/// The largest content, in bytes, that [`NewContent::read_once`] keeps in memory.
const IN_MEMORY: u64 = 4 * PIECE as u64;

impl NewContent {
    /// Reads the file at `path`. The file must stay there, because its content is read again when needed. The content
    /// of a pipe stays in memory.
    pub fn file(path: &Path) -> Result<Self> {
        let failed = |error| Error::file("read", path, error);
        if file::is_own_descriptor(path) {
            // A pipe can be read only once.
            let mut bytes = Vec::new();
            File::open(path).and_then(|pipe| pipe.take(file::WHOLE + 1).read_to_end(&mut bytes)).map_err(failed)?;
            file::check_size(bytes.len() as u64, file::WHOLE).map_err(failed)?;
            return Ok(Self::from(bytes));
        }
        let mut file = file::open(path).map_err(failed)?;
        file::check_size(file.metadata().map_err(failed)?.len(), file::CONTENT).map_err(failed)?;
        let mut survey = Survey::default();
        loop {
            let piece = read_piece(&mut file).map_err(failed)?;
            if piece.is_empty() {
                return Ok(Self::surveyed(survey, Holder::File(path.to_path_buf())));
            }
            survey.add(&piece);
        }
    }

    /// Reads a file that was opened at `path`. When needed, the content is read again from the open file, since the path may
    /// lead elsewhere by then.
    pub fn open(file: File, path: &Path) -> Result<Self> {
        let failed = |error| Error::file("read", path, error);
        file::check_size(file.metadata().map_err(failed)?.len(), file::CONTENT).map_err(failed)?;
        let file = Arc::new(file);
        let (mut survey, mut from) = (Survey::default(), AtPlace { file: Arc::clone(&file), at: 0 });
        loop {
            let piece = read_piece(&mut from).map_err(failed)?;
            if piece.is_empty() {
                return Ok(Self::surveyed(survey, Holder::Open(file, path.to_path_buf())));
            }
            survey.add(&piece);
        }
    }

    /// Reads a source that can be read only once. A small content stays in memory; a larger one is copied into a temporary file
    /// that only this user can read.
    ///
    /// # Errors
    /// Errors of reading or writing.
    pub fn read_once(mut from: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        from.by_ref().take(IN_MEMORY + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= IN_MEMORY {
            return Ok(Self::from(bytes));
        }
        let mut file = tempfile::NamedTempFile::new()?;
        let mut survey = Survey::default();
        while !bytes.is_empty() {
            survey.add(&bytes);
            file.write_all(&bytes)?;
            bytes = read_piece(&mut from)?;
        }
        Ok(Self::surveyed(survey, Holder::Temporary(Arc::new(file.into_temp_path()))))
    }

    /// Returns a reader that begins at the start of the content.
    pub fn reader(&self) -> Reader<'_> {
        Reader { pieces: self.pieces(), piece: Cow::Borrowed(&[]), at: 0 }
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Whether the content is UTF-8 without U+0000.
    pub fn is_text(&self) -> bool {
        self.is_text
    }

    /// Whether the content has one of the words by which configurations of MCP servers are found. Other files may
    /// contain such a word too. Files without one need not be searched for servers.
    pub fn names_servers(&self) -> bool {
        match (&self.holder, self.names_servers) {
            (Holder::Memory(bytes), None) => ServerWords::are_in(bytes),
            (_, known) => known.unwrap_or(true),
        }
    }

    /// Returns the same content, after its file was moved to `path`.
    pub fn moved(&self, path: PathBuf) -> Self {
        Self { holder: Holder::File(path), ..self.clone() }
    }

    /// Returns the path of the file with the content; `None` if it is in memory or in a temporary file.
    pub fn path(&self) -> Option<&Path> {
        match &self.holder {
            Holder::Memory(_) | Holder::Temporary(_) => None,
            Holder::File(path) => Some(path),
            Holder::Open(_, path) => Some(path),
        }
    }

    /// Returns the content in pieces of the same size as a blob's pieces; only the last one may be shorter. The last result
    /// is an error if the file has changed.
    pub(crate) fn pieces(&self) -> Box<dyn Iterator<Item = Result<Cow<'_, [u8]>>> + '_> {
        match &self.holder {
            Holder::Memory(bytes) => Box::new(bytes.chunks(PIECE).map(|piece| Ok(Cow::Borrowed(piece)))),
            Holder::File(path) => Box::new(self.read_again(path, None)),
            Holder::Open(file, path) => {
                let from: Box<dyn Read> = Box::new(AtPlace { file: Arc::clone(file), at: 0 });
                Box::new(self.read_again(path, Some(from.take(self.size))))
            }
            Holder::Temporary(path) => Box::new(self.read_again(path, None)),
        }
    }

    fn read_again<'s>(&'s self, path: &'s Path, from: Option<io::Take<Box<dyn Read>>>) -> Again<'s> {
        Again { source: self, path, from, seen: Survey::default() }
    }

    /// Returns the whole content.
    ///
    /// # Errors
    /// `E_FILE_FAILED` if the file has changed; the errors of reading a file.
    pub fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        if let Holder::Memory(bytes) = &self.holder {
            return Ok(Cow::Borrowed(bytes.as_slice()));
        }
        let mut bytes = Vec::new();
        for piece in self.pieces() {
            bytes.extend_from_slice(&piece?);
        }
        Ok(Cow::Owned(bytes))
    }
}

impl From<Vec<u8>> for NewContent {
    fn from(bytes: Vec<u8>) -> Self {
        let checksum = xxh3_64(&bytes);
        Self::of(bytes, checksum)
    }
}

impl NewContent {
    /// Returns content in memory with a known XXH3.
    pub(crate) fn of(bytes: Vec<u8>, checksum: u64) -> Self {
        let bytes = Arc::new(bytes);
        Self::in_memory(Holder::Memory(Arc::clone(&bytes)), &bytes, checksum)
    }

    /// Returns the content of the file at `path`, which was just read as `bytes`. The file must stay there, because its content
    /// is read again when needed.
    pub fn at(path: &Path, bytes: &[u8]) -> Self {
        Self::in_memory(Holder::File(path.to_path_buf()), bytes, xxh3_64(bytes))
    }

    fn surveyed(survey: Survey, holder: Holder) -> Self {
        Self {
            holder,
            size: survey.size,
            sha256: survey.sha256(),
            checksum: survey.checksum.digest(),
            is_text: survey.text.so_far(),
            names_servers: Some(survey.words.seen),
        }
    }

    /// Like [`Self::surveyed`], for bytes in memory with a known checksum.
    fn in_memory(holder: Holder, bytes: &[u8], checksum: u64) -> Self {
        let mut text = Text::default();
        text.add(bytes);
        let names_servers = match holder {
            Holder::Memory(_) => None,
            _ => Some(ServerWords::are_in(bytes)),
        };
        let (size, sha256) = (bytes.len() as u64, sha256::of(bytes));
        Self { holder, size, sha256, checksum, is_text: text.so_far(), names_servers }
    }
}

impl PartialEq for NewContent {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl Eq for NewContent {}

impl Hash for NewContent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.sha256.hash(state);
    }
}

/// An open file with its own read position, independent of other readers.
struct AtPlace {
    file: Arc<File>,
    at: u64,
}

impl Read for AtPlace {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = platform::read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads a content in pieces.
pub struct Reader<'c> {
    pieces: Box<dyn Iterator<Item = Result<Cow<'c, [u8]>>> + 'c>,
    piece: Cow<'c, [u8]>,
    at: usize,
}

impl BufRead for Reader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.piece.len() {
            self.piece = self.pieces.next().transpose().map_err(io::Error::other)?.unwrap_or_default();
            self.at = 0;
        }
        Ok(self.piece.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, count: usize) {
        self.at += count;
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

/// Reads a file again. Ignores bytes that were appended since it was first read.
struct Again<'s> {
    source: &'s NewContent,
    path: &'s Path,
    from: Option<std::io::Take<Box<dyn Read>>>,
    seen: Survey,
}

impl Again<'_> {
    fn piece(&mut self) -> Result<Option<Vec<u8>>> {
        let failed = |error| Error::file("read", self.path, error);
        let from = match &mut self.from {
            Some(from) => from,
            None => {
                let file: Box<dyn Read> = Box::new(file::open(self.path).map_err(failed)?);
                self.from.insert(file.take(self.source.size))
            }
        };
        let piece = read_piece(from).map_err(failed)?;
        self.seen.add(&piece);
        if !piece.is_empty() {
            return Ok(Some(piece));
        }
        if self.seen.sha256() == self.source.sha256 {
            return Ok(None);
        }
        let what = format!("`{}` changed while mcpkg was reading it; nothing was stored", self.path.display());
        Err(Error::new(Code::FileFailed, what).hint("try again"))
    }
}

impl<'s> Iterator for Again<'s> {
    type Item = Result<Cow<'s, [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.piece().transpose().map(|piece| piece.map(Cow::Owned))
    }
}

/// Returns the next piece. A piece shorter than [`PIECE`] is the last one; after it, this returns empty pieces.
fn read_piece(from: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut piece = Vec::new();
    from.take(PIECE as u64).read_to_end(&mut piece)?;
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_changed_file_is_an_error_but_appended_bytes_are_ignored() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..3 * PIECE / 2).map(|n| n as u8).collect();
        file.write_all(&bytes).unwrap();
        let source = NewContent::file(file.path()).unwrap();
        assert_eq!((source.size(), source.is_text()), (bytes.len() as u64, false));
        assert_eq!(source, NewContent::from(bytes.clone()));
        let lengths: Vec<_> = source.pieces().map(|piece| piece.unwrap().len()).collect();
        assert_eq!(lengths, [PIECE, PIECE / 2]);
        // A log file may grow while it is stored; the appended bytes are ignored.
        file.write_all(b"more").unwrap();
        assert_eq!(*source.bytes().unwrap(), bytes);
        file.as_file().set_len(10).unwrap();
        let error = source.bytes().unwrap_err();
        assert!(error.code() == Code::FileFailed && error.message().contains("changed while"), "{error}");
        assert_eq!(NewContent::file(Path::new("/no/such/file")).unwrap_err().code(), Code::NotFound);
        assert_eq!(NewContent::from(Vec::new()).pieces().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn an_open_file_keeps_its_content_when_its_path_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let bytes: Vec<u8> = (0..3 * PIECE / 2).map(|n| n as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let source = NewContent::open(File::open(&path).unwrap(), &path).unwrap();
        assert_eq!(source, NewContent::from(bytes.clone()));
        std::fs::rename(&path, folder.path().join("other")).unwrap();
        std::fs::write(&path, "a secret").unwrap();
        assert_eq!(*source.bytes().unwrap(), bytes);
        assert_eq!(*source.clone().bytes().unwrap(), bytes);
    }

    #[test]
    fn what_is_read_once_is_the_same_in_memory_and_in_a_file() {
        for size in [0, 1, PIECE, 4 * PIECE, 4 * PIECE + 1, 6 * PIECE + 7] {
            let bytes: Vec<u8> = (0..size).map(|n| u8::try_from(n % 251).unwrap_or(0)).collect();
            let read = NewContent::read_once(bytes.as_slice()).unwrap();
            let whole = NewContent::from(bytes.clone());
            assert_eq!((read.size(), read.sha256(), read.checksum), (whole.size(), whole.sha256(), whole.checksum));
            assert_eq!(read.bytes().unwrap(), bytes);
            let mut again = Vec::new();
            read.reader().read_to_end(&mut again).unwrap();
            assert_eq!(again, bytes);
            let temporary = match &read.holder {
                Holder::Temporary(path) => Some(path.to_path_buf()),
                _ => None,
            };
            assert_eq!(temporary.is_some(), size > 4 * PIECE, "{size}");
            drop(read);
            assert!(temporary.is_none_or(|path| !path.exists()));
        }
    }
}
