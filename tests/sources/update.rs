//! Tests of `source update`, which merges the changes of the source and of the project.

use serde_json::json;

use super::{ALL, done, kit, proposals, text, update, with_kit};
use crate::support::{Random, Upstream, skill};

fn words(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

const PDF: &str = "skill://pdf/SKILL.md";

#[test]
fn changes_of_both_sides_are_merged() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    assert_eq!(update(&scratch, &[])["state"], "current");
    // The last line is changed in the project, and the first one upstream. Other files change on one side only.
    let mine = scratch.file("mine", skill("pdf", "one\n\ntwo\n\nTHREE\n")).display().to_string();
    scratch.ok(&["resource", "update", "pdf.SKILL.md", &format!("@{mine}")]);
    scratch.ok(&["prompt", "update", "commit", "Commit here $ARGUMENTS\n"]);
    upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "ONE\n\ntwo\n\nthree\n")), ("AGENTS.md", "Be briefer.\n")]);
    let planned = update(&scratch, &["--dry-run"]);
    assert_eq!(planned["state"], "would be updated");
    assert_eq!(text(&scratch, PDF), skill("pdf", "one\n\ntwo\n\nTHREE\n"), "a dry run writes nothing");
    let updated = update(&scratch, &[]);
    assert_eq!(updated["items"], planned["items"], "what was shown was done");
    assert_eq!(done(&updated), words(&[("AGENTS.md", "updated"), ("skills/pdf/SKILL.md", "merged")]));
    assert_eq!(text(&scratch, PDF), skill("pdf", "ONE\n\ntwo\n\nTHREE\n"));
    assert_eq!(text(&scratch, "instructions://AGENTS.md"), "Be briefer.\n");
    assert!(scratch.ok(&["prompt", "show", "commit"]).contains("Commit here"));
    assert!(proposals(&scratch).is_empty());
    assert_eq!(update(&scratch, &[])["state"], "current");
    assert_eq!(scratch.json(&["source", "outdated"])["sources"][0]["state"], "current");
    // A complete fetch and the quick check compute the same digest.
    let digest = scratch.json(&["source", "show", "kit"])["digest"].clone();
    let other = with_kit(&upstream);
    assert_eq!(other.json(&["source", "show", "kit"])["digest"], digest);
}

#[test]
fn a_conflict_is_proposed_until_a_person_decides() {
    for decision in ["accept", "reject"] {
        let upstream = kit();
        let scratch = with_kit(&upstream);
        scratch.ok(&["resource", "update", "pdf.SKILL.md", &skill("pdf", "mine\n")]);
        upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "theirs\n"))]);
        assert_eq!(done(&update(&scratch, &[])), words(&[("skills/pdf/SKILL.md", "proposed")]));
        assert_eq!(text(&scratch, PDF), skill("pdf", "mine\n"), "what stands here stays");
        assert_eq!(proposals(&scratch), words(&[("change", PDF)]));
        // Upstream changes the file again, so the next update replaces the open proposal.
        upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "theirs\n\nmore\n")), ("commands/new.md", "New\n")]);
        let updated = update(&scratch, &[]);
        assert_eq!(done(&updated), words(&[("commands/new.md", "created"), ("skills/pdf/SKILL.md", "proposed")]));
        let listed = scratch.json(&["evolve", "list"]);
        let id = listed["data"]["proposals"][0]["id"].to_string();
        assert_eq!(proposals(&scratch).len(), 1, "the newer one replaces the older");
        let shown = scratch.ok(&["evolve", "show", &id]);
        assert!(shown.contains("+theirs") && shown.contains("+more") && shown.contains("-mine"), "{shown}");
        let state = || scratch.json(&["source", "show", "kit"])["items"].as_array().expect("items").clone();
        let state = || {
            state().into_iter().find(|item| item["path"] == "skills/pdf/SKILL.md").expect("the skill")["state"].clone()
        };
        assert_eq!(state(), "proposed");
        scratch.ok(&["evolve", decision, &id]);
        assert_eq!(state(), if decision == "accept" { "as it came" } else { "changed" });
        let expected = if decision == "accept" { "theirs\n\nmore\n" } else { "mine\n" };
        assert_eq!(text(&scratch, PDF), skill("pdf", expected));
        // The version that was decided about is the base of the next update.
        upstream.commit(&[("commands/other.md", "Other\n")]);
        assert_eq!(done(&update(&scratch, &[])), words(&[("commands/other.md", "created")]), "after {decision}");
        assert!(proposals(&scratch).is_empty(), "after {decision}");
        if decision == "accept" {
            upstream.commit(&[("skills/pdf/SKILL.md", &skill("pdf", "theirs\n\neven more\n"))]);
            assert_eq!(done(&update(&scratch, &[])), words(&[("skills/pdf/SKILL.md", "updated")]));
        }
    }
}

