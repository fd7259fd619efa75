//! Reads and checks manifests, the files that describe a tool package.

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

/// The result of reading a manifest: the manifest itself, errors and warnings.
#[derive(Debug)]
pub struct Checked {
    /// The main manifest file.
    pub file: &'static str,
    pub raw: String,
    /// The manifest, if it has no errors.
    pub manifest: Option<Manifest>,
    pub errors: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

impl Checked {
    /// Returns the manifest.
    ///
    /// # Errors
    /// `E_MANIFEST_INVALID` with all errors and warnings.
    pub fn manifest(self) -> Result<Manifest> {
        self.manifest.ok_or_else(|| problem::refusal(&self.errors, &self.warnings))
    }
}

/// Reads a manifest. `find` returns the contents of a package's file.
///
/// # Errors
/// `E_MANIFEST_INVALID` if there is no manifest, and the errors of `find`.
pub fn read(find: Find<'_>) -> Result<Checked> {
    let mut problems = Problems::default();
    let Some(sources) = files::sources(find, &mut problems)? else {
        let message = "There is no manifest";
        return Err(Error::new(Code::ManifestInvalid, message)
            .with_details(serde_json::json!({ "errors": [{ "path": "", "message": message, "code": "missing" }] }))
            .hint(format!("add one of {}, or create a package with `mcpkg tool init`", FILES.join(", "))));
    };
    let (file, raw) = (sources.file, sources.raw.clone());
    // The fields are only checked if the file itself could be parsed.
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
/// `E_NOT_FOUND` if the folder does not exist, `E_INVALID_ARGUMENT` if it is a file, `E_MANIFEST_INVALID` if it
/// contains no manifest, and the errors of reading a file.
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
        // A file of one byte too many is still read, so that the manifest's own check reports it. A larger one fails to
        // read.
        match file::read(&path, MAX_FILE + 1) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read", &path, error)),
        }
    })
}

impl Manifest {
    /// Reads a manifest that is stored as JSON: [`Manifest::json`], or the response of a registry.
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

    /// Returns whether the tool is a document: it runs nothing, and a call returns its documentation.
    pub fn is_document(&self) -> bool {
        self.actions.is_empty()
    }

    /// Returns the shell commands that prepare the tool before it can run, in order.
    pub fn builds(&self) -> Vec<String> {
        self.build.iter().chain(&self.postinstall).cloned().collect()
    }

    /// Returns the action with this name. No name means `main`, and `main` also means the only action of a package that
    /// has one. `None` for a document.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if there is no such action, or if a name is required because there are several.
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

    /// Returns the actions that become MCP tools, each with its argument for [`mcp_name`](super::mcp_name). The
    /// only action of a package counts as its main action, and so does a document.
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

    /// Returns the version of a manifest that is complete enough for a registry.
    ///
    /// # Errors
    /// `E_MANIFEST_INVALID` if the version is missing or registries do not accept the name. `verb` names the
    /// purpose in the message, such as `packed`.
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

    /// Returns `NAME@VERSION`, or the name alone without a version.
    pub fn reference(&self) -> String {
        self.version.as_ref().map_or(self.name.to_string(), |version| format!("{}@{version}", self.name))
    }
}
