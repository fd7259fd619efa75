//! Tests that the numbers of proposals are never reused.

use mcpkg_store::projects::Project;
use mcpkg_store::proposals::{self, Action, NewProposal, Origin};
use mcpkg_store::{Db, blobs};

use crate::support::Scratch;

fn propose(db: &Db<'_>, project: &Project, item: &str) -> i64 {
    let blob = blobs::put(db, item.as_bytes()).expect("content");
    let new = NewProposal {
        project: project.id,
        origin: Origin::Sync,
        action: Action::Change,
        item,
        module_id: "prompt:a",
        path: "a.md",
        base: None,
        blob: Some(blob),
        entry: None,
        actor: "shell",
        now: 0,
    };
    proposals::insert(db, new).expect("a proposal")
}

#[test]
fn the_number_of_a_proposal_is_never_reused() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    let proposed = |item: &'static str| {
        context.write("test", item, |db, project, _| Ok(propose(db, project, item))).expect("written")
    };
    let first = proposed("resource:a");
    context
        .write("test", "a", |db, project, _| proposals::withdraw(db, project.id, Origin::Sync, "resource:a"))
        .expect("withdrawn");
    let second = proposed("resource:b");
    assert!(second > first, "{second} after {first}");
    assert_eq!(scratch.run(&["evolve", "accept", &first.to_string()]).status, 1);
    // A newer proposal for the same item replaces the older one, and has its own number.
    let third = proposed("resource:b");
    assert!(third > second);
    // A project's proposals are deleted with it.
    scratch.ok(&["project", "create", "other"]);
    scratch.ok(&["project", "delete", "p", "--yes"]);
    scratch.ok(&["project", "select", "other"]);
    let last = scratch.context();
    let last = last.write("test", "c", |db, project, _| Ok(propose(db, project, "resource:c"))).expect("written");
    assert!(last > third, "{last} after {third}");
    let listed = scratch.json(&["evolve", "list"])["data"]["proposals"].take();
    assert_eq!(listed[0]["id"], last);
}
