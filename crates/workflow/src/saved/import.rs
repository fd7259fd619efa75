//! `mcpkg workflow import`: stores files as workflows. Their text stays unchanged, except for corrections.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::approval;
use super::mend::{Mended, mended};
use super::model::{self, Model};
use crate::answer::VERSION;
use crate::finding::{Finding, has_errors};
use crate::fixture::beside::{self, Fixtures};
use crate::fixture::form::Fixture;
use crate::text::argument::Text;
use crate::{GROUP, yaml};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::Db;
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::Author;
use mcpkg_store::workflows::{self, Action, Change};

/// Import workflows
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Workflow files, folders of workflow files, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be imported, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Update workflows that differ from the files, by adding new revisions
    #[arg(long)]
    #[serde(default)]
    update: bool,
    /// Import only if the workflow is at this revision; 0 means that it must be new
    #[arg(long, value_name = "N")]
    revision: Option<i64>,
    /// Reason for the change, for the history
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
}

impl Operation for Import {
    const TOOL: &'static str = "import_workflow";
    const CLI: &'static [&'static str] = &["workflow", "import"];
    const TITLE: &'static str = "Import workflows";
    const ABOUT: &'static str = "Import workflows from files, keeping their comments";
    const HELP: &'static str = "The `workflow` field of a file gives the workflow's name. In a folder, mcpkg reads the .yaml, .yml \
        and .json files that have a `workflow` field, and skips all subfolders. mcpkg converts fields that other programs write \
        differently, and reports each change: `when`, null or empty fields, commands written as `group name`, and examples that are \
        mappings. mcpkg reads the fixtures of app.yaml from app.fixtures.yaml in the same folder. mcpkg imports either all workflows \
        or none, and shows its findings. If a finding is an error, the exit status is 1, and that workflow does not run until you fix \
        it.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow import app_with_db.yaml",
        "mcpkg workflow import workflows/ --dry-run",
        "mcpkg workflow import app_with_db.yaml --update -m 'Smaller plan'",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("workflows");
    type Output = NoOutput;

    /// Returns the names of the files, for imports that fail early. Later, when the files have been read, the names of the
    /// workflows are used instead.
    fn subject(&self) -> String {
        let name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).display().to_string();
        self.paths.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        model::check_message(self.message.as_deref())?;
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        for path in &self.paths {
            gather(context, path, &mut files, &mut left_out)?;
        }
        let mut names = BTreeSet::new();
        if let Some(twin) = files.iter().find(|file| !names.insert(file.model.name.as_str())) {
            let what = format!("Two files contain workflow '{}'; nothing was imported", twin.model.name);
            return Err(Error::new(Code::ImportConflict, what).hint(format!("one of the files is `{}`", twin.path)));
        }
        if self.revision.is_some() && files.len() != 1 {
            return Err(Error::new(Code::InvalidArgument, "--revision needs exactly one workflow"));
        }
        let look = |db: &Db<'_>, project: &Project| {
            files.iter().try_for_each(|file| self.unless_changed(db, project, &file.model.name))?;
            let done = files.iter().map(|file| file.standing(db, project)).collect::<Result<Vec<_>>>()?;
            self.unless_different(&files, &done)?;
            Ok((done, project.name.clone()))
        };
        let mut revisions = Vec::new();
        let (done, project) = match self.dry_run {
            true => context.read(look)?,
            false => {
                context.write("workflow.import", &workflow_names(&files, &self.subject()), |db, project, author| {
                    let (done, name) = look(db, project)?;
                    let message = self.message.as_deref();
                    let written = files.iter().zip(&done);
                    let written =
                        written.map(|(file, standing)| file.write(context, db, project, author, message, *standing));
                    revisions = written.collect::<Result<_>>()?;
                    Ok((done, name))
                })?
            }
        };
        if !self.dry_run {
            files.iter().try_for_each(|file| approval::approve(context, &project, &file.model.name, &file.text))?;
        }
        let warnings = files.iter().flat_map(|file| file.told()).collect::<Vec<_>>();
        let reply =
            Reply::new(Body::Table(table(&files, &done)), self.data(&project, &files, &done, &revisions, &left_out));
        let reply = Reply { failed: files.iter().any(|file| has_errors(&file.findings)), ..reply };
        Ok(left_out.iter().fold(reply.warn(warnings), |reply, path| {
            reply.hint(match path.ends_with('/') {
                true => format!("skipped the folder `{path}`; to import its files, name this folder too"),
                false => format!("skipped `{path}`: it has no `workflow` field"),
            })
        }))
    }
}

