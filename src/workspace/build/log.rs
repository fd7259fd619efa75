//! What a command prints, as it is kept: its beginning and its end, without secrets and without what moves a terminal's cursor.

use std::borrow::Cow;

use anstream::adapter::strip_str;
use memchr::memrchr;

use crate::process::{Capture, Printed};
use crate::redact::Pieces;

/// How much of an output is kept.
const KEPT: Capture = Capture { head: 16 << 10, tail: 48 << 10 };

/// The most bytes of a line that is not at its end that wait for the rest of it: a secret is found in a whole word only.
const WAITING: usize = 16 << 10;

/// Characters of the last line that are told.
const LONGEST: usize = 120;

/// What a command has printed so far.
#[derive(Debug)]
pub struct Log {
    /// The beginning of a line whose end has not come.
    waiting: Vec<u8>,
    kept: Printed,
    pieces: Pieces,
    last: String,
    seen: String,
}

impl Default for Log {
    fn default() -> Self {
        let (last, seen) = (String::new(), String::new());
        Self { waiting: Vec::new(), kept: Printed::new(KEPT), pieces: Pieces::default(), last, seen }
    }
}

impl Log {
    /// Adds what was printed.
    pub fn push(&mut self, piece: &[u8]) {
        let whole = match memrchr(b'\n', piece) {
            Some(end) => end + 1,
            None if self.waiting.len() + piece.len() < WAITING => 0,
            // Of a line without an end all but its last word, or its last value where it has no blanks.
            None => piece.iter().rposition(|byte| b" ,;&".contains(byte)).map_or(piece.len(), |end| end + 1),
        };
        let (now, later) = piece.split_at(whole);
        if !now.is_empty() {
            let waiting = std::mem::take(&mut self.waiting);
            match waiting.is_empty() {
                true => self.keep(now, true),
                false => self.keep(&[&waiting, now].concat(), true),
            }
        }
        self.waiting.extend_from_slice(later);
    }

    /// Returns all that is kept: nothing more is printed.
    pub fn end(&mut self) -> String {
        let waiting = std::mem::take(&mut self.waiting);
        self.keep(&waiting, false);
        self.kept.text()
    }

    /// The last line that is at its end and not blank.
    pub fn last_line(&self) -> &str {
        &self.last
    }

    /// As [`Log::last_line`], with the secrets in it: for a person who watches.
    pub fn last_line_seen(&self) -> &str {
        &self.seen
    }

    fn keep(&mut self, bytes: &[u8], goes_on: bool) {
        let text = String::from_utf8_lossy(bytes);
        let text = plain(&text);
        let safe = self.pieces.next(&text, goes_on);
        self.kept.push(safe.as_bytes());
        set_last(&mut self.seen, &text);
        set_last(&mut self.last, &safe);
    }
}

/// Keeps the last line of a text that is not blank, where there is one.
fn set_last(last: &mut String, text: &str) {
    if let Some(line) = text.rsplit('\n').map(str::trim).find(|line| !line.is_empty()) {
        *last = line.chars().map(|c| if c == '\t' { ' ' } else { c }).take(LONGEST).collect();
    }
}

/// Returns a text without escape sequences and control characters; a carriage return ends a line.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte == 0x7f || byte < b' ' && !matches!(byte, b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let text = strip_str(text).to_string().replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pieces: &[&[u8]]) -> String {
        let mut log = Log::default();
        pieces.iter().for_each(|piece| log.push(piece));
        log.end()
    }

    #[test]
    fn a_secret_is_taken_out_also_where_it_comes_in_two_pieces() {
        assert_eq!(kept(&[b"get https://me:s3c", b"ret@host/x\nrest"]), "get https://***@host/x\nrest");
        assert_eq!(kept(&[b"mcpkg_00ff00ff00ff_012345", b"6789\n"]), "mcpkg_00ff00ff00ff_***\n");
        let key = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm\nab==\n-----END PRIVATE KEY-----\nok\n";
        for size in [1, 7, 40, 200] {
            assert_eq!(kept(&key.chunks(size).collect::<Vec<_>>()), "***\nok\n", "{size}");
        }
        // A line that never ends is kept in pieces that end with a word.
        let long = [vec![b'x'; WAITING - 10], b" https://me:s3c".to_vec()].concat();
        assert!(!kept(&[&long, b"ret@host/"]).contains("s3c"));
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let line = b"0123456789abcde\n";
        let mut log = Log::default();
        log.push(b"begin\n");
        (0..100_000).for_each(|_| log.push(line));
        log.push(b"end");
        let text = log.end();
        assert!(text.starts_with("begin\n") && text.ends_with("\nend") && text.contains(" bytes left out "), "{text}");
        assert!(text.len() < KEPT.head + KEPT.tail + 100);
    }

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        assert_eq!(
            kept(&[b"\x1b[31mred\x1b[0m\tand \x07bell\x1b]0;title\x07\r\n10%\r20%\n"]),
            "red\tand bell\n10%\n20%\n"
        );
        assert_eq!(kept(&[b"\xff\n"]), "\u{fffd}\n");
    }

    #[test]
    fn the_last_whole_line_is_told() {
        let mut log = Log::default();
        log.push(b"one\ntwo\n\n  \nthr");
        assert_eq!(log.last_line(), "two");
        log.push(b"ee\n");
        assert_eq!(log.last_line(), "three");
        log.push(b"password: hunter2\n");
        assert_eq!((log.last_line(), log.last_line_seen()), ("password: ***", "password: hunter2"));
    }
}
