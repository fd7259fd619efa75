//! Parses all templates of a workflow, and checks durations, patterns and repeats.

use regex::RegexBuilder;
use serde_json::Value;

use super::book::Book;
use crate::definition::{Definition, Repeat, milliseconds};
use crate::expression::{Expression, Fault, FaultKind, Part, Path, Template};
use crate::finding::{Fix, Kind};
use crate::limits::{MAX_ATTEMPTS, MAX_PATTERN, MAX_REPEAT_MS};
use crate::yaml::places::below;

/// A template of a workflow, and where it is used.
#[derive(Clone, Debug)]
pub struct Use {
    pub slot: Slot,
    /// JSON pointer of the template's text.
    pub pointer: String,
    /// The parsed template. For a condition, it consists of a single expression.
    pub template: Template,
    /// Whether the template is the whole value of an argument, not just a part of it.
    pub is_whole: bool,
}

/// The place where a template is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    If(usize),
    /// The condition that ends the repetition of a step.
    Until(usize),
    /// An argument of a step.
    With(usize, String),
    /// The body of a step's request.
    Body(usize),
    /// An argument of an input's provider.
    ProviderArg(usize, String),
    FinalOutput,
}

impl Slot {
    /// Returns the index of the step that the template belongs to, if any.
    pub fn step(&self) -> Option<usize> {
        match self {
            Self::If(step) | Self::Until(step) | Self::With(step, _) | Self::Body(step) => Some(*step),
            Self::ProviderArg(..) | Self::FinalOutput => None,
        }
    }
}

impl Use {
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        self.template.expressions().for_each(|expression| expression.paths(&mut |path, _| paths.push(path)));
        paths
    }
}

/// Parses all templates, and returns the valid ones.
pub(super) fn check(book: &mut Book<'_>, definition: &Definition) -> Vec<Use> {
    let mut reader = Reader { book, uses: Vec::new() };
    for (index, named) in definition.inputs.list.iter().enumerate() {
        let pointer = definition.inputs.pointer(index);
        for (arg, value) in &named.input.provider_args {
            // A mapping is not a template: it binds the argument to a step or an input.
            if !value.is_object() {
                let at = below(&format!("{pointer}/provider_args"), arg);
                reader.value(&Slot::ProviderArg(index, arg.clone()), &at, value, true);
            }
        }
        if let Some(pattern) = named.input.validate.as_ref().and_then(|rules| rules.pattern.as_ref())
            && let Err(error) = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build()
        {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let message = format!("`{pattern}` is not a valid pattern: {why}");
            reader.book.at(Kind::BadRegex, &format!("{pointer}/validate/pattern"), message);
        }
    }
    for (index, step) in definition.steps.iter().enumerate() {
        let pointer = format!("/steps/{index}");
        if let Some(condition) = &step.condition {
            let written = ["if", "when"].map(|key| format!("{pointer}/{key}"));
            let at = written.iter().find(|at| reader.book.has(at)).unwrap_or(&written[0]);
            reader.condition(Slot::If(index), at, condition);
        }
        for (arg, value) in &step.with {
            let at = below(&format!("{pointer}/with"), arg);
            reader.value(&Slot::With(index, arg.clone()), &at, value, true);
        }
        if let Some(body) = &step.body {
            reader.value(&Slot::Body(index), &format!("{pointer}/body"), body, true);
        }
        if let Some(repeat) = &step.repeat {
            reader.repeat(index, &format!("{pointer}/repeat"), repeat);
        }
    }
    if let Some(output) = &definition.final_output {
        reader.value(&Slot::FinalOutput, "/final_output", output, true);
    }
    reader.uses
}

struct Reader<'b, 'a> {
    book: &'b mut Book<'a>,
    uses: Vec<Use>,
}

