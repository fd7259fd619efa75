//! Plans a run of a single step of a workflow. The outputs of other steps are given, or come from an earlier run.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::once::Text;
use super::plan::{self, Plan, PlannedWorkflow};
use super::{effects, stored_definition};
use crate::check::{Slot, Sound};
use crate::expression::{Root, value_at};
use crate::runner::earlier::Earlier;
use crate::runner::program::Program;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// A single step to run.
#[derive(Clone, Debug)]
pub struct Alone {
    pub step: String,
    /// The outputs of other steps.
    pub earlier: Vec<Earlier>,
}

/// Plans a single step of a workflow.
///
/// # Errors
/// `E_NOT_FOUND` for an unknown step; `E_INPUTS_REQUIRED` if the step uses inputs or outputs that were not given, with the
/// details `inputs_required` and `outputs_required`; also the other errors of [`plan::of_text`].
pub fn of_text(context: &Context, text: &Text, inputs: Map<String, Value>, alone: &Alone) -> Result<Plan> {
    let outputs: Map<String, Value> =
        alone.earlier.iter().map(|earlier| (earlier.step.clone(), earlier.output.clone())).collect();
    let PlannedWorkflow { sound, planned, inputs, project } =
        plan::workflow_plan(context, text, inputs, outputs.clone())?;
    let Some(index) = sound.definition.step(&alone.step) else {
        let workflow = &sound.definition.workflow;
        let what = format!("The workflow {workflow} has no step '{}'", alone.step.escape_debug());
        let names = sound.definition.steps.iter().map(|step| step.id.as_str());
        return Err(Error::new(Code::NotFound, what).suggest(&alone.step, names, ""));
    };
    unless_missing(sound, index, &planned.inputs, &outputs)?;
    let definition = json!({
        "workflow": sound.definition,
        "inputs": inputs,
        "step": alone.step,
        "earlier": alone.earlier,
    });
    let whole = Program::of_workflow(sound, planned.inputs, planned.env);
    let program = whole.of_step(&alone.step, alone.earlier.clone());
    let decides = json!({ "definition": definition, "inputs": program.inputs, "env": program.env });
    Ok(Plan {
        summary: effects::question(
            &format!("Run the step {} of the workflow {}", alone.step, sound.definition.workflow),
            &program,
        ),
        effects: effects::of(&program),
        may_be_confirmed: false,
        hash: plan::hash(&decides, [&*sound.specs[index]], &project),
        definition: stored_definition::of_workflow(sound, &program, &definition)?,
        program,
        project,
    })
}

/// Refuses a step that uses inputs or outputs that were not given.
fn unless_missing(sound: &Sound, step: usize, inputs: &Map<String, Value>, outputs: &Map<String, Value>) -> Result<()> {
    let (mut no_input, mut no_output) = (BTreeSet::new(), BTreeSet::new());
    for used in sound.uses.iter().filter(|used| used.slot.step() == Some(step)) {
        for path in used.paths() {
            match &path.root {
                Root::Input(name) if !inputs.contains_key(name) => {
                    let is_required = sound.definition.inputs.get(name).is_some_and(|input| input.is_required());
                    if is_required {
                        no_input.insert(name.clone());
                    }
                }
                // The step's own output is used only after the step has run.
                Root::Step(id) if *id == sound.definition.steps[step].id => {}
                Root::Step(id) => {
                    let found = outputs.get(id).and_then(|output| value_at(output, &path.segments));
                    // In a condition, a missing field counts as null, just as in a full run.
                    let is_lax = matches!(used.slot, Slot::If(_) | Slot::Until(_)) && outputs.contains_key(id);
                    if found.is_none() && !is_lax {
                        no_output.insert(path.to_string());
                    }
                }
                Root::Input(_) | Root::Env(_) | Root::Secret(_) => {}
            }
        }
    }
    if no_input.is_empty() && no_output.is_empty() {
        return Ok(());
    }
    let named = no_input.iter().map(|name| format!("inputs.{name}")).chain(no_output.iter().cloned());
    let named = named.collect::<Vec<_>>().join(", ");
    let why = format!("The step {} needs values for {named}", sound.definition.steps[step].id);
    Err(Error::new(Code::InputsRequired, why)
        .with_details(json!({ "inputs_required": no_input, "outputs_required": no_output }))
        .hint("pass the values with `inputs` and `step_outputs`, or pass an earlier `run` that has the values"))
}
