//! Defines the reasons to skip a file, and the notes that an import shows about single files.

use crate::item::File;
use mcpkg_base::error::Error;

/// The reason why a file or a whole folder is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A malformed file of an agent, or a malformed skill of a plugin.
    Malformed,
    /// A file that may contain a secret.
    Secret,
    /// A file with a critical audit finding that no person accepted, or another file of the same skill.
    Critical,
    /// A folder that this user may not read. It counts as one file, because the number of files in it is unknown.
    Unreadable,
    /// A file in an agent's folder that the agent does not read from there.
    NoPlace,
    /// A file that no agent reads, such as a program's source.
    Unread,
    /// A file of a skill in a folder where no agent looks, such as a translation, if agents find another skill of that
    /// name.
    OtherSkill,
    /// Instructions or settings at the root of somebody else's repository.
    Contributors,
    /// A file outside the plugins that the user chose.
    NotChosen,
    /// A file that is not UTF-8 text, where text is needed.
    NotText,
    /// An empty file, where text is needed.
    Empty,
    /// The apps of a Codex plugin, which only Codex can use.
    Apps,
    /// A hidden file outside agents' folders.
    Hidden,
    /// A file that an ignore file of version control excludes.
    Ignored,
    /// A folder that a package manager installed.
    Installed,
    VersionControl,
    /// Excluded by `--only`.
    NotNamed,
    /// A link that leads out of the imported folder.
    LinkOut,
    /// A link without a target.
    LinkBroken,
    /// A link to a folder that contains the link itself.
    LinkLoop,
    /// Neither a file nor a folder.
    Special,
    /// The database that the import writes to.
    Database,
    /// Another repository inside a repository.
    Submodule,
    /// A path that cannot be written to a folder, such as one with `..` in it.
    BadPath,
    /// A file with unresolved merge conflicts.
    Unmerged,
    /// A file whose name is not UTF-8. It could only be imported under a substitute name. That might be the name of
    /// another file, and an export would not restore the original name.
    NotTextName,
}

impl Reason {
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Malformed => "cannot be read in its agent's format",
            Reason::Secret => "may contain a secret",
            Reason::Critical => "critical audit findings",
            Reason::Unreadable => "cannot be read by this user",
            Reason::NoPlace => "in an agent's folder, but not a command, skill, rule or subagent",
            Reason::Unread => "no agent reads it",
            Reason::OtherSkill => "agents find another skill of that name",
            Reason::Contributors => "for contributors",
            Reason::NotChosen => "not in a chosen plugin",
            Reason::NotText => "no UTF-8 text",
            Reason::Empty => "no text",
            Reason::Apps => "apps of Codex, which no other agent has",
            Reason::Hidden => "hidden",
            Reason::Ignored => "listed in .gitignore",
            Reason::Installed => "node_modules",
            Reason::VersionControl => "version control",
            Reason::NotNamed => "not matched by --only",
            Reason::LinkOut => "a link that leads out of the folder",
            Reason::LinkBroken => "a broken link",
            Reason::LinkLoop => "a link to a folder that contains the link",
            Reason::Special => "neither a file nor a folder",
            Reason::Database => "the database",
            Reason::Submodule => "a submodule",
            Reason::BadPath => "not a valid file path",
            Reason::NotTextName => "its name is not UTF-8 text",
            Reason::Unmerged => "unmerged, with conflict markers",
        }
    }

    /// Returns whether mcpkg supports this file, and only this problem prevents its import.
    pub const fn is_known(self) -> bool {
        matches!(self, Reason::Malformed | Reason::Secret | Reason::Critical | Reason::Unreadable)
    }

    /// Returns whether the user can import such files with an option.
    pub const fn is_optional(self) -> bool {
        matches!(self, Reason::Unread | Reason::OtherSkill | Reason::Contributors | Reason::NotChosen)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path of the file or folder. A folder's path ends with `/`.
    pub path: String,
    pub reason: Reason,
    /// The number of skipped files: one, or all files in the folder.
    pub files: u64,
}

impl LeftOut {
    pub fn file(path: impl Into<String>, reason: Reason) -> Self {
        Self { path: path.into(), reason, files: 1 }
    }
}

/// A note for people about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The text, which continues a sentence that begins with the file's path.
    pub text: String,
}

impl Note {
    pub fn of(file: &File, line: Option<usize>, text: impl Into<String>) -> Self {
        Self { path: file.relative.clone(), line, text: text.into() }
    }
}

/// Adds the file's path to an error.
pub fn naming(file: &str, error: Error) -> Error {
    Error::new(error.code(), format!("`{file}` cannot be imported: {error}")).with_source(error)
}