impl Reader<'_, '_> {
    fn value(&mut self, slot: &Slot, pointer: &str, value: &Value, is_whole: bool) {
        match value {
            Value::String(text) if Template::may_be(text) => {
                let (template, faults) = Template::read(text);
                self.faults(pointer, faults);
                self.uses.push(Use { slot: slot.clone(), pointer: pointer.to_owned(), template, is_whole });
            }
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate().filter(|(_, value)| may_hold(value)) {
                    self.value(slot, &below(pointer, index), value, false);
                }
            }
            Value::Object(values) => {
                for (key, value) in values.iter().filter(|(_, value)| may_hold(value)) {
                    self.value(slot, &below(pointer, key), value, false);
                }
            }
            _ => {}
        }
    }

    fn condition(&mut self, slot: Slot, pointer: &str, value: &Value) {
        let Some(text) = value.as_str() else { return };
        match Template::read_condition(text) {
            Ok(expression) => self.push_condition(slot, pointer, expression),
            Err(faults) => self.faults(pointer, faults),
        }
    }

    fn push_condition(&mut self, slot: Slot, pointer: &str, expression: Expression) {
        let template = Template { parts: vec![Part::Expression(expression)] };
        self.uses.push(Use { slot, pointer: pointer.to_owned(), template, is_whole: true });
    }

    fn faults(&mut self, pointer: &str, faults: Vec<Fault>) {
        for fault in faults {
            let kind = match fault.kind {
                FaultKind::Syntax => Kind::ExprSyntax,
                FaultKind::Unsupported => Kind::UnsupportedOperator,
                FaultKind::Limit => Kind::LimitExceeded,
                FaultKind::WithoutDollar => Kind::MustacheWithoutDollar,
            };
            let begins = self.book.part(pointer, &(fault.at.start..fault.at.start));
            let found = self.book.inside(kind, pointer, &fault.at, fault.message);
            match kind {
                Kind::MustacheWithoutDollar => {
                    found.hint("write `${{` instead of `{{`");
                    found.fix = begins.map(|span| Fix { text: "$".to_owned(), span });
                }
                Kind::UnsupportedOperator => {
                    found.hint("expressions support only `==`, `!=`, `&&`, `||`, `!`, `( )` and `.includes( )`");
                }
                _ => {}
            }
        }
    }

    fn repeat(&mut self, step: usize, pointer: &str, repeat: &Repeat) {
        match &repeat.until {
            Some(until) => self.condition(Slot::Until(step), &format!("{pointer}/until"), until),
            None => {
                let found = self.book.at_key(
                    Kind::RepeatWithoutUntil,
                    pointer,
                    "`repeat` has no `until`, so nothing is repeated",
                );
                found.hint("set `until` to the condition that ends the repetition");
            }
        }
        if repeat.until.is_some() && repeat.timeout.is_none() && repeat.max_attempts.is_none() {
            let found =
                self.book.at_key(Kind::RepeatUnbounded, pointer, "`repeat` has neither `timeout` nor `max_attempts`");
            found.hint("the defaults apply: 15 minutes and 100 attempts");
        }
        for (key, value) in [("every", &repeat.every), ("timeout", &repeat.timeout)] {
            let Some(value) = value else { continue };
            let at = format!("{pointer}/{key}");
            match milliseconds(value) {
                None => {
                    let found = self.book.at(Kind::BadDuration, &at, format!("`{key}` is not a duration: {value}"));
                    found.hint("use a value such as 250ms, 10s, 5m or 1h, or a number of seconds");
                }
                Some(long) if long > MAX_REPEAT_MS => {
                    self.book.at(Kind::LimitExceeded, &at, format!("`{key}` is longer than 24h"));
                }
                Some(0) if key == "timeout" => {
                    self.book.at(Kind::BadDuration, &at, "`timeout` must be more than zero");
                }
                Some(_) => {}
            }
        }
        match repeat.max_attempts {
            Some(0) => {
                self.book.at(Kind::WrongType, &format!("{pointer}/max_attempts"), "`max_attempts` must be at least 1");
            }
            Some(attempts) if attempts > MAX_ATTEMPTS => {
                let message = format!("`max_attempts` must be at most {MAX_ATTEMPTS}");
                self.book.at(Kind::LimitExceeded, &format!("{pointer}/max_attempts"), message);
            }
            _ => {}
        }
    }
}

/// Returns whether a value may contain a template.
fn may_hold(value: &Value) -> bool {
    match value {
        Value::String(text) => Template::may_be(text),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
        _ => false,
    }
}
