//! Passwords among the arguments of commands: sent as they were approved, and neither stored nor shown.
//!
//! A value is one by its schema, which says `format: password`, `writeOnly` or `x-secret`, or by its name; so is what stands inside an
//! argument. The SHA-256 of a plan covers the value itself, so that a consent holds for it alone; what is kept of the plan has
//! [`HIDDEN`] instead. A run of which something was hidden continues in its own process, and cannot be resumed in another one.

mod places;
mod schema;

use serde_json::{Map, Value};

use super::expression::Template;
use super::spec::{CommandSpec, Flag, Place};
use super::yaml::places::below;
use mcpkg_base::redact::{HIDDEN, is_secret_name};

pub use places::Places;
pub use schema::of_schema;

/// The format that marks a password in a schema.
pub const FORMAT: &str = "password";

/// The tag of a field of an answer whose value is a secret, and the type of an argument that is given by reference.
pub const TAG: &str = "secret";

/// Returns where an argument has passwords by what its command says. An argument that is given by reference has none.
pub fn places(spec: &CommandSpec, name: &str) -> Places {
    let flag = spec.flags.iter().find(|flag| flag.name == name);
    let positional = spec.positionals.iter().find(|positional| positional.name == name);
    match (flag, positional) {
        (Some(flag), _) => of_flag(flag),
        (None, Some(positional)) => Places::of(&positional.passwords),
        (None, None) => Places::default(),
    }
}

fn of_flag(flag: &Flag) -> Places {
    match flag.format.as_deref() {
        _ if flag.r#type == TAG => Places::default(),
        Some(FORMAT) => Places::whole(),
        _ => Places::of(&flag.passwords),
    }
}

/// Returns where the whole body of a command's request has passwords, as [`places`] does for one argument.
pub fn of_body(spec: &CommandSpec) -> Places {
    let is_whole = spec.body.as_ref().is_some_and(|body| body.whole);
    let mut all = Places::default();
    for flag in spec.flags.iter().filter(|flag| flag.r#in == Some(Place::Body)) {
        let key = flag.key.as_deref().unwrap_or(&flag.name);
        all.add(if is_whole { of_flag(flag) } else { of_flag(flag).below_key(key) });
    }
    all
}

/// What the name of a value, or of one around it, says of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Plain,
    /// Its texts are passwords.
    Texts,
    /// All of it is a password.
    All,
}

impl Named {
    /// Returns what the name of an argument, an input or a variable says.
    pub fn of(name: &str) -> Self {
        if is_secret_name(name) { Self::All } else { Self::Plain }
    }

    /// Returns what the name of an argument of a command says: nothing where the value is a reference.
    pub fn of_argument(spec: &CommandSpec, name: &str) -> Self {
        let is_reference = spec.flags.iter().any(|flag| flag.name == name && flag.r#type == TAG);
        if is_reference { Self::Plain } else { Self::of(name) }
    }

    /// Returns what is said of the value of a key inside.
    pub fn inside(self, key: &str) -> Self {
        match self {
            Self::Plain if is_secret_name(key) => Self::Texts,
            named => named,
        }
    }
}

/// Calls `f` with each password inside a value, a text, a number or a truth value, and with its JSON pointer below `at`.
pub fn each(value: &mut Value, at: &str, places: &Places, named: Named, f: &mut impl FnMut(&str, &mut Value)) {
    match value {
        Value::Null => {}
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                each(value, &below(at, index), &places.within(&index.to_string()), named, f);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                each(value, &below(at, key), &places.within(key), named.inside(key), f);
            }
        }
        Value::String(text) if text.is_empty() => {}
        value => {
            let is_named = named == Named::All || named == Named::Texts && value.is_string();
            if is_named || places.is_whole() {
                f(at, value);
            }
        }
    }
}

/// Calls `f` with each password among the arguments of a command, and with its JSON pointer.
pub fn each_argument(spec: &CommandSpec, with: &mut Map<String, Value>, f: &mut impl FnMut(&str, &mut Value)) {
    for (name, value) in with.iter_mut() {
        each(value, &below("/with", name), &places(spec, name), Named::of_argument(spec, name), f);
    }
}

/// Returns the arguments of a command as they are kept.
pub fn arguments(spec: &CommandSpec, with: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = with.clone();
    each_argument(spec, &mut kept, &mut |_, value| *value = HIDDEN.into());
    kept
}

/// Calls `f` with each password that a step gives its command in so many words, and with its JSON pointer inside the step: what a
/// template is filled with is not known yet.
pub fn each_of_step(
    spec: &CommandSpec,
    with: &mut Map<String, Value>,
    body: Option<&mut Value>,
    f: &mut impl FnMut(&str, &mut Value),
) {
    let mut f = |at: &str, value: &mut Value| {
        if !value.as_str().is_some_and(Template::may_be) {
            f(at, value);
        }
    };
    each_argument(spec, with, &mut f);
    if let Some(body) = body {
        each_of_body(spec, body, &mut f);
    }
}

/// Calls `f` with each password in the whole body of a command's request, and with its JSON pointer.
pub fn each_of_body(spec: &CommandSpec, body: &mut Value, f: &mut impl FnMut(&str, &mut Value)) {
    each(body, "/body", &of_body(spec), Named::Plain, f);
}

/// Whether something was hidden in a value that was kept.
pub fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(HIDDEN),
        Value::Array(values) => values.iter().any(holds_hidden),
        Value::Object(fields) => fields.values().any(holds_hidden),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns how a hidden value is shown to the person who decides on it.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            format!("{HIDDEN} ({})", mcpkg_base::plural::count(text.chars().count() as u64, "character"))
        }
        _ => HIDDEN.to_owned(),
    }
}
