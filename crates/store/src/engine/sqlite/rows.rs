//! Binds and runs statements on SQLite, and reads their rows.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql, params_from_iter};

use super::errors::failed;
use crate::engine::{Sql, Value};
use mcpkg_base::error::Result;

/// Makes an SQL statement in SQLite's own dialect. Only the files of this folder use this macro.
macro_rules! sqlite_sql {
    ($($text:expr),+ $(,)?) => {
        const { $crate::engine::Sql::new(concat!($($text),+)) }
    };
}
pub(super) use sqlite_sql;

/// A row from SQLite.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Row<'r>(&'r rusqlite::Row<'r>);

impl<'r> Row<'r> {
    pub(in crate::engine) fn value(&self, column: usize) -> Result<Value<'r>> {
        Ok(value_of(self.0.get_ref(column).map_err(failed)?))
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

/// Implements [`crate::Db::one`].
pub(in crate::engine) fn one(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params_from_iter(params)).map_err(failed)?;
    rows.next().map_err(failed)?.map_or(Ok(()), |row| f(Row(row)))
}

/// Implements [`crate::Db::each`].
pub(in crate::engine) fn each(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = prepare(connection, sql)?;
    let mut rows = statement.query(params_from_iter(params)).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        f(Row(row))?;
    }
    Ok(())
}

/// Implements [`crate::Db::run`].
pub(in crate::engine) fn run(connection: &Connection, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
    Ok(prepare(connection, sql)?.execute(params_from_iter(params)).map_err(failed)? as u64)
}

fn prepare<'c>(connection: &'c Connection, sql: Sql) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(sql.text()).map_err(failed)
}
