//! Turns recorded calls into a workflow: values from the output of an earlier call become references, other values become
//! inputs.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::recorded::Recorded;
use super::reference::{self, Answer, Confidence, HIDDEN, Reference};
use crate::argument::{self, Argument};
use crate::definition::{DefaultValue, Definition, Form, Input, InputType, Inputs, NamedInput, Origin, Step};
use crate::passwords;
use crate::source::{Commands, Resolved};
use crate::spec::{CommandEffect, CommandSpec};
use crate::words::snake;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact;

/// A remark about the inferred workflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnostic {
    /// The step that the diagnostic is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The argument that the diagnostic is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The remark itself.
    pub message: String,
    /// How certain it is that the argument's value came from an earlier output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The code of the finding that the diagnostic reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The line in the workflow's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// An inferred workflow, with remarks about how it was inferred.
#[derive(Debug)]
pub struct Draft {
    pub definition: Definition,
    pub diagnostics: Vec<Diagnostic>,
}

/// A call whose command still exists.
struct Known {
    call: Recorded,
    spec: Arc<CommandSpec>,
    /// The id of the step that makes the call.
    id: String,
}

/// Infers a workflow from calls. Fails with `E_NOT_FOUND` if there is no call whose command still exists.
pub fn of(name: &str, calls: Vec<Recorded>, commands: &dyn Commands) -> Result<Draft> {
    let mut diagnostics = Vec::new();
    let known = known(calls, commands, &mut diagnostics)?;
    let answers: Vec<Answer> =
        known.iter().map(|known| Answer::of(known.call.output.as_ref(), &known.spec.output_contract)).collect();
    let references = |at: usize| {
        let Known { call, spec, .. } = &known[at];
        let of = |(name, value): (&String, &Value)| {
            let mut found = Vec::new();
            find(argument::named(spec, name).as_ref(), name, value, &answers[..at], &mut found);
            found
        };
        call.with.iter().flat_map(of).collect::<Vec<_>>()
    };
    let kept = needed(&known, references);
    if kept.is_empty() {
        return Err(Error::new(Code::NotFound, "There are no runs to make a workflow from")
            .hint("mcpkg's own read-only commands are not recorded as runs; list runs with `mcpkg workflow runs`")
            .with_details(json!({ "diagnostics": diagnostics })));
    }
    for (at, left) in known.iter().enumerate().filter(|(at, _)| !kept.contains(at)) {
        let again = known[at + 1..]
            .iter()
            .any(|later| later.call.command == left.call.command && later.call.with == left.call.with);
        let why = if again { "is repeated later" } else { "reads data that no step uses" };
        diagnostics
            .push(Diagnostic { message: format!("skipped {}: it {why}", left.spec.id), ..Diagnostic::default() });
    }
    let mut making = Inference { commands, known: &known, answers: &answers, inputs: Vec::new(), diagnostics };
    let steps = kept.iter().map(|at| making.step(*at)).collect::<Result<Vec<_>>>()?;
    let final_output = steps.last().map(|step| Value::String(format!("${{{{ steps.{}.output }}}}", step.id)));
    let list = making.inputs.into_iter().map(|made| NamedInput { id: made.name, input: made.input }).collect();
    let definition = Definition {
        schema_version: None,
        workflow: name.to_owned(),
        title: None,
        description: Some(described(&kept, &known)),
        requires: Vec::new(),
        inputs: Inputs { form: Form::List, list },
        steps,
        final_output,
    };
    Ok(Draft { definition, diagnostics: making.diagnostics })
}

/// Looks up the commands of calls, and names their steps.
fn known(calls: Vec<Recorded>, commands: &dyn Commands, diagnostics: &mut Vec<Diagnostic>) -> Result<Vec<Known>> {
    let mut known: Vec<Known> = Vec::new();
    let mut ids = HashSet::new();
    for call in calls {
        let Resolved::One(spec) = commands.resolve(&call.command)? else {
            let message = format!("skipped {}: there is no such command", call.command.escape_debug());
            diagnostics.push(Diagnostic { message, ..Diagnostic::default() });
            continue;
        };
        let wanted = call.step.clone().unwrap_or_else(|| step_name(&spec.id));
        let mut id = wanted.clone();
        for number in 2.. {
            if ids.insert(id.clone()) {
                break;
            }
            id = format!("{wanted}_{number}");
        }
        known.push(Known { call, spec, id });
    }
    Ok(known)
}

