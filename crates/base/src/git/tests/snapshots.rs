//! Tests that removed work trees are restored with all of their files.

use std::path::{Path, PathBuf};

use super::super::worktrees::{self, Checkout};
use super::super::{Git, snapshot, status};
use super::Repository;

/// Returns what a user sees in a work tree: its status, its staged changes, and the content of each file.
fn found(git: &Git<'_>, files: &[&str]) -> Vec<String> {
    let mut found = vec![git.text(&["status", "--porcelain", "--ignored"]).unwrap()];
    found.push(git.text(&["diff", "--cached"]).unwrap());
    found.extend(files.iter().map(|name| {
        let file = git.folder().join(name);
        let mode = std::fs::symlink_metadata(&file).map(|metadata| format!("{:?}", metadata.permissions()));
        format!("{name} {:?} {:?} {mode:?}", std::fs::read(&file).ok(), std::fs::read_link(&file).ok())
    }));
    found
}

#[test]
fn a_removed_work_tree_is_restored_byte_for_byte() {
    let repository = Repository::new();
    repository.commit(".gitattributes", "*.txt text eol=lf\n*.up filter=upper\n");
    repository.commit(".gitignore", ".env\ntarget/\n");
    // Use the user's configuration: filters in the repository's configuration would need to be trusted first.
    let config = repository.top.with_file_name("user.gitconfig");
    std::fs::write(&config, "[filter \"upper\"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n").unwrap();
    for name in ["staged.txt", "both.txt", "gone.txt", "old name.txt"] {
        repository.commit(name, &format!("{name}\n"));
    }
    let place = repository.top.with_file_name("linked");
    let checkout = Checkout::New { branch: "feature/x", start: "refs/heads/main", follows: false };
    worktrees::add(&repository.git(), &place, checkout).unwrap();
    let git = repository.as_user(Git::of(&place, &repository.never));
    let write = |name: &str, bytes: &[u8]| std::fs::write(place.join(name), bytes).unwrap();
    write("staged.txt", b"staged\n");
    write("both.txt", b"staged\n");
    git.run(&["add", "--all"]).unwrap();
    git.run(&["mv", "old name.txt", "new name.txt"]).unwrap();
    write("both.txt", b"staged, then changed\r\n");
    write("a.txt", b"carriage\r\nreturns\n");
    write("un[tracked] \u{e9}.txt", b"x");
    write("mixed.up", b"Mixed Case\n");
    write(".env", b"SECRET=1\n");
    std::fs::remove_file(place.join("gone.txt")).unwrap();
    std::fs::create_dir_all(place.join("target/deep")).unwrap();
    write("target/deep/x", b"built");
    std::fs::create_dir(place.join("*")).unwrap();
    write("*/new\nline", b"");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::os::unix::fs::symlink("/nowhere", place.join("link")).unwrap();
        std::fs::set_permissions(place.join("mixed.up"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let files = [
        "staged.txt",
        "both.txt",
        "a.txt",
        "gone.txt",
        "new name.txt",
        "old name.txt",
        "mixed.up",
        ".env",
        "link",
        "un[tracked] \u{e9}.txt",
        "*/new\nline",
    ];
    let before = found(&git, &files);
    let scratch = tempfile::tempdir().unwrap();
    let ignored = [PathBuf::from(".env")];
    let kept = snapshot::take(&git, scratch.path(), &ignored, "kept").unwrap();
    assert_eq!(found(&git, &files), before, "taking it changes nothing");
    repository.run(&["update-ref", "refs/mcpkg/kept/1/x", &kept]);
    worktrees::remove(&repository.git(), &place).unwrap();
    assert!(!place.exists() && worktrees::list(&repository.git()).unwrap().len() == 1);
    worktrees::add(&repository.git(), &place, Checkout::Branch("feature/x")).unwrap();
    snapshot::put_back(&git, scratch.path(), &kept).unwrap();
    let after = found(&git, &files);
    // Files in a folder that is ignored as a whole are not kept.
    assert_eq!(before[0].lines().filter(|line| *line != "!! target/").collect::<Vec<_>>().join("\n"), after[0]);
    assert_eq!(after[1..], before[1..]);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
}

#[test]
fn snapshots_include_conflicts_and_branches_without_a_commit() {
    let repository = Repository::new();
    repository.run(&["switch", "--quiet", "-c", "feature"]);
    repository.commit("a.txt", "branch\n");
    repository.run(&["switch", "--quiet", "main"]);
    repository.commit("a.txt", "main\n");
    let git = repository.git();
    assert!(git.run(&["merge", "--quiet", "feature"]).is_err());
    let text = std::fs::read(repository.path("a.txt")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let before = status::read(&git, status::Extra::Untracked).unwrap();
    let kept = snapshot::take(&git, scratch.path(), &[], "kept").unwrap();
    assert_eq!(status::read(&git, status::Extra::Untracked).unwrap(), before);
    git.run(&["reset", "--quiet", "--hard"]).unwrap();
    snapshot::put_back(&git, scratch.path(), &kept).unwrap();
    assert_eq!(std::fs::read(repository.path("a.txt")).unwrap(), text);

    git.run(&["reset", "--quiet", "--hard"]).unwrap();
    git.run(&["switch", "--quiet", "--orphan", "empty"]).unwrap();
    repository.write("new.txt", "new\n");
    let kept = snapshot::take(&git, scratch.path(), &[], "kept").unwrap();
    std::fs::remove_file(repository.path("new.txt")).unwrap();
    snapshot::put_back(&git, scratch.path(), &kept).unwrap();
    assert_eq!(std::fs::read_to_string(repository.path("new.txt")).unwrap(), "new\n");

    // Staged files are restored too, both those that changed since and those that did not.
    repository.write("staged.txt", "staged\n");
    git.run(&["add", "--", "new.txt", "staged.txt"]).unwrap();
    repository.write("new.txt", "newer\n");
    let before = status::read(&git, status::Extra::Untracked).unwrap();
    let kept = snapshot::take(&git, scratch.path(), &[], "kept").unwrap();
    git.run(&["rm", "--quiet", "-r", "--force", "."]).unwrap();
    snapshot::put_back(&git, scratch.path(), &kept).unwrap();
    assert_eq!(std::fs::read_to_string(repository.path("new.txt")).unwrap(), "newer\n");
    assert_eq!(std::fs::read_to_string(repository.path("staged.txt")).unwrap(), "staged\n");
    assert_eq!(status::read(&git, status::Extra::Untracked).unwrap(), before);
}

#[test]
fn work_trees_are_listed_added_and_removed() {
    let repository = Repository::new();
    let git = repository.git();
    let at = |name: &str| repository.top.with_file_name(name);
    worktrees::add(&git, &at("one"), Checkout::Commit("refs/heads/main")).unwrap();
    worktrees::add(&git, &at("deep/two"), Checkout::New { branch: "x", start: "refs/heads/main", follows: false })
        .unwrap();
    let error = worktrees::add(&git, &at("three"), Checkout::Branch("x")).unwrap_err();
    assert!(error.message().contains("already"), "{error}");
    git.run(&["worktree", "lock", "--reason", "on a stick", "--", &at("one").display().to_string()]).unwrap();
    std::fs::remove_dir_all(at("deep/two")).unwrap();
    let found = worktrees::list(&git).unwrap();
    let facts: Vec<_> = found
        .iter()
        .map(|found| (found.branch.as_deref(), found.locked.as_deref(), found.prunable.is_some()))
        .collect();
    assert_eq!(
        facts,
        [(Some("refs/heads/main"), None, false), (Some("refs/heads/x"), None, true), (None, Some("on a stick"), false),]
    );
    assert!(worktrees::remove(&git, &at("one")).is_err());
    worktrees::prune(&git).unwrap();
    assert_eq!(worktrees::list(&git).unwrap().len(), 2);
    assert_eq!(found[0].path, Path::new(&repository.top));
}

#[test]
fn a_lock_of_another_git_is_waited_for_and_then_reported() {
    let repository = Repository::new();
    let git = repository.git();
    let lock = repository.path(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let error = git.change(&["read-tree", "HEAD"]).unwrap_err();
    assert_eq!(error.code(), crate::error::Code::GitLocked, "{error}");
    assert!(error.hints()[0].contains("index.lock"), "{:?}", error.hints());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(200));
            std::fs::remove_file(&lock).unwrap();
        });
        git.change(&["read-tree", "HEAD"]).unwrap();
    });
}
