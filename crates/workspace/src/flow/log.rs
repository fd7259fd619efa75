//! `mcpkg flow log`: lists past flow runs.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::named;
use crate::journal;
use crate::root::Workspace;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_core::op::{self, Body, Context, Effect, Faces, Operation, PAGE, Reply, Shape, Table};
use mcpkg_store::flow_runs;
use mcpkg_store::page::Page;

/// Show past flow runs of the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Maximum number of runs to show
    #[arg(long, default_value_t = 20)]
    #[serde(default = "usual")]
    limit: u32,
    /// Cursor from the previous page, to show the next page
    #[arg(long)]
    #[serde(default)]
    cursor: Option<String>,
}

fn usual() -> u32 {
    20
}

impl Operation for Log {
    const TOOL: &'static str = "smctl_flow_log";
    const CLI: &'static [&'static str] = &["flow", "log"];
    const TITLE: &'static str = "Flow log";
    const ABOUT: &'static str = "List the runs of flow commands, newest first";
    const HELP: &'static str = "The state of a run is `applying` while the run is in progress, `landed` when only \
        clean-up is left, and `done` when the run is finished. A run that failed or was undone is `undone`. If \
        something else has changed a part of the run's result since then, mcpkg cannot undo that part, and the state \
        is `kept`. Instead of the full id of a run, you can give any unique prefix of the id. With `--json`, the log \
        shows full ids.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg flow log", "mcpkg flow log --limit 5 --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = super::super::SHAPE;
    const GROUP: &'static str = super::super::GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("runs");
    type Output = mcpkg_core::op::NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let page = Page { after: self.cursor.unwrap_or_default(), limit: op::limit(Some(self.limit), PAGE, PAGE)? };
        let slice = context.store.read(|db| match journal::known(db, &workspace.root)? {
            Some(key) => flow_runs::list(db, key, &page).map(Some),
            None => Ok(None),
        })?;
        let (runs, more) = slice.map_or_else(Default::default, |slice| (slice.rows, slice.more));
        let values: Vec<Value> = runs
            .iter()
            .map(|run| {
                json!({
                    "run": run.uuid.to_string(),
                    "operation": run.operation,
                    "subject": run.subject,
                    "state": run.state.word(),
                    "actor": run.actor,
                    "started_at": rfc3339(run.started_at),
                    "ended_at": run.ended_at.map(rfc3339),
                })
            })
            .collect();
        let mut data = json!({ "runs": values });
        if let (true, Some(last)) = (more, runs.last()) {
            data["next_cursor"] = last.uuid.to_string().into();
        }
        let rows = runs
            .iter()
            .map(|run| {
                vec![
                    named::shown(run.uuid),
                    format!("{} {}", run.operation, run.subject),
                    run.state.word().to_owned(),
                    rfc3339(run.started_at),
                ]
            })
            .collect();
        let columns = &["RUN", "WHAT", "STATE", "BEGAN"];
        let table = Table { columns, rows, empty: "no flow has run in this workspace yet".to_owned() };
        Ok(Reply::new(Body::Table(table), data))
    }
}
