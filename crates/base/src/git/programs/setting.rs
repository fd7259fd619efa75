//! Classifies settings that name programs by when git runs those programs.

/// The kinds of git commands that run the program of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Commands that read or write files of a work tree.
    Files,
    /// Commands that contact another host.
    Remotes,
    /// Commands that sign or verify signatures.
    Signing,
    /// Commands for which hooks are allowed.
    Hooks,
    /// Commands that change something in a way that runs hooks. New releases of git run the hooks that are set in the
    /// configuration (`hook.NAME.command`), and no option prevents that.
    Changes,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The key in git's spelling.
    pub key: String,
    pub value: String,
}

impl Setting {
    /// Returns the commands that run the setting's program; `None` if the setting names no program, or if mcpkg never
    /// runs git in a way that would use it.
    pub(super) fn runs(&self) -> Option<Runs> {
        let (section, rest) = self.key.split_once('.')?;
        let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, variable)| (Some(name), variable));
        match (section, name, variable) {
            ("filter", Some(_), "clean" | "smudge" | "process")
            | ("merge", Some(_), "driver")
            | ("diff", Some(_), "command" | "textconv")
            | ("diff", None, "external")
            // With this setting, git writes files outside the repository.
            | ("core", None, "worktree") => Some(Runs::Files),
            // The Git LFS filter runs these programs. The filter is part of the user's own configuration, so mcpkg does not
            // disable it.
            ("lfs", Some(name), "path") if name.starts_with("customtransfer.") => Some(Runs::Files),
            ("lfs", Some(name), "clean" | "smudge") if name.starts_with("extension.") => Some(Runs::Files),
            ("core", None, "sshcommand" | "gitproxy" | "askpass" | "alternaterefscommand")
            | ("credential", _, "helper")
            | ("remote", Some(_), "uploadpack" | "receivepack" | "vcs") => Some(Runs::Remotes),
            ("submodule", Some(_), "update") if self.value.trim_start().starts_with('!') => Some(Runs::Remotes),
            ("gpg", _, "program" | "defaultkeycommand") => Some(Runs::Signing),
            ("core", None, "hookspath") | (HOOK | HOOK_OF_SUBMODULE, None, _) => Some(Runs::Hooks),
            ("hook", Some(_), "command") => Some(Runs::Changes),
            _ => None,
        }
        .filter(|_| !self.value.trim().is_empty())
    }
}

/// The hooks of a merge, and of the checkout after it, in git's order.
pub const MERGE: [&str; 5] = ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "post-checkout"];

/// The hooks of a push. The second one runs because a push updates the remote-tracking refs.
pub(super) const PUSH: [&str; 2] = ["pre-push", "reference-transaction"];

/// The key prefix for hooks that are files in the repository.
pub(super) const HOOK: &str = "hooks";

/// The key prefix for hooks that are files in a submodule.
pub(super) const HOOK_OF_SUBMODULE: &str = "submodule-hooks";
