//! `mcpkg builds list`: lists the builds of a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{record, report};
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::builds::{self, Run};
use mcpkg_store::page::Page;

/// List builds of the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Maximum number of builds to list
    #[arg(short = 'n', long, default_value_t = default_limit())]
    #[serde(default = "default_limit")]
    limit: u32,
}

fn default_limit() -> u32 {
    50
}

impl Operation for List {
    const TOOL: &'static str = "list_builds";
    const CLI: &'static [&'static str] = &["builds", "list"];
    const TITLE: &'static str = "List builds";
    const ABOUT: &'static str = "List the builds of the workspace, newest first";
    const HELP: &'static str = "mcpkg keeps the last 50 builds. Use `mcpkg limit set builds --number N` to change \
        this limit.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg builds list", "mcpkg builds list -n 5"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("builds");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let page = Page::first(self.limit as usize);
        let found = match record::key(context, &workspace)? {
            Some(key) => context.store.read(|db| builds::list(db, key, &page))?.rows,
            None => Vec::new(),
        };
        let table = Table {
            columns: &["ID", "AT", "BY", "WHAT", "RESULT", "TOOK"],
            rows: found.iter().map(row).collect(),
            empty: "Nothing has been built in this workspace yet".to_owned(),
        };
        let listed: Vec<Value> = found.iter().map(data).collect();
        Ok(Reply::new(Body::Table(table), json!({ "builds": listed })))
    }
}

fn row(run: &Run) -> Vec<String> {
    vec![
        run.uuid.to_string(),
        rfc3339(run.started_at),
        run.actor.clone(),
        arguments(run),
        result(run).to_owned(),
        record::took(run).map_or_else(String::new, report::shown),
    ]
}

/// Returns a build as JSON.
pub fn data(run: &Run) -> Value {
    json!({
        "id": run.uuid.to_string(),
        "started_at": rfc3339(run.started_at),
        "ended_at": run.ended_at.map(rfc3339),
        "by": run.actor,
        "result": result(run),
        "all_passed": run.all_passed,
        "total_duration_ms": record::took(run),
        "options": options(run),
    })
}

/// Returns how a build ended: `unfinished` if no end is stored, for example because it is still running.
pub fn result(run: &Run) -> &'static str {
    match run.all_passed {
        Some(true) => "passed",
        Some(false) => "failed",
        None => "unfinished",
    }
}

/// Returns the arguments of the build as you would type them, such as `api --test`; `all` if there are none.
pub fn arguments(run: &Run) -> String {
    let options = options(run);
    let mut words: Vec<String> = options["repo"].as_str().map(str::to_owned).into_iter().collect();
    let flags = ["parallel", "test", "clean", "keep_going"].into_iter().filter(|flag| options[*flag] == true);
    words.extend(flags.map(|flag| format!("--{}", flag.replace('_', "-"))));
    if words.is_empty() { "all".to_owned() } else { words.join(" ") }
}

fn options(run: &Run) -> Value {
    serde_json::from_str(&run.options).unwrap_or_default()
}
