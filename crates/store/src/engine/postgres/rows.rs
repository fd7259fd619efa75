//! Binds and runs statements on PostgreSQL, and reads their rows.

use std::error::Error as StdError;

use postgres::types::private::BytesMut;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type};

use super::connection::Connection;
use super::errors::failed;
use crate::engine::value::FromValue;
use crate::engine::{Sql, Value};
use mcpkg_base::error::{Error, Result};

/// The maximum number of rows that are sent before their answers are awaited.
const PIPELINED: usize = 500;

type Failure = Box<dyn StdError + Sync + Send>;

/// A row from PostgreSQL.
#[derive(Clone, Copy)]
pub(in crate::engine) struct Row<'r>(pub(super) &'r postgres::Row);

impl<'r> Row<'r> {
    pub(super) fn new(row: &'r postgres::Row) -> Self {
        Self(row)
    }

    pub(super) fn get<T: FromValue<'r>>(&self, column: usize) -> Result<T> {
        self.value(column)?.read(column)
    }

    pub(in crate::engine) fn value(&self, column: usize) -> Result<Value<'r>> {
        self.0
            .try_get::<_, Option<Read<'r>>>(column)
            .map(|value| value.map_or(Value::Null, |Read(value)| value))
            .map_err(|error| Error::internal(format!("column {column} of a row: {error}")))
    }
}

/// A value as PostgreSQL sends it.
struct Read<'v>(Value<'v>);

impl<'v> FromSql<'v> for Read<'v> {
    fn from_sql(ty: &Type, raw: &'v [u8]) -> std::result::Result<Self, Failure> {
        Ok(Self(match *ty {
            Type::INT8 => Value::Integer(i64::from_sql(ty, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(ty, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Value::Blob(raw),
            _ => Value::Text(raw),
        }))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::INT8 | Type::INT4 | Type::BOOL | Type::FLOAT8 | Type::BYTEA | Type::TEXT | Type::VARCHAR)
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Failure> {
        match (*self, ty) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(integer), &Type::INT4) => i32::try_from(integer)?.to_sql(ty, out)?,
            (Value::Integer(integer), &Type::BOOL) => (integer != 0).to_sql(ty, out)?,
            (Value::Integer(integer), &Type::INT8) => integer.to_sql(ty, out)?,
            (Value::Real(real), &Type::FLOAT8) => real.to_sql(ty, out)?,
            (Value::Text(bytes), &(Type::TEXT | Type::VARCHAR | Type::UNKNOWN))
            | (Value::Blob(bytes), &Type::BYTEA) => {
                out.extend_from_slice(bytes);
                IsNull::No
            }
            (Value::Integer(integer), &Type::UNKNOWN) => integer.to_string().as_bytes().to_sql(&Type::BYTEA, out)?,
            (Value::Real(real), &Type::UNKNOWN) => real.to_string().as_bytes().to_sql(&Type::BYTEA, out)?,
            (value, ty) => return Err(format!("{value:?} was given for a parameter of the type {ty}").into()),
        };
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, ty: &Type) -> Format {
        match *ty {
            Type::UNKNOWN => Format::Text,
            _ => Format::Binary,
        }
    }

    postgres::types::to_sql_checked!();
}

/// Implements [`crate::Db::one`].
pub(in crate::engine) fn one(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    first(connection, sql, params, f).map(|_| ())
}

/// Applies `f` to the first row of a query; `None` if there is no row.
pub(super) fn first<T>(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: impl FnOnce(Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let rows = connection.query(sql, params)?;
    rows.first().map(|row| f(Row(row))).transpose()
}

/// Applies `f` to the row of a query that always has exactly one.
pub(super) fn single<T>(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: impl FnOnce(Row<'_>) -> Result<T>,
) -> Result<T> {
    first(connection, sql, params, f)?
        .ok_or_else(|| Error::internal("a query that should always return a row returned none"))
}

/// Implements [`crate::Db::stream`]. If the connection is lost after `f` was called with a row, the query is not
/// repeated, because `f` would see that row twice.
pub(in crate::engine) fn stream(
    connection: &Connection,
    sql: Sql,
    params: &[Value<'_>],
    f: &mut dyn FnMut(Row<'_>) -> Result<()>,
) -> Result<()> {
    let mut answer = Ok(());
    connection.run(sql, |client, statement| {
        let mut rows = statement.rows(client, params)?;
        let mut row = rows.next()?;
        while let (Some(handed), true) = (row, answer.is_ok()) {
            answer = f(Row(&handed));
            row = rows.next().unwrap_or_else(|error| {
                answer = Err(failed(error));
                connection.fail();
                None
            });
        }
        Ok(())
    })?;
    answer
}

/// Implements [`crate::Db::run`].
pub(in crate::engine) fn run(connection: &Connection, sql: Sql, params: &[Value<'_>]) -> Result<u64> {
    let changed = connection.run(sql, |client, statement| statement.execute(client, params))?;
    connection.add_changed(changed);
    Ok(changed)
}

/// Implements [`crate::Db::run_for_each`]. Call it only in a transaction: if the connection is lost, some of the rows may
/// have been written, and are not written again.
pub(in crate::engine) fn run_for_each(connection: &Connection, sql: Sql, rows: &[Vec<Value<'_>>]) -> Result<Vec<u64>> {
    let mut counts = Vec::with_capacity(rows.len());
    let (alone, many) = rows.split_at(rows.len().min(1));
    for row in alone {
        counts.push(run(connection, sql, row)?);
    }
    for rows in many.chunks(PIPELINED) {
        let changed = connection.run(sql, |client, statement| statement.execute_for_each(client, rows))?;
        connection.add_changed(changed.iter().sum());
        counts.extend(changed);
    }
    Ok(counts)
}
