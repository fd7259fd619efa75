//! A tool of a plugin: its description, whether the description has changed since a person approved it, and its command.

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::model::{Plugin, Provider, json};
use crate::spec::{CommandEffect, CommandSpec, Idempotency, OutputField, SourceKind};
use crate::{contracts, from_schema};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::redact::{hide_in, redact, without_password};
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::plugins::ToolRow;

/// Maximum number of tools of a plugin.
pub const MOST: usize = 1_000;

/// Maximum size of a tool's description and schemas together, in bytes of JSON.
const LARGEST: usize = 256 << 10;

/// Maximum length of a tool's name, in characters.
const LONGEST: usize = 128;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declaration {
    /// Title shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input: Map<String, Value>,
    /// JSON Schema of the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Map<String, Value>>,
    /// Hints about the tool's effect on existing data.
    #[serde(default, skip_serializing_if = "Hints::is_empty")]
    pub hints: Hints,
}

/// A server's hints about a tool's effect on existing data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// Whether the tool is read-only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether the tool may destroy data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether repeating a call has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
}

impl Hints {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The tools of a plugin.
#[derive(Debug, Default)]
pub struct Listing {
    /// Names and descriptions (JSON) of the tools.
    pub tools: Vec<(String, String)>,
    /// The reasons why tools were skipped, one line each.
    pub left_out: Vec<String>,
}

/// Returns the names and descriptions of tools. Secrets in the descriptions are removed.
pub fn listed(tools: Vec<Tool>) -> Result<Listing> {
    let Listing { tools: mut listed, mut left_out } = Listing::default();
    for tool in tools {
        let name = tool.name.to_string();
        let mut said = serde_json::to_value(declaration(tool))
            .map_err(|error| Error::internal("a plugin's description of a tool is not JSON").with_source(error))?;
        hide_in(&mut said);
        let said = without_password(&json(&said)?);
        let open = redact(&name);
        let shown: String = open.escape_debug().take(LONGEST).collect();
        if listed.len() == MOST {
            left_out.push(format!("'{shown}' and all tools after it: the plugin lists more than {MOST} tools"));
            break;
        }
        let why = if name.is_empty() || name.chars().count() > LONGEST {
            format!("its name must have 1 to {LONGEST} characters")
        } else if name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            "its name contains a space or a control character".to_owned()
        } else if open != name {
            "its name contains a secret".to_owned()
        } else if said.contains("\\u0000") {
            "its description or schema contains U+0000".to_owned()
        } else if said.len() > LARGEST {
            format!("its description and schema are larger than {} KiB", LARGEST >> 10)
        } else if listed.iter().any(|(known, _)| *known == name) {
            "another tool has the same name".to_owned()
        } else {
            listed.push((name, said));
            continue;
        };
        left_out.push(format!("'{shown}': {why}"));
    }
    Ok(Listing { tools: listed, left_out })
}

fn declaration(tool: Tool) -> Declaration {
    let hints = tool.annotations.as_ref().map(|said| Hints {
        read_only: said.read_only_hint,
        destructive: said.destructive_hint,
        idempotent: said.idempotent_hint,
    });
    Declaration {
        title: tool.title.or_else(|| tool.annotations.and_then(|said| said.title)),
        description: tool.description.map(|text| text.into_owned()),
        input: (*tool.input_schema).clone(),
        output: tool.output_schema.map(|schema| (*schema).clone()),
        hints: hints.unwrap_or_default(),
    }
}

/// Whether a tool has changed since a person approved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Same,
    New,
    Changed,
    /// The plugin no longer lists the tool.
    Gone,
}

impl News {
    /// Returns a warning for the person who is asked to approve a call.
    const fn caution(self) -> Option<&'static str> {
        match self {
            News::Same | News::Gone => None,
            News::New => Some("nobody has approved this tool"),
            News::Changed => Some("this tool changed since a person last approved it"),
        }
    }
}

/// Compares the listed tool with the approved one.
pub fn news(tool: &ToolRow) -> News {
    match (&tool.listed, &tool.accepted) {
        (None, _) => News::Gone,
        (Some(_), None) => News::New,
        (Some(listed), Some(accepted)) if listed == accepted => News::Same,
        _ => News::Changed,
    }
}

pub fn parsed(json: &str) -> Result<Declaration> {
    serde_json::from_str(json).map_err(|_| damaged_value("the stored data of a plugin's tool is invalid"))
}

/// Returns the command of a tool; `None` if the server no longer lists it.
pub fn spec(plugin: &Plugin, tool: &ToolRow) -> Result<Option<CommandSpec>> {
    let Some(listed) = &tool.listed else { return Ok(None) };
    let said = parsed(listed)?;
    // A person's settings apply only while the tool is unchanged since a person approved it.
    let was_seen = news(tool) == News::Same;
    let provider = plugin.providers.get(&tool.name).filter(|_| was_seen);
    let (effect, idempotency) = match provider {
        Some(_) => (CommandEffect::Read, Idempotency::Safe),
        None if plugin.trusted && was_seen => does(said.hints),
        None => (CommandEffect::Write, Idempotency::None),
    };
    let description = said.description.as_deref().unwrap_or_default().trim();
    let first = description.lines().next().filter(|line| !line.is_empty());
    let summary = first.or(said.title.as_deref()).unwrap_or_default().trim_end_matches('.');
    let output = said.output.as_ref().map(|schema| from_schema::output(schema, None)).unwrap_or_default();
    let mut spec = CommandSpec {
        summary: summary.to_owned(),
        description: description.contains('\n').then(|| description.to_owned()),
        effect,
        idempotency,
        caution: news(tool).caution(),
        flags: from_schema::flags(&said.input),
        output_contract: output,
        ..CommandSpec::new(format!("{}:{}", plugin.name(), tool.name), SourceKind::Plugins)
    };
    if let Some(provider) = provider {
        declare(&mut spec, provider);
    }
    Ok(Some(spec))
}

/// Returns the effect of a tool, based on the hints of a trusted server.
fn does(hints: Hints) -> (CommandEffect, Idempotency) {
    match (hints.read_only, hints.destructive, hints.idempotent) {
        (Some(true), _, _) => (CommandEffect::Read, Idempotency::Safe),
        (_, Some(true), Some(true)) => (CommandEffect::Destroy, Idempotency::Idempotent),
        (_, Some(true), _) => (CommandEffect::Destroy, Idempotency::None),
        (_, _, Some(true)) => (CommandEffect::Write, Idempotency::Idempotent),
        _ => (CommandEffect::Write, Idempotency::None),
    }
}

/// Makes a command a provider, with the settings of a person.
fn declare(spec: &mut CommandSpec, provider: &Provider) {
    let output = &mut spec.output_contract;
    if output.list.as_ref() != Some(&provider.items) {
        // The known fields belong to another part of the output than the person's list.
        output.fields.clear();
    }
    output.list = Some(provider.items.clone());
    let resource = contracts::resource(spec);
    let mut tag = |name: &str, tags: Vec<String>| {
        let fields = &mut spec.output_contract.fields;
        match fields.iter_mut().find(|field| field.name == name) {
            Some(field) => field.tags = tags,
            None => fields.push(OutputField { name: name.to_owned(), r#type: None, tags }),
        }
    };
    tag(&provider.value, vec![format!("{resource}_id")]);
    if let Some(label) = provider.label.as_ref().filter(|label| **label != provider.value) {
        tag(label, vec![format!("{resource}_name"), contracts::DISPLAY.to_owned()]);
    }
}