#[test]
fn a_deletion_on_one_side() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    scratch.ok(&["resource", "update", "pdf.SKILL.md", &skill("pdf", "mine\n")]);
    scratch.ok(&["prompt", "delete", "commit", "--yes"]);
    upstream.remove("skills");
    upstream.remove("README.md");
    upstream.commit(&[("commands/commit.md", "---\ndescription: Commit\n---\nCommit again $ARGUMENTS\n")]);
    let updated = update(&scratch, &[]);
    assert_eq!(
        done(&updated),
        words(&[
            ("README.md", "deleted"),
            ("commands/commit.md", "proposed"),
            ("skills/pdf/SKILL.md", "deletion proposed"),
            ("skills/pdf/scripts/run.sh", "deleted"),
            ("skills/xlsx/SKILL.md", "deleted"),
        ])
    );
    assert_eq!(text(&scratch, PDF), skill("pdf", "mine\n"));
    assert_eq!(scratch.run(&["resource", "show", "file:///kit/README.md"]).status, 1);
    assert_eq!(proposals(&scratch), words(&[("change", "prompt:commit"), ("delete", PDF)]));
    let listed = scratch.json(&["evolve", "list"]);
    for proposal in listed["data"]["proposals"].as_array().expect("proposals") {
        scratch.ok(&["evolve", "accept", &proposal["id"].to_string()]);
    }
    assert!(scratch.ok(&["prompt", "show", "commit"]).contains("again"));
    assert_eq!(scratch.run(&["resource", "show", PDF]).status, 1);
    assert_eq!(update(&scratch, &[])["state"], "current");
}

#[test]
fn deleted_items_are_named_with_the_command_that_restores_them() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    upstream.remove("skills/xlsx");
    upstream.remove("skills/pdf/scripts");
    upstream.remove("commands/commit.md");
    upstream.commit(&[]);
    let ran = scratch.run(&["source", "update"]);
    for hint in [
        "hint: skill 'xlsx' was deleted; `mcpkg skill restore xlsx` restores the skill",
        "hint: prompt 'commit' was deleted; `mcpkg prompt restore commit 1` restores the prompt",
        "hint: resource 'pdf.scripts.run.sh' was deleted; `mcpkg resource restore pdf.scripts.run.sh 1` restores the resource",
    ] {
        assert!(ran.stderr.contains(hint), "{hint}\n{ran}");
        let command = hint.split('`').nth(1).expect("a command").strip_prefix("mcpkg ").expect("of mcpkg");
        scratch.ok(&command.split(' ').collect::<Vec<_>>());
    }
}

