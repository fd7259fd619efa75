//! The checks before a run: the policy must allow it, and a person must have consented to the plan.

use std::time::Duration;

use serde_json::json;

use super::EXECUTE;
use super::effects;
use super::plan::Plan;
use crate::api::catalogs;
use crate::operations;
use crate::saved::policy::{self as rule, Rule};
use crate::spec::{CommandEffect, SourceKind};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::Url;
use mcpkg_core::consent::nonce::{self, CallerNonce};
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::consent::widened;
use mcpkg_core::op::{Confirmation, Context, Identity};
use mcpkg_store::projects;
use mcpkg_store::runs::Kind;

/// How many seconds a caller waits by default.
pub const WAIT: u32 = 25;
/// How many seconds a caller may wait at most.
pub const LONGEST_WAIT: u32 = 50;

/// Fails if running anything is forbidden: by `no_execute` (the server, the access key, or the user who started this process), or
/// by the policy of the project.
pub fn policy(context: &Context) -> Result<()> {
    let denied = |by: &str, message: String| {
        Err(Error::new(Code::ExecuteDenied, message).with_details(json!({ "denied_by": by })))
    };
    if context.surface.no_execute {
        return denied("server", "This server does not allow commands to run; nothing was run".to_owned())
            .map_err(|error| error.hint("a person can run it with `mcpkg command run` or `mcpkg workflow run`"));
    }
    let denying = context.store.read(|db| {
        let Some(project) = projects::resolve(db, &context.selection)? else { return Ok(None) };
        Ok((rule::of(db, project.id)? == Rule::Deny).then_some(project.name))
    })?;
    match denying {
        Some(project) => {
            denied("project", format!("The policy of project '{project}' denies running commands; nothing was run"))
                .map_err(|error| error.hint("a person can change it at a terminal: `mcpkg workflow policy confirm`"))
        }
        None => Ok(()),
    }
}

pub fn wait(seconds: Option<u32>) -> Result<Duration> {
    let seconds = seconds.unwrap_or(WAIT);
    if seconds > LONGEST_WAIT {
        let why = format!("wait_s is {seconds}; it must be from 0 to {LONGEST_WAIT}");
        return Err(Error::new(Code::InvalidArgument, why));
    }
    Ok(Duration::from_secs(seconds.into()))
}

/// Returns the consent to a plan. If the plan needs the consent of a person, and nobody has given it, asks for it.
///
/// # Errors
/// For agents, those of [`nonce::ask`]. At a shell, those of [`request::ask`], and `E_CONFIRM_REQUIRED` if `--yes` would be
/// enough.
pub fn consent(context: &Context, plan: &Plan, held: CallerNonce<'_>) -> Result<Consent> {
    let need = Need {
        operation: EXECUTE,
        project: &plan.project,
        inputs: &plan.definition,
        plan_hash: &plan.hash,
        summary: plan.summary.clone(),
        effects: plan.effects.clone(),
        effect: effects::gravest(&plan.program).into(),
    };
    match (context.is_shell(), context.confirmation) {
        (false, _) if is_free(context, plan) => Ok(Consent::without_request()),
        (false, _) => match (held, consented_reads(context, plan)?) {
            (CallerNonce::Nothing, Some(consent)) => Ok(consent),
            (held, _) => nonce::ask(context, &need, held),
        },
        (true, Confirmation::Given) if plan.may_be_confirmed => Ok(Consent::without_request()),
        (true, Confirmation::Nobody) if plan.may_be_confirmed => {
            Err(Error::new(Code::ConfirmRequired, format!("{} needs to be confirmed. Nothing was run", plan.summary))
                .hint("confirm with --yes"))
        }
        // Ask a person: `--yes` was not given, or it is not enough for this plan (see `Plan::may_be_confirmed`), for example
        // because nobody has approved the workflow's text.
        (true, _) => request::ask(context, &need).map_err(|error| match plan.program.kind {
            Kind::Workflow if error.code() == Code::ConsentRequired => error.hint(
                "--yes can only run a saved workflow that you have approved with `mcpkg draft approve` or saved at a terminal with \
                    `mcpkg workflow edit`",
            ),
            _ => error,
        }),
    }
}

/// Returns whether a plan is a single command that the caller can also call as a tool without consent. A server that
/// runs as `assistant` (contract 004) has no such tool, so it always asks.
fn is_free(context: &Context, plan: &Plan) -> bool {
    // `may_be_confirmed` is also false for a resumed run that may have done more than is recorded. Such a run needs
    // consent, even if it is a command that needs none otherwise.
    let is_command = plan.program.kind == Kind::Command && plan.may_be_confirmed;
    let mut steps = plan.program.steps.iter();
    context.caller.identity() != Identity::Assistant
        && is_command
        && steps.all(|step| operations::is_free(context, &step.spec))
}

/// Returns the consent that the caller already has to all reads of a catalog, if the plan only reads from that catalog.
fn consented_reads(context: &Context, plan: &Plan) -> Result<Option<Consent>> {
    let mut catalog: Option<(String, Option<String>)> = None;
    for step in &plan.program.steps {
        if step.spec.source != SourceKind::Catalogs || step.spec.effect != CommandEffect::Read {
            return Ok(None);
        }
        let Some((found, spec)) = catalogs::find(context, &step.spec.id)? else { return Ok(None) };
        // The consent covers only the catalog's own origin, and no other origins that a person has allowed.
        if !spec.base_url.as_deref().and_then(Url::parse).is_some_and(|url| found.is_own(&url)) {
            return Ok(None);
        }
        match &catalog {
            Some((name, _)) if *name != found.name => return Ok(None),
            _ => catalog = Some((found.name, found.base_url)),
        }
    }
    let Some((name, base_url)) = catalog else { return Ok(None) };
    widened::granted(context, &plan.project, &name, base_url.as_deref())
}
