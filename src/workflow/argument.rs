//! An argument of a command, whether it has a name or a place in the path: what it takes, and the input that asks for it.

use serde_json::Value;

use super::definition::{Input, InputType};
use super::engine::program::SECRET;
use super::source::Commands;
use super::spec::{CommandSpec, Flag, Positional};
use crate::error::Result;

/// An argument of a command.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'s> {
    /// Its name below `with`.
    pub name: &'s str,
    /// A type of JSON Schema's, `secret` or `any`.
    pub r#type: &'s str,
    /// Whether it has to be given.
    pub required: bool,
    /// The value that it has where none is given.
    pub default: Option<&'s Value>,
    /// The values that it takes, where these are few.
    pub values: &'s [Value],
    /// What it means.
    pub about: Option<&'s str>,
    /// The command whose answers are values for it.
    pub provider: Option<&'s str>,
    /// The tags of values that it takes.
    pub accepts: &'s [String],
    /// The tag to prefer.
    pub prefer: Option<&'s str>,
}

/// Returns the arguments of a command: the placeholders of its path, then the others.
pub fn all(spec: &CommandSpec) -> impl Iterator<Item = Argument<'_>> {
    spec.positionals.iter().map(Argument::from).chain(spec.flags.iter().map(Argument::from))
}

/// Returns the argument of this name.
pub fn named<'s>(spec: &'s CommandSpec, name: &str) -> Option<Argument<'s>> {
    all(spec).find(|argument| argument.name == name)
}

impl Argument<'_> {
    /// Whether its value is a reference to a secret.
    pub fn is_secret(&self) -> bool {
        self.r#type == SECRET
    }

    /// Returns the input of a workflow that asks for it, with its list as the provider where that needs nothing itself.
    ///
    /// # Errors
    /// What `commands` returns.
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

    fn input_type(&self) -> InputType {
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

impl<'s> From<&'s Positional> for Argument<'s> {
    fn from(argument: &'s Positional) -> Self {
        Self {
            name: &argument.name,
            r#type: &argument.r#type,
            required: true,
            default: None,
            values: &[],
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
            about: flag.description.as_deref(),
            provider: flag.provider.as_deref(),
            accepts: &flag.accepts,
            prefer: flag.prefer.as_deref(),
        }
    }
}
