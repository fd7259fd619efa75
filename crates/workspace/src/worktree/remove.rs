//! `mcpkg worktree remove`: removes a set of worktrees in two passes.
//!
//! The first pass examines every worktree and changes nothing. The second pass saves the contents of each worktree and
//! moves all worktrees aside. After all of this has succeeded, it deletes the worktrees.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::set::{self, Member};
use crate::completions::SETS;
use crate::journal::{self, Plan};
use crate::keep::{self, Look};
use crate::lock::Lock;
use crate::root::Workspace;
use crate::step::{Step, relative};
use crate::{carry, parallel};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::status::Extra;
use mcpkg_base::git::{Git, refs, snapshot};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};

/// Remove a set of worktrees
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Name of the worktree set
    #[arg(add = SETS)]
    name: String,
    /// Remove the set even with uncommitted changes; mcpkg keeps a copy of the changes
    #[arg(long)]
    #[serde(default)]
    force: bool,
    /// Show what would be done, without doing it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Remove {
    const TOOL: &'static str = "smctl_worktree_remove";
    const CLI: &'static [&'static str] = &["worktree", "remove"];
    const TITLE: &'static str = "Remove worktree set";
    const ABOUT: &'static str = "Remove a worktree set and optionally clean up branches";
    const HELP: &'static str = "Without --force, mcpkg removes nothing if any worktree of the set has changes, \
        untracked files or a git operation in progress. mcpkg always keeps a copy of the removed worktrees, and \
        `mcpkg worktree restore` brings them back. The copy includes individual files that git ignores, such as \
        `.env`, but not ignored folders, such as `target/`. mcpkg deletes merged branches unless \
        worktree.cleanup_on_remove in the manifest is false.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg worktree remove login",
        "mcpkg worktree remove login --force",
        "mcpkg worktree remove login --dry-run",
    ];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"name":{"type":"string"},"force":{"type":"boolean","default":false}},"required":["name"]}"#,
    );
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        journal::put_right(context, &workspace.root, None)?;
        let lock = match self.dry_run {
            true => None,
            false => Some(Lock::take(context, &workspace.root, "worktree remove")?),
        };
        let mut members = set::of(context, &workspace, &self.name)?;
        set::look(context, &mut members, Extra::AllAndIgnored)?;
        let looks: Vec<Look> = members.iter().map(look).collect::<Result<_>>()?;
        refuse(&self.name, &members, &looks, self.force)?;
        let cleanup = workspace.manifest.worktree.cleanup_on_remove;
        let branches = parallel::each(&members, |_, member| match cleanup {
            true => merged(context, &workspace, member),
            false => Ok(None),
        });
        let branches: Vec<Option<Merged>> = branches.into_iter().collect::<Result<_>>()?;
        let uuid = context.clock.uuid();
        let temporary = journal::temporary(&workspace.root, uuid);
        let kept: Vec<Option<String>> = match lock {
            None => vec![None; members.len()],
            Some(_) => {
                std::fs::create_dir_all(&temporary).map_err(|error| Error::file("make", &temporary, error))?;
                let kept = parallel::each(&members, |index, member| {
                    let Some(look) = looks.get(index).filter(|_| member.status.is_some()) else { return Ok(None) };
                    let message = keep::message(&member.set, member.worktree.branch.as_deref());
                    let git = Git::of(&member.worktree.path, &context.cancelled);
                    snapshot::take(&git, &temporary, &look.ignored, &message).map(Some)
                });
                kept.into_iter().collect::<Result<_>>().inspect_err(|_| {
                    // No ref points to the commits made so far, so only these temporary files must be removed.
                    let _ = carry::remove_tree(&temporary);
                })?
            }
        };
        let plan = self.plan(&workspace, uuid, &members, &kept, &branches);
        let data = self.data(&members, &looks, &plan, &branches);
        let Some(lock) = lock else {
            return Ok(set::dry_run(&self.sentence("Would remove", &looks), plan.land.iter().chain(&plan.tidy), data));
        };
        let carried = journal::carry_out(context, &workspace.root, &lock, &plan);
        let left = carry::clear(&temporary);
        let mut warnings = carried?;
        warnings.extend(left);
        let rows = members.iter().zip(&looks).map(|(member, look)| {
            let kept = match look.dirty.len() + look.ignored.len() {
                0 => "nothing to keep".to_owned(),
                files => format!("{} kept", plural::count(files, "file")),
            };
            let let_go =
                if look.let_go.is_empty() { String::new() } else { format!("not kept: {}", look.let_go.join(" ")) };
            vec![member.repo.name.clone(), member.branch().to_owned(), kept, let_go]
        });
        let table =
            Table { columns: &["REPO", "BRANCH", "KEPT", "IGNORED"], rows: rows.collect(), empty: String::new() };
        let sentence = Body::Sentence(self.sentence("Removed", &looks));
        Ok(Reply::new(Body::Several(vec![sentence, Body::Table(table)]), data)
            .hint(format!("to bring the set back: `mcpkg worktree restore {}`", mcpkg_base::shell::quote(&self.name)))
            .warn(warnings))
    }
}

/// A branch to delete with its worktree, because another branch contains all of its commits.
struct Merged {
    name: String,
    id: String,
    config: Vec<(String, String)>,
}

impl Remove {
    fn sentence(&self, verb: &str, looks: &[Look]) -> String {
        format!("{verb} the worktree set '{}' ({})", self.name, plural::count(looks.len(), "worktree"))
    }

