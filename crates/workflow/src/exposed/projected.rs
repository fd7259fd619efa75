//! Lists, finds and calls exposed workflows as MCP tools.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::offered::{PREFIX, is_offered, schema, tool_name};
use crate::check::shaped;
use crate::run::{EXECUTE, called};
use crate::saved::model;
use crate::{GROUP, SHAPE};
use mcpkg_base::cache::Cache;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Audience, Effect, Hints, Projected, Projections, Validator};
use mcpkg_store::Db;
use mcpkg_store::workflows::exposed::{self, Exposed};

pub const PROJECTIONS: Projections = Projections { list, find, validator };

/// The tool for a workflow text; `None` if the workflow cannot become a tool.
type MaybeOffer = Option<Offer>;

/// The properties of a tool that clients see.
struct Offer {
    title: Option<String>,
    description: String,
    schema: Arc<Map<String, Value>>,
}

/// The most recently read texts, by SHA-256. They are worth caching, because tools are listed far more often than workflows
/// change.
static SHOWN: Cache<[u8; 32], Arc<MaybeOffer>> = Cache::new(64);

fn list(db: &Db<'_>, audience: &Audience<'_>, after: &str, limit: usize) -> Result<Vec<Projected>> {
    // A tool's name is the workflow's name with a prefix, so tools and workflows are in the same order.
    let mut after = match after.strip_prefix(PREFIX) {
        Some(name) => name.to_owned(),
        None if after < PREFIX => String::new(),
        None => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    while found.len() < limit {
        let page = exposed::list(db, audience.selection, &after, limit)?;
        let is_last = page.len() < limit;
        for row in page {
            after.clone_from(&row.name);
            // A broken workflow must not hide the others.
            match projected(db, row) {
                Ok(tool) => found.extend(tool),
                Err(error) => tracing::warn!(workflow = after, %error, "an exposed workflow is not listed"),
            }
        }
        if is_last {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

fn find(db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Projected>> {
    let Some(name) = name.strip_prefix(PREFIX) else { return Ok(None) };
    match exposed::find(db, audience.selection, name)? {
        Some(row) => projected(db, row),
        None => Ok(None),
    }
}

fn validator(db: &Db<'_>, audience: &Audience<'_>) -> Result<Validator> {
    let rows = exposed::list(db, audience.selection, "", usize::MAX)?;
    let told = |row: &Exposed| {
        (row.name.clone(), mcpkg_base::hex::encode(&row.sha256), row.exposure.effect.clone(), row.exposure.open_world)
    };
    Validator::of(&rows.iter().map(told).collect::<Vec<_>>())
}

fn projected(db: &Db<'_>, row: Exposed) -> Result<Option<Projected>> {
    let shown = SHOWN.get_or(row.sha256, || {
        let (definition, _) = shaped(&model::stored(db, row.blob)?)?;
        Ok::<_, Error>(Arc::new(definition.filter(is_offered).map(|definition| Offer {
            schema: schema(&definition),
            description: description(definition.description.as_deref(), &row.name),
            title: definition.title,
        })))
    })?;
    let Some(offer) = &*shown else { return Ok(None) };
    let name = row.name.clone();
    let (effect, hints) = effect(&row);
    Ok(Some(Projected {
        name: tool_name(&row.name),
        command: row.name,
        title: offer.title.clone(),
        description: offer.description.clone(),
        input_schema: Arc::clone(&offer.schema),
        output_schema: None,
        effect,
        hints,
        open_world: hints.open_world.unwrap_or(true),
        long: true,
        runs_commands: true,
        consent: Some(EXECUTE),
        meta: None,
        group: GROUP,
        shape: SHAPE,
        run: Arc::new(move |context, arguments| called::start(context, &name, arguments)),
    }))
}

/// Returns the effect of a workflow's tool: the effect that a person approved or, if the text has changed since, the most
/// dangerous one.
fn effect(row: &Exposed) -> (Effect, Hints) {
    let exposure = &row.exposure;
    let is_same = exposure.model_hash == row.model_hash;
    let word = if is_same { exposure.effect.as_str() } else { "destroy" };
    let hints = Hints {
        read_only: Some(word == "read"),
        destructive: Some(word == "destroy"),
        idempotent: Some(word == "read"),
        open_world: Some(exposure.open_world || !is_same),
    };
    // Every run is recorded, so even a workflow that only reads counts as a write.
    (if word == "destroy" { Effect::Destroy } else { Effect::Write }, hints)
}

fn description(said: Option<&str>, name: &str) -> String {
    let what = said.map(|said| said.trim_end_matches('.').to_owned()).filter(|said| !said.is_empty());
    let what = what.unwrap_or_else(|| format!("Run the workflow {name}"));
    format!(
        "{what}. Runs a workflow: on E_CONSENT_REQUIRED, show the user the effects and command, then call again with the nonce"
    )
}
