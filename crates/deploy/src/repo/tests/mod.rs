//! Tests whole config repos in a temporary folder.

mod git_sources;
mod manifests;
mod overlays;
mod proposals;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::bounds::Bounds;
use super::manifest::Manifest;
use super::*;
use crate::module::{Kind, Layer};
use crate::targets::Target;
use mcpkg_base::error::{Code, Error, Result};

fn target(name: &str) -> Target {
    Target::named(name).unwrap()
}

/// A temporary config repo.
struct Scratch {
    folder: tempfile::TempDir,
}

const SKILL: &str = "---\nname: b\ndescription: d\n---\nText\n";

impl Scratch {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Creates a repo with these modules, given as `(id, source)`. All modules have the tag `base`.
    fn with(modules: &[(&str, &str)]) -> Self {
        let scratch = Self::new();
        let mut text = "version: 1\nprofiles: {default: {include_tags: [base]}}\nmodules:\n".to_owned();
        for (id, source) in modules {
            let kind = id.split(':').next().unwrap();
            text += &format!("  - {{id: '{id}', type: {kind}, tags: [base], source: {{{source}}}}}\n");
        }
        scratch.write("agentpack.yaml", &text);
        scratch
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        write(&self.path().join(path), text)
    }

    fn open(&self) -> Repo {
        self.open_allowing(&[])
    }

    /// Opens the repo and allows it to read these folders too.
    fn open_allowing(&self, allowed: &[PathBuf]) -> Repo {
        Repo::open_with(&self.path(), allowed, self.home()).unwrap()
    }

    /// Returns the files of a folder. The path is relative to the repo.
    fn files(&self, folder: &str) -> BTreeMap<String, tree::Content> {
        let bounds = Bounds::new(self.folder.path(), &[]).unwrap();
        tree::read("m", &bounds, tree::find("m", &bounds, &self.path().join(folder)).unwrap()).unwrap()
    }

    fn compose(&self) -> Result<Composed> {
        composed(&self.open(), &CHOICE)
    }
}

/// Fetches and composes, like a plan does.
fn composed(repo: &Repo, choice: &Choice<'_>) -> Result<Composed> {
    let checkouts = repo.fetch(choice.profile, &CancellationToken::new(), &|| {})?;
    repo.compose(choice, &checkouts)
}

const CHOICE: Choice<'_> = Choice { profile: "default", machine: "m1", project: "p1" };

fn write(path: &Path, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    path.to_path_buf()
}

/// Returns the path, text and layer of each file of a module.
fn files<'a>(composed: &'a Composed, id: &str) -> Vec<(&'a str, &'a str, Layer)> {
    let module = composed.modules.iter().find(|module| module.id == id).unwrap();
    let file = |file: &'a crate::module::ModuleFile| {
        (file.path.as_str(), std::str::from_utf8(&file.bytes).unwrap(), file.layer)
    };
    module.files.iter().map(file).collect()
}

fn says(error: &Error, text: &str) {
    assert!(error.message().contains(text), "{} | {:?}", error.message(), error.details());
}

#[test]
fn composes_what_the_profile_selects() {
    let scratch = Scratch::new();
    scratch.write(
        "agentpack.yaml",
        "version: 1\nprofiles:\n  default: {include_tags: [base], exclude_modules: ['prompt:no']}\n  one: {include_modules: \
         ['prompt:no', 'prompt:gone']}\ntargets: {codex: {scope: both}}\nmodules:\n  \
         - {id: 'skill:b', type: skill, tags: [x, base], targets: [codex], source: {local_path: {path: s}}}\n  \
         - {id: 'prompt:no', type: prompt, tags: [base], source: {local_path: {path: p.md}}}\n  \
         - {id: 'command:off', type: command, tags: [base], enabled: false, source: {local_path: {path: none}}}\n  \
         - {id: 'instructions:a', type: instructions, tags: [base], source: {local_path: {path: i}}}\n",
    );
    scratch.write("s/SKILL.md", SKILL);
    scratch.write("s/x/y.txt", "y");
    scratch.write("p.md", "p");
    scratch.write("i/AGENTS.md", "a");
    scratch.write("i/README.md", "for people");
    let repo = scratch.open();
    assert_eq!(repo.targets()[&target("codex")].scope, Scope::Both);
    assert_eq!(repo.folder(), scratch.path().canonicalize().unwrap());
    let composed = super::tests::composed(&repo, &CHOICE).unwrap();
    assert_eq!(
        composed.modules.iter().map(|module| module.id.as_str()).collect::<Vec<_>>(),
        ["instructions:a", "skill:b"]
    );
    assert_eq!(repo.selected("default").unwrap(), ["instructions:a", "skill:b"]);
    assert_eq!(files(&composed, "instructions:a"), [("AGENTS.md", "a", Layer::Upstream)]);
    assert_eq!(files(&composed, "skill:b"), [("SKILL.md", SKILL, Layer::Upstream), ("x/y.txt", "y", Layer::Upstream)]);
    let skill = &composed.modules[1];
    assert!(skill.kind == Kind::Skill && skill.is_for(target("codex")) && !skill.is_for(target("cursor")));
    assert!(composed.warnings.is_empty());

    let composed = super::tests::composed(&repo, &Choice { profile: "one", ..CHOICE }).unwrap();
    assert_eq!(files(&composed, "prompt:no"), [("p.md", "p", Layer::Upstream)]);
    assert!(composed.warnings[0].contains("`prompt:gone`, which does not exist"), "{:?}", composed.warnings);
    let error = super::tests::composed(&repo, &Choice { profile: "defualt", ..CHOICE }).unwrap_err();
    assert_eq!((error.code(), error.hints()), (Code::NotFound, &["did you mean `default`?".to_owned()][..]));
}

#[test]
fn d20_errors_name_what_is_missing() {
    let scratch = Scratch::with(&[("skill:a", "local_path: {path: gone}")]);
    let error = scratch.compose().unwrap_err();
    assert_eq!(error.code(), Code::ConfigInvalid);
    says(&error, "Module `skill:a`: `");
    says(&error, "gone` does not exist");
    let error = Repo::open(&scratch.path().join("none"), &[]).unwrap_err();
    assert_eq!(error.code(), Code::ConfigMissing);
    scratch.write("agentpack.lock.json", "{");
    assert_eq!(Repo::open(&scratch.path(), &[]).unwrap_err().code(), Code::LockfileInvalid);
}

#[cfg(unix)]
#[test]
fn d11_programs_stay_programs_and_a_linked_source_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::with(&[("skill:a", "local_path: {path: linked}")]);
    scratch.write("real/SKILL.md", SKILL);
    let program = scratch.write("real/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink("real", scratch.path().join("linked")).unwrap();
    let composed = scratch.compose().unwrap();
    let modes: Vec<_> = composed.modules[0].files.iter().map(|file| (file.path.as_str(), file.executable)).collect();
    assert_eq!(modes, [("SKILL.md", false), ("run.sh", true)]);
}
