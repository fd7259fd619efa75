//! The arguments of commands, both flags and placeholders of the path: checks their values, and turns arguments into workflow
//! inputs.

use serde_json::Value;

use super::api::media::is_json;
use super::definition::{Input, InputType};
use super::source::Commands;
use super::spec::{Body, CommandSpec, Flag, Form, Place, Positional, SECRET, Style};
use mcpkg_base::error::Result;

#[derive(Clone, Copy, Debug)]
pub struct Argument<'s> {
    /// The argument's key in a step's `with`.
    pub name: &'s str,
    /// A JSON Schema type, `secret` or `any`.
    pub r#type: &'s str,
    pub required: bool,
    pub default: Option<&'s Value>,
    /// The allowed values, if they are enumerated.
    pub values: &'s [Value],
    /// The alternatives, if the argument's value may have several types.
    pub forms: &'s [Form],
    /// Whether the argument accepts null.
    pub nullable: bool,
    /// The place in the request that carries the argument, such as `in a header`, if null cannot be sent there.
    pub no_null: Option<&'static str>,
    /// Whether the argument is part of an HTTP request.
    pub in_request: bool,
    pub about: Option<&'s str>,
    /// Id of the command that lists possible values.
    pub provider: Option<&'s str>,
    /// Tags of the values that the argument accepts.
    pub accepts: &'s [String],
    /// The preferred tag among those in `accepts`.
    pub prefer: Option<&'s str>,
}

/// Returns the arguments of a command: first the placeholders of its path, then the flags.
pub fn all(spec: &CommandSpec) -> impl Iterator<Item = Argument<'_>> {
    let flags = spec.flags.iter().map(|flag| Argument { no_null: no_null(flag, spec.body.as_ref()), ..flag.into() });
    spec.positionals.iter().map(Argument::from).chain(flags)
}

/// Returns the place in the request that carries a flag, if null cannot be sent there. Only JSON has null.
fn no_null(flag: &Flag, body: Option<&Body>) -> Option<&'static str> {
    match flag.r#in? {
        _ if flag.style == Some(Style::Json) => None,
        Place::Query => Some("in the query"),
        Place::Header => Some("in a header"),
        Place::Body if body.is_none_or(|body| is_json(&body.content_type)) => None,
        Place::Body => Some("in a body that is not JSON"),
    }
}

pub fn named<'s>(spec: &'s CommandSpec, name: &str) -> Option<Argument<'s>> {
    all(spec).find(|argument| argument.name == name)
}

impl Argument<'_> {
    pub fn is_secret(&self) -> bool {
        self.r#type == SECRET
    }

    /// Returns why a value is invalid, or `None` if the argument accepts it.
    pub fn refuses(&self, value: &Value) -> Option<Refused> {
        if value.is_null() {
            return self.refuses_null().map(Refused::Type);
        }
        let taken = match self.forms.is_empty() {
            true => fits(self.r#type, value),
            false => self.forms.iter().any(|form| fits(&form.r#type, value) && lists(&form.r#enum, value)),
        };
        if !taken {
            return Some(Refused::Type(format!("takes {}, not {}", self.takes(), kind_of(value))));
        }
        (!lists(self.values, value)).then_some(Refused::Value)
    }

    /// Returns why null is invalid. Where null cannot be sent, it is not silently dropped: the request that is sent must be
    /// exactly the one that was approved.
    fn refuses_null(&self) -> Option<String> {
        if let Some(place) = self.no_null {
            return Some(format!("is sent {place}, which cannot express null; leave it out"));
        }
        let takes_any = self.r#type == "any" && self.forms.is_empty() && self.values.is_empty();
        match self.in_request {
            _ if self.nullable || takes_any => None,
            true => Some(format!("takes {}, not null", self.takes())),
            // Operations, tools and plugins receive the null. Most of them treat it as an absent argument.
            false => self.required.then(|| "is required".to_owned()),
        }
    }

    /// Describes the accepted types and values, such as `string or integer`.
    pub fn takes(&self) -> String {
        let one = |form: &Form| match &form.r#enum[..] {
            [] => form.r#type.clone(),
            values => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "),
        };
        match self.forms {
            [] => self.r#type.to_owned(),
            forms => forms.iter().map(one).collect::<Vec<_>>().join(" or "),
        }
    }

    /// Returns a workflow input for this argument. The input gets the argument's provider only if the provider needs no
    /// arguments.
    pub fn input(&self, commands: &dyn Commands) -> Result<Input> {
        let provider = match self.provider {
            Some(id) => commands.provider(id)?.filter(|contract| contract.args.is_empty()),
            None => None,
        };
        Ok(Input {
            description: self.about.map(str::to_owned),
            r#type: self.input_type(),
            r#enum: self.values.to_vec(),
            provider: provider.map(|contract| contract.id.clone()),
            ..Input::default()
        })
    }

    /// Returns the type of a workflow input for this argument.
    pub fn input_type(&self) -> InputType {
        match self.r#type {
            "integer" => InputType::Integer,
            "number" => InputType::Number,
            "boolean" => InputType::Boolean,
            "array" => InputType::Array,
            "object" => InputType::Object,
            SECRET => InputType::Secret,
            _ => InputType::String,
        }
    }
}

/// The reason why an argument does not accept a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The type is wrong, or the value is null. The text ends a sentence that starts with the argument, such as `is required`.
    Type(String),
    /// The value is not one of the allowed values.
    Value,
}

/// Returns whether a value has a JSON Schema type. Any value fits an unknown type.
pub fn fits(r#type: &str, value: &Value) -> bool {
    match r#type {
        "string" | SECRET => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn lists(values: &[Value], value: &Value) -> bool {
    values.is_empty() || values.contains(value)
}

pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl<'s> From<&'s Positional> for Argument<'s> {
    fn from(argument: &'s Positional) -> Self {
        Self {
            name: &argument.name,
            r#type: &argument.r#type,
            required: true,
            default: None,
            values: &[],
            forms: &[],
            nullable: false,
            no_null: Some("in the path"),
            in_request: true,
            about: argument.help.as_deref(),
            provider: argument.provider.as_deref(),
            accepts: &argument.accepts,
            prefer: argument.prefer.as_deref(),
        }
    }
}

impl<'s> From<&'s Flag> for Argument<'s> {
    fn from(flag: &'s Flag) -> Self {
        Self {
            name: &flag.name,
            r#type: &flag.r#type,
            required: flag.required && flag.default.is_none(),
            default: flag.default.as_ref(),
            values: &flag.r#enum,
            forms: &flag.any_of,
            nullable: flag.nullable,
            no_null: None,
            in_request: flag.r#in.is_some(),
            about: flag.description.as_deref(),
            provider: flag.provider.as_deref(),
            accepts: &flag.accepts,
            prefer: flag.prefer.as_deref(),
        }
    }
}
