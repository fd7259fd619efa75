//! A spec as it is read from its folder.

use std::ffi::OsStr;
use std::rc::Rc;

use super::decisions;
use super::markdown::Markdown;
use super::metadata::{self, Metadata};
use super::questions::{self, Question};
use super::scaffold::SPECS;
use super::tasks::{self, Task};
use super::trees::{Found, Trees};
use mcpkg_base::disk::folder::{Folder, Kind};
use mcpkg_base::error::{Code, Error, Result};

/// Bytes of the largest document that is read.
pub(super) const MAX_DOCUMENT: u64 = 4 << 20;

/// The depth of folders below `specs/` that spec files are looked for in.
const MAX_DEPTH: usize = 8;

/// A document of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Why, and what changes.
    Proposal,
    /// How, and why so.
    Design,
    /// What is to be done.
    Tasks,
}

impl Which {
    /// The name of its file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Proposal => "proposal.md",
            Self::Design => "design.md",
            Self::Tasks => "tasks.md",
        }
    }
}

pub(super) struct Spec {
    /// Where it was found.
    pub(super) found: Found,
    /// Its folder, relative to the workspace's root.
    pub(super) folder: String,
    pub(super) proposal: Document,
    pub(super) design: Document,
    pub(super) tasks: Document,
    /// `None` where it has no metadata.
    pub(super) metadata: Option<Metadata>,
    /// Whether there is a Markdown file below `specs/`.
    pub(super) has_spec_file: bool,
}

/// A document as it was found.
pub(super) enum Document {
    /// It is not there.
    Missing,
    /// It is there and cannot be read, for this reason.
    Unreadable(String),
    Read(Markdown),
}

impl Document {
    /// What it holds, where it could be read.
    pub(super) fn markdown(&self) -> Option<&Markdown> {
        match self {
            Self::Read(markdown) => Some(markdown),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }

    fn of(folder: &Folder, which: Which) -> Self {
        match text(folder, OsStr::new(which.file())) {
            Ok(Some(text)) => Self::Read(Markdown::read(&text)),
            Ok(None) => Self::Missing,
            Err(error) => Self::Unreadable(error.message().to_owned()),
        }
    }
}

impl Spec {
    /// Reads a spec. What is wrong with its documents is not a failure.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where its folder is missing.
    pub(super) fn open(trees: &mut Trees, found: Found) -> Result<Self> {
        let folder = folder_of(trees, &found)?;
        let metadata = match text(&folder, OsStr::new(metadata::FILE)) {
            Ok(text) => text.map(|text| Metadata::read(&text)),
            Err(error) => Some(Metadata::unreadable(error.message())),
        };
        let has_spec_file = has_markdown(trees, &found.path.join(SPECS), MAX_DEPTH);
        Ok(Self {
            folder: trees.relative(&found.path),
            proposal: Document::of(&folder, Which::Proposal),
            design: Document::of(&folder, Which::Design),
            tasks: Document::of(&folder, Which::Tasks),
            metadata,
            has_spec_file,
            found,
        })
    }

    /// Its tasks in order.
    pub(super) fn tasks(&self) -> Vec<Task> {
        self.tasks.markdown().map(tasks::of).unwrap_or_default()
    }

    /// The questions that are open.
    pub(super) fn questions(&self) -> Vec<Question> {
        self.design.markdown().map(questions::of).unwrap_or_default()
    }

    /// Whether a section of the proposal says something.
    pub(super) fn proposes(&self, title: &str) -> bool {
        let sections = self.proposal.markdown().into_iter().flat_map(|proposal| proposal.titled(title));
        sections.flatten().any(|section| section.blocks.iter().any(|block| block.says_something()))
    }

    /// Whether the design has a decision with a choice and a rationale.
    pub(super) fn decides(&self) -> bool {
        self.design.markdown().is_some_and(|design| decisions::of(design).iter().any(|decision| decision.is_complete()))
    }

    /// The branch that it is worked on in: the one that its metadata names, else that of the feature of its name.
    pub(super) fn branch(&self, feature_prefix: &str) -> String {
        let named = self.metadata.as_ref().and_then(|metadata| metadata.branch.clone());
        named.unwrap_or_else(|| format!("{feature_prefix}{}", self.found.plain_name()))
    }
}

/// Returns the folder of a spec.
///
/// # Errors
/// `E_NOT_FOUND` where it is gone.
pub(super) fn folder_of(trees: &mut Trees, found: &Found) -> Result<Rc<Folder>> {
    let gone = || Error::new(Code::NotFound, format!("Spec '{}' no longer exists", found.qualified()));
    trees.open(&found.path)?.ok_or_else(gone)
}

/// Returns a text file of a folder; `None` where nothing is there.
///
/// # Errors
/// `E_IO_INVALID_PATH` where it is a link or no file; `E_FILE_FAILED` where it is too large or no UTF-8.
pub(super) fn text(folder: &Folder, name: &OsStr) -> Result<Option<String>> {
    if folder.entry(name)?.is_none() {
        return Ok(None);
    }
    let bytes = folder.read(name, MAX_DOCUMENT)?;
    let no_text = |_| Error::new(Code::FileFailed, format!("`{}` is not UTF-8 text", name.display()));
    String::from_utf8(bytes).map(Some).map_err(no_text)
}

/// Whether a Markdown file lies in a folder, or in one below it. What cannot be read holds none.
fn has_markdown(trees: &mut Trees, path: &std::path::Path, depth: usize) -> bool {
    let Ok(Some(folder)) = trees.open(path) else { return false };
    let names = folder.names().unwrap_or_default();
    let kinds: Vec<_> = names.iter().map(|name| folder.entry(name).ok().flatten().map(|entry| entry.kind)).collect();
    let is_markdown = |name: &OsStr| name.as_encoded_bytes().ends_with(b".md");
    if names.iter().zip(&kinds).any(|(name, kind)| *kind == Some(Kind::File) && is_markdown(name)) {
        return true;
    }
    let below = names.iter().zip(&kinds).filter(|(_, kind)| **kind == Some(Kind::Folder));
    depth > 0 && below.into_iter().any(|(name, _)| has_markdown(trees, &path.join(name), depth - 1))
}
