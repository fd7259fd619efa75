//! The format of a template.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fill::placeholders;
use crate::definition::is_identifier;
use crate::finding::has_errors;
use crate::yaml;
use mcpkg_base::error::{Code, Error, Result, nearest};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    #[serde(rename = "template")]
    pub name: String,
    /// Title shown to people.
    #[serde(default)]
    pub title: Option<String>,
    /// Purpose of the template.
    #[serde(default)]
    pub description: Option<String>,
    /// Parameters of the template, keyed by name.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// The workflow, with `$(PARAMETER)` where a parameter belongs.
    pub workflow: Map<String, Value>,
    /// Fixtures of the workflow, keyed by name; they can contain parameters too.
    #[serde(default)]
    pub fixtures: BTreeMap<String, Map<String, Value>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    pub r#type: ParameterType,
    /// Purpose of the parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// For type `arguments`: the parameter that names the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// For type `arguments`: the parameter that names the previous step's command. That command's output fills the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterType {
    /// The id of a command.
    Command,
    /// Arguments of a command, keyed by name.
    Arguments,
    /// A path into an output, such as `data.status`.
    Path,
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl Template {
    /// Parses a template. The error says what is wrong and, if known, where.
    pub fn of(text: &str) -> Result<Self> {
        let read = yaml::read(text);
        if has_errors(&read.findings)
            && let Some(first) = read.findings.first()
        {
            return Err(wrong(&format!("line {}, column {}: {}", first.span.line, first.span.column, first.message)));
        }
        let value = read.value.unwrap_or_default();
        let template: Self = serde_json::from_value(value).map_err(|error| {
            wrong(&error.to_string())
                .hint("a template has the fields template, title, description, parameters, workflow and fixtures")
        })?;
        if !is_identifier(&template.name) {
            return Err(wrong(&format!("'{}' is not a valid template name", template.name.escape_debug())));
        }
        template.parameters()?;
        let whole = serde_json::json!([template.workflow, template.fixtures]);
        for name in placeholders(&whole) {
            if !template.parameters.contains_key(&name) {
                let error = wrong(&format!("`$({name})` is not a parameter of the template"));
                return Err(match nearest(&name, template.parameters.keys().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `$({near})`?")),
                    None => error,
                });
            }
        }
        Ok(template)
    }

    /// Returns the parameters in order. An invalid parameter is an error.
    pub fn parameters(&self) -> Result<Vec<(&str, Parameter)>> {
        let mut parameters = Vec::with_capacity(self.parameters.len());
        for (name, value) in &self.parameters {
            let parameter: Parameter = serde_json::from_value(value.clone())
                .map_err(|error| wrong(&format!("the parameter '{}': {error}", name.escape_debug())))?;
            if !is_identifier(name) {
                return Err(wrong(&format!("'{}' is not a valid parameter name", name.escape_debug())));
            }
            for (key, command) in [("of", &parameter.of), ("after", &parameter.after)] {
                let is_command =
                    |command: &String| self.parameters.get(command).is_some_and(|of| of["type"] == "command");
                if command.as_ref().is_some_and(|command| !is_command(command)) {
                    return Err(wrong(&format!(
                        "`{key}` of the parameter '{name}' must name a parameter of type `command`"
                    )));
                }
            }
            if (parameter.r#type == ParameterType::Arguments) != parameter.of.is_some() {
                return Err(wrong(&format!(
                    "the parameter '{name}': type `arguments` requires `of`, and other types do not allow it"
                )));
            }
            parameters.push((name.as_str(), parameter));
        }
        Ok(parameters)
    }
}

pub fn wrong(why: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("Invalid template: {why}"))
}

impl ParameterType {
    /// Returns whether a value has this type.
    pub fn takes(self, value: &Value) -> bool {
        match self {
            Self::Command | Self::String => value.is_string(),
            Self::Path => value.as_str().is_some_and(is_path),
            Self::Arguments | Self::Object => value.is_object(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
        }
    }

    /// Parses a value from a command line.
    pub fn typed(self, text: &str) -> Value {
        match self {
            Self::Command | Self::String | Self::Path => text.into(),
            _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        }
    }

    /// Describes the type for error messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Command => "a command id",
            Self::Arguments => "a mapping of arguments",
            Self::Path => "a path into an output, such as data.status",
            Self::String => "a text",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Array => "a list",
            Self::Object => "a mapping",
        }
    }
}

/// Returns whether text is a path into an output. Only such text is inserted into expressions unchanged.
fn is_path(text: &str) -> bool {
    text.is_empty()
        || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']'))
            && !text.starts_with('.')
            && !text.ends_with('.')
}
