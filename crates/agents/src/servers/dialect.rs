//! Where an agent reads MCP servers, and how its entries look.

use super::document::{Document, Format};
use super::expansion::Expansion;
use mcpkg_store::servers::{Text, Transport};

/// An agent's form of MCP servers.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// How its file is written, and the key that holds the servers.
    pub document: Document,
    /// Its file in a project's folder, if it reads one.
    pub project: Option<&'static str>,
    /// The file in a project's folder that it reads instead of its own, if both exist.
    pub hidden_by: Option<&'static str>,
    /// The keys of a file that are the servers' or hooks; `None` if the file holds nothing else.
    pub keeps: Option<&'static [&'static str]>,
    /// What it fills in.
    pub expansion: Expansion,
    /// How its entries look.
    pub form: EntryForm,
    /// The fields that hold a URL, each with the transport that applies if there is no `type`.
    pub urls: &'static [(&'static str, Transport)],
    /// The transports that it speaks.
    pub speaks: &'static [Transport],
    /// The `type` of an entry that starts a program, and whether an entry with an address says its `type`.
    pub types: (Option<&'static str>, bool),
    /// Whether it reads the folder that a program is started in.
    pub cwd: bool,
    /// The key that switches an entry on or off, and its value for on.
    pub switch: Option<(&'static str, bool)>,
    /// Whether it takes a variable's text that is a variable's name for that variable.
    pub names_are_variables: bool,
}

/// How an agent's entries look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm {
    /// `command`, `args`, `env`, `headers`.
    Common,
    /// Codex's: variables and headers that are references stand in lists of their own.
    Codex,
    /// OpenCode's: `command` is the whole line, and `environment` its variables.
    OpenCode,
}

impl Dialect {
    /// What most agents have in common.
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
        names_are_variables: false,
    };

    /// Returns the form of the servers in the manifest of a plugin.
    #[must_use]
    pub const fn in_manifest(self) -> Self {
        Self { document: Document::new(Format::Json { comments: true }, "mcpServers"), keeps: None, ..self }
    }

    /// Reads a text as the agent does.
    pub fn text(&self, text: &str) -> Text {
        self.expansion.read(text)
    }
}
