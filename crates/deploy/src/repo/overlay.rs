//! Applies overlays: the repo owner's changes to modules, for everything, one machine or one project.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::bounds::{Bounds, Refusal};
use super::patch::{self, Failure};
use super::select::Choice;
use super::tree::Draft;
use super::tree::{self, FoundFile, META};
use super::yaml::Known;
use crate::module::Layer;
use crate::module::{fs_key, unbounded_fs_key};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// The overlays that apply: one folder for each layer, lowest layer first.
pub(super) struct Overlays<'r> {
    bounds: &'r Bounds,
    folders: Vec<Folder>,
}

struct Folder {
    layer: Layer,
    folder: PathBuf,
    names: HashSet<String>,
}

/// An overlay of one module.
#[derive(Clone, Debug)]
pub(super) struct Overlay<'r> {
    pub(super) bounds: &'r Bounds,
    pub(super) layer: Layer,
    pub(super) folder: PathBuf,
}

/// How an overlay changes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OverlayKind {
    /// Complete files that replace others.
    Dir,
    Patch,
}

/// The name of the file with an overlay's metadata.
const FILE: &str = "overlay.json";

#[derive(Default, Deserialize)]
struct Meta {
    overlay_kind: Option<OverlayKind>,
}

/// Returns the folder of a layer's overlays, relative to the repo. Returns `None` for upstream, and if the name of the
/// machine or project cannot be a folder name.
pub(super) fn folder_of(layer: Layer, choice: &Choice<'_>) -> Option<PathBuf> {
    let plain = |name: &str| {
        let mut parts = Path::new(name).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains(['/', '\\'])
    };
    match layer {
        Layer::Upstream => None,
        Layer::Global => Some(PathBuf::from("overlays")),
        Layer::Machine => plain(choice.machine).then(|| Path::new("overlays/machines").join(choice.machine)),
        Layer::Project => plain(choice.project).then(|| Path::new("projects").join(choice.project).join("overlays")),
    }
}

impl<'r> Overlays<'r> {
    /// Finds the overlays that apply to `choice`.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` if an overlay folder is a link that leads out of the repo; the error of the file system if a
    /// folder cannot be read.
    pub(super) fn open(bounds: &'r Bounds, choice: &Choice<'_>) -> Result<Self> {
        let mut folders = Vec::new();
        for layer in [Layer::Global, Layer::Machine, Layer::Project] {
            let Some(folder) = folder_of(layer, choice).map(|below| bounds.own().join(below)) else { continue };
            let failed = |error| Error::file("read", &folder, error);
            let real = match bounds.real(&folder) {
                Ok((real, _)) => real,
                Err(Refusal::Missing) => continue,
                Err(refusal) => return Err(refusal.error(&folder, |why| refuse(&folder, why))),
            };
            let mut names = HashSet::new();
            for entry in std::fs::read_dir(real).map_err(failed)? {
                names.extend(entry.map_err(failed)?.file_name().into_string());
            }
            if layer == Layer::Global {
                names.remove("machines");
            }
            if !names.is_empty() {
                folders.push(Folder { layer, folder, names });
            }
        }
        Ok(Self { bounds, folders })
    }

    /// Returns the overlays of a module, lowest layer first. If a layer has no folder with the
    /// current name of the module, the names that older versions of agentpack used are tried.
    pub(super) fn of(&self, id: &str) -> Vec<Overlay<'r>> {
        if self.folders.is_empty() {
            return Vec::new();
        }
        let names = [fs_key(id), unbounded_fs_key(id), id.to_owned()];
        let overlay = |folder: &Folder| {
            let name = names.iter().find(|name| folder.names.contains(*name))?;
            Some(Overlay { bounds: self.bounds, layer: folder.layer, folder: folder.folder.join(name) })
        };
        self.folders.iter().filter_map(overlay).filter(|overlay| overlay.folder.is_dir()).collect()
    }
}

