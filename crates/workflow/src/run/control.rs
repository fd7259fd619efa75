//! `mcpkg workflow pause` and `cancel`: stop a run.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{RUNS, named};
use crate::GROUP;
use crate::answer::VERSION;
use crate::runner::resume;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::runs::State;

/// Pauses a run.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Pause {
    /// Id of the run, or a unique suffix of the id
    #[arg(value_name = "RUN", add = RUNS)]
    run: String,
}

impl Operation for Pause {
    const TOOL: &'static str = "pause_run";
    const CLI: &'static [&'static str] = &["workflow", "pause"];
    const TITLE: &'static str = "Pause a run";
    const ABOUT: &'static str = "Pause a run within a second, to resume it later";
    const HELP: &'static str = "The run can be in any mcpkg process. If a request is in progress and is safe to send again, mcpkg \
        interrupts the request. Otherwise, mcpkg waits for the response and then pauses the run.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow pause 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.run.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let run = named(context, &self.run)?;
        resume::pause(context, &run)?;
        let (id, data) = (run.uuid, json!({ "run": run.uuid.to_string(), "wanted": "pause" }));
        Ok(Reply::sentence(format!("Run {id} will pause"), data)
            .hint(format!("continue the run with `mcpkg workflow resume {id}`")))
    }
}

/// Cancels a run.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Cancel {
    /// Id of the run, or a unique suffix of the id
    #[arg(value_name = "RUN", add = RUNS)]
    run: String,
}

impl Operation for Cancel {
    const TOOL: &'static str = "cancel_run";
    const CLI: &'static [&'static str] = &["workflow", "cancel"];
    const TITLE: &'static str = "Cancel a run";
    const ABOUT: &'static str = "Cancel a run within a second, in any mcpkg process; completed steps are not undone";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow cancel 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.run.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let run = named(context, &self.run)?;
        let state = resume::cancel(context, &run)?;
        let data = json!({ "run": run.uuid.to_string(), "state": state.word() });
        let sentence = match state {
            State::Canceled => format!("Run {} is canceled", run.uuid),
            _ => format!("Run {} will end", run.uuid),
        };
        Ok(Reply::sentence(sentence, data))
    }
}
