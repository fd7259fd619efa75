//! Looks up defaults that come from earlier runs. Once looked up, they are part of the plan.

use serde_json::{Map, Value};

use crate::definition::{DefaultValue, Definition, InputType, NamedInput, Origin};
use crate::expression::value_at;
use crate::passwords::holds_hidden;
use crate::{input_values, output};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::stored_json;
use mcpkg_store::projects;
use mcpkg_store::runs::{self, Run};
use mcpkg_store::{Db, Store};

/// Returns the defaults for inputs without a value: from the last successful run of this workflow, or from the output of another
/// workflow's run. Values that are secret, or that the input no longer accepts, are left out.
pub fn of_runs(context: &Context, definition: &Definition, given: &Map<String, Value>) -> Result<Map<String, Value>> {
    let is_asked = |named: &&NamedInput| {
        let origin = named.input.default.as_ref().map(|default| default.from);
        matches!(origin, Some(Origin::History | Origin::WorkflowOutput))
            && named.input.r#type != InputType::Secret
            && !given.contains_key(&named.id)
    };
    let asked: Vec<&NamedInput> = definition.inputs.list.iter().filter(is_asked).collect();
    if asked.is_empty() {
        return Ok(Map::new());
    }
    let store: &Store = &context.store;
    let found = store.read(|db| {
        let Some(project) = projects::resolve(db, &context.selection)? else { return Ok(Vec::new()) };
        let values = asked.iter().map(|named| {
            let Some(default) = &named.input.default else { return Ok(None) };
            let value = value(db, project.id, &definition.workflow, &named.id, default)?;
            Ok(value.map(|value| (named.id.clone(), value)))
        });
        values.collect::<Result<Vec<_>>>()
    })?;
    let fits = |(name, value): &(String, Value)| {
        let only = Map::from_iter([(name.clone(), value.clone())]);
        !holds_hidden(value) && input_values::validated(definition, &only).is_ok()
    };
    Ok(found.into_iter().flatten().filter(fits).collect())
}

fn value(db: &Db<'_>, project: i64, own: &str, input: &str, default: &DefaultValue) -> Result<Option<Value>> {
    let last = |workflow: &str| runs::last_succeeded(db, project, workflow);
    match (default.from, default.output()) {
        (Origin::History, _) => {
            let Some(run) = last(own)? else { return Ok(None) };
            Ok(definition(db, &run)?["inputs"].get(input).cloned())
        }
        (Origin::WorkflowOutput, Some((workflow, path))) => {
            let Some(run) = last(workflow)? else { return Ok(None) };
            let Some(answer) = runs::output(db, &run)? else { return Ok(None) };
            let answer: Value = stored_json(&answer, "the output of a run")?;
            Ok(value_at(&answer, &output::segments(path)).filter(|value| !value.is_null()).cloned())
        }
        _ => Ok(None),
    }
}

fn definition(db: &Db<'_>, run: &Run) -> Result<Value> {
    stored_json(&runs::definition(db, run)?, "the definition of a run")
}
