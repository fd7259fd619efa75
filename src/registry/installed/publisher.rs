//! Who published the version of a tool that is installed, and who publishes the one that comes.

use serde_json::json;

use crate::error::{Code, Error, Result};
use crate::op::{Body, Confirmation, Context};
use crate::registry::trust::{self, Policy, Status, Subject, Verb, Verdict};
use crate::store::tools::installs::Install;

/// Returns the verdict on an archive that comes in the place of `before`, where it may be used and is published by the same
/// identity. With `accept` a person at a terminal is asked whether another publisher may take the tool over.
///
/// # Errors
/// `E_PUBLISHER_CHANGED`; `E_TERMINAL_REQUIRED` where another publisher shall be accepted and nobody sits at a terminal;
/// as [`trust::require`].
pub fn require(
    context: &Context,
    verb: Verb,
    subject: &Subject,
    before: Option<&Install>,
    accept: bool,
) -> Result<Verdict> {
    let verdict = context.store.read(|db| trust::judge(db, context, subject))?;
    // What is refused all the same is refused for that; and nobody is asked to trust what has another publisher.
    let is_refused = match verdict.status {
        Status::Refused => true,
        Status::Unverified => verdict.policy == Policy::RequireAttestation,
        Status::Verified | Status::Approved => false,
    };
    let before = before.and_then(|install| install.publisher.as_deref());
    if let Some(before) = before.filter(|before| !is_refused && is_another(before, &verdict)) {
        let now: Vec<&str> = verdict.publishers.iter().map(|identity| identity.as_str()).collect();
        if !accept {
            return Err(changed(subject, before, &now));
        }
        ask(context, subject, before, &now)?;
    }
    trust::require(context, verb, subject)
}

/// Whether none of those who count as publishers is the one before.
pub fn is_another(before: &str, verdict: &Verdict) -> bool {
    !verdict.publishers.iter().any(|publisher| publisher.as_str() == before)
}

/// Returns who is kept as the publisher of what comes in the place of `before`: the one it had, where they count still, else the
/// first who counts.
pub fn kept<'v>(before: Option<&Install>, verdict: &'v Verdict) -> Option<&'v str> {
    let before = before.and_then(|install| install.publisher.as_deref());
    let same = verdict.publishers.iter().find(|publisher| Some(publisher.as_str()) == before);
    same.or(verdict.publisher()).map(|identity| identity.as_str())
}

fn changed(subject: &Subject, before: &str, now: &[&str]) -> Error {
    let what = format!(
        "{} was published by {before} before, whose word for {} does not count",
        subject.name,
        subject.reference()
    );
    Error::new(Code::PublisherChanged, what)
        .with_details(json!({ "tool": subject.name, "version": subject.version, "before": before, "now": now }))
        .hint("ask the publisher; --accept-publisher at a terminal takes it all the same")
}

fn ask(context: &Context, subject: &Subject, before: &str, now: &[&str]) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let why = "Only a person at a terminal accepts another publisher; there is no --yes for it";
        return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
    }
    let now = if now.is_empty() { "nobody whom you trust".to_owned() } else { now.join(", ") };
    let text = format!("published before by  {before}\n{} by  {now}\n", subject.reference());
    (context.ask)(Body::Text(text), &format!("Let another publisher take over {}?", subject.name))
}
