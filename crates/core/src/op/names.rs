//! Shell completion for names.

use super::Domains;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Project, Selection};

/// The source of an argument's completions. A field declares it with `#[arg(add = NAMES)]`.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// Names in the database.
    Stored(fn(&Typed<'_>) -> Result<Vec<Name>>),
    /// Names that are the same for every database.
    Known(fn(Domains) -> Vec<String>),
}

impl clap::builder::ArgExt for Names {}

/// The part of a name that the user has typed so far.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    pub db: &'a Db<'a>,
    /// How the command line selects its project.
    pub selection: &'a Selection,
    pub prefix: &'a str,
    /// The maximum number of names to return.
    pub limit: usize,
}

/// A completed name, with a description that tells it apart from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub name: String,
    /// A few words that a shell shows next to the name.
    pub about: Option<String>,
}

impl Names {
    /// Shell completion for the names of projects.
    pub const PROJECTS: Self = Self::Stored(|typed| {
        let projects = projects::list(typed.db, &Page::all())?.rows;
        Ok(typed.matching(projects.into_iter().map(|summary| summary.project.name)))
    });
}

impl Typed<'_> {
    /// Returns the selected project, if any.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the selection names a project that does not exist.
    pub fn project(&self) -> Result<Option<Project>> {
        projects::resolve(self.db, self.selection)
    }

    /// Returns those names that begin with the typed prefix.
    pub fn matching(&self, names: impl IntoIterator<Item = String>) -> Vec<Name> {
        names.into_iter().filter(|name| name.starts_with(self.prefix)).take(self.limit).map(Name::from).collect()
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self { name, about: None }
    }
}
