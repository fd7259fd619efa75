//! Cancellation of one call: a flag for the thread that works on it, a token for whoever waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

/// Cancels one call; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancel {
    flag: Arc<AtomicBool>,
    token: CancellationToken,
}

impl Cancel {
    /// Tells the call to give up.
    pub(super) fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.token.cancel();
    }

    /// The flag that an operation looks at.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Waits until it is told to give up.
    pub(super) async fn cancelled(&self) {
        self.token.cancelled().await;
    }
}
