//! `mcpkg gate models remove`: removes a model and its routes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{route_table, table};
use crate::gate::interface::no_model;
use crate::gate::{MODELS, open};
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Remove a model from the gate
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Name of the model
    #[arg(add = MODELS)]
    name: String,
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    url: Option<String>,
    /// Show what would be removed, without removing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_gate_model";
    const CLI: &'static [&'static str] = &["gate", "models", "remove"];
    const TITLE: &'static str = "Remove model";
    const ABOUT: &'static str = "Remove a model and its routes from the gate";
    const HELP: &'static str = "You cannot undo the removal of a model.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg gate models remove resnet50", "mcpkg gate models remove resnet50 --dry-run"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let gate = open(context, &workspace, self.url.as_deref())?;
        let (mut models, mut routes) = (gate.models()?, gate.routes()?);
        let Some(at) = models.iter().position(|model| model.name == self.name) else {
            return Err(no_model(&self.name, &models));
        };
        let model = models.swap_remove(at);
        routes.retain(|route| route.model == self.name);
        let data = json!({ "removed": model.name, "routes": routes, "dry_run": self.dry_run });
        let shown = || {
            let routes = (!routes.is_empty()).then(|| Body::Table(route_table(&routes)));
            Body::Several(
                [Some(Body::Table(table(std::slice::from_ref(&model)))), routes].into_iter().flatten().collect(),
            )
        };
        if self.dry_run {
            return Ok(Reply::new(shown(), data).hint("nothing was removed"));
        }
        (context.ask)(shown(), &format!("Remove model '{}' for good?", self.name))?;
        gate.remove(&self.name)?;
        let also = match routes.len() {
            0 => String::new(),
            count => format!(" and {} to it", plural::count(count, "route")),
        };
        let reply = Reply::sentence(format!("Removed model '{}'{also}", self.name), data);
        // The database file does not shrink until it is compacted.
        Ok(if gate.is_embedded() { reply.hint("to free the model's disk space: `mcpkg compact`") } else { reply })
    }
}
