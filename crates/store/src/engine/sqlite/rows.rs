//! Statements on SQLite: bound, stepped, and kept prepared.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql, params_from_iter};

use crate::error::Result;
use crate::store::engine::{Sql, Value};

/// A row of SQLite's.
#[derive(Clone, Copy)]
pub(in crate::store::engine) struct Row<'r>(&'r rusqlite::Row<'r>);

impl<'r> Row<'r> {
    /// Returns the value of a column as SQLite holds it.
    pub(in crate::store::engine) fn value(&self, column: usize) -> Result<Value<'r>> {
        Ok(value_of(self.0.get_ref(column)?))
    }
}

pub(super) fn value_of(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => Value::Integer(integer),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(text) => Value::Text(text),
        ValueRef::Blob(bytes) => Value::Blob(bytes),
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(integer),
            Value::Real(real) => ValueRef::Real(real),
            Value::Text(text) => ValueRef::Text(text),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// As [`crate::store::Db::one`].
pub(in crate::store::engine) fn one<T>(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: impl FnOnce(Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params_from_iter(params))?;
    match rows.next()? {
        Some(row) => f(Row(row)).map(Some),
        None => Ok(None),
    }
}

/// As [`crate::store::Db::each`].
pub(in crate::store::engine) fn each(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    mut f: impl FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params_from_iter(params))?;
    while let Some(row) = rows.next()? {
        f(Row(row))?;
    }
    Ok(())
}

/// As [`crate::store::Db::run`].
pub(in crate::store::engine) fn run(connection: &Connection, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
    Ok(prepare(connection, sql)?.execute(params_from_iter(params))? as u64)
}

fn prepare<'c>(connection: &'c Connection, sql: Sql) -> Result<CachedStatement<'c>> {
    Ok(connection.prepare_cached(sql.text())?)
}
