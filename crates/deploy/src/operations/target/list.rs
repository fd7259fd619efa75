//! `mcpkg target list`: lists the agents that mcpkg can deploy to.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::source::chosen;
use crate::targets::Target;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::projects;
use mcpkg_store::targets::{self, Of};

/// List the targets
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_targets";
    const CLI: &'static [&'static str] = &["target", "list"];
    const TITLE: &'static str = "List the targets";
    const ABOUT: &'static str = "List the agents that you can deploy to, and show which of them target `all` includes";
    const HELP: &'static str =
        "With --target, you can name any of the listed agents, even an agent that is not enabled.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg target list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("targets");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (on, whose) = context.store.read(|db| {
            let project = projects::resolve(db, &context.selection)?;
            let own =
                project.as_ref().map(|project| targets::chosen(db, Of::Project(project.uuid))).transpose()?.flatten();
            let of_all = targets::chosen(db, Of::All)?;
            let whose = match (&own, &of_all) {
                (Some(_), _) => "project",
                (None, Some(_)) => "all projects",
                (None, None) => "default",
            };
            let on = match &project {
                Some(project) => chosen::of(db, project)?,
                None => chosen::of_all(db)?,
            };
            Ok((on, whose))
        })?;
        let row = |target: &Target| {
            let state = if on.contains(target) { "on" } else { "off" };
            vec![target.name().to_owned(), target.facts().title.to_owned(), state.to_owned(), whose.to_owned()]
        };
        let data = |target: &Target| json!({ "target": target.name(), "title": target.facts().title, "enabled": on.contains(target) });
        let table = Table {
            columns: &["TARGET", "AGENT", "STATE", "SET BY"],
            rows: Target::all().iter().map(row).collect(),
            empty: "There are no targets".to_owned(),
        };
        let targets: Vec<_> = Target::all().iter().map(data).collect();
        Ok(Reply::new(Body::Table(table), json!({ "targets": targets, "set_by": whose })))
    }
}
