//! Compares two versions of an API, and marks the changes that break callers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::import::Command;
use crate::spec::{CommandSpec, Flag, OutputField};

/// The differences between the stored version and the new one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids of new commands.
    pub added: Vec<String>,
    /// Ids of removed commands. Their callers break.
    pub removed: Vec<String>,
    pub changed: Vec<Changed>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    pub id: String,
    /// Breaking changes come first.
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Whether callers that worked before may now fail.
    pub breaking: bool,
    pub what: String,
}

impl Difference {
    /// Compares the stored commands with those of the new document.
    pub fn between(before: &[Command], after: &[Command]) -> Self {
        let by_operation = |commands: &[Command]| -> BTreeMap<(String, String), CommandSpec> {
            let one = |command: &Command| ((command.path.clone(), command.method.clone()), alone(command.spec.clone()));
            commands.iter().map(one).collect()
        };
        let (before, after) = (by_operation(before), by_operation(after));
        let mut difference = Self::default();
        for (operation, old) in &before {
            match after.get(operation) {
                None => difference.removed.push(old.id.clone()),
                Some(new) if new == old => {}
                Some(new) => difference.changed.push(Changed { id: old.id.clone(), changes: changes(old, new) }),
            }
        }
        let new = after.iter().filter(|(operation, _)| !before.contains_key(*operation));
        difference.added = new.map(|(_, spec)| spec.id.clone()).collect();
        difference.added.sort();
        difference.removed.sort();
        difference.changed.sort_by(|a, b| a.id.cmp(&b.id));
        difference
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether any change breaks a caller.
    pub fn breaks(&self) -> bool {
        !self.removed.is_empty() || self.changed.iter().any(Changed::breaks)
    }

    /// Returns the differences as lines of text: `+` added, `-` removed, `!` breaking change, `~` other change.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |sign: &str, text: &str| lines.push(format!("{sign} {text}"));
        self.added.iter().for_each(|id| line("+", id));
        self.removed.iter().for_each(|id| line("-", id));
        for changed in &self.changed {
            let what: Vec<&str> = changed.changes.iter().map(|change| change.what.as_str()).collect();
            line(if changed.breaks() { "!" } else { "~" }, &format!("{}: {}", changed.id, what.join("; ")));
        }
        lines
    }

    pub fn data(&self) -> Value {
        let changes = |changed: &Changed| {
            let one = |change: &Change| json!({ "what": change.what, "breaking": change.breaking });
            json!({ "id": changed.id, "breaking": changed.breaks(), "changes": changed.changes.iter().map(one).collect::<Vec<_>>() })
        };
        json!({
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed.iter().map(changes).collect::<Vec<_>>(),
            "breaking": self.breaks(),
        })
    }
}

impl Changed {
    /// Returns whether any change breaks a caller.
    pub fn breaks(&self) -> bool {
        self.changes.iter().any(|change| change.breaking)
    }
}

/// Returns the changes of a command, breaking ones first.
fn changes(old: &CommandSpec, new: &CommandSpec) -> Vec<Change> {
    let mut found = Vec::new();
    let mut add = |breaking: bool, what: String| found.push(Change { breaking, what });
    arguments(old, new, &mut add);
    output(old, new, &mut add);
    if old.body != new.body {
        let media =
            |spec: &CommandSpec| spec.body.as_ref().map_or("nothing".to_owned(), |body| body.content_type.clone());
        let required = |spec: &CommandSpec| spec.body.as_ref().is_some_and(|body| body.required);
        if media(old) != media(new) {
            add(true, format!("its body is now {} (previously {})", media(new), media(old)));
        } else if required(old) != required(new) {
            add(required(new), format!("its body is {}", if required(new) { "required now" } else { "optional now" }));
        } else {
            add(true, "the arguments in its body changed".to_owned());
        }
    }
    if old.runnable != new.runnable {
        let why = new.why_not.clone().unwrap_or_default();
        add(
            !new.runnable,
            if new.runnable { "it can be run now".to_owned() } else { format!("it can no longer be run: {why}") },
        );
    }
    if old.effect != new.effect {
        add(new.effect > old.effect, "its effect changed".to_owned());
    }
    if old.idempotency != new.idempotency {
        add(false, "its idempotency changed".to_owned());
    }
    if old.auth != new.auth {
        add(false, format!("it now uses the security schemes [{}]", new.auth.join(", ")));
    }
    if old.base_url != new.base_url {
        add(true, "its base URL changed".to_owned());
    }
    if old.deprecated != new.deprecated {
        add(false, if new.deprecated { "it is deprecated" } else { "it is no longer deprecated" }.to_owned());
    }
    if found.is_empty() {
        found.push(Change { breaking: false, what: "its description or other details changed".to_owned() });
    }
    found.sort_by_key(|change| !change.breaking);
    found
}