/// A file that contains a workflow.
struct File {
    path: String,
    text: String,
    model: Model,
    /// The fixtures from the file next to the workflow's file.
    fixtures: Fixtures,
    notes: Vec<String>,
    findings: Vec<Finding>,
}

/// The result of comparing a file with the workflow of the same name in the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    New,
    Same,
    Different,
}

impl Standing {
    const fn word(self) -> &'static str {
        match self {
            Standing::New => "created",
            Standing::Same => "unchanged",
            Standing::Different => "updated",
        }
    }
}

/// Reads the workflows of a file or folder.
fn gather(context: &Context, path: &Path, files: &mut Vec<File>, left_out: &mut Vec<String>) -> Result<()> {
    let read = |path: &Path| Text::File(path.to_owned()).read();
    if !path.is_dir() {
        files.push(match path == Path::new("-") {
            true => File::of(context, "standard input".to_owned(), Text::Input.read()?, Fixtures::new())?,
            false => File::of(context, path.display().to_string(), read(path)?, beside::of_file(path)?)?,
        });
        return Ok(());
    }
    let failed = |error| Error::file("read", path, error);
    let mut inside = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        inside.push(entry.map_err(failed)?.path());
    }
    inside.sort();
    left_out.extend(inside.iter().filter(|path| has_candidates(path)).map(|path| format!("{}/", path.display())));
    for path in inside.into_iter().filter(|path| is_candidate(path)) {
        let text = read(&path)?;
        let shown = path.display().to_string();
        match yaml::read(&text).value {
            Some(Value::Object(fields)) if !fields.contains_key("workflow") => left_out.push(shown),
            _ => files.push(File::of(context, shown, text, beside::of_file(&path)?)?),
        }
    }
    Ok(())
}

fn is_candidate(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file() && !beside::is_one(path)
}

/// Returns whether a path is a folder with at least one file that may be a workflow. Links are not followed, and a folder
/// that cannot be read counts as empty.
fn has_candidates(path: &Path) -> bool {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_folder && fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|entry| is_candidate(&entry.path())))
}

impl File {
    fn of(context: &Context, path: String, text: String, fixtures: Fixtures) -> Result<Self> {
        let Mended { text, notes } = mended(&text)?.unwrap_or(Mended { text, notes: Vec::new() });
        let (model, checked) = Model::checked(context, &text).map_err(|error| {
            let what = format!("`{path}` cannot be read as a workflow; nothing was imported");
            let details = error.details().cloned().unwrap_or_default();
            error.hints().iter().cloned().fold(Error::new(error.code(), what), Error::hint).with_details(details)
        })?;
        let findings = checked.findings;
        model::without_secrets(&findings).map_err(|error| error.hint(format!("see `{path}`")))?;
        Ok(Self { path, text, model, fixtures, notes, findings })
    }

    fn standing(&self, db: &Db<'_>, project: &Project) -> Result<Standing> {
        let Some(there) = workflows::find(db, project.id, &self.model.name)? else { return Ok(Standing::New) };
        let kept = beside::of_workflow(db, project.id, there.uuid)?;
        let has = |(name, fixture): (&String, &Fixture)| kept.get(name) == Some(fixture);
        let is_same = model::stored(db, there.blob)? == self.text && self.fixtures.iter().all(has);
        Ok(if is_same { Standing::Same } else { Standing::Different })
    }

