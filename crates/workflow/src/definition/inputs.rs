//! The inputs of a workflow.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::fields::{is_default, is_empty_map, is_unsaid, scalar};

/// The inputs, in the author's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The form that the inputs have in the text. It is kept when the workflow is written out.
    pub form: Form,
    pub list: Vec<NamedInput>,
}

/// The form of `inputs` in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A mapping keyed by name.
    #[default]
    Map,
    /// A list of mappings with `name`.
    List,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NamedInput {
    /// The name; expressions use it as inputs.NAME.
    pub id: String,
    pub input: Input,
}

/// One input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Input {
    /// If `inputs` is a list, the name of the input. If `inputs` is a mapping, the key is the name, and this field is a label for
    /// people.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub name: Option<String>,
    /// What the input is for.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub description: Option<String>,
    /// The type of the input [default: string]. The value of a secret input is a reference such as env:NAME.
    #[serde(default, skip_serializing_if = "is_default")]
    pub r#type: InputType,
    /// The command that lists the values to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The fields of the provider's elements to use as the value and as the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Select>,
    /// Whether one element or several elements can be chosen.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// Seconds to cache the provider's output [default: 60].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl_sec: Option<u32>,
    /// What to do if the provider fails.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_error: OnError,
    /// The value to use if no value is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultValue>,
    /// The provider's arguments, keyed by name. Each argument is a value, a template, or a mapping with `path` and either `from_step`
    /// or `from_input`.
    #[serde(default, skip_serializing_if = "is_empty_map")]
    #[schemars(schema_with = "provider_args")]
    pub provider_args: Map<String, Value>,
    /// Inputs and steps whose values must be known before mcpkg calls the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// How to join several chosen values into one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<Join>,
    /// Whether the input is optional.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
    /// The rules that a value must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<Validate>,
    /// The placeholder to show in an empty form field.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub placeholder: Option<String>,
    /// A hint for the person who enters the value.
    #[serde(default, skip_serializing_if = "is_unsaid")]
    pub hint: Option<String>,
    /// An example value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "scalar")]
    pub example: Option<Value>,
    /// The allowed values, if the set is fixed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub r#enum: Vec<Value>,
}

/// The type of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the JSON type of its name; a secret is a reference")]
pub enum InputType {
    #[default]
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Secret,
}

/// The fields of a provider's elements that are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Select {
    /// The field to use as the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_field: Option<String>,
    /// The field to show to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_field: Option<String>,
    /// The field that identifies an element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_field: Option<String>,
}

/// How many elements are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Mode {
    #[default]
    Single,
    Multiple,
}

/// The action to take if a provider fails: a person types the value, an older answer is used, or the run fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum OnError {
    #[default]
    Manual,
    Cached,
    Fail,
}

/// The value to use if no value is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefaultValue {
    /// Where the value comes from.
    pub from: Origin,
    /// Depending on `from`: the literal value, the name of a variable, or a workflow and a path in its output, such as
    /// `other.app.id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The source of a default: the text itself, a variable that the project allows, the last successful run, or the answer of
/// another workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words say it")]
pub enum Origin {
    Literal,
    Env,
    History,
    WorkflowOutput,
}

/// How several values become one text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Join {
    /// The text between two values.
    pub separator: String,
    /// The text to put before and after each value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrap_each: Option<String>,
}

/// The rules that a value must satisfy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validate {
    /// Whether a value is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The allowed values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub r#enum: Vec<Value>,
    /// A regular expression that must match somewhere in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The minimum length: characters of a text, or elements of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// The maximum length: characters of a text, or elements of a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
}

/// The source that an argument of a provider is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound<'a> {
    /// A literal value or a template.
    Value(&'a Value),
    /// The output of a step.
    Step {
        id: &'a str,
        /// The path in the output; `None` for the whole output.
        path: Option<&'a str>,
        on_missing: OnMissing,
    },
    Input {
        id: &'a str,
        /// The path in the input's value; `None` for the whole value.
        path: Option<&'a str>,
        on_missing: OnMissing,
    },
}

/// The action to take if the source of a binding has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    /// Ask a person.
    Prompt,
    /// Omit the argument.
    Skip,
    Fail,
    /// Not specified: a required argument fails, and any other is omitted.
    Unsaid,
}

