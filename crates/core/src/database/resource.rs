//! The resource `mcpkg://events`: the newest rows of the audit trail.

use serde_json::Map;

use crate::op::{ListedIn, PAGE, Resource, Validator, newest};
use mcpkg_store::{events, projects};

pub(super) const RESOURCES: &[Resource] = &[EVENTS];

/// The newest changes in the project. Listed as a template although it has no variable: by contract 001 (prompts and
/// resources), `resources/list` contains only what the user stored.
const EVENTS: Resource = Resource {
    uri: "mcpkg://events",
    name: "events",
    title: "Events",
    description: "The newest changes in the project, including refused changes: who changed what and when. Contents are not included",
    mime_type: Some("application/json"),
    shown: ListedIn::Template,
    live: None,
    read: |asked, contents| {
        let rows = events::last_of(asked.db, asked.selection, PAGE + 1)?;
        if rows.is_empty() && projects::served(asked.db, asked.selection)?.is_none() {
            return Ok(false);
        }
        let text = newest(Map::new(), "events", &rows, asked.max_answer)?;
        contents.text(Some("application/json"), &text, &|| "mcpkg events".to_owned())?;
        Ok(true)
    },
    validator: |asked| {
        if projects::served(asked.db, asked.selection)?.is_none() {
            return Ok(None);
        }
        let rows = events::last_of(asked.db, asked.selection, 1)?;
        // Include the oldest row, because pruning removes the oldest rows.
        let oldest = events::oldest(asked.db)?;
        Validator::of(&(rows.first().map(|newest| (newest.seq, newest.at)), oldest)).map(Some)
    },
    ..Resource::EMPTY
};
