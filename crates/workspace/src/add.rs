//! `mcpkg workspace add`: clones one more repository into a workspace.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::carry;
use super::init::{self, New, RepoArg};
use super::journal::{self, Plan};
use super::lock::Lock;
use super::manifest::{self, NewRepo};
use super::root::{MANIFEST, Workspace};
use super::step::{Step, relative};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Clone another repository into the workspace
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// https, ssh, git or file URL, host:path or folder to clone; append =PATH to clone into the folder PATH
    #[arg(value_name = "URL[=PATH]")]
    url: RepoArg,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "add_workspace_repo";
    const CLI: &'static [&'static str] = &["workspace", "add"];
    const TITLE: &'static str = "Add repository to workspace";
    const ABOUT: &'static str = "Clone another repository into the workspace";
    const HELP: &'static str = "mcpkg gives the repository a main and a develop branch. If the target folder \
        already holds a clone of the repository, mcpkg reuses that clone.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workspace add https://example.org/web.git",
        "mcpkg workspace add git@example.org:api.git=services/api",
    ];
    const EFFECT: Effect = Effect::Create;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let root = Workspace::open(context)?.root;
        journal::put_right(context, &root, None)?;
        let lock = if self.dry_run { None } else { Some(Lock::take(context, &root, "workspace add")?) };
        // Read the manifest after taking the lock, so that no other command changes it until this one ends.
        let workspace = Workspace::read(&root)?;
        let new = init::wanted(context, &root, std::slice::from_ref(&self.url))?;
        new.iter().try_for_each(|new| refuse_known(&workspace, new))?;
        let Some(lock) = lock else { return Ok(self.reply(&workspace, &new)) };
        let uuid = context.clock.uuid();
        let mark = uuid.to_string();
        let temporary = journal::temporary(&root, uuid);
        let place = temporary.join("0");
        let develop = &workspace.manifest.flow.develop_branch;
        (context.step_aside)();
        let cloned = init::clone_all(context, &root, &new, &mark, develop, |_| place.clone());
        let carried = cloned.and_then(|mains| {
            let mut text = workspace.text.clone();
            let (mut land, mut tidy) = (Vec::new(), Vec::new());
            for (new, main) in new.iter().zip(&mains) {
                let url = new.origin.shown();
                let repo = NewRepo { name: &new.name, url: &url, path: &new.path, default_branch: main };
                text = manifest::add(&text, MANIFEST, &workspace.manifest, &repo)?;
                if !new.is_there {
                    let (repo, path, mark) = (new.name.clone(), new.path.clone(), mark.clone());
                    let temporary = relative(&root, &place);
                    land.push(Step::Place { repo: repo.clone(), temporary, path: path.clone(), mark: mark.clone() });
                    tidy.push(Step::Unmark { repo, path, mark });
                }
            }
            land.push(Step::Write { path: MANIFEST.to_owned(), old: Some(workspace.text.clone()), new: Some(text) });
            let plan = Plan {
                workspace: workspace.manifest.name.clone(),
                operation: "workspace add",
                subject: new.iter().map(|new| new.name.as_str()).collect(),
                uuid,
                land,
                tidy,
                becomes: Vec::new(),
            };
            journal::carry_out(context, &root, &lock, &plan)
        });
        let left = carry::clear(&temporary);
        Ok(self.reply(&workspace, &new).warn(carried?).warn(left))
    }
}

impl Add {
    fn reply(&self, workspace: &Workspace, new: &[New]) -> Reply {
        let repos: Vec<Value> =
            new.iter().map(|new| json!({ "name": new.name, "path": new.path, "cloned": !new.is_there })).collect();
        let mut data =
            json!({ "name": workspace.manifest.name, "root": workspace.root.display().to_string(), "repos": repos });
        if self.dry_run {
            data["dry_run"] = true.into();
        }
        let verb = match (self.dry_run, new.iter().any(|new| new.is_there)) {
            (true, _) => "Would add",
            (false, true) => "Added the existing",
            (false, false) => "Cloned",
        };
        let names: Vec<String> = new.iter().map(|new| format!("'{}' in {}", new.name, new.path)).collect();
        Reply::sentence(format!("{verb} {}", names.join(", ")), data)
    }
}

fn refuse_known(workspace: &Workspace, new: &New) -> Result<()> {
    let url = new.origin.shown();
    let same =
        workspace.manifest.repos.iter().find(|repo| repo.name == new.name || repo.path == new.path || repo.url == url);
    match same {
        None => Ok(()),
        Some(repo) => Err(Error::new(
            Code::AlreadyExists,
            format!("The workspace '{}' already has the repository '{}'", workspace.manifest.name, repo.name),
        )
        .with_details(json!({ "repo": repo.name, "path": repo.path, "url": repo.url }))
        .hint("to add a different repository, choose another folder for it: URL=PATH")),
    }
}
