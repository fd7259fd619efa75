//! Tests that agentpack's defects D3 to D5 and D10 to D12 are fixed: which files are written.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use serde_json::json;

use crate::deploy::answers::word;
use crate::deploy::place::{Place, Tree};
use crate::support::{Mount, eventually, is_root, skipped};

/// Returns a project with a skill of this many files.
fn with_many_files(count: usize) -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    for number in 0..count {
        place.write(&format!("src/.claude/skills/big/f{number:03}.md"), format!("{number}\n"));
    }
    place.write("src/.claude/skills/big/SKILL.md", "---\nname: big\ndescription: Big\n---\nBig.\n");
    place.ok(&["import", &place.scratch.path().join("src/.claude").display().to_string()]);
    place
}

#[test]
fn d03_any_next_command_undoes_a_killed_deploy() {
    let place = with_many_files(150);
    let before = place.tree();
    let whole: usize = place.planned(&[]).len();
    let mut deploy = place.command();
    let mut deploy = deploy
        .args(["deploy", "--apply", "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("mcpkg starts");
    eventually("a file is written", || {
        (place.files().len() > before.len() || deploy.try_wait().expect("a child").is_some()).then_some(())
    });
    deploy.kill().expect("a kill");
    deploy.wait().expect("an end");
    place.ok(&["project", "list"]);
    let after = place.tree();
    let count = place.files().len();
    assert!(after == before || count == whole, "neither before nor after: {count} of {whole} files");
    // In both cases the written files are mcpkg's own, so the deploy does not need `--adopt`.
    let data = place.data(&["deploy", "--apply", "--yes"]);
    assert_eq!(data["applied"], after == before, "{data:#}");
    assert_eq!(place.files().len(), whole);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn d04_a_deploy_that_fails_in_the_middle_leaves_nothing_behind() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.ok(&["module", "set", "command:review", "--targets", "claude_code,cursor"]);
    place.prompt("review", "Review again.\n");
    place.instructions("style", "Be brief and kind.\n");
    let closed = place.root().join(".cursor/commands");
    let before = place.tree();
    let _mount = if is_root() {
        // Mount a read-only folder that already contains the same file.
        let Some(mount) = Mount::in_memory("1m", &closed) else { return skipped("nothing can be mounted") };
        std::fs::write(closed.join("review.md"), "Review the change.\n").expect("a file");
        std::fs::set_permissions(closed.join("review.md"), std::fs::Permissions::from_mode(0o644)).expect("a mode");
        mount.remount("ro");
        Some(mount)
    } else {
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).expect("a mode");
        None
    };
    let envelope = place.envelope(&["deploy", "--apply", "--yes"]);
    let error = &envelope["errors"][0];
    assert_eq!(envelope["ok"], false, "{envelope:#}");
    assert!(word(&error["message"]).contains("review.md"), "{error:#}");
    assert_eq!(place.tree(), before);
    let states = place.data(&["snapshot", "list", "--all"]);
    assert_eq!(states["snapshots"][0]["state"], "undone", "{states:#}");
    if !is_root() {
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

#[test]
fn a_plan_reports_a_file_where_a_folder_is_needed() {
    let place = Place::with_project();
    let file = place.root().join(".cursor");
    std::fs::write(&file, "the user's\n").expect("a file");
    let before = place.tree();
    for command in [&["plan"][..], &["deploy", "--apply", "--yes"]] {
        let error = place.refused(command, "E_IO_INVALID_PATH");
        assert!(word(&error["message"]).contains("/.cursor` is not a folder, but `"), "{error:#}");
    }
    assert_eq!(place.tree(), before);
    std::fs::remove_file(&file).expect("a file");
    place.deploy(&[]);
}

#[test]
fn d05_a_users_edit_is_neither_overwritten_nor_deleted_without_adopt() {
    let place = Place::with_project();
    place.deploy(&[]);
    let edited = "root/.claude/commands/review.md";
    place.write(edited, "Mine now.\n");
    place.prompt("review", "Review, as the project has it.\n");
    let plan = place.data(&["plan"]);
    let change = plan["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .find(|change| word(&change["path"]).ends_with("/.claude/commands/review.md"));
    let change = change.expect("the edited file");
    assert_eq!((&change["update_kind"], &change["drifted"]), (&json!("adopt_update"), &json!(true)), "{change:#}");
    let error = place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(error["details"]["adopt_updates"], 1, "{error:#}");
    assert_eq!(place.read(edited), "Mine now.\n");

    place.ok(&["prompt", "delete", "review"]);
    let plan = place.data(&["plan"]);
    let deletes = plan["changes"].as_array().expect("changes").iter();
    let deletes: Vec<_> = deletes.filter(|change| change["op"] == "delete" && change["drifted"] == true).collect();
    assert_eq!(deletes.len(), 1, "{plan:#}");
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.read(edited), "Mine now.\n");

    // With `--adopt`, the file is deleted, and its bytes are kept.
    let id = place.deploy(&["--adopt"]);
    assert!(!place.exists(edited));
    place.data(&["rollback", "--to", &format!("{id}^"), "--yes"]);
    assert_eq!(place.read(edited), "Mine now.\n");
}

#[test]
fn d10_a_module_id_that_leads_out_of_its_folder_is_refused() {
    for id in ["skill:../../../evil", "skill:..", "skill:a/../../../../evil", "skill:/evil", "skill:"] {
        let place = Place::with_repo(&["codex: project"], &[]);
        place.write("repo/modules/evil/SKILL.md", "---\nname: evil\ndescription: Evil\n---\n");
        place.write(
            "repo/agentpack.yaml",
            format!(
                "version: 1\nprofiles: {{default: {{include_tags: [base]}}}}\ntargets: {{codex: {{scope: project}}}}\n\
                 modules:\n  - {{id: '{id}', type: skill, tags: [base], source: {{local_path: {{path: modules/evil}}}}}}\n"
            ),
        );
        let before = place.tree();
        let outside = |place: &Place| std::fs::read_dir(place.scratch.path()).expect("a folder").count();
        let (repo, count) = (place.repo().display().to_string(), outside(&place));
        let envelope = place.envelope(&["deploy", "--apply", "--yes", "--repo", &repo]);
        assert_eq!(envelope["ok"], false, "{id}: {envelope:#}");
        assert_eq!(place.tree(), before, "{id}");
        // The command may have created the database's files.
        assert!(outside(&place) <= count + 5 && !place.exists("evil"), "{id}");
    }
}

#[test]
fn d11_modes_are_kept_and_programs_stay_programs() {
    let place = Place::with_repo(&["codex: project"], &[]);
    place.declare(
        &["codex: project"],
        &[("skill:s", "---\nname: s\ndescription: S\n---\nS\n"), ("instructions:a", "A\n")],
    );
    let program = place.write("repo/modules/skill_s/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let own = place.write("root/AGENTS.md", "Mine\n");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o640)).expect("a mode");
    let before = place.tree();
    let modes = |place: &Place| {
        let mode =
            |path: &str| std::fs::metadata(place.scratch.path().join(path)).expect("a file").permissions().mode();
        ["root/.codex/skills/s/run.sh", "root/.codex/skills/s/SKILL.md", "root/AGENTS.md"]
            .map(|path| mode(path) & 0o777)
    };
    let repo = place.repo().display().to_string();
    place.deploy(&["--repo", &repo, "--adopt"]);
    assert_eq!(modes(&place), [0o755, 0o644, 0o640]);
    assert_eq!(place.planned(&["--repo", &repo]), [""; 0]);
    // A changed mode is drift, and a deploy restores it.
    let deployed = place.root().join(".codex/skills/s/run.sh");
    std::fs::set_permissions(&deployed, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    assert_eq!(place.planned(&["--repo", &repo]), ["update root/.codex/skills/s/run.sh"]);
    place.deploy(&["--repo", &repo, "--adopt"]);
    assert_eq!(modes(&place), [0o755, 0o644, 0o640]);
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn d12_a_link_at_the_destination_needs_adopt_and_is_never_followed() {
    let place = Place::with_repo(&["codex: project"], &[("instructions:a", "Ours\n")]);
    place.write("dotfiles/AGENTS.md", "Theirs\n");
    symlink(place.scratch.path().join("dotfiles/AGENTS.md"), place.root().join("AGENTS.md")).expect("a link");
    let before: Tree = place.tree();
    let repo = place.repo().display().to_string();
    place.refused(&["deploy", "--apply", "--yes", "--repo", &repo], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.tree(), before);
    place.deploy(&["--repo", &repo, "--adopt"]);
    assert_eq!(place.read("root/AGENTS.md"), "Ours\n");
    assert_eq!(place.read("dotfiles/AGENTS.md"), "Theirs\n", "what the link led to is untouched");
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before, "the link is back");

    // mcpkg does not write through a linked folder that leads out of the target's folder, even with `--adopt`.
    let place = Place::with_repo(&["codex: project"], &[("skill:s", "---\nname: s\ndescription: S\n---\nS\n")]);
    std::fs::create_dir(place.scratch.path().join("outside")).expect("a folder");
    std::fs::create_dir_all(place.root().join(".codex/skills")).expect("a folder");
    symlink(place.scratch.path().join("outside"), place.root().join(".codex/skills/s")).expect("a link");
    let repo = place.repo().display().to_string();
    let error = place.refused(&["deploy", "--apply", "--yes", "--adopt", "--repo", &repo], "E_IO_INVALID_PATH");
    assert!(word(&error["message"]).contains("link"), "{error:#}");
    assert!(std::fs::read_dir(place.scratch.path().join("outside")).expect("a folder").next().is_none());

    // mcpkg does not write through a link that leads out of the deploy root either.
    let place = Place::with_repo(&["cursor: project"], &[("instructions:a", "Ours\n")]);
    std::fs::create_dir(place.scratch.path().join("outside")).expect("a folder");
    symlink(place.scratch.path().join("outside"), place.root().join(".cursor")).expect("a link");
    let repo = place.repo().display().to_string();
    place.refused(&["deploy", "--apply", "--yes", "--adopt", "--repo", &repo], "E_IO_INVALID_PATH");
    assert!(std::fs::read_dir(place.scratch.path().join("outside")).expect("a folder").next().is_none());
}
