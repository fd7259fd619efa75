//! Nonces: who asked for consent gets a secret with the request. It is worth nothing until a person approves, then it is good
//! once, for the same asker and the same plan. Only its SHA-256 is kept.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::in_time;
use super::request::{Consent, Need, at_terminal, denied, ended, has_record, has_terminal, mismatch, required, store};
use crate::clock::rfc3339;
use crate::disk;
use crate::error::{Code, Error, Result};
use crate::hex;
use crate::op::Context;
use crate::store::consents::{self, Binding, Request, State};

/// The time between two looks whether a person has decided.
const LOOK: Duration = Duration::from_millis(200);

/// The key of the inputs that holds the SHA-256 of the nonce.
const KEY: &str = "nonce";

/// What a caller has of a consent.
#[derive(Clone, Copy, Debug)]
pub enum Held<'a> {
    /// Nothing yet.
    Nothing,
    /// A nonce; so long is waited for a person to decide.
    Nonce(&'a str, Duration),
}

/// Returns a person's consent where there is one; asks for it where a person sits at the caller's own terminal, or where the
/// caller holds nothing yet.
///
/// # Errors
/// `E_CONSENT_REQUIRED` with the request that was stored, and its nonce; `E_CONSENT_PENDING`, `E_CONSENT_DENIED`,
/// `E_CONSENT_EXPIRED`; `E_CONSENT_MISMATCH` whose `mismatch_kind` is `unknown`, `session_differs`, `plan_changed` or
/// `consumed`; `E_TOO_MANY`, `E_CONFIRM_REQUIRED`, `E_CANCELLED`, `E_MAY_ONLY_READ`, `E_DB_BUSY`, `E_STORAGE`.
pub fn ask(context: &Context, need: &Need<'_>, held: Held<'_>) -> Result<Consent> {
    if has_terminal(context) {
        return at_terminal(context, need);
    }
    match (held, context.answered) {
        (Held::Nonce(nonce, wait), _) => redeem(context, need, nonce, wait),
        // The user was asked through the client within this very call.
        (Held::Nothing, Some(id)) => decided(context, need, known(context, id)?),
        (Held::Nothing, None) => Err(offer(context, need)?),
    }
}

/// Stores a request and returns the failure that hands out its nonce.
fn offer(context: &Context, need: &Need<'_>) -> Result<Error> {
    let (now, asker) = (context.clock.now(), context.caller.asker());
    let secret = hex::encode(&context.clock.secret()?);
    let inputs = json!({ "arguments": need.inputs, KEY: sha256(&secret) }).to_string();
    let binding = Binding {
        operation: need.operation,
        asker: &asker,
        project: need.project,
        inputs: &inputs,
        plan_hash: need.plan_hash,
    };
    // Who said no to the same is not asked again.
    let refused = context.store.read(|db| consents::denied(db, &binding, now))?;
    if let Some(request) = refused.filter(|request| in_time(request.asked_at, request.expires_at, now)) {
        return Err(denied(&request));
    }
    let request = store(context, need, binding, now)?;
    let again = "call again with `nonce`, which the details hold: it is good once, for the same plan";
    let failure = required(context, &request, again);
    let mut details = failure.details().cloned().unwrap_or_default();
    details["nonce"] = json!(format!("{}.{secret}", request.uuid.simple()));
    Ok(failure.with_details(details))
}

/// Returns the consent that a nonce stands for, once a person approved; waits for that.
fn redeem(context: &Context, need: &Need<'_>, nonce: &str, wait: Duration) -> Result<Consent> {
    let unknown = || mismatch("unknown", "is not known");
    let (id, secret) = nonce.trim().split_once('.').ok_or_else(unknown)?;
    let id = Uuid::try_parse(id).map_err(|_| unknown())?;
    let until = Instant::now() + wait;
    let mut aside = false;
    loop {
        let request = context.store.read(|db| consents::get(db, id))?;
        let request = request.filter(|request| is_of(request, need, secret)).ok_or_else(unknown)?;
        match decided(context, need, request) {
            Err(error) if error.code() == Code::ConsentPending && Instant::now() < until => {
                if !aside {
                    (context.step_aside)();
                    aside = true;
                }
                context.unless_cancelled()?;
                thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
            }
            decided => return decided,
        }
    }
}

/// Whether the secret is that of a request for this operation.
fn is_of(request: &Request, need: &Need<'_>, secret: &str) -> bool {
    let inputs: Value = serde_json::from_str(&request.inputs).unwrap_or_default();
    request.operation == need.operation && inputs[KEY].as_str() == Some(&sha256(secret))
}

/// Returns the consent that a request has become.
fn decided(context: &Context, need: &Need<'_>, request: Request) -> Result<Consent> {
    if request.asker != context.caller.asker() {
        return Err(mismatch("session_differs", "was given to another asker"));
    }
    if request.state == State::Consumed {
        return Err(mismatch("consumed", "was used already"));
    }
    let now = context.clock.now();
    if !in_time(request.asked_at, request.expires_at, now) {
        return Err(ended(request.uuid, &format!("expired at {}", rfc3339(request.expires_at))));
    }
    if request.operation != need.operation || request.plan_hash != need.plan_hash || request.project != need.project {
        let changed = mismatch("plan_changed", "was given for another plan than this one is now");
        return Err(changed.hint("call again without a nonce: a person decides on what it would do now"));
    }
    match request.state {
        State::Denied => Err(denied(&request)),
        State::Approved if has_record(context, &request)? => Ok(Consent::of_nonce(request)),
        // The record goes in the transaction that uses the row up, which may not have ended yet.
        State::Approved if is_used(context, request.uuid)? => Err(mismatch("consumed", "was used already")),
        // Else nobody will bring it back.
        State::Approved => {
            let lost = ended(request.uuid, "was approved, and this machine has no record of that");
            Err(lost.hint("call again without a nonce: a person decides anew"))
        }
        State::Pending | State::Consumed => Err(pending(&request)),
    }
}

/// Whether a request is used once whoever writes just now has ended.
fn is_used(context: &Context, id: Uuid) -> Result<bool> {
    let found = match context.store.may_write() {
        true => context.store.write(|db| consents::get(db, id))?,
        false => context.store.read(|db| consents::get(db, id))?,
    };
    Ok(found.is_some_and(|request| request.state == State::Consumed))
}

fn known(context: &Context, id: Uuid) -> Result<Request> {
    context.store.read(|db| consents::get(db, id))?.ok_or_else(|| mismatch("unknown", "is not known"))
}

fn pending(request: &Request) -> Error {
    let command = format!("mcpkg consent approve {}", request.uuid);
    Error::new(Code::ConsentPending, format!("{}: no person has decided yet; nothing was changed", request.summary))
        .with_details(json!({
            "consent": request.uuid.to_string(),
            "expires_at": rfc3339(request.expires_at),
            "command": command,
        }))
        .hint(format!("the user runs `{command}` at a terminal; then call again with the same nonce"))
}

fn sha256(secret: &str) -> String {
    hex::encode(&disk::sha256(secret.as_bytes()))
}
