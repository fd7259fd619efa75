//! Chooses the project that an import goes into: the current one, or a new one.

use std::path::{Path, PathBuf};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{Body, Context, Empty};
use mcpkg_store::projects::{self, Project};

/// The project that an import goes into.
pub struct ImportProject {
    context: Context,
    /// The name of the project that still has to be created.
    new: Option<String>,
    /// The project that was created, and whether it was selected.
    made: Option<(Project, bool)>,
}

impl ImportProject {
    /// Chooses the project before any file is read. If no project is selected, asks a person at a terminal for a name.
    pub fn find(context: &Context, create: Option<&str>, asks: bool, paths: &[PathBuf]) -> Result<Self> {
        let name = match create {
            Some(name) => Some(name.to_owned()),
            None => match context.read(|_, _| Ok(())) {
                Ok(()) => None,
                Err(error) if error.code() == Code::NoProject => Some(named(context, error, asks, paths)?),
                Err(error) => return Err(error),
            },
        };
        let mut context = context.clone();
        if let Some(name) = &name {
            names::check("Project", name)?;
            if context.store.read(|db| projects::get(db, name)).is_ok() {
                return Err(Error::new(Code::AlreadyExists, format!("Project '{name}' already exists"))
                    .hint(format!("import into it with `mcpkg --project {name} import PATH`")));
            }
            context.selection.named = Some(name.clone());
            context.selection.named_by = "--create-project";
        }
        Ok(Self { context, new: name, made: None })
    }

    /// Returns the context of the import. If the project is new, it exists only after [`ImportProject::made`].
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Creates the project if it is new, and returns the context of the import.
    pub fn made(&mut self) -> Result<&Context> {
        if let Some(name) = &self.new {
            let (uuid, now) = (self.context.clock.uuid(), self.context.clock.now());
            let made =
                self.context.write_project("project.create", name, |db| projects::insert(db, uuid, name, now))?;
            self.made = Some(made);
        }
        Ok(&self.context)
    }

    /// Deletes the new project after a failed import. Returns the error of the import.
    pub fn taken_back(&self, error: Error) -> Error {
        let Some((made, _)) = &self.made else { return error };
        match self.context.write_project("project.delete", &made.name, |db| projects::delete(db, &made.name).map(drop))
        {
            Ok(()) => error,
            Err(_) => error.hint(format!("delete the new project with `mcpkg project delete {}`", made.name)),
        }
    }

    pub fn hint(&self) -> Option<String> {
        let (made, is_selected) = self.made.as_ref()?;
        (!is_selected).then(|| format!("select the new project with `mcpkg project select {}`", made.name))
    }
}

/// Asks for the name of the new project. If nobody can answer, the error explains how to create one.
fn named(context: &Context, none: Error, asks: bool, paths: &[PathBuf]) -> Result<String> {
    let none = none.hint("create a project and import into it with `mcpkg import PATH --create-project NAME`");
    if !asks || context.shows_data {
        return Err(none);
    }
    let usual = usual(paths);
    let note =
        Body::lines(["No project is selected. Imported files belong to a project, so mcpkg can create one now."]);
    match (context.line)(note, &format!("Name of the new project [{usual}]:"), Empty::Answers) {
        Ok(name) if name.trim().is_empty() => Ok(usual),
        Ok(name) => Ok(name.trim().to_owned()),
        Err(error) if error.code() == Code::TerminalRequired => Err(none),
        Err(error) => Err(error),
    }
}

/// Suggests a project name: the name of the imported folder, or `main` if that name is not valid or begins with a dot.
fn usual(paths: &[PathBuf]) -> String {
    let of_folder = |path: &Path| {
        let path = mcpkg_base::platform::real(path).ok()?;
        let folder = if path.is_dir() { path.as_path() } else { path.parent()? };
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let name = paths.first().and_then(|path| of_folder(path)).filter(|name| !name.starts_with('.'));
    name.filter(|name| names::check("Project", name).is_ok()).unwrap_or_else(|| "main".to_owned())
}
