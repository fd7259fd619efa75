//! Installs checked packages: writes the archive, the install and the MCP names in one transaction.

use serde_json::Value;

use super::checked;
use crate::package::manifest::Manifest;
use crate::package::{longer_mcp_name, mcp_name};
use crate::trust::Subject;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::revisions::Author;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::names;
use mcpkg_store::tools::packages::{self, Release};
use mcpkg_store::{Db, blobs};

pub struct Arrival<'a> {
    pub subject: &'a Subject,
    pub manifest: &'a Manifest,
    /// The manifest as text.
    pub raw_manifest: &'a str,
    pub archive: Bytes<'a>,
    pub release: &'a Release,
    /// The trusted publisher, if there is one.
    pub publisher: Option<&'a str>,
}

/// An archive with a verified SHA-256.
#[derive(Clone, Copy)]
pub enum Bytes<'a> {
    Here(&'a NewContent),
    /// The archive is already stored; this is its size in bytes.
    Stored(u64),
}

pub struct Placed {
    /// Whether this version was not installed before.
    pub is_new: bool,
    /// The MCP tools that the package provides.
    pub mcp_tools: Vec<String>,
}

/// Installs a package for a scope and makes it the version that agents see there.
///
/// # Errors
/// `E_PLAN_CHANGED` if the archive was already stored but has been deleted since.
pub fn place(db: &Db<'_>, scope: &Scope, arrival: &Arrival<'_>, author: Author<'_>) -> Result<Placed> {
    let Subject { name, version, .. } = arrival.subject;
    let id = keep(db, arrival, author.now)?;
    let is_new = installs::install(db, scope, (id, name, version), arrival.publisher, (author.actor, author.now))?;
    let mut mcp_tools = Vec::new();
    for action in checked::projected_actions(arrival.manifest) {
        // Once an action has an MCP name, the name never stands for another action.
        let tool = &arrival.manifest.name;
        let wanted = [mcp_name(tool, action), longer_mcp_name(tool, action)];
        mcp_tools.extend(names::give(db, tool.as_str(), action.unwrap_or_default(), &wanted)?);
    }
    Ok(Placed { is_new, mcp_tools })
}

/// Stores the archive in its row, and returns the row's key.
fn keep(db: &Db<'_>, arrival: &Arrival<'_>, now: Millis) -> Result<i64> {
    let Arrival { subject, manifest, raw_manifest, archive, release, .. } = arrival;
    let row = match packages::get(db, &release.registry, &subject.name, &subject.version)? {
        Some(row) => row,
        None => packages::see(db, release, now)?,
    };
    // Another process may have recorded this version first, so its digest is compared too.
    packages::check_digest(&row, release)?;
    if row.blob.is_none() {
        let (blob, size) = match archive {
            Bytes::Here(content) => (blobs::put_source(db, content)?, content.size()),
            Bytes::Stored(size) => (blobs::by_hash(db, &subject.sha256)?.ok_or_else(|| freed(subject))?, *size),
        };
        let json = Value::Object(manifest.json.clone()).to_string();
        packages::keep(db, row.id, blob, size, packages::Manifest { json: &json, raw: raw_manifest })?;
    }
    Ok(row.id)
}

/// Returns the error for an archive that another process deleted before the install could refer to it.
fn freed(subject: &Subject) -> Error {
    let why = format!("Another process has just deleted the archive of {}; nothing was installed", subject.reference());
    Error::new(Code::PlanChanged, why).hint("try again")
}
