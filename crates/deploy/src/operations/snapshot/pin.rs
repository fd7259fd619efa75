//! `mcpkg snapshot pin`: protects a snapshot from pruning.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::completions::SNAPSHOTS;
use crate::rollback::goal;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::snapshots::{self, State};

/// Pin a stored deploy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Pin {
    /// Id of the snapshot, or a unique prefix of the id
    #[arg(value_name = "ID")]
    #[arg(add = SNAPSHOTS)]
    id: String,
    /// Remove the protection from the snapshot
    #[arg(long)]
    #[serde(default)]
    off: bool,
}

impl Operation for Pin {
    const TOOL: &'static str = "pin_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "pin"];
    const TITLE: &'static str = "Pin a stored deploy";
    const ABOUT: &'static str = "Protect a stored deploy from pruning";
    const EXAMPLES: &'static [&'static str] = &["mcpkg snapshot pin 0199c0de"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = goal::find(context, &self.id)?;
        if snapshot.state != State::Applied.word() {
            let why = format!("Cannot pin snapshot '{}': it is {}", self.id, snapshot.state);
            return Err(Error::new(Code::SnapshotUnusable, why));
        }
        let id = snapshot.uuid.to_string();
        context.store.write(|db| {
            snapshots::pin(db, snapshot.id, !self.off)?;
            context.event(db, context.author(), None, "snapshot.pin", &id)
        })?;
        let verb = if self.off { "Unpinned" } else { "Pinned" };
        Ok(Reply::sentence(format!("{verb} snapshot {id}"), json!({ "id": id, "pinned": !self.off })))
    }
}
