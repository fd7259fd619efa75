//! Fetches the rows of large queries from PostgreSQL in batches.

use super::connection::{Connection, Transaction};
use super::rows::Row;
use super::sql::{BATCH, translated};
use super::statement::Statement;
use super::transaction::in_transaction;
use crate::engine::{Intent, Sql, Value};
use mcpkg_base::error::Result;

/// Implements [`crate::Db::each`]: passes the rows of a query to `f`, in order and in batches. `f` may run
/// statements. If all rows fit into one batch, this takes one round trip. Otherwise the query runs again through a
/// cursor, within a transaction.
pub(in crate::engine) fn each(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    if is_short(sql.text(), params) {
        return connection.query(sql, params)?.iter().map(Row::new).try_for_each(f);
    }
    let is_asked = connection.is_asked();
    let first = connection.beginning(sql, params)?;
    if first.len() <= BATCH {
        return first.iter().map(Row::new).try_for_each(f);
    }
    drop(first);
    if connection.transaction.get() != Transaction::None {
        return through_cursor(connection, sql, params, f);
    }
    if is_asked {
        // The first rows came with the version of the database. The transaction below may see a newer one: ask again.
        connection.ask_again();
    }
    in_transaction(connection, Intent::Read, &mut || through_cursor(connection, sql, params, f))
}

/// Whether the rows certainly fit into one batch: the query ends with a small limit, or the statement changes rows
/// and returns few.
fn is_short(sql: &str, params: &[Value<'_>]) -> bool {
    if !sql.starts_with("SELECT") && !sql.starts_with("WITH") || sql.contains("RETURNING") {
        return true;
    }
    let Some((_, limit)) = sql.rsplit_once("LIMIT ") else { return false };
    let limit = match limit.strip_prefix('?') {
        Some(number) => match number.parse::<usize>().ok().and_then(|number| params.get(number.wrapping_sub(1))) {
            Some(Value::Integer(limit)) => Some(*limit),
            _ => None,
        },
        None => limit.parse().ok(),
    };
    limit.is_some_and(|limit| (0..=BATCH as i64).contains(&limit))
}

fn through_cursor(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let cursor = format!("rows_{}", connection.next_cursor());
    let declare = Statement::Text(format!("DECLARE {cursor} NO SCROLL CURSOR FOR {}", translated(sql.text())));
    connection.timed(|client| declare.execute(client, params))?;
    let fetch = Statement::Text(format!("FETCH {BATCH} FROM {cursor}"));
    let handed = loop {
        let rows = connection.timed(|client| fetch.query(client, &[]))?;
        let handed = rows.iter().map(Row::new).try_for_each(&mut *f);
        if handed.is_err() || rows.len() < BATCH {
            break handed;
        }
    };
    // After a failed statement, ending the transaction also closes the cursor.
    match connection.transaction.get() {
        Transaction::Open => connection.run_text(&format!("CLOSE {cursor}")).and(handed),
        _ => handed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_short_if_it_ends_with_a_small_limit() {
        let params = [Value::Integer(9), Value::Integer(BATCH as i64), Value::Integer(BATCH as i64 + 1), Value::Null];
        for short in
            ["SELECT a FROM b LIMIT 1", "SELECT a FROM b LIMIT ?2", "DELETE FROM b", "UPDATE b SET a = 1 RETURNING a"]
        {
            assert!(is_short(short, &params), "{short}");
        }
        for long in [
            "SELECT a FROM b",
            "SELECT a FROM b LIMIT ?3",
            "SELECT a FROM b LIMIT ?4",
            "SELECT a FROM b LIMIT ?5",
            "SELECT a FROM b LIMIT 1001",
            "SELECT a FROM (SELECT c FROM d LIMIT 1) e",
            "WITH e AS (SELECT c FROM d LIMIT ?1) SELECT a FROM e ORDER BY 1",
        ] {
            assert!(!is_short(long, &params), "{long}");
        }
    }
}
