//! Limits what mcpkg reads from a plugin: the length of a line, and the amount of data for each call.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Maximum length of a line in bytes; a line is one message.
const LINE: usize = 16 << 20;

/// Maximum number of bytes that a plugin may send from the start of one call to the start of the next.
const FLOOD: u64 = 64 << 20;

/// The state of reading from a plugin: the number of bytes since the last call began, whether the list of tools
/// changed, and why reading stopped.
#[derive(Debug, Default)]
pub struct Heard {
    bytes: AtomicU64,
    tools_changed: AtomicBool,
    broke: Mutex<Option<String>>,
}

impl Heard {
    /// Resets the counter at the start of a call.
    pub fn begin(&self) {
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Returns whether nothing was read since the call began.
    pub fn is_silent(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) == 0
    }

    /// Records that the list of tools changed.
    pub fn set_tools_changed(&self) {
        self.tools_changed.store(true, Ordering::Release);
    }

    /// Returns whether the list of tools changed since the last call of this function.
    pub fn take_tools_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// Returns the reason why reading stopped, if a limit was exceeded.
    pub fn broke(&self) -> Option<String> {
        self.broke.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn refuse(&self, why: String) -> io::Error {
        *self.broke.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        io::Error::new(io::ErrorKind::InvalidData, why)
    }
}

/// A reader that stops at the limits.
#[derive(Debug)]
pub struct Bounded<R> {
    from: R,
    /// Bytes since the last line end.
    line: usize,
    heard: Arc<Heard>,
}

impl<R> Bounded<R> {
    pub fn new(from: R, heard: Arc<Heard>) -> Self {
        Self { from, line: 0, heard }
    }

    fn look(&mut self, came: &[u8]) -> io::Result<()> {
        let mut lines = came.split(|byte| *byte == b'\n');
        self.line += lines.next().map_or(0, <[u8]>::len);
        if self.line > LINE {
            return Err(self.heard.refuse(format!("it wrote a line longer than {} MiB", LINE >> 20)));
        }
        if let Some(last) = lines.next_back() {
            self.line = last.len();
        }
        let all = self.heard.bytes.fetch_add(came.len() as u64, Ordering::Relaxed) + came.len() as u64;
        if all > FLOOD {
            return Err(self.heard.refuse(format!("it wrote more than {} MiB at once", FLOOD >> 20)));
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(context, into))?;
        let looked = self.look(&into.filled()[before..]);
        if looked.is_err() {
            into.set_filled(before);
        }
        Poll::Ready(looked)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(bytes: &[u8]) -> (io::Result<usize>, Arc<Heard>) {
        let heard = Arc::new(Heard::default());
        let mut bounded = Bounded::new(bytes, Arc::clone(&heard));
        (bounded.read_to_end(&mut Vec::new()).await, heard)
    }

    #[tokio::test]
    async fn lines_and_all_of_them_together_are_bounded() {
        let (read_all, heard) = read(b"{}\n{}\n").await;
        assert_eq!((read_all.expect("read"), heard.is_silent(), heard.broke()), (6, false, None));
        let (endless, heard) = read(&vec![b'x'; LINE + 1]).await;
        assert!(endless.is_err() && heard.broke().is_some_and(|why| why.contains("a line longer than 16 MiB")));
        let lines: Vec<u8> = b"0123456\n".repeat((FLOOD as usize / 8) + 1);
        let (flood, heard) = read(&lines).await;
        assert!(flood.is_err() && heard.broke().is_some_and(|why| why.contains("more than 64 MiB at once")));
        heard.begin();
        assert!(heard.is_silent());
    }
}
