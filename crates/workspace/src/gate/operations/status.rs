//! `mcpkg gate status` (tool `smctl_gate_status`): shows whether the gate works.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::gate::{engine, open};
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Show the status of the model gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowStatus {
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(skip)]
    url: Option<String>,
}

impl Operation for ShowStatus {
    const TOOL: &'static str = "smctl_gate_status";
    const CLI: &'static [&'static str] = &["gate", "status"];
    const TITLE: &'static str = "Gate status";
    const ABOUT: &'static str = "Show ModelGate instance health and status";
    const HELP: &'static str = "ModelGate is a server that stores and tests ONNX models. If you give an address, \
        mcpkg connects over HTTP to the gate at that address. Without an address, mcpkg uses the embedded gate, \
        which stores its models in the database. The status of the embedded gate is `degraded` if mcpkg was built \
        without the engine that runs models.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg gate status", "mcpkg gate status --url http://127.0.0.1:8080 --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(r#"{"type":"object","properties":{}}"#);
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let status = open(context, &workspace, self.url.as_deref())?.status()?;
        let models = plural::count(usize::try_from(status.model_count).unwrap_or(usize::MAX), "model");
        let place = match (&status.url, &status.engine) {
            (Some(url), _) => format!("at {url}, version {}", mcpkg_core::op::cell(&status.version)),
            (None, Some(engine)) => format!("embedded, with the engine {engine}"),
            (None, None) => "embedded, without an engine to run models".to_owned(),
        };
        let sentence = format!("The gate is {}, with {models} ({place})", mcpkg_core::op::cell(&status.status));
        let reply = Reply::sentence(sentence, json!(status));
        Ok(match status.mode == "embedded" && status.engine.is_none() {
            true => reply.hint(format!("to build an mcpkg that runs models: {}", engine::BUILD)),
            false => reply,
        })
    }
}
