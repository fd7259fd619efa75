//! `mcpkg spec validate`: checks a spec for errors and unfinished parts.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{invalid, validated};
use crate::GROUP;
use crate::root::Workspace;
use crate::spec::branches::Branches;
use crate::spec::named::{self, OPEN};
use crate::spec::opened::Spec;
use crate::spec::report;
use crate::spec::trees::Trees;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Shape};

/// Check a spec
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validate {
    /// Spec: NAME, or REPO:NAME [default: the current branch's spec]
    #[arg(add = OPEN)]
    #[serde(default)]
    name: Option<String>,
}

impl Operation for Validate {
    const TOOL: &'static str = "smctl_spec_validate";
    const CLI: &'static [&'static str] = &["spec", "validate"];
    const ALIASES: &'static [&'static str] = &["ff"];
    const TITLE: &'static str = "Validate spec";
    const ABOUT: &'static str = "Check spec completeness: required files exist, design has decisions, tasks defined";
    const HELP: &'static str = "These are errors: a missing document, an empty 'Why' or 'What Changes' section, \
        missing tasks, malformed metadata, and a design in which no decision has both a choice and a rationale. \
        These are warnings, which point out unfinished work: open tasks and questions, TODO, FIXME and TBD, \
        leftover template text, a missing spec file and a missing branch. The exit status is 5 if there are \
        errors.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec validate login", "mcpkg spec validate api:login --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> =
        Some(r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#);
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let name = named::name_or_branch(context, &workspace, self.name)?;
        let mut trees = Trees::of(&workspace);
        let found = trees.find(&name)?;
        let spec = Spec::open(&mut trees, found)?;
        let prefix = &workspace.manifest.flow.feature_prefix;
        let branches = Branches::of(context, &workspace);
        let report = report::of(&spec, prefix, Some(&branches.named(&spec.branch(prefix))));
        if !report.errors.is_empty() {
            return Err(invalid(&spec.found, &report, "is not valid", &report.errors));
        }
        let left = match report.warnings.len() {
            0 => String::new(),
            count => format!(", with {}", plural::count(count, "warning")),
        };
        let sentence = Body::Sentence(format!("Spec '{}' is valid{left}", spec.found.qualified()));
        let lines: Vec<String> = report.warnings.iter().map(|warning| format!("{}\n", warning.shown())).collect();
        let body = match lines.is_empty() {
            true => sentence,
            false => Body::Several(vec![sentence, Body::Text(lines.concat())]),
        };
        Ok(Reply::new(body, validated(&spec.found, &report)).warn(branches.warnings))
    }
}
