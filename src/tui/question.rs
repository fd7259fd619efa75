//! A question that takes the whole body: what it is about, and the line in which only `y` means yes.

use std::time::Instant;

use super::message;

pub struct Asking {
    pub question: message::Question,
    /// The name to type, if the answer destroys something.
    pub name: Option<String>,
    pub typed: String,
    pub scroll: usize,
    /// Whether the last line has been on the screen.
    pub is_read: bool,
    /// When the question was first drawn. A key that was pressed earlier is no answer.
    pub drawn: Option<Instant>,
}

impl Asking {
    pub fn new(question: message::Question, name: Option<String>) -> Self {
        let is_read = question.lines.is_empty();
        Self { question, name, typed: String::new(), scroll: 0, is_read, drawn: None }
    }

    /// Whether a line is typed as the answer, instead of a single key.
    pub fn is_typed(&self) -> bool {
        self.name.is_some() || self.question.is_line
    }

    /// Whether a key that was read at `at` can answer.
    pub fn takes(&self, at: Instant) -> bool {
        self.drawn.is_some_and(|drawn| at > drawn)
    }

    /// Answers with what was typed, if it is the name.
    pub fn typed(self) -> bool {
        let is_right = self.name.as_ref().is_none_or(|name| *name == self.typed);
        let answer = (is_right && (self.name.is_some() || self.question.is_line)).then_some(self.typed);
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
