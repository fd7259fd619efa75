//! `mcpkg flow init`: creates the branches that flows need.

use schemars::JsonSchema;
use serde::Deserialize;

use super::look::Seen;
use super::rows::{self, More, Row};
use crate::journal::{self, Plan};
use crate::lock::Lock;
use crate::parallel;
use crate::root::Workspace;
use crate::step::{Step, relative};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect, Faces, Operation, Reply, Shape};

/// Create the develop branch where it is missing
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Init {
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Init {
    const TOOL: &'static str = "smctl_flow_init";
    const CLI: &'static [&'static str] = &["flow", "init"];
    const TITLE: &'static str = "Prepare flows";
    const ABOUT: &'static str = "Create the develop branch in each repository that lacks it";
    const EXAMPLES: &'static [&'static str] = &["mcpkg flow init"];
    const EFFECT: Effect = Effect::Create;
    const LONG: bool = true;
    const SHAPE: Shape = super::super::SHAPE;
    const GROUP: &'static str = super::super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = mcpkg_core::op::NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let lock = if self.dry_run { None } else { Some(Lock::take(context, &workspace.root, "flow init")?) };
        let develop = &workspace.manifest.flow.develop_branch;
        let repos = workspace.chosen(&[])?;
        let seen = parallel::all(&repos, |repo| Seen::look(&workspace, repo, &context.cancelled))?;
        let (mut land, mut rows) = (Vec::new(), Vec::new());
        for seen in &seen {
            let repo = seen.repo.name.clone();
            if let Some(there) = seen.branch(develop) {
                let message = format!("{develop} already exists ({})", rows::at(&there.id));
                rows.push(Row { repo, state: "unchanged", message, worktree: None });
                continue;
            }
            let remote = seen.find(&format!("refs/remotes/origin/{develop}"));
            let from = match remote {
                Some(remote) => remote,
                None => seen.base(&seen.repo.default_branch)?,
            };
            let folder = relative(&workspace.root, &seen.folder);
            let name = format!("refs/heads/{develop}");
            land.push(Step::Ref { repo: repo.clone(), folder, name, old: None, new: Some(from.commit().to_owned()) });
            let message =
                format!("{develop} starts at {} ({})", from.name.trim_start_matches("refs/"), rows::at(&from.id));
            rows.push(Row { repo, state: "made", message, worktree: None });
        }
        let plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: "init",
            subject: develop.clone(),
            uuid: context.clock.uuid(),
            land,
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        let warnings = match &lock {
            Some(lock) if !plan.land.is_empty() => journal::carry_out(context, &workspace.root, lock, &plan)?,
            _ => Vec::new(),
        };
        Ok(rows::reply(develop, &rows, &plan, self.dry_run, More { warnings, ..More::default() }))
    }
}
