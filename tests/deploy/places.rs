//! Tests that agentpack's defects D1, D2 and D6 to D9 are fixed: which files belong to which deploy.

use mcpkg_deploy::targets::Target;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

#[test]
fn d01_a_deploy_in_one_root_leaves_the_files_of_another_alone() {
    let place =
        Place::with_repo(&["codex: both", "cursor: project"], &[("instructions:a", "A\n"), ("prompt:p", "P\n")]);
    place.deploy_repo();
    let first = place.tree();
    assert!(first.contains_key("root/AGENTS.md") && first.contains_key("home/.codex/prompts/p.md"), "{first:?}");

    // Deploy a smaller version of the repo to another root, and then a project to a third root.
    place.declare(&["codex: project"], &[("instructions:a", "A\n")]);
    let (repo, other) = (place.repo().display().to_string(), place.scratch.path().join("other"));
    std::fs::create_dir(&other).expect("a folder");
    let elsewhere = ["--root", other.to_str().expect("UTF-8")];
    let planned = place.planned(&[&["--repo", &repo][..], &elsewhere].concat());
    assert_eq!(planned, ["create other/AGENTS.md"]);
    place.deploy(&[&["--repo", &repo][..], &elsewhere].concat());
    assert_eq!(place.tree(), first);

    place.ok(&["project", "create", "p"]);
    place.instructions("style", "S\n");
    let third = place.scratch.path().join("third");
    std::fs::create_dir(&third).expect("a folder");
    place.deploy(&["--root", third.to_str().expect("UTF-8")]);
    assert_eq!(place.tree(), first);
    assert_eq!(place.read("other/AGENTS.md"), "A\n");
}

#[test]
fn d02_the_first_deploy_can_be_undone_and_adopted_originals_come_back() {
    let place = Place::with_repo(&["codex: project", "cursor: project"], &[("instructions:a", "Ours\n")]);
    place.write("root/AGENTS.md", "The user's own.\n");
    place.write("root/notes.txt", "Not ours.\n");
    let before = place.tree();
    let repo = place.repo().display().to_string();
    place.refused(&["deploy", "--apply", "--yes", "--repo", &repo], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.tree(), before);
    place.deploy(&["--repo", &repo, "--adopt"]);
    assert_eq!(place.read("root/AGENTS.md"), "Ours\n");
    // After several deploys, the original can still be restored.
    place.module("instructions:a", "Ours, changed\n");
    place.deploy_repo();
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before, "folders that the deploy made are gone too");
}

#[test]
fn a_missing_root_is_forgotten_only_with_the_forget_flag() {
    let place = Place::with_project();
    place.write("root/.claude/commands/review.md", "Written by hand.\n");
    let before = place.tree();
    place.deploy(&["--adopt"]);
    let deployed = place.tree();
    let (root, away) = (place.root(), place.scratch.path().join("away"));
    let root_text = root.canonicalize().expect("a root").display().to_string();
    std::fs::rename(&root, &away).expect("its disk goes");
    let rollback = ["rollback", "--root", &root_text, "--to", "pristine", "--yes"];
    let from_home = |arguments: &[&str]| {
        let mut command = place.command();
        place.scratch.finish(command.current_dir(place.home()).args(arguments))
    };
    let refused = from_home(&rollback);
    assert!(refused.status == 2 && refused.stderr.contains("--forget"), "{refused}");
    std::fs::rename(&away, &root).expect("its disk comes back");
    assert_eq!(place.tree(), deployed);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
    // With --forget, the user confirms that the root is gone for good.
    place.deploy(&["--adopt"]);
    std::fs::remove_dir_all(&root).expect("it is gone");
    let delete = ["project", "delete", "p", "--yes"];
    assert_eq!(from_home(&delete).status, 1);
    let forgotten = from_home(&[&rollback[..], &["--forget"]].concat());
    assert_eq!(forgotten.status, 0, "{forgotten}");
    let deleted = from_home(&delete);
    assert_eq!(deleted.status, 0, "{deleted}");
}

