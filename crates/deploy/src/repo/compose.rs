//! Composes the modules that a profile selects: reads them, applies their overlays and checks the result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::baseline;
use super::checkout::Checkouts;
use super::config::{DeclaredModule, ModuleSource};
use super::lockfile;
use super::opened::Repo;
use super::overlay::{Overlay, Overlays};
use super::select::Choice;
use super::select::select;
use super::tree::Draft;
use super::tree::{self, Content, Hashes};
use super::validate::{self, Candidate};
use crate::module::{About, Kind, Layer, Module, ModuleFile};
use mcpkg_base::error::Result;

/// The composed modules of a profile.
#[derive(Debug)]
pub struct Composed {
    /// The modules, sorted by id and without duplicates.
    pub modules: Vec<Module>,
    pub warnings: Vec<String>,
}

/// The files of a module as its source contains them, before overlays.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) folder: PathBuf,
    /// The commit, if the source is git.
    pub(super) commit: Option<String>,
    /// The files by their path inside the module.
    pub(super) files: BTreeMap<String, Content>,
}

impl Repo {
    /// Composes the modules of a profile: selects them, applies their overlays and checks the result. Fetch git
    /// sources first.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the profile does not exist; `E_CONFIG_INVALID` with the details `module_id` and `path` if a
    /// module or overlay breaks a rule; `E_OVERLAY_PATCH_APPLY_FAILED` if a patch does not apply; `E_LOCKFILE_INVALID`
    /// if a module differs from its pin; `E_PLAN_CHANGED` if a git source differs from the fetched one; the error of
    /// the file system if a file cannot be read.
    pub fn compose(&self, choice: &Choice<'_>, checkouts: &Checkouts) -> Result<Composed> {
        self.bounds.begin();
        let mut warnings = self.manifest.warnings.clone();
        let selected = select(self, choice.profile, &mut warnings)?;
        let overlays = Overlays::open(&self.bounds, choice)?;
        let mut modules = Vec::with_capacity(selected.len());
        for declared in selected {
            modules.push(module(self, declared, checkouts, &overlays.of(&declared.id), &mut warnings)?);
        }
        Ok(Composed { modules, warnings })
    }
}

fn module(
    repo: &Repo,
    declared: &DeclaredModule,
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
        own: None,
    };
    Ok(Module {
        id: declared.id.clone(),
        kind: declared.kind,
        targets: declared.targets.clone(),
        files: files.into_iter().map(file).collect(),
        about: About::default(),
    })
}

impl Upstream {
    /// Returns the files as drafts to which no overlay has been applied.
    pub(super) fn drafts(&self) -> BTreeMap<String, Draft> {
        let draft = |(path, content): (&String, &Content)| {
            (path.clone(), Draft { content: content.clone(), layer: Layer::Upstream })
        };
        self.files.iter().map(draft).collect()
    }
}

/// Reads a module's source and compares a git source with its pin. With `wanted`, skips files of a local instructions
/// module that are not deployed.
pub(super) fn read(
    repo: &Repo,
    declared: &DeclaredModule,
    checkouts: &Checkouts,
    wanted: bool,
    warnings: &mut Vec<String>,
) -> Result<Upstream> {
    let id = declared.id.as_str();
    let source = match &declared.source {
        ModuleSource::Local(path) => {
            let folder = repo.folder().join(path);
            let mut found = tree::find(id, &repo.bounds, &folder)?;
            if wanted && declared.kind == Kind::Instructions {
                found.retain(|path, _| path == validate::INSTRUCTIONS);
            }
            return Ok(Upstream { files: tree::read(id, &repo.bounds, found)?, folder, commit: None });
        }
        ModuleSource::Git(source) => source,
    };
    let pin = repo.pin(id, source)?;
    if pin.is_none() && !source.is_commit() {
        warnings.push(format!(
            "Module `{id}` is not pinned in {}: used the current commit of `{}`",
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
