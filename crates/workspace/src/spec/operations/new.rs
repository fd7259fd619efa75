//! `mcpkg spec new`: creates a spec with template documents.

use std::ffi::OsStr;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::CHANGES;
use crate::flow::kind::Kind;
use crate::flow::start::Start;
use crate::lock::Lock;
use crate::root::Workspace;
use crate::spec::scaffold::{self, SPECS};
use crate::spec::status;
use crate::spec::trees::{ARCHIVE, ROOT, Tree, Trees, is_temporary};
use crate::{GROUP, names};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Create a spec
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct New {
    /// Name of the spec and of its feature
    name: String,
    /// Repository that the spec is about [default: the manifest's smctl_home, else the workspace's folder]
    #[arg(long, value_name = "REPO")]
    #[serde(skip)]
    repo: Option<String>,
    /// Also start the feature of the same name, with a branch in every repository
    #[arg(long)]
    #[serde(skip)]
    start: bool,
    /// Show what would be written, without writing anything
    #[arg(long)]
    #[serde(skip)]
    dry_run: bool,
}

impl Operation for New {
    const TOOL: &'static str = "smctl_spec_new";
    const CLI: &'static [&'static str] = &["spec", "new"];
    const TITLE: &'static str = "New spec";
    const ABOUT: &'static str = "Create a new OpenSpec feature folder with scaffolded documents";
    const HELP: &'static str = "Creates the folder changes/NAME in the specs folder. The specs folder is \
        `openspec` unless the manifest names another. Each new document contains the headings that OpenSpec \
        expects, with comments that explain what to write below each heading. mcpkg commits nothing, and creates \
        branches only with --start.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg spec new login", "mcpkg spec new login --repo api --start"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const SHAPE: Shape = crate::SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const SCHEMA: Option<&'static str> = Some(
        r#"{"type":"object","properties":{"name":{"type":"string","description":"Spec/feature name"}},"required":["name"]}"#,
    );
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let workspace = Workspace::open(context)?;
        let (repo, name) = match self.name.split_once(':') {
            Some((repo, name)) if self.repo.is_none() => (Some(repo.to_owned()), name),
            _ => (self.repo.clone(), self.name.as_str()),
        };
        names::name("spec", name)?;
        if name == ARCHIVE {
            let message = format!("a spec cannot be called '{ARCHIVE}': that is the folder of archived specs");
            return Err(Error::new(Code::InvalidArgument, message));
        }
        let mut trees = Trees::of(&workspace);
        let tree = tree(&workspace, &mut trees, repo.as_deref())?;
        let path = tree.changes.join(name);
        check_free(&mut trees, &tree, name)?;
        let day = rfc3339(context.clock.now()).chars().take(10).collect::<String>();
        let branch = format!("{}{name}", workspace.manifest.flow.feature_prefix);
        let files = scaffold::files(name, &day, &branch);
        let written: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
        let qualified = format!("{}:{name}", tree.repo);
        let feature = Start { kind: Kind::Feature, name, repos: &[], worktree: false, dry_run: self.dry_run };
        let started = self.start.then(|| feature.run(context)).transpose()?;
        if self.dry_run {
            let mut data = json!({
                "name": name,
                "repo": tree.repo,
                "qualified": qualified,
                "path": disk::posix(&path),
                "files": written,
                "dry_run": true,
            });
            if let Some(started) = started {
                data["start"] = started.data;
            }
            let sentence = format!("Would create the spec '{qualified}' in {}: {}", path.display(), written.join(", "));
            return Ok(Reply::sentence(sentence, data));
        }
        let made = Lock::take(context, &workspace.root, "spec new").and_then(|_lock| {
            check_free(&mut trees, &tree, name)?;
            make(context, &mut trees, &tree, name, &files)
        });
        made.map_err(|error| match &started {
            Some(_) => error.hint(format!("the feature '{name}' was started; `mcpkg flow undo` undoes it")),
            None => error,
        })?;
        let (status, warnings) = status::one(context, &workspace, &qualified)?;
        let mut data = status.value()?;
        data["files"] = json!(written);
        let mut sentence = format!("Created the spec '{qualified}' in {}", path.display());
        let mut hint = format!("fill in its documents; `mcpkg spec validate {qualified}` lists what is missing");
        match started {
            Some(started) => {
                sentence = format!("{sentence}, and started the feature '{name}'");
                data["start"] = started.data;
            }
            None => hint = format!("{hint}; `mcpkg flow feature start {name}` creates its branch"),
        }
        Ok(Reply::sentence(sentence, data).warn(warnings).hint(hint))
    }
}

