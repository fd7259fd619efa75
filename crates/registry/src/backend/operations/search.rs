//! `mcpkg tool search` (`enact__search`): searches the registries for tools.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::REGISTRIES;
use crate::GROUP;
use crate::backend::search::{Everything, Participant, State, search};
use crate::backend::{Hit, Query};
use crate::installed::schemas::Found;
use crate::installed::visible;
use crate::trust::{self, Rules, Subject};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape, Table, cell};
use mcpkg_store::Db;
use mcpkg_store::tools::packages;
use mcpkg_store::tools::registries::LOCAL;

/// The largest number of results.
const MOST: u32 = 100;

/// The default number of results for agents.
const USUAL: u32 = 10;

/// Search the Enact registry for tools. Returns matching tools with descriptions.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Search {
    /// Search query (keywords, descriptions, or tags)
    #[arg(required = true, value_name = "WORDS")]
    #[serde(deserialize_with = "one")]
    #[schemars(with = "String")]
    query: Vec<String>,
    /// Maximum results to return
    #[arg(long, value_name = "N", default_value_t = USUAL, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    #[serde(default = "usual", deserialize_with = "number")]
    #[schemars(with = "f64")]
    limit: u32,
    /// Show only tools that have all of these tags
    #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
    #[serde(skip)]
    tags: Vec<String>,
    /// Search only this registry
    #[arg(long, value_name = "NAME", add = REGISTRIES)]
    #[serde(skip)]
    registry: Option<String>,
    /// Contact no other host; use only cached responses
    #[arg(long)]
    #[serde(skip)]
    offline: bool,
    /// Ask each registry again, even if its cached response is less than an hour old
    #[arg(long, conflicts_with = "offline")]
    #[serde(skip)]
    refresh: bool,
}

fn usual() -> u32 {
    USUAL
}

fn one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    String::deserialize(deserializer).map(|text| vec![text])
}

/// Deserializes a number from 1 to 100, rounded to an integer, so that 10.0 is accepted too.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let wrong = || D::Error::custom(format!("it must be a number from 1 to {MOST}"));
    let number = f64::deserialize(deserializer).map_err(|_| wrong())?.round();
    if !(1.0..=f64::from(MOST)).contains(&number) {
        return Err(wrong());
    }
    Ok((1..=MOST).find(|whole| f64::from(*whole) >= number).unwrap_or(MOST))
}

impl Operation for Search {
    const TOOL: &'static str = "enact__search";
    const CLI: &'static [&'static str] = &["tool", "search"];
    const TITLE: &'static str = "Search for tools";
    const ABOUT: &'static str = "Search the Enact registry for tools. Returns matching tools with descriptions.";
    const SEARCH_HINT: &'static str = "csv json pdf convert find tool";
    const USER_WORDS: &'static str = "Find a tool for a task, such as converting CSV";
    const HELP: &'static str = "By default, mcpkg searches all registries. mcpkg caches a response from another host for an hour, or \
        until you publish or yank a version in that registry. If a host cannot be reached, mcpkg uses the cached response. Publishers \
        write the descriptions of tools, and mcpkg does not check them. The exit status is 1 if no tool was found and no registry other \
        than this database responded.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool search pdf extraction", "mcpkg tool search weather --tags forecast --registry local"];
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const LISTS: Option<&'static str> = Some("results");
    const SCHEMA: Option<&'static str> = Some(include_str!("../../installed/schemas/search.json"));
    const STRUCTURED: bool = true;
    type Output = Found;

    fn run(self, context: &Context) -> Result<Reply> {
        let text = self.query.join(" ");
        let tags = self.tags.into_iter().filter(|tag| !tag.is_empty()).collect();
        let query = Query { text, tags, limit: self.limit, offline: self.offline, refresh: self.refresh };
        let mut found = search(context, &query, self.registry.as_deref())?;
        if context.is_shell()
            && let Some(error) = nowhere(&mut found.asked)
        {
            return Err(error);
        }
        let results = context.store.read(|db| {
            let rules = trust::rules(db, context)?;
            let results = found.hits.iter().map(|(registry, hit)| result(db, context, &rules, registry, hit));
            results.collect::<Result<Vec<Value>>>()
        })?;
        let stale = found.asked.iter().any(|asked| matches!(asked.state, State::Stale));
        let data = json!({
            "results": results,
            "total": found.total,
            "registries": found.asked.iter().map(participant_data).collect::<Vec<_>>(),
            "stale": stale,
        });
        let mut reply = Reply::new(table(&found, &results), data).warn(found.asked.iter().filter_map(warning));
        reply.failed = found.hits.is_empty() && is_unasked(&found.asked);
        if context.is_shell() && found.total > results.len() as u64 && self.limit < MOST {
            reply = reply.hint(format!("{} tools match in total; --limit shows more", found.total));
        }
        Ok(reply)
    }
}

