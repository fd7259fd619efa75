//! Checks that the command of each step exists and accepts the step's arguments.

use serde_json::Value;

use super::book::Book;
use super::fixes::meant;
use super::known::Known;
use super::shape::a;
use super::templates::{Slot, Use};
use crate::argument::{self, Argument, Refused, fits, kind_of};
use crate::binding::Contracts;
use crate::definition::{InputType, Mode};
use crate::expression::{Expression, Node, Root, Template};
use crate::finding::Kind;
use crate::output::{self, Lookup};
use crate::source::Resolved;
use crate::spec::{CommandEffect, CommandSpec, Flag, Place};
use crate::yaml::places::below;
use mcpkg_base::error::nearest;

pub(super) fn check(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use], contracts: &Contracts<'_>) {
    for (index, step) in known.definition.steps.iter().enumerate().filter(|(_, step)| !step.run.is_empty()) {
        let pointer = format!("/steps/{index}/run");
        match &known.resolved[index] {
            Resolved::One(spec) => of_command(book, known, index, spec),
            Resolved::Several(ids) => {
                let message = format!("`{}` matches several commands: {}", step.run, ids.join(", "));
                book.at(Kind::AmbiguousCommand, &pointer, message).hint("write the full id");
            }
            Resolved::None(near) => {
                let fix = command_meant(known, &step.run, near).and_then(|id| book.fix_value(&pointer, &id.into()));
                let found = book.at(Kind::UnknownCommand, &pointer, format!("there is no command `{}`", step.run));
                found.fix = fix;
                match near.is_empty() {
                    true => found.hint("search for commands by what they do"),
                    false => found.hint(format!("the nearest are {}", near.join(", "))),
                };
            }
        }
    }
    for used in uses.iter().filter(|used| used.is_whole) {
        let Slot::With(step, arg) = &used.slot else { continue };
        let Some(wanted) = known.spec(*step).and_then(|spec| type_of(spec, arg)) else { continue };
        let given = match used.template.alone() {
            Some(expression) => type_of_expression(known, contracts, expression),
            None => Some("string".to_owned()),
        };
        if let Some(given) = given.filter(|given| !may_be(wanted, given)) {
            let message = format!("`{arg}` has type {wanted}, but this value has type {given}");
            let found = book.at(Kind::TemplateTypeMismatch, &used.pointer, message);
            if used.template.alone().is_none() {
                found.hint("to keep an expression's type, make the expression the whole value, without other text");
            }
        }
    }
}

/// Returns the command that was certainly meant by a misspelt id. A command that destroys is never returned: a person has to
/// write its name.
pub(super) fn command_meant(known: &Known<'_>, wanted: &str, near: &[String]) -> Option<String> {
    let id = meant(wanted, near.iter().map(String::as_str))?;
    match known.commands.resolve(id) {
        Ok(Resolved::One(spec)) if spec.effect != CommandEffect::Destroy => Some(id.to_owned()),
        _ => None,
    }
}

fn of_command(book: &mut Book<'_>, known: &Known<'_>, index: usize, spec: &CommandSpec) {
    let step = &known.definition.steps[index];
    let run = format!("/steps/{index}/run");
    if !spec.runnable {
        let why = spec.why_not.as_deref().unwrap_or("its source marks it as not runnable");
        book.at(Kind::NotRunnable, &run, format!("steps cannot run {}: {why}", spec.id));
    }
    if spec.deprecated {
        book.at(Kind::DeprecatedCommand, &run, format!("{} is deprecated", spec.id));
    }
    if spec.method.is_some() && spec.base_url.is_none() {
        let found = book.at(Kind::BaseUrlMissing, &run, format!("{} has no base URL", spec.group));
        found.hint("a person can set the base URL of its catalog");
    }
    let with = format!("/steps/{index}/with");
    for (arg, value) in &step.with {
        let pointer = below(&with, arg);
        let Some(argument) = argument::named(spec, arg) else {
            let near = nearest(arg, names(spec));
            let fix = meant(arg, names(spec)).filter(|name| !step.with.contains_key(*name));
            let fix = fix.and_then(|name| book.fix_key(&pointer, name));
            let found = book.at_key(Kind::UnknownWithKey, &pointer, format!("{} has no argument `{arg}`", spec.id));
            found.fix = fix;
            found.hint = near.map(|near| format!("did you mean `{near}`?")).or_else(|| argument_names(spec));
            continue;
        };
        if value.as_str().is_some_and(Template::may_be) {
            continue;
        }
        match argument.refuses(value) {
            None => {}
            Some(Refused::Type(_)) if !value.is_null() => {
                let message =
                    format!("`{arg}` of {} must be {}, but is {}", spec.id, a(&argument.takes()), a(kind_of(value)));
                book.at(Kind::LiteralTypeMismatch, &pointer, message);
                continue;
            }
            Some(Refused::Type(why)) => {
                let message = format!("`{arg}` of {} is null, but it {why}", spec.id);
                book.at(Kind::LiteralTypeMismatch, &pointer, message);
                continue;
            }
            Some(Refused::Value) => not_listed(book, spec, &argument, value, &pointer),
        }
        if let Some(flag) = spec.flags.iter().find(|flag| flag.name == *arg) {
            elements(book, spec, flag, value, &pointer);
        }
    }
    if step.body.is_some() && spec.body.is_none() {
        book.at_key(Kind::UnknownWithKey, &format!("/steps/{index}/body"), format!("{} takes no body", spec.id));
    }
    missing(book, spec, step.body.is_some(), &step.with, &with);
    if let Some(name) = spec.auth.first().filter(|_| !known.has_secrets[index]) {
        let message = format!("the secret `{name}` that {} needs is not set up", spec.id);
        book.at(Kind::SecretMissing, &run, message).hint("a person can configure where the secret is stored");
    }
}

