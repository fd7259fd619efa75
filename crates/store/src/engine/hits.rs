//! The hits of a search, and how they are read from the rows that both engines' queries return.

use super::row::Row;
use super::sql::Sql;
use super::value::Value;
use crate::Db;
use crate::names::legible;
use crate::revisions::Kind;
use crate::sums::{DAMAGED, checksum};
use mcpkg_base::error::Result;

/// A prompt or resource that matches a search.
#[derive(Clone, Debug)]
pub struct Hit {
    pub kind: Kind,
    pub project: String,
    pub name: String,
    pub uri: Option<String>,
    pub description: Option<String>,
    /// How well the item matches. Higher is better. Only comparable within one search.
    pub score: f64,
}

/// Reads an item. Columns 0 to 5 are its kind, project, name, URI, description and rank. Columns 6 and 7 are further
/// values that the checksum of its list entry covers; column 8 is that checksum.
pub(super) fn hit(row: &Row<'_>) -> Result<Hit> {
    let kind = if row.get::<&str>(0)? == "prompt" { Kind::Prompt } else { Kind::Resource };
    // The columns that the checksum covers, in the order in which they are hashed. A prompt has no URI.
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

/// Calls `f` for each row of a query, and returns the results with the number of all matches. Column 5 of each row holds
/// this number, which the limit of the query does not reduce.
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