/// Returns the name of a step: the resource and the action of its command, such as `apps_create`.
pub fn step_name(command: &str) -> String {
    let parts: Vec<&str> = command.split(':').collect();
    let name = snake(&parts[parts.len().saturating_sub(2)..].join("_"));
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).take(56).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("step_{name}") } else { name }
}

/// Returns the calls that the workflow needs: those that change something, and those whose output is used. If nothing is changed,
/// the last call is taken as the goal.
fn needed(known: &[Known], references: impl Fn(usize) -> Vec<Reference>) -> BTreeSet<usize> {
    let mut kept = BTreeSet::new();
    let changes = known.iter().any(|known| known.spec.effect != CommandEffect::Read);
    for at in (0..known.len()).rev() {
        let is_last = !changes && at + 1 == known.len();
        if is_last || known[at].spec.effect != CommandEffect::Read || kept.contains(&at) {
            kept.insert(at);
            kept.extend(references(at).into_iter().map(|reference| reference.call));
        }
    }
    kept
}

/// Finds the references in all parts of a value.
fn find(argument: Option<&Argument<'_>>, name: &str, value: &Value, earlier: &[Answer], found: &mut Vec<Reference>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| find(argument, name, value, earlier, found)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| find(None, key, value, earlier, found)),
        value => found.extend(reference::find(argument, name, value, earlier)),
    }
}

/// Returns the description of the workflow, which lists its commands.
fn described(kept: &BTreeSet<usize>, known: &[Known]) -> String {
    let commands: Vec<&str> = kept.iter().map(|at| known[*at].spec.id.as_str()).collect();
    crate::answer::cut(&format!("Made from these commands: {}", commands.join(", ")), 200)
}

/// An input of the inferred workflow.
struct InferredInput {
    name: String,
    /// The argument's name, and the value that it had.
    of: (String, Value),
    input: Input,
}

/// The state while a workflow is inferred.
struct Inference<'a> {
    commands: &'a dyn Commands,
    known: &'a [Known],
    answers: &'a [Answer],
    inputs: Vec<InferredInput>,
    diagnostics: Vec<Diagnostic>,
}