/// Returns whether other registries were asked and all of them failed. A response from this database is ignored.
fn is_unasked(asked: &[Participant]) -> bool {
    let is_local = |asked: &&Participant| asked.registry == LOCAL && matches!(asked.state, State::Answered);
    let mut others = asked.iter().filter(|asked| !is_local(asked)).peekable();
    others.peek().is_some() && others.all(|asked| matches!(asked.state, State::Failed(_)))
}

/// Returns the error if all registries failed: the first error, with the others as hints.
fn nowhere(asked: &mut Vec<Participant>) -> Option<Error> {
    if !asked.iter().all(|asked| matches!(asked.state, State::Failed(_))) {
        return None;
    }
    let mut failures = asked.drain(..).filter_map(|asked| match asked.state {
        State::Failed(error) => Some(error),
        State::Answered | State::Stale => None,
    });
    let first = failures.next()?;
    Some(failures.fold(first, |error, other| error.hint(format!("another registry failed too: {}", other.message()))))
}

/// Returns a result as JSON, with the installed version and the trust status in this database.
fn result(db: &Db<'_>, context: &Context, rules: &Rules, registry: &str, hit: &Hit) -> Result<Value> {
    let installed = visible::active(db, &context.audience(), &hit.name)?.map(|install| install.version);
    let status = match packages::get(db, registry, &hit.name, &hit.version)? {
        Some(row) => {
            let subject = Subject { name: hit.name.clone(), version: hit.version.clone(), sha256: row.release.sha256 };
            trust::judge_by(rules, db, context, &subject)?.status.word()
        }
        None => UNSEEN,
    };
    let mut result = json!({
        "name": hit.name,
        "version": hit.version,
        "description": hit.description,
        "tags": hit.tags,
        "registry": registry,
    });
    if let Some(version) = installed {
        result["installed"] = json!(version);
    }
    result["trust"] = json!(status);
    Ok(result)
}

/// The trust status of a version that this database has no record of.
const UNSEEN: &str = "unknown";

fn participant_data(asked: &Participant) -> Value {
    let mut data = json!({ "name": asked.registry, "state": asked.state.word() });
    if let Some(at) = asked.checked_at {
        data["checked_at"] = json!(rfc3339(at));
    }
    if let State::Failed(error) = &asked.state {
        data["error"] = json!({ "code": error.code().name(), "message": error.public_message() });
    }
    data
}

fn warning(asked: &Participant) -> Option<String> {
    match &asked.state {
        State::Answered => None,
        State::Stale => {
            let at = asked.checked_at.map(rfc3339).unwrap_or_default();
            Some(format!("Using the cached response of registry '{}' from {at}", asked.registry))
        }
        State::Failed(error) => Some(error.public_message().to_owned()),
    }
}

fn table(found: &Everything, results: &[Value]) -> Body {
    let rows = found.hits.iter().zip(results).map(|((registry, hit), result)| {
        let installed = result["installed"].as_str().unwrap_or_default();
        let trust = result["trust"].as_str().unwrap_or_default();
        let columns = [&hit.name, &hit.version, registry, installed, trust, &hit.description];
        columns.into_iter().map(|text| cell(text).into_owned()).collect()
    });
    let columns = &["NAME", "VERSION", "REGISTRY", "INSTALLED", "TRUST", "DESCRIPTION"];
    Body::Table(Table { columns, rows: rows.collect(), empty: "No tool matches".to_owned() })
}
