//! The program of a run: its steps in execution order, each with its command.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::earlier::Earlier;
use crate::check::{Slot, Sound, Sources, Use};
use crate::definition::{self, InputType};
use crate::expression::Root;
use crate::passwords;
use crate::sealed::Known;
use crate::spec::{CommandEffect, CommandSpec, OutputField, SECRET};
use mcpkg_base::clock::Millis;
use mcpkg_store::runs::Kind;

#[derive(Clone, Debug)]
pub struct Program {
    pub kind: Kind,
    /// The id of the command, or the name of the workflow.
    pub name: String,
    /// The steps, in execution order.
    pub steps: Vec<Planned>,
    /// The template of the run's output. Without it, the output is that of the last step that succeeded.
    pub final_output: Option<Value>,
    /// The inputs by name. For a secret input, the value is a reference.
    pub inputs: Map<String, Value>,
    /// The names of secret inputs.
    pub secret_inputs: Vec<String>,
    /// The places of passwords in the inputs, variables and outputs. Passwords are sent, but never stored.
    pub passwords: Sources,
    /// The project's variables that the workflow reads.
    pub env: Map<String, Value>,
    /// The outputs of other steps, if the program is a single step of a workflow.
    pub earlier: Vec<Earlier>,
}

impl Program {
    /// Returns whether this is a single read-only command, which can always be sent again.
    pub fn only_reads(&self) -> bool {
        self.kind == Kind::Command && self.steps.iter().all(|step| step.spec.effect == CommandEffect::Read)
    }
}

#[derive(Clone, Debug)]
pub struct Planned {
    pub id: String,
    pub spec: Arc<CommandSpec>,
    /// Indices of the steps that must succeed first.
    pub needs: Vec<usize>,
    /// The step is skipped if this is false.
    pub condition: Option<Value>,
    pub with: Arguments,
    /// The whole body of the request, as a template.
    pub body: Option<Value>,
    /// Names of the catalog secrets that the step's arguments and body use.
    pub secrets: Vec<String>,
    pub repeat: Option<Repeat>,
    /// The fields that the step's output must have.
    pub fields: Vec<OutputField>,
}

impl Planned {
    /// Returns whether the step's arguments can be filled in without reading a secret.
    pub fn reads_no_secret(&self) -> bool {
        let named = match &self.with {
            Arguments::Plain { secrets, .. } => secrets.as_slice(),
            Arguments::Templates(_) => &[],
        };
        self.secrets.is_empty() && named.is_empty()
    }
}

#[derive(Clone, Debug)]
pub enum Arguments {
    /// Arguments without expressions.
    Plain {
        /// The values by name. For a secret, the value is a reference.
        with: Map<String, Value>,
        /// The names of the secrets.
        secrets: Vec<String>,
    },
    /// Arguments with templates, which are filled in just before the step runs.
    Templates(Map<String, Value>),
}

/// The settings for repeating a step.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The condition that ends the repetition.
    pub until: Option<Value>,
    /// Milliseconds between two rounds.
    pub every: Millis,
    /// Milliseconds after which no new round begins.
    pub timeout: Millis,
    pub max_rounds: i64,
}

impl Repeat {
    /// Default for `every`, in milliseconds.
    pub const EVERY: Millis = 1_000;
    /// Default for `timeout`, in milliseconds.
    pub const TIMEOUT: Millis = 15 * 60_000;
    /// Maximum of `timeout`, in milliseconds.
    pub const LONGEST: Millis = 24 * 60 * 60_000;
    /// Default for `max_rounds`.
    pub const ROUNDS: i64 = 100;
    /// Maximum of `max_rounds`.
    pub const MOST_ROUNDS: i64 = 10_000;

    /// Applies the defaults and limits to the `repeat` of a step.
    fn of(written: &definition::Repeat) -> Self {
        let span = |value: &Option<Value>, usual: Millis| {
            let span = value.as_ref().and_then(definition::milliseconds);
            span.map_or(usual, |span| Millis::try_from(span).unwrap_or(Millis::MAX)).clamp(0, Self::LONGEST)
        };
        Self {
            until: written.until.clone(),
            every: span(&written.every, Self::EVERY),
            timeout: span(&written.timeout, Self::TIMEOUT),
            max_rounds: written.max_attempts.map_or(Self::ROUNDS, i64::from).clamp(1, Self::MOST_ROUNDS),
        }
    }
}

