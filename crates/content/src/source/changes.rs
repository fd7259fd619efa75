//! Counts how an update changes a source's items: which skills, prompts and so on it adds, changes and deletes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use super::contents::Contents;
use super::offer::{KINDS, plural_of, programs, shown_name};
use super::plan::{Done, Step};
use crate::skills::MAIN;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Table};

/// What happens to an item. All files of a skill together are one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    New,
    Changed,
    Deleted,
    /// Both sides changed the item, so a person has to decide.
    Undecided,
}

impl Change {
    fn of(done: &Done) -> Option<Self> {
        match done {
            Done::Created => Some(Change::New),
            Done::Taken | Done::Merged(_) => Some(Change::Changed),
            Done::Deleted => Some(Change::Deleted),
            Done::Proposed(_) | Done::ProposedDelete => Some(Change::Undecided),
            Done::Kept | Done::Pending | Done::NameTaken(_) => None,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Changed => "changed",
            Change::Deleted => "deleted",
            Change::Undecided => "undecided",
        }
    }
}

/// The maximum number of names that are listed for one kind.
const NAMED: usize = 8;

/// The names of items, by what happens to them and by the index of their kind in [`KINDS`].
#[derive(Debug, Default)]
pub struct Changes {
    names: BTreeMap<(Change, usize), BTreeSet<String>>,
    /// The paths of new and changed programs.
    programs: Vec<String>,
}

impl Changes {
    pub fn of(steps: &[Step], contents: &Contents) -> Self {
        let mut skills: BTreeMap<&str, Change> = BTreeMap::new();
        let mut names: BTreeMap<(Change, usize), BTreeSet<String>> = BTreeMap::new();
        let mut written = HashSet::new();
        for step in steps {
            let entry = step.theirs.as_ref().or_else(|| step.base.as_ref().map(|base| &base.entry));
            let (Some(change), Some(entry)) = (Change::of(&step.done), entry) else { continue };
            let kind = KINDS.iter().position(|(word, _)| *word == entry.word()).unwrap_or_default();
            if matches!(change, Change::New | Change::Changed) {
                written.insert(step.path.as_str());
            }
            match entry.what.in_skill() {
                // A new file in a skill changes the skill.
                Some((skill, path)) if change != Change::Undecided => {
                    if path == MAIN {
                        skills.insert(skill, change);
                    } else {
                        skills.entry(skill).or_insert(Change::Changed);
                    }
                }
                _ => {
                    names.entry((change, kind)).or_default().insert(shown_name(entry).to_owned());
                }
            }
        }
        for (skill, change) in skills {
            names.entry((change, 0)).or_default().insert(skill.to_owned());
        }
        let programs = programs(&contents.items).into_iter().filter(|path| written.contains(path));
        Self { names, programs: programs.map(str::to_owned).collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns what a person sees before approving the update of the source `name`.
    pub fn body(&self, name: &str, commits: &str) -> Body {
        let row = |((change, kind), names): (&(Change, usize), &BTreeSet<String>)| {
            let what = plural_of(names.len(), KINDS[*kind].1.split(", ").next().unwrap_or_default());
            vec![change.word().to_owned(), what, names.len().to_string(), plural::first(names, NAMED)]
        };
        let mut rows: Vec<_> = self.names.iter().map(row).collect();
        if !self.programs.is_empty() {
            let what = "of these, programs and scripts".to_owned();
            let count = self.programs.len().to_string();
            rows.push(vec!["new or changed".to_owned(), what, count, plural::first(&self.programs, NAMED)]);
        }
        let commits = if commits.is_empty() { String::new() } else { format!(" ({commits})") };
        let columns = &["CHANGE", "WHAT", "COUNT", "EXAMPLES"];
        let table = Table { columns, rows, empty: "No item changes".to_owned() };
        Body::Several(vec![Body::Sentence(format!("Changes in the source '{name}'{commits}:")), Body::Table(table)])
    }

    /// Returns the changes as JSON.
    pub fn data(&self) -> Value {
        let data = |((change, kind), names): (&(Change, usize), &BTreeSet<String>)| json!({ "change": change.word(), "kind": KINDS[*kind].0, "names": names });
        self.names.iter().map(data).collect()
    }

    pub fn programs(&self) -> &[String] {
        &self.programs
    }
}
