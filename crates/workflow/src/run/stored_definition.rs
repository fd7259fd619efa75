//! Removes passwords from the definition of a plan, so that it can be stored.

use serde_json::{Value, json};

use crate::check::Sound;
use crate::definition::{Definition, Origin};
use crate::expression::Root;
use crate::passwords;
use crate::runner::earlier::Earlier;
use crate::runner::program::Program;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::redact::HIDDEN;

/// The key that marks a stored definition with hidden values.
pub const IS_HIDDEN: &str = "is_hidden";

/// Marks a stored definition if some of its values are hidden. A marked definition cannot be planned again.
pub fn hidden(definition: &Value, mut kept: Value) -> Value {
    if kept != *definition {
        kept[IS_HIDDEN] = true.into();
    }
    kept
}

/// Returns the definition of a workflow's plan for storage. For a run of a single step, it contains the `earlier` outputs.
pub fn of_workflow(sound: &Sound, program: &Program, definition: &Value) -> Result<Value> {
    let mut kept = definition.clone();
    let workflow = without_literals(sound);
    kept["workflow"] = serde_json::to_value(workflow)
        .map_err(|error| Error::internal("a workflow cannot be written as JSON").with_source(error))?;
    for (name, value) in kept["inputs"].as_object_mut().into_iter().flatten() {
        *value = sound.passwords.hidden(&Root::Input(name.clone()), value);
    }
    if kept.get("earlier").is_some() {
        kept["earlier"] = json!(answers(sound, program));
    }
    Ok(hidden(definition, kept))
}

/// Returns the definition without passwords that are written in its text.
fn without_literals(sound: &Sound) -> Definition {
    let mut definition = sound.definition.clone();
    for named in &mut definition.inputs.list {
        let default = named.input.default.as_mut().filter(|default| default.from == Origin::Literal);
        if let Some(value) = default.and_then(|default| default.value.as_mut()) {
            *value = sound.passwords.hidden(&Root::Input(named.id.clone()), value);
        }
    }
    for (step, spec) in definition.steps.iter_mut().zip(&sound.specs) {
        passwords::each_of_step(spec, &mut step.with, step.body.as_mut(), &mut |_, value| *value = HIDDEN.into());
    }
    definition
}

/// Returns the outputs that were passed to a single step. Secrets are removed, and the places of the secrets are recorded.
fn answers(sound: &Sound, program: &Program) -> Vec<Earlier> {
    let mut known = program.known();
    let sealed = program.earlier.iter().map(|earlier| {
        let step = sound.definition.steps.iter().position(|step| step.id == earlier.step);
        let contract = step.map(|step| sound.specs[step].output_contract.clone()).unwrap_or_default();
        let sealed = known.seal(&earlier.output, &contract);
        let mut taken_out = earlier.taken_out.clone();
        taken_out.extend(sealed.at.into_iter().filter(|at| !earlier.taken_out.contains(at)));
        Earlier { step: earlier.step.clone(), output: sealed.value, taken_out }
    });
    sealed.collect()
}
