//! The settings of one repository that name programs, and the user's trust in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::setting::{HOOK, HOOK_OF_SUBMODULE, MERGE, PUSH, Setting};
use super::{read, submodules};
use crate::approved::{Approved, Kind};
use crate::error::Result;
use crate::git::folder::Kept;
use crate::hex;
use crate::process::Limits;

/// The settings of a repository that name programs, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The folder that git keeps the repository in.
    place: PathBuf,
    /// The top of its work tree, where it has one.
    pub(super) top: Option<PathBuf>,
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
pub fn trust(named: &Named, approved: &Approved) -> Result<()> {
    approved.put(Kind::Repository, &named.sha256(), &json!({ "place": named.place, "settings": named.data() }))
}
