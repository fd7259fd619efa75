//! Proposes a user's changes in deployed files to the config repo, as overlays on a new branch.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::baseline::Baseline;
use super::branch::{self, Change};
use super::checkout::Checkouts;
use super::compose::{self, Upstream};
use super::config::{DeclaredModule, ModuleSource};
use super::opened::Repo;
use super::overlay::{self, Overlay, OverlayKind, Overlays};
use super::patch;
use super::select::Choice;
use super::tree::Draft;
use super::tree::{Content, Hashes, META};
use super::validate::{self, Candidate};
use crate::module::Layer;
use crate::module::{fs_key, sanitise};
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::disk::posix;
use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_base::inside::stays_inside;

/// Files to propose as overlays.
#[derive(Debug)]
pub struct Proposal<'a> {
    /// The choice with which the files were deployed.
    pub choice: Choice<'a>,
    /// The git sources that were fetched for the deployed files.
    pub checkouts: &'a Checkouts,
    /// The layer of the overlay that the files are written to: global, machine or project.
    pub scope: Layer,
    pub files: Vec<ProposedFile>,
    /// The branch's name. By default, it is made of scope, module and time.
    pub branch: Option<&'a str>,
    pub now: Millis,
    /// Stops git when it is cancelled.
    pub cancelled: &'a CancellationToken,
}

#[derive(Clone, Debug)]
pub struct ProposedFile {
    pub module_id: String,
    /// The path inside the module, separated by `/`.
    pub path: String,
    pub bytes: Vec<u8>,
    pub executable: bool,
}

#[derive(Debug)]
pub struct Proposed {
    pub branch: String,
    /// The layer of the overlay that the files were written to.
    pub scope: Layer,
    /// The written files, relative to the repo and separated by `/`.
    pub files: Vec<String>,
    /// Whether there is a new commit on a new branch. False if every file already has the proposed content.
    pub committed: bool,
    /// The files that could not be proposed.
    pub skipped: Vec<SkippedFile>,
}

/// A file that cannot be proposed.
#[derive(Clone, Debug)]
pub struct SkippedFile {
    pub module_id: String,
    /// The path inside the module.
    pub path: String,
    /// The reason, and what the user can do.
    pub why: String,
}

impl Repo {
    /// Writes files into the overlays of a scope, in one commit on a new branch. The work tree, the index and the
    /// current branch stay unchanged, and no hook runs. Files that a higher overlay would override and files that
    /// would make the module invalid are skipped and listed.
    ///
    /// # Errors
    /// `E_GIT_REPO_REQUIRED`, `E_GIT_WORKTREE_DIRTY`, `E_GIT_NOT_FOUND` or `E_GIT_FAILED`, with the details `command`
    /// and `repo`; `E_INVALID_ARGUMENT` for the scope or the branch, or if there are no files; `E_ALREADY_EXISTS` for
    /// the branch; `E_NOT_FOUND` for a module; `E_IO_INVALID_PATH` for a file's path; the errors of reading the modules
    /// and their overlays.
    pub fn propose(&self, proposal: &Proposal<'_>) -> Result<Proposed> {
        let Some(below) = overlay::folder_of(proposal.scope, &proposal.choice) else {
            return Err(Error::new(
                Code::InvalidArgument,
                "The scope of an overlay must be global, machine or project",
            ));
        };
        let git = branch::GitRepo::of(self, proposal.cancelled)?;
        let mut modules: BTreeMap<&str, BTreeMap<&str, &ProposedFile>> = BTreeMap::new();
        for file in &proposal.files {
            check_path(file)?;
            modules.entry(&file.module_id).or_default().insert(&file.path, file);
        }
        self.bounds.begin();
        let overlays = Overlays::open(&self.bounds, &proposal.choice)?;
        let mut written = Written { below: posix(&below), ..Written::default() };
        for (id, files) in &modules {
            let declared = declared(self, id)?;
            let upstream = compose::read(self, declared, proposal.checkouts, false, &mut Vec::new())?;
            let work = Work { repo: self, proposal, declared, upstream: &upstream, head: git.head() };
            work.module(&overlays.of(id), files.clone(), &mut written)?;
        }
        let name = match (proposal.branch, modules.keys().next()) {
            (Some(name), _) => git.free(name)?,
            (None, Some(id)) => {
                let about = if modules.len() == 1 { sanitise(id) } else { "multi".to_owned() };
                let time = rfc3339(proposal.now).replace(['-', ':'], "");
                let scope = word(proposal.scope);
                git.free_like(&format!("evolve/propose-{scope}-{}-{time}", &about[..about.len().min(64)]))?
            }
            (None, None) => return Err(Error::new(Code::InvalidArgument, "Nothing to propose")),
        };
        let Written { changes, files, skipped, .. } = written;
        let news = changes.into_iter().filter(|(path, change)| !change.is_done(&self.folder().join(path))).collect();
        let committed = git.commit(&name, news, proposal.now)?;
        Ok(Proposed { branch: name, scope: proposal.scope, files, committed, skipped })
    }
}

