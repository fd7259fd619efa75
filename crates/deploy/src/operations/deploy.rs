//! `mcpkg deploy`: shows a plan with a confirm token, and applies exactly that plan.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::gates::{check_adopt, unconfirmed};
use crate::GROUP;
use crate::answer::{self, Page};
use crate::apply::{self, Work};
use crate::confirm;
use crate::operations::with_schema;
use crate::plan::Change;
use crate::plan::audit;
use crate::plan::code::{self, Risks};
use crate::plan::prepare::Prepared;
use crate::plan::show;
use crate::repo::Checkouts;
use crate::source::{Adopt, Adopted, Choice, Only, Site, adopt};
use mcpkg_base::clock;
use mcpkg_base::error::{Code, Result};
use mcpkg_base::plural;
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::{Applying as ApplyRight, Db, deploys};

/// Plan a deploy and give the token that confirms it
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Deploy {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    #[command(flatten)]
    #[serde(flatten)]
    page: Page,
    /// Accepted for compatibility; this command never writes files
    #[serde(default)]
    #[arg(long)]
    dry_run: bool,
}

impl Operation for Deploy {
    const TOOL: &'static str = "deploy";
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy: show the plan";
    const ABOUT: &'static str = "Show what a deploy would write for the agents, and return the confirm_token that deploy_apply needs to \
        apply exactly this plan";
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("plan");
    const ADDED: &'static str = r#"{ "only": { "type": "array", "items": { "type": "string" } } }"#;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        offer(context, &self.only.of(&self.choice), &self.page)
    }
}

/// Shows the plan with a confirm token. The token comes first, because some clients cut long answers. If the plan
/// fails, no token is issued.
fn offer(context: &Context, choice: &Choice, page: &Page) -> Result<Reply> {
    let prepared = Prepared::new(context, choice)?;
    let mut warnings = prepared.warnings.clone();
    let (listed, rest) = page.of(context, &prepared.site.place.root, &prepared.plan.changes, |change| &change.path)?;
    let planned = applied_data(false, None, &prepared, listed);
    let summary = format!("Write to {}", prepared.site.destination());
    let mut data = json!({});
    match confirm::issue(context, prepared.site.project_name(), &prepared.site.inputs(), &prepared.hash, &summary) {
        Ok(issued) => {
            data["confirm_token"] = json!(issued.token);
            data["confirm_plan_hash"] = json!(prepared.hash);
            data["confirm_token_expires_at"] = json!(clock::rfc3339(issued.expires_at));
        }
        // If the disk is full or read-only, or the caller may only read, the plan can be shown but not confirmed.
        Err(error) if matches!(error.code(), Code::ReadOnly | Code::DiskFull | Code::MayOnlyRead) => {
            warnings.push(format!("cannot create a confirm token: {error}"));
        }
        Err(error) => return Err(error),
    }
    data["summary"] = planned["summary"].clone();
    if let (Some(data), Value::Object(planned)) = (data.as_object_mut(), planned) {
        data.extend(planned);
    }
    let mut reply = Reply::new(show::listed(&prepared, listed), data);
    answer::add_rest(&mut reply, rest, "plan");
    if context.is_shell() && !prepared.plan.changes.is_empty() {
        reply = reply.hint(super::plan::how_to_write(&prepared.plan.changes, &prepared.site.arguments()));
    }
    let mut said = prepared.said_with_plan();
    said.extend(audit::lines(context, &prepared.plan.changes, &prepared.site));
    let mut reply = reply.warn(warnings).warn(said);
    reply.details = prepared.details();
    Ok(answer::reply(context, &prepared.site, page, reply))
}

/// Apply a plan that was confirmed
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct DeployApply {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    /// Overwrite and delete files that mcpkg did not write, or that were changed after mcpkg wrote them
    #[arg(long)]
    #[serde(default)]
    adopt: bool,
    /// Like adopt, for these files alone
    #[arg(long)]
    #[serde(default)]
    adopt_paths: Vec<PathBuf>,
    /// Check everything, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// The confirm_token that deploy returned
    #[arg(long)]
    confirm_token: Option<String>,
    /// Confirm that files may be written
    #[arg(long)]
    #[serde(default)]
    yes: bool,
}

