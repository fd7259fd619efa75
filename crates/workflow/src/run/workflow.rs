//! `mcpkg workflow run`: runs a workflow, or a single step of it.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::arguments::Typed;
use super::start::start;
use super::wanted::{self, Wanted};
use super::{RUNS, ask, gates, named, once};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::{DRAFTS, WORKFLOWS};
use crate::input_values::typed;
use crate::text::argument::{Object, Text, object, text};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::nonce::CallerNonce;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Runs a workflow.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Run {
    /// Name of a saved workflow, or a YAML or JSON file; `-` is standard input
    #[arg(value_name = "NAME|FILE", value_parser = text, required_unless_present_any = ["draft", "of"], add = WORKFLOWS)]
    #[serde(skip)]
    file: Option<Text>,
    /// Run a draft instead of a saved workflow
    #[arg(long, value_name = "ID", conflicts_with = "file", add = DRAFTS)]
    #[serde(skip)]
    draft: Option<String>,
    /// Value of an input; for a secret, a reference such as env:NAME
    #[arg(short, long, value_name = "NAME=VALUE")]
    #[serde(skip)]
    input: Vec<Typed>,
    /// Run only this step
    #[arg(long, value_name = "ID")]
    #[serde(skip)]
    step: Option<String>,
    /// With --step: file with the outputs of other steps, keyed by name
    #[arg(long, value_name = "FILE", value_parser = object, requires = "step")]
    #[serde(skip)]
    step_outputs: Option<Object>,
    /// With --step: id of the run whose outputs to use; mcpkg also uses the run's workflow and inputs, unless you give others
    #[arg(long, value_name = "RUN", requires = "step", add = RUNS)]
    #[serde(skip)]
    of: Option<String>,
}

impl Operation for Run {
    const TOOL: &'static str = "run_workflow";
    const CLI: &'static [&'static str] = &["workflow", "run"];
    const TITLE: &'static str = "Run a workflow";
    const ABOUT: &'static str = "Run a workflow, after showing what the workflow does";
    const HELP: &'static str = "Shows what the workflow does and asks before running it. At a terminal, mcpkg asks for missing \
        inputs, and lists the values that each input's provider returns. Without a terminal, --yes confirms a workflow only if you \
        have approved its text with `mcpkg draft approve` or saved its text at a terminal. Approve any other workflow with `mcpkg \
        consent approve`. mcpkg records each attempt at a step before sending the step's request. `mcpkg workflow resume` continues \
        an interrupted run without repeating steps that succeeded. --step runs only one step, and uses the outputs of other steps \
        from a file or an earlier run.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow run app_with_db --input region=eu",
        "mcpkg workflow run app.yaml --input token=env:API_TOKEN",
        "mcpkg workflow run --draft 3f2a1b4c5d6e",
        "mcpkg workflow run --step add_db --of 5d6e7f8a9b0c",
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
        let named = [&self.draft, &self.of].into_iter().flatten().next().cloned();
        self.file.as_ref().map_or_else(|| named.unwrap_or_default(), |file| file.name().into_owned())
    }

    fn run(self, context: &Context) -> Result<Reply> {
        gates::policy(context)?;
        let mut wanted = self.wanted(context)?;
        let plan = ask::plan(context, &mut wanted)?;
        start(context, plan, CallerNonce::Nothing, Instant::now())
    }
}

impl Run {
    fn wanted(self, context: &Context) -> Result<Wanted> {
        let text = match (&self.file, &self.draft) {
            (Some(file), _) => file.read_or_saved(context)?,
            (None, Some(draft)) => wanted::drafted(context, draft)?,
            (None, None) => String::new(),
        };
        let whole = Wanted::of_text(text, Map::new());
        let wanted = match &self.step {
            None => whole,
            Some(step) => {
                let run = self.of.as_deref().map(|run| named(context, run)).transpose()?;
                let outputs = self.step_outputs.map(Object::read).transpose()?.unwrap_or_default();
                whole.step(context, step, outputs, run.as_ref())?
            }
        };
        let given = inputs(context, &wanted.text, &self.input)?;
        Ok(Wanted { inputs: wanted.inputs.into_iter().chain(given).collect(), ..wanted })
    }
}

/// Parses typed inputs according to their types.
fn inputs(context: &Context, text: &once::Text, given: &[Typed]) -> Result<Map<String, Value>> {
    let checked = text.checked(context)?;
    let mut inputs = Map::new();
    for Typed { name, value } in given {
        let value = match checked.definition() {
            Some(definition) => typed(definition, name, value),
            None => Value::String(value.clone()),
        };
        if inputs.insert(name.clone(), value).is_some() {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("The input '{}' is given twice", name.escape_debug()),
            ));
        }
    }
    Ok(inputs)
}
