//! `mcpkg workflow plan`: shows what a run of a workflow would do.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::argument::{Object, Text, object, text};
use super::sample::{Sample, Sampled, sample, samples};
use super::validate;
use crate::answer::Answer;
use crate::check::{Checked, checked};
use crate::commands::reachable;
use crate::completions::WORKFLOWS;
use crate::finding::Finding;
use crate::fixture::chosen::{Chosen, chosen};
use crate::fixture::form::Fixture;
use crate::fixture::stored::FIXTURES;
use crate::input_values::typed;
use crate::plan::{KnownValues, Plan, WillRun, planned, planned_in_part};
use crate::saved::model;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape, Table};
use mcpkg_store::projects;

/// Show what a workflow would do
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct DryRun {
    /// The workflow's text, YAML or JSON
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
    #[command(flatten)]
    #[serde(flatten)]
    known: Known,
}

/// Values that are known before the run.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub(crate) struct Known {
    /// Input values, keyed by name
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE", value_parser = sample)]
    #[serde(default, deserialize_with = "samples")]
    #[schemars(with = "Option<Map<String, Value>>")]
    sample_inputs: Vec<Sample>,
    /// Step outputs, keyed by step name, as if the steps had run
    #[arg(long, value_name = "FILE", value_parser = object)]
    step_outputs: Option<Object>,
    /// Inputs and step outputs together, or {"name": NAME} for a stored fixture
    #[arg(long, value_name = "NAME|FILE", value_parser = chosen, add = FIXTURES)]
    fixture: Option<Chosen>,
}

/// The plan of a workflow.
#[derive(JsonSchema)]
pub struct Planned {
    /// Object with inputs_required, steps (in run order), effects and plan_hash
    #[expect(dead_code, reason = "only its schema is looked at")]
    plan: Option<Map<String, Value>>,
}

impl Operation for DryRun {
    const TOOL: &'static str = "dry_run";
    const CLI: &'static [&'static str] = &["workflow", "plan"];
    const TITLE: &'static str = "Plan a workflow";
    const ABOUT: &'static str =
        "Show what a workflow would do, without running it: inputs, ordered steps, provider arguments, effects";
    const HELP: &'static str = "Planning a workflow does not send requests, start programs or write files. If a \
        condition depends on outputs that do not exist yet, its result is `unknown`. To provide the outputs, use \
        --step-outputs or --fixture. A fixture is either a file, or stored with the workflow by `mcpkg workflow \
        fixture add`. `mcpkg workflow test` compares the plan with the results that the fixture expects.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow plan app.yaml",
        "mcpkg workflow plan app_with_db --input region=us",
        "mcpkg workflow plan app.yaml --fixture ready.yaml --json",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const ALWAYS_LISTED: bool = true;
    type Output = Answer<Planned>;

    fn run(self, context: &Context) -> Result<Reply> {
        self.known.reply(context, &self.yaml.read_or_saved(context)?)
    }
}

impl Known {
    /// Plans a workflow text and returns what a run would do.
    pub(crate) fn reply(self, context: &Context, text: &str) -> Result<Reply> {
        let commands = reachable(context);
        let checked = checked(text, &commands)?;
        let given = self.known_values(context, &checked)?;
        if checked.sound.is_none() && context.is_shell() {
            return in_part(&checked, planned_in_part(&checked, &commands, &given)?);
        }
        let plan = planned(&checked, &commands, &given)?;
        let warnings: Vec<&Finding> = checked.warnings().collect();
        let mut data = json!({ "plan": plan });
        if !warnings.is_empty() {
            data["warnings"] = json!(warnings);
        }
        Ok(Reply::new(body(&plan), data))
    }

    fn known_values(self, context: &Context, checked: &Checked) -> Result<KnownValues> {
        let workflow = checked.readable.as_ref().map(|definition| definition.workflow.as_str());
        let fixture = self.fixture.map(|chosen| chosen.read(context, workflow)).transpose()?.unwrap_or_default();
        let Fixture { mut inputs, step_outputs: mut outputs, .. } = fixture;
        for Sample { name, value } in self.sample_inputs {
            let value = match (value, checked.definition()) {
                (Sampled::Json(value), _) => value,
                (Sampled::Typed(text), Some(definition)) => typed(definition, &name, &text),
                (Sampled::Typed(text), None) => Value::String(text),
            };
            inputs.insert(name, value);
        }
        outputs.extend(self.step_outputs.map(Object::read).transpose()?.unwrap_or_default());
        let project = context.store.read(|db| projects::resolve(db, &context.selection))?;
        Ok(KnownValues { inputs, outputs, project: project.map(|project| project.name) })
    }
}

/// Returns all errors of a workflow, and the plan of its other parts.
fn in_part(checked: &Checked, plan: Option<Plan>) -> Result<Reply> {
    let errors: Vec<Finding> = checked.errors().cloned().collect();
    let lines = model::lines(&errors).into_iter().chain(plan.is_some().then(|| "Without these errors:".to_owned()));
    let shown = [Body::lines(lines)].into_iter().chain(plan.iter().map(body)).collect();
    let mut data = validate::data(checked);
    data["plan"] = json!(plan);
    Ok(Reply { failed: true, ..Reply::new(Body::Several(shown), data) })
}

fn body(plan: &Plan) -> Body {
    let rows = plan.steps.iter().map(|step| {
        let runs = match step.will_run {
            WillRun::Yes => "yes",
            WillRun::No => "no",
            WillRun::Unknown => "unknown",
        };
        let request = match (&step.method, &step.path) {
            (Some(method), Some(path)) => format!("{method} {path}"),
            _ => String::new(),
        };
        let needs = step.depends_on.join(", ");
        vec![step.id.clone(), step.run.clone(), request, runs.to_owned(), needs, step.notes.join("; ")]
    });
    let table = Table {
        columns: &["STEP", "COMMAND", "REQUEST", "RUNS", "NEEDS", "NOTES"],
        rows: rows.collect(),
        empty: "No steps".to_owned(),
    };
    let counts = ["read", "write", "destroy"].map(|word| (word, plan.effects.counts.get(word)));
    let counts = counts.into_iter().filter_map(|(word, count)| Some(format!("{} {word}", count?)));
    let mut lines = plural::count(plan.steps.len(), "step");
    lines.push_str(&format!(": {}\n", counts.collect::<Vec<_>>().join(", ")));
    if !plan.inputs_required.is_empty() {
        lines.push_str(&format!("needs {}\n", plan.inputs_required.join(", ")));
    }
    Body::Several(vec![Body::Table(table), Body::Text(lines)])
}
