//! The search index for registries with stored listings: this database, and folders. SQLite and PostgreSQL each have
//! their own kind of index.

use std::collections::HashMap;

use crate::Db;
use crate::blobs::damaged_value;
use crate::engine::tool_search as engine;
use crate::engine::{Row, params, sql};
use crate::items::json;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;

/// A tool in the search index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub name: String,
    /// The version that is shown.
    pub version: String,
    /// A summary in one line.
    pub description: String,
    pub tags: Vec<String>,
    pub published_at: Millis,
}

/// Adds a tool of a registry to the index, replacing its previous listing.
pub fn put(db: &Db<'_>, registry: &str, listing: &Listing) -> Result<()> {
    let Listing { name, version, description, tags, published_at } = listing;
    let sql = sql!(
        "INSERT INTO tool_listing (registry, name, version, description, tags, published_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (registry, name) DO UPDATE SET version = excluded.version, description = excluded.description,
                                                    tags = excluded.tags, published_at = excluded.published_at
         RETURNING id"
    );
    let id = db.insert(sql, params![registry, name, version, description, json(tags)?, published_at])?;
    engine::index(db, id, name, description, &tags.join(" "))
}

/// Removes a tool of a registry from the index.
pub fn remove(db: &Db<'_>, registry: &str, name: &str) -> Result<()> {
    let sql = sql!("DELETE FROM tool_listing WHERE registry = ?1 AND name = ?2 RETURNING id");
    match db.one(sql, params![registry, name], |row| row.get(0))? {
        Some(id) => engine::unindex(db, id),
        None => Ok(()),
    }
}

/// Replaces all listings of a registry. Unchanged ones are not written again.
pub fn replace(db: &Db<'_>, registry: &str, listings: &[Listing]) -> Result<()> {
    let sql = sql!("SELECT name, version, description, tags, published_at FROM tool_listing WHERE registry = ?1");
    let mut before = HashMap::new();
    db.each(sql, params![registry], |row| {
        let listing = from_row(row)?;
        before.insert(listing.name.clone(), listing);
        Ok(())
    })?;
    for listing in listings {
        if before.remove(&listing.name).as_ref() != Some(listing) {
            put(db, registry, listing)?;
        }
    }
    before.keys().try_for_each(|name| remove(db, registry, name))
}

/// Finds the best `limit` tools of a registry that contain all of `words`; the last word may be incomplete. If there
/// are none, finds tools that contain any of the words. Without words, finds all tools, ordered by name. Each result
/// has all of `tags`. Also returns how many tools match.
pub fn find(db: &Db<'_>, registry: &str, words: &[&str], tags: &[String], limit: u32) -> Result<(Vec<Listing>, u64)> {
    let tags = json(&tags)?;
    if words.is_empty() {
        return engine::all(db, registry, &tags, limit, from_row);
    }
    for joined in [" AND ", " OR "] {
        let found = engine::find(db, registry, (words, joined), &tags, limit, from_row)?;
        if found.1 > 0 {
            return Ok(found);
        }
    }
    Ok((Vec::new(), 0))
}

/// Returns the names of listed tools that begin with `prefix`, in order and without duplicates.
pub fn names(db: &Db<'_>, prefix: &str, limit: usize) -> Result<Vec<String>> {
    let sql = sql!(
        "SELECT DISTINCT name FROM tool_listing WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1
          ORDER BY name LIMIT ?2"
    );
    db.all(sql, params![prefix, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))
}

fn from_row(row: &Row<'_>) -> Result<Listing> {
    let tags = serde_json::from_str(row.get(3)?)
        .map_err(|error| damaged_value("the tags of a tool are malformed").with_source(error))?;
    Ok(Listing { name: row.get(0)?, version: row.get(1)?, description: row.get(2)?, tags, published_at: row.get(4)? })
}
