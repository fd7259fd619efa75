//! Searches the tools that are listed in the database: those of this database itself and of folder registries.

use super::query::{Hit, Query};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::tools::listings::{self, Listing};

/// Searches a registry's tools, and returns the matches and their total number.
pub fn find(db: &Db<'_>, registry: &str, query: &Query) -> Result<(Vec<Hit>, u64)> {
    let words: Vec<&str> = query.words().collect();
    let (listings, total) = listings::find(db, registry, &words, &query.tags, query.limit)?;
    let hit = |listing: Listing| {
        let Listing { name, version, description, tags, .. } = listing;
        Hit { name, version, description, tags }
    };
    Ok((listings.into_iter().map(hit).collect(), total))
}
