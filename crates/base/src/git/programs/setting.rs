//! A setting that names a program, and when git runs that program.

/// The commands of git that run a program which a setting names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    /// Those that write or read files of a work tree.
    Files,
    /// Those that ask another host.
    Remotes,
    /// Those that sign, or verify a signature.
    Signing,
    /// Those that let hooks run.
    Hooks,
    /// Those that change anything: newer releases of git run such a hook, and no option keeps them from it.
    Changes,
}

/// A setting that names a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The key, as git writes it.
    pub key: String,
    pub value: String,
}

impl Setting {
    /// Returns what runs it; `None` where it names no program that mcpkg's git would run.
    pub(super) fn runs(&self) -> Option<Runs> {
        let (section, rest) = self.key.split_once('.')?;
        let (name, variable) = rest.rsplit_once('.').map_or((None, rest), |(name, variable)| (Some(name), variable));
        match (section, name, variable) {
            ("filter", Some(_), "clean" | "smudge" | "process")
            | ("merge", Some(_), "driver")
            | ("diff", Some(_), "command" | "textconv")
            | ("diff", None, "external")
            // Git writes there instead of in the repository.
            | ("core", None, "worktree") => Some(Runs::Files),
            // The filter of large files runs these; it is the user's own, and so stays on.
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

/// The hooks of a merge and of the switch after it, in the order in which git runs them.
pub const MERGE: [&str; 5] = ["pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "post-checkout"];

/// The hooks of a push: it moves the refs that follow the other repository's.
pub(super) const PUSH: [&str; 2] = ["pre-push", "reference-transaction"];

/// The section of the keys that stand for hooks that lie in the repository.
pub(super) const HOOK: &str = "hooks";

/// The section of the keys that stand for hooks that lie in a submodule.
pub(super) const HOOK_OF_SUBMODULE: &str = "submodule-hooks";
