//! Stores an MCP server as the file of its module.

use serde::{Deserialize, Serialize};

use mcpkg_base::error::{Error, Result};
use mcpkg_store::servers::{Definition, Server};

/// The file of an MCP server's module, stored as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFile {
    /// The name of the server's entry.
    pub entry: String,
    /// Whether only the agent that the server was imported from gets the entry. Set if the server has a different name
    /// than its entry, for example because another server has the entry's name.
    pub only_own: bool,
    #[serde(flatten)]
    pub definition: Definition,
}

impl ServerFile {
    pub fn of(server: &Server) -> Self {
        Self {
            entry: server.entry().to_owned(),
            only_own: server.origin.entry.is_some(),
            definition: server.definition.clone(),
        }
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let written = serde_json::to_vec_pretty(self);
        written.map_err(|error| Error::internal("a server cannot be written as JSON").with_source(error))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|error| Error::internal("the module of a server is malformed").with_source(error))
    }
}