impl Program {
    /// Returns the name of the operation in the audit trail.
    pub fn operation(&self) -> &'static str {
        match self.kind {
            Kind::Command => "command.run",
            Kind::Workflow => "workflow.run",
        }
    }

    /// Returns the inputs to store, without passwords.
    pub fn kept_inputs(&self) -> Map<String, Value> {
        let kept =
            |(name, value): (&String, &Value)| (name.clone(), self.passwords.hidden(&Root::Input(name.clone()), value));
        self.inputs.iter().map(kept).collect()
    }

    /// Returns the variables to store, without passwords.
    pub fn kept_env(&self) -> Map<String, Value> {
        let kept =
            |(name, value): (&String, &Value)| (name.clone(), self.passwords.hidden(&Root::Env(name.clone()), value));
        self.env.iter().map(kept).collect()
    }

    /// Returns the passwords that are known before the run, to mask them in answers: those in inputs, variables, earlier outputs
    /// and arguments.
    pub fn known(&self) -> Known {
        let mut known = Known::default();
        let mut learn = |_: &str, value: &mut Value| known.learn(value);
        let given = self.inputs.iter().map(|(name, value)| (Root::Input(name.clone()), value));
        let given = given.chain(self.env.iter().map(|(name, value)| (Root::Env(name.clone()), value)));
        let earlier = self.earlier.iter().map(|earlier| (Root::Step(earlier.step.clone()), &earlier.output));
        for (source, value) in given.chain(earlier) {
            self.passwords.each(&source, &mut value.clone(), &mut learn);
        }
        for step in &self.steps {
            match &step.with {
                Arguments::Plain { with, .. } => passwords::each_argument(&step.spec, &mut with.clone(), &mut learn),
                Arguments::Templates(with) => {
                    passwords::each_of_step(&step.spec, &mut with.clone(), step.body.clone().as_mut(), &mut learn);
                }
            }
        }
        known
    }

    /// Returns the program of a valid workflow, with these inputs and variables.
    pub fn of_workflow(sound: &Sound, inputs: Map<String, Value>, env: Map<String, Value>) -> Self {
        let definition = &sound.definition;
        let mut places = vec![0; definition.steps.len()];
        for (place, index) in sound.order.iter().enumerate() {
            places[*index] = place;
        }
        let planned = |index: &usize| {
            let step = &definition.steps[*index];
            Planned {
                id: step.id.clone(),
                spec: Arc::clone(&sound.specs[*index]),
                needs: sound.graph.of(*index).iter().map(|other| places[*other]).collect(),
                condition: step.condition.clone(),
                with: Arguments::Templates(step.with.clone()),
                body: step.body.clone(),
                secrets: secrets(sound, *index),
                repeat: step.repeat.as_ref().map(Repeat::of),
                fields: step.output_contract.as_ref().map(|contract| contract.fields.clone()).unwrap_or_default(),
            }
        };
        let secrets = definition.inputs.list.iter().filter(|named| named.input.r#type == InputType::Secret);
        Self {
            kind: Kind::Workflow,
            name: definition.workflow.clone(),
            steps: sound.order.iter().map(planned).collect(),
            final_output: definition.final_output.clone(),
            secret_inputs: secrets.map(|named| named.id.clone()).collect(),
            passwords: sound.passwords.clone(),
            inputs,
            env,
            earlier: Vec::new(),
        }
    }

    /// Reduces a program to a single step, and names it `WORKFLOW/STEP`. `earlier` contains the outputs of other steps that the step needs.
    pub fn of_step(mut self, step: &str, earlier: Vec<Earlier>) -> Self {
        self.steps.retain(|planned| planned.id == step);
        self.steps.iter_mut().for_each(|planned| planned.needs.clear());
        Self { name: format!("{}/{step}", self.name), final_output: None, earlier, ..self }
    }

    pub fn of_command(spec: Arc<CommandSpec>, with: Map<String, Value>) -> Self {
        let is_secret = |name: &&String| spec.flags.iter().any(|flag| flag.name == **name && flag.r#type == SECRET);
        let secrets = with.keys().filter(is_secret).cloned().collect();
        let step = Planned {
            id: "command".to_owned(),
            needs: Vec::new(),
            condition: None,
            with: Arguments::Plain { with, secrets },
            body: None,
            secrets: Vec::new(),
            repeat: None,
            fields: Vec::new(),
            spec: Arc::clone(&spec),
        };
        Self {
            kind: Kind::Command,
            name: spec.id.clone(),
            steps: vec![step],
            final_output: None,
            inputs: Map::new(),
            secret_inputs: Vec::new(),
            passwords: Sources::default(),
            env: Map::new(),
            earlier: Vec::new(),
        }
    }
}

/// Returns the names of the catalog secrets that a step uses, without duplicates.
fn secrets(sound: &Sound, step: usize) -> Vec<String> {
    let is_sent = |used: &&Use| match used.slot {
        Slot::With(own, _) | Slot::Body(own) => own == step,
        Slot::If(_) | Slot::Until(_) | Slot::ProviderArg(..) | Slot::FinalOutput => false,
    };
    let paths = sound.uses.iter().filter(is_sent).flat_map(Use::paths);
    let mut names: Vec<String> = paths
        .filter_map(|path| match &path.root {
            Root::Secret(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Converts the index of a step to the type of its database column.
pub fn place(seq: usize) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
