//! What the checks of a definition know: its names, its commands, and what those answer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::definition::Definition;
use crate::output;
use crate::source::{Commands, Resolved};
use crate::spec::{CommandSpec, OutputContract};
use mcpkg_base::error::Result;

/// What is known of a definition.
pub(super) struct Known<'a> {
    pub(super) definition: &'a Definition,
    /// The commands that can be reached.
    pub(super) commands: &'a dyn Commands,
    /// What each step's `run` stands for.
    pub(super) resolved: Vec<Resolved>,
    /// Whether it is said where the secrets of each step's command are kept.
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
        // Of two that have one name the first one counts.
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

    /// Returns the names of all steps that have one.
    pub(super) fn step_names(&self) -> impl Iterator<Item = &'a str> {
        self.definition.steps.iter().map(|step| step.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Returns the names of all inputs.
    pub(super) fn input_names(&self) -> impl Iterator<Item = &'a str> {
        self.definition.inputs.list.iter().map(|named| named.id.as_str()).filter(|id| !id.is_empty())
    }

    /// Returns the command of a step, where it is one.
    pub(super) fn spec(&self, step: usize) -> Option<&Arc<CommandSpec>> {
        match self.resolved.get(step)? {
            Resolved::One(spec) => Some(spec),
            _ => None,
        }
    }

    /// Returns what each step answers, where its command is known.
    pub(super) fn contracts(&self) -> Answers<'_> {
        let of = |(index, step)| self.spec(index).map(|spec| output::contract(spec, step));
        Answers(self.definition.steps.iter().enumerate().map(of).collect())
    }
}

/// What each step answers.
pub(super) struct Answers<'k>(Vec<Option<Cow<'k, OutputContract>>>);

impl Answers<'_> {
    /// Returns the answers in the form that bindings take.
    pub(super) fn borrowed(&self) -> Vec<Option<&OutputContract>> {
        self.0.iter().map(|contract| contract.as_deref()).collect()
    }
}