#[test]
fn a_renamed_skill_is_followed_and_keeps_local_changes() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    scratch.ok(&["resource", "update", "pdf.SKILL.md", &skill("pdf", "one\n\ntwo\n\nMINE\n")]);
    scratch.ok(&["module", "set", "skill:pdf", "--tags", "docs"]);
    upstream.git(&["mv", "skills/pdf", "skills/documents"]);
    upstream.commit(&[("skills/documents/SKILL.md", &skill("documents", "one\n\ntwo\n\nthree\n"))]);
    let updated = update(&scratch, &[]);
    let items = updated["items"].as_array().expect("items");
    let moved: Vec<_> = items.iter().map(|item| (&item["moved_from"], &item["path"], &item["done"])).collect();
    assert_eq!(
        moved,
        [
            (&json!("skills/pdf/SKILL.md"), &json!("skills/documents/SKILL.md"), &json!("merged")),
            (&json!("skills/pdf/scripts/run.sh"), &json!("skills/documents/scripts/run.sh"), &json!("updated")),
        ]
    );
    assert_eq!(text(&scratch, "skill://documents/SKILL.md"), skill("documents", "one\n\ntwo\n\nMINE\n"));
    assert_eq!(scratch.run(&["resource", "show", PDF]).status, 1);
    let history = scratch.json(&["resource", "history", "documents.SKILL.md"]);
    assert_eq!(history["revisions"].as_array().map(Vec::len), Some(3), "it is the same item: {history}");
    let modules = scratch.ok(&["module", "list"]);
    assert!(modules.lines().any(|line| line.contains("skill:documents") && line.contains("docs")), "{modules}");
    // Later updates follow the new name too.
    upstream.commit(&[("skills/documents/SKILL.md", &skill("documents", "ONE\n\ntwo\n\nthree\n"))]);
    update(&scratch, &[]);
    assert_eq!(text(&scratch, "skill://documents/SKILL.md"), skill("documents", "ONE\n\ntwo\n\nMINE\n"));
}

#[test]
fn a_new_file_of_a_skill_and_a_new_name_that_is_taken() {
    let upstream = kit();
    let scratch = with_kit(&upstream);
    scratch.ok(&["prompt", "create", "deploy", "My own\n"]);
    upstream.commit(&[("skills/pdf/forms.md", "Forms\n"), ("commands/deploy.md", "Theirs\n")]);
    let updated = update(&scratch, &[]);
    assert_eq!(done(&updated), words(&[("commands/deploy.md", "proposed"), ("skills/pdf/forms.md", "created")]));
    assert_eq!(text(&scratch, "skill://pdf/forms.md"), "Forms\n");
    assert_eq!(scratch.ok(&["prompt", "show", "deploy"]), "My own\n");
    assert_eq!(proposals(&scratch), words(&[("change", "prompt:deploy")]));
}

#[test]
fn a_mode_a_link_and_a_copy_are_handled() {
    let upstream = kit();
    upstream.commit(&[("plugins/x/skills/xlsx/SKILL.md", &skill("xlsx", "sheets\n"))]);
    let scratch = with_kit(&upstream);
    assert_eq!(
        scratch.json(&["source", "show", "kit"])["items"].as_array().map(Vec::len),
        Some(9),
        "a twin is one thing"
    );
    // One of the copies changes, and becomes a skill of its own.
    upstream.commit(&[("plugins/x/skills/xlsx/SKILL.md", &skill("xlsx", "other sheets\n"))]);
    let updated = update(&scratch, &[]);
    assert_eq!(updated["state"], "updated");
    let skills = scratch.json(&["skill", "list"]);
    let skills = skills["skills"].as_array().expect("skills").iter().filter(|skill| skill["from"] == "skill");
    assert_eq!(skills.count(), 3);
    let plain = upstream.tree().join("skills/pdf/scripts/run.sh");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(plain, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    }
    upstream.commit(&[]);
    assert_eq!(done(&update(&scratch, &[])), words(&[("skills/pdf/scripts/run.sh", "updated")]));
    let shown = scratch.json(&["source", "show", "kit"]);
    let run = shown["items"]
        .as_array()
        .and_then(|items| items.iter().find(|item| item["path"] == "skills/pdf/scripts/run.sh").cloned());
    assert_eq!(run.expect("the script")["mode"], "100644");
}

#[test]
fn a_folder_is_updated_from_its_current_files() {
    let upstream = kit();
    let scratch = crate::support::Scratch::with_project();
    scratch.ok(&[&["source", "add", &upstream.tree().display().to_string(), "--yes"], &ALL[..]].concat());
    upstream.write("AGENTS.md", "Be briefer.\n");
    let updated = update(&scratch, &[]);
    assert_eq!(done(&updated), words(&[("AGENTS.md", "updated")]));
    assert_eq!(text(&scratch, "instructions://AGENTS.md"), "Be briefer.\n");
    assert_eq!(update(&scratch, &[])["state"], "current");
}

