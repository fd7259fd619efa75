//! The definition of a workflow: the fields of its text, in the order in which they are written.
//!
//! The JSON Schema of these structs is published as `mcpkg://schema/workflow`, and texts are checked against it.

mod fields;
mod inputs;

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::spec::OutputField;
use fields::{is_empty_map, is_unsaid, text_or_flag, text_or_number};
use mcpkg_base::clock::span::Notation;
use mcpkg_base::error::{Error, Result};

pub use inputs::{
    Bound, DefaultValue, Form, Input, InputType, Inputs, Join, Mode, NamedInput, OnError, OnMissing, Origin, Select,
    Validate,
};

/// The format version that mcpkg writes.
pub const SCHEMA_VERSION: &str = "1.0";

/// A workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Definition {
    /// The version of the workflow format: 1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// The workflow's name: letters, digits, `_` and `-`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workflow: String,
    /// A title for people.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub title: Option<String>,
    /// What the workflow does.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub description: Option<String>,
    /// The command groups that the workflow needs, such as a catalog's prefix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// The inputs: a mapping keyed by name, or a list of mappings with `name`.
    #[serde(default, skip_serializing_if = "Inputs::is_empty")]
    pub inputs: Inputs,
    /// The steps, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// The workflow's output: a template, or a mapping or list of templates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_output: Option<Value>,
}

impl Definition {
    /// Renders the definition as canonical YAML: equal definitions give the same bytes. Null, empty and default values are
    /// omitted, `inputs`, `with` and `body` keep the author's order, and there is no final newline.
    pub fn to_yaml(&self) -> Result<String> {
        let options = serde_saphyr::ser_options! {
            compact_list_indent: false,
            // Never wrap a template: findings point to positions inside it.
            folded_wrap_chars: 1_000_000,
        };
        let mut text = serde_saphyr::to_string_with_options(self, options)
            .map_err(|error| Error::internal("a workflow cannot be written as YAML").with_source(error))?;
        text.truncate(text.trim_end_matches('\n').len());
        Ok(text)
    }
}

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = mcpkg_core::schema::generate::<Definition>();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.to_value()
});

/// Returns the JSON Schema of workflows.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// One step: a command that is run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The step's name. Expressions refer to the step's output as steps.ID.output.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The command's id, as search_commands returns it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// What the step is for.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub description: Option<String>,
    /// Steps that must succeed before this step. Steps whose outputs this step uses are included automatically.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The step is skipped if this condition is false. `when` is another name for this field.
    #[serde(rename = "if", default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_flag")]
    pub condition: Option<Value>,
    /// The command's arguments, keyed by name.
    #[serde(default, skip_serializing_if = "is_empty_map")]
    pub with: Map<String, Value>,
    /// The whole request body, to use instead of arguments that are sent in the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Repeat the step until a condition is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// Fields that the step's output must have. Needed only if the command's own contract does not declare the fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_contract: Option<StepContract>,
}

/// How a step is run again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// The condition that ends the repetition. The condition can use the step's own output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_flag")]
    pub until: Option<Value>,
    /// The time between two attempts, such as 5s or 1m [default: 1s].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_number")]
    pub every: Option<Value>,
    /// The maximum total time, up to 24h [default: 15m].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text_or_number")]
    pub timeout: Option<Value>,
    /// The maximum number of attempts, up to 10000 [default: 100].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
}

/// The fields that a step's answer has to have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepContract {
    /// The fields that the output must have.
    pub fields: Vec<OutputField>,
}

impl Definition {
    pub fn step(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }
}

/// Parses a duration to milliseconds: `250ms`, `10s`, `5m`, `1h`, or seconds as a number or text.
pub fn milliseconds(value: &Value) -> Option<u64> {
    let text = match value {
        Value::Number(number) => return number.as_f64().filter(|s| *s >= 0.0).map(|s| (s * 1000.0) as u64),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    const NOTATION: Notation = Notation {
        units: &[("ms", 1), ("", 1_000), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)],
        is_compound: false,
    };
    NOTATION.read(text).ok().and_then(|span| span.try_into().ok())
}

/// Returns whether a name is valid in expressions: up to 64 letters, digits, `_` and `-`, beginning with a letter or `_`.
pub fn is_identifier(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        for (text, expected) in [
            (json!("250ms"), Some(250)),
            (json!("10s"), Some(10_000)),
            (json!("5m"), Some(300_000)),
            (json!("1h"), Some(3_600_000)),
            (json!("7"), Some(7_000)),
            (json!(7), Some(7_000)),
            (json!(0.5), Some(500)),
            (json!("soon"), None),
            (json!("-1s"), None),
            (json!(-1), None),
            (json!("5 m"), None),
            (json!(""), None),
            (json!("99999999999999999999h"), None),
            (json!(true), None),
        ] {
            assert_eq!(milliseconds(&text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_what_an_expression_can_write() {
        for good in ["a", "create_app", "create-app", "_x9"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "9a", "-a", "create app", "é", "a.b", &"a".repeat(65)] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
