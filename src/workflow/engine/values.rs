//! The values that templates are filled in with: inputs, what earlier steps answered, variables that the project allows.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::program::{Arguments, Planned, Program};
use super::sealed::Known;
use crate::error::{Code, Error, Result};
use crate::secret::Reference;
use tokio_util::sync::CancellationToken;

/// Stands in the memory for a secret that an earlier process was answered: no text from outside holds it.
const LOST: &str = "\0lost";

/// The values of a run.
#[derive(Debug, Default)]
pub struct Values {
    /// The inputs, secrets by their values.
    pub inputs: Map<String, Value>,
    /// What steps answered, by their ids.
    pub outputs: HashMap<String, Value>,
    /// The variables that the project allows.
    pub env: Map<String, Value>,
}

impl Values {
    /// Returns the values that a run begins with: secrets are read, and known from now on.
    ///
    /// # Errors
    /// `E_SECRET_MISSING`, `E_CANCELLED`.
    pub fn of(program: &Program, known: &mut Known, cancelled: &CancellationToken) -> Result<Self> {
        let mut inputs = program.inputs.clone();
        for name in &program.secret_inputs {
            let Some(Value::String(reference)) = inputs.get(name) else { continue };
            let secret = reference.parse::<Reference>()?.resolve(cancelled)?;
            known.learn(secret.expose());
            inputs.insert(name.clone(), secret.expose().into());
        }
        Ok(Self { inputs, outputs: HashMap::new(), env: program.env.clone() })
    }

    /// Takes over what a step answered in an earlier process; what was taken out of it is lost.
    pub fn restore(&mut self, step: &str, mut output: Value, taken_out: &[String]) {
        for pointer in taken_out {
            if let Some(value) = output.pointer_mut(pointer) {
                *value = LOST.into();
            }
        }
        self.outputs.insert(step.to_owned(), output);
    }

    /// Returns the arguments of a step and the body of its request.
    ///
    /// # Errors
    /// `E_SECRET_LOST`; what filling in a template fails with.
    pub fn arguments(&self, step: &Planned) -> Result<(Map<String, Value>, Option<Value>)> {
        let with = match &step.with {
            Arguments::Plain(with) => with.clone(),
            Arguments::Templates(with) => {
                let filled = with.iter().map(|(name, value)| Ok((name.clone(), self.filled(value)?)));
                filled.collect::<Result<_>>()?
            }
        };
        let body = step.body.as_ref().map(|body| self.filled(body)).transpose()?;
        if with.values().chain(&body).any(holds_lost) {
            return Err(Error::new(Code::SecretLost, format!("Step '{}' needs a secret of an earlier step", step.id))
                .hint("begin a new run: the secret was kept in the memory of the process that ended"));
        }
        Ok((with, body))
    }
}

fn holds_lost(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(LOST),
        Value::Array(values) => values.iter().any(holds_lost),
        Value::Object(fields) => fields.values().any(holds_lost),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
