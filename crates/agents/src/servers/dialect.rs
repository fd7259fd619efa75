//! Describes where an agent reads MCP servers, and the format of its entries.

use super::document::{Document, Format};
use super::expansion::Expansion;
use mcpkg_store::servers::{Text, Transport};

/// The format in which an agent reads MCP servers, and the files in which it reads them.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The format of the agent's file, and the key that contains the servers.
    pub document: Document,
    /// The agent's file in a project, if it reads one; relative to the deploy root.
    pub project: Option<&'static str>,
    /// Another file in a project that the agent reads instead if both exist.
    pub hidden_by: Option<&'static str>,
    /// The keys that import keeps, which contain servers or hooks. `None` if the file contains nothing else.
    pub keeps: Option<&'static [&'static str]>,
    /// The references that the agent replaces with values.
    pub expansion: Expansion,
    /// The format of an entry.
    pub form: EntryForm,
    /// The fields for a URL, each with the transport that applies if the entry has no `type`.
    pub urls: &'static [(&'static str, Transport)],
    /// The transports that the agent supports.
    pub speaks: &'static [Transport],
    /// The `type` of an entry that starts a program, and whether an entry with a URL has a `type`.
    pub types: (Option<&'static str>, bool),
    /// Whether an entry can set the folder in which the program is started.
    pub cwd: bool,
    /// The key that enables or disables an entry, and its value for enabled.
    pub switch: Option<(&'static str, bool)>,
    /// Whether the agent starts only `.exe` files on Windows, so that `npx` needs `cmd /c` there.
    pub scripts_need_cmd: bool,
    /// Whether the agent reads a variable's value as a reference if the value looks like a variable's name.
    pub names_are_variables: bool,
}

/// The format of an agent's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm {
    /// The fields `command`, `args`, `env` and `headers`.
    Common,
    /// Codex's format. It has separate lists for variables and headers whose values are references.
    Codex,
    /// OpenCode's format: `command` is the whole command line, and `environment` contains the variables.
    OpenCode,
}

impl Dialect {
    /// The values that most agents share.
    pub const COMMON: Self = Self {
        document: Document::new(Format::Json { comments: false }, "mcpServers"),
        project: None,
        hidden_by: None,
        keeps: None,
        expansion: Expansion::NONE,
        form: EntryForm::Common,
        urls: &[("url", Transport::Http)],
        speaks: &Transport::ALL,
        types: (None, false),
        cwd: false,
        switch: None,
        scripts_need_cmd: false,
        names_are_variables: false,
    };

    /// Returns the dialect for the servers in a plugin's manifest.
    #[must_use]
    pub const fn in_manifest(self) -> Self {
        Self { document: Document::new(Format::Json { comments: true }, "mcpServers"), keeps: None, ..self }
    }

    /// Parses the references in a text, as the agent does.
    pub fn text(&self, text: &str) -> Text {
        self.expansion.read(text)
    }
}
