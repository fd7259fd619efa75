//! The plan of an import from Enact, the program that contract 002 describes: what is imported, and what is left out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::config::Key;
use crate::installed::package as installed;
use crate::package::manifest::Manifest;
use crate::trust::Policy;
use mcpkg_base::plural;
use mcpkg_store::tools::env::{Setting, Variable};
use mcpkg_store::tools::installs::Scope;
use mcpkg_store::tools::registries::Place;
use mcpkg_store::tools::trust::TrustedRow;

/// The pattern that matches every tool.
pub const EVERY: &str = "*";

/// Something that is not imported, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub what: String,
    /// The file or folder that it comes from.
    pub from: String,
    /// The reason why it is left out, or what the user can do instead.
    pub why: String,
}

impl LeftOut {
    pub fn new(what: impl Into<String>, from: &str, why: impl Into<String>) -> Self {
        Self { what: what.into(), from: from.to_owned(), why: why.into() }
    }
}

/// A package to install.
pub struct Package {
    /// The archive, packed from the package's folder.
    pub package: installed::Package,
    pub scope: Scope,
    /// The file that names the package.
    pub from: String,
}

impl Package {
    pub fn manifest(&self) -> &Manifest {
        &self.package.opened.manifest
    }
}

/// A change of the toolset that limits the servers running in place of Enact (`mcpkg serve --as enact`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The current toolset; `None` if these servers show every tool.
    pub before: Option<String>,
    /// The toolset that the file names.
    pub wanted: Option<String>,
    /// Whether the new toolset shows a tool that the current one does not.
    pub widens: bool,
}

#[derive(Default)]
pub struct Plan {
    pub packages: Vec<Package>,
    /// Aliases and the tools that they stand for.
    pub aliases: BTreeMap<String, String>,
    /// New toolsets and their tools.
    pub toolsets: BTreeMap<String, Vec<String>>,
    /// Tools that the file adds to existing toolsets.
    pub added: BTreeMap<String, Vec<String>>,
    /// Tools to remove from existing toolsets, because the file no longer lists them.
    pub taken_out: BTreeMap<String, Vec<String>>,
    /// The toolset to activate for all agents.
    pub active: Option<String>,
    /// The new toolset for the servers running in place of Enact (`mcpkg serve --as enact`).
    pub follow: Option<Follow>,
    pub registry: Option<Place>,
    pub settings: Vec<(Key, String)>,
    /// Variables of tools, without secrets.
    pub variables: Vec<Variable>,
    /// The path of `config.yaml`.
    pub config: String,
    pub trusted: Vec<TrustedRow>,
    /// Identities that were trusted as publisher and auditor, and from now on have only one of these roles.
    pub reduced: Vec<TrustedRow>,
    /// Identities to stop trusting because the file no longer names them.
    pub withdrawn: Vec<TrustedRow>,
    pub policy: Option<Policy>,
    /// The new minimum number of attestations.
    pub minimum: Option<u32>,
    pub left: Vec<LeftOut>,
}

impl Plan {
    /// Returns whether the plan changes anything for a server that runs in place of Enact (`mcpkg serve --as enact`).
    pub fn changes_a_server(&self) -> bool {
        let toolsets = [&self.toolsets, &self.added, &self.taken_out].iter().any(|sets| !sets.is_empty());
        let trusted = [&self.trusted, &self.reduced, &self.withdrawn].iter().any(|rows| !rows.is_empty());
        toolsets || trusted || self.follow.is_some() || self.policy.is_some() || self.minimum.is_some()
    }

