//! Remembers sign-ins with the issuer that have begun: in memory only, for a short time, and for one use.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::{hex, sha256};
use mcpkg_core::access::token::code::Attempt;

/// How long a sign-in may take, in milliseconds.
pub const LIFE: Millis = 10 * 60_000;

/// The maximum number of sign-ins that have begun. Anybody can begin one, so the oldest makes room for the newest.
const MOST: usize = 1024;

/// The sign-ins that have begun, by the SHA-256 of their state.
pub struct Attempts {
    clock: Clock,
    begun: Mutex<HashMap<String, Begun>>,
}

/// A sign-in that has begun.
pub struct Begun {
    pub attempt: Attempt,
    /// The page to open afterwards.
    pub to: String,
    /// The SHA-256 of the cookie of the browser that began it.
    cookie: String,
    at: Millis,
}

impl Attempts {
    pub fn new(clock: Clock) -> Self {
        Self { clock, begun: Mutex::default() }
    }

    /// Remembers a sign-in. Returns the cookie for the browser that began it.
    pub fn keep(&self, attempt: Attempt, to: String) -> Result<String> {
        let cookie = hex::encode(&self.clock.secret()?);
        let (at, state) = (self.clock.now(), sha256::hex(&attempt.state));
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|_, begun| at.saturating_sub(begun.at) < LIFE);
        if begun.len() >= MOST {
            let oldest = begun.iter().min_by_key(|(_, begun)| begun.at).map(|(state, _)| state.clone());
            oldest.and_then(|state| begun.remove(&state));
        }
        begun.insert(state, Begun { attempt, to, cookie: sha256::hex(&cookie), at });
        Ok(cookie)
    }

    /// Takes the sign-in with this state. Only the browser that began it can do so, and only once.
    pub fn take<'c>(&self, state: &str, mut cookies: impl Iterator<Item = &'c str>) -> Option<Begun> {
        let (now, state) = (self.clock.now(), sha256::hex(state));
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let found = begun.get(&state)?;
        let is_own = cookies.any(|cookie| sha256::hex(cookie) == found.cookie);
        let is_in_time = now.saturating_sub(found.at) < LIFE;
        if is_own { begun.remove(&state).filter(|_| is_in_time) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_ends_once_in_its_own_browser_and_in_time() {
        let clock = Clock::fixed(1_795_870_000_000);
        let attempts = Attempts::new(clock.clone());
        let begin = || {
            let attempt = Attempt::new(&clock).expect("random bytes");
            let state = attempt.state.clone();
            (state, attempts.keep(attempt, "/feed".to_owned()).expect("a cookie"))
        };
        let take = |state: &str, cookie: &str| attempts.take(state, [cookie].into_iter()).map(|begun| begun.to);
        let ((one, mine), (other, theirs)) = (begin(), begin());
        assert_eq!(
            [take(&one, &theirs), take(&one, ""), take("", &mine), take(&other, &mine)],
            [None, None, None, None]
        );
        assert_eq!([take(&one, &mine), take(&one, &mine)], [Some("/feed".to_owned()), None]);
        clock.advance(LIFE);
        assert_eq!(take(&other, &theirs), None, "it took too long");
    }

    #[test]
    fn the_oldest_sign_in_makes_room() {
        let clock = Clock::fixed(1_795_870_000_000);
        let attempts = Attempts::new(clock.clone());
        let begun: Vec<(String, String)> = (0..=MOST)
            .map(|_| {
                clock.advance(1);
                let attempt = Attempt::new(&clock).expect("random bytes");
                (attempt.state.clone(), attempts.keep(attempt, String::new()).expect("a cookie"))
            })
            .collect();
        let is_known = |at: usize| attempts.take(&begun[at].0, [begun[at].1.as_str()].into_iter()).is_some();
        assert_eq!([is_known(0), is_known(1), is_known(MOST)], [false, true, true]);
    }
}
