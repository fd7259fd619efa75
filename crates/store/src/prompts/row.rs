//! Reads rows of prompts, and verifies them by their checksums.

use std::ops::Range;

use super::dialect::Dialect;
use super::prompt::{Argument, Attributes, Prompt};
use crate::engine::{Row, Value, params};
use crate::items;
use crate::names::legible;
use crate::revisions::Kind;
use crate::sums::{DAMAGED, checksum, intact};
use mcpkg_base::error::{Error, Result};

/// The columns that `listed_sum` covers, followed by `listed_sum`.
macro_rules! prompt_listed {
    () => {
        "p.project_id, p.name, p.description, p.arguments, p.listed_sum"
    };
}

/// The two checksums and the columns that they cover: the first [`REST`] columns.
macro_rules! prompt_summed {
    () => {
        concat!(
            prompt_listed!(),
            ", p.uuid, p.template, b.sha256, p.front_matter, p.file, p.revision, p.created_at, p.updated_at, p.dialect, \
             p.row_sum"
        )
    };
}

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! prompt_columns {
    () => {
        concat!("SELECT ", prompt_summed!(), ", p.id, p.blob_id, b.size FROM prompt p JOIN blob b ON b.id = p.blob_id")
    };
}
pub(crate) use {prompt_columns, prompt_listed, prompt_summed};

const LISTED: Range<usize> = 0..4;
const ROW: Range<usize> = 4..14;
/// The number of columns of `prompt_summed!`. The further columns of `prompt_columns!` follow.
pub(super) const REST: usize = 15;

/// Refuses a damaged row.
pub(super) fn check(row: &Row<'_>) -> Result<()> {
    if intact(row, LISTED)? && intact(row, ROW)? && is_plain_json(row.get(3)?) {
        return Ok(());
    }
    Err(Kind::Prompt.damaged(&legible(row, 1)))
}

/// Whether the arguments can be sent as stored: JSON on one line, as mcpkg writes it.
pub(super) fn is_plain_json(arguments: Value<'_>) -> bool {
    match arguments {
        Value::Null => true,
        Value::Text(text) => {
            !text.iter().any(|byte| *byte < 0x20) && serde_json::from_slice::<Vec<Argument>>(text).is_ok()
        }
        _ => false,
    }
}

/// Returns the checksums of a row, `listed_sum` and `row_sum`. `arguments` must be in the stored form.
pub(super) fn sums(project: i64, prompt: &Prompt, arguments: Option<&str>) -> (i64, i64) {
    let Attributes { description, template, dialect, front_matter, file, arguments: _ } = &prompt.attributes;
    let listed_sum = checksum(params![project, prompt.name, description, arguments]);
    let row_sum = checksum(params![
        listed_sum,
        prompt.uuid,
        template,
        prompt.sha256,
        front_matter,
        file,
        prompt.revision,
        prompt.created_at,
        prompt.updated_at,
        dialect.map(Dialect::word)
    ]);
    (listed_sum, row_sum)
}

/// Reads a row of the query `prompt_columns!`.
pub(crate) fn from_row(row: &Row<'_>) -> Result<Prompt> {
    check(row)?;
    let arguments: Option<&str> = row.get(3)?;
    Ok(Prompt {
        id: row.get(REST)?,
        uuid: row.get(5)?,
        name: row.get(1)?,
        attributes: Attributes {
            description: row.get(2)?,
            template: row.get(6)?,
            dialect: Dialect::from_row(row, 13)?,
            arguments: arguments.map(serde_json::from_str).transpose().ok().flatten().unwrap_or_default(),
            front_matter: row.get(8)?,
            file: row.get(9)?,
        },
        blob: row.get(REST + 1)?,
        size: row.get(REST + 2)?,
        sha256: row.get(7)?,
        revision: row.get(10)?,
        created_at: row.get(11)?,
        updated_at: row.get(12)?,
    })
}

/// Returns a placeholder for a damaged row that is only shown. Passes on other errors.
pub(super) fn placeholder(row: &Row<'_>, error: Error) -> Result<Prompt> {
    let attributes = Attributes { description: Some(DAMAGED.to_owned()), ..Attributes::default() };
    items::placeholder(row, error, attributes, REST)
}
