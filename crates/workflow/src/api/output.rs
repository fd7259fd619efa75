//! Derives the output contract of a command: the fields of its answer and, if the answer has a list, where the list is.

use serde_json::{Map, Value};

use super::media::is_json;
use super::reference::References;
use super::schema;
use super::violation::Fault;
use crate::passwords;
use crate::spec::{OutputContract, OutputField};

/// The success statuses, in order of preference.
const STATUSES: [&str; 4] = ["200", "201", "202", "204"];

/// Properties that usually hold the list, if an answer has several arrays.
const LISTS: [&str; 6] = ["items", "results", "data", "values", "entries", "list"];

/// Returns the output contract of an operation. `lists` says whether a list inside an object counts too, as in `{"items": []}`.
pub fn contract<'d>(
    references: References<'d>,
    responses: &'d Value,
    lists: bool,
) -> Result<OutputContract, Fault<'d>> {
    let Some(schema) = answer_schema(references, responses)? else { return Ok(OutputContract::default()) };
    let (outline, cut) = schema::outline(references, schema)?;
    let list = list_path(&outline, lists);
    Ok(OutputContract { more_fields: Some(cut).filter(|cut| *cut > 0), ..described(outline, list) })
}

/// Returns the output contract for a schema with the list at `list`.
pub fn described(schema: Map<String, Value>, list: Option<String>) -> OutputContract {
    let mut fields = Vec::new();
    leaves(elements(&schema, list.as_deref()), "", &mut fields);
    OutputContract { fields, list, more_fields: None, pagination: None, schema: Some(schema) }
}

/// Returns the JSON schema of the preferred success status, if that status has one.
fn answer_schema<'d>(references: References<'d>, responses: &'d Value) -> Result<Option<&'d Value>, Fault<'d>> {
    let Some(responses) = references.follow(responses)?.as_object() else { return Ok(None) };
    let is_success = |status: &&String| status.starts_with('2');
    let status = STATUSES.into_iter().find(|status| responses.contains_key(*status));
    let status = status.or_else(|| responses.keys().find(is_success).map(String::as_str));
    let Some(response) = status.map(|status| references.follow(&responses[status])).transpose()? else {
        return Ok(None);
    };
    let content = response["content"].as_object();
    let media = content.into_iter().flatten().find(|(media, _)| is_json(media));
    let media = media.map(|(_, media)| references.follow(media)).transpose()?;
    Ok(media.and_then(|media| media.get("schema")))
}

/// Returns where the list is in an answer: `.` for the answer itself, else the name of a property.
fn list_path(schema: &Map<String, Value>, wrapped: bool) -> Option<String> {
    if is_array(schema) {
        return Some(".".to_owned());
    }
    let properties = schema.get("properties").and_then(Value::as_object).filter(|_| wrapped)?;
    // An object with an id is a single resource, even if it contains arrays.
    if properties.contains_key("id") {
        return None;
    }
    let arrays: Vec<&String> = properties
        .iter()
        .filter(|(_, schema)| schema.as_object().is_some_and(is_array))
        .map(|(name, _)| name)
        .collect();
    match arrays[..] {
        [only] => Some(only.clone()),
        _ => LISTS.into_iter().find(|name| arrays.iter().any(|array| array == name)).map(str::to_owned),
    }
}

fn is_array(schema: &Map<String, Value>) -> bool {
    kind(schema) == Some("array")
}

fn kind(schema: &Map<String, Value>) -> Option<&str> {
    match schema.get("type")? {
        Value::Array(kinds) => kinds.first()?.as_str(),
        kind => kind.as_str(),
    }
}

/// Returns the element schema of the list at `list`, or the schema itself if there is no list.
fn elements<'s>(schema: &'s Map<String, Value>, list: Option<&str>) -> &'s Map<String, Value> {
    let Some(list) = list else { return schema };
    let keys = list.split('.').filter(|key| !key.is_empty());
    let found = keys.into_iter().try_fold(schema, |schema, key| schema.get("properties")?.get(key)?.as_object());
    found.and_then(|list| list.get("items")?.as_object()).unwrap_or(schema)
}

/// Appends the fields of an object. Nested objects contribute their own fields, such as `owner.login`.
fn leaves(schema: &Map<String, Value>, prefix: &str, fields: &mut Vec<OutputField>) {
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(property) = property.as_object() else { continue };
        let name = format!("{prefix}{name}");
        if kind(property) != Some("array") && property.contains_key("properties") {
            leaves(property, &format!("{name}."), fields);
            continue;
        }
        let tags = property.get("x-mcpkg-tags").and_then(Value::as_array).into_iter().flatten();
        let mut tags: Vec<String> = tags.filter_map(Value::as_str).map(str::to_owned).collect();
        if property.get("format").and_then(Value::as_str) == Some(passwords::FORMAT) {
            tags.push(passwords::TAG.to_owned());
        }
        fields.push(OutputField { name, r#type: kind(property).map(str::to_owned), tags });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(responses: Value) -> OutputContract {
        contract(References::new(&responses), &responses, true).expect("a contract")
    }

    fn names(contract: &OutputContract) -> Vec<&str> {
        contract.fields.iter().map(|field| field.name.as_str()).collect()
    }

    fn answering(schema: Value) -> Value {
        json!({ "content": { "application/json; charset=utf-8": { "schema": schema } } })
    }

    #[test]
    fn the_first_success_counts() {
        let schema = |name: &str| answering(json!({ "properties": { name: { "type": "string" } } }));
        let responses =
            json!({ "default": schema("error"), "202": schema("b"), "201": schema("a"), "206": schema("c") });
        assert_eq!(names(&of(responses)), ["a"]);
        assert_eq!(names(&of(json!({ "2XX": schema("any"), "404": schema("none") }))), ["any"]);
        assert_eq!(of(json!({ "204": { "description": "gone" }, "206": schema("c") })), OutputContract::default());
        assert_eq!(of(json!({ "default": schema("error") })), OutputContract::default());
        assert_eq!(of(json!({ "200": { "content": { "text/plain": { "schema": {} } } } })), OutputContract::default());
    }

    #[test]
    fn lists_are_found_by_their_shape() {
        let array = || json!({ "type": "array", "items": { "properties": { "id": { "type": "string" } } } });
        for (schema, list, fields) in [
            (array(), Some("."), &["id"][..]),
            (json!({ "properties": { "total": { "type": "integer" }, "apps": array() } }), Some("apps"), &["id"]),
            (json!({ "properties": { "apps": array(), "data": array() } }), Some("data"), &["id"]),
            (json!({ "properties": { "apps": array(), "others": array() } }), None, &["apps", "others"]),
            (json!({ "properties": { "id": {}, "apps": array() } }), None, &["id", "apps"]),
            (
                json!({ "properties": { "owner": { "properties": { "id": {}, "plan": { "type": "object" } } } } }),
                None,
                &["owner.id", "owner.plan"],
            ),
        ] {
            let contract = of(json!({ "200": answering(schema) }));
            assert_eq!((contract.list.as_deref(), names(&contract)), (list, fields.to_vec()));
        }
        let wrapped =
            json!({ "200": answering(json!({ "properties": { "id": { "type": "string" }, "tags": array() } })) });
        let one = contract(References::new(&wrapped), &wrapped, false).expect("a contract");
        assert_eq!((one.list.as_deref(), names(&one)), (None, vec!["id", "tags"]));
    }
}
