//! `mcpkg workflow values`: asks a provider for the values that fit an argument.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use super::node::{Pointed, pointed};
use super::ranked::select;
use super::unbroken::unbroken;
use crate::binding::{self, Source};
use crate::check::{Surveyed, surveyed};
use crate::commands::reachable;
use crate::completions::{IDS, WORKFLOWS};
use crate::definition::Input;
use crate::provider;
use crate::resolve::require;
use crate::source::Commands;
use crate::spec::ProviderContract;
use crate::text::argument::{Text, text};
use crate::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Empty, Faces, NoOutput, Operation, Reply, Shape, Table, cell};

/// Ask a provider for values
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Values {
    /// Name of a saved workflow, or a YAML or JSON file (`-` is standard input); the text can contain mistakes
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
    /// Id of the provider, as `mcpkg workflow suggest` lists it
    #[arg(add = IDS)]
    provider: String,
    /// JSON pointer of the argument or input, such as /steps/1/with/app
    #[arg(long)]
    pointer: String,
}

impl Operation for Values {
    const TOOL: &'static str = "list_values";
    const CLI: &'static [&'static str] = &["workflow", "values"];
    const TITLE: &'static str = "Ask a provider for values";
    const ABOUT: &'static str = "Call a provider, and list the values that it has for an argument or an input";
    const HELP: &'static str =
        "mcpkg asks you for arguments that the provider requires and the text does not determine.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow values app.yaml mcpkg:prompt:list --pointer /steps/0/with/name"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("values");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let written = self.yaml.read_or_saved(context)?;
        let commands = reachable(context);
        let whole = unbroken(&written, None);
        let surveyed = surveyed(&whole, &commands)?.ok_or_else(|| {
            Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow")
                .hint("see why with `mcpkg workflow validate`")
        })?;
        let pointed = pointed(&surveyed, &self.pointer)?;
        let spec = require(&commands, &self.provider)?;
        let contract = commands
            .provider(&spec.id)?
            .ok_or_else(|| Error::new(Code::InvalidArgument, format!("The output of {} is not a list", spec.id)))?;
        let with = arguments(context, &surveyed, &pointed, &contract)?;
        let argument = pointed.argument.as_ref().map(|(_, argument)| argument.input_type());
        let input = Input {
            select: Some(select(&contract.returns, &pointed)),
            r#type: argument.unwrap_or(pointed.input.r#type),
            ..Input::default()
        };
        let choices = provider::asked(context, &spec, &with, &input)?.ok_or_else(|| {
            let what = format!("It is unclear which field of {} to use as the value", spec.id);
            Error::new(Code::InvalidArgument, what)
        })?;
        let row = |choice: &provider::Choice| {
            let value = choice.value.as_str().map_or_else(|| choice.value.to_string(), str::to_owned);
            [value.as_str(), &choice.label].map(|text| cell(text).into_owned()).to_vec()
        };
        let table = Table {
            columns: &["VALUE", "NAME"],
            rows: choices.iter().map(row).collect(),
            empty: format!("{} has no values", spec.id),
        };
        let values = choices.iter().map(|choice| json!({ "value": choice.value, "label": choice.label }));
        let data = json!({ "provider": spec.id, "values": values.collect::<Vec<_>>() });
        Ok(Reply::new(Body::Table(table), data))
    }
}

/// Returns the required arguments of the provider. Their values are literals from the text or defaults of inputs; otherwise
/// the person is asked.
fn arguments(
    context: &Context,
    surveyed: &Surveyed,
    pointed: &Pointed<'_>,
    contract: &ProviderContract,
) -> Result<Map<String, serde_json::Value>> {
    let contracts = surveyed.contracts();
    let contracts: Vec<_> = contracts.iter().map(Option::as_deref).collect();
    let mut with = Map::new();
    for arg in contract.args.keys() {
        let definition = &surveyed.definition;
        let bound = binding::bind(definition, &pointed.input, contract, arg, &pointed.before, &contracts);
        let known = match bound.source {
            Some(Source::Literal(value)) => Some(value),
            Some(Source::Input(index, path)) if path.is_empty() => {
                definition.inputs.list[index].input.default.as_ref().and_then(|default| default.value.clone())
            }
            _ => None,
        };
        let value = match known {
            Some(value) => value,
            None => {
                let question = format!("Value of '{arg}' for {}:", contract.id);
                (context.line)(Body::Several(Vec::new()), &question, Empty::Answers)?.into()
            }
        };
        with.insert(arg.clone(), value);
    }
    Ok(with)
}
