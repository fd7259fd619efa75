//! Checks names in a workspace, so that no name can leave its folder or look like an option.

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;

/// The folder for mcpkg's files in the workspace's root.
pub const OWN: &str = ".smctl";

const LONGEST: usize = 100;

/// Returns whether this is a valid name of a feature, hotfix, worktree set or spec.
pub fn is_name(name: &str) -> bool {
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.ends_with(".lock")
}

/// Refuses an invalid name. `what` is the kind of item that has the name: a feature, hotfix, worktree set or spec.
pub fn name(what: &str, name: &str) -> Result<()> {
    if is_name(name) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("`{name}` is not a valid {what} name")).hint(
        "a name has up to 100 letters, digits, `.`, `_` and `-`; it must start with a letter or digit, and must not contain `..` or end \
            with `.` or `.lock`",
    ))
}

/// Returns whether this is a valid name of a repository: one or more names as in [`is_name`], separated by slashes.
pub fn is_repo(name: &str) -> bool {
    name.len() <= 255 && name.split('/').all(is_name)
}

/// Returns whether git accepts this branch or tag name (git-check-ref-format(1)) and cannot mistake it for an option. Names
/// longer than 200 bytes are refused, too.
pub fn is_branch(name: &str) -> bool {
    let forbidden = |c: char| c.is_ascii_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    !name.is_empty()
        && name.len() <= 200
        && name != "HEAD"
        && name != "@"
        && !name.starts_with('-')
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

/// Returns whether this is a valid folder for a repository: a valid path as in [`is_path`], outside `.smctl`.
pub fn is_repo_path(path: &str) -> bool {
    is_path(path) && !path.split('/').next().is_some_and(|part| part.eq_ignore_ascii_case(OWN))
}

/// Returns whether a relative path stays inside its base folder, and no part of it looks like an option to git.
pub fn is_path(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    stays_inside(path) && !path.contains('\n') && !path.split('/').any(|part| part.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x11_names_cannot_be_paths_or_options() {
        for good in ["a", "A1", "login-v2", "a.b_c-d", "0"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "../x", "a/b", "-x", ".x", "a..b", "a.", "a.lock", "a b", "é", "a\nb", &"x".repeat(101)] {
            assert!(!is_name(bad), "{bad}");
            assert_eq!(name("feature", bad).unwrap_err().code(), Code::InvalidArgument);
        }
        assert!(is_repo("libs/core") && !is_repo("libs//core") && !is_repo("/libs"));
    }

    #[test]
    fn branch_names_are_those_that_git_accepts() {
        for good in ["main", "feature/x", "a@b", "é"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in
            ["", "-d", "a..b", "a b", "a~1", "a^", "a:b", "a/.b", "a//b", "/a", "a/", "a.lock/b", "@", "a@{1}", "a."]
        {
            assert!(!is_branch(bad), "{bad}");
        }
    }

    #[test]
    fn paths_stay_inside_the_workspace() {
        for good in ["api", "libs/core", ".worktrees", "a b"] {
            assert!(is_path(good), "{good}");
        }
        for bad in ["", "/a", "../a", "a/../b", "./a", ".git", "a/.GIT/x", "a\\b", "-a"] {
            assert!(!is_path(bad) && !is_repo_path(bad), "{bad}");
        }
        for own in [".smctl", ".smctl/x", ".SMCTL/specs"] {
            assert!(is_path(own) && !is_repo_path(own), "{own}");
        }
    }
}
