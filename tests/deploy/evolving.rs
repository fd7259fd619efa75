//! Tests that agentpack's defects D13 to D19 are fixed: how users' edits of deployed files are handled.

use serde_json::json;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

/// Returns a config repo in git, and the path that names it.
fn repo(targets: &[&str], modules: &[(&str, &str)]) -> (Place, String) {
    let place = Place::with_repo(targets, modules);
    place.commit();
    let folder = place.repo().display().to_string();
    (place, folder)
}

/// Proposes the edits, merges the branch, and returns the changes of the next plan.
fn proposed_and_merged(place: &Place, repo: &str) -> Vec<String> {
    let data = place.data(&["evolve", "propose", "--yes", "--repo", repo]);
    assert_eq!((&data["created"], &data["committed"]), (&json!(true), &json!(true)), "{data:#}");
    place.git(&place.repo(), &["merge", "-q", "--ff-only", word(&data["branch"])]);
    place.planned(&["--repo", repo])
}

#[test]
fn d13_a_changed_cursor_rule_comes_back_without_its_front_matter() {
    let (place, repo) = repo(&["cursor: project", "codex: project"], &[("instructions:a", "One\n")]);
    place.deploy_repo();
    let rule = "root/.cursor/rules/instructions_a--1b59cb31ea.mdc";
    let edited = place.read(rule).replace("One", "One, edited");
    place.write(rule, &edited);
    let planned = proposed_and_merged(&place, &repo);
    assert_eq!(planned, ["update root/AGENTS.md"], "the rule is as it shall be; the other target follows");
    assert_eq!(place.read("repo/overlays/instructions_a--1b59cb31ea/AGENTS.md"), "One, edited\n");
    place.deploy_repo();
    assert_eq!(place.read(rule), edited);
    assert_eq!(place.read("root/AGENTS.md"), "One, edited\n");
}

#[test]
fn d14_a_changed_prompt_of_vs_code_goes_back_under_its_own_name() {
    let (place, repo) = repo(&["vscode: project"], &[("prompt:ask", "Ask\n")]);
    place.deploy_repo();
    place.write("root/.github/prompts/ask.prompt.md", "Ask nicely\n");
    assert_eq!(proposed_and_merged(&place, &repo), [""; 0]);
    assert!(place.git(&place.repo(), &["ls-files", "overlays"]).contains("/ask.md\n"));
}

#[test]
fn d15_a_proposed_overlay_has_a_baseline() {
    let (place, repo) = repo(&["codex: project"], &[("instructions:a", "One\n")]);
    place.deploy_repo();
    place.write("root/AGENTS.md", "Two\n");
    assert_eq!(proposed_and_merged(&place, &repo), [""; 0]);
    let baseline = place.read("repo/overlays/instructions_a--1b59cb31ea/.agentpack/baseline.json");
    let baseline: serde_json::Value = serde_json::from_str(&baseline).expect("JSON");
    assert_eq!(baseline["version"], 2);
    assert_eq!(baseline["file_manifest"][0]["path"], "AGENTS.md");
    assert_eq!(baseline["upstream"]["kind"], "local_path");
    // The baseline lets mcpkg notice that the module below the overlay has changed.
    place.module("instructions:a", "Three\n");
    let envelope = place.envelope(&["plan", "--repo", &repo]);
    assert!(envelope["warnings"].to_string().contains("instructions:a"), "{envelope:#}");
}

#[test]
fn d16_a_change_of_only_the_source_is_pending_and_not_proposed() {
    let place = Place::with_project();
    place.deploy(&[]);
    place.prompt("review", "Review, changed in the project.\n");
    let drift = place.drift(&["--target", "claude_code"]);
    assert_eq!(drift, ["modified upstream_pending root/.claude/commands/review.md"]);
    let data = place.data(&["evolve", "propose", "--dry-run"]);
    assert_eq!((&data["reason"], &data["candidates"]), (&json!("no_drift"), &json!([])), "{data:#}");

    // A file that changed on both sides has its own state, and neither change is lost.
    place.write("root/.claude/commands/review.md", "Changed on disk as well.\n");
    let drift = place.drift(&["--target", "claude_code"]);
    assert_eq!(drift, ["modified both root/.claude/commands/review.md"]);
    let data = place.data(&["evolve", "propose", "--dry-run", "--target", "claude_code"]);
    assert_eq!(data["reason"], "no_proposeable_drift");
    assert_eq!(data["skipped"][0]["reason_code"], "upstream_changed", "{data:#}");
}

