//! The `mcpkg://` resources for prompts, resources and their histories, for clients that support only MCP resources.

use serde_json::{Map, json};

use mcpkg_base::error::Result;
use mcpkg_core::op::{Completing, Contents, ListedIn, PAGE, Resource, ResourceRequest, Validator, newest};
use mcpkg_store::resources::{self, Key};
use mcpkg_store::revisions::{self, Kind};
use mcpkg_store::{projects, prompts, validators};

const MARKDOWN: Option<&str> = Some("text/markdown");
const JSON: Option<&str> = Some("application/json");

pub(super) const RESOURCES: &[Resource] = &[PROMPT, RESOURCE, HISTORY];

const PROMPT: Resource = Resource {
    uri: "mcpkg://prompt/{name}",
    name: "prompt",
    title: "Prompt",
    description: "A stored prompt's text, by name; templates are not rendered",
    mime_type: MARKDOWN,
    shown: ListedIn::Template,
    live: None,
    read: |asked, contents| {
        let name = asked.values.get("name");
        let found = prompts::with(asked.db, asked.selection, name, |prompt| {
            let shell = || format!("mcpkg prompt show {name} --raw");
            contents.blob(asked.db, MARKDOWN, true, prompt.content, &shell)
        })?;
        Ok(found.is_some())
    },
    validator: |asked| {
        let found = validators::prompt(asked.db, asked.selection, asked.values.get("name"))?;
        found.map(|sha256| Validator::of(&sha256)).transpose()
    },
    complete: |asked| names_of(Kind::Prompt, asked),
};

/// A stored resource, addressed by its name instead of its URI.
const RESOURCE: Resource = Resource {
    uri: "mcpkg://resource/{name}",
    name: "resource",
    title: "Resource",
    description: "A stored resource, by name",
    mime_type: None,
    shown: ListedIn::Template,
    live: None,
    read: |asked, contents| {
        let key = Key::Name(asked.values.get("name"));
        let found = resources::with(asked.db, asked.selection, key, |resource| {
            let shell = || format!("mcpkg resource show {} -o FILE", resource.name);
            contents.blob(asked.db, resource.mime_type, resource.text, resource.content, &shell)
        })?;
        Ok(found.is_some())
    },
    validator: |asked| {
        let found = validators::resource(asked.db, asked.selection, Key::Name(asked.values.get("name")))?;
        found.map(|resource| Validator::of(&resource)).transpose()
    },
    complete: |asked| names_of(Kind::Resource, asked),
};

/// The newest revisions of an item.
const HISTORY: Resource = Resource {
    uri: "mcpkg://history/{kind}/{name}",
    name: "history",
    title: "History",
    description: "The newest revisions of a prompt or resource, even a deleted one, without their contents. `kind` \
        is `prompt` or `resource`",
    mime_type: JSON,
    shown: ListedIn::Template,
    live: None,
    read: history,
    validator: |asked| {
        let newest = revisions_of(asked, 1)?;
        let Some(newest) = newest.as_ref().and_then(|rows| rows.first()) else { return Ok(None) };
        // Include the oldest revision, because old revisions may be deleted while the newest stays.
        let oldest = revisions::oldest(asked.db, newest.item)?;
        Validator::of(&(newest.item.as_bytes(), newest.number, newest.at, oldest)).map(Some)
    },
    complete: |asked| match asked.variable {
        "kind" => Ok(Some([Kind::Prompt, Kind::Resource].map(|kind| kind.word().to_owned()).into())),
        "name" => match (asked.given)("kind").and_then(Kind::named) {
            Some(kind) => names_of(kind, asked),
            None => {
                let mut both: Vec<String> = [Kind::Prompt, Kind::Resource]
                    .into_iter()
                    .map(|kind| names(kind, asked))
                    .collect::<Result<Vec<_>>>()?
                    .concat();
                both.sort_unstable();
                both.dedup();
                Ok(Some(both))
            }
        },
        _ => Ok(None),
    },
};

fn history(asked: &ResourceRequest<'_>, contents: &mut dyn Contents) -> Result<bool> {
    let Some(rows) = revisions_of(asked, PAGE + 1)?.filter(|rows| !rows.is_empty()) else { return Ok(false) };
    let head = ["kind", "name"].map(|key| (key.to_owned(), json!(asked.values.get(key))));
    let text = newest(Map::from_iter(head), "revisions", &rows, asked.max_answer)?;
    let shell = || format!("mcpkg {} history {}", asked.values.get("kind"), asked.values.get("name"));
    contents.text(JSON, &text, &shell)?;
    Ok(true)
}

/// Returns the newest revisions of the requested item; `None` if its kind is unknown or no project is selected.
fn revisions_of(asked: &ResourceRequest<'_>, limit: usize) -> Result<Option<Vec<revisions::Revision>>> {
    let Some(kind) = Kind::named(asked.values.get("kind")) else { return Ok(None) };
    let Some(project) = projects::served(asked.db, asked.selection)? else { return Ok(None) };
    revisions::last(asked.db, project.id, kind, asked.values.get("name"), limit).map(Some)
}

fn names_of(kind: Kind, asked: &Completing<'_>) -> Result<Option<Vec<String>>> {
    if asked.variable != "name" {
        return Ok(None);
    }
    names(kind, asked).map(Some)
}

fn names(kind: Kind, asked: &Completing<'_>) -> Result<Vec<String>> {
    match kind {
        Kind::Prompt => prompts::names(asked.db, asked.selection, asked.typed, asked.limit),
        Kind::Resource => resources::names(asked.db, asked.selection, asked.typed, asked.limit),
    }
}
