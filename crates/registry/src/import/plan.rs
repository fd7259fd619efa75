//! The plan of an import: what it takes, and what it leaves out.

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

/// The pattern of every tool.
pub const EVERY: &str = "*";

/// Something that is not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub what: String,
    /// The file or folder that has it.
    pub from: String,
    /// Why it is not taken, or what to do instead.
    pub why: String,
}

impl LeftOut {
    /// Returns what is not taken.
    pub fn new(what: impl Into<String>, from: &str, why: impl Into<String>) -> Self {
        Self { what: what.into(), from: from.to_owned(), why: why.into() }
    }
}

/// A package that is installed.
pub struct Package {
    /// Its archive, made from its folder.
    pub package: installed::Package,
    pub scope: Scope,
    /// The file that names it.
    pub from: String,
}

impl Package {
    pub fn manifest(&self) -> &Manifest {
        &self.package.opened.manifest
    }
}

/// A change of the toolset that narrows servers which stand in for the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The one before; `None` where such servers show every tool.
    pub before: Option<String>,
    /// The one that the file names.
    pub wanted: Option<String>,
    /// Whether it shows a tool that the one before does not have.
    pub widens: bool,
}

/// What an import takes and leaves out.
#[derive(Default)]
pub struct Plan {
    /// Packages that are installed.
    pub packages: Vec<Package>,
    /// Short names with the tools that they stand for.
    pub aliases: BTreeMap<String, String>,
    /// Toolsets with the tools in them.
    pub toolsets: BTreeMap<String, Vec<String>>,
    /// Tools that the file adds to stored toolsets.
    pub added: BTreeMap<String, Vec<String>>,
    /// Tools of stored toolsets that the file does not name.
    pub taken_out: BTreeMap<String, Vec<String>>,
    /// The toolset that narrows what agents see from now on.
    pub active: Option<String>,
    /// How the toolset changes that narrows servers which stand in for the original.
    pub follow: Option<Follow>,
    /// The registry that is added.
    pub registry: Option<Place>,
    pub settings: Vec<(Key, String)>,
    /// Variables of tools, none of which is a secret.
    pub variables: Vec<Variable>,
    /// Where the settings file is.
    pub config: String,
    pub trusted: Vec<TrustedRow>,
    /// Identities that were trusted in both roles and are now trusted in one.
    pub reduced: Vec<TrustedRow>,
    /// Identities that are no longer trusted, since the file no longer names them.
    pub withdrawn: Vec<TrustedRow>,
    /// The policy from now on.
    pub policy: Option<Policy>,
    /// The new minimum of attestations.
    pub minimum: Option<u32>,
    /// What is not taken.
    pub left: Vec<LeftOut>,
}

impl Plan {
    /// Whether a server that stands in for the original has anything to write.
    pub fn changes_a_server(&self) -> bool {
        let toolsets = [&self.toolsets, &self.added, &self.taken_out].iter().any(|sets| !sets.is_empty());
        let trusted = [&self.trusted, &self.reduced, &self.withdrawn].iter().any(|rows| !rows.is_empty());
        toolsets || trusted || self.follow.is_some() || self.policy.is_some() || self.minimum.is_some()
    }

    /// Returns what is taken as rows: what it is, and where it comes from or what it becomes.
    pub fn taken(&self) -> Vec<[String; 2]> {
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

    /// Returns it for programs.
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
