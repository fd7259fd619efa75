//! `suggest_providers`, `mcpkg workflow suggest`: suggests providers for an input or an argument.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node::pointed;
use super::ranked::{Suggestion, suggestions};
use super::unbroken::unbroken;
use crate::answer::{Answer, data};
use crate::check::surveyed;
use crate::commands::reachable;
use crate::completions::WORKFLOWS;
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

/// Providers, the best first
#[derive(Serialize, JsonSchema)]
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
}

impl Operation for Suggest {
    const TOOL: &'static str = "suggest_providers";
    const CLI: &'static [&'static str] = &["workflow", "suggest"];
    const TITLE: &'static str = "Suggest providers";
    const ABOUT: &'static str =
        "Suggest commands that list values for an input or an argument of an unfinished workflow";
    const HELP: &'static str = "mcpkg ignores mistakes elsewhere in the text. Each suggested provider comes with the fields to \
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
        let pointer = match (self.pointer, self.line) {
            (Some(pointer), None) => pointer,
            (None, Some(line)) => surveyed.places.at(line, self.column.unwrap_or(usize::MAX)),
            _ => {
                let why = "Pass either `pointer`, or `line` and `column`";
                return Err(Error::new(Code::InvalidArgument, why));
            }
        };
        let pointed = pointed(&surveyed, &pointer)?;
        let providers = suggestions(&surveyed, &pointed, &commands, self.partial.as_deref())?;
        let rows = providers.iter().map(|found| {
            let bound =
                found.bindings.iter().filter_map(|(arg, bound)| Some(format!("{arg}={}", bound["source"].as_str()?)));
            let open = found.open.iter().map(|arg| format!("{arg}=?"));
            let cells = [found.id.clone(), bound.chain(open).collect::<Vec<_>>().join(", "), found.why.join("; ")];
            cells.map(|text| cell(&text).into_owned()).to_vec()
        });
        let table = Table {
            columns: &["PROVIDER", "BOUND", "WHY"],
            rows: rows.collect(),
            empty: format!("No command provides values for {pointer}"),
        };
        let argument = pointed.argument.as_ref();
        let suggested = Suggested {
            argument: argument.map(|(command, argument)| format!("{command}.{}", argument.name)),
            accepts: argument.map(|(_, argument)| argument.accepts.to_vec()).unwrap_or_default(),
            prefer: argument.and_then(|(_, argument)| argument.prefer.map(str::to_owned)),
            pointer,
            providers,
        };
        Ok(Reply::new(Body::Table(table), data(&suggested)?))
    }
}
