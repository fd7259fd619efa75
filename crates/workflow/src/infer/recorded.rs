//! The calls that a workflow is inferred from: the successful steps of runs, and calls that the caller recorded, with their
//! arguments and outputs.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::run::named;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::page::Page;
use mcpkg_store::projects;
use mcpkg_store::runs::{self, Kind, Run, StepState, attempts, steps};
use mcpkg_store::{Db, blobs};

/// How many of the newest runs are searched by default.
const NEWEST: usize = 50;

/// Maximum number of calls.
const MOST: usize = 200;

/// An entry of a log: a run by its id, or a call that the caller recorded.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "an object with the run's id, or with command, args and output")]
pub enum Logged {
    Id(String),
    /// A run by its id, written as an object: `{"run": "..."}`.
    Run(ById),
    Call(Call),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ById {
    run: String,
}

/// A call that the caller recorded.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    command: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default)]
    output: Option<Value>,
}

/// A call that a workflow is inferred from.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The name of the step, if the call was a step of a workflow.
    pub step: Option<String>,
    pub command: String,
    /// The arguments. A secret is a reference, or `***`.
    pub with: Map<String, Value>,
    /// The output without secrets, if known.
    pub output: Option<Value>,
}

/// Returns the calls of a log, in order.
pub fn of_log(context: &Context, log: &[Logged]) -> Result<Vec<Recorded>> {
    let mut recorded = Vec::new();
    for logged in log {
        match logged {
            Logged::Call(call) => recorded.push(Recorded {
                step: None,
                command: call.command.clone(),
                with: call.args.clone(),
                output: call.output.clone(),
            }),
            Logged::Id(id) | Logged::Run(ById { run: id }) => {
                let run = named(context, id)?;
                recorded.extend(context.store.read(|db| of_run(db, &run))?);
            }
        }
    }
    unless_too_many(recorded)
}

/// Looks through the project's newest [`NEWEST`] runs, and returns the calls of the runs that this caller started, oldest
/// first. If `since` is given, older runs are ignored.
pub fn of_asker(context: &Context, since: Option<i64>) -> Result<Vec<Recorded>> {
    let asker = context.caller.asker();
    let recorded = context.store.read(|db| {
        let project = projects::resolve(db, &context.selection)?.map(|project| project.id);
        let mut newest = runs::list(db, project, &Page::first(NEWEST))?.rows;
        newest.retain(|run| run.asker == asker && since.is_none_or(|since| run.created_at >= since));
        let calls = newest.iter().rev().map(|run| of_run(db, run));
        Ok(calls.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    })?;
    unless_too_many(recorded)
}

fn unless_too_many(recorded: Vec<Recorded>) -> Result<Vec<Recorded>> {
    if recorded.len() <= MOST {
        return Ok(recorded);
    }
    let what = format!("Cannot make a workflow from {} calls; the limit is {MOST}", recorded.len());
    Err(Error::new(Code::TooMany, what).hint("choose fewer runs with `session_log` or `since`"))
}

/// Returns the successful steps of a run.
fn of_run(db: &Db<'_>, run: &Run) -> Result<Vec<Recorded>> {
    let damaged = || blobs::damaged_value("the definition of a run is malformed");
    let definition: Value =
        serde_json::from_str(&runs::definition(db, run)?).map_err(|error| damaged().with_source(error))?;
    let mut recorded = Vec::new();
    for step in steps::of(db, run.id)?.into_iter().filter(|step| step.state == StepState::Succeeded) {
        let with = match run.kind {
            Kind::Command => definition["with"].clone(),
            // The arguments of the last attempt are those that succeeded.
            Kind::Workflow => match attempts::last(db, run.id, step.seq)? {
                Some(attempt) => {
                    serde_json::from_str(&attempt.begun.arguments).map_err(|error| damaged().with_source(error))?
                }
                None => continue,
            },
        };
        let output = steps::output(db, &step)?;
        let output = output.map(|text| serde_json::from_str(&text)).transpose();
        recorded.push(Recorded {
            step: (run.kind == Kind::Workflow).then_some(step.name),
            command: step.command,
            with: with.as_object().cloned().ok_or_else(damaged)?,
            output: output.map_err(|error| damaged().with_source(error))?,
        });
    }
    Ok(recorded)
}

impl FromStr for Logged {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::Id(text.to_owned()))
    }
}

impl JsonSchema for Logged {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Logged".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Declare only `object`, although an id is also accepted: some clients reject a schema with two types.
        json_schema!({ "type": "object" })
    }
}
