//! Determines what to run: a text, a saved workflow, a draft, the workflow of an earlier run, or a single step of any of these.

use serde_json::{Map, Value};

use super::once::Text;
use super::plan::{self, Plan};
use super::step::{self, Alone};
use super::stored_definition::IS_HIDDEN;
use crate::draft;
use crate::passwords::holds_hidden;
use crate::runner::earlier::{Earlier, answers};
use crate::saved::model;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::blobs::stored_json;
use mcpkg_store::runs::{self, Run, steps};
use mcpkg_store::workflows;
use mcpkg_store::{Db, blobs};

#[derive(Debug, Default)]
pub struct Wanted {
    pub text: Text,
    pub inputs: Map<String, Value>,
    /// The single step to run. `None` runs all steps.
    pub alone: Option<Alone>,
}

pub fn saved(context: &Context, name: &str) -> Result<String> {
    context.read(|db, project| model::stored(db, workflows::get(db, project, name)?.blob))
}

/// Returns the text of a draft; fails with `E_DRAFT_STALE` if a person has already decided about it.
pub fn drafted(context: &Context, id: &str) -> Result<String> {
    context.read(|db, project| draft::waiting(db, project, id).map(|(_, text)| text))
}

impl Wanted {
    /// Selects all steps of a text.
    pub fn of_text(text: String, inputs: Map<String, Value>) -> Self {
        Self { text: Text::new(text), inputs, alone: None }
    }

    /// Selects one step of the text in `self` or, if that text is empty, of the text of an earlier `run`. `outputs` are the
    /// outputs of other steps. They override the outputs of the earlier run.
    pub fn step(self, context: &Context, step: &str, outputs: Map<String, Value>, run: Option<&Run>) -> Result<Self> {
        let before = run.map(|run| context.store.read(|db| of_run(db, run))).transpose()?;
        let (of_run, mut earlier) = before.unwrap_or_default();
        earlier.retain(|earlier| !outputs.contains_key(&earlier.step));
        let given = outputs.into_iter().map(|(step, output)| Earlier { step, output, taken_out: Vec::new() });
        earlier.extend(given);
        let text = if self.text.text.is_empty() { of_run.text } else { self.text };
        let mut inputs = of_run.inputs;
        inputs.extend(self.inputs);
        Ok(Self { text, inputs, alone: Some(Alone { step: step.to_owned(), earlier }) })
    }

    pub fn plan(&self, context: &Context) -> Result<Plan> {
        match &self.alone {
            Some(alone) => step::of_text(context, &self.text, self.inputs.clone(), alone),
            None => plan::of_text(context, &self.text, self.inputs.clone()),
        }
    }
}

/// Returns the workflow and inputs of an earlier run, and the outputs of its steps.
fn of_run(db: &Db<'_>, run: &Run) -> Result<(Wanted, Vec<Earlier>)> {
    let definition: Value = stored_json(&runs::definition(db, run)?, "the definition of a run")?;
    let Some(workflow) = definition.get("workflow") else {
        let why = format!("Run {} ran a single command, which has no steps", run.uuid);
        return Err(Error::new(Code::InvalidArgument, why).hint("list runs with `mcpkg workflow runs`"));
    };
    let mut earlier = earlier_of(&definition)?;
    let own = answers(db, &steps::of(db, run.id)?)?;
    earlier.retain(|earlier| !own.iter().any(|own| own.step == earlier.step));
    earlier.extend(own);
    let mut inputs = definition["inputs"].as_object().cloned().ok_or_else(|| blobs::damaged_value(NO_DEFINITION))?;
    if definition[IS_HIDDEN] == true {
        // A hidden password must never be sent as `***`, so the caller has to pass it again.
        inputs.retain(|_, value| !holds_hidden(value));
        if holds_hidden(workflow) {
            return Err(hidden_text(run));
        }
    }
    Ok((Wanted::of_text(workflow.to_string(), inputs), earlier))
}

const NO_DEFINITION: &str = "the definition of a run is malformed";

fn hidden_text(run: &Run) -> Error {
    let why =
        format!("The workflow of run {} has a password in its text, and mcpkg does not store passwords", run.uuid);
    Error::new(Code::SecretMissing, why).hint("pass the workflow or its text together with the run")
}

/// Returns the outputs that were passed to a run of a single step. A full run has none.
fn earlier_of(definition: &Value) -> Result<Vec<Earlier>> {
    let Some(earlier) = definition.get("earlier") else { return Ok(Vec::new()) };
    serde_json::from_value(earlier.clone()).map_err(|error| blobs::damaged_value(NO_DEFINITION).with_source(error))
}

/// Plans a stored run again, with the current commands.
pub fn again(context: &Context, definition: &Value) -> Result<Plan> {
    if definition[IS_HIDDEN] == true {
        let why = "The run cannot be resumed: it was given a password, and mcpkg does not store passwords";
        return Err(Error::new(Code::SecretMissing, why).hint("start the run again with all its arguments"));
    }
    let inputs = definition["inputs"].as_object();
    match (definition["command"].as_str(), definition["with"].as_object(), definition.get("workflow"), inputs) {
        (Some(id), Some(with), _, _) => plan::of_command(context, id, with.clone()),
        (_, _, Some(workflow), Some(inputs)) => {
            let earlier = earlier_of(definition)?;
            let alone = definition["step"].as_str().map(|step| Alone { step: step.to_owned(), earlier });
            Wanted { alone, ..Wanted::of_text(workflow.to_string(), inputs.clone()) }.plan(context)
        }
        _ => Err(blobs::damaged_value(NO_DEFINITION)),
    }
}
