//! Tests which source a command uses, and where it deploys to.

use mcpkg_deploy::targets::Target;
use serde_json::json;

use crate::deploy::answers::{tool, tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::Client;

#[test]
fn a_named_repo_wins_over_the_selected_project() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "Of the repo\n")]);
    let repo = place.repo().display().to_string();
    // --repo works in a new database without any project.
    assert_eq!(place.planned(&["--repo", &repo]), ["create root/AGENTS.md"]);
    place.refused(&["plan"], "E_NO_PROJECT");
    place.ok(&["project", "create", "p"]);
    place.prompt("review", "Review.\n");
    assert!(place.planned(&[]).contains(&"create root/.claude/commands/review.md".to_owned()));
    assert_eq!(place.planned(&["--repo", &repo]), ["create root/AGENTS.md"]);
    let error = place.refused(&["-p", "p", "plan", "--repo", &repo], "E_INVALID_ARGUMENT");
    assert!(word(&error["message"]).contains("--repo") && word(&error["message"]).contains("--project"), "{error:#}");
    assert_eq!(place.run(&["-p", "p", "plan", "--repo", &repo]).status, 2);
}

#[test]
fn as_agentpack_the_default_repo_wins_over_the_selected_project() {
    let place = Place::with_project();
    let repo = place.repo();
    place.declare(&["codex: project"], &[("instructions:a", "Of the repo\n")]);
    let targets = |client: &mut Client| tool_data(client, "plan", json!({}))["targets"].clone();
    // There is no repo in agentpack's default folder, so the project is used.
    let mut client = place.server(&["--as", "agentpack"]);
    assert_eq!(targets(&mut client), json!(Target::contract_names()));
    client.finish();
    std::fs::create_dir(place.scratch.path().join("agentpack")).expect("a folder");
    std::fs::rename(repo, place.scratch.path().join("agentpack/repo")).expect("moved");
    for (arguments, expected) in [
        (&["--as", "agentpack"][..], json!(["codex"])),
        (&[], json!(["claude_code", "codex", "cursor", "vscode"])),
        (&["--as", "agentpack", "--project", "p"], json!(["claude_code", "codex", "cursor", "vscode"])),
    ] {
        let mut client = place.server(arguments);
        assert_eq!(targets(&mut client), expected, "{arguments:?}");
        client.finish();
    }
    // Without any project, the default repo is used too.
    place.ok(&["project", "delete", "p", "--yes"]);
    assert_eq!(place.planned(&[]), ["create root/AGENTS.md"]);
}

#[test]
fn a_server_in_the_home_folder_needs_a_root_for_project_files() {
    let place = Place::with_project();
    place.declare(&["codex: user", "cursor: project"], &[("instructions:a", "A\n")]);
    for folder in [place.home(), place.home().join(".codex")] {
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut server = place.command();
        let mut client = Client::spawn(server.arg("serve").current_dir(&folder)).shake_hands("2025-06-18");
        let error = tool_refused(&mut client, "plan", json!({}), "E_ROOT_REQUIRED");
        assert!(error["details"]["next_actions"].is_array(), "{error:#}");
        tool_refused(&mut client, "plan", place.arguments(json!({})), "E_ROOT_REQUIRED");
        // Files for the home folder need no root.
        let data = tool_data(&mut client, "plan", place.arguments(json!({ "target": "codex" })));
        assert_eq!(data["root"], json!(place.home()));
        assert_eq!(data["changes"][0]["path"], ".codex/AGENTS.md");
        client.finish();
    }
}

