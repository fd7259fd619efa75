//! Lists the settings of a repository that name programs, and records the user's trust in them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::setting::{HOOK, HOOK_OF_SUBMODULE, MERGE, PUSH, Setting};
use super::{read, submodules};
use crate::approved::{Approved, Kind};
use crate::error::Result;
use crate::git::folder::Folders;
use crate::process::Limits;
use crate::sha256;

/// The settings of a repository that name programs, without duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The git folder of the repository.
    place: PathBuf,
    /// The top folder of the repository's work tree, if it has one.
    pub(super) top: Option<PathBuf>,
    pub settings: BTreeSet<Setting>,
}

impl Named {
    /// Collects the settings that name programs, and the hooks that a merge or push would run. Looks at every
    /// repository that git may find from a folder, and at their submodules.
    ///
    /// # Errors
    /// `E_GIT_FAILED` if a configuration is malformed, `E_GIT_NOT_FOUND`, `E_FILE_FAILED`, `E_CANCELLED`.
    pub fn of(folder: &Path, limits: &Limits<'_>) -> Result<Self> {
        let found = Folders::found_from(folder);
        let Some(taken) = found.last() else { return Ok(Self::default()) };
        let place = crate::platform::real(&taken.shared).unwrap_or_else(|_| taken.shared.clone());
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

    /// Adds the repository's hooks with these names. Skips names without a hook.
    fn hooks(&mut self, section: &str, shared: &Path, names: &[&str]) {
        for name in names {
            let hook = shared.join("hooks").join(name);
            if hook.is_file() {
                self.settings.insert(Setting { key: format!("{section}.{name}"), value: hook.display().to_string() });
            }
        }
    }

    /// Returns the SHA-256 of the repository's folder and settings, in hex.
    pub fn sha256(&self) -> String {
        let settings: Vec<[&str; 2]> = self.settings.iter().map(|setting| [&*setting.key, &*setting.value]).collect();
        sha256::hex(json!([self.place, settings]).to_string())
    }

    /// Whether this user trusts exactly these settings.
    pub fn is_trusted(&self, approved: &Approved) -> Result<bool> {
        Ok(self.settings.is_empty() || approved.has(Kind::Repository, &self.sha256())?)
    }

    /// Returns the settings for people, one per line.
    pub fn lines(&self) -> Vec<String> {
        self.settings.iter().map(|setting| format!("{} = {}", setting.key, setting.value)).collect()
    }

    /// Returns the settings as JSON.
    pub fn data(&self) -> Value {
        self.settings.iter().map(|setting| json!({ "key": setting.key, "value": setting.value })).collect()
    }
}

/// Records that this user trusts the repository's settings.
pub fn trust(named: &Named, approved: &Approved) -> Result<()> {
    approved.put(Kind::Repository, &named.sha256(), &json!({ "place": named.place, "settings": named.data() }))
}
