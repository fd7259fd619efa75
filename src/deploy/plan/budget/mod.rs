//! How much an agent loads in each session, now and after a deploy.

mod files;
mod markdown;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::prepare::Prepared;
use crate::deploy::targets::Target;
use crate::error::Result;
use files::Files;

/// What one agent loads in each session.
#[derive(Debug)]
pub struct Budget {
    target: Target,
    /// The files with their sizes.
    files: BTreeMap<PathBuf, u64>,
    limit: Option<Limit>,
}

/// An agent's limit, and how near the deploy comes to it.
#[derive(Debug)]
struct Limit {
    /// The most bytes that it loads.
    bytes: u64,
    /// The most bytes that stand on the way from the root to a folder.
    used: u64,
    /// The last file on that way, which is cut first.
    at: PathBuf,
    /// The modules on that way, the largest first.
    modules: Vec<String>,
}

impl Budget {
    /// The bytes of all files.
    fn bytes(&self) -> u64 {
        self.files.values().sum()
    }

    /// The data of it.
    pub fn json(&self) -> Value {
        let file = |(path, bytes): (&PathBuf, &u64)| json!({ "path": path.display().to_string(), "bytes": bytes });
        let limit = self
            .limit
            .as_ref()
            .map(|limit| json!({ "bytes": limit.bytes, "used": limit.used, "path": limit.at.display().to_string() }));
        json!({
            "target": self.target.name(),
            "bytes": self.bytes(),
            "tokens": self.bytes() / 4,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "limit": limit,
        })
    }

    /// The warning where the agent would not load all of it.
    pub fn warning(&self) -> Option<String> {
        let Limit { bytes, used, at, modules } = self.limit.as_ref().filter(|limit| limit.used > limit.bytes)?;
        let what = match modules.as_slice() {
            [] => String::new(),
            modules => {
                format!("; say what the largest apply to with `mcpkg module set ID --globs`: {}", modules.join(", "))
            }
        };
        let (title, cut) = (self.target.facts().title, used - bytes);
        Some(format!(
            "{title} loads {bytes} bytes of {} files at most: the last {cut} of `{}` are cut{what}",
            at.file_name().unwrap_or_default().display(),
            at.display()
        ))
    }
}

/// Returns the line that tells a person what each agent loads.
pub fn line(budgets: &[Budget]) -> String {
    let one = |budget: &Budget| {
        format!("{} {} bytes (about {} tokens)", budget.target.facts().title, budget.bytes(), budget.bytes() / 4)
    };
    format!("Loaded in each session: {}", budgets.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// When the files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As they stand on disk.
    Now,
    /// As the deploy leaves them.
    After,
}

/// Returns what each of the chosen targets loads, in the order of their names.
///
/// # Errors
/// `E_IO_PERMISSION_DENIED`, `E_IO_PATH_TOO_LONG`, `E_FILE_FAILED`.
pub fn of(prepared: &Prepared, when: When) -> Result<Vec<Budget>> {
    let site = &prepared.site;
    let mut files = Files::at(prepared, when);
    let chosen = site.configs.iter().filter(|config| site.selected.contains(&config.target));
    chosen.map(|config| files.budget(config)).collect()
}
