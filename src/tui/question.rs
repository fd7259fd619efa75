//! A question to the user, which fills the body of the screen until it is answered.

use std::time::Instant;

use super::message;

pub struct Asking {
    pub question: message::Question,
    pub typed: String,
    pub scroll: usize,
    /// Whether the last line of the question was visible.
    pub is_read: bool,
    /// When the question was first drawn. Keys that were pressed earlier do not answer it.
    pub drawn: Option<Instant>,
}

impl Asking {
    pub fn new(question: message::Question) -> Self {
        let is_read = question.lines.is_empty();
        Self { question, typed: String::new(), scroll: 0, is_read, drawn: None }
    }

    /// Returns whether the answer is typed, as a name or a line, instead of a single key.
    pub fn is_typed(&self) -> bool {
        self.question.name.is_some() || self.question.is_line
    }

    /// Returns whether a key that was read at `at` can answer the question.
    pub fn takes(&self, at: Instant) -> bool {
        self.drawn.is_some_and(|drawn| at > drawn)
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
