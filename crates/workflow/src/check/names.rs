//! Checks names: each must be valid in expressions and unique. Also checks how many inputs and steps there are, and that the
//! required command groups exist.

use std::collections::HashSet;

use super::book::Book;
use super::known::Known;
use crate::definition::{Form, is_identifier};
use crate::finding::Kind;
use crate::limits::{MAX_INPUTS, MAX_STEPS};
use mcpkg_base::error::Result;

pub(super) fn check(book: &mut Book<'_>, known: &Known<'_>) -> Result<()> {
    let definition = known.definition;
    name(book, "/workflow", "a workflow", &definition.workflow, false);
    let mut seen = HashSet::new();
    for (index, named) in definition.inputs.list.iter().enumerate() {
        let pointer = definition.inputs.pointer(index);
        let (pointer, is_key) = match definition.inputs.form {
            Form::Map => (pointer, true),
            Form::List => (format!("{pointer}/name"), false),
        };
        name(book, &pointer, "an input", &named.id, is_key);
        if !named.id.is_empty() && !seen.insert(&*named.id) {
            book.at(Kind::DuplicateStepId, &pointer, format!("two inputs have the name `{}`", named.id));
        }
    }
    let mut seen = HashSet::new();
    for (index, step) in definition.steps.iter().enumerate() {
        let pointer = format!("/steps/{index}/id");
        name(book, &pointer, "a step", &step.id, false);
        if !step.id.is_empty() && !seen.insert(&*step.id) {
            book.at(Kind::DuplicateStepId, &pointer, format!("two steps have the name `{}`", step.id));
        }
    }
    if definition.steps.is_empty() && book.has("/steps") {
        book.at_key(Kind::EmptySteps, "/steps", "a workflow needs at least one step");
    }
    if definition.steps.len() > MAX_STEPS {
        book.at_key(Kind::LimitExceeded, "/steps", format!("there are more than {MAX_STEPS} steps"));
    }
    if definition.inputs.list.len() > MAX_INPUTS {
        book.at_key(Kind::LimitExceeded, "/inputs", format!("there are more than {MAX_INPUTS} inputs"));
    }
    for (index, group) in definition.requires.iter().enumerate().filter(|(_, group)| !group.is_empty()) {
        if !known.commands.has_group(group)? {
            let message = format!("there are no commands in the group `{group}`");
            let found = book.at(Kind::CatalogRequirement, &format!("/requires/{index}"), message);
            found.hint("a person can import a catalog or add a plugin with this group");
        }
    }
    Ok(())
}

/// Reports a name that is not valid in expressions. An empty name that was already reported as missing is not reported
/// again.
fn name(book: &mut Book<'_>, pointer: &str, what: &str, name: &str, is_key: bool) {
    if is_identifier(name) || name.is_empty() && book.is_found(pointer) {
        return;
    }
    let message = format!("`{name}` is not a valid name for {what}");
    let found = match is_key {
        true => book.at_key(Kind::BadIdentifier, pointer, message),
        false => book.at(Kind::BadIdentifier, pointer, message),
    };
    found.hint("use letters, digits, `_` and `-`, beginning with a letter or `_`, up to 64 characters");
}
