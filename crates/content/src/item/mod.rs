//! Items: the content of a project in the form that import, export, sync and sources share.
//!
//! An [`Item`] is an [`Entry`] (name, kind, attributes and origin) with its content. An MCP server is an item too, with a
//! JSON document as its content ([`server`]). The [`manifest`] of an exported folder lists those entries that paths and front
//! matter cannot express.

pub mod conflict;
pub mod manifest;
pub mod name;
pub mod server;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{argument, media};
use mcpkg_agents::{commands, template};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;
use mcpkg_core::names;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules::Applies;
use mcpkg_store::{agent_files, prompts, resources};

/// A file of an imported or exported folder.
#[derive(Clone, Debug)]
pub struct File {
    /// The path relative to the import root, with `/` separators.
    pub relative: String,
    pub content: NewContent,
    pub executable: bool,
    /// The file's entry in the manifest, if it has one.
    pub listed: Option<Entry>,
}

/// An item, with the file that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The path of the file, relative to the import root.
    pub path: String,
    pub entry: Entry,
    pub content: NewContent,
}

impl Item {
    /// See [`Entry::word`].
    pub fn word(&self) -> &'static str {
        self.entry.word()
    }

    pub fn data(&self) -> Value {
        let Entry { name, what, origin } = &self.entry;
        let mut data = json!({ "kind": what.word(), "type": self.word(), "name": name, "path": self.path });
        if let Some(uri) = what.uri() {
            data["uri"] = uri.into();
        }
        if self.word() == "instructions" {
            data["applies"] = json!(origin.applies);
        }
        if let Some(agent) = &origin.agent {
            data["agent"] = agent.as_str().into();
        }
        data
    }
}

/// Everything about an item except the bytes of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    /// The kind of the item, with the attributes that belong to this kind.
    #[serde(flatten)]
    pub what: What,
    /// The conditions under which the item applies, and the file that the item was imported from.
    #[serde(default, skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
}

impl Entry {
    /// Returns the word for the item's kind: `prompt`, `skill`, `instructions` and so on.
    pub fn word(&self) -> &'static str {
        match self.what.uri().and_then(|uri| uri.split_once("://")).map(|(scheme, _)| scheme) {
            None => match &self.what {
                What::AgentFile { holds, .. } => holds.word(),
                What::Server => "mcp_server",
                _ => "prompt",
            },
            Some("skill") => "skill",
            Some("instructions") => "instructions",
            Some("subagent") => "subagent",
            _ => "resource",
        }
    }

    /// Serializes the entry for the database.
    pub fn json(&self) -> Result<String> {
        serde_json::to_string(self)
            .map_err(|error| Error::internal("an item cannot be written as JSON").with_source(error))
    }
}

/// Where an item came from, and when it applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// When the instructions apply.
    #[serde(default)]
    pub applies: Applies,
    /// The agent that the file's format or folder belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The path of the file. All files of a skill have the path of the skill's `SKILL.md` here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Origin {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum What {
    Prompt(prompts::Attributes),
    Resource(resources::Attributes),
    /// A file that only one agent reads, identified by its path.
    #[serde(rename = "agent_file")]
    AgentFile {
        /// What its agent uses the file for.
        holds: agent_files::Kind,
        #[serde(default)]
        executable: bool,
    },
    /// An MCP server, identified by its name. The content defines the server (see [`server`]). In a manifest, no file may be
    /// listed as a server.
    #[serde(rename = "mcp_server")]
    Server,
}

impl What {
    pub fn is_prompt(&self) -> bool {
        matches!(self, What::Prompt(_))
    }

    pub fn is_executable(&self) -> bool {
        match self {
            What::Prompt(_) | What::Server => false,
            What::Resource(attributes) => attributes.executable,
            What::AgentFile { executable, .. } => *executable,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            What::Prompt(_) => "prompt",
            What::Resource(_) => "resource",
            What::AgentFile { .. } => "agent_file",
            What::Server => "mcp_server",
        }
    }

    /// For a file of a skill, returns the skill's name and the path within the skill, both encoded as in the URI.
    pub fn in_skill(&self) -> Option<(&str, &str)> {
        self.uri()?.strip_prefix("skill://")?.split_once('/')
    }

