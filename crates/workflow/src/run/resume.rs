//! `mcpkg workflow resume`: continues a run that stopped. Agents resume runs through `execute`.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::changes::{self, Change};
use super::effects;
use super::plan::Plan;
use super::wanted::again;
use super::{RUNS, gates, named, start};
use crate::GROUP;
use crate::answer::VERSION;
use crate::runner::RunData;
use crate::runner::begin::{self, Begun};
use crate::runner::resume::{self, Decision, Resumable, Retry, missing};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::consent::request::Consent;
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Empty, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::runs::{self, Run};

/// Maximum size of an output that a person supplies for a step, in bytes.
const MAX_OUTPUT: u64 = 8 << 20;

/// Resumes a run.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Resume {
    /// Id of the run, or a unique suffix of the id
    #[arg(value_name = "RUN", add = RUNS)]
    run: String,
    /// What to do with a step if it is uncertain whether it completed: retry, skip or done
    #[arg(long, value_name = "ID=WHAT")]
    #[serde(skip)]
    step: Vec<Word>,
    /// With `--step ID=done`: file with the step's output, as JSON. A terminal asks for it [default: null]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    output: Option<PathBuf>,
    /// Retry a failed run's failed steps and the steps that depend on them. Steps that succeeded are not repeated
    #[arg(long, conflicts_with = "from")]
    #[serde(skip)]
    retry: bool,
    /// Retry a failed run, starting at this step
    #[arg(long, value_name = "STEP")]
    #[serde(skip)]
    from: Option<String>,
    /// Continue even if something has changed since the run started; mcpkg asks you to confirm at a terminal
    #[arg(long)]
    #[serde(skip)]
    accept_changes: bool,
}

/// A person's decision about a step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    step: String,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Retry,
    Skip,
    Done,
}

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (step, what) = text.rsplit_once('=').ok_or("use ID=retry, ID=skip or ID=done")?;
        let what = match what {
            "retry" => What::Retry,
            "skip" => What::Skip,
            "done" => What::Done,
            _ => return Err(format!("'{what}' is not valid: it must be retry, skip or done")),
        };
        Ok(Self { step: step.to_owned(), what })
    }
}

impl Operation for Resume {
    const TOOL: &'static str = "resume_run";
    const CLI: &'static [&'static str] = &["workflow", "resume"];
    const TITLE: &'static str = "Resume a run";
    const ABOUT: &'static str = "Resume a paused or interrupted run, or retry a failed one";
    const HELP: &'static str = "mcpkg does not repeat steps that succeeded. mcpkg sends a request that was in progress again only if \
        that is safe: if the command only reads, is idempotent, or takes an idempotency key. For any other request that was in \
        progress, you decide with --step. To continue a failed run, use --retry or --from. If a command, an input or a variable has \
        changed since the run started, mcpkg lists the changes and stops, unless you accept the changes at a terminal with \
        --accept-changes.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow resume 3f2a1b4c5d6e",
        "mcpkg workflow resume 3f2a1b4c5d6e --retry",
        "mcpkg workflow resume 3f2a1b4c5d6e --step create_app=done --output app.json",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.run.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        gates::policy(context)?;
        let decisions = decisions(context, &self.step, self.output.as_deref())?;
        let retry = self.from.map(Retry::From).or(self.retry.then_some(Retry::Failed));
        let resumable = resume::take(context, &named(context, &self.run)?, retry.is_some())?;
        let plan = again(context, &resumable.definition)?;
        let run = &resumable.run;
        let is_known = is_known(context, &resumable, &plan)?;
        let plan = if is_known { plan } else { of_unknown_past(plan) };
        let is_same = plan.hash == run.plan_hash;
        let changes = changes::between(&resumable.definition, &plan);
        if !is_same && !self.accept_changes {
            return Err(changed(run, &changes));
        }
        if !is_same {
            accept(context, &plan, &changes)?;
        } else if !is_known {
            let consent = gates::consent(context, &plan, CallerNonce::Nothing)?;
            context.store.write(|db| consent.consume(context, db))?;
        }
        resume::prepare(context, &resumable, &plan.program, &decisions, retry.as_ref())?;
        go_on(context, resumable, plan, Instant::now())
    }
}

/// Resumes a run for an agent, after a person has consented to the rest of the run. `with_reason` adds the agent's reason to
/// the plan.
pub fn for_agent(
    context: &Context,
    run: &Run,
    with_reason: impl FnOnce(Plan) -> Result<Plan>,
    held: CallerNonce<'_>,
    until: Instant,
) -> Result<Reply> {
    let resumable = resume::take(context, run, false)?;
    let mut plan = with_reason(again(context, &resumable.definition)?)?;
    if plan.hash != resumable.run.plan_hash {
        return Err(changed(run, &changes::between(&resumable.definition, &plan)));
    }
    plan.summary = effects::question(&format!("Resume run {} of {}", run.uuid, run.name), &plan.program);
    if !is_known(context, &resumable, &plan)? {
        plan = of_unknown_past(plan);
    }
    let begun_with = plan.hash.clone();
    plan.hash = format!("{begun_with} {}", run.uuid);
    let consent: Consent = gates::consent(context, &plan, held)?;
    plan.hash = begun_with;
    context.store.write(|db| consent.consume(context, db))?;
    resume::prepare(context, &resumable, &plan.program, &[], None)?;
    go_on(context, resumable, plan, until)
}

