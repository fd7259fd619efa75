//! The callers that tools which are data are listed and found for.

use std::sync::Arc;

use super::Identity;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::session::SessionInstalls;

/// The callers that tools which are data are listed and found for.
#[derive(Clone, Copy)]
pub struct Audience<'a> {
    /// Who the server says it is.
    pub identity: Identity,
    /// What the call says about its project.
    pub selection: &'a Selection,
    /// The name of the access key that it came with.
    pub key: Option<&'a str>,
    /// What is installed for its session, where that has installs of its own.
    pub session: Option<&'a Arc<SessionInstalls>>,
    /// The toolset that the server was started with, instead of the active one.
    pub toolset: Option<&'a str>,
}
