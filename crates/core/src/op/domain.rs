//! A domain's table of everything that it offers. The shell and the servers use only these tables ([`Domains`]), and do
//! not depend on any particular domain.

use std::path::PathBuf;

use super::undoable::Undo;
use super::{Context, Entry, Finding, Identity, Projections, Resource, Served, Watch};
use mcpkg_base::disk::Stat;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::limits::Growing;
use mcpkg_store::projects::Selection;

/// All domains of the program, in documentation order. The shell, the servers, the reference pages and the tests read
/// the tables of these domains. A domain that needs to know what others offer uses [`Context::domains`].
#[derive(Clone, Copy, Default)]
pub struct Domains(pub &'static [&'static Domain]);

impl Domains {
    /// No domains, for a test of a single operation.
    pub const NONE: Self = Self(&[]);

    pub fn iter(self) -> impl Iterator<Item = &'static Domain> {
        self.0.iter().copied()
    }

    /// Returns every operation of every domain.
    pub fn operations(self) -> impl Iterator<Item = &'static Entry> {
        self.iter().flat_map(Domain::entries)
    }

    /// Returns every resource of every domain.
    pub fn resources(self) -> impl Iterator<Item = &'static Resource> {
        self.iter().flat_map(|domain| domain.resources).copied().flatten()
    }

    /// Returns the folder that a server deploys into if the caller does not name one.
    pub fn deploy_root(self, db: &Db<'_>, selection: &Selection) -> Result<Option<PathBuf>> {
        self.iter().find_map(|domain| domain.deploy_root).map_or(Ok(None), |find| find(db, selection))
    }
}

/// Everything that a domain offers. A domain leaves out what it does not have with `..Domain::EMPTY`.
///
/// Each domain is a `static`. As a `const`, it would be a value of the crate that names it, and the code of all its operations
/// would be compiled there instead of in the domain's crate.
pub struct Domain {
    /// The name of the domain's folder in the sources.
    pub name: &'static str,
    /// Tables of operations, in documentation order.
    pub operations: &'static [&'static [Entry]],
    /// The groups of the domain's tools.
    pub groups: &'static [Group],
    /// The prefixes of the domain's commands, such as `prompt` or `flow feature`, each with a description.
    pub commands: &'static [(&'static str, &'static str)],
    /// Tables of resources, in documentation order.
    pub resources: &'static [&'static [Resource]],
    /// Starts a watch that reports when one of the domain's live resources may have changed.
    pub watch: Option<Watch>,
    /// Lists and finds the domain's tools that come from data, such as installed tools.
    pub tools: Option<Projections>,
    /// The service that the domain offers over HTTP in addition to MCP.
    pub served: Option<&'static Served>,
    /// The growing tables, to which `mcpkg limit` and `mcpkg prune` apply.
    pub growing: &'static [Growing],
    /// Repairs what an earlier process left unfinished. Called before a command or a server starts.
    pub recover: fn(&Context),
    /// The files of the program whose contract the domain implements, such as Enact. A running server that presents
    /// itself as that program picks up changes made to these files.
    pub original: Option<&'static Original>,
    /// Finds the folder that a server deploys into if the caller does not name one. Only the domain that deploys has this.
    pub deploy_root: Option<DeployRoot>,
    /// Ends background work when a command or a server ends. Waits for a few seconds at most.
    pub ending: fn(),
    /// Returns the domain's findings for `doctor`.
    pub health: fn(&Context) -> Vec<Finding>,
    /// How `mcpkg undo` reverts the domain's changes.
    pub undo: Undo,
}

impl Domain {
    /// A domain that offers nothing.
    pub const EMPTY: Self = Self {
        name: "",
        operations: &[],
        groups: &[],
        commands: &[],
        resources: &[],
        watch: None,
        tools: None,
        served: None,
        growing: &[],
        recover: |_| {},
        original: None,
        deploy_root: None,
        ending: || {},
        health: |_| Vec::new(),
        undo: Undo::NOTHING,
    };

    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.operations.iter().copied().flatten()
    }
}

/// Finds a deploy root from the database and from the folder in which the server was started.
pub type DeployRoot = fn(&Db<'_>, &Selection) -> Result<Option<PathBuf>>;

/// The files on this machine of a program whose contract a domain implements, such as Enact. A running server that
/// presents itself as that program picks up changes made to these files.
pub struct Original {
    /// That program, as in `serve --as`.
    pub identity: Identity,
    /// Returns the files' metadata, without reading them. The result changes whenever a file does. `None` if a change can be
    /// detected only by reading the files.
    pub look: fn() -> Option<Vec<Option<Stat>>>,
    /// Applies changes in the files, except those that a person has to approve. Returns messages for the user, one sentence
    /// each.
    pub take: fn(&Context) -> Result<Vec<String>>,
}

/// A group of tools, as in `serve --groups`.
pub struct Group {
    pub name: &'static str,
    /// When a server lists the group's tools by default.
    pub listed: Listed,
    /// Whether the group's tools affect only the caller's project. If so, a key for one project may call the tools.
    pub within_project: bool,
    /// Whether a server that listens on a network offers the group only if `--groups` or `--as` names it.
    pub named_over_network: bool,
    /// Instructions about the group for an agent that connects, in plain sentences.
    pub instructions: &'static str,
    /// Whether `instructions` apply to the folder in which the server was started.
    pub holds: fn(&Selection) -> bool,
}

/// When a server without `--groups` lists a group's tools. Tools that are not listed can still be called.
#[derive(Clone, Copy)]
pub enum Listed {
    Always,
    /// The server lists the tools only if `--groups` names the group, except for operations with
    /// [`Operation::ALWAYS_LISTED`](super::Operation::ALWAYS_LISTED).
    Named,
    /// The server lists the tools if this function considers them useful for the database and the folder in which it
    /// was started.
    Where(fn(&Db<'_>, &Selection) -> Result<bool>),
}
