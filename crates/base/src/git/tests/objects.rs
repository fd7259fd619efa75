//! Tests merges, commits, trees, tags, refs and the status of a work tree.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::super::refs::{self, Track};
use super::super::status::{self, Extra, State};
use super::super::trees::{self, Merged};
use super::super::{Operation, Version, operation, own_folder, tags};
use super::Repository;

/// Releases of git that cover both ways to pass the target's attributes to a merge.
const RELEASES: [Version; 2] = [Version::OLDEST, Version::ATTRIBUTES_OF_TREE];

#[test]
fn a_merge_uses_the_attributes_of_its_target() {
    let repository = Repository::new();
    repository.commit("docs/.gitattributes", "*.log merge=union\n");
    repository.commit("docs/a.log", "base\n");
    repository.run(&["switch", "--quiet", "-c", "feature"]);
    let branch = repository.commit("docs/a.log", "base\nbranch\n");
    repository.run(&["switch", "--quiet", "main"]);
    let target = repository.commit("docs/a.log", "base\ntarget\n");
    // The commit that is checked out has no attributes.
    repository.run(&["switch", "--quiet", "--detach", "main~3"]);
    for release in RELEASES {
        let merged = trees::merge_with(&repository.git(), release, &target, &branch).unwrap();
        assert_eq!(merged.conflicts, Vec::<PathBuf>::new(), "{release}");
        let text = trees::read(&repository.git(), &merged.tree, Path::new("docs/a.log")).unwrap().unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "base\ntarget\nbranch\n", "{release}");
    }
    assert!(repository.run(&["status", "--porcelain"]).is_empty());
}

#[test]
fn conflicts_are_named_and_unknown_names_are_errors() {
    let repository = Repository::new();
    let base = repository.at("HEAD");
    repository.run(&["switch", "--quiet", "-c", "feature"]);
    repository.commit("b \u{e9}.txt", "branch\n");
    let branch = repository.commit("a.txt", "branch\n");
    repository.run(&["switch", "--quiet", "main"]);
    repository.commit("b \u{e9}.txt", "target\n");
    let target = repository.commit("a.txt", "target\n");
    for release in RELEASES {
        let merged = trees::merge_with(&repository.git(), release, &target, &branch).unwrap();
        assert_eq!(merged.conflicts, [Path::new("a.txt"), Path::new("b \u{e9}.txt")], "{release}");
        let clean = trees::merge_with(&repository.git(), release, &target, &base).unwrap();
        assert_eq!(clean, Merged { tree: repository.at("main^{tree}"), conflicts: Vec::new() });
        assert!(trees::merge_with(&repository.git(), release, &target, "none").is_err());
    }
    let changed = trees::changed(&repository.git(), &base, &target).unwrap();
    assert_eq!(changed, [Path::new("a.txt"), Path::new("b \u{e9}.txt")]);
}

#[test]
fn a_commit_and_its_tag_are_made_before_a_ref_names_them() {
    let repository = Repository::new();
    let (git, old) = (repository.git(), repository.at("HEAD"));
    let before = repository.run(&["for-each-ref"]);
    let tree = repository.at("HEAD^{tree}");
    let commit = trees::commit(&git, &tree, &[&old], "Merge branch 'feature/x' into develop").unwrap();
    let tag = tags::object(&git, "v1.0.0", &commit, "v1.0.0\n\n* a change\n").unwrap();
    assert_eq!(repository.run(&["for-each-ref"]), before);
    repository.run(&["update-ref", "refs/tags/v1.0.0", &tag]);
    assert_eq!(repository.run(&["describe", &commit]), "v1.0.0");
    assert_eq!(repository.run(&["tag", "--list", "--format=%(contents)"]), "v1.0.0\n\n* a change");
    assert_eq!(repository.run(&["log", "-1", "--format=%P %s", &commit]).split_once(' ').unwrap().0, old);
    let found = refs::find(&git, "refs/tags/v1.0.0").unwrap().unwrap();
    assert_eq!((found.id.as_str(), found.commit()), (tag.as_str(), commit.as_str()));
    assert!(refs::contains(&git, &commit, &old).unwrap() && !refs::contains(&git, &old, &commit).unwrap());
    assert_eq!(refs::commit(&git, "refs/tags/v1.0.0").unwrap(), Some(commit));
    assert_eq!(refs::commit(&git, "refs/tags/none").unwrap(), None);
    repository.run(&["fsck", "--strict"]);
}

#[test]
fn a_repository_that_signs_gets_signed_commits_and_tags() {
    if which::which("ssh-keygen").is_err() {
        // Write to stderr directly: the test harness captures the output of `eprintln!`.
        let test = "a_repository_that_signs_gets_signed_commits_and_tags";
        let _ = writeln!(std::io::stderr(), "skipped: {test}: ssh-keygen is missing");
        return;
    }
    let repository = Repository::new();
    let key = repository.top.with_file_name("key");
    let made = crate::process::Program::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f", &key.display().to_string()])
        .run(&[], repository.git().limits());
    assert!(made.unwrap().status.success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = key.with_file_name("allowed");
    std::fs::write(&allowed, format!("author@example.com {public}")).unwrap();
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("gpg.ssh.allowedSignersFile", &allowed.display().to_string()),
        ("user.signingKey", &key.display().to_string()),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
    ] {
        repository.run(&["config", name, value]);
    }
    let (git, old) = (repository.git(), repository.at("HEAD"));
    let commit = trees::commit(&git, &repository.at("HEAD^{tree}"), &[&old], "signed").unwrap();
    let tag = tags::object(&git, "v1.0.0", &commit, "v1.0.0").unwrap();
    assert_eq!(refs::find(&git, "refs/tags/v1.0.0").unwrap(), None);
    repository.run(&["update-ref", "refs/tags/v1.0.0", &tag]);
    repository.run(&["verify-commit", &commit]);
    repository.run(&["verify-tag", "v1.0.0"]);
}

