//! Checks the paths in an archive, each one alone and all of them together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use unicode_normalization::UnicodeNormalization;

use super::rule::{Rule, refused};
use mcpkg_base::error::Result;
use mcpkg_base::inside::stays_inside;

/// The maximum length of a path in bytes.
const MAX_PATH: usize = 240;

/// The maximum number of parts of a path.
const MAX_DEPTH: usize = 32;

/// Returns the path of a member, if it is valid.
pub(super) fn check(path: &[u8]) -> Result<&str> {
    let Ok(path) = std::str::from_utf8(path) else {
        return Err(refused(Rule::Utf8, &String::from_utf8_lossy(path), "is not valid UTF-8"));
    };
    let wrong = |rule, message: &str| Err(refused(rule, path, message));
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return wrong(Rule::Absolute, "is an absolute path");
    }
    if path.contains('\\') {
        return wrong(Rule::Backslash, "contains a backslash");
    }
    if path.chars().any(char::is_control) {
        return wrong(Rule::Control, "holds a control character");
    }
    if path.chars().any(is_hidden) {
        return wrong(Rule::Hidden, "contains an invisible character, or one that changes the direction of text");
    }
    if path.len() > MAX_PATH {
        return wrong(Rule::Length, &format!("is {} bytes long; the limit is {MAX_PATH}", path.len()));
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return wrong(Rule::Dots, "has a part that is empty, `.` or `..`");
    }
    if path.split('/').any(|part| part.ends_with('.') || part.ends_with(char::is_whitespace)) {
        return wrong(Rule::Ending, "has a part that ends in a dot or a space");
    }
    if !stays_inside(path) {
        return wrong(Rule::Git, "is inside a `.git` folder");
    }
    let depth = path.split('/').count();
    if depth > MAX_DEPTH {
        return wrong(Rule::Depth, &format!("has {depth} parts; the limit is {MAX_DEPTH}"));
    }
    Ok(path)
}

/// Returns whether a character can make one name look like another: it changes the direction of text, breaks a
/// line, or is invisible. The two joiner characters are allowed, because words of some languages need them.
fn is_hidden(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The kind of a path in an archive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    /// A folder with its own entry.
    Folder,
    /// A folder that is only part of another path.
    Above,
}

/// The paths so far, each with its original spelling and kind. The keys are normalized, since some file systems ignore
/// case and Unicode forms.
#[derive(Default)]
pub(super) struct Names(HashMap<String, (String, Kind)>);

impl Names {
    /// Adds a path and its parent folders.
    ///
    /// # Errors
    /// `E_ARCHIVE_INVALID` if another path or parent folder has the same normalized form. Only a folder may occur
    /// several times: as the parent of other paths, and once by itself.
    pub(super) fn add(&mut self, path: &str, is_folder: bool) -> Result<()> {
        for (at, _) in path.match_indices('/') {
            self.put(path, &path[..at], Kind::Above)?;
        }
        self.put(path, path, if is_folder { Kind::Folder } else { Kind::File })
    }

    fn put(&mut self, member: &str, name: &str, kind: Kind) -> Result<()> {
        let mut known = match self.0.entry(folded(name)) {
            Entry::Occupied(known) => known,
            Entry::Vacant(free) => {
                free.insert((name.to_owned(), kind));
                return Ok(());
            }
        };
        let (other, was) = known.get();
        if other != name {
            let message = format!("and `{}` are the same file on some disks", other.escape_debug());
            return Err(refused(Rule::Case, member, message));
        }
        match (*was, kind) {
            (Kind::Folder | Kind::Above, Kind::Above) => Ok(()),
            (Kind::Above, Kind::Folder) => {
                known.get_mut().1 = kind;
                Ok(())
            }
            _ => Err(refused(Rule::Twice, member, "appears twice")),
        }
    }
}

/// Normalizes a name, so that names which some file systems treat as the same become equal.
fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfkd().collect::<String>().to_uppercase().to_lowercase().nfkc().collect()
}
