//! Reads the results of a search from the rows that both engines' queries return.

use super::row::Row;
use super::sql::Sql;
use super::value::Value;
use crate::Db;
use crate::revisions::Kind;
use crate::search::Hit;
use crate::sums::{DAMAGED, checksum};
use crate::text::legible;
use mcpkg_base::error::Result;

/// Reads an item: its kind, project, name, URI, description and rank, then in columns 6 to 8 the checksum of its entry in
/// lists, and the other values that this checksum covers.
pub(super) fn hit(row: &Row<'_>) -> Result<Hit> {
    let kind = if row.get::<&str>(0)? == "prompt" { Kind::Prompt } else { Kind::Resource };
    // The columns of the entry in lists, in the order in which the checksum covers them. A prompt has no URI.
    let listed: &[usize] = if kind == Kind::Prompt { &[6, 2, 4, 7] } else { &[6, 2, 3, 4, 7] };
    let values = listed.iter().map(|column| row.get(*column)).collect::<Result<Vec<Value<'_>>>>()?;
    let damaged = row.get::<i64>(8)? != checksum(&values);
    Ok(Hit {
        kind,
        project: row.get(1)?,
        name: if damaged { legible(row, 2) } else { row.get(2)? },
        uri: if damaged { None } else { row.get(3)? },
        description: if damaged { Some(DAMAGED.to_owned()) } else { row.get(4)? },
        score: -row.get::<f64>(5)?,
    })
}

/// Reads rows whose column 5 is the total number of rows without the limit.
pub(super) fn counted<T>(
    db: &Db<'_>,
    sql: Sql,
    params: &[Value<'_>],
    mut f: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<(Vec<T>, u64)> {
    let mut total = 0;
    let found = db.all(sql, params, |row| {
        total = row.get(5)?;
        f(row)
    })?;
    Ok((found, total))
}
