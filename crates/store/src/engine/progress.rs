//! Progress and cancellation of long work.

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Code, Error, Result};

/// Reports the progress of long work, and cancels it.
pub struct Progress<'a> {
    told: &'a dyn Fn(u64, u64),
    cancelled: CancellationToken,
}

impl<'a> Progress<'a> {
    /// Returns a progress that reports to `told` how much is done, and of how much, until `cancelled` is cancelled.
    pub fn new(told: &'a dyn Fn(u64, u64), cancelled: &CancellationToken) -> Self {
        Self { told, cancelled: cancelled.clone() }
    }

    /// Returns a progress that reports nothing, and is cancelled together with this one.
    pub(crate) fn silent(&self) -> Progress<'static> {
        Progress { told: &|_, _| {}, cancelled: self.cancelled.clone() }
    }

    /// Tells how much is done, and of how much.
    pub(crate) fn tell(&self, done: u64, total: u64) -> Result<()> {
        (self.told)(done, total);
        self.go_on()
    }

    /// Ends work that was given up.
    pub(crate) fn go_on(&self) -> Result<()> {
        match self.cancelled.is_cancelled() {
            true => Err(Error::new(Code::Cancelled, "Cancelled; nothing was changed")),
            false => Ok(()),
        }
    }

    /// Returns what ends it.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.cancelled.clone()
    }
}
