//! The arguments that a caller declares for a prompt, as parameters or in the content's front matter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::argument;
use mcpkg_agents::{commands, template};
use mcpkg_base::error::Result;
use mcpkg_core::names;
use mcpkg_store::prompts::{Argument, Attributes};

/// An argument of a prompt template
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Declared {
    name: String,
    #[serde(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default)]
    required: bool,
}

impl Declared {
    /// Returns the argument as the tool `list_prompts` shows it: `file (required): The file to look at`.
    pub(super) fn shown(&self) -> String {
        let required = if self.required { " (required)" } else { "" };
        let description = self.description.as_ref().map(|description| format!(": {description}")).unwrap_or_default();
        format!("{}{required}{description}", self.name)
    }
}

impl From<Declared> for Argument {
    fn from(declared: Declared) -> Self {
        Self { name: declared.name, description: declared.description, required: declared.required }
    }
}

impl From<Argument> for Declared {
    fn from(argument: Argument) -> Self {
        Self { name: argument.name, description: argument.description, required: argument.required }
    }
}

/// Parses an argument from the command line: `NAME[?][=DESCRIPTION]`.
pub(super) fn declared(text: &str) -> Result<Declared> {
    argument::declaration(text).map(Declared::from)
}

/// Replaces a prompt's arguments with the declared ones, if the caller declares any.
pub(super) fn take(attributes: &mut Attributes, arguments: Option<Vec<Declared>>) {
    if let Some(arguments) = arguments {
        attributes.arguments = arguments.into_iter().map(Argument::from).collect();
        attributes.template |= !attributes.arguments.is_empty();
    }
}

/// Moves front matter from the content into the attributes. This happens if the front matter declares arguments, if it
/// replaces stored front matter, or if the content is a file. Any other content stays unchanged byte for byte. Returns hints
/// for the user. Fails with `E_TEMPLATE_FAILED` if the text uses arguments that its front matter does not declare.
pub(crate) fn declare(attributes: &mut Attributes, content: &mut String, is_file: bool) -> Result<Vec<String>> {
    Ok(match commands::declared(content, is_file || attributes.front_matter.is_some()) {
        Ok(Some((declared, text))) => {
            let names: Vec<_> = declared.arguments.iter().map(|argument| argument.name.as_str()).collect();
            let hint =
                format!("the front matter makes this prompt a template with the arguments: {}", names.join(", "));
            let hints = if declared.template { vec![hint] } else { Vec::new() };
            let description = declared.description.or(attributes.description.take());
            *attributes = Attributes { description, file: attributes.file.take(), ..declared };
            *content = text;
            hints
        }
        Err(error) if template::is_undeclared(&error) => return Err(error),
        other => {
            commands::drop_replaced(attributes, content);
            commands::recount(attributes, content);
            other.err().map(|error| format!("the content was stored unchanged: {error}")).into_iter().collect()
        }
    })
}

pub(crate) fn check(attributes: &Attributes, content: &str) -> Result<()> {
    template::check_arguments(&attributes.arguments)?;
    for argument in &attributes.arguments {
        if let Some(description) = &argument.description {
            names::check_text("The argument's description", description)?;
        }
    }
    if attributes.template && attributes.dialect.is_none() {
        template::check(content)?;
        template::check_declared(content, &attributes.arguments)?;
    }
    Ok(())
}
