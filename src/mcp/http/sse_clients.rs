//! Tracks the clients of the older transport.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::mcp::front::Front;
use crate::mcp::http::sessions::Owner;
use crate::mcp::in_flight::InFlight;
use crate::mcp::output::Output;

/// The connected clients, by session.
#[derive(Clone, Default)]
pub(in crate::mcp) struct Clients(Arc<Mutex<HashMap<String, Arc<Client>>>>);

/// A connected client.
pub(super) struct Client {
    pub(super) owner: Owner,
    /// Locked for one message at a time: a client that sends many messages only delays itself.
    pub(super) front: Arc<tokio::sync::Mutex<Front>>,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) output: Arc<Output>,
    /// Cancelled when the client has disconnected.
    pub(super) gone: CancellationToken,
}

impl Drop for Client {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

/// Ends a session when its stream ends.
pub(super) struct Session {
    clients: Clients,
    id: String,
    /// Cancelled to end the front's current read.
    cancelled: CancellationToken,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Client>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, id: String, client: Arc<Client>) {
        self.lock().insert(id, client);
    }

    /// Returns the client of a session, if the session belongs to `owner`.
    pub(super) fn get(&self, id: &str, owner: &Owner) -> Option<Arc<Client>> {
        self.lock().get(id).filter(|client| client.owner == *owner).cloned()
    }

    pub(in crate::mcp) fn count(&self) -> usize {
        self.lock().len()
    }
}

impl Session {
    pub(super) fn new(clients: Clients, id: String, cancelled: CancellationToken) -> Self {
        Self { clients, id, cancelled }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.cancelled.cancel();
        if let Some(client) = self.clients.lock().remove(&self.id) {
            client.in_flight.close_now();
            client.output.finish();
        }
    }
}
