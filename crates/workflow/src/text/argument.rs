//! Arguments that are texts or objects: agents pass the content itself, the shell passes a file or `-` for standard input.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::definition::is_identifier;
use crate::finding::has_errors;
use crate::limits::MAX_BYTES;
use crate::yaml;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_core::op::Context;
use mcpkg_store::{blobs, workflows};

/// The source of a text argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The text itself, passed by an agent.
    Agent(String),
    /// A path from the command line. Some commands also accept the name of a saved workflow here.
    File(PathBuf),
    Input,
}

/// A JSON object: passed by an agent, or read from a JSON or YAML file named on the command line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Object {
    Agent(Map<String, Value>),
    Shell(Text),
}

/// Parses a FILE argument, where `-` is standard input. Files are read later, so this never fails.
pub(crate) fn text(argument: &str) -> Result<Text, std::convert::Infallible> {
    Ok(match argument {
        "-" => Text::Input,
        path => Text::File(PathBuf::from(path)),
    })
}

/// Parses a FILE argument that contains an object.
pub(crate) fn object(argument: &str) -> Result<Object, std::convert::Infallible> {
    text(argument).map(Object::Shell)
}

impl Text {
    /// Reads the text. From a file or standard input, reads at most one byte more than the limit for workflows. That is
    /// enough for the check to report that the text is too long.
    pub(crate) fn read(&self) -> Result<String> {
        let bytes = match self {
            Self::Agent(text) => return Ok(text.clone()),
            Self::File(path) => {
                file::open(path).and_then(beginning).map_err(|error| Error::file("read", path, error))?
            }
            Self::Input => beginning(std::io::stdin().lock())
                .map_err(|error| Error::new(Code::FileFailed, format!("Cannot read standard input: {error}")))?,
        };
        let is_cut = bytes.len() > MAX_BYTES;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            // The limit may have cut a character in two.
            Err(error) if is_cut && error.utf8_error().valid_up_to() + 4 > MAX_BYTES => {
                Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
            }
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(Error::new(
                    Code::InvalidArgument,
                    format!("{} is not UTF-8 text: invalid byte at {at}", self.name()),
                )
                .with_source(error))
            }
        }
    }

    /// Reads the text. If the file does not exist, reads the saved workflow with this name instead.
    pub(crate) fn read_or_saved(&self, context: &Context) -> Result<String> {
        let name = match self {
            Self::File(path) if !path.exists() => path.to_str().filter(|name| is_identifier(name)),
            _ => None,
        };
        let Some(name) = name else { return self.read() };
        let saved = context.read(|db, project| {
            let workflow = workflows::get(db, project, name)?;
            blobs::get(db, workflow.blob)
        });
        match saved {
            Ok(bytes) => String::from_utf8(bytes)
                .map_err(|error| blobs::damaged_value("a workflow's text is not UTF-8").with_source(error)),
            Err(error) if error.code() == Code::NoProject => self.read().map_err(|error| {
                error.hint(
                    "no project is selected, so mcpkg looked for a file only; `mcpkg project select NAME` selects one",
                )
            }),
            Err(error) if error.code() == Code::NotFound => Err(error.hint(format!("there is also no file `{name}`"))),
            Err(error) => Err(error),
        }
    }

    /// Returns the path of the file, if it exists.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path.as_path()).filter(|path| path.exists()),
            Self::Agent(_) | Self::Input => None,
        }
    }

    /// Returns the name that messages use for the text.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        match self {
            Self::Agent(_) => "workflow".into(),
            Self::File(path) => path.to_string_lossy(),
            Self::Input => "-".into(),
        }
    }
}

fn beginning(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Object {
    /// Reads the object. Any other kind of value is an error.
    pub(crate) fn read(self) -> Result<Map<String, Value>> {
        let text = match self {
            Self::Agent(map) => return Ok(map),
            Self::Shell(text) => text,
        };
        let read = yaml::read(&text.read()?);
        let first = read.findings.iter().find(|_| has_errors(&read.findings));
        match (read.value, first) {
            (Some(Value::Object(map)), None) => Ok(map),
            (_, Some(found)) => {
                let at = format!("{}:{}:{}", text.name(), found.span.line, found.span.column);
                Err(Error::new(Code::InvalidArgument, format!("{at}: {}", found.message)))
            }
            _ => Err(Error::new(Code::InvalidArgument, format!("{} is not a mapping", text.name()))),
        }
    }

    /// Reads a workflow draft without its `diagnostics`, which are remarks about the workflow and not part of it.
    pub(crate) fn read_draft(self) -> Result<Map<String, Value>> {
        let mut draft = self.read()?;
        draft.shift_remove("diagnostics");
        Ok(draft)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::Agent)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::Agent)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl JsonSchema for Object {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Object".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}