#[test]
fn d06_a_rollback_keeps_what_it_overwrites_and_can_be_rolled_back() {
    let place = Place::with_project();
    let first = place.deploy(&[]);
    place.prompt("review", "Review twice.\n");
    place.deploy(&[]);
    place.write("root/.claude/commands/review.md", "Edited by hand.\n");
    let edited = place.tree();
    let envelope = place.envelope(&["rollback", "--to", &first, "--yes", "--adopt"]);
    assert!(word(&envelope["warnings"][0]).contains("review.md"), "{envelope:#}");
    assert!(!place.read("root/.claude/commands/review.md").contains("by hand"));
    let event = word(&envelope["data"]["event_snapshot_id"]).to_owned();
    place.data(&["rollback", "--to", &event, "--yes"]);
    assert_eq!(place.tree(), edited);
}

#[test]
fn d07_a_dry_run_of_a_rollback_writes_nothing_and_a_rollback_needs_yes() {
    let place = Place::with_project();
    place.deploy(&[]);
    let deployed = place.tree();
    let snapshots = place.data(&["snapshot", "list"]);
    let data = place.data(&["rollback", "--to", "pristine", "--dry-run", "--yes"]);
    assert!(data["summary"]["delete"].as_u64() > Some(0), "it shows what would go: {data:#}");
    assert_eq!(data["event_snapshot_id"], serde_json::Value::Null);
    let ran = place.run(&["rollback", "--to", "pristine"]);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("--yes"), "{ran}");
    place.refused(&["rollback", "--to", "pristine"], "E_CONFIRM_REQUIRED");
    // An unknown snapshot is reported before a missing --yes.
    place.refused(&["rollback", "--to", "xyz"], "E_SNAPSHOT_NOT_FOUND");
    assert_eq!(place.tree(), deployed);
    assert_eq!(place.data(&["snapshot", "list"]), snapshots);
}

#[test]
fn d08_rolling_back_to_a_snapshot_of_one_target_leaves_the_others_alone() {
    let place = Place::with_repo(&["codex: project", "cursor: project"], &[("instructions:a", "One\n")]);
    let repo = place.repo().display().to_string();
    let codex = place.deploy(&["--repo", &repo, "--target", "codex"]);
    place.module("instructions:a", "Two\n");
    place.deploy_repo();
    let rule = "root/.cursor/rules/instructions_a--1b59cb31ea.mdc";
    assert!(place.read(rule).ends_with("Two\n"));
    place.of_repo(&["rollback", "--to", &codex, "--yes"]);
    assert_eq!(place.read("root/AGENTS.md"), "One\n");
    assert!(place.read(rule).ends_with("Two\n"), "cursor was not part of that snapshot");
    assert_eq!(place.drift(&["--repo", &repo, "--target", "cursor"]), [""; 0]);
}

