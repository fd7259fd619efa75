//! `mcpkg tool doctor`: checks everything about tools and reports each finding.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Depth;
use super::areas::{self, AREAS};
use crate::GROUP;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, Finding, Health, NoOutput, Operation, Reply, Table};

/// Check that tools can be found and run
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Doctor {
    /// Exit with status 3 if something needs fixing
    #[arg(long)]
    #[serde(default)]
    check: bool,
}

impl Operation for Doctor {
    const TOOL: &'static str = "tool_doctor";
    const CLI: &'static [&'static str] = &["tool", "doctor"];
    const TITLE: &'static str = "Check that tools can be found and run";
    const ABOUT: &'static str =
        "Check everything that tools need: runners, registries, trust, stored archives, installs and the cache";
    const HELP: &'static str = "This command contacts each registry on another host and waits only a few seconds for each response. The \
        command also compares every stored archive with its digest. `mcpkg doctor` prints a summary of the checks without contacting \
        another host.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool doctor", "mcpkg tool doctor --check"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("checks");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let findings: Vec<Finding> =
            AREAS.iter().flat_map(|area| areas::findings(area, context, Depth::Whole)).collect();
        let data = json!({ "checks": findings.iter().map(Finding::data).collect::<Vec<Value>>() });
        let table = Table {
            columns: &["AREA", "WHAT", "STATE", "WHAT TO DO"],
            rows: findings.iter().map(Finding::row).collect(),
            empty: String::new(),
        };
        let mut reply = Reply::new(Body::Table(table), data);
        reply.differs = self.check && findings.iter().any(|finding| finding.health == Health::Problem);
        Ok(reply)
    }
}
