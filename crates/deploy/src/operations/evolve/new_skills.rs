//! Finds skills that an agent wrote to a skills folder that mcpkg deploys to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::desired::unmap::Edit;
use crate::plan::prepare::Prepared;
use crate::project::catalog::is_inside;
use mcpkg_base::file;
use mcpkg_content::skills::check;

use super::candidates::{Candidate, Candidates};

/// The file name that makes a folder a skill.
const MAIN: &str = "SKILL.md";

/// The maximum number of files in a proposed skill.
const MAX_FILES: usize = 256;

/// The maximum size in bytes of a file in a proposed skill.
const MAX_SIZE: u64 = 4 << 20;

/// Finds skills that mcpkg did not write, next to deployed skills. A skill that is invalid, or that the project
/// already has, only adds a warning.
pub(super) fn find(prepared: &Prepared, found: &mut Candidates) {
    let mut ours = BTreeSet::new();
    let mut folders = BTreeSet::new();
    let outputs = prepared.plan.desired.outputs.values().map(|output| &output.path);
    for path in outputs.chain(prepared.plan.changes.iter().map(|change| &change.path)) {
        if path.file_name().is_some_and(|name| name == MAIN)
            && let Some(skill) = path.parent()
        {
            ours.insert(skill);
            folders.extend(skill.parent());
        }
    }
    for folder in folders {
        for skill in below(folder).into_iter().filter(|skill| !ours.contains(skill.as_path())) {
            if is_file(&skill.join(MAIN)) {
                propose(prepared, found, &skill);
            }
        }
    }
}

fn propose(prepared: &Prepared, found: &mut Candidates, skill: &Path) {
    let shown = skill.display();
    let name = skill.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let module_id = format!("skill:{name}");
    if prepared.kinds.contains_key(&module_id) {
        return found.warnings.push(format!("`{shown}` is not proposed: the project already has {module_id}"));
    }
    let files = match files(skill, &name) {
        Ok(files) => files,
        Err(why) => return found.warnings.push(format!("`{shown}` is not proposed: {why}")),
    };
    let known: Vec<_> = found.candidates.iter().filter(|known| known.edit.module_id == module_id).collect();
    if let Some(first) = known.first() {
        let same = files.len() == known.len() && files.iter().zip(&known).all(|(file, known)| file.edit == known.edit);
        if !same {
            let first = first.path.clone();
            found.warnings.push(format!(
                "`{shown}` and `{first}` contain different versions of {module_id}; only the second is \
                    proposed"
            ));
        }
        return;
    }
    let target = target_of(prepared, skill);
    found.candidates.extend(files.into_iter().map(|file| Candidate { target: target.clone(), ..file }));
}

/// Returns a target that reads the folder of the skill.
fn target_of(prepared: &Prepared, skill: &Path) -> String {
    let beside = |path: &Path| path.parent().and_then(Path::parent) == skill.parent();
    let outputs = &prepared.plan.desired.outputs;
    let mut targets = outputs.values().filter(|output| beside(&output.path)).flat_map(|output| &output.targets);
    targets.next().map(|target| target.name().to_owned()).unwrap_or_default()
}

/// Returns the files of a new skill, or the reason why the skill is not valid.
fn files(skill: &Path, name: &str) -> Result<Vec<Candidate>, String> {
    let mut paths = Vec::new();
    gather(skill, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(skill).ok().and_then(Path::to_str).filter(|path| is_inside(path));
        let Some(relative) = relative else { return Err(format!("the path `{}` cannot be stored", path.display())) };
        let bytes = file::read(&path, MAX_SIZE).map_err(|error| format!("`{relative}` cannot be read: {error}"))?;
        files.push(Candidate {
            edit: Edit { module_id: format!("skill:{name}"), file: relative.to_owned(), bytes },
            target: String::new(),
            path: path.display().to_string(),
            executable: is_executable(&path),
            base: Vec::new(),
            is_new: true,
        });
    }
    let main = files.iter().find(|file| file.edit.file == MAIN).map(|file| file.edit.bytes.as_slice());
    let text = std::str::from_utf8(main.unwrap_or_default()).map_err(|_| format!("its {MAIN} is not UTF-8 text"))?;
    match check::name(name).or_else(|| check::main(name, text).all_problems().into_iter().next().map(|it| it.problem)) {
        None => Ok(files),
        Some(problem) => Err(problem),
    }
}

/// Collects the regular files below a folder. Does not follow links and skips `.git` folders.
fn gather(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error| format!("`{}` cannot be read: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && entry.file_name() != ".git" {
            gather(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
        if paths.len() > MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files; use `mcpkg import`"));
        }
    }
    Ok(())
}

/// Returns the subfolders of a folder, sorted by name. A missing folder has no subfolders.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut folders: Vec<PathBuf> = entries.filter(is_folder).map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

fn is_file(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

pub(super) fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| mcpkg_base::platform::is_executable(&metadata))
}
