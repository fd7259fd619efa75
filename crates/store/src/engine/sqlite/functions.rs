//! The SQL functions that migrations use.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use super::rows::value_of;
use crate::engine::Value;
use crate::names;
use crate::sums::checksum;

/// Adds the functions `checksum(...)` and `skill_name(text)` to a connection.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("checksum", -1, flags, |context| {
        let values: Vec<Value<'_>> = (0..context.len()).map(|argument| value_of(context.get_raw(argument))).collect();
        Ok(checksum(&values))
    })?;
    connection.create_scalar_function("skill_name", 1, flags, |context| {
        Ok(names::skill_name(context.get_raw(0).as_str().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_in_sql_equals_checksum_in_rust() {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let sql = "SELECT checksum(-7, 'é', NULL, x'0102', 0.5)";
        let all =
            [Value::Integer(-7), Value::Text("é".as_bytes()), Value::Null, Value::Blob(&[1, 2]), Value::Real(0.5)];
        assert_eq!(connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), checksum(&all));
    }
}
