//! Finds files that keep an agent from reading AGENTS.md: the agent's own file in the same folder or in one above.

use std::path::{Path, PathBuf};

use mcpkg_agents::forms::sections;
use mcpkg_base::disk;
use mcpkg_base::error::Result;

/// A file that hides AGENTS.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    pub path: PathBuf,
    pub text: Vec<u8>,
}

impl Hidden {
    /// Returns the file's text without mcpkg's block.
    pub fn users_text(&self) -> Vec<u8> {
        sections::take_out(&self.text).unwrap_or_default()
    }
}

/// Returns the first of `files` that hides AGENTS.md, in the root or in a folder above it. In the home folder, a file
/// in an agent's own folder, such as `~/.claude/CLAUDE.md`, does not count.
pub fn by(root: &Path, home: &Path, files: &[&str]) -> Result<Option<Hidden>> {
    match in_folder(root, files)? {
        Some(hidden) => Ok(Some(hidden)),
        None => Ok(above(root, home, files)),
    }
}

/// Like [`by`], as if mcpkg's blocks in the root's files were not there. What a deploy writes must not depend on what an
/// earlier one wrote.
pub fn by_user(root: &Path, home: &Path, files: &[&str]) -> Result<Option<Hidden>> {
    for file in files {
        if let Some(text) = text(&root.join(file), !file.contains('/'), true)? {
            return Ok(Some(Hidden { path: root.join(file), text }));
        }
    }
    Ok(above(root, home, files))
}

fn above(root: &Path, home: &Path, files: &[&str]) -> Option<Hidden> {
    for folder in root.ancestors().skip(1) {
        for file in files {
            let path = folder.join(file);
            if folder == home && file.contains('/') {
                continue;
            }
            // A file above the root cannot import the root's AGENTS.md, only the one next to itself, so its text does
            // not matter. An unreadable file hides nothing: the agent cannot read it either.
            if let Ok(true) = path.metadata().map(|metadata| metadata.is_file() && metadata.len() > 0) {
                return Some(Hidden { path, text: Vec::new() });
            }
        }
    }
    None
}

/// Returns the first of `files` that hides the AGENTS.md of `folder`.
pub fn in_folder(folder: &Path, files: &[&str]) -> Result<Option<Hidden>> {
    for file in files {
        let path = folder.join(file);
        if let Some(text) = text(&path, !file.contains('/'), false)? {
            return Ok(Some(Hidden { path, text }));
        }
    }
    Ok(None)
}

/// Returns the text of a file if it hides AGENTS.md: it is not empty, does not import AGENTS.md, and is not a link to
/// it. `beside` says whether AGENTS.md is in the same folder as the file, and `of_user` whether only the user's text
/// counts.
fn text(path: &Path, beside: bool, of_user: bool) -> Result<Option<Vec<u8>>> {
    let Some(metadata) = disk::metadata(path)? else { return Ok(None) };
    if !path.is_file() {
        // A folder or a dangling link has no text that could hide AGENTS.md.
        return Ok(None);
    }
    if metadata.is_symlink() && mcpkg_base::platform::real(path).is_ok_and(|real| real.ends_with("AGENTS.md")) {
        return Ok(None);
    }
    let text = disk::read(path)?;
    let text = if of_user { sections::take_out(&text).unwrap_or_default() } else { text };
    let imports: &[&[u8]] = if beside { &[b"@AGENTS.md", b"@./AGENTS.md"] } else { &[b"@../AGENTS.md"] };
    Ok((!text.is_empty() && !has_word(&text, imports)).then_some(text))
}

/// Whether a text imports the AGENTS.md next to its file.
pub(super) fn imports_agents_md(text: &[u8]) -> bool {
    has_word(text, &[b"@AGENTS.md", b"@./AGENTS.md"])
}

/// Whether a text contains one of these words between white space.
fn has_word(text: &[u8], words: &[&[u8]]) -> bool {
    text.split(u8::is_ascii_whitespace).any(|word| words.contains(&word))
}
