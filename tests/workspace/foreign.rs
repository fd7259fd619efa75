//! Repositories that came as folders with their `.git`, whose configuration names programs: none is run until a person trusts them.

use std::path::Path;

use serde_json::json;

use super::shop::Shop;
use crate::support::{Client, at_a_terminal, skipped};

/// A program that notes that it ran, and goes on as `more` says.
fn program(shop: &Shop, name: &str, more: &str) -> String {
    let ran = shop.scratch.path().join("ran").display().to_string();
    let path = shop.scratch.file(&format!("evil/{name}"), format!("#!/bin/sh\necho {name} >> '{ran}'\n{more}\n"));
    crate::support::set_mode(&path, 0o755);
    path.display().to_string()
}

#[track_caller]
fn nothing_ran(shop: &Shop, after: &str) {
    let ran = std::fs::read_to_string(shop.scratch.path().join("ran")).unwrap_or_default();
    assert_eq!(ran, "", "a program ran: {after}");
}

fn ran(shop: &Shop) -> String {
    std::fs::read_to_string(shop.scratch.path().join("ran")).unwrap_or_default()
}

/// Has each file of a repository go through a filter, and look changed, so that git has to look into it.
fn filtered(folder: &Path) {
    std::fs::write(folder.join(".git/info/attributes"), "* filter=evil diff=evil merge=evil\n").expect("a file");
    std::fs::write(folder.join("code.txt"), "ONE\nTWO\nthree\n").expect("a file");
}

/// All that reads: no such program runs, and each of them answers.
fn reads(shop: &Shop, what: &str) {
    for line in [
        &["workspace", "status"][..],
        &["--json", "workspace", "status"],
        &["worktree", "list"],
        &["spec", "list"],
        &["flow", "log"],
        &["workspace", "kept"],
    ] {
        let ran = shop.run(line);
        assert!(ran.status == 0 || line[0] == "spec", "{what}: {line:?}: {ran}");
        nothing_ran(shop, &format!("{what}: {line:?}"));
    }
    let mut command = shop.command();
    let mut client = Client::spawn(command.args(["serve", "--as", "smctl"])).shake_hands("2025-06-18");
    let status = client.result("tools/call", json!({ "name": "smctl_workspace_status", "arguments": {} }));
    assert!(status.to_string().contains("web"), "{status}");
    client.finish();
    nothing_ran(shop, &format!("{what}: smctl_workspace_status"));
}

#[test]
fn reads_run_no_program_wherever_the_configuration_names_it() {
    let shop = Shop::new();
    let web = shop.repo("web");
    filtered(&web);
    let evil = program(&shop, "filter", "cat");
    let names = [
        ("filter.evil.clean", &evil),
        ("filter.evil.smudge", &evil),
        ("filter.evil.process", &evil),
        ("filter.evil.required", &"true".to_owned()),
        ("diff.evil.textconv", &evil),
        ("diff.evil.command", &evil),
        ("diff.external", &evil),
        ("core.fsmonitor", &evil),
        ("core.pager", &evil),
        ("core.editor", &evil),
        ("log.showSignature", &"true".to_owned()),
        ("gpg.program", &evil),
    ];
    for (key, value) in names {
        shop.git(&web, &["config", key, value]);
    }
    reads(&shop, "config");
    // A key with a `=` in it.
    shop.git(&web, &["config", "filter.a=b.clean", &evil]);
    std::fs::write(web.join(".git/info/attributes"), "* filter=a=b\n").expect("a file");
    reads(&shop, "a name with =");
    filtered(&web);
    // What a file says that is included, and one for this work tree.
    let settings = std::fs::read_to_string(web.join(".git/config")).expect("a file");
    let (own, others) = settings.split_once("[filter").expect("filters");
    std::fs::write(web.join(".git/evil.inc"), format!("[filter{others}")).expect("a file");
    std::fs::write(web.join(".git/config"), format!("{own}[includeIf \"gitdir:/\"]\n\tpath = evil.inc\n"))
        .expect("a file");
    reads(&shop, "an include");
    std::fs::write(web.join(".git/config"), format!("{own}[extensions]\n\tworktreeConfig = true\n")).expect("a file");
    std::fs::rename(web.join(".git/evil.inc"), web.join(".git/config.worktree")).expect("renamed");
    reads(&shop, "config.worktree");
}