/// Makes random edits on both sides, and checks that each added line is in the project or in a proposal.
#[test]
fn random_edits_on_both_sides_lose_no_line() {
    const LINES: usize = 12;
    let mut random = Random::new();
    let upstream = Upstream::new(&[("AGENTS.md", &numbered(LINES).concat())]);
    let scratch = with_kit(&upstream);
    let mut theirs = numbered(LINES);
    let (mut merged, mut proposed) = (0, 0);
    for round in 0..14 {
        let mut mine: Vec<String> = text(&scratch, INSTRUCTIONS).split_inclusive('\n').map(str::to_owned).collect();
        let mut added = Vec::new();
        for (side, lines) in [("mine", &mut mine), ("theirs", &mut theirs)] {
            for edit in 0..=random.below(2) {
                let line = format!("{side} {round} {edit}\n");
                let at = random.below(lines.len());
                match random.below(3) {
                    0 => lines.insert(at, line.clone()),
                    1 => lines[at] = line.clone(),
                    _ => {
                        lines.remove(at);
                        lines.push(line.clone());
                    }
                }
                added.push((side, line));
            }
        }
        let (mine, upstreams) = (mine.concat(), theirs.concat());
        scratch.ok(&["resource", "update", "AGENTS.md", &mine]);
        upstream.commit(&[("AGENTS.md", &upstreams)]);
        let updated = update(&scratch, &[]);
        let now = text(&scratch, INSTRUCTIONS);
        let listed = scratch.json(&["evolve", "list"]);
        let open = listed["data"]["proposals"].as_array().expect("proposals");
        let shown: String = open.iter().map(|one| scratch.ok(&["evolve", "show", &one["id"].to_string()])).collect();
        for (side, line) in added
            .iter()
            .filter(|(side, line)| (if *side == "mine" { &mine } else { &upstreams }).contains(line.as_str()))
        {
            let kept = now.contains(line.as_str()) || (*side == "theirs" && shown.contains(&format!("+{line}")));
            assert!(kept, "round {round}: {line:?} of {side} is lost: {updated}\n{now}\n{shown}");
        }
        merged += usize::from(done(&updated).iter().any(|(_, what)| what == "merged" || what == "updated"));
        if let [one] = open.as_slice() {
            proposed += 1;
            scratch.ok(&["evolve", if random.below(2) == 0 { "accept" } else { "reject" }, &one["id"].to_string()]);
        }
    }
    eprintln!("{merged} rounds were merged, {proposed} proposed");
    assert!(merged + proposed == 14, "{merged} merged, {proposed} proposed");
}

const INSTRUCTIONS: &str = "instructions://AGENTS.md";

fn numbered(lines: usize) -> Vec<String> {
    (0..lines).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn the_last_server_of_an_agents_file_is_deleted_with_it() {
    let file = |servers: &str| format!("{{\n  \"mcpServers\": {servers}\n}}\n");
    let upstream =
        Upstream::new(&[("README.md", "# Kit\n"), (".mcp.json", &file("{ \"x\": { \"command\": \"x\" } }"))]);
    let scratch = with_kit(&upstream);
    assert!(scratch.ok(&["mcp", "list"]).contains('x'));
    upstream.commit(&[(".mcp.json", &file("{}"))]);
    let updated = done(&update(&scratch, &[]));
    assert!(updated.contains(&("mcp_server:x".to_owned(), "deleted".to_owned())), "{updated:?}");
    assert_eq!(scratch.json(&["mcp", "list"])["servers"].as_array().map(Vec::len), Some(0));
    // A change that was made in the project is kept, and the deletion is proposed.
    upstream.commit(&[(".mcp.json", &file("{ \"y\": { \"command\": \"y\" } }"))]);
    update(&scratch, &[]);
    scratch.ok(&["mcp", "set", "y", "--description", "Mine"]);
    upstream.commit(&[(".mcp.json", &file("{}"))]);
    update(&scratch, &[]);
    assert!(scratch.ok(&["mcp", "list"]).contains('y'));
    assert!(proposals(&scratch).iter().any(|(action, _)| action == "delete"), "{:?}", proposals(&scratch));
}
