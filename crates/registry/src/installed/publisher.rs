//! Compares the publisher of a new version with the previous publisher.
//!
//! The publisher of a tool is recorded outside of the database, so that neither an uninstall nor a restore of the
//! database forgets it. Only a person at a terminal can accept another publisher.

use serde_json::json;

use crate::trust::{self, Policy, Status, Subject, Verb, Verdict};
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::tools::installs::{Install, Scope};

/// Returns the verdict on an archive if the archive may be used and its publisher is still `before`. Without `before`,
/// any publisher is accepted. With `accept`, a person at a terminal may accept another publisher.
///
/// # Errors
/// `E_PUBLISHER_CHANGED` if the publisher changed and `accept` is not set; `E_TERMINAL_REQUIRED` if `accept` is set and
/// there is no terminal; otherwise the errors of [`trust::require`].
pub fn require(
    context: &Context,
    verb: Verb,
    subject: &Subject,
    before: Option<&str>,
    accept: bool,
) -> Result<Verdict> {
    let verdict = context.store.read(|db| trust::judge(db, context, subject))?;
    // If the archive is refused anyway, do not ask anybody to accept its publisher: `trust::require` below returns the
    // error.
    let is_refused = match verdict.status {
        Status::Refused => true,
        Status::Unverified => verdict.policy == Policy::RequireAttestation,
        Status::Verified | Status::Approved => false,
    };
    if let Some(before) = before.filter(|before| !is_refused && is_another(before, &verdict)) {
        let now: Vec<&str> = verdict.publishers.iter().map(|identity| identity.as_str()).collect();
        if !accept {
            return Err(changed(verb, subject, before, &now));
        }
        ask(context, subject, before, &now)?;
    }
    trust::require(context, verb, subject)
}

/// Returns the previous publisher of a tool: the recorded one, else the publisher of the installed version.
pub fn before(context: &Context, name: &str, install: Option<&Install>) -> Result<Option<String>> {
    Ok(remembered(context, name)?.or_else(|| install.and_then(|install| install.publisher.clone())))
}

fn remembered(context: &Context, name: &str) -> Result<Option<String>> {
    let note = context.approved.get(Kind::ToolPublisher, &key(name))?;
    Ok(note.as_ref().and_then(|note| note["publisher"].as_str()).map(str::to_owned))
}

/// Records the publisher of a tool that is about to be installed. `None` deletes the record: the version has no
/// publisher. Installs for a session are not recorded, since they end with the session.
///
/// # Errors
/// `E_UNAPPROVED` if the user has no home folder.
pub fn remember(context: &Context, scope: &Scope, name: &str, publisher: Option<&str>) -> Result<()> {
    if matches!(scope, Scope::Session(_)) || remembered(context, name)?.as_deref() == publisher {
        return Ok(());
    }
    match publisher {
        Some(publisher) => {
            let note = json!({ "tool": name, "publisher": publisher });
            context.approved.put(Kind::ToolPublisher, &key(name), &note)
        }
        None => context.approved.withdraw(Kind::ToolPublisher, &key(name)),
    }
}

/// Records the publishers of installs that are about to be removed, unless a publisher is recorded already.
pub fn remember_gone(context: &Context, scope: &Scope, gone: &[Install]) -> Result<()> {
    for install in gone {
        if let (Some(publisher), None) = (&install.publisher, remembered(context, &install.name)?) {
            remember(context, scope, &install.name, Some(publisher))?;
        }
    }
    Ok(())
}

fn key(name: &str) -> String {
    sha256::hex(name.as_bytes())
}

/// Returns whether `before` is not among the current publishers.
pub fn is_another(before: &str, verdict: &Verdict) -> bool {
    !verdict.publishers.iter().any(|publisher| publisher.as_str() == before)
}

/// Returns the publisher to record: `before` if it still vouches for the tool, else the first one that does.
pub fn to_record<'v>(before: Option<&str>, verdict: &'v Verdict) -> Option<&'v str> {
    let same = verdict.publishers.iter().find(|publisher| Some(publisher.as_str()) == before);
    same.or(verdict.publisher()).map(|identity| identity.as_str())
}

fn changed(verb: Verb, subject: &Subject, before: &str, now: &[&str]) -> Error {
    let takes = match verb {
        Verb::Install | Verb::Update => "to accept the change, pass --accept-publisher at a terminal".to_owned(),
        _ => {
            format!(
                "to accept the change, run `mcpkg tool install {} --accept-publisher` at a terminal",
                subject.reference()
            )
        }
    };
    let what = format!(
        "{} was published by {before} until now, but that publisher's signature on {} is missing or does not count",
        subject.name,
        subject.reference()
    );
    Error::new(Code::PublisherChanged, what)
        .with_details(json!({ "tool": subject.name, "version": subject.version, "before": before, "now": now }))
        .hint(format!("ask the publisher first; {takes}"))
}

fn ask(context: &Context, subject: &Subject, before: &str, now: &[&str]) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let why = "Only a person at a terminal can accept a different publisher; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
    }
    let now = if now.is_empty() { "nobody you trust".to_owned() } else { now.join(", ") };
    let lines = [format!("previously published by  {before}"), format!("{} by  {now}", subject.reference())];
    (context.ask)(
        Body::lines(lines),
        &format!("Accept {now} as the publisher of {} instead of {before}?", subject.name),
    )
}
