//! Lists what can be written at a position of a workflow's text: paths to earlier outputs and to inputs, allowed values,
//! commands, and names of arguments.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::node::Pointed;
use crate::argument;
use crate::check::Surveyed;
use crate::commands::Reachable;
use crate::index::SearchHit;
use crate::operations;
use crate::output;
use mcpkg_base::error::Result;

/// Maximum number of listed values.
const MOST: usize = 50;

/// Something that can be written at a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Fitting {
    /// The path of a value, an allowed value as JSON, the id of a command, or the name of an argument
    pub value: String,
    /// The type of the value, if known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Tags for the meaning of the value, such as app_id
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether the value has the tag that the argument prefers
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preferred: bool,
    /// What the command or argument is
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// What to write instead of `span`, if a line was given
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip)]
    rank: (u8, usize),
}

/// Returns the values to suggest for an argument or an input: those that contain `partial`, best first.
pub fn values(surveyed: &Surveyed, pointed: &Pointed<'_>, partial: &str) -> Vec<Fitting> {
    let argument = pointed.argument.as_ref().map(|(_, argument)| argument);
    let mut found: Vec<Fitting> = Vec::new();
    for value in argument.map_or(&[][..], |argument| argument.values) {
        found.push(Fitting { value: value.to_string(), rank: (0, found.len()), ..Fitting::default() });
    }
    if argument.is_some_and(|argument| argument.r#type == "boolean") {
        found.extend(["true", "false"].map(|word| Fitting { value: word.to_owned(), ..Fitting::default() }));
    }
    for (distance, step) in pointed.before.iter().enumerate() {
        let Some(spec) = &surveyed.specs[*step] else { continue };
        let step = &surveyed.definition.steps[*step];
        let contract = output::contract(spec, step);
        let element = contract.list.as_deref().map(|list| match list {
            "." => "[0]".to_owned(),
            list => format!(".{list}[0]"),
        });
        let element = element.unwrap_or_default();
        for field in &contract.fields {
            let value = format!("steps.{}.output{element}.{}", step.id, field.name);
            let fits = fits(pointed, &field.name, field.r#type.as_deref(), &field.tags);
            found.push(Fitting {
                value,
                r#type: field.r#type.clone(),
                preferred: argument
                    .and_then(|argument| argument.prefer)
                    .is_some_and(|tag| field.tags.iter().any(|own| own == tag)),
                tags: field.tags.clone(),
                rank: (fits + u8::from(!element.is_empty()), distance),
                ..Fitting::default()
            });
        }
    }
    // Inputs are suggested only for arguments: an input cannot take its default from another input.
    for named in surveyed.definition.inputs.list.iter().filter(|_| argument.is_some()) {
        let r#type = named.input.r#type.name();
        found.push(Fitting {
            value: format!("inputs.{}", named.id),
            r#type: Some(r#type.to_owned()),
            rank: (fits(pointed, &named.id, Some(r#type), &[]), usize::MAX),
            ..Fitting::default()
        });
    }
    found.retain(|fitting| fitting.value.contains(partial));
    found.sort_by_key(|fitting| fitting.rank);
    found.truncate(MOST);
    found
}

/// Returns how well a value fits the argument; lower is better. Matching tags decide first, then the value's name, then its type.
fn fits(pointed: &Pointed<'_>, name: &str, r#type: Option<&str>, tags: &[String]) -> u8 {
    let Some((_, argument)) = &pointed.argument else { return 6 };
    let has = |tag: &str| tags.iter().any(|own| own == tag);
    let is_named = name.rsplit('.').next() == Some(argument.name);
    let wants = argument.r#type;
    let may_be = r#type.is_none_or(|own| own == wants || wants == "any" || (wants == "number" && own == "integer"));
    match () {
        () if argument.prefer.is_some_and(has) => 1,
        () if argument.accepts.iter().any(|tag| has(tag)) => 2,
        // The argument accepts certain tags, and the value has others.
        () if !argument.accepts.is_empty() && !tags.is_empty() => 12,
        () if is_named && may_be => 4,
        () if may_be => 6,
        () => 10,
    }
}

/// Returns the commands that match the words, best first. Without words, commands of imported sources come before mcpkg's
/// own.
pub fn commands(commands: &Reachable<'_>, words: &str) -> Result<Vec<Fitting>> {
    let indexes = commands.indexes(None)?;
    let mut found = commands.search(&indexes, words, |_| true);
    found.retain(|found| found.matched > 0 || found.brief.id.contains(words));
    let is_own = |found: &SearchHit<'_>| found.brief.id.split(':').next() == Some(operations::GROUP);
    found.sort_by(|a, b| {
        let begins = |found: &SearchHit<'_>| words.is_empty() || !found.brief.id.starts_with(words);
        begins(a)
            .cmp(&begins(b))
            .then(if words.is_empty() { is_own(a).cmp(&is_own(b)) } else { a.order(b) })
            .then_with(|| a.brief.id.cmp(&b.brief.id))
    });
    let of = |found: &SearchHit<'_>| Fitting {
        value: found.brief.id.clone(),
        r#type: Some(found.brief.effect.does().to_owned()),
        about: found.brief.summary.clone(),
        ..Fitting::default()
    };
    Ok(found.iter().take(MOST).map(of).collect())
}

/// Returns the arguments of a step's command that the step does not have yet and whose names contain `partial`, required
/// ones first.
pub fn arguments(surveyed: &Surveyed, step: usize, partial: &str) -> Vec<Fitting> {
    let Some(spec) = surveyed.specs.get(step).and_then(Option::as_deref) else { return Vec::new() };
    let given = &surveyed.definition.steps[step].with;
    let open =
        argument::all(spec).filter(|argument| !given.contains_key(argument.name) && argument.name.contains(partial));
    let mut found: Vec<Fitting> = open
        .map(|argument| Fitting {
            value: argument.name.to_owned(),
            r#type: Some(argument.takes()),
            preferred: argument.required,
            about: argument.about.unwrap_or_default().to_owned(),
            ..Fitting::default()
        })
        .collect();
    found.sort_by_key(|fitting| !fitting.preferred);
    found
}

impl Fitting {
    /// Returns whether this is a path to an output or an input.
    pub fn is_path(&self) -> bool {
        ["steps.", "inputs."].iter().any(|root| self.value.starts_with(root))
    }

    /// Sets `text` to a whole value: a path as a template, an allowed value as YAML.
    pub fn writing_value(self) -> Self {
        let text = match serde_json::from_str::<Value>(&self.value) {
            _ if self.is_path() => format!("${{{{ {} }}}}", self.value),
            Ok(value) => crate::check::scalar(&value, ""),
            Err(_) => self.value.clone(),
        };
        Self { text: Some(text), ..self }
    }

    /// Sets `text` to `value`.
    pub fn writing_words(self) -> Self {
        Self { text: Some(self.value.clone()), ..self }
    }

    /// Sets `text` to a key with its colon.
    pub fn writing_key(self) -> Self {
        let text = format!("{}: ", crate::check::scalar(&Value::String(self.value.clone()), ""));
        Self { text: Some(text), ..self }
    }
}
