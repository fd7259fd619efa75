//! The values that templates use: inputs, outputs of earlier steps, and allowed variables.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::earlier::Earlier;
use super::program::{Arguments, Planned, Program};
use crate::expression::{Expression, Outcome, Path, Root, Scope, Template, condition, value_at};
use crate::sealed::Known;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret::Reference;

/// The text that replaces a secret in the output of an earlier process, because the secret itself is not stored. It
/// begins with a NUL character, so that it does not occur in ordinary text.
const LOST: &str = "\0lost";

/// Maximum length of a value in the description of a condition, in characters.
const TOLD: usize = 60;

#[derive(Debug, Default)]
pub struct Values {
    /// The inputs, with secrets resolved.
    pub inputs: Map<String, Value>,
    /// The outputs of steps, by step id.
    pub outputs: HashMap<String, Value>,
    /// The project's variables that the workflow reads.
    pub env: Map<String, Value>,
}

impl Values {
    /// Returns the initial values. This reads secrets.
    pub fn of(program: &Program, cancelled: &CancellationToken) -> Result<Self> {
        let mut inputs = program.inputs.clone();
        resolve(&mut inputs, &program.secret_inputs, cancelled)?;
        let mut values = Self { inputs, outputs: HashMap::new(), env: program.env.clone() };
        program.earlier.iter().cloned().for_each(|earlier| values.restore(earlier));
        Ok(values)
    }

    /// Adds the output of a step from an earlier process or another run. The secrets that were removed from it become `LOST`.
    pub fn restore(&mut self, earlier: Earlier) {
        let Earlier { step, mut output, taken_out } = earlier;
        for pointer in &taken_out {
            if let Some(value) = output.pointer_mut(pointer) {
                *value = LOST.into();
            }
        }
        self.outputs.insert(step, output);
    }

    /// Fills in the arguments and the body of a step, and reads the secrets that are given as references. `secrets` are the
    /// catalog secrets that the step uses.
    ///
    /// # Errors
    /// `E_STEP_FAILED` if a value is missing; `E_SECRET_LOST` if a value contains a secret that was removed from an earlier
    /// output; the errors of reading a secret.
    pub fn arguments(
        &self,
        step: &Planned,
        secrets: &Map<String, Value>,
        cancelled: &CancellationToken,
    ) -> Result<(Map<String, Value>, Option<Value>)> {
        let sent = Sent { values: self, secrets };
        let with = match &step.with {
            Arguments::Plain { with, secrets } => {
                let mut with = with.clone();
                resolve(&mut with, secrets, cancelled)?;
                with
            }
            Arguments::Templates(with) => {
                let filled = with.iter().map(|(name, value)| Ok((name.clone(), filled(value, &sent)?)));
                filled.collect::<Result<_>>()?
            }
        };
        let body = step.body.as_ref().map(|body| filled(body, &sent)).transpose()?;
        if with.values().chain(&body).any(holds_lost) {
            return Err(Error::new(
                Code::SecretLost,
                format!("Step '{}' needs a secret from an earlier step", step.id),
            )
            .hint("start a new run: the secret existed only in the memory of the process that has ended"));
        }
        Ok((with, body))
    }

    /// Evaluates a condition. Also returns a description of its operands, with known secrets masked.
    ///
    /// # Errors
    /// `E_STEP_FAILED` if the condition is not a valid expression.
    pub fn holds(&self, text: &Value, known: &Known) -> Result<(bool, String)> {
        holds(text, self, known)
    }

    /// Like [`Values::holds`], with the output that a step has just returned.
    pub fn holds_with(&self, text: &Value, step: &str, output: &Value, known: &Known) -> Result<(bool, String)> {
        holds(text, &With { values: self, step, output }, known)
    }

    /// Fills in the template of an output. Missing values become null.
    pub fn answer(&self, template: &Value) -> Result<Value> {
        fill(template, &mut |template| {
            Ok(match template.fill(self) {
                Outcome::Known(value) => lost_as_hidden(value),
                Outcome::Missing | Outcome::Unknown => Value::Null,
            })
        })
    }
}

