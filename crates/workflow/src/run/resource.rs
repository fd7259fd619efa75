//! The MCP resource `mcpkg://run/{id}`: the progress of a run, which changes whenever a step ends.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::answer::VERSION;
use crate::runner::report::{Detail, whole};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Completing, Contents, ListedIn, Resource, ResourceRequest, Validator};
use mcpkg_store::page::Page;
use mcpkg_store::projects;
use mcpkg_store::runs::steps::{self, Step};
use mcpkg_store::runs::{self, Run};

pub const RESOURCES: &[Resource] = &[RUN];

const RUN: Resource = Resource {
    uri: "mcpkg://run/{id}",
    name: "run",
    title: "Run",
    description: "The progress of a workflow or command run, with each step and attempt, as list_runs returns it",
    mime_type: Some("application/json"),
    shown: ListedIn::Template,
    read,
    validator,
    complete,
    ..Resource::EMPTY
};

fn read(asked: &ResourceRequest<'_>, contents: &mut dyn Contents) -> Result<bool> {
    let Some(run) = find(asked)? else { return Ok(false) };
    let mut told = json!({ "schema_version": VERSION });
    if let Some(told) = told.as_object_mut() {
        // The resource does not show whether a process still carries out the run: releasing a run's lock raises no event, so
        // subscribers would not notice. `list_runs` shows whether the run was interrupted.
        told.extend(whole(asked.db, &run, run.state, Detail::Attempts)?);
    }
    contents.text(RUN.mime_type, &told.to_string(), &|| format!("mcpkg workflow runs {} --json", run.uuid))?;
    Ok(true)
}

fn validator(asked: &ResourceRequest<'_>) -> Result<Option<Validator>> {
    let Some(run) = find(asked)? else { return Ok(None) };
    let rows = steps::of(asked.db, run.id)?;
    let steps: Vec<Value> = rows.iter().map(|Step { state, rounds, .. }| json!([state.word(), rounds])).collect();
    Validator::of(&json!([run.uuid.to_string(), run.state.word(), run.reason, run.output, steps])).map(Some)
}

fn complete(completing: &Completing<'_>) -> Result<Option<Vec<String>>> {
    if completing.variable != "id" {
        return Ok(None);
    }
    let project = projects::resolve(completing.db, completing.selection)?.map(|project| project.id);
    let found = runs::list(completing.db, project, &Page::first(completing.limit))?.rows;
    let ids = found.into_iter().map(|run| run.uuid.to_string());
    Ok(Some(ids.filter(|id| id.starts_with(completing.typed)).collect()))
}

/// Returns the run with this id, if it belongs to the selected project.
fn find(asked: &ResourceRequest<'_>) -> Result<Option<Run>> {
    let Ok(id) = Uuid::try_parse(asked.values.get("id")) else { return Ok(None) };
    let Some(project) = projects::resolve(asked.db, asked.selection)? else { return Ok(None) };
    Ok(runs::get(asked.db, id)?.filter(|run| run.project == Some(project.id)))
}
