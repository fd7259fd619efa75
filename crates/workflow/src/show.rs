//! `get_command_spec`, `mcpkg command show`: shows what a command takes, returns and does.

use std::cmp::Ordering;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer::{Answer, VERSION, data, is_short, one};
use super::argument::Argument;
use super::commands::reachable;
use super::completions::IDS;
use super::resolve::require;
use super::spec::CommandSpec;
use super::{GROUP, word};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape, Table, cell};

/// Maximum number of output fields shown without `detail: full`.
const FIELDS: usize = 60;

/// The keys that come first, in the order of contract 004 (commands and workflows).
const FIRST: [&str; 8] = ["id", "group", "name", "path", "method", "flags", "positionals", "output_contract"];

/// Shows a command.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Id of the command
    #[arg(required = true, value_name = "ID", add = IDS)]
    #[serde(deserialize_with = "one")]
    #[schemars(with = "String")]
    id: Vec<String>,
    /// `full` includes the JSON Schema of the command's output
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("enum" = ["compact", "full"]))]
    detail: Detail,
}

/// The amount of detail to show of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Up to sixty fields of the command's output.
    #[default]
    Compact,
    /// All fields of the command's output, and its JSON Schema.
    Full,
}

/// The JSON of the most recently shown commands.
static TOLD: Cache<(Same, Detail), Arc<str>> = Cache::new(64);

/// A spec that is compared by address. A command that is read again gets a new address.
#[derive(Clone)]
struct Same(Arc<CommandSpec>);

impl Ord for Same {
    fn cmp(&self, other: &Self) -> Ordering {
        Arc::as_ptr(&self.0).cmp(&Arc::as_ptr(&other.0))
    }
}

impl PartialOrd for Same {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Same {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Same {}

/// A command, with a hash that changes whenever the command does.
#[derive(Serialize, JsonSchema)]
pub struct HashedSpec {
    #[serde(flatten)]
    spec: CommandSpec,
    /// SHA-256 of this spec; it changes whenever anything in the spec changes
    spec_hash: String,
}

impl Operation for Show {
    const TOOL: &'static str = "get_command_spec";
    const CLI: &'static [&'static str] = &["command", "show"];
    const TITLE: &'static str = "Show a command";
    const ABOUT: &'static str = "Show what a command takes, returns and does";
    const HELP: &'static str = "ID can be `group:name`, `group name`, an operationId of an API, or `METHOD /path`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg command show mcpkg:prompt:create", "mcpkg command show mcpkg:prompt:list --detail full --json"];
    const EFFECT: Effect = Effect::Read;
    const ALWAYS_LISTED: bool = true;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    type Output = Answer<HashedSpec>;