    fn plan(
        &self,
        workspace: &Workspace,
        uuid: uuid::Uuid,
        members: &[Member<'_>],
        kept: &[Option<String>],
        branches: &[Option<Merged>],
    ) -> Plan {
        let (mut refs, mut aside, mut tidy) = (Vec::new(), Vec::new(), Vec::new());
        let root = &workspace.root;
        for (index, ((member, kept), merged)) in members.iter().zip(kept).zip(branches).enumerate() {
            let repo = member.repo.name.clone();
            let folder = member.repo.path.clone();
            let path = relative(root, &member.worktree.path);
            if let Some(kept) = kept {
                let name = keep::worktree(uuid, &member.set);
                let (repo, folder) = (repo.clone(), folder.clone());
                refs.push(Step::Ref { repo, folder, name, old: None, new: Some(kept.clone()) });
            }
            let temporary = relative(root, &journal::temporary(root, uuid).join(index.to_string()));
            aside.push(Step::PutAside { repo: repo.clone(), path: path.clone(), aside: temporary });
            let branch = member.worktree.branch.as_deref().unwrap_or_default();
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned();
            let (of, at) = (repo.clone(), folder.clone());
            tidy.push(Step::RemoveWorktree { repo: of, folder: at, path, branch: branch.clone(), kept: kept.clone() });
            if let Some(Merged { name, id, config }) = merged {
                let (of, at, old) = (repo.clone(), folder.clone(), Some(id.clone()));
                tidy.push(Step::Ref { repo: of, folder: at, name: name.clone(), old, new: None });
                if !config.is_empty() {
                    tidy.push(Step::UnsetConfig { repo, folder, branch, values: config.clone() });
                }
            }
        }
        refs.append(&mut aside);
        Plan {
            workspace: workspace.manifest.name.clone(),
            operation: "worktree remove",
            subject: self.name.clone(),
            uuid,
            land: refs,
            tidy,
            becomes: Vec::new(),
        }
    }

    fn data(&self, members: &[Member<'_>], looks: &[Look], plan: &Plan, branches: &[Option<Merged>]) -> Value {
        let rows = members.iter().zip(looks).zip(branches).map(|((member, look), merged)| {
            json!({
                "repo_name": member.repo.name,
                "path": member.worktree.path.display().to_string(),
                "branch": member.branch(),
                "branch_deleted": merged.is_some(),
                "ref": member.status.as_ref().map(|_| keep::worktree(plan.uuid, &member.set)),
                "changes": look.dirty,
                "ignored": look.ignored.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
                "let_go": look.let_go,
            })
        });
        json!({ "removed": self.name, "force": self.force, "kept": rows.collect::<Vec<_>>(), "run": plan.uuid.to_string() })
    }
}

fn look(member: &Member<'_>) -> Result<Look> {
    let mut look = match &member.status {
        Some(status) => keep::look(&member.worktree.path, status)?,
        // The worktree's folder no longer exists, so there is nothing to lose.
        None => Look::default(),
    };
    if let Some(operation) = member.operation {
        look.dirty.push(format!("a {} is in progress", operation.name()));
    }
    if let Some(why) = &member.worktree.locked {
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        look.refused.push(format!("it is locked{why} (unlock it with `git worktree unlock`)"));
    }
    Ok(look)
}

/// The maximum number of lines with reasons in an error message.
const LINES: usize = 10;

fn refuse(set: &str, members: &[Member<'_>], looks: &[Look], force: bool) -> Result<()> {
    let all = members.iter().zip(looks);
    let found = all.clone().map(|(member, look)| {
        let dirty = look.dirty.iter().filter(|_| !force);
        (member, look.refused.iter().chain(dirty).collect::<Vec<_>>())
    });
    let found: Vec<_> = found.filter(|(_, found)| !found.is_empty()).collect();
    if found.is_empty() {
        return Ok(());
    }
    let lines =
        found.iter().flat_map(|(member, found)| found.iter().map(|line| format!("{}: {line}", member.repo.name)));
    let lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(LINES);
    let shown = lines.iter().take(LINES).map(|line| format!("\n  {line}")).collect::<String>();
    let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
    let repos: Vec<Value> = found
        .iter()
        .map(|(member, found)| {
            json!({ "repo": member.repo.name, "path": member.worktree.path.display().to_string(), "findings": found })
        })
        .collect();
    let message = format!("The worktree set '{set}' was not removed, and nothing was changed:{shown}{more}");
    let error = Error::new(Code::WorktreeDirty, message)
        .with_details(json!({ "name": set, "operation": "worktree remove", "repos": repos }));
    Err(match looks.iter().all(|look| look.refused.is_empty()) {
        true => {
            error.hint("commit the changes, or remove the set with --force, which first keeps a copy of the changes")
        }
        false => error.hint("fix the listed problems; --force does not skip them"),
    })
}

/// Returns the worktree's branch if the main or the develop branch contains all of its commits. Returns `None` for
/// these two branches themselves.
fn merged(context: &Context, workspace: &Workspace, member: &Member<'_>) -> Result<Option<Merged>> {
    let Some(name) = member.worktree.branch.as_deref() else { return Ok(None) };
    let short = name.strip_prefix("refs/heads/").unwrap_or(name);
    let lasting = [&workspace.manifest.flow.develop_branch, &member.repo.default_branch];
    if lasting.iter().any(|lasting| *lasting == short) {
        return Ok(None);
    }
    let folder = workspace.folder(member.repo)?;
    let git = Git::of(&folder, &context.cancelled);
    let Some(found) = refs::find(&git, name)? else { return Ok(None) };
    for lasting in lasting {
        if let Some(target) = refs::find(&git, &format!("refs/heads/{lasting}"))?
            && refs::contains(&git, &target.id, &found.id)?
        {
            let config = carry::config(&git, short)?;
            return Ok(Some(Merged { name: name.to_owned(), id: found.id, config }));
        }
    }
    Ok(None)
}
