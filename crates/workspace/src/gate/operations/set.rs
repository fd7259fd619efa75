//! `mcpkg gate routes set`: points an endpoint to a model.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::gate::interface::{Route, no_model};
use crate::gate::{MODELS, open};
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

const LONGEST: usize = 255;

/// Point an endpoint to a model
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Name of the model
    #[arg(add = MODELS)]
    model: String,
    /// Endpoint, such as /v1/classify
    endpoint: String,
    /// Save the route, but leave it inactive
    #[arg(long)]
    #[serde(default)]
    inactive: bool,
    /// Address of the gate [default: MODELGATE_URL, then `[gate].url` in the manifest, then the embedded gate]
    #[arg(long, value_name = "URL")]
    #[serde(default)]
    url: Option<String>,
    /// Show which route would be set, without setting it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Set {
    const TOOL: &'static str = "set_gate_route";
    const CLI: &'static [&'static str] = &["gate", "routes", "set"];
    const TITLE: &'static str = "Set route";
    const ABOUT: &'static str = "Route an endpoint of the gate to a model";
    const HELP: &'static str = "In `mcpkg gate test`, you can give the endpoint of an active route instead of the \
        name of a model. If the endpoint already has a route, mcpkg changes that route to the given model.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg gate routes set resnet50 /v1/classify", "mcpkg gate routes set resnet50 /v1/classify --inactive"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.endpoint.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        if !is_endpoint(&self.endpoint) {
            let message = format!("`{}` is not an endpoint", self.endpoint.escape_debug());
            return Err(Error::new(Code::InvalidArgument, message).hint(
                "an endpoint is a path such as /v1/classify, with letters, digits, `.`, `_`, `-`, `~` and `/` only",
            ));
        }
        let gate = open(context, &workspace, self.url.as_deref())?;
        let route = Route { model: self.model, endpoint: self.endpoint, active: !self.inactive, request_count: None };
        let before = gate.routes()?.into_iter().find(|known| known.endpoint == route.endpoint);
        if self.dry_run {
            let models = gate.models()?;
            if !models.iter().any(|model| model.name == route.model) {
                return Err(no_model(&route.model, &models));
            }
            let data = json!({ "dry_run": true, "route": route, "before": before });
            return Ok(Reply::sentence(format!("Would set: {}", route_text(&route)), data));
        }
        let set = gate.set_route(&route)?;
        Ok(Reply::sentence(format!("Set: {}", route_text(&set)), json!({ "route": set, "before": before })))
    }
}

fn route_text(route: &Route) -> String {
    let inactive = if route.active { "" } else { ", inactive" };
    format!(
        "{} routes to model '{}'{inactive}",
        mcpkg_core::op::cell(&route.endpoint),
        mcpkg_core::op::cell(&route.model)
    )
}

/// Returns whether the text is a valid endpoint, such as `/v1/detect`.
fn is_endpoint(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'~');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_plain);
    text.len() <= LONGEST && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_plain_paths() {
        assert!(["/a", "/v1/classify", "/a/b-c_d.e~f"].into_iter().all(is_endpoint));
        let long = format!("/{}", "a".repeat(LONGEST));
        assert!(!["", "/", "a", "/a/", "//a", "/a/..", "/a b", "/a?x", "/é", &long].into_iter().any(is_endpoint));
    }
}
