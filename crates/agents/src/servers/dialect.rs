//! Where each agent reads MCP servers, and how its entries look.

use super::document::{Document, Format};
use super::expansion::Expansion;
use mcpkg_store::servers::{Text, Transport};

/// An agent's form of MCP servers.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub agent: &'static str,
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
    pub(super) form: Form,
    /// The fields that hold a URL, each with the transport that applies if there is no `type`.
    pub(super) urls: &'static [(&'static str, Transport)],
    /// The transports that it speaks.
    pub(super) speaks: &'static [Transport],
    /// The `type` of an entry that starts a program, and whether an entry with an address says its `type`.
    pub(super) types: (Option<&'static str>, bool),
    /// Whether it reads the folder that a program is started in.
    pub(super) cwd: bool,
    /// The key that switches an entry on or off, and its value for on.
    pub(super) switch: Option<(&'static str, bool)>,
    /// Whether it takes a variable's text that is a variable's name for that variable.
    pub(super) names_are_variables: bool,
}

impl PartialEq for Dialect {
    fn eq(&self, other: &Self) -> bool {
        self.agent == other.agent
    }
}

/// How an agent's entries look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `command`, `args`, `env`, `headers`.
    Common,
    /// Codex's: variables and headers that are references stand in lists of their own.
    Codex,
    /// OpenCode's: `command` is the whole line, and `environment` its variables.
    OpenCode,
}

const JSON: Format = Format::Json { comments: false };
const JSONC: Format = Format::Json { comments: true };
const ALL: &[Transport] = &Transport::ALL;
const URL: &[(&str, Transport)] = &[("url", Transport::Http)];
const BRACED: Expansion = Expansion { braced: true, ..Expansion::NONE };
const NAMED: Expansion = Expansion { named: Some("${env:"), ..Expansion::NONE };
const BARE: Expansion = Expansion { bare: true, ..BRACED };

/// What most agents have in common.
const COMMON: Dialect = Dialect {
    agent: "",
    document: Document::new(JSON, "mcpServers"),
    project: None,
    hidden_by: None,
    keeps: None,
    expansion: Expansion::NONE,
    form: Form::Common,
    urls: URL,
    speaks: ALL,
    types: (None, false),
    cwd: false,
    switch: None,
    names_are_variables: false,
};

pub static DIALECTS: &[Dialect] = &[
    Dialect {
        agent: "claude_code",
        project: Some(".mcp.json"),
        expansion: BRACED,
        types: (Some("stdio"), true),
        ..COMMON
    },
    Dialect { agent: "claude_desktop", keeps: Some(&["mcpServers"]), speaks: &[Transport::Stdio], ..COMMON },
    Dialect {
        agent: "codex",
        document: Document::new(Format::Toml, "mcp_servers"),
        project: Some(".codex/config.toml"),
        keeps: Some(&["mcp_servers", "hooks"]),
        form: Form::Codex,
        speaks: &[Transport::Stdio, Transport::Http],
        cwd: true,
        switch: Some(("enabled", true)),
        ..COMMON
    },
    Dialect {
        agent: "copilot",
        project: Some(".github/mcp.json"),
        hidden_by: Some(".mcp.json"),
        expansion: BARE,
        types: (Some("local"), true),
        cwd: true,
        names_are_variables: true,
        ..COMMON
    },
    Dialect {
        agent: "cursor",
        document: Document::new(JSONC, "mcpServers"),
        project: Some(".cursor/mcp.json"),
        expansion: NAMED,
        ..COMMON
    },
    Dialect {
        agent: "gemini",
        document: Document::new(JSONC, "mcpServers"),
        project: Some(".gemini/settings.json"),
        keeps: Some(&["mcpServers", "hooks"]),
        expansion: BARE,
        urls: &[("httpUrl", Transport::Http), ("url", Transport::Sse)],
        cwd: true,
        ..COMMON
    },
    Dialect {
        agent: "opencode",
        document: Document::new(JSONC, "mcp"),
        project: Some("opencode.json"),
        keeps: Some(&["$schema", "mcp"]),
        expansion: Expansion { named: Some("{env:"), files: true, ..Expansion::NONE },
        form: Form::OpenCode,
        speaks: &[Transport::Stdio, Transport::Http],
        switch: Some(("enabled", true)),
        ..COMMON
    },
    Dialect {
        agent: "vscode",
        document: Document::new(JSONC, "servers"),
        project: Some(".vscode/mcp.json"),
        expansion: Expansion { inputs: true, ..NAMED },
        types: (Some("stdio"), true),
        cwd: true,
        ..COMMON
    },
    Dialect {
        agent: "windsurf",
        expansion: NAMED,
        urls: &[("serverUrl", Transport::Http), ("url", Transport::Http)],
        speaks: &[Transport::Stdio, Transport::Http],
        switch: Some(("disabled", false)),
        ..COMMON
    },
];

impl Dialect {
    /// Returns the form of the servers in the manifest of a plugin.
    #[must_use]
    pub const fn in_manifest(self) -> Self {
        Self { document: Document::new(JSONC, "mcpServers"), keeps: None, ..self }
    }

    /// Reads a text as the agent does.
    pub fn text(&self, text: &str) -> Text {
        self.expansion.read(text)
    }

    /// Returns an agent's form.
    pub fn of(agent: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.agent == agent)
    }
}