/// Returns a command without the tags and providers that mcpkg derives from the other commands of the document.
fn alone(mut spec: CommandSpec) -> CommandSpec {
    spec.provider_for.clear();
    for flag in &mut spec.flags {
        (flag.provider, flag.prefer) = (None, None);
        flag.accepts.clear();
    }
    for positional in &mut spec.positionals {
        (positional.provider, positional.prefer) = (None, None);
        positional.accepts.clear();
    }
    spec
}

fn arguments(old: &CommandSpec, new: &CommandSpec, add: &mut impl FnMut(bool, String)) {
    let find = |spec: &'_ CommandSpec, name: &str| spec.flags.iter().find(|flag| flag.name == name).cloned();
    let names = |spec: &CommandSpec| spec.positionals.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    if names(old) != names(new) {
        add(true, format!("the arguments in its path are now [{}]", names(new).join(", ")));
    }
    let same_name = old.positionals.iter().zip(&new.positionals).filter(|(was, is)| was.name == is.name);
    for (was, is) in same_name.filter(|(was, is)| was.r#type != is.r#type) {
        add(true, format!("the type of `{}` is now {} (previously {})", is.name, is.r#type, was.r#type));
    }
    for was in &old.flags {
        match find(new, &was.name) {
            None => add(true, format!("`{}` was removed", was.name)),
            Some(is) => flag(was, &is, add),
        }
    }
    for is in new.flags.iter().filter(|flag| find(old, &flag.name).is_none()) {
        let required = if is.required { ", and required" } else { "" };
        add(is.required, format!("`{}` is new{required}", is.name));
    }
}

fn flag(was: &Flag, is: &Flag, add: &mut impl FnMut(bool, String)) {
    let name = &is.name;
    if was.r#type != is.r#type {
        add(true, format!("the type of `{name}` is now {} (previously {})", is.r#type, was.r#type));
    }
    if (&was.items, &was.any_of) != (&is.items, &is.any_of) {
        add(true, format!("the values that `{name}` accepts have other types"));
    }
    if was.required != is.required {
        add(is.required, format!("`{name}` is {} now", if is.required { "required" } else { "optional" }));
    }
    if was.r#enum != is.r#enum {
        let gone = was.r#enum.is_empty() || was.r#enum.iter().any(|value| !is.r#enum.contains(value));
        add(gone && !is.r#enum.is_empty(), format!("the values that `{name}` accepts changed"));
    }
    if (was.r#in, was.style, &was.key) != (is.r#in, is.style, &is.key) {
        add(false, format!("`{name}` is sent in a different way"));
    }
    if was.default != is.default {
        add(false, format!("the default of `{name}` changed"));
    }
}

fn output(old: &CommandSpec, new: &CommandSpec, add: &mut impl FnMut(bool, String)) {
    let (was, is) = (&old.output_contract, &new.output_contract);
    if was.list != is.list {
        add(true, "its list is now at a different place in the response".to_owned());
        return;
    }
    let of = |fields: &[OutputField]| -> BTreeMap<String, Option<String>> {
        fields.iter().map(|field| (field.name.clone(), field.r#type.clone())).collect()
    };
    let (was, is) = (of(&was.fields), of(&is.fields));
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    for name in names {
        match (was.get(name), is.get(name)) {
            (Some(_), None) => add(true, format!("the response no longer has `{name}`")),
            (None, Some(_)) => add(false, format!("the response now has `{name}`")),
            (Some(was), Some(is)) if was != is => add(true, format!("the response has a different type for `{name}`")),
            _ => {}
        }
    }
}
