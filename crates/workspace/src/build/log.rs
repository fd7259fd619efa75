//! Keeps the output of a command: its beginning and end, without secrets and terminal control sequences.

use std::borrow::Cow;

use anstream::adapter::strip_str;
use memchr::memchr2;

use mcpkg_base::process::{Capture, Printed};
use mcpkg_base::redact::Pieces;

/// The sizes in bytes of the beginning and the end of a command's output that are kept.
const KEPT: Capture = Capture { head: 16 << 10, tail: 48 << 10 };

/// The longest line, in bytes, that is processed in full. mcpkg keeps only the first [`BEGINNING`] bytes of a longer
/// line, and cuts them at the last blank. Otherwise, the last word could be half of a secret, which redaction does not
/// recognize.
const LONGEST_LINE: usize = 64 << 10;
const BEGINNING: usize = 16 << 10;

/// The latest line, which is shown as progress, is cut after this many characters.
const LONGEST: usize = 120;

/// The output that a command has printed so far.
#[derive(Debug)]
pub struct Log {
    /// The start of a line that is not complete yet.
    waiting: Vec<u8>,
    /// The number of bytes of the incomplete line that were dropped.
    left_out: usize,
    /// Whether the last byte was a carriage return. A line feed that follows it belongs to the same line end.
    has_returned: bool,
    kept: Printed,
    pieces: Pieces,
    last: String,
    seen: String,
}

impl Default for Log {
    fn default() -> Self {
        let (last, seen) = (String::new(), String::new());
        let (kept, pieces) = (Printed::new(KEPT), Pieces::default());
        Self { waiting: Vec::new(), left_out: 0, has_returned: false, kept, pieces, last, seen }
    }
}

impl Log {
    /// Adds output. The result is the same however the output is split into pieces.
    pub fn push(&mut self, piece: &[u8]) {
        let mut lines = String::new();
        let mut rest = piece;
        if let Some(first) = rest.first()
            && std::mem::take(&mut self.has_returned)
            && *first == b'\n'
        {
            rest = &rest[1..];
        }
        // A progress display that overwrites its line ends it with a carriage return.
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(end + 1);
            self.wait(line);
            lines.push_str(&self.line());
            self.has_returned = line.ends_with(b"\r") && after.is_empty();
            rest = match line.ends_with(b"\r") {
                true => after.strip_prefix(b"\n").unwrap_or(after),
                false => after,
            };
        }
        self.wait(rest);
        if !lines.is_empty() {
            set_last(&mut self.seen, &lines);
            let safe = self.pieces.push(&lines);
            self.keep(&safe);
        }
    }

    /// Ends the log and returns everything kept.
    pub fn end(&mut self) -> String {
        let line = self.line();
        set_last(&mut self.seen, &line);
        let safe = self.pieces.push(&line) + &self.pieces.end();
        self.keep(&safe);
        self.kept.text()
    }

    /// Returns the last complete line that is not blank, with secrets redacted.
    pub fn last_line(&self) -> &str {
        &self.last
    }

    /// Like [`Log::last_line`], but without redaction, for a person at the terminal.
    pub fn last_line_seen(&self) -> &str {
        &self.seen
    }

    fn wait(&mut self, bytes: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.waiting.len()).min(bytes.len());
        self.waiting.extend_from_slice(&bytes[..room]);
        self.left_out += bytes.len() - room;
    }

    /// Takes the pending line, as plain text and cut if it is too long.
    fn line(&mut self) -> String {
        let line = std::mem::take(&mut self.waiting);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out == 0 {
            return plain(&String::from_utf8_lossy(&line)).into_owned();
        }
        let blank = line[..BEGINNING].iter().rposition(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(0);
        let begins = String::from_utf8_lossy(&line[..blank]);
        format!("{} ... {} bytes left out ...\n", plain(&begins), line.len() - blank + left_out)
    }

    fn keep(&mut self, safe: &str) {
        self.kept.push(safe.as_bytes());
        set_last(&mut self.last, safe);
    }
}

/// Sets `last` to the last line of `text` that is not blank, if there is one.
fn set_last(last: &mut String, text: &str) {
    if let Some(line) = text.rsplit('\n').map(str::trim).find(|line| !line.is_empty()) {
        *last = line.chars().map(|c| if c == '\t' { ' ' } else { c }).take(LONGEST).collect();
    }
}

/// Removes escape sequences and all control characters except tabs and line feeds. Carriage returns become line feeds.
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
    fn a_secret_that_arrives_in_two_pieces_is_redacted() {
        assert_eq!(kept(&[b"get https://me:s3c", b"ret@host/x\nrest"]), "get https://***@host/x\nrest");
        assert_eq!(kept(&[b"mcpkg_00ff00ff00ff_012345", b"6789\n"]), "mcpkg_00ff00ff00ff_***\n");
        let key = b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm\nab==\n-----END PRIVATE KEY-----\nok\n";
        for size in [1, 7, 40, 200] {
            assert_eq!(kept(&key.chunks(size).collect::<Vec<_>>()), "***\nok\n", "{size}");
        }
    }

    #[test]
    fn the_log_does_not_depend_on_how_the_output_is_split() {
        let key = "-----BEGIN PRIVATE KEY-----\nab==\n-----END PRIVATE KEY-----";
        let lines = "\u{1b}[1mpassword\u{1b}[0m: hunter2\r\n10%\rtoken:\r\n  s3cr3t\n";
        let text = format!("{lines}\u{fe0f}é {key}\nAPI_KEY=s3cr3t");
        let whole = kept(&[text.as_bytes()]);
        assert_eq!(whole, "password: ***\n10%\ntoken:\n  ***\n\u{fe0f}é ***\nAPI_KEY=***");
        for at in 0..text.len() {
            assert_eq!(kept(&[&text.as_bytes()[..at], &text.as_bytes()[at..]]), whole, "{at}");
        }
        for size in 1..9 {
            assert_eq!(kept(&text.as_bytes().chunks(size).collect::<Vec<_>>()), whole, "{size}");
        }
    }

    #[test]
    fn the_beginning_of_a_very_long_line_is_kept() {
        let long =
            [vec![b'x'; BEGINNING - 10], b" https://me:s3cret@host/".to_vec(), vec![b'y'; LONGEST_LINE]].concat();
        let whole = kept(&[&long, b"\nnext"]);
        assert!(whole.ends_with(" bytes left out ...\nnext") && !whole.contains("s3c") && whole.contains("xxx"));
        assert_eq!(kept(&long.chunks(999).chain([&b"\nnext"[..]]).collect::<Vec<_>>()), whole);
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
    fn terminal_control_sequences_are_removed() {
        assert_eq!(
            kept(&[b"\x1b[31mred\x1b[0m\tand \x07bell\x1b]0;title\x07\r\n10%\r20%\n"]),
            "red\tand bell\n10%\n20%\n"
        );
        assert_eq!(kept(&[b"\xff\n"]), "\u{fffd}\n");
    }

    #[test]
    fn the_last_line_is_complete_and_not_blank() {
        let mut log = Log::default();
        log.push(b"one\ntwo\n\n  \nthr");
        assert_eq!(log.last_line(), "two");
        log.push(b"ee\n");
        assert_eq!(log.last_line(), "three");
        log.push(b"password: hunter2\n");
        assert_eq!((log.last_line(), log.last_line_seen()), ("password: ***", "password: hunter2"));
    }
}
