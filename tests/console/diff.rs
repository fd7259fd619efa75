//! Tests the diff screen: choosing hunks, reviewed marks that survive a restart, and three texts after a change.

use serde_json::json;

use super::{agent, console, started};
use crate::deploy::place::Place;
use crate::support::Client;
use crate::workflow::runs::Ground;

/// Returns a place with a deployed prompt of 60 lines. Its file on disk was changed in three places, and the change is
/// proposed.
fn drifted() -> Place {
    let place = Place::with_project();
    let text: String = (1..=60).map(|n| format!("Line {n}.\n")).collect();
    place.prompt("review", &text);
    place.deploy(&[]);
    let path = "root/.claude/commands/review.md";
    let changed =
        place.read(path).replace("Line 2.\n", "Second line.\n").replace("Line 30.\n", "").replace("Line 59.", "59");
    place.write(path, &changed);
    place.ok(&["evolve", "propose", "--target", "claude_code"]);
    place
}

#[test]
fn space_takes_a_hunk_out_and_a_accepts_the_rest() {
    let place = drifted();
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("CHANGE");
    screen.keys("/change\r\r");
    screen.wait("command:review   hunk 1 of 3");
    screen.keys("..");
    screen.wait("command:review   hunk 2 of 3");
    screen.keys(" ");
    screen.wait(">OUT  hunk 2 of 3");
    screen.keys("a");
    screen.wait("Accept 2 hunks of change 1 into the project?");
    screen.keys("y");
    screen.wait("Accepted proposal 1");
    let text = place.ok(&["prompt", "show", "review"]);
    assert!(text.contains("Second line.") && text.contains("Line 30.") && text.contains("\n59\n"), "{text}");
    // The excluded hunk stays open as a separate proposal.
    let open = place.data(&["evolve", "list"]);
    assert_eq!(open["proposals"].as_array().map(Vec::len), Some(1), "{open:#}");
}

#[test]
fn a_proposal_of_an_item_that_changed_since_shows_three_texts_and_cannot_be_accepted() {
    let place = drifted();
    let Some(mut screen) = started(place.command(), &[]) else { return };
    screen.wait("CHANGE");
    screen.keys("/change\r\r");
    screen.wait("a accept");
    let text = place.ok(&["prompt", "show", "review"]);
    place.ok(&["prompt", "update", "review", &text.replace("Line 2.", "Line two, by somebody else.")]);
    // The screen updates without a key: it shows the new text below the base, and the proposal cannot be accepted.
    screen.wait("Somebody changed it since the proposal");
    screen.wait("Line two, by somebody else.");
    let is_whole = |text: &str| text.contains("theirs   2  Second line.") && !text.contains("a accept");
    screen.wait_until(is_whole, "three texts, and no key to accept them");
    screen.keys("a");
    screen.keys("d");
    screen.wait("Reject change 1? The project stays as it is.");
    screen.keys("y");
    screen.wait("Rejected proposal 1");
}

#[test]
fn a_mark_belongs_to_one_diff_and_survives_a_restart() {
    let place = drifted();
    place.git(&place.root(), &["init", "-q"]);
    place.ok(&["evolve", "reject", "1"]);
    let look = |awaited: &str, keys: &str, then: &str| {
        let Some(mut screen) = started(place.command(), &[]) else { return false };
        screen.wait("DRIFT");
        screen.keys("4");
        // The key works only after the preview has loaded.
        let is_there = |text: &str| ["4 DEPLOY", "m reviewed", awaited].iter().all(|wanted| text.contains(wanted));
        screen.wait_until(is_there, awaited);
        screen.keys(keys);
        screen.wait(then);
        screen.keys("\u{3}");
        screen.end() == 0
    };
    if !look("m reviewed", "m", "1 of 1 reviewed") {
        return;
    }
    look("1 of 1 reviewed", "\r", "review.md, reviewed");
    // A mark belongs to the exact diff that was shown. After another change, the file counts as not reviewed.
    let path = "root/.claude/commands/review.md";
    place.write(path, place.read(path).replace("Line 40.", "forty"));
    look("0 of 1 reviewed", "", "Deploy");
}

