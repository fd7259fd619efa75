//! Tests of specs, from `spec new` to the archive. A test named `x23_...` checks that defect 23 of smctl is fixed.

use std::fs;
use std::path::{Path, PathBuf};

use mcpkg_base::error::Code;
use mcpkg_workspace::spec::{self, Which};
use serde_json::{Value, json};

use super::spec_shop::{DESIGN, MANIFEST, PROPOSAL, Shop};
use crate::support::Client;

/// Returns the findings of a kind as `FILE:LINE`, with only the file's name.
fn places(result: &Value, kind: &str) -> Vec<String> {
    let findings = result["result"][kind].as_array().expect("findings");
    let place = |finding: &Value| {
        let file = finding["file"].as_str().expect("a file");
        let file = file.rsplit('/').next().expect("a name");
        finding["line"].as_u64().map_or(file.to_owned(), |line| format!("{file}:{line}"))
    };
    findings.iter().map(place).collect()
}

#[test]
fn x23_archived_specs_are_found_by_their_exact_names() {
    let shop = Shop::new();
    shop.spec("openspec/changes/archive/2026-01-02-barfoo", &[]);
    shop.spec("openspec/changes/archive/2026-01-02-bar-foo", &[]);
    shop.spec("api/openspec/changes/archive/2026-01-03-login", &[]);
    shop.spec("api/openspec/changes/archive/2026-02-03-login", &[]);
    let (status, error) = shop.fails(&["spec", "status", "foo"]);
    assert_eq!((status, &error["code"]), (1, &json!("E_NOT_FOUND")), "{error}");
    let found = shop.json(&["spec", "status", "barfoo"]);
    assert_eq!(found["qualified"], "_workspace:2026-01-02-barfoo");
    assert_eq!(found["phase"], "Archived");
    // Without its date, a name stands for the later of two archived specs. Each can be found by its full name.
    assert_eq!(shop.json(&["spec", "status", "login"])["name"], "2026-02-03-login");
    assert_eq!(shop.json(&["spec", "status", "api:2026-01-03-login"])["name"], "2026-01-03-login");
    // An open spec comes first. Two open ones need their full names.
    shop.spec("web/openspec/changes/login", &[]);
    assert_eq!(shop.json(&["spec", "status", "login"])["qualified"], "web:login");
    shop.spec("openspec/changes/login", &[]);
    let (status, error) = shop.fails(&["spec", "status", "login"]);
    assert_eq!((status, &error["code"]), (2, &json!("E_INVALID_ARGUMENT")), "{error}");
    assert_eq!(error["details"]["choices"], json!(["_workspace:login", "web:login"]));
    let (_, error) = shop.fails(&["spec", "status", "wbe:login"]);
    assert_eq!(error["hints"], json!(["did you mean 'web'?"]));
    let (_, error) = shop.fails(&["spec", "archive", "api:login"]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS", "{error}");
}

#[test]
fn x24_text_in_fences_and_comments_is_ignored() {
    let shop = Shop::new();
    let tasks = "## Do\n\n- [x] one\n  - [ ] nested\n\n```md\n- [ ] no\n```\n\n<!--\n- [x] no\n-->\n\n    - [ ] no\n";
    let design = "## Decisions\n\n```md\n### A\n**Choice:** a\n**Rationale:** b\n```\n\n## Open Questions\n\n```\n- no\n```\n\n- Which?\n- ~~Old~~\n- None\n";
    let proposal = "## Why\n\n```\nIn code.\n```\n\n<!--\n## What Changes\nno\n-->\n";
    shop.spec("openspec/changes/login", &[("tasks.md", tasks), ("design.md", design), ("proposal.md", proposal)]);
    let status = shop.json(&["spec", "status", "login"]);
    assert_eq!((&status["tasks_total"], &status["tasks_done"]), (&json!(2), &json!(1)));
    assert_eq!(status["open_questions"], json!(["Which?"]));
    let told = shop.run(&["spec", "status", "login"]);
    assert!(told.stdout.contains("\nopen question: Which?\n"), "{told}");
    let (exit, error) = shop.fails(&["spec", "validate", "login"]);
    assert_eq!((exit, &error["code"]), (5, &json!("E_SPEC_INVALID")));
    assert_eq!(places(&error["details"], "errors"), ["proposal.md:1", "design.md:1"]);
    assert!(places(&error["details"], "warnings").contains(&"tasks.md:4".to_owned()), "{error}");
    let tasks = shop.json(&["spec", "tasks", "login", "--open"]);
    assert_eq!(tasks["tasks"], json!([{ "text": "nested", "done": false, "section": "Do", "depth": 1, "line": 4 }]));
}

#[test]
fn x25_a_scaffold_is_not_valid() {
    let shop = Shop::new();
    let made = shop.json(&["spec", "new", "login"]);
    assert_eq!((&made["qualified"], &made["phase"]), (&json!("_workspace:login"), &json!("New")));
    assert_eq!(made["files"], json!([".openspec.yaml", "proposal.md", "design.md", "tasks.md"]));
    assert_eq!((&made["has_proposal"], &made["tasks_total"]), (&json!(true), &json!(0)));
    let folder = shop.root().join("openspec/changes/login");
    let metadata = fs::read_to_string(folder.join(".openspec.yaml")).expect("the metadata");
    assert!(metadata.starts_with("schema: spec-driven\ncreated: 2"), "{metadata}");
    assert!(metadata.ends_with("status: draft\nbranch: \"feature/login\"\n"), "{metadata}");
    let names: Vec<_> = fs::read_dir(folder.parent().expect("changes")).expect("a folder").collect();
    assert_eq!(names.len(), 1, "nothing is left beside it");
    let (exit, error) = shop.fails(&["spec", "validate", "login"]);
    assert_eq!(exit, 5);
    assert_eq!(places(&error["details"], "errors"), ["proposal.md:3", "proposal.md:7", "design.md:21", "tasks.md:1"]);
    let warnings = places(&error["details"], "warnings");
    assert!(warnings.contains(&"proposal.md:5".to_owned()) && warnings.contains(&"specs".to_owned()), "{warnings:?}");
    let message = error["message"].as_str().expect("a message");
    let first =
        "Spec '_workspace:login' is not valid:\n  openspec/changes/login/proposal.md:3: the section 'Why' is empty\n  ";
    assert!(message.starts_with(first), "{message}");
    // The scaffold that smctl creates.
    let proposal = "# a — Proposal\n\n## Why\n\n<!-- Describe it -->\n\n## What Changes\n\n<!-- Describe it -->\n\n## References\n\n- \n";
    let design = "## Decisions\n\n### Decision 1: \n\n**Choice:** \n\n**Rationale:** \n\n## Open Questions\n\n1. \n";
    let tasks = "## Implementation\n\n- [ ] \n\n## Verify\n\n- [ ] \n";
    shop.spec("openspec/changes/theirs", &[("proposal.md", proposal), ("design.md", design), ("tasks.md", tasks)]);
    let (_, error) = shop.fails(&["spec", "validate", "theirs"]);
    assert_eq!(places(&error["details"], "errors"), ["proposal.md:3", "proposal.md:7", "design.md:3", "tasks.md:1"]);
    assert_eq!(shop.json(&["spec", "status", "theirs"])["phase"], "New");
}

#[test]
fn x26_an_incomplete_spec_is_not_archived() {
    let shop = Shop::new();
    shop.spec("api/openspec/changes/open", &[("tasks.md", "- [x] a\n- [ ] b\n")]);
    shop.spec("api/openspec/changes/asked", &[("design.md", &format!("{DESIGN}\n## Open Questions\n\n1. Which?\n"))]);
    shop.spec("api/openspec/changes/draft", &[("proposal.md", "## Why\n")]);
    let before = shop.files();
    for (name, place) in [("open", "tasks.md:2"), ("asked", "design.md:10"), ("draft", "proposal.md:1")] {
        let (exit, error) = shop.fails(&["spec", "archive", name]);
        assert_eq!((exit, &error["code"]), (5, &json!("E_SPEC_INVALID")), "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(place) && message.contains("was not archived"), "{message}");
        assert_eq!(error["details"]["qualified"], format!("api:{name}"));
    }
    shop.json(&["spec", "archive", "open", "--force", "--dry-run"]);
    assert_eq!(shop.files(), before, "nothing was moved");
    let archived = shop.json(&["spec", "archive", "open", "--force"]);
    let path = archived["archive_path"].as_str().expect("a path");
    assert!(path.ends_with("-open") && Path::new(path).join("tasks.md").is_file(), "{archived}");
    // A person's `--force` archives invalid specs too.
    shop.json(&["spec", "archive", "draft", "--force"]);
}

#[test]
fn a_complete_spec_is_archived_and_its_branch_stays() {
    let shop = Shop::new();
    let metadata = "# ours\nschema: spec-driven\ncreated: 2026-02-11\nstatus: draft # for now\nbranch: feature/in\n";
    shop.spec("api/openspec/changes/login", &[]);
    shop.write("api/openspec/changes/login/.openspec.yaml", metadata);
    shop.git("web", &["branch", "feature/in"]);
    assert_eq!(shop.json(&["spec", "status", "login"])["phase"], "Done");
    let before = shop.files();
    let archived = shop.json(&["spec", "archive", "login"]);
    assert_eq!((&archived["repo"], &archived["name"]), (&json!("api"), &json!("login")));
    assert_eq!(archived["message"], "the branch 'feature/in' stays in web");
    assert_eq!(archived["branch_in"], json!(["web"]));
    let path = PathBuf::from(archived["archive_path"].as_str().expect("a path"));
    let name = path.file_name().expect("a name").to_str().expect("text").to_owned();
    let day = name.strip_suffix("-login").expect("the name");
    let said = fs::read_to_string(path.join(".openspec.yaml")).expect("the metadata");
    assert_eq!(said, metadata.replace("draft", "archived") + &format!("archived: {day}\n"));
    assert!(shop.git("web", &["branch", "--list", "feature/in"]).contains("feature/in"));
    // Everything else is unchanged in its new place.
    let moved = shop.files();
    for (file, bytes) in before.iter().filter(|(file, _)| file.ends_with(".md")) {
        let now = file.replace("changes/login", &format!("changes/archive/{name}"));
        assert_eq!(moved.get(&now), Some(bytes), "{now}");
    }
    assert_eq!(shop.json(&["spec", "status", "login"])["phase"], "Archived");
    // A second archive on the same day does not replace the first.
    shop.spec("api/openspec/changes/login", &[]);
    let before = shop.files();
    let (_, error) = shop.fails(&["spec", "archive", "api:login"]);
    assert_eq!(error["code"], "E_ALREADY_EXISTS");
    assert_eq!(shop.files(), before);
    let kinds: Vec<String> = shop.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| format!("{} {} {}", event["kind"], event["subject"], event["outcome"]).replace('"', ""))
        .collect();
    assert!(kinds.contains(&"spec.archive api:login ok".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"spec.archive api:login E_ALREADY_EXISTS".to_owned()), "{kinds:?}");
}

#[test]
fn an_interrupted_archive_is_completed() {
    let shop = Shop::new();
    shop.spec("openspec/changes/login", &[]);
    let half = "schema: spec-driven\ncreated: 2026-02-11\nstatus: archived\narchived: 2026-02-12\n";
    shop.write("openspec/changes/login/.openspec.yaml", half);
    let valid = shop.json(&["spec", "validate", "login"]);
    assert!(places(&valid, "warnings").contains(&".openspec.yaml".to_owned()), "{valid}");
    let archived = shop.json(&["spec", "archive", "login"]);
    let path = PathBuf::from(archived["archive_path"].as_str().expect("a path"));
    assert!(
        fs::read_to_string(path.join(".openspec.yaml")).expect("the metadata").starts_with("schema: spec-driven\n")
    );
}

#[test]
fn validation_separates_errors_from_open_work() {
    let shop = Shop::new();
    let design = format!("{DESIGN}\n### Decision 2\n\n**Choice:** b\n\nTODO\n\n## Open Questions\n\n- Which?\n");
    let tasks = "- [ ] a\n- [ ]\n";
    shop.spec("web/openspec/changes/login", &[("design.md", &design), ("tasks.md", tasks)]);
    let valid = shop.json(&["spec", "validate", "login"]);
    assert_eq!((&valid["repo"], &valid["result"]["valid"]), (&json!("web"), &json!(true)));
    assert_eq!((&valid["result"]["issues"], &valid["result"]["errors"]), (&json!([]), &json!([])));
    let expected = ["design.md:8", "design.md:16", "design.md:12", "tasks.md:1", "tasks.md:2", ".openspec.yaml"];
    assert_eq!(places(&valid, "warnings"), expected, "{valid:#}");
    let told = shop.run(&["spec", "validate", "login"]);
    assert!(told.status == 0 && told.stdout.ends_with('\n') && told.stdout.contains("tasks.md:1"), "{told}");
    assert_eq!(valid["result"]["warnings"][0]["file"], "web/openspec/changes/login/design.md");
    // Malformed metadata, a missing document, and one that is not text.
    shop.write("web/openspec/changes/login/.openspec.yaml", "schema: spec-driven\ncreated: soon\n");
    shop.write("web/openspec/changes/login/design.md", b"\xff\xfe");
    fs::remove_file(shop.root().join("web/openspec/changes/login/tasks.md")).expect("gone");
    let (_, error) = shop.fails(&["spec", "validate", "web:login"]);
    assert_eq!(places(&error["details"], "errors"), [".openspec.yaml:2", "design.md", "tasks.md"], "{error:#}");
    let issues = &error["details"]["result"]["issues"];
    assert_eq!(issues[2], "web/openspec/changes/login/tasks.md: is missing");
    let status = shop.json(&["spec", "status", "login"]);
    assert_eq!((&status["phase"], &status["has_tasks"]), (&json!("Draft"), &json!(false)));
}

#[test]
fn a_spec_tells_which_repositories_have_its_branch() {
    let shop = Shop::new();
    shop.spec("openspec/changes/login", &[]);
    assert_eq!(shop.json(&["spec", "status", "login"])["branches"], json!([]));
    for repo in ["api", "web"] {
        shop.git(repo, &["switch", "--quiet", "-c", "feature/login", "develop"]);
    }
    let branch = |repo: &str, local: bool, remote: bool, merged: bool| json!({ "repo_name": repo, "branch": "feature/login", "local": local, "remote": remote, "merged": merged });
    let branches = || shop.json(&["spec", "status", "login"])["branches"].clone();
    // The branch has no commit of its own yet, so nothing counts as merged.
    assert_eq!(branches(), json!([branch("api", true, false, false), branch("web", true, false, false)]));
    shop.git("api", &["commit", "--quiet", "--allow-empty", "-m", "work"]);
    shop.git("api", &["switch", "--quiet", "develop"]);
    shop.git("api", &["merge", "--quiet", "--no-ff", "feature/login"]);
    shop.git("web", &["update-ref", "refs/remotes/origin/feature/login", "feature/login"]);
    assert_eq!(branches(), json!([branch("api", true, false, true), branch("web", true, true, false)]));
    shop.git("web", &["switch", "--quiet", "--detach"]);
    shop.git("web", &["branch", "--quiet", "-D", "feature/login"]);
    assert_eq!(branches()[1], branch("web", false, true, false));
    // A repository that cannot be read is a warning and not an error.
    shop.write("web/.git/HEAD", "broken");
    let status = shop.json(&["spec", "status", "login"]);
    assert_eq!(status["branches"].as_array().map(Vec::len), Some(1), "{status}");
    assert!(status["warnings"][0].as_str().is_some_and(|warning| warning.contains("'web'")), "{status}");
}

#[test]
fn x27_the_current_branch_names_its_spec() {
    let shop = Shop::new();
    shop.spec("openspec/changes/login", &[]);
    shop.spec("openspec/changes/other", &[]);
    let (exit, error) = shop.fails(&["spec", "validate"]);
    assert_eq!((exit, &error["code"]), (2, &json!("E_INVALID_ARGUMENT")), "the root is not a repository");
    shop.git("api", &["switch", "--quiet", "-c", "feature/login", "develop"]);
    fs::create_dir_all(shop.root().join("api/src/deep")).expect("a folder");
    let ran = shop.run_in("api/src/deep", &["--json", "spec", "validate"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(ran.stdout.contains("_workspace:login"), "{ran}");
    let ran = shop.run_in("api", &["spec", "status"]);
    assert!(ran.stdout.starts_with("_workspace:login is Done: 2 of 2 tasks done"), "{ran}");
    // The same works inside a worktree of the repository.
    shop.git("web", &["worktree", "add", "--quiet", "-b", "feature/other", "../.worktrees/other/web", "develop"]);
    let ran = shop.run_in(".worktrees/other/web", &["--json", "spec", "tasks"]);
    assert!(ran.stdout.contains("_workspace:other"), "{ran}");
    // If the branch has no spec, status shows all specs.
    let all = shop.run_in("web", &["--json", "spec", "status"]).stdout;
    assert_eq!(all, shop.run(&["--json", "spec", "list"]).stdout);
    assert_eq!(all.matches("\"qualified\"").count(), 2, "{all}");
    shop.write("openspec/changes/other/.openspec.yaml", "branch: feature/login\n");
    let ran = shop.run_in("api", &["--json", "spec", "archive"]);
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stdout.contains("has several: _workspace:login, _workspace:other"), "{ran}");
}

#[test]
fn x11_names_of_specs_cannot_leave_the_folder_or_overwrite() {
    let shop = Shop::new();
    let before = shop.files();
    for name in ["../x", "a/b", "archive", ".x", "a..b", "a.lock", "", "api:../x", "api:"] {
        let (exit, error) = shop.fails(&["spec", "new", "--", name]);
        assert_eq!((exit, &error["code"]), (2, &json!("E_INVALID_ARGUMENT")), "{name}: {error}");
    }
    let (_, error) = shop.fails(&["spec", "new", "--", "-x"]);
    assert_eq!(error["code"], "E_INVALID_ARGUMENT");
    let (_, error) = shop.fails(&["spec", "new", "x", "--repo", "apii"]);
    assert_eq!(error["hints"], json!(["did you mean 'api'?"]));
    let shown = shop.json(&["spec", "new", "x", "--dry-run"]);
    assert_eq!(shown["dry_run"], true);
    assert_eq!(shop.files(), before, "nothing was written");
    shop.json(&["spec", "new", "x"]);
    let before = shop.files();
    let (exit, error) = shop.fails(&["spec", "new", "x"]);
    assert_eq!((exit, &error["code"]), (1, &json!("E_ALREADY_EXISTS")));
    assert_eq!(shop.files(), before);
}

#[test]
fn a_new_spec_goes_where_the_manifest_says() {
    let shop = Shop::new();
    assert_eq!(shop.json(&["spec", "new", "one"])["repo"], "_workspace");
    assert_eq!(shop.json(&["spec", "new", "one", "--repo", "api"])["repo"], "api");
    assert_eq!(shop.json(&["spec", "new", "web:one"])["repo"], "web");
    shop.write(
        ".smctl/workspace.toml",
        format!("{MANIFEST}smctl_home = true\n\n[spec]\nopenspec_dir = \"docs/specs\"\n"),
    );
    let made = shop.json(&["spec", "new", "two"]);
    assert_eq!(made["qualified"], "web:two");
    assert!(shop.root().join("web/docs/specs/changes/two/proposal.md").is_file());
    // A repository that is not cloned yet gets no folder.
    fs::rename(shop.root().join("web"), shop.root().join("away")).expect("a rename");
    let (_, error) = shop.fails(&["spec", "new", "three"]);
    assert_eq!(error["code"], "E_NOT_FOUND", "{error}");
    assert!(!shop.root().join("web").exists());
    // If the workspace's root is itself a repository, specs in the root belong to that repository.
    shop.write(
        ".smctl/workspace.toml",
        "[workspace]\nname = \"a\"\n[[repos]]\nname = \"a\"\nurl = \"https://example.org/a\"\npath = \".\"\n",
    );
    assert_eq!(shop.json(&["spec", "new", "four"])["qualified"], "a:four");
    let names: Vec<Value> = shop.json(&["spec", "list"])["specs"].as_array().expect("specs").clone();
    assert_eq!(names.len(), 2, "the one of before and the new one: {names:?}");
}

#[test]
fn a_spec_may_begin_with_its_feature() {
    let shop = Shop::new();
    let shown = shop.json(&["spec", "new", "login", "--start", "--dry-run"]);
    assert_eq!(shown["start"]["dry_run"], true, "{shown}");
    assert!(!shop.root().join("openspec").exists());
    assert_eq!(shop.git("api", &["branch", "--list", "feature/login"]), "");
    let made = shop.json(&["spec", "new", "login", "--start"]);
    assert_eq!(made["branches"].as_array().map(Vec::len), Some(2), "{made}");
    assert_eq!(made["start"]["repos"].as_array().map(Vec::len), Some(2), "{made}");
    assert_eq!(shop.git("web", &["branch", "--show-current"]), "feature/login\n");
    // A feature that cannot be started leaves no spec.
    let (_, error) = shop.fails(&["spec", "new", "login", "--start", "--repo", "api"]);
    assert_eq!(error["code"], "E_BRANCH_IN_USE", "{error}");
    assert!(!shop.root().join("api/openspec").exists());
}

#[test]
#[cfg(unix)]
fn x35_links_out_of_the_workspace_are_refused() {
    use std::os::unix::fs::symlink;
    let shop = Shop::new();
    shop.spec("openspec/changes/login", &[]);
    let outside = shop.scratch.path().join("outside");
    shop.scratch.file("outside/changes/evil/proposal.md", "secret\n");
    shop.scratch.file("outside/design.md", format!("secret\n{DESIGN}"));
    // The folder `openspec` of a repository is a link.
    symlink(&outside, shop.root().join("api/openspec")).expect("a link");
    let (_, error) = shop.fails(&["spec", "status", "api:evil"]);
    assert_eq!(error["code"], "E_IO_INVALID_PATH", "{error}");
    let (_, error) = shop.fails(&["spec", "new", "x", "--repo", "api"]);
    assert_eq!(error["code"], "E_IO_INVALID_PATH", "{error}");
    let (_, error) = shop.fails(&["spec", "status", "evil"]);
    assert_eq!(error["code"], "E_IO_INVALID_PATH", "{error}");
    let all = shop.json(&["spec", "list"]);
    assert_eq!(all["specs"].as_array().map(Vec::len), Some(1), "{all}");
    assert!(all["warnings"][0].as_str().is_some_and(|warning| warning.contains("'api'")), "{all}");
    // First a spec is a link, and then one of its documents is.
    symlink(outside.join("changes/evil"), shop.root().join("openspec/changes/evil")).expect("a link");
    fs::remove_file(shop.root().join("api/openspec")).expect("gone");
    let (_, error) = shop.fails(&["spec", "validate", "evil"]);
    assert_eq!(error["code"], "E_NOT_FOUND", "{error}");
    let design = shop.root().join("openspec/changes/login/design.md");
    fs::remove_file(&design).expect("gone");
    symlink(outside.join("design.md"), &design).expect("a link");
    let (_, error) = shop.fails(&["spec", "validate", "login"]);
    assert_eq!(places(&error["details"], "errors"), ["design.md"], "{error}");
    let refused = spec::document(&shop.workspace(), "login", Which::Design).expect_err("a link");
    assert_eq!(refused.code(), Code::InvalidPath);
    // The archive is a link: the spec stays where it is.
    let before = shop.files();
    symlink(&outside, shop.root().join("openspec/changes/archive")).expect("a link");
    let (_, error) = shop.fails(&["spec", "archive", "login", "--force"]);
    assert_eq!(error["code"], "E_IO_INVALID_PATH", "{error}");
    fs::remove_file(shop.root().join("openspec/changes/archive")).expect("gone");
    assert_eq!(shop.files(), before);
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 2);
}

#[test]
fn x36_documents_are_read_to_the_byte() {
    let shop = Shop::new();
    let text = "\u{feff}# Tasks\r\n\r\n- [x] é\t \n\n\n<!-- a -->";
    shop.spec("openspec/changes/login", &[("tasks.md", text)]);
    let workspace = shop.workspace();
    assert_eq!(spec::document(&workspace, "login", Which::Tasks).expect("a text"), text);
    assert_eq!(spec::document(&workspace, "_workspace:login", Which::Proposal).expect("a text"), PROPOSAL);
    fs::remove_file(shop.root().join("openspec/changes/login/design.md")).expect("gone");
    let missing = spec::document(&workspace, "login", Which::Design).expect_err("none");
    assert_eq!(missing.code(), Code::NotFound);
    assert_eq!(spec::document(&workspace, "logi", Which::Tasks).expect_err("none").code(), Code::NotFound);
    shop.spec("api/openspec/changes/login", &[]);
    shop.spec("api/openspec/changes/other", &[]);
    shop.spec("api/openspec/changes/archive/2026-01-01-old", &[]);
    assert_eq!(spec::names(&workspace), ["_workspace:login", "api:login", "other"]);
}

#[test]
fn agents_create_check_and_archive_specs() {
    let shop = Shop::new();
    let mut server = shop.scratch.command();
    let mut client = Client::spawn(server.current_dir(shop.root()).arg("serve")).shake_hands("2025-06-18");
    let mut call =
        |tool: &str, arguments: Value| client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
    let made = call("smctl_spec_new", json!({ "name": "login" }));
    assert_eq!(made["result"]["structuredContent"]["qualified"], "_workspace:login", "{made}");
    for (tool, arguments) in [
        ("smctl_spec_archive", json!({ "name": "login", "force": true })),
        ("smctl_spec_new", json!({ "name": "other", "dry_run": true })),
        ("smctl_spec_new", json!({ "name": "other", "repo": "api" })),
        ("smctl_spec_validate", json!({})),
        ("smctl_spec_archive", json!({})),
    ] {
        let refused = call(tool, arguments);
        assert_eq!(refused["error"]["code"], -32602, "{tool}: {refused}");
    }
    let invalid = call("smctl_spec_validate", json!({ "name": "login" }));
    let (code, data) = (&invalid["error"]["code"], &invalid["error"]["data"]);
    assert_eq!((code, &data["code"]), (&json!(-32003), &json!("E_SPEC_INVALID")), "{invalid}");
    assert_eq!((&data["qualified"], &data["result"]["valid"]), (&json!("_workspace:login"), &json!(false)));
    let message = invalid["error"]["message"].as_str().expect("a message");
    assert!(message.contains("openspec/changes/login/proposal.md:3: the section 'Why' is empty"), "{message}");
    shop.spec("openspec/changes/login", &[]);
    let valid = call("smctl_spec_validate", json!({ "name": "login" }));
    assert_eq!(valid["result"]["structuredContent"]["result"]["valid"], true, "{valid}");
    let all = call("smctl_spec_status", json!({}));
    assert_eq!(all["result"]["structuredContent"], shop.json(&["spec", "list"]), "{all}");
    let archived = call("smctl_spec_archive", json!({ "name": "login" }));
    let path = archived["result"]["structuredContent"]["archive_path"].as_str().expect("a path");
    assert!(Path::new(path).is_dir(), "{archived}");
    assert!(!shop.root().join("openspec/changes/other").exists());
}
