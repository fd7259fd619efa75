//! The data of a plugin: its MCP server, its settings and its failures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::connection::Era;
use super::standing::Standing;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::http::Reach;
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::plugins::{Facts, PluginRow};
use mcpkg_store::servers::Server;

/// Default timeout of a call.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum timeout that can be configured.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

/// How long a plugin keeps running without calls, by default.
pub const IDLE: Duration = Duration::from_secs(600);

/// Settings of a read-only tool that lists things: its results become values for arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// Path of the list in the result: `.`, or a path such as `data.items`.
    pub items: String,
    /// Field of each element to use as the value.
    pub value: String,
    /// Field of each element to show to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A plugin: an MCP server of a project that mcpkg itself runs.
#[derive(Clone, Debug)]
pub struct Plugin {
    pub server: Server,
    pub project: String,
    /// Whether the plugin's own statements about the effects of its tools are trusted.
    pub trusted: bool,
    /// Whether private addresses may be contacted.
    pub private: bool,
    pub timeout: Duration,
    /// How long the plugin keeps running without calls.
    pub idle: Duration,
    /// The tools that a person declared as providers, by name.
    pub providers: BTreeMap<String, Provider>,
    /// The kind of handshake that worked last.
    pub era: Option<Era>,
    pub standing: Standing,
    /// When the plugin's tools were last listed.
    pub listed_at: Option<Millis>,
}

impl Plugin {
    /// Returns whether the plugin is already stored.
    pub fn is_stored(&self) -> bool {
        self.server.id != 0
    }

    pub fn of(row: PluginRow) -> Result<Self> {
        let PluginRow { server, project, facts, era, failures, reason, listed_at } = row;
        let damaged = |_| damaged_value("the stored settings of a plugin are invalid");
        let millis = |millis: i64| Duration::from_millis(millis.try_into().unwrap_or_default());
        Ok(Self {
            trusted: facts.trusted,
            private: facts.private,
            timeout: millis(facts.timeout_ms).min(LONGEST_TIMEOUT),
            idle: millis(facts.idle_ms),
            providers: serde_json::from_str(&facts.providers).map_err(damaged)?,
            era: era.as_deref().and_then(Era::of),
            standing: Standing::of(&failures, reason),
            server,
            project,
            listed_at,
        })
    }

    /// Returns a plugin with default settings.
    pub fn new(server: Server, project: &str) -> Self {
        Self {
            server,
            project: project.to_owned(),
            trusted: false,
            private: false,
            timeout: TIMEOUT,
            idle: IDLE,
            providers: BTreeMap::new(),
            era: None,
            standing: Standing::default(),
            listed_at: None,
        }
    }

    /// Returns the plugin's settings as database columns.
    pub fn facts(&self) -> Result<Facts> {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Ok(Facts {
            trusted: self.trusted,
            private: self.private,
            timeout_ms: millis(self.timeout),
            idle_ms: millis(self.idle),
            providers: json(&self.providers)?,
        })
    }

    /// Returns the plugin's name, which is also the group of the plugin's commands.
    pub fn name(&self) -> &str {
        &self.server.name
    }

    pub fn reach(&self) -> Reach {
        if self.private { Reach::Anywhere } else { Reach::Public }
    }
}

pub fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal("the data of a plugin cannot be written as JSON").with_source(error))
}
