//! Applies a plan of `mcpkg deploy`: checks that somebody confirmed it, and asks a person where only a person may decide.

use serde_json::{Value, json};

use super::gates::check_adopt;
use crate::answer::{self, Page};
use crate::apply::{self, Work};
use crate::confirm;
use crate::plan::Change;
use crate::plan::audit;
use crate::plan::code::{self, Risks};
use crate::plan::prepare::Prepared;
use crate::plan::show;
use crate::repo::Checkouts;
use crate::source::{Adopt, Adopted, Choice, Site};
use mcpkg_agents::audit::Report;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_content::{audited, ignored};
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Reply};
use mcpkg_store::{Applying as ApplyRight, Db, deploys};

/// The tool that a person's consent is bound to.
pub(super) const TOOL: &str = "deploy_apply";

/// A requested apply.
pub(super) struct Applying<'a> {
    pub choice: &'a Choice,
    pub adopt: Adopt,
    pub dry_run: bool,
    pub gate: Gate,
}

/// What an apply needs before it may write, in addition to `yes`.
pub(super) enum Gate {
    /// Nothing: this user called from a shell, or nothing will be written.
    Open,
    /// The confirm token of the plan.
    Token(String),
    /// The consent of the agent's user. The agent's client asks for it.
    Person,
}

/// What an apply knows before it makes the plan that it will write.
struct Approval {
    checkouts: Checkouts,
    /// The hash of the plan that a person or an agent saw.
    hash: Option<String>,
    consent: Option<Consent>,
    /// Whether a person approved the plan with this hash.
    is_by_person: bool,
}

