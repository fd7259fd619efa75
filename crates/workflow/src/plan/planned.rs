//! Creates the plan of a valid workflow from what is known before the run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::effects::Effects;
use super::scope::Before;
use super::step::{self, PlannedStep};
use crate::canonical;
use crate::check::{Checked, Sound, Use, plannable};
use crate::definition::{Definition, InputType, Origin};
use crate::expression::Root;
use crate::finding::Finding;
use crate::input_values;
use crate::source::Commands;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;

/// Values that are known before the run.
#[derive(Clone, Debug, Default)]
pub struct KnownValues {
    /// Input values by name.
    pub inputs: Map<String, Value>,
    /// Outputs of steps by step name.
    pub outputs: Map<String, Value>,
    pub project: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The required inputs that have no value yet.
    pub inputs_required: Vec<String>,
    /// The steps in execution order.
    pub steps: Vec<PlannedStep>,
    /// A summary of the steps' effects.
    pub effects: Effects,
    /// The workflow's output, as far as it is known before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_output: Option<Value>,
    /// The values of the inputs, as far as they are known before the run.
    #[serde(skip)]
    pub inputs: Map<String, Value>,
    /// The project's variables that the workflow reads.
    #[serde(skip)]
    pub env: Map<String, Value>,
    /// SHA-256 of everything that determines what the run does: definition, inputs, variables, commands with their addresses and
    /// effects, and project. Empty for a workflow with errors, which cannot be run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
}

/// Plans a checked workflow. Planning makes no network requests, starts no programs and writes nothing.
///
/// # Errors
/// `E_WORKFLOW_INVALID` with the findings; `E_INVALID_ARGUMENT` for an invalid input value, or an output of an unknown step.
pub fn planned(checked: &Checked, commands: &dyn Commands, given: &KnownValues) -> Result<Plan> {
    let Some(sound) = &checked.sound else { return Err(invalid(checked)) };
    let definition = &sound.definition;
    for id in given.outputs.keys() {
        if definition.step(id).is_none() {
            let error = Error::new(Code::InvalidArgument, format!("The workflow has no step '{id}'"));
            return Err(error.suggest(id, definition.steps.iter().map(|step| &*step.id), ""));
        }
    }
    let mut inputs = input_values::validated(definition, &given.inputs)?;
    defaults(sound, commands, &mut inputs)?;
    let mut plan = of_sound(sound, commands, inputs, given)?;
    plan.plan_hash = hash(sound, [&plan.inputs, &plan.env], &plan.effects, given.project.as_deref())?;
    for (planned, index) in plan.steps.iter_mut().zip(&sound.order) {
        planned.line = line(checked, *index);
    }
    Ok(plan)
}

/// Plans the valid part of a workflow with errors.
pub fn planned_in_part(checked: &Checked, commands: &dyn Commands, given: &KnownValues) -> Result<Option<Plan>> {
    let Some((sound, places)) = plannable(checked, commands)? else { return Ok(None) };
    let mut inputs = input_values::validated(&sound.definition, &given.inputs)?;
    // An invalid default may be one of the errors, so go on without the defaults.
    if let Err(error) = defaults(&sound, commands, &mut inputs)
        && error.code() != Code::InvalidArgument
    {
        return Err(error);
    }
    let mut plan = of_sound(&sound, commands, inputs, given)?;
    for (planned, index) in plan.steps.iter_mut().zip(&sound.order) {
        planned.line = line(checked, places[*index]);
    }
    Ok(Some(plan))
}

/// Returns the line on which a step begins.
fn line(checked: &Checked, step: usize) -> Option<usize> {
    checked.places.get(&format!("/steps/{step}")).map(|place| place.value.line)
}

fn of_sound(sound: &Sound, commands: &dyn Commands, inputs: Map<String, Value>, given: &KnownValues) -> Result<Plan> {
    let definition = &sound.definition;
    let unresolved = RefCell::new(BTreeSet::new());
    let (inputs_known, outputs) = (&inputs, &given.outputs);
    let before = |hides| Before { definition, commands, inputs: inputs_known, hides, outputs, unresolved: &unresolved };
    let (before, shown) = (before(None), before(Some(&sound.passwords)));
    let contracts = step::contracts(sound);
    let contracts: Vec<_> = contracts.iter().map(|contract| Some(&**contract)).collect();
    let mut uses = vec![Vec::new(); definition.steps.len()];
    for used in &sound.uses {
        if let Some(step) = used.slot.step() {
            uses[step].push(used);
        }
    }
    let mut will_run = vec![None; definition.steps.len()];
    let mut steps = Vec::with_capacity(definition.steps.len());
    for (at, index) in sound.order.iter().enumerate() {
        let planned = step::plan(sound, [&before, &shown], at, &uses[*index], &contracts, &will_run)?;
        will_run[*index] = Some(planned.will_run);
        steps.push(planned);
    }
    let effects = Effects::of(sound, &steps);
    let final_output = definition.final_output.as_ref().map(|output| step::filled(output, &shown));
    let env = variables(sound, commands)?;
    Ok(Plan {
        inputs_required: required(sound, &inputs),
        steps,
        effects,
        final_output,
        inputs,
        env,
        plan_hash: String::new(),
    })
}

