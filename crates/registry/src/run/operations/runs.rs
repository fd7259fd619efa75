//! `mcpkg tool runs`: shows past and active runs, their callers and their results.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::GROUP;
use crate::run::record;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::{self, Body, Context, Effect, Faces, Name, Names, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::page::Page;
use mcpkg_store::tools::runs::{self, Run};

/// The newest runs, for shell completion.
const RUNS: Names = Names::Stored(|typed| {
    let page = Page::first(typed.limit.max(100));
    let named = runs::list(typed.db, None, &page)?
        .rows
        .into_iter()
        .map(|run| Name { name: run.begun.uuid.to_string(), about: Some(run.begun.tool) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});

/// Show tool runs
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Runs {
    /// Id of a run, or a suffix that is unique among the ids of the newest 1000 runs
    #[arg(add = RUNS)]
    id: Option<String>,
    /// Show only runs of this tool
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    tool: Option<String>,
    /// Number of runs to show, newest first
    #[arg(short = 'n', long, default_value_t = default_limit())]
    #[serde(default = "default_limit")]
    limit: u32,
}

fn default_limit() -> u32 {
    50
}

impl Operation for Runs {
    const TOOL: &'static str = "list_tool_runs";
    const CLI: &'static [&'static str] = &["tool", "runs"];
    const TITLE: &'static str = "Show tool runs";
    const ABOUT: &'static str = "Show tool runs, including refused ones: who ran what, when, and with what result";
    const HELP: &'static str = "For each run, mcpkg stores a hash of the arguments and the size of the output, but neither the arguments \
        nor the output. The outcome of a run is `interrupted` if the mcpkg process that started the run was killed.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool runs", "mcpkg tool runs 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("runs");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        if let Some(id) = &self.id {
            let run = named(context, id)?;
            let data = data(context, &run);
            let lines: Vec<String> = data.as_object().into_iter().flatten().map(line).collect();
            return Ok(Reply::new(Body::Text(lines.concat()), json!({ "runs": [data] })));
        }
        let page = Page::first(op::limit(Some(self.limit), 0, usize::MAX)?);
        let found = context.store.read(|db| runs::list(db, self.tool.as_deref(), &page))?.rows;
        let row = |run: &Run| {
            let Run { begun, ended } = run;
            let version = begun.version.as_ref().map_or(String::new(), |version| format!("@{version}"));
            vec![
                begun.uuid.to_string(),
                rfc3339(begun.started_at),
                begun.actor.clone(),
                format!("{}{version}:{}", begun.tool, begun.action),
                record::outcome(context, run).map_or_else(|| "running".to_owned(), Cow::into_owned),
                ended.as_ref().map_or(String::new(), |ended| format!("{} ms", ended.ended_at - begun.started_at)),
            ]
        };
        let table = Table {
            columns: &["ID", "AT", "BY", "TOOL", "OUTCOME", "TOOK"],
            rows: found.iter().map(row).collect(),
            empty: "No tool has been run yet".to_owned(),
        };
        let listed: Vec<Value> = found.iter().map(|run| data(context, run)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "runs": listed })))
    }
}

fn named(context: &Context, id: &str) -> Result<Run> {
    let id = id.trim().to_ascii_lowercase();
    let missing = || {
        Error::new(Code::NotFound, format!("No run has the id '{}'", id.escape_debug()))
            .hint("`mcpkg tool runs` lists the newest runs")
    };
    context.store.read(|db| {
        if let Ok(uuid) = Uuid::parse_str(&id) {
            return runs::get(db, uuid)?.ok_or_else(missing);
        }
        let newest = runs::list(db, None, &Page::first(1000))?.rows;
        let mut found = newest.into_iter().filter(|run| id.len() >= 4 && run.begun.uuid.to_string().ends_with(&id));
        match (found.next(), found.next()) {
            (Some(run), None) => Ok(run),
            _ => Err(missing()),
        }
    })
}

fn line((key, value): (&String, &Value)) -> String {
    let value = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!("{key}: {value}\n")
}

fn data(context: &Context, run: &Run) -> Value {
    let Run { begun, ended } = run;
    json!({
        "id": begun.uuid.to_string(),
        "tool": begun.tool,
        "version": begun.version,
        "action": begun.action,
        "sha256": begun.sha256.as_ref().map(|sha256| hex::encode(sha256)),
        "input_sha256": hex::encode(&begun.input_hash),
        "verdict": begun.verdict,
        "by": begun.actor,
        "asker": begun.asker,
        "runner": ended.as_ref().and_then(|ended| ended.runner.as_ref()),
        "outcome": record::outcome(context, run),
        "exit_code": ended.as_ref().and_then(|ended| ended.exit_code),
        "stdout_bytes": ended.as_ref().map(|ended| ended.stdout_size),
        "stderr_bytes": ended.as_ref().map(|ended| ended.stderr_size),
        "started_at": rfc3339(begun.started_at),
        "ended_at": ended.as_ref().map(|ended| rfc3339(ended.ended_at)),
        "duration_ms": ended.as_ref().map(|ended| ended.ended_at - begun.started_at),
    })
}
