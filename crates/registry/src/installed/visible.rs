//! Decides which installed tools a caller sees: by scope, and by the active toolset.

use std::sync::Arc;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Audience, Identity};
use mcpkg_store::Db;
use mcpkg_store::projects;
use mcpkg_store::tools::installs::{self, Install, Scope};
use mcpkg_store::tools::toolsets::{self, Toolset};

/// Returns the scopes that an audience sees, nearest first. If a tool is in two scopes, the first one counts.
pub fn scopes(db: &Db<'_>, audience: &Audience<'_>) -> Result<Vec<Scope>> {
    let key = audience.key.map(|name| Scope::Key(name.to_owned()));
    let session = audience.session.map(|session| Scope::Session(Arc::clone(session)));
    let project = projects::served(db, audience.selection)?.map(|project| Scope::Project(project.uuid));
    Ok(key.into_iter().chain(session).chain(project).chain([Scope::Global]).collect())
}

/// Returns the version of a tool that an audience sees, ignoring toolsets.
pub fn active(db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Option<Install>> {
    for scope in scopes(db, audience)? {
        if let Some(found) = installs::active(db, &scope, name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the version of a tool that an audience sees, ignoring toolsets.
///
/// # Errors
/// `E_TOOL_NOT_FOUND` if the audience sees no version of the tool.
pub fn require(db: &Db<'_>, audience: &Audience<'_>, name: &str) -> Result<Install> {
    if let Some(found) = active(db, audience, name)? {
        return Ok(found);
    }
    let known: Vec<String> = all(db, audience)?.into_iter().map(|install| install.name).collect();
    Err(Error::new(Code::ToolNotFound, format!("Tool '{name}' is not installed")).suggest(
        name,
        known.iter().map(String::as_str),
        format!("`mcpkg tool install {name}` installs the tool; `mcpkg tool list` lists the installed tools"),
    ))
}

/// Returns all installs that an audience sees, ignoring toolsets: by name, nearest scope first.
pub fn all(db: &Db<'_>, audience: &Audience<'_>) -> Result<Vec<Install>> {
    let mut found = Vec::new();
    for scope in scopes(db, audience)? {
        found.extend(installs::of_scope(db, &scope)?);
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// The toolset that limits what an audience sees.
#[derive(Debug)]
pub enum Border {
    /// There is no toolset: every installed tool is visible.
    Open,
    Set(Toolset),
    /// The toolset was deleted: nothing is visible.
    Gone(String),
}

impl Border {
    /// Finds the toolset for an audience: the toolset of the server, else the active toolset. If there is neither, a
    /// server that runs in place of Enact (`mcpkg serve --as enact`) uses the toolset that `~/.enact/mcp.json` names.
    pub fn of(db: &Db<'_>, audience: &Audience<'_>) -> Result<Self> {
        let named = match audience.toolset {
            Some(name) => Some(name.to_owned()),
            None => match toolsets::active(db)? {
                Some(active) => return Ok(Self::Set(active)),
                None if audience.identity == Identity::Enact => toolsets::followed(db)?,
                None => None,
            },
        };
        let Some(name) = named else { return Ok(Self::Open) };
        match toolsets::get(db, &name) {
            Ok(found) => Ok(Self::Set(found)),
            Err(error) if error.code() == Code::NotFound => Ok(Self::Gone(name)),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a tool is visible and can be called.
    pub fn admits(&self, db: &Db<'_>, tool: &str) -> Result<bool> {
        match self {
            Border::Open => Ok(true),
            Border::Set(set) => toolsets::has(db, set.id, tool),
            Border::Gone(_) => Ok(false),
        }
    }

    pub fn name(&self) -> Option<&str> {
        match self {
            Border::Open => None,
            Border::Set(set) => Some(&set.name),
            Border::Gone(name) => Some(name),
        }
    }

    /// Fails if the tool is not in the toolset.
    pub fn require(&self, db: &Db<'_>, tool: &str) -> Result<()> {
        if self.admits(db, tool)? {
            return Ok(());
        }
        let name = self.name().unwrap_or_default();
        let first = match installs::names(db)?.iter().any(|installed| installed == tool) {
            true => String::new(),
            false => format!(" after installing it with `mcpkg tool install {tool}`"),
        };
        Err(Error::new(Code::NotInToolset, format!("Tool '{tool}' is not in the toolset '{name}'")).hint(format!(
            "a person can add the tool with `mcpkg toolset add {name} {tool}`{first}, or show every tool with `mcpkg toolset use --all`"
        )))
    }
}
