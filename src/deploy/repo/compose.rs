//! From what a profile selects to modules: read, overlays laid over, checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::config::{Declared, Profile, Source};
use super::overlay::{Overlay, Overlays};
use super::tree::{self, Content, Hashes};
use super::validate::{self, Candidate};
use super::{Checkouts, Choice, Composed, Repo, baseline, lockfile};
use crate::deploy::module::{Kind, Layer, Module, ModuleFile};
use crate::error::{Code, Error, Result, nearest};

/// A file of a module that is being composed.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) content: Content,
    pub(super) layer: Layer,
}

/// A module's source, as it was read.
#[derive(Debug)]
pub(super) struct Upstream {
    /// Where it lies.
    pub(super) folder: PathBuf,
    /// The commit of a git source.
    pub(super) commit: Option<String>,
    /// Its files, by path.
    pub(super) files: BTreeMap<String, Content>,
}

/// Selects, reads and checks.
///
/// # Errors
/// As [`Repo::compose`].
pub(super) fn compose(repo: &Repo, choice: &Choice<'_>, checkouts: &Checkouts) -> Result<Composed> {
    repo.bounds.begin();
    let mut warnings = repo.manifest.warnings.clone();
    let selected = select(repo, choice.profile, &mut warnings)?;
    let overlays = Overlays::open(&repo.bounds, choice)?;
    let mut modules = Vec::with_capacity(selected.len());
    for declared in selected {
        modules.push(module(repo, declared, checkouts, &overlays.of(&declared.id), &mut warnings)?);
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
        let error = Error::new(Code::NotFound, format!("`{}` has no profile `{name}`", repo.folder().display()))
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

fn module(
    repo: &Repo,
    declared: &Declared,
    checkouts: &Checkouts,
    overlays: &[Overlay<'_>],
    warnings: &mut Vec<String>,
) -> Result<Module> {
    let upstream = read(repo, declared, checkouts, overlays.is_empty(), warnings)?;
    let mut files = upstream.drafts();
    for overlay in overlays {
        warnings.extend(overlay.warnings(&declared.id)?);
        let touched = overlay.lay(&declared.id, &mut files)?;
        warnings.extend(baseline::drift(&declared.id, overlay, &touched, || Hashes::of(&upstream.files)));
    }
    let source = upstream.folder.display().to_string();
    let candidate = Candidate { id: &declared.id, kind: declared.kind, source, files: &files };
    warnings.extend(validate::check(&candidate)?);
    if declared.kind == Kind::Instructions {
        files.retain(|path, _| path == validate::INSTRUCTIONS);
    }
    let file = |(path, Draft { content, layer }): (String, Draft)| ModuleFile {
        path,
        bytes: content.bytes,
        executable: content.executable,
        layer,
        arguments: Arc::default(),
    };
    Ok(Module {
        id: declared.id.clone(),
        kind: declared.kind,
        targets: declared.targets.clone(),
        files: files.into_iter().map(file).collect(),
    })
}

impl Upstream {
    /// The files as they are before any overlay.
    pub(super) fn drafts(&self) -> BTreeMap<String, Draft> {
        let draft = |(path, content): (&String, &Content)| {
            (path.clone(), Draft { content: content.clone(), layer: Layer::Upstream })
        };
        self.files.iter().map(draft).collect()
    }
}

/// Reads a module's source; a git source is compared with its pin. Where only what is deployed is `wanted`, files that
/// never are stay unread.
///
/// # Errors
/// As [`Repo::compose`].
pub(super) fn read(
    repo: &Repo,
    declared: &Declared,
    checkouts: &Checkouts,
    wanted: bool,
    warnings: &mut Vec<String>,
) -> Result<Upstream> {
    let id = declared.id.as_str();
    let source = match &declared.source {
        Source::Local(path) => {
            let folder = repo.folder().join(path);
            let mut found = tree::find(id, &repo.bounds, &folder)?;
            if wanted && declared.kind == Kind::Instructions {
                found.retain(|path, _| path == validate::INSTRUCTIONS);
            }
            return Ok(Upstream { files: tree::read(id, &repo.bounds, found)?, folder, commit: None });
        }
        Source::Git(source) => source,
    };
    let pin = repo.pin(id, source)?;
    if pin.is_none() && !source.is_commit() {
        warnings.push(format!(
            "Module `{id}` is not pinned in {}: what `{}` is at now was taken",
            lockfile::FILE,
            source.reference
        ));
    }
    let checkout = checkouts.of(repo, id, source, pin)?;
    let found = tree::find(id, &checkout.bounds, &checkout.folder)?;
    let files = tree::read(id, &checkout.bounds, found)?;
    if let Some(lockfile) = &repo.lockfile {
        lockfile.verify(id, &checkout.folder, &files)?;
    }
    Ok(Upstream { files, folder: checkout.folder, commit: Some(checkout.commit) })
}
