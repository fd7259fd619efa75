//! Tests of repositories that came as folders with their `.git`, whose configuration names programs. None of these
//! programs runs until a person trusts the repository.

use std::path::Path;

use serde_json::json;

use super::shop::Shop;
use crate::support::{Client, at_a_terminal, skipped};

/// Creates a program that records that it ran, and then runs `more`.
pub fn program(shop: &Shop, name: &str, more: &str) -> String {
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

pub fn ran(shop: &Shop) -> String {
    std::fs::read_to_string(shop.scratch.path().join("ran")).unwrap_or_default()
}

/// Commands that use a repository.
pub const LINES: [&str; 15] = [
    "--json workspace status",
    "worktree list",
    "spec list",
    "flow log",
    "--json workspace sync",
    "flow feature start login",
    "worktree add set",
    "worktree remove set",
    "flow feature finish login --hooks",
    "flow release start 1.0.0",
    "flow release finish 1.0.0",
    "--yes flow push 1.0.0",
    "flow undo",
    "builds list",
    "doctor",
];

/// Runs [`LINES`], whether they succeed or not. Returns their output, and whether one was refused because nobody trusts
/// a program.
pub fn everything(shop: &Shop, what: &str) -> (String, bool) {
    let (mut done, mut refused) = (String::new(), false);
    for line in LINES {
        let ran = shop.run(&line.split(' ').collect::<Vec<_>>());
        refused |= format!("{ran}").contains("workspace trust ");
        done.push_str(&format!("{what}: {line}: {ran}\n"));
    }
    (done, refused)
}

/// Gives each file of a repository a filter, and makes the files look changed, so that git has to read them.
fn filtered(folder: &Path) {
    std::fs::write(folder.join(".git/info/attributes"), "* filter=evil diff=evil merge=evil\n").expect("a file");
    std::fs::write(folder.join("code.txt"), "ONE\nTWO\nthree\n").expect("a file");
}

/// Runs commands that only read. Checks that none of the repository's programs runs, and that each command succeeds,
/// except that `spec list` may fail.
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
    // A key that contains `=`.
    shop.git(&web, &["config", "filter.a=b.clean", &evil]);
    std::fs::write(web.join(".git/info/attributes"), "* filter=a=b\n").expect("a file");
    reads(&shop, "a name with =");
    filtered(&web);
    // Put the settings in an included file, and then in the configuration of this work tree.
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
    // Move the submodule's repository into the work tree.
    std::fs::remove_file(web.join("inner/.git")).expect("a file");
    std::fs::rename(&kept, web.join("inner/.git")).expect("renamed");
    shop.git(&web, &["config", "--file", "inner/.git/config", "--unset", "core.worktree"]);
    reads(&shop, "a submodule of the old kind");
}

#[test]
fn commands_that_would_run_a_program_are_refused_until_a_person_trusts_it() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let fetch = program(&shop, "fetch", "exec git-upload-pack \"$@\"");
    shop.git(&web, &["config", "remote.origin.uploadpack", &fetch]);
    let refused = shop.run(&["--json", "workspace", "sync"]);
    assert!(refused.status != 0 && refused.stdout.contains("`mcpkg workspace trust "), "{refused}");
    nothing_ran(&shop, "sync");
    // Commands that contact no other host still work.
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.ok(&["flow", "feature", "finish", "login"]);
    // Neither `--yes` nor a pipe counts as a person.
    assert_ne!(shop.run(&["--yes", "workspace", "trust", "web"]).status, 0);
    let mut command = shop.command();
    command.args(["workspace", "trust", "web"]);
    let Some((shown, ok)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script") };
    assert!(ok && shown.contains("remote.origin.uploadpack = "), "{shown}");
    shop.ok(&["workspace", "sync"]);
    assert_eq!(ran(&shop), "fetch\n");
    // Another program needs consent again.
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
    // A trusted filter is run. Git LFS needs this.
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
    // The only hook that a push runs.
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

/// Returns the settings of a filter and a fetch, and makes `web` look changed.
fn planted(shop: &Shop, web: &Path) -> String {
    filtered(web);
    let evil = program(shop, "evil", "exit 1");
    format!("[filter \"evil\"]\n\tclean = {evil}\n[remote \"origin\"]\n\tuploadpack = {evil}\n")
}

/// Moves what all work trees share to a separate folder, which `.git/commondir` names.
fn share(git: &Path, folder: &str, says: &[u8]) {
    let shared = git.join(folder);
    std::fs::create_dir_all(&shared).expect("a folder");
    for name in ["objects", "refs", "config", "info", "packed-refs"] {
        if git.join(name).exists() {
            std::fs::rename(git.join(name), shared.join(name)).expect("renamed");
        }
    }
    std::fs::write(git.join("commondir"), says).expect("a file");
}

fn append(path: &Path, text: &str) {
    let old = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, format!("{old}{text}")).expect("a file");
}

