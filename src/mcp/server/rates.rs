//! Limits how often one requester may call one tool.

use std::collections::HashMap;

use rmcp::model::JsonObject;
use serde_json::json;

use crate::mcp::Config;
use crate::mcp::asker::Asker;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::rate::Buckets;
use mcpkg_core::op::{Connection, Entry, Rate};

/// The token buckets of each rate-limited tool, one bucket per requester.
type OfTools = HashMap<&'static str, Buckets<Asker>>;

/// The buckets of clients over HTTP, and those of the client that started the server.
pub(super) struct Rates {
    network: OfTools,
    stdio: OfTools,
}

impl Rates {
    /// Creates full buckets. If `rate` is given, it replaces the limit of every rate-limited tool over HTTP.
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self { network: buckets(|own| rate.unwrap_or(own)), stdio: buckets(|_| Rate::LOCAL) }
    }

    /// Counts a call with these arguments. A client that started the server itself may read mcpkg's own data without a
    /// limit.
    ///
    /// # Errors
    /// `E_RATE_LIMITED`, with the time to wait, if the call exceeds the limit.
    pub(super) fn check(&self, entry: &Entry, arguments: Option<&JsonObject>, config: &Config) -> Result<()> {
        let limiter = match config.connection {
            Connection::Network => self.network.get(entry.tool),
            Connection::Stdio if reads(entry, arguments) => None,
            Connection::Stdio => self.stdio.get(entry.tool),
        };
        let Some(limiter) = limiter else { return Ok(()) };
        limiter.take(config.asker()).map_err(|wait| {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
            Error::new(
                Code::RateLimited,
                format!("{} was called too often: the server's rate limit is reached", entry.tool),
            )
            .hint(format!("wait {wait} milliseconds"))
            .with_details(json!({ "retry_after_ms": wait }))
        })
    }
}

fn buckets(rate: impl Fn(Rate) -> Rate) -> OfTools {
    let limited = crate::DOMAINS.operations().filter_map(|entry| entry.rate.map(|own| (entry.tool, rate(own))));
    limited.map(|(tool, rate)| (tool, Buckets::new(rate.per_second, rate.burst))).collect()
}

/// Returns whether a call only reads mcpkg's own data.
fn reads(entry: &Entry, arguments: Option<&JsonObject>) -> bool {
    !entry.effect.changes() || arguments.is_some_and(|arguments| (entry.reads)(crate::DOMAINS, arguments))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use mcpkg_core::op::{Grant, Holder};

    #[test]
    fn each_requester_has_its_own_bucket_for_each_tool() {
        let entry = |tool: &str| crate::DOMAINS.operations().find(|entry| entry.tool == tool).expect("an operation");
        let rates = Rates::new(Some(Rate { per_second: NonZeroU32::MIN, burst: NonZeroU32::MIN }));
        let key = |key: &str| Grant {
            holder: Holder::Key(key.to_owned()),
            project: None,
            project_name: None,
            read_only: false,
            consent: false,
            publish: Vec::new(),
            attest: false,
            execute: false,
            expires_at: None,
        };
        let keyed = |name: &str| Config { grant: Some(key(name)), ..Config::default() };
        let (search, show, plain) = (entry("search_commands"), entry("get_command_spec"), entry("list_prompts"));
        assert!(rates.check(search, None, &keyed("a")).is_ok());
        let refused = rates.check(search, None, &keyed("a")).unwrap_err();
        assert_eq!(refused.code(), Code::RateLimited);
        let wait = refused.details().and_then(|details| details["retry_after_ms"].as_u64());
        assert!(wait.is_some_and(|wait| (1..=1001).contains(&wait)), "{wait:?}");
        assert!(rates.check(search, None, &keyed("b")).is_ok() && rates.check(show, None, &keyed("a")).is_ok());
        // Over stdio, every read is accepted. Every call of a tool without a limit is accepted.
        let stdio = Config { connection: Connection::Stdio, ..keyed("a") };
        let own_read = JsonObject::from_iter([("command".to_owned(), json!("mcpkg:workflow:runs"))]);
        for _ in 0..200 {
            assert!(rates.check(search, None, &stdio).is_ok() && rates.check(plain, None, &keyed("a")).is_ok());
            assert!(rates.check(entry("execute"), Some(&own_read), &stdio).is_ok());
        }
        let taken = (0..200).filter(|_| rates.check(entry("execute"), None, &stdio).is_ok()).count();
        assert!((50..100).contains(&taken), "{taken} calls at once");
    }
}
