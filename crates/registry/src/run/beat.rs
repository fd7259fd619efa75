//! Shows the user that a run is still active. Every few seconds it reports the duration and the last line of
//! standard error.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcpkg_base::process::Tell;
use mcpkg_base::redact::{Pieces, Secrets};
use mcpkg_core::op::Context;

/// The time between two messages.
const PACE: Duration = Duration::from_secs(3);

/// The maximum length of a line in a message in characters.
const LONGEST: usize = 200;

/// The maximum size in bytes of a line that is considered. A longer line is skipped, since cutting it could leave
/// half of a secret visible.
const KEPT: usize = 64 << 10;

/// Reports progress until it is dropped.
pub struct Beat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    last: Arc<Mutex<LastLine>>,
}

impl Beat {
    /// Starts to report the progress of a run of `tool`, with `secrets` hidden.
    pub fn begin(context: &Context, tool: &str, secrets: &Secrets) -> Self {
        let last = Arc::new(Mutex::new(LastLine { secrets: secrets.by_line(), ..LastLine::default() }));
        let (stop, stopped) = channel::<()>();
        let (progress, say) = (Arc::clone(&context.progress), Arc::clone(&context.say));
        let (tool, line) = (tool.to_owned(), Arc::clone(&last));
        let begun = Instant::now();
        let tell = move || {
            while stopped.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                let seconds = begun.elapsed().as_secs();
                let said = line.lock().unwrap_or_else(PoisonError::into_inner).whole.clone();
                let told = message(&tool, seconds, said.as_deref());
                progress(&told, seconds, 0);
                say(&told);
            }
        };
        // If no thread can be started, the run continues without progress messages.
        let thread = thread::Builder::new().name("tool-lives".to_owned()).spawn(tell).ok();
        Self { stop: Some(stop), thread, last }
    }

    /// Returns the function that receives each piece of standard error.
    pub fn tell(&self) -> Tell {
        let last = Arc::clone(&self.last);
        Box::new(move |piece| last.lock().unwrap_or_else(PoisonError::into_inner).push(piece))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns a progress message.
fn message(tool: &str, seconds: u64, line: Option<&str>) -> String {
    let line = line.map(|line| line.chars().filter(|c| !c.is_control()).take(LONGEST).collect::<String>());
    match line.filter(|line| !line.trim().is_empty()) {
        Some(line) => format!("{tool} has been running for {seconds} s: {}", line.trim()),
        None => format!("{tool} has been running for {seconds} s"),
    }
}

/// The last complete line of standard error, with secrets hidden. An incomplete line is not shown, since it may end
/// in the middle of a secret.
#[derive(Debug, Default)]
struct LastLine {
    secrets: Secrets,
    whole: Option<String>,
    /// The current incomplete line; one byte longer than [`KEPT`] if it is too long.
    begun: Vec<u8>,
    /// Hides secrets that span several lines.
    pieces: Pieces,
}

impl LastLine {
    fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            match part {
                [line @ .., b'\n' | b'\r'] => {
                    self.keep(line);
                    if self.begun.len() <= KEPT {
                        // The output may be UTF-16, in which each ASCII character contains a zero byte.
                        let line = String::from_utf8_lossy(&self.begun).replace('\0', "") + "\n";
                        let safe = self.pieces.push(&self.secrets.hidden_in(&line));
                        let line = safe.lines().rfind(|line| !line.trim().is_empty());
                        self.whole = line.map(str::to_owned).or(self.whole.take());
                    }
                    self.begun.clear();
                }
                line => self.keep(line),
            }
        }
    }

    fn keep(&mut self, line: &[u8]) {
        let room = (KEPT + 1).saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&line[..line.len().min(room)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_are_reported() {
        let mut last = LastLine::default();
        last.push(b"first\nsec");
        assert_eq!(last.whole.as_deref(), Some("first"));
        last.push(b"ond\r\n\n  \n10%\r20");
        assert_eq!(last.whole.as_deref(), Some("10%"));
        last.push(&vec![b'x'; 1 << 20]);
        assert!(last.begun.len() <= KEPT + 1);
        last.push(b"\n");
        assert_eq!(last.whole.as_deref(), Some("10%"), "its cut may be half of a secret");
        last.push(b"next\n");
        assert_eq!(last.whole.as_deref(), Some("next"));
    }

    #[test]
    fn reported_lines_contain_no_secrets_or_control_characters() {
        let mut secrets = Secrets::new();
        secrets.learn("s3cret");
        secrets.learn("s3cret-and-longer");
        let mut last = LastLine { secrets, ..LastLine::default() };
        let mut said = |bytes: &[u8]| {
            last.push(bytes);
            message("a/b", 3, last.whole.as_deref())
        };
        assert_eq!(said(b"key s3cret\x1b[2J\n"), "a/b has been running for 3 s: key ***[2J");
        assert_eq!(said(b"s3cret-and-longer\n"), "a/b has been running for 3 s: ***");
        assert_eq!(said(b"password: hunter2\n"), "a/b has been running for 3 s: password: ***");
        assert_eq!(said(b"token:\n"), "a/b has been running for 3 s: password: ***");
        assert_eq!(said(b"  hunter2\n"), "a/b has been running for 3 s: ***");
        assert_eq!(message("a/b", 6, Some(" ")), "a/b has been running for 6 s");
        assert_eq!(message("a/b", 9, None), "a/b has been running for 9 s");
        let long = "y".repeat(5_000);
        assert!(message("a/b", 9, Some(&long)).len() < 300);
    }
}