impl Operation for DeployApply {
    const TOOL: &'static str = "deploy_apply";
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy: apply the plan";
    const ABOUT: &'static str = "Write the agents' files exactly as in the confirmed plan; needs yes and the confirm_token that deploy \
        returned";
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("deploy_apply");
    const ADDED: &'static str = r#"{
        "only": { "type": "array", "items": { "type": "string" } },
        "adopt_paths": { "type": "array", "items": { "type": "string" } }
    }"#;
    const MAY_NEED_CONSENT: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Tool;
    type Output = NoOutput;

    fn command(&self) -> String {
        "deploy --apply".to_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        // Contract 000: check the confirmation before anything else, even for a dry run.
        if !self.yes {
            return Err(unconfirmed("deploy --apply"));
        }
        let token = self.confirm_token.filter(|token| !token.trim().is_empty());
        let gate = match token {
            Some(token) => Gate::Token(token),
            None if self.dry_run => Gate::Open,
            None if context.elicit.is_some() => Gate::Person,
            None => return Err(confirm::missing()),
        };
        let (choice, adopt) = (self.only.of(&self.choice), Adopt::of_tool(self.adopt, self.adopt_paths));
        Applying { choice: &choice, adopt, dry_run: self.dry_run, gate }.run(context)
    }
}

/// Deploy to the agents' folders
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct DeployShell {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Write the files; without --apply, deploy only shows the plan (with --json, also a confirm token)
    #[arg(long)]
    #[serde(default)]
    apply: bool,
    #[command(flatten)]
    #[serde(flatten)]
    only: Only,
    /// Overwrite and delete files that mcpkg did not write, or that changed after mcpkg wrote them; mcpkg keeps the old content.
    /// With PATH, only these files
    #[arg(long, value_name = "PATH", num_args = 0..)]
    #[serde(default, deserialize_with = "adopt")]
    adopt: Option<Vec<PathBuf>>,
    /// Check everything, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Apply only the plan for which this confirm token was issued
    #[arg(long, value_name = "TOKEN", requires = "apply")]
    confirm_token: Option<String>,
    /// Exit with status 3 if anything would change
    #[arg(long, conflicts_with = "apply")]
    #[serde(default)]
    check: bool,
}

impl Operation for DeployShell {
    const TOOL: &'static str = "deploy_shell";
    const CLI: &'static [&'static str] = &["deploy"];
    const TITLE: &'static str = "Deploy";
    const ABOUT: &'static str =
        "Write prompts, skills and instructions where Codex, Claude Code, Cursor and VS Code read them";
    const HELP: &'static str = "Without --apply, mcpkg shows the plan and writes nothing. You can undo every deploy \
     with `mcpkg rollback`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg deploy",
        "mcpkg deploy --apply",
        "mcpkg deploy --apply --yes --target claude_code",
        "mcpkg deploy --repo ~/.agentpack/repo --apply --adopt",
        "mcpkg deploy --apply --only .claude/commands/review.md --adopt .claude/commands/review.md",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn command(&self) -> String {
        if self.apply && !self.dry_run { "deploy --apply" } else { "deploy" }.to_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let choice = self.only.of(&self.choice);
        if !self.apply {
            let mut reply = offer(context, &choice, &Page::default())?;
            let any = reply.data["changes"].as_array().is_some_and(|changes| !changes.is_empty());
            reply.differs = self.check && any;
            return Ok(reply);
        }
        // First check whether anybody can confirm, as for agents.
        if context.confirmation == Confirmation::Nobody && !self.dry_run {
            return Err(unconfirmed("deploy --apply"));
        }
        let gate = self.confirm_token.map_or(Gate::Open, Gate::Token);
        Applying { choice: &choice, adopt: Adopt::of_shell(self.adopt), dry_run: self.dry_run, gate }.run(context)
    }
}

/// A requested apply.
struct Applying<'a> {
    choice: &'a Choice,
    adopt: Adopt,
    dry_run: bool,
    gate: Gate,
}

