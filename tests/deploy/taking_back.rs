//! Tests rollbacks over files that a user changed, and that agentpack's defects D5 and D6 are fixed there.

use serde_json::json;

use crate::deploy::answers::{tool_data, tool_refused, word};
use crate::deploy::place::Place;

const EDITED: &str = "root/.claude/commands/review.md";

#[test]
fn d05_a_rollback_neither_overwrites_nor_deletes_a_users_edits_without_adopt() {
    let place = Place::with_project();
    let first = place.deploy(&[]);
    place.prompt("review", "Review twice.\n");
    place.deploy(&[]);
    place.write(EDITED, "Edited by hand.\n");
    let edited = place.tree();
    for to in [first.as_str(), "pristine"] {
        let error = place.refused(&["rollback", "--to", to, "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
        let details = &error["details"];
        assert_eq!((&details["flag"], &details["adopt_updates"]), (&json!("--adopt"), &json!(1)), "{error:#}");
        assert!(word(&details["sample_paths"][0]).ends_with(".claude/commands/review.md"), "{error:#}");
        assert_eq!(details["next_actions"], json!(["retry_with_adopt"]), "{error:#}");
        assert_eq!(place.tree(), edited, "not a byte of any file");
        let shown = place.data(&["rollback", "--to", to, "--dry-run"]);
        let changes = shown["changes"].as_array().expect("changes").iter();
        let drifted: Vec<_> = changes.filter(|change| change["drifted"] == true).collect();
        let [change] = drifted.as_slice() else { panic!("{shown:#}") };
        assert_eq!(change["update_kind"], "adopt_update", "{change:#}");
        let told = place.ok(&["rollback", "--to", to, "--dry-run"]);
        assert!(told.ends_with("1 needs --adopt\n"), "{told}");
    }
    // A rollback by an agent needs `adopt` too.
    let mut client = place.server(&["--as", "agentpack"]);
    tool_refused(&mut client, "rollback", json!({ "to": first, "yes": true }), "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.tree(), edited);
    let back = tool_data(&mut client, "rollback", json!({ "to": first, "yes": true, "adopt": true }));
    client.finish();
    assert_eq!(place.read(EDITED), "Review the change.\n");
    // The overwritten bytes are kept. Unchanged files do not need `--adopt`.
    place.data(&["rollback", "--to", word(&back["event_snapshot_id"]), "--yes"]);
    assert_eq!(place.tree(), edited);
    place.data(&["rollback", "--to", "pristine", "--yes", "--adopt"]);
    assert_eq!(place.files(), [""; 0]);
}

#[test]
fn d05_a_mode_that_a_user_changed_counts_as_an_edit() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_project();
    place.deploy(&[]);
    let path = place.scratch.path().join(EDITED);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    place.refused(&["rollback", "--to", "pristine", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    place.data(&["rollback", "--to", "pristine", "--yes", "--adopt"]);
    assert!(!path.exists());
}

#[test]
fn text_around_a_block_needs_no_adopt_and_stays() {
    let place = Place::with_project();
    let first = place.deploy(&[]);
    place.instructions("style", "Be brief and kind.\n");
    place.deploy(&[]);
    let text = place.read("root/AGENTS.md");
    place.write("root/AGENTS.md", format!("Mine.\n\n{text}"));
    place.data(&["rollback", "--to", &first, "--yes"]);
    let text = place.read("root/AGENTS.md");
    assert!(text.starts_with("Mine.\n") && text.contains("Be brief.\n"), "{text}");
    // Overwriting an edit inside the block requires `--adopt`.
    place.write("root/AGENTS.md", text.replace("Be brief.", "Be loud."));
    place.refused(&["rollback", "--to", "pristine", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    place.data(&["rollback", "--to", "pristine", "--yes", "--adopt"]);
    assert_eq!(place.read("root/AGENTS.md"), "Mine.\n");
}

#[test]
fn a_users_file_that_was_only_equal_keeps_later_edits() {
    let place = Place::with_project();
    place.write(EDITED, "Review the change.\n");
    place.deploy(&[]);
    place.write(EDITED, "Mine, and better.\n");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.files(), [EDITED]);
    assert_eq!(place.read(EDITED), "Mine, and better.\n");
}

#[test]
fn a_file_that_was_only_equal_is_mcpkgs_once_it_is_adopted() {
    let place = Place::with_project();
    place.write(EDITED, "Review the change.\n");
    let before = place.tree();
    place.deploy(&[]);
    place.prompt("review", "Review twice.\n");
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    place.deploy(&["--adopt"]);
    // Nobody has changed the file since, so neither the next deploy nor a rollback needs `--adopt`.
    place.prompt("review", "Review thrice.\n");
    place.deploy(&[]);
    assert_eq!(place.read(EDITED), "Review thrice.\n");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

/// A colleague committed the deployed files, so they already exist when this user deploys.
#[test]
fn files_that_already_existed_stay_without_a_module_and_a_block_is_removed() {
    let first = Place::with_project();
    first.deploy(&[]);
    let second = Place::with_project();
    for file in first.files() {
        second.write(&file, first.read(&file));
    }
    let text = second.read("root/AGENTS.md");
    second.write("root/AGENTS.md", format!("Mine.\n\n{text}"));
    second.deploy(&[]);
    let deployed = |place: &Place| place.ok(&["doctor"]);
    assert!(!deployed(&second).contains("never deployed there"), "{}", deployed(&second));

    second.ok(&["resource", "delete", "instructions---style", "--yes"]);
    second.ok(&["prompt", "delete", "review", "--yes"]);
    let told = second.envelope(&["plan"]);
    let stays = "file without a module stays because it existed before the first deploy";
    let files = "files without a module stay because they existed before the first deploy";
    let warnings = told["warnings"].to_string();
    assert!(warnings.contains(stays) || warnings.contains(files), "{told:#}");
    second.deploy(&[]);
    assert_eq!(second.read("root/AGENTS.md"), "Mine.\n");
    assert!(second.exists(EDITED), "a file of the user's stays");
    assert_eq!(second.planned(&[]), [""; 0]);
}
