//! Tests what a proposal writes to its branch, and what it does not change.

use super::*;
use crate::module::fs_key;
use mcpkg_base::git;
use mcpkg_base::process::Limits;

const NOW: i64 = 1_767_225_600_000;

fn repo() -> Scratch {
    let scratch = Scratch::with(&[
        ("skill:a", "local_path: {path: s}"),
        ("instructions:i", "local_path: {path: i}"),
        ("prompt:p", "local_path: {path: p.md}"),
    ]);
    scratch.write("s/SKILL.md", SKILL);
    scratch.write("s/run.sh", "#!/bin/sh\n");
    scratch.write("i/AGENTS.md", "text\n");
    scratch.write("p.md", "p\n");
    git(&scratch, &["init", "-q", "-b", "main"]);
    commit(&scratch);
    scratch
}

fn git(scratch: &Scratch, args: &[&str]) -> String {
    git_in(&scratch.path(), args)
}

fn git_in(folder: &Path, args: &[&str]) -> String {
    let said = git::run(folder, args, &Limits::new(git::LOCAL, &CancellationToken::new()));
    String::from_utf8(said.unwrap()).unwrap().trim().to_owned()
}

fn commit(scratch: &Scratch) {
    git(scratch, &["add", "-A"]);
    git(scratch, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "m"]);
}

fn file(id: &str, path: &str, text: &str, executable: bool) -> ProposedFile {
    ProposedFile { module_id: id.into(), path: path.into(), bytes: text.into(), executable }
}

fn propose(scratch: &Scratch, scope: Layer, files: Vec<ProposedFile>, branch: Option<&str>) -> Result<Proposed> {
    let checkouts = Checkouts::default();
    let (choice, cancelled) = (CHOICE, &CancellationToken::new());
    scratch.open().propose(&Proposal { choice, checkouts: &checkouts, scope, files, branch, now: NOW, cancelled })
}

#[test]
fn d15_a_proposal_is_a_branch_that_deploys_what_was_proposed() {
    let scratch = repo();
    // A proposal must work despite hooks and signing, and without a known user.
    scratch.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    git(&scratch, &["config", "commit.gpgsign", "true"]);
    git(&scratch, &["config", "user.useConfigOnly", "true"]);
    let before = git(&scratch, &["rev-parse", "HEAD"]);
    let files = vec![
        file("instructions:i", "AGENTS.md", "text\nmine\n", false),
        file("skill:a", "run.sh", "#!/bin/bash\n", true),
        file("skill:a", "new \"file\".txt", "", false),
    ];
    let proposed = propose(&scratch, Layer::Global, files, None).unwrap();
    assert_eq!(proposed.branch, "evolve/propose-global-multi-20260101T000000Z");
    assert!(proposed.committed && proposed.skipped.is_empty(), "{:?}", proposed.skipped);
    let (i, a) = (fs_key("instructions:i"), fs_key("skill:a"));
    assert_eq!(
        proposed.files,
        [format!("overlays/{i}/AGENTS.md"), format!("overlays/{a}/new \"file\".txt"), format!("overlays/{a}/run.sh")]
    );
    assert_eq!(
        (git(&scratch, &["rev-parse", "HEAD"]), git(&scratch, &["branch", "--show-current"])),
        (before, "main".to_owned())
    );
    assert_eq!(git(&scratch, &["status", "--porcelain"]), "");
    assert!(!scratch.path().join("overlays").exists());
    let subject = git(&scratch, &["log", "-1", "--format=%s|%ct", &proposed.branch, "--"]);
    assert_eq!(subject, "chore(evolve): propose overlay updates|1767225600");

    git(&scratch, &["checkout", "-q", &proposed.branch]);
    let composed = scratch.compose().unwrap();
    assert_eq!(super::files(&composed, "instructions:i"), [("AGENTS.md", "text\nmine\n", Layer::Global)]);
    let skill = composed.modules.iter().find(|module| module.id == "skill:a").unwrap();
    let run = skill.files.iter().find(|file| file.path == "run.sh").unwrap();
    assert!(&*run.bytes == b"#!/bin/bash\n" && run.layer == Layer::Global);
    #[cfg(unix)]
    assert!(run.executable);
    assert!(composed.warnings.is_empty(), "{:?}", composed.warnings);
    let meta = scratch.path().join(format!("overlays/{a}/.agentpack"));
    assert_eq!(std::fs::read_to_string(meta.join("module_id")).unwrap(), "skill:a\n");
    let baseline: serde_json::Value =
        serde_json::from_slice(&std::fs::read(meta.join("baseline.json")).unwrap()).unwrap();
    assert_eq!((&baseline["version"], &baseline["upstream"]["repo_rel_path"]), (&2.into(), &"s".into()));
    assert_eq!(baseline["file_manifest"].as_array().unwrap().len(), 2);
    scratch.write("s/run.sh", "changed");
    let warnings = scratch.compose().unwrap().warnings;
    assert!(warnings[0].contains("`run.sh` changed in the module"), "{warnings:?}");
}

#[test]
fn branches_are_new_and_well_named() {
    let scratch = repo();
    let mine = || vec![file("prompt:p", "p.md", "mine", false)];
    let names: Vec<String> = (0..2).map(|_| propose(&scratch, Layer::Project, mine(), None).unwrap().branch).collect();
    assert_eq!(names[0], "evolve/propose-project-prompt_p-20260101T000000Z");
    assert_eq!(names[1], format!("{}-2", names[0]));
    assert_eq!(propose(&scratch, Layer::Machine, mine(), Some("mine/x")).unwrap().branch, "mine/x");
    assert_eq!(propose(&scratch, Layer::Machine, mine(), Some("mine/x")).unwrap_err().code(), Code::AlreadyExists);
    for bad in ["-x", "a..b", "", "a b"] {
        assert_eq!(
            propose(&scratch, Layer::Machine, mine(), Some(bad)).unwrap_err().code(),
            Code::InvalidArgument,
            "{bad}"
        );
    }
    let same = propose(&scratch, Layer::Upstream, mine(), None).unwrap_err();
    assert_eq!(same.code(), Code::InvalidArgument);
    git(&scratch, &["checkout", "-q", "mine/x"]);
    let again = propose(&scratch, Layer::Machine, mine(), Some("again")).unwrap();
    assert!(!again.committed && git(&scratch, &["branch", "--list", "again"]).is_empty());
}