impl Applying<'_> {
    /// Checks, in this order: the token is known, the token was issued for this plan, no change still needs `adopt`,
    /// and somebody approved the plan. The token and the consent are consumed only in the transaction that begins the
    /// apply, or that finds nothing to do.
    pub(super) fn run(self, context: &Context) -> Result<Reply> {
        if let Gate::Token(token) = &self.gate {
            let site = Site::find(context, self.choice)?;
            context.store.read(|db| confirm::check(db, context, token, &site.inputs()))?;
        }
        if self.dry_run {
            let prepared = Prepared::new(context, self.choice)?;
            let changes = &prepared.plan.changes;
            let body = show::listed(&prepared, changes);
            let data = applied_data(false, Some("dry_run"), &prepared, changes);
            return Ok(shortened_for_agent(context, &prepared.site, Reply::new(body, data).warn(prepared.warnings)));
        }
        let mut approval = self.before_the_lock(context)?;
        loop {
            let right = apply::begin(context)?;
            let prepared = Prepared::again(context, self.choice, approval.checkouts)?;
            if approval.hash.is_some_and(|hash| hash != prepared.hash) {
                return Err(show::changed_meanwhile());
            }
            if let Gate::Token(token) = &self.gate {
                let inputs = prepared.site.inputs();
                let confirmed = context.store.read(|db| confirm::check(db, context, token, &inputs))?;
                confirm::check_plan(&confirmed, &prepared.hash)?;
            }
            self.check_adopt(context, &prepared)?;
            let changes = &prepared.plan.changes;
            // A person must consent to code that agents will run, and to critical audit findings. A token or `--yes` is not
            // enough.
            let risks = risks(context, &prepared);
            if approval.is_by_person || risks.is_none() {
                return self.write(context, &right, prepared, approval.consent.as_ref(), &risks.report);
            }
            // The person may take long to answer, so release the lock. Then plan again, with the consent.
            drop(right);
            let (inputs, effects) = (self.inputs(context, &prepared), show::effects(changes));
            let consent = code::consent(context, TOOL, &prepared.site, &inputs, &prepared.hash, &risks, effects)?;
            approval =
                Approval { checkouts: prepared.checkouts, hash: Some(prepared.hash), consent, is_by_person: true };
        }
    }

    /// Does the slow work before taking the apply lock, which blocks all other applies: fetches git sources, and asks a
    /// person if that is needed.
    fn before_the_lock(&self, context: &Context) -> Result<Approval> {
        if context.confirmation == Confirmation::Ask {
            let Prepared { checkouts, hash, .. } = self.ask(context)?;
            return Ok(Approval { checkouts, hash: Some(hash), consent: None, is_by_person: true });
        }
        if matches!(self.gate, Gate::Person) {
            let prepared = Prepared::new(context, self.choice)?;
            let consent = self.consent(context, &prepared)?;
            let is_by_person = consent.is_some();
            return Ok(Approval { checkouts: prepared.checkouts, hash: Some(prepared.hash), consent, is_by_person });
        }
        let checkouts = Site::find(context, self.choice)?.fetch(context)?;
        Ok(Approval { checkouts, hash: None, consent: None, is_by_person: false })
    }

    /// Writes the plan's files. `report` contains the audit findings about them.
    fn write(
        &self,
        context: &Context,
        right: &ApplyRight,
        mut prepared: Prepared,
        consent: Option<&Consent>,
        report: &Report,
    ) -> Result<Reply> {
        let adopted = self.adopt.find(context, &prepared.site.place.root);
        prepared.plan.adopt_claims(|path| adopted.has(path));
        if prepared.plan.is_empty() {
            let data = applied_data(false, Some("no_changes"), &prepared, &[]);
            context.store.write(|db| {
                self.consume(context, db, &prepared, consent)?;
                match deploys::place(db, &prepared.site.place)? {
                    Some(place) => {
                        apply::write_row_changes(db, &prepared.site.place.machine, place, &prepared.plan.row_changes)
                    }
                    None => Ok(()),
                }
            })?;
            let hint = left_out(&prepared);
            let reply = Reply::sentence("Nothing to do: everything is up to date", data);
            let reply = hint.into_iter().fold(reply, Reply::hint).warn(prepared.warnings);
            return Ok(shortened_for_agent(context, &prepared.site, reply));
        }
        let mut data = applied_data(true, None, &prepared, &prepared.plan.changes);
        if context.confirmation != Confirmation::Ask {
            // If a person was asked, they have already read these lines before the question.
            prepared.warnings.extend(report.lines(Severity::Warning));
        }
        let done = show::count_line(&prepared.plan.changes, true);
        let left_out = left_out(&prepared);
        let plan = std::mem::take(&mut prepared.plan);
        let id = apply::apply(context, right, Work::deploy(&prepared.site, plan, &prepared.hash, adopted), |db| {
            if prepared.site.fingerprint(db)? != prepared.fingerprint {
                return Err(show::changed_meanwhile());
            }
            self.consume(context, db, &prepared, consent)
        })?;
        prepared.warnings.extend(ignored::accept(report.findings.iter(), context));
        data["snapshot_id"] = json!(id.to_string());
        let sentence = format!("Deployed to {}: {done}. Snapshot {id}", prepared.site.destination());
        let hint = format!(
            "to undo all deploys to this location, run `mcpkg rollback{} --to pristine`",
            prepared.site.arguments()
        );
        let reply = Reply::sentence(sentence, data).warn(prepared.warnings).hint(hint);
        Ok(shortened_for_agent(context, &prepared.site, left_out.into_iter().fold(reply, Reply::hint)))
    }

    fn check_adopt(&self, context: &Context, prepared: &Prepared) -> Result<()> {
        let root = &prepared.site.place.root;
        let adopted = self.adopt.find(context, root);
        if let Adopted::Files(named) = &adopted {
            named.check(root, prepared.plan.files())?;
        }
        check_adopt(&prepared.plan.changes, &adopted, &format!("mcpkg diff{}", prepared.site.arguments()))
    }

    /// Marks the token and the consent as used.
    fn consume(&self, context: &Context, db: &Db<'_>, prepared: &Prepared, consent: Option<&Consent>) -> Result<()> {
        if let Gate::Token(token) = &self.gate {
            let inputs = prepared.site.inputs();
            confirm::consume(db, context, token, &inputs, &prepared.hash, context.clock.now())?;
        }
        consent.map_or(Ok(()), |consent| consent.consume(context, db))
    }

    /// Returns the inputs that a person's consent is bound to in addition to the plan.
    fn inputs(&self, context: &Context, prepared: &Prepared) -> Value {
        let mut inputs = prepared.site.inputs();
        inputs["adopt"] = self.adopt.find(context, &prepared.site.place.root).json();
        inputs
    }

    /// Asks the agent's user for consent. Returns `None` if nothing would be written.
    fn consent(&self, context: &Context, prepared: &Prepared) -> Result<Option<Consent>> {
        let changes = &prepared.plan.changes;
        self.check_adopt(context, prepared)?;
        if changes.is_empty() {
            return Ok(None);
        }
        let inputs = self.inputs(context, prepared);
        let Risks { code, report } = risks(context, prepared);
        let lines = code::lines(&code).into_iter().chain(audited::critical_lines(&report));
        let need = Need {
            operation: TOOL,
            project: prepared.site.project_name(),
            inputs: &inputs,
            plan_hash: &prepared.hash,
            summary: format!("Write to {}: {}", prepared.site.destination(), show::count_line(changes, false)),
            effects: lines.chain(show::effects(changes)).collect(),
            effect: Effect::Write,
        };
        request::ask(context, &need).map(Some)
    }

    /// Shows a person the plan and asks them to confirm it. Returns the plan that was shown.
    fn ask(&self, context: &Context) -> Result<Prepared> {
        let prepared = Prepared::new(context, self.choice)?;
        let changes = &prepared.plan.changes;
        self.check_adopt(context, &prepared)?;
        if !changes.is_empty() {
            let Risks { code, report } = risks(context, &prepared);
            let lines = code::lines(&code).into_iter().chain(audited::lines(&report)).map(Body::Sentence);
            let (counts, site) = (show::counts(changes), &prepared.site);
            let plan = [show::diffs(changes, site), show::table(changes, site), Body::Sentence(counts.clone())];
            let preview = Body::Several(plan.into_iter().chain(lines).collect());
            let question = format!("Write to {} ({counts})?", site.destination());
            let more = show::replaced(changes, &site.place.root).into_iter().chain(audited::accepting(&report));
            let question = more.fold(question, |question, sentence| format!("{question} {sentence}"));
            (context.ask)(preview, &question)
                .map_err(|error| error.with_details(json!({ "command": "deploy --apply" })))?;
        }
        Ok(prepared)
    }
}