/// The files to write so far. Paths are relative to the repo.
#[derive(Default)]
struct Written {
    below: String,
    changes: BTreeMap<String, Change>,
    files: Vec<String>,
    skipped: Vec<SkippedFile>,
}

/// One module's part of a proposal.
struct Work<'a> {
    repo: &'a Repo,
    proposal: &'a Proposal<'a>,
    declared: &'a DeclaredModule,
    upstream: &'a Upstream,
    head: &'a str,
}

impl Work<'_> {
    fn module(
        &self,
        overlays: &[Overlay<'_>],
        mut files: BTreeMap<&str, &ProposedFile>,
        to: &mut Written,
    ) -> Result<()> {
        let (id, scope) = (self.declared.id.as_str(), self.proposal.scope);
        let mut lower = self.upstream.drafts();
        for overlay in overlays.iter().filter(|overlay| overlay.layer < scope) {
            overlay.lay(id, &mut lower)?;
        }
        let mut whole = lower.clone();
        let own = overlays.iter().find(|overlay| overlay.layer == scope);
        let higher = || overlays.iter().filter(|overlay| overlay.layer > scope);
        if let Some(own) = own {
            own.lay(id, &mut whole)?;
        }

        // A higher overlay might hide the change, or might no longer apply after it.
        let mut trial = whole.clone();
        let mut hidden = BTreeMap::new();
        for overlay in higher() {
            hidden.extend(overlay.lay(id, &mut trial)?.into_iter().map(|path| (path, overlay.layer)));
        }
        files.retain(|path, _| match hidden.get(*path) {
            Some(layer) => {
                let by = word(*layer);
                to.skip(id, path, format!("an overlay with scope {by} overrides this file; propose with scope {by}"));
                false
            }
            None => true,
        });
        for (path, file) in &files {
            let from = whole.get(*path).map_or_else(|| (*path).into(), |draft| draft.content.from.clone());
            let content =
                Content { from, bytes: file.bytes.as_slice().into(), executable: file.executable, linked: false };
            whole.insert((*path).to_owned(), Draft { content, layer: scope });
        }
        // Do not propose files that would make the module invalid.
        if let Err(why) = self.try_out(&files, &lower, whole, higher()) {
            for path in files.keys() {
                to.skip(id, path, why.message().to_owned());
            }
            return Ok(());
        }
        if files.is_empty() {
            return Ok(());
        }
        match own {
            Some(own) if own.made(id)? == OverlayKind::Patch => self.patches(own, &lower, &files, to),
            own => self.files(own, &files, to),
        }
    }

    fn try_out<'a>(
        &self,
        files: &BTreeMap<&str, &ProposedFile>,
        lower: &BTreeMap<String, Draft>,
        mut whole: BTreeMap<String, Draft>,
        higher: impl Iterator<Item = &'a Overlay<'a>>,
    ) -> Result<()> {
        let id = self.declared.id.as_str();
        for (path, file) in files {
            if overlay::has_conflict(&file.bytes)
                && !lower.get(*path).is_some_and(|below| overlay::has_conflict(&below.content.bytes))
            {
                let why = format!("`{path}` contains conflict markers: choose between the two sides first");
                return Err(Error::new(Code::ConfigInvalid, why));
            }
        }
        for overlay in higher {
            overlay.lay(id, &mut whole)?;
        }
        let source = self.upstream.folder.display().to_string();
        validate::check(&Candidate { id, kind: self.declared.kind, source, files: &whole }).map(|_| ())
    }

    /// Proposes the changes as complete files in the overlay.
    fn files(&self, own: Option<&Overlay<'_>>, files: &BTreeMap<&str, &ProposedFile>, to: &mut Written) -> Result<()> {
        let folder = self.folder(own, to)?;
        for (path, file) in files {
            let place = format!("{folder}/{path}");
            to.files.push(place.clone());
            to.changes.insert(place, Change::Write(file.bytes.clone(), file.executable));
        }
        self.describe(&folder, to)
    }

    /// Proposes the changes as patches, because the overlay consists of patches.
    fn patches(
        &self,
        own: &Overlay<'_>,
        lower: &BTreeMap<String, Draft>,
        files: &BTreeMap<&str, &ProposedFile>,
        to: &mut Written,
    ) -> Result<()> {
        let folder = self.folder(Some(own), to)?;
        for (path, file) in files {
            let texts = lower.get(*path).map(|below| {
                (std::str::from_utf8(&below.content.bytes), std::str::from_utf8(&file.bytes), below.content.executable)
            });
            let Some((Ok(before), Ok(after), executable)) = texts else {
                let why =
                    "the overlay consists of patches, which can only change existing text files: use a dir overlay";
                to.skip(&self.declared.id, path, why.to_owned());
                continue;
            };
            if executable != file.executable {
                let why = "the overlay consists of patches, which cannot change file modes: use a dir overlay";
                to.skip(&self.declared.id, path, why.to_owned());
                continue;
            }
            let place = format!("{folder}/{META}/patches/{path}.patch");
            let change = match patch::create(before, after, path) {
                Some(patch) => Change::Write(patch.into_bytes(), false),
                None => Change::Remove,
            };
            to.files.push(place.clone());
            to.changes.insert(place, change);
        }
        self.describe(&folder, to)
    }

    /// Adds the overlay's metadata and its baseline if they are missing.
    fn describe(&self, folder: &str, to: &mut Written) -> Result<()> {
        let mut missing = |name: &str, text: String| {
            let path = format!("{folder}/{META}/{name}");
            if !self.repo.folder().join(&path).exists() {
                to.changes.insert(path, Change::Write(text.into_bytes(), false));
            }
        };
        let hashes = Hashes::of(&self.upstream.files);
        let baseline = Baseline::of(&hashes, self.origin(), rfc3339(self.proposal.now));
        let baseline = serde_json::to_string_pretty(&baseline)
            .map_err(|error| Error::internal("a baseline is not valid JSON").with_source(error))?;
        missing("overlay.json", "{\n  \"overlay_kind\": \"dir\"\n}\n".to_owned());
        missing("module_id", format!("{}\n", self.declared.id));
        missing(Baseline::FILE, baseline + "\n");
        Ok(())
    }

    /// Describes where the module comes from, in the form that a baseline records.
    fn origin(&self) -> Value {
        match &self.declared.source {
            ModuleSource::Git(git) => {
                let url = mcpkg_base::redact::redact(&git.url);
                json!({"kind": "git", "url": url, "commit": self.upstream.commit, "subdir": git.subdir})
            }
            ModuleSource::Local(path) => match self.repo.folder().join(path).strip_prefix(self.repo.folder()) {
                Ok(below) => json!({
                    "kind": "local_path",
                    "repo_rel_path": posix(below),
                    "repo_git_rev": self.head,
                    "repo_dirty": false,
                }),
                Err(_) => Value::Null,
            },
        }
    }

    /// Returns the overlay's folder, relative to the repo.
    fn folder(&self, own: Option<&Overlay<'_>>, to: &Written) -> Result<String> {
        let Some(own) = own else { return Ok(format!("{}/{}", to.below, fs_key(&self.declared.id))) };
        let real =
            mcpkg_base::platform::real(&own.folder).map_err(|error| Error::file("follow", &own.folder, error))?;
        match real.strip_prefix(self.repo.folder()) {
            Ok(below) => Ok(posix(below)),
            Err(_) => {
                let why =
                    format!("Overlay of module `{}`: `{}` is outside the repo", self.declared.id, own.folder.display());
                Err(Error::new(Code::ConfigInvalid, why).with_details(
                    json!({"module_id": self.declared.id, "overlay_dir": own.folder.display().to_string()}),
                ))
            }
        }
    }
}

impl Written {
    fn skip(&mut self, id: &str, path: &str, why: String) {
        self.skipped.push(SkippedFile { module_id: id.to_owned(), path: path.to_owned(), why });
    }
}

fn declared<'a>(repo: &'a Repo, id: &str) -> Result<&'a DeclaredModule> {
    repo.manifest.modules.get(id).ok_or_else(|| {
        let error = Error::new(Code::NotFound, format!("`{}` has no module `{id}`", repo.folder().display()))
            .with_details(json!({"module_id": id}));
        match nearest(id, repo.manifest.modules.keys().map(String::as_str)) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// Checks that a path stays inside its module and is not part of the overlay's own metadata.
fn check_path(file: &ProposedFile) -> Result<()> {
    if stays_inside(&file.path) && !file.path.split('/').any(|part| part == META) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidPath, format!("`{}` is not a path inside a module", file.path.escape_debug()))
        .with_details(json!({"module_id": file.module_id, "path": file.path})))
}

fn word(layer: Layer) -> &'static str {
    match layer {
        Layer::Upstream => "upstream",
        Layer::Global => "global",
        Layer::Machine => "machine",
        Layer::Project => "project",
    }
}
