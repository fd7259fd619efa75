//! `mcpkg spec archive`: moves a completed spec to the archive.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CHANGES, invalid};
use crate::GROUP;
use crate::lock::Lock;
use crate::root::Workspace;
use crate::spec::branches::Branches;
use crate::spec::metadata;
use crate::spec::named::{self, OPEN};
use crate::spec::opened::{self, Spec};
use crate::spec::report::{self, Finding};
use crate::spec::trees::{ARCHIVE, SpecPlace, Trees, is_temporary};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::disk::folder::Folder;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Archive a spec
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Spec: NAME, or REPO:NAME [default: the current branch's spec]
    #[arg(add = OPEN)]
    #[serde(default)]
    name: Option<String>,
    /// Archive the spec even if it is invalid, or has open tasks or questions
    #[arg(long)]
    #[serde(skip)]
    force: bool,
    /// Show what would be moved, without moving it
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for Archive {
    const TOOL: &'static str = "smctl_spec_archive";
    const CLI: &'static [&'static str] = &["spec", "archive"];
    const TITLE: &'static str = "Archive spec";
    const ABOUT: &'static str = "Archive a completed spec to openspec/changes/archive/";
    const HELP: &'static str = "Moves the spec's folder to archive/DATE-NAME next to the other specs, and marks \
        the spec as archived in the spec's metadata. mcpkg refuses to archive a spec that is invalid or has open \
        tasks or questions. mcpkg does not delete the spec's branch.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec archive login", "mcpkg spec archive api:login --dry-run"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> =
        Some(r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#);
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let name = named::name_or_branch(context, &workspace, self.name)?;
        let mut trees = Trees::of(&workspace);
        let lock = (!self.dry_run).then(|| Lock::take(context, &workspace.root, "spec archive")).transpose()?;
        let found = trees.find(&name)?;
        if found.is_archived {
            let message = format!("Spec '{}' is already archived, in `{}`", found.qualified(), found.path.display());
            return Err(Error::new(Code::AlreadyExists, message).with_details(json!({ "spec": found.qualified() })));
        }
        let spec = Spec::open(&mut trees, found)?;
        if !self.force {
            check_complete(&spec, &workspace)?;
        }
        let day: String = rfc3339(context.clock.now()).chars().take(10).collect();
        let target = target(&mut trees, &spec.found, &day)?;
        let branch = spec.branch(&workspace.manifest.flow.feature_prefix);
        let branches = Branches::of(context, &workspace);
        let stays: Vec<String> = branches.named(&branch).into_iter().map(|branch| branch.repo_name).collect();
        let mut warnings = branches.warnings;
        if lock.is_some() {
            warnings.extend(archive(context, &mut trees, &spec.found, &target, &day)?);
        }
        let qualified = spec.found.qualified();
        let verb = if self.dry_run { "Would archive" } else { "Archived" };
        let mut sentence = format!("{verb} the spec '{qualified}' as {}", target.display());
        let mut data = json!({
            "repo": spec.found.repo,
            "name": spec.found.name,
            "qualified": qualified,
            "archive_path": disk::posix(&target),
            "branch": branch,
            "branch_in": stays,
        });
        if !stays.is_empty() {
            let message = format!("the branch '{branch}' stays in {}", stays.join(", "));
            sentence = format!("{sentence}; {message}");
            data["message"] = message.into();
        }
        if self.dry_run {
            data["dry_run"] = true.into();
        }
        Ok(Reply::sentence(sentence, data).warn(warnings))
    }
}

/// Refuses a spec that is invalid or has open tasks or questions.
fn check_complete(spec: &Spec, workspace: &Workspace) -> Result<()> {
    let report = report::of(spec, &workspace.manifest.flow.feature_prefix, None);
    if !report.errors.is_empty() {
        return Err(invalid(&spec.found, &report, "is not valid, so it was not archived", &report.errors));
    }
    let open: Vec<Finding> = report.warnings.iter().filter(|finding| finding.is_open).cloned().collect();
    if open.is_empty() {
        return Ok(());
    }
    let error = invalid(&spec.found, &report, "is not complete, so it was not archived", &open);
    Err(error.hint(
        "check off its tasks and strike through its questions; a person can archive the spec anyway with --force",
    ))
}

/// Returns the path of the spec in the archive.
fn target(trees: &mut Trees, found: &SpecPlace, day: &str) -> Result<PathBuf> {
    let changes = found.path.parent().unwrap_or(&found.path);
    let (archive, name) = (changes.join(ARCHIVE), format!("{day}-{}", found.name));
    let target = archive.join(&name);
    if let Some(folder) = trees.open(&archive)?
        && folder.entry(OsStr::new(&name))?.is_some()
    {
        return Err(Error::new(
            Code::AlreadyExists,
            format!("`{}` already exists; nothing was moved", target.display()),
        )
        .with_details(json!({ "spec": found.qualified(), "path": disk::posix(&target) }))
        .hint("rename that folder, and try again"));
    }
    Ok(target)
}

/// Marks the metadata as archived and moves the folder; returns a warning if the metadata could not be marked. If the
/// move fails, the metadata is restored. If the process is killed in between, the spec stays open with metadata that
/// says `archived`: validation reports this, and archiving the spec again completes the move.
fn archive(
    context: &Context,
    trees: &mut Trees,
    found: &SpecPlace,
    target: &Path,
    day: &str,
) -> Result<Option<String>> {
    let (Some(changes), Some(archive)) = (found.path.parent(), target.parent()) else {
        return Err(Error::internal("a spec's folder has no parent folder"));
    };
    let folder = opened::folder_of(trees, found)?;
    let (from, to) = (found.path.file_name().unwrap_or_default(), target.file_name().unwrap_or_default());
    // We hold the lock, so temporary files here are left over from a killed process.
    for name in folder.names()?.iter().filter(|name| is_temporary(name)) {
        folder.remove(name)?;
    }
    let had_archive = trees.open(archive)?.is_some();
    let (changes, into) = (trees.make(changes)?, trees.make(archive)?);
    let before = opened::text(&folder, OsStr::new(metadata::FILE))?;
    let after = before.as_deref().and_then(|text| metadata::archived(text, day));
    let author = context.author();
    let moved = context.store.write(|db| {
        context.event(db, author, None, "spec.archive", &found.qualified())?;
        if let Some(after) = &after {
            put(context, &folder, after)?;
        }
        changes.move_new(from, &into, to)
    });
    if let Err(error) = moved {
        if let (Some(before), Some(_)) = (&before, &after) {
            // Write through the open folder, because it may have been moved before the database refused the event.
            put(context, &folder, before)?;
        }
        if !had_archive {
            trees.remove_empty(&[archive]);
        }
        return Err(error);
    }
    changes.sync();
    into.sync();
    let told = after.is_none().then(|| format!("could not mark '{}' as archived in its metadata", found.qualified()));
    Ok(told)
}

fn put(context: &Context, folder: &Folder, text: &str) -> Result<()> {
    let (name, temporary) = (OsStr::new(metadata::FILE), format!(".openspec.{}", context.clock.uuid()));
    let mode = folder.entry(name)?.map_or(disk::FILE, |entry| entry.mode);
    folder.write_beside(name, OsStr::new(&temporary), text.as_bytes(), mode, None)?;
    folder.put_in_place(name, OsStr::new(&temporary), false)?;
    folder.sync();
    Ok(())
}
