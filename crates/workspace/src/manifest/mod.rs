//! `.smctl/workspace.toml`, the workspace's manifest. Faults are reported with their place, and edits are made in place.
//!
//! The keys are those of contract 003's original; the ones that it has no use for are kept and not read.

mod check;
mod edit;
mod read;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};

pub use edit::{NewRepo, add, new, remove};
pub use read::read;

use mcpkg_base::error::{Code, Error};

/// How long a command of a build may run, where the manifest says nothing.
pub const COMMAND: Duration = Duration::from_secs(1800);

/// What a workspace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    /// Its repositories, in the manifest's order.
    pub repos: Vec<Repo>,
    /// How its branches and tags are named.
    pub flow: Flow,
    /// Where its worktrees lie.
    pub worktree: Worktrees,
    /// Where its specs lie.
    pub spec: Specs,
    pub gate: Gate,
    /// What the manifest says that nothing reads, such as a mistyped key, each with its place.
    pub warnings: Vec<String>,
}

/// A repository of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    /// Its name, which is a path's last part or more of them.
    pub name: String,
    /// Address to clone from, without a password.
    pub url: String,
    /// Where it lies, below the root; `.` where the root is the repository.
    pub path: String,
    pub default_branch: String,
    /// Whether new specs are written here.
    pub smctl_home: bool,
    /// The command that builds it, as a list of arguments.
    pub build: Vec<String>,
    /// The command that tests it.
    pub test: Vec<String>,
    /// The command that takes away what builds left, where there is one.
    pub clean: Option<Vec<String>>,
    /// The repositories that are built before it.
    pub depends_on: Vec<String>,
    /// How long each of its commands may run.
    pub timeout: Duration,
}

/// How branches and tags are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The branch that releases are on.
    pub main_branch: String,
    /// The branch that features are merged into.
    pub develop_branch: String,
    /// Before the name of a feature.
    pub feature_prefix: String,
    /// Before the version of a release.
    pub release_prefix: String,
    /// Before the name of a hotfix.
    pub hotfix_prefix: String,
    /// Before a version in its tag.
    pub tag_prefix: String,
    /// The file that changes are written to, in each repository; `None` where there is none.
    pub changelog: Option<String>,
}

/// Where worktrees lie, and what becomes of their branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktrees {
    /// Their folder, below the root.
    pub base_dir: String,
    /// Whether removing a set deletes those of its branches that are merged.
    pub cleanup_on_remove: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specs {
    /// Their folder, in the root and in each repository.
    pub openspec_dir: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Where it answers; embedded in mcpkg where `None`.
    pub url: Option<String>,
    /// How long it may take to answer.
    pub timeout: Duration,
}

/// A fault of a manifest, with its place; lines and columns begin at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Returns the failure of a manifest with faults; `shown` is its path.
fn invalid(shown: &str, faults: &[Fault]) -> Error {
    let first = faults.first().map_or(String::new(), |fault| {
        let more = faults.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        format!("{shown}:{}:{}: {}{more}", fault.line, fault.column, fault.message)
    });
    let findings: Vec<Value> = faults
        .iter()
        .map(|fault| json!({ "line": fault.line, "column": fault.column, "message": fault.message }))
        .collect();
    let rest = faults.iter().skip(1).map(|fault| format!("{}:{}: {}", fault.line, fault.column, fault.message));
    let error = Error::new(Code::WorkspaceInvalid, first);
    rest.fold(error.with_details(json!({ "path": shown, "findings": findings })), Error::hint)
}
