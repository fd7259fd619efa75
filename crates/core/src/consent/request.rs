//! Requests for a person's consent.
//!
//! An operation that needs consent calls [`ask`] with the planned change. [`ask`] returns a [`Consent`], which the
//! operation uses up in the transaction that makes the change. If nobody has consented yet, mcpkg stores the request,
//! and the operation fails with `E_CONSENT_REQUIRED`. Once a person has approved the request ([`approve`]), the same
//! call with the same plan succeeds, once.
//!
//! The row only describes the request. An approval counts only with a record outside the database ([`mcpkg_base::approved`]),
//! which only [`approve`] writes. So a database from somebody else cannot contain its own consent.

use serde_json::{Value, json};
use uuid::Uuid;

use super::reads::Reads;
use super::{SLACK, event, in_time};
use crate::note;
use crate::op::{Body, Caller, Confirmation, Context, Effect};
use mcpkg_base::approved::Kind;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::marks;
use mcpkg_base::plural;
use mcpkg_base::sha256;
use mcpkg_store::consents::{self, Binding, New, Request, State};
use mcpkg_store::{DAMAGED, Db};

/// How long a request waits for a decision: an hour.
pub const DECIDE_WITHIN: Millis = 60 * 60_000;

/// How long an approved request may be used: ten minutes, like a confirm token.
pub const USE_WITHIN: Millis = 10 * 60_000;

/// The beginning of the last effect, if the agent gave a reason. A reason is the agent's claim, so a consent also counts for the
/// same call with another one.
pub const REASON: &str = "the agent's reason: ";

/// How many of a request's effects an agent is shown, one per line. If there are more, one more line says how many.
const TOLD: usize = 100;

/// How many characters of a line are kept when it is cut.
const SHOWN: usize = 200;

/// A planned change that needs a person's consent.
#[derive(Clone, Debug)]
pub struct Need<'a> {
    /// The operation's tool name.
    pub operation: &'a str,
    /// The project's name; empty if the plan concerns no project.
    pub project: &'a str,
    pub inputs: &'a Value,
    /// The SHA-256, in hex, of the complete plan. If it changes, a person is asked again.
    pub plan_hash: &'a str,
    /// The plan in one sentence without a final period.
    pub summary: String,
    /// The effects of the plan, one per line: all that a person needs to know to decide.
    pub effects: Vec<String>,
    /// The worst that the plan can do to data.
    pub effect: Effect,
}

/// A request as a person saw it: their answer counts only for this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub uuid: Uuid,
    state: State,
    digest: String,
}

impl From<&Request> for Shown {
    fn from(request: &Request) -> Self {
        Self { uuid: request.uuid, state: request.state, digest: digest(request) }
    }
}

impl Shown {
    /// Returns a text that a client can send back together with its user's answer.
    pub fn to_text(&self) -> String {
        format!("{}.{}", self.uuid, self.digest)
    }

    /// Reads what [`Self::to_text`] returned for a pending request.
    pub fn pending(text: &str) -> Option<Self> {
        let (uuid, digest) = text.split_once('.')?;
        Some(Self { uuid: Uuid::try_parse(uuid).ok()?, state: State::Pending, digest: digest.to_owned() })
    }
}

/// A person's consent. Consent to a stored request can be used only once.
#[derive(Debug)]
#[must_use = "it is used up in the transaction of what it allows"]
pub struct Consent(ConsentKind);

#[derive(Debug)]
enum ConsentKind {
    /// Given at the terminal or by the command itself, or not needed. There is no stored request.
    AtTerminal,
    /// Given for a stored request.
    Stored(Box<Request>),
    /// Given for a request whose nonce the caller has.
    Nonce(Box<Request>),
    /// Given for all plans that only read from one catalog.
    Reads(Box<Reads>),
}

