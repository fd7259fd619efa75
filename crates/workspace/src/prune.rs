//! `mcpkg workspace prune`: deletes old kept branches and worktrees.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::keep::KeptRef;
use super::list_kept;
use super::lock::Lock;
use super::manifest::Repo;
use super::root::Workspace;
use mcpkg_base::clock::span;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::Git;
use mcpkg_base::git::transaction::Transaction;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// The default minimum age of branches and worktrees to delete.
const USUAL: &str = "30d";

/// Delete old kept branches and worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// Minimum age of branches and worktrees to delete, such as 30d or 12h
    #[arg(long, value_name = "SPAN", default_value = USUAL)]
    #[serde(default = "usual")]
    older_than: String,
    /// Show what would be deleted, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

fn usual() -> String {
    USUAL.to_owned()
}

impl Operation for Prune {
    const TOOL: &'static str = "prune_workspace";
    const CLI: &'static [&'static str] = &["workspace", "prune"];
    const TITLE: &'static str = "Prune kept branches and worktrees";
    const ABOUT: &'static str = "Permanently delete old branches and removed worktrees that mcpkg keeps";
    const HELP: &'static str = "After pruning, neither `mcpkg flow undo` nor `mcpkg worktree restore` can bring \
        the deleted branches and worktrees back. To see what mcpkg keeps, run `mcpkg workspace kept` first.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workspace prune --dry-run", "mcpkg workspace prune --older-than 90d --yes"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let age = span::parse(&self.older_than).map_err(|why| {
            Error::new(Code::InvalidArgument, format!("`{}` {why}", self.older_than.escape_debug())).hint(span::HINT)
        })?;
        let workspace = Workspace::open(context)?;
        let before = context.clock.now().saturating_sub(age);
        let old = |workspace| -> Result<Vec<(&Repo, KeptRef)>> {
            Ok(list_kept::all(context, workspace)?.into_iter().filter(|(_, kept)| kept.at() <= before).collect())
        };
        let found = old(&workspace)?;
        if found.is_empty() {
            return Ok(Reply::sentence("Nothing to prune", self.data(&found)));
        }
        let counted = plural::count(found.len(), "kept ref");
        if self.dry_run {
            return Ok(Reply::new(Body::Table(table(&found)), self.data(&found)));
        }
        (context.ask)(Body::Table(table(&found)), &format!("Delete {counted} for good?"))?;
        let lock = Lock::take(context, &workspace.root, "workspace prune")?;
        for repo in &workspace.manifest.repos {
            let of_repo: Vec<&KeptRef> =
                found.iter().filter(|(of, _)| of.name == repo.name).map(|(_, kept)| kept).collect();
            if of_repo.is_empty() {
                continue;
            }
            context.unless_cancelled()?;
            let folder: PathBuf = workspace.folder(repo)?;
            let git = Git::of(&folder, &context.cancelled).holding(lock.file());
            let mut transaction = Transaction::begin(&git, "mcpkg: workspace prune")?;
            of_repo.iter().try_for_each(|kept| transaction.delete(&kept.name, &kept.id))?;
            transaction.prepare()?;
            transaction.commit()?;
        }
        context
            .store
            .write(|db| context.event(db, context.author(), None, "workspace.prune", &workspace.manifest.name))?;
        Ok(Reply::sentence(format!("Deleted {counted}"), self.data(&found)))
    }
}

impl Prune {
    fn data(&self, found: &[(&Repo, KeptRef)]) -> Value {
        let rows: Vec<Value> = found
            .iter()
            .map(|(repo, kept)| json!({ "repo_name": repo.name, "ref": kept.name, "id": kept.id }))
            .collect();
        json!({ "deleted": rows, "dry_run": self.dry_run })
    }
}

fn table(found: &[(&Repo, KeptRef)]) -> Table {
    let rows = found
        .iter()
        .map(|(repo, kept)| vec![mcpkg_base::clock::rfc3339(kept.at()), repo.name.clone(), kept.what.clone()]);
    Table { columns: &["WHEN", "REPO", "WHAT"], rows: rows.collect(), empty: String::new() }
}