/// Returns whether everything that the run did is recorded in the database.
fn is_known(context: &Context, resumable: &Resumable, plan: &Plan) -> Result<bool> {
    begin::is_known(context, &plan.program, resumable.run.uuid, &resumable.run.plan_hash, &resumable.generation)
}

/// Changes the plan of a run that may have done more than is recorded: a person has to decide, because only a person can judge
/// what may be repeated.
fn of_unknown_past(mut plan: Plan) -> Plan {
    let what = "this run may have done more than is recorded here: it was started on another machine, or the database was restored from \
        a backup. Some steps may run twice";
    plan.effects.insert(0, what.to_owned());
    plan.summary.push_str(", which was started on another machine or restored from a backup");
    plan.may_be_confirmed = false;
    plan
}

fn go_on(context: &Context, resumable: Resumable, plan: Plan, until: Instant) -> Result<Reply> {
    let Resumable { run, holder, generation, .. } = resumable;
    if plan.hash != run.plan_hash {
        holder.write(&context.store, |db| runs::set_plan_hash(db, run.id, &plan.hash))?;
    }
    begin::record(context, &plan.program, run.uuid, &plan.hash, &generation);
    // The run may have been deleted by now, together with its project.
    let taken = context.store.read(|db| RunData::read(db, run.uuid))?.ok_or_else(|| missing(&run.uuid.to_string()))?;
    start::carry(context, plan, Begun { run: run.uuid, holder, is_begun: false, taken }, until)
}

/// Returns a person's decision for each step. The output of the steps that are done comes from the file `output`. Without a
/// file, the person at the terminal is asked for it if exactly one step is done; otherwise it is null.
fn decisions(context: &Context, words: &[Word], output: Option<&Path>) -> Result<Vec<(String, Decision)>> {
    let done: Vec<&Word> = words.iter().filter(|word| word.what == What::Done).collect();
    if output.is_some() && done.len() != 1 {
        return Err(Error::new(Code::InvalidArgument, "--output needs exactly one `--step ID=done`"));
    }
    let can_ask = context.confirmation == Confirmation::Ask && !context.shows_data;
    let output = match (output, &done[..]) {
        (None, [word]) if can_ask => typed_output(context, &word.step)?,
        (None, _) => Value::Null,
        (Some(path), _) => {
            let text = file::read_text(path, MAX_OUTPUT).map_err(|error| Error::file("read", path, error))?;
            parsed(&text, &format!("`{}`", path.display()))?
        }
    };
    let decision = |word: &Word| {
        let decision = match word.what {
            What::Retry => Decision::Retry,
            What::Skip => Decision::Skip,
            What::Done => Decision::Done(output.clone()),
        };
        (word.step.clone(), decision)
    };
    Ok(words.iter().map(decision).collect())
}

fn typed_output(context: &Context, step: &str) -> Result<Value> {
    let question = format!("What did '{step}' return, as JSON? Nothing means null:");
    let typed = (context.line)(Body::Several(Vec::new()), &question, Empty::Answers)?;
    if typed.trim().is_empty() { Ok(Value::Null) } else { parsed(&typed, "The answer") }
}

fn parsed(text: &str, what: &str) -> Result<Value> {
    serde_json::from_str(text)
        .map_err(|error| Error::new(Code::InvalidArgument, format!("{what} is not valid JSON: {error}")))
}

/// Asks the person at the terminal to accept a plan that has changed since the run started.
fn accept(context: &Context, plan: &Plan, changes: &[Change]) -> Result<()> {
    if context.confirmation != Confirmation::Ask {
        let why = "Only a person at a terminal can accept changes to a run; --yes cannot skip this confirmation";
        return Err(Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes"));
    }
    let changed = changes.iter().map(|change| format!("changed since: {change}"));
    let plan = Plan { effects: changed.chain(plan.effects.iter().cloned()).collect(), ..plan.clone() };
    let consent = gates::consent(context, &plan, CallerNonce::Nothing)?;
    context.store.write(|db| consent.consume(context, db))
}

fn changed(run: &Run, changes: &[Change]) -> Error {
    let told: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join("; ")) };
    let why = format!("The plan of run {} has changed since the run started{told}", run.uuid);
    Error::new(Code::PlanChanged, why).with_details(json!({ "run": run.uuid.to_string(), "changes": changes })).hint(
        format!("review and accept the changes at a terminal: `mcpkg workflow resume {} --accept-changes`", run.uuid),
    )
}
