//! Names that complete an argument on a shell's command line.

use super::Domains;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::page::Page;
use mcpkg_store::projects::{self, Project, Selection};

/// Where the names come from that an argument takes. A field says it with `#[arg(add = NAMES)]`.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// They stand in the database.
    Stored(fn(&Typed<'_>) -> Result<Vec<Name>>),
    /// They are the same for everybody.
    Known(fn(Domains) -> Vec<String>),
}

impl clap::builder::ArgExt for Names {}

/// The beginning of a name, as it was typed.
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    pub db: &'a Db<'a>,
    /// What is known about the project.
    pub selection: &'a Selection,
    /// What was typed of it.
    pub prefix: &'a str,
    /// The most names to return.
    pub limit: usize,
}

/// A name, with what tells it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub name: String,
    /// A few words that a shell shows beside it.
    pub about: Option<String>,
}

impl Names {
    /// The projects of the database.
    pub const PROJECTS: Self = Self::Stored(|typed| {
        let projects = projects::list(typed.db, &Page::all())?.rows;
        Ok(typed.matching(projects.into_iter().map(|summary| summary.project.name)))
    });
}

impl Typed<'_> {
    /// Returns the project that applies, if any.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where the selection names one that does not exist.
    pub fn project(&self) -> Result<Option<Project>> {
        projects::resolve(self.db, self.selection)
    }

    /// Returns those names that begin as it was typed.
    pub fn matching(&self, names: impl IntoIterator<Item = String>) -> Vec<Name> {
        names.into_iter().filter(|name| name.starts_with(self.prefix)).take(self.limit).map(Name::from).collect()
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self { name, about: None }
    }
}
