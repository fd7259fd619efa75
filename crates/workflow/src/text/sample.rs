//! Values by name: an object from an agent, `NAME=VALUE` from the shell.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::error::{Code, Error, Result};

/// A value with its name.
#[derive(Clone, Debug)]
pub(in crate::workflow) struct Sample {
    /// The name.
    pub(in crate::workflow) name: String,
    /// The value.
    pub(in crate::workflow) value: Sampled,
}

/// How a value was given.
#[derive(Clone, Debug)]
pub(in crate::workflow) enum Sampled {
    /// As JSON.
    Json(Value),
    /// On a command line, whose text is read as the type of what has the name.
    Typed(String),
}

/// Takes a command line's `NAME=VALUE`.
///
/// # Errors
/// `E_INVALID_ARGUMENT`.
pub(in crate::workflow) fn sample(argument: &str) -> Result<Sample> {
    match argument.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Sample { name: name.to_owned(), value: Sampled::Typed(value.to_owned()) })
        }
        _ => Err(Error::new(Code::InvalidArgument, format!("'{argument}' is not of the form NAME=VALUE"))),
    }
}

/// Takes an agent's object.
pub(in crate::workflow) fn samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Sample>, D::Error> {
    let given = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(given.into_iter().map(|(name, value)| Sample { name, value: Sampled::Json(value) }).collect())
}
