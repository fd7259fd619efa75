//! Reads the CONTENT argument: a string from an agent, or text, `@file` or `-` from the shell.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::blobs::NewContent;

/// Content as the caller gave it. It has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A JSON string from a tool call.
    Agent(String),
    /// Text typed on the command line.
    Typed(String),
    Input,
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentArgument {
    pub content: NewContent,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A JSON string from a tool call. The MIME type that the agent gives decides whether the string is text or base64,
    /// as contract 001 defines for `create_resource`.
    Agent,
    /// Text on the command line, or standard input.
    Shell,
    /// A file. If no MIME type is given, it is guessed from the file's name and bytes.
    File(PathBuf),
}

impl Content {
    /// Parses the CONTENT of a command line: `@path` is a file, `-` is standard input, `@@text` is the text `@text`, and
    /// anything else is the text itself. This never fails, because nothing is read yet.
    pub fn from_shell(argument: &str) -> Result<Self, std::convert::Infallible> {
        Ok(match (argument, argument.strip_prefix('@')) {
            ("-", _) => Self::Input,
            (_, Some(literal)) if literal.starts_with('@') => Self::Typed(literal.to_owned()),
            (_, Some(path)) => Self::File(PathBuf::from(path)),
            (text, None) => Self::Typed(text.to_owned()),
        })
    }

    /// Reads the content. A file is checked, but its bytes are not loaded.
    pub fn read(self) -> Result<ContentArgument> {
        Ok(match self {
            Self::Agent(text) => ContentArgument { content: text.into_bytes().into(), origin: Origin::Agent },
            Self::Typed(text) => ContentArgument { content: text.into_bytes().into(), origin: Origin::Shell },
            Self::Input => {
                let mut bytes = Vec::new();
                std::io::stdin()
                    .lock()
                    .read_to_end(&mut bytes)
                    .map_err(|error| Error::new(Code::FileFailed, format!("Cannot read standard input: {error}")))?;
                ContentArgument { content: bytes.into(), origin: Origin::Shell }
            }
            Self::File(path) => {
                let content = NewContent::file(&path).map_err(|error| {
                    error.hint(
                        "use `@PATH` to read a file, `-` to read standard input, and `@@` \
                        for a text that begins with `@`",
                    )
                })?;
                ContentArgument { content, origin: Origin::File(path) }
            }
        })
    }

    /// Reads the content as a prompt's text; see [`prompt`].
    pub fn read_prompt(self) -> Result<String> {
        prompt(self.read()?.content.bytes()?.into_owned())
    }
}

/// Converts bytes to a prompt's text. Fails if they are empty, not UTF-8, or contain U+0000.
pub fn prompt(bytes: Vec<u8>) -> Result<String> {
    if bytes.is_empty() {
        return Err(Error::new(Code::InvalidArgument, "Prompt content cannot be empty"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Error::new(Code::InvalidArgument, "Prompt content is not UTF-8 text")
            .hint("store binary content with `mcpkg resource create`")
            .with_source(error)
    })?;
    mcpkg_core::names::check_text("Prompt content", &text)?;
    Ok(text)
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::Agent)
    }
}

impl schemars::JsonSchema for Content {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Content".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// Parses `NAME=VALUE` from the command line.
pub fn key_value(argument: &str) -> Result<(String, String)> {
    match argument.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Error::new(Code::InvalidArgument, format!("'{argument}' does not have the form NAME=VALUE"))),
    }
}

/// Parses the declaration of a template argument: `NAME`, or `NAME?` if it is optional. Either may end in
/// `=DESCRIPTION`.
pub fn declaration(argument: &str) -> Result<mcpkg_store::prompts::Argument> {
    let (name, description) = match argument.split_once('=') {
        Some((name, description)) => (name, Some(description.to_owned())),
        None => (argument, None),
    };
    let (name, required) = match name.strip_suffix('?') {
        Some(name) => (name, false),
        None => (name, true),
    };
    let declared = mcpkg_store::prompts::Argument { name: name.to_owned(), description, required };
    mcpkg_agents::template::check_arguments(std::slice::from_ref(&declared))?;
    Ok(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shell_expands_files() {
        let agent: Content = serde_json::from_str("\"@/etc/passwd\"").unwrap();
        assert_eq!(agent, Content::Agent("@/etc/passwd".to_owned()));
        let typed = |text: &str| Content::Typed(text.to_owned());
        assert_eq!(Content::from_shell("@@x").unwrap(), typed("@x"));
        assert_eq!(Content::from_shell("plain").unwrap(), typed("plain"));
        assert_eq!(Content::from_shell("-").unwrap(), Content::Input);
        assert_eq!(Content::from_shell("@/no/such/file").unwrap().read().unwrap_err().code(), Code::NotFound);
    }

    #[test]
    fn declarations_say_what_is_required() {
        let focus = declaration("focus?=What to look at").unwrap();
        assert!(!focus.required);
        assert_eq!(focus.description.as_deref(), Some("What to look at"));
        assert!(declaration("focus").unwrap().required);
        assert!(declaration("two words").is_err());
    }
}
