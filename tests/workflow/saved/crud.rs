//! Tests the shell commands that show, change and restore workflows.

use super::{NOTE, kept};
use crate::support::{Client, Scratch};

use serde_json::json;

#[test]
fn a_workflows_text_is_stored_byte_for_byte() {
    let scratch = Scratch::with_project();
    let texts = [NOTE.to_owned(), NOTE.replace('\n', "\r\n"), NOTE.trim_end().to_owned()];
    for (text, name) in texts.iter().zip(["a", "b", "c"]) {
        let text = text.replace("workflow: keep_note", &format!("workflow: {name}"));
        scratch.file("in.yaml", &text);
        scratch.ok(&["workflow", "import", "in.yaml"]);
        assert_eq!(scratch.ok(&["workflow", "show", name]), text);
        scratch.ok(&["workflow", "export", name, "--to", "out.yaml", "--force"]);
        assert_eq!(std::fs::read_to_string(scratch.path().join("out.yaml")).expect("a file"), text);
        assert_eq!(scratch.json(&["workflow", "show", name])["yaml"], text);
    }
    let listed = scratch.json(&["workflow", "list", "--limit", "2"]);
    let names = |page: &serde_json::Value| {
        page["workflows"].as_array().expect("rows").iter().map(|row| row["name"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&listed), ["\"a\"", "\"b\""]);
    let cursor = listed["next_cursor"].as_str().expect("a cursor");
    let last = scratch.json(&["workflow", "list", "--limit", "2", "--cursor", cursor]);
    assert_eq!((names(&last), last.get("next_cursor")), (vec!["\"c\"".to_owned()], None));
    scratch.ok(&["project", "create", "q"]);
    let other = scratch.run(&["-p", "q", "workflow", "list", "--cursor", cursor]);
    assert!(other.status == 2 && other.stderr.contains("belongs to another project"), "{other}");
}

#[test]
fn the_trail_names_the_workflows_of_an_import_and_not_their_files() {
    let scratch = Scratch::with_project();
    std::fs::create_dir(scratch.path().join("in")).expect("a folder");
    let file = scratch.file("in/note.yaml", NOTE).display().to_string();
    scratch.ok(&["workflow", "import", &file]);
    scratch.file("in/note.yaml", format!("# newer\n{NOTE}"));
    // The event of a refused import names only the file.
    assert_eq!(scratch.run(&["workflow", "import", &file]).status, 1);
    scratch.ok(&["workflow", "import", "--update", &file]);
    let events = scratch.json(&["events"])["events"].clone();
    let imports = events.as_array().expect("events").iter().filter(|event| event["kind"] == "workflow.import");
    let shown: Vec<_> = imports.map(|event| (event["seq"].to_string(), event["subject"].to_string())).collect();
    let subjects: Vec<&str> = shown.iter().map(|(_, subject)| subject.trim_matches('"')).collect();
    assert_eq!(subjects, ["keep_note", "note.yaml", "keep_note"]);
    // The first revision has no earlier one to restore.
    for (at, why) in [(0, "delete it with `mcpkg workflow delete`"), (2, "restore an earlier revision")] {
        let preview = scratch.run(&["undo", &shown[at].0, "--dry-run"]);
        assert!(preview.stdout.contains(why), "{preview}");
    }
}

#[test]
fn the_shell_reports_changes() {
    let scratch = kept();
    for (arguments, says) in [
        (&["workflow", "rename", "keep_note", "note"][..], "Renamed workflow 'keep_note' to 'note' in project 'p'\n"),
        (
            &["workflow", "restore", "note", "1"],
            "Restored workflow 'note' in project 'p' from revision 1 as revision 2\n",
        ),
        (&["workflow", "export", "note", "--to", "n.yaml"], "Wrote workflow 'note' to n.yaml (273 bytes)\n"),
        (&["workflow", "delete", "note"], "Deleted workflow 'note' from project 'p'\n"),
        (&["workflow", "list"], ""),
    ] {
        let said = scratch.ok(arguments);
        assert!(
            said == says || arguments[1] == "export" && said.starts_with("Wrote workflow 'note' to n.yaml"),
            "{arguments:?}: {said}"
        );
    }
    let deleted = scratch.run(&["workflow", "show", "note"]);
    assert!(
        deleted.status == 1 && deleted.stderr.contains("Workflow 'note' does not exist in project 'p'"),
        "{deleted}"
    );
    let back = scratch.run(&["workflow", "restore", "note"]);
    assert!(back.status == 2 && back.stderr.contains("3: delete"), "{back}");
    scratch.ok(&["workflow", "restore", "note", "3"]);
    assert_eq!(scratch.ok(&["workflow", "show", "note"]), NOTE.replace("workflow: keep_note", "workflow: note"));
    let history = scratch.json(&["workflow", "history", "note"]);
    let actions: Vec<_> =
        history["revisions"].as_array().expect("revisions").iter().map(|r| r["action"].clone()).collect();
    assert_eq!(actions, ["restore", "delete", "rename", "create"]);
}

#[test]
fn an_existing_file_with_other_content_is_not_overwritten() {
    let scratch = kept();
    scratch.file("mine.yaml", "mine\n");
    let refused = scratch.run(&["workflow", "export", "keep_note", "--to", "mine.yaml"]);
    assert!(refused.status == 1 && refused.stderr.contains("--force overwrites it"), "{refused}");
    assert_eq!(std::fs::read(scratch.path().join("mine.yaml")).expect("a file"), b"mine\n");
    scratch.ok(&["workflow", "export", "keep_note", "--to", "mine.yaml", "--force"]);
    scratch.ok(&["workflow", "export", "keep_note", "--to", "mine.yaml"]);
    assert_eq!(scratch.ok(&["workflow", "export", "keep_note"]), NOTE);
}

#[test]
fn a_rename_changes_only_the_name_in_the_text() {
    let scratch = kept();
    scratch.ok(&["workflow", "rename", "keep_note", "other"]);
    assert_eq!(scratch.ok(&["workflow", "show", "other"]), NOTE.replace("workflow: keep_note", "workflow: other"));
    // The history before the rename still belongs to the workflow.
    let diff = scratch.json(&["workflow", "diff", "other"]);
    assert_eq!(diff["changes"].as_array().map(Vec::len), Some(1), "{diff:#}");
    assert_eq!(diff["changes"][0]["field"], "workflow");
    scratch.ok(&["workflow", "restore", "other", "1"]);
    assert!(scratch.ok(&["workflow", "show", "other"]).contains("workflow: other"), "what lives keeps its name");
    scratch.file("taken.yaml", NOTE);
    scratch.ok(&["workflow", "import", "taken.yaml"]);
    let taken = scratch.run(&["workflow", "rename", "other", "keep_note"]);
    assert!(taken.status == 1 && taken.stderr.contains("Workflow 'keep_note' already exists"), "{taken}");
    for bad in ["", "two words", "../x", "9a", "a.b", &"a".repeat(65)] {
        let ran = scratch.run(&["workflow", "rename", "other", bad]);
        assert!(ran.status == 2 && ran.stderr.contains("is not a valid workflow name"), "{bad}: {ran}");
    }
}

#[test]
fn an_edit_is_stored_as_written() {
    let scratch = kept();
    let edit = |editor: &str, arguments: &[&str]| {
        scratch.finish(scratch.command().env("EDITOR", editor).args(["workflow", "edit", "keep_note"]).args(arguments))
    };
    let left = edit("true", &[]);
    assert_eq!((left.status, &*left.stdout), (0, "Workflow 'keep_note' in project 'p' is unchanged\n"), "{left}");
    let done = edit("sed -i 's/for later/for ever/'", &["-m", "A better word"]);
    // The command prints the diff and then a confirmation.
    assert!(done.stdout.starts_with("--- a/keep_note.yaml\n+++ b/keep_note.yaml\n@@ "), "{done}");
    assert!(
        done.stdout.contains("for ever") && done.stdout.ends_with("Updated workflow 'keep_note' in project 'p'\n"),
        "{done}"
    );
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE.replace("for later", "for ever"));
    let history = scratch.json(&["workflow", "history", "keep_note"]);
    assert_eq!(history["revisions"][0]["message"], "A better word");
    // A changed comment does not change the model.
    assert_eq!(history["revisions"][0]["model_hash"], history["revisions"][1]["model_hash"]);
    let diff = scratch.json(&["workflow", "diff", "keep_note"]);
    assert_eq!((&diff["changes"], &diff["same"]), (&json!([]), &json!(false)));
    assert_eq!(diff["hunks"][0]["old_start"], 1, "{diff:#}");
    // An invalid text is refused, and saved to a file.
    let broken = edit("sed -i 's/steps:/steps: [/'", &[]);
    assert!(broken.status == 1 && broken.stderr.contains("your text is saved in"), "{broken}");
    let renamed = edit("sed -i 's/keep_note/other/'", &[]);
    assert!(renamed.status == 2 && renamed.stderr.contains("`mcpkg workflow rename keep_note other`"), "{renamed}");
    let unknown = edit("sed -i 's/mcpkg:prompt:list/mcpkg:prompt:lst/'", &[]);
    assert!(unknown.status == 1 && unknown.stderr.contains("unknown_command"), "{unknown}");
    assert!(
        unknown.stdout.contains("+") && unknown.stdout.contains("Updated workflow"),
        "it is kept all the same: {unknown}"
    );
    for path in
        [&broken, &renamed].map(|ran| ran.stderr.split('`').find(|word| word.ends_with(".yaml")).map(str::to_owned))
    {
        let path = path.expect("a path").replace("<SCRATCH>", &scratch.path().to_string_lossy());
        assert!(std::fs::read_to_string(&path).expect("what was written").contains("for ever"));
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn an_edit_does_not_overwrite_a_concurrent_change() {
    let scratch = kept();
    scratch.file("newer.yaml", NOTE.replace("for later", "newer"));
    let import = format!("{} workflow import newer.yaml --update && sed -i s/later/older/", crate::support::BINARY);
    let editor = scratch.file("editor", format!("#!/bin/sh\n{import} \"$1\"\n"));
    crate::support::set_mode(&editor, 0o755);
    let ran = scratch.finish(scratch.command().env("EDITOR", &editor).args(["workflow", "edit", "keep_note"]));
    assert!(ran.status == 1 && ran.stderr.contains("Somebody else changed workflow"), "{ran}");
    assert!(scratch.ok(&["workflow", "show", "keep_note"]).contains("# newer"));
}

#[test]
fn an_unknown_name_gets_a_similar_one_as_a_hint() {
    let scratch = kept();
    for words in
        [&["show"][..], &["export"], &["rename"], &["delete"], &["history"], &["diff"], &["edit"], &["restore"]]
    {
        let more: &[&str] = if words == ["rename"] { &["x"] } else { &[] };
        let ran = scratch.run(&[&["workflow"], words, &["kep_note"], more].concat());
        assert!(ran.status == 1 && ran.stderr.contains("did you mean 'keep_note'?"), "{words:?}: {ran}");
    }
    let none = scratch.run(&["workflow", "show", "keep_note", "--revision", "7"]);
    assert!(none.status == 1 && none.stderr.contains("has no revision 7"), "{none}");
}

#[test]
fn agents_can_read_workflows_but_not_change_them() {
    let scratch = kept();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let (text, failed) = client.call("list_workflows", json!({}));
    assert!(
        !failed && text.starts_with("{\"schema_version\":\"1.0\",\"workflows\":[{\"name\":\"keep_note\""),
        "{text}"
    );
    let (text, failed) = client.call("get_workflow", json!({ "name": "keep_note" }));
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(!failed, "{text}");
    assert_eq!((&answer["yaml"], &answer["revision"]), (&json!(NOTE), &json!(1)));
    let (text, failed) = client.call("get_workflow", json!({ "name": "kep_note" }));
    let answer: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(failed && answer["schema_version"] == "1.0", "{text}");
    assert_eq!((&answer["error"]["code"], &answer["error"]["category"]), (&json!("E_NOT_FOUND"), &json!("not_found")));
    for tool in
        ["edit_workflow", "delete_workflow", "restore_workflow", "import_workflow", "export_workflow", "approve_draft"]
    {
        let refused = client.error("tools/call", json!({ "name": tool, "arguments": {} }));
        assert_eq!(refused["code"], -32602, "{tool}");
    }
    client.finish();
}

#[test]
fn x34_the_model_hash_never_changes() {
    let scratch = kept();
    let data = scratch.json(&["workflow", "export", "keep_note"]);
    assert_eq!(data["model_hash"], "fbac80c9eb99610d20b2e0d0aee3e666a18053830590bd28fddedac93aaa93c5");
    scratch.file("again.json", "{\"steps\": [{\"run\": \"mcpkg:prompt:list\", \"id\": \"look\"}, {\"id\": \"keep\", \"with\": {\"content\": \"${{ inputs.text }}\", \"name\": \"note\"}, \"depends_on\": [\"look\"], \"run\": \"mcpkg:prompt:create\"}], \"inputs\": {\"text\": {\"description\": \"What it says\"}}, \"description\": \"Keeps a note\", \"workflow\": \"keep_note\"}");
    scratch.ok(&["workflow", "import", "again.json", "--update"]);
    assert_eq!(scratch.json(&["workflow", "export", "keep_note"])["model_hash"], data["model_hash"]);
}

#[test]
fn revisions_and_texts_outlive_compacting_a_backup_and_a_restore() {
    let scratch = kept();
    for word in ["two", "three", "four"] {
        scratch.file("note.yaml", NOTE.replace("later", word));
        scratch.ok(&["workflow", "import", "note.yaml", "--update"]);
    }
    scratch.ok(&["compact", "--keep-revisions", "2", "--yes"]);
    let numbers = |scratch: &Scratch| {
        let history = scratch.json(&["workflow", "history", "keep_note"]);
        history["revisions"].as_array().expect("revisions").iter().map(|r| r["revision"].as_i64()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&scratch), [Some(4), Some(3)]);
    scratch.ok(&["backup", "copy.db"]);
    scratch.ok(&["workflow", "delete", "keep_note"]);
    scratch.ok(&["restore", "copy.db", "--yes"]);
    assert!(scratch.ok(&["workflow", "show", "keep_note"]).contains("# for four"));
    assert!(scratch.ok(&["workflow", "show", "keep_note", "--revision", "3"]).contains("# for three"));
    scratch.ok(&["check", "--deep"]);
    // Deleting a project deletes its workflows and their texts.
    scratch.ok(&["project", "delete", "p", "--yes"]);
    let tables = [
        "workflow",
        "workflow_revision",
        "workflow_draft",
        "workflow_setting",
        "workflow_fixture",
        "workflow_exposed",
        "workflow_template",
        "blob",
    ];
    for table in tables {
        assert_eq!(scratch.column(&format!("SELECT count(*) FROM {table}")), ["0"], "{table}");
    }
}

#[test]
fn damaged_workflows_are_reported_and_never_served() {
    let scratch = kept();
    scratch.change("UPDATE workflow SET title = 'Other'");
    let shown = scratch.run(&["workflow", "show", "keep_note"]);
    assert!(shown.status == 1 && shown.stderr.contains("its row does not match its checksum"), "{shown}");
    assert!(scratch.ok(&["workflow", "list"]).contains("Damaged in the database"));
    let check = || scratch.run(&["check", "--deep"]).to_string();
    assert!(check().contains("Workflow 'keep_note' is damaged"), "{}", check());
    scratch.ok(&["workflow", "restore", "keep_note", "1"]);
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE);
    scratch.ok(&["check", "--deep"]);
    scratch.change("UPDATE workflow_revision SET message = 'Other' WHERE number = 1");
    assert!(
        scratch
            .run(&["workflow", "restore", "keep_note", "1"])
            .stderr
            .contains("Revision 1 of the workflow 'keep_note' is damaged")
    );
    assert!(scratch.ok(&["workflow", "history", "keep_note"]).contains("damaged"));
    scratch.change("DELETE FROM workflow_revision WHERE number = 1");
    assert!(check().contains("revisions of 'keep_note' are missing"), "{}", check());
}
