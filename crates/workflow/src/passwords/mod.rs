//! Finds the passwords in the arguments of commands. They are sent, but neither stored nor shown.
//!
//! A value is a password if its schema says so (`format: password`, `writeOnly` or `x-secret`), or if its name suggests one.
//! The same applies to values inside an argument. The hash of a plan covers the real value, so consent is valid only for that
//! value. Stored plans contain [`HIDDEN`] instead. A run with hidden values cannot be resumed.

mod places;
mod schema;

use serde_json::{Map, Value};

use super::expression::Template;
use super::spec::{CommandSpec, Flag, Place};
use super::yaml::places::below;
use mcpkg_base::redact::{HIDDEN, is_secret_name};

pub use places::Places;
pub use schema::of_schema;

/// The schema format of a password.
pub const FORMAT: &str = "password";

/// The tag of output fields that contain secrets, and the type of arguments that take a reference to a secret.
pub const TAG: &str = "secret";

/// Returns where an argument of a command contains passwords. An argument that takes a reference contains none.
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

/// Returns where the body of a request contains passwords, if it is given as one value.
pub fn of_body(spec: &CommandSpec) -> Places {
    let is_whole = spec.body.as_ref().is_some_and(|body| body.whole);
    let mut all = Places::default();
    for flag in spec.flags.iter().filter(|flag| flag.r#in == Some(Place::Body)) {
        let key = flag.key.as_deref().unwrap_or(&flag.name);
        all.add(if is_whole { of_flag(flag) } else { of_flag(flag).below_key(key) });
    }
    all
}

/// Whether a value is a password according to names: its own name, or the name of a value that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Plain,
    /// The strings inside the value are passwords.
    Texts,
    /// The whole value is a password.
    All,
}

impl Named {
    /// Returns what the name of an argument, an input or a variable implies.
    pub fn of(name: &str) -> Self {
        if is_secret_name(name) { Self::All } else { Self::Plain }
    }

    /// Returns what the name of a command's argument implies. An argument that takes a reference is never a password.
    pub fn of_argument(spec: &CommandSpec, name: &str) -> Self {
        let is_reference = spec.flags.iter().any(|flag| flag.name == name && flag.r#type == TAG);
        if is_reference { Self::Plain } else { Self::of(name) }
    }

    /// Returns what the names imply for the value of a key inside this value.
    pub fn inside(self, key: &str) -> Self {
        match self {
            Self::Plain if is_secret_name(key) => Self::Texts,
            named => named,
        }
    }
}

/// Calls `f` with each password inside a value, and with its JSON pointer below `at`. Only non-empty strings, numbers and
/// booleans can be passwords.
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

/// Calls `f` with each password in the arguments of a command, and with its JSON pointer.
pub fn each_argument(spec: &CommandSpec, with: &mut Map<String, Value>, f: &mut impl FnMut(&str, &mut Value)) {
    for (name, value) in with.iter_mut() {
        each(value, &below("/with", name), &places(spec, name), Named::of_argument(spec, name), f);
    }
}

/// Returns the arguments of a command for storage, with passwords hidden.
pub fn arguments(spec: &CommandSpec, with: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = with.clone();
    each_argument(spec, &mut kept, &mut |_, value| *value = HIDDEN.into());
    kept
}

/// Calls `f` with each password that is written literally in a step, and with its JSON pointer inside the step. Templates are
/// skipped, because their values are not known yet.
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

/// Calls `f` with each password in a body that is given as one value, and with its JSON pointer.
pub fn each_of_body(spec: &CommandSpec, body: &mut Value, f: &mut impl FnMut(&str, &mut Value)) {
    each(body, "/body", &of_body(spec), Named::Plain, f);
}

/// Returns whether a stored value contains a hidden password.
pub fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(HIDDEN),
        Value::Array(values) => values.iter().any(holds_hidden),
        Value::Object(fields) => fields.values().any(holds_hidden),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Formats a password for the person who has to approve it: hidden, and with its length if it is text.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => {
            format!("{HIDDEN} ({})", mcpkg_base::plural::count(text.chars().count() as u64, "character"))
        }
        _ => HIDDEN.to_owned(),
    }
}