/// Proposes another text for the workflow `app`.
fn propose(client: &mut Client, yaml: &str, revision: i64) {
    let arguments = json!({ "yaml": yaml, "replaces": "app", "revision": revision });
    let made = client.result("tools/call", json!({ "name": "propose_workflow", "arguments": arguments }));
    assert_ne!(made["isError"], true, "{made:#}");
}

#[test]
fn a_draft_is_approved_in_part_and_a_stale_one_shows_three_texts() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let steps: String = (1..=12).map(|n| format!("  - id: s{n}\n    run: hosting:apps:list\n")).collect();
    let saved = format!("workflow: app\nsteps:\n{steps}");
    let file = ground.scratch.path().join("app.yaml");
    let write = |text: &str| std::fs::write(&file, text).expect("written");
    write(&saved);
    ground.scratch.ok(&["workflow", "import", &file.display().to_string()]);
    let mut client = agent(&ground, "claude-code");
    let draft = saved.replace("id: s1\n", "id: first\n").replace("id: s12\n", "id: last\n");
    propose(&mut client, &draft, 1);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("DRAFT");
    screen.keys("t");
    screen.wait("hunk 1 of 2");
    screen.keys(" ");
    screen.wait("OUT  hunk 1 of 2");
    screen.keys("a");
    screen.wait("More to read");
    screen.keys(" ");
    screen.wait("other keys no");
    screen.keys("y");
    screen.wait("Approved draft");
    let now = ground.scratch.ok(&["workflow", "show", "app"]);
    assert_eq!(now, saved.replace("id: s12\n", "id: last\n"));
    // A draft cannot be approved after somebody else has changed its workflow.
    propose(&mut client, &now.replace("id: s1\n", "id: one\n"), 2);
    screen.keys("1");
    screen.wait("DRAFT");
    write(&now.replace("id: s1\n", "id: uno\n"));
    ground.scratch.ok(&["workflow", "import", "--update", &file.display().to_string()]);
    screen.wait("stale");
    screen.keys("t");
    let text = screen.wait("The workflow changed since the draft was made");
    assert!(text.contains("theirs") && !text.contains("a approve"), "{text}");
    assert!(text.contains("id: {+uno+}") && text.contains("id: {+one+}"), "{text}");
}

#[test]
fn a_file_that_changed_on_both_sides_shows_three_texts_and_a_foreign_one_says_so() {
    let place = Place::with_project();
    place.git(&place.root(), &["init", "-q"]);
    place.prompt("review", "One.\n\nTwo.\n\nThree.\n");
    place.deploy(&[]);
    place.resource("skill://neat/SKILL.md", "---\nname: neat\ndescription: Neat\n---\nBe neat.\n");
    place.write("root/.claude/skills/neat/SKILL.md", "mine\n");
    let path = "root/.claude/commands/review.md";
    place.write(path, place.read(path).replace("One.", "One, on disk."));
    place.prompt("review", "One.\n\nTwo.\n\nThree, in the project.\n");
    let changes = place.data(&["diff", "--target", "claude_code"]);
    let of = |name: &str| {
        let found = changes["changes"].as_array().and_then(|all| {
            all.iter().find(|change| change["path"].as_str().is_some_and(|path| path.ends_with(name))).cloned()
        });
        found.unwrap_or_else(|| panic!("no {name} in {changes:#}"))
    };
    let three = of("review.md")["three_texts"].clone();
    assert!(three["deployed"].as_str().is_some_and(|text| text.contains("One.") && text.contains("Three.")), "{three}");
    assert!(of("neat/SKILL.md")["three_texts"].is_null());
    let Some(mut screen) = started(place.command(), &[]) else { return };
    let text = screen.wait("DRIFT");
    assert!(text.contains("review.md: changed on disk and"), "{text}");
    screen.keys("4");
    screen.wait("EACH SESSION LOADS");
    screen.keys("/claude/commands/review\r\r");
    let text = screen.wait("WARNING the file was changed on disk and in the project since it was deployed");
    assert!(text.contains(", on disk") && text.contains(", in the project"), "{text}");
    screen.keys("\u{1b}");
    screen.wait("/ claude/commands/review");
    screen.keys("\u{1b}");
    screen.wait("EACH SESSION LOADS");
    screen.keys("/claude/skills/neat\r");
    screen.wait("WARNING you or another program wrote this");
}
