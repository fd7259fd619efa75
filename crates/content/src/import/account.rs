//! Reports what happened to each file of an import: imported, a duplicate of another, or skipped, and why.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reason::{LeftOut, Note, Reason};
use crate::item::File;
use crate::same::Duplicate;
use mcpkg_base::plural;
use mcpkg_core::op::{LISTED_BY_VERBOSE, grouped};

/// The maximum number of files that a line lists by name.
const NAMED: usize = 3;

/// The maximum number of lines about single files that a terminal shows without `-v`.
const MAX_LINES: usize = 20;

/// The files that did not become items or are stored with changes, and notes about files.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub same: Vec<Duplicate>,
    /// The files and folders that were skipped.
    pub left_out: Vec<LeftOut>,
    /// Notes for people about single files.
    pub notes: Vec<Note>,
    /// The files that are stored with changes, and the reasons. An export cannot restore their bytes.
    pub altered: BTreeMap<String, String>,
}

impl Account {
    /// Adds what a later stage reports.
    pub fn extend(&mut self, later: Self) {
        self.same.extend(later.same);
        self.left_out.extend(later.left_out);
        self.notes.extend(later.notes);
        self.altered.extend(later.altered);
    }

    pub fn note(&mut self, file: &File, line: Option<usize>, text: impl Into<String>) {
        self.notes.push(Note::of(file, line, text));
    }

    /// Counts the skipped files.
    fn left(&self) -> u64 {
        self.left_out.iter().map(|left| left.files).sum()
    }

    /// Counts all files by what happened to them. `items` is the number of files that became items.
    pub fn counts(&self, items: usize) -> Value {
        let (items, same, left) = (items as u64, self.same.len() as u64, self.left());
        json!({ "total": items + same + left, "imported": items, "same": same, "left_out": left })
    }

    /// Returns the duplicates as JSON.
    pub fn same_data(&self) -> Value {
        self.same.iter().map(|Duplicate { path, of }| json!({ "path": path, "as": of })).collect()
    }

    /// Returns the skipped files as JSON. A skipped folder is one entry.
    pub fn left_out_data(&self) -> Value {
        self.left_out
            .iter()
            .map(|left| {
                let mut data = json!({ "path": left.path, "reason": left.reason.text() });
                if left.path.ends_with('/') {
                    data["files"] = left.files.into();
                }
                data
            })
            .collect()
    }

    /// Returns the notes about single files as JSON.
    pub fn notes_data(&self) -> Value {
        let note = |Note { path, line, text }: &Note| match line {
            Some(line) => json!({ "path": path, "line": line, "note": text }),
            None => json!({ "path": path, "note": text }),
        };
        self.notes.iter().map(note).collect()
    }

    /// Counts the files that did not become items, by what happened to them and why.
    pub fn counted(&self) -> impl Iterator<Item = (u64, &'static str, &'static str)> {
        let same =
            Some(self.same.len() as u64).filter(|count| *count > 0).map(|count| (count, "same", "as another file"));
        let mut reasons: BTreeMap<Reason, u64> = BTreeMap::new();
        for left in &self.left_out {
            *reasons.entry(left.reason).or_default() += left.files;
        }
        same.into_iter().chain(reasons.into_iter().map(|(reason, count)| (count, "skipped", reason.text())))
    }

    /// Returns a row for each file that did not become an item: what happened to it, why, and its path.
    fn rows(&self) -> impl Iterator<Item = [String; 3]> {
        let same = self.same.iter().map(|Duplicate { path, of }| ["same".to_owned(), format!("as {of}"), path.clone()]);
        let left = self.left_out.iter().map(|left| {
            let files = if left.path.ends_with('/') { format!(" ({})", files(left.files)) } else { String::new() };
            ["skipped".to_owned(), format!("{}{files}", left.reason.text()), left.path.clone()]
        });
        same.chain(left)
    }

    /// Returns the hints for a terminal: notes about single files, duplicates, and the number of skipped files by
    /// reason.
    pub fn hints(&self) -> Vec<String> {
        let unread = self.left_out.iter().filter(|left| left.reason == Reason::Unread).count();
        let (files, them) = if unread == 1 {
            ("file that no agent reads was", "it")
        } else {
            ("files that no agent reads were", "them")
        };
        let hint = format!("{unread} {files} skipped; `--documents` imports {them} too");
        self.hints_with((unread > 0).then_some(hint))
    }

    /// Returns the hint about skills that were skipped because agents find another skill with the same name.
    fn other_skills(&self) -> Option<String> {
        let is_main =
            |left: &&LeftOut| left.reason == Reason::OtherSkill && left.path.to_lowercase().ends_with("/skill.md");
        let mut skills = self.left_out.iter().filter(is_main);
        let first = skills.next()?;
        let (count, was) = match skills.count() {
            0 => ("1 skill".to_owned(), "was"),
            more => (format!("{} skills", more + 1), "were"),
        };
        Some(format!(
            "{count} {was} skipped, such as `{}`: agents do not look there, and find another skill of that name; to import such \
             a skill, import its folder into a project of its own",
            first.path
        ))
    }