/// Returns a person's consent, if there is one. Asks for it if a person sits at the caller's own terminal.
///
/// # Errors
/// `E_CONSENT_REQUIRED` with the id of the stored request; `E_TOO_MANY` if too many requests are already waiting;
/// `E_CONSENT_DENIED` if a person denied the same request, or the client declined it within this call; `E_CONFIRM_REQUIRED`
/// if the person at the terminal says no.
pub fn ask(context: &Context, need: &Need<'_>) -> Result<Consent> {
    if has_terminal(context) {
        return at_terminal(context, need);
    }
    let now = context.clock.now();
    let (asker, inputs) = (context.caller.asker(), need.inputs.to_string());
    let binding = Binding {
        operation: need.operation,
        asker: &asker,
        project: need.project,
        inputs: &inputs,
        plan_hash: need.plan_hash,
    };
    let mut found = context.store.read(|db| consents::find(db, &binding, now))?;
    found.retain(|request| in_time(request.asked_at, request.expires_at, now) && need.is_shown_by(request));
    for request in found {
        match request.state {
            State::Approved if has_record(context, &request)? => {
                return Ok(Consent(ConsentKind::Stored(Box::new(request))));
            }
            State::Denied => return Err(denied(&request, AGAIN)),
            State::Pending if is_declined_now(context, &request) => return Err(declined(&request, AGAIN)),
            State::Pending => return Err(required(context, &request, AGAIN)),
            // The request was used, or it was not approved on this machine: store a new one.
            State::Approved | State::Consumed => {}
        }
    }
    let request = store(context, need, binding, now)?;
    Err(required(context, &request, AGAIN))
}

/// Shows the plan to the person at the caller's terminal, and asks for consent.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` if the person says no.
pub(super) fn at_terminal(context: &Context, need: &Need<'_>) -> Result<Consent> {
    (context.ask)(Body::lines(&need.effects), &format!("{}?", need.summary))?;
    Ok(Consent(ConsentKind::AtTerminal))
}

fn store(context: &Context, need: &Need<'_>, binding: Binding<'_>, now: Millis) -> Result<Request> {
    context.store.write(|db| insert(context, db, need, binding, now))
}

/// Like [`store`], within an open transaction.
pub(super) fn insert(
    context: &Context,
    db: &Db<'_>,
    need: &Need<'_>,
    binding: Binding<'_>,
    now: Millis,
) -> Result<Request> {
    let (summary, effects) = need.shown();
    let effects = json!(effects).to_string();
    let new = New {
        uuid: context.clock.uuid(),
        binding,
        caller: context.caller.actor(),
        summary: &summary,
        effects: &effects,
        effect: Some(need.effect.does()),
        asked_at: now,
        expires_at: now.saturating_add(DECIDE_WITHIN),
    };
    if !consents::insert(db, &new)? {
        return Err(too_many());
    }
    event(context, db, "consent.request", need.project, &new.uuid.to_string())?;
    get(db, new.uuid)
}

impl Need<'_> {
    /// Returns the summary and the effects as a request stores and shows them.
    fn shown(&self) -> (String, Vec<String>) {
        let effects = self.effects.iter().map(|line| marks::line(line).into_owned()).collect();
        (marks::line(&self.summary).into_owned(), effects)
    }

    /// Whether a request for this plan shows what the plan does. It does not if another program has changed the row: then a
    /// person would approve something else than what is done.
    pub(super) fn is_shown_by(&self, request: &Request) -> bool {
        let (summary, effects) = self.shown();
        let shown = serde_json::from_str::<Vec<String>>(&request.effects);
        request.summary == summary
            && shown.is_ok_and(|shown| without_reason(&shown) == without_reason(&effects))
            && request.effect.as_deref() == Some(self.effect.does())
    }
}

fn without_reason(effects: &[String]) -> &[String] {
    match effects.split_last() {
        Some((last, effects)) if last.starts_with(REASON) => effects,
        _ => effects,
    }
}

impl Consent {
    /// Returns a consent without a stored request, because it was given in the command itself, or because the caller needs
    /// none.
    pub fn without_request() -> Self {
        Self(ConsentKind::AtTerminal)
    }

    pub(super) fn to_reads(reads: Reads) -> Self {
        Self(ConsentKind::Reads(Box::new(reads)))
    }

    pub(super) fn of_nonce(request: Request) -> Self {
        Self(ConsentKind::Nonce(Box::new(request)))
    }

