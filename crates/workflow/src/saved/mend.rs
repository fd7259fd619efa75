//! Corrects known mistakes in workflows that were written for other programs, and notes each correction. Only unambiguous
//! corrections are made.

use serde_json::{Map, Value};

use super::model::{Model, written};
use crate::yaml;
use mcpkg_base::error::Result;

#[derive(Debug)]
pub struct Mended {
    pub text: String,
    /// The corrections, one line each.
    pub notes: Vec<String>,
}

/// Corrects a text: renames `when` to `if`, removes null and empty fields, puts the colon into command ids (`apps list` ->
/// `apps:list`), and turns examples that are mappings or lists into text. Returns `None` if there is nothing to correct, or if
/// errors remain.
pub fn mended(text: &str) -> Result<Option<Mended>> {
    let Some(Value::Object(mut workflow)) = yaml::read(text).value else { return Ok(None) };
    let mut notes = Vec::new();
    without_nulls(&mut workflow, "the workflow", &mut notes);
    for (name, input) in named(workflow.get_mut("inputs"), "name") {
        let what = format!("input '{name}'");
        without_nulls(input, &what, &mut notes);
        command(input, "provider", &what, &mut notes);
        example(input, &what, &mut notes);
    }
    for (name, step) in named(workflow.get_mut("steps"), "id") {
        let what = format!("step '{name}'");
        condition(step, &what, &mut notes);
        without_nulls(step, &what, &mut notes);
        command(step, "run", &what, &mut notes);
    }
    if notes.is_empty() {
        return Ok(None);
    }
    let Ok(definition) = serde_json::from_value(Value::Object(workflow)) else { return Ok(None) };
    if text.contains('#') {
        notes.push("rewritten without its comments".to_owned());
    }
    let text = written(&definition)?;
    Ok(Model::of(&text).is_ok().then_some(Mended { text, notes }))
}

/// Returns the inputs or steps with their names, from a mapping or from a list.
fn named<'v>(value: Option<&'v mut Value>, key: &str) -> Vec<(String, &'v mut Map<String, Value>)> {
    match value {
        Some(Value::Object(values)) => {
            values.iter_mut().filter_map(|(name, value)| Some((name.clone(), value.as_object_mut()?))).collect()
        }
        Some(Value::Array(values)) => values
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .map(|fields| (fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned(), fields))
            .collect(),
        _ => Vec::new(),
    }
}

/// Removes null fields, empty lists and empty mappings. Nulls in the arguments of a command stay, because null is a value there.
fn without_nulls(fields: &mut Map<String, Value>, what: &str, notes: &mut Vec<String>) {
    for (key, value) in
        fields.iter_mut().filter(|(key, _)| !matches!(key.as_str(), "inputs" | "steps" | "with" | "body"))
    {
        if let Value::Object(fields) = value {
            without_nulls(fields, &format!("{key} of {what}"), notes);
        }
    }
    // Also remove mappings and lists that have become empty.
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(values) => values.is_empty(),
        _ => false,
    };
    let gone: Vec<String> = fields
        .iter()
        .filter(|(key, value)| {
            value.is_null() || (empty(value) && !matches!(key.as_str(), "inputs" | "steps" | "body"))
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in &gone {
        fields.shift_remove(key);
    }
    if !gone.is_empty() {
        notes.push(format!("{what}: removed empty fields: {}", gone.join(", ")));
    }
}

fn condition(step: &mut Map<String, Value>, what: &str, notes: &mut Vec<String>) {
    if step.contains_key("if") || !step.contains_key("when") {
        return;
    }
    let fields = std::mem::take(step).into_iter();
    *step = fields.map(|(key, value)| (if key == "when" { "if".to_owned() } else { key }, value)).collect();
    if !step.get("if").is_some_and(Value::is_null) {
        notes.push(format!("{what}: `when` is now `if`"));
    }
}

/// Writes a command's id with a colon: `apps list` becomes `apps:list`.
fn command(fields: &mut Map<String, Value>, key: &str, what: &str, notes: &mut Vec<String>) {
    let Some(Value::String(id)) = fields.get_mut(key) else { return };
    let Some((group, name)) = id.trim().split_once(' ').map(|(group, name)| (group, name.trim())) else { return };
    if group.contains(':') || name.is_empty() || name.contains(char::is_whitespace) {
        return;
    }
    let whole = if name.starts_with(&format!("{group}:")) { name.to_owned() } else { format!("{group}:{name}") };
    notes.push(format!("{what}: `{id}` is now `{whole}`"));
    *id = whole;
}

/// Converts an example that is a mapping or a list to text.
fn example(input: &mut Map<String, Value>, what: &str, notes: &mut Vec<String>) {
    if let Some(example @ (Value::Object(_) | Value::Array(_))) = input.get_mut("example") {
        *example = Value::String(example.to_string());
        notes.push(format!("{what}: the example is now text"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_was_mended_has_a_note() {
        let text = "workflow: a\ntitle: null\ninputs:\n  app:\n    provider: apps list\n    example: {id: 1}\n    hint: ~\n\
                    steps:\n  - id: one\n    run: apps create\n    when: inputs.app\n    with: {tag: null, app: \"${{ inputs.app \
                    }}\"}\n    depends_on: []\n\
                    \x20 - id: two\n    run: apps apps:info\n    repeat: {until: null}\n";
        let mended = mended(text).unwrap().unwrap();
        assert_eq!(
            mended.notes,
            [
                "the workflow: removed empty fields: title",
                "input 'app': removed empty fields: hint",
                "input 'app': `apps list` is now `apps:list`",
                "input 'app': the example is now text",
                "step 'one': `when` is now `if`",
                "step 'one': removed empty fields: depends_on",
                "step 'one': `apps create` is now `apps:create`",
                "repeat of step 'two': removed empty fields: until",
                "step 'two': removed empty fields: repeat",
                "step 'two': `apps apps:info` is now `apps:info`",
            ]
        );
        assert!(mended.text.contains("tag: null"), "null is a value there: {}", mended.text);
        assert!(super::mended(&mended.text).unwrap().is_none(), "{}", mended.text);
        assert!(super::mended("workflow: a\nsteps:\n  - {id: one, run: apps:list}\n").unwrap().is_none());
    }
}
