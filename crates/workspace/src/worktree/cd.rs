//! `mcpkg worktree cd`: prints the folder of a set, for `cd "$(mcpkg worktree cd NAME)"`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::set;
use crate::completions::{REPOS, SETS};
use crate::root::Workspace;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Print the folder of a set of worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cd {
    /// Name of the worktree set
    #[arg(add = SETS)]
    name: String,
    /// Print the folder of this repository's worktree in the set
    #[arg(add = REPOS)]
    #[serde(default)]
    repo: Option<String>,
}

impl Operation for Cd {
    const TOOL: &'static str = "worktree_folder";
    const CLI: &'static [&'static str] = &["worktree", "cd"];
    const TITLE: &'static str = "Folder of a worktree set";
    const ABOUT: &'static str = "Print the folder of a worktree set, or of one worktree in it";
    const EXAMPLES: &'static [&'static str] = &["mcpkg worktree cd login", "mcpkg worktree cd login api"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let members = set::of(context, &workspace, &self.name)?;
        let folder = match &self.repo {
            None => set::folder(&workspace, &self.name)?,
            Some(name) => {
                workspace.repo(name)?;
                let member = members.iter().find(|member| member.repo.name == *name);
                let member = member.ok_or_else(|| {
                    Error::new(Code::NotFound, format!("The worktree set '{}' has no repository '{name}'", self.name))
                        .hint(format!("add the repository with `mcpkg worktree add {} --repo {name}`", self.name))
                })?;
                member.worktree.path.clone()
            }
        };
        let folder = folder.display().to_string();
        Ok(Reply::new(
            Body::Text(format!("{folder}\n")),
            json!({ "name": self.name, "repo": self.repo, "path": folder }),
        ))
    }
}