#[test]
fn d17_text_outside_the_markers_is_kept_or_reported() {
    // In a file that mcpkg owns completely, added text is reported, and the edited section is still proposed.
    let (place, repo) = repo(&["codex: project"], &[("instructions:a", "A\n"), ("instructions:b", "B\n")]);
    place.deploy_repo();
    let text = place.read("root/AGENTS.md").replace("\nA\n", "\nA, edited\n");
    place.write("root/AGENTS.md", format!("My own words.\n\n{text}"));
    let envelope = place.envelope(&["evolve", "propose", "--dry-run", "--repo", &repo]);
    assert_eq!(envelope["data"]["candidates"][0]["module_id"], "instructions:a", "{envelope:#}");
    assert!(envelope["warnings"].to_string().contains("outside the sections"), "{envelope:#}");

    // In a file with a managed block, text outside the block survives every deploy, and a rollback removes only the
    // block.
    let place = Place::with_project();
    place.write("root/AGENTS.md", "# Mine\n");
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    place.deploy(&["--adopt"]);
    let text = place.read("root/AGENTS.md");
    place.write("root/AGENTS.md", format!("{text}\nMore of mine.\n"));
    assert_eq!(place.planned(&[]), [""; 0]);
    place.instructions("style", "Be briefer.\n");
    place.deploy(&[]);
    let text = place.read("root/AGENTS.md");
    assert!(
        text.starts_with("# Mine\n") && text.ends_with("More of mine.\n") && text.contains("Be briefer."),
        "{text}"
    );
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    let text = place.read("root/AGENTS.md");
    assert!(!text.contains("mcpkg:begin") && text.contains("# Mine\n") && text.contains("More of mine.\n"), "{text}");
}

#[test]
fn d18_edits_of_text_that_contains_markers_are_mapped_back() {
    let held = "Before\n<!-- /agentpack -->\n<!-- mcpkg:end -->\nAfter\n";
    let (place, repo) = repo(&["codex: project"], &[("instructions:a", held), ("instructions:b", "B\n")]);
    place.deploy_repo();
    let edited = place.read("root/AGENTS.md").replace("After", "After, edited");
    place.write("root/AGENTS.md", &edited);
    assert_eq!(proposed_and_merged(&place, &repo), [""; 0]);
    assert_eq!(
        place.read("repo/overlays/instructions_a--1b59cb31ea/AGENTS.md"),
        held.replace("After", "After, edited")
    );

    let place = Place::with_project();
    place.instructions("style", held);
    place.deploy(&[]);
    let edited = place.read("root/AGENTS.md").replace("After", "After, edited");
    place.write("root/AGENTS.md", edited);
    let data = place.data(&["evolve", "propose", "--yes"]);
    place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
    assert_eq!(place.planned(&[]), [""; 0]);
    let shown = place.ok(&["resource", "show", "instructions---style"]);
    assert_eq!(shown, held.replace("After", "After, edited"));
}

#[test]
fn d19_a_new_module_shows_in_the_status_of_a_root_that_has_files() {
    let place = Place::with_project();
    place.deploy(&[]);
    assert_eq!(place.drift(&[]), [""; 0]);
    place.prompt("ship", "Ship it.\n");
    let drift = place.drift(&["--target", "claude_code"]);
    assert_eq!(drift, ["missing upstream_pending root/.claude/commands/ship.md"]);
    let data = place.data(&["status", "--target", "claude_code"]);
    assert_eq!(data["summary"]["missing"], 1, "{data:#}");
    assert!(data["next_actions"][1].as_str().is_some_and(|command| command.contains("deploy --apply")), "{data:#}");
}

