//! `mcpkg spec list`: lists the specs of a workspace.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::GROUP;
use crate::root::Workspace;
use crate::spec::status;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Shape, Table, cell};

/// List specs
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "smctl_spec_list";
    const CLI: &'static [&'static str] = &["spec", "list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const TITLE: &'static str = "List specs";
    const ABOUT: &'static str = "List the specs of the workspace and of each of its repositories";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec list", "mcpkg spec list --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("specs");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let (all, warnings) = status::all(context, &workspace);
        Ok(Reply::new(Body::Table(table(&all)), status::object(&all)?).warn(warnings))
    }
}

pub(super) fn table(specs: &[status::Status]) -> Table {
    let rows = specs.iter().map(|spec| {
        vec![
            cell(&spec.qualified).into_owned(),
            spec.phase.word().to_owned(),
            format!("{}/{}", spec.tasks_done, spec.tasks_total),
            spec.open_questions.len().to_string(),
            spec.created.clone().unwrap_or_default(),
        ]
    });
    let columns = &["SPEC", "PHASE", "TASKS", "QUESTIONS", "CREATED"];
    Table {
        columns,
        rows: rows.collect(),
        empty: "There are no specs yet; create one with `mcpkg spec new NAME`".to_owned(),
    }
}
