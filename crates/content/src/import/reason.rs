//! Why a file is left out of an import.

/// Why a file, or a whole folder, is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// An agent's file that is malformed.
    Malformed,
    /// An agent's file that may hold a secret.
    Secret,
    /// A folder that this user may not read. It counts as one file, since nobody knows how many it holds.
    Unreadable,
    /// In an agent's folder, and nothing that it reads from there.
    NoPlace,
    /// Not UTF-8 text, although text is needed.
    NotText,
    /// Empty, although text is needed.
    Empty,
    /// Hidden, and in no agent's folder.
    Hidden,
    /// An ignore file of version control names it.
    Ignored,
    /// What a package manager installed.
    Installed,
    VersionControl,
    /// Excluded by `--only`.
    NotNamed,
    /// A link that leads out of the folder.
    LinkOut,
    /// A link that leads nowhere.
    LinkBroken,
    /// A link to a folder that contains it.
    LinkLoop,
    /// Neither a file nor a folder.
    Special,
    /// The database that is imported into.
    Database,
    /// Another repository in a repository.
    Submodule,
    /// A path that no folder takes, such as one with `..` in it.
    BadPath,
    /// A text in which a merge is not finished.
    Unmerged,
    /// A name that is not UTF-8 text: stored under another one, it would not come back, and could be another's.
    NotTextName,
}

impl Reason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            Reason::Malformed => "cannot be read in its agent's format",
            Reason::Secret => "may contain a secret",
            Reason::Unreadable => "cannot be read by this user",
            Reason::NoPlace => "in an agent's folder, but not a command, skill, rule or subagent",
            Reason::NotText => "no UTF-8 text",
            Reason::Empty => "no text",
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

    /// Whether the file would be imported without this problem, as far as mcpkg knows.
    pub const fn is_known(self) -> bool {
        matches!(self, Reason::Malformed | Reason::Secret | Reason::Unreadable)
    }
}

/// A file or folder that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path; a folder's ends with `/`.
    pub path: String,
    pub reason: Reason,
    /// The number of files: those below a folder, or one.
    pub files: u64,
}

impl LeftOut {
    /// Returns a file that is left out.
    pub fn file(path: impl Into<String>, reason: Reason) -> Self {
        Self { path: path.into(), reason, files: 1 }
    }
}
