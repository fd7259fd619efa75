//! `mcpkg project ...`: manages projects. None of these operations is a tool, because agents do not manage projects.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{
    Body, Changes, Context, Effect, Faces, MissingDatabase, Names, NoOutput, Operation, Reply, Table,
};
use mcpkg_store::Db;
use mcpkg_store::deploys;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Project, Reason};

/// Create a project
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Project name (alphanumeric, hyphens, underscores, dots)
    name: String,
}

impl Operation for Create {
    const TOOL: &'static str = "create_project";
    const CLI: &'static [&'static str] = &["project", "create"];
    const TITLE: &'static str = "Create project";
    const ABOUT: &'static str = "Create a project; the first project is selected automatically";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project create auth-module"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Project", &self.name)?;
        let (project, selected) = context.write_project("project.create", &self.name, |db| {
            projects::insert(db, context.clock.uuid(), &self.name, context.clock.now())
        })?;
        let reply = Reply::sentence(
            format!("Created project '{}'", project.name),
            data(&project, json!({ "selected": selected })),
        );
        Ok(if selected {
            reply.hint(format!("'{}' is the first project, so mcpkg selected it", project.name))
        } else {
            reply.hint(format!("select it with `mcpkg project select {}`", project.name))
        })
    }
}

/// List projects
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_projects";
    const CLI: &'static [&'static str] = &["project", "list"];
    const TITLE: &'static str = "List projects";
    const ABOUT: &'static str = "List the projects in the database";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("projects");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let projects = context.store.read(|db| projects::list(db, &Page::all()))?.rows;
        let rows = projects
            .iter()
            .map(|summary| {
                vec![
                    if summary.selected { "*".to_owned() } else { String::new() },
                    summary.project.name.clone(),
                    summary.prompts.to_string(),
                    summary.resources.to_string(),
                    rfc3339(summary.project.created_at),
                ]
            })
            .collect();
        let data: Vec<Value> = projects
            .iter()
            .map(|summary| {
                let counts =
                    json!({ "prompts": summary.prompts, "resources": summary.resources, "selected": summary.selected });
                data(&summary.project, counts)
            })
            .collect();
        let table = Table {
            columns: &["", "NAME", "PROMPTS", "RESOURCES", "CREATED"],
            rows,
            empty: "No projects yet. Create one with `mcpkg project create NAME`".to_owned(),
        };
        Ok(Reply::new(Body::Table(table), json!({ "projects": data })))
    }
}

/// Show a project
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Project name [default: the project used in this folder]
    #[arg(add = Names::PROJECTS)]
    name: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "show_project";
    const CLI: &'static [&'static str] = &["project", "show"];
    const TITLE: &'static str = "Show project";
    const ABOUT: &'static str = "Show a project: its contents, and the folders that are bound to the project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project show", "mcpkg project show auth-module --json"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (summary, bindings) = context.store.read(|db| {
            let project = match &self.name {
                Some(name) => projects::get(db, name)?,
                None => projects::require(db, &context.selection)?,
            };
            let summary = projects::summary(db, project)?;
            let bindings = projects::bindings(db, summary.project.id)?;
            Ok((summary, bindings))
        })?;
        let project = &summary.project;
        let mut text = format!(
            "{}\n  id:        {}\n  created:   {}\n  prompts:   {}\n  resources: {}\n  selected:  {}\n",
            project.name,
            project.uuid,
            rfc3339(project.created_at),
            summary.prompts,
            summary.resources,
            if summary.selected { "yes" } else { "no" },
        );
        for path in &bindings {
            text.push_str(&format!("  bound to:  {path}\n"));
        }
        let more = json!({
            "prompts": summary.prompts,
            "resources": summary.resources,
            "selected": summary.selected,
            "directories": bindings,
        });
        Ok(Reply::new(Body::Text(text), data(project, more)))
    }
}

/// Select a project
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Select {
    /// Project name
    #[arg(add = Names::PROJECTS)]
    name: String,
    /// Bind the project to the current folder and its subfolders, instead of selecting the project globally
    #[arg(long)]
    #[serde(default)]
    here: bool,
}

impl Operation for Select {
    const TOOL: &'static str = "select_project";
    const CLI: &'static [&'static str] = &["project", "select"];
    const TITLE: &'static str = "Select project";
    const ABOUT: &'static str = "Select the project to use by default; running servers switch to it immediately";
    const HELP: &'static str = "mcpkg uses the first of these that is set: the project given with --project, the \
        project named in MCPKG_PROJECT, the project bound to the working directory or to a folder above it, the \
        selected project.\n\n\
        `mcpkg project unbind` undoes `mcpkg project select --here`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg project select auth-module", "mcpkg project select auth-module --here"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let directory = &context.selection.directory;
        if self.here && directory.is_empty() {
            return Err(Error::new(
                Code::InvalidArgument,
                "The working directory is unknown, so the project cannot be bound to it",
            ));
        }
        let project = context.write_project("project.select", &self.name, |db| {
            if self.here { projects::bind(db, &self.name, directory) } else { projects::select(db, &self.name) }
        })?;
        let name = &project.name;
        let (sentence, more) = if self.here {
            (
                format!("Selected project '{name}' for {directory} and the folders below it"),
                json!({ "directory": directory }),
            )
        } else {
            (format!("Selected project '{name}'"), json!({}))
        };
        let reply = Reply::sentence(sentence, data(&project, more));
        // A stronger setting may override the selection. Without this hint, selecting would seem to have failed.
        let applies = context.store.read(|db| projects::resolve(db, &context.selection)).ok().flatten();
        Ok(match applies {
            Some(other) if other.id != project.id => reply.hint(format!(
                "in this folder, mcpkg still uses project '{}'; `mcpkg project current` shows why",
                other.name
            )),
            _ => reply,
        })
    }
}

