//! Reads rows of resources, and verifies them by their checksums.

use std::ops::Range;

use uuid::Uuid;

use super::resource::{Attributes, Resource};
use crate::engine::{Row, params};
use crate::items;
use crate::names::legible;
use crate::revisions::Kind;
use crate::sums::{DAMAGED, checksum, intact};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::{Error, Result};

/// The columns that `listed_sum` covers, followed by `listed_sum`.
macro_rules! resource_listed {
    () => {
        "r.project_id, r.name, r.uri, r.description, r.mime_type, r.listed_sum"
    };
}

/// The two checksums and the columns that they cover: the first [`REST`] columns.
macro_rules! resource_summed {
    () => {
        concat!(
            resource_listed!(),
            ", r.uuid, r.text, b.sha256, r.executable, r.revision, r.created_at, r.updated_at, r.row_sum"
        )
    };
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! resource_columns {
    () => {
        concat!(
            "SELECT ",
            resource_summed!(),
            ", r.id, r.blob_id, b.size FROM resource r JOIN blob b ON b.id = r.blob_id"
        )
    };
}
pub(crate) use {resource_columns, resource_listed, resource_summed};

const LISTED: Range<usize> = 0..5;
const ROW: Range<usize> = 5..13;
/// The column with the SHA-256 of the content.
pub(crate) const SHA256: usize = 8;
/// The number of columns of `resource_summed!`. The further columns of `resource_columns!` follow.
pub(super) const REST: usize = 14;

/// Refuses a row that was changed by damage.
pub(super) fn check(row: &Row<'_>) -> Result<()> {
    if intact(row, LISTED)? && intact(row, ROW)? {
        return Ok(());
    }
    Err(Kind::Resource.damaged(&legible(row, 1)))
}

/// Returns the checksums of a row, `listed_sum` and `row_sum`.
pub(super) fn sums(project: i64, resource: &Resource) -> (i64, i64) {
    let listed_sum = listed_sum(project, &resource.name, &resource.attributes);
    let Resource { uuid, attributes, sha256, revision, .. } = resource;
    let times = (resource.created_at, resource.updated_at);
    (listed_sum, row_sum(listed_sum, *uuid, attributes, sha256, *revision, times))
}

/// Returns the checksum of the columns that lists show.
pub(super) fn listed_sum(project: i64, name: &str, attributes: &Attributes) -> i64 {
    let Attributes { uri, description, mime_type, .. } = attributes;
    checksum(params![project, name, uri, description, mime_type])
}

/// Returns the checksum of the columns that lists do not show, and of `listed_sum`. `times` contains when the
/// resource was created and when it was updated.
pub(super) fn row_sum(
    listed_sum: i64,
    uuid: Uuid,
    Attributes { text, executable, .. }: &Attributes,
    sha256: &[u8; 32],
    revision: i64,
    (created_at, updated_at): (Millis, Millis),
) -> i64 {
    checksum(params![listed_sum, uuid, text, *sha256, executable, revision, created_at, updated_at])
}

/// Reads a row of the query `resource_columns!`.
pub(crate) fn from_row(row: &Row<'_>) -> Result<Resource> {
    check(row)?;
    Ok(Resource {
        id: row.get(REST)?,
        uuid: row.get(6)?,
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
        sha256: row.get(SHA256)?,
        revision: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}

/// Returns a placeholder for a damaged row that is only shown. Passes on other errors.
pub(super) fn placeholder(row: &Row<'_>, error: Error) -> Result<Resource> {
    let (uri, description) = (legible(row, 2), Some(DAMAGED.to_owned()));
    let attributes = Attributes { uri, description, mime_type: None, text: false, executable: false };
    items::placeholder(row, error, attributes, REST)
}
