//! Decides which folders an import enters, judging by their names.

use super::agents;
use crate::import::reason::Reason;

/// The folders in which version control systems keep their data.
pub const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".svn", ".jj"];

pub const INSTALLED: &str = "node_modules";

/// Checks whether an import of an exported folder would enter this subfolder. An error is the reason to skip it.
/// `in_skill` means that the subfolder is inside a skill.
pub fn is_entered(relative: &str, in_skill: bool) -> std::result::Result<(), Reason> {
    let known = |part: &str| agents::is_folder(part) || part == "skills";
    let name = relative.rsplit('/').next().unwrap_or_default();
    if name == ".git" {
        return Err(Reason::VersionControl);
    }
    folder(name, || in_skill || relative.split('/').any(known))
}

pub fn folder(name: &str, holds_skills: impl FnOnce() -> bool) -> std::result::Result<(), Reason> {
    if VERSION_CONTROL.contains(&name) {
        return Err(Reason::VersionControl);
    }
    if name == INSTALLED {
        return Err(Reason::Installed);
    }
    if name.starts_with('.') && !agents::is_folder(name) && !holds_skills() {
        return Err(Reason::Hidden);
    }
    Ok(())
}
