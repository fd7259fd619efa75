//! Decides what happens to deployed files that none of the selected targets needs any more.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::plan::{After, Change, Drift, Keep, Op, RowChange, op_of};
use crate::plan::{block, entries};
use mcpkg_agents::forms::sections;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::deploys::{Deployed, Image};

/// What a plan does with a file that none of the selected targets needs.
pub enum Unwanted {
    /// The plan does nothing, because the file was deleted before.
    Nothing,
    /// The plan changes the file's row, not the disk.
    Row(RowChange),
    /// The plan deletes the file, or removes mcpkg's block from it.
    File(Change),
}

/// Decides what to do with the file of `row`, which none of the `selected` targets wants.
pub fn compare(db: &Db<'_>, row: &Deployed, selected: &HashSet<&str>) -> Result<Unwanted> {
    let keep = |row: Deployed| Ok(Unwanted::Row(RowChange::Keep(row)));
    let gone = || keep(Deployed { applied: Image::Absent, stat: None, ..row.clone() });
    let rest: Vec<String> = row.targets.iter().filter(|target| !selected.contains(target.as_str())).cloned().collect();
    if !rest.is_empty() {
        return keep(Deployed { targets: rest, ..row.clone() });
    }
    if row.applied == Image::Absent {
        return Ok(Unwanted::Nothing);
    }
    if !row.written {
        // The file is the user's own: it only happened to have the desired content.
        return Ok(Unwanted::Row(RowChange::Forget(row.path.clone())));
    }
    let path = PathBuf::from(&row.path);
    let found = disk::look(&path)?;
    let untouched = found.sha256().is_some() && found.sha256() == row.applied.sha256();
    let (op, after, untouched) = match &found {
        PathState::Absent | PathState::Other => return gone(),
        PathState::File { bytes, .. }
            if let Some(dialect) = entries::dialect(&row.targets, &row.module_ids).filter(|_| row.block) =>
        {
            let is_ours = entries::are_untouched(db, dialect, row, bytes)?;
            let after = block::without(db, row, &found)?;
            if after.is(&found) {
                return gone();
            }
            (op_of(&found, &after), after, is_ours)
        }
        PathState::File { bytes, .. } if row.block => {
            let mended = block::mended(db, &row.applied, bytes)?;
            if sections::find(mended.as_ref().unwrap_or(bytes)).is_none() {
                return gone();
            }
            let is_ours = block::is_untouched(db, row, bytes)?;
            let after = block::taken_out(block::without(db, row, &found)?);
            (op_of(&found, &after), after, is_ours)
        }
        PathState::File { .. } | PathState::Link(_) => (Op::Delete, After::Absent, untouched),
    };
    Ok(Unwanted::File(Change {
        op,
        path,
        root: PathBuf::from(&row.root),
        targets: row.targets.clone(),
        module_ids: row.module_ids.clone(),
        block: row.block,
        before: found,
        after,
        reason: if untouched { "no longer managed" } else { "no longer managed, and changed since the deploy" }
            .to_owned(),
        adopt: !untouched,
        drifted: !untouched,
        drift: Drift::Extra,
        keep: Keep::Written,
        attributes: None,
    }))
}
