//! What a program prints, of which the beginning and the end are kept.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How long output is waited for once a program has ended: something that it left running may hold the pipe open.
pub(super) const DRAIN: Duration = Duration::from_secs(1);

/// How much of an output is kept.
#[derive(Clone, Copy, Debug)]
pub struct Capture {
    /// Bytes of its beginning.
    pub head: usize,
    /// Bytes of its end, where it is longer than that.
    pub tail: usize,
}

impl Default for Capture {
    fn default() -> Self {
        Self { head: 4 << 20, tail: 64 << 10 }
    }
}

/// Takes what a program prints, piece by piece.
pub type Tell = Box<dyn FnMut(&[u8]) + Send>;

/// Writes what a program reads from its standard input.
pub type Feed = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// What a program printed until it ended.
#[derive(Debug)]
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Printed,
    pub stderr: Printed,
}

/// The beginning and the end of an output.
#[derive(Debug, Default)]
pub struct Printed {
    capture: Capture,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Printed {
    /// Returns an output to which nothing was printed so far.
    pub fn new(capture: Capture) -> Self {
        Self { capture, ..Self::default() }
    }

    /// Adds what was printed.
    pub fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.capture.head - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.capture.tail);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// Returns every byte; `None` where there were more than are kept.
    pub fn whole(self) -> Option<Vec<u8>> {
        let Self { mut head, tail, dropped, .. } = self;
        head.extend(tail);
        (dropped == 0).then_some(head)
    }

    /// Returns how many bytes were printed, with those that were left out.
    pub fn size(&self) -> u64 {
        self.dropped + (self.head.len() + self.tail.len()) as u64
    }

    /// Whether a part of it was left out.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    /// Returns the output as text, with a line that counts what was left out.
    pub fn text(&self) -> String {
        self.text_by(|text| text, |head, tail| (head.to_owned(), tail.to_owned()))
    }

    /// As [`Printed::text`], after `whole` has redacted it. If the middle was left out, `cut` redacts the beginning
    /// and the end instead, since the cut may have split a secret.
    pub fn text_by(&self, whole: impl Fn(String) -> String, cut: impl Fn(&str, &str) -> (String, String)) -> String {
        let (front, back) = self.tail.as_slices();
        let mut tail = [front, back].concat();
        if self.dropped == 0 {
            let bytes = [&self.head[..], &tail].concat();
            return whole(legible(&bytes));
        }
        // Half a character next to a part of a secret would keep that part from being recognized.
        let head = &self.head[..whole_end(&self.head)];
        tail.drain(..tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count());
        let left_out = self.size() - (head.len() + tail.len()) as u64;
        let (head, tail) = cut(&legible(head), &legible(&tail));
        format!("{head}\n... {left_out} bytes left out ...\n{tail}")
    }
}

/// Returns bytes as text: UTF-16 where they look like it, else UTF-8 with marks for what is not.
fn legible(bytes: &[u8]) -> String {
    utf16(bytes).unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the text of bytes that look like UTF-16, as programs of Windows write it.
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

/// Returns where the last character that is whole ends.
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

/// Lets `feed` write on a thread of its own: the program may answer before it has read everything.
pub(super) fn write(mut stdin: impl Write + Send + 'static, feed: Feed) -> io::Result<Receiver<io::Result<()>>> {
    let (done, written) = channel();
    thread::Builder::new().name("to-program".to_owned()).spawn(move || {
        let fed = feed(&mut stdin);
        // The end of the input comes before the news of it.
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

    /// Returns what was read until the output's end, or until what holds it open was waited for long enough.
    pub(super) fn end(reading: Option<Self>) -> Printed {
        let Some(Self { printed, ended }) = reading else { return Printed::default() };
        let _ = ended.recv_timeout(DRAIN);
        std::mem::take(&mut *printed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
