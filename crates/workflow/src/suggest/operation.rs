//! `suggest_providers`, `mcpkg workflow suggest`: suggests values and providers for an input or an argument.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fitting::{self, Fitting};
use super::node::pointed;
use super::ranked::{Suggestion, suggestions};
use super::typed::{Kind, Typed, typed};
use super::unbroken::unbroken;
use crate::answer::{Answer, data};
use crate::check::{Surveyed, surveyed};
use crate::commands::{Reachable, reachable};
use crate::completions::WORKFLOWS;
use crate::span::Span;
use crate::text::argument::{Text, text};
use crate::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape, Table, cell};

/// Suggest providers
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Suggest {
    /// The workflow's text, YAML or JSON; it can contain mistakes
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
    /// Line of the cursor, counted from 1
    #[arg(long, value_name = "N", required_unless_present = "pointer", conflicts_with = "pointer")]
    line: Option<usize>,
    /// Column of the cursor, counted from 1
    #[arg(long, value_name = "N", requires = "line")]
    column: Option<usize>,
    /// JSON pointer such as /inputs/app, instead of line and column
    #[arg(long)]
    pointer: Option<String>,
    /// The part of an id typed so far, or words to search for
    #[arg(long, value_name = "WORDS")]
    partial: Option<String>,
}

/// What fits, the best first
#[derive(Default, Serialize, JsonSchema)]
pub struct Suggested {
    /// JSON pointer of the value that the providers are for
    pointer: String,
    /// The argument that takes the value
    #[serde(skip_serializing_if = "Option::is_none")]
    argument: Option<String>,
    /// The tags that the argument accepts
    #[serde(skip_serializing_if = "Vec::is_empty")]
    accepts: Vec<String>,
    /// The tag that the argument prefers
    #[serde(skip_serializing_if = "Option::is_none")]
    prefer: Option<String>,
    /// The suggested providers
    providers: Vec<Suggestion>,
    /// What fits there: values for an argument, commands for `run`, or the names of a command's arguments
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Fitting>,
    /// The part of the text that a value's `text` replaces, if a line was given
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Map<String, Value>>")]
    span: Option<Span>,
}

impl Operation for Suggest {
    const TOOL: &'static str = "suggest_providers";
    const CLI: &'static [&'static str] = &["workflow", "suggest"];
    const TITLE: &'static str = "Suggest providers";
    const ABOUT: &'static str =
        "Suggest values, and commands that list values, for an input or an argument of an unfinished workflow";
    const HELP: &'static str = "mcpkg ignores mistakes elsewhere in the text. For /steps/0/run, it suggests commands; for \
        /steps/0/with, arguments of the step's command. Each suggested provider comes with the fields to \
        select, the bindings of the provider's own arguments, and the reason for the suggestion.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow suggest app.yaml --line 4 --column 14",
        "mcpkg workflow suggest app.yaml --pointer /inputs/app/provider --partial app",
    ];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("providers");
    const STRUCTURED: bool = true;
    type Output = Answer<Suggested>;

    fn run(self, context: &Context) -> Result<Reply> {
        let written = self.yaml.read_or_saved(context)?;
        let commands = reachable(context);
        let whole = unbroken(&written, self.line);
        let surveyed = surveyed(&whole, &commands)?.ok_or_else(|| {
            Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow")
                .hint("see why with `mcpkg workflow validate`")
        })?;
        let typed = self.line.and_then(|line| typed(&written, line, self.column.unwrap_or(usize::MAX)));
        let pointer = match (self.pointer, self.line) {
            (Some(pointer), None) => pointer,
            (None, Some(line)) => place(&surveyed, &written, line, self.column, typed.as_ref()),
            _ => {
                let why = "Pass either `pointer`, or `line` and `column`";
                return Err(Error::new(Code::InvalidArgument, why));
            }
        };
        let partial = self.partial.as_deref();
        let words = partial.or(typed.as_ref().map(|typed| typed.partial.as_str())).unwrap_or_default();
        let mut suggested = Suggested { pointer, span: typed.as_ref().map(|typed| typed.span), ..Suggested::default() };
        match names(&suggested.pointer, &surveyed, &commands, words)? {
            Some(values) => suggested.values = values,
            None => {
                let pointed = pointed(&surveyed, &suggested.pointer)?;
                suggested.providers = suggestions(&surveyed, &pointed, &commands, partial)?;
                suggested.values = fitting::values(&surveyed, &pointed, words);
                if let Some((command, argument)) = &pointed.argument {
                    suggested.argument = Some(format!("{command}.{}", argument.name));
                    suggested.accepts = argument.accepts.to_vec();
                    suggested.prefer = argument.prefer.map(str::to_owned);
                }
            }
        }
        if let Some(Typed { kind, .. }) = typed {
            let written = |fitting: Fitting| match kind {
                Kind::Key => fitting.writing_key(),
                Kind::Value => fitting.writing_value(),
                Kind::Path | Kind::Command => fitting.writing_words(),
            };
            // Between `${{` and `}}`, only paths make sense.
            suggested.values.retain(|fitting| kind != Kind::Path || fitting.is_path());
            suggested.values = suggested.values.into_iter().map(written).collect();
        }
        Ok(Reply::new(Body::Several(vec![suggested.fitting(), suggested.providers()]), data(&suggested)?))
    }
}

