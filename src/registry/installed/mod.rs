//! Installed tools: for whom, which version, what agents see of them, and how they are called.

pub mod calling;
pub mod checked;
pub mod names;
pub mod projected;
pub mod toolsets;
pub mod visible;

mod building;
mod install;
mod learn;
mod list;
mod run;
mod uninstall;
mod use_version;

use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Entry, Names, Reach};
use crate::registry::package::{Reference, Wanted};
use crate::store::projects;
use crate::store::tools::installs::{self, Scope};

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<learn::Learn>(),
    Entry::of::<install::Install>(),
    Entry::of::<uninstall::Uninstall>(),
    Entry::of::<list::List>(),
    Entry::of::<run::Run>(),
    Entry::of::<use_version::Use>(),
];

/// The tools that are installed for anybody.
pub const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(installs::names(typed.db)?)));

/// What an install may alter: the tools of every client.
const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };

/// Reads the tool that an agent names, whose version may stand in an argument of its own.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where it is malformed, or says two versions.
fn named(tool: &str, version: Option<&str>) -> Result<Reference> {
    let mut reference = Reference::parse(tool)?;
    let Some(version) = version.filter(|version| !version.is_empty()) else { return Ok(reference) };
    let wanted = Wanted::parse(version)?;
    if reference.version != Wanted::Latest && reference.version != wanted {
        let what = format!("'{}' and version '{}' name two versions", tool.escape_debug(), version.escape_debug());
        return Err(Error::new(Code::InvalidArgument, what).hint("give one of them"));
    }
    reference.version = wanted;
    Ok(reference)
}

/// Returns whom an install of a caller is for: its access key, else the project where that was asked for, else everybody.
///
/// # Errors
/// `E_NO_PROJECT`, `E_NOT_FOUND` for the project.
fn scope(context: &Context, for_project: bool) -> Result<Scope> {
    if let Some(key) = context.caller.key() {
        return Ok(Scope::Key(key.to_owned()));
    }
    if !for_project {
        return Ok(Scope::Global);
    }
    context.store.read(|db| Ok(Scope::Project(projects::require(db, &context.selection)?.uuid)))
}
