//! Measures how much an agent loads, and how close that is to its limit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::targets::Target;
use mcpkg_base::plural;

/// What one agent loads in each session.
#[derive(Debug)]
pub struct Budget {
    pub(super) target: Target,
    /// The files with their sizes in bytes.
    pub(super) files: BTreeMap<PathBuf, u64>,
    /// The skills, commands and subagents that the agent lists.
    pub(super) listed: Listed,
    pub(super) limit: Option<Limit>,
    /// The bytes before the deploy, if the budget is for the state after it.
    pub(super) before: Option<u64>,
}

/// How many skills, commands and subagents an agent lists by name and description.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) skills: usize,
    pub(super) commands: usize,
    pub(super) subagents: usize,
    /// The total size in bytes of the names and descriptions in the list.
    pub(super) bytes: u64,
}

impl Listed {
    pub(super) fn json(&self) -> Value {
        let Self { skills, commands, subagents, bytes } = self;
        json!({ "skills": skills, "commands": commands, "subagents": subagents, "bytes": bytes })
    }

    /// Counts the list's entries for a person: `2 skills and 1 subagent`.
    pub(super) fn shown(&self) -> String {
        let counts = [(self.skills, "skill"), (self.commands, "command"), (self.subagents, "subagent")];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, noun)| plural::count(count as u64, noun)).collect();
        match counts.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

/// An agent's limit, and how close the deploy comes to it.
#[derive(Debug)]
pub(super) struct Limit {
    /// The maximum number of bytes that the agent loads.
    pub(super) bytes: u64,
    /// The total bytes of the files from the root down to one folder (the folder with the largest total), or of the
    /// only file that the limit is about.
    pub(super) used: u64,
    /// The deepest of these files. The agent cuts it first.
    pub(super) at: PathBuf,
    /// The largest modules in these files, largest first.
    pub(super) modules: Vec<String>,
}

impl Budget {
    pub const fn target(&self) -> Target {
        self.target
    }

    /// Returns the total bytes of the files and the list.
    pub fn bytes(&self) -> u64 {
        self.files.values().sum::<u64>() + self.listed.bytes
    }

    pub fn json(&self) -> Value {
        let file = |(path, bytes): (&PathBuf, &u64)| json!({ "path": path.display().to_string(), "bytes": bytes });
        let limit = self
            .limit
            .as_ref()
            .map(|limit| json!({ "bytes": limit.bytes, "used": limit.used, "path": limit.at.display().to_string() }));
        let mut data = json!({
            "target": self.target.name(),
            "bytes": self.bytes(),
            "tokens": self.bytes() / 4,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "listed": self.listed.json(),
            "limit": limit,
        });
        if let Some(before) = self.before {
            data["bytes_before"] = before.into();
        }
        data
    }

    /// Returns a warning if the agent would not load everything.
    pub fn warning(&self) -> Option<String> {
        let Limit { bytes, used, at, modules } = self.limit.as_ref().filter(|limit| limit.used > limit.bytes)?;
        let what = match modules.as_slice() {
            [] => String::new(),
            modules => {
                format!(
                    "; limit the largest modules to some files with `mcpkg module set ID --globs`: {}",
                    modules.join(", ")
                )
            }
        };
        let (title, cut) = (self.target.facts().title, used - bytes);
        Some(format!(
            "{title} loads at most {bytes} bytes of {} files: it ignores the last {cut} bytes of `{}`{what}",
            at.file_name().unwrap_or_default().display(),
            at.display()
        ))
    }
}

/// The state of the files to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The current state on disk.
    Now,
    /// The state after the deploy.
    After,
}
