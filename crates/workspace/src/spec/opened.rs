//! Reads a spec and its documents from its folder.

use std::ffi::OsStr;
use std::rc::Rc;

use super::decisions;
use super::markdown::Markdown;
use super::metadata::{self, Metadata};
use super::questions::{self, Question};
use super::scaffold::SPECS;
use super::tasks::{self, Task};
use super::trees::{SpecPlace, Trees};
use mcpkg_base::disk::folder::{Folder, Kind};
use mcpkg_base::error::{Code, Error, Result};

/// The maximum size of a document that is read, in bytes.
pub(super) const MAX_DOCUMENT: u64 = 4 << 20;

/// The maximum depth below `specs/` at which spec files are searched.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The document that says why a change is made, and what changes.
    Proposal,
    /// The document that says how the change is made, with the reasons.
    Design,
    /// The list of the work to do.
    Tasks,
}

impl Which {
    pub const fn file(self) -> &'static str {
        match self {
            Self::Proposal => "proposal.md",
            Self::Design => "design.md",
            Self::Tasks => "tasks.md",
        }
    }
}

pub(super) struct Spec {
    pub(super) found: SpecPlace,
    /// The folder, relative to the workspace's root.
    pub(super) folder: String,
    pub(super) proposal: Document,
    pub(super) design: Document,
    pub(super) tasks: Document,
    /// `None` if there is no metadata file.
    pub(super) metadata: Option<Metadata>,
    pub(super) has_spec_file: bool,
}

pub(super) enum Document {
    Missing,
    /// The document exists but cannot be read, for this reason.
    Unreadable(String),
    Read(Markdown),
}

impl Document {
    /// Returns the content, if the document could be read.
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
    /// Opens a spec. Unreadable documents are not errors; they become [`Document::Unreadable`].
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the folder no longer exists; `E_IO_INVALID_PATH` if a link leads out of the workspace.
    pub(super) fn open(trees: &mut Trees, found: SpecPlace) -> Result<Self> {
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

    pub(super) fn tasks(&self) -> Vec<Task> {
        self.tasks.markdown().map(tasks::of).unwrap_or_default()
    }

    /// Returns the open questions of the design.
    pub(super) fn questions(&self) -> Vec<Question> {
        self.design.markdown().map(questions::of).unwrap_or_default()
    }

    /// Returns whether the proposal has a section with this title that is not empty.
    pub(super) fn proposes(&self, title: &str) -> bool {
        let sections = self.proposal.markdown().into_iter().flat_map(|proposal| proposal.titled(title));
        sections.flatten().any(|section| section.blocks.iter().any(|block| block.says_something()))
    }

    /// Returns whether the design has a decision with a choice and a rationale.
    pub(super) fn decides(&self) -> bool {
        self.design.markdown().is_some_and(|design| decisions::of(design).iter().any(|decision| decision.is_complete()))
    }

    /// Returns the branch of the spec: the one in its metadata, or else the feature branch with the spec's name.
    pub(super) fn branch(&self, feature_prefix: &str) -> String {
        let named = self.metadata.as_ref().and_then(|metadata| metadata.branch.clone());
        named.unwrap_or_else(|| format!("{feature_prefix}{}", self.found.plain_name()))
    }
}

/// Opens the folder of a spec.
///
/// # Errors
/// `E_NOT_FOUND` if the folder no longer exists; `E_IO_INVALID_PATH` if a link leads out of the workspace.
pub(super) fn folder_of(trees: &mut Trees, found: &SpecPlace) -> Result<Rc<Folder>> {
    let gone = || Error::new(Code::NotFound, format!("Spec '{}' no longer exists", found.qualified()));
    trees.open(&found.path)?.ok_or_else(gone)
}

/// Reads a text file in a folder; `None` if there is no such file.
///
/// # Errors
/// `E_IO_INVALID_PATH` if it is a link or not a regular file; `E_FILE_FAILED` if it is too large or not UTF-8.
pub(super) fn text(folder: &Folder, name: &OsStr) -> Result<Option<String>> {
    if folder.entry(name)?.is_none() {
        return Ok(None);
    }
    let bytes = folder.read(name, MAX_DOCUMENT)?;
    let no_text = |_| Error::new(Code::FileFailed, format!("`{}` is not UTF-8 text", name.display()));
    String::from_utf8(bytes).map(Some).map_err(no_text)
}

/// Returns whether a folder contains a Markdown file, at most `depth` folders deep. Unreadable folders count as empty.
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