#[test]
fn d09_a_deploy_leaves_another_sources_files_in_the_same_folder_alone() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.ok(&["project", "create", "q"]);
    place.ok(&["-p", "q", "prompt", "create", "ship", "Ship it.\n"]);
    let planned = place.planned(&["-p", "q"]);
    assert!(planned.iter().all(|line| line.starts_with("create ")), "{planned:?}");
    place.deploy(&["-p", "q"]);
    assert!(place.exists("root/.claude/commands/review.md") && place.exists("root/.claude/commands/ship.md"));
    // Deleting a project's file leaves the other project's files alone.
    place.ok(&["prompt", "delete", "review"]);
    assert!(place.planned(&[]).iter().all(|line| line.ends_with("review.md") || line.contains("review/SKILL.md")));
    place.deploy(&["-p", "p"]);
    assert!(!place.exists("root/.claude/commands/review.md") && place.exists("root/.claude/commands/ship.md"));
    // A file that both projects want belongs to the project that deployed it first. The other one needs `--adopt`.
    place.ok(&["-p", "q", "prompt", "create", "both", "Of q.\n"]);
    place.deploy(&["-p", "q"]);
    place.prompt("both", "Of p.\n");
    let error = place.refused(&["-p", "p", "deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert!(word(&error["message"]).contains("both"), "{error}");
    assert_eq!(place.read("root/.claude/commands/both.md"), "Of q.\n");
}

#[test]
fn a_shared_file_is_removed_with_the_last_target_that_was_deployed() {
    let place = Place::with_project();
    let skill = "root/.agents/skills/tidy/SKILL.md";
    let targets_of = |data: &serde_json::Value| {
        let changes = data["changes"].as_array().expect("changes").clone();
        let change = changes.into_iter().find(|change| word(&change["path"]).ends_with("tidy/SKILL.md"));
        change.map(|change| (word(&change["target"]).to_owned(), change["targets"].clone()))
    };
    let plan = place.data(&["plan", "--target", "vscode"]);
    assert_eq!(targets_of(&plan), Some(("vscode".to_owned(), serde_json::json!(["vscode"]))), "{plan:#}");
    place.deploy(&["--target", "vscode"]);
    // Codex already has the same file, so its deploy only claims it.
    place.data(&["deploy", "--apply", "--yes", "--target", "codex"]);
    place.ok(&["module", "remove", "skill:tidy"]);
    place.data(&["deploy", "--apply", "--yes", "--target", "vscode"]);
    assert!(place.exists(skill), "codex still has it");
    place.deploy(&["--target", "codex"]);
    assert!(!place.exists(skill), "the last one let go");
}

#[test]
fn next_actions_name_the_same_place() {
    let place = Place::with_project();
    let other = place.scratch.path().join("other root");
    std::fs::create_dir(&other).expect("a folder");
    let words = ["-p", "p", "--machine", "another", "--root", other.to_str().expect("UTF-8")];
    let data = place.data(&[&["status"][..], &words].concat());
    let actions = data["next_actions_detailed"].as_array().expect("actions");
    let deploy = actions.iter().find(|action| action["action"] == "deploy_apply").expect("a deploy");
    let expected =
        format!("mcpkg deploy --apply --project p --root '{}' --machine another --yes --json", other.display());
    assert_eq!(deploy["command"], expected.as_str());
    // The command works: after it, nothing has drifted there.
    let line = word(&deploy["command"]).replacen("mcpkg", crate::support::BINARY, 1);
    let mut shell = place.command_under(&["sh", "-c", &line]);
    assert_eq!(place.scratch.finish(&mut shell).status, 0, "{line}");
    assert_eq!(place.drift(&words), [""; 0]);
    assert_eq!(place.files(), [""; 0], "nothing was written here");
}

#[test]
fn rolling_back_one_target_leaves_files_that_others_read() {
    let place = Place::with_project();
    let before = place.tree();
    place.deploy(&[]);
    place.data(&["rollback", "--to", "pristine", "--target", "cursor", "--yes"]);
    assert!(!place.exists("root/.cursor"));
    assert!(place.exists("root/AGENTS.md") && place.exists("root/.agents/skills/tidy/SKILL.md"));
    assert_eq!(place.planned(&["--target", "codex"]), [""; 0]);
    let names = Target::contract_names();
    let (last, others) = names.split_first().expect("a target");
    for target in others.iter().chain([last]).copied().filter(|name| *name != "cursor") {
        place.data(&["rollback", "--to", "pristine", "--target", target, "--yes"]);
    }
    assert_eq!(place.tree(), before, "the last one takes it with it");
}

#[test]
fn pristine_removes_the_files_of_a_target_that_is_no_longer_configured() {
    let place = Place::with_repo(&["codex: project", "cursor: project"], &[("instructions:a", "A\n")]);
    let before = place.tree();
    place.deploy_repo();
    place.declare(&["codex: project"], &[("instructions:a", "A\n")]);
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn d08_a_later_file_of_two_targets_stays_for_the_one_that_is_not_rolled_back() {
    let place = Place::with_project();
    place.ok(&["module", "remove", "skill:tidy"]);
    let cursor = place.deploy(&["--target", "cursor"]);
    place.ok(&["module", "add", "skill:tidy"]);
    place.instructions("style", "Be kind.\n");
    place.deploy(&[]);
    place.data(&["rollback", "--to", &cursor, "--yes"]);
    assert!(place.exists("root/.agents/skills/tidy/SKILL.md"), "codex reads it");
    assert!(place.exists("root/.agents/skills/review/SKILL.md") && place.exists("root/.claude/commands/review.md"));
    // A shared file can have only one text. After the rollback, it is the snapshot's text, also for Codex.
    assert!(place.read("root/AGENTS.md").contains("Be brief."));
    place.data(&["rollback", "--to", "pristine", "--target", "cursor", "--yes"]);
    assert!(place.exists("root/AGENTS.md"), "codex reads it");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.files(), [""; 0]);
}
