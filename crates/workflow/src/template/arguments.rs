//! Fills in the required arguments of a template's command. A value comes from the output of the previous step if a tag matches,
//! else from a new input.

use serde_json::{Map, Value, json};

use crate::argument;
use crate::definition::Input;
use crate::source::Commands;
use crate::spec::{CommandSpec, OutputField};
use mcpkg_base::error::Result;

/// The arguments of a command.
#[derive(Debug, Default)]
pub struct StepArguments {
    pub with: Map<String, Value>,
    /// The new inputs that the arguments use.
    pub inputs: Vec<(String, Input)>,
}

/// Returns the arguments of a command. `after` is the previous step, with its command.
pub fn of_command(
    spec: &CommandSpec,
    after: Option<(&str, &CommandSpec)>,
    commands: &dyn Commands,
) -> Result<StepArguments> {
    let mut given = StepArguments::default();
    for argument in argument::all(spec).filter(|argument| argument.required) {
        let answered = after.filter(|(_, before)| before.output_contract.list.is_none());
        let field = answered.and_then(|(step, before)| {
            let fields = &before.output_contract.fields;
            let tagged = |tag: &str| fields.iter().find(|field| field.tags.iter().any(|known| known == tag));
            let found =
                argument.prefer.and_then(tagged).or_else(|| argument.accepts.iter().find_map(|tag| tagged(tag)));
            found.map(|OutputField { name, .. }| format!("${{{{ steps.{step}.output.{name} }}}}"))
        });
        let value = match field {
            Some(reference) => reference,
            None => {
                given.inputs.push((argument.name.to_owned(), argument.input(commands)?));
                format!("${{{{ inputs.{} }}}}", argument.name)
            }
        };
        given.with.insert(argument.name.to_owned(), json!(value));
    }
    Ok(given)
}
