//! Describes what would run, for a person who has to approve it: commands, hosts, arguments and credentials.

use serde_json::{Map, Value};

use crate::api::request::shown_path;
use crate::expression::Template;
use crate::passwords;
use crate::runner::program::{Arguments, Planned, Program};
use crate::spec::{CommandEffect, CommandSpec};
use mcpkg_base::plural::{count as counted, first};
use mcpkg_base::quote;
use mcpkg_base::redact::{HIDDEN, redact};

/// Maximum length of a URL in the question, in characters.
const ADDRESS: usize = 120;

/// Maximum length of an argument in the question's URL, in characters. A longer argument would hide the end of the path.
const ARGUMENT: usize = 40;

/// Maximum number of hosts that the question names; the rest are only counted.
const HOSTS: usize = 3;

/// Returns the question: `what`, followed by the effect, method and URL of the request. For several steps, methods and hosts
/// follow instead. They are part of the question itself, so that no text above it can fake them.
pub fn question(what: &str, program: &Program) -> String {
    if program.steps.is_empty() {
        return what.to_owned();
    }
    let does = gravest(program).does();
    if let [step] = program.steps.as_slice() {
        let spec = &step.spec;
        let sent = sent(step, ARGUMENT).map(|sent| format!(": {}", cut(&sent, ADDRESS))).unwrap_or_default();
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
    let hosts: Vec<String> = hosts.iter().map(|host| cut(host, ADDRESS)).collect();
    let sent = match methods.as_slice() {
        [] => String::new(),
        methods => format!(": {} to {}", methods.join(", "), first(hosts, HOSTS)),
    };
    format!("{what} ({}, {does}{sent})", counted(program.steps.len() as u64, "step"))
}

/// Returns the most dangerous effect among the steps.
pub fn gravest(program: &Program) -> CommandEffect {
    program.steps.iter().map(|step| step.spec.effect).max().unwrap_or(CommandEffect::Read)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Describes a program line by line: its inputs, and each step with its arguments. Arguments are shown in full, because a person
/// would approve a hidden part without having read it.
pub fn of(program: &Program) -> Vec<String> {
    let mut lines = Vec::new();
    if program.steps.len() > 1 {
        lines.push(counts(program));
    }
    for (name, value) in &program.kept_inputs() {
        lines.push(argument_line("input ", name, &program.inputs[name], value));
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
    let mut lines = vec![format!("{prefix}{}", line(step))];
    lines.extend(spec.caution.map(|caution| format!("{prefix}{caution}: `mcpkg plugin check {}`", spec.group)));
    if let Some(condition) = &step.condition {
        lines.push(format!("{prefix}only if {}", quote::value(condition)));
    }
    if let Some(repeat) = &step.repeat
        && let Some(until) = &repeat.until
    {
        lines.push(format!("{prefix}repeated up to {} times until {}", repeat.max_rounds, quote::value(until)));
    }
    let SentAndHidden { with, secrets, kept, body } = SentAndHidden::of(step);
    for (name, kept) in &kept {
        lines.push(match secrets.contains(name) {
            true => format!("{prefix}{name} = the secret at {}", quote::value(kept)),
            false => argument_line(&prefix, name, &with[name], kept),
        });
    }
    if let Some(body) = &body {
        lines.push(format!("{prefix}{}", quote::named("body", body)));
    }
    if !spec.auth.is_empty() {
        lines.push(format!("{prefix}uses the credentials {}", spec.auth.join(", ")));
    }
    lines
}

/// The arguments and the body of a step: as they are sent, and without passwords.
struct SentAndHidden<'s> {
    with: &'s Map<String, Value>,
    /// The names of the arguments that are secrets. Their values are references.
    secrets: &'s [String],
    kept: Map<String, Value>,
    body: Option<Value>,
}

impl<'s> SentAndHidden<'s> {
    fn of(step: &'s Planned) -> Self {
        let mut body = step.body.clone();
        let (with, secrets, kept): (_, &[String], _) = match &step.with {
            Arguments::Plain { with, secrets } => (with, secrets, passwords::arguments(&step.spec, with)),
            Arguments::Templates(with) => {
                let mut kept = with.clone();
                passwords::each_of_step(&step.spec, &mut kept, body.as_mut(), &mut |_, value| *value = HIDDEN.into());
                (with, &[], kept)
            }
        };
        Self { with, secrets, kept, body }
    }

    /// Returns an argument that can be shown in the URL: its value is known and contains no secret.
    fn open(&self, name: &str) -> Option<&Value> {
        let value = self.kept.get(name).filter(|_| !self.secrets.iter().any(|secret| secret == name))?;
        let text = value.to_string();
        (!Template::may_be(&text) && !text.contains(HIDDEN) && redact(&text) == text).then_some(value)
    }
}

/// Describes the effect and the destination of a step on one line.
fn line(step: &Planned) -> String {
    let CommandSpec { id, effect, .. } = &*step.spec;
    match sent(step, usize::MAX) {
        Some(sent) => format!("{sent} ({id}, {})", effect.does()),
        None => format!("{id} ({})", effect.does()),
    }
}

/// Returns the method and the URL of a step. Arguments in the path are filled in if they are known, each cut to `most`
/// characters.
fn sent(step: &Planned, most: usize) -> Option<String> {
    let (spec, kept) = (&step.spec, SentAndHidden::of(step));
    let base = redact(spec.base_url.as_deref().unwrap_or_default());
    let path = shown_path(spec, |name| kept.open(name).cloned(), |segment| cut(segment, most));
    Some(format!("{} {base}{}", spec.method.as_ref()?, path?))
}

/// Formats an argument; `kept` is its value with passwords hidden.
fn argument_line(prefix: &str, name: &str, value: &Value, kept: &Value) -> String {
    match *kept == HIDDEN && kept != value {
        true => format!("{prefix}{name} = {}", passwords::shown(value)),
        false => format!("{prefix}{}", quote::named(name, kept)),
    }
}
