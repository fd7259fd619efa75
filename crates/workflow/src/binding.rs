//! What a provider's argument is bound to: what the input says, else what fits by its tags, else what has its name.

use serde_json::{Map, Value};

use super::definition::{Bound, Definition, Input, OnMissing};
use super::expression::{Node, Segment, Template};
use super::output::{self, Found};
use super::spec::{OutputContract, OutputField, ProviderContract};

/// What an argument of a provider has to be given (contract 004, section 3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The tags of values that it takes; none where nothing is known of them.
    pub accepts: Vec<String>,
    /// The tag to prefer.
    pub prefer: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

/// What an argument is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A field of a step's answer: the step's index, and the way to the field.
    Step(usize, Vec<Segment>),
    /// An input, by its index, and the way into its value.
    Input(usize, Vec<Segment>),
    /// A value that was written out.
    Literal(Value),
    /// A template that is more than one path, as it was written.
    Template(String),
}

/// What an argument is bound to, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// What it is bound to; `None` where that is open.
    pub source: Option<Source>,
    /// What the plan says of it, such as `prefer app_id per contract`.
    pub note: Option<String>,
    /// What happens where there is no value.
    pub on_missing: OnMissing,
}

/// What is known of the answers of steps, in the order of the steps; `None` where a step's command is unknown.
pub type Contracts<'c> = [Option<&'c OutputContract>];

