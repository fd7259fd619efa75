//! Runs a statement on PostgreSQL: in one round trip the first time, and prepared from the second time on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use postgres::types::{ToSql, Type};
use postgres::{Error, Row};

use super::client::{Client, Rows};
use super::snapshot;
use super::sql::{cut, translated};
use crate::engine::{Sql, Value};

/// How a statement's text is changed before it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Form {
    /// Whether [`cut`] limits the number of rows.
    pub(super) is_cut: bool,
    /// Whether the statement also returns the version of the database that it sees.
    pub(super) tells: bool,
}

impl Form {
    fn written(self, sql: Sql) -> String {
        let mut text = translated(sql.text());
        if self.is_cut {
            text = cut(&text);
        }
        if self.tells {
            text = snapshot::with_snapshot(&text);
        }
        text
    }
}

/// The statements that a connection has run, by text and form. A statement is prepared when it runs for the second
/// time, because preparing costs a round trip. Most statements run only once: those of a shell command, and those of
/// the first write on a new connection.
#[derive(Default)]
pub(super) struct Statements(HashMap<(&'static str, Form), Option<postgres::Statement>>);

impl Statements {
    /// Returns the statement to run: its text the first time, and prepared from the second time on.
    pub(super) fn next(&mut self, client: &mut Client, sql: Sql, form: Form) -> Result<Statement, Error> {
        match self.0.entry((sql.text(), form)) {
            Entry::Vacant(first) => {
                first.insert(None);
                Ok(Statement::Text(form.written(sql)))
            }
            Entry::Occupied(again) => {
                let kept = again.into_mut();
                let prepared = match kept {
                    Some(prepared) => prepared.clone(),
                    None => kept.insert(client.prepare(&form.written(sql))?).clone(),
                };
                Ok(Statement::Prepared(prepared))
            }
        }
    }
}

pub(super) enum Statement {
    /// Sent together with its parameters. Parameters other than bytes are sent as text without a type. The server
    /// infers their types, as it does for a prepared statement.
    Text(String),
    Prepared(postgres::Statement),
}

impl Statement {
    pub(super) fn query(&self, client: &mut Client, params: &[Value<'_>]) -> Result<Vec<Row>, Error> {
        match self {
            Statement::Text(text) => client.query_typed(text, &typed(params)),
            Statement::Prepared(prepared) => client.query(prepared, &bound(params)),
        }
    }

    /// Returns the rows one by one as they arrive.
    pub(super) fn rows<'c>(&self, client: &'c mut Client, params: &[Value<'_>]) -> Result<Rows<'c>, Error> {
        match self {
            Statement::Text(text) => client.rows_typed(text, &typed(params)),
            Statement::Prepared(prepared) => client.rows(prepared, &bound(params)),
        }
    }

    pub(super) fn execute(&self, client: &mut Client, params: &[Value<'_>]) -> Result<u64, Error> {
        match self {
            Statement::Text(text) => client.execute_typed(text, &typed(params)),
            Statement::Prepared(prepared) => client.execute(prepared, &bound(params)),
        }
    }

    /// Executes the statement once for each row of parameters. If it is prepared, all rows are sent at once.
    pub(super) fn execute_for_each(&self, client: &mut Client, rows: &[Vec<Value<'_>>]) -> Result<Vec<u64>, Error> {
        match self {
            Statement::Text(_) => rows.iter().map(|row| self.execute(client, row)).collect(),
            Statement::Prepared(prepared) => {
                let rows: Vec<_> = rows.iter().map(|row| bound(row)).collect();
                client.execute_for_each(prepared, &rows)
            }
        }
    }
}

fn bound<'p>(params: &'p [Value<'p>]) -> Vec<&'p (dyn ToSql + Sync)> {
    params.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

fn typed<'p>(params: &'p [Value<'p>]) -> Vec<(&'p (dyn ToSql + Sync), Type)> {
    params.iter().map(|value| (value as &(dyn ToSql + Sync), type_of(value))).collect()
}

fn type_of(value: &Value<'_>) -> Type {
    match value {
        Value::Blob(_) => Type::BYTEA,
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Text(_) => Type::UNKNOWN,
    }
}
