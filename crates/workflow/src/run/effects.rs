//! Describes what would run, for a person who has to approve it: commands, hosts, arguments and credentials.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::api::request::shown_path;
use crate::expression::{Outcome, Path, Root, Scope, Template, value_at};
use crate::passwords;
use crate::runner::earlier::Earlier;
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
    let (does, known) = (gravest(program).does(), Known::of(program));
    if let [step] = program.steps.as_slice() {
        let spec = &step.spec;
        let sent = sent(step, ARGUMENT, &known).map(|sent| format!(": {}", cut(&sent, ADDRESS))).unwrap_or_default();
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
    let (mut lines, known) = (Vec::new(), Known::of(program));
    if program.steps.len() > 1 {
        lines.push(counts(program));
    }
    for (name, value) in &program.kept_inputs() {
        lines.push(argument_line("input ", name, &program.inputs[name], value));
    }
    for step in &program.steps {
        lines.extend(of_step(step, program.steps.len() > 1, &known));
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

fn of_step(step: &Planned, named: bool, known: &Known) -> Vec<String> {
    let spec = &step.spec;
    let prefix = if named { format!("{}: ", step.id) } else { String::new() };
    let mut lines = vec![format!("{prefix}{}", line(step, known))];
    lines.extend(spec.caution.map(|caution| format!("{prefix}{caution}: `mcpkg plugin check {}`", spec.group)));
    if let Some(condition) = &step.condition {
        lines.push(format!("{prefix}only if {}", quote::value(condition)));
    }
    if let Some(repeat) = &step.repeat
        && let Some(until) = &repeat.until
    {
        lines.push(format!("{prefix}repeated up to {} times until {}", repeat.max_rounds, quote::value(until)));
    }
    let SentAndHidden { with, secrets, kept, notes, body } = SentAndHidden::of(step, known);
    for (name, kept) in &kept {
        lines.push(match secrets.contains(name) {
            true => format!("{prefix}{name} = the secret at {}", quote::value(kept)),
            false => argument_line(&prefix, name, &with[name], kept) + notes.get(name).map_or("", String::as_str),
        });
    }
    if let Some((body, note)) = &body {
        lines.push(format!("{prefix}{}{note}", quote::named("body", body)));
    }
    if !spec.auth.is_empty() {
        lines.push(format!("{prefix}uses the credentials {}", spec.auth.join(", ")));
    }
    lines
}

/// The values of templates that are known before the run, without secrets and passwords.
struct Known {
    inputs: Map<String, Value>,
    env: Map<String, Value>,
    outputs: Map<String, Value>,
    /// The steps whose outputs were looked up, and are not known.
    unknown: RefCell<BTreeSet<String>>,
}

impl Known {
    fn of(program: &Program) -> Self {
        let mut inputs = program.kept_inputs();
        inputs.retain(|name, _| !program.secret_inputs.contains(name));
        let kept = |earlier: &Earlier| {
            let output = program.passwords.hidden(&Root::Step(earlier.step.clone()), &earlier.output);
            (earlier.step.clone(), output)
        };
        let outputs = program.earlier.iter().map(kept).collect();
        Self { inputs, env: program.kept_env(), outputs, unknown: RefCell::default() }
    }

    /// Fills in the templates of a value. A template that uses an unknown or hidden value stays unchanged.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if Template::may_be(text) => match Template::read(text).0.fill(self) {
                Outcome::Known(found) if !passwords::holds_hidden(&found) => found,
                _ => value.clone(),
            },
            Value::Array(values) => values.iter().map(|value| self.filled(value)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), self.filled(value))).collect(),
            other => other.clone(),
        }
    }

    /// Like [`Known::filled`]. Also returns a remark if the value is known only once other steps have run; otherwise an empty
    /// text.
    fn filled_and_noted(&self, value: &Value) -> (Value, String) {
        self.unknown.take();
        let filled = self.filled(value);
        let steps: Vec<String> = self.unknown.take().into_iter().collect();
        let note = match steps.as_slice() {
            [] => String::new(),
            [step] => format!(" (known once {step} has run)"),
            steps => format!(" (known once {} have run)", steps.join(", ")),
        };
        (filled, note)
    }
}

impl Scope for Known {
    fn look(&self, path: &Path) -> Outcome {
        let found = match &path.root {
            Root::Input(name) => self.inputs.get(name),
            Root::Env(name) => self.env.get(name),
            Root::Step(id) => self.outputs.get(id),
            Root::Secret(_) => None,
        };
        if let (Root::Step(id), None) = (&path.root, found) {
            self.unknown.borrow_mut().insert(id.clone());
        }
        let Some(found) = found else { return Outcome::Unknown };
        value_at(found, &path.segments).map_or(Outcome::Missing, |value| Outcome::Known(value.clone()))
    }
}

/// The arguments and the body of a step: as they are sent, as far as they are known, and without passwords.
struct SentAndHidden<'s> {
    with: Cow<'s, Map<String, Value>>,
    /// The names of the arguments that are secrets. Their values are references.
    secrets: &'s [String],
    kept: Map<String, Value>,
    /// Remarks about arguments that are not known yet, by name.
    notes: HashMap<String, String>,
    /// The body, with a remark if it is not known yet.
    body: Option<(Value, String)>,
}

impl<'s> SentAndHidden<'s> {
    fn of(step: &'s Planned, known: &Known) -> Self {
        let mut body = step.body.as_ref().map(|body| known.filled_and_noted(body));
        let mut notes = HashMap::new();
        let (with, secrets, kept): (_, &[String], _) = match &step.with {
            Arguments::Plain { with, secrets } => {
                (Cow::Borrowed(with), secrets, passwords::arguments(&step.spec, with))
            }
            Arguments::Templates(templates) => {
                let mut with = Map::new();
                for (name, template) in templates {
                    let (value, note) = known.filled_and_noted(template);
                    with.insert(name.clone(), value);
                    notes.insert(name.clone(), note);
                }
                let (mut kept, body) = (with.clone(), body.as_mut().map(|(body, _)| body));
                passwords::each_of_step(&step.spec, &mut kept, body, &mut |_, value| *value = HIDDEN.into());
                (Cow::Owned(with), &[], kept)
            }
        };
        Self { with, secrets, kept, notes, body }
    }

    /// Returns an argument that can be shown in the URL: its value is known and contains no secret.
    fn open(&self, name: &str) -> Option<&Value> {
        let value = self.kept.get(name).filter(|_| !self.secrets.iter().any(|secret| secret == name))?;
        let text = value.to_string();
        (!Template::may_be(&text) && !text.contains(HIDDEN) && redact(&text) == text).then_some(value)
    }
}

/// Describes the effect and the destination of a step on one line.
fn line(step: &Planned, known: &Known) -> String {
    let CommandSpec { id, effect, .. } = &*step.spec;
    match sent(step, usize::MAX, known) {
        Some(sent) => format!("{sent} ({id}, {})", effect.does()),
        None => format!("{id} ({})", effect.does()),
    }
}

/// Returns the method and the URL of a step. Arguments in the path are filled in if they are known, each cut to `most`
/// characters.
fn sent(step: &Planned, most: usize, known: &Known) -> Option<String> {
    let (spec, kept) = (&step.spec, SentAndHidden::of(step, known));
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
