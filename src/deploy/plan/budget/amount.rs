//! How much an agent loads, and how near that comes to its limit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::deploy::targets::Target;

/// What one agent loads in each session.
#[derive(Debug)]
pub struct Budget {
    pub(super) target: Target,
    /// The files with their sizes.
    pub(super) files: BTreeMap<PathBuf, u64>,
    pub(super) limit: Option<Limit>,
}

/// An agent's limit, and how near the deploy comes to it.
#[derive(Debug)]
pub(super) struct Limit {
    /// The most bytes that it loads.
    pub(super) bytes: u64,
    /// The most bytes that stand on the way from the root to a folder.
    pub(super) used: u64,
    /// The last file on that way, which is cut first.
    pub(super) at: PathBuf,
    /// The modules on that way, the largest first.
    pub(super) modules: Vec<String>,
}

impl Budget {
    /// The bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
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

/// When the files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As they stand on disk.
    Now,
    /// As the deploy leaves them.
    After,
}
