//! `list_runs`, `mcpkg workflow runs`: lists runs, or shows one with its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{RUNS, named};
use crate::GROUP;
use crate::answer::{Answer, VERSION, cursor, limit, place};
use crate::runner::report::{self, Detail};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::hex::tail;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape, Table, cell};
use mcpkg_store::page::Page;
use mcpkg_store::projects;
use mcpkg_store::runs::{self, Run, State};

/// The list's name in cursors.
const LIST: &str = "runs";

/// Default and maximum size of a page.
const ROWS: u32 = 20;
const MOST: u32 = 100;

/// Lists runs, or shows one.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Runs {
    /// Id of a run to show with all its attempts
    #[arg(value_name = "RUN", add = RUNS)]
    run: Option<String>,
    /// Number of rows per page (at most 100) [default: 20]
    #[arg(long)]
    limit: Option<u32>,
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
}

/// A page of runs, newest first, or one run with its steps.
#[derive(Serialize, JsonSchema)]
pub struct RunList {
    /// The runs
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<Map<String, Value>>>,
    /// Cursor of the next page, if there are more runs
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Id of the requested run
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// State of the run: pending, running, waiting, paused, cancel_requested, interrupted, uncertain, succeeded, failed or canceled
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// The run's steps, each with its attempts
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<Value>>,
}

impl Operation for Runs {
    const TOOL: &'static str = "list_runs";
    const CLI: &'static [&'static str] = &["workflow", "runs"];
    const TITLE: &'static str = "List runs";
    const ABOUT: &'static str = "List runs of workflows and commands, or show all attempts of one run";
    const HELP: &'static str = "mcpkg hides secrets in arguments and outputs. A run counts as interrupted if its process ended before \
        the run did.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow runs", "mcpkg workflow runs 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const LISTS: Option<&'static str> = Some(LIST);
    type Output = Answer<RunList>;

    fn run(self, context: &Context) -> Result<Reply> {
        match &self.run {
            Some(id) => show(context, &named(context, id)?),
            None => self.list(context),
        }
    }
}

impl Runs {
    fn list(&self, context: &Context) -> Result<Reply> {
        let limit = limit(self.limit, ROWS, MOST)?;
        let after: Option<String> = self.cursor.as_deref().map(|cursor| place(LIST, cursor)).transpose()?;
        let page = Page { after: after.unwrap_or_default(), limit };
        let found = context.store.read(|db| {
            let project = projects::resolve(db, &context.selection)?.map(|project| project.id);
            runs::list(db, project, &page)
        })?;
        // A run without a project is visible only at a shell, and to the caller who started it.
        let asker = context.caller.asker();
        let seen = found.rows.iter().filter(|run| run.project.is_some() || context.is_shell() || run.asker == asker);
        let seen: Vec<(&Run, State)> = seen.map(|run| (run, report::state(&context.store, run))).collect();
        let row = |(run, state): &(&Run, State)| {
            vec![
                tail(run.uuid),
                cell(&run.name).into_owned(),
                state.word().to_owned(),
                rfc3339(run.created_at),
                run.actor.clone(),
                cell(run.reason.as_deref().unwrap_or_default()).into_owned(),
            ]
        };
        let table = Table {
            columns: &["RUN", "WHAT", "STATE", "BEGAN", "BY", "WHY"],
            rows: seen.iter().map(row).collect(),
            empty: "No runs yet".to_owned(),
        };
        let lines: Vec<Value> = seen.iter().map(|(run, state)| report::line(run, *state).into()).collect();
        let mut data = json!({ "runs": lines });
        if let Some(last) = found.rows.last().filter(|_| found.more) {
            data["next_cursor"] = json!(cursor(LIST, &last.uuid.to_string())?);
        }
        Ok(Reply::new(Body::Table(table), data))
    }
}

fn show(context: &Context, run: &Run) -> Result<Reply> {
    let state = report::state(&context.store, run);
    let data = context.store.read(|db| report::whole(db, run, state, Detail::Attempts))?;
    let mut lines = vec![format!("{} {}: {}", run.kind.word(), cell(&run.name), state.word())];
    lines.extend(run.reason.as_deref().map(|reason| format!("  {}", cell(reason))));
    for step in data.get("steps").and_then(Value::as_array).into_iter().flatten() {
        lines.extend(of_step(step));
    }
    if let Some(output) = data.get("final_output") {
        lines.push(format!("final_output: {}", cell(&output.to_string())));
    }
    let body = Body::Text(lines.iter().map(|line| format!("{line}\n")).collect());
    Ok(Reply::new(body, Value::Object(data)))
}

/// Formats a step for people: its state, and one line for each attempt.
fn of_step(step: &Value) -> Vec<String> {
    let text = |value: &Value, key: &str| value[key].as_str().map(|text| cell(text).into_owned()).unwrap_or_default();
    let why = step["reason"].as_str().map(|why| format!(" ({})", cell(why))).unwrap_or_default();
    let mut lines = vec![format!("- {} {}: {}{why}", text(step, "id"), text(step, "command"), text(step, "state"))];
    for attempt in step["attempts"].as_array().into_iter().flatten() {
        let place = match attempt["method"].is_string() {
            true => format!("{} {}{} ", text(attempt, "method"), text(attempt, "host"), text(attempt, "path")),
            false => String::new(),
        };
        let outcome = match &attempt["outcome"] {
            Value::String(outcome) => outcome.clone(),
            _ => "no answer yet".to_owned(),
        };
        let status = attempt["status"].as_i64().map(|status| format!(" {status}")).unwrap_or_default();
        let with = cell(&attempt["arguments"].to_string()).into_owned();
        lines.push(format!("  {} {} {place}{with}: {outcome}{status}", attempt["number"], text(attempt, "began_at")));
        // If the body was empty, the excerpt is only the reason that the step already shows.
        if outcome != "ok" && attempt["bytes"].as_u64().is_some_and(|bytes| bytes > 0) {
            lines.push(format!("    it answered: {}", text(attempt, "excerpt")));
        }
    }
    lines
}
