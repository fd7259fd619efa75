//! Makes a plan: compares the files on disk with the desired state.

use std::collections::{BTreeMap, HashSet};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memmem;
use serde_json::json;

use crate::desired::builder::Collisions;
use crate::desired::{Desired, Form, Output, Part};
use crate::plan::safety::{DRIFTED, FOREIGN, MANAGED, OTHERS, Safety, WITH_BLOCK};
use crate::plan::unwanted::{self, Unwanted};
use crate::plan::{After, Change, Drift, Keep, Op, Plan, RowChange, names};
use crate::plan::{block, entries};
use crate::project::Broken;
use crate::repo::taken_over::{self, TakenOver};
use crate::source::Site;
use crate::targets::Target;
use mcpkg_agents::forms::sections;
use mcpkg_base::disk::{self, PathState, RealFolders};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::sha256::Sha;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Deployed, Image};

/// The number of files between two progress reports. No progress is shown unless there are more files than this.
const TOLD_EACH: u64 = 64;

/// Compares the files on disk with the desired state. Deployed files of a `broken` module stay unchanged.
///
/// # Errors
/// `E_IO_INVALID_PATH` if a folder exists where a file must be written, or a file where a folder is needed; the error
/// of the file system if a file cannot be read; `E_CANCELLED`.
pub fn compare(context: &Context, db: &Db<'_>, site: &Site, mut desired: Desired, broken: &[Broken]) -> Result<Plan> {
    let place = deploys::place(db, &site.place)?;
    let rows: BTreeMap<String, Deployed> = match place {
        Some(place) => deploys::of_place(db, place)?.into_iter().map(|row| (row.path.clone(), row)).collect(),
        None => BTreeMap::new(),
    };
    let (rows, mut row_changes) = at_their_real_places(rows, &mut desired.folders);
    let is_strict = site.collisions(context) == Collisions::Refused;
    let mut comparing =
        Comparing { db, site, is_strict, rows: &rows, original: None, changes: Vec::new(), row_changes: Vec::new() };
    let all = desired.outputs.len() as u64;
    let told = |done: u64| {
        if all > TOLD_EACH && (done.is_multiple_of(TOLD_EACH) || done == all) {
            (context.progress)("Comparing", done, all);
        }
    };
    for (at, output) in (0_u64..).zip(desired.outputs.values()) {
        context.unless_cancelled()?;
        told(at);
        comparing.output(&desired, output)?;
    }
    told(all);
    let selected: HashSet<&str> = site.selected.iter().map(|target| target.name()).collect();
    let stays = |row: &Deployed| broken.iter().any(|module| row.module_ids.contains(&module.id));
    let unwanted = rows.values().filter(|row| desired.output(Path::new(&row.path)).is_none() && !stays(row));
    for row in unwanted {
        if row.targets.iter().any(|target| selected.contains(target.as_str())) {
            match unwanted::compare(db, row, &selected)? {
                Unwanted::Nothing => {}
                Unwanted::Row(change) => comparing.row_changes.push(change),
                Unwanted::File(change) => comparing.changes.push(change),
            }
        }
    }
    let mut changes = comparing.changes;
    row_changes.append(&mut comparing.row_changes);
    changes.sort_by(|a, b| (a.targets.first(), &a.path).cmp(&(b.targets.first(), &b.path)));
    Ok(Plan { desired, rows, changes, row_changes })
}