/// What an apply needs before it may write, in addition to `yes`.
enum Gate {
    /// Nothing: this user called from a shell, or nothing will be written.
    Open,
    /// The confirm token of the plan.
    Token(String),
    /// The consent of the agent's user. The agent's client asks for it.
    Person,
}

/// What is known before the plan to write is made.
struct Approval {
    checkouts: Checkouts,
    /// The hash of the plan that a person or an agent saw.
    hash: Option<String>,
    consent: Option<Consent>,
    /// Whether a person approved the plan with this hash.
    is_by_person: bool,
}

impl Applying<'_> {
    /// Checks, in this order: the token is known, it was issued for this plan, no file needs adopt, and somebody
    /// approved. Only the transaction that begins the apply consumes the token or the consent.
    fn run(self, context: &Context) -> Result<Reply> {
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
                return self.write(context, &right, prepared, approval.consent.as_ref());
            }
            // The person may take long to answer, so release the lock. Then plan again, with the consent.
            drop(right);
            let (inputs, effects) = (self.inputs(context, &prepared), show::effects(changes));
            let consent =
                code::consent(context, DeployApply::TOOL, &prepared.site, &inputs, &prepared.hash, &risks, effects)?;
            approval =
                Approval { checkouts: prepared.checkouts, hash: Some(prepared.hash), consent, is_by_person: true };
        }
    }

    /// Does the slow work before taking the apply lock, which blocks all other applies: fetches git sources and asks a
    /// person.
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

    /// Writes the plan to disk.
    fn write(
        &self,
        context: &Context,
        right: &ApplyRight,
        mut prepared: Prepared,
        consent: Option<&Consent>,
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
            prepared.warnings.extend(audit::lines(context, &prepared.plan.changes, &prepared.site));
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
        let Risks { code, critical } = risks(context, prepared);
        let lines = code::lines(&code).into_iter().chain(critical);
        let need = Need {
            operation: DeployApply::TOOL,
            project: prepared.site.project_name(),
            inputs: &inputs,
            plan_hash: &prepared.hash,
            summary: format!("Write to {}: {}", prepared.site.destination(), show::count_line(changes, false)),
            effects: lines.chain(show::effects(changes)).collect(),
            effect: DeployApply::EFFECT,
        };
        request::ask(context, &need).map(Some)
    }

    /// Shows a person the plan and asks them to confirm it. Returns the plan that was shown.
    fn ask(&self, context: &Context) -> Result<Prepared> {
        let prepared = Prepared::new(context, self.choice)?;
        let changes = &prepared.plan.changes;
        self.check_adopt(context, &prepared)?;
        if !changes.is_empty() {
            let code = code::lines(&code::of(changes)).into_iter();
            let code = code.chain(audit::shown(context, changes, &prepared.site)).map(Body::Sentence);
            let preview =
                [show::diffs(changes, &prepared.site), show::listed(&prepared, changes)].into_iter().chain(code);
            let preview = Body::Several(preview.collect());
            let counts = show::count_line(changes, false);
            (context.ask)(preview, &format!("Write to {} ({counts})?", prepared.site.destination()))
                .map_err(|error| error.with_details(json!({ "command": "deploy --apply" })))?;
        }
        Ok(prepared)
    }
}

fn risks(context: &Context, prepared: &Prepared) -> Risks {
    let changes = &prepared.plan.changes;
    Risks { code: code::of(changes), critical: audit::critical(context, changes, &prepared.site) }
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
/// contains only their number.
fn shortened_for_agent(context: &Context, site: &Site, mut reply: Reply) -> Reply {
    if let Some(data) = reply.data.as_object_mut().filter(|_| answer::is_brief(context)) {
        data.retain(|key, _| matches!(key.as_str(), "applied" | "reason" | "snapshot_id" | "summary"));
    }
    answer::reply(context, site, &Page::default(), reply)
}

fn applied_data(applied: bool, reason: Option<&str>, prepared: &Prepared, listed: &[Change]) -> Value {
    let mut data = json!({ "applied": applied });
    if let Some(reason) = reason {
        data["reason"] = json!(reason);
    }
    if let (Some(data), Value::Object(plan)) = (data.as_object_mut(), prepared.data(listed)) {
        data.extend(plan);
    }
    data
}
