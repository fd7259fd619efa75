//! Defines how the check exchanges messages with a server.

use std::time::Instant;

use serde_json::Value;

use super::step_error::StepError;

/// Exchanges messages with a server.
pub(super) trait Transport {
    fn send(&mut self, message: &Value, until: Instant) -> Result<(), StepError>;
    /// Returns the next message; `None` if none came in time.
    fn receive(&mut self, until: Instant) -> Result<Option<Value>, StepError>;
    /// Called with the protocol revision that both sides have agreed on.
    fn agreed(&mut self, _revision: &str) {}
    /// Does what the agent does right after the session has started.
    fn begun(&mut self) -> Result<(), StepError> {
        Ok(())
    }
}
