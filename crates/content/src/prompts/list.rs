//! `mcpkg prompt list`: lists prompts with their descriptions and arguments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::declared::Declared;
use crate::{GROUP, answer, cursor};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::json::{push_member, push_string};
use mcpkg_core::op::{self, Body, Context, Effect, Faces, Operation, Reply, Table};
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::projects;
use mcpkg_store::prompts::{self, Prompt};

/// List prompts
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Value of next_cursor from the previous page
    #[arg(long)]
    cursor: Option<String>,
    /// Maximum number of prompts per page
    #[arg(long)]
    limit: Option<u32>,
}

/// A page of prompts
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    prompts: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Item {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<Declared>>,
}

impl Operation for List {
    const TOOL: &'static str = "list_prompts";
    const CLI: &'static [&'static str] = &["prompt", "list"];
    const TITLE: &'static str = "List prompts";
    const ABOUT: &'static str = "List the prompts, commands and instructions stored in the selected project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg prompt list", "mcpkg prompt list --limit 20 --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const LISTS: Option<&'static str> = Some("prompts");
    type Output = Listed;

    fn is_hot(&self) -> bool {
        answer::is_one_page(self.limit)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if context.is_shell() { self.for_people(context) } else { self.for_agent(context) }
    }
}

impl List {
    fn for_people(self, context: &Context) -> Result<Reply> {
        let (slice, project, next_cursor) = context.read(|db, project| {
            let page = answer::page("prompts", self.cursor.as_deref(), self.limit, context, project.id)?;
            let slice = prompts::overview(db, project.id, &page)?;
            let next = answer::next_cursor("prompts", project.id, &slice, |prompt| &prompt.name);
            Ok((slice, project.name.clone(), next))
        })?;
        let rows = slice
            .rows
            .iter()
            .map(|prompt| {
                vec![
                    prompt.name.clone(),
                    prompt.size.to_string(),
                    prompt.revision.to_string(),
                    rfc3339(prompt.updated_at),
                    prompt.attributes.description.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let prompts = slice
            .rows
            .into_iter()
            .map(|Prompt { name, attributes, .. }| Item {
                name,
                description: attributes.description,
                arguments: (!attributes.arguments.is_empty())
                    .then(|| attributes.arguments.into_iter().map(Declared::from).collect()),
            })
            .collect();
        let table = Table {
            columns: &["NAME", "BYTES", "REVISION", "UPDATED", "DESCRIPTION"],
            rows,
            empty: format!("Project '{project}' has no prompts"),
        };
        let data = answer::serialize(&Listed { prompts, next_cursor })?;
        Ok(Reply::new(Body::Table(table), data))
    }

    /// Builds the text and the JSON directly from database rows, without a `Value` for each prompt.
    fn for_agent(self, context: &Context) -> Result<Reply> {
        let mut text = Vec::from(*b"NAME\tDESCRIPTION\tARGUMENTS\n");
        let mut json = Vec::from(*b"{\"prompts\":[");
        let (next, empty) = context.store.read(|db| {
            let selection = &context.selection;
            let project = match self.cursor {
                Some(_) => projects::require(db, selection)?.id,
                None => 0,
            };
            let page = answer::page("prompts", self.cursor.as_deref(), self.limit, context, project)?;
            let (mut rows, mut last) = (0, None);
            let more = prompts::each(db, selection, &page, |line| {
                push_cell(&mut text, line.name);
                text.push(b'\t');
                push_cell(&mut text, line.description.unwrap_or_default());
                text.push(b'\t');
                push_arguments(&mut text, line.arguments.unwrap_or_default());
                text.push(b'\n');
                if rows > 0 {
                    json.push(b',');
                }
                rows += 1;
                json.extend_from_slice(b"{\"name\":");
                push_string(&mut json, line.name);
                push_member(&mut json, ",\"description\":", line.description);
                if let Some(arguments) = line.arguments {
                    json.extend_from_slice(b",\"arguments\":");
                    json.extend_from_slice(arguments);
                }
                json.push(b'}');
                if rows == page.limit {
                    last = Some(cursor::encode("prompts", line.project, &String::from_utf8_lossy(line.name)));
                }
                Ok(())
            })?;
            let empty = match rows {
                0 => Some(format!("Project '{}' has no prompts", projects::require(db, selection)?.name)),
                _ => None,
            };
            Ok((last.filter(|_| more), empty))
        })?;
        json.push(b']');
        if let Some(next) = &next {
            text.extend_from_slice(format!("next_cursor: {next}\n").as_bytes());
        }
        push_member(&mut json, ",\"next_cursor\":", next);
        json.push(b'}');
        let utf8 = |bytes| {
            String::from_utf8(bytes).map_err(|error| damaged_value("a row's text is not UTF-8").with_source(error))
        };
        let text = empty.map_or_else(|| utf8(text), Ok)?;
        Ok(Reply { json: Some(utf8(json)?), ..Reply::new(Body::Text(text), Value::Null) })
    }
}

/// Appends a prompt's arguments for the list, such as `file (required): The file to look at; focus`. `json` is the list
/// of arguments as MCP defines it.
fn push_arguments(out: &mut Vec<u8>, json: &[u8]) {
    if json.is_empty() {
        return;
    }
    // Leave malformed arguments out of the text. The JSON data contains them unchanged.
    let arguments: Vec<Declared> = serde_json::from_slice(json).unwrap_or_default();
    for (n, argument) in arguments.iter().enumerate() {
        push_cell(out, if n > 0 { b"; " } else { b"" });
        push_cell(out, argument.shown().as_bytes());
    }
}

/// Appends a table cell, escaped for display.
fn push_cell(out: &mut Vec<u8>, text: &[u8]) {
    if text.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        out.extend_from_slice(text);
    } else {
        out.extend_from_slice(op::cell(&String::from_utf8_lossy(text)).as_bytes());
    }
}
