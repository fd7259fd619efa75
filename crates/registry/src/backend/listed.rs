//! Finds the tools of registries that are listed in the database: this database itself, and folders.

use super::query::{Hit, Query};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::tools::listings::{self, Listing};

/// Finds tools of a registry; also returns how many match.
pub fn find(db: &Db<'_>, registry: &str, query: &Query) -> Result<(Vec<Hit>, u64)> {
    let words: Vec<&str> = query.words().collect();
    let (listings, total) = listings::find(db, registry, &words, &query.tags, query.limit)?;
    let hit = |listing: Listing| {
        let Listing { name, version, description, tags, .. } = listing;
        Hit { name, version, description, tags }
    };
    Ok((listings.into_iter().map(hit).collect(), total))
}
