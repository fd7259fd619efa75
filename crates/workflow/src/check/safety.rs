//! Checks safety: the text contains no secrets, secrets go only to commands that authenticate with them, and a step that
//! changes something comes after a step that reads.

use serde_json::Value;

use super::book::Book;
use super::known::Known;
use super::sources::Sources;
use super::templates::{Slot, Use};
use crate::definition::{InputType, Origin, Step};
use crate::expression::{Root, Template};
use crate::finding::Kind;
use crate::graph::Graph;
use crate::passwords;
use crate::spec::{CommandEffect, CommandSpec};
use crate::yaml::places::below;
use mcpkg_base::redact::holds_token;

pub(super) fn check(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use], sources: &Sources, graph: &Graph) {
    literals(book, known, sources);
    secrets(book, known, uses);
    changes(book, known, graph);
}

fn literals(book: &mut Book<'_>, known: &Known<'_>, sources: &Sources) {
    let definition = known.definition;
    for (index, named) in definition.inputs.list.iter().enumerate() {
        let pointer = format!("{}/default/value", definition.inputs.pointer(index));
        let Some(default) = named.input.default.as_ref().filter(|default| default.from == Origin::Literal) else {
            continue;
        };
        let Some(value) = &default.value else { continue };
        if named.input.r#type == InputType::Secret && !value.as_str().is_some_and(is_reference) {
            let message = format!("the text contains a default value for the secret `{}`", named.id);
            book.at(Kind::SecretLiteral, &pointer, message)
                .hint("use a reference to the place where the secret is stored: env:NAME, file:PATH or command:ARGV");
        } else {
            let mut found = Vec::new();
            sources.each(&Root::Input(named.id.clone()), &mut value.clone(), &mut |at, value| {
                found.extend(value.is_string().then(|| at.to_owned()));
            });
            for at in &found {
                let message = format!("the text contains a default value for the password `{}`", named.id);
                book.at(Kind::SecretLiteral, &format!("{pointer}{at}"), message).hint("remove the default");
            }
            if found.is_empty() {
                tokens(book, &pointer, value);
            }
        }
    }
    for (index, step) in definition.steps.iter().enumerate() {
        let begin = format!("/steps/{index}");
        let found = known.spec(index).map(|spec| passwords_of(spec, step)).unwrap_or_default();
        for at in &found {
            let name = at.trim_start_matches("/with/").trim_start_matches('/').replace('/', ".");
            let message = format!("the text contains the secret `{name}`");
            book.at(Kind::SecretLiteral, &format!("{begin}{at}"), message).hint("use an input of type secret instead");
        }
        let is_found = |at: &str| found.iter().any(|found| at.strip_prefix(&begin) == Some(found));
        for (arg, value) in &step.with {
            tokens_but(book, &below(&format!("{begin}/with"), arg), value, &is_found);
        }
        if let Some(body) = &step.body {
            tokens_but(book, &format!("{begin}/body"), body, &is_found);
        }
    }
}

