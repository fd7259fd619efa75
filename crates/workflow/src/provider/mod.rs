//! Offers values for an input: fetches the provider's list page by page, and caches it for a while.
//!
//! Providers are called only for a person who runs something or asks for values (`mcpkg workflow values`, the console),
//! never in searches, checks and plans.

mod bound;
mod cache;
mod choices;
mod pages;

use serde_json::{Map, Value};

use super::binding;
use super::check::{Slot, Sound};
use super::commands::reachable;
use super::definition::{Input, OnError};
use super::expression::{Node, Root};
use super::resolve::require;
use super::source::Commands;
use super::spec::CommandSpec;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

pub use choices::Choice;

/// How many seconds a list is cached by default.
const USUAL_TTL: u32 = 60;

/// The values that a person may choose from.
#[derive(Debug)]
pub enum Offer {
    None,
    /// The provider's id, and its values.
    Values(String, Vec<Choice>),
    /// No values, with the reason. The person has to type a value.
    Unknown(String),
}

/// Returns the values that an input's provider offers. They may depend on the values of other inputs.
///
/// A failure is an error if the input's `on_error` is `fail`, or if the caller cancelled. Any other failure gives
/// [`Offer::Unknown`].
pub fn offer(context: &Context, sound: &Sound, name: &str, inputs: &Map<String, Value>) -> Result<Offer> {
    let Some(input) = sound.definition.inputs.get(name) else { return Ok(Offer::None) };
    let Some(provider) = &input.provider else { return Ok(Offer::None) };
    let elements = fetched(context, sound, input, provider, inputs);
    match elements {
        Ok((spec, elements)) => {
            let found = choices::of(&elements, input, &spec.output_contract, &wanted_by(sound, name));
            Ok(match found {
                Some(choices) => Offer::Values(spec.id.clone(), choices),
                None => Offer::Unknown(format!("it is unclear which field of {} to use as the value", spec.id)),
            })
        }
        Err(error) if input.on_error == OnError::Fail || error.code() == Code::Cancelled => Err(error),
        Err(error) => Ok(Offer::Unknown(error.public_message().to_owned())),
    }
}

/// Calls a provider with these arguments, without the cache, and returns its values for an input. `None` if it is
/// unclear which field of the provider's elements is the value.
pub fn asked(
    context: &Context,
    spec: &CommandSpec,
    with: &Map<String, Value>,
    input: &Input,
) -> Result<Option<Vec<Choice>>> {
    let elements = pages::elements(context, spec, with)?;
    Ok(choices::of(&elements, input, &spec.output_contract, &[]))
}

/// Returns the inputs that must have values before the provider of an input can be called.
pub fn needs<'s>(sound: &'s Sound, name: &str) -> Vec<&'s str> {
    let definition = &sound.definition;
    let Some(input) = definition.inputs.get(name) else { return Vec::new() };
    let stated = input.provider_args.values().filter_map(|value| binding::stated(definition, value));
    let bound = stated.filter_map(|binding| match binding.source {
        Some(binding::Source::Input(index, _)) => Some(index),
        _ => None,
    });
    let said = |name: &String| definition.inputs.list.iter().position(|named| named.id == *name);
    let indexes = bound.chain(input.depends_on.iter().filter_map(said));
    indexes.map(|index| definition.inputs.list[index].id.as_str()).collect()
}

/// Fetches the elements of an input's provider, or takes them from the cache.
fn fetched(
    context: &Context,
    sound: &Sound,
    input: &Input,
    provider: &str,
    inputs: &Map<String, Value>,
) -> Result<(std::sync::Arc<CommandSpec>, std::sync::Arc<Vec<Value>>)> {
    let commands = reachable(context);
    let spec = require(&commands, provider)?;
    let contract = commands
        .provider(&spec.id)?
        .ok_or_else(|| Error::new(Code::InvalidArgument, format!("the output of {} is not a list", spec.id)))?;
    let with = bound::arguments(context, sound, input, &contract, inputs)?;
    let asked = cache::CacheUse {
        ttl: i64::from(input.cache_ttl_sec.unwrap_or(USUAL_TTL)) * 1_000,
        or_older: input.on_error == OnError::Cached,
    };
    let key = cache::key(context, &spec, &with)?;
    let elements = cache::get(key, context.clock.now(), asked, || pages::elements(context, &spec, &with))?;
    Ok((spec, elements))
}

/// Returns the tags that are accepted where this input is used as an argument, preferred tags first.
fn wanted_by(sound: &Sound, name: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for used in sound.uses.iter().filter(|used| used.is_whole) {
        let Slot::With(step, arg) = &used.slot else { continue };
        let is_it = used.template.alone().is_some_and(|expression| match &expression.node {
            Node::Path(path) => path.segments.is_empty() && matches!(&path.root, Root::Input(input) if input == name),
            _ => false,
        });
        if is_it {
            let (prefer, accepts) = accepted_tags(&sound.specs[*step], arg);
            tags.extend(prefer.into_iter().chain(accepts).cloned());
        }
    }
    tags
}

fn accepted_tags<'s>(spec: &'s CommandSpec, arg: &str) -> (Option<&'s String>, &'s [String]) {
    let flag = spec.flags.iter().find(|flag| flag.name == arg);
    let placeholder = spec.positionals.iter().find(|placeholder| placeholder.name == arg);
    match (placeholder, flag) {
        (Some(placeholder), _) => (placeholder.prefer.as_ref(), &placeholder.accepts),
        (None, Some(flag)) => (flag.prefer.as_ref(), &flag.accepts),
        (None, None) => (None, &[]),
    }
}
