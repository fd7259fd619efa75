//! Tests that agentpack's defects D24, D25 and D27 to D32 are fixed: what a deploy does, stores and applies.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::deploy::answers::{checked, tool, tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::finds;

#[test]
fn d24_a_deploy_stores_only_what_changed() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    let text = |number: usize| format!("{number}\n").repeat(3000);
    for number in 0..60 {
        place.write(&format!("src/.claude/skills/big/f{number:02}.md"), text(number));
    }
    place.write("src/.claude/skills/big/SKILL.md", "---\nname: big\ndescription: Big\n---\nBig.\n");
    place.ok(&["import", &place.scratch.path().join("src/.claude").display().to_string()]);
    place.deploy(&[]);
    let size = || {
        let files = std::fs::read_dir(place.scratch.path()).expect("a folder").map(|entry| entry.expect("an entry"));
        let of_database = files.filter(|entry| entry.file_name().to_string_lossy().starts_with("test.db"));
        of_database.map(|entry| entry.metadata().expect("metadata").len()).sum::<u64>()
    };
    let before = size();
    for round in 0..10 {
        place.prompt("ship", &format!("Ship it {round}.\n"));
        place.deploy(&[]);
    }
    let grown = size() - before;
    let whole: usize = (0..60).map(|number| text(number).len()).sum();
    assert!(grown < 2 * whole as u64, "ten deploys of one small file took {grown} bytes; all files have {whole}");
}

/// Puts a script named `git` first on the PATH. It logs its arguments, runs `more`, and then runs git. Returns the
/// PATH.
fn watched_git(place: &Place, more: &str) -> String {
    let git = finds("git").expect("git").display().to_string();
    let log = place.scratch.path().join("git.log").display().to_string();
    let script = format!("#!/bin/sh\necho \"$*\" >> '{log}'\n{more}\nexec '{git}' \"$@\"\n");
    let shim = place.write("bin/git", script);
    std::fs::set_permissions(shim, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    format!("{}:{}", place.scratch.path().join("bin").display(), std::env::var("PATH").expect("a PATH"))
}

#[test]
fn d25_each_module_is_composed_once_for_all_targets() {
    let mut asked = Vec::new();
    for targets in
        [&["codex: project"][..], &["codex: project", "cursor: project", "vscode: project", "claude_code: both"]]
    {
        let place = Place::with_git_source(targets);
        let path = watched_git(&place, "");
        let repo = place.repo().display().to_string();
        let ran = place.scratch.finish(place.command().env("PATH", path).args(["plan", "--repo", &repo]));
        assert_eq!(ran.status, 0, "{ran}");
        asked.push(place.read("git.log").lines().filter(|line| line.contains("ls-remote")).count());
    }
    assert_eq!(asked, [1, 1], "a branch is looked up once, for one target and for four");
}

#[test]
fn d27_a_token_outlives_the_server_that_issued_it() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    client.finish();
    let mut client = place.server(&["--as", "agentpack"]);
    let data = tool_data(&mut client, "deploy_apply", json!({ "confirm_token": token, "yes": true }));
    assert_eq!(data["applied"], true);
    client.finish();
}

#[test]
fn d28_omitted_arguments_mean_the_same_as_their_defaults() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let whole = json!({ "profile": "default", "target": "all", "machine": "box", "dry_run": false });
    let (short, long) = (tool_data(&mut client, "deploy", json!({})), tool_data(&mut client, "deploy", whole.clone()));
    assert_eq!(short["confirm_plan_hash"], long["confirm_plan_hash"]);
    let mut apply = whole;
    apply["confirm_token"] = short["confirm_token"].clone();
    apply["yes"] = json!(true);
    assert_eq!(tool_data(&mut client, "deploy_apply", apply)["applied"], true);
    client.finish();
}

#[test]
fn d29_exactly_the_plan_that_was_confirmed_is_applied() {
    let place = Place::with_git_source(&["cursor: project"]);
    let repo = place.repo().display().to_string();
    let token = place.data(&["deploy", "--repo", &repo])["confirm_token"].clone();
    // While the apply looks up the branch of the last module, somebody changes the first module, which the apply has
    // already read.
    let module = place.repo().join("modules/instructions_a/AGENTS.md");
    let change = format!("case \"$*\" in *ls-remote*) echo Unreviewed > '{}';; esac", module.display());
    let path = watched_git(&place, &change);
    let apply = ["--json", "deploy", "--apply", "--yes", "--repo", &repo, "--confirm-token", word(&token)];
    let ran = place.scratch.finish(place.command().env("PATH", path).args(apply));
    let envelope: Value = serde_json::from_str(&ran.stdout).expect("an envelope");
    assert_eq!(place.read("repo/modules/instructions_a/AGENTS.md"), "Unreviewed\n", "the change came in time");
    let rule = "root/.cursor/rules/instructions_a--1b59cb31ea.mdc";
    if envelope["ok"] == true {
        assert!(place.read(rule).ends_with("Reviewed\n") && !place.read(rule).contains("Unreviewed"), "{ran}");
    } else {
        assert_eq!(envelope["errors"][0]["code"], "E_CONFIRM_TOKEN_MISMATCH", "{ran}");
        assert!(!place.exists(rule), "{ran}");
    }
}

#[test]
fn d30_of_several_applies_with_one_token_one_wins() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    let call = json!({ "name": "deploy_apply", "arguments": { "confirm_token": token, "yes": true } });
    let ids: Vec<i64> = (0..4).map(|_| client.post("tools/call", call.clone())).collect();
    let answers: Vec<Value> =
        ids.iter().map(|id| checked("deploy_apply", &client.answer(&json!(id))["result"])).collect();
    let won = answers.iter().filter(|envelope| envelope["ok"] == true).count();
    assert_eq!(won, 1, "{answers:#?}");
    for refused in answers.iter().filter(|envelope| envelope["ok"] == false) {
        let code = word(&refused["errors"][0]["code"]);
        assert!(matches!(code, "E_CONFIRM_TOKEN_MISMATCH" | "E_DEPLOY_IN_PROGRESS"), "{refused:#}");
    }
    client.finish();
}

#[test]
fn d31_a_plan_that_fails_gives_no_token() {
    let place = Place::with_repo(&["codex: project"], &[("skill:s", "no front matter\n")]);
    let mut client = place.server(&["--as", "agentpack"]);
    let envelope = tool(&mut client, "deploy", place.arguments(json!({})));
    assert_eq!((&envelope["ok"], &envelope["data"]), (&json!(false), &json!({})), "{envelope:#}");
    assert!(!envelope.to_string().contains("confirm_token\""), "{envelope:#}");
    client.finish();
}

#[test]
fn d32_without_yes_a_dry_run_is_refused_too() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    for arguments in [json!({ "dry_run": true }), json!({ "dry_run": true, "yes": false, "confirm_token": "x" })] {
        let error = tool_refused(&mut client, "deploy_apply", arguments, "E_CONFIRM_REQUIRED");
        assert_eq!(error["details"]["command"], "deploy --apply", "{error:#}");
    }
    let data = tool_data(&mut client, "deploy_apply", json!({ "dry_run": true, "yes": true }));
    assert_eq!((&data["applied"], &data["reason"]), (&json!(false), &json!("dry_run")));
    client.finish();
}
