//! Passwords among the arguments of commands: sent as they were approved, and neither stored nor shown.
//!
//! An argument is one by its schema's `format: password`, or by its name. The SHA-256 of a plan is made of the value itself, so that
//! a consent holds for it alone; what is kept of the plan has [`HIDDEN`] instead. A run of which something was hidden goes on in its own
//! process, and cannot be resumed in another one.

use serde_json::{Map, Value};

use crate::redact::{HIDDEN, is_secret_name};
use crate::workflow::check::{Slot, Sound};
use crate::workflow::definition::InputType;
use crate::workflow::expression::{Root, Template};
use crate::workflow::spec::{CommandSpec, Flag};

/// The format of a schema that says it.
pub const FORMAT: &str = "password";

/// The tag of a field of an answer whose value is a secret, and the type of an argument that is given by reference.
pub const TAG: &str = "secret";

/// Whether an argument is a password. One that is given by reference is not: its value is no secret.
pub fn is_password(flag: &Flag) -> bool {
    flag.r#type != TAG && (flag.format.as_deref() == Some(FORMAT) || is_secret_name(&flag.name))
}

/// Whether the argument of this name is a password.
pub fn is_named(spec: &CommandSpec, name: &str) -> bool {
    let by_flag = spec.flags.iter().find(|flag| flag.name == name).map(is_password);
    by_flag.unwrap_or_else(|| is_secret_name(name))
}

/// Returns the inputs of a workflow that are passwords: by their names, and those that an argument which is one is made of.
pub fn inputs(sound: &Sound) -> Vec<String> {
    let used = sound.uses.iter().filter(|used| match &used.slot {
        Slot::With(step, argument) => sound.specs.get(*step).is_some_and(|spec| is_named(spec, argument)),
        _ => false,
    });
    let names = used.flat_map(|used| used.paths()).filter_map(|path| match &path.root {
        Root::Input(name) => Some(name.clone()),
        _ => None,
    });
    let by_name = sound.definition.inputs.list.iter().map(|named| named.id.clone()).filter(|name| is_secret_name(name));
    let mut names: Vec<String> = names.chain(by_name).collect();
    // The value of such an input is a reference, which may be shown.
    names.retain(|name| sound.definition.inputs.get(name).is_none_or(|input| input.r#type != InputType::Secret));
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the arguments of a command as they are kept.
pub fn arguments(spec: &CommandSpec, with: &Map<String, Value>) -> Map<String, Value> {
    kept(with, |name| is_named(spec, name))
}

/// As [`arguments`], of a step that may have templates: what they are filled with is hidden elsewhere.
pub fn of_step(spec: &CommandSpec, with: &Map<String, Value>) -> Map<String, Value> {
    let is_template = |value: &Value| value.as_str().is_some_and(Template::may_be);
    kept(with, |name| is_named(spec, name) && !with.get(name).is_some_and(is_template))
}

/// Returns values by name without those that `hides` names, and without those inside of others whose names say that they are secrets.
pub fn kept(values: &Map<String, Value>, hides: impl Fn(&str) -> bool) -> Map<String, Value> {
    let kept = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Null => Value::Null,
            Value::String(text) if text.is_empty() => value.clone(),
            _ if hides(name) => HIDDEN.into(),
            value => inside(value),
        };
        (name.clone(), value)
    };
    values.iter().map(kept).collect()
}

fn inside(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(inside).collect(),
        Value::Object(fields) => {
            let is_hidden = |name: &str| {
                let is_plain = fields.get(name).and_then(Value::as_str).is_some_and(|text| !Template::may_be(text));
                is_plain && is_secret_name(name)
            };
            kept(fields, is_hidden).into()
        }
        value => value.clone(),
    }
}

/// Returns a workflow's definition as it is kept: without passwords that stand in its text.
pub fn definition(sound: &Sound, mut definition: Value) -> Value {
    let steps = definition["steps"].as_array_mut().into_iter().flatten();
    for (step, spec) in steps.zip(&sound.specs) {
        if let Some(with) = step.get_mut("with").and_then(Value::as_object_mut) {
            *with = of_step(spec, with);
        }
        if let Some(body) = step.get_mut("body") {
            *body = inside(body);
        }
    }
    definition
}

/// Returns how a hidden value is shown to who decides on it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{HIDDEN} ({})", crate::plural::count(text.chars().count() as u64, "character")),
        _ => HIDDEN.to_owned(),
    }
}
