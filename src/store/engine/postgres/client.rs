//! The client, which may be used on any thread.

use postgres::Client;
use tokio::task::block_in_place;

/// A client whose calls and whose end may block the thread that they happen on: a thread of a runtime lets another one take over
/// its tasks meanwhile.
pub(super) struct BlockingClient(Option<Client>);

impl BlockingClient {
    pub(super) fn new(client: Client) -> Self {
        Self(Some(client))
    }

    /// Returns what `f` returns with the client.
    pub(super) fn with<T>(&mut self, f: impl FnOnce(&mut Client) -> T) -> T {
        let client = self.0.as_mut().expect("it is there until this is dropped");
        block_in_place(|| f(client))
    }
}

impl Drop for BlockingClient {
    fn drop(&mut self) {
        block_in_place(|| drop(self.0.take()));
    }
}
