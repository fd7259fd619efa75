//! `mcpkg spec status`: shows how complete a spec is.

use schemars::JsonSchema;
use serde::Deserialize;

use super::list::table;
use crate::GROUP;
use crate::root::Workspace;
use crate::spec::named::{self, OPEN};
use crate::spec::status;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Shape, Table, cell};

/// Show how complete specs are
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// Spec: NAME, or REPO:NAME [default: the current branch's spec, or all specs if the branch has none]
    #[arg(add = OPEN)]
    #[serde(default)]
    name: Option<String>,
}

impl Operation for Status {
    const TOOL: &'static str = "smctl_spec_status";
    const CLI: &'static [&'static str] = &["spec", "status"];
    const TITLE: &'static str = "Spec status";
    const ABOUT: &'static str = "Show spec progress: tasks done/total, open questions, linked branches";
    const HELP: &'static str = "A spec is New until somebody edits it, Draft until it is valid, Active while it \
        has open tasks or questions, and then Done. After `mcpkg spec archive`, the spec is Archived. A branch \
        counts as merged if the develop branch contains all of that branch's commits.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec status login", "mcpkg spec status api:login --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Spec name (omit for all specs)"}}}"#,
    );
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let name = match self.name {
            None if context.is_shell() => named::of_branch(context, &workspace)?,
            name => name,
        };
        let Some(name) = name else {
            let (all, warnings) = status::all(context, &workspace);
            return Ok(Reply::new(Body::Table(table(&all)), status::object(&all)?).warn(warnings));
        };
        let (spec, warnings) = status::one(context, &workspace, &name)?;
        Ok(Reply::new(shown(&spec), spec.value()?).warn(warnings))
    }
}

fn shown(spec: &status::Status) -> Body {
    let tasks = format!("{} of {} done", spec.tasks_done, plural::count(spec.tasks_total, "task"));
    let sentence = format!("{} is {}: {tasks}, in {}", spec.qualified, spec.phase.word(), spec.path);
    let mut several = vec![Body::Sentence(sentence)];
    if !spec.open_questions.is_empty() {
        let questions = spec.open_questions.iter().map(|question| format!("open question: {}\n", cell(question)));
        several.push(Body::Text(questions.collect()));
    }
    if !spec.branches.is_empty() {
        let yes = |is: bool| if is { "yes" } else { "" }.to_owned();
        let rows = spec.branches.iter().map(|it| {
            vec![it.repo_name.clone(), cell(&it.branch).into_owned(), yes(it.local), yes(it.remote), yes(it.merged)]
        });
        let columns = &["REPO", "BRANCH", "LOCAL", "REMOTE", "MERGED"];
        several.push(Body::Table(Table { columns, rows: rows.collect(), empty: String::new() }));
    }
    Body::Several(several)
}
