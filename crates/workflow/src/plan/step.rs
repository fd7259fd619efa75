//! Plans a single step.

use std::collections::HashSet;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::scope::Before;
use crate::binding::{self, Contracts};
use crate::check::{Sound, Use};
use crate::definition::{Input, Step};
use crate::expression::{Outcome, Root, Template, condition};
use crate::output;
use crate::source::Resolved;
use crate::spec::{CommandEffect, CommandSpec};
use mcpkg_base::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WillRun {
    Yes,
    /// The condition is false, or this step depends on a step that does not run.
    No,
    /// The condition of this step, or of a step that it depends on, uses values that are not known before the run.
    Unknown,
}

impl Serialize for WillRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_bool(true),
            Self::No => serializer.serialize_bool(false),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

/// The plan for a step: what a run would do with the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStep {
    pub id: String,
    pub run: String,
    pub effect: CommandEffect,
    /// The method of the request. Only for HTTP commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path of the URL, with its placeholders. Only for HTTP commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The host that the request is sent to. Only for HTTP commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    pub will_run: WillRun,
    /// The steps that this step depends on, whether stated or implied by a reference.
    pub depends_on: Vec<String>,
    /// The arguments, with known values filled in. Unknown values stay templates, and secrets are shown by name.
    pub with: Map<String, Value>,
    /// The request body, filled in like `with`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The bindings of provider arguments, keyed by `PROVIDER.ARGUMENT`.
    pub provider_args: Map<String, Value>,
    /// The paths without a known value.
    pub unresolved: Vec<String>,
    pub notes: Vec<String>,
    /// The line of the workflow's text on which the step begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// Plans the step at position `at` of the execution order. Conditions use the values of `before`, and arguments use those of
/// `shown`, which has no passwords. `uses` are the templates of the step. `will_run` says which earlier steps run.
pub(super) fn plan(
    sound: &Sound,
    [before, shown]: [&Before<'_>; 2],
    at: usize,
    uses: &[&Use],
    contracts: &Contracts<'_>,
    will_run: &[Option<WillRun>],
) -> Result<PlannedStep> {
    let index = sound.order[at];
    let (step, spec) = (&sound.definition.steps[index], &sound.specs[index]);
    let mut notes = Vec::new();
    let needed: Vec<usize> = sound.graph.of(index).iter().copied().collect();
    let will = will(step, before, &needed, will_run, sound, &mut notes);
    let with = step.with.iter().map(|(arg, value)| (arg.clone(), filled(value, shown))).collect();
    let body = step.body.as_ref().map(|body| filled(body, shown));
    let mut unresolved = before.take_unresolved();
    let mut provider_args = Map::new();
    for (name, input) in used_inputs(sound, uses) {
        providers(sound, before, at, (name, input), contracts, &mut provider_args, &mut notes)?;
    }
    if let Some(repeat) = &step.repeat {
        notes.push(repeated(repeat));
    }
    unresolved.dedup();
    Ok(PlannedStep {
        id: step.id.clone(),
        run: spec.id.clone(),
        effect: spec.effect,
        method: spec.method.clone(),
        path: spec.path.clone(),
        host: host(spec),
        will_run: will,
        depends_on: needed.iter().map(|step| sound.definition.steps[*step].id.clone()).collect(),
        with,
        body,
        provider_args,
        unresolved,
        notes,
        line: None,
    })
}

fn will(
    step: &Step,
    before: &Before<'_>,
    needed: &[usize],
    will_run: &[Option<WillRun>],
    sound: &Sound,
    notes: &mut Vec<String>,
) -> WillRun {
    let of_needed = |wanted: WillRun| needed.iter().find(|step| will_run[**step] == Some(wanted));
    if let Some(skipped) = of_needed(WillRun::No) {
        notes.push(format!("skipped with {}", sound.definition.steps[*skipped].id));
        return WillRun::No;
    }
    let own = match &step.condition {
        None => Some(true),
        Some(Value::Bool(flag)) => Some(*flag),
        Some(value) => {
            let read = value.as_str().map(Template::read_condition);
            read.and_then(Result::ok).and_then(|expression| condition(&expression, before))
        }
    };
    match own {
        Some(false) => {
            notes.push("its condition is false".to_owned());
            WillRun::No
        }
        None => WillRun::Unknown,
        Some(true) if of_needed(WillRun::Unknown).is_some() => WillRun::Unknown,
        Some(true) => WillRun::Yes,
    }
}

/// Fills in the templates inside a value. A template that uses a missing or unknown value stays unchanged.
pub(super) fn filled(value: &Value, before: &Before<'_>) -> Value {
    match value {
        Value::String(text) if Template::may_be(text) => match Template::read(text).0.fill(before) {
            Outcome::Known(value) => value,
            Outcome::Missing | Outcome::Unknown => value.clone(),
        },
        Value::Array(values) => values.iter().map(|value| filled(value, before)).collect(),
        Value::Object(values) => values.iter().map(|(key, value)| (key.clone(), filled(value, before))).collect(),
        other => other.clone(),
    }
}

/// Returns the inputs that the templates of a step use, in the order of the inputs.
fn used_inputs<'s>(sound: &'s Sound, uses: &[&Use]) -> Vec<(&'s str, &'s Input)> {
    let mut names = HashSet::new();
    for path in uses.iter().flat_map(|used| used.paths()) {
        if let Root::Input(name) = &path.root {
            names.insert(name);
        }
    }
    let inputs = sound.definition.inputs.list.iter();
    inputs.filter(|named| names.contains(&named.id)).map(|named| (&*named.id, &named.input)).collect()
}

/// Describes the bindings of an input's provider.
fn providers(
    sound: &Sound,
    before: &Before<'_>,
    at: usize,
    (name, input): (&str, &Input),
    contracts: &Contracts<'_>,
    bound: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(provider) = &input.provider else { return Ok(()) };
    let Resolved::One(spec) = before.commands.resolve(provider)? else { return Ok(()) };
    let Some(contract) = before.commands.provider(&spec.id)? else { return Ok(()) };
    let earlier: Vec<usize> = sound.order[..at].iter().rev().copied().collect();
    for arg in binding::args(&contract, &input.provider_args) {
        let found = binding::bind(&sound.definition, input, &contract, arg, &earlier, contracts);
        if let Some(source) = &found.source {
            bound.insert(format!("{}.{arg}", contract.id), source.shown(&sound.definition).into());
        }
        notes.extend(found.note.filter(|note| !notes.contains(note)));
    }
    if !before.inputs.contains_key(name) && input.default.is_none() {
        notes.push(format!("{} offers values for {name}", contract.id));
    }
    Ok(())
}

fn repeated(repeat: &crate::definition::Repeat) -> String {
    let shown = |value: &Option<Value>, usual: &str| match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => format!("{value}s"),
        None => usual.to_owned(),
    };
    let attempts = repeat.max_attempts.unwrap_or(100);
    match repeat.until {
        Some(_) => format!(
            "repeated every {} until its condition is true (limits: {attempts} attempts, {})",
            shown(&repeat.every, "1s"),
            shown(&repeat.timeout, "15m"),
        ),
        None => "runs once, because `repeat` has no `until`".to_owned(),
    }
}

/// Returns the host of a command's request.
pub fn host(spec: &CommandSpec) -> Option<String> {
    let url = spec.base_url.as_deref()?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_owned())
}

pub(super) fn contracts(sound: &Sound) -> Vec<std::borrow::Cow<'_, crate::spec::OutputContract>> {
    sound.specs.iter().zip(&sound.definition.steps).map(|(spec, step)| output::contract(spec, step)).collect()
}
