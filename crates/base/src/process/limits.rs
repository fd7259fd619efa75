//! What ends a program before it ends by itself.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long a program has between the request to end and its end by force.
pub const GRACE: Duration = Duration::from_secs(2);

/// Limits that end a program before it ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// How long it may run.
    pub time: Duration,
    /// How long it has to end by itself once it is asked to.
    pub grace: Duration,
    /// Ends it when the call is cancelled.
    pub cancelled: &'a CancellationToken,
}

impl<'a> Limits<'a> {
    /// Returns limits with the usual grace, [`GRACE`].
    pub const fn new(time: Duration, cancelled: &'a CancellationToken) -> Self {
        Self { time, grace: GRACE, cancelled }
    }
}
