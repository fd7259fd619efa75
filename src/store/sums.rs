//! Checksums of rows: what tells that a name, a URI or a description is the one that was written.
//!
//! SQLite has no checksum of its own over a page; a bit that flips on the disk would be served. Content has its SHA-256;
//! the rows of prompts, resources and revisions, whose columns stand beside it, carry an xxh3 checksum. It covers the
//! content's SHA-256 too, so that a damaged reference does not lead to another item's content.

use std::ops::Range;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use xxhash_rust::xxh3::xxh3_64;

/// What lists say in place of a description that cannot be trusted.
pub const DAMAGED: &str = "Damaged in the database, and not served; `mcpkg check --deep` says more";

/// Returns the checksum of some values, in their order.
pub(super) fn checksum<'v>(values: impl IntoIterator<Item = ValueRef<'v>>) -> i64 {
    checksum_in(&mut Vec::with_capacity(256), values)
}

/// Returns the same in the memory of the row before, for lists of many rows.
pub(super) fn checksum_in<'v>(bytes: &mut Vec<u8>, values: impl IntoIterator<Item = ValueRef<'v>>) -> i64 {
    bytes.clear();
    for value in values {
        push(bytes, value);
    }
    xxh3_64(bytes).cast_signed()
}

/// Appends a value so that no two lists of values give the same bytes: its type, its length where it has one, itself.
fn push(bytes: &mut Vec<u8>, value: ValueRef<'_>) {
    let mut long = |kind: u8, value: &[u8]| {
        bytes.push(kind);
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(value);
    };
    match value {
        ValueRef::Text(text) => long(3, text),
        ValueRef::Blob(blob) => long(4, blob),
        ValueRef::Null => bytes.push(0),
        ValueRef::Integer(integer) => {
            bytes.push(1);
            bytes.extend_from_slice(&integer.to_le_bytes());
        }
        ValueRef::Real(real) => {
            bytes.push(2);
            bytes.extend_from_slice(&real.to_bits().to_le_bytes());
        }
    }
}

/// A value as SQLite stores it.
pub(super) fn text(text: Option<&str>) -> ValueRef<'_> {
    text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()))
}

/// Whether the columns `summed` of a row have the checksum that stands in the column after them.
pub(super) fn intact(row: &Row<'_>, summed: Range<usize>) -> rusqlite::Result<bool> {
    let kept = row.get_ref(summed.end)?;
    let mut bytes = Vec::with_capacity(256);
    for column in summed {
        push(&mut bytes, row.get_ref(column)?);
    }
    Ok(kept == ValueRef::Integer(xxh3_64(&bytes).cast_signed()))
}

/// Returns a text as far as it can be read: for the name of a row that is damaged.
pub(super) fn legible(row: &Row<'_>, column: usize) -> String {
    match row.get_ref(column) {
        Ok(ValueRef::Text(text)) => super::events::plain(&String::from_utf8_lossy(text)),
        _ => "?".to_owned(),
    }
}

/// Gives a connection the SQL functions that migrations use: `checksum(...)` and `skill_name(text)`.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("checksum", -1, flags, |context| {
        Ok(checksum((0..context.len()).map(|argument| context.get_raw(argument))))
    })?;
    connection.create_scalar_function("skill_name", 1, flags, |context| {
        Ok(super::skills::name(context.get_raw(0).as_str().unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_tells_values_and_their_bounds_apart() {
        let sum = |values: &[ValueRef<'_>]| checksum(values.iter().copied());
        assert_ne!(sum(&[text(Some("ab")), text(Some("c"))]), sum(&[text(Some("a")), text(Some("bc"))]));
        assert_ne!(sum(&[text(Some("a"))]), sum(&[ValueRef::Blob(b"a")]));
        assert_ne!(sum(&[text(None)]), sum(&[text(Some(""))]));
        // It stands in files: it never changes.
        let all = [ValueRef::Integer(-7), text(Some("é")), text(None), ValueRef::Blob(&[1, 2]), ValueRef::Real(0.5)];
        assert_eq!(sum(&all), -5_500_741_765_422_350_442);
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let sql = "SELECT checksum(-7, 'é', NULL, x'0102', 0.5)";
        assert_eq!(connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), sum(&all));
    }
}
