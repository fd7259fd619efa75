//! Describes the caller that projected tools (such as installed ones) are listed for.

use std::sync::Arc;

use super::Identity;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::session::SessionInstalls;

/// The caller that projected tools are listed for, or looked up by name for.
#[derive(Clone, Copy)]
pub struct Audience<'a> {
    /// The contract that the server stands in for.
    pub identity: Identity,
    /// How the call selects its project.
    pub selection: &'a Selection,
    /// The name of the access key that the caller uses.
    pub key: Option<&'a str>,
    /// The session's own installs, if it has some.
    pub session: Option<&'a Arc<SessionInstalls>>,
    /// The toolset that the server was started with, instead of the active one.
    pub toolset: Option<&'a str>,
}
