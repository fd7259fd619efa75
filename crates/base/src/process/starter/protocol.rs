//! What the two sides of a start tell each other: one request, then frames.
//!
//! A frame is a byte that says what it is, four bytes of length, and so many bytes.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// The first argument of mcpkg where it is to start a program: a socket's path may follow, else standard input is the socket.
pub(super) const WORD: &str = "__start-in-sandbox";

/// The first argument of mcpkg where it is to enter control groups, and then become the program that follows them.
pub(super) const ENTER: &str = "__enter-cgroup";

/// The status where mcpkg itself failed, as a shell has it for what it cannot run.
pub(super) const FAILED: u8 = 126;

/// Bytes of the longest request.
const REQUEST: u32 = 64 << 20;

/// Bytes of the longest path: more than folders that lie as deep as they are walked can have.
const PATH: u32 = 16 << 10;

/// Bytes of a file that are sent at once.
pub(super) const PIECE: u32 = 64 << 10;

/// Bytes of the longest account of an end.
const END: u32 = 16 << 10;

/// Bytes of all paths together that a program may leave.
const NAMES: usize = 8 << 20;

/// The most entries that are reported as not taken.
pub(super) const MOST_LEFT_OUT: usize = 64;

/// A request to start a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its variables, all of them.
    pub variables: BTreeMap<String, String>,
    /// The folder that it runs in.
    pub folder: String,
    /// Limits for it and for each of its children.
    pub ceilings: Ceilings,
    /// The folder whose files are taken when it has ended.
    pub output: Option<Output>,
    /// A folder that is copied before it is started.
    pub copied: Option<Copied>,
    /// The environment of the starter itself.
    pub within: Within,
}

/// What the starter runs in: it decides who ends what the program leaves running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Within {
    /// A sandbox that ends with the process that started it, and is asked to end as a group.
    Sandbox,
    /// A container whose first process is the starter: it passes a request to end on, and ends where nobody listens to it
    /// any more. All else in the container ends with it.
    Container,
    /// Nothing: it ends where nobody listens to it any more, and before it ends it kills all that is below it.
    Nothing,
}

/// A folder that is copied, so that the program may change it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Copied {
    pub from: String,
    /// The folder that gets what is in it.
    pub to: String,
}

/// Limits for a program and for each of its children.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Ceilings {
    /// Seconds of a processor.
    pub cpu: u64,
    /// Bytes of memory that is its own.
    pub data: u64,
    /// Bytes of memory that it addresses.
    pub addressed: u64,
    /// Processes and threads at once, of its user in its namespace.
    pub processes: u64,
    pub files: u64,
    /// Bytes of the longest file.
    pub file_size: u64,
}

/// A folder whose files are taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    pub folder: String,
    /// How many files are taken.
    pub files: usize,
    /// How many bytes are taken.
    pub bytes: u64,
    /// Whether symbolic links are taken, as the texts that they are.
    pub links: bool,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    Killed(i32),
    /// By what it was not able to execute: a module, which has no process and so no signal.
    Trapped(String),
    /// It could not be started, and why.
    NotStarted(String),
}

/// A message from the starter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// It read the request.
    Ready,
    /// Here begins a file with this path.
    File(String),
    /// Here begins a file with this path that is a program.
    Program(String),
    /// At the first path is a symbolic link with the second text.
    Link(String, String),
    /// More bytes of the file.
    Bytes(Vec<u8>),
    /// Whatever is at this path is not taken.
    LeftOut(String),
    /// The kernel killed a process in the container since memory had run out.
    OutOfMemory,
    /// How the program ended: the last frame.
    Ended(Ended),
}

/// How much may still be reported of what a program left. Both sides count: the inner one to stop in time, the outer one because a
/// tool may have taken the starter's place.
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

    /// Counts a file or link with a path, and what a link leads to; returns whether it is allowed.
    pub(super) fn file(&mut self, path: &str) -> bool {
        Self::count(&mut self.files, &mut self.names, path)
    }

    /// Counts something that is not taken; returns whether that is allowed.
    pub(super) fn leave(&mut self, path: &str) -> bool {
        Self::count(&mut self.left_out, &mut self.names, path)
    }

    /// Counts bytes of a file; returns whether they are allowed. No bytes are not: a frame without any could be sent for ever.
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

    /// Reads a frame; what is none is an error.
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

/// Returns the bytes of the longest frame of a kind.
fn longest(tag: u8) -> u32 {
    match tag {
        b'Q' => REQUEST,
        b'F' | b'P' | b'L' => PATH,
        // A path, and what the link leads to.
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
    fn frames_come_out_as_they_went_in_and_nothing_else_is_one() {
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