#[test]
fn a_tree_gets_a_file_and_keeps_all_else() {
    let repository = Repository::new();
    repository.write("docs/deep/b.txt", "b\n");
    repository.commit("docs/c.txt", "c\n");
    let (git, tree) = (repository.git(), repository.at("HEAD^{tree}"));
    for (file, before) in [("CHANGELOG.md", 3), ("docs/new/far/x.md", 3), ("docs/deep/b.txt", 2), ("a.txt", 2)] {
        let made = trees::with_file(&git, &tree, Path::new(file), b"new\n").unwrap();
        assert_eq!(trees::changed(&git, &tree, &made).unwrap(), [Path::new(file)]);
        assert_eq!(trees::read(&git, &made, Path::new(file)).unwrap().as_deref(), Some(&b"new\n"[..]));
        let files = repository.run(&["ls-tree", "-r", "--name-only", &made]).lines().count();
        assert_eq!(files, before + 1, "{file}");
    }
    assert!(trees::with_file(&git, &tree, Path::new("a.txt/b"), b"").is_err());
    assert!(trees::with_file(&git, &tree, Path::new("docs"), b"").is_err());
    std::os::unix::fs::symlink("a.txt", repository.top.join("link.md")).unwrap();
    repository.run(&["add", "link.md"]);
    let linked = repository.run(&["write-tree"]).trim().to_owned();
    let refused = trees::with_file(&git, &linked, Path::new("link.md"), b"new\n").unwrap_err();
    assert_eq!(refused.to_string(), "`link.md` is a link in that commit");
    assert_eq!(trees::read(&git, &tree, Path::new("docs")).unwrap(), None);
}

#[test]
fn branches_have_their_upstream_and_their_work_tree() {
    let repository = Repository::new();
    let git = repository.git();
    let bare = repository.top.with_file_name("bare.git");
    repository.run(&["clone", "--quiet", "--bare", ".", &bare.display().to_string()]);
    repository.run(&["remote", "add", "origin", &bare.display().to_string()]);
    repository.run(&["branch", "gone"]);
    repository.run(&["push", "--quiet", "--set-upstream", "origin", "main", "gone"]);
    repository.run(&["push", "--quiet", "origin", ":gone"]);
    repository.commit("a.txt", "two\n");
    let found = refs::list_tracked(&git, &["refs/heads/"]).unwrap();
    let tracks: Vec<_> = found.iter().map(|found| (found.short("refs/heads/"), found.track)).collect();
    assert_eq!(tracks, [("gone", Some(Track::Gone)), ("main", Some(Track::Apart { ahead: 1, behind: 0 }))]);
    assert_eq!(found[1].worktree.as_deref(), Some(repository.top.as_path()));
    assert_eq!(found[1].upstream.as_deref(), Some("refs/remotes/origin/main"));
    assert!(refs::list(&git, &["refs/heads/"]).unwrap().iter().all(|found| found.track.is_none()));
    let status = status::read(&git, Extra::Untracked).unwrap();
    assert_eq!((status.upstream.as_deref(), status.ahead, status.behind), (Some("origin/main"), Some(1), Some(0)));
}

#[test]
fn a_status_contains_files_and_an_operation_in_progress() {
    let repository = Repository::new();
    let git = repository.git();
    repository.commit(".gitignore", "*.env\ntarget/\n");
    repository.run(&["switch", "--quiet", "-c", "feature"]);
    repository.commit("a.txt", "branch\n");
    repository.run(&["switch", "--quiet", "main"]);
    repository.commit("a.txt", "main\n");
    for name in [".env", "target/x", "new/one", "new/two"] {
        repository.write(name, "");
    }
    let own = own_folder(&repository.top).unwrap();
    assert_eq!(operation(&own), None);
    let status = status::read(&git, Extra::Untracked).unwrap();
    assert_eq!((status.count(State::Untracked), status.count(State::Ignored)), (1, 0));
    let status = status::read(&git, Extra::AllAndIgnored).unwrap();
    let ignored: Vec<_> = status.entries.iter().filter(|entry| entry.state == State::Ignored).collect();
    let ignored: Vec<_> = ignored.iter().map(|entry| entry.path.display().to_string()).collect();
    assert_eq!((status.count(State::Untracked), ignored), (2, vec![".env".to_owned(), "target/".to_owned()]));
    assert!(git.run(&["merge", "--quiet", "feature"]).is_err());
    assert_eq!(operation(&own), Some(Operation::Merge));
    assert_eq!(status::read(&git, Extra::Untracked).unwrap().count(State::Conflicted), 1);
}

#[test]
fn a_repository_around_a_folder_is_not_used() {
    let repository = Repository::new();
    let inside = repository.path("inside");
    std::fs::create_dir(&inside).unwrap();
    let git = super::super::Git::of(&inside, &repository.never);
    let error = status::read(&git, Extra::Untracked).unwrap_err();
    assert!(error.message().contains("not a git repository"), "{error}");
}

#[test]
fn an_abbreviated_hash_is_not_a_commit() {
    let is_commit = |digit: &str, length| crate::git::is_commit(&digit.repeat(length));
    assert!(is_commit("a", 40) && is_commit("0", 64));
    assert!(!is_commit("a", 7) && !is_commit("g", 40));
}
