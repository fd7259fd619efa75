//! A plan to approve and run: the program, the hash of everything it depends on, and its description for a person.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::once::Text;
use super::{arguments, defaults, effects, stored_definition};
use crate::check::Sound;
use crate::commands::{self, reachable};
use crate::definition::InputType;
use crate::passwords;
use crate::plan::{KnownValues, Plan as Planned, planned};
use crate::resolve::require;
use crate::runner::program::Program;
use crate::saved::approval;
use crate::spec::{CommandEffect, CommandSpec, Idempotency, SourceKind};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::projects;

#[derive(Clone, Debug)]
pub struct Plan {
    pub program: Program,
    /// The definition that the program was built from, without passwords. A resume builds the program from it again.
    pub definition: Value,
    /// SHA-256 of everything that determines what the run does, in hex.
    pub hash: String,
    /// A sentence about what the run does, without a final period.
    pub summary: String,
    /// Lines that describe what the run does.
    pub effects: Vec<String>,
    /// Name of the project; empty if there is none.
    pub project: String,
    /// Whether `--yes` is enough to run the plan, without a question at a terminal.
    pub may_be_confirmed: bool,
}

/// Plans a single command.
pub fn of_command(context: &Context, id: &str, with: Map<String, Value>) -> Result<Plan> {
    let spec = require(&reachable(context), id)?;
    of_spec(context, spec, with)
}

/// Like [`of_command`], for a command that was already looked up.
pub fn of_spec(context: &Context, spec: Arc<CommandSpec>, with: Map<String, Value>) -> Result<Plan> {
    if !spec.runnable {
        let why = spec.why_not.as_deref().unwrap_or("its source does not describe how to run it");
        return Err(Error::new(Code::InvalidArgument, format!("{} cannot be run: {why}", spec.id)));
    }
    arguments::check(context, &spec, &with)?;
    let project = project(context)?;
    let definition = json!({ "command": spec.id, "with": with });
    let foreseen = commands::foresee(context, &spec, &with)?;
    let mut hash = hash(&definition, [&*spec], &project);
    if !foreseen.is_empty() {
        hash = sha256::hex(json!([hash, foreseen]).to_string().as_bytes());
    }
    let without = json!({ "command": spec.id, "with": passwords::arguments(&spec, &with) });
    let definition = stored_definition::hidden(&definition, without);
    let program = Program::of_command(Arc::clone(&spec), with);
    Ok(Plan {
        summary: effects::question(&format!("Run {}", spec.id), &program),
        effects: effects::of(&program).into_iter().chain(foreseen).collect(),
        may_be_confirmed: !matches!(spec.source, SourceKind::Catalogs | SourceKind::Plugins)
            || spec.effect == CommandEffect::Read,
        program,
        definition,
        hash,
        project,
    })
}

/// A valid workflow, and its plan with the given values.
pub(super) struct PlannedWorkflow<'w> {
    pub(super) sound: &'w Sound,
    pub(super) planned: Planned,
    /// The given input values, with defaults from earlier runs.
    pub(super) inputs: Map<String, Value>,
    /// Name of the project; empty if there is none.
    pub(super) project: String,
}

/// Plans a workflow with its input values, and with the outputs of steps that are already known. Unlike in [`of_text`], inputs
/// may be missing.
pub(super) fn workflow_plan<'w>(
    context: &Context,
    text: &'w Text,
    mut inputs: Map<String, Value>,
    outputs: Map<String, Value>,
) -> Result<PlannedWorkflow<'w>> {
    let (commands, checked) = (reachable(context), text.checked(context)?);
    if let Some(definition) = checked.definition() {
        inputs.extend(defaults::of_runs(context, definition, &inputs)?);
    }
    let project = project(context)?;
    let named = Some(project.clone()).filter(|name| !name.is_empty());
    let given = KnownValues { inputs: inputs.clone(), outputs, project: named };
    let planned = planned(checked, &commands, &given)?;
    let sound = checked.sound.as_ref().ok_or_else(|| Error::internal("a workflow with errors was planned"))?;
    check_secrets(context, sound, &inputs)?;
    Ok(PlannedWorkflow { sound, planned, inputs, project })
}

/// Plans a workflow with its input values.
///
/// # Errors
/// `E_WORKFLOW_INVALID` with the findings; `E_INVALID_ARGUMENT` for an invalid input; `E_INPUTS_REQUIRED` with the missing
/// inputs; `E_TERMINAL_REQUIRED` if an agent passes a secret.
pub fn of_text(context: &Context, text: &Text, inputs: Map<String, Value>) -> Result<Plan> {
    let PlannedWorkflow { sound, planned, inputs, project } = workflow_plan(context, text, inputs, Map::new())?;
    let missing: Vec<&str> = sound
        .definition
        .inputs
        .list
        .iter()
        .filter(|named| named.input.is_required() && !planned.inputs.contains_key(&named.id))
        .map(|named| named.id.as_str())
        .collect();
    if !missing.is_empty() {
        let why = format!("{} needs values for its inputs: {}", sound.definition.workflow, missing.join(", "));
        return Err(Error::new(Code::InputsRequired, why)
            .with_details(json!({ "inputs_required": missing }))
            .hint_for("pass the inputs with `--input NAME=VALUE`", "pass the values as inputs"));
    }
    let program = Program::of_workflow(sound, planned.inputs, planned.env);
    let definition =
        stored_definition::of_workflow(sound, &program, &json!({ "workflow": sound.definition, "inputs": inputs }))?;
    Ok(Plan {
        summary: effects::question(&format!("Run the workflow {}", program.name), &program),
        effects: effects::of(&program),
        may_be_confirmed: approval::is_approved(context, &project, &text.text)?,
        definition,
        hash: planned.plan_hash,
        program,
        project,
    })
}

/// Refuses secrets that are not references, or that an agent passes.
fn check_secrets(context: &Context, sound: &Sound, inputs: &Map<String, Value>) -> Result<()> {
    let secrets = sound.definition.inputs.list.iter().filter(|named| named.input.r#type == InputType::Secret);
    for named in secrets {
        if let Some(value) = inputs.get(&named.id) {
            arguments::check_secret(context, &named.id, value)?;
        }
    }
    Ok(())
}

/// Returns whether a command only reads mcpkg's own data. Such a command needs no consent, except on a server that runs as
/// `assistant`.
pub fn is_own_read(spec: &CommandSpec) -> bool {
    spec.source == SourceKind::Operations && spec.idempotency == Idempotency::Safe
}

/// Returns the SHA-256 of a definition, the specs of its commands, and its project, in hex.
pub(super) fn hash<'s>(definition: &Value, specs: impl IntoIterator<Item = &'s CommandSpec>, project: &str) -> String {
    let specs: Vec<(&str, String)> = specs.into_iter().map(|spec| (spec.id.as_str(), spec.hash())).collect();
    let mut all = json!({ "definition": definition, "specs": specs, "project": project });
    all.sort_all_objects();
    sha256::hex(all.to_string().as_bytes())
}

/// Returns the name of the selected project; empty if there is none.
pub fn project(context: &Context) -> Result<String> {
    let found = context.store.read(|db| projects::resolve(db, &context.selection))?;
    Ok(found.map_or_else(String::new, |project| project.name))
}