impl Scope for Values {
    fn look(&self, path: &Path) -> Outcome {
        let found = match &path.root {
            Root::Input(name) => self.inputs.get(name),
            Root::Step(id) => self.outputs.get(id),
            Root::Env(name) => self.env.get(name),
            // Secrets are not values of templates. They can only be sent, and only to the host that they belong to: see
            // [`Sent`].
            Root::Secret(_) => None,
        };
        known(found, path)
    }
}

/// The values of a run, plus the output of a step that has not ended yet.
struct With<'a> {
    values: &'a Values,
    step: &'a str,
    output: &'a Value,
}

impl Scope for With<'_> {
    fn look(&self, path: &Path) -> Outcome {
        match &path.root {
            Root::Step(id) if id == self.step => known(Some(self.output), path),
            _ => self.values.look(path),
        }
    }
}

/// The values of a run, plus the catalog secrets for the request of a step.
struct Sent<'a> {
    values: &'a Values,
    secrets: &'a Map<String, Value>,
}

impl Scope for Sent<'_> {
    fn look(&self, path: &Path) -> Outcome {
        match &path.root {
            Root::Secret(name) => known(self.secrets.get(name), path),
            _ => self.values.look(path),
        }
    }
}

fn filled(template: &Value, scope: &dyn Scope) -> Result<Value> {
    fill(template, &mut |template| match template.fill(scope) {
        Outcome::Known(value) => Ok(value),
        Outcome::Missing | Outcome::Unknown => Err(Error::new(
            Code::StepFailed,
            format!("there is no value for {}", missing(template, scope).unwrap_or_default()),
        )),
    })
}

/// Returns the first path of a template that has no value.
fn missing(template: &Template, scope: &dyn Scope) -> Option<String> {
    let mut missing = None;
    for expression in template.expressions() {
        expression.paths(&mut |path, _| {
            if missing.is_none() && scope.look(path) == Outcome::Missing {
                missing = Some(path.to_string());
            }
        });
    }
    missing
}

fn known(found: Option<&Value>, path: &Path) -> Outcome {
    found
        .and_then(|value| value_at(value, &path.segments))
        .map_or(Outcome::Missing, |value| Outcome::Known(value.clone()))
}

fn holds(text: &Value, scope: &dyn Scope, known: &Known) -> Result<(bool, String)> {
    let text = match text {
        Value::String(text) => text,
        Value::Bool(holds) => return Ok((*holds, format!("the condition is {holds}"))),
        other => return Err(broken(&other.to_string(), "the condition is neither true nor false")),
    };
    let expression = Template::read_condition(text).map_err(|faults| {
        broken(text, faults.first().map_or("the condition is neither true nor false", |fault| fault.message.as_str()))
    })?;
    let holds = condition(&expression, scope).unwrap_or(false);
    Ok((holds, format!("the condition is {holds}{}", operands(&expression, scope, known))))
}

/// Describes the operands of a condition. Secrets are masked before long values are cut, because part of a secret would not be
/// recognized.
fn operands(expression: &Expression, scope: &dyn Scope, known: &Known) -> String {
    let mut told: Vec<String> = Vec::new();
    expression.paths(&mut |path, _| {
        let value = match scope.look(path) {
            Outcome::Known(value) => known.hidden_in(&value.to_string()),
            Outcome::Missing | Outcome::Unknown => "missing".to_owned(),
        };
        let value: String = value.chars().take(TOLD).collect();
        let operand = format!("{path} is {value}");
        if !told.contains(&operand) {
            told.push(operand);
        }
    });
    if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
}

