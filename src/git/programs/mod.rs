//! The programs that a repository's own configuration names.
//!
//! A repository may arrive as a folder, with a `.git` that somebody else wrote. Git runs what its configuration names: filters while it
//! looks at files, `uploadpack` while it fetches, `gpg.program` while it signs. So mcpkg reads that configuration first ([`read`],
//! [`submodules`]), without git working in the repository. Reads then go on with the filters switched off; anything that would run such
//! a program is refused until this user trusted exactly these settings ([`decide`], [`trust`]). mcpkg does not ask about the user's own
//! configuration: nobody else wrote it.

mod decide;
mod read;
mod submodules;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(super) use self::decide::{held_back, require};
use super::folder::Kept;
use crate::approved::{Approved, Kind};
use crate::error::Result;
use crate::hex;
use crate::process::Limits;

/// The commands of git that run a program which a setting names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
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
    /// The value.
    pub value: String,
}

impl Setting {
    /// Returns what runs it; `None` where it names no program that mcpkg's git would run.
    fn runs(&self) -> Option<Runs> {
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
const PUSH: [&str; 2] = ["pre-push", "reference-transaction"];

/// The section of the keys that stand for hooks that lie in the repository.
const HOOK: &str = "hooks";

/// The section of the keys that stand for hooks that lie in a submodule.
const HOOK_OF_SUBMODULE: &str = "submodule-hooks";

/// The settings of a repository that name programs, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The folder that git keeps the repository in.
    place: PathBuf,
    /// The top of its work tree, where it has one.
    top: Option<PathBuf>,
    /// The settings.
    pub settings: BTreeSet<Setting>,
}

impl Named {
    /// Reads the configuration that the repository of a folder brings, and that of its submodules.
    ///
    /// # Errors
    /// `E_GIT_FAILED` where it is malformed, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`, `E_CANCELLED`.
    pub fn of(folder: &Path, limits: &Limits<'_>) -> Result<Self> {
        let found = Kept::found_from(folder);
        let Some(taken) = found.last() else { return Ok(Self::default()) };
        let place = taken.shared.canonicalize().unwrap_or_else(|_| taken.shared.clone());
        let mut named = Self { place, top: taken.top.clone(), settings: BTreeSet::new() };
        for kept in &found {
            read::settings(kept, limits, &mut named.settings)?;
            named.hooks(HOOK, &kept.shared, &MERGE);
            named.hooks(HOOK, &kept.shared, &PUSH);
            for submodule in submodules::of(kept, limits)? {
                read::settings(&submodule, limits, &mut named.settings)?;
                named.hooks(HOOK_OF_SUBMODULE, &submodule.shared, &PUSH);
            }
        }
        Ok(named)
    }

    /// Adds those of the hooks that lie in a repository.
    fn hooks(&mut self, section: &str, shared: &Path, names: &[&str]) {
        for name in names {
            let hook = shared.join("hooks").join(name);
            if hook.is_file() {
                self.settings.insert(Setting { key: format!("{section}.{name}"), value: hook.display().to_string() });
            }
        }
    }

    /// Returns the SHA-256 of where the repository is and what it names, in hex.
    pub fn sha256(&self) -> String {
        let settings: Vec<[&str; 2]> = self.settings.iter().map(|setting| [&*setting.key, &*setting.value]).collect();
        hex::encode(&Sha256::digest(json!([self.place, settings]).to_string()))
    }

    /// Whether this user trusted exactly these settings.
    ///
    /// # Errors
    /// `E_IO_PERMISSION_DENIED`, `E_FILE_FAILED`.
    pub fn is_trusted(&self, approved: &Approved) -> Result<bool> {
        Ok(self.settings.is_empty() || approved.has(Kind::Repository, &self.sha256())?)
    }

    /// The settings for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        self.settings.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect()
    }

    /// The settings for programs.
    pub fn data(&self) -> Value {
        self.settings.iter().map(|setting| json!({ "key": setting.key, "value": setting.value })).collect()
    }
}

/// Notes that this user trusts what a repository names.
///
/// # Errors
/// As [`Approved::put`].
pub fn trust(named: &Named, approved: &Approved) -> Result<()> {
    approved.put(Kind::Repository, &named.sha256(), &json!({ "place": named.place, "settings": named.data() }))
}
