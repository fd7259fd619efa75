//! Parses git's output: objects, and the progress of a fetch.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::changed;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Progress;

/// Parses the output of `git cat-file --batch`. Calls `each` with the index and the content of each object.
pub(super) fn contents(said: &mut dyn Read, mut each: impl FnMut(usize, &mut dyn Read) -> Result<()>) -> Result<()> {
    let mut said = BufReader::with_capacity(64 << 10, said);
    let mut line = String::new();
    for at in 0.. {
        line.clear();
        if said.read_line(&mut line).map_err(lost)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (Some(object), Some(kind)) = (words.next(), words.next()) else { return Err(odd()) };
        let Some(size) = words.next().filter(|_| kind == "blob").and_then(|size| size.parse::<u64>().ok()) else {
            return Err(changed(format!("The repository lacks the object {object}")));
        };
        let mut content = (&mut said).take(size);
        each(at, &mut content)?;
        std::io::copy(&mut content, &mut std::io::sink()).map_err(lost)?;
        if content.limit() > 0 || said.read_exact(&mut [0]).is_err() {
            return Err(odd());
        }
    }
    Ok(())
}

/// Returns the error for a failure to read git's output.
pub(super) fn lost(error: std::io::Error) -> Error {
    Error::new(Code::GitFailed, format!("Cannot read git's output: {error}")).with_source(error)
}

pub(super) fn odd() -> Error {
    Error::new(Code::GitFailed, "git printed unexpected output, or ended too early")
}

/// Reports the progress of a fetch, as read from git's output.
pub(super) struct FetchProgress {
    progress: Arc<Progress>,
    line: Vec<u8>,
}

impl FetchProgress {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        Self { progress, line: Vec::new() }
    }

    pub(super) fn tell(mut self) -> mcpkg_base::process::Tell {
        Box::new(move |piece| {
            for byte in piece {
                if !matches!(byte, b'\r' | b'\n') {
                    self.line.push(*byte);
                    continue;
                }
                if let Some((done, total)) = counted(&String::from_utf8_lossy(&self.line)) {
                    (self.progress)("Fetching", done, total);
                }
                self.line.clear();
            }
        })
    }
}

/// Parses the numbers of received and of all objects in a line such as `Receiving objects:  45% (9/20)`.
fn counted(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("Receiving objects:").or_else(|| line.strip_prefix("Unpacking objects:"))?;
    let (_, counts) = rest.split_once('(')?;
    let (done, total) = counts.split_once(')')?.0.split_once('/')?;
    Some((done.parse().ok()?, total.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_parsed_from_gits_output() {
        assert_eq!(counted("Receiving objects:  45% (9/20), 1.20 MiB | 1 MiB/s"), Some((9, 20)));
        assert_eq!(counted("remote: Counting objects: 45% (9/20)"), None);
        assert_eq!(counted("From file:///x"), None);
    }

    #[test]
    fn objects_are_read_in_order_and_truncated_output_fails() {
        let mut seen = Vec::new();
        let said = b"aa blob 3\nabc\nbb blob 0\n\n";
        let mut collect = |at: usize, content: &mut dyn Read| {
            let mut text = String::new();
            // Do not read the first object, to test that the parser then skips its bytes.
            if at > 0 {
                content.read_to_string(&mut text).map_err(lost)?;
            }
            seen.push((at, text));
            Ok(())
        };
        contents(&mut &said[..], &mut collect).unwrap();
        assert_eq!(seen, [(0, String::new()), (1, String::new())]);
        let cut = contents(&mut &b"aa blob 9\nabc"[..], |_, _| Ok(())).unwrap_err();
        assert_eq!(cut.code(), Code::GitFailed);
        let missing = contents(&mut &b"aa missing\n"[..], |_, _| Ok(())).unwrap_err();
        assert_eq!(missing.code(), Code::SourceChanged);
    }
}
