//! Writes a program's input. Reads its output, and keeps the output's beginning and end.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long to wait for output after a program has exited. A process that it left running may keep the pipe open.
pub(super) const DRAIN: Duration = Duration::from_secs(1);

/// The amount of an output that is kept.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    /// The number of bytes kept from the beginning.
    pub head: usize,
    /// The number of bytes kept from the end of a longer output.
    pub tail: usize,
}

impl Default for Capture {
    fn default() -> Self {
        Self { head: 4 << 20, tail: 64 << 10 }
    }
}

/// Receives a program's output piece by piece.
pub type Tell = Box<dyn FnMut(&[u8]) + Send>;

/// Writes a program's standard input.
pub type Feed = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// The exit status and output of a program.
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Printed,
    pub stderr: Printed,
}

/// The beginning and end of an output.
#[derive(Debug, Default)]
pub struct Printed {
    capture: Capture,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Printed {
    pub fn new(capture: Capture) -> Self {
        Self { capture, ..Self::default() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.capture.head - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.capture.tail);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// Returns the whole output; `None` if a part was dropped.
    pub fn whole(self) -> Option<Vec<u8>> {
        let Self { mut head, tail, dropped, .. } = self;
        head.extend(tail);
        (dropped == 0).then_some(head)
    }

    /// Returns the size of the whole output in bytes, including the dropped part.
    pub fn size(&self) -> u64 {
        self.dropped + (self.head.len() + self.tail.len()) as u64
    }

    /// Whether a part was dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Returns the output as text, with a line that counts the dropped bytes.
    pub fn text(&self) -> String {
        self.text_by(|text| text, |head, tail| (head.to_owned(), tail.to_owned()))
    }

    /// Like [`Printed::text`], but redacted by `whole`. If the middle was dropped, `cut` redacts the beginning and the
    /// end instead, because a secret may have been cut apart.
    pub fn text_by(&self, whole: impl Fn(String) -> String, cut: impl Fn(&str, &str) -> (String, String)) -> String {
        let (front, back) = self.tail.as_slices();
        let mut tail = [front, back].concat();
        if self.dropped == 0 {
            let bytes = [&self.head[..], &tail].concat();
            return whole(legible(&bytes));
        }
        // Drop half characters at the cut. Next to a part of a secret, they would keep that part from being recognized.
        let head = &self.head[..whole_end(&self.head)];
        tail.drain(..tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count());
        let left_out = self.size() - (head.len() + tail.len()) as u64;
        let (head, tail) = cut(&legible(head), &legible(&tail));
        format!("{head}\n... {left_out} bytes left out ...\n{tail}")
    }
}

/// Decodes bytes: as UTF-16 if they look like it, otherwise as UTF-8 with marks for invalid bytes.
fn legible(bytes: &[u8]) -> String {
    utf16(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Decodes bytes that look like UTF-16, which some Windows programs write.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let looks = &bytes[..bytes.len().min(1 << 10)];
    let zeros = |first: usize| looks.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let most = looks.len() / 4;
    let is_enough = looks.len() >= 8;
    let is_little = bytes.starts_with(&[0xff, 0xfe]) || (is_enough && zeros(1) > most && zeros(0) == 0);
    let is_big = bytes.starts_with(&[0xfe, 0xff]) || (is_enough && zeros(0) > most && zeros(1) == 0);
    if !is_little && !is_big {
        return None;
    }
    let unit = |pair: &[u8]| match pair {
        [a, b] if is_little => u16::from_le_bytes([*a, *b]),
        [a, b] => u16::from_be_bytes([*a, *b]),
        _ => 0xfffd,
    };
    let units: Vec<u16> = bytes.chunks(2).map(unit).collect();
    Some(String::from_utf16_lossy(&units).trim_start_matches('\u{feff}').to_owned())
}

/// Returns the end of the last complete character.
fn whole_end(bytes: &[u8]) -> usize {
    let starts = |byte: &u8| byte & 0xc0 != 0x80;
    let Some(back) = bytes.iter().rev().take(4).position(starts) else { return bytes.len() };
    let start = bytes.len() - back - 1;
    let size = match bytes[start] {
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
        _ => 1,
    };
    if size > back + 1 { start } else { bytes.len() }
}

/// Runs `feed` on its own thread, because the program may write output before it has read all of its input.
pub(super) fn write(mut stdin: impl Write + Send + 'static, feed: Feed) -> io::Result<Receiver<io::Result<()>>> {
    let (done, written) = channel();
    thread::Builder::new().name("to-program".to_owned()).spawn(move || {
        let fed = feed(&mut stdin);
        // Close the input before reporting its end.
        drop(stdin);
        let _ = done.send(fed);
    })?;
    Ok(written)
}

/// An output that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    printed: Arc<Mutex<Printed>>,
    /// Disconnected at the end of the output.
    ended: Receiver<()>,
}

impl Reading {
    pub(super) fn begin(
        mut from: impl Read + Send + 'static,
        capture: Capture,
        mut told: Option<Tell>,
    ) -> io::Result<Self> {
        let (running, ended) = channel();
        let printed = Arc::new(Mutex::new(Printed::new(capture)));
        let into = Arc::clone(&printed);
        thread::Builder::new().name("from-program".to_owned()).spawn(move || {
            let _running = running;
            let mut piece = [0; 16 << 10];
            loop {
                match from.read(&mut piece) {
                    Ok(0) => return,
                    Ok(read) => {
                        into.lock().unwrap_or_else(PoisonError::into_inner).push(&piece[..read]);
                        if let Some(tell) = &mut told {
                            tell(&piece[..read]);
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return,
                }
            }
        })?;
        Ok(Self { printed, ended })
    }

    /// Returns what was read up to the end of the output. Gives up after [`DRAIN`] if another process keeps the pipe
    /// open.
    pub(super) fn end(reading: Option<Self>) -> Printed {
        let Some(Self { printed, ended }) = reading else { return Printed::default() };
        let _ = ended.recv_timeout(DRAIN);
        std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
