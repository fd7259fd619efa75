//! Reads and edits the workspace's manifest, `.smctl/workspace.toml`.
//!
//! The keys are those of smctl, the program that contract 003 describes. mcpkg preserves the keys that it does not use.

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

/// The default time limit of a build command.
pub const COMMAND: Duration = Duration::from_secs(1800);

/// The parsed manifest of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub name: String,
    /// The repositories, in the manifest's order.
    pub repos: Vec<Repo>,
    pub flow: Flow,
    pub worktree: Worktrees,
    pub spec: Specs,
    pub gate: Gate,
    /// Warnings about keys that mcpkg ignores, such as typos, each with its position.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repo {
    /// The name: one or more path components, such as `api` or `libs/api`.
    pub name: String,
    /// The URL to clone from, without a password.
    pub url: String,
    /// The folder, relative to the root; `.` if the root itself is the repository.
    pub path: String,
    pub default_branch: String,
    /// Whether new specs are created in this repository unless you name another.
    pub smctl_home: bool,
    /// The build command, as a list of arguments.
    pub build: Vec<String>,
    /// The test command.
    pub test: Vec<String>,
    /// The command that removes build results, if any.
    pub clean: Option<Vec<String>>,
    /// The repositories that must be built first.
    pub depends_on: Vec<String>,
    /// The time limit of each command.
    pub timeout: Duration,
}

/// The settings for flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The branch of released versions.
    pub main_branch: String,
    /// The branch that features are merged into.
    pub develop_branch: String,
    /// The prefix of feature branches.
    pub feature_prefix: String,
    /// The prefix of release branches.
    pub release_prefix: String,
    /// The prefix of hotfix branches.
    pub hotfix_prefix: String,
    /// The prefix of version tags.
    pub tag_prefix: String,
    /// The changelog file of each repository; `None` if no changelog is written.
    pub changelog: Option<String>,
}

/// The settings for worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktrees {
    /// The folder of all worktrees, relative to the root.
    pub base_dir: String,
    /// Whether removing a set also deletes the set's merged branches.
    pub cleanup_on_remove: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specs {
    /// The folder of specs in the root and in each repository.
    pub openspec_dir: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The URL of a remote gate; `None` for the embedded gate.
    pub url: Option<String>,
    /// The time limit of a request to the gate.
    pub timeout: Duration,
}

/// An error in a manifest, with its position; lines and columns start at 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    pub column: usize,
    /// A description of the error and of how to fix it.
    pub message: String,
}

/// Returns the error for an invalid manifest. `shown` is its path.
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