fn not_listed(book: &mut Book<'_>, spec: &CommandSpec, argument: &Argument<'_>, value: &Value, pointer: &str) {
    let words: Vec<String> = argument.values.iter().map(shown).collect();
    let message = format!("`{}` of {} must be one of {}", argument.name, spec.id, words.join(", "));
    let near = value.as_str().and_then(|text| nearest(text, words.iter().map(String::as_str)));
    let fix = value.as_str().and_then(|text| meant(text, words.iter().map(String::as_str)));
    let fix = fix.and_then(|word| argument.values.iter().find(|value| shown(value) == word));
    let fix = fix.and_then(|value| book.fix_value(pointer, value));
    let found = book.at(Kind::EnumViolation, pointer, message);
    found.fix = fix;
    found.hint = near.map(|near| format!("did you mean `{near}`?"));
}

fn elements(book: &mut Book<'_>, spec: &CommandSpec, flag: &Flag, value: &Value, pointer: &str) {
    let (Some(items), Value::Array(values)) = (&flag.items, value) else { return };
    for (index, value) in values.iter().enumerate() {
        if !value.as_str().is_some_and(Template::may_be) && !fits(items, value) {
            let is = a(kind_of(value));
            let message = format!("an element of `{}` of {} must be {}, but is {is}", flag.name, spec.id, a(items));
            book.at(Kind::LiteralTypeMismatch, &below(pointer, index), message);
        }
    }
}

/// Reports missing required arguments, or a missing required body.
fn missing(
    book: &mut Book<'_>,
    spec: &CommandSpec,
    has_body: bool,
    given: &serde_json::Map<String, Value>,
    with: &str,
) {
    let goes_with_body = |flag: &&Flag| has_body && flag.r#in == Some(Place::Body);
    let flags = spec.needed(|name| given.contains_key(name)).filter(|flag| !goes_with_body(flag));
    let needed = spec.positionals.iter().map(|arg| &arg.name).chain(flags.map(|flag| &flag.name));
    for name in needed.filter(|name| !given.contains_key(*name)) {
        let message = format!("{} requires `{name}`", spec.id);
        book.at(Kind::MissingRequiredArg, &below(with, name), message);
    }
    let of_body = |flag: &Flag| flag.r#in == Some(Place::Body);
    let is_given = has_body || spec.flags.iter().any(|flag| of_body(flag) && given.contains_key(&flag.name));
    let needs_body = spec.body.as_ref().is_some_and(|body| body.required) && !is_given;
    let is_said = spec.flags.iter().any(|flag| of_body(flag) && flag.required);
    if needs_body && !is_said {
        book.at(Kind::MissingRequiredArg, &with.replace("/with", "/body"), format!("{} requires a body", spec.id));
    }
}

fn names(spec: &CommandSpec) -> impl Iterator<Item = &str> {
    spec.positionals.iter().map(|arg| &*arg.name).chain(spec.flags.iter().map(|flag| &*flag.name))
}

fn argument_names(spec: &CommandSpec) -> Option<String> {
    let names: Vec<&str> = names(spec).take(12).collect();
    Some(match names.is_empty() {
        true => format!("{} takes no arguments", spec.id),
        false => format!("{} takes {}", spec.id, names.join(", ")),
    })
}

/// Returns the type of an argument, if the command has it.
fn type_of<'s>(spec: &'s CommandSpec, arg: &str) -> Option<&'s str> {
    let positional = spec.positionals.iter().find(|known| known.name == arg).map(|known| &*known.r#type);
    positional.or_else(|| spec.flags.iter().find(|known| known.name == arg).map(|known| &*known.r#type))
}

/// Returns whether a value of type `given` can be passed as type `wanted`.
fn may_be(wanted: &str, given: &str) -> bool {
    const KNOWN: [&str; 7] = ["string", "secret", "integer", "number", "boolean", "array", "object"];
    let is_text = |name: &str| matches!(name, "string" | "secret");
    !KNOWN.contains(&wanted)
        || !KNOWN.contains(&given)
        || wanted == given
        || is_text(wanted) && is_text(given)
        || wanted == "number" && given == "integer"
}

/// Returns the type of an expression's value, if known.
fn type_of_expression(known: &Known<'_>, contracts: &Contracts<'_>, expression: &Expression) -> Option<String> {
    match &expression.node {
        Node::Literal(value) => Some(kind_of(value).to_owned()),
        Node::Path(path) => match &path.root {
            Root::Input(name) if path.segments.is_empty() => {
                let input = &known.definition.inputs.list[known.input(name)?].input;
                Some(
                    match (input.mode, &input.join, input.r#type) {
                        (_, Some(_), _) => "string",
                        (Mode::Multiple, None, _) => "array",
                        (Mode::Single, None, InputType::Secret) => "string",
                        (Mode::Single, None, other) => other.name(),
                    }
                    .to_owned(),
                )
            }
            Root::Step(id) => match output::find(contracts[known.step(id)?]?, &path.segments) {
                Lookup::Field(field) => field.r#type.clone(),
                _ => None,
            },
            Root::Input(_) => None,
            Root::Env(_) | Root::Secret(_) => Some("string".to_owned()),
        },
        _ => Some("boolean".to_owned()),
    }
}

/// Formats a value for people.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
