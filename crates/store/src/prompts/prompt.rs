//! A prompt's row.

use serde::{Deserialize, Serialize};

use super::dialect::Dialect;
use crate::items::{self, Item};
use crate::revisions::Kind;

/// An argument of a prompt template, in MCP's form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The name the template uses.
    pub name: String,
    /// What the argument is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether prompts/get fails if the argument is missing.
    #[serde(default)]
    pub required: bool,
}

/// Everything that a user sets on a prompt, except its name and content. A revision stores these too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// What the prompt is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether mcpkg renders the content as a template. The content of any other prompt is sent unchanged.
    #[serde(default)]
    pub template: bool,
    /// The placeholder syntax of the template; `None` for Jinja.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// The front matter of the imported file, including its `---` lines; `None` if mcpkg would generate the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_matter: Option<String>,
    /// The path of the imported file below the commands folder, unless the path is `NAME.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

pub type Prompt = Item<Attributes>;

impl items::Attributes for Attributes {
    const KIND: Kind = Kind::Prompt;
}