/// Returns the error for a workflow with errors.
pub fn invalid(checked: &Checked) -> Error {
    let errors: Vec<&Finding> = checked.errors().collect();
    let first = errors.first().map_or(String::new(), |first| {
        format!("; line {}, column {}: {}", first.span.line, first.span.column, first.message)
    });
    let message = format!("The workflow has {}{first}", mcpkg_base::plural::count(errors.len(), "error"));
    let warnings: Vec<&Finding> = checked.warnings().collect();
    Error::new(Code::WorkflowInvalid, message).with_details(json!({ "errors": errors, "warnings": warnings }))
}

/// Fills in the defaults that are known before the run.
fn defaults(sound: &Sound, commands: &dyn Commands, inputs: &mut Map<String, Value>) -> Result<()> {
    let mut known = Map::new();
    for named in sound.definition.inputs.list.iter().filter(|named| !inputs.contains_key(&named.id)) {
        let Some(default) = &named.input.default else { continue };
        let value = match default.from {
            Origin::Literal => default.value.clone(),
            Origin::Env => match default.value.as_ref().and_then(Value::as_str) {
                Some(name) => {
                    commands.variable(name)?.map(|text| input_values::typed(&sound.definition, &named.id, &text))
                }
                None => None,
            },
            // Defaults from earlier runs are filled in by `run::defaults`, before a run is planned.
            Origin::History | Origin::WorkflowOutput => None,
        };
        known.extend(value.map(|value| (named.id.clone(), value)));
    }
    inputs.extend(input_values::validated(&sound.definition, &known)?);
    Ok(())
}

/// Returns the project's variables that the templates use.
fn variables(sound: &Sound, commands: &dyn Commands) -> Result<Map<String, Value>> {
    let mut read = Map::new();
    for path in sound.uses.iter().flat_map(Use::paths) {
        if let Root::Env(name) = &path.root
            && !read.contains_key(name)
            && let Some(value) = commands.variable(name)?
        {
            read.insert(name.clone(), value.into());
        }
    }
    Ok(read)
}

/// Returns the required inputs that have neither a value nor a default from an earlier run. Other defaults are already among the
/// values.
fn required(sound: &Sound, inputs: &Map<String, Value>) -> Vec<String> {
    let open = sound.definition.inputs.list.iter().filter(|named| {
        let is_derived = named
            .input
            .default
            .as_ref()
            .is_some_and(|default| matches!(default.from, Origin::History | Origin::WorkflowOutput));
        named.input.is_required() && !inputs.contains_key(&named.id) && !is_derived
    });
    open.map(|named| named.id.clone()).collect()
}

/// Everything that determines what a run does. It is hashed.
#[derive(Serialize)]
struct Decides<'a> {
    definition: &'a Definition,
    inputs: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    env: &'a Map<String, Value>,
    /// The hash of each command by id.
    specs: BTreeMap<&'a str, String>,
    effects: &'a Effects,
    project: Option<&'a str>,
}

/// Returns the SHA-256 of everything that determines what a run does. For a secret, the reference is hashed, not the value.
fn hash(
    sound: &Sound,
    [inputs, env]: [&Map<String, Value>; 2],
    effects: &Effects,
    project: Option<&str>,
) -> Result<String> {
    debug_assert!(sound.definition.inputs.list.iter().all(|named| {
        named.input.r#type != InputType::Secret || inputs.get(&named.id).is_none_or(Value::is_string)
    }));
    let decides = Decides {
        definition: &sound.definition,
        inputs,
        env,
        specs: sound.specs.iter().map(|spec| (&*spec.id, spec.hash())).collect(),
        effects,
        project,
    };
    Ok(hex::encode(&canonical::digest(&decides)?))
}
