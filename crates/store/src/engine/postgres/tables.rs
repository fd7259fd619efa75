//! Reads and writes whole tables, to copy a database between engines.

use postgres::types::{ToSql, Type};

use super::connection::Connection;
use super::errors::failed;
use super::rows::Row;
use crate::engine::Value;
use crate::engine::sql::Table;
use mcpkg_base::error::Result;

/// Empties the tables. References are checked at the commit; until then, other connections read the old rows.
pub(in crate::engine) fn empty(connection: &Connection, tables: &[Table]) -> Result<()> {
    let mut text = "SET CONSTRAINTS ALL DEFERRED; DELETE FROM search; DELETE FROM tool_search".to_owned();
    tables.iter().for_each(|table| text.push_str(&format!("; DELETE FROM {}", table.name)));
    connection.run_text(&text)
}

/// Calls `f` with each row of a table.
pub(in crate::engine) fn each(
    connection: &Connection,
    table: &Table,
    mut f: impl FnMut(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    let mut answer = Ok(());
    connection.with(|client| {
        let select = client.prepare(&table.select()).map_err(failed)?;
        let mut rows = client.rows(&select, &[]).map_err(failed)?;
        while let (Some(row), true) = (rows.next().map_err(failed)?, answer.is_ok()) {
            let values =
                (0..table.columns.len()).map(|column| Row::new(&row).value(column)).collect::<Result<Vec<_>>>();
            answer = values.and_then(|values| f(&values));
        }
        Ok(())
    })?;
    answer
}

/// Writes rows to a table. The table's sequence then continues after them.
pub(in crate::engine) fn fill(
    connection: &Connection,
    table: &Table,
    rows: impl FnOnce(&mut dyn FnMut(&[Value<'_>]) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let (name, columns) = (&table.name, table.columns.join(", "));
    let types: Vec<Type> = connection
        .with(|client| client.prepare(&table.select()).map_err(failed))?
        .columns()
        .iter()
        .map(|column| column.type_().clone())
        .collect();
    connection.with(|client| {
        let mut writer =
            client.copy_in(&format!("COPY {name} ({columns}) FROM STDIN BINARY"), &types).map_err(failed)?;
        rows(&mut |values| {
            let bound: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
            writer.write(&bound).map_err(failed)
        })?;
        writer.finish().map(drop).map_err(failed)
    })?;
    let numbered = "SELECT column_name::text FROM information_schema.columns
                     WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'";
    for row in connection.with(|client| client.query_typed(numbered, &[(name, Type::TEXT)]).map_err(failed))? {
        let column: String = row.get(0);
        connection.run_text(&format!(
            "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), max({column})) FROM {name} HAVING max({column}) > 0"
        ))?;
    }
    Ok(())
}
