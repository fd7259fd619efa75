//! Checksums of rows, which detect names, URIs and descriptions that were changed by damage.
//!
//! SQLite's pages have no checksums, so a bit that flips on the disk would be served. Content has its SHA-256. The
//! rows of prompts, resources, servers, workflows and revisions have an XXH3 checksum. It covers their columns and
//! the content's SHA-256, so that a damaged reference does not lead to another item's content.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::engine::{Row, Value, params};
use mcpkg_base::error::Result;

/// The text that lists show instead of a description that cannot be trusted.
pub const DAMAGED: &str = "Damaged in the database, so it was not served; `mcpkg check --deep` shows details";

/// Returns the checksum of some values, in this order.
pub(super) fn checksum(values: &[Value<'_>]) -> i64 {
    let mut bytes = Vec::with_capacity(256);
    push_all(&mut bytes, values);
    xxh3_64(&bytes).cast_signed()
}

/// Computes the checksums of many rows that begin with the same values. The rows share one buffer.
pub(super) struct Checksums {
    /// The bytes to hash: the common prefix, and the rest of the last row.
    bytes: Vec<u8>,
    head: usize,
}

impl Checksums {
    /// Returns a `Checksums` for rows that all begin with `head`.
    pub(super) fn beginning_with(head: &[Value<'_>]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        push_all(&mut bytes, head);
        Self { head: bytes.len(), bytes }
    }

    /// Returns the project of a row, read from `column`, and the `Checksums` for rows of that project. The first row
    /// of a query stores both in `known`. Later rows use `known`, because all rows of the query have the same
    /// project.
    pub(super) fn of_project<'k>(
        known: &'k mut Option<(i64, Self)>,
        row: &Row<'_>,
        column: usize,
    ) -> Result<(i64, &'k mut Self)> {
        let (project, sums) = match known {
            Some(known) => known,
            none => {
                let project: i64 = row.get(column)?;
                none.insert((project, Self::beginning_with(params![project])))
            }
        };
        Ok((*project, sums))
    }

    /// Returns the checksum of the common values followed by `rest`.
    pub(super) fn next(&mut self, rest: &[Value<'_>]) -> i64 {
        self.bytes.truncate(self.head);
        push_all(&mut self.bytes, rest);
        xxh3_64(&self.bytes).cast_signed()
    }
}

/// Appends values without a temporary copy: copying them would cost more than hashing them.
fn push_all(bytes: &mut Vec<u8>, values: &[Value<'_>]) {
    for value in values {
        push(bytes, value);
    }
}

/// Appends a value: its type, its length if it is a text or blob, and its bytes. So different lists of values never
/// yield the same bytes.
fn push(bytes: &mut Vec<u8>, value: &Value<'_>) {
    match *value {
        Value::Text(text) => push_long(bytes, 3, text),
        Value::Blob(blob) => push_long(bytes, 4, blob),
        Value::Null => bytes.push(0),
        Value::Integer(integer) => bytes.extend_from_slice(&headed(1, integer.to_le_bytes())),
        Value::Real(real) => bytes.extend_from_slice(&headed(2, real.to_bits().to_le_bytes())),
    }
}

fn push_long(bytes: &mut Vec<u8>, kind: u8, value: &[u8]) {
    bytes.reserve(9 + value.len());
    bytes.extend_from_slice(&headed(kind, (value.len() as u64).to_le_bytes()));
    bytes.extend_from_slice(value);
}

/// Joins a value's type with the eight bytes that follow it.
fn headed(kind: u8, [a, b, c, d, e, f, g, h]: [u8; 8]) -> [u8; 9] {
    [kind, a, b, c, d, e, f, g, h]
}

/// Whether the columns `summed` of a row match the checksum in the column after them.
pub(super) fn intact(row: &Row<'_>, summed: Range<usize>) -> Result<bool> {
    let kept: Value<'_> = row.get(summed.end)?;
    let mut bytes = Vec::with_capacity(256);
    for column in summed {
        push(&mut bytes, &row.get(column)?);
    }
    Ok(kept == Value::Integer(xxh3_64(&bytes).cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::params;

    #[test]
    fn checksums_depend_on_the_types_and_bounds_of_values() {
        assert_ne!(checksum(params!["ab", "c"]), checksum(params!["a", "bc"]));
        assert_ne!(checksum(params!["a"]), checksum(params![*b"a"]));
        assert_ne!(checksum(params![None::<&str>]), checksum(params![""]));
        // Rows store such checksums, so the result must never change.
        let all = checksum(&[
            Value::Integer(-7),
            Value::Text("é".as_bytes()),
            Value::Null,
            Value::Blob(&[1, 2]),
            Value::Real(0.5),
        ]);
        assert_eq!(all, -5_500_741_765_422_350_442);
    }
}
