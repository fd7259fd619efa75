//! Turns the elements of a provider's list into choices, each with a value and a label.

use std::collections::HashSet;

use serde_json::Value;

use crate::definition::{Input, InputType};
use crate::expression::value_at;
use crate::output::segments;
use crate::spec::{OutputContract, OutputField};

#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub value: Value,
    /// The text shown to people: a name, or the value itself.
    pub label: String,
}

/// Returns the distinct choices among a provider's elements. The value of a choice is the field that the input's `select` names,
/// or else a field with one of the `wanted` tags, or else a field named `id` or `name`. Returns `None` if there is no such field,
/// unless all elements are single values.
pub(super) fn of(
    elements: &[Value],
    input: &Input,
    contract: &OutputContract,
    wanted: &[String],
) -> Option<Vec<Choice>> {
    let select = input.select.clone().unwrap_or_default();
    let field = select.value_field.or_else(|| tagged(contract, wanted)).or_else(|| leaf(contract, elements));
    if field.is_none() && elements.iter().any(|element| element.is_object() || element.is_array()) {
        return None;
    }
    let display = select.display_field.or_else(|| tagged(contract, &["display".to_owned()]));
    let at =
        |element: &Value, field: &str| value_at(element, &segments(field)).filter(|value| is_scalar(value)).cloned();
    let mut seen = HashSet::new();
    let choice = |element: &Value| {
        let value = match &field {
            Some(field) => at(element, field)?,
            None => element.clone(),
        };
        let told_apart =
            select.id_field.as_deref().and_then(|field| at(element, field)).unwrap_or_else(|| value.clone());
        if value.is_null() || !seen.insert(told_apart.to_string()) {
            return None;
        }
        let label = at(element, display.as_deref().unwrap_or("name")).unwrap_or_else(|| value.clone());
        Some(Choice { value: fitting(input, value), label: text(&label) })
    };
    Some(elements.iter().filter_map(choice).collect())
}

/// Returns the first field that has the first tag; if no field has that tag, tries the next tag.
fn tagged(contract: &OutputContract, tags: &[String]) -> Option<String> {
    let has = |field: &&OutputField, tag: &String| field.tags.contains(tag);
    tags.iter().find_map(|tag| contract.fields.iter().find(|field| has(field, tag))).map(|field| field.name.clone())
}

/// Returns the field `id`, or else a field with a path that ends with `id`. If there is no such field, looks for `name` in the
/// same way.
fn leaf(contract: &OutputContract, elements: &[Value]) -> Option<String> {
    let named = |leaf: &str| {
        let fields = || contract.fields.iter().map(|field| field.name.as_str());
        let is_there = elements.first().is_some_and(|element| element.get(leaf).is_some());
        let inside = || fields().find(|name| name.rsplit('.').next() == Some(leaf)).map(str::to_owned);
        if is_there || fields().any(|name| name == leaf) { Some(leaf.to_owned()) } else { inside() }
    };
    named("id").or_else(|| named("name"))
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Converts a value to the type of the input: numbers and booleans become text for a text input.
fn fitting(input: &Input, value: Value) -> Value {
    match (input.r#type, value) {
        (InputType::String, value @ (Value::Number(_) | Value::Bool(_))) => value.to_string().into(),
        (_, value) => value,
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::definition::Select;

    fn contract(fields: &[(&str, &[&str])]) -> OutputContract {
        let field = |(name, tags): &(&str, &[&str])| OutputField {
            name: (*name).to_owned(),
            r#type: None,
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        };
        OutputContract { fields: fields.iter().map(field).collect(), ..OutputContract::default() }
    }

    fn chosen(input: &Input, contract: &OutputContract, wanted: &[&str]) -> Option<Vec<(Value, String)>> {
        let elements = [
            json!({ "id": 1, "name": "web", "slug": "w", "owner": { "mail": "a@x" } }),
            json!({ "id": 2, "name": "api", "slug": "a", "owner": { "mail": "a@x" } }),
            json!({ "id": 2, "name": "api", "slug": "a", "owner": {} }),
        ];
        let wanted: Vec<String> = wanted.iter().map(|tag| (*tag).to_owned()).collect();
        let choices = of(&elements, input, contract, &wanted)?;
        Some(choices.into_iter().map(|choice| (choice.value, choice.label)).collect())
    }

    #[test]
    fn the_value_is_selected_or_tagged_or_an_id() {
        let tagged = contract(&[("slug", &["app_slug"]), ("id", &["app_id"]), ("name", &["display"])]);
        let (plain, input) = (contract(&[]), Input::default());
        let web = |value: Value| Some(vec![(value, "web".to_owned())]);
        let first = |found: Option<Vec<(Value, String)>>| found.map(|mut found| found.drain(..1).collect::<Vec<_>>());
        assert_eq!(first(chosen(&input, &tagged, &["app_slug", "app_id"])), web(json!("w")));
        assert_eq!(first(chosen(&input, &tagged, &[])), web(json!("1")));
        assert_eq!(
            first(chosen(&Input { r#type: InputType::Integer, ..Input::default() }, &plain, &[])),
            web(json!(1))
        );
        assert_eq!(chosen(&input, &tagged, &[]).unwrap().len(), 2, "each once");
        let select = Select { value_field: Some("owner.mail".to_owned()), ..Select::default() };
        let selecting = |select| Input { select: Some(select), ..Input::default() };
        assert_eq!(chosen(&selecting(select.clone()), &tagged, &["app_id"]).unwrap().len(), 1);
        let by_id = Select { id_field: Some("id".to_owned()), display_field: Some("slug".to_owned()), ..select };
        let found = chosen(&selecting(by_id), &tagged, &[]).unwrap();
        assert_eq!(found, [(json!("a@x"), "w".to_owned()), (json!("a@x"), "a".to_owned())]);
    }

    #[test]
    fn scalars_are_choices_and_unknown_mappings_are_not() {
        let of = |elements: &[Value]| of(elements, &Input::default(), &contract(&[]), &[]);
        assert_eq!(of(&[json!("eu"), json!("us")]).unwrap()[1].label, "us");
        assert_eq!(of(&[json!({ "key": 1 })]), None);
        assert_eq!(of(&[]), Some(Vec::new()));
    }
}
