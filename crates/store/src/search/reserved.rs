//! Reserves ids for items whose words are indexed before they exist.

use std::ops::Range;

use crate::Db;
use crate::blobs::damaged_value;
use crate::engine::search as engine;
use crate::engine::{params, sql};
use mcpkg_base::clock;
use mcpkg_base::error::Result;

/// How many ids are left free below the reserved ones, for items that others create before the reserved ids are used.
/// Such an item gets the id after the largest existing one.
pub(super) const FREE: i64 = 1 << 20;

/// Reserved ids, and the setting that reserves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    key: String,
    pub(crate) ids: Range<i64>,
}

impl Reserved {
    /// Whether the reservation still exists: it was not ended, and [`sweep`] has not removed it.
    pub(super) fn stands(&self, db: &Db<'_>) -> Result<bool> {
        Ok(db.one(sql!("SELECT 1 FROM setting WHERE key = ?1"), params![self.key], |_| Ok(()))?.is_some())
    }

    pub(super) fn delete(&self, db: &Db<'_>) -> Result<bool> {
        Ok(db.run(sql!("DELETE FROM setting WHERE key = ?1"), params![self.key])? > 0)
    }

    /// Removes the words from the index, and ends the reservation.
    pub(super) fn sweep(&self, db: &Db<'_>) -> Result<()> {
        if self.delete(db)? { engine::unindex_unwritten(db, &self.ids) } else { Ok(()) }
    }
}

/// Removes all words that were indexed ahead. That includes those of a running import, which then indexes them again.
pub(crate) fn sweep(db: &Db<'_>) -> Result<()> {
    reservations(db)?.iter().try_for_each(|reserved| reserved.sweep(db))
}

/// Returns the existing reservations.
pub(crate) fn reservations(db: &Db<'_>) -> Result<Vec<Reserved>> {
    let sql = sql!(
        "SELECT key, value FROM setting WHERE key >= 'search.reserved.' AND key < 'search.reserved/' ORDER BY key"
    );
    db.all(sql, params![], |row| {
        let ids =
            row.get::<&str>(1)?.split_once("..").and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
        let ids = ids.ok_or_else(|| damaged_value("a reservation of the search index is malformed"))?;
        Ok(Reserved { key: row.get(0)?, ids })
    })
}

/// Whether the index may contain words without an item.
pub(super) fn is_any(db: &Db<'_>) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM setting WHERE key >= 'search.reserved.' AND key < 'search.reserved/' LIMIT 1");
    Ok(db.one(sql, params![], |_| Ok(()))?.is_some())
}

/// Reserves ids for `count` items. Returns `None` if no ids are left, or if the engine does not support this.
pub(super) fn reserve(db: &Db<'_>, count: usize) -> Result<Option<Reserved>> {
    if !engine::takes_words_ahead(db) {
        return Ok(None);
    }
    let largest = |sql| db.single(sql, params![], |row| row.get::<i64>(0));
    let taken = [
        largest(sql!("SELECT coalesce(max(id), 0) FROM prompt"))?,
        largest(sql!("SELECT coalesce(max(id), 0) FROM resource"))?,
    ];
    let reserved = reservations(db)?.into_iter().map(|reserved| reserved.ids.end);
    let largest = reserved.chain(taken).max().unwrap_or(0);
    let Some(ids) = i64::try_from(count).ok().and_then(|count| {
        let first = largest.checked_add(FREE)?;
        // Leave room: ids in the index are twice as large as those of prompts and resources.
        first.checked_add(count)?.checked_mul(4)?;
        Some(first..first + count)
    }) else {
        return Ok(None);
    };
    let key = format!("search.reserved.{}", clock::unique().simple());
    let value = format!("{}..{}", ids.start, ids.end);
    db.run(sql!("INSERT INTO setting (key, value) VALUES (?1, ?2)"), params![key, value])?;
    Ok(Some(Reserved { key, ids }))
}

/// Whether an item already has one of these ids, because more than [`FREE`] items were created since they were
/// reserved.
pub(super) fn is_any_taken(db: &Db<'_>, ids: &Range<i64>) -> Result<bool> {
    for sql in [
        sql!("SELECT EXISTS (SELECT 1 FROM prompt WHERE id >= ?1 AND id < ?2)"),
        sql!("SELECT EXISTS (SELECT 1 FROM resource WHERE id >= ?1 AND id < ?2)"),
    ] {
        if db.single(sql, params![ids.start, ids.end], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}
