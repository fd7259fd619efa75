//! Tests `workflow run NAME --yes`, which programs can call too. It runs only workflows that a person has approved.

use super::Ground;
use super::steps::TEXT;
use crate::support::{at_a_terminal, skipped};

const RUN: [&str; 7] = ["workflow", "run", "app_with_db", "-i", "region=eu", "-i", "plan=small"];

#[test]
fn yes_runs_only_workflows_that_a_person_saved_at_a_terminal() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    scratch.file("app.yaml", TEXT);
    scratch.ok(&["workflow", "import", "app.yaml"]);
    let yes = [&RUN[..], &["--yes"]].concat();
    let refused = scratch.run(&yes);
    assert!(refused.status == 1 && refused.stderr.contains("a person has to consent first"), "{refused}");
    assert!(refused.stderr.contains("`mcpkg workflow edit`"), "it says how to approve it: {refused}");
    // A program saves the new text, so the text is not approved.
    scratch.file("app.yaml", TEXT.replace("name: web", "name: api"));
    scratch.ok(&["workflow", "import", "app.yaml", "--update"]);
    assert_eq!(scratch.run(&yes).status, 1);
    assert_eq!(ground.changes(), 0);
    let import = ["workflow", "import", "app.yaml", "--update"];
    if at_a_terminal(scratch.command().args(import), "").is_none() {
        return skipped("there is no script of util-linux");
    }
    let unconfirmed = scratch.run(&RUN);
    assert!(unconfirmed.status == 1 && unconfirmed.stderr.contains("confirm with --yes"), "{unconfirmed}");
    assert_eq!(scratch.ok(&yes), "api\n");
    assert_eq!(ground.api.apps(), 1);
    // The approval covers neither a single step nor a changed text.
    let step = scratch.run(&["workflow", "run", "app_with_db", "--step", "create_app", "-i", "region=eu", "--yes"]);
    assert!(step.status == 1 && step.stderr.contains("a person has to consent"), "{step}");
    scratch.file("app.yaml", TEXT.replace("name: web", "name: mail"));
    scratch.ok(&["workflow", "import", "app.yaml", "--update"]);
    assert_eq!(scratch.run(&yes).status, 1);
    assert_eq!(ground.api.apps(), 1);
}

#[test]
fn yes_runs_a_draft_that_a_person_approved_on_this_machine() {
    let ground = Ground::new();
    let scratch = &ground.scratch;
    let yes = [&RUN[..], &["--yes"]].concat();
    scratch.file("app.yaml", TEXT);
    let id = scratch.json(&["draft", "add", "app.yaml"])["id"].as_str().expect("an id").to_owned();
    if at_a_terminal(scratch.command().args(["draft", "approve", &id]), "y\n").is_none() {
        return skipped("there is no script of util-linux");
    }
    assert_eq!(scratch.ok(&yes), "web\n");
    // Without approvals on this machine, the same database runs nothing.
    for (folder, _) in scratch.approved().all(mcpkg_base::approved::Kind::Workflow).expect("records") {
        scratch.approved().withdraw(mcpkg_base::approved::Kind::Workflow, &folder).expect("it goes");
    }
    assert_eq!(scratch.run(&yes).status, 1);
    // If a person leaves the text in the editor unchanged, this still counts as an approval.
    let mut edit = scratch.command();
    edit.env("EDITOR", "true").args(["workflow", "edit", "app_with_db"]);
    at_a_terminal(&edit, "").expect("script is there");
    assert_eq!(scratch.ok(&yes), "web\n");
    assert_eq!(ground.api.apps(), 2);
}