impl Overlay<'_> {
    /// Applies the overlay to the files composed so far, and returns the paths that it covers, even if it
    /// leaves their files unchanged.
    ///
    /// # Errors
    /// `E_CONFIG_INVALID` with the details `module_id`, `scope`, `overlay_dir` and `path`, or
    /// `E_OVERLAY_PATCH_APPLY_FAILED` with `patch_file`, `relpath` and `stderr` instead of `path`; the errors of
    /// [`tree::find`] and [`FoundFile::read`].
    pub(super) fn lay(&self, id: &str, files: &mut BTreeMap<String, Draft>) -> Result<BTreeSet<String>> {
        let own = tree::find(id, self.bounds, &self.folder)?;
        let patches = self.patches(id)?;
        match self.made(id)? {
            OverlayKind::Dir if !patches.is_empty() => {
                Err(self.refuse(id, &self.folder, "contains patches, but its kind in overlay.json is dir"))
            }
            OverlayKind::Patch if !own.is_empty() => {
                Err(self.refuse(id, &self.folder, "contains files, but its kind in overlay.json is patch"))
            }
            OverlayKind::Dir => {
                let paths = own.keys().cloned().collect();
                for (path, found) in own {
                    let content = found.read(id, self.bounds)?;
                    let below = files.get(&path);
                    let same = below.is_some_and(|below| {
                        below.content.bytes == content.bytes && below.content.executable == content.executable
                    });
                    if same {
                        continue;
                    }
                    self.check_conflict(id, &content.from, &content.bytes, below)?;
                    files.insert(path, Draft { content, layer: self.layer });
                }
                Ok(paths)
            }
            OverlayKind::Patch => {
                let paths = patches.keys().cloned().collect();
                for (path, found) in patches {
                    self.patch(id, &path, found, files)?;
                }
                Ok(paths)
            }
        }
    }

    /// Returns the overlay's kind, as its metadata declares it.
    pub(super) fn made(&self, id: &str) -> Result<OverlayKind> {
        Ok(self.meta(id)?.value.overlay_kind.unwrap_or(OverlayKind::Dir))
    }

    /// Returns warnings about the overlay's metadata, for the author of the overlay.
    pub(super) fn warnings(&self, id: &str) -> Result<Vec<String>> {
        let path = self.folder.join(META).join(FILE);
        Ok(self.meta(id)?.unknown.iter().map(|unknown| unknown.warning(&path)).collect())
    }

    fn meta(&self, id: &str) -> Result<Known<Meta>> {
        let path = self.folder.join(META).join(FILE);
        match self.bounds.read(&path, file::TEXT) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| self.refuse(id, &path, &format!("is malformed: {error}"))),
            Err(Refusal::Missing) => Ok(Known::default()),
            Err(refusal) => Err(refusal.error(&path, |why| self.refuse(id, &path, why))),
        }
    }

    /// Returns the patch files, by the path of the file that each one changes.
    fn patches(&self, id: &str) -> Result<BTreeMap<String, FoundFile>> {
        let folder = self.folder.join(META).join("patches");
        if !folder.is_dir() {
            return Ok(BTreeMap::new());
        }
        let mut patches = BTreeMap::new();
        for (path, found) in tree::find(id, self.bounds, &folder)? {
            let Some(path) = path.strip_suffix(".patch") else { continue };
            if path.contains('\\') || path.split('/').any(|part| part.is_empty()) {
                return Err(self.refuse(id, &found.from, "is not named after a file in the module"));
            }
            patches.insert(path.to_owned(), found);
        }
        Ok(patches)
    }

    fn patch(&self, id: &str, path: &str, found: FoundFile, files: &mut BTreeMap<String, Draft>) -> Result<()> {
        let patch = found.read(id, self.bounds)?;
        let file = patch.from.as_path();
        let text = std::str::from_utf8(&patch.bytes).map_err(|_| self.refuse(id, file, "is not valid UTF-8"))?;
        let Some(below) = files.get(path) else {
            let why = format!("changes `{path}`, which does not exist");
            return Err(self.refuse(id, file, &why));
        };
        let Ok(before) = std::str::from_utf8(&below.content.bytes) else {
            return Err(self.refuse(id, file, &format!("changes `{path}`, which is not valid UTF-8")));
        };
        let after = patch::apply(before, text, path).map_err(|failure| match failure {
            Failure::Malformed(why) => self.refuse(id, file, &format!("is not a valid patch for a single file: {why}")),
            Failure::Differs(why) => self.failed(id, path, file, &why),
        })?;
        if after == before {
            return Ok(());
        }
        self.check_conflict(id, file, after.as_bytes(), Some(below))?;
        let content = tree::Content { bytes: after.into_bytes().into(), ..below.content.clone() };
        files.insert(path.to_owned(), Draft { content, layer: self.layer });
        Ok(())
    }

    /// Refuses conflict markers, unless the file already had them before the overlay.
    fn check_conflict(&self, id: &str, file: &Path, bytes: &[u8], below: Option<&Draft>) -> Result<()> {
        match has_conflict(bytes) && !below.is_some_and(|below| has_conflict(&below.content.bytes)) {
            true => Err(self
                .refuse(id, file, "contains conflict markers (`<<<<<<<`, `=======`, `>>>>>>>`)")
                .hint("choose between the two sides and remove the markers")),
            false => Ok(()),
        }
    }

    fn refuse(&self, id: &str, path: &Path, why: &str) -> Error {
        let mut details = self.details(id);
        details["path"] = path.display().to_string().into();
        details["error"] = why.into();
        Error::new(Code::ConfigInvalid, format!("Overlay of module `{id}`: `{}` {why}", path.display()))
            .with_details(details)
    }

    fn failed(&self, id: &str, path: &str, file: &Path, why: &str) -> Error {
        let mut details = self.details(id);
        details["patch_file"] = file.display().to_string().into();
        details["relpath"] = path.into();
        details["stderr"] = why.into();
        details["reason"] = why.into();
        let text = format!("Overlay of module `{id}`: `{}` does not apply to `{path}`: {why}", file.display());
        Error::new(Code::OverlayPatchFailed, text).with_details(details)
    }

    fn details(&self, id: &str) -> Value {
        let folder = self.folder.display().to_string();
        json!({"module_id": id, "scope": self.layer, "overlay_dir": folder, "overlay_dir_posix": disk::posix(&self.folder)})
    }
}