const NEW_SKILL: &str = "---\nname: tables\ndescription: Reads tables out of documents\n---\n# Tables\n";

/// Returns a project with a skill deployed for Codex, and another skill that an agent wrote next to it.
fn with_new_skill() -> Place {
    let place = Place::with_project();
    place.deploy(&["--target", "codex"]);
    place.write("root/.agents/skills/tables/SKILL.md", NEW_SKILL);
    let script = place.write("root/.agents/skills/tables/scripts/read.py", "print(1)\n");
    crate::support::set_mode(&script, 0o755);
    place
}

#[test]
fn a_skill_that_an_agent_wrote_is_proposed_and_added_to_the_project() {
    let place = with_new_skill();
    let shown = place.data(&["evolve", "propose", "--target", "codex", "--dry-run"]);
    assert_eq!(shown["candidates"].as_array().map(Vec::len), Some(2), "{shown:#}");
    assert_eq!(
        (&shown["candidates"][0]["module_id"], &shown["candidates"][0]["new"]),
        (&json!("skill:tables"), &json!(true))
    );
    let data = place.data(&["evolve", "propose", "--target", "codex"]);
    let ids: Vec<String> =
        data["proposals"].as_array().expect("proposals").iter().map(|it| it["id"].to_string()).collect();
    assert_eq!(ids.len(), 2, "{data:#}");
    let diff = place.data(&["evolve", "show", &ids[0]]);
    assert!(diff["unified"].as_str().is_some_and(|diff| diff.contains("+# Tables")), "{diff:#}");
    // Proposing again replaces the earlier proposals.
    let again = place.data(&["evolve", "propose", "--target", "codex"]);
    assert_eq!(place.data(&["evolve", "list"])["proposals"].as_array().map(Vec::len), Some(2), "{again:#}");
    place.ok(&["evolve", "accept", &again["proposals"][1]["id"].to_string()]);
    assert_eq!(place.data(&["evolve", "list"])["proposals"], json!([]), "both files were accepted");
    assert_eq!(place.ok(&["skill", "show", "tables"]), NEW_SKILL);
    assert_eq!(place.ok(&["skill", "show", "tables", "scripts/read.py"]), "print(1)\n");
    place.ok(&["skill", "validate", "tables"]);
    // The files on disk equal what a deploy would write, including their mode.
    let planned = place.planned(&["--target", "codex"]);
    assert!(planned.iter().all(|line| !line.starts_with("update")), "{planned:?}");
    assert_eq!(place.data(&["evolve", "propose", "--target", "codex"])["reason"], "no_drift");
}

#[test]
fn a_new_skill_that_is_rejected_or_invalid_is_not_added() {
    let place = with_new_skill();
    let data = place.data(&["evolve", "propose", "--target", "codex", "--module-id", "skill:tables"]);
    place.ok(&["evolve", "reject", &data["proposals"][0]["id"].to_string()]);
    assert_eq!(place.data(&["evolve", "list"])["proposals"], json!([]));
    assert_eq!(place.run(&["skill", "show", "tables"]).status, 1);
    place.write("root/.agents/skills/tables/SKILL.md", "no front matter\n");
    place.write("root/.agents/skills/notes/README.md", "no skill\n");
    let data = place.data(&["evolve", "propose", "--target", "codex"]);
    assert_eq!(data["reason"], "no_drift", "{data:#}");
    place.refused(&["evolve", "propose", "--target", "codex", "--module-id", "skill:notes"], "E_NOT_FOUND");
}

