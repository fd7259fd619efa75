//! Follows the calls that the agent of `mcpkg ask` makes. The mcpkg server attached to the agent writes each call to a
//! file, as a line of JSON.

use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use serde::Deserialize;

use mcpkg_base::file;
use uuid::Uuid;

/// Maximum number of bytes to read at once.
const PIECE: u64 = 1 << 20;

/// A call of one of the attached server's tools.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Call {
    pub tool: String,
    /// `ok`, or the code of the error.
    pub outcome: String,
    /// A summary of the answer, such as `665 bytes` or `errors=[1] warnings=[0]`.
    #[serde(default)]
    answered: String,
}

impl Call {
    /// Returns the id of the draft that the call made.
    pub fn draft(&self) -> Option<Uuid> {
        let id = self.answered.split(' ').find_map(|field| field.strip_prefix("id="));
        id.filter(|_| self.tool == "propose_workflow" && self.outcome == "ok").and_then(|id| Uuid::parse_str(id).ok())
    }

    /// Returns the outcome for people: the error, or else the counts in the answer, its size, or `ok`.
    pub fn shown(&self) -> String {
        if self.outcome != "ok" {
            return self.outcome.clone();
        }
        let counts = self.answered.split(' ').filter_map(|field| {
            let (name, count) = field.split_once("=[")?;
            Some(format!("{name} {}", count.strip_suffix(']')?))
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        match (counts.is_empty(), self.answered.contains('=')) {
            (false, _) => counts,
            (true, false) if !self.answered.is_empty() => self.answered.clone(),
            _ => "ok".to_owned(),
        }
    }
}

/// The file that lists a run's calls. Its first `read` bytes have been read.
pub struct Calls {
    path: PathBuf,
    read: u64,
}

impl Calls {
    pub fn of(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// Returns the calls that the server has written since the file was last read. A line that is still incomplete is left for
    /// the next time. Lines that are not calls are skipped.
    pub fn next(&mut self) -> Vec<Call> {
        // The server creates the file when the agent starts it.
        let Ok(mut file) = file::open(&self.path) else { return Vec::new() };
        let mut bytes = Vec::new();
        let read = file.seek(SeekFrom::Start(self.read)).and_then(|_| file.take(PIECE).read_to_end(&mut bytes));
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if read.is_err() {
            return Vec::new();
        }
        // A line that is longer than a piece is not a call: skip it in pieces.
        let is_too_long = whole == 0 && bytes.len() as u64 == PIECE;
        self.read += if is_too_long { PIECE } else { whole as u64 };
        bytes[..whole].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("calls.jsonl");
        let mut calls = Calls::of(path.clone());
        assert_eq!(calls.next(), []);
        let line = r#"{"tool":"search_commands","outcome":"ok","micros":7,"answered":"665 bytes"}"#;
        std::fs::write(&path, format!("{line}\n{{\"tool\":\"val")).expect("written");
        let found = calls.next();
        assert_eq!((found.len(), found[0].shown().as_str()), (1, "665 bytes"));
        assert_eq!(calls.next(), []);
        let rest = r#"{"tool":"validate_workflow","outcome":"ok","answered":"errors=[1] warnings=[0]"}"#;
        std::fs::write(&path, format!("{line}\n{rest}\nno json\n")).expect("written");
        let found = calls.next();
        assert_eq!((found.len(), found[0].shown().as_str()), (1, "errors 1, warnings 0"));
    }

    #[test]
    fn a_very_long_line_does_not_hide_the_calls_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("calls.jsonl");
        let mut calls = Calls::of(path.clone());
        let line = r#"{"tool":"search_commands","outcome":"ok","micros":7,"answered":"665 bytes"}"#;
        std::fs::write(&path, format!("{}\n{line}\n", "x".repeat(2_500_000))).expect("written");
        let found: Vec<Call> = (0..4).flat_map(|_| calls.next()).collect();
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn a_draft_is_named_by_the_call_that_made_it() {
        let id = Uuid::from_u128(7);
        let call = |tool: &str, outcome: &str| Call {
            tool: tool.to_owned(),
            outcome: outcome.to_owned(),
            answered: format!("id={id} workflow=w yaml=(42 bytes)"),
        };
        assert_eq!(call("propose_workflow", "ok").draft(), Some(id));
        assert_eq!(call("propose_workflow", "E_NOT_FOUND").draft(), None);
        assert_eq!(call("get_command_spec", "ok").draft(), None);
        assert_eq!(call("get_command_spec", "ok").shown(), "ok");
        assert_eq!(call("get_command_spec", "E_NOT_FOUND").shown(), "E_NOT_FOUND");
    }
}