    /// Returns the hints for a terminal. `optional` contains the hints about files that another option would import.
    pub fn hints_with(&self, optional: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut hints = self.grouped_notes();
        if !self.same.is_empty() {
            let Duplicate { path, of } = &self.same[0];
            hints.push(match self.same.len() {
                1 => format!("`{path}` has the same content as `{of}`, so the content was imported only once"),
                count => format!(
                    "{count} files are the same as others, such as `{path}` and `{of}`; each was imported only once"
                ),
            });
        }
        hints.extend(optional);
        hints.extend(self.other_skills());
        let mut reasons: BTreeMap<Reason, (u64, Vec<&str>)> = BTreeMap::new();
        for left in self.left_out.iter().filter(|left| !left.reason.is_optional()) {
            let (count, paths) = reasons.entry(left.reason).or_default();
            *count += left.files;
            paths.push(&left.path);
        }
        if !reasons.is_empty() {
            let others = reasons.values().map(|(count, _)| count).sum();
            let counts = reasons.iter().map(|(reason, (count, paths))| {
                let named = if reason.is_known() && paths.len() <= NAMED {
                    format!(" ({})", paths.join(", "))
                } else {
                    String::new()
                };
                format!("{}: {count}{named}", reason.text())
            });
            let counts: Vec<_> = counts.collect();
            hints.push(format!("skipped {}: {}{LISTED_BY_VERBOSE}", files(others), counts.join("; ")));
        }
        hints
    }

    /// Returns each note text once, with the files that the note is about.
    pub fn grouped_notes(&self) -> Vec<String> {
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for note in &self.notes {
            let at = *places.entry(&note.text).or_insert_with(|| {
                groups.push((&note.text, Vec::new()));
                groups.len() - 1
            });
            let line = note.line.map_or(String::new(), |line| format!(":{line}"));
            groups[at].1.push(format!("`{}{line}`", note.path));
        }
        let lines = groups.into_iter().map(|(text, paths)| match paths.as_slice() {
            [path] => format!("{path} {text}"),
            paths => format!("each of {} {text}: {}", files(paths.len() as u64), some(paths)),
        });
        let mut lines = grouped(lines.collect());
        let more = lines.len().saturating_sub(MAX_LINES);
        lines.truncate(MAX_LINES);
        if more > 0 {
            lines.push(format!("{more} more notes{LISTED_BY_VERBOSE}"));
        }
        lines
    }

    /// Returns a line for each note, and for each file that did not become an item.
    pub fn lines(&self) -> Vec<String> {
        let notes = self.notes.iter().map(|Note { path, line, text }| {
            let line = line.map_or(String::new(), |line| format!(":{line}"));
            format!("{path}{line}: {text}")
        });
        notes.chain(self.rows().map(|[what, why, path]| format!("{path}: {what}: {why}"))).collect()
    }
}

/// Lists the first few paths, and counts the rest.
fn some(paths: &[String]) -> String {
    match paths.len() {
        count if count <= NAMED => paths.join(", "),
        count => format!("{} and {} more", paths[..NAMED - 1].join(", "), count - NAMED + 1),
    }
}

fn files(count: u64) -> String {
    plural::count(count, "file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_grouped_and_counts_add_up() {
        let note = |path: &str| Note { path: path.to_owned(), line: Some(3), text: "is odd".to_owned() };
        let account = Account {
            same: vec![Duplicate { path: "CLAUDE.md".to_owned(), of: "AGENTS.md".to_owned() }],
            left_out: vec![
                LeftOut { path: ".git/".to_owned(), reason: Reason::VersionControl, files: 40 },
                LeftOut::file(".mcp.json", Reason::Malformed),
                LeftOut::file(".env", Reason::Hidden),
            ],
            notes: ["a", "b", "c", "d"].map(note).to_vec(),
            ..Account::default()
        };
        assert_eq!(account.counts(2), json!({ "total": 45, "imported": 2, "same": 1, "left_out": 42 }));
        assert_eq!(
            account.hints(),
            [
                "each of 4 files is odd: `a:3`, `b:3` and 2 more",
                "`CLAUDE.md` has the same content as `AGENTS.md`, so the content was imported only once",
                "skipped 42 files: cannot be read in its agent's format: 1 (.mcp.json); hidden: 1; version control: 40; `-v` lists them",
            ]
        );
        assert_eq!(account.lines().len(), 8);
        let counted: Vec<_> = account.counted().collect();
        assert_eq!(
            counted[..2],
            [(1, "same", "as another file"), (1, "skipped", "cannot be read in its agent's format")]
        );
        assert_eq!(counted.iter().map(|(count, ..)| count).sum::<u64>(), 43);
    }
}
