//! `list_providers`, `mcpkg command providers`: lists the commands that provide values for arguments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, VERSION, cursor, data, limit, place};
use super::commands::reachable;
use super::completions::GROUPS;
use super::spec::ProviderContract;
use super::{GROUP, contracts};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape, Table, cell};

/// Default and maximum size of a page.
const USUAL: u32 = 50;
const MOST: u32 = 200;

/// The list's name in cursors.
const LIST: &str = "providers";

/// Lists the commands that provide values for arguments.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Providers {
    /// List only providers that match one of these words
    #[arg(long, value_name = "WORDS")]
    filter: Option<String>,
    /// List only providers in this group
    #[arg(long, value_name = "GROUP", add = GROUPS)]
    group: Option<String>,
    /// Maximum number of providers per page [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    limit: Option<u32>,
    /// Value of next_cursor from the previous page
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// A page of providers.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// The providers, by their ids
    providers: Vec<ProviderContract>,
    /// Cursor of the next page
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl Operation for Providers {
    const TOOL: &'static str = "list_providers";
    const CLI: &'static [&'static str] = &["command", "providers"];
    const TITLE: &'static str = "List providers";
    const ABOUT: &'static str = "List the commands that provide values for arguments, with their inputs and outputs";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg command providers", "mcpkg command providers --filter prompt --json"];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("providers");
    const STRUCTURED: bool = true;
    type Output = Answer<Listed>;

    fn run(self, context: &Context) -> Result<Reply> {
        let limit = limit(self.limit, USUAL, MOST)?;
        let after: Option<String> = self.cursor.as_deref().map(|cursor| place(LIST, cursor)).transpose()?;
        let commands = reachable(context);
        let indexes = commands.indexes(None)?;
        let found = commands.search(&indexes, self.filter.as_deref().unwrap_or_default(), |brief| {
            let group = brief.id.split(':').next();
            brief.lists
                && self.group.as_deref().is_none_or(|only| group == Some(only))
                && after.as_deref().is_none_or(|after| brief.id.as_str() > after)
        });
        let mut ids: Vec<&str> = found.iter().map(|found| found.brief.id.as_str()).collect();
        ids.sort_unstable();
        let more = ids.len() > limit;
        ids.truncate(limit);
        let mut providers = Vec::new();
        for id in &ids {
            // Skip commands that were removed since the search.
            let spec = commands.spec(id)?;
            providers.extend(spec.as_deref().and_then(contracts::provider));
        }
        let last = ids.last().filter(|_| more);
        let next_cursor = last.map(|last| cursor(LIST, last)).transpose()?;
        let listed = Listed { providers, next_cursor };
        let row = |provider: &ProviderContract| {
            let needs: Vec<&str> = provider.args.keys().map(String::as_str).collect();
            let returns: Vec<&str> = provider.returns.iter().map(|field| field.name.as_str()).collect();
            [provider.id.clone(), needs.join(", "), returns.join(", ")].map(|text| cell(&text).into_owned()).to_vec()
        };
        let table = Table {
            columns: &["PROVIDER", "NEEDS", "RETURNS"],
            rows: listed.providers.iter().map(row).collect(),
            empty: "No command provides values".to_owned(),
        };
        let reply = Reply::new(Body::Table(table), data(&listed)?);
        Ok(match &listed.next_cursor {
            Some(next) if context.is_shell() => {
                reply.hint(format!("there are more results: use `--cursor {next}`, or a higher --limit"))
            }
            _ => reply,
        })
    }
}