impl Wanted {
    /// Returns what an argument of a provider has to be given.
    pub fn of(contract: &ProviderContract, arg: &str) -> Option<Self> {
        let arg = contract.args.get(arg)?;
        let accepts = arg.get("accepts").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            accepts: accepts.filter_map(Value::as_str).map(str::to_owned).collect(),
            prefer: arg.get("prefer").and_then(Value::as_str).map(str::to_owned),
            required: arg.get("required").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// Whether a value with these tags is taken; where nothing is known of either, it is.
    pub fn takes(&self, tags: &[String]) -> bool {
        self.accepts.is_empty() || tags.is_empty() || tags.iter().any(|tag| self.accepts.contains(tag))
    }

    /// Whether a value with these tags is taken, and another one would be preferred.
    pub fn prefers_another(&self, tags: &[String]) -> bool {
        let preferred = self.prefer.as_ref().is_some_and(|prefer| tags.contains(prefer));
        self.prefer.is_some() && !preferred && !tags.is_empty() && self.takes(tags)
    }
}

/// Returns what an input binds an argument to by itself.
pub fn stated(definition: &Definition, value: &Value) -> Option<Binding> {
    let of = |source, on_missing| Binding { source: Some(source), note: None, on_missing };
    match Bound::of(value)? {
        Bound::Step { id, path, on_missing } => {
            Some(of(Source::Step(definition.step(id)?, output::segments(path.unwrap_or_default())), on_missing))
        }
        Bound::Input { id, path, on_missing } => {
            let index = definition.inputs.list.iter().position(|named| named.id == id)?;
            Some(of(Source::Input(index, output::segments(path.unwrap_or_default())), on_missing))
        }
        Bound::Value(Value::String(text)) if Template::may_be(text) => {
            Some(of(of_template(definition, text), OnMissing::Unsaid))
        }
        Bound::Value(value) => Some(of(Source::Literal(value.clone()), OnMissing::Unsaid)),
    }
}

fn of_template(definition: &Definition, text: &str) -> Source {
    use super::expression::Root;
    let (template, _) = Template::read(text);
    let path = template.alone().and_then(|expression| match &expression.node {
        Node::Path(path) => Some(path),
        _ => None,
    });
    let found = path.and_then(|path| match &path.root {
        Root::Step(id) => Some(Source::Step(definition.step(id)?, path.segments.clone())),
        Root::Input(id) => {
            let index = definition.inputs.list.iter().position(|named| named.id == *id)?;
            Some(Source::Input(index, path.segments.clone()))
        }
        _ => None,
    });
    found.unwrap_or_else(|| Source::Template(text.to_owned()))
}

/// Returns what an argument of the provider of `input` is bound to. `before` are the steps that were run by then, the last one
/// first.
pub fn bind(
    definition: &Definition,
    input: &Input,
    contract: &ProviderContract,
    arg: &str,
    before: &[usize],
    contracts: &Contracts<'_>,
) -> Binding {
    if let Some(value) = input.provider_args.get(arg) {
        let stated = stated(definition, value);
        let mut binding = stated.unwrap_or(Binding { source: None, note: None, on_missing: OnMissing::Unsaid });
        let wanted = Wanted::of(contract, arg).unwrap_or_default();
        let tags = binding.source.as_ref().and_then(|source| tags(source, contracts)).unwrap_or_default();
        binding.note =
            wanted.prefer.filter(|prefer| tags.contains(prefer)).map(|prefer| format!("prefer {prefer} per contract"));
        return binding;
    }
    let wanted = Wanted::of(contract, arg).unwrap_or_default();
    let of = |(source, note): (Source, String)| Binding {
        source: Some(source),
        note: Some(note),
        on_missing: OnMissing::Unsaid,
    };
    let preferred = wanted.prefer.iter().map(|tag| (tag, "prefer"));
    let accepted = wanted.accepts.iter().filter(|tag| Some(*tag) != wanted.prefer.as_ref()).map(|tag| (tag, "accepts"));
    for (tag, word) in preferred.chain(accepted) {
        if let Some(source) = tagged(before, contracts, tag) {
            return of((source, format!("{word} {tag} per contract")));
        }
    }
    let same_name =
        definition.inputs.list.iter().position(|named| named.id == arg && !std::ptr::eq(&named.input, input));
    let found = same_name.map(|index| {
        (Source::Input(index, Vec::new()), format!("bound to the input `{arg}`, which has the same name"))
    });
    let found = found.or_else(|| {
        let source = field(before, contracts, |field| field.name == arg)?;
        Some((source, format!("bound to the field `{arg}`, which has the same name")))
    });
    found.map_or_else(
        || Binding {
            source: None,
            note: Some(format!("nothing is bound to {}.{arg}", contract.id)),
            on_missing: OnMissing::Prompt,
        },
        of,
    )
}

fn tagged(before: &[usize], contracts: &Contracts<'_>, tag: &str) -> Option<Source> {
    field(before, contracts, |field| field.tags.iter().any(|known| known == tag))
}

/// Returns the first field that fits, of answers that are not lists.
fn field(before: &[usize], contracts: &Contracts<'_>, fits: impl Fn(&OutputField) -> bool) -> Option<Source> {
    before.iter().find_map(|step| {
        let contract = contracts[*step].filter(|contract| contract.list.is_none())?;
        let field = contract.fields.iter().find(|field| fits(field))?;
        Some(Source::Step(*step, output::segments(&field.name)))
    })
}

/// Returns the tags of a source, where something is known of it.
pub fn tags(source: &Source, contracts: &Contracts<'_>) -> Option<Vec<String>> {
    let Source::Step(step, segments) = source else { return None };
    match output::find(contracts[*step]?, segments) {
        Found::Field(field) => Some(field.tags.clone()),
        _ => None,
    }
}

/// Returns the arguments of a provider in the order of its contract, and then those that only the input names.
pub fn args<'a>(contract: &'a ProviderContract, given: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let more = given.keys().filter(|arg| !contract.args.contains_key(*arg));
    contract.args.keys().chain(more).map(String::as_str)
}

impl Source {
    /// Returns the path of the source, as expressions write it, or the value as JSON.
    pub fn shown(&self, definition: &Definition) -> String {
        let with = |begin: String, segments: &[Segment]| {
            segments.iter().fold(begin, |path, segment| path + &segment.to_string())
        };
        match self {
            Self::Step(step, segments) => with(format!("steps.{}.output", definition.steps[*step].id), segments),
            Self::Input(input, segments) => with(format!("inputs.{}", definition.inputs.list[*input].id), segments),
            Self::Literal(value) => value.to_string(),
            Self::Template(text) => text.clone(),
        }
    }
}
