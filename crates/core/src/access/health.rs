//! The findings of `mcpkg doctor` about the issuer that people sign in with.

use super::GROUP;
use super::token::{Issuer, State};
use crate::op::{Context, Finding, Health};
use mcpkg_store::access_rules;

/// Checks whether the keys of the issuer can be read, and whether there are access rules. Uses the issuer that a server of
/// this database was last started with. If no server was started with an issuer, there is no finding.
pub(super) fn health(context: &Context) -> Vec<Finding> {
    let read = context.store.read(|db| Ok((access_rules::issuer(db)?, access_rules::list(db)?.is_empty())));
    // Ignore errors: if the database cannot be read, another finding says so.
    let Ok((Some(url), has_no_rules)) = read else { return Vec::new() };
    let state = Issuer::new(&url).map(|issuer| {
        // The finding contains the reason.
        let _ = issuer.read_keys(&context.cancelled);
        issuer.state()
    });
    let mut findings = vec![match state {
        Ok(State::Good(keys)) => {
            let keys = if keys == 1 { "1 key".to_owned() } else { format!("{keys} keys") };
            Finding::new(GROUP, Health::Ok, format!("people sign in with {url}, which publishes {keys}"))
        }
        Ok(State::Stale { why, .. } | State::Down(why)) => {
            Finding::new(GROUP, Health::Problem, format!("nobody can sign in with {url}: {why}"))
                .action("servers go on with the keys that they read before, for a day at most; make the issuer answer")
        }
        Err(error) => Finding::new(GROUP, Health::Problem, error.to_string()),
    }];
    if has_no_rules {
        let what = "there are no access rules, so nobody who signs in has access";
        findings.push(Finding::new(GROUP, Health::Note, what).action("mcpkg access rule add --claim NAME=VALUE"));
    }
    findings
}
