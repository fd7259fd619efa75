//! A domain as the faces see it: everything that it offers, in one table of its own.
//!
//! [`Domains`] chains the tables. A face walks them and names no domain.

use std::path::PathBuf;

use super::{Context, Entry, Finding, Identity, Projections, Resource, Served, Watch};
use mcpkg_base::disk::Stat;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::limits::Growing;
use mcpkg_store::projects::Selection;

/// The domains of the program, in documentation order. Both faces, the reference pages and the tests walk their tables; a domain that
/// needs to know what others offer asks [`Context::domains`].
#[derive(Clone, Copy, Default)]
pub struct Domains(pub &'static [&'static Domain]);

impl Domains {
    /// No domain at all: for a test of one operation.
    pub const NONE: Self = Self(&[]);

    pub fn iter(self) -> impl Iterator<Item = &'static Domain> {
        self.0.iter().copied()
    }

    /// Returns every operation of every domain.
    pub fn operations(self) -> impl Iterator<Item = &'static Entry> {
        self.iter().flat_map(Domain::entries)
    }

    /// Returns every resource of every domain. Reading, listing, completion and subscriptions walk it.
    pub fn resources(self) -> impl Iterator<Item = &'static Resource> {
        self.iter().flat_map(|domain| domain.resources).copied().flatten()
    }

    /// Returns the folder that a server deploys into if nobody names one.
    pub fn deploy_root(self, db: &Db<'_>, selection: &Selection) -> Result<Option<PathBuf>> {
        self.iter().find_map(|domain| domain.deploy_root).map_or(Ok(None), |find| find(db, selection))
    }
}

/// What a domain offers. `..Domain::EMPTY` stands for what it does not.
pub struct Domain {
    /// The name of its folder.
    pub name: &'static str,
    /// Its tables of operations, in documentation order.
    pub operations: &'static [&'static [Entry]],
    /// The groups that its tools belong to.
    pub groups: &'static [Group],
    /// The words before its commands, such as `prompt` or `flow feature`, and what each is about.
    pub commands: &'static [(&'static str, &'static str)],
    /// Its tables of resources, in documentation order.
    pub resources: &'static [&'static [Resource]],
    /// Watches what its live resources are made of, where it has some: rings when one of them may answer something else.
    pub watch: Option<Watch>,
    /// Its tools that are data, where it has some.
    pub tools: Option<Projections>,
    /// What it answers over HTTP beside MCP, where it answers anything.
    pub served: Option<&'static Served>,
    /// Its tables that grow: `mcpkg limit` sets how far, `mcpkg prune` keeps them to it.
    pub growing: &'static [Growing],
    /// Puts right what an earlier process left half done, before a command or a server begins.
    pub recover: fn(&Context),
    /// The files of a contract's original that a server standing in for it follows.
    pub original: Option<&'static Original>,
    /// Finds the folder that a server deploys into if nobody names one, in the domain that deploys.
    pub deploy_root: Option<DeployRoot>,
    /// Ends what it works on by itself, as a command or a server ends; waits a few seconds at most.
    pub ending: fn(),
    /// Looks whether all is well with it, for `doctor`.
    pub health: fn(&Context) -> Vec<Finding>,
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
    };

    /// Returns its operations, in documentation order.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<> {
        self.operations.iter().copied().flatten()
    }
}

/// Finds a deploy root by the database and the folder that a server was started in.
pub type DeployRoot = fn(&Db<'_>, &Selection) -> Result<Option<PathBuf>>;

/// The files that a contract's original keeps on this machine. A server that stands in for the original follows them while it runs.
pub struct Original {
    /// The identity of such a server.
    pub identity: Identity,
    /// Looks at the files without reading them: the answer differs once one of them was changed. `None` where only reading tells.
    pub look: fn() -> Option<Vec<Option<Stat>>>,
    /// Applies what the files say, as far as no person has to approve it. Returns what the user should know, a sentence each.
    pub take: fn(&Context) -> Result<Vec<String>>,
}

/// A group of tools: what `serve --groups` names.
pub struct Group {
    pub name: &'static str,
    /// When a server lists its tools, unless `--groups` says so.
    pub listed: Listed,
    /// Whether what its tools do stays inside one project, so that a key of that project may call them.
    pub within_project: bool,
    /// Whether a server that listens on a network serves it only where `--groups` or `--as` names it.
    pub named_over_network: bool,
    /// What an agent is told of it when it connects: plain sentences.
    pub instructions: &'static str,
    /// Whether that holds in the folder that the server was started in.
    pub holds: fn(&Selection) -> bool,
}

/// When a server that was started without `--groups` lists a group's tools. A tool that is not listed can be called.
#[derive(Clone, Copy)]
pub enum Listed {
    Always,
    /// Only where `--groups` names it: its operations that are always listed say so themselves.
    Named,
    /// Where this finds that they are of use, by the database and the folder that the server was started in.
    Where(fn(&Db<'_>, &Selection) -> Result<bool>),
}
