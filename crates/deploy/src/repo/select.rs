//! Selects what to take from a config repo: a profile, and the modules that it names by tag or by id.

use serde_json::json;

use super::config::{DeclaredModule, Profile};
use super::opened::Repo;
use mcpkg_base::error::{Code, Error, Result, nearest};

/// The profile, machine and project for which modules are composed.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The profile that selects the modules.
    pub profile: &'a str,
    /// The machine's id. See [`super::identity::machine`].
    pub machine: &'a str,
    /// The project's id. See [`super::identity::project`].
    pub project: &'a str,
}

impl Repo {
    /// Returns the ids of a profile's modules, without reading the modules.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the profile does not exist.
    pub fn selected(&self, profile: &str) -> Result<Vec<&str>> {
        Ok(select(self, profile, &mut Vec::new())?.into_iter().map(|module| module.id.as_str()).collect())
    }
}

/// Returns the declared modules of a profile, sorted by id.
///
/// # Errors
/// `E_NOT_FOUND` if the profile does not exist.
pub(super) fn select<'a>(repo: &'a Repo, name: &str, warnings: &mut Vec<String>) -> Result<Vec<&'a DeclaredModule>> {
    let Some(profile) = repo.manifest.profiles.get(name) else {
        let known: Vec<&str> = repo.manifest.profiles.keys().map(String::as_str).collect();
        let error = Error::new(Code::NotFound, format!("`{}` has no profile `{name}`", repo.folder().display()))
            .with_details(json!({"profile": name, "known": known}));
        return Err(match nearest(name, known.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("the profiles are {}", known.join(", "))),
        });
    };
    for id in profile.include_modules.iter().filter(|id| !repo.manifest.modules.contains_key(*id)) {
        warnings.push(format!("Profile `{name}` includes the module `{id}`, which does not exist"));
    }
    Ok(repo.manifest.modules.values().filter(|module| selects(profile, module)).collect())
}

fn selects(profile: &Profile, module: &DeclaredModule) -> bool {
    module.enabled
        && !profile.exclude_modules.contains(&module.id)
        && (profile.include_modules.contains(&module.id)
            || module.tags.iter().any(|tag| profile.include_tags.contains(tag)))
}