/// Replaces the recorded paths of rows with the real paths, and returns the changes to the rows. The paths differ if a
/// folder was moved and a link was left in its place.
fn at_their_real_places(
    mut rows: BTreeMap<String, Deployed>,
    folders: &mut RealFolders,
) -> (BTreeMap<String, Deployed>, Vec<RowChange>) {
    // Rows are sorted by folder, so remember the last folder whose recorded path is its real one.
    let mut in_place = String::new();
    let is_elsewhere = |path: &String, _: &mut Deployed| {
        let (folder, _) = split(path);
        if folder == in_place {
            return false;
        }
        let is_elsewhere = folders.of(Path::new(folder)).as_os_str() != folder && Path::new(folder).parent().is_some();
        if !is_elsewhere {
            folder.clone_into(&mut in_place);
        }
        is_elsewhere
    };
    let elsewhere: Vec<_> = rows.extract_if(.., is_elsewhere).collect();
    let mut row_changes = Vec::new();
    for (path, row) in elsewhere {
        let (folder, name) = split(&path);
        let real = folders.of(Path::new(folder)).join(name).to_string_lossy().into_owned();
        let row = Deployed { path: real.clone(), ..row };
        row_changes.extend([RowChange::Forget(path), RowChange::Keep(row.clone())]);
        rows.entry(real).or_insert(row);
    }
    (rows, row_changes)
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

struct Comparing<'a> {
    db: &'a Db<'a>,
    site: &'a Site,
    /// Whether files that content was imported from are treated like all other files, as in agentpack, the original
    /// tool of contract 000. Then adding a block to such a file, or replacing such a SKILL.md, needs `adopt`.
    is_strict: bool,
    rows: &'a BTreeMap<String, Deployed>,
    /// The entries of agentpack's manifest files ([`taken_over`]), read on first use.
    original: Option<BTreeMap<PathBuf, TakenOver>>,
    changes: Vec<Change>,
    row_changes: Vec<RowChange>,
}