    fn is_hot(&self) -> bool {
        is_short(&self.id)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let spec = require(&reachable(context), &self.id.join(" "))?;
        if context.is_shell() {
            return Ok(Reply::new(people(&spec, self.detail), command_data(&spec, self.detail)?));
        }
        let json = TOLD.get_or((Same(Arc::clone(&spec)), self.detail), || {
            Ok::<_, Error>(command_data(&spec, self.detail)?.to_string().into())
        })?;
        Ok(Reply { json: Some(json.to_string()), ..Reply::new(Body::Text(String::new()), Value::Null) })
    }
}

/// Returns the JSON of a command, with the keys of contract 004 first.
pub fn command_data(spec: &CommandSpec, detail: Detail) -> Result<Value> {
    let spec_hash = spec.hash();
    let mut spec = spec.clone();
    if detail == Detail::Compact {
        let output = &mut spec.output_contract;
        output.schema = None;
        let more = output.fields.len().saturating_sub(FIELDS);
        output.fields.truncate(FIELDS);
        output.more_fields = (more > 0).then_some(more).or(output.more_fields);
    }
    let Value::Object(mut told) = data(&HashedSpec { spec, spec_hash })? else { return Ok(Value::Null) };
    let first = FIRST.iter().filter_map(|key| told.shift_remove_entry(*key));
    let mut ordered: Map<String, Value> = first.collect();
    ordered.extend(told);
    Ok(Value::Object(ordered))
}

/// Formats a command for people.
fn people(spec: &CommandSpec, detail: Detail) -> Body {
    let mut lines = vec![format!("{}  {}", spec.id, word(spec.effect))];
    lines.extend(spec.method.iter().zip(&spec.path).map(|(method, path)| format!("{method} {path}")));
    lines.push(spec.summary.clone());
    lines.extend(spec.description.clone());
    lines.extend(spec.why_not.as_ref().map(|why| format!("This command cannot be run: {why}")));
    let row = |name: &str, kind: &str, needed: bool, provider: Option<&String>, about: Option<&String>| {
        let needed = if needed { "needed" } else { "" };
        let cells = [name, kind, needed, provider.map_or("", String::as_str), about.map_or("", String::as_str)];
        cells.map(|text| cell(text).into_owned()).to_vec()
    };
    let placeholders = spec.positionals.iter();
    let placeholders =
        placeholders.map(|one| row(&one.name, &one.r#type, true, one.provider.as_ref(), one.help.as_ref()));
    let flags = spec.flags.iter();
    let flags = flags.map(|one| {
        let null = if one.nullable { " or null" } else { "" };
        row(
            &one.name,
            &(Argument::from(one).takes() + null),
            one.required,
            one.provider.as_ref(),
            about(&one.r#enum, one.description.as_ref()).as_ref(),
        )
    });
    let arguments = Table {
        columns: &["ARGUMENT", "TYPE", "NEEDED", "PROVIDER", "DESCRIPTION"],
        rows: placeholders.chain(flags).collect(),
        empty: "The command takes no arguments".to_owned(),
    };
    let fields = &spec.output_contract.fields;
    let shown = if detail == Detail::Full { fields.len() } else { FIELDS };
    let field = fields.iter().take(shown).map(|field| {
        [&*field.name, field.r#type.as_deref().unwrap_or_default(), &field.tags.join(", ")]
            .map(|text| cell(text).into_owned())
            .to_vec()
    });
    let answer = Table {
        columns: &["FIELD", "TYPE", "TAGS"],
        rows: field.collect(),
        empty: "The command's output is not described".to_owned(),
    };
    let mut parts = vec![Body::Text(lines.join("\n") + "\n"), Body::Table(arguments), Body::Table(answer)];
    let rest = fields.len().saturating_sub(shown);
    if rest > 0 {
        let rest = mcpkg_base::plural::count(rest, "more field");
        parts.push(Body::Text(format!("and {rest}: `--detail full` shows them\n")));
    }
    Body::Several(parts)
}

/// Describes an argument for people: its values and its description.
fn about(values: &[Value], description: Option<&String>) -> Option<String> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = values.iter().map(plain).collect();
    match (values.is_empty(), description) {
        (true, description) => description.cloned(),
        (false, None) => Some(values.join(", ")),
        (false, Some(description)) => Some(format!("{}: {description}", values.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{OutputField, SourceKind};

    #[test]
    fn the_main_keys_come_first_and_excess_fields_are_counted() {
        let mut spec = CommandSpec::new("apps:list", SourceKind::Catalogs);
        let field = |number| OutputField { name: format!("f{number}"), r#type: None, tags: Vec::new() };
        spec.output_contract.fields = (0..70).map(field).collect();
        spec.output_contract.schema = Some(Map::new());
        spec.path = Some("/apps".to_owned());
        let compact = command_data(&spec, Detail::Compact).unwrap();
        let keys: Vec<&str> = compact.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys[..7], ["id", "group", "name", "path", "flags", "positionals", "output_contract"]);
        let output = &compact["output_contract"];
        assert_eq!((output["fields"].as_array().unwrap().len(), &output["more_fields"]), (60, &10.into()));
        assert!(output.get("schema").is_none());
        let last = |detail| match people(&spec, detail) {
            Body::Several(mut parts) => parts.pop(),
            other => Some(other),
        };
        let Some(Body::Text(rest)) = last(Detail::Compact) else { panic!("it says how many there are") };
        assert_eq!(rest, "and 10 more fields: `--detail full` shows them\n");
        assert!(matches!(last(Detail::Full), Some(Body::Table(table)) if table.rows.len() == 70));
        let full = command_data(&spec, Detail::Full).unwrap();
        assert_eq!(full["output_contract"]["fields"].as_array().unwrap().len(), 70);
        assert!(full["output_contract"]["schema"].is_object());
        assert_eq!((&full["spec_hash"], full["spec_hash"].as_str().unwrap().len()), (&compact["spec_hash"], 64));
    }

    #[test]
    fn an_argument_shows_its_values_and_its_description() {
        let (eu, us, where_) = (Value::from("eu"), Value::from(7), "Where".to_owned());
        assert_eq!(about(&[eu.clone(), us], None).as_deref(), Some("eu, 7"));
        assert_eq!(about(&[eu], Some(&where_)).as_deref(), Some("eu: Where"));
        assert_eq!((about(&[], Some(&where_)), about(&[], None)), (Some(where_), None));
    }

    #[test]
    fn the_hash_ignores_what_other_commands_say_about_a_command() {
        let spec = CommandSpec::new("apps:list", SourceKind::Catalogs);
        let given = CommandSpec { provider_for: vec!["apps:info.app".to_owned()], ..spec.clone() };
        let other = CommandSpec { summary: "List apps".to_owned(), ..spec.clone() };
        assert_eq!(spec.hash(), given.hash());
        assert_ne!(spec.hash(), other.hash());
    }
}
