//! A form for the arguments of an operation, generated from its clap command.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

use crate::action::{Invocation, entry};

/// The arguments of one operation, with the values that the user entered.
#[derive(Clone, Debug)]
pub struct Form {
    /// The words of the command, such as `prompt create`.
    pub words: String,
    pub about: &'static str,
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub struct Field {
    /// The argument's name, such as `name` or `--limit`.
    pub name: String,
    pub about: String,
    pub is_required: bool,
    /// Whether the field is a switch without a value.
    pub is_flag: bool,
    /// The allowed values; empty if any value is allowed.
    pub values: Vec<String>,
    pub value: String,
    is_option: bool,
    /// Whether the argument takes several values, separated by spaces and quoted as in a shell.
    takes_many: bool,
}

impl Form {
    /// Returns an empty form for an operation. Required fields come first.
    pub fn of(context: &Context, words: &str) -> Result<Self> {
        let entry = entry(context.domains, words)
            .ok_or_else(|| Error::new(Code::NotFound, format!("This build has no command `mcpkg {words}`")))?;
        let mut command = entry.augment(clap::Command::new("mcpkg"));
        command.build();
        let hidden = ["help", "version"];
        let field = |argument: &clap::Arg| Field {
            name: match argument.get_long() {
                Some(long) => format!("--{long}"),
                None => argument.get_id().to_string(),
            },
            about: argument.get_help().map(ToString::to_string).unwrap_or_default(),
            is_required: argument.is_required_set(),
            is_flag: !argument.get_action().takes_values(),
            values: argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
            value: String::new(),
            is_option: argument.get_long().is_some(),
            takes_many: matches!(argument.get_action(), clap::ArgAction::Append)
                || argument.get_num_args().is_some_and(|values| values.max_values() > 1),
        };
        let shown = |argument: &&clap::Arg| !argument.is_hide_set() && !hidden.contains(&argument.get_id().as_str());
        let mut fields: Vec<Field> = command.get_arguments().filter(shown).map(field).collect();
        fields.sort_by_key(|field| (!field.is_required, field.is_option));
        Ok(Self { words: words.to_owned(), about: entry.about, fields })
    }

    /// Returns the form with this value in its first positional argument.
    #[must_use]
    pub fn filled(mut self, value: &str) -> Self {
        if let Some(field) = self.fields.iter_mut().find(|field| !field.is_option) {
            field.value = match field.takes_many {
                true => shlex::try_quote(value).unwrap_or(value.into()).into_owned(),
                false => value.to_owned(),
            };
        }
        self
    }

    /// Returns the call with the filled-in fields.
    pub fn invocation(&self) -> Invocation {
        let filled = self.fields.iter().filter(|field| !field.value.is_empty());
        filled.fold(Invocation::new(&self.words), |call, field| {
            if field.is_flag {
                return call.flag(&field.name);
            }
            // A text with an unclosed quote cannot be split, so it counts as one value.
            let values = shlex::split(&field.value).filter(|_| field.takes_many);
            let values = values.unwrap_or_else(|| vec![field.value.clone()]);
            match field.is_option {
                true => call.options(&field.name, values),
                false => values.into_iter().fold(call, Invocation::with),
            }
        })
    }

    /// Returns the names of the required fields that are empty.
    pub fn missing(&self) -> Vec<&str> {
        let is_missing = |field: &&Field| field.is_required && field.value.is_empty();
        self.fields.iter().filter(is_missing).map(|field| field.name.as_str()).collect()
    }
}
