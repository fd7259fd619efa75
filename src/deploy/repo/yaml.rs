//! YAML that says where it is wrong: errors with line and column, and with what was probably meant.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Options, Spanned};

use crate::error::{Code, Error, Result, nearest};

/// A mapping with a place for each key, in the order of the file.
#[derive(Debug)]
pub(super) struct Pairs<T>(pub(super) Vec<(Spanned<String>, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// Reads the YAML `text` of the file `path`.
///
/// # Errors
/// `E_CONFIG_INVALID` with path, error, line and column where it is malformed, or has a key that nobody reads.
pub(super) fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    let mut options = Options::default();
    options.with_snippet = false;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let why = error.to_string().lines().next().unwrap_or_default().to_owned();
        let place = error.location();
        let (why, meant) = match error.without_snippet() {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                let why = format!("unknown key `{field}`; known are {}", expected.join(", "));
                (why, nearest(field, expected.iter().copied()).map(str::to_owned))
            }
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => {
                let why = format!("unknown value `{variant}`; known are {}", expected.join(", "));
                (why, nearest(variant, expected.iter().copied()).map(str::to_owned))
            }
            _ => (strip_place(&why, place).to_owned(), None),
        };
        let mut details = Map::new();
        details.insert("error".to_owned(), why.clone().into());
        if let Some(meant) = &meant {
            details.insert("did_you_mean".to_owned(), meant.clone().into());
        }
        let error = invalid(path, place, &why, details);
        match meant {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// Returns `E_CONFIG_INVALID` about a place in the file `path`, with path, line and column among the details.
pub(super) fn invalid(path: &Path, place: Option<Location>, why: &str, details: Map<String, Value>) -> Error {
    at(Code::ConfigInvalid, path, place, why, details)
}

/// Returns an error of `code` about a place in the file `path`, with path, line and column among the details.
pub(super) fn at(
    code: Code,
    path: &Path,
    place: Option<Location>,
    why: &str,
    mut details: Map<String, Value>,
) -> Error {
    details.insert("path".to_owned(), path.display().to_string().into());
    let known = place.filter(|place| *place != Location::UNKNOWN);
    let shown = match known {
        Some(place) => {
            details.insert("line".to_owned(), place.line().into());
            details.insert("column".to_owned(), place.column().into());
            format!("{}:{}:{}", path.display(), place.line(), place.column())
        }
        None => path.display().to_string(),
    };
    Error::new(code, format!("`{shown}`: {why}")).with_details(Value::Object(details))
}

/// Takes the reader's own words for a place off a message; ours stand before it.
fn strip_place(why: &str, place: Option<Location>) -> &str {
    let Some(place) = place else { return why };
    let prefix = format!("error: line {} column {}: ", place.line(), place.column());
    let why = why.strip_prefix(&prefix).unwrap_or(why);
    why.split(&format!(" at line {}, column {}", place.line(), place.column())).next().unwrap_or(why)
}
