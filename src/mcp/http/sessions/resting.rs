//! Resting sessions: if nobody uses a session, only the data needed to resume it is kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::{SessionId, SessionState, SessionStore, SessionStoreError};

/// Data to resume sessions.
#[derive(Default)]
pub(super) struct Resting(Mutex<State>);

#[derive(Default)]
struct State {
    /// How each session was begun.
    begun: HashMap<String, SessionState>,
    /// How many workers of a session are about to end since it rests.
    ending: HashMap<String, usize>,
}

impl Resting {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a session rests from now on.
    pub(super) fn begin(&self, id: &SessionId) {
        *self.state().ending.entry(id.to_string()).or_default() += 1;
    }

    /// Whether the end of a session is the end of a worker alone, of a session that rests.
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