#[test]
fn reads_run_no_program_of_a_submodule() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let allow = ["-c", "protocol.file.allow=always"];
    let origin = shop.origin("lib").display().to_string();
    shop.git(&web, &[&allow[..], &["submodule", "--quiet", "add", &origin, "inner"]].concat());
    shop.git(&web, &["commit", "-q", "-m", "inner"]);
    let evil = program(&shop, "inner", "cat");
    let kept = web.join(".git/modules/inner");
    std::fs::create_dir_all(kept.join("info")).expect("a folder");
    std::fs::write(kept.join("info/attributes"), "* filter=evil\n").expect("a file");
    shop.git(&web.join("inner"), &["config", "filter.evil.clean", &evil]);
    std::fs::write(web.join("inner/code.txt"), "ONE\nTWO\nthree\n").expect("a file");
    reads(&shop, "a submodule");
    // One whose repository lies in the work tree.
    std::fs::remove_file(web.join("inner/.git")).expect("a file");
    std::fs::rename(&kept, web.join("inner/.git")).expect("renamed");
    shop.git(&web, &["config", "--file", "inner/.git/config", "--unset", "core.worktree"]);
    reads(&shop, "a submodule of the old kind");
}

#[test]
fn what_would_run_a_program_is_refused_until_a_person_trusts_it() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let fetch = program(&shop, "fetch", "exec git-upload-pack \"$@\"");
    shop.git(&web, &["config", "remote.origin.uploadpack", &fetch]);
    let refused = shop.run(&["--json", "workspace", "sync"]);
    assert!(refused.status != 0 && refused.stdout.contains("`mcpkg workspace trust "), "{refused}");
    nothing_ran(&shop, "sync");
    // What asks no other host goes on.
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.ok(&["flow", "feature", "finish", "login"]);
    // Neither --yes nor a pipe is a person.
    assert_ne!(shop.run(&["--yes", "workspace", "trust", "web"]).status, 0);
    let mut command = shop.command();
    command.args(["workspace", "trust", "web"]);
    let Some((shown, ok)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script") };
    assert!(ok && shown.contains("remote.origin.uploadpack = "), "{shown}");
    shop.ok(&["workspace", "sync"]);
    assert_eq!(ran(&shop), "fetch\n");
    // Another program is asked about again.
    let other = program(&shop, "other", "exec git-upload-pack \"$@\"");
    shop.git(&web, &["config", "remote.origin.uploadpack", &other]);
    assert!(shop.run(&["--json", "workspace", "sync"]).stdout.contains("`mcpkg workspace trust "));
    assert_eq!(ran(&shop), "fetch\n");
}

#[test]
fn a_signer_a_filter_and_a_hook_are_refused_and_run_once_they_are_trusted() {
    let shop = Shop::new();
    let web = shop.repo("web");
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    let signer = program(&shop, "signer", "exit 1");
    shop.git(&web, &["config", "gpg.program", &signer]);
    shop.git(&web, &["config", "tag.gpgSign", "true"]);
    shop.git(&web, &["config", "commit.gpgSign", "true"]);
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "release", "finish", "1.0.0"]);
    assert_eq!(error["code"], "E_UNAPPROVED", "{error}");
    nothing_ran(&shop, "release finish");
    assert_eq!(shop.state(), before);
    shop.trust("web");
    let (error, _) = shop.refused(&["flow", "release", "finish", "1.0.0"]);
    assert_ne!(error["code"], "E_UNAPPROVED", "{error}");
    assert!(ran(&shop).starts_with("signer\n"), "{error}");
    std::fs::remove_file(shop.scratch.path().join("ran")).expect("a file");
    for key in ["gpg.program", "tag.gpgSign", "commit.gpgSign"] {
        shop.git(&web, &["config", "--unset", key]);
    }
    shop.ok(&["flow", "release", "finish", "1.0.0"]);
    // Large files: the filter of one who trusts it is run.
    let filter = program(&shop, "filter", "cat");
    shop.git(&web, &["config", "filter.evil.smudge", &filter]);
    std::fs::write(web.join(".git/info/attributes"), "* filter=evil\n").expect("a file");
    let (error, _) = shop.refused(&["worktree", "add", "set"]);
    assert_eq!(error["code"], "E_UNAPPROVED", "{error}");
    nothing_ran(&shop, "worktree add");
    shop.trust("web");
    shop.ok(&["worktree", "add", "set"]);
    assert!(ran(&shop).contains("filter\n"));
    shop.git(&web, &["config", "--unset", "filter.evil.smudge"]);
    std::fs::remove_file(shop.scratch.path().join("ran")).expect("a file");
    // The one hook that a push runs.
    let hook = program(&shop, "hook", "exit 0");
    std::fs::create_dir_all(web.join(".git/hooks")).expect("a folder");
    std::fs::copy(hook, web.join(".git/hooks/pre-push")).expect("a hook");
    let refused = shop.run(&["--json", "--yes", "flow", "push", "1.0.0"]);
    assert!(refused.status != 0 && refused.stdout.contains("workspace trust"), "{refused}");
    nothing_ran(&shop, "push");
    shop.trust("web");
    shop.ok(&["--yes", "flow", "push", "1.0.0"]);
    assert_eq!(ran(&shop), "hook\n");
}