/// Remove a folder's binding
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unbind {
    /// Folder to unbind [default: the working directory]
    folder: Option<PathBuf>,
}

impl Operation for Unbind {
    const TOOL: &'static str = "unbind_folder";
    const CLI: &'static [&'static str] = &["project", "unbind"];
    const TITLE: &'static str = "Unbind folder";
    const ABOUT: &'static str = "Undo `project select --here`; the project itself does not change";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project unbind", "mcpkg project unbind ../gone"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let directory = match &self.folder {
            Some(folder) => stored(folder),
            None => Some(context.selection.directory.clone()).filter(|directory| !directory.is_empty()),
        };
        let directory = directory
            .ok_or_else(|| Error::new(Code::InvalidArgument, "The folder's path is unknown or not valid UTF-8"))?;
        let author = context.author();
        let project = context.store.write(|db| {
            let project = projects::unbind(db, &directory)?;
            context.event(db, author, Some(&project.name), "project.unbind", &directory)?;
            Ok(project)
        })?;
        let sentence = format!("Unbound {directory} from project '{}'", project.name);
        let reply = Reply::sentence(sentence, data(&project, json!({ "directory": directory })));
        let applies = context.store.read(|db| projects::resolve(db, &context.selection)).ok().flatten();
        Ok(match applies {
            Some(now) => reply.hint(format!(
                "in this folder, mcpkg now uses project '{}'; `mcpkg project current` shows why",
                now.name
            )),
            None => reply,
        })
    }
}

/// Returns the path under which a folder was bound. If the folder still exists, links in the path are resolved, as when it
/// was bound.
fn stored(folder: &Path) -> Option<String> {
    projects::Selection::folder(&mcpkg_base::platform::real(folder).or_else(|_| std::path::absolute(folder)).ok()?)
}

/// Show which project applies
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Current {}

impl Operation for Current {
    const TOOL: &'static str = "current_project";
    const CLI: &'static [&'static str] = &["project", "current"];
    const TITLE: &'static str = "Current project";
    const ABOUT: &'static str = "Show which project mcpkg uses in this folder, and why";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project current"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (project, reason) = context.store.read(|db| {
            let project = projects::require(db, &context.selection)?;
            let reason = projects::reason(db, &context.selection)?;
            Ok((project, reason))
        })?;
        let (why, more) = match &reason {
            Reason::Named(by) => (format!("named by {by}"), json!({ "reason": "named", "by": by })),
            Reason::Bound(path) => (format!("bound to {path}"), json!({ "reason": "bound", "directory": path })),
            Reason::Selected => ("selected".to_owned(), json!({ "reason": "selected" })),
        };
        Ok(Reply::sentence(format!("{} ({why})", project.name), data(&project, more)))
    }
}

/// Rename a project
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Rename {
    /// Project name
    #[arg(add = Names::PROJECTS)]
    name: String,
    /// New name of the project
    to: String,
}

impl Operation for Rename {
    const TOOL: &'static str = "rename_project";
    const CLI: &'static [&'static str] = &["project", "rename"];
    const TITLE: &'static str = "Rename project";
    const ABOUT: &'static str = "Rename a project; its content, selection and folder bindings stay the same";
    const EXAMPLES: &'static [&'static str] = &["mcpkg project rename auth-module auth"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Project", &self.to)?;
        let project =
            context.write_project("project.rename", &self.name, |db| projects::rename(db, &self.name, &self.to))?;
        Ok(Reply::sentence(format!("Renamed project '{}' to '{}'", self.name, self.to), data(&project, json!({}))))
    }
}

/// Delete a project
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Delete {
    /// Project name
    #[arg(add = Names::PROJECTS)]
    name: String,
}

impl Operation for Delete {
    const TOOL: &'static str = "delete_project";
    const CLI: &'static [&'static str] = &["project", "delete"];
    const TITLE: &'static str = "Delete project";
    const ABOUT: &'static str = "Delete a project with all its content and history; only a backup can restore it";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg project delete auth-module", "mcpkg project delete auth-module --yes"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Delete project '{}' with its prompts, resources and their history?", self.name)
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandInUnlessNamed
    }

    fn look(&self, context: &Context) -> Result<()> {
        context.store.read(|db| self.is_deletable(db))
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let project = context.write_project("project.delete", &self.name, |db| {
            self.is_deletable(db)?;
            projects::delete(db, &self.name)
        })?;
        Ok(Reply::sentence(format!("Deleted project '{}'", project.name), data(&project, json!({}))))
    }
}

impl Delete {
    /// Fails if the project does not exist, or if its files are still deployed.
    fn is_deletable(&self, db: &Db<'_>) -> Result<()> {
        let project = projects::get(db, &self.name)?;
        match deploys::root_of_source(db, &deploys::project_source(project.uuid))? {
            Some(root) => Err(still_deployed(&project, &root)),
            None => Ok(()),
        }
    }
}

/// Returns the error for deleting a project while its files are still deployed. Without the project, nobody could roll
/// the deploy back.
fn still_deployed(project: &Project, root: &str) -> Error {
    let name = &project.name;
    Error::new(
        Code::DeployedFiles,
        format!("Cannot delete project '{name}': agents still read its deployed files below `{root}`"),
    )
    .with_details(json!({ "name": name, "root": root }))
    .hint(format!("roll back these files first: `mcpkg rollback --project {name} --root {root} --to pristine`"))
}

fn data(project: &Project, more: Value) -> Value {
    let mut data = json!({
        "name": project.name,
        "id": project.uuid.to_string(),
        "created_at": rfc3339(project.created_at),
    });
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
    }
    data
}