impl<'a> Bound<'a> {
    /// Parses a value of `provider_args`. Returns `None` for a mapping that names both a step and an input, or neither.
    pub fn of(value: &'a Value) -> Option<Self> {
        let Value::Object(map) = value else { return Some(Self::Value(value)) };
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let on_missing = match text("on_missing") {
            Some("prompt") => OnMissing::Prompt,
            Some("skip") => OnMissing::Skip,
            Some("fail") => OnMissing::Fail,
            _ => OnMissing::Unsaid,
        };
        let path = text("path");
        match (text("from_step"), text("from_input")) {
            (Some(id), None) => Some(Self::Step { id, path, on_missing }),
            (None, Some(id)) => Some(Self::Input { id, path, on_missing }),
            _ => None,
        }
    }
}

impl DefaultValue {
    /// Returns the value if it is text, such as the name of a variable.
    pub fn text(&self) -> Option<&str> {
        self.value.as_ref().and_then(Value::as_str)
    }

    /// Splits a default that comes from another workflow's output into the workflow's name and the path in the output:
    /// `deploy.app.id` gives `deploy` and `app.id`. An empty path means the whole output.
    pub fn output(&self) -> Option<(&str, &str)> {
        self.text().map(|text| text.split_once('.').unwrap_or((text, "")))
    }
}

impl Inputs {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn get(&self, id: &str) -> Option<&Input> {
        self.list.iter().find(|named| named.id == id).map(|named| &named.input)
    }

    /// Returns the JSON pointer of the input at `index`.
    pub fn pointer(&self, index: usize) -> String {
        match self.form {
            Form::List => format!("/inputs/{index}"),
            // A name that needs escaping is invalid anyway, but errors still have to point to it.
            Form::Map => format!("/inputs/{}", self.list[index].id.replace('~', "~0").replace('/', "~1")),
        }
    }
}

impl Input {
    /// Returns whether the input must have a value.
    pub fn is_required(&self) -> bool {
        !self.optional && self.validate.as_ref().and_then(|validate| validate.required) != Some(false)
    }

    /// Returns the allowed values, if they are enumerated.
    pub fn choices(&self) -> &[Value] {
        match (&self.validate, &*self.r#enum) {
            (Some(validate), []) => &validate.r#enum,
            (_, choices) => choices,
        }
    }
}

impl InputType {
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Secret => "secret",
        }
    }
}

impl Serialize for Inputs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.form {
            Form::Map => {
                let mut map = serializer.serialize_map(Some(self.list.len()))?;
                for named in &self.list {
                    map.serialize_entry(&named.id, &named.input)?;
                }
                map.end()
            }
            Form::List => {
                let mut list = serializer.serialize_seq(Some(self.list.len()))?;
                for named in &self.list {
                    let mut map = Map::from_iter([("name".to_owned(), named.id.clone().into())]);
                    match serde_json::to_value(&named.input).map_err(S::Error::custom)? {
                        Value::Object(fields) => map.extend(fields),
                        other => return Err(S::Error::custom(format!("an input must be a mapping, not {other}"))),
                    }
                    list.serialize_element(&map)?;
                }
                list.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Inputs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let input = |value| serde_json::from_value::<Input>(value).map_err(D::Error::custom);
        match Value::deserialize(deserializer)? {
            Value::Object(map) => {
                let list = map.into_iter().map(|(id, value)| Ok(NamedInput { id, input: input(value)? }));
                Ok(Self { form: Form::Map, list: list.collect::<Result<_, D::Error>>()? })
            }
            Value::Array(values) => {
                let list = values.into_iter().map(|value| {
                    let mut input = input(value)?;
                    Ok(NamedInput { id: input.name.take().unwrap_or_default(), input })
                });
                Ok(Self { form: Form::List, list: list.collect::<Result<_, D::Error>>()? })
            }
            _ => Err(D::Error::custom("inputs must be a mapping or a list")),
        }
    }
}

impl JsonSchema for Inputs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Inputs".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let input = Input::json_schema(generator);
        let mut named = input.clone();
        named.insert("required".to_owned(), Value::Array(vec!["name".into()]));
        json_schema!({ "anyOf": [
            { "type": "object", "additionalProperties": input },
            { "type": "array", "items": named },
        ] })
    }
}

/// Returns the schema of `provider_args`.
fn provider_args(_: &mut SchemaGenerator) -> Schema {
    let text = |description: &str| json_schema!({ "type": "string", "description": description });
    json_schema!({ "type": "object", "additionalProperties": { "anyOf": [
        { "type": ["string", "number", "boolean"] },
        { "type": "object", "properties": {
            "from_step": text("The step to take the output from"),
            "from_input": text("The input to take the value from"),
            "path": text("The path within that output or value"),
            "on_missing": { "type": "string", "enum": ["prompt", "skip", "fail"] },
        } },
    ] } })
}
