//! What a server does with passkeys: registers them, and checks the answers of people's authenticators.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::challenge::{About, Challenge, Challenges};
use super::record::{Invitation, Passkey, check_free};
use super::webauthn::{self, Refused};
use crate::op::{Caller, Context};
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::{Clock, Millis};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;

/// The answer of an authenticator, as a form sends it. All fields except the ticket are base64url.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// The ticket of the challenge.
    pub ticket: &'a str,
    /// The id of the credential; empty for a new one.
    pub credential: &'a str,
    /// The client data (`clientDataJSON`).
    pub client: &'a str,
    /// The authenticator data.
    pub data: &'a str,
    /// The signature; empty for a new credential.
    pub signature: &'a str,
}

/// The passkeys that may answer the questions of a session.
#[derive(Clone, Copy, Debug)]
pub enum Decider<'a> {
    /// The passkey with this id, with which the session began.
    Passkey(&'a str),
    /// Each passkey of this person, who signed in with the issuer.
    Person(&'a str),
}

impl Decider<'_> {
    fn may_use(self, passkey: &Passkey) -> std::result::Result<(), &'static str> {
        match self {
            Decider::Passkey(id) if passkey.id != id => Err("this browser signed in with another one"),
            Decider::Person(name) if passkey.person.as_deref() != Some(name) => {
                Err("it was not registered for the person who signed in")
            }
            _ => Ok(()),
        }
    }
}

/// The passkeys of a server.
pub struct Passkeys {
    approved: Approved,
    clock: Clock,
    challenges: Challenges,
    /// The tickets of answered challenges, and when they expire. Only valid answers add tickets, so strangers cannot fill
    /// the memory. Because of the lock, two answers with the same counter cannot both pass.
    answered: Mutex<HashMap<String, Millis>>,
}

impl Passkeys {
    pub fn new(context: &Context) -> Result<Self> {
        let challenges = Challenges::new(context.clock.clone())?;
        Ok(Self {
            approved: context.approved.clone(),
            clock: context.clock.clone(),
            challenges,
            answered: Mutex::default(),
        })
    }

    /// Returns a new challenge for an authenticator.
    pub fn challenge(&self, about: About<'_>) -> Result<Challenge> {
        self.challenges.make(about)
    }

    /// Returns whether any passkey is registered.
    pub fn has_any(&self) -> Result<bool> {
        Ok(!self.approved.all(Kind::Passkey)?.is_empty())
    }

    /// Returns the passkey with this id, unless it was removed.
    fn find(&self, id: &str) -> Result<Option<Passkey>> {
        Passkey::find(&self.approved, id)
    }

    /// Returns the passkeys that may answer the questions of a session.
    pub fn of(&self, decider: Decider<'_>) -> Result<Vec<Passkey>> {
        let all = match decider {
            Decider::Passkey(id) => self.find(id)?.into_iter().collect(),
            Decider::Person(_) => Passkey::all(&self.approved)?,
        };
        Ok(all.into_iter().filter(|passkey| decider.may_use(passkey).is_ok()).collect())
    }

    /// Returns the invitation of a link, if the link can still be used.
    pub fn invitation(&self, token: &str) -> Result<Option<Invitation>> {
        Invitation::find(&self.approved, token, self.clock.now())
    }

    /// Registers a passkey with a link. Afterwards, the link does not work any more.
    pub fn register(&self, context: &Context, token: &str, answer: Answer<'_>) -> Result<Passkey> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let invitation = self.invitation(token)?.ok_or_else(|| {
            Error::new(Code::NotFound, "This link was used before, or has expired")
                .hint("make another one at a terminal of the server: `mcpkg passkey add NAME`")
        })?;
        check_free(&self.approved, &invitation.name)?;
        let (challenge, expires) = self.open(&answered, About::Register(token), answer.ticket)?;
        let created = webauthn::created(&invitation.site, &challenge, &decoded(answer.client)?, &decoded(answer.data)?);
        let passkey = Passkey::new(invitation, created.map_err(refused)?, self.clock.now());
        Invitation::use_up(&self.approved, token)?;
        if self.find(&passkey.id)?.is_some() {
            return Err(Error::new(Code::AlreadyExists, "This passkey is already registered"));
        }
        self.keep(&mut answered, answer.ticket, expires);
        passkey.put(&self.approved)?;
        let recorded = event(context, "passkey.add", &passkey, &passkey.name);
        if recorded.is_err() {
            passkey.remove(&self.approved)?;
        }
        recorded.map(|()| passkey)
    }

    /// Signs a person in. Returns the passkey that they used.
    pub fn sign_in(&self, context: &Context, answer: Answer<'_>) -> Result<Passkey> {
        let passkey = self.check(About::SignIn, answer)?;
        event(context, "passkey.login", &passkey, &passkey.name)?;
        Ok(passkey)
    }

    /// Checks that a passkey of the session signed the answer to a question. `text` is everything that the person saw.
    /// `command` is the command to record in the audit trail.
    pub fn decide(
        &self,
        context: &Context,
        decider: Decider<'_>,
        command: &str,
        text: &str,
        answer: Answer<'_>,
    ) -> Result<()> {
        let passkey = self.check(About::Question(text), answer)?;
        decider.may_use(&passkey).map_err(not_accepted)?;
        event(context, "passkey.use", &passkey, &format!("{}: {command}", passkey.name))
    }

    /// Checks an answer. If it is valid, its challenge cannot be answered again.
    fn check(&self, about: About<'_>, answer: Answer<'_>) -> Result<Passkey> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let (challenge, expires) = self.open(&answered, about, answer.ticket)?;
        let passkey = self.find(&sha256::hex(decoded(answer.credential)?))?;
        let passkey = passkey.ok_or_else(|| not_accepted("this server does not know it, or it was removed"))?;
        let parts = (&*decoded(answer.client)?, &*decoded(answer.data)?, &*decoded(answer.signature)?);
        let count = webauthn::signed((&passkey.site, &challenge), (&passkey.key, passkey.count), parts);
        let count = count.map_err(refused)?;
        self.keep(&mut answered, answer.ticket, expires);
        passkey.used(&self.approved, count, self.clock.now())?;
        Ok(passkey)
    }

    /// Returns the challenge of a ticket and the time at which it expires. Fails if it has expired or was answered before.
    fn open(&self, answered: &HashMap<String, Millis>, about: About<'_>, ticket: &str) -> Result<(Vec<u8>, Millis)> {
        match self.challenges.of(about, ticket) {
            None => Err(refused(Refused::Challenge)),
            Some(_) if answered.contains_key(ticket) => Err(not_accepted("it was answered before")),
            Some(challenge) => Ok(challenge),
        }
    }

    fn keep(&self, answered: &mut HashMap<String, Millis>, ticket: &str, expires: Millis) {
        let now = self.clock.now();
        answered.retain(|_, expires| now < *expires);
        answered.insert(ticket.to_owned(), expires);
    }
}

fn decoded(text: &str) -> Result<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| refused(Refused::Malformed))
}

fn refused(refused: Refused) -> Error {
    not_accepted(refused.why())
}

fn not_accepted(why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("The passkey was not accepted: {why}. Nothing was changed"))
}

/// Appends an event of the passkey's person to the audit trail. Somebody who signed in with the issuer has a name already.
fn event(context: &Context, kind: &str, passkey: &Passkey, subject: &str) -> Result<()> {
    let caller = match &context.caller {
        Caller::Person(_) => context.caller.clone(),
        _ => Caller::signed_in(&passkey.name),
    };
    let context = Context { caller, ..context.clone() };
    context.store.write(|db| context.event(db, context.author(), None, kind, subject))
}
