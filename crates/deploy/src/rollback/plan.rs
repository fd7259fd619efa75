//! Plans a rollback.
//!
//! A rollback restores a file if the file is missing, if mcpkg wrote its current content, or if the user edited it
//! after mcpkg wrote it. It does not touch other programs' files, or files that the user created later.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::goal::Goal;
use crate::plan::{self, After, Change, Drift, Keep, RowChange, op_of};
use crate::plan::{block, entries};
use crate::source::Site;
use mcpkg_agents::forms::sections;
use mcpkg_base::disk::attributes::Attributes;
use mcpkg_base::disk::{self, PathState};
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Deployed, Image};
use mcpkg_store::snapshots;

/// The state that a file must have after the rollback.
struct Wanted {
    path: String,
    root: String,
    targets: Vec<String>,
    module_ids: Vec<String>,
    block: bool,
    image: Image,
    attributes: Option<String>,
    keep: Keep,
    /// The first snapshot to undo.
    from: i64,
}

#[derive(Default)]
pub struct RollbackPlan {
    pub changes: Vec<Change>,
    /// Changes to rows of files that stay unchanged on disk.
    pub row_changes: Vec<RowChange>,
    /// The rows of the files that this source has deployed to this root, by path.
    pub rows: BTreeMap<String, Deployed>,
    pub warnings: Vec<String>,
}

impl RollbackPlan {
    /// Plans the changes that bring the files on disk to the goal's state.
    pub fn compare(db: &Db<'_>, site: &Site, goal: &Goal) -> Result<Self> {
        let Some(place) = deploys::place(db, &site.place)? else { return Ok(Self::default()) };
        let rows = deploys::of_place(db, place)?.into_iter().map(|row| (row.path.clone(), row)).collect();
        let mut planned = Self { rows, ..Self::default() };
        let stands = Path::new(&site.place.root).is_dir();
        for wanted in goal.wanted(db, site, place, &mut planned)? {
            if stands {
                planned.file(db, site, place, wanted)?;
            } else {
                // The root folder was removed. Nothing is restored into it.
                planned.row_changes.push(RowChange::Forget(wanted.path));
            }
        }
        Ok(planned)
    }

    fn file(&mut self, db: &Db<'_>, site: &Site, place: i64, wanted: Wanted) -> Result<()> {
        let path = PathBuf::from(&wanted.path);
        let row = self.rows.get(&wanted.path);
        let found = disk::look(&path)?;
        let touches = snapshots::touches(db, place, &wanted.path, wanted.from)?;
        let left_by_us = |image: &Image| match (image, &found) {
            (Image::File { sha256, mode, .. }, PathState::File { sha256: there, mode: bits, .. }) => {
                sha256 == there && mode == bits
            }
            (Image::Absent, PathState::Absent) => true,
            (Image::Link(text), PathState::Link(there)) => text == there,
            _ => false,
        };
        let last = row.map(|row| &row.applied).or_else(|| touches.first().map(|touch| &touch.after));
        let untouched = last.is_some_and(left_by_us);
        let is_kept = row.is_some_and(|row| row.applied != Image::Absent);
        if row.is_none() && deploys::at(db, &site.place.machine, &wanted.path)?.is_some() {
            self.warnings.push(format!(
                "`{}` is left unchanged: another project or repo has since deployed this file",
                wanted.path
            ));
            return Ok(());
        }
        if found == PathState::Other || !(is_kept || untouched || found == PathState::Absent) {
            self.warnings.push(format!("`{}` is left unchanged: mcpkg did not write this file", wanted.path));
            return Ok(());
        }
        let is_own = |row: &Deployed| !row.written && row.applied != Image::Absent;
        if wanted.keep == Keep::Nobody && row.is_some_and(is_own) {
            // mcpkg only found the file there and never wrote it, so later changes belong to the user.
            self.row_changes.push(RowChange::Forget(wanted.path));
            return Ok(());
        }
        let has_entries = |module_ids: &[String]| entries::dialect(&wanted.targets, module_ids).is_some();
        let after = match &found {
            PathState::File { .. } if wanted.block && has_entries(&wanted.module_ids) => {
                block::undo(db, &found, &touches)?
            }
            PathState::File { bytes, .. } if wanted.block => {
                let after = block::undo(db, &found, &touches)?;
                // If the user edited the block before it was removed, undoing the removal would restore the user's
                // edit. Write the snapshot's block instead.
                match (after.bytes(), block::of_image(db, &wanted.image)?) {
                    (Some(text), Some(block)) if wanted.keep != Keep::Nobody && !goes_back_exactly(&touches) => {
                        let mode = after.mode().unwrap_or(disk::FILE);
                        After::file(sections::put(text, &sections::with_newline(&block)), mode)
                    }
                    _ if bytes.is_empty() => After::of_image(db, &wanted.image)?,
                    _ => after,
                }
            }
            _ => After::of_image(db, &wanted.image)?,
        };
        if after.is(&found) {
            let is_same = |row: &Deployed| {
                row.applied == wanted.image && row.targets == wanted.targets && row.module_ids == wanted.module_ids
            };
            if wanted.keep == Keep::Written && row.is_some_and(|row| row.written && is_same(row)) {
                return Ok(());
            }
            let before_us = touches.last().map_or(Image::Absent, |touch| touch.before.clone());
            self.row_changes.push(match wanted.keep {
                Keep::Nobody => RowChange::Forget(wanted.path),
                keep => RowChange::Keep(Deployed {
                    path: wanted.path,
                    place,
                    root: wanted.root,
                    targets: wanted.targets,
                    module_ids: wanted.module_ids,
                    block: wanted.block,
                    written: keep == Keep::Written,
                    applied: wanted.image,
                    pristine: row.map_or(before_us, |row| row.pristine.clone()),
                    pristine_attributes: row.and_then(|row| row.pristine_attributes.clone()),
                    stat: None,
                }),
            });
            return Ok(());
        }
        let adopt = match (&found, row) {
            _ if untouched => false,
            (PathState::Absent, _) => false,
            (PathState::File { bytes, .. }, Some(row)) if wanted.block && row.block => !is_ours(db, row, bytes)?,
            _ => true,
        };
        if adopt {
            self.warnings.push(format!(
                "`{}` was changed since the deploy; the snapshot keeps the changed content",
                wanted.path
            ));
        }
        self.changes.push(Change {
            op: op_of(&found, &after),
            path,
            root: PathBuf::from(wanted.root),
            targets: wanted.targets,
            module_ids: wanted.module_ids,
            block: wanted.block,
            before: found,
            after,
            reason: if untouched { "rolled back" } else { "rolled back, and changed since the deploy" }.to_owned(),
            adopt,
            drifted: !untouched,
            drift: if untouched { Drift::UpstreamPending } else { Drift::UserModified },
            keep: wanted.keep,
            attributes: Attributes::from_column(wanted.attributes.as_deref()),
        });
        Ok(())
    }
}

