//! Summarizes what a plan does, for the person who approves it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::step::{PlannedStep, WillRun};
use crate::check::Sound;
use crate::definition::{Definition, InputType};
use crate::expression::Root;
use crate::spec::CommandEffect;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effects {
    /// How many steps read, write and destroy. Steps that are certainly skipped do not count.
    pub counts: BTreeMap<&'static str, usize>,
    /// The hosts that requests go to.
    pub hosts: BTreeSet<String>,
    /// Method and path of each request, with placeholders.
    pub requests: BTreeSet<String>,
    /// The names of the secrets that are sent.
    pub secrets: BTreeSet<String>,
    /// The steps that may be skipped, depending on values that are not known yet.
    pub unknown: Vec<String>,
}

impl Effects {
    pub(super) fn of(sound: &Sound, steps: &[PlannedStep]) -> Self {
        let mut effects = Self::default();
        for step in steps.iter().filter(|step| step.will_run != WillRun::No) {
            let word = match step.effect {
                CommandEffect::Read => "read",
                CommandEffect::Write => "write",
                CommandEffect::Destroy => "destroy",
            };
            *effects.counts.entry(word).or_default() += 1;
            effects.hosts.extend(step.host.clone());
            if let (Some(method), Some(path)) = (&step.method, &step.path) {
                effects.requests.insert(format!("{method} {path}"));
            }
            if step.will_run == WillRun::Unknown {
                effects.unknown.push(step.id.clone());
            }
        }
        let ids: BTreeSet<&str> =
            steps.iter().filter(|step| step.will_run != WillRun::No).map(|step| &*step.id).collect();
        let is_planned = |step: usize| ids.contains(&*sound.definition.steps[step].id);
        for (_, spec) in sound.specs.iter().enumerate().filter(|(step, _)| is_planned(*step)) {
            effects.secrets.extend(spec.auth.iter().cloned());
        }
        for used in sound.uses.iter().filter(|used| used.slot.step().is_some_and(is_planned)) {
            for path in used.paths() {
                match &path.root {
                    Root::Secret(name) => drop(effects.secrets.insert(name.clone())),
                    Root::Input(name) if is_secret(&sound.definition, name) => {
                        effects.secrets.insert(format!("inputs.{name}"));
                    }
                    _ => {}
                }
            }
        }
        effects
    }
}

fn is_secret(definition: &Definition, input: &str) -> bool {
    definition.inputs.get(input).is_some_and(|input| input.r#type == InputType::Secret)
}
