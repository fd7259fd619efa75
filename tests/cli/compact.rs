//! Tests of `mcpkg compact`: the file shrinks, and nothing that is needed is lost.

use std::fs;

use insta::assert_snapshot;

use crate::support::{Client, Scratch};

fn size(scratch: &Scratch) -> u64 {
    fs::metadata(scratch.db()).expect("the database").len()
}

/// Returns a MiB of text that differs for each `n`.
fn large(n: u32) -> String {
    format!("{n:08}").repeat(1 << 17)
}

#[test]
fn the_space_of_deleted_content_is_freed() {
    let scratch = Scratch::with_project_here();
    if !scratch.is_file() {
        return;
    }
    scratch.ok(&["prompt", "create", "stays", "kept"]);
    scratch.ok(&["project", "create", "old"]);
    for n in 0..20 {
        fs::write(scratch.path().join("large"), large(n)).expect("a file");
        scratch.ok(&["--project", "old", "resource", "create", &format!("r{n}"), &format!("file:///{n}"), "@large"]);
    }
    scratch.ok(&["project", "delete", "old", "--yes"]);
    let before = size(&scratch);
    assert!(before > 20 << 20, "{before}");
    let doctor = scratch.run(&["doctor", "--root", "."]).to_string();
    assert!(doctor.contains("mcpkg compact"), "{doctor}");

    // Compact while a server is running. Afterwards the server still answers, and other commands still work.
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let told = scratch.json(&["compact", "--dry-run"]);
    assert!(told["free"].as_u64().expect("bytes") > 19 << 20, "{told}");
    assert_eq!(size(&scratch), before, "a dry run changes nothing");
    let told = scratch.json(&["compact"]);
    assert_eq!(told["revisions"], 0);
    let after = size(&scratch);
    assert!(after < 2 << 20, "{after}");
    assert!(told["freed"].as_u64().expect("bytes") > 19 << 20, "{told}");
    let got = client.result("prompts/get", serde_json::json!({ "name": "stays" }));
    assert_eq!(got["messages"][0]["content"]["text"], "kept");
    scratch.ok(&["check", "--deep"]);
    assert!(!scratch.run(&["doctor", "--root", "."]).to_string().contains("mcpkg compact"));
}

#[test]
fn revisions_are_deleted_only_on_request_and_the_newest_stay() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "p", "1"]);
    for n in 2..=5 {
        scratch.ok(&["prompt", "update", "p", "--content", &n.to_string()]);
    }
    scratch.ok(&["prompt", "create", "gone", "last words"]);
    scratch.ok(&["prompt", "delete", "gone", "--yes"]);
    let history =
        |name: &str| scratch.json(&["prompt", "history", name])["revisions"].as_array().expect("a list").len();
    scratch.ok(&["compact"]);
    assert_eq!((history("p"), history("gone")), (5, 2));
    assert_snapshot!(scratch.run(&["compact", "--keep-revisions", "2"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: Delete 3 revisions needs to be confirmed. They can no longer be restored. Nothing was changed
    hint: confirm with --yes
    ");
    assert_eq!(history("p"), 5, "without a terminal nothing goes unasked");
    scratch.ok(&["compact", "--older-than", "1d", "--yes"]);
    assert_eq!(history("p"), 5, "all are of today");
    let told = scratch.ok(&["compact", "--keep-revisions", "2", "--dry-run"]);
    assert!(told.starts_with("Would delete 3 revisions and free at least "), "{told}");
    scratch.ok(&["compact", "--keep-revisions", "2", "--yes"]);
    assert_eq!((history("p"), history("gone")), (2, 2));
    scratch.ok(&["prompt", "restore", "p", "4"]);
    assert_eq!(scratch.ok(&["prompt", "show", "p"]), "4");
    scratch.ok(&["compact", "--keep-revisions", "1", "--yes"]);
    assert_eq!((history("p"), history("gone")), (1, 1));
    scratch.ok(&["prompt", "restore", "gone", "2"]);
    assert_eq!(scratch.ok(&["prompt", "show", "gone"]), "last words");
    scratch.ok(&["check", "--deep"]);
    // `check` still reports a missing revision as damage if there are older ones.
    scratch.ok(&["prompt", "update", "gone", "--content", "more"]);
    let newest_but_one = "DELETE FROM revision WHERE number = (SELECT max(number) - 1 FROM revision WHERE name = 'gone') AND name = 'gone'";
    assert_eq!(scratch.change(newest_but_one), 1);
    assert_eq!(scratch.run(&["check", "--deep"]).status, 1);
    for (arguments, code) in [
        (&["compact", "--keep-revisions", "0"][..], 2),
        (&["compact", "--older-than", "yesterday"], 2),
        (&["--db", "missing.db", "compact"], 1),
    ] {
        assert_eq!(scratch.run(arguments).status, code, "{arguments:?}");
    }
}
