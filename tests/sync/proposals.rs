//! Tests of proposals about content: storing, showing, accepting and rejecting them.

use insta::assert_snapshot;
use mcpkg_content::item::What;
use mcpkg_content::proposals::{self, New, Proposed};
use mcpkg_content::stored;
use mcpkg_store::blobs;
use mcpkg_store::proposals::Origin;

use crate::support::Scratch;

/// Proposes a new text and description for the prompt `a`, or its deletion.
fn propose(scratch: &Scratch, change: Option<(&str, &str)>) -> i64 {
    let context = scratch.context();
    let proposed = context.write("test", "a", |db, project, author| {
        let all = stored::all(db, project)?;
        let ours = all.iter().find(|stored| stored.entry.name == "a").expect("the prompt");
        let mut entry = ours.entry.clone();
        let proposed = match change {
            None => Proposed::Delete,
            Some((text, description)) => {
                if let What::Prompt(attributes) = &mut entry.what {
                    attributes.description = Some(description.to_owned());
                }
                Proposed::Change { entry: &entry, blob: blobs::put(db, text.as_bytes())? }
            }
        };
        let new = New { origin: Origin::Source, item: &ours.key(), ours: Some(ours), path: "commands/a.md", proposed };
        proposals::propose(db, author, project, new)
    });
    proposed.expect("a proposal")
}

#[test]
fn a_change_is_shown_and_accepted_with_its_attributes() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one\n"]);
    let id = propose(&scratch, Some(("two\n", "Counts"))).to_string();
    assert_snapshot!(scratch.ok(&["evolve", "list"]), @"1	open	change	prompt:a	commands/a.md");
    assert_snapshot!(scratch.ok(&["evolve", "show", &id]), @r"
    --- a/prompt:a
    +++ b/prompt:a
    @@ -1 +1 @@
    -one
    +two
    ");
    assert_snapshot!(scratch.run(&["evolve", "accept", &id]), @r"
    status: 0
    --- stdout
    Accepted proposal 1: prompt:a now matches the source
    --- stderr
    ");
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "two\n");
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"][0]["description"], "Counts");
    assert_eq!(scratch.json(&["prompt", "history", "a"])["revisions"].as_array().map(Vec::len), Some(2));
    assert_snapshot!(scratch.run(&["evolve", "accept", &id]), @r"
    status: 2
    --- stdout
    --- stderr
    error: Proposal 1 was already accepted
    ");
}

#[test]
fn a_change_since_the_proposal_is_not_overwritten() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one\n"]);
    let id = propose(&scratch, Some(("two\n", "Counts"))).to_string();
    scratch.ok(&["prompt", "update", "a", "--content", "three\n"]);
    assert_snapshot!(scratch.run(&["evolve", "accept", &id]), @r"
    status: 2
    --- stdout
    --- stderr
    error: prompt:a was changed since proposal 1
    hint: review both versions with `mcpkg evolve show 1`, or reject the proposal; `mcpkg source update` then proposes the change again
    ");
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "three\n");
    assert_eq!(scratch.json(&["evolve", "list"])["data"]["proposals"][0]["state"], "open");
    // A newer proposal replaces the open one.
    let id = propose(&scratch, Some(("four\n", "Counts"))).to_string();
    assert_eq!(scratch.json(&["evolve", "list"])["data"]["proposals"].as_array().map(Vec::len), Some(1));
    assert_eq!(scratch.ok(&["evolve", "reject", &id]), format!("Rejected proposal {id}\n"));
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "three\n");
}

#[test]
fn a_deletion_is_accepted_and_can_be_taken_back() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one\n"]);
    let id = propose(&scratch, None).to_string();
    assert_snapshot!(scratch.ok(&["evolve", "show", &id]), @r"
    --- a/prompt:a
    +++ b/prompt:a
    @@ -1 +0,0 @@
    -one
    ");
    assert_snapshot!(scratch.run(&["evolve", "accept", &id]), @r"
    status: 0
    --- stdout
    Accepted proposal 1: prompt:a was deleted
    --- stderr
    ");
    assert_eq!(scratch.run(&["prompt", "show", "a"]).status, 1);
    scratch.ok(&["prompt", "restore", "a", "1"]);
    assert_eq!(scratch.ok(&["prompt", "show", "a"]), "one\n");
}

#[test]
fn a_proposal_that_replaces_another_has_a_number_of_its_own_and_stays_known() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "one\n"]);
    let first = propose(&scratch, Some(("two\n", "Counts")));
    assert_ne!(propose(&scratch, Some(("three\n", "Counts"))), first);
    let accepted = scratch.run(&["evolve", "accept", &first.to_string()]);
    assert!(accepted.status == 1 && accepted.stderr.contains("has no proposal"), "{accepted}");
    // In a synced folder: the file and the project differ, and then the project changes again.
    let scratch = Scratch::with_project();
    scratch.file("team/doc.md", "there\n");
    scratch.ok(&["resource", "create", "doc", "file:///doc.md", "here\n"]);
    for text in ["here\n", "changed\n", "changed again\n"] {
        scratch.ok(&["resource", "update", "doc", "--content", text]);
        let ran = scratch.run(&["--json", "sync", "team"]);
        let data: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!((ran.status, &data["proposals"]), (1, &serde_json::json!(1)), "{text}: {ran}");
    }
    let open = scratch.json(&["evolve", "list"])["data"]["proposals"][0]["id"].to_string();
    scratch.ok(&["evolve", "reject", &open]);
    scratch.ok(&["sync"]);
    assert_eq!(std::fs::read_to_string(scratch.path().join("team/doc.md")).expect("the file"), "changed again\n");
}
