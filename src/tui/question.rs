//! A question to the user, which fills the body of the screen until it is answered.

use std::time::Instant;

use super::message;

/// When a question was first drawn. A key that was pressed earlier does not answer it, because the user typed the key
/// without having seen the question.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drawn(Option<Instant>);

impl Drawn {
    /// Records that a frame with the question was drawn. Only the first frame counts.
    pub fn record(&mut self, at: Instant) {
        self.0.get_or_insert(at);
    }

    /// Returns whether a key that was read at `at` can answer the question.
    pub fn takes(self, at: Instant) -> bool {
        self.0.is_some_and(|drawn| at > drawn)
    }
}

pub struct Asking {
    pub question: message::Question,
    pub typed: String,
    pub scroll: usize,
    /// Whether the last line of the question was visible.
    pub is_read: bool,
    pub drawn: Drawn,
}

impl Asking {
    pub fn new(question: message::Question) -> Self {
        let is_read = question.lines.is_empty();
        Self { question, typed: String::new(), scroll: 0, is_read, drawn: Drawn::default() }
    }

    /// Returns whether the answer is typed, as a name or a line, instead of a single key.
    pub fn is_typed(&self) -> bool {
        self.question.name.is_some() || self.question.is_line
    }

    /// Answers with the typed text. If a name is required and the text differs from it, answers no. Returns whether the
    /// text was accepted.
    pub fn typed(self) -> bool {
        let is_right = self.question.name.as_ref().is_none_or(|name| *name == self.typed);
        let answer = (is_right && (self.question.name.is_some() || self.question.is_line)).then_some(self.typed);
        let said = answer.is_some();
        let _ = self.question.answer.send(answer);
        said
    }

    pub fn yes(self) {
        let _ = self.question.answer.send(Some(String::new()));
    }

    pub fn no(self) {
        let _ = self.question.answer.send(None);
    }
}
