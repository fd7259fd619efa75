//! Makes and uses up the links to the console of a server.
//!
//! The server's user makes a link at a terminal, in a process other than the server. The link is recorded outside the
//! database, among what this user has approved on this machine. So neither the database nor an access key can open the
//! console.

use serde_json::json;

use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::{hex, sha256};
use mcpkg_core::op::Context;

/// How long an unused link works, in milliseconds.
pub const LINK: Millis = 5 * 60 * 1000;

/// Makes a link to the console of a server that runs as this user on this machine. `url` is the server's address as
/// browsers see it.
pub fn link(context: &Context, url: &str) -> Result<String> {
    let url = url.trim_end_matches('/');
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(Error::new(Code::InvalidArgument, format!("'{url}' is not the address of a server"))
            .hint("give the address that browsers use, such as https://mcp.example.com"));
    }
    let (now, token) = (context.clock.now(), hex::encode(&context.clock.secret()?));
    for (old, note) in context.approved.all(Kind::ConsoleLink)? {
        if !is_good(&note, now) {
            context.approved.withdraw(Kind::ConsoleLink, &old)?;
        }
    }
    let expires = now.saturating_add(LINK);
    context.approved.put(Kind::ConsoleLink, &sha256::hex(&token), &json!({ "expires": expires }))?;
    Ok(format!("{url}/login?token={token}"))
}

/// Uses up a link. Returns whether the link was valid.
pub fn use_up(approved: &Approved, token: &str, now: Millis) -> Result<bool> {
    let sha256 = sha256::hex(token);
    let Some(note) = approved.get(Kind::ConsoleLink, &sha256)? else { return Ok(false) };
    approved.withdraw(Kind::ConsoleLink, &sha256)?;
    Ok(is_good(&note, now))
}

fn is_good(note: &serde_json::Value, now: Millis) -> bool {
    note["expires"].as_i64().is_some_and(|expires| now < expires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_used_up_and_expires() {
        let scratch = tempfile::tempdir().expect("a folder");
        let approved = Approved::below(scratch.path());
        let put = |token: &str| {
            approved.put(Kind::ConsoleLink, &sha256::hex(token), &json!({ "expires": 1_000 })).expect("a record");
        };
        put("a");
        put("b");
        let good = |token: &str, now| use_up(&approved, token, now).expect("it is read");
        assert_eq!([good("a", 999), good("a", 999), good("b", 1_000), good("", 0)], [true, false, false, false]);
        assert!(approved.all(Kind::ConsoleLink).expect("records").is_empty());
    }
}
