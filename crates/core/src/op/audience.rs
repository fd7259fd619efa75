//! Describes the caller for whom tools that come from data are listed, such as installed tools.

use std::sync::Arc;

use super::Identity;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::session::SessionInstalls;

/// The caller for whom tools that come from data ([`super::Projected`]) are listed or looked up.
#[derive(Clone, Copy)]
pub struct Audience<'a> {
    /// The program that the server presents itself as (`serve --as`).
    pub identity: Identity,
    /// How the call selects its project.
    pub selection: &'a Selection,
    /// The name of the access key that the caller uses.
    pub key: Option<&'a str>,
    /// The tools that the session installed for itself, if any.
    pub session: Option<&'a Arc<SessionInstalls>>,
    /// The toolset that the server was started with. It replaces the toolset that is active in the database.
    pub toolset: Option<&'a str>,
}
