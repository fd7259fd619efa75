//! Manifests: what a package says of itself.

mod action;
mod fields;
mod files;
mod node;
mod problem;
mod read;
#[cfg(test)]
mod tests;
mod types;
pub mod unit;

use std::io::ErrorKind;
use std::path::Path;

use semver::Version;
use serde_json::Value;

use self::node::{Node, Place, Tree};
use self::problem::Problems;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

pub use files::{FILES, Find, MAX_FILE};
pub use problem::{Kind, Problem};
pub use types::{Action, Base, MAIN, Manifest, Resources, Variable};

/// A manifest that was read, and what is to say of it.
#[derive(Debug)]
pub struct Checked {
    /// The file that leads.
    pub file: &'static str,
    pub raw: String,
    /// The manifest, where nothing is wrong with it.
    pub manifest: Option<Manifest>,
    pub errors: Vec<Problem>,
    /// What could be better.
    pub warnings: Vec<Problem>,
}

impl Checked {
    /// Returns the manifest.
    ///
    /// # Errors
    /// `E_MANIFEST_INVALID` with every error, and what is to say also.
    pub fn manifest(self) -> Result<Manifest> {
        self.manifest.ok_or_else(|| problem::refusal(&self.errors, &self.warnings))
    }
}

/// Reads the manifest among the files that `find` gives.
///
/// # Errors
/// `E_MANIFEST_INVALID` where there is none.
pub fn read(find: Find<'_>) -> Result<Checked> {
    let mut problems = Problems::default();
    let Some(sources) = files::sources(find, &mut problems)? else {
        let message = "There is no manifest";
        return Err(Error::new(Code::ManifestInvalid, message)
            .with_details(serde_json::json!({ "errors": [{ "path": "", "message": message, "code": "missing" }] }))
            .hint(format!("add one of {}, or create a package with `mcpkg tool init`", FILES.join(", "))));
    };
    let (file, raw) = (sources.file, sources.raw.clone());
    // Errors in fields are reported if there are any fields.
    let manifest = match problems.errors.is_empty() {
        true => read::manifest(sources, &mut problems),
        false => None,
    };
    let Problems { errors, warnings } = problems;
    Ok(Checked { file, raw, manifest, errors, warnings })
}

/// Reads the manifest of the package in a folder.
///
/// # Errors
/// `E_NOT_FOUND` where there is no such folder, `E_MANIFEST_INVALID` where it has no manifest, `E_FILE_FAILED`.
pub fn of_folder(folder: &Path) -> Result<Checked> {
    match std::fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => {
            let message = format!("`{}` is a file, but a package must be a folder", folder.display());
            return Err(Error::new(Code::InvalidArgument, message));
        }
        Err(error) => return Err(super::missing::missing(folder, error)),
    }
    read(&mut |name| {
        let path = folder.join(name);
        // One byte more is an error of the manifest's.
        match file::read(&path, MAX_FILE + 1) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", &path, error)),
        }
    })
}

impl Manifest {
    /// Reads a manifest that is kept as JSON: [`Manifest::json`] of another one, or what a registry says.
    pub fn from_json(json: &Value) -> Result<Self> {
        const FILE: &str = "manifest.json";
        let mut problems = Problems::default();
        let Tree::Mapping(fields) = Node::json(FILE, json).value else {
            return Err(Error::new(Code::ManifestInvalid, "The manifest is not a mapping"));
        };
        let at = Place { file: FILE, line: 0, column: 0 };
        let sources = files::Sources { file: FILE, raw: String::new(), fields, at, doc: None };
        let manifest = read::manifest(sources, &mut problems);
        manifest.ok_or_else(|| problem::refusal(&problems.errors, &[]))
    }

    /// Whether there is nothing to run: a call answers its documentation.
    pub fn is_document(&self) -> bool {
        self.actions.is_empty()
    }

    /// Returns the shell commands that make its files ready, in the order in which they are run.
    pub fn builds(&self) -> Vec<String> {
        self.build.iter().chain(&self.postinstall).cloned().collect()
    }

    /// Returns the action that a call means: the one named, else `main`, else the only one. `None` for a document.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` where there is no such action, or none is named and there are several.
    pub fn action(&self, name: Option<&str>) -> Result<Option<&Action>> {
        let names: Vec<&str> = self.actions.iter().map(|action| action.name.as_str()).collect();
        let named = |name: &str| self.actions.iter().find(|action| action.name == name);
        match (name, self.actions.as_slice()) {
            (None | Some(MAIN), []) => Ok(None),
            (None | Some(MAIN), [only]) => Ok(Some(only)),
            (Some(name), actions) => named(name).map(Some).ok_or_else(|| {
                let message = format!("{} has no action '{}'", self.name, name.escape_debug());
                let known = match actions {
                    [] => "it is a document, and documents have no actions".to_owned(),
                    _ => format!("its actions are {}", names.join(", ")),
                };
                Error::new(Code::InvalidArgument, message).suggest(name, names.iter().copied(), known)
            }),
            (None, _) => named(MAIN).map(Some).ok_or_else(|| {
                let message = format!("{} has several actions; choose one", self.name);
                Error::new(Code::InvalidArgument, message).hint(format!(
                    "append an action to the name, as in `:{1}`; the actions are {0}",
                    names.join(", "),
                    names[0]
                ))
            }),
        }
    }

    /// Returns what is projected as tools: each action with the name that [`mcp_name`](super::mcp_name) takes. The only
    /// action of a package counts as the main one, and so does a document.
    pub fn projected(&self) -> Vec<(Option<&str>, Option<&Action>)> {
        match self.actions.as_slice() {
            [] => vec![(None, None)],
            [only] => vec![(None, Some(only))],
            several => {
                let name = |action: &Action| action.name != MAIN;
                several
                    .iter()
                    .map(|action| (Some(action.name.as_str()).filter(|_| name(action)), Some(action)))
                    .collect()
            }
        }
    }

    /// Returns the version.
    ///
    /// # Errors
    /// `E_MANIFEST_INVALID` where it has none, or a name that no registry takes: `verb` says what for.
    pub fn published(&self, verb: &str) -> Result<&Version> {
        let wrong = |path: &str, message: String, hint: &str| {
            let errors = serde_json::json!([{ "path": path, "message": message, "code": "missing" }]);
            Err(Error::new(Code::ManifestInvalid, message)
                .with_details(serde_json::json!({ "errors": errors }))
                .hint(hint))
        };
        if !self.name.is_publishable() {
            let message = format!(
                "'{}' has only one segment: you can run the tool by its path, but it cannot be {verb}",
                self.name
            );
            return wrong("/name", message, "put the publisher in front of the name, as in alice/weather");
        }
        match &self.version {
            Some(version) => Ok(version),
            None => {
                wrong("/version", format!("{} has no version and cannot be {verb}", self.name), "add `version: 1.0.0`")
            }
        }
    }

    /// Returns its name and version as users write them.
    pub fn reference(&self) -> String {
        self.version.as_ref().map_or(self.name.to_string(), |version| format!("{}@{version}", self.name))
    }
}
