//! Tests concurrent changes of workflows, and a read-only database.

use std::sync::{Arc, Barrier};

use serde_json::json;

use super::{NOTE, asking, kept, propose, run};

#[test]
fn of_two_concurrent_approvals_one_wins() {
    for _ in 0..4 {
        let scratch = kept();
        let changed = NOTE.replace("name: note", "name: second");
        let id = propose(&scratch, json!({ "yaml": changed, "replaces": "keep_note" }));
        let both_were_asked = Arc::new(Barrier::new(2));
        let mut won = Vec::new();
        std::thread::scope(|scope| {
            let people: Vec<_> = (0..2)
                .map(|_| {
                    let barrier = Arc::clone(&both_were_asked);
                    let context = asking(&scratch, move |_| {
                        barrier.wait();
                    });
                    let id = &id;
                    scope.spawn(move || {
                        run(&context, &["draft", "approve"], json!({ "id": id })).map_err(|error| error.code().name())
                    })
                })
                .collect();
            won.extend(people.into_iter().map(|person| person.join().expect("no panic").map(drop)));
        });
        won.sort();
        assert_eq!(won, [Ok(()), Err("E_DRAFT_STALE")]);
        assert_eq!(scratch.json(&["workflow", "history", "keep_note"])["revisions"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_draft_that_changes_during_the_review_is_not_approved() {
    let scratch = Arc::new(kept());
    let changed = NOTE.replace("name: note", "name: second");
    let id = propose(&scratch, json!({ "yaml": changed, "replaces": "keep_note" }));
    let (of_ask, of_id) = (Arc::clone(&scratch), id.clone());
    let context = asking(&scratch, move |_| {
        let edit =
            of_ask.finish(of_ask.command().env("EDITOR", "sed -i s/second/third/").args(["draft", "edit", &of_id]));
        assert_eq!(edit.status, 0, "{edit}");
    });
    let error = run(&context, &["draft", "approve"], json!({ "id": id })).expect_err("it was edited");
    assert_eq!(error.code().name(), "E_DRAFT_STALE");
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE);
    let of_ask = Arc::clone(&scratch);
    let context = asking(&scratch, move |_| {
        of_ask.ok(&["workflow", "rename", "keep_note", "other"]);
    });
    let error = run(&context, &["draft", "approve"], json!({ "id": id })).expect_err("its base moved");
    assert_eq!(error.code().name(), "E_DRAFT_STALE");
    assert_eq!(scratch.json(&["draft", "show", &id])["state"], "stale");
}

#[test]
fn a_read_only_database_can_be_read() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": NOTE.replace("name: note", "name: second"), "replaces": "keep_note" }));
    let context = asking(&scratch, |_| {});
    let reading = mcpkg_core::op::Context { store: context.store.reading(), ..context };
    for (command, arguments) in [
        (&["workflow", "list"][..], json!({})),
        (&["workflow", "show"], json!({ "name": "keep_note" })),
        (&["workflow", "history"], json!({ "name": "keep_note" })),
        (&["workflow", "env", "list"], json!({})),
        (&["draft", "list"], json!({})),
        (&["draft", "show"], json!({ "id": id })),
        (&["draft", "diff"], json!({ "id": id })),
        (&["draft", "validate"], json!({ "id": id })),
    ] {
        run(&reading, command, arguments).unwrap_or_else(|error| panic!("{command:?}: {error}"));
    }
    for (command, arguments) in [
        (&["draft", "add"][..], json!({ "yaml": NOTE, "replaces": "keep_note" })),
        (&["draft", "reject"], json!({ "id": id })),
        (&["draft", "approve"], json!({ "id": id })),
        (&["workflow", "delete"], json!({ "name": "keep_note" })),
        (&["workflow", "rename"], json!({ "name": "keep_note", "to": "other" })),
        (&["workflow", "restore"], json!({ "name": "keep_note", "revision": 1 })),
        (&["workflow", "policy"], json!({ "rule": "deny" })),
        (&["workflow", "env", "set"], json!({ "name": "A", "value": "b" })),
    ] {
        run(&reading, command, arguments).expect_err("nothing is written");
    }
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE);
    assert_eq!(scratch.json(&["draft", "list"])["drafts"].as_array().map(Vec::len), Some(1));
}