    pub fn uri(&self) -> Option<&str> {
        match self {
            What::Prompt(_) | What::AgentFile { .. } | What::Server => None,
            What::Resource(attributes) => Some(&attributes.uri),
        }
    }
}

/// Returns whether this can be the path of a file below a folder. On Unix, a backslash is an ordinary character. Code that
/// writes files also checks [`crate::export::layout::is_safe`].
fn may_be_path(path: &str) -> bool {
    stays_inside(path) || !std::path::is_separator('\\') && stays_inside(&path.replace('\\', "_"))
}

/// Checks that an item may be stored. The manifest and the content may come from anybody.
pub fn check(entry: &Entry, content: &NewContent) -> Result<()> {
    check_origin(&entry.origin)?;
    match &entry.what {
        What::Prompt(prompts::Attributes { description, template, dialect, arguments, front_matter, file }) => {
            names::check("Prompt", &entry.name)?;
            names::check_text("The description", description.as_deref().unwrap_or_default())?;
            template::check_arguments(arguments)?;
            for argument in arguments {
                names::check_text("The argument's description", argument.description.as_deref().unwrap_or_default())?;
            }
            commands::check_origin(front_matter.as_deref(), file.as_deref())?;
            let text = argument::prompt(content.bytes()?.into_owned())?;
            if *template && dialect.is_none() { template::check(&text) } else { Ok(()) }
        }
        What::Resource(resources::Attributes { uri, description, mime_type, text: is_text, executable: _ }) => {
            names::check("Resource", &entry.name)?;
            names::check_uri(uri)?;
            names::check_text("The description", description.as_deref().unwrap_or_default())?;
            if let Some(mime_type) = mime_type {
                media::fits(mime_type, content.is_text())?;
            }
            if *is_text && !content.is_text() {
                return Err(Error::new(Code::InvalidArgument, "Resource content is not UTF-8 text"));
            }
            Ok(())
        }
        // [`server::read`] checks the content while parsing it.
        What::Server => Ok(()),
        What::AgentFile { .. } => {
            let is_placed = may_be_path(&entry.name) && entry.origin.path.as_deref() == Some(entry.name.as_str());
            if is_placed && entry.origin.agent.is_some() {
                return Ok(());
            }
            let name = entry.name.escape_debug();
            Err(Error::new(Code::InvalidArgument, format!("The agent file `{name}` lacks a path or an agent")))
        }
    }
}

pub(crate) fn check_origin(origin: &Origin) -> Result<()> {
    let refuse = |what: &str, text: &str| {
        Err(Error::new(Code::InvalidArgument, format!("`{}` is not a {what}", text.escape_debug())))
    };
    match &origin.path {
        Some(path) if !may_be_path(path) => return refuse("path inside the folder", path),
        _ => {}
    }
    match &origin.agent {
        Some(agent) if names::check("Agent", agent).is_err() => return refuse("valid agent name", agent),
        _ => {}
    }
    if let Applies::Globs(globs) = &origin.applies {
        for glob in globs {
            names::check_text("The pattern", glob)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for good in ["a", ".claude/commands/a.md", "a/b c"] {
            assert!(may_be_path(good), "{good}");
        }
        for bad in ["", "/etc/passwd", "../a", "a/../b", "a//b", "./a", "a/", "a\\b", "a\0", ".git/hooks/a", "a/.GIT"] {
            assert_eq!(may_be_path(bad), cfg!(unix) && bad == "a\\b", "{bad}");
        }
    }

    #[test]
    fn an_entry_is_flat() {
        let entry: Entry = serde_json::from_str(
            r#"{"kind":"resource","name":"a","uri":"x:y","mime_type":"text/plain","text":true,"executable":false}"#,
        )
        .unwrap();
        assert_eq!(serde_json::to_value(&entry).unwrap()["kind"], "resource");
        let content = |byte: u8| NewContent::from(vec![byte]);
        assert!(check(&entry, &content(b'a')).is_ok());
        assert!(check(&entry, &content(0xff)).is_err());
        assert!(check(&Entry { name: "..".to_owned(), ..entry }, &content(b'a')).is_err());
    }
}
