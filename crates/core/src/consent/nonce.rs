//! Nonces: secrets that tie an approval to the caller that asked for it.
//!
//! A caller gets a nonce when it asks for consent. The nonce is worthless until a person approves; then it works once, for
//! the same asker and the same plan. Only its SHA-256 is stored. A caller that asks again for the same plan gets another
//! nonce for the existing request. The request is still used only once.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;

use super::in_time;
use super::request::{
    Consent, DECIDE_WITHIN, Need, USE_WITHIN, approve_command, at_terminal, declined, denied, ended, has_record,
    has_terminal, insert, is_declined_now, mismatch, required,
};
use crate::op::Context;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_store::Db;
use mcpkg_store::consents::{self, Binding, New, Request, State};

/// How long to wait between the checks whether a person has decided: at first, and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// The field of a nonce's stored inputs that contains the id of the request.
const KEY: &str = "consent";

/// The end of hints for callers with a nonce.
const AGAIN: &str = "call again with `nonce` from the details; the nonce is valid once, and only for the same plan";

/// The nonce that a caller sends when it asks for consent, if it already has one.
#[derive(Clone, Copy, Debug)]
pub enum CallerNonce<'a> {
    Nothing,
    /// A nonce, and how long to wait for a person's decision.
    Nonce(&'a str, Duration),
}

/// Returns a person's consent. If the caller has a terminal, asks there. Without a terminal, a caller without a nonce
/// gets an error with a request and a new nonce.
///
/// # Errors
/// `E_CONSENT_REQUIRED` with the stored request and its nonce; `E_CONSENT_PENDING` or `E_CONSENT_DENIED` with
/// the nonce; `E_CONSENT_EXPIRED`; `E_TOO_MANY`; `E_CONSENT_MISMATCH` with the `mismatch_kind` `unknown`,
/// `session_differs`, `plan_changed` or `consumed`; `E_CONFIRM_REQUIRED` if the person at the terminal says no.
pub fn ask(context: &Context, need: &Need<'_>, held: CallerNonce<'_>) -> Result<Consent> {
    if has_terminal(context) {
        return at_terminal(context, need);
    }
    match (held, context.answered) {
        (CallerNonce::Nonce(nonce, wait), _) => redeem(context, need, nonce, wait).map_err(|error| with(error, nonce)),
        // The client has already asked its user during this call.
        (CallerNonce::Nothing, Some(id)) => {
            decided(context, need, known(context, id)?).or_else(|error| match error.code() {
                Code::ConsentPending | Code::ConsentDenied => {
                    let nonce = context.store.write(|db| issue(context, db, &known_in(db, id)?))?;
                    Err(with(error, &nonce))
                }
                _ => Err(error),
            })
        }
        (CallerNonce::Nothing, None) => Err(offer(context, need)?),
    }
}

fn with(error: Error, nonce: &str) -> Error {
    if !matches!(error.code(), Code::ConsentRequired | Code::ConsentPending | Code::ConsentDenied) {
        return error;
    }
    let mut details = error.details().cloned().unwrap_or_default();
    details["nonce"] = json!(nonce.trim());
    error.with_details(details)
}

/// Returns the error that contains a nonce: for this asker's open request for the same plan, or for a new request.
fn offer(context: &Context, need: &Need<'_>) -> Result<Error> {
    let (now, asker) = (context.clock.now(), context.caller.asker());
    let inputs = json!({ "arguments": need.inputs }).to_string();
    let binding = Binding {
        operation: need.operation,
        asker: &asker,
        project: need.project,
        inputs: &inputs,
        plan_hash: need.plan_hash,
    };
    // Use one transaction, so that two simultaneous callers share one request.
    let (request, nonce) = context.store.write(|db| {
        let request = match standing(context, db, need, &binding, now)? {
            Some(request) => request,
            None => insert(context, db, need, binding, now)?,
        };
        let nonce = issue(context, db, &request)?;
        Ok((request, nonce))
    })?;
    let failure = match request.state {
        State::Denied => denied(&request, AGAIN),
        State::Approved => approved(&request),
        State::Pending | State::Consumed => required(context, &request, AGAIN),
    };
    Ok(with(failure, &nonce))
}

/// Returns the unused and unexpired request for the same plan. A denied request takes precedence over all others.
fn standing(
    context: &Context,
    db: &Db<'_>,
    need: &Need<'_>,
    binding: &Binding<'_>,
    now: Millis,
) -> Result<Option<Request>> {
    let mut found = consents::unused(db, binding, now)?;
    found.retain(|request| in_time(request.asked_at, request.expires_at, now) && need.is_shown_by(request));
    if let Some(at) = found.iter().position(|request| request.state == State::Denied) {
        return Ok(Some(found.swap_remove(at)));
    }
    for request in found {
        // Skip a request whose approval was not given on this machine.
        if request.state == State::Pending || has_record(context, &request)? {
            return Ok(Some(request));
        }
    }
    Ok(None)
}

/// Stores a new nonce for a request, and returns it.
fn issue(context: &Context, db: &Db<'_>, request: &Request) -> Result<String> {
    let secret = hex::encode(&context.clock.secret()?);
    let now = context.clock.now();
    let new = New {
        uuid: context.clock.uuid(),
        binding: Binding {
            operation: &request.operation,
            asker: &request.asker,
            project: &request.project,
            inputs: &json!({ KEY: request.uuid.to_string() }).to_string(),
            plan_hash: &request.plan_hash,
        },
        caller: context.caller.actor(),
        summary: &request.summary,
        effects: "[]",
        effect: None,
        asked_at: now,
        // The request's own expiry decides; a nonce only has to live longer than that.
        expires_at: now.saturating_add(DECIDE_WITHIN + USE_WITHIN),
    };
    consents::insert_token(db, &new, &sha256::of(secret.as_bytes()))?;
    Ok(format!("{}.{secret}", request.uuid.simple()))
}