/// A place of the configuration, and a function that puts the settings there.
type Place = (&'static str, fn(&Path, &str));

const PLACES: &[Place] = &[
    ("config", |web, text| append(&web.join(".git/config"), text)),
    ("a chain of includes", |web, text| {
        append(&web.join(".git/config"), "[include]\n\tpath = one.inc\n");
        std::fs::write(web.join(".git/one.inc"), "[INCLUDEIF \"onbranch:**\"]\n\tPATH = ../two.inc\n").expect("a file");
        std::fs::write(web.join("two.inc"), text).expect("a file");
    }),
    ("commondir", |web, text| {
        share(&web.join(".git"), "shared", b"shared\n");
        append(&web.join(".git/shared/config"), text);
    }),
    // git reads the whole line, including blanks at its end, up to the first NUL.
    ("commondir with a blank", |web, text| {
        share(&web.join(".git"), "shared ", b"shared ");
        share_decoy(&web.join(".git/shared "), &web.join(".git/shared"));
        append(&web.join(".git/shared /config"), text);
    }),
    ("commondir with a NUL", |web, text| {
        share(&web.join(".git"), "shared", b"shared\0\n");
        append(&web.join(".git/shared/config"), text);
    }),
    ("commondir that is not UTF-8", |web, text| {
        use std::os::unix::ffi::OsStrExt as _;
        share(&web.join(".git"), "shared", b"\xff\n");
        let shared = web.join(".git").join(std::ffi::OsStr::from_bytes(b"\xff"));
        std::fs::rename(web.join(".git/shared"), &shared).expect("renamed");
        std::fs::write(web.join(".git/config"), "").expect("a file");
        append(&shared.join("config"), text);
    }),
    (".git as a file", |web, text| {
        std::fs::rename(web.join(".git"), web.join(".kept")).expect("renamed");
        std::fs::write(web.join(".git"), "gitdir: .kept\n").expect("a file");
        append(&web.join(".kept/config"), text);
    }),
    (".git as a file with a blank", |web, text| {
        std::fs::rename(web.join(".git"), web.join(".kept ")).expect("renamed");
        share_decoy(&web.join(".kept "), &web.join(".kept"));
        std::fs::write(web.join(".git"), "gitdir: .kept \n").expect("a file");
        append(&web.join(".kept /config"), text);
    }),
    ("HEAD as a link to a ref", |web, text| {
        let git = |args: &[&str]| crate::support::tool("git").current_dir(web).args(args).status().expect("git starts");
        assert!(git(&["pack-refs", "--all"]).success());
        std::fs::remove_file(web.join(".git/HEAD")).expect("a file");
        std::os::unix::fs::symlink("refs/heads/main", web.join(".git/HEAD")).expect("a link");
        append(&web.join(".git/config"), text);
    }),
];

/// Copies a repository before the settings are added to it. The copy is where a wrong reading of the path would look.
fn share_decoy(from: &Path, to: &Path) {
    assert!(crate::support::tool("cp").arg("-a").args([from, to]).status().expect("cp starts").success());
}

#[test]
fn the_configuration_is_read_where_git_finds_it() {
    let shop = Shop::new();
    let saved = shop.save();
    let mut wrong = Vec::new();
    for (what, put) in PLACES {
        shop.bring_back(&saved);
        let web = shop.repo("web");
        let text = planted(&shop, &web);
        put(&web, &text);
        // git accepts the repository, and reads the settings as its own.
        let listed = shop.git(&web, &["config", "--list"]);
        assert!(listed.contains("filter.evil.clean="), "{what}: {listed}");
        let (done, _) = everything(&shop, what);
        let sync = shop.run(&["--json", "workspace", "sync", "web"]);
        if sync.status == 0 || !ran(&shop).is_empty() {
            wrong.push(format!("{what}: {}{sync}\n{done}", ran(&shop)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_repository_without_a_work_tree_may_have_its_configuration_elsewhere() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let text = planted(&shop, &web);
    append(&web.join(".git/config"), &text);
    // Create a folder with only the parts that belong to one work tree.
    let bare = shop.scratch.path().join("bare");
    std::fs::create_dir_all(&bare).expect("a folder");
    std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    std::fs::write(bare.join("commondir"), format!("{}\n", web.join(".git").display())).expect("a file");
    let never = tokio_util::sync::CancellationToken::new();
    let limits = mcpkg_base::process::Limits::new(mcpkg_base::git::LOCAL, &never);
    let named = mcpkg_base::git::programs::Named::of(&bare, &limits).expect("a configuration");
    assert_eq!(named.lines().len(), 2, "{named:?}");
    let error = mcpkg_base::git::run(&bare, &["fetch", "--", "origin"], &limits).expect_err("it names programs");
    assert_eq!(error.code(), mcpkg_base::error::Code::Unapproved, "{error}");
    nothing_ran(&shop, "a fetch");
}

#[test]
fn an_include_that_only_git_can_find_is_refused() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let clean = std::fs::read_to_string(web.join(".git/config")).expect("a file");
    for place in ["~root/evil.inc", "%(prefix)/evil.inc", ":(optional)evil.inc"] {
        for section in ["include", "includeIf \"gitdir:/\""] {
            std::fs::write(web.join(".git/config"), format!("{clean}[{section}]\n\tpath = {place}\n")).expect("a file");
            let sync = shop.run(&["--json", "workspace", "sync", "web"]);
            assert!(sync.status != 0 && sync.stdout.contains(&format!("it includes `{place}`")), "{place}: {sync}");
            let status = shop.run(&["--json", "workspace", "status"]);
            assert!(status.stdout.contains(&format!("it includes `{place}`")), "{place}: {status}");
        }
    }
    // An include from the home folder is read.
    let evil = program(&shop, "evil", "exit 1");
    shop.scratch.file("evil.inc", format!("[remote \"origin\"]\n\tuploadpack = {evil}\n"));
    std::fs::write(web.join(".git/config"), format!("{clean}[include]\n\tpath = ~/evil.inc\n")).expect("a file");
    assert!(shop.run(&["--json", "workspace", "sync", "web"]).stdout.contains("workspace trust "));
    nothing_ran(&shop, "sync");
}

#[test]
fn a_submodules_programs_never_run_wherever_its_repository_is() {
    let shop = Shop::new();
    let web = shop.repo("web");
    let origin = shop.origin("lib").display().to_string();
    let deep = "a/b/c/d/e/f/g/h/inner";
    shop.git(&web, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &origin, deep]);
    shop.git(&web, &["commit", "-q", "-m", "inner"]);
    let evil = program(&shop, "inner", "cat");
    let inner = web.join(deep);
    // Move the submodule's repository deep into the work tree. A setting makes git look into the submodule.
    let kept = web.join(".git/modules").join(deep);
    std::fs::remove_file(inner.join(".git")).expect("a file");
    std::fs::rename(&kept, inner.join(".git")).expect("renamed");
    shop.git(&web, &["config", "--file", &format!("{deep}/.git/config"), "--unset", "core.worktree"]);
    shop.git(&inner, &["config", "filter.evil.clean", &evil]);
    shop.git(&inner, &["config", "core.fsmonitor", &evil]);
    std::fs::create_dir_all(inner.join(".git/info")).expect("a folder");
    std::fs::write(inner.join(".git/info/attributes"), "* filter=evil\n").expect("a file");
    std::fs::write(inner.join("code.txt"), "ONE\nTWO\nthree\n").expect("a file");
    for ignore in ["all", "none"] {
        shop.git(&web, &["config", &format!("submodule.{deep}.ignore"), ignore]);
        reads(&shop, ignore);
    }
    // The index is split into two files.
    shop.git(&web, &["-c", "core.fsmonitor=false", "-c", "diff.ignoreSubmodules=all", "update-index", "--split-index"]);
    std::fs::write(inner.join("code.txt"), "THREE\nTWO\nthree\n").expect("a file");
    reads(&shop, "a split index");
}