#[test]
fn files_that_higher_overlays_override_or_that_would_not_compose_are_left_out() {
    let scratch = repo();
    scratch.write(&format!("projects/p1/overlays/{}/run.sh", fs_key("skill:a")), "theirs");
    commit(&scratch);
    let files = vec![
        file("skill:a", "run.sh", "mine", false),
        file("skill:a", "x.txt", "x", false),
        file("instructions:i", "AGENTS.md", "<<<<<<< a\n=======\n>>>>>>> b\n", false),
        file("prompt:p", "p.prompt.md", "D14", false),
    ];
    let proposed = propose(&scratch, Layer::Global, files, None).unwrap();
    assert_eq!(proposed.files, [format!("overlays/{}/x.txt", fs_key("skill:a"))]);
    let skipped: Vec<_> =
        proposed.skipped.iter().map(|skipped| (skipped.path.as_str(), skipped.why.as_str())).collect();
    assert!(skipped[0].1.contains("conflict markers") && skipped[0].0 == "AGENTS.md", "{skipped:?}");
    assert!(skipped[1].1.contains("has 2 files") && skipped[1].0 == "p.prompt.md", "{skipped:?}");
    assert!(skipped[2].1.contains("propose with scope project") && skipped[2].0 == "run.sh", "{skipped:?}");
}

#[test]
fn an_overlay_of_patches_gets_patches() {
    let scratch = repo();
    let folder = format!("overlays/{}", fs_key("skill:a"));
    scratch.write(&format!("{folder}/.agentpack/overlay.json"), r#"{"overlay_kind":"patch"}"#);
    let patch = "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/zsh\n";
    let place = format!("{folder}/.agentpack/patches/run.sh.patch");
    scratch.write(&place, patch);
    commit(&scratch);
    let files = vec![file("skill:a", "run.sh", "#!/bin/bash\necho\n", false), file("skill:a", "new", "", false)];
    let proposed = propose(&scratch, Layer::Global, files, Some("one")).unwrap();
    assert_eq!((proposed.files.as_slice(), proposed.skipped.len()), (&[place.clone()][..], 1));
    git(&scratch, &["checkout", "-q", "one"]);
    let text = |scratch: &Scratch| super::files(&scratch.compose().unwrap(), "skill:a")[1].1.to_owned();
    assert_eq!(text(&scratch), "#!/bin/bash\necho\n");
    let back = vec![file("skill:a", "run.sh", "#!/bin/sh\n", false)];
    propose(&scratch, Layer::Global, back, Some("two")).unwrap();
    git(&scratch, &["checkout", "-q", "two"]);
    assert!(text(&scratch) == "#!/bin/sh\n" && !scratch.path().join(place).exists());
}

#[test]
fn proposals_that_cannot_be_made_are_refused() {
    let scratch = repo();
    let mine = || vec![file("prompt:p", "p.md", "mine", false)];
    assert_eq!(propose(&scratch, Layer::Global, vec![], None).unwrap_err().code(), Code::InvalidArgument);
    let error = propose(&scratch, Layer::Global, vec![file("prompt:q", "p.md", "", false)], None).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), (Code::NotFound, 1));
    for path in ["../x", "/x", "a//b", ".git/config", ".agentpack/overlay.json", ""] {
        let error = propose(&scratch, Layer::Global, vec![file("prompt:p", path, "", false)], None).unwrap_err();
        assert_eq!(error.code(), Code::InvalidPath, "{path}");
    }
    scratch.write("new", "");
    let error = propose(&scratch, Layer::Global, mine(), None).unwrap_err();
    assert_eq!(error.code(), Code::GitDirty);
    let details = error.details().unwrap();
    assert_eq!((&details["command"], &details["changes"][0]), (&"evolve propose".into(), &"?? new".into()));
    assert!(details["repo"].is_string() && details["repo_posix"].is_string() && details["hint"].is_string());
    std::fs::remove_dir_all(scratch.path().join(".git")).unwrap();
    if super::identity::toplevel(&scratch.path()).is_none() {
        assert_eq!(propose(&scratch, Layer::Global, mine(), None).unwrap_err().code(), Code::GitRepoRequired);
    }
    git(&scratch, &["init", "-q"]);
    assert_eq!(propose(&scratch, Layer::Global, mine(), None).unwrap_err().code(), Code::GitDirty);
}

#[test]
fn a_config_repo_may_be_a_folder_of_a_git_repository() {
    let scratch = repo();
    std::fs::remove_dir_all(scratch.path().join(".git")).unwrap();
    let top = scratch.folder.path();
    write(&top.join("beside"), "");
    git_in(top, &["init", "-q"]);
    commit(&scratch);
    write(&top.join("beside"), "dirty, and nobody's business");
    let proposed = propose(&scratch, Layer::Machine, vec![file("prompt:p", "p.md", "mine", false)], Some("b")).unwrap();
    git(&scratch, &["checkout", "-q", "b"]);
    assert_eq!(std::fs::read_to_string(scratch.path().join(&proposed.files[0])).unwrap(), "mine");
}
