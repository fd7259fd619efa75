//! Reads the protocol revision from a request's `_meta`.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What a request's `_meta` says about its protocol revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Meta {
    /// The request has none of the `_meta` fields of revision 2026-07-28.
    Plain,
    /// The version is 2026-07-28, and all fields that it requires are present.
    Modern,
    /// Anything else; rmcp reports what is wrong with it.
    Odd,
}

/// The protocol revision without a handshake.
pub(in crate::mcp) const MODERN: &str = "2026-07-28";

/// Classifies a request's `_meta` by its protocol revision.
pub(in crate::mcp) fn meta(parameters: Option<&RawValue>) -> Meta {
    #[derive(Deserialize)]
    struct Outer<'a> {
        #[serde(borrow, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Inner<'a> {
        #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
        version: Option<&'a RawValue>,
        #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
        capabilities: Option<&'a RawValue>,
        #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
        info: Option<&'a RawValue>,
    }
    let Some(raw) = parameters.filter(|raw| raw.get().contains("io.modelcontextprotocol/")) else {
        return Meta::Plain;
    };
    let Ok(Outer { meta: Some(inner) }) = serde_json::from_str::<Outer<'_>>(raw.get()) else {
        return Meta::Plain;
    };
    let Ok(inner) = serde_json::from_str::<Inner<'_>>(inner.get()) else {
        return Meta::Odd;
    };
    let is_object = |raw: Option<&RawValue>| raw.is_some_and(|raw| raw.get().starts_with('{'));
    match inner.version.map(RawValue::get) {
        None if inner.capabilities.is_none() && inner.info.is_none() => Meta::Plain,
        Some(version) if version.trim_matches('"') == MODERN && is_object(inner.capabilities) => Meta::Modern,
        _ => Meta::Odd,
    }
}
