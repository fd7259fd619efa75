//! Decides where the arguments of a provider get their values: from what the input states, else from a field with matching tags,
//! else from another input or a field of the same name.

use serde_json::{Map, Value};

use super::definition::{Bound, Definition, Input, OnMissing};
use super::expression::{Node, Segment, Template};
use super::output::{self, Lookup};
use super::spec::{OutputContract, OutputField, ProviderContract};

/// The tags that a provider's argument accepts (section 3.3 of contract 004, which describes workflows).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Accepted tags; empty if unknown.
    pub accepts: Vec<String>,
    /// The preferred tag.
    pub prefer: Option<String>,
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A field of a step's output: the step's index, and the path of the field.
    Step(usize, Vec<Segment>),
    /// An input: its index, and a path into its value.
    Input(usize, Vec<Segment>),
    Literal(Value),
    /// A template that is not just a single path.
    Template(String),
}

/// The source of an argument's value, with a remark about the choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The source; `None` if nothing fits.
    pub source: Option<Source>,
    /// A remark for the plan, such as `prefer app_id per contract`.
    pub note: Option<String>,
    /// The action to take if the source has no value.
    pub on_missing: OnMissing,
}

/// The output contracts of the steps, in their order; `None` for a step with an unknown command.
pub type Contracts<'c> = [Option<&'c OutputContract>];

impl Wanted {
    pub fn of(contract: &ProviderContract, arg: &str) -> Option<Self> {
        let arg = contract.args.get(arg)?;
        let accepts = arg.get("accepts").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            accepts: accepts.filter_map(Value::as_str).map(str::to_owned).collect(),
            prefer: arg.get("prefer").and_then(Value::as_str).map(str::to_owned),
            required: arg.get("required").and_then(Value::as_bool).unwrap_or_default(),
        })
    }

    /// Returns whether the argument accepts a value with these tags. A value without tags is always accepted, and an argument
    /// without accepted tags accepts every value.
    pub fn takes(&self, tags: &[String]) -> bool {
        self.accepts.is_empty() || tags.is_empty() || tags.iter().any(|tag| self.accepts.contains(tag))
    }

    /// Returns whether a value with these tags is acceptable, but the preferred tag is a different one.
    pub fn prefers_another(&self, tags: &[String]) -> bool {
        let preferred = self.prefer.as_ref().is_some_and(|prefer| tags.contains(prefer));
        self.prefer.is_some() && !preferred && !tags.is_empty() && self.takes(tags)
    }
}

/// Returns the binding that the input states explicitly.
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

/// Binds an argument of an input's provider. `before` lists the steps that run before the provider is called, latest first.
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

/// Returns the first matching field among outputs that are not lists.
fn field(before: &[usize], contracts: &Contracts<'_>, fits: impl Fn(&OutputField) -> bool) -> Option<Source> {
    before.iter().find_map(|step| {
        let contract = contracts[*step].filter(|contract| contract.list.is_none())?;
        let field = contract.fields.iter().find(|field| fits(field))?;
        Some(Source::Step(*step, output::segments(&field.name)))
    })
}

/// Returns the tags of a source, if known.
pub fn tags(source: &Source, contracts: &Contracts<'_>) -> Option<Vec<String>> {
    let Source::Step(step, segments) = source else { return None };
    match output::find(contracts[*step]?, segments) {
        Lookup::Field(field) => Some(field.tags.clone()),
        _ => None,
    }
}

/// Returns the arguments of the provider's contract, followed by those that appear only in the input.
pub fn args<'a>(contract: &'a ProviderContract, given: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let more = given.keys().filter(|arg| !contract.args.contains_key(*arg));
    contract.args.keys().chain(more).map(String::as_str)
}

impl Source {
    /// Formats the source as an expression path, or a literal as JSON.
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
