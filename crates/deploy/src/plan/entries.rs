//! Adds, changes and removes mcpkg's entries in an agent's configuration file that belongs to the user.
//!
//! An entry belongs to mcpkg if a snapshot records that a deploy changed it. The user's own entries are never changed
//! without `adopt`.

use super::safety::{DRIFTED, FOREIGN, MANAGED, Safety};
use crate::desired::Output;
use crate::desired::slots::{Slot, Slots};
use crate::plan::Drift;
use mcpkg_agents::agents;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::document::Fault;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::deploys::{Deployed, Image};
use mcpkg_store::{Db, blobs, snapshots};

/// Returns the dialect of a file in which mcpkg manages only entries. Returns `None` for any other file.
pub fn dialect(targets: &[String], module_ids: &[String]) -> Option<&'static Dialect> {
    let are_servers = !module_ids.is_empty() && module_ids.iter().all(|id| id.starts_with("mcp_server:"));
    targets.iter().filter(|_| are_servers).find_map(|target| agents::dialect_of(target))
}

/// Returns the dialect in which an output's file is written.
pub fn dialect_of(output: &Output) -> Result<&'static Dialect> {
    let found = output.targets.first().map(|target| &target.facts().servers);
    found.ok_or_else(|| Error::internal("the target for MCP servers does not say which file format to write"))
}

/// Returns the file with the output's entries in it.
pub fn put_in(output: &Output, text: &[u8]) -> Result<Vec<u8>> {
    let dialect = dialect_of(output)?;
    let wanted = Slots::from_bytes(&output.bytes);
    let there = Slots::of(dialect, text);
    let changes = wanted.iter().filter(|(slot, value)| !is_same(dialect, there.get(slot), value));
    edit(dialect, output, text, changes.map(|(slot, value)| (slot, Some(value.clone()))))
}

/// Returns the file with the output's entries and without mcpkg's obsolete entries, and how safe the change is.
/// Returns `None` if nothing needs to change.
pub fn compare(db: &Db<'_>, output: &Output, row: Option<&Deployed>, text: &[u8]) -> Result<Option<(Vec<u8>, Safety)>> {
    let dialect = dialect_of(output)?;
    let (wanted, there) = (Slots::from_bytes(&output.bytes), Slots::of(dialect, text));
    let ours = row.map_or(Ok(Vec::new()), |row| ours(db, dialect, row))?;
    let applied = row.map_or(Ok(Slots::default()), |row| applied(db, dialect, row))?;
    let mut changes = Vec::new();
    let mut safety = MANAGED;
    for (slot, value) in wanted.iter() {
        let found = there.get(&slot);
        if is_same(dialect, found, value) {
            continue;
        }
        if found.is_some() {
            safety = match (ours.contains(&slot), applied.get(&slot) == found) {
                (true, true) => safety,
                (true, false) => DRIFTED,
                (false, _) => Safety { reason: "would change an entry that mcpkg did not write", ..FOREIGN },
            };
        } else if ours.contains(&slot) && applied.get(&slot).is_some() {
            safety = Safety { drift: Drift::UserModified, reason: "an entry was removed since the deploy", ..safety };
        }
        changes.push((slot, Some(value.clone())));
    }
    for slot in ours.into_iter().filter(|slot| wanted.get(slot).is_none()) {
        let Some(found) = there.get(&slot) else { continue };
        if applied.get(&slot) != Some(found) {
            safety = DRIFTED;
        }
        changes.push((slot, None));
    }
    if changes.is_empty() {
        return Ok(None);
    }
    Ok(Some((edit(dialect, output, text, changes.into_iter())?, safety)))
}

/// Whether mcpkg's entries in a file are unchanged since they were deployed. An entry that was removed counts as
/// unchanged.
pub fn are_untouched(db: &Db<'_>, dialect: &Dialect, row: &Deployed, text: &[u8]) -> Result<bool> {
    let (there, applied) = (Slots::of(dialect, text), applied(db, dialect, row)?);
    Ok(ours(db, dialect, row)?.iter().all(|slot| there.get(slot).is_none() || there.get(slot) == applied.get(slot)))
}

/// Undoes one change in a file that was also edited outside mcpkg's entries: restores the entries and keeps the rest.
/// Returns `None` if the file did not exist before and nothing is left in it.
pub fn undo_in(
    dialect: &Dialect,
    text: Option<Vec<u8>>,
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let (was, is) = (Slots::of(dialect, before.unwrap_or_default()), Slots::of(dialect, after.unwrap_or_default()));
    let text = text.unwrap_or_default();
    let Ok(mut edited) = String::from_utf8(text.clone()) else { return Some(text) };
    // If the file already had a section for entries before the change, the section stays, even if it is now empty.
    let held = before.and_then(|before| std::str::from_utf8(before).ok());
    let held = held.is_some_and(|before| dialect.document.holds(before).unwrap_or(true));
    for (slot, value) in was.changed_from(&is) {
        // A file with broken syntax stays unchanged: the user has to fix it.
        if let Ok(next) = slot.put(dialect, &edited, value.as_ref(), !held) {
            edited = next;
        }
    }
    let is_gone = before.is_none() && dialect.document.is_bare(&edited);
    (!is_gone).then(|| edited.into_bytes())
}

/// Returns the slots of a file that snapshots changed.
fn ours(db: &Db<'_>, dialect: &Dialect, row: &Deployed) -> Result<Vec<Slot>> {
    let mut ours = Vec::new();
    for touch in snapshots::touches(db, row.place, &row.path, 0)? {
        let (before, after) = (slots(db, dialect, &touch.before)?, slots(db, dialect, &touch.after)?);
        ours.extend(after.changed_from(&before).into_iter().map(|(slot, _)| slot));
    }
    ours.sort_unstable();
    ours.dedup();
    Ok(ours)
}

fn applied(db: &Db<'_>, dialect: &Dialect, row: &Deployed) -> Result<Slots> {
    slots(db, dialect, &row.applied)
}

fn slots(db: &Db<'_>, dialect: &Dialect, image: &Image) -> Result<Slots> {
    Ok(match image {
        Image::File { blob, .. } => Slots::of(dialect, &blobs::get(db, *blob)?),
        Image::Absent | Image::Link(_) => Slots::default(),
    })
}

/// Whether two entries mean the same to the agent that reads them.
fn is_same(dialect: &Dialect, found: Option<&serde_json::Value>, wanted: &serde_json::Value) -> bool {
    let read = |entry: &serde_json::Value| dialect.read(entry, &[]).ok();
    found.is_some_and(|found| found == wanted || (read(found).is_some() && read(found) == read(wanted)))
}

fn edit(
    dialect: &Dialect,
    output: &Output,
    text: &[u8],
    changes: impl Iterator<Item = (Slot, Option<serde_json::Value>)>,
) -> Result<Vec<u8>> {
    let failed = |fault: Fault| {
        let why = format!("`{}` cannot be edited: {}", output.path.display(), fault.what);
        Error::new(Code::FileFailed, why).hint("fix the file, or choose other agents with --target")
    };
    let mut edited = String::from_utf8_lossy(text).into_owned();
    for (slot, value) in changes {
        edited = slot.put(dialect, &edited, value.as_ref(), true).map_err(failed)?;
    }
    if text.is_empty() && !edited.ends_with('\n') {
        edited.push('\n');
    }
    Ok(edited.into_bytes())
}
