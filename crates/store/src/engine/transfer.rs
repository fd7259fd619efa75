//! Copies a database from one engine to the other: all rows, and a new search index.

use super::connection::Link;
use super::progress::Progress;
use super::sql::Table;
use super::value::{Value, params};
use super::{postgres, sqlite};
use crate::engine::sql;
use crate::revisions::Kind;
use crate::sums::checksum;
use crate::{Db, blobs, search};
use mcpkg_base::error::{Code, Error, Result};

/// Replaces all rows of `to` with those of `from`, and rebuilds the search index of `to`. Both databases must be in a
/// transaction, and one of them must be a file with this program's schema. Each copied table is compared with the table
/// in `from`.
pub(super) fn copy(from: &Db<'_>, to: &Db<'_>, progress: &Progress<'_>) -> Result<()> {
    let tables = match (from.link(), to.link()) {
        (Link::Sqlite(file), _) | (_, Link::Sqlite(file)) => sqlite::tables::tables(file)?,
        _ => return Err(Error::internal("neither side of a transfer is a file")),
    };
    let total = tables.len() as u64 + 1;
    begin(to.link(), &tables)?;
    for (table, done) in tables.iter().zip(0..) {
        progress.tell(done, total)?;
        let mut sum = 0_i64;
        let rows = |take: &mut dyn FnMut(&[Value<'_>]) -> Result<()>| {
            each(from.link(), table, |values| {
                sum = sum.wrapping_add(checksum(values));
                progress.go_on()?;
                take(values)
            })
        };
        match to.link() {
            Link::Sqlite(connection) => sqlite::tables::fill(connection, table, rows)?,
            Link::Postgres(connection) => postgres::tables::fill(connection, table, rows)?,
        }
        if digest(to.link(), table)? != sum {
            return Err(Error::internal(format!(
                "the rows of table {} differ from those that were copied",
                table.name
            )));
        }
    }
    progress.tell(total - 1, total)?;
    // If an import was killed, these settings name words that were indexed ahead of their items. The new index does not have
    // such words.
    to.run(sql!("DELETE FROM setting WHERE key >= 'search.reserved.' AND key < 'search.reserved/'"), params![])?;
    words(from, to, |_| true)?;
    tool_words(from, to, |_| true)?;
    progress.tell(total, total)
}

/// Empties the tables, and postpones checks of references to the end of the transaction.
fn begin(to: Link<'_>, tables: &[Table]) -> Result<()> {
    match to {
        Link::Sqlite(connection) => sqlite::tables::empty(connection, tables),
        Link::Postgres(connection) => postgres::tables::empty(connection, tables),
    }
}

fn each(link: Link<'_>, table: &Table, f: impl FnMut(&[Value<'_>]) -> Result<()>) -> Result<()> {
    match link {
        Link::Sqlite(connection) => sqlite::tables::each(connection, table, f),
        Link::Postgres(connection) => postgres::tables::each(connection, table, f),
    }
}

/// Returns a digest of a table's rows that does not depend on their order.
fn digest(link: Link<'_>, table: &Table) -> Result<i64> {
    let mut sum = 0_i64;
    each(link, table, |values| {
        sum = sum.wrapping_add(checksum(values));
        Ok(())
    })?;
    Ok(sum)
}

/// Adds the items of `from` to the search index of `to`, if `wanted` returns true for one of their texts.
pub(super) fn words(from: &Db<'_>, to: &Db<'_>, wanted: impl Fn(&str) -> bool) -> Result<()> {
    let items = [
        (Kind::Prompt, sql!("SELECT id, project_id, name, description, blob_id FROM prompt")),
        (Kind::Resource, sql!("SELECT id, project_id, name, description, blob_id FROM resource WHERE text = 1")),
    ];
    for (kind, sql) in items {
        from.each(sql, params![], |row| {
            let body = match blobs::beginning(from, row.get(4)?, search::INDEXED as i64) {
                // The damage was already reported together with the content.
                Err(error) if matches!(error.code(), Code::Damaged | Code::NotDatabase) => Vec::new(),
                body => body?,
            };
            let (name, description): (&str, Option<&str>) = (row.get(2)?, row.get(3)?);
            let body = String::from_utf8_lossy(&body);
            if ![name, description.unwrap_or_default(), &body].into_iter().any(&wanted) {
                return Ok(());
            }
            search::index(to, kind, row.get(0)?, row.get(1)?, name, description, &body)
        })?;
    }
    Ok(())
}

/// Adds the tools that `from` lists to the search index of `to`, if `wanted` returns true for one of their texts.
pub(super) fn tool_words(from: &Db<'_>, to: &Db<'_>, wanted: impl Fn(&str) -> bool) -> Result<()> {
    from.each(sql!("SELECT id, name, description, tags FROM tool_listing"), params![], |row| {
        // Tags that are not a list are not indexed. Reading them reports the damage.
        let tags: Vec<String> = serde_json::from_str(row.get(3)?).unwrap_or_default();
        let (name, description, tags): (&str, &str, _) = (row.get(1)?, row.get(2)?, tags.join(" "));
        if ![name, description, &tags].into_iter().any(&wanted) {
            return Ok(());
        }
        super::tool_search::index(to, row.get(0)?, name, description, &tags)
    })
}
