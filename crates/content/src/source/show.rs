//! `mcpkg source show`: shows a source, and the item that each of its files became.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::contents::mode;
use super::list::data;
use super::offer::described;
use crate::GROUP;
use crate::completions::SOURCES;
use crate::item::Entry;
use crate::stored;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::Db;
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, State};
use mcpkg_store::sources::{self, ItemRow};

/// Show a source
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the source
    #[arg(add = SOURCES)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_source";
    const CLI: &'static [&'static str] = &["source", "show"];
    const TITLE: &'static str = "Show a source";
    const ABOUT: &'static str = "Show a source: its location, and the items created from the source's files";
    const HELP: &'static str = "STATE compares an item in the project with the version from the source: `as it came` \
        (unchanged), `changed`, `deleted`, or `proposed` (see `mcpkg evolve list`).";
    const EXAMPLES: &'static [&'static str] = &["mcpkg source show skills", "mcpkg source show skills --json"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        context.read(|db, project| {
            let row = sources::get(db, project, &self.name)?;
            let items = sources::items(db, row.id)?;
            let states = items.iter().map(|item| state(db, project, item)).collect::<Result<Vec<_>>>()?;
            let rows = items
                .iter()
                .zip(&states)
                .map(|(item, (entry, state))| vec![item.path.clone(), entry.name.clone(), (*state).to_owned()]);
            let columns = &["PATH", "NAME", "STATE"];
            let table = Table { columns, rows: rows.collect(), empty: "No items came from this source".to_owned() };
            let mut data = data(&row, i64::try_from(items.len()).unwrap_or(i64::MAX));
            let told = items.iter().zip(&states).map(|(item, (entry, state))| item_data(item, entry, state));
            data["items"] = told.collect();
            let plugins = match row.origin.choice.plugins.as_slice() {
                [] => String::new(),
                chosen => format!("; only the plugins {}", chosen.join(", ")),
            };
            let heading = Body::Sentence(format!("{}: {}{plugins}", row.origin.name, described(&row.origin)));
            Ok(Reply::new(Body::Several(vec![heading, Body::Table(table)]), data))
        })
    }
}

fn item_data(item: &ItemRow, entry: &Entry, state: &str) -> Value {
    let mut data = json!({
        "path": item.path,
        "name": entry.name,
        "kind": entry.what.word(),
        "state": state,
        "sha256": hex::encode(&item.sha256),
        "mode": mode(item.executable),
    });
    if let Some(uri) = entry.what.uri() {
        data["uri"] = uri.into();
    }
    data
}

/// Returns the item that a file became, and the state of the item in the project.
fn state(db: &Db<'_>, project: &Project, row: &ItemRow) -> Result<(Entry, &'static str)> {
    let entry = entry(row)?;
    let Some(ours) = stored::get(db, project, &row.item)? else { return Ok((entry, "deleted")) };
    // After a person accepts a proposal, the proposed version is the source's version. The next update records this.
    let proposal = row.proposal.map(|id| proposals::get(db, project.id, id)).transpose()?.flatten();
    let came = match &proposal {
        Some(proposal) if proposal.state == State::Accepted => proposal.blob.unwrap_or(row.blob),
        _ => row.blob,
    };
    let state = match proposal.is_some_and(|proposal| proposal.state == State::Open) {
        true => "proposed",
        false if ours.holds(db, came)? && ours.entry.name == entry.name && ours.entry.what == entry.what => {
            "as it came"
        }
        false => "changed",
    };
    Ok((entry, state))
}

/// Returns the item that a file became when the source was last read.
pub(super) fn entry(row: &ItemRow) -> Result<Entry> {
    serde_json::from_str(&row.entry).map_err(|error| {
        damaged_value(&format!("the record of the source file `{}` is malformed", row.path)).with_source(error)
    })
}