fn refuse(folder: &Path, why: &str) -> Error {
    Error::new(Code::ConfigInvalid, format!("The overlays folder `{}` {why}", folder.display()))
        .with_details(json!({"path": folder.display().to_string(), "error": why}))
}

/// Whether a text contains all three conflict markers, in order.
pub(super) fn has_conflict(bytes: &[u8]) -> bool {
    if memchr::memmem::find(bytes, b"<<<<<<< ").is_none() {
        return false;
    }
    let mut seen = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match seen {
            0 if line.starts_with(b"<<<<<<< ") => seen = 1,
            1 if line == b"=======" => seen = 2,
            2 if line.starts_with(b">>>>>>> ") => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_the_folders_of_agentpack() {
        let choice = |machine| Choice { profile: "default", machine, project: "p1" };
        let folder = |layer, machine| folder_of(layer, &choice(machine));
        assert_eq!(folder(Layer::Machine, "m"), Some("overlays/machines/m".into()));
        assert_eq!(folder(Layer::Project, "m"), Some("projects/p1/overlays".into()));
        for bad in ["", "..", "a/b", "/a", "a\\b"] {
            assert_eq!(folder(Layer::Machine, bad), None, "{bad}");
        }
    }

    #[test]
    fn d37_a_conflict_needs_all_three_markers() {
        let whole = "a\n<<<<<<< ours\nb\n=======\r\nc\n>>>>>>> theirs\n";
        assert!(has_conflict(whole.as_bytes()));
        for part in ["<<<<<<< ", "=======", ">>>>>>> "] {
            assert!(!has_conflict(whole.replace(part, "x").as_bytes()), "{part}");
        }
        assert!(!has_conflict(b"Title\n=======\n>>>>>>> x\n<<<<<<< y\n"));
    }
}
