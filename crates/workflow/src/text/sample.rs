//! Values by name: an object from an agent, `NAME=VALUE` from the shell.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use mcpkg_base::error::{Code, Error, Result};

/// A value with its name.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) value: Sampled,
}

/// How a value was given.
#[derive(Clone, Debug)]
pub(crate) enum Sampled {
    /// As JSON.
    Json(Value),
    /// On a command line, whose text is read as the type of what has the name.
    Typed(String),
}

/// Takes a command line's `NAME=VALUE`.
pub(crate) fn sample(argument: &str) -> Result<Sample> {
    match argument.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Sample { name: name.to_owned(), value: Sampled::Typed(value.to_owned()) })
        }
        _ => Err(Error::new(Code::InvalidArgument, format!("'{argument}' is not of the form NAME=VALUE"))),
    }
}

/// Takes an agent's object.
pub(crate) fn samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Sample>, D::Error> {
    let given = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(given.into_iter().map(|(name, value)| Sample { name, value: Sampled::Json(value) }).collect())
}