impl Suggested {
    fn fitting(&self) -> Body {
        let row = |fitting: &Fitting| {
            let preferred = if fitting.preferred { "preferred" } else { "" };
            let kind = fitting.r#type.as_deref().unwrap_or_default();
            [&fitting.value, kind, &fitting.tags.join(", "), preferred, &fitting.about]
                .map(|text| cell(text).into_owned())
                .to_vec()
        };
        Body::Table(Table {
            columns: &["VALUE", "TYPE", "TAGS", "", "ABOUT"],
            rows: self.values.iter().map(row).collect(),
            empty: format!("Nothing in the workflow fits {}", self.pointer),
        })
    }

    fn providers(&self) -> Body {
        let rows = self.providers.iter().map(|found| {
            let bound =
                found.bindings.iter().filter_map(|(arg, bound)| Some(format!("{arg}={}", bound["source"].as_str()?)));
            let open = found.open.iter().map(|arg| format!("{arg}=?"));
            let cells = [found.id.clone(), bound.chain(open).collect::<Vec<_>>().join(", "), found.why.join("; ")];
            cells.map(|text| cell(&text).into_owned()).to_vec()
        });
        Body::Table(Table {
            columns: &["PROVIDER", "BOUND", "WHY"],
            rows: rows.collect(),
            empty: format!("No command provides values for {}", self.pointer),
        })
    }
}

/// Returns the commands or the names of arguments that fit a pointer. Returns `None` for the pointer of a value.
fn names(pointer: &str, surveyed: &Surveyed, commands: &Reachable<'_>, words: &str) -> Result<Option<Vec<Fitting>>> {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    Ok(match parts.as_slice() {
        ["steps", "-"] | ["steps", _, "run"] => Some(fitting::commands(commands, words)?),
        ["steps", step, "with"] => step.parse().ok().map(|step| fitting::arguments(surveyed, step, words)),
        _ => None,
    })
}

/// Returns the JSON pointer of the value at a line and a column. For a new key, returns the pointer of the mapping that
/// gets the key.
fn place(surveyed: &Surveyed, text: &str, line: usize, column: Option<usize>, typed: Option<&Typed>) -> String {
    let at = surveyed.places.at(line, column.unwrap_or(usize::MAX));
    let Some(Typed { kind: Kind::Key, span, .. }) = typed else { return at };
    // The mapping of a new key begins at the nearest line above that is indented less.
    let lines: Vec<&str> = text.lines().take(line.saturating_sub(1)).collect();
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let is_above = |line: &&&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let above = lines.iter().enumerate().rev().find(|(_, line)| is_above(line) && indent(line) < span.column - 1);
    above.map_or(at, |(above, line)| surveyed.places.at(above + 1, line.chars().count()))
}
