//! Named values as arguments: agents pass an object, and the shell takes `NAME=VALUE`.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use mcpkg_base::error::{Code, Error, Result};

#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) value: Sampled,
}

#[derive(Clone, Debug)]
pub(crate) enum Sampled {
    Json(Value),
    /// Text from a command line. It is parsed when its type is known.
    Typed(String),
}

/// Parses a `NAME=VALUE` argument.
pub(crate) fn sample(argument: &str) -> Result<Sample> {
    match argument.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            Ok(Sample { name: name.to_owned(), value: Sampled::Typed(value.to_owned()) })
        }
        _ => Err(Error::new(Code::InvalidArgument, format!("'{argument}' is not of the form NAME=VALUE"))),
    }
}

pub(crate) fn samples<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Sample>, D::Error> {
    let given = Option::<Map<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(given.into_iter().map(|(name, value)| Sample { name, value: Sampled::Json(value) }).collect())
}
