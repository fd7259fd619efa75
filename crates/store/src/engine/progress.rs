//! Progress and cancellation of long work.

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Code, Error, Result};

/// Reports the progress of long work, and stops it on request.
pub struct Progress<'a> {
    told: &'a dyn Fn(u64, u64),
    cancelled: CancellationToken,
}

impl<'a> Progress<'a> {
    /// Returns a `Progress` that calls `told` with the amount done and the total. Work stops once `cancelled` is
    /// cancelled.
    pub fn new(told: &'a dyn Fn(u64, u64), cancelled: &CancellationToken) -> Self {
        Self { told, cancelled: cancelled.clone() }
    }

    /// Returns a `Progress` that reports nothing, and is cancelled together with this one.
    pub(crate) fn silent(&self) -> Progress<'static> {
        Progress { told: &|_, _| {}, cancelled: self.cancelled.clone() }
    }

    /// Reports the amount done and the total. Fails if the work was cancelled.
    pub(crate) fn tell(&self, done: u64, total: u64) -> Result<()> {
        (self.told)(done, total);
        self.go_on()
    }

    /// Fails if the work was cancelled.
    pub(crate) fn go_on(&self) -> Result<()> {
        match self.cancelled.is_cancelled() {
            true => Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
            false => Ok(()),
        }
    }

    /// Returns the token that cancels the work.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.cancelled.clone()
    }
}
