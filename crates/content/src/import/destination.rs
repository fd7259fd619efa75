//! The project that an import goes into: the one that applies, or a new one.

use std::path::{Path, PathBuf};

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_core::op::{Body, Context};
use mcpkg_store::projects::{self, Project};

/// Where an import goes.
pub(super) struct Destination {
    context: Context,
    /// The project that has to be made first.
    new: Option<String>,
    /// The one that was made, and whether it is selected.
    made: Option<(Project, bool)>,
}

impl Destination {
    /// Finds it, before anything is read: a person at a terminal is asked for the name of a first project.
    ///
    /// # Errors
    /// `E_ALREADY_EXISTS`, `E_INVALID_ARGUMENT` for the new one's name; `E_NO_PROJECT`, `E_NOT_FOUND` if none applies.
    pub(super) fn find(context: &Context, create: Option<&str>, asks: bool, paths: &[PathBuf]) -> Result<Self> {
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

    /// What the import runs in; the new project is made by [`Destination::made`].
    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Creates the new project, and returns the context of the import.
    pub(super) fn made(&mut self) -> Result<&Context> {
        if let Some(name) = &self.new {
            let (uuid, now) = (self.context.clock.uuid(), self.context.clock.now());
            let made =
                self.context.write_project("project.create", name, |db| projects::insert(db, uuid, name, now))?;
            self.made = Some(made);
        }
        Ok(&self.context)
    }

    /// Deletes the new project after a failed import, and returns the error of the import.
    pub(super) fn taken_back(&self, error: Error) -> Error {
        let Some((made, _)) = &self.made else { return error };
        match self.context.write_project("project.delete", &made.name, |db| projects::delete(db, &made.name).map(drop))
        {
            Ok(()) => error,
            Err(_) => error.hint(format!("delete the new project with `mcpkg project delete {}`", made.name)),
        }
    }

    /// Returns a hint to select the new project, if it is not selected.
    pub(super) fn hint(&self) -> Option<String> {
        let (made, is_selected) = self.made.as_ref()?;
        (!is_selected).then(|| format!("select the new project with `mcpkg project select {}`", made.name))
    }
}

/// Asks for the name of the first project. If nobody can answer, the error says how to create one.
fn named(context: &Context, none: Error, asks: bool, paths: &[PathBuf]) -> Result<String> {
    let none = none.hint("create a project and import into it with `mcpkg import PATH --create-project NAME`");
    if !asks || context.shows_data {
        return Err(none);
    }
    let usual = usual(paths);
    let note =
        Body::lines(["No project is selected. Imported files belong to a project, so mcpkg can create one now."]);
    match (context.line)(note, &format!("Name of the new project [{usual}]:")) {
        Ok(name) if name.trim().is_empty() => Ok(usual),
        Ok(name) => Ok(name.trim().to_owned()),
        Err(error) if error.code() == Code::TerminalRequired => Err(none),
        Err(error) => Err(error),
    }
}

/// Returns the name of the imported folder, or `main` if that is not a valid name of a project.
fn usual(paths: &[PathBuf]) -> String {
    let of_folder = |path: &Path| {
        let path = path.canonicalize().ok()?;
        let folder = if path.is_dir() { path.as_path() } else { path.parent()? };
        folder.file_name()?.to_str().map(str::to_owned)
    };
    let name = paths.first().and_then(|path| of_folder(path)).filter(|name| !name.starts_with('.'));
    name.filter(|name| names::check("Project", name).is_ok()).unwrap_or_else(|| "main".to_owned())
}
