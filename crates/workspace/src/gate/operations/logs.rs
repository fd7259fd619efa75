//! `mcpkg gate logs`: shows the newest log lines of the gate.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::gate::interface::Line;
use crate::gate::open;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table, cell};

/// Show the log of the gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Logs {
    /// Maximum number of lines to show; older lines are left out
    #[arg(short = 'n', long, default_value_t = default_lines())]
    #[serde(default = "default_lines")]
    lines: u16,
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    url: Option<String>,
}

fn default_lines() -> u16 {
    50
}

impl Operation for Logs {
    const TOOL: &'static str = "show_gate_logs";
    const CLI: &'static [&'static str] = &["gate", "logs"];
    const TITLE: &'static str = "Gate logs";
    const ABOUT: &'static str = "Show the newest log lines of the gate";
    const HELP: &'static str = "For a remote gate, mcpkg reads the gate's log for up to 5 seconds. The embedded \
        gate has no log of its own. For the embedded gate, mcpkg shows the database's events about the models and \
        routes of all workspaces.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg gate logs", "mcpkg gate logs -n 200"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("logs");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let logs = open(context, &workspace, self.url.as_deref())?.logs(usize::from(self.lines))?;
        let row = |line: &Line| vec![line.at.clone().unwrap_or_default(), cell(&line.line).into_owned()];
        let table = Table {
            columns: &["AT", "LINE"],
            rows: logs.iter().map(row).collect(),
            empty: "The log is empty".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), json!({ "logs": logs })))
    }
}
