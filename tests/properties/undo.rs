//! Tests that undoing random changes restores the content, and that undoing the undo restores the changes.

use std::sync::Arc;

use mcpkg_core::op::Context;
use mcpkg_store::projects::Selection;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::run;
use super::steps::{Step, perform, steps};
use crate::support::{Scratch, config};

/// Returns all prompts and resources of the project, without the numbers and times of revisions.
fn content(context: &Context) -> Value {
    let list = |kind: &str, rows: &str| {
        let list = run(context, &[kind, "list"], json!({})).expect("a list");
        let rows = list[rows].as_array().expect("rows");
        let show = |row: &Value| {
            let which = if kind == "prompt" { "name" } else { "uri" };
            let shown = run(context, &[kind, "show"], json!({ which: row[which] })).expect("an item");
            let mut row = row.clone();
            for key in ["revision", "created_at", "updated_at", "id"] {
                row.as_object_mut().expect("an object").shift_remove(key);
            }
            json!([row, shown])
        };
        rows.iter().map(show).collect::<Vec<_>>()
    };
    json!([list("prompt", "prompts"), list("resource", "resources")])
}

fn newest(context: &Context) -> i64 {
    let last = run(context, &["events"], json!({ "limit": 1 })).expect("events");
    last["events"][0]["seq"].as_i64().unwrap_or(0)
}

/// Undoes all successful events after `seq`. Returns the number of the undo's event, if anything was undone.
fn undo_after(context: &Context, seq: i64) -> Option<i64> {
    let events = run(context, &["events"], json!({ "after": seq, "limit": 1000 })).expect("events");
    let ok = events["events"].as_array().expect("events").iter().filter(|event| event["outcome"] == "ok");
    let seqs: Vec<_> = ok.map(|event| event["seq"].clone()).collect();
    if seqs.is_empty() {
        return None;
    }
    let done = run(context, &["undo"], json!({ "events": seqs })).expect("an undo");
    for line in done["changes"].as_array().expect("changes") {
        assert_eq!(line["status"], "in", "{done:#}");
    }
    done["event"].as_i64()
}

fn check(first: &[Step], then: &[Step]) {
    let scratch = Scratch::with_project();
    let mut context = Context::shell(mcpkg::DOMAINS, scratch.store(), Selection::default());
    context.ask = Arc::new(|_, _| Ok(()));
    let perform_all = |steps: &[Step]| {
        for step in steps {
            let is_project =
                matches!(step, Step::Project(_) | Step::Select(_) | Step::DropProject(_) | Step::RenameProject(..));
            if !is_project {
                let _ = perform(&context, step);
            }
        }
    };
    perform_all(first);
    let (before, mark) = (content(&context), newest(&context));
    perform_all(then);
    let after = content(&context);
    let Some(undone) = undo_after(&context, mark) else { return };
    assert_eq!(content(&context), before, "undone");
    // If the changes cancel each other out, the undo changed nothing, so it cannot be undone.
    if before == after {
        return;
    }
    let Some(again) = undo_after(&context, undone - 1) else { return };
    assert_eq!(content(&context), after, "brought back");
    undo_after(&context, again - 1);
    assert_eq!(content(&context), before, "undone again");
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn an_undo_of_all_changes_gives_the_content_from_before(first in steps(), then in steps()) {
        check(&first, &then);
    }
}
