//! Defines the messages between mcpkg and the starter, which is mcpkg inside the sandbox: one request, then frames.
//!
//! A frame is a byte for its kind, four bytes for its length, and its content.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// The first argument of mcpkg when it is used as a starter. The path of a socket may follow; otherwise standard input
/// is the socket.
pub(super) const WORD: &str = "__start-in-sandbox";

/// The first argument of mcpkg when it enters control groups. The number of groups, their folders, and the program with
/// its arguments follow.
pub(super) const ENTER: &str = "__enter-cgroup";

/// The exit status if mcpkg itself failed. Shells use the same status for commands that cannot be run.
pub(super) const FAILED: u8 = 126;

/// The largest request, in bytes.
const REQUEST: u32 = 64 << 20;

/// The longest path, in bytes. Folders are searched only to a certain depth, so no path is longer.
const PATH: u32 = 16 << 10;

/// The number of bytes of a file sent in one frame.
pub(super) const PIECE: u32 = 64 << 10;

/// The largest description of an ending, in bytes.
const END: u32 = 16 << 10;

/// The maximum total length, in bytes, of the paths of all entries that are reported.
const NAMES: usize = 8 << 20;

/// The most entries that are reported as not collected.
pub(super) const MOST_LEFT_OUT: usize = 64;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub argv: Vec<String>,
    /// All variables of the program.
    pub variables: BTreeMap<String, String>,
    /// The working directory.
    pub folder: String,
    /// Limits for the program and for each of its children.
    pub ceilings: Ceilings,
    /// The folder with files to collect after the program has ended.
    pub output: Option<Output>,
    /// A folder to copy before the program starts.
    pub copied: Option<Copied>,
    /// The environment in which the starter runs.
    pub within: Within,
}

/// The environment in which the starter runs. It decides who ends the processes that the program leaves running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Within {
    /// A sandbox that ends with the process that started it. A request to end reaches its whole process group.
    Sandbox,
    /// A container whose first process is the starter. The starter passes on a request to end, and exits when the process
    /// that started it closes the connection. Everything else in the container ends with the starter.
    Container,
    /// No sandbox. When the process that started the starter closes the connection, the starter kills all processes below
    /// it and exits.
    Nothing,
}

/// A folder to copy, so that the program may change the copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Copied {
    pub from: String,
    /// The folder that the content is copied to.
    pub to: String,
}

/// Limits for a program and for each of its children.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ceilings {
    /// CPU time in seconds.
    pub cpu: u64,
    /// Private memory in bytes.
    pub data: u64,
    /// Address space in bytes.
    pub addressed: u64,
    /// The number of processes and threads that the user may have in the namespace.
    pub processes: u64,
    pub files: u64,
    /// The largest file, in bytes.
    pub file_size: u64,
}

/// A folder with files to collect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    pub folder: String,
    /// The most files to collect.
    pub files: usize,
    /// The most bytes to collect.
    pub bytes: u64,
    /// Whether to collect symbolic links, as the text of their targets.
    pub links: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Exited with this status.
    Exited(i32),
    Killed(i32),
    /// A WebAssembly module ended with a trap. A module is not a process and gets no signals.
    Trapped(String),
    /// Could not be started, for this reason.
    NotStarted(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// The starter has read the request.
    Ready,
    /// A file with this path starts here.
    File(String),
    /// An executable file with this path starts here.
    Program(String),
    /// A symbolic link at the first path, with the second text as its target.
    Link(String, String),
    /// More bytes of the current file.
    Bytes(Vec<u8>),
    /// The entry at this path is not collected.
    LeftOut(String),
    /// The kernel killed a process in the container because memory ran out.
    OutOfMemory,
    /// How the program ended. This is the last frame.
    Ended(Ended),
}

/// How much the starter may still report. The starter counts this to stop in time. mcpkg outside also counts it,
/// because a tool may have taken over the socket.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    pub files: usize,
    pub bytes: u64,
    left_out: usize,
    names: usize,
}

impl Allowance {
    pub(super) fn of(output: Option<&Output>) -> Self {
        let allowed =
            |output: &Output| Self { files: output.files, bytes: output.bytes, left_out: MOST_LEFT_OUT, names: NAMES };
        output.map(allowed).unwrap_or_default()
    }

    /// Counts a file, or a link with its target; returns whether it is allowed.
    pub(super) fn file(&mut self, path: &str) -> bool {
        Self::count(&mut self.files, &mut self.names, path)
    }

    /// Counts an entry that is not collected; returns whether it is allowed.
    pub(super) fn leave(&mut self, path: &str) -> bool {
        Self::count(&mut self.left_out, &mut self.names, path)
    }

