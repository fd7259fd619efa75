//! Decides where an answer goes: on its own line, or into the combined answer to a batch.

use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone)]
pub(crate) enum Sink {
    /// The answer is a line of its own.
    Wire,
    /// The answer is an element of a batch's answer.
    Batch(Arc<Batch>),
}

impl Sink {
    /// Returns the sink of a batch that will have `expected` answers.
    pub(in crate::mcp) fn batch(expected: usize) -> Self {
        Sink::Batch(Arc::new(Batch(Mutex::new(Replies { expected, there: Vec::new() }))))
    }
}

/// Collects the answers of a batch until all have arrived.
pub(crate) struct Batch(Mutex<Replies>);

struct Replies {
    expected: usize,
    there: Vec<Vec<u8>>,
}

impl Batch {
    /// Adds an answer. Returns the complete line once all answers have arrived.
    pub(in crate::mcp) fn add(&self, reply: Vec<u8>) -> Option<Vec<u8>> {
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replies.there.push(reply);
        replies.line()
    }

    /// Expects one answer fewer. Returns the complete line if all others have arrived.
    pub(super) fn forget(&self) -> Option<Vec<u8>> {
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        replies.expected -= 1;
        replies.line()
    }
}

impl Replies {
    fn line(&self) -> Option<Vec<u8>> {
        if self.there.is_empty() || self.there.len() < self.expected {
            return None;
        }
        let mut line = vec![b'['];
        for (index, reply) in self.there.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            line.extend_from_slice(reply.trim_ascii_end());
        }
        line.extend_from_slice(b"]\n");
        Some(line)
    }
}
