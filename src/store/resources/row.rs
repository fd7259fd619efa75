//! Rows of resources: what is read of one, and the checksums that show whether it is what was written.

use std::ops::Range;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use uuid::Uuid;

use super::{Attributes, Resource};
use crate::error::{Code, Error, Result};
use crate::store::revisions::Kind;
use crate::store::sums::{self, DAMAGED, checksum, intact};

/// What a row's `listed_sum` is over, and that.
macro_rules! listed {
    () => {
        "r.project_id, r.name, r.uri, r.description, r.mime_type, r.listed_sum"
    };
}

/// What both checksums of a row are over, and them: [`REST`] columns.
macro_rules! summed {
    () => {
        concat!(
            listed!(),
            ", r.uuid, r.text, b.sha256, r.executable, r.revision, r.created_at, r.updated_at, r.row_sum"
        )
    };
}

/// The query whose rows [`from_row`] reads, without its conditions.
macro_rules! columns {
    () => {
        concat!("SELECT ", summed!(), ", r.id, r.blob_id, b.size FROM resource r JOIN blob b ON b.id = r.blob_id")
    };
}
pub(super) use {columns, summed};

/// [`columns`] for other files.
pub(in crate::store) const QUERY: &str = columns!();

const LISTED: Range<usize> = 0..5;
const ROW: Range<usize> = 5..13;
/// How many columns those are that checksums are over, and these.
pub(super) const REST: usize = 14;

/// Refuses a row that is not as it was written.
///
/// # Errors
/// `E_DAMAGED`.
pub(super) fn check(row: &Row<'_>) -> Result<()> {
    if intact(row, LISTED)? && intact(row, ROW)? {
        return Ok(());
    }
    Err(Kind::Resource.damaged(&sums::legible(row, 1)))
}

/// Returns the checksums of a row: `listed_sum` and `row_sum`.
pub(super) fn sums(project: i64, resource: &Resource, sha256: &[u8; 32]) -> (i64, i64) {
    let integer = ValueRef::Integer;
    let Attributes { uri, description, mime_type, text, executable } = &resource.attributes;
    let listed_sum = checksum([
        integer(project),
        sums::text(Some(&resource.name)),
        sums::text(Some(uri)),
        sums::text(description.as_deref()),
        sums::text(mime_type.as_deref()),
    ]);
    let row_sum = checksum([
        integer(listed_sum),
        ValueRef::Blob(resource.uuid.as_bytes()),
        integer((*text).into()),
        ValueRef::Blob(sha256),
        integer((*executable).into()),
        integer(resource.revision),
        integer(resource.created_at),
        integer(resource.updated_at),
    ]);
    (listed_sum, row_sum)
}

/// Reads a row of the query [`columns`].
///
/// # Errors
/// `E_DAMAGED`.
pub(in crate::store) fn from_row(row: &Row<'_>) -> Result<Resource> {
    check(row)?;
    Ok(Resource {
        id: row.get(REST)?,
        uuid: Uuid::from_bytes(row.get(6)?),
        name: row.get(1)?,
        attributes: Attributes {
            uri: row.get(2)?,
            description: row.get(3)?,
            mime_type: row.get(4)?,
            text: row.get(7)?,
            executable: row.get(9)?,
        },
        blob: row.get(REST + 1)?,
        size: row.get(REST + 2)?,
        revision: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}

/// Returns what stands for a damaged row where it is only shown, or the error where it is another one.
pub(super) fn placeholder(row: &Row<'_>, error: Error) -> Result<Resource> {
    if error.code() != Code::Damaged {
        return Err(error);
    }
    let description = Some(DAMAGED.to_owned());
    let uri = sums::legible(row, 2);
    Ok(Resource {
        id: row.get(REST)?,
        uuid: Uuid::nil(),
        name: sums::legible(row, 1),
        attributes: Attributes { uri, description, mime_type: None, text: false, executable: false },
        blob: 0,
        size: 0,
        revision: 0,
        created_at: 0,
        updated_at: 0,
    })
}
