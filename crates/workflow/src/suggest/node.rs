//! Resolves the position that suggestions are wanted for: an input, or an argument of a step.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::json;

use crate::argument::{self, Argument};
use crate::check::{Slot, Surveyed};
use crate::definition::Input;
use crate::expression::{Node, Root};
use mcpkg_base::error::{Code, Error, Result};

/// The target of suggestions.
pub struct Pointed<'s> {
    /// The input. If the target is an argument, an empty input.
    pub input: Cow<'s, Input>,
    /// The name of the input or argument.
    pub name: String,
    /// The command and argument that the value is passed to, if any.
    pub argument: Option<(String, Argument<'s>)>,
    /// The steps that run before the value is needed, latest first.
    pub before: Vec<usize>,
}

/// Returns the target at a JSON pointer. It is an error if the pointer leads to anything but an input or an argument.
pub fn pointed<'s>(surveyed: &'s Surveyed, pointer: &str) -> Result<Pointed<'s>> {
    let parts: Vec<String> =
        pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["inputs", key, ..] => Ok(input(surveyed, key)),
        ["steps", step, "with", name, ..] => match step.parse() {
            Ok(step) if step < surveyed.definition.steps.len() => Ok(of_step(surveyed, step, name)),
            _ => Err(nowhere(pointer)),
        },
        _ => Err(nowhere(pointer)),
    }
}

fn nowhere(pointer: &str) -> Error {
    let what = format!("'{}' is neither an input nor a step argument", pointer.escape_debug());
    Error::new(Code::InvalidArgument, what)
        .hint("pass the JSON pointer of an input, such as /inputs/app, or of an argument, such as /steps/0/with/app")
        .with_details(json!({ "pointer": pointer }))
}

/// Returns an input as the target. `key` is its name, or its index in a list of inputs.
fn input<'s>(surveyed: &'s Surveyed, key: &str) -> Pointed<'s> {
    let inputs = &surveyed.definition.inputs;
    let by_place = || key.parse::<usize>().ok().and_then(|index| inputs.list.get(index));
    let named = inputs.list.iter().find(|named| named.id == key).or_else(by_place);
    let name = named.map_or(key, |named| named.id.as_str());
    // If an argument gets its whole value from this input, the argument decides which values fit.
    let is_it = |node: &Node| matches!(node, Node::Path(path) if path.segments.is_empty() && path.root == Root::Input(name.to_owned()));
    let argument = surveyed.uses.iter().find_map(|used| {
        let Slot::With(step, arg) = &used.slot else { return None };
        used.template.alone().filter(|expression| is_it(&expression.node))?;
        let spec = surveyed.specs[*step].as_deref()?;
        argument::named(spec, arg).map(|argument| (spec.id.clone(), argument))
    });
    let names = |used: &&crate::check::Use| {
        used.paths().iter().any(|path| matches!(&path.root, Root::Input(input) if input == name))
    };
    let users: HashSet<usize> = surveyed.uses.iter().filter(names).filter_map(|used| used.slot.step()).collect();
    let first = surveyed.order.iter().position(|step| users.contains(step)).unwrap_or(surveyed.order.len());
    Pointed {
        input: named.map_or_else(|| Cow::Owned(Input::default()), |named| Cow::Borrowed(&named.input)),
        name: name.to_owned(),
        argument,
        before: surveyed.order[..first].iter().rev().copied().collect(),
    }
}

fn of_step<'s>(surveyed: &'s Surveyed, step: usize, name: &str) -> Pointed<'s> {
    let spec = surveyed.specs[step].as_deref();
    let argument = spec.and_then(|spec| Some((spec.id.clone(), argument::named(spec, name)?)));
    let first = surveyed.order.iter().position(|other| *other == step).unwrap_or(surveyed.order.len());
    Pointed {
        input: Cow::Owned(Input::default()),
        name: name.to_owned(),
        argument,
        before: surveyed.order[..first].iter().rev().copied().collect(),
    }
}
