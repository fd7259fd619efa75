//! Collects what all checks need to know about a definition: names, commands and output contracts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::definition::Definition;
use crate::output;
use crate::source::{Commands, Resolved};
use crate::spec::{CommandSpec, OutputContract};
use mcpkg_base::error::Result;

/// A definition with its names and its resolved commands.
pub(super) struct Known<'a> {
    pub(super) definition: &'a Definition,
    pub(super) commands: &'a dyn Commands,
    /// The resolved `run` of each step.
    pub(super) resolved: Vec<Resolved>,
    /// Whether the secrets of each step's command are configured.
    pub(super) has_secrets: Vec<bool>,
    steps: HashMap<&'a str, usize>,
    inputs: HashMap<&'a str, usize>,
}

impl<'a> Known<'a> {
    pub(super) fn new(definition: &'a Definition, commands: &'a dyn Commands) -> Result<Self> {
        let mut by_id: HashMap<&str, (Resolved, bool)> = HashMap::new();
        let (mut resolved, mut has_secrets) = (Vec::with_capacity(definition.steps.len()), Vec::new());
        for step in &definition.steps {
            let (found, has) = match by_id.get(step.run.as_str()) {
                Some(known) => known.clone(),
                None => {
                    let found = commands.resolve(&step.run)?;
                    let has = match &found {
                        Resolved::One(spec) if !spec.auth.is_empty() => commands.has_secrets(spec)?,
                        _ => true,
                    };
                    by_id.insert(&step.run, (found.clone(), has));
                    (found, has)
                }
            };
            resolved.push(found);
            has_secrets.push(has);
        }
        let (mut steps, mut inputs) = (HashMap::new(), HashMap::new());
        // If several steps or inputs have the same name, the first one counts. So insert the first one last.
        for (index, step) in definition.steps.iter().enumerate().rev() {
            steps.insert(step.id.as_str(), index);
        }
        for (index, named) in definition.inputs.list.iter().enumerate().rev() {
            inputs.insert(named.id.as_str(), index);
        }
        Ok(Self { definition, commands, resolved, has_secrets, steps, inputs })
    }

    pub(super) fn step(&self, id: &str) -> Option<usize> {
        self.steps.get(id).copied()
    }

    pub(super) fn input(&self, id: &str) -> Option<usize> {
        self.inputs.get(id).copied()
    }

    pub(super) fn step_names(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.definition.steps.iter().map(|step| step.id.as_str()).filter(|id| !id.is_empty())
    }

    pub(super) fn input_names(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.definition.inputs.list.iter().map(|named| named.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Returns the command of a step, if its id is known and unambiguous.
    pub(super) fn spec(&self, step: usize) -> Option<&Arc<CommandSpec>> {
        match self.resolved.get(step)? {
            Resolved::One(spec) => Some(spec),
            _ => None,
        }
    }

    /// Returns the output contract of each step whose command is known.
    pub(super) fn contracts(&self) -> Answers<'_> {
        let of = |(index, step)| self.spec(index).map(|spec| output::contract(spec, step));
        Answers(self.definition.steps.iter().enumerate().map(of).collect())
    }
}

/// The output contract of each step.
pub(super) struct Answers<'k>(Vec<Option<Cow<'k, OutputContract>>>);

impl Answers<'_> {
    /// Returns the contracts in the form that `binding` expects.
    pub(super) fn borrowed(&self) -> Vec<Option<&OutputContract>> {
        self.0.iter().map(|contract| contract.as_deref()).collect()
    }
}
