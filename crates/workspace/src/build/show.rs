//! `mcpkg builds show`: shows the commands of a build and their output.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::list::{arguments, data, result};
use super::{record, report};
use crate::completions::REPOS;
use crate::root::Workspace;
use crate::{GROUP, SHAPE};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Name, Names, NoOutput, Operation, Reply, Shape};
use mcpkg_store::builds::{self, Row, Run};
use mcpkg_store::page::Page;

/// Shell completion for the ids of the newest builds.
const BUILDS: Names = Names::Stored(|typed| {
    let newest = builds::newest(typed.db, typed.limit.max(100))?;
    let named = newest.into_iter().map(|run| Name { name: run.uuid.to_string(), about: Some(rfc3339(run.started_at)) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});

/// Show a build of the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Id of the build, or a unique suffix of the id [default: the last build]
    #[arg(add = BUILDS)]
    id: Option<String>,
    /// Show only the commands of this repository
    #[arg(long, value_name = "NAME", add = REPOS)]
    repo: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "show_build";
    const CLI: &'static [&'static str] = &["builds", "show"];
    const TITLE: &'static str = "Show build";
    const ABOUT: &'static str = "Show a build's commands, and the output of the failed commands";
    const HELP: &'static str = "With --repo, mcpkg shows the output of every command of that repository. If the \
        output of a command is long, mcpkg stores only the first 16 KiB and the last 48 KiB.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg builds show", "mcpkg builds show 3f2a1b4c5d6e", "mcpkg builds show --repo api"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let known = match record::key(context, &workspace)? {
            Some(key) => context.store.read(|db| builds::list(db, key, &Page::all()))?.rows,
            None => Vec::new(),
        };
        let run = named(&known, self.id.as_deref())?;
        let mut rows = context.store.read(|db| builds::rows(db, run.uuid))?;
        if let Some(repo) = &self.repo {
            let of_run: Vec<String> = rows.iter().map(|row| row.repo.clone()).collect();
            rows.retain(|row| row.repo == *repo);
            if rows.is_empty() {
                let missing = format!("The build {} ran no commands for '{}'", run.uuid, repo.escape_debug());
                let known = of_run.iter().map(String::as_str);
                return Err(Error::new(Code::InvalidArgument, missing).suggest(repo, known, ""));
            }
        }
        let mut bodies = vec![Body::Text(heading(run)), Body::Table(report::table(&rows))];
        let is_shown = |row: &&Row| !row.output.is_empty() && (self.repo.is_some() || !row.success);
        bodies.extend(rows.iter().filter(is_shown).map(|row| Body::Text(output(row))));
        let mut shown = data(run);
        if let Some(shown) = shown.as_object_mut() {
            let results: Vec<Value> = rows.iter().map(report::result).collect();
            shown.insert("results".to_owned(), json!(results));
        }
        Ok(Reply::new(Body::Several(bodies), shown))
    }
}

/// Finds the build whose id is `id`, or the only build whose id ends with `id` (at least four characters). Without an `id`,
/// returns the newest build.
fn named<'r>(runs: &'r [Run], id: Option<&str>) -> Result<&'r Run> {
    let Some(id) = id else {
        return runs.first().ok_or_else(|| {
            Error::new(Code::NotFound, "Nothing has been built in this workspace yet")
                .hint("`mcpkg build` builds the workspace")
        });
    };
    let id = id.trim().to_ascii_lowercase();
    let is_named = |run: &&Run| match Uuid::parse_str(&id) {
        Ok(uuid) => run.uuid == uuid,
        Err(_) => id.len() >= 4 && run.uuid.to_string().ends_with(&id),
    };
    let mut found = runs.iter().filter(is_named);
    match (found.next(), found.next()) {
        (Some(run), None) => Ok(run),
        _ => {
            Err(Error::new(Code::NotFound, format!("This workspace has no build with the id '{}'", id.escape_debug()))
                .with_details(json!({ "run": id }))
                .hint("`mcpkg builds list` lists the builds"))
        }
    }
}

fn heading(run: &Run) -> String {
    let took = record::took(run).map_or_else(String::new, |took| format!(" in {}", report::shown(took)));
    format!(
        "{} ({}) at {} by {}: {}{took}\n",
        run.uuid,
        arguments(run),
        rfc3339(run.started_at),
        run.actor,
        result(run)
    )
}

fn output(row: &Row) -> String {
    let end = if row.output.ends_with('\n') { "" } else { "\n" };
    format!("\n--- {}: {}\n{}{end}", row.repo, row.step, row.output)
}
