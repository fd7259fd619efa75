//! Decides which files of a package's folder are left out of its archive, and lists the files to pack.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::rule::{Rule, refused};
use mcpkg_base::disk;
use mcpkg_base::error::{Error, Result};
use mcpkg_base::file;

/// Folders of version control, which are always left out.
const NEVER: [&str; 5] = [".git", ".hg", ".svn", ".jj", "CVS"];

/// File extensions of keys and certificates, which are always left out.
const KEYS: [&str; 4] = ["pem", "key", "p12", "pfx"];

/// Folders with generated or downloaded files. A line such as `!dist/` in `.gitignore` includes the folder anyway.
const MADE: [&str; 8] = ["node_modules", "vendor", "__pycache__", "venv", "dist", "build", "out", "target"];

/// The contents of a package's folder.
#[derive(Debug, Default)]
pub(super) struct FolderContents {
    /// The files to pack, by their path in the archive.
    pub(super) files: Vec<Source>,
    /// The files and folders that are left out, by their path in the package.
    pub(super) left_out: Vec<String>,
}

/// A file to pack.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: String,
    pub(super) on_disk: PathBuf,
    pub(super) size: u64,
    pub(super) executable: bool,
}

/// Returns the files to pack, sorted by the bytes of their paths.
///
/// # Errors
/// `E_ARCHIVE_INVALID` for a name that is not valid UTF-8, for a link or a special file that is not left out, and if
/// the folders are nested too deeply.
pub(super) fn walk(folder: &Path) -> Result<FolderContents> {
    let mut found = FolderContents::default();
    visit(folder, "", &mut Vec::new(), &mut found)?;
    found.files.sort_by(|a, b| a.path.cmp(&b.path));
    found.left_out.sort();
    Ok(found)
}

fn visit(folder: &Path, below: &str, ignores: &mut Vec<Gitignore>, found: &mut FolderContents) -> Result<()> {
    // A path this deep is refused anyway. Refusing it here limits the depth of the recursion.
    if below.matches('/').count() > 64 {
        return Err(refused(Rule::Depth, below, "is nested too deeply"));
    }
    ignores.push(gitignore(folder)?);
    let failed = |error| Error::file("read", folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let on_disk = entry.path();
        let Ok(name) = entry.file_name().into_string() else {
            return Err(refused(Rule::Utf8, &on_disk.to_string_lossy(), "has a name that is not valid UTF-8"));
        };
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let metadata = fs::symlink_metadata(&on_disk).map_err(failed)?;
        if is_left_out(&name, &on_disk, metadata.is_dir(), ignores) {
            found.left_out.push(path);
        } else if metadata.is_dir() {
            visit(&on_disk, &path, ignores, found)?;
        } else if metadata.is_file() {
            let executable = disk::mode(&metadata) & 0o111 != 0;
            found.files.push(Source { path, on_disk, size: metadata.len(), executable });
        } else {
            let (rule, what) = match metadata.is_symlink() {
                true => (Rule::Link, "is a link"),
                false => (Rule::Special, "is neither a file nor a folder"),
            };
            return Err(refused(rule, &path, what).hint("replace this entry with a file, or list it in .gitignore"));
        }
    }
    ignores.pop();
    Ok(())
}

/// Returns whether a file or folder is left out. Version control, `.env` files and keys always are. For anything else,
/// the nearest `.gitignore` file with a matching line decides; it can be in the same folder or in a folder above. If
/// no line matches, hidden files, generated folders and logs are left out.
fn is_left_out(name: &str, on_disk: &Path, is_folder: bool, ignores: &[Gitignore]) -> bool {
    let ending = |endings: &[&str]| {
        let after = name.rsplit_once('.').map(|(_, after)| after.to_ascii_lowercase());
        after.is_some_and(|after| endings.contains(&after.as_str()))
    };
    if NEVER.contains(&name) || name.starts_with(".env") || ending(&KEYS) {
        return true;
    }
    for ignore in ignores.iter().rev() {
        match ignore.matched(on_disk, is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    name.starts_with('.') || is_folder && MADE.contains(&name) || !is_folder && ending(&["log"])
}

/// Reads the `.gitignore` of a folder. Invalid lines are skipped.
fn gitignore(folder: &Path) -> Result<Gitignore> {
    let path = folder.join(".gitignore");
    let text = match file::read_text(&path, file::TEXT) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Gitignore::empty()),
        Err(error) => return Err(Error::file("read", &path, error)),
    };
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.lines() {
        // Git ignores invalid lines too.
        let _ = builder.add_line(None, line);
    }
    Ok(builder.build().unwrap_or_else(|_| Gitignore::empty()))
}
