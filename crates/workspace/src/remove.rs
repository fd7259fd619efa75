//! `mcpkg workspace remove`: removes a repository from a workspace, but keeps its files.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::completions::REPOS;
use super::journal::{self, Plan};
use super::lock::Lock;
use super::manifest;
use super::root::{MANIFEST, Workspace};
use super::step::Step;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Remove a repository from the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// The repository's name
    #[arg(add = REPOS)]
    repo: String,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_workspace_repo";
    const CLI: &'static [&'static str] = &["workspace", "remove"];
    const TITLE: &'static str = "Remove repository from workspace";
    const ABOUT: &'static str = "Remove a repository from the workspace, without deleting any files";
    const HELP: &'static str = "mcpkg refuses to remove a repository that another repository depends on.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace remove api", "mcpkg workspace remove api --dry-run"];
    const EFFECT: Effect = Effect::Write;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.repo.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let root = Workspace::open(context)?.root;
        journal::put_right(context, &root, None)?;
        let lock = if self.dry_run { None } else { Some(Lock::take(context, &root, "workspace remove")?) };
        let workspace = Workspace::read(&root)?;
        let path = workspace.repo(&self.repo)?.path.clone();
        let repos = workspace.manifest.repos.iter();
        let needing: Vec<&str> =
            repos.filter(|repo| repo.depends_on.contains(&self.repo)).map(|repo| repo.name.as_str()).collect();
        if !needing.is_empty() {
            let verb = if needing.len() == 1 { "depends" } else { "depend" };
            let message =
                format!("Cannot remove the repository '{}': {} {verb} on it", self.repo, needing.join(" and "));
            return Err(Error::new(Code::InvalidArgument, message)
                .with_details(json!({ "repo": self.repo, "needed_by": needing }))
                .hint(format!("remove the repository from depends_on in {MANIFEST} first")));
        }
        let new = manifest::remove(&workspace.text, MANIFEST, &self.repo)?;
        let mut data = json!({ "name": workspace.manifest.name, "removed": self.repo, "path": path });
        let Some(lock) = lock else {
            data["dry_run"] = true.into();
            let message = format!("Would remove '{}' from the workspace, and leave its files in {path}", self.repo);
            return Ok(Reply::sentence(message, data));
        };
        let plan = Plan {
            workspace: workspace.manifest.name.clone(),
            operation: "workspace remove",
            subject: self.repo.clone(),
            uuid: context.clock.uuid(),
            land: vec![Step::Write { path: MANIFEST.to_owned(), old: Some(workspace.text.clone()), new: Some(new) }],
            tidy: Vec::new(),
            becomes: Vec::new(),
        };
        let warnings = journal::carry_out(context, &root, &lock, &plan)?;
        let message = format!("Removed '{}' from the workspace; its files stay in {path}", self.repo);
        Ok(Reply::sentence(message, data).warn(warnings))
    }
}
