//! Tests a managed block in the user's file: whatever happens to the block, the user's text stays.

use crate::deploy::answers::word;
use crate::deploy::place::Place;

const FILE: &str = "root/AGENTS.md";

#[test]
fn a_rollback_keeps_text_that_was_later_written_around_the_block() {
    let place = Place::with_project();
    place.write(FILE, "# Mine\n");
    let first = place.deploy(&["--adopt"]);
    place.write(FILE, format!("Before.\n{}After.\n", place.read(FILE)));
    place.instructions("style", "Be kind.\n");
    place.deploy(&[]);
    place.data(&["rollback", "--to", &first, "--yes"]);
    let text = place.read(FILE);
    assert!(text.contains("Be brief.") && !text.contains("Be kind."), "{text}");
    assert!(text.starts_with("Before.\n# Mine\n") && text.ends_with("After.\n"), "{text}");
    place.data(&["rollback", "--to", &format!("{first}^"), "--yes"]);
    let text = place.read(FILE);
    assert!(!text.contains("mcpkg:"), "{text}");
    assert!(text.starts_with("Before.\n# Mine\n") && text.ends_with("After.\n"), "{text}");
}

#[test]
fn a_block_that_lost_one_of_its_marker_lines_is_recognised() {
    for line in ["mcpkg:begin", "mcpkg:end"] {
        let place = Place::with_project();
        let mine = "top user\r\n\r\n";
        place.write(FILE, mine);
        place.deploy(&["--adopt"]);
        let deployed = place.read(FILE);
        let broken: String = deployed.split_inclusive('\n').filter(|found| !found.contains(line)).collect();
        place.write(FILE, &broken);
        // A deploy repairs the block and does not add a second one.
        place.deploy(&["--adopt"]);
        assert_eq!(place.read(FILE), deployed, "{line}");
        place.write(FILE, &broken);
        // Rolling back a file that the user changed requires `--adopt`, as deploying over it does.
        place.refused(&["rollback", "--to", "pristine", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
        place.ok(&["rollback", "--to", "pristine", "--yes", "--adopt"]);
        assert_eq!(place.read(FILE).trim_end(), mine.trim_end(), "{line}");
    }
}

#[test]
fn removing_a_module_leaves_the_users_text() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.write(FILE, format!("{}Mine.\n", place.read(FILE)));
    place.instructions("style", "Be kind.\n");
    place.deploy(&[]);
    place.ok(&["module", "remove", "instructions:style"]);
    assert_eq!(place.planned(&[]), [format!("update {FILE}")]);
    place.deploy(&[]);
    assert_eq!(place.read(FILE), "Mine.\n");
    place.ok(&["module", "set", "instructions:style", "--enabled", "true"]);
    place.data(&["deploy", "--apply", "--yes", "--adopt"]);
    assert!(place.read(FILE).starts_with("Mine.\n") && place.read(FILE).contains("Be kind."));
}

#[test]
fn a_text_that_moved_into_the_block_is_restored_exactly() {
    let place = Place::with_project();
    // The file already contains the project's text, so the text is not added a second time.
    place.write(FILE, "\nBe brief.\n\n");
    let before = place.tree();
    place.deploy(&["--adopt"]);
    assert_eq!(place.read(FILE).matches("Be brief.").count(), 1);
    place.instructions("style", "Be kind.\n");
    place.deploy(&[]);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn overwriting_a_block_that_a_user_changed_or_removed_needs_adopt() {
    let place = Place::with_project();
    place.deploy(&[]);
    let deployed = place.read(FILE);
    for edited in [deployed.replace("Be brief.", "Be loud."), "Only mine.\n".to_owned()] {
        place.write(FILE, &edited);
        let error = place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
        assert_eq!(place.short(word(&error["details"]["sample_paths"][0])), FILE);
        assert_eq!(place.read(FILE), edited);
        let id = place.deploy(&["--adopt"]);
        assert!(place.read(FILE).contains("Be brief."));
        place.data(&["rollback", "--to", &format!("{id}^"), "--yes"]);
        assert_eq!(place.read(FILE), edited, "its bytes were kept");
        place.write(FILE, &deployed);
    }
    assert_eq!(place.planned(&[]), [""; 0]);
}
