//! The MCP resource `mcpkg://draft/{id}`: a proposed workflow.

use super::kept::Kept;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::{ListedIn, Resource, ResourceRequest, Validator};
use mcpkg_store::drafts::{self, Draft};
use mcpkg_store::page::Page;
use mcpkg_store::projects;

const JSON: Option<&str> = Some("application/json");

pub(crate) const RESOURCES: &[Resource] = &[DRAFT];

const DRAFT: Resource = Resource {
    uri: "mcpkg://draft/{id}",
    name: "draft",
    title: "Draft",
    description: "The text, findings, plan and state of a proposed workflow",
    mime_type: JSON,
    shown: ListedIn::Template,
    live: None,
    read: |asked, contents| {
        let Some(kept) = kept(asked)? else { return Ok(false) };
        let shell = || format!("mcpkg draft show {}", kept.draft.uuid);
        contents.text(JSON, &kept.data().to_string(), &shell)?;
        Ok(true)
    },
    validator: |asked| {
        let Some(Kept { draft, project, .. }) = kept(asked)? else { return Ok(None) };
        let Draft { uuid, state, blob, edited_at, base, decided_at, .. } = draft;
        let base = base.map(|base| base.revision);
        Validator::of(&(uuid.as_bytes(), project, state.word(), blob, base, edited_at, decided_at)).map(Some)
    },
    complete: |asked| {
        let project = projects::served(asked.db, asked.selection)?;
        let Some(project) = project.filter(|_| asked.variable == "id") else { return Ok(None) };
        let ids = drafts::list(asked.db, project.id, false, &Page::all())?.rows.into_iter();
        let ids = ids.map(|draft| draft.uuid.to_string()).filter(|id| id.starts_with(asked.typed));
        Ok(Some(ids.take(asked.limit).collect()))
    },
};

fn kept(asked: &ResourceRequest<'_>) -> Result<Option<Kept>> {
    let Some(project) = projects::served(asked.db, asked.selection)? else { return Ok(None) };
    match Kept::named(asked.db, &project, asked.values.get("id")) {
        Ok(kept) => Ok(Some(kept)),
        Err(error) if error.code() == Code::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
