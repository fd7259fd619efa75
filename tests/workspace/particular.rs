//! Tests of special repositories: with submodules, a commit on no branch, hooks, or names that differ only in case.

use super::shop::Shop;

#[test]
fn empty_submodules_are_named() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let origin = shop.origin("lib").display().to_string();
    let allow = ["-c", "protocol.file.allow=always"];
    shop.git(&web, &["switch", "-q", "develop"]);
    shop.git(&web, &[&allow[..], &["submodule", "--quiet", "add", &origin, "inner"]].concat());
    shop.git(&web, &["commit", "-q", "-m", "inner"]);
    let made = shop.data(&["worktree", "add", "login"]);
    let said = made["warnings"].to_string();
    assert!(said.contains("web: the submodule `inner` is empty") && said.contains("submodule update --init"), "{made}");
    assert!(!said.contains("lib:"), "{made}");
    let made = shop.data(&["flow", "feature", "start", "other", "--worktree"]);
    assert!(made["warnings"].to_string().contains("`inner` is empty"), "{made}");
    shop.git(&web, &["push", "-q", "origin", "develop", "HEAD:main"]);
    std::fs::remove_dir_all(&web).expect("gone");
    let synced = shop.data(&["workspace", "sync"]);
    assert!(synced.to_string().contains("the submodule `inner` is empty"), "{synced}");
}

#[test]
fn a_commit_on_no_branch_is_kept_and_named() {
    let shop = Shop::new();
    let web = shop.repo("web");
    shop.git(&web, &["switch", "-q", "--detach"]);
    std::fs::write(web.join("alone.txt"), "alone\n").expect("a file");
    shop.git(&web, &["add", "-A"]);
    shop.git(&web, &["commit", "-q", "-m", "alone"]);
    let commit = shop.git(&web, &["rev-parse", "HEAD"]);
    let started = shop.data(&["flow", "feature", "start", "login"]);
    let kept = shop.git(&web, &["for-each-ref", "--format=%(refname)", "--points-at", &commit]);
    assert!(kept.starts_with("refs/mcpkg/kept/"), "{kept}");
    assert!(started["warnings"].to_string().contains(&kept), "{started}");
    assert!(!started["warnings"].to_string().contains("lib:"), "{started}");
    shop.ok(&["flow", "undo"]);
    assert_eq!(shop.git(&web, &["rev-parse", "HEAD"]), commit);
    // A commit that is on a branch needs no other ref.
    shop.git(&web, &["branch", "mine"]);
    let started = shop.data(&["flow", "feature", "start", "login"]);
    assert!(!started["warnings"].to_string().contains("kept"), "{started}");
}

#[cfg(unix)]
#[test]
fn hooks_that_a_finish_skips_are_named_and_run_on_request() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let note = shop.scratch.path().join("ran").display().to_string();
    for (hook, more) in [
        ("pre-merge-commit", "git ls-files >> '{}'"),
        ("commit-msg", "echo Reviewed >> \"$1\""),
        ("post-merge", "true"),
    ] {
        let path = web.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let more = more.replace("{}", &note);
        std::fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{note}'\n{more}\n")).expect("a hook");
        crate::support::set_mode(&path, 0o755);
    }
    let feature = |name: &str| {
        shop.ok(&["flow", "feature", "start", name]);
        shop.work(&format!("{name}.txt"));
        // The commits of `work` ran the hooks too.
        let _ = std::fs::remove_file(&note);
    };
    feature("one");
    let done = shop.data(&["flow", "feature", "finish", "one"]);
    let said = done["warnings"].to_string();
    assert!(said.contains("web: skipped these hooks: pre-merge-commit, commit-msg, post-merge"), "{done}");
    assert!(!said.contains("lib:") && !std::path::Path::new(&note).exists(), "{done}");
    feature("two");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "finish", "two", "--hooks"]);
    assert_eq!(error["code"], "E_UNAPPROVED", "nobody trusted the hooks: {error}");
    assert_eq!(shop.state(), before);
    shop.trust("web");
    let done = shop.data(&["flow", "feature", "finish", "two", "--hooks"]);
    let ran = std::fs::read_to_string(&note).expect("hooks ran");
    assert!(ran.starts_with("pre-merge-commit\n") && ran.ends_with("commit-msg\npost-merge\n"), "{ran}{done}");
    assert!(ran.contains("two.txt"), "the index has what is merged: {ran}");
    assert!(shop.git(&web, &["log", "-1", "--format=%B", "develop"]).contains("Reviewed"));
    // A hook that refuses stops the whole finish.
    feature("three");
    std::fs::write(web.join(".git/hooks/commit-msg"), "#!/bin/sh\necho no-ticket >&2\nexit 1\n").expect("a hook");
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "feature", "finish", "three", "--hooks"]);
    assert!(error.to_string().contains("no-ticket"), "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
}

#[test]
fn names_that_differ_only_in_case_are_refused_on_a_case_insensitive_disk() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    // The disk of the tests is case-sensitive, so both names can be used.
    shop.ok(&["worktree", "add", "LOGIN"]);
    shop.git(&shop.repo("web"), &["config", "core.ignoreCase", "true"]);
    let (error, _) = shop.refused(&["flow", "feature", "start", "Login"]);
    assert_eq!(error["code"], "E_BRANCH_IN_USE", "{error}");
    assert!(
        error["message"].as_str().is_some_and(
            |said| said.contains("web: the branch `") && said.contains("this disk treats it as the same name as")
        ),
        "{error}"
    );
    let (error, _) = shop.refused(&["worktree", "add", "set", "--branch", "Feature/other"]);
    assert_eq!(error["code"], "E_BRANCH_IN_USE", "{error}");
    shop.ok(&["flow", "feature", "start", "logins"]);
}
