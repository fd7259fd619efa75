//! Reads and writes whole tables, to copy a database between engines.

use rusqlite::{Connection, params_from_iter};

use super::errors::failed;
use super::rows::value_of;
use crate::engine::Value;
use crate::engine::sql::Table;
use mcpkg_base::error::Result;

/// Returns all tables, except for those of the search index and the history of migrations.
pub(in crate::engine) fn tables(connection: &Connection) -> Result<Vec<Table>> {
    let sql = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'search%'
                  AND m.name NOT LIKE 'tool_search%' AND m.name <> 'refinery_schema_history'
                ORDER BY m.name, c.cid";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    let mut tables: Vec<Table> = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let (table, column): (String, String) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
        match tables.last_mut() {
            Some(last) if last.name == table => last.columns.push(column),
            _ => {
                // The rowid is the order in which revisions were written. In SQLite it is not a declared column, so
                // add it here.
                let first = if table == "revision" { vec!["rowid".to_owned()] } else { Vec::new() };
                tables.push(Table { name: table, columns: [first, vec![column]].concat() });
            }
        }
    }
    Ok(tables)
}

/// Empties the tables. References are checked at the commit.
pub(in crate::engine) fn empty(connection: &Connection, tables: &[Table]) -> Result<()> {
    connection.execute_batch("PRAGMA defer_foreign_keys = ON").map_err(failed)?;
    tables.iter().try_for_each(|table| connection.execute_batch(&format!("DELETE FROM {}", table.name)).map_err(failed))
}

/// Calls `f` with each row of a table.
pub(in crate::engine) fn each(
    connection: &Connection,
    table: &Table,
    mut f: impl FnMut(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare(&table.select()).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let values: Vec<Value<'_>> = (0..table.columns.len())
            .map(|column| row.get_ref(column).map(value_of))
            .collect::<rusqlite::Result<_>>()
            .map_err(failed)?;
        f(&values)?;
    }
    Ok(())
}

/// Writes the rows from `rows` into a table.
pub(in crate::engine) fn fill(
    connection: &Connection,
    table: &Table,
    rows: impl FnOnce(&mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let places = vec!["?"; table.columns.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, table.columns.join(", "));
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    rows(&mut |values| {
        statement.execute(params_from_iter(values)).map_err(failed)?;
        Ok(())
    })
}
