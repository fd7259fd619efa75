//! Answers the hot reads, which are the five most frequent requests, such as prompts/get: writes their results as JSON.
//!
//! Both the front and rmcp's handler use this module, so that their answers cannot differ.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::era::Era;
use super::{Config, by_uri, prompts, resources, tools, words};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;

#[derive(Debug)]
pub(super) enum Read<'a> {
    /// `splits` says whether the client passes each word that the user types as a separate argument. This follows from
    /// the client's name, which only requests of 2026-07-28 contain.
    Prompts {
        cursor: Option<Cow<'a, str>>,
        splits: bool,
    },
    Prompt {
        name: Cow<'a, str>,
        arguments: BTreeMap<String, String>,
    },
    Resources {
        cursor: Option<Cow<'a, str>>,
    },
    Resource {
        uri: Cow<'a, str>,
    },
    Tools {
        cursor: Option<Cow<'a, str>>,
    },
}

/// The parameters of the hot reads, not parsed yet.
#[derive(Default, Deserialize)]
struct Parameters<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl<'a> Read<'a> {
    pub(super) fn is_hot(method: &str) -> bool {
        matches!(method, "prompts/get" | "resources/read" | "prompts/list" | "resources/list" | "tools/list")
    }

    /// Returns whether the read takes several statements, which have to see the same state of the database.
    pub(super) fn looks_twice(&self) -> bool {
        match self {
            Read::Resource { uri } => by_uri::may_be_of_domain(uri),
            Read::Tools { .. } => true,
            // With a cursor, the read also compares the cursor's project with the selected one.
            Read::Prompts { cursor, .. } | Read::Resources { cursor } => cursor.is_some(),
            Read::Prompt { .. } => false,
        }
    }

    /// Parses the parameters of a hot read.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with the name of the parameter.
    pub(super) fn parse(method: &str, parameters: Option<&'a RawValue>) -> Result<Self> {
        let parameters: Parameters<'a> = match parameters {
            Some(raw) => serde_json::from_str(raw.get())
                .map_err(|error| Error::new(Code::InvalidArgument, format!("Invalid params for {method}: {error}")))?,
            None => Parameters::default(),
        };
        let required = |parameter: &str, raw: Option<&'a RawValue>| {
            let raw = raw.ok_or_else(|| {
                Error::new(Code::InvalidArgument, format!("Invalid params for {method}: `{parameter}` is missing"))
            })?;
            string(method, parameter, raw)
        };
        let cursor = || match parameters.cursor.filter(|raw| raw.get() != "null") {
            Some(raw) => string(method, "cursor", raw).map(Some),
            None => Ok(None),
        };
        Ok(match method {
            "prompts/list" => Read::Prompts { cursor: cursor()?, splits: splits(parameters.meta) },
            "resources/list" => Read::Resources { cursor: cursor()? },
            "tools/list" => Read::Tools { cursor: cursor()? },
            "resources/read" => Read::Resource { uri: required("uri", parameters.uri)? },
            _ => Read::Prompt {
                name: required("name", parameters.name)?,
                arguments: match parameters.arguments {
                    Some(raw) => arguments(method, raw)?,
                    None => BTreeMap::new(),
                },
            },
        })
    }
}

/// Returns whether the `_meta` of a request names a client that passes each typed word as a separate argument.
fn splits(meta: Option<&RawValue>) -> bool {
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
        info: Option<Info<'a>>,
    }
    #[derive(Deserialize)]
    struct Info<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let meta = meta.filter(|raw| raw.get().contains(words::SPLITS));
    let meta = meta.and_then(|raw| serde_json::from_str::<Meta<'_>>(raw.get()).ok());
    meta.and_then(|meta| meta.info).is_some_and(|info| info.name == words::SPLITS)
}

fn string<'a>(method: &str, parameter: &str, raw: &'a RawValue) -> Result<Cow<'a, str>> {
    let text = raw.get();
    // A string without escapes is borrowed from the request.
    if text.len() >= 2 && text.starts_with('"') && !text.contains('\\') {
        return Ok(Cow::Borrowed(&text[1..text.len() - 1]));
    }
    serde_json::from_str(text).map(Cow::Owned).map_err(|error| {
        Error::new(Code::InvalidArgument, format!("Invalid params for {method}: `{parameter}` must be a string"))
            .with_source(error)
    })
}

fn arguments(method: &str, raw: &RawValue) -> Result<BTreeMap<String, String>> {
    if raw.get() == "null" {
        return Ok(BTreeMap::new());
    }
    let values: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).map_err(|error| {
        Error::new(Code::InvalidArgument, format!("Invalid params for {method}: `arguments` must be an object"))
            .with_source(error)
    })?;
    values
        .into_iter()
        .map(|(name, value)| {
            let text = string(method, &format!("arguments.{name}"), value)?.into_owned();
            Ok((name, text))
        })
        .collect()
}

/// Appends the result of `read` to `out`. On failure, `out` is unchanged.
pub(super) fn answer(db: &Db<'_>, config: &Config, read: &Read<'_>, era: Era, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    let answered = match read {
        Read::Prompts { cursor, splits } => prompts::list(db, &config.selection, cursor.as_deref(), *splits, era, out),
        Read::Prompt { name, arguments } => prompts::get(db, config, name, arguments, era, out),
        Read::Resources { cursor } => resources::list(db, config, cursor.as_deref(), era, out),
        Read::Resource { uri } => by_uri::read(db, config, uri, era, out),
        Read::Tools { cursor } => tools::push_list(db, config, cursor.as_deref(), era, out),
    };
    if answered.is_err() {
        out.truncate(start);
    }
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &str, text: &str) -> String {
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        match Read::parse(method, Some(&raw)) {
            Ok(read) => format!("{read:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn parameters_are_named_when_they_are_wrong() {
        assert_eq!(parse("prompts/get", "{}"), "Invalid params for prompts/get: `name` is missing");
        assert_eq!(parse("prompts/get", r#"{"name":5}"#), "Invalid params for prompts/get: `name` must be a string");
        assert_eq!(
            parse("resources/read", r#"{"uri":[]}"#),
            "Invalid params for resources/read: `uri` must be a string"
        );
        assert_eq!(
            parse("prompts/get", r#"{"name":"a","arguments":{"x":1}}"#),
            "Invalid params for prompts/get: `arguments.x` must be a string"
        );
        assert_eq!(parse("prompts/get", r#"{"name":"caf\u00e9"}"#), r#"Prompt { name: "café", arguments: {} }"#);
        assert_eq!(parse("prompts/list", r#"{"cursor":null}"#), "Prompts { cursor: None, splits: false }");
    }
}
