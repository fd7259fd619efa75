//! Finds the selected source: a config repo or a project.

use std::path::{Path, PathBuf};

use super::choice::{Choice, expand};
use crate::repo::{self, Repo};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Identity};
use mcpkg_store::projects::{self, Project};

/// The source of modules.
#[derive(Debug)]
pub enum Source {
    Repo(Box<Repo>),
    /// A project in the database.
    Project(Project),
}

impl Source {
    /// Returns the source that a choice names. If the choice names none, returns the selected project. Without a
    /// selected project, returns the config repo in agentpack's home folder ([`repo::home_below`]). A caller that knows
    /// mcpkg as agentpack gets that config repo even if a project is selected, unless it names the project.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the user passes both `--repo` and `--project`; `E_NO_PROJECT` if there is neither a
    /// project nor a config repo; the errors of [`Repo::open`].
    pub(super) fn find(context: &Context, choice: &Choice, home: &Path) -> Result<Self> {
        let named = context.selection.named.as_deref();
        let allowed = choice.allow_outside.iter().chain(&context.allow_outside);
        let allowed: Vec<PathBuf> = allowed.map(|folder| expand(folder, home)).collect();
        let open = |folder: &Path| Ok(Source::Repo(Box::new(Repo::open(folder, &allowed)?)));
        if let Some(repo) = &choice.repo {
            if named.is_some() && context.selection.named_by == "--project" && context.is_shell() {
                return Err(Error::new(Code::InvalidArgument, "--repo and --project cannot be used together"));
            }
            return open(&expand(repo, home));
        }
        let agentpack = context.caller.identity() == Identity::Agentpack;
        let usual = repo::home_below(home).join("repo");
        if named.is_none() && agentpack && usual.is_dir() {
            return open(&usual);
        }
        match context.store.read(|db| projects::resolve(db, &context.selection))? {
            Some(project) => Ok(Source::Project(project)),
            None if usual.is_dir() || agentpack => open(&usual),
            None => Err(Error::new(Code::NoProject, "No project is selected, and no config repo is given")
                .hint("select a project with `mcpkg project select NAME`, or pass a config repo with --repo DIR")),
        }
    }
}
