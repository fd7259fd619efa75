//! Describes what would run, for a person who has to approve it: commands, hosts, arguments and credentials.

use serde_json::{Map, Value};

use crate::engine::program::{Arguments, Planned, Program};
use crate::passwords;
use crate::spec::{CommandEffect, CommandSpec};
use mcpkg_base::marks;
use mcpkg_base::plural::{count as counted, first};
use mcpkg_base::redact::{HIDDEN, redact};

/// A value longer than this many characters is shown with its length.
const LONG: usize = 200;

/// How many characters of a URL the question shows.
const ADDRESS: usize = 120;

/// How many hosts the question names; the rest are counted.
const HOSTS: usize = 3;

/// Returns the question: `what`, with the effect, method and URL of what is sent. These belong to the question itself, so that
/// no text shown before it can pretend to be them.
pub fn asked(what: &str, program: &Program) -> String {
    let Some(gravest) = program.steps.iter().map(|step| step.spec.effect).max() else { return what.to_owned() };
    let does = does(gravest);
    if let [step] = program.steps.as_slice() {
        let spec = &step.spec;
        let sent = sent(spec).map(|sent| format!(": {}", cut(&sent))).unwrap_or_default();
        let id = if what.ends_with(&spec.id) { String::new() } else { format!("{}, ", spec.id) };
        return format!("{what} ({id}{does}{sent})");
    }
    let mut methods: Vec<&str> = program.steps.iter().filter_map(|step| step.spec.method.as_deref()).collect();
    let mut hosts: Vec<String> =
        program.steps.iter().filter_map(|step| step.spec.base_url.as_deref()).map(redact).collect();
    methods.sort_unstable();
    methods.dedup();
    hosts.sort_unstable();
    hosts.dedup();
    let hosts: Vec<String> = hosts.iter().map(|host| cut(host)).collect();
    let sent = match methods.as_slice() {
        [] => String::new(),
        methods => format!(": {} to {}", methods.join(", "), first(hosts, HOSTS)),
    };
    format!("{what} ({}, {does}{sent})", counted(program.steps.len() as u64, "step"))
}

fn cut(address: &str) -> String {
    match address.char_indices().nth(ADDRESS) {
        Some((end, _)) => format!("{}…", &address[..end]),
        None => address.to_owned(),
    }
}

/// Returns the description. Arguments are shown in full, because a person would approve a cut part unread.
pub fn of(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    if program.steps.len() > 1 {
        lines.push(counts(program));
    }
    for (name, value) in &program.kept_inputs() {
        lines.push(given(&format!("input {name}"), &program.inputs[name], value));
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
        lines.push(format!("{prefix}only if {}", quoted(condition)));
    }
    if let Some(repeat) = &step.repeat
        && let Some(until) = &repeat.until
    {
        lines.push(format!("{prefix}repeated up to {} times until {}", repeat.max_rounds, quoted(until)));
    }
    let mut body = step.body.clone();
    let (with, secrets, kept): (_, &[String], _) = match &step.with {
        Arguments::Plain { with, secrets } => (with, secrets, passwords::arguments(spec, with)),
        Arguments::Templates(with) => {
            let mut kept = with.clone();
            passwords::each_of_step(spec, &mut kept, body.as_mut(), &mut |_, value| *value = HIDDEN.into());
            (with, &[], kept)
        }
    };
    for (name, kept) in &kept {
        lines.push(match secrets.contains(name) {
            true => format!("{prefix}{name} = the secret at {}", quoted(kept)),
            false => given(&format!("{prefix}{name}"), &with[name], kept),
        });
    }
    if let Some(body) = &body {
        lines.push(valued(&format!("{prefix}body"), body));
    }
    if !spec.auth.is_empty() {
        lines.push(format!("{prefix}uses the credentials {}", spec.auth.join(", ")));
    }
    lines
}

/// Describes the effect and the destination of a command on one line.
fn line(spec: &CommandSpec) -> String {
    match sent(spec) {
        Some(sent) => format!("{sent} ({}, {})", spec.id, does(spec.effect)),
        None => format!("{} ({})", spec.id, does(spec.effect)),
    }
}

/// Returns the method and the URL of a command.
fn sent(spec: &CommandSpec) -> Option<String> {
    let base = redact(spec.base_url.as_deref().unwrap_or_default());
    Some(format!("{} {base}{}", spec.method.as_ref()?, spec.path.as_ref()?))
}

const fn does(effect: CommandEffect) -> &'static str {
    match effect {
        CommandEffect::Read => "reads",
        CommandEffect::Write => "writes",
        CommandEffect::Destroy => "destroys",
    }
}

/// Formats an argument; `kept` is its value with passwords hidden.
fn given(name: &str, value: &Value, kept: &Value) -> String {
    match *kept == HIDDEN && kept != value {
        true => format!("{name} = {}", passwords::shown(value)),
        false => valued(name, kept),
    }
}

/// Formats a named value. Long values get their length, and invisible Unicode tag characters are spelled out.
fn valued(name: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string().into(), std::borrow::Cow::Borrowed);
    let mut said = Vec::new();
    let count = text.chars().count();
    if count > LONG {
        said.push(format!("{count} characters"));
    }
    said.extend(marks::tags(&redact(&text)).map(|spelled| format!("with hidden characters that spell {:?}", spelled)));
    let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) };
    format!("{name}{said} = {}", quoted(value))
}

/// Formats a value as JSON on one line, without secrets.
fn quoted(value: &Value) -> String {
    marks::quoted(&redacted(value))
}

fn redacted(value: &Value) -> Value {
    match value {
        Value::String(text) => redact(text).into(),
        Value::Array(values) => values.iter().map(redacted).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (redact(name), redacted(value))).collect::<Map<_, _>>().into()
        }
        value => value.clone(),
    }
}
