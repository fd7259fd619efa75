//! Updates the database rows of files after the files are written.

use std::path::Path;

use super::journal::Journal;
use super::undo;
use super::work::Work;
use crate::plan::{Keep, RowChange};
use mcpkg_base::disk;
use mcpkg_base::disk::Stat;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::deploys::{self, Deployed, Image};
use mcpkg_store::snapshots::{self, State};
use mcpkg_store::{Db, blobs};

/// Records in one transaction that all files are written, and updates their rows. The snapshot counts as unfinished
/// until the kept old files and emptied folders are removed ([`undo::leaves_work`]).
pub(super) fn finish(context: &Context, work: &Work<'_>, journal: &Journal, stats: &[Option<Stat>]) -> Result<()> {
    let (now, place) = (context.clock.now(), journal.place);
    let machine = &work.site.place.machine;
    context.store.write(|db| {
        let (mut kept, mut forgotten) = (Vec::new(), Vec::new());
        // If nothing else was deployed on this machine, no path belongs to another location.
        let has_others = deploys::places_on(db, machine)?.iter().any(|(id, _)| *id != place);
        for ((file, change), stat) in journal.files.iter().zip(&work.changes).zip(stats) {
            let known = match work.rows.get(&file.path) {
                Some(row) => Some(row.clone()),
                None if has_others => deploys::at(db, machine, &file.path)?,
                None => None,
            };
            let (pristine, pristine_attributes) = known.map_or_else(
                || (file.before.clone(), file.attributes.clone()),
                |row| (row.pristine, row.pristine_attributes),
            );
            let nothing_is_left = file.after == Image::Absent && pristine == Image::Absent;
            if change.keep == Keep::Nobody || nothing_is_left {
                forgotten.push(file.path.as_str());
                continue;
            }
            let stat = stat.filter(|stat| disk::tells_changes(stat, now));
            kept.push(Deployed {
                path: file.path.clone(),
                place,
                root: file.root.clone(),
                targets: file.targets.clone(),
                module_ids: file.module_ids.clone(),
                block: file.block,
                written: change.keep == Keep::Written,
                applied: file.after.clone(),
                pristine,
                pristine_attributes,
                stat,
            });
        }
        let claims = journal.files.iter().skip(work.changes.len());
        for (file, row) in claims.zip(work.row_changes.iter().filter_map(|change| match change {
            RowChange::Claim(row, _) => Some(row),
            RowChange::Keep(_) | RowChange::Follow(..) | RowChange::Forget(_) => None,
        })) {
            let path = Path::new(&row.path);
            let stat = disk::metadata(path)?.as_ref().and_then(disk::stat);
            // If the file changed since the plan was made, record no stat with the planned content, so that the file is
            // read again and counts as drifted.
            let same = disk::look(path)?.sha256() == file.after.sha256();
            let stat = stat.filter(|stat| same && disk::tells_changes(stat, now));
            let (applied, pristine) = (file.after.clone(), file.after.clone());
            let written = file.keep == Keep::Written;
            kept.push(Deployed { place, written, applied, pristine, stat, ..row.clone() });
        }
        deploys::put(db, machine, &kept)?;
        deploys::forget(db, machine, place, &forgotten)?;
        write_row_changes(db, machine, place, &work.row_changes)?;
        let open = journal.files.iter().any(undo::leaves_work);
        snapshots::finish(db, journal.id, State::Applied, (!open).then_some(now))?;
        let project = work.site.project().map(|project| project.name.as_str());
        context.event(db, context.author(), project, work.kind.word(), &journal.uuid.to_string())
    })
}

/// Updates the rows of files that stay unchanged on disk.
pub fn write_row_changes(db: &Db<'_>, machine: &str, place: i64, row_changes: &[RowChange]) -> Result<()> {
    let (mut kept, mut forgotten) = (Vec::new(), Vec::new());
    for change in row_changes {
        match change {
            RowChange::Claim(..) => {}
            RowChange::Keep(row) => kept.push(row.clone()),
            RowChange::Follow(row, bytes) => {
                let Image::File { sha256, mode, .. } = row.applied else { continue };
                let applied = Image::File { blob: blobs::put_known(db, &sha256, bytes)?, sha256, mode };
                kept.push(Deployed { applied, ..row.clone() });
            }
            RowChange::Forget(path) => forgotten.push(path.as_str()),
        }
    }
    deploys::put(db, machine, &kept)?;
    deploys::forget(db, machine, place, &forgotten)
}
