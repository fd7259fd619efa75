//! Prepares git commands with the options and environment that all of them need.

use std::ffi::OsStr;
use std::path::Path;

use super::failure::shown;
use crate::process::{Capture, Environment, Program};

/// Variables that would make git use a repository other than the one in its folder. git sets them while it runs a hook.
const MISLEADING: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"];

/// Options for every git command: no file monitor, no transport through a shell command, no background maintenance.
const QUIET: [&str; 8] =
    ["-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false"];

/// Options for git commands that must not run hooks.
const NO_HOOKS: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];

/// Options for commands that must not sign, whatever the user's configuration says.
const UNSIGNED: [&str; 2] = ["-c", "commit.gpgsign=false"];

/// The most output that is read from a git command in the top folder of a repository.
const WHOLE: Capture = Capture { head: 64 << 20, tail: 64 << 10 };

/// Returns the program `git`, prepared to run in a folder. With `is_repository`, the folder is the top of a repository: git
/// then ignores repositories around it, and signs if the configuration says so.
pub(super) fn plain<A: AsRef<OsStr>>(folder: &Path, is_repository: bool, runs_hooks: bool, args: &[A]) -> Program {
    let mut git = Program::new("git").folder(folder).environment(Environment::Inherited).args(QUIET);
    if !runs_hooks {
        git = git.args(NO_HOOKS);
    }
    git = if is_repository { git.capture(WHOLE) } else { git.args(UNSIGNED) };
    git = git.args(args);
    git = git.variable("GIT_TERMINAL_PROMPT", "0").variable("GIT_OPTIONAL_LOCKS", "0").variable("LC_ALL", "C");
    // No user watches git's terminal, so an editor or pager would wait forever.
    git = git.variable("GIT_EDITOR", ":").variable("GIT_SEQUENCE_EDITOR", ":").variable("GIT_PAGER", "cat");
    // ssh runs in its own process group, and would be stopped if it prompted at the terminal.
    git = git.variable("SSH_ASKPASS_REQUIRE", "force");
    for variable in MISLEADING {
        git = git.without(variable);
    }
    if let (true, Some(parent)) = (is_repository, folder.parent()) {
        git = git.variable("GIT_CEILING_DIRECTORIES", parent);
    }
    tracing::debug!(folder = %folder.display(), args = %shown(args), "git");
    // The credential cache and ssh's shared connection keep running after the git process that started them.
    git.leaves_children()
}
