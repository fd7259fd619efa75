//! Finds the commands of all sources that a caller may use: by search, by listing, or by id. `resolve.rs` handles other spellings
//! of an id.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::api::catalogs::{self, Catalogs};
use super::index::{self, Index, SearchHit};
use super::operations::Operations;
use super::plugin::plugins::Plugins;
use super::running::{Answered, Failed, Running, gone};
use super::source::{Brief, CommandSource};
use super::spec::{CommandEffect, CommandSpec, SourceKind};
use super::tools::Tools;
use mcpkg_base::cache::Cache;
use mcpkg_base::error::Result;
use mcpkg_base::secret::Secret;
use mcpkg_core::op::Context;
use mcpkg_store::workflows;

/// The sources of commands, in documentation order.
pub const SOURCES: &[&dyn CommandSource] = &[&Operations, &Catalogs, &Tools, &Plugins];

/// The most recently used indexes, by database, source and validator.
static INDEXES: Cache<(PathBuf, SourceKind, String), Arc<Index>> = Cache::new(8);

/// The most recently used specs, by database, source, validator and id.
static SPECS: Cache<(PathBuf, SourceKind, String, String), Arc<CommandSpec>> = Cache::new(64);

/// Returns the commands that the caller may use. This does not read the database; queries on the result do.
pub fn reachable(context: &Context) -> Reachable<'_> {
    Reachable { context }
}

/// Returns lines that predict what a command would do with these arguments. Returns no lines if the arguments alone make that
/// clear.
pub fn foresee(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Vec<String>> {
    let source = SOURCES.iter().find(|source| source.kind() == spec.source);
    source.map_or(Ok(Vec::new()), |source| source.foresee(context, spec, with))
}

/// Runs a command with the permissions of the caller.
pub fn run(context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
    let source = SOURCES.iter().find(|source| source.kind() == running.spec.source);
    source.ok_or_else(|| gone(&running.spec.id))?.run(context, running)
}

/// Returns the secret for an argument of a command. Only commands of catalogs have secrets.
pub fn secret(context: &Context, command: &CommandSpec, name: &str) -> Result<Secret> {
    catalogs::secret(context, &command.id, name)
}

#[derive(Clone, Copy)]
pub struct Reachable<'a> {
    context: &'a Context,
}

impl Reachable<'_> {
    /// Returns the index of each source, or only that of one source.
    pub fn indexes(&self, only: Option<SourceKind>) -> Result<Vec<Arc<Index>>> {
        let sources = SOURCES.iter().filter(|source| only.is_none_or(|only| only == source.kind()));
        sources.map(|source| self.index(*source)).collect()
    }

    /// Returns the commands that match a word of the query and pass the filter, in no particular order. An empty query matches all.
    pub fn search<'i>(
        &self,
        indexes: &'i [Arc<Index>],
        query: &str,
        takes: impl Fn(&Brief) -> bool,
    ) -> Vec<SearchHit<'i>> {
        let indexes: Vec<&Index> = indexes.iter().map(|index| &**index).collect();
        index::search(&indexes, query, |brief| self.reaches(brief.effect) && takes(brief))
    }

    /// Returns the ids of the commands with this id or alias, ignoring case.
    pub fn named<'i>(&self, indexes: &'i [Arc<Index>], id: &str) -> Vec<&'i str> {
        let named = indexes.iter().flat_map(|index| index.named(id));
        named.filter(|brief| self.reaches(brief.effect)).map(|brief| brief.id.as_str()).collect()
    }

    /// Returns the command with exactly this id, if the caller may use it.
    pub fn spec(&self, id: &str) -> Result<Option<Arc<CommandSpec>>> {
        let Some((group, _)) = id.split_once(':') else { return Ok(None) };
        for source in SOURCES.iter().filter(|source| source.group().is_none_or(|only| only == group)) {
            let key =
                (self.context.database().to_owned(), source.kind(), source.validator(self.context)?, id.to_owned());
            let spec = match SPECS.get(&key) {
                Some(known) => known,
                None => {
                    let Some(spec) = source.spec(self.context, id)?.map(Arc::new) else { continue };
                    SPECS.put(key, Arc::clone(&spec));
                    spec
                }
            };
            return Ok(self.reaches(spec.effect).then_some(spec));
        }
        Ok(None)
    }

    /// Returns a text that changes whenever one of this caller's commands changes.
    pub fn validator(&self) -> Result<String> {
        let validators = SOURCES.iter().map(|source| source.validator(self.context)).collect::<Result<Vec<_>>>()?;
        Ok(format!("{validators:?} {}", self.context.surface.read_only))
    }

    /// Returns the value of an environment variable that the project allows workflows to read.
    pub fn allowed(&self, name: &str) -> Result<Option<String>> {
        self.context.store.read(|db| workflows::variable(db, &self.context.selection, name))
    }

    /// Returns whether the caller may use any command of a group.
    pub fn reaches_group(&self, group: &str) -> Result<bool> {
        let indexes = self.indexes(None)?;
        Ok(!self.search(&indexes, "", |brief| brief.id.split(':').next() == Some(group)).is_empty())
    }

    /// Returns whether the secrets that a command needs are configured.
    pub fn keeps_secrets(&self, command: &CommandSpec) -> Result<bool> {
        match command.source {
            SourceKind::Catalogs => catalogs::has_secrets(self.context, &command.id),
            SourceKind::Operations | SourceKind::Tools | SourceKind::Plugins => Ok(true),
        }
    }

    fn index(&self, source: &dyn CommandSource) -> Result<Arc<Index>> {
        let key = (self.context.database().to_owned(), source.kind(), source.validator(self.context)?);
        INDEXES.get_or(key, || Ok(Arc::new(Index::new(source.briefs(self.context)?))))
    }

    /// Returns whether the caller may use commands with this effect. The sources themselves check groups and names.
    fn reaches(&self, effect: CommandEffect) -> bool {
        effect == CommandEffect::Read || !self.context.surface.read_only
    }
}