    /// Uses the consent up, in the transaction that makes the change.
    ///
    /// # Errors
    /// `E_CONSENT_EXPIRED` if it was used or withdrawn or has expired, `E_CONSENT_MISMATCH` if the nonce was used in the
    /// meantime.
    pub fn consume(&self, context: &Context, db: &Db<'_>) -> Result<()> {
        let request = match &self.0 {
            ConsentKind::AtTerminal => return Ok(()),
            ConsentKind::Reads(reads) => return reads.used(context, db),
            ConsentKind::Stored(request) | ConsentKind::Nonce(request) => request,
        };
        // Update the row first: this waits until any other process that is using the same consent commits.
        if !consents::consume(db, request.uuid, context.clock.now())? {
            let is_used = consents::get(db, request.uuid)?.is_some_and(|request| request.state == State::Consumed);
            return Err(match &self.0 {
                ConsentKind::Nonce(_) if is_used => mismatch("consumed", "was already used"),
                _ => ended(request.uuid, "was used or withdrawn, or has expired"),
            });
        }
        if !has_record(context, request)? {
            return Err(ended(request.uuid, "was withdrawn or has expired"));
        }
        // Withdraw the record before the commit, so that restoring an older copy of the database cannot bring the consent back.
        context.approved.withdraw(Kind::Consent, &digest(request))?;
        if let Some(note) = &request.note {
            context.note(note);
        }
        event(context, db, "consent.consume", &request.project, &request.uuid.to_string())
    }
}

/// Returns the error for a request that is not stored because too many are waiting.
fn too_many() -> Error {
    Error::new(Code::TooMany, "Too many consent requests are waiting for a decision").hint(
        "a person decides on requests with `mcpkg consent list`, `approve` and `deny`; each request expires after an hour",
    )
}

/// Approves a request for a person who said yes, either at a terminal or in answer to a question of the client that asked.
/// `shown` is the request as the person saw it. The yes counts only for this, and does not overrule a later denial. The
/// asker gets `note` together with the result of its call.
///
/// # Errors
/// `E_TERMINAL_REQUIRED` if the caller has neither a terminal nor the right to pass on consent; `E_NOT_FOUND`;
/// `E_CONSENT_EXPIRED`; `E_PLAN_CHANGED`; `E_INVALID_ARGUMENT` for the note; `E_UNAPPROVED` if the user has no home
/// directory.
pub fn approve(context: &Context, shown: impl Into<Shown>, note: Option<&str>) -> Result<Request> {
    let shown = shown.into();
    let (note, uuid) = (note::checked(note)?, shown.uuid);
    let may = match context.caller {
        Caller::Shell | Caller::Console(_) | Caller::Person(_) => has_terminal(context),
        Caller::Client(_) => context.caller.rights().consent,
    };
    if !may {
        return Err(Error::new(
            Code::TerminalRequired,
            "Only a person at a terminal can consent; --yes does not apply",
        )
        .hint(format!("run `mcpkg consent approve {uuid}` at a terminal")));
    }
    let now = context.clock.now();
    let request = waiting(context, uuid, now)?;
    // Nothing in mcpkg changes these columns, but other programs can write to the database.
    if digest(&request) != shown.digest {
        return Err(Error::new(Code::PlanChanged, format!("Consent request {uuid} has changed since it was shown"))
            .hint(format!("look at it again: `mcpkg consent show {uuid}`")));
    }
    sweep(context, now)?;
    let expires_at = now.saturating_add(USE_WITHIN);
    // Write the record first. If mcpkg stops in between, nothing is approved, because an approval needs both the record and
    // an approved row.
    let record = json!({ "consent": uuid.to_string(), "operation": request.operation, "expires_at": expires_at });
    context.approved.put(Kind::Consent, &digest(&request), &record)?;
    let approved = context.store.write(|db| {
        if !consents::approve(db, uuid, shown.state, now, expires_at, note)? {
            return Err(overtaken(&get(db, uuid)?));
        }
        event(context, db, "consent.approve", &request.project, &uuid.to_string())?;
        get(db, uuid)
    });
    if approved.is_err() {
        context.approved.withdraw(Kind::Consent, &digest(&request))?;
    }
    approved
}

