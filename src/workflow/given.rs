//! A workflow as a caller gives it: a text or an object from an agent; a file, or standard input, from the shell.

use std::io::Read;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Code, Error, Result};
use crate::file;
use crate::workflow::limits::MAX_BYTES;

/// A text as a caller named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// A JSON string of a tool call.
    Agent(String),
    /// Standard input.
    Input,
    /// A file.
    File(PathBuf),
}

impl Text {
    /// Takes a command line's FILE; `-` is standard input.
    ///
    /// # Errors
    /// None: what cannot be read is not a matter of how the command was written.
    pub fn from_shell(argument: &str) -> Result<Self, std::convert::Infallible> {
        Ok(if argument == "-" { Self::Input } else { Self::File(PathBuf::from(argument)) })
    }

    /// Reads it.
    ///
    /// # Errors
    /// `E_NOT_FOUND`, `E_FILE_FAILED`; `E_INVALID_ARGUMENT` where it is no text, or more than a workflow may have.
    pub fn read(&self) -> Result<String> {
        let bytes = match self {
            Self::Agent(text) => text.clone().into_bytes(),
            Self::Input => {
                let mut bytes = Vec::new();
                let read = std::io::stdin().lock().take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
                read.map_err(|error| Error::new(Code::FileFailed, format!("Cannot read standard input: {error}")))?;
                bytes
            }
            Self::File(path) => {
                file::read(path, MAX_BYTES as u64).map_err(|error| Error::file("read", path, error))?
            }
        };
        text(bytes)
    }
}

/// Returns bytes that a person gave as the text of a workflow.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where they are not UTF-8, hold U+0000, or are more than a text may have.
pub fn text(bytes: Vec<u8>) -> Result<String> {
    if bytes.len() > MAX_BYTES {
        let why = format!("The text has {} bytes; a workflow has at most {}", bytes.len(), MAX_BYTES);
        return Err(Error::new(Code::InvalidArgument, why));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::new(Code::InvalidArgument, "The text is not UTF-8").with_source(error))?;
    if text.contains('\0') {
        return Err(Error::new(Code::InvalidArgument, "The text contains the character U+0000"));
    }
    Ok(text)
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::Agent)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// An object as a caller gave it.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Object(pub Map<String, Value>);

/// Takes a command line's JSON.
///
/// # Errors
/// What is wrong with it as JSON.
pub fn object(argument: &str) -> Result<Object, serde_json::Error> {
    serde_json::from_str(argument)
}
