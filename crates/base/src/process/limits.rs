//! Defines the limits that end a program early.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The time between asking a program to end and killing it.
pub const GRACE: Duration = Duration::from_secs(2);

/// Limits that end a program early.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The maximum run time.
    pub time: Duration,
    /// How long the program may take to end after it was asked to.
    pub grace: Duration,
    /// Cancelled when the call is cancelled, which ends the program.
    pub cancelled: &'a CancellationToken,
}

impl<'a> Limits<'a> {
    /// Returns limits with the default grace period, [`GRACE`].
    pub const fn new(time: Duration, cancelled: &'a CancellationToken) -> Self {
        Self { time, grace: GRACE, cancelled }
    }
}