/// Chooses the tree for a new spec.
fn tree(workspace: &Workspace, trees: &mut Trees, repo: Option<&str>) -> Result<Tree> {
    let repos = &workspace.manifest.repos;
    let home = || repos.iter().find(|repo| repo.smctl_home).or_else(|| repos.iter().find(|repo| repo.path == "."));
    let repo = repo.or_else(|| home().map(|repo| repo.name.as_str())).unwrap_or(ROOT);
    let tree = trees.tree(repo)?;
    if let Some(repo) = repos.iter().find(|repo| repo.name == tree.repo) {
        // If the repository is not cloned yet, creating its folder would block the clone.
        let folder = workspace.folder(repo)?;
        if trees.open(&folder)?.is_none() {
            let message = format!("The repository '{}' is missing: `{}`", repo.name, folder.display());
            return Err(Error::new(Code::NotFound, message)
                .with_details(json!({ "repo": repo.name }))
                .hint("`mcpkg workspace sync` clones missing repositories"));
        }
    }
    Ok(tree)
}

fn check_free(trees: &mut Trees, tree: &Tree, name: &str) -> Result<()> {
    let Some(changes) = trees.open(&tree.changes)? else { return Ok(()) };
    if changes.entry(OsStr::new(name))?.is_none() {
        return Ok(());
    }
    let path = tree.changes.join(name);
    Err(Error::new(Code::AlreadyExists, format!("Spec '{}:{name}' already exists, in `{}`", tree.repo, path.display()))
        .with_details(json!({ "repo": tree.repo, "spec": name, "path": disk::posix(&path) }))
        .hint(format!("choose another name, or archive that spec: `mcpkg spec archive {}:{name}`", tree.repo)))
}

/// Writes the files into a temporary folder and renames it, so that a spec is never half written.
fn make(context: &Context, trees: &mut Trees, tree: &Tree, name: &str, files: &[(&str, String)]) -> Result<()> {
    sweep(trees, &tree.changes, files)?;
    let above = missing(trees, &tree.changes)?;
    let temporary = tree.changes.join(format!(".{name}.{}", context.clock.uuid()));
    let result = write(trees, &temporary, files).and_then(|()| {
        let changes = trees.make(&tree.changes)?;
        let author = context.author();
        context.store.write(|db| {
            context.event(db, author, None, "spec.new", &format!("{}:{name}", tree.repo))?;
            let temporary = temporary.file_name().unwrap_or_default();
            changes.move_new(temporary, &changes, OsStr::new(name))
        })?;
        changes.sync();
        Ok(())
    });
    if result.is_err() {
        if let Ok(Some(folder)) = trees.open(&temporary) {
            files.iter().for_each(|(file, _)| drop(folder.remove(OsStr::new(file))));
        }
        trees.remove_empty(&[temporary.join(SPECS), temporary]);
        trees.remove_empty(&above);
    }
    result
}

/// Removes what a killed process left behind. We hold the workspace's lock, so no running process needs these files.
fn sweep(trees: &mut Trees, changes: &Path, files: &[(&str, String)]) -> Result<()> {
    let Some(folder) = trees.open(changes)? else { return Ok(()) };
    for left in folder.names()?.iter().filter(|name| is_temporary(name)).map(|name| changes.join(name)) {
        if let Ok(Some(folder)) = trees.open(&left) {
            files.iter().try_for_each(|(file, _)| folder.remove(OsStr::new(file)))?;
        }
        trees.remove_empty(&[left.join(SPECS), left]);
    }
    Ok(())
}

fn write(trees: &mut Trees, temporary: &Path, files: &[(&str, String)]) -> Result<()> {
    trees.make(&temporary.join(SPECS))?;
    let folder = trees.make(temporary)?;
    for (file, text) in files {
        folder.write_beside(OsStr::new(file), OsStr::new(file), text.as_bytes(), disk::FILE, None)?;
    }
    folder.sync();
    Ok(())
}

/// Returns the missing folders from `folder` up to the workspace's root, deepest first.
fn missing(trees: &mut Trees, folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut missing = Vec::new();
    for above in folder.ancestors() {
        if above == trees.root || trees.open(above)?.is_some() {
            break;
        }
        missing.push(above.to_owned());
    }
    Ok(missing)
}
