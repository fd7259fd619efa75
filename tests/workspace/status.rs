//! Tests that `workspace status` and `worktree list` report the same as git, also for unusual repositories.

use std::collections::BTreeMap;
use std::path::Path;

use mcpkg_core::op::Context;
use mcpkg_store::projects::Selection;
use mcpkg_workspace::{status, worktree};
use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use crate::support::{Random, cases, skipped};

/// Returns the row of a repository.
fn row(data: &Value, repo: &str) -> Value {
    let rows = data["repos"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == repo).expect("a row").clone()
}

#[test]
fn x6_untracked_files_are_changes_and_ignored_ones_are_not() {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    shop.commit(&lib, ".gitignore", "*.log\ntarget/\n");
    for name in ["a.log", "target/x"] {
        std::fs::create_dir_all(lib.join(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(lib.join(name), "").expect("a file");
    }
    let found = row(&shop.data(&["workspace", "status"]), "lib");
    assert_eq!((&found["clean"], &found["untracked_files"]), (&json!(true), &json!(0)), "{found}");
    std::fs::write(lib.join("new.txt"), "").expect("a file");
    std::fs::write(lib.join("code.txt"), "changed\n").expect("a file");
    let found = row(&shop.data(&["workspace", "status"]), "lib");
    assert_eq!(
        (&found["clean"], &found["untracked_files"], &found["modified_files"], &found["conflicted_files"]),
        (&json!(false), &json!(1), &json!(1), &json!(0)),
        "{found}"
    );
}

#[test]
fn x13_ahead_and_behind_are_true_and_null_without_an_upstream() {
    let shop = Shop::new();
    let lib = shop.repo("lib");
    let other = shop.scratch.path().join("other");
    shop.git(shop.scratch.path(), &["clone", "-q", &shop.origin("lib").display().to_string(), "other"]);
    for text in ["one", "two"] {
        shop.commit(&other, "theirs.txt", text);
    }
    shop.git(&other, &["push", "-q"]);
    shop.commit(&lib, "mine.txt", "mine");
    shop.git(&lib, &["fetch", "-q"]);
    shop.git(&shop.repo("web"), &["switch", "-q", "-c", "alone"]);
    let data = shop.data(&["workspace", "status"]);
    let found = row(&data, "lib");
    assert_eq!(
        (&found["ahead"], &found["behind"], &found["upstream"], &found["branch"]),
        (&json!(1), &json!(2), &json!("origin/main"), &json!("main")),
        "{found}"
    );
    assert_eq!(found["head"], shop.id("lib", "HEAD"));
    let found = row(&data, "web");
    assert_eq!((&found["ahead"], &found["behind"], &found["upstream"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!((&data["name"], &data["busy"], &data["warnings"]), (&json!("shop"), &Value::Null, &json!([])));
    let shown = shop.ok(&["workspace", "status"]);
    assert!(shown.contains("+1 -2 origin/main"), "{shown}");
}

#[test]
fn x47_an_odd_repository_is_a_row() {
    let shop = Shop::new();
    let root = shop.root();
    let path = |name: &str| root.join(name);
    let first = |name: &str, options: &[&str]| {
        let line = [&["init", "-q", "-b", "main"], options, &[name]].concat();
        shop.git(&root, &line);
        shop.commit(&path(name), "a.txt", "one\n");
    };
    let newest = |option: &str| {
        let probe = shop.git_command(&root).args(["init", "-q", option, "probe"]).output().expect("git starts");
        let _ = std::fs::remove_dir_all(path("probe"));
        if !probe.status.success() {
            skipped(&format!("git has no {option}"));
        }
        probe.status.success()
    };
    first("detached", &[]);
    shop.git(&path("detached"), &["switch", "-q", "--detach"]);
    shop.git(&root, &["init", "-q", "-b", "main", "unborn"]);
    shop.git(&root, &["init", "-q", "--bare", "bare"]);
    let origin = format!("file://{}", shop.origin("lib").display());
    shop.git(&root, &["clone", "-q", "--depth=1", &origin, "shallow"]);
    first("locked", &[]);
    std::fs::write(path("locked/.git/index.lock"), "").expect("a lock");
    first("modules", &[]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &origin, "inner"];
    shop.git(&path("modules"), &add);
    shop.git(&path("modules"), &["commit", "-q", "-m", "inner"]);
    std::fs::write(path("modules/inner/code.txt"), "changed\n").expect("a file");
    std::fs::create_dir(path("plain")).expect("a folder");
    std::fs::write(path("plain/a.txt"), "").expect("a file");
    first("broken", &[]);
    std::fs::write(path("broken/.git/HEAD"), "nonsense\n").expect("a HEAD");
    first("busy", &[]);
    shop.git(&path("busy"), &["bisect", "start", "-q"]);
    let mut names: Vec<&str> =
        ["detached", "unborn", "bare", "shallow", "locked", "modules", "plain", "broken", "busy", "missing"].to_vec();
    if newest("--ref-format=reftable") {
        first("reftable", &["--ref-format=reftable"]);
        names.push("reftable");
    }
    if newest("--object-format=sha256") {
        first("sha256", &["--object-format=sha256"]);
        names.push("sha256");
    }
    let manifest = root.join(".smctl/workspace.toml");
    let mut text = std::fs::read_to_string(&manifest).expect("a manifest");
    for name in &names {
        text.push_str(&format!("\n[[repos]]\nname = \"{name}\"\nurl = \"https://example.org/{name}.git\"\n"));
    }
    std::fs::write(&manifest, text).expect("a manifest");

    let data = shop.data(&["workspace", "status"]);
    let of = |name: &str, keys: &[&str]| -> Vec<Value> {
        let found = row(&data, name);
        keys.iter().map(|key| found[*key].clone()).collect()
    };
    let common = ["state", "branch", "clean"];
    assert_eq!(of("lib", &common), [json!("ok"), json!("main"), json!(true)]);
    assert_eq!(of("detached", &common), [json!("ok"), json!("detached"), json!(true)]);
    assert_eq!(of("unborn", &["state", "branch", "head"]), [json!("ok"), json!("main"), Value::Null]);
    assert_eq!(of("shallow", &common), [json!("ok"), json!("main"), json!(true)]);
    assert_eq!(of("locked", &common), [json!("ok"), json!("main"), json!(true)]);
    assert_eq!(of("modules", &["state", "modified_files"]), [json!("ok"), json!(1)]);
    assert_eq!(of("busy", &["state", "operation"]), [json!("ok"), json!("bisect")]);
    assert_eq!(of("missing", &["state", "branch", "error"]), [json!("missing"), Value::Null, Value::Null]);
    for name in ["bare", "plain", "broken"] {
        let [state, error] = <[Value; 2]>::try_from(of(name, &["state", "error"])).expect("two");
        assert_eq!(state, "error", "{name}");
        assert!(error.as_str().is_some_and(|error| error.contains("repository")), "{name}: {error}");
    }
    for name in ["reftable", "sha256"].iter().filter(|name| names.contains(name)) {
        assert_eq!(of(name, &common), [json!("ok"), json!("main"), json!(true)], "{name}");
        assert_eq!(of(name, &["head"]), [json!(shop.git(&path(name), &["rev-parse", "HEAD"]))]);
    }
    let shown = shop.ok(&["workspace", "status"]);
    assert!(shown.contains("bare repository") && shown.contains("bisect in progress"), "{shown}");
}

/// Returns the context of a shell in the workspace.
fn context(shop: &Shop) -> Context {
    let workspace = Some(shop.root().display().to_string());
    Context { selection: Selection { workspace, ..Selection::default() }, ..shop.scratch.context() }
}

/// Returns what a plain script of git commands reports about a work tree.
fn plain(shop: &Shop, folder: &Path) -> Value {
    let ask = |line: &[&str]| {
        let output = shop.git_command(folder).args(line).output().expect("git starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let status = shop.git_command(folder).args(["status", "--porcelain", "-z"]).output().expect("git starts").stdout;
    let (mut modified, mut untracked, mut conflicted) = (0, 0, 0);
    let mut entries = status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        match &entry[..2] {
            b"??" => untracked += 1,
            b"DD" | b"AU" | b"UD" | b"UA" | b"DU" | b"AA" | b"UU" => conflicted += 1,
            state => {
                modified += 1;
                if state.contains(&b'R') || state.contains(&b'C') {
                    entries.next();
                }
            }
        }
    }
    let count = |range: &str| ask(&["rev-list", "--count", range]).and_then(|count| count.parse::<u64>().ok());
    json!({
        "branch": ask(&["symbolic-ref", "-q", "--short", "HEAD"]).unwrap_or_else(|| "detached".to_owned()),
        "head": ask(&["rev-parse", "-q", "--verify", "HEAD"]),
        "upstream": ask(&["rev-parse", "-q", "--abbrev-ref", "@{upstream}"]),
        "ahead": count("@{upstream}..HEAD"),
        "behind": count("HEAD..@{upstream}"),
        "clean": modified + untracked + conflicted == 0,
        "modified_files": modified,
        "untracked_files": untracked,
        "conflicted_files": conflicted,
        "operation": folder.join(".git/MERGE_HEAD").exists().then_some("merge"),
    })
}

/// Makes a random change in a work tree, as a person might. Ignores what git refuses.
fn disturb(shop: &Shop, folder: &Path, random: &mut Random, name: &str) {
    let git = |line: &[&str]| drop(shop.git_command(folder).args(line).output());
    let write = |file: &str, text: &str| {
        let file = folder.join(file);
        let _ = std::fs::create_dir_all(file.parent().expect("a folder"));
        let _ = std::fs::write(file, text);
    };
    match random.below(16) {
        0 => write("code.txt", name),
        1 => write(&format!("new {name}.txt"), name),
        2 => write(&format!("deep/{name}/\u{e9}.txt"), name),
        3 => git(&["add", "--all"]),
        4 => git(&["commit", "-q", "-a", "-m", name]),
        5 => git(&["mv", "README.md", &format!("{name}.md")]),
        6 => git(&["switch", "-q", "-c", name]),
        7 => git(&["switch", "-q", "main"]),
        8 => git(&["switch", "-q", "--detach"]),
        9 => git(&["merge", "-q", "--no-edit", "develop"]),
        10 => git(&["push", "-q", "-u", "origin", "HEAD"]),
        11 => git(&["merge", "--abort"]),
        12 => git(&["reset", "-q", "--hard"]),
        13 => git(&["branch", "-q", "--unset-upstream"]),
        14 => git(&["worktree", "add", "-q", &format!("{}/.worktrees/{name}/lib", shop.root().display())]),
        _ => {
            git(&["commit", "-q", "--allow-empty", "-m", name]);
            git(&["push", "-q", "origin", "HEAD:main"]);
        }
    }
}

/// Tests a hundred workspaces, or a quarter of them by default. Each is the previous one with a few more changes.
#[test]
fn status_and_worktree_list_agree_with_a_script_of_git_commands() {
    let shop = Shop::new();
    let context = context(&shop);
    let mut random = Random::new();
    for round in 0..cases(100) {
        for step in 0..random.below(5) + 1 {
            let (repo, _) = REPOS[random.below(REPOS.len())];
            disturb(&shop, &shop.repo(repo), &mut random, &format!("n{round}-{step}"));
        }
        let data = status::read(&context).expect("a status");
        for (repo, _) in REPOS {
            let (found, expected) = (row(&data, repo), plain(&shop, &shop.repo(repo)));
            for (key, value) in expected.as_object().expect("an object") {
                assert_eq!(&found[key], value, "round {round}: {repo}: {key}\n{found}");
            }
        }
        let sets = worktree::list::read(&context).expect("the sets");
        let mut listed = BTreeMap::new();
        for set in sets["sets"].as_array().expect("sets") {
            for worktree in set["worktrees"].as_array().expect("worktrees") {
                let repo = worktree["repo_name"].as_str().expect("a name").to_owned();
                listed.insert(worktree["path"].as_str().expect("a path").to_owned(), (repo, worktree.clone()));
            }
        }
        for (repo, _) in REPOS {
            let known = shop.git(&shop.repo(repo), &["worktree", "list", "--porcelain"]);
            let base = shop.root().join(".worktrees");
            for path in known.lines().filter_map(|line| line.strip_prefix("worktree ")) {
                if !Path::new(path).starts_with(&base) {
                    continue;
                }
                let (of, found) = listed.remove(path).unwrap_or_else(|| panic!("{path} is not listed"));
                let expected = plain(&shop, Path::new(path));
                assert_eq!(of, repo);
                for key in ["branch", "clean", "modified_files"] {
                    assert_eq!(found[key], expected[key], "round {round}: {path}: {key}");
                }
            }
        }
        assert!(listed.is_empty(), "git knows nothing of {listed:?}");
    }
}

/// No output shows a password from a repository's own configuration or from the manifest.
#[test]
fn x34_no_answer_shows_a_password() {
    let shop = Shop::new();
    let secret = "https://ada:geheim@127.0.0.1:1/lib.git";
    shop.git(&shop.repo("lib"), &["remote", "set-url", "origin", secret]);
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    let mut text = text.replace("../origins/web.git", "https://ada:geheim@127.0.0.1:1/web.git");
    let at = text.find("/origins/web.git").map(|at| text[..at].rfind('"').expect("a quote") + 1);
    if let Some(at) = at {
        let end = at + text[at..].find('"').expect("a quote");
        text.replace_range(at..end, "https://ada:geheim@127.0.0.1:1/web.git");
    }
    assert!(text.contains("geheim"), "{text}");
    std::fs::write(&manifest, text).expect("a manifest");
    std::fs::remove_dir_all(shop.repo("web")).expect("gone");
    for line in [
        &["workspace", "status"][..],
        &["workspace", "sync"],
        &["workspace", "sync", "--dry-run"],
        &["workspace", "add", "https://ada:geheim@127.0.0.1:1/more.git"],
        &["workspace", "remove", "web", "--dry-run"],
        &["worktree", "add", "x", "--repos", "lib"],
        &["events"],
    ] {
        for json in [&["--json", "-v"][..], &["-v"]] {
            let ran = shop.run(&[json, line].concat());
            assert!(!format!("{ran}").contains("geheim"), "{line:?}: {ran}");
        }
    }
}
