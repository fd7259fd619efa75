//! The archive that a user names by its tool.

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;
use serde_json::json;

use super::subject::Subject;
use crate::error::{Code, Error, Result};
use crate::op::{Context, Names};
use crate::registry::package::{Reference, Wanted};
use crate::store::tools::attestations::{self, Archive};

/// The tools of which an archive is known, as a shell completes them.
pub const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(attestations::names(typed.db)?)));

/// Which archive is meant.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Target {
    /// The tool, with its version where that is not the latest: alice/weather@1.2.0
    #[arg(add = TOOLS)]
    tool: String,
    /// The registry whose archive is meant, where several have one of this version
    #[arg(long)]
    registry: Option<String>,
}

impl Target {
    /// Returns what the user named, for the trail.
    pub fn name(&self) -> String {
        self.tool.clone()
    }

    /// Returns the archive that is meant, out of those that the database knows; with `kept` only where its bytes are there.
    ///
    /// # Errors
    /// `E_TOOL_NOT_FOUND`, `E_VERSION_NOT_FOUND`; `E_INVALID_ARGUMENT` where the name is none, or several archives are meant;
    /// `E_DB_CORRUPT`, `E_STORAGE`.
    pub fn find(&self, context: &Context, kept: bool) -> Result<Subject> {
        let reference = Reference::parse(&self.tool)?;
        if reference.action.is_some() {
            return Err(Error::new(Code::InvalidArgument, "A signature is of a whole tool, not of one of its actions")
                .hint("leave the action out"));
        }
        let name = reference.name.as_str();
        let mut found = context.store.read(|db| attestations::archives(db, name))?;
        found.retain(|archive| self.registry.as_ref().is_none_or(|registry| *registry == archive.registry));
        found.retain(|archive| archive.kept || !kept);
        if found.is_empty() {
            return Err(Error::new(Code::ToolNotFound, format!("No archive of the tool '{name}' is here"))
                .with_details(json!({ "tool": name }))
                .hint("a tool is here once it is published to this database, or installed"));
        }
        let version = choose(&reference.version, &found).ok_or_else(|| no_version(&reference, &found))?;
        let mut of_version = found.iter().filter(|archive| archive.version == version.to_string());
        let Some(archive) = of_version.next() else { return Err(no_version(&reference, &found)) };
        if let Some(other) = of_version.find(|other| other.sha256 != archive.sha256) {
            let message = format!(
                "The registries '{}' and '{}' have different archives as {name}@{version}",
                archive.registry, other.registry
            );
            return Err(Error::new(Code::InvalidArgument, message).hint("name one of them with `--registry`"));
        }
        Ok(Subject { name: name.to_owned(), version: archive.version.clone(), sha256: archive.sha256 })
    }
}

/// Returns the version that is meant: the latest that is no pre-release, unless there is no other.
fn choose(wanted: &Wanted, found: &[Archive]) -> Option<Version> {
    let versions: Vec<Version> = found.iter().filter_map(|archive| archive.version.parse().ok()).collect();
    wanted.choose(&versions, false).or_else(|| wanted.choose(&versions, true)).cloned()
}

fn no_version(reference: &Reference, found: &[Archive]) -> Error {
    let mut versions: Vec<&str> = found.iter().map(|archive| archive.version.as_str()).collect();
    versions.dedup();
    let message = format!("No archive of {reference} is here");
    Error::new(Code::VersionNotFound, message)
        .with_details(json!({ "tool": reference.name.as_str(), "versions": versions }))
        .hint(format!("there is {}", versions.join(", ")))
}
