//! Keeps the data needed to resume sessions whose memory in rmcp was freed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::{SessionId, SessionState, SessionStore, SessionStoreError};

/// The data needed to resume sessions.
#[derive(Default)]
pub(super) struct Resting(Mutex<State>);

#[derive(Default)]
struct State {
    /// The `initialize` data that each session began with.
    begun: HashMap<String, SessionState>,
    /// For each session that was put to rest, how many of its workers have yet to report their end.
    ending: HashMap<String, usize>,
}

impl Resting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a session is put to rest.
    pub(super) fn begin(&self, id: &SessionId) {
        *self.state().ending.entry(id.to_string()).or_default() += 1;
    }

    /// Returns whether a reported end comes from a worker that stopped because its session was put to rest, not from
    /// the end of the session. Each call counts as one report.
    pub(super) fn has_ended(&self, id: &SessionId) -> bool {
        let mut state = self.state();
        let Some(ending) = state.ending.get_mut(&**id) else { return false };
        *ending -= 1;
        if *ending == 0 {
            state.ending.remove(&**id);
        }
        true
    }

    pub(super) fn forget(&self, id: &SessionId) {
        self.state().begun.remove(&**id);
    }
}

#[async_trait::async_trait]
impl SessionStore for Resting {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.state().begun.get(id).cloned())
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        self.state().begun.insert(id.to_owned(), state.clone());
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.state().begun.remove(id);
        Ok(())
    }
}
