//! Limits how many requests per second one client may send.

use std::net::IpAddr;
use std::num::NonZeroU32;

use http::StatusCode;

use super::access_control::Client;
use super::answer::Refusal;
use crate::mcp::Config;
use mcpkg_base::rate::Buckets;

/// A token bucket for each client; `None` if there is no limit.
pub(super) struct Rate(Option<Buckets<Client>>);

impl Rate {
    pub(super) fn new(per_second: Option<NonZeroU32>) -> Self {
        Self(per_second.map(|rate| Buckets::new(rate, rate)))
    }

    /// Counts a request against the limit of its client.
    ///
    /// # Errors
    /// 429 if the client has reached its limit.
    pub(super) fn check(&self, config: &Config, from: IpAddr) -> Result<(), Refusal> {
        let Some(limiter) = &self.0 else { return Ok(()) };
        limiter.take(Client::of(config, from)).map_err(|wait| {
            let why = "This client sent too many requests: the server's rate limit is reached";
            Refusal::later(StatusCode::TOO_MANY_REQUESTS, why, wait.as_secs() + 1)
        })
    }

    /// Forgets clients that have sent nothing for a while.
    pub(super) fn sweep(&self) {
        if let Some(limiter) = &self.0 {
            limiter.sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_a_subnet_are_one_client() {
        let rate = Rate::new(NonZeroU32::new(2));
        let check = |from: &str| rate.check(&Config::default(), from.parse().unwrap()).is_ok();
        assert!(check("2001:db8::1") && check("2001:db8::2"));
        assert!(!check("2001:db8::3:4:5:6"));
        assert!(check("2001:db8:0:1::1"));
        // Different IPv4 clients are counted separately, even if they arrive through an IPv6 socket.
        assert!(check("::ffff:192.0.2.1") && check("192.0.2.1"));
        assert!(!check("::ffff:192.0.2.1") && check("::ffff:192.0.2.2"));
    }
}
