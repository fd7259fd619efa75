//! Looks up the values of expression paths before the run.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::check::Sources;
use crate::definition::{Definition, InputType};
use crate::expression::{Outcome, Path, Root, Scope, value_at};
use crate::source::Commands;

/// Values that are known before the run.
pub(super) struct Before<'a> {
    pub(super) definition: &'a Definition,
    pub(super) commands: &'a dyn Commands,
    /// Input values, already validated.
    pub(super) inputs: &'a Map<String, Value>,
    /// The passwords to hide. `None` if the values are evaluated and not shown.
    pub(super) hides: Option<&'a Sources>,
    /// Outputs of steps that the caller supplied.
    pub(super) outputs: &'a Map<String, Value>,
    /// Collects the paths that have no known value.
    pub(super) unresolved: &'a RefCell<BTreeSet<String>>,
}

impl Before<'_> {
    /// Returns the paths that were looked up since the last call and have no known value.
    pub(super) fn take_unresolved(&self) -> Vec<String> {
        std::mem::take(&mut *self.unresolved.borrow_mut()).into_iter().collect()
    }

    fn find(&self, path: &Path) -> Outcome {
        let inside = |value: Option<&Value>, otherwise: Outcome| match value {
            Some(value) => {
                let kept = self.hides.map(|passwords| passwords.hidden(&path.root, value));
                let found = value_at(kept.as_ref().unwrap_or(value), &path.segments);
                found.map_or(Outcome::Missing, |value| Outcome::Known(value.clone()))
            }
            None => otherwise,
        };
        match &path.root {
            Root::Input(name) => {
                let Some(input) = self.definition.inputs.get(name) else { return Outcome::Missing };
                // A secret is shown as the name of its input.
                if input.r#type == InputType::Secret && self.inputs.contains_key(name) {
                    return Outcome::Known(Value::String(format!("inputs.{name}")));
                }
                let otherwise =
                    if input.is_required() || input.default.is_some() { Outcome::Unknown } else { Outcome::Missing };
                inside(self.inputs.get(name), otherwise)
            }
            Root::Step(id) => inside(self.outputs.get(id), Outcome::Unknown),
            Root::Env(name) => match self.commands.variable(name) {
                Ok(Some(value)) => inside(Some(&Value::String(value)), Outcome::Missing),
                _ => Outcome::Missing,
            },
            Root::Secret(name) => Outcome::Known(Value::String(format!("secrets.{name}"))),
        }
    }
}

impl Scope for Before<'_> {
    fn look(&self, path: &Path) -> Outcome {
        let found = self.find(path);
        if !matches!(found, Outcome::Known(_)) {
            self.unresolved.borrow_mut().insert(path.to_string());
        }
        found
    }
}
