//! `mcpkg spec tasks`: lists the tasks of a spec.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::root::Workspace;
use crate::spec::named::{self, OPEN};
use crate::spec::opened::Spec;
use crate::spec::trees::Trees;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Shape, Table, cell};

/// List the tasks of a spec
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// Spec: NAME, or REPO:NAME [default: the current branch's spec]
    #[arg(add = OPEN)]
    #[serde(default)]
    name: Option<String>,
    /// List only the tasks that are not done
    #[arg(long)]
    #[serde(skip)]
    open: bool,
}

impl Operation for Tasks {
    const TOOL: &'static str = "smctl_spec_tasks";
    const CLI: &'static [&'static str] = &["spec", "tasks"];
    const ALIASES: &'static [&'static str] = &["apply"];
    const TITLE: &'static str = "List tasks";
    const ABOUT: &'static str = "List the tasks of a spec, both open and done";
    const HELP: &'static str = "A task is a list item with a checkbox in tasks.md. A task is done when its \
        checkbox is checked.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec tasks login", "mcpkg spec tasks api:login --open --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("tasks");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let name = named::name_or_branch(context, &workspace, self.name)?;
        let mut trees = Trees::of(&workspace);
        let found = trees.find(&name)?;
        let spec = Spec::open(&mut trees, found)?;
        let mut tasks = spec.tasks();
        let (total, done) = (tasks.len(), tasks.iter().filter(|task| task.done).count());
        tasks.retain(|task| !(self.open && task.done));
        let rows = tasks.iter().map(|task| {
            let mark = if task.done { "done" } else { "open" };
            let text = format!("{}{}", "  ".repeat(task.depth), cell(&task.text));
            vec![mark.to_owned(), task.line.to_string(), text, cell(&task.section).into_owned()]
        });
        let empty = match total {
            0 => format!(
                "Spec '{}' has no tasks yet: add list items with a checkbox to tasks.md",
                spec.found.qualified()
            ),
            _ => format!("All tasks of spec '{}' are done", spec.found.qualified()),
        };
        let table = Table { columns: &["STATE", "LINE", "TASK", "SECTION"], rows: rows.collect(), empty };
        let data = json!({
            "repo": spec.found.repo,
            "name": spec.found.name,
            "qualified": spec.found.qualified(),
            "tasks_total": total,
            "tasks_done": done,
            "tasks": tasks,
        });
        Ok(Reply::new(Body::Table(table), data))
    }
}