    /// Stores the file, and returns the revision of the workflow.
    fn write(
        &self,
        context: &Context,
        db: &Db<'_>,
        project: &Project,
        author: Author<'_>,
        message: Option<&str>,
        standing: Standing,
    ) -> Result<i64> {
        let new = self.model.stored(&self.text);
        let change = |action| Change { message, ..Change::plain(action) };
        let written = match standing {
            Standing::Same => return Ok(workflows::get(db, project, &self.model.name)?.revision),
            Standing::New => workflows::insert(db, author, project, context.clock.uuid(), new, change(Action::Create))?,
            Standing::Different => {
                let before = workflows::get(db, project, &self.model.name)?;
                workflows::update(db, author, project, &before, new, change(Action::Update))?
            }
        };
        beside::keep(db, project.id, written.uuid, &self.fixtures, author.now)?;
        Ok(written.revision)
    }

    /// Returns the notes for a person: corrections and findings.
    fn told(&self) -> impl Iterator<Item = String> {
        let found = model::warnings(&self.findings).into_iter().map(|line| format!("{}:{line}", self.path));
        self.notes.iter().map(|note| format!("{}: {note}", self.path)).chain(found)
    }
}

impl Import {
    /// Refuses if the workflow is not at the revision that the user expects.
    fn unless_changed(&self, db: &Db<'_>, project: &Project, name: &str) -> Result<()> {
        let now = workflows::find(db, project.id, name)?.map_or(0, |workflow| workflow.revision);
        let Some(expected) = self.revision.filter(|expected| *expected != now) else { return Ok(()) };
        let (what, how) = match now {
            0 => ("does not exist".to_owned(), format!("see what happened to it with `mcpkg workflow history {name}`")),
            _ if expected == 0 => {
                (format!("exists, at revision {now}"), format!("see it with `mcpkg workflow show {name}`"))
            }
            _ => (
                format!("is at revision {now}, not {expected}"),
                format!("see what changed with `mcpkg workflow diff {name} {expected} {now}`"),
            ),
        };
        Err(Error::new(Code::ImportConflict, format!("Workflow '{name}' {what}; nothing was imported"))
            .hint(how)
            .with_details(json!({ "names": [name], "revision": now, "expected_revision": expected })))
    }

    /// Refuses to overwrite a different workflow, unless `--update` is given.
    fn unless_different(&self, files: &[File], done: &[Standing]) -> Result<()> {
        let differ = files.iter().zip(done).filter(|(_, standing)| **standing == Standing::Different);
        let names: Vec<&str> = differ.map(|(file, _)| file.model.name.as_str()).collect();
        if names.is_empty() || self.update {
            return Ok(());
        }
        let what = format!("{} would be overwritten; nothing was imported", plural::count(names.len(), "workflow"));
        Err(Error::new(Code::ImportConflict, what)
            .hint(format!("the stored text of these workflows differs: {}", names.join(", ")))
            .hint("--update replaces the stored text and keeps the old text as a revision; `mcpkg workflow show NAME` shows the stored \
                text")
            .with_details(json!({ "names": names })))
    }

    fn data(&self, project: &str, files: &[File], done: &[Standing], revisions: &[i64], left_out: &[String]) -> Value {
        let row = |(at, (file, standing)): (usize, (&File, &Standing))| {
            let mut row = json!({
                "name": file.model.name, "file": file.path, "action": standing.word(), "notes": file.notes,
                "findings": file.findings, "fixtures": file.fixtures.keys().collect::<Vec<_>>(),
            });
            // A dry run makes no revision.
            if let Some(revision) = revisions.get(at) {
                row["revision"] = json!(revision);
            }
            row
        };
        let workflows: Vec<Value> = files.iter().zip(done).enumerate().map(row).collect();
        json!({ "project": project, "dry_run": self.dry_run, "workflows": workflows, "left_out": left_out })
    }
}

/// Returns the names of the workflows in the files; `other` if there are none.
fn workflow_names(files: &[File], other: &str) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.model.name.as_str()).collect();
    if names.is_empty() { other.to_owned() } else { names.join(" ") }
}

fn table(files: &[File], done: &[Standing]) -> Table {
    let row = |(file, standing): (&File, &Standing)| {
        vec![
            file.model.name.clone(),
            standing.word().to_owned(),
            file.model.definition.steps.len().to_string(),
            file.path.clone(),
        ]
    };
    Table {
        columns: &["NAME", "ACTION", "STEPS", "FILE"],
        rows: files.iter().zip(done).map(row).collect(),
        empty: "No workflows to import".to_owned(),
    }
}