/// Replaces each template inside a value by the result of `each`.
fn fill(value: &Value, each: &mut impl FnMut(&Template) -> Result<Value>) -> Result<Value> {
    Ok(match value {
        Value::String(text) if Template::may_be(text) => {
            let (template, faults) = Template::read(text);
            if let Some(fault) = faults.first() {
                return Err(broken(text, &fault.message));
            }
            each(&template)?
        }
        Value::Array(values) => values.iter().map(|value| fill(value, each)).collect::<Result<_>>()?,
        Value::Object(fields) => {
            let filled = fields.iter().map(|(key, value)| Ok((key.clone(), fill(value, each)?)));
            Value::Object(filled.collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

fn broken(text: &str, why: &str) -> Error {
    Error::new(Code::StepFailed, format!("Cannot evaluate `{}`: {why}", text.escape_debug()))
}

/// Replaces references to secrets with their values.
fn resolve(values: &mut Map<String, Value>, secrets: &[String], cancelled: &CancellationToken) -> Result<()> {
    for name in secrets {
        let Some(Value::String(reference)) = values.get(name) else { continue };
        let secret = reference.parse::<Reference>()?.resolve(cancelled)?;
        values.insert(name.clone(), secret.expose().into());
    }
    Ok(())
}

fn holds_lost(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(LOST),
        Value::Array(values) => values.iter().any(holds_lost),
        Value::Object(fields) => fields.values().any(holds_lost),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Replaces `LOST` with `***`.
fn lost_as_hidden(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace(LOST, "***").into(),
        Value::Array(values) => values.into_iter().map(lost_as_hidden).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, lost_as_hidden(value))).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        let mut values =
            Values { inputs: json!({ "n": 3, "flag": false }).as_object().unwrap().clone(), ..Values::default() };
        let output = json!({ "id": 7, "key": "***" });
        values.restore(Earlier { step: "a".to_owned(), output, taken_out: vec!["/key".to_owned()] });
        values
    }

    #[test]
    fn a_value_that_is_missing_is_named() {
        let filled = |template| filled(&template, &values()).map_err(|error| error.to_string());
        assert_eq!(filled(json!({ "x": ["${{ inputs.n }}", "n=${{ inputs.n }}"] })), Ok(json!({ "x": [3, "n=3"] })));
        assert_eq!(
            filled(json!("${{ steps.a.output.name }}")),
            Err("there is no value for steps.a.output.name".to_owned())
        );
        assert_eq!(values().answer(&json!({ "x": "${{ steps.a.output.name }}" })).unwrap(), json!({ "x": null }));
        assert_eq!(values().answer(&json!("${{ steps.a.output }}")).unwrap(), json!({ "id": 7, "key": "***" }));
    }

    #[test]
    fn a_secret_is_in_what_is_sent_and_in_nothing_else() {
        let (values, secrets) = (values(), Map::from_iter([("token".to_owned(), json!("s3cr3t"))]));
        let template = json!("key ${{ secrets.token }}");
        assert_eq!(filled(&template, &Sent { values: &values, secrets: &secrets }).unwrap(), "key s3cr3t");
        assert_eq!(values.answer(&template).unwrap(), Value::Null);
        assert!(!values.holds(&json!("secrets.token"), &Known::default()).unwrap().0);
    }

    #[test]
    fn a_condition_tells_its_operands() {
        let told = |text: &str| values().holds(&json!(text), &Known::default()).unwrap();
        assert_eq!(told("inputs.flag"), (false, "the condition is false: inputs.flag is false".to_owned()));
        assert_eq!(told("${{ inputs.n == 3 }}"), (true, "the condition is true: inputs.n is 3".to_owned()));
        assert!(values().holds(&json!(true), &Known::default()).unwrap().0);
        assert!(values().holds(&json!("inputs.n +"), &Known::default()).is_err());
        let own = values()
            .holds_with(&json!("steps.b.output.state == 'up'"), "b", &json!({ "state": "up" }), &Known::default())
            .unwrap();
        assert!(own.0);
    }

    #[test]
    fn a_secret_from_an_earlier_process_is_lost() {
        assert!(holds_lost(&filled(&json!({ "k": ["Bearer ${{ steps.a.output.key }}"] }), &values()).unwrap()));
        assert!(!holds_lost(&filled(&json!("${{ steps.a.output.id }}"), &values()).unwrap()));
    }
}
