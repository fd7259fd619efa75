//! Determines the arguments for calling a provider, the command that lists the values of an input.

use serde_json::{Map, Value};

use crate::binding::{self, Source, Wanted};
use crate::check::Sound;
use crate::commands::{Reachable, reachable};
use crate::definition::{Input, OnMissing};
use crate::expression::{Outcome, Path, Root, Scope, Template, value_at};
use crate::output;
use crate::source::Commands;
use crate::spec::ProviderContract;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Empty};

/// Returns the arguments for the provider. Their values come from their bindings, or a person enters them. Outputs of steps
/// cannot be used, because they are not known before the run.
///
/// # Errors
/// `E_INPUTS_REQUIRED` if an argument has no value and is required or has `on_missing: fail`; `E_TERMINAL_REQUIRED` if a person
/// has to enter a value, but there is no terminal.
pub(super) fn arguments(
    context: &Context,
    sound: &Sound,
    input: &Input,
    contract: &ProviderContract,
    inputs: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    let definition = &sound.definition;
    let contracts: Vec<_> =
        sound.specs.iter().zip(&definition.steps).map(|(spec, step)| output::contract(spec, step)).collect();
    let contracts: Vec<_> = contracts.iter().map(|contract| Some(&**contract)).collect();
    let scope = KnownValues { inputs, commands: reachable(context) };
    let mut with = Map::new();
    for arg in binding::args(contract, &input.provider_args) {
        let bound = binding::bind(definition, input, contract, arg, &[], &contracts);
        let value = match &bound.source {
            Some(Source::Input(index, segments)) => {
                let value = inputs.get(&definition.inputs.list[*index].id);
                value.and_then(|value| value_at(value, segments)).cloned()
            }
            Some(Source::Literal(value)) => Some(value.clone()),
            Some(Source::Template(text)) => match Template::read(text).0.fill(&scope) {
                Outcome::Known(value) => Some(value),
                Outcome::Missing | Outcome::Unknown => None,
            },
            Some(Source::Step(..)) | None => None,
        };
        let is_required = Wanted::of(contract, arg).is_some_and(|wanted| wanted.required);
        let value = match (value, bound.on_missing) {
            (Some(value), _) => value,
            (None, OnMissing::Skip) => continue,
            (None, OnMissing::Prompt) if is_required || input.provider_args.contains_key(arg) => {
                let question = format!("Value of '{arg}' for {}:", contract.id);
                (context.line)(Body::Several(Vec::new()), &question, Empty::Answers)?.into()
            }
            (None, OnMissing::Unsaid | OnMissing::Prompt) if !is_required => continue,
            (None, _) => {
                let from = bound.source.map_or_else(String::new, |source| format!(" ({})", source.shown(definition)));
                let why = format!("Cannot call the provider {} until its argument '{arg}'{from} is known", contract.id);
                return Err(Error::new(Code::InputsRequired, why));
            }
        };
        with.insert(arg.to_owned(), value);
    }
    Ok(with)
}

/// Values that are known before a run.
struct KnownValues<'a> {
    inputs: &'a Map<String, Value>,
    commands: Reachable<'a>,
}

impl Scope for KnownValues<'_> {
    fn look(&self, path: &Path) -> Outcome {
        let found = match &path.root {
            Root::Input(name) => self.inputs.get(name).cloned(),
            Root::Env(name) => self.commands.variable(name).ok().flatten().map(Value::from),
            Root::Step(_) | Root::Secret(_) => None,
        };
        let found = found.and_then(|value| value_at(&value, &path.segments).cloned());
        found.map_or(Outcome::Unknown, Outcome::Known)
    }
}
