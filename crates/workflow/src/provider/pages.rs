//! Fetches the pages of a provider's list, at most [`MOST_PAGES`] pages and [`MOST_ELEMENTS`] elements.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::commands;
use crate::expression::value_at;
use crate::output::segments;
use crate::running::{Answered, Running};
use crate::spec::{CommandSpec, Place};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

pub(super) const MOST_PAGES: usize = 20;

pub(super) const MOST_ELEMENTS: usize = 1_000;

/// Fetches the elements of a provider's list. Fails with `E_HTTP_FAILED` if the output has no list.
pub(super) fn elements(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Vec<Value>> {
    gathered(spec, with, |with| {
        context.unless_cancelled()?;
        let running = Running { spec, with, body: None, key: None };
        commands::run(context, &running).map_err(|failed| failed.error)
    })
}

fn gathered(
    spec: &CommandSpec,
    with: &Map<String, Value>,
    mut ask: impl FnMut(&Map<String, Value>) -> Result<Answered>,
) -> Result<Vec<Value>> {
    let pagination = spec.output_contract.pagination.as_ref();
    let said = |key: &str| pagination.and_then(|pagination| pagination.get(key)).and_then(Value::as_str);
    let list = said("items_path").or(spec.output_contract.list.as_deref()).unwrap_or(".");
    let (mut with, mut all, mut asked) = (with.clone(), Vec::new(), HashSet::new());
    for _ in 0..MOST_PAGES {
        // Stop if the pages form a cycle.
        if !asked.insert(Value::Object(with.clone()).to_string()) {
            break;
        }
        let answered = ask(&with)?;
        let Some(page) = value_at(&answered.output, &segments(list)).and_then(Value::as_array) else {
            let why = format!("the output of {} has no list at '{list}'", spec.id);
            return Err(Error::new(Code::HttpFailed, why));
        };
        all.extend(page.iter().take(MOST_ELEMENTS - all.len()).cloned());
        let is_more = !page.is_empty() && all.len() < MOST_ELEMENTS;
        let next = said("style").filter(|_| is_more).and_then(|style| match style {
            "cursor" => {
                let cursor = value_at(&answered.output, &segments(said("next_cursor_path")?))?;
                let is_one = !matches!(cursor, Value::Null | Value::Bool(_)) && cursor != "";
                is_one.then(|| vec![(said("param").unwrap_or("cursor").to_owned(), cursor.clone())])
            }
            "page" => {
                let param = said("param").unwrap_or("page");
                Some(vec![(param.to_owned(), json!(number(spec, &with, param).unwrap_or(1) + 1))])
            }
            "offset" => {
                let param = said("param").unwrap_or("offset");
                let from = number(spec, &with, param).unwrap_or(0);
                Some(vec![(param.to_owned(), json!(from + page.len() as u64))])
            }
            "link" => answered.next.as_deref().map(|address| query(spec, address)),
            _ => None,
        });
        let Some(next) = next.filter(|next| !next.is_empty()) else { break };
        with.extend(next.into_iter().map(|(name, value)| (name.clone(), typed(spec, &name, value))));
    }
    Ok(all)
}

/// Returns a numeric argument: the given value, or the default.
fn number(spec: &CommandSpec, with: &Map<String, Value>, name: &str) -> Option<u64> {
    let default = spec.flags.iter().find(|flag| flag.name == name).and_then(|flag| flag.default.as_ref());
    let value = with.get(name).or(default)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Reads the command's arguments from the query of a URL. The rest of the URL is ignored, because the next page is requested
/// with the same command.
fn query(spec: &CommandSpec, address: &str) -> Vec<(String, Value)> {
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let known = pairs.filter_map(|(key, value)| {
        let key = decoded(key);
        let flag = spec
            .flags
            .iter()
            .find(|flag| flag.r#in == Some(Place::Query) && flag.key.as_deref().unwrap_or(&flag.name) == key)?;
        Some((flag.name.clone(), decoded(value).into()))
    });
    known.collect()
}

/// Converts a value to the type of an argument.
fn typed(spec: &CommandSpec, name: &str, value: Value) -> Value {
    let wanted = spec.flags.iter().find(|flag| flag.name == name).map(|flag| flag.r#type.as_str());
    match (wanted, value) {
        (Some("string"), value @ Value::Number(_)) => value.to_string().into(),
        (Some("integer" | "number"), Value::String(text)) => {
            text.parse::<u64>().map_or_else(|_| Value::String(text), Value::from)
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Flag, OutputContract, SourceKind};

    fn spec(pagination: Value) -> CommandSpec {
        let flag = |name: &str, kind: &str| Flag { r#in: Some(Place::Query), ..Flag::new(name, kind) };
        CommandSpec {
            flags: vec![flag("page", "integer"), flag("after", "string"), flag("limit", "integer")],
            output_contract: OutputContract {
                list: Some("items".to_owned()),
                pagination: pagination.as_object().cloned(),
                ..OutputContract::default()
            },
            ..CommandSpec::new("apps:list", SourceKind::Catalogs)
        }
    }

    /// Returns at most ten of 45 elements, from the offset in `limit`, the page in `page`, or the cursor in `after`.
    fn page(with: &Map<String, Value>) -> Answered {
        let after = with.get("after").and_then(Value::as_str).and_then(|after| after.parse().ok());
        let offset = with.get("limit").and_then(Value::as_u64);
        let page = with.get("page").and_then(Value::as_u64).map(|page| (page - 1) * 10);
        let from: u64 = after.or(offset).or(page).unwrap_or(0);
        let items: Vec<u64> = (from..45.min(from + 10)).collect();
        let next = from + 10;
        let cursor = (next < 45).then(|| next.to_string());
        let link = (next < 45).then(|| format!("https://elsewhere.example/x?page={}&evil=1", next / 10 + 1));
        Answered { next: link, ..Answered::of(json!({ "items": items, "more": { "next": cursor } })) }
    }

    #[test]
    fn x17_pages_are_followed_as_they_are_declared() {
        for (pagination, pages) in [
            (json!({ "style": "cursor", "param": "after", "next_cursor_path": "more.next" }), 5),
            (json!({ "style": "page" }), 6),
            (json!({ "style": "offset", "param": "limit" }), 6),
            (json!({ "style": "link" }), 5),
        ] {
            let mut asked = Vec::new();
            let all = gathered(&spec(pagination.clone()), &Map::new(), |with| {
                asked.push(with.clone());
                Ok(page(with))
            });
            assert_eq!(all.unwrap(), (0..45).map(Value::from).collect::<Vec<_>>(), "{pagination}");
            assert!(asked.len() <= pages && asked.iter().all(|with| !with.contains_key("evil")), "{asked:?}");
        }
        assert_eq!(gathered(&spec(json!(null)), &Map::new(), |with| Ok(page(with))).unwrap().len(), 10);
    }

    #[test]
    fn a_list_without_end_ends() {
        let spec = spec(json!({ "style": "page" }));
        let mut pages = 0;
        let all = gathered(&spec, &Map::new(), |_| {
            pages += 1;
            Ok(Answered::of(json!({ "items": [pages] })))
        });
        assert_eq!((all.unwrap().len(), pages), (MOST_PAGES, MOST_PAGES));
        let large: Vec<u64> = (0..700).collect();
        let all = gathered(&spec, &Map::new(), |_| Ok(Answered::of(json!({ "items": large }))));
        assert_eq!(all.unwrap().len(), MOST_ELEMENTS);
        let circle = self::spec(json!({ "style": "cursor", "param": "after", "next_cursor_path": "next" }));
        let all = gathered(&circle, &Map::new(), |_| Ok(Answered::of(json!({ "items": [1], "next": "a" }))));
        assert_eq!(all.unwrap().len(), 2);
        assert!(gathered(&circle, &Map::new(), |_| Ok(Answered::of(json!({ "message": "no" })))).is_err());
    }
}
