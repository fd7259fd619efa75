//! The MCP resource of a saved workflow.

use mcpkg_core::op::{ListedIn, Resource, Validator};
use mcpkg_store::workflows;

const YAML: Option<&str> = Some("application/yaml");

pub(crate) const RESOURCES: &[Resource] = &[WORKFLOW];

const WORKFLOW: Resource = Resource {
    uri: "mcpkg://workflow/{name}",
    name: "workflow",
    title: "Workflow",
    description: "The text of one of the project's workflows, as it was imported",
    mime_type: YAML,
    shown: ListedIn::Template,
    live: None,
    read: |asked, contents| {
        let name = asked.values.get("name");
        let found = workflows::with(asked.db, asked.selection, name, |text| {
            contents.blob(asked.db, YAML, true, text, &|| format!("mcpkg workflow export {name} --to FILE"))
        })?;
        Ok(found.is_some())
    },
    validator: |asked| {
        let found = workflows::validator(asked.db, asked.selection, asked.values.get("name"))?;
        found.map(|sha256| Validator::of(&sha256)).transpose()
    },
    complete: |asked| match asked.variable {
        "name" => workflows::names(asked.db, asked.selection, asked.typed, asked.limit).map(Some),
        _ => Ok(None),
    },
};
