//! Finds hidden or dangerous parts of texts that agents read, for `mcpkg audit` and for every operation that imports
//! such texts.
//!
//! [`scan`] audits one text. Its findings depend only on the text and its path, and it reads the text a bounded number
//! of times. [`rules`] is the table of rules. Each of these modules implements some of the rules: [`characters`]
//! (invisible characters), [`names`] (letters that imitate others), [`patterns`] (regular expressions), [`prose`]
//! (comments, white space, encoded text), and [`settings`] (hooks, permissions). A [`Report`] collects the findings of
//! several texts.

pub mod rules;

mod characters;
mod found;
mod front;
mod kind;
mod names;
mod patterns;
mod prose;
mod report;
mod settings;
#[cfg(test)]
mod tests;

pub use found::Finding;
pub use report::{OfRule, Report};
pub use settings::hook_commands;

use std::collections::HashSet;

use found::Found;
use kind::{is_prose, is_settings};
use mcpkg_base::sha256::Sha;

/// Audits a text. `path` decides which rules apply.
pub fn scan(path: &str, text: &str) -> Vec<Finding> {
    let mut found = Found::new(path, text);
    names::scan(&mut found);
    characters::scan(&mut found);
    patterns::scan(&mut found);
    if is_prose(path) {
        prose::scan(&mut found);
        settings::front(&mut found);
    }
    if is_settings(path) {
        settings::hooks(&mut found);
    }
    found.finish()
}

/// Audits many files. If a content had no findings, it is not audited again for paths with the same rules: a deploy
/// writes the same command for several agents.
#[derive(Debug, Default)]
pub struct Scanner {
    /// The contents without findings, and which rules they were audited by.
    harmless: HashSet<(Sha, bool, bool)>,
}

impl Scanner {
    /// Audits bytes with this SHA-256. Returns no findings for bytes that are not UTF-8 text.
    pub fn scan(&mut self, path: &str, bytes: &[u8], sha256: &Sha) -> Vec<Finding> {
        let key = (*sha256, is_prose(path), is_settings(path));
        // Names in the path are audited too, but only those that are not ASCII can have findings.
        if path.is_ascii() && self.harmless.contains(&key) {
            return Vec::new();
        }
        let found = scan_bytes(path, bytes).unwrap_or_default();
        if found.is_empty() {
            self.harmless.insert(key);
        }
        found
    }
}

/// Audits bytes. Returns `None` if they are not UTF-8 text.
pub fn scan_bytes(path: &str, bytes: &[u8]) -> Option<Vec<Finding>> {
    std::str::from_utf8(bytes).ok().map(|text| scan(path, text))
}
