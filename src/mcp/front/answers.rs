//! Answers that were given before and still hold: nothing was committed since.
//!
//! Clients list and read the same things again and again. Whether the database changed costs one look at its data
//! version, in whichever process the change was made; the rows, the hash and the JSON cost several times that.

use std::collections::HashMap;
use std::sync::Arc;

use crate::mcp::Config;
use crate::mcp::reads::Era;

/// Bytes of answers that are kept: a few hundred small ones, or one of an 8 MiB image.
const MOST: usize = 16 << 20;

/// The same where many clients have answers of their own.
const SLIM: usize = 1 << 20;

/// Results by what asked for them.
pub(super) struct Answers {
    most: usize,
    version: i64,
    bytes: usize,
    results: HashMap<Vec<u8>, Arc<Vec<u8>>>,
}

/// A question, as it is kept with its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Question {
    key: Vec<u8>,
    /// The database's data version when it was asked.
    version: i64,
}

impl Question {
    /// Asks anew in the memory of the last question. An answer depends on the project alone of what is configured;
    /// `header` is the name or URI that the request gave beside its parameters, which was compared with them before an
    /// answer was kept.
    pub(super) fn ask(
        &mut self,
        version: i64,
        config: &Config,
        era: Era,
        method: &str,
        parameters: &str,
        header: Option<&str>,
    ) {
        let project = config.selection.named.as_deref().unwrap_or_default();
        let header = header.unwrap_or_default();
        self.version = version;
        self.key.clear();
        self.key.reserve(project.len() + method.len() + parameters.len() + header.len() + 16);
        self.key.push(u8::from(era == Era::Modern));
        self.key.extend_from_slice(&header.len().to_ne_bytes());
        self.key.extend_from_slice(header.as_bytes());
        self.key.extend_from_slice(project.as_bytes());
        self.key.push(b' ');
        self.key.extend_from_slice(method.as_bytes());
        self.key.push(b' ');
        self.key.extend_from_slice(parameters.as_bytes());
    }
}

impl Default for Answers {
    fn default() -> Self {
        Self { most: MOST, version: 0, bytes: 0, results: HashMap::new() }
    }
}

impl Answers {
    /// Returns a memory for one of many clients.
    pub(super) fn slim() -> Self {
        Self { most: SLIM, ..Self::default() }
    }

    /// Returns the result that was kept for a question, where the database's version is still the one it is from.
    pub(super) fn find(&mut self, question: &Question) -> Option<Arc<Vec<u8>>> {
        if question.version != self.version {
            self.version = question.version;
            self.clear();
        }
        self.results.get(&question.key).cloned()
    }

    /// Keeps the result of a question, where nobody saw another version since it was asked. It may be newer than that
    /// version; the next look at the version then clears it.
    pub(super) fn keep(&mut self, question: &Question, result: &Arc<Vec<u8>>) {
        let bytes = question.key.len() + result.len();
        if bytes > self.most || question.version != self.version {
            return;
        }
        if self.bytes + bytes > self.most {
            self.clear();
        }
        if self.results.insert(question.key.clone(), Arc::clone(result)).is_none() {
            self.bytes += bytes;
        }
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.results.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(version: i64, era: Era, method: &str, parameters: &str) -> Question {
        let mut question = Question::default();
        question.ask(version, &Config::default(), era, method, parameters, None);
        question
    }

    #[test]
    fn answers_hold_until_the_version_moves() {
        let mut answers = Answers::default();
        let result = Arc::new(b"{}".to_vec());
        let asked = question(1, Era::Legacy, "prompts/list", "{}");
        assert_eq!(answers.find(&asked), None);
        answers.keep(&asked, &result);
        assert_eq!(answers.find(&asked), Some(Arc::clone(&result)));
        assert_eq!(answers.find(&question(1, Era::Modern, "prompts/list", "{}")), None);
        assert_eq!(answers.find(&question(1, Era::Legacy, "resources/list", "{}")), None);
        assert_eq!(answers.find(&question(2, Era::Legacy, "prompts/list", "{}")), None);
        assert_eq!(answers.find(&asked), None);
    }

    #[test]
    fn an_answer_that_took_too_long_is_not_kept() {
        let mut answers = Answers::default();
        let asked = question(1, Era::Legacy, "prompts/list", "{}");
        assert_eq!(answers.find(&asked), None);
        let later = question(2, Era::Legacy, "prompts/list", "{}");
        assert_eq!(answers.find(&later), None);
        answers.keep(&asked, &Arc::new(b"old".to_vec()));
        assert_eq!(answers.find(&later), None);
    }

    #[test]
    fn a_project_gets_its_own_answers() {
        let mut answers = Answers::default();
        let asked = question(1, Era::Legacy, "prompts/list", "{}");
        answers.find(&asked);
        answers.keep(&asked, &Arc::new(b"{}".to_vec()));
        let mut config = Config::default();
        config.selection.named = Some("q".to_owned());
        let mut of_q = Question::default();
        of_q.ask(1, &config, Era::Legacy, "prompts/list", "{}", None);
        assert_eq!(answers.find(&of_q), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut answers = Answers::default();
        for n in 0..100 {
            let asked = question(1, Era::Legacy, "resources/read", &n.to_string());
            answers.find(&asked);
            answers.keep(&asked, &Arc::new(vec![0; 1 << 20]));
            assert!(answers.bytes <= MOST);
        }
        let large = question(1, Era::Legacy, "resources/read", "large");
        answers.keep(&large, &Arc::new(vec![0; MOST]));
        assert_eq!(answers.find(&large), None);
    }
}
