//! The finding of `mcpkg doctor` about the audit log of a server.

use std::path::Path;

use crate::op::{Context, Finding, Health};
use mcpkg_base::{platform, rolling};
use mcpkg_store::audit_logs;

/// Checks whether mcpkg can write the audit log with which a server was last started on this machine. Returns `None` if
/// no server had one, or if that server has ended.
pub(super) fn health(context: &Context) -> Option<Finding> {
    let host = platform::host()?;
    // Ignore errors: if the database cannot be read, another finding says so.
    let path = context.store.read(|db| audit_logs::get(db, &host)).ok()??;
    Some(match rolling::probe(Path::new(&path))? {
        Ok(()) => Finding::new("database", Health::Ok, format!("the audit log {path} can be written")),
        Err(error) => {
            let what = format!("the audit log {path} cannot be written: {error}");
            Finding::new("database", Health::Problem, what)
                .action("free some space, or make the file and its folder writable for the server")
        }
    })
}
