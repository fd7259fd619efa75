//! From what a profile selects to modules: read, overlays laid over, checked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;

use super::manifest::{Declared, Profile, Source};
use super::tree::{self, Content};
use super::validate::{self, Candidate};
use super::{Choice, Composed, Repo};
use crate::deploy::module::{Kind, Layer, Module, ModuleFile};
use crate::error::{Code, Error, Result, nearest};

/// A file of a module that is being composed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) content: Content,
    pub(super) layer: Layer,
}

/// Selects, reads and checks.
pub(super) fn compose(repo: &Repo, choice: &Choice<'_>) -> Result<Composed> {
    let mut warnings = Vec::new();
    let mut modules = Vec::new();
    for declared in select(repo, choice.profile, &mut warnings)? {
        modules.push(module(repo, declared, &mut warnings)?);
    }
    Ok(Composed { modules, warnings })
}

/// Returns the modules of a profile, by id.
///
/// # Errors
/// `E_NOT_FOUND` where there is no such profile.
pub(super) fn select<'a>(repo: &'a Repo, name: &str, warnings: &mut Vec<String>) -> Result<Vec<&'a Declared>> {
    let Some(profile) = repo.manifest.profiles.get(name) else {
        let known: Vec<&str> = repo.manifest.profiles.keys().map(String::as_str).collect();
        let error = Error::new(Code::NotFound, format!("`{}` has no profile `{name}`", repo.folder.display()))
            .with_details(json!({"profile": name, "known": known}));
        return Err(match nearest(name, known.iter().copied()) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("there are {}", known.join(", "))),
        });
    };
    for id in profile.include_modules.iter().filter(|id| !repo.manifest.modules.contains_key(*id)) {
        warnings.push(format!("Profile `{name}` includes the module `{id}`, which does not exist"));
    }
    Ok(repo.manifest.modules.values().filter(|module| selects(profile, module)).collect())
}

fn selects(profile: &Profile, module: &Declared) -> bool {
    module.enabled
        && !profile.exclude_modules.contains(&module.id)
        && (profile.include_modules.contains(&module.id)
            || module.tags.iter().any(|tag| profile.include_tags.contains(tag)))
}

fn module(repo: &Repo, declared: &Declared, warnings: &mut Vec<String>) -> Result<Module> {
    let source: PathBuf = match &declared.source {
        Source::Local(path) => repo.folder.join(path),
        Source::Git(_) => return Err(Error::new(Code::GitFailed, "git sources are not read yet")),
    };
    let found = tree::find(&declared.id, &source)?;
    let mut files: BTreeMap<String, Draft> = tree::read(found)?
        .into_iter()
        .map(|(path, content)| (path, Draft { content, layer: Layer::Upstream }))
        .collect();
    let candidate =
        Candidate { id: &declared.id, kind: declared.kind, source: source.display().to_string(), files: &files };
    warnings.extend(validate::check(&candidate)?);
    if declared.kind == Kind::Instructions {
        files.retain(|path, _| path == validate::INSTRUCTIONS);
    }
    let files = files
        .into_iter()
        .map(|(path, Draft { content, layer })| ModuleFile {
            path,
            bytes: content.bytes,
            executable: content.executable,
            layer,
        })
        .collect();
    Ok(Module { id: declared.id.clone(), kind: declared.kind, targets: declared.targets.clone(), files })
}
