//! `mcpkg tool trust remove`: ends the trust in an identity, or withdraws the approval of an archive.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::add::{identity, named};
use crate::GROUP;
use crate::trust::records::Record;
use crate::trust::subject::Subject;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Changes, Context, Effect, Faces, Names, NoOutput, Operation, Reach, Reply};
use mcpkg_store::tools::trust::{self, Approval, TrustedRow};

/// Trusted identities and approved archives, for shell completion.
const TRUSTED: Names = Names::Stored(|typed| {
    let people = trust::list(typed.db)?.into_iter().map(|row| row.label.unwrap_or(row.identity));
    let approved = trust::approvals(typed.db)?.into_iter().map(|one| format!("{}@{}", one.name, one.version));
    let mut names: Vec<String> = people.chain(approved).collect();
    names.sort_unstable();
    names.dedup();
    Ok(typed.matching(names))
});

/// Stop trusting somebody
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Identity, name or public key file of somebody you trust, or NAME@VERSION of a tool that you approved
    #[arg(add = TRUSTED)]
    identity: String,
    /// Remove only the trust that was added for this pattern
    #[arg(id = "for", long = "for", value_name = "PATTERN")]
    #[serde(rename = "for")]
    pattern: Option<String>,
}

impl Operation for Remove {
    const TOOL: &'static str = "trust_remove";
    const CLI: &'static [&'static str] = &["tool", "trust", "remove"];
    const TITLE: &'static str = "Stop trusting somebody";
    const ABOUT: &'static str = "Stop trusting somebody's signatures, or revoke the approval of an archive";
    const HELP: &'static str = "Starting with the next call, mcpkg refuses tools signed only by the removed identity, even if the tools \
        are already installed.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool trust remove alice", "mcpkg tool trust remove alice/weather@1.2.0"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.identity.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (trusted, approved) = context.store.read(|db| Ok((trust::list(db)?, trust::approvals(db)?)))?;
        let is_named = |one: &Approval| format!("{}@{}", one.name, one.version) == self.identity;
        let approved: Vec<Approval> = approved.into_iter().filter(is_named).collect();
        if !approved.is_empty() && self.pattern.is_none() {
            return withdraw(context, &self.identity, &approved);
        }
        let whose = identity(&self.identity).ok();
        let is_meant = |row: &TrustedRow| {
            let by_name = row.label.as_ref() == Some(&self.identity);
            let by_identity = whose.as_ref().is_some_and(|identity| identity.as_str() == row.identity);
            (by_name || by_identity) && self.pattern.as_ref().is_none_or(|pattern| *pattern == row.pattern)
        };
        let rows: Vec<TrustedRow> = trusted.iter().filter(|row| is_meant(row)).cloned().collect();
        let Some(first) = rows.first() else { return Err(missing(&self.identity, &trusted)) };
        for row in &rows {
            // Remove the record on this machine before the database row. If removing the row then fails, the identity
            // is no longer trusted.
            Record::Identity(row).withdraw(context)?;
        }
        context.store.write(|db| {
            for row in &rows {
                trust::remove(db, row)?;
            }
            context.event(db, context.author(), None, "tool.trust.remove", &first.identity)
        })?;
        let patterns: Vec<&str> = rows.iter().map(|row| row.pattern.as_str()).collect();
        let sentence = format!("{} is no longer trusted for {}", named(first), patterns.join(", "));
        Ok(Reply::sentence(sentence, json!({ "identity": first.identity, "for": patterns })))
    }
}

fn withdraw(context: &Context, reference: &str, approved: &[Approval]) -> Result<Reply> {
    for Approval { name, version, sha256 } in approved.iter().cloned() {
        Record::Archive(&Subject { name, version, sha256 }).withdraw(context)?;
    }
    context.store.write(|db| {
        for one in approved {
            trust::withdraw(db, one)?;
        }
        context.event(db, context.author(), None, "tool.trust.remove", reference)
    })?;
    let digests: Vec<String> = approved.iter().map(|one| hex::encode(&one.sha256)).collect();
    let sentence = format!("Revoked the approval of {} ({reference})", plural::count(approved.len(), "archive"));
    Ok(Reply::sentence(sentence, json!({ "approved": reference, "sha256": digests })))
}

fn missing(named: &str, trusted: &[TrustedRow]) -> Error {
    let known = trusted.iter().map(|row| row.label.as_deref().unwrap_or(&row.identity));
    Error::new(Code::NotFound, format!("'{}' is not trusted", named.escape_debug()))
        .with_details(json!({ "identity": named }))
        .suggest(named, known, "`mcpkg tool trust list` lists the identities you trust")
}
