//! How many requests a second one client may send.

use std::net::IpAddr;
use std::num::NonZeroU32;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::StatusCode;

use super::answer::Refusal;
use crate::mcp::Config;

/// A bucket for each client; none where clients may send as many as they like.
pub(super) struct Rate(Option<DefaultKeyedRateLimiter<String>>);

impl Rate {
    pub(super) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self(per_second.map(|rate| RateLimiter::keyed(Quota::per_second(rate))))
    }

    /// Counts a request of a key, or of an address that came without one.
    ///
    /// # Errors
    /// 429 where it is one too many.
    pub(super) fn check(&self, config: &Config, from: IpAddr) -> Result<(), Refusal> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        let client = config.grant.as_ref().map_or_else(|| from.to_string(), |grant| format!("key {}", grant.key));
        limiter.check_key(&client).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            let why = "This client sends more requests than the server takes from one";
            Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, wait.as_secs() + 1)
        })
    }

    /// Forgets the clients that were quiet for a while.
    pub(super) fn sweep(&self) {
        if let Some(limiter) = &self.0 {
            limiter.retain_recent();
        }
    }
}