impl Comparing<'_> {
    fn output(&mut self, desired: &Desired, output: &Output) -> Result<()> {
        let path = output.path.as_path();
        let row = self.rows.get(path.to_string_lossy().as_ref());
        let Some(metadata) = metadata(path)? else {
            let mode = disk::executable(disk::FILE, output.executable);
            let after = match output.form {
                Form::Servers => After::file(entries::put_in(output, b"")?, mode),
                _ => After::File { bytes: Arc::clone(&output.bytes), sha256: output.sha256, mode },
            };
            let was_there = row.is_some_and(|row| row.applied != Image::Absent);
            let drift = if was_there { Drift::Missing } else { Drift::UpstreamPending };
            let safety = Safety { reason: "file missing", drift, ..MANAGED };
            self.change(output, Op::Create, PathState::Absent, after, &safety);
            return Ok(());
        };
        if let Some(row) = row
            && !output.is_block()
            && row.applied.sha256() == Some(&output.sha256)
            && is_untouched(row, &metadata)
            && is_executable(disk::mode(&metadata)) == output.executable
        {
            self.as_it_shall_be(row, output);
            return Ok(());
        }
        let found = disk::look_at(path, &metadata, Some((&*output.bytes, &output.sha256)))?;
        match &found {
            PathState::Other => Err(in_the_way(path)),
            PathState::Absent => {
                Err(Error::new(Code::FileFailed, format!("`{}` disappeared in the meantime", path.display())))
            }
            // A link to a folder is in the way: other files may be reached through it.
            PathState::Link(_) if path.is_dir() => Err(in_the_way(path)),
            PathState::Link(_) => self.link(output, row, found.clone()),
            PathState::File { .. } if output.form == Form::Servers => self.entries(desired, output, row, found),
            PathState::File { .. } if output.is_block() => self.block(desired, output, row, found),
            PathState::File { .. } => self.file(desired, output, row, found),
        }
    }

    fn file(&mut self, desired: &Desired, output: &Output, row: Option<&Deployed>, found: PathState) -> Result<()> {
        let PathState::File { bytes, sha256, mode } = &found else { return Ok(()) };
        let same_bytes = *sha256 == output.sha256;
        let wanted_mode = disk::executable(*mode, output.executable);
        if same_bytes && wanted_mode == *mode || self.is_users_skill(output, row, bytes) {
            match row {
                Some(row) if row.applied.sha256() == Some(sha256) => self.as_it_shall_be(row, output),
                Some(row) => self.follow(row, output, &found),
                None => self.claim(desired, output, bytes, sha256, *mode)?,
            }
            return Ok(());
        }
        let as_applied = |row: &Deployed| matches!(row.applied, Image::File { sha256: bytes, mode: bits, .. } if bytes == *sha256 && bits == *mode);
        let safety = match row {
            Some(row) if as_applied(row) && row.written => MANAGED,
            // Only the file mode was changed since the deploy.
            Some(row) if row.applied.sha256() == Some(sha256) && row.written => DRIFTED,
            Some(row) if row.applied.sha256() == Some(sha256) => Safety { drift: Drift::UpstreamPending, ..FOREIGN },
            Some(row) if row.applied == Image::Absent => FOREIGN,
            Some(row) if row.applied.sha256() == Some(&output.sha256) => DRIFTED,
            Some(_) => Safety { drift: Drift::Both, ..DRIFTED },
            None => self.of_others(desired, &output.path, sha256)?,
        };
        let safety = if same_bytes { Safety { reason: "mode differs", ..safety } } else { safety };
        let after = After::File { bytes: Arc::clone(&output.bytes), sha256: output.sha256, mode: wanted_mode };
        self.change(output, Op::Update, found, after, &safety);
        Ok(())
    }

    /// Returns how safe it is to overwrite a file that was deployed from another source or root, or that mcpkg does not
    /// manage at all.
    fn of_others(&mut self, desired: &Desired, path: &Path, sha256: &Sha) -> Result<Safety> {
        if let Some(row) = deploys::at(self.db, &self.site.place.machine, &path.to_string_lossy())? {
            let key = deploys::place_key(self.db, row.place)?;
            let same_source =
                key.origin == self.site.place.origin && !key.origin.is_empty() || key.source == self.site.place.source;
            let untouched = row.written && row.applied.sha256() == Some(sha256);
            return Ok(match (untouched, same_source) {
                (true, true) => MANAGED,
                (true, false) => OTHERS,
                (false, _) => DRIFTED,
            });
        }
        Ok(match self.original(desired).get(path) {
            Some(entry) if entry.sha256 == *sha256 => MANAGED,
            Some(_) => DRIFTED,
            None => FOREIGN,
        })
    }

    fn original(&mut self, desired: &Desired) -> &BTreeMap<PathBuf, TakenOver> {
        let site = self.site;
        self.original.get_or_insert_with(|| {
            if !site.is_repo() {
                return BTreeMap::new();
            }
            let entries = desired.roots.iter().flat_map(|root| taken_over::read(&root.path, root.target).0);
            entries.map(|entry| (entry.path.clone(), entry)).collect()
        })
    }

    fn block(&mut self, desired: &Desired, output: &Output, row: Option<&Deployed>, found: PathState) -> Result<()> {
        let PathState::File { bytes: text, sha256, mode } = &found else { return Ok(()) };
        let there = sections::find(text);
        let ours = there.as_ref().map(|split| split.block.trim_ascii_end());
        if ours == Some(output.bytes.trim_ascii_end()) {
            match row {
                Some(row) if row.applied.sha256() == found.sha256() => self.as_it_shall_be(row, output),
                Some(row) => self.follow(row, output, &found),
                None => self.claim(desired, output, text, sha256, *mode)?,
            }
            return Ok(());
        }
        let safety = match ours {
            None if text.trim_ascii().is_empty() => MANAGED,
            None if row.is_some_and(|row| row.applied != Image::Absent) => DRIFTED,
            None if self.keeps_imported(desired, output, text) => WITH_BLOCK,
            None => Safety { reason: "would insert a block into a file that mcpkg did not write", ..FOREIGN },
            Some(ours) => {
                let applied = match row {
                    Some(row) => block::of_image(self.db, &row.applied)?,
                    None => None,
                };
                match applied {
                    Some(applied) if applied == ours => MANAGED,
                    Some(applied) if applied == output.bytes.trim_ascii_end() => DRIFTED,
                    Some(_) => Safety { drift: Drift::Both, ..DRIFTED },
                    None => Safety { reason: "the block in this file belongs to another project", ..FOREIGN },
                }
            }
        };
        let mended = row.map_or(Ok(None), |row| block::mended(self.db, &row.applied, text))?;
        let after = After::file(block::put_in(output, mended.as_ref().unwrap_or(text)), *mode);
        self.change(output, Op::Update, found, after, &safety);
        Ok(())
    }

    /// Whether a file still has exactly the text that was imported from it, and keeps this text when it gets a block.
    fn keeps_imported(&self, desired: &Desired, output: &Output, text: &[u8]) -> bool {
        let text = text.trim_ascii();
        let parts = desired.outputs.values().flat_map(|output| &output.parts);
        let is_from_it = |part: &Part| part.bytes.trim_ascii() == text && self.is_home(output, part);
        !self.is_strict
            && memmem::find(&block::put_in(output, text), text).is_some()
            && parts.chain(desired.held.iter().map(|(part, _)| part)).any(is_from_it)
    }

    /// Whether a module was imported from the path of an output.
    fn is_home(&self, output: &Output, part: &Part) -> bool {
        let path = output.path.strip_prefix(&self.site.place.root).unwrap_or(&output.path);
        part.home.as_ref().is_some_and(|home| path == Path::new(home))
    }

    /// Whether a file is the user's own SKILL.md that a skill was imported from. mcpkg leaves it unchanged, even if
    /// it has faults.
    fn is_users_skill(&self, output: &Output, row: Option<&Deployed>, bytes: &[u8]) -> bool {
        let is_it = |part: &Part| *part.bytes == *bytes && self.is_home(output, part);
        !self.is_strict
            && output.form == Form::Skill
            && row.is_none_or(|row| !row.written)
            && output.parts.iter().any(is_it)
    }

    fn entries(&mut self, desired: &Desired, output: &Output, row: Option<&Deployed>, found: PathState) -> Result<()> {
        let PathState::File { bytes: text, sha256, mode } = &found else { return Ok(()) };
        match entries::compare(self.db, output, row, text)? {
            None => match row {
                Some(row) if row.applied.sha256() == found.sha256() => self.as_it_shall_be(row, output),
                Some(row) => self.follow(row, output, &found),
                None => self.claim(desired, output, text, sha256, *mode)?,
            },
            Some((after, safety)) => {
                let after = After::file(after, *mode);
                self.change(output, Op::Update, found, after, &safety);
            }
        }
        Ok(())
    }

    /// Compares a symbolic link. A link that leads to the desired content stays. Any other link is replaced only with
    /// `adopt`.
    fn link(&mut self, output: &Output, row: Option<&Deployed>, found: PathState) -> Result<()> {
        // Read through the link only if it leads to a regular file, not to a device or a pipe.
        let is_file = std::fs::metadata(&output.path).is_ok_and(|metadata| metadata.is_file());
        let shown = if is_file { disk::read(&output.path)? } else { Vec::new() };
        let after = match output.form {
            Form::Servers => entries::put_in(output, &shown)?,
            Form::Block => block::put_in(output, &shown),
            _ => output.bytes.to_vec(),
        };
        if is_file && after == shown {
            return Ok(());
        }
        let after = After::file(after, disk::executable(disk::FILE, output.executable));
        let was_written = row.is_some_and(|row| row.written && matches!(row.applied, Image::File { .. }));
        let safety = if was_written { DRIFTED } else { FOREIGN };
        let safety = Safety { reason: "would replace a symbolic link", ..safety };
        self.change(output, Op::Update, found, after, &safety);
        Ok(())
    }

    fn change(&mut self, output: &Output, op: Op, before: PathState, after: After, safety: &Safety) {
        self.changes.push(Change {
            op,
            path: output.path.clone(),
            root: output.root.clone(),
            targets: self.targets(output),
            module_ids: output.module_ids(),
            block: output.is_block(),
            before,
            after,
            reason: safety.reason.to_owned(),
            adopt: safety.adopt,
            drifted: safety.drifted,
            drift: safety.drift,
            keep: Keep::Written,
            attributes: None,
        });
    }

    /// Returns the targets of a file: the selected targets that want it, and the other targets that had it before.
    fn targets(&self, output: &Output) -> Vec<String> {
        let row = self.rows.get(output.path.to_string_lossy().as_ref());
        names(&self.keepers(output, row).collect::<Vec<_>>())
    }

    fn keepers(&self, output: &Output, row: Option<&Deployed>) -> impl Iterator<Item = Target> {
        let kept = move |target: &Target| row.is_some_and(|row| row.targets.iter().any(|name| name == target.name()));
        let keeps = move |target: &Target| match self.site.selected.contains(target) {
            true => output.targets.contains(target),
            false => kept(target),
        };
        Target::all().iter().copied().filter(keeps)
    }

    fn follow(&mut self, row: &Deployed, output: &Output, found: &PathState) {
        if let PathState::File { bytes, .. } = found {
            let (targets, module_ids) = (self.targets(output), output.module_ids());
            // If mcpkg deleted its file and the user then created a new one there, the new file belongs to the user.
            let written = row.written && row.applied != Image::Absent;
            let row = Deployed { targets, module_ids, written, applied: image_of(found), stat: None, ..row.clone() };
            self.row_changes.push(RowChange::Follow(row, bytes.as_slice().into()));
        }
    }

    fn as_it_shall_be(&mut self, row: &Deployed, output: &Output) {
        // Nearly all rows are up to date. Compare without building the row's lists, to be fast.
        let has_targets = self.keepers(output, Some(row)).map(Target::name).eq(&row.targets);
        if !has_targets || !output.is_made_of(&row.module_ids) {
            let (targets, module_ids) = (self.targets(output), output.module_ids());
            self.row_changes.push(RowChange::Keep(Deployed { targets, module_ids, ..row.clone() }));
        }
    }

    /// Claims a file that mcpkg did not write: the file already has the desired content, or mcpkg leaves it unchanged.
    /// Its bytes are stored, so that a rollback to pristine can restore them. Overwriting or deleting the file still
    /// needs `adopt`, unless mcpkg manages only a block in it, or agentpack's manifest says that agentpack wrote it.
    /// Does nothing if the file is already recorded as deployed.
    fn claim(&mut self, desired: &Desired, output: &Output, bytes: &[u8], sha256: &Sha, mode: u32) -> Result<()> {
        if deploys::at(self.db, &self.site.place.machine, &output.path.to_string_lossy())?.is_some() {
            return Ok(());
        }
        let mut by_original = || self.original(desired).get(&output.path).is_some_and(|entry| entry.sha256 == *sha256);
        // A block always belongs to mcpkg, even if another program wrote it.
        let written = output.is_block() || by_original();
        let image = Image::File { blob: 0, sha256: *sha256, mode };
        let row = self.row(output, written, image);
        self.row_changes.push(RowChange::Claim(row, bytes.into()));
        Ok(())
    }

    fn row(&self, output: &Output, written: bool, image: Image) -> Deployed {
        Deployed {
            path: output.path.to_string_lossy().into_owned(),
            place: 0,
            root: output.root.to_string_lossy().into_owned(),
            targets: self.targets(output),
            module_ids: output.module_ids(),
            block: output.is_block(),
            written,
            applied: image.clone(),
            pristine: image,
            pristine_attributes: None,
            stat: None,
        }
    }
}

