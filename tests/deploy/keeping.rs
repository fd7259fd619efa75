//! Tests pruning of snapshots, which keeps original files, deletion of a project with deployed files, and decisions on
//! proposals.

use serde_json::json;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

#[test]
fn pruning_keeps_original_files_and_pinned_snapshots() {
    let place = Place::with_project();
    place.write("root/.claude/commands/review.md", "Mine.\n");
    let before = place.tree();
    let first = place.deploy(&["--adopt"]);
    place.data(&["snapshot", "pin", &first]);
    let mut ids = Vec::new();
    for round in 0..4 {
        place.prompt("review", &format!("Round {round}.\n"));
        ids.push(place.deploy(&[]));
    }
    let data = place.data(&["snapshot", "prune", "--keep", "1", "--dry-run"]);
    assert_eq!(data["pruned"].as_array().map(Vec::len), Some(3), "{data:#}");
    assert_eq!(place.data(&["snapshot", "list"])["snapshots"].as_array().map(Vec::len), Some(5));
    place.data(&["snapshot", "prune", "--keep", "1", "--yes"]);
    let listed = place.data(&["snapshot", "list"]);
    let rows = listed["snapshots"].as_array().expect("snapshots").iter();
    let left: Vec<&str> = rows.filter(|row| row["state"] == "applied").map(|row| word(&row["id"])).collect();
    assert_eq!(left, [ids[3].as_str(), &first]);
    place.refused(&["rollback", "--to", &ids[0], "--yes"], "E_SNAPSHOT_UNUSABLE");
    place.data(&["rollback", "--to", &first, "--yes"]);
    assert_eq!(place.read("root/.claude/commands/review.md"), "Review the change.\n");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn a_project_with_deployed_files_is_not_deleted() {
    let place = Place::with_project();
    place.deploy(&[]);
    let refused = place.run(&["project", "delete", "p", "--yes"]);
    assert_eq!(refused.status, 1, "{refused}");
    assert!(refused.stderr.contains("rollback"), "{refused}");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    place.ok(&["project", "delete", "p", "--yes"]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn a_snapshot_shows_changed_lines_and_is_found_by_a_prefix_of_its_id() {
    let place = Place::with_project();
    place.deploy(&["--target", "cursor"]);
    place.prompt("review", "Another text.\n");
    let id = place.deploy(&["--target", "cursor"]);
    let data = place.data(&["snapshot", "diff", &id]);
    let unified = word(&data["files"][0]["unified"]);
    assert!(unified.contains("-Review the change.\n+Another text.\n"), "{unified}");
    assert_eq!(data["files"].as_array().map(Vec::len), Some(1));
    let shown = place.data(&["snapshot", "show", &id]);
    assert_eq!(shown["kind"], "deploy");
    // Ids made at about the same time have the same beginning, so this prefix may not be unique.
    let short = place.envelope(&["snapshot", "show", &id[..35]]);
    assert!(short["ok"] == true || short["errors"][0]["code"] == "E_SNAPSHOT_NOT_FOUND", "{short:#}");
    place.refused(&["snapshot", "show", &id[..3]], "E_SNAPSHOT_NOT_FOUND");
}

#[test]
fn proposals_are_shown_accepted_and_rejected() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.write("root/.claude/commands/review.md", "Edited.\n");
    let style = place.read("root/AGENTS.md").replace("Be brief.", "Be loud.");
    place.write("root/AGENTS.md", style);
    let data = place.data(&["evolve", "propose", "--yes"]);
    assert_eq!(data["proposals"].as_array().map(Vec::len), Some(2), "{data:#}");
    // Proposing again does not duplicate the proposals.
    place.data(&["evolve", "propose", "--yes"]);
    let listed = place.data(&["evolve", "list"]);
    let open = listed["proposals"].as_array().expect("proposals");
    assert_eq!(open.len(), 2, "{listed:#}");
    let id_of = |module: &str| {
        let found = open.iter().find(|proposal| proposal["module_id"] == module).expect("a proposal");
        found["id"].to_string()
    };
    let shown = place.data(&["evolve", "show", &id_of("command:review")]);
    assert!(word(&shown["unified"]).contains("+Edited."), "{shown:#}");
    place.data(&["evolve", "accept", &id_of("command:review"), "--yes"]);
    place.data(&["evolve", "reject", &id_of("instructions:style"), "--yes"]);
    assert_eq!(place.data(&["evolve", "list"])["proposals"], json!([]));
    assert_eq!(place.ok(&["prompt", "show", "review"]), "Edited.\n");
    assert_eq!(place.ok(&["resource", "show", "instructions---style"]), "Be brief.\n");
    // A rejected edit stays on disk. Overwriting it requires `--adopt`.
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert!(place.read("root/AGENTS.md").contains("Be loud."));
}