    /// Counts bytes of a file; returns whether they are allowed. Zero bytes are not, because empty frames could be sent
    /// forever.
    pub(super) fn bytes(&mut self, bytes: u64) -> bool {
        let left = self.bytes.checked_sub(bytes).filter(|_| bytes > 0);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }

    fn count(number: &mut usize, names: &mut usize, path: &str) -> bool {
        match (number.checked_sub(1), names.checked_sub(path.len())) {
            (Some(fewer), Some(left)) if path.len() <= PATH as usize => {
                (*number, *names) = (fewer, left);
                true
            }
            _ => false,
        }
    }
}

impl Frame {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (ended, link);
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Ready => (b'R', b""),
            Self::OutOfMemory => (b'M', b""),
            Self::File(path) => (b'F', path.as_bytes()),
            Self::Program(path) => (b'P', path.as_bytes()),
            Self::Link(path, to) => {
                link = [path.as_bytes(), b"\0", to.as_bytes()].concat();
                (b'K', &link)
            }
            Self::Bytes(bytes) => (b'B', bytes),
            Self::LeftOut(path) => (b'L', path.as_bytes()),
            Self::Ended(how) => {
                ended = serde_json::to_vec(how)?;
                (b'E', &ended)
            }
        };
        write(to, tag, bytes)
    }

    /// Reads a frame. An invalid frame is an error.
    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        let (tag, bytes) = read(from)?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| wrong());
        match tag {
            b'R' => Ok(Self::Ready),
            b'M' => Ok(Self::OutOfMemory),
            b'F' => text(bytes).map(Self::File),
            b'P' => text(bytes).map(Self::Program),
            b'K' => {
                let text = text(bytes)?;
                let (path, to) = text.split_once('\0').ok_or_else(wrong)?;
                Ok(Self::Link(path.to_owned(), to.to_owned()))
            }
            b'B' => Ok(Self::Bytes(bytes)),
            b'L' => text(bytes).map(Self::LeftOut),
            b'E' => Ok(Self::Ended(serde_json::from_slice(&bytes)?)),
            _ => Err(wrong()),
        }
    }
}

impl Request {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        write(to, b'Q', &serde_json::to_vec(self)?)
    }

    pub(super) fn read(from: &mut impl Read) -> io::Result<Self> {
        match read(from)? {
            (b'Q', bytes) => Ok(serde_json::from_slice(&bytes)?),
            _ => Err(wrong()),
        }
    }
}

/// Returns the maximum length of a kind of frame.
fn longest(tag: u8) -> u32 {
    match tag {
        b'Q' => REQUEST,
        b'F' | b'P' | b'L' => PATH,
        // A path and the target of the link.
        b'K' => 2 * PATH,
        b'B' => PIECE,
        b'E' => END,
        _ => 0,
    }
}

fn write(to: &mut impl Write, tag: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= longest(tag)).ok_or_else(wrong)?;
    to.write_all(&[tag])?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)
}

fn read(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [tag, length @ ..] = head;
    let length = u32::from_le_bytes(length);
    if length > longest(tag) {
        return Err(wrong());
    }
    // Allocate only for bytes that arrive, not for the claimed length.
    let mut bytes = Vec::new();
    match from.take(u64::from(length)).read_to_end(&mut bytes)? {
        read if read == length as usize => Ok((tag, bytes)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the data is not a frame from the starter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_back_unchanged_and_other_bytes_are_refused() {
        let frames = [
            Frame::Ready,
            Frame::File("a/b".to_owned()),
            Frame::Program("a/c".to_owned()),
            Frame::Link("a/d".to_owned(), "../e".to_owned()),
            Frame::OutOfMemory,
            Frame::Bytes(vec![0, 255, 10]),
            Frame::LeftOut("link".to_owned()),
            Frame::Ended(Ended::Killed(9)),
        ];
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut bytes).expect("written"));
        let mut from = bytes.as_slice();
        for frame in &frames {
            assert_eq!(Frame::read(&mut from).expect("read"), *frame);
        }
        assert!(Frame::read(&mut from).is_err());
        for cut in 1..bytes.len() {
            let mut from = &bytes[..cut];
            let whole = std::iter::from_fn(|| Frame::read(&mut from).ok()).count();
            assert!(whole < frames.len());
        }
        for wrong in [
            &b"R\xff\xff\xff\xff"[..],
            b"R\x01\0\0\0a",
            b"L\x01\x40\0\0",
            b"X\0\0\0\0",
            b"F\x01\0\0\0\xff",
            b"E\x02\0\0\0{}",
            b"K\x01\0\0\0a",
        ] {
            assert!(Frame::read(&mut &wrong[..]).is_err(), "{wrong:?}");
        }
    }
}
