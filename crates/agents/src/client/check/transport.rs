//! The way to a server.

use std::time::Instant;

use serde_json::Value;

use super::step_error::StepError;

/// The way to a server.
pub(super) trait Transport {
    fn send(&mut self, message: &Value, until: Instant) -> Result<(), StepError>;
    /// Returns the next message; `None` if none came in time.
    fn receive(&mut self, until: Instant) -> Result<Option<Value>, StepError>;
    /// Is told the revision that both agreed on.
    fn agreed(&mut self, _revision: &str) {}
    /// Does what the agent does after the session has begun.
    fn begun(&mut self) -> Result<(), StepError> {
        Ok(())
    }
}
