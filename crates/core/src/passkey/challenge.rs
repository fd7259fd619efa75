//! The challenges that authenticators sign. A challenge is a keyed hash of what the person decides on, so the server
//! recognises an answer without having stored anything for it.

use ring::hmac;

use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::Result;
use mcpkg_base::hex;

/// How long a challenge can be answered: five minutes, as long as a link to the console works.
const LIFE: Millis = 5 * 60_000;

/// What an answer is for. An answer for one purpose does not count for another.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// Registering a passkey with the link that has this token.
    Register(&'a str),
    SignIn,
    /// Answering a question. The text is everything that the person sees.
    Question(&'a str),
}

impl About<'_> {
    fn text(&self) -> String {
        match self {
            About::Register(token) => format!("register\n{token}"),
            About::SignIn => "sign in".to_owned(),
            About::Question(text) => format!("question\n{text}"),
        }
    }
}

/// A challenge for a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Contains the time at which the challenge expires, and a random number. The browser sends it back with the answer.
    pub ticket: String,
    pub bytes: Vec<u8>,
}

pub(super) struct Challenges {
    clock: Clock,
    /// Made when the server starts, so that no challenge of an earlier process counts.
    key: hmac::Key,
}

impl Challenges {
    pub(super) fn new(clock: Clock) -> Result<Self> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &clock.secret()?);
        Ok(Self { clock, key })
    }

    pub(super) fn make(&self, about: About<'_>) -> Result<Challenge> {
        let expires = self.clock.now().saturating_add(LIFE);
        let ticket = format!("{expires}.{}", hex::encode(&self.clock.secret()?));
        Ok(Challenge { bytes: self.bytes(about, &ticket), ticket })
    }

    /// Computes the challenge that belongs to a ticket, and returns it with the time at which it expires. `None` if it has
    /// expired. The caller compares it with the signed challenge. If this server did not make the ticket, nobody can know
    /// the challenge, so the comparison fails.
    pub(super) fn of(&self, about: About<'_>, ticket: &str) -> Option<(Vec<u8>, Millis)> {
        let (expires, random) = ticket.split_once('.')?;
        let (expires, now) = (expires.parse::<Millis>().ok()?, self.clock.now());
        // A longer ticket could end with the beginning of what is decided.
        let is_whole = random.len() == 64 && random.bytes().all(|b| b.is_ascii_hexdigit());
        let is_in_time = now < expires && expires <= now.saturating_add(LIFE);
        (is_whole && is_in_time).then(|| (self.bytes(about, ticket), expires))
    }

    fn bytes(&self, about: About<'_>, ticket: &str) -> Vec<u8> {
        hmac::sign(&self.key, format!("{ticket}\n{}", about.text()).as_bytes()).as_ref().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_the_hash_of_what_is_decided_and_expires() {
        let clock = Clock::fixed(1_795_870_000_000);
        let (challenges, other) = [(); 2].map(|()| Challenges::new(clock.clone()).expect("a key")).into();
        let made = challenges.make(About::Question("delete a")).expect("a challenge");
        let of = |challenges: &Challenges, about| challenges.of(about, &made.ticket).map(|(bytes, _)| bytes);
        assert_eq!(of(&challenges, About::Question("delete a")).as_ref(), Some(&made.bytes));
        for about in [About::Question("delete b"), About::SignIn, About::Register("delete a")] {
            assert_ne!(of(&challenges, about).as_ref(), Some(&made.bytes), "{about:?}");
        }
        assert_ne!(of(&other, About::Question("delete a")).as_ref(), Some(&made.bytes), "another process");
        assert_ne!(
            challenges.make(About::SignIn).expect("one").bytes,
            challenges.make(About::SignIn).expect("two").bytes
        );
        // This server makes no ticket that lasts longer than `LIFE`.
        let longer = made.ticket.replacen('1', "2", 1);
        assert_eq!(challenges.of(About::Question("delete a"), &longer), None);
        // What one challenge decides cannot be moved into the ticket of another.
        let asked = challenges.make(About::Question("a\nsign in")).expect("a challenge");
        assert_eq!(challenges.of(About::SignIn, &format!("{}\nquestion\na", asked.ticket)), None);
        for ticket in ["", ".", "x.y", "-1.a"] {
            assert_eq!(challenges.of(About::SignIn, ticket), None, "{ticket}");
        }
        clock.advance(LIFE);
        assert_eq!(of(&challenges, About::Question("delete a")), None);
    }
}