/// Denies a request, or takes back an approval that was not used. The asker gets the note with the refusal.
pub fn deny(context: &Context, uuid: Uuid, note: Option<&str>) -> Result<Request> {
    let note = note::checked(note)?;
    let now = context.clock.now();
    let request = waiting(context, uuid, now)?;
    context.approved.withdraw(Kind::Consent, &digest(&request))?;
    context.store.write(|db| {
        if request.state != State::Denied || note.is_some() {
            if !consents::deny(db, uuid, now, note)? {
                return Err(ended(uuid, "was used in the meantime"));
            }
            event(context, db, "consent.deny", &request.project, &uuid.to_string())?;
        }
        get(db, uuid)
    })
}

/// Records that a client declined a request. No person has decided, so the request keeps waiting for a person at a
/// terminal.
pub fn decline(context: &Context, uuid: Uuid) -> Result<()> {
    let now = context.clock.now();
    let request = waiting(context, uuid, now)?;
    context.store.write(|db| match consents::decline(db, uuid, now)? {
        true => event(context, db, "consent.decline", &request.project, &uuid.to_string()),
        // A person has decided in the meantime.
        false => Ok(()),
    })
}

/// Returns a request that may still be decided. A client sees only its own requests.
pub fn waiting(context: &Context, uuid: Uuid, now: Millis) -> Result<Request> {
    let request = context.store.read(|db| get(db, uuid))?;
    if !context.caller.is_shell() && request.asker != context.caller.asker() {
        return Err(missing(&uuid.to_string()));
    }
    if request.state == State::Consumed {
        return Err(ended(uuid, "was already used"));
    }
    if !in_time(request.asked_at, request.expires_at, now) {
        return Err(ended(uuid, &format!("expired at {}", rfc3339(request.expires_at))));
    }
    Ok(request)
}

/// Returns the lines that describe a request's effects. If they are damaged, one line says so, because nobody should consent
/// to an empty list.
pub fn effects(request: &Request) -> Vec<String> {
    serde_json::from_str(&request.effects).unwrap_or_else(|_| vec![DAMAGED.to_owned()])
}

/// Whether a person sits at the caller's own terminal and can be asked there.
pub(super) fn has_terminal(context: &Context) -> bool {
    context.caller.is_shell() && context.confirmation == Confirmation::Ask
}

/// Whether this user's records confirm that the request was approved on this machine, and not withdrawn since.
pub(super) fn has_record(context: &Context, request: &Request) -> Result<bool> {
    let note = context.approved.get(Kind::Consent, &digest(request))?;
    let expires_at = note.and_then(|note| note["expires_at"].as_i64());
    let now = context.clock.now();
    Ok(expires_at.is_some_and(|expires_at| in_time(expires_at.saturating_sub(USE_WITHIN), expires_at, now)))
}

/// Deletes the records of consents that expired before they were used.
fn sweep(context: &Context, now: Millis) -> Result<()> {
    for (sha256, note) in context.approved.all(Kind::Consent)? {
        if note["expires_at"].as_i64().is_none_or(|expires_at| now >= expires_at.saturating_add(SLACK)) {
            context.approved.withdraw(Kind::Consent, &sha256)?;
        }
    }
    Ok(())
}

/// Returns the name of a request's record: the SHA-256 of everything in the request that never changes.
fn digest(request: &Request) -> String {
    let Request {
        uuid, operation, asker, caller, project, inputs, plan_hash, summary, effects, effect, asked_at, ..
    } = request;
    let uuid = uuid.to_string();
    let fixed = json!([uuid, operation, asker, caller, project, inputs, plan_hash, summary, effects, effect, asked_at]);
    sha256::hex(fixed.to_string().as_bytes())
}

fn get(db: &Db<'_>, uuid: Uuid) -> Result<Request> {
    consents::get(db, uuid)?.ok_or_else(|| missing(&uuid.to_string()))
}

pub(super) fn missing(id: &str) -> Error {
    Error::new(Code::NotFound, format!("Consent request '{}' does not exist", id.escape_debug()))
        .with_details(json!({ "consent": id }))
        .hint("`mcpkg consent list` lists the waiting requests")
}

/// The end of hints for callers without a nonce.
const AGAIN: &str = "make the same call again";

/// Whether the caller's client declined a request within this very call.
pub(super) fn is_declined_now(context: &Context, request: &Request) -> bool {
    request.is_declined() && context.answered == Some(request.uuid)
}

