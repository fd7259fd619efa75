//! What a person is shown before something is run: which commands, on which hosts, with what, and with whose credentials.

use serde_json::Value;

use crate::plural::count as counted;
use crate::redact::redact;
use crate::workflow::engine::program::{Arguments, Planned, Program};
use crate::workflow::spec::{CommandEffect, CommandSpec};

/// Returns the lines, with all of each argument: what stood behind a cut would be consented to unread.
pub fn of(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    if program.steps.len() > 1 {
        lines.push(counts(program));
    }
    for (name, value) in &program.inputs {
        lines.push(format!("input {name}: {}", shown(value)));
    }
    for step in &program.steps {
        lines.extend(of_step(step, program.steps.len() > 1));
    }
    lines
}

fn counts(program: &Program) -> String {
    let count = |effect| program.steps.iter().filter(|step| step.spec.effect == effect).count() as u64;
    let effects = [(CommandEffect::Read, "read"), (CommandEffect::Write, "write"), (CommandEffect::Destroy, "destroy")];
    let counts = effects.map(|(effect, word)| (count(effect), word));
    let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    format!("{}: {}", counted(program.steps.len() as u64, "step"), counts.collect::<Vec<_>>().join(", "))
}

fn of_step(step: &Planned, named: bool) -> Vec<String> {
    let spec = &step.spec;
    let prefix = if named { format!("{}: ", step.id) } else { String::new() };
    let mut lines = vec![format!("{prefix}{}", line(spec))];
    lines.extend(spec.caution.map(|caution| format!("{prefix}{caution}: `mcpkg plugin check {}`", spec.group)));
    if let Some(condition) = &step.condition {
        lines.push(format!("{prefix}only if {}", shown(condition)));
    }
    if let Some(repeat) = &step.repeat
        && let Some(until) = &repeat.until
    {
        lines.push(format!("{prefix}up to {} times until {}", repeat.max_rounds, shown(until)));
    }
    let (with, secrets): (_, &[String]) = match &step.with {
        Arguments::Plain { with, secrets } => (with, secrets),
        Arguments::Templates(with) => (with, &[]),
    };
    for (name, value) in with {
        let value = match secrets.contains(name) {
            true => format!("the secret at {}", shown(value)),
            false => shown(value),
        };
        lines.push(format!("{prefix}{name} = {value}"));
    }
    if let Some(body) = &step.body {
        lines.push(format!("{prefix}body = {}", shown(body)));
    }
    if !spec.auth.is_empty() {
        lines.push(format!("{prefix}with the credentials {}", spec.auth.join(", ")));
    }
    lines
}

/// Returns what a command does and where, in one line.
fn line(spec: &CommandSpec) -> String {
    let does = match spec.effect {
        CommandEffect::Read => "reads",
        CommandEffect::Write => "writes",
        CommandEffect::Destroy => "destroys",
    };
    match (&spec.method, &spec.path) {
        (Some(method), Some(path)) => {
            let base = spec.base_url.as_deref().unwrap_or_default();
            format!("{method} {}{path} ({}, {does})", redact(base), spec.id)
        }
        _ => format!("{} ({does})", spec.id),
    }
}

fn shown(value: &Value) -> String {
    redact(&match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    })
}