    /// Returns the rows of the report: each imported item, and what becomes of it.
    pub fn imports(&self) -> Vec<[String; 2]> {
        let row = |what: String, becomes: String| [what, becomes];
        let mut rows = Vec::new();
        for package in &self.packages {
            let scope = Scope::word(&package.scope.key()).to_owned();
            rows.push(row(
                format!("tool {}", package.manifest().reference()),
                format!("installed ({scope}), not verified"),
            ));
        }
        rows.extend(
            self.aliases.iter().map(|(alias, tool)| row(format!("alias {alias}"), format!("alias for {tool}"))),
        );
        rows.extend(self.toolsets.iter().map(|(name, tools)| {
            let active = if self.active.as_ref() == Some(name) { ", the only toolset that agents see" } else { "" };
            row(format!("toolset {name}"), format!("{}{active}", plural::count(tools.len(), "tool")))
        }));
        rows.extend(
            self.added.iter().map(|(name, tools)| row(format!("toolset {name}"), format!("with {}", tools.join(", ")))),
        );
        rows.extend(
            self.taken_out
                .iter()
                .map(|(name, tools)| row(format!("toolset {name}"), format!("without {}", tools.join(", ")))),
        );
        rows.extend(self.follow.iter().map(|follow| {
            let becomes = follow.wanted.as_ref().map_or("every tool".to_owned(), |name| format!("only toolset {name}"));
            row("`mcpkg serve --as enact`".to_owned(), format!("shows {becomes}"))
        }));
        rows.extend(self.registry.iter().map(|place| row(format!("registry {}", place.name), place.location.clone())));
        rows.extend(self.settings.iter().map(|(key, text)| row(format!("setting {}", key.name()), text.clone())));
        rows.extend(self.variables.iter().map(|variable| {
            let value = match &variable.setting {
                Setting::Value(value) => value.clone(),
                Setting::Reference(reference) => reference.clone(),
            };
            row(format!("variable {}", variable.name), value)
        }));
        rows.extend(self.trusted.iter().map(|trusted| {
            row(format!("trusted {}", trusted.identity), format!("as {} for every tool", trusted.part.word()))
        }));
        rows.extend(
            self.reduced.iter().map(|trusted| {
                row(format!("trusted {}", trusted.identity), format!("only as {}", trusted.part.word()))
            }),
        );
        let is_gone = |row: &&TrustedRow| self.reduced.iter().all(|reduced| reduced.identity != row.identity);
        rows.extend(self.withdrawn.iter().filter(is_gone).map(|trusted| {
            row(format!("trusted {}", trusted.identity), format!("no longer as {}", trusted.part.word()))
        }));
        rows.extend(self.policy.iter().map(|policy| row("trust policy".to_owned(), policy.word().to_owned())));
        rows.extend(self.minimum.iter().map(|minimum| row("attestations needed".to_owned(), minimum.to_string())));
        rows
    }

    /// Returns the plan as JSON.
    pub fn data(&self, is_dry: bool) -> Value {
        let package = |package: &Package| {
            json!({
                "name": package.manifest().name,
                "version": package.package.subject.version,
                "scope": Scope::word(&package.scope.key()),
                "sha256": package.package.subject.digest(),
                "from": package.from,
            })
        };
        let left = self.left.iter().map(|left| json!({ "what": left.what, "from": left.from, "why": left.why }));
        let settings = self.settings.iter().map(|(key, text)| json!({ "setting": key.name(), "value": text }));
        let trusted = self.trusted.iter().map(|row| json!({ "identity": row.identity, "kind": row.part.word() }));
        let withdrawn = self.withdrawn.iter().map(|row| json!({ "identity": row.identity, "kind": row.part.word() }));
        json!({
            "tools": self.packages.iter().map(package).collect::<Vec<_>>(),
            "aliases": self.aliases,
            "toolsets": self.toolsets,
            "added": self.added,
            "taken_out": self.taken_out,
            "activeToolset": self.active,
            "registry": self.registry.as_ref().map(|place| &place.location),
            "settings": settings.collect::<Vec<_>>(),
            "variables": self.variables.iter().map(|variable| &variable.name).collect::<Vec<_>>(),
            "trusted": trusted.collect::<Vec<_>>(),
            "withdrawn": withdrawn.collect::<Vec<_>>(),
            "policy": self.policy.map(Policy::word),
            "minimum": self.minimum,
            "left_out": left.collect::<Vec<_>>(),
            "dry_run": is_dry,
        })
    }
}