fn risks(context: &Context, prepared: &Prepared) -> Risks {
    let changes = &prepared.plan.changes;
    Risks { code: code::of(changes), report: audit::report(context, changes, &prepared.site) }
}

/// Returns a hint that `mcpkg plan` shows remarks, because an apply does not repeat them.
fn left_out(prepared: &Prepared) -> Option<String> {
    let count = prepared.said_with_plan().len();
    let remarks = plural::count(count, "remark");
    (count > 0).then(|| {
        format!(
            "`mcpkg plan{}` shows {remarks} about modules that were left out or files that several agents share",
            prepared.site.arguments()
        )
    })
}

/// Shortens the reply of an apply for an agent. The agent already saw the changes in `deploy`'s answer, so the reply
/// does not list them again.
fn shortened_for_agent(context: &Context, site: &Site, mut reply: Reply) -> Reply {
    if let Some(data) = reply.data.as_object_mut().filter(|_| answer::is_brief(context)) {
        data.retain(|key, _| matches!(key.as_str(), "applied" | "reason" | "snapshot_id" | "summary"));
    }
    answer::reply(context, site, &Page::default(), reply)
}

/// Returns the data of a plan that was or would be applied.
pub(super) fn applied_data(applied: bool, reason: Option<&str>, prepared: &Prepared, listed: &[Change]) -> Value {
    let mut data = json!({ "applied": applied });
    if let Some(reason) = reason {
        data["reason"] = json!(reason);
    }
    if let (Some(data), Value::Object(plan)) = (data.as_object_mut(), prepared.data(listed)) {
        data.extend(plan);
    }
    data
}