/// Waits up to `wait` for a person to approve the request that a nonce belongs to, and returns the consent.
fn redeem(context: &Context, need: &Need<'_>, nonce: &str, wait: Duration) -> Result<Consent> {
    let unknown = || mismatch("unknown", "is unknown");
    let (id, secret) = nonce.trim().split_once('.').ok_or_else(unknown)?;
    let id = Uuid::try_parse(id).map_err(|_| unknown())?;
    let given = context.store.read(|db| consents::of_token(db, &sha256::of(secret.as_bytes())))?;
    given.filter(|given| is_of(given, need, id)).ok_or_else(unknown)?;
    let until = Instant::now() + wait;
    let (mut pause, longest) = LOOK;
    let mut aside = false;
    loop {
        let request = context.store.read(|db| consents::get(db, id))?.ok_or_else(unknown)?;
        match decided(context, need, request) {
            Err(error) if error.code() == Code::ConsentPending && Instant::now() < until => {
                if !aside {
                    (context.step_aside)();
                    aside = true;
                }
                context.unless_cancelled()?;
                thread::sleep(pause.min(until.saturating_duration_since(Instant::now())));
                pause = pause.mul_f32(1.5).min(longest);
            }
            decided => return decided,
        }
    }
}

/// Whether a nonce's row belongs to this request and operation.
fn is_of(given: &Request, need: &Need<'_>, id: Uuid) -> bool {
    let inputs: Value = serde_json::from_str(&given.inputs).unwrap_or_default();
    given.operation == need.operation && inputs[KEY].as_str() == Some(&id.to_string())
}

/// Returns the consent for a decided request, or the error that says why there is none.
fn decided(context: &Context, need: &Need<'_>, request: Request) -> Result<Consent> {
    if request.asker != context.caller.asker() {
        return Err(mismatch("session_differs", "was issued to a different caller"));
    }
    if request.state == State::Consumed {
        return Err(mismatch("consumed", "was already used"));
    }
    let now = context.clock.now();
    if !in_time(request.asked_at, request.expires_at, now) {
        return Err(ended(request.uuid, &format!("expired at {}", rfc3339(request.expires_at))));
    }
    let is_same =
        request.operation == need.operation && request.plan_hash == need.plan_hash && request.project == need.project;
    if !is_same || !need.is_shown_by(&request) {
        let changed = mismatch("plan_changed", "is for a different plan: the plan has changed since");
        return Err(changed.hint("call again without a nonce: a person then decides on the changed plan"));
    }
    match request.state {
        State::Denied => Err(denied(&request, AGAIN)),
        State::Approved if has_record(context, &request)? => Ok(Consent::of_nonce(request)),
        // The transaction that uses up the request also deletes the record, and it may still be running.
        State::Approved if is_used(context, request.uuid)? => Err(mismatch("consumed", "was already used")),
        // No other transaction used the request, so the record is lost for good.
        State::Approved => {
            let lost = ended(request.uuid, "was approved, but this machine has no record of the approval");
            Err(lost.hint("call again without a nonce: a person then decides again"))
        }
        State::Pending if is_declined_now(context, &request) => Err(declined(&request, AGAIN)),
        State::Pending | State::Consumed => Err(pending(&request)),
    }
}

/// Whether a request was used. Waits for a running writer first.
fn is_used(context: &Context, id: Uuid) -> Result<bool> {
    let found = match context.store.may_write() {
        true => context.store.write(|db| consents::get(db, id))?,
        false => context.store.read(|db| consents::get(db, id))?,
    };
    Ok(found.is_some_and(|request| request.state == State::Consumed))
}

fn known(context: &Context, id: Uuid) -> Result<Request> {
    context.store.read(|db| known_in(db, id))
}

fn known_in(db: &Db<'_>, id: Uuid) -> Result<Request> {
    consents::get(db, id)?.ok_or_else(|| mismatch("unknown", "is unknown"))
}

fn pending(request: &Request) -> Error {
    let command = approve_command(request);
    Error::new(Code::ConsentPending, format!("{}: nobody has decided yet; nothing was changed", request.summary))
        .with_details(waiting(request, &command))
        .hint(format!("the user runs `{command}` at a terminal; then {AGAIN}"))
}

/// Returns the error for a call without a nonce, if a person has already approved its plan.
fn approved(request: &Request) -> Error {
    let what = format!(
        "{}: the user approved this, but the call does not contain the nonce of that approval; nothing was changed",
        request.summary
    );
    Error::new(Code::ConsentRequired, what)
        .with_details(waiting(request, &approve_command(request)))
        .hint("do not ask the user again: call again now with `nonce` from the details")
}

fn waiting(request: &Request, command: &str) -> Value {
    let mut waiting = json!({
        "consent": request.uuid.to_string(),
        "operation": request.operation,
        "state": request.state.word(),
        "expires_at": rfc3339(request.expires_at),
        "command": command,
    });
    if let Some(note) = &request.note {
        waiting["note"] = json!(note);
    }
    waiting
}