/// Returns the error for a plan that nobody has consented to yet. `then` says what the caller does after the approval. Also
/// makes the caller's client ask its user, if the client can do that and has not declined already.
pub(super) fn required(context: &Context, request: &Request, then: &str) -> Error {
    if let Some(elicit) = context.elicit.as_ref().filter(|_| !request.is_declined()) {
        elicit(request.uuid);
    }
    let command = approve_command(request);
    Error::new(
        Code::ConsentRequired,
        format!("{}: a person has to consent first; nothing was changed", request.summary),
    )
    .with_details(json!({
        "consent": request.uuid.to_string(),
        "operation": request.operation,
        "expires_at": rfc3339(request.expires_at),
        "effect": request.effect,
        "effects": shortened(&effects(request), TOLD),
        "command": command,
    }))
    .hint(format!("the user runs `{command}` at a terminal; then {then}"))
}

/// Returns the error for a request that a person denied.
pub(super) fn denied(request: &Request, then: &str) -> Error {
    let hint =
        format!("if the user changes their mind, they run `{}` at a terminal; then {then}", approve_command(request));
    let Some(note) = &request.note else { return refused(request, "the user denied the request").hint(hint) };
    let error = refused(request, &format!("denied: {}", note::quoted(note)));
    let mut details = error.details().cloned().unwrap_or_default();
    details["note"] = json!(note);
    error.with_details(details).hint(hint)
}

/// Returns the error for a request that the caller's client declined. It is unknown whether a person saw it.
pub(super) fn declined(request: &Request, then: &str) -> Error {
    let hint = format!("to allow the request, the user runs `{}` at a terminal; then {then}", approve_command(request));
    refused(request, "the client declined to ask its user, or its user declined").hint(hint)
}

fn refused(request: &Request, why: &str) -> Error {
    Error::new(Code::ConsentDenied, format!("{}: {why}; nothing was changed", request.summary)).with_details(json!({
        "consent": request.uuid.to_string(),
        "operation": request.operation,
        "expires_at": rfc3339(request.expires_at),
        "command": approve_command(request),
    }))
}

/// Returns the shell command that approves a request.
pub(super) fn approve_command(request: &Request) -> String {
    format!("mcpkg consent approve {}", request.uuid)
}

pub(super) fn ended(uuid: Uuid, why: &str) -> Error {
    Error::new(Code::ConsentExpired, format!("Consent request {uuid} {why}"))
        .with_details(json!({ "consent": uuid.to_string() }))
        .hint("call the operation again to create a new request")
}

/// Keeps the first `most` lines; if there are more, one more line says how many. A long line is cut, and says how much
/// is cut.
pub fn shortened(lines: &[String], most: usize) -> Vec<String> {
    let mut short: Vec<String> = lines.iter().take(most).map(|line| beginning(line)).collect();
    if lines.len() > most {
        short.push(format!("and {} more", lines.len() - most));
    }
    short
}

fn beginning(line: &str) -> String {
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => {
            format!("{}… ({} more)", &line[..end], plural::count(line[end..].chars().count(), "character"))
        }
        None => line.to_owned(),
    }
}

/// Returns the error for a yes to a request that can no longer be approved.
fn overtaken(request: &Request) -> Error {
    match request.state {
        State::Denied => ended(request.uuid, "was denied while the question was open")
            .hint(format!("to approve it all the same, run `{}`", approve_command(request))),
        _ => ended(request.uuid, "was used in the meantime, or has expired"),
    }
}

/// Returns the error for a nonce that is not valid for this plan.
pub(super) fn mismatch(kind: &str, why: &str) -> Error {
    Error::new(Code::ConsentMismatch, format!("The nonce {why}; nothing was changed"))
        .with_details(json!({ "mismatch_kind": kind }))
        .hint("call again without a nonce to create a new request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_lines_say_how_much_was_cut() {
        let mut many: Vec<String> = (0..TOLD + 7).map(|n| n.to_string()).collect();
        many[0] = "é".repeat(SHOWN + 1);
        let told = shortened(&many, TOLD);
        assert_eq!((told.len(), told.last().map(String::as_str)), (TOLD + 1, Some("and 7 more")));
        assert_eq!(told[0], format!("{}… (1 character more)", "é".repeat(SHOWN)));
    }
}
