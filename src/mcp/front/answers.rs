//! Answers that were given before and still hold: nothing was committed since.
//!
//! Clients list and read the same things again and again. Whether the database changed costs one look at its data
//! version, in whichever process the change was made; the rows, the hash and the JSON cost several times that.

use std::collections::HashMap;
use std::sync::Arc;

use crate::mcp::reads::Era;

/// Bytes of answers that are kept: a few hundred small ones, or one of an 8 MiB image.
const MOST: usize = 16 << 20;

/// Results by what asked for them.
#[derive(Default)]
pub(super) struct Answers {
    version: i64,
    bytes: usize,
    results: HashMap<Vec<u8>, Arc<Vec<u8>>>,
    /// The key of the last question, so that asking again takes no memory.
    asked: Vec<u8>,
}

impl Answers {
    /// Returns the result that was kept for a request, where `version` of the database is still the one it is from.
    pub(super) fn find(&mut self, version: i64, era: Era, method: &str, parameters: &str) -> Option<Arc<Vec<u8>>> {
        if version != self.version {
            self.version = version;
            self.clear();
        }
        self.asked.clear();
        self.asked.push(u8::from(era == Era::Modern));
        self.asked.extend_from_slice(method.as_bytes());
        self.asked.push(b' ');
        self.asked.extend_from_slice(parameters.as_bytes());
        self.results.get(&self.asked).cloned()
    }

    /// Keeps the result of the question that was asked last. It may be newer than the version it is kept for; the
    /// next look at the version then clears it.
    pub(super) fn keep(&mut self, result: &Arc<Vec<u8>>) {
        let bytes = self.asked.len() + result.len();
        if bytes > MOST {
            return;
        }
        if self.bytes + bytes > MOST {
            self.clear();
        }
        self.bytes += bytes;
        self.results.insert(self.asked.clone(), Arc::clone(result));
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.results.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_hold_until_the_version_moves() {
        let mut answers = Answers::default();
        let result = Arc::new(b"{}".to_vec());
        assert_eq!(answers.find(1, Era::Legacy, "prompts/list", "{}"), None);
        answers.keep(&result);
        assert_eq!(answers.find(1, Era::Legacy, "prompts/list", "{}"), Some(Arc::clone(&result)));
        assert_eq!(answers.find(1, Era::Modern, "prompts/list", "{}"), None);
        assert_eq!(answers.find(1, Era::Legacy, "resources/list", "{}"), None);
        assert_eq!(answers.find(2, Era::Legacy, "prompts/list", "{}"), None);
        assert_eq!(answers.find(1, Era::Legacy, "prompts/list", "{}"), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut answers = Answers::default();
        for n in 0..100 {
            answers.find(1, Era::Legacy, "resources/read", &n.to_string());
            answers.keep(&Arc::new(vec![0; 1 << 20]));
            assert!(answers.bytes <= MOST);
        }
        answers.find(1, Era::Legacy, "resources/read", "large");
        answers.keep(&Arc::new(vec![0; MOST]));
        assert_eq!(answers.find(1, Era::Legacy, "resources/read", "large"), None);
    }
}