#[test]
fn a_folder_bound_to_the_project_is_its_root_wherever_the_command_starts() {
    let place = Place::with_project();
    place.ok(&["project", "select", "p", "--here"]);
    std::fs::create_dir_all(place.root().join("deep/down")).expect("a folder");
    for folder in [place.root().join("deep/down"), place.home(), place.scratch.path().to_path_buf()] {
        let output = place.command().args(["--json", "plan"]).current_dir(&folder).output().expect("mcpkg starts");
        let envelope: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an envelope");
        let changes = envelope["data"]["changes"].as_array().unwrap_or_else(|| panic!("{envelope:#}"));
        let paths: Vec<String> = changes.iter().map(|change| place.short(word(&change["path"]))).collect();
        assert!(paths.iter().all(|path| path.starts_with("root/.") || path == "root/AGENTS.md"), "{paths:?}");
    }
}

#[test]
fn overlays_apply_by_machine_and_project() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "Upstream\n")]);
    place.git(&place.root(), &["init", "-q"]);
    place.git(&place.root(), &["remote", "add", "origin", "git@example.com:own/app.git"]);
    place.commit();
    let repo = place.repo().display().to_string();
    place.deploy_repo();
    // A proposal for a machine applies only on that machine. A proposal for a project applies in all its clones.
    for (scope, expected) in [("machine", "Of the machine\n"), ("project", "Of the project\n")] {
        place.write("root/AGENTS.md", expected);
        let data = place.of_repo(&["evolve", "propose", "--overlay", scope, "--yes"]);
        assert_eq!(data["scope"], scope, "{data:#}");
        place.git(&place.repo(), &["merge", "-q", "--ff-only", word(&data["branch"])]);
        assert_eq!(place.planned(&["--repo", &repo]), [""; 0], "{scope}");
        place.data(&["deploy", "--apply", "--yes", "--repo", &repo]);
    }
    let explained = |more: &[&str]| {
        let words = [&["explain", "plan", "--repo", &repo][..], more].concat();
        place.data(&words)["changes"][0]["modules"][0]["layer"].clone()
    };
    let other = place.scratch.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let other = ["--root", other.to_str().expect("UTF-8")];
    assert_eq!(explained(&other), "machine");
    assert_eq!(explained(&[&other[..], &["--machine", "another"]].concat()), "upstream");
    let clone = place.scratch.path().join("clone");
    std::fs::create_dir(&clone).expect("a folder");
    place.git(&clone, &["init", "-q"]);
    place.git(&clone, &["remote", "add", "origin", "https://example.com/own/app"]);
    assert_eq!(explained(&["--root", clone.to_str().expect("UTF-8")]), "project");
}

#[test]
fn every_next_action_is_a_command() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.write("root/.claude/commands/review.md", "Edited.\n");
    std::fs::remove_file(place.root().join(".claude/skills/tidy/SKILL.md")).expect("a file");
    let mut client = place.server(&["--as", "agentpack"]);
    let status = tool(&mut client, "status", json!({}));
    let proposal = tool(&mut client, "evolve_propose", json!({ "dry_run": true }));
    let lists = [&status["data"]["next_actions"], &proposal["data"]["skipped"][0]["next_actions"]];
    for action in lists.into_iter().flat_map(|list| list.as_array().expect("actions")) {
        let words = word(action).split(' ');
        if let Err(error) = mcpkg::cli::command().try_get_matches_from(words) {
            panic!("{action}: {error}");
        }
    }
    client.finish();
}

#[test]
fn prompt_files_are_written_on_request_and_removed_without_it() {
    let place = Place::with_project();
    place.prompt("old", "As before.\n");
    let file = "root/.github/prompts/old.prompt.md";
    assert!(!place.planned(&[]).iter().any(|line| line.ends_with(file)));
    let plan = place.envelope(&["plan", "--prompt-files"]);
    assert!(plan["warnings"].to_string().contains("no longer loads prompt files"), "{plan:#}");
    place.deploy(&["--prompt-files"]);
    assert_eq!(place.read(file), "As before.\n");
    assert_eq!(place.planned(&["--prompt-files"]), [""; 0]);
    let gone = place.planned(&[]);
    assert!(gone.contains(&format!("delete {file}")), "{gone:?}");
}
