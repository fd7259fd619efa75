//! Reserves ids under which words are indexed before their items exist.

use std::ops::Range;

use crate::Db;
use crate::blobs::damaged_value;
use crate::engine::search as engine;
use crate::engine::{params, sql};
use mcpkg_base::clock;
use mcpkg_base::error::Result;

/// Ids that are left free below those that are reserved, for what others create meanwhile: each gets the one after the
/// largest.
pub(super) const FREE: i64 = 1 << 20;

/// Reserved ids, and the setting that reserves them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reserved {
    key: String,
    pub(crate) ids: Range<i64>,
}

impl Reserved {
    /// Whether the reservation was neither ended nor swept.
    pub(super) fn stands(&self, db: &Db<'_>) -> Result<bool> {
        Ok(db.one(sql!("SELECT 1 FROM setting WHERE key = ?1"), params![self.key], |_| Ok(()))?.is_some())
    }

    pub(super) fn delete(&self, db: &Db<'_>) -> Result<bool> {
        Ok(db.run(sql!("DELETE FROM setting WHERE key = ?1"), params![self.key])? > 0)
    }

    /// Takes the words out of the index, and ends the reservation.
    pub(super) fn sweep(&self, db: &Db<'_>) -> Result<()> {
        if self.delete(db)? { engine::unindex_unwritten(db, &self.ids) } else { Ok(()) }
    }
}

/// Takes all words out of the index that were indexed ahead, those of an import that runs too: it indexes them once
/// more.
pub(crate) fn sweep(db: &Db<'_>) -> Result<()> {
    reservations(db)?.iter().try_for_each(|reserved| reserved.sweep(db))
}

/// Returns the reservations that stand.
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

/// Whether the index contains words that belong to no item.
pub(super) fn is_any(db: &Db<'_>) -> Result<bool> {
    let sql = sql!("SELECT 1 FROM setting WHERE key >= 'search.reserved.' AND key < 'search.reserved/' LIMIT 1");
    Ok(db.one(sql, params![], |_| Ok(()))?.is_some())
}

/// Reserves ids for a number of items; `None` if no ids are left, or the engine does not support this.
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
        // The index numbers prompts and resources together.
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

/// Whether an item has one of these ids: others created more than was foreseen.
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
