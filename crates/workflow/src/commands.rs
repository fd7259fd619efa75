//! The commands that a caller may reach, of all sources: searched, listed, and found by their ids. `resolve.rs` has the other
//! ways to write one.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::api::catalogs::{self, Catalogs};
use super::index::{self, Found, Index};
use super::kept::Kept;
use super::operations::Operations;
use super::plugin::plugins::Plugins;
use super::running::{Answered, Failed, Running, gone};
use super::source::{Brief, CommandSource};
use super::spec::{CommandEffect, CommandSpec, SourceKind};
use super::tools::Tools;
use mcpkg_base::error::Result;
use mcpkg_base::secret::Secret;
use mcpkg_core::op::Context;
use mcpkg_store::workflows;

/// Where commands come from, in the order of the documentation.
pub const SOURCES: &[&dyn CommandSource] = &[&Operations, &Catalogs, &Tools, &Plugins];

/// The indexes that were asked last, by database, source and validator.
static INDEXES: Kept<(PathBuf, SourceKind, String), Index> = Kept::new(8);

/// The specs that were asked for last, by the same and their ids.
static SPECS: Kept<(PathBuf, SourceKind, String, String), CommandSpec> = Kept::new(64);

/// Returns the commands that the caller of `context` may reach. Nothing is read before it is asked for.
pub fn reachable(context: &Context) -> Reachable<'_> {
    Reachable { context }
}

/// Returns what a command would do with these arguments, a line each, where a person cannot read it off them.
pub fn foresee(context: &Context, spec: &CommandSpec, with: &Map<String, Value>) -> Result<Vec<String>> {
    let source = SOURCES.iter().find(|source| source.kind() == spec.source);
    source.map_or(Ok(Vec::new()), |source| source.foresee(context, spec, with))
}

/// Runs a command under the rights of the caller of `context`.
pub fn run(context: &Context, running: &Running<'_>) -> Result<Answered, Failed> {
    let source = SOURCES.iter().find(|source| source.kind() == running.spec.source);
    source.ok_or_else(|| gone(&running.spec.id))?.run(context, running)
}

/// Returns the value of a secret that is kept for a command, for one of its arguments. Only catalogs keep any.
pub fn secret(context: &Context, command: &CommandSpec, name: &str) -> Result<Secret> {
    catalogs::secret(context, &command.id, name)
}

/// The commands that a caller may reach.
#[derive(Clone, Copy)]
pub struct Reachable<'a> {
    context: &'a Context,
}

impl Reachable<'_> {
    /// Returns the indexes of the sources, in their order; of one alone where it is named.
    pub fn indexes(&self, only: Option<SourceKind>) -> Result<Vec<Arc<Index>>> {
        let sources = SOURCES.iter().filter(|source| only.is_none_or(|only| only == source.kind()));
        sources.map(|source| self.index(*source)).collect()
    }

    /// Returns the commands that have a word of the query and that the filter takes, in no order.
    pub fn search<'i>(&self, indexes: &'i [Arc<Index>], query: &str, takes: impl Fn(&Brief) -> bool) -> Vec<Found<'i>> {
        let indexes: Vec<&Index> = indexes.iter().map(|index| &**index).collect();
        index::search(&indexes, query, |brief| self.reaches(brief.effect) && takes(brief))
    }

    /// Returns the ids of the commands that have this id or alias, in whichever case.
    pub fn named<'i>(&self, indexes: &'i [Arc<Index>], id: &str) -> Vec<&'i str> {
        let named = indexes.iter().flat_map(|index| index.named(id));
        named.filter(|brief| self.reaches(brief.effect)).map(|brief| brief.id.as_str()).collect()
    }

    /// Returns the command of this very id, where there is one that the caller may reach.
    pub fn spec(&self, id: &str) -> Result<Option<Arc<CommandSpec>>> {
        let Some((group, _)) = id.split_once(':') else { return Ok(None) };
        for source in SOURCES.iter().filter(|source| source.group().is_none_or(|only| only == group)) {
            let key =
                (self.context.database().to_owned(), source.kind(), source.validator(self.context)?, id.to_owned());
            let spec = match SPECS.find(&key) {
                Some(kept) => kept,
                None => match source.spec(self.context, id)? {
                    Some(spec) => SPECS.keep(key, spec),
                    None => continue,
                },
            };
            return Ok(self.reaches(spec.effect).then_some(spec));
        }
        Ok(None)
    }

    /// Returns a text that differs whenever a command does, for this caller.
    pub fn validator(&self) -> Result<String> {
        let validators = SOURCES.iter().map(|source| source.validator(self.context)).collect::<Result<Vec<_>>>()?;
        Ok(format!("{validators:?} {}", self.context.surface.read_only))
    }

    /// Returns the value of a variable that the project allows its workflows to read.
    pub fn allowed(&self, name: &str) -> Result<Option<String>> {
        self.context.store.read(|db| workflows::variable(db, &self.context.selection, name))
    }

    /// Returns whether any command of a group can be reached.
    pub fn reaches_group(&self, group: &str) -> Result<bool> {
        let indexes = self.indexes(None)?;
        Ok(!self.search(&indexes, "", |brief| brief.id.split(':').next() == Some(group)).is_empty())
    }

    /// Returns whether it is said where the secrets of a command are kept.
    pub fn keeps_secrets(&self, command: &CommandSpec) -> Result<bool> {
        match command.source {
            SourceKind::Catalogs => catalogs::has_secrets(self.context, &command.id),
            SourceKind::Operations | SourceKind::Tools | SourceKind::Plugins => Ok(true),
        }
    }

    fn index(&self, source: &dyn CommandSource) -> Result<Arc<Index>> {
        let key = (self.context.database().to_owned(), source.kind(), source.validator(self.context)?);
        INDEXES.get(key, || Ok(Index::new(source.briefs(self.context)?)))
    }

    /// Whether the caller may reach commands of this effect. By its group and name a source leaves out what it may not.
    fn reaches(&self, effect: CommandEffect) -> bool {
        effect == CommandEffect::Read || !self.context.surface.read_only
    }
}
