//! Tests in which git is missing, too old or hangs, and tests of the user's hooks.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::{FINISH, Wrapper, assert_finished, error, imported};
use crate::support::{Client, eventually, signal};
use crate::workspace::shop::{REPOS, Shop};

/// Commands that write files, or that run git.
const LINES: [&[&str]; 6] = [
    &["flow", "feature", "start", "more"],
    &FINISH,
    &["flow", "release", "start", "1.0.0"],
    &["worktree", "add", "login"],
    &["workspace", "add", "lib=more"],
    &["workspace", "sync"],
];

#[test]
fn git_that_is_missing_or_too_old_changes_nothing_and_is_reported() {
    let shop = imported::with_feature();
    let before = shop.state();
    let empty = shop.scratch.path().join("empty");
    std::fs::create_dir_all(&empty).expect("a folder");
    for line in LINES {
        let mut command = shop.command();
        let missing = error(&shop.scratch.finish(command.env("PATH", &empty).arg("--json").args(line)));
        assert_eq!(missing["code"], "E_GIT_NOT_FOUND", "{line:?}: {missing}");
        assert!(missing.to_string().contains("install git"), "{missing}");
    }
    let old = Wrapper::new(
        &shop,
        "case \" $* \" in *' version '*) echo git version 2.30.0;; *) exec \"$REAL_GIT\" \"$@\";; esac",
    );
    for line in &LINES[..3] {
        let old = error(&old.run(&shop, &[&["--json"], *line].concat()));
        assert_eq!(old["code"], "E_GIT_TOO_OLD", "{line:?}: {old}");
        assert_eq!(old["details"], json!({ "found": "2.30", "required": "2.38" }));
    }
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    shop.ok(&FINISH);
}

/// A git that never ends its merge, and writes its process id to a file.
const HANGING: &str = r#"case " $* " in
*" merge-tree "*) echo $$ > "$HOME/hangs"; exec sleep 1000;;
esac
exec "$REAL_GIT" "$@""#;

fn hangs(shop: &Shop) -> u32 {
    let file = shop.scratch.path().join("hangs");
    let id = eventually("git hangs", || std::fs::read_to_string(&file).ok()?.trim().parse().ok());
    std::fs::remove_file(file).expect("gone");
    id
}

fn assert_gone(id: u32) {
    eventually("the git that hangs is ended", || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
}

#[test]
fn cancelling_a_call_ends_a_git_that_hangs_and_nothing_is_moved() {
    let shop = imported::on_develop();
    let before = shop.state();
    let hanging = Wrapper::new(&shop, HANGING);
    let mut command = hanging.command(&shop);
    let mut client = Client::spawn(command.args(["serve", "--as", "smctl"])).shake_hands("2025-06-18");
    let id =
        client.post("tools/call", json!({ "name": "smctl_flow_feature_finish", "arguments": { "name": "login" } }));
    let git = hangs(&shop);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    assert_gone(git);
    client.result("ping", json!({}));
    eventually("the lock is free", || (shop.run(&["flow", "init"]).status == 0).then_some(()));
    assert_eq!(shop.state(), before);
    client.finish();
    // The git of another repository may have written the file since.
    let _ = std::fs::remove_file(shop.scratch.path().join("hangs"));
    // Ctrl-C in a shell.
    let mut command = hanging.command(&shop);
    let child = command.arg("--json").args(FINISH).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.expect("mcpkg starts");
    let git = hangs(&shop);
    signal(child.id(), "INT");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{} {}", output.status, String::from_utf8_lossy(&output.stdout));
    assert_gone(git);
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// Creates hooks that record that they ran, and fail.
fn fail_hooks(shop: &Shop, folder: &Path) {
    let note = shop.scratch.path().join("ran").display().to_string();
    for hook in [
        "commit-msg",
        "fsmonitor-watchman",
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-rewrite",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-rebase",
        "prepare-commit-msg",
        "reference-transaction",
    ] {
        std::fs::create_dir_all(folder).expect("a folder");
        let path = folder.join(hook);
        std::fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{note}'\nexit 1\n")).expect("a hook");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

/// Unless a command has `--hooks`, the user's hooks run only for a push, so that no hook can stop or interrupt a
/// change.
#[test]
fn hooks_that_fail_neither_run_nor_stop_anything() {
    let shop = Shop::bare();
    // Hooks of each clone, from the template for new repositories.
    let template = shop.scratch.path().join("template");
    fail_hooks(&shop, &template.join("hooks"));
    let git = |line: &[&str]| drop(shop.git(shop.scratch.path(), line));
    git(&["config", "--global", "init.templateDir", &template.display().to_string()]);
    shop.ok(&shop.init_line());
    git(&["config", "--global", "--unset", "init.templateDir"]);
    for (repo, _) in REPOS {
        assert!(shop.repo(repo).join(".git/hooks/post-checkout").exists());
    }
    let everywhere = shop.scratch.path().join("hooks");
    fail_hooks(&shop, &everywhere);
    git(&["config", "--global", "core.hooksPath", &everywhere.display().to_string()]);
    let quietly = ["-c", "core.hooksPath=/dev/null"];
    shop.ok(&["flow", "feature", "start", "login"]);
    for (repo, _) in REPOS {
        std::fs::write(shop.repo(repo).join("login.txt"), "login\n").expect("a file");
        shop.git(&shop.repo(repo), &[&quietly[..], &["add", "-A"]].concat());
        shop.git(&shop.repo(repo), &[&quietly[..], &["commit", "-q", "-m", "login"]].concat());
    }
    for line in [
        &FINISH[..],
        &["flow", "undo"],
        &FINISH,
        &["flow", "release", "start", "1.0.0"],
        &["flow", "release", "finish", "1.0.0"],
        &["worktree", "add", "set"],
        &["worktree", "remove", "set"],
        &["worktree", "restore", "set"],
        &["workspace", "sync"],
        &["workspace", "status"],
    ] {
        shop.ok(line);
    }
    let ran = std::fs::read_to_string(shop.scratch.path().join("ran")).unwrap_or_default();
    assert_eq!(ran, "", "hooks ran");
    shop.assert_tidy();
}

/// A push runs its own hook. If the hook fails, the work is kept and the push can be repeated.
#[test]
fn a_push_hook_that_fails_leaves_the_work_and_the_push_can_be_made_again() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.ok(&FINISH);
    let hook = shop.repo("web").join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
    std::fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").expect("a hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    shop.trust("web");
    let ran = shop.run(&["--yes", "flow", "push", "login"]);
    assert_ne!(ran.status, 0, "{ran}");
    let at_origin = |repo: &str| shop.git(&shop.origin(repo), &["for-each-ref", "refs/heads/develop"]);
    assert!(!at_origin("lib").is_empty() && at_origin("web").is_empty(), "{ran}");
    assert_eq!(REPOS.map(|(repo, _)| shop.id(repo, "develop^2").is_empty()), [false; 3]);
    std::fs::remove_file(hook).expect("gone");
    shop.ok(&["--yes", "flow", "push", "login"]);
    assert!(!at_origin("web").is_empty());
}
