//! Installed tools: installs and updates them, decides which ones agents see, and calls them.

pub mod calling;
pub mod checked;
pub mod newer;
pub mod package;
pub mod place;
pub mod projected;
pub mod schemas;
pub mod toolsets;
pub mod visible;

mod action_tools;
mod dry;
mod install;
mod learn;
mod list;
mod lock;
mod locked;
mod lockfile;
mod origin;
mod outdated;
mod publisher;
mod run;
mod uninstall;
mod unverified;
mod update;
mod use_version;

use crate::package::{Reference, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Entry, InstallScope, Names, Reach};
use mcpkg_store::projects;
use mcpkg_store::tools::installs::{self, Scope};

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[
    Entry::of::<learn::Learn>(),
    Entry::of::<install::Install>(),
    Entry::of::<uninstall::Uninstall>(),
    Entry::of::<list::List>(),
    Entry::of::<run::Run>(),
    Entry::of::<use_version::Use>(),
    Entry::of::<outdated::Outdated>(),
    Entry::of::<update::Update>(),
    Entry::of::<lock::Lock>(),
];

/// Names of the installed tools in all scopes, for shell completion.
pub const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(installs::names(typed.db)?)));

/// An install can change the tools that every client sees.
const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };

/// Parses the tool that a caller names; the version can be a separate argument.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the text is malformed, or if the two arguments give different versions.
fn named(tool: &str, version: Option<&str>) -> Result<Reference> {
    let mut reference = Reference::parse(tool).map_err(|error| match is_path(tool) {
        true => error.hint(format!(
            "to run a folder, name its path: `mcpkg tool run {tool}`; to make the folder a tool, publish it with `mcpkg tool publish`"
        )),
        false => error,
    })?;
    let Some(version) = version.filter(|version| !version.is_empty()) else { return Ok(reference) };
    let wanted = Wanted::parse(version)?;
    if reference.version != Wanted::Latest && reference.version != wanted {
        let what =
            format!("'{}' and version '{}' specify different versions", tool.escape_debug(), version.escape_debug());
        return Err(Error::new(Code::InvalidArgument, what).hint("pass the version only once"));
    }
    reference.version = wanted;
    Ok(reference)
}

fn is_path(text: &str) -> bool {
    ["./", "../", "/", "~/"].iter().any(|begin| text.starts_with(begin))
}

/// Returns the scope to install in: the selected project if the caller asks for it, else the kind of scope that the
/// server is configured for. If none is configured, the scope is the caller's access key, else the caller's session,
/// else everybody.
///
/// # Errors
/// `E_NO_PROJECT` or `E_NOT_FOUND` for the project; `E_INVALID_ARGUMENT` if the server installs per access key and the
/// caller has no key, or if it installs per session and the caller has no session.
fn scope(context: &Context, for_project: bool) -> Result<Scope> {
    if for_project {
        return context.store.read(|db| Ok(Scope::Project(projects::require(db, &context.selection)?.uuid)));
    }
    let key = || context.caller.key().map(|key| Scope::Key(key.to_owned()));
    let session = || context.session.clone().map(Scope::Session);
    let lacking = |what: &str, hint: &str| {
        Error::new(Code::InvalidArgument, format!("This server installs tools per {what}, but this call has no {what}"))
            .hint(hint)
    };
    match context.install_scope {
        None => Ok(key().or_else(session).unwrap_or(Scope::Global)),
        Some(InstallScope::Global) => Ok(Scope::Global),
        Some(InstallScope::Key) => key().ok_or_else(|| {
            lacking("access key", "create a key with `mcpkg access create NAME`, and configure the client to send that key")
        }),
        Some(InstallScope::Session) => session().ok_or_else(|| {
            lacking("session", "only protocol revisions that begin with a handshake have sessions; revision 2026-07-28 has no handshake")
        }),
    }
}