/// Whether mcpkg's part of a file is unchanged. Changes to the rest of the file do not matter.
fn is_ours(db: &Db<'_>, row: &Deployed, bytes: &[u8]) -> Result<bool> {
    if let Some(dialect) = entries::dialect(&row.targets, &row.module_ids) {
        return entries::are_untouched(db, dialect, row, bytes);
    }
    block::is_untouched(db, row, bytes)
}

/// Whether exactly one change is undone. If so, the whole earlier file is restored, including the user's part of it.
fn goes_back_exactly(touches: &[snapshots::File]) -> bool {
    matches!(touches, [only] if only.op != "claim")
}

impl Goal {
    /// Returns the targets to roll back: those that the user chose, except any that the snapshot does not contain.
    pub fn targets(&self, site: &Site) -> Vec<String> {
        let selected = plan::names(&site.selected);
        match &self.snapshot {
            Some((snapshot, _)) => {
                snapshot.targets.iter().filter(|target| selected.contains(target)).cloned().collect()
            }
            None => selected,
        }
    }

    fn wanted(&self, db: &Db<'_>, site: &Site, place: i64, planned: &mut RollbackPlan) -> Result<Vec<Wanted>> {
        let chosen = self.targets(site);
        let is_chosen = |targets: &[String]| targets.iter().any(|target| chosen.contains(target));
        let others = |targets: &[String]| -> Vec<String> {
            targets.iter().filter(|target| !chosen.contains(target)).cloned().collect()
        };
        let mut found = Vec::new();
        let Some((snapshot, before)) = &self.snapshot else {
            // If the user names no target, all targets are rolled back, including those that are no longer configured.
            for row in planned.rows.values().filter(|row| site.is_for_all() || is_chosen(&row.targets)) {
                let rest = others(&row.targets);
                if !rest.is_empty() && !site.is_for_all() {
                    // Other targets still need the file. It is removed when the last of them is rolled back.
                    planned.row_changes.push(RowChange::Keep(Deployed { targets: rest, ..row.clone() }));
                    continue;
                }
                found.push(Wanted {
                    path: row.path.clone(),
                    root: row.root.clone(),
                    targets: row.targets.clone(),
                    module_ids: row.module_ids.clone(),
                    block: row.block,
                    image: row.pristine.clone(),
                    attributes: row.pristine_attributes.clone(),
                    keep: Keep::Nobody,
                    from: pristine_from(db, row)?,
                });
            }
            return Ok(found);
        };
        let state = match before {
            true => snapshots::state_before(db, place, snapshot.id)?,
            false => snapshots::state_at(db, place, snapshot.id)?,
        };
        let from = if *before { snapshot.id } else { snapshot.id + 1 };
        for file in state.into_iter().filter(|file| is_chosen(&file.targets)) {
            let snapshots::File { path, root, mut targets, module_ids, block, keep, after: image, attributes, .. } =
                file;
            // Targets that have the file now and are not rolled back keep the file.
            let row = planned.rows.get(&path).filter(|row| row.applied != Image::Absent);
            let rest = row.map_or(Vec::new(), |row| others(&row.targets));
            if let Some(row) = row.filter(|_| keep == Keep::Nobody && !rest.is_empty()) {
                planned.row_changes.push(RowChange::Keep(Deployed { targets: rest, ..row.clone() }));
                continue;
            }
            targets.extend(rest.into_iter().filter(|target| !targets.contains(target)).collect::<Vec<_>>());
            targets.sort_unstable();
            found.push(Wanted { path, root, targets, module_ids, block, image, attributes, keep, from });
        }
        Ok(found)
    }
}

/// Returns the newest snapshot that changed the file from its original state, or else the oldest one with the file.
fn pristine_from(db: &Db<'_>, row: &Deployed) -> Result<i64> {
    let touches = snapshots::touches(db, row.place, &row.path, 0)?;
    let first = touches.iter().find(|touch| touch.before == row.pristine).or(touches.last());
    Ok(first.map_or(0, |touch| touch.snapshot))
}