impl Inference<'_> {
    fn step(&mut self, at: usize) -> Result<Step> {
        let Known { call, spec, id } = &self.known[at];
        let mut step: Step = serde_json::from_value(json!({ "id": id, "run": spec.id }))
            .map_err(|error| Error::internal("cannot create a workflow step").with_source(error))?;
        // Passwords become `***` here, just as in stored runs.
        for (name, value) in &passwords::arguments(spec, &call.with) {
            let argument = argument::named(spec, name);
            if value.is_null() {
                // Keep a null only if the command treats it differently from an absent argument.
                if argument.is_some_and(|argument| argument.nullable && argument.no_null.is_none()) {
                    step.with.insert(name.clone(), Value::Null);
                }
                continue;
            }
            if argument.is_some_and(|argument| argument.default == Some(value)) {
                continue;
            }
            let value = self.value(at, argument.as_ref(), name, value)?;
            // A `body` that is not an argument is the whole body of the request.
            if argument.is_none() && name == "body" && spec.body.is_some() {
                step.body = Some(value);
            } else {
                step.with.insert(name.clone(), value);
            }
        }
        Ok(step)
    }

    /// Returns the value of an argument in the workflow: a reference, an input, or a value with references inside.
    fn value(&mut self, at: usize, argument: Option<&Argument<'_>>, name: &str, value: &Value) -> Result<Value> {
        let is_secret = argument.is_some_and(Argument::is_secret) || (value.is_string() && holds_secret(value));
        let mut found = Vec::new();
        if !is_secret {
            find(argument, name, value, &self.answers[..at], &mut found);
        }
        match is_secret || (found.is_empty() && !holds_secret(value)) {
            true => self.input(at, argument, name, value, is_secret),
            false => self.referred(at, argument, name, name, value),
        }
    }

    /// Replaces parts of a value: what came from earlier calls becomes a reference, and a secret becomes an input. `whole` is the
    /// name of the argument.
    fn referred(
        &mut self,
        at: usize,
        argument: Option<&Argument<'_>>,
        whole: &str,
        name: &str,
        value: &Value,
    ) -> Result<Value> {
        match value {
            Value::Array(values) => {
                values.iter().map(|value| self.referred(at, argument, whole, name, value)).collect()
            }
            Value::Object(fields) => {
                let mut part =
                    |(key, value): (&String, &Value)| Ok((key.clone(), self.referred(at, None, whole, key, value)?));
                Ok(Value::Object(fields.iter().map(&mut part).collect::<Result<_>>()?))
            }
            secret if holds_secret(secret) => self.input(at, None, name, secret, true),
            value => Ok(match reference::find(argument, name, value, &self.answers[..at]) {
                Some(reference) => self.note_reference(at, whole, &reference),
                None => value.clone(),
            }),
        }
    }

    fn note_reference(&mut self, at: usize, argument: &str, reference: &Reference) -> Value {
        let Reference { call, segments, confidence, why } = reference;
        let way: String = segments.iter().map(ToString::to_string).collect();
        let path = format!("steps.{}.output{way}", self.known[*call].id);
        self.diagnostics.push(Diagnostic {
            step: Some(self.known[at].id.clone()),
            argument: Some(argument.to_owned()),
            message: format!("is taken from {path}: {why}"),
            confidence: Some(*confidence),
            ..Diagnostic::default()
        });
        Value::String(format!("${{{{ {path} }}}}"))
    }

    /// Returns a template that uses an input with this value. Arguments with the same name and value share an input.
    fn input(
        &mut self,
        at: usize,
        argument: Option<&Argument<'_>>,
        name: &str,
        value: &Value,
        is_secret: bool,
    ) -> Result<Value> {
        let of = (name.to_owned(), value.clone());
        if let Some(made) = self.inputs.iter().find(|made| made.of == of) {
            return Ok(template(&made.name));
        }
        let mut input = match argument {
            Some(argument) => argument.input(self.commands)?,
            None => Input { r#type: type_of(value), ..Input::default() },
        };
        if argument.is_some_and(|argument| argument.r#type == "any") {
            input.r#type = type_of(value);
        }
        let step = &self.known[at].id;
        let mut message = "becomes an input".to_owned();
        if is_secret {
            input = Input { description: input.description, r#type: InputType::Secret, ..Input::default() };
            message = "becomes a secret input, which takes a reference: its value was a secret, or was redacted as one"
                .to_owned();
        } else if value.is_string() || value.is_number() || value.is_boolean() {
            input.example = Some(value.clone());
        } else {
            input.default = Some(DefaultValue { from: Origin::Literal, value: Some(value.clone()) });
        }
        let id = self.free(&snake(name), step);
        self.diagnostics.push(Diagnostic {
            step: Some(step.clone()),
            argument: Some(name.to_owned()),
            message: format!("{message}: {id}"),
            ..Diagnostic::default()
        });
        self.inputs.push(InferredInput { name: id.clone(), of, input });
        Ok(template(&id))
    }

    /// Returns an unused name for an input: the argument's name, else with the step's name before it (`deploy_region`), else
    /// `value_2` and so on.
    fn free(&self, name: &str, step: &str) -> String {
        let fits = |name: &str| crate::definition::is_identifier(name);
        let is_free = |name: &String| fits(name) && self.inputs.iter().all(|made| made.name != *name);
        let plain = if fits(name) { name.to_owned() } else { "value".to_owned() };
        let numbered = (2_usize..).map(|number| format!("value_{number}"));
        let mut names = [plain.clone(), format!("{step}_{plain}")].into_iter().chain(numbered);
        names.find(is_free).unwrap_or(plain)
    }
}

fn template(input: &str) -> Value {
    Value::String(format!("${{{{ inputs.{input} }}}}"))
}

fn type_of(value: &Value) -> InputType {
    match value {
        Value::Number(number) if number.is_f64() => InputType::Number,
        Value::Number(_) => InputType::Integer,
        Value::Bool(_) => InputType::Boolean,
        Value::Array(_) => InputType::Array,
        Value::Object(_) => InputType::Object,
        Value::String(_) | Value::Null => InputType::String,
    }
}

/// Returns whether a value looks like a secret, or was masked as one.
fn holds_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(HIDDEN) || redact::holds_secret(text),
        Value::Array(values) => values.iter().any(holds_secret),
        Value::Object(fields) => fields.values().any(holds_secret),
        _ => false,
    }
}

/// Returns a draft as JSON, in the format of the workflow tools (contract 004): `workflow`, `inputs`, `steps` and
/// `diagnostics`.
pub fn data(draft: &Draft) -> Result<Map<String, Value>> {
    let Value::Object(mut data) = crate::answer::data(&draft.definition)? else {
        return Err(Error::internal("the JSON of a workflow definition is not an object"));
    };
    for part in ["inputs", "steps"] {
        data.entry(part).or_insert_with(|| json!([]));
    }
    data.insert("diagnostics".to_owned(), json!(draft.diagnostics));
    Ok(data)
}