#[test]
fn the_note_of_a_decision_is_shown_if_the_same_change_is_proposed_again() {
    let place = Place::with_project();
    place.deploy(&[]);
    let path = "root/.claude/commands/review.md";
    place.write(path, "Review, changed on disk.\n");
    let propose = || place.envelope(&["evolve", "propose", "--target", "claude_code"]);
    let id = |envelope: &serde_json::Value| envelope["data"]["proposals"][0]["id"].to_string();
    let first = id(&propose());
    place.ok(&["evolve", "reject", &first, "--note", "keep the \"old\" words\u{202e}"]);
    let shown = place.ok(&["evolve", "show", &first]);
    let quoted = r#"rejected: "keep the \"old\" words" <U+202E right-to-left>"#;
    assert!(shown.starts_with(&format!("{quoted}\n---")), "{shown}");
    assert_eq!(place.data(&["evolve", "show", &first])["note"], "keep the \"old\" words\u{202e}");
    let again = propose();
    let before = &again["data"]["proposals"][0]["decided_before"];
    assert_eq!((&before["state"], before["id"].to_string()), (&json!("rejected"), first), "{again:#}");
    assert!(again["warnings"].to_string().contains("was rejected: \\\"keep the"), "{again:#}");
    // A different change does not show the note of the earlier decision.
    place.write(path, "Review, changed otherwise.\n");
    let other = propose();
    assert!(other["data"]["proposals"][0].get("decided_before").is_none(), "{other:#}");
    place.ok(&["evolve", "accept", &id(&other), "--note", "good"]);
    let all = place.data(&["evolve", "list", "--all"]);
    let notes = all["proposals"].as_array().expect("proposals").iter().map(|proposal| proposal["note"].clone());
    assert_eq!(notes.collect::<Vec<_>>(), [json!("keep the \"old\" words\u{202e}"), json!("good")], "{all:#}");
}

#[test]
fn single_hunks_of_a_change_are_accepted_and_the_others_stay_proposed() {
    let place = Place::with_project();
    let text: String = (1..=40).map(|n| format!("Line {n}.\n")).collect();
    place.prompt("review", &text);
    place.deploy(&[]);
    let path = "root/.claude/commands/review.md";
    let changed =
        place.read(path).replace("Line 2.\n", "Second line.\n").replace("Line 20.\n", "").replace("Line 39.", "39");
    place.write(path, &changed);
    let propose = || {
        let data = place.data(&["evolve", "propose", "--target", "claude_code"]);
        data["proposals"][0]["id"].to_string()
    };
    let id = propose();
    assert_eq!(place.data(&["evolve", "show", &id])["hunks"].as_array().map(Vec::len), Some(3));
    for wrong in ["4", "0", "1,9"] {
        let ran = place.run(&["evolve", "accept", &id, "--hunks", wrong]);
        assert!(ran.status == 2 && ran.stderr.contains("There is no hunk"), "{wrong}: {ran}");
    }
    assert_eq!(place.data(&["evolve", "show", &id])["state"], "open");
    let accepted = place.data(&["evolve", "accept", &id, "--hunks", "1,3", "--note", "line 20 stays"]);
    assert_eq!((&accepted["state"], &accepted["hunks"]), (&json!("accepted"), &json!([1, 3])), "{accepted:#}");
    let now = text.replace("Line 2.\n", "Second line.\n").replace("Line 39.", "39");
    assert_eq!(place.ok(&["prompt", "show", "review"]), now);
    // The remaining hunks become a new proposal, based on the project's new content.
    let rest = accepted["rest"].to_string();
    let shown = place.data(&["evolve", "show", &rest]);
    assert_eq!((&shown["state"], shown["hunks"].as_array().map(Vec::len)), (&json!("open"), Some(1)), "{shown:#}");
    assert!(shown["hunks"][0]["lines"].to_string().contains("-Line 20."), "{shown:#}");
    place.ok(&["evolve", "accept", &rest, "--hunks", "1"]);
    assert_eq!(place.ok(&["prompt", "show", "review"]), now.replace("Line 20.\n", ""));
    let open = place.data(&["evolve", "list"]);
    assert_eq!(open["proposals"], json!([]), "{open:#}");
    // A decided proposal cannot be accepted again, not even in part.
    let ran = place.run(&["evolve", "accept", &id, "--hunks", "1"]);
    assert!(ran.status != 0 && ran.stderr.contains("was already accepted"), "{ran}");
}
