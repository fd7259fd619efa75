//! Tests a config repo made for agentpack, with the files that agentpack deployed: users who switch to mcpkg keep them.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::deploy::answers::word;
use crate::deploy::place::Place;

/// Writes what agentpack writes when it deploys: the files, and its manifest in their root.
fn deployed_by_agentpack(place: &Place, root: &str, target: &str, files: &[(&str, &str)]) {
    let managed: Vec<Value> = files
        .iter()
        .map(|(path, text)| {
            place.write(&format!("{root}/{path}"), text);
            let sha256: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "path": path, "sha256": sha256, "module_ids": ["instructions:a"] })
        })
        .collect();
    let manifest = json!({
        "schema_version": 1,
        "generated_at": "2026-01-05T10:00:00Z",
        "tool": target,
        "snapshot_id": "1795294153964472037",
        "managed_files": managed,
    });
    place.write(&format!("{root}/.agentpack.manifest.{target}.json"), format!("{manifest:#}\n"));
}

const RULE: &str = "---\ndescription: \"agentpack: instructions:a\"\nglobs: []\nalwaysApply: true\n---\n\nOne\n";
const SKILL: &str = "---\nname: s\ndescription: S\n---\nOne\n";

fn switched() -> (Place, String) {
    let place = Place::with_repo(
        &["codex: both", "cursor: project", "vscode: project", "claude_code: both"],
        &[
            ("instructions:a", "One\n"),
            ("skill:s", SKILL),
            ("prompt:p", "One\n"),
            ("command:c", "---\ndescription: C\n---\nOne\n"),
        ],
    );
    let command = "---\ndescription: C\n---\nOne\n";
    deployed_by_agentpack(&place, "home/.codex", "codex", &[("AGENTS.md", "One\n")]);
    deployed_by_agentpack(&place, "home/.codex/prompts", "codex", &[("p.md", "One\n")]);
    deployed_by_agentpack(&place, "home/.codex/skills", "codex", &[("s/SKILL.md", SKILL)]);
    deployed_by_agentpack(&place, "root", "codex", &[("AGENTS.md", "One\n")]);
    deployed_by_agentpack(&place, "root/.codex/skills", "codex", &[("s/SKILL.md", SKILL)]);
    deployed_by_agentpack(&place, "root/.cursor/rules", "cursor", &[("instructions_a--1b59cb31ea.mdc", RULE)]);
    deployed_by_agentpack(&place, "root/.github", "vscode", &[("copilot-instructions.md", "One\n")]);
    deployed_by_agentpack(&place, "root/.github/prompts", "vscode", &[("p.prompt.md", "One\n")]);
    deployed_by_agentpack(&place, "home/.claude/commands", "claude_code", &[("c.md", command)]);
    deployed_by_agentpack(&place, "root/.claude/commands", "claude_code", &[("c.md", command)]);
    let repo = place.repo().display().to_string();
    (place, repo)
}

#[test]
fn files_that_agentpack_deployed_need_no_change() {
    let (place, repo) = switched();
    let before = place.tree();
    assert_eq!(place.planned(&["--repo", &repo]), [""; 0]);
    assert_eq!(place.drift(&["--repo", &repo]), [""; 0]);
    place.of_repo(&["deploy", "--apply", "--yes"]);
    assert_eq!(place.tree(), before, "its manifests are neither changed nor followed by ours");
    // From now on the files belong to mcpkg: a deploy changes them without `--adopt`, and a rollback restores them.
    place.module("instructions:a", "Two\n");
    place.deploy_repo();
    assert_eq!(place.read("home/.codex/AGENTS.md"), "Two\n");
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_change_since_agentpack_deployed_needs_no_adopt_and_a_users_edit_does() {
    let (place, repo) = switched();
    for (id, text) in [("instructions:a", "Two\n"), ("prompt:p", "Two\n")] {
        place.module(id, text);
    }
    place.module("skill:s", &SKILL.replace("One", "Two"));
    place.module("command:c", "---\ndescription: C\n---\nTwo\n");
    let plan = place.of_repo(&["plan"]);
    for change in plan["changes"].as_array().expect("changes") {
        assert_eq!(change["update_kind"], "managed_update", "{change:#}");
    }
    assert_eq!(plan["summary"], json!({ "create": 0, "update": 10, "delete": 0 }), "{plan:#}");

    place.write("root/AGENTS.md", "Edited by hand\n");
    let error = place.refused(&["deploy", "--apply", "--yes", "--repo", &repo], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(error["details"]["adopt_updates"], 1, "{error:#}");
    assert_eq!(place.short(word(&error["details"]["sample_paths"][0])), "root/AGENTS.md");
    place.write("root/AGENTS.md", "One\n");
    let before = place.tree();
    place.deploy_repo();
    assert!(place.read("root/.cursor/rules/instructions_a--1b59cb31ea.mdc").ends_with("Two\n"));
    place.of_repo(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_manifest_that_cannot_be_used_takes_nothing_over() {
    let (place, _) = switched();
    place.module("instructions:a", "Two\n");
    let manifest = place.read("root/.agentpack.manifest.codex.json");
    for bad in [
        "{",
        &manifest.replace("\"schema_version\": 1", "\"schema_version\": 999"),
        &manifest.replace("AGENTS.md", "../AGENTS.md"),
    ] {
        place.write("root/.agentpack.manifest.codex.json", bad);
        let plan = place.of_repo(&["plan", "--target", "codex"]);
        let changes = plan["changes"].as_array().expect("changes").iter();
        let own = changes.filter(|change| change["update_kind"] == "adopt_update");
        let own: Vec<String> = own.map(|change| place.short(word(&change["path"]))).collect();
        assert_eq!(own, ["root/AGENTS.md"], "{bad}");
    }
}