/// Whether the file's metadata is unchanged, so that the file need not be read.
fn is_untouched(row: &Deployed, metadata: &std::fs::Metadata) -> bool {
    let same_mode = matches!(row.applied, Image::File { mode, .. } if mode == disk::mode(metadata));
    metadata.is_file() && same_mode && row.stat.is_some() && row.stat == disk::stat(metadata)
}

/// Whether everyone who can read a file can also run it.
const fn is_executable(mode: u32) -> bool {
    disk::executable(mode, true) == mode
}

fn image_of(found: &PathState) -> Image {
    match found {
        PathState::File { sha256, mode, .. } => Image::File { blob: 0, sha256: *sha256, mode: *mode },
        PathState::Link(text) => Image::Link(text.clone()),
        PathState::Absent | PathState::Other => Image::Absent,
    }
}

/// Returns the metadata of the file at `path`, without following a link; `None` if there is nothing.
///
/// # Errors
/// `E_IO_INVALID_PATH` if there is a file above `path`, where a folder is needed.
fn metadata(path: &Path) -> Result<Option<Metadata>> {
    let is_there = |above: &&Path| above.symlink_metadata().is_ok();
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => match path.ancestors().find(is_there) {
            Some(file) if error.kind() == ErrorKind::NotADirectory => Err(no_folder(file, path)),
            _ => Err(disk::failed("read", path, error)),
        },
    }
}

fn no_folder(file: &Path, path: &Path) -> Error {
    let why = format!("`{}` is not a folder, but `{}` must be written into it", file.display(), path.display());
    Error::new(Code::InvalidPath, why)
        .with_details(json!({ "path": file.display().to_string(), "path_posix": disk::posix(file) }))
        .hint(format!("move `{}` elsewhere", file.display()))
}

fn in_the_way(path: &Path) -> Error {
    let what = if path.is_dir() { "a folder" } else { "a pipe, a socket or a device" };
    Error::new(Code::InvalidPath, format!("`{}` is {what}, but a file must be written there", path.display()))
        .with_details(json!({ "path": path.display().to_string(), "path_posix": disk::posix(path) }))
        .hint(format!("move `{}` elsewhere", path.display()))
}