/// Returns the pointers of passwords and secret references that are written literally in a step.
fn passwords_of(spec: &CommandSpec, step: &Step) -> Vec<String> {
    let is_reference = |name: &str| spec.flags.iter().any(|flag| flag.name == name && flag.r#type == passwords::TAG);
    let is_literal = |value: &Value| value.as_str().is_some_and(|text| !Template::may_be(text));
    let references = step.with.iter().filter(|(name, value)| is_reference(name) && is_literal(value));
    let mut found: Vec<String> = references.map(|(name, _)| below("/with", name)).collect();
    let (mut with, mut body) = (step.with.clone(), step.body.clone());
    passwords::each_of_step(spec, &mut with, body.as_mut(), &mut |at, value| {
        found.extend(value.is_string().then(|| at.to_owned()));
    });
    found
}

fn tokens(book: &mut Book<'_>, pointer: &str, value: &Value) {
    tokens_but(book, pointer, value, &|_| false);
}

/// Reports text that looks like a secret, unless it was already reported.
fn tokens_but(book: &mut Book<'_>, pointer: &str, value: &Value, is_found: &dyn Fn(&str) -> bool) {
    match value {
        Value::String(_) if is_found(pointer) => {}
        Value::String(text) if !is_identifier(text) && holds_token(text) => {
            let found = book.at(Kind::SecretLiteral, pointer, "the text contains what looks like a secret");
            found.hint("use an input of type secret instead");
        }
        Value::Array(values) => {
            values
                .iter()
                .enumerate()
                .for_each(|(index, value)| tokens_but(book, &below(pointer, index), value, is_found));
        }
        Value::Object(values) => {
            values.iter().for_each(|(key, value)| tokens_but(book, &below(pointer, key), value, is_found))
        }
        _ => {}
    }
}

/// Returns whether text is a UUID, a template, or too short to be a secret.
fn is_identifier(text: &str) -> bool {
    text.len() < 16 || Template::may_be(text) || uuid::Uuid::try_parse(text).is_ok()
}

fn is_reference(text: &str) -> bool {
    ["env:", "file:", "command:"].iter().any(|begin| text.strip_prefix(begin).is_some_and(|rest| !rest.is_empty()))
}

/// Checks that a secret is used only in an argument or the body of a command that authenticates with it.
fn secrets(book: &mut Book<'_>, known: &Known<'_>, uses: &[Use]) {
    for used in uses {
        for path in used.paths() {
            let Root::Secret(name) = &path.root else { continue };
            let spec = used.slot.step().and_then(|step| known.spec(step));
            let is_argument = matches!(used.slot, Slot::With(..) | Slot::Body(_));
            // If the command is unknown, that was already reported, and nothing can be said about its secrets.
            let is_unknown = used.slot.step().is_some() && spec.is_none();
            if is_unknown || is_argument && spec.is_some_and(|spec| spec.auth.contains(name)) {
                continue;
            }
            let message = match spec.filter(|_| is_argument) {
                Some(spec) => format!("`{name}` is not a secret that {} uses", spec.id),
                None => format!("the secret `{name}` is used in a place that accepts no secrets"),
            };
            let found = book.inside(Kind::SecretWrongCatalog, &used.pointer, &path.name_at, message);
            found.hint("use a secret only in arguments of commands from the secret's own catalog");
        }
    }
}

fn changes(book: &mut Book<'_>, known: &Known<'_>, graph: &Graph) {
    let order = graph.order();
    for (at, index) in order.iter().enumerate() {
        let Some(spec) = known.spec(*index) else { continue };
        if spec.effect == CommandEffect::Read {
            continue;
        }
        let step = &known.definition.steps[*index];
        let pointer = format!("/steps/{index}/run");
        let earlier = || order[..at].iter().filter_map(|step| known.spec(*step));
        let reads = |earlier: &CommandSpec| earlier.effect == CommandEffect::Read && earlier.group == spec.group;
        let has_read = earlier().any(|spec| reads(spec));
        let is_create = action(spec) == "create";
        if is_create {
            let resource = resource(spec);
            if !earlier()
                .any(|spec| reads(spec) && matches!(action(spec), "list" | "info") && self::resource(spec) == resource)
            {
                let message =
                    format!("`{}` creates something without first checking whether it already exists", step.id);
                book.at(Kind::CreateWithoutCheck, &pointer, message).hint(
                    "list the existing items first, and make the create step \
                    conditional with `if`",
                );
            }
        } else if !has_read {
            let message = format!(
                "`{}` changes something in the group {} before any step reads from that group",
                step.id, spec.group
            );
            book.at(Kind::MutationBeforeRead, &pointer, message)
                .hint("add an earlier step that reads what this step will change");
        }
        // A step is guarded by a condition, or by a dependency on a step that reads. Using a step's output makes that step a
        // dependency.
        let guarded = step.condition.is_some()
            || graph
                .of(*index)
                .iter()
                .any(|step| known.spec(*step).is_some_and(|spec| spec.effect == CommandEffect::Read));
        if spec.effect == CommandEffect::Destroy && !guarded {
            let message =
                format!("`{}` is destructive, but has no condition and depends on no step that reads data", step.id);
            book.at(Kind::UnguardedMutation, &pointer, message)
                .hint("add an `if`, or use an id that an earlier step has read");
        }
    }
}

/// Returns the last part of a command's name, which is the action.
fn action(spec: &CommandSpec) -> &str {
    spec.name.rsplit(':').next().unwrap_or_default()
}

/// Returns the command's name without the action.
fn resource(spec: &CommandSpec) -> &str {
    spec.name.rsplit_once(':').map_or("", |(resource, _)| resource)
}
