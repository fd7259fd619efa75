//! Wakes a waiting thread when its call is cancelled.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Calls a function when a token is cancelled, unless this value is dropped first.
pub struct OnCancel {
    _waiting: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl OnCancel {
    /// Arranges for `wake` to be called when `token` is cancelled, or now if it already is. `wake` runs on the thread
    /// that cancels, so it must not block.
    pub fn new(token: &CancellationToken, wake: impl Fn() + Send + Sync + 'static) -> Self {
        let mut waiting = Box::pin(token.clone().cancelled_owned());
        let waker = Arc::new(Waking(wake));
        // After one poll, the future holds the waker until it is dropped.
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&waker))));
        if polled == Poll::Ready(()) {
            waker.wake();
        }
        Self { _waiting: waiting }
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnCancel")
    }
}

struct Waking<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Waking<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}
