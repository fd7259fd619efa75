//! Tracks the folders that this user has deployed to from this machine. If a folder is known only from a database row,
//! mcpkg writes there only after a person approves it at a terminal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::plan::{Change, RowChange};
use crate::source::Site;
use crate::targets::bases::innermost;
use mcpkg_base::approved::Kind;
use mcpkg_base::disk::RealFolders;
use mcpkg_base::disk::folders::Folders;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::is_at_or_below;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;

/// Returns the folder that must be approved for a change: its root, or the file's real folder if a link inside the
/// root leads elsewhere.
pub fn of(folders: &mut RealFolders, root: &Path, path: &Path) -> PathBuf {
    let holding = folders.of(path.parent().unwrap_or(path));
    if holding.starts_with(folders.of(root)) { root.to_owned() } else { holding }
}

pub fn of_changes<'c>(changes: impl IntoIterator<Item = &'c Change>) -> BTreeSet<PathBuf> {
    of_files(changes.into_iter().map(|change| (change.root.as_path(), change.path.as_path())))
}

/// Returns the roots of claimed files: files that already have the desired content, and that mcpkg manages from now on.
pub fn of_claims<'r>(changes: impl IntoIterator<Item = &'r RowChange>) -> BTreeSet<PathBuf> {
    of_files(changes.into_iter().filter_map(|change| match change {
        RowChange::Claim(row, _) => Some((Path::new(&row.root), Path::new(&row.path))),
        RowChange::Keep(_) | RowChange::Follow(..) | RowChange::Forget(_) => None,
    }))
}

fn of_files<'f>(files: impl Iterator<Item = (&'f Path, &'f Path)>) -> BTreeSet<PathBuf> {
    let mut folders = RealFolders::default();
    files.map(|(root, path)| of(&mut folders, root, path)).collect()
}

/// Returns the roots that this user has never deployed to from this machine.
pub fn unapproved(context: &Context, roots: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>> {
    let mut unapproved = BTreeSet::new();
    for root in roots {
        if context.approved.get(Kind::Root, &key(root))?.is_none() {
            unapproved.insert(root.clone());
        }
    }
    Ok(unapproved)
}

/// Records that this user deploys to these roots from this machine.
///
/// # Errors
/// `E_UNAPPROVED` if the user has no home folder; `E_IO_PERMISSION_DENIED`, `E_DISK_FULL` or `E_FILE_FAILED` if a
/// record cannot be written.
pub fn approve(context: &Context, roots: &BTreeSet<PathBuf>) -> Result<()> {
    for root in unapproved(context, roots)? {
        context.approved.put(Kind::Root, &key(&root), &json!({ "path": root.display().to_string() }))?;
    }
    Ok(())
}

/// Returns the error for a write below roots that are not approved.
pub fn refused(roots: &BTreeSet<PathBuf>, changes: &[Change]) -> Error {
    let named: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
    let below = |change: &&Change| roots.iter().any(|root| change.path.starts_with(root));
    let paths: Vec<String> = changes.iter().filter(below).map(|change| change.path.display().to_string()).collect();
    Error::new(
        Code::Unapproved,
        format!(
            "The database asks to change `{}`, but you have never deployed below `{}` from this machine; nothing was changed",
            paths.first().unwrap_or(&named[0]),
            named.join("`, `")
        ),
    )
    .with_details(json!({ "roots": named, "paths": paths }))
    .hint_for(
        "check the paths; to go ahead, run the command at a terminal without --yes and confirm",
        "check the paths; if the user wants this change, the user must run the command at a terminal and confirm there",
    )
}

/// Returns the real paths of roots.
///
/// # Errors
/// `E_IO_INVALID_PATH` if a link leads out of the folder that limits the root (the deploy root, the home folder or a
/// target's own folder), or into a `.git` folder.
pub fn real(site: &Site, roots: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>> {
    let limits = site.bases.limits(&site.configs);
    let mut folders = RealFolders::default();
    let mut found = Vec::with_capacity(roots.len());
    for root in roots {
        let (real, base) = (folders.of(root), innermost(&limits, root));
        if !is_at_or_below(&folders.of(base), &real) {
            let why = format!("`{}` is a link to `{}`, outside `{}`", root.display(), real.display(), base.display());
            return Err(Error::new(Code::InvalidPath, why)
                .with_details(json!({ "path": root, "real": real, "base": base }))
                .hint("remove the link, or point it to a folder inside that location"));
        }
        found.push(real);
    }
    Ok(found)
}

/// Returns access to the folders that this user has deployed to from this machine.
pub fn folders(context: &Context) -> Result<Folders> {
    let mut folders = RealFolders::default();
    let approved = context.approved.all(Kind::Root)?;
    let roots = approved.iter().filter_map(|(_, note)| note["path"].as_str());
    Ok(Folders::below(roots.map(|root| folders.of(Path::new(root))).collect()))
}

fn key(root: &Path) -> String {
    sha256::hex(root.as_os_str().as_encoded_bytes())
}
