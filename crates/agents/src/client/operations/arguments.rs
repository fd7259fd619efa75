//! Defines the arguments that several `mcpkg client` commands share.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agents;
use crate::client::config_file::{ConfigFile, Scope};
use crate::client::entry::Wanted;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Identity, MissingDatabase};

/// The entry to write or remove.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Entry {
    /// Name of the agent
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(agents::names()))]
    pub agent: String,
    /// Connect the agent for your user, or for everybody in this folder; an entry for a folder names the project to serve
    #[arg(long, value_enum, default_value_t)]
    #[serde(skip)]
    pub scope: Scope,
    /// Name of the entry in the agent's configuration [default: mcpkg]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    pub name: Option<String>,
    /// Folder for a project's entry [default: the folder bound to the project, else the current git repository]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub root: Option<PathBuf>,
    /// Show what would be written, without writing anything
    #[arg(long)]
    #[serde(default)]
    pub dry_run: bool,
}

impl Entry {
    /// Returns the configuration file that the arguments select.
    pub fn config_file(&self, context: &Context) -> Result<ConfigFile> {
        ConfigFile::find(context, agents::named(&self.agent)?, self.scope, self.root.as_deref())
    }

    /// Returns the entry as the audit trail (`events`) names it, such as `codex:user:mcpkg`. `default` applies if no
    /// name is given.
    pub fn subject(&self, default: &str) -> String {
        format!("{}:{}:{}", self.agent, self.scope.name(), self.name.as_deref().unwrap_or(default))
    }

    /// Returns what to do if the database file does not exist. Only commands that write create the database.
    pub fn missing_database(&self) -> MissingDatabase {
        if self.dry_run { MissingDatabase::StandIn } else { MissingDatabase::Create }
    }
}

/// What an entry connects its agent to.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Connection {
    /// Connect to this URL instead of starting mcpkg; with --project, the path /mcp of the URL becomes /projects/NAME/mcp
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Environment variable from which the agent reads the access key for the URL [default: MCPKG_KEY if the URL is on another machine]
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<String>,
    /// Make mcpkg stand in for this server, like `mcpkg serve --as`; the entry is then named after that server by default
    #[arg(long = "as", value_name = "NAME", conflicts_with = "http", value_parser = PossibleValuesParser::new(Identity::ALL.map(Identity::name)))]
    identity: Option<String>,
}

impl Connection {
    /// Returns the entry to write for this scope.
    pub fn wanted(&self, context: &Context, scope: Scope) -> Result<Wanted> {
        match &self.http {
            Some(url) => Wanted::url(context, scope, url, self.key_env.as_deref()),
            None => Wanted::start(context, scope, self.identity()),
        }
    }

    /// Returns the default name of the entry.
    pub fn default_name(&self) -> &'static str {
        self.identity().name()
    }

    fn identity(&self) -> Identity {
        let named = |known: &Identity| self.identity.as_deref() == Some(known.name());
        Identity::ALL.into_iter().find(named).unwrap_or_default()
    }
}
