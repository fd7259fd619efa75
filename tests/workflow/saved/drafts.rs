//! Tests the life of a draft: an agent proposes it, and a person reviews it and decides.

use serde_json::{Value, json};

use super::{NOTE, agreeing, answered, asking, kept, propose, run};
use crate::support::{BINARY, Client, Http, Scratch, http};

/// Returns [`NOTE`] with another name for the prompt it creates.
fn changed() -> String {
    NOTE.replace("name: note", "name: second")
}

#[test]
fn a_draft_is_proposed_looked_at_and_approved_at_a_terminal() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": changed(), "message": "A second note", "replaces": "keep_note" }));
    let end = &id[id.len() - 12..];
    let listed = scratch.ok(&["draft", "list"]);
    assert!(
        listed.contains(&format!("{end}\tkeep_note\topen\t1\t")) && listed.contains("mcp:test-client\tA second note"),
        "{listed}"
    );
    let shown = scratch.ok(&["draft", "show", end]);
    let head = format!(
        "Draft {id} of workflow 'keep_note' in project 'p': open, based on revision 1\nProposed by mcp:test-client at "
    );
    assert!(
        shown.starts_with(&head) && shown.contains("\n  A second note\n") && shown.contains("name: second"),
        "{shown}"
    );
    let diff = scratch.ok(&["draft", "diff", end]);
    assert!(
        diff.starts_with(
            "step 'keep': with.name changed: \"note\" -> \"second\"\n--- keep_note 1\n+++ keep_note (draft)\n"
        ),
        "{diff}"
    );
    let data = scratch.json(&["draft", "diff", end]);
    let change = &data["changes"][0];
    assert_eq!(
        (&change["change"], &change["what"], &change["field"]),
        (&json!("changed"), &json!("step"), &json!("with.name"))
    );
    // Both versions have the step at the same line.
    assert_eq!((&change["was_at"]["line"], &change["was_at"]["column"]), (&json!(14), &json!(7)), "{data:#}");
    let yaml = scratch.json(&["draft", "show", end])["yaml"].as_str().expect("a text").to_owned();
    assert_eq!((yaml.as_str(), &change["is_at"]["line"]), (changed().as_str(), &json!(14)));
    assert!(!data["hunks"].as_array().expect("hunks").is_empty());
    // Without a terminal, nobody can approve, even with `--yes`.
    for arguments in [&["draft", "approve", end][..], &["draft", "approve", end, "--yes"]] {
        let ran = scratch.run(arguments);
        assert!(ran.status == 1 && ran.stderr.contains("Only a person at a terminal can approve a draft"), "{ran}");
    }
    let Some((shown, done)) = answered(&scratch, &["draft", "approve", end], "n\n") else { return };
    assert!(
        !done
            && shown.contains("Save the draft as revision 2 of workflow 'keep_note'?")
            && shown.contains("name: second"),
        "{shown}"
    );
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE);
    let (shown, done) = answered(&scratch, &["draft", "approve", end], "y\n").expect("a terminal");
    assert!(done, "{shown}");
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), yaml);
    let newest = &scratch.json(&["workflow", "history", "keep_note"])["revisions"][0];
    assert_eq!(
        (&newest["draft"], &newest["message"], &newest["actor"]),
        (&json!(id), &json!("A second note"), &json!("shell"))
    );
    assert_eq!(scratch.json(&["draft", "show", end])["state"], "approved");
    assert!(scratch.json(&["draft", "list"])["drafts"].as_array().expect("drafts").is_empty());
    for command in ["approve", "reject", "edit"] {
        let context = agreeing(&scratch);
        let error = run(&context, &["draft", command], json!({ "id": end })).expect_err("it was decided");
        assert_eq!(error.code().name(), "E_DRAFT_STALE", "{command}: {error}");
        assert!(error.message().ends_with("was already approved by shell"), "{error}");
    }
}

#[test]
fn x33_a_draft_has_no_null_or_empty_fields() {
    let scratch = Scratch::with_project();
    let step = json!({ "id": "look", "run": "mcpkg:prompt:list", "description": null, "with": {}, "depends_on": [], "repeat": null });
    let draft = json!({ "workflow": "look", "title": null, "inputs": {}, "steps": [step] });
    let id = propose(&scratch, json!({ "draft": draft }));
    let yaml = scratch.json(&["draft", "show", &id])["yaml"].as_str().expect("a text").to_owned();
    assert_eq!(yaml, "workflow: look\nsteps:\n  - id: look\n    run: mcpkg:prompt:list\n");
    // The same draft as text gives the same YAML.
    let again = propose(&scratch, json!({ "yaml": draft.to_string() }));
    assert_eq!(scratch.json(&["draft", "show", &again])["yaml"], yaml);
    let both = json!({ "yaml": "workflow: a", "draft": {} });
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    for arguments in [both, json!({})] {
        let (text, failed) = client.call("propose_workflow", arguments);
        assert!(failed && text.contains("Pass either `yaml` or `draft`"), "{text}");
    }
    client.finish();
}

#[test]
fn x42_no_input_is_stored_and_the_trail_contains_no_contents() {
    let scratch = kept();
    let planted = "planted-7f3a9c";
    scratch.ok(&["workflow", "plan", "keep_note", "--input", &format!("text={planted}")]);
    let id = propose(&scratch, json!({ "yaml": changed(), "replaces": "keep_note", "message": "said-in-a-message" }));
    scratch.ok(&["draft", "plan", &id, "--input", &format!("text={planted}")]);
    scratch.ok(&["draft", "reject", &id]);
    for name in ["test.db", "test.db-wal"] {
        let bytes = std::fs::read(scratch.path().join(name)).unwrap_or_default();
        assert!(!bytes.windows(planted.len()).any(|part| part == planted.as_bytes()), "{name} has an input");
    }
    let events = scratch.json(&["events"]).to_string();
    assert!(events.contains("\"draft.add\"") && events.contains("\"draft.reject\""), "{events}");
    for content in ["said-in-a-message", "inputs.text", "second"] {
        assert!(!events.contains(content), "{events}");
    }
}

#[test]
fn a_draft_with_errors_is_stored_but_not_approved_until_it_is_fixed() {
    let scratch = Scratch::with_project();
    let id = propose(&scratch, json!({ "yaml": NOTE.replace("mcpkg:prompt:list", "mcpkg:prompt:lst") }));
    let shown = scratch.json(&["draft", "show", &id]);
    let found = &shown["findings"][0];
    assert_eq!(
        (&shown["errors"], &found["code"], &found["line"]),
        (&json!(1), &json!("unknown_command"), &json!(9)),
        "{shown:#}"
    );
    assert_eq!(shown.get("plan"), None, "what has errors has no plan");
    let validated = scratch.run(&["draft", "validate", &id]);
    assert!(validated.status == 1 && validated.stdout.contains("unknown_command"), "{validated}");
    let error = run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id })).expect_err("it has errors");
    assert_eq!(error.code().name(), "E_WORKFLOW_INVALID");
    assert!(error.hints().iter().any(|hint| hint.contains("unknown_command")), "{error:?}");
    let mut edit = scratch.command();
    let edit = scratch.finish(edit.env("EDITOR", "sed -i s/prompt:lst/prompt:list/").args(["draft", "edit", &id]));
    assert_eq!(edit.status, 0, "{edit}");
    assert_eq!(scratch.run(&["draft", "validate", &id]).status, 0);
    let workflow = run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id })).expect("it was mended");
    assert_eq!((&workflow["name"], &workflow["revision"]), (&json!("keep_note"), &json!(1)));
    let unreadable = scratch.run_with_input(&["draft", "add", "-"], b"steps: [");
    assert!(unreadable.status == 1 && unreadable.stderr.contains("cannot be read as a workflow"), "{unreadable}");
    let secret = NOTE.replace("name: note", "name: ghp_0123456789abcdefghijklmnopqrstuvwxyz");
    let refused = scratch.run_with_input(&["draft", "add", "-", "--replaces", "keep_note"], secret.as_bytes());
    assert!(
        refused.status == 1 && refused.stderr.contains("The text contains a secret; nothing was stored"),
        "{refused}"
    );
}

#[test]
fn a_draft_with_an_outdated_base_is_stale_until_it_is_edited() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": changed(), "replaces": "keep_note" }));
    scratch.file("note.yaml", NOTE.replace("Keeps a note", "Keeps one note"));
    scratch.ok(&["workflow", "import", "note.yaml", "--update"]);
    assert_eq!(scratch.json(&["draft", "list"])["drafts"][0]["state"], "stale");
    let error = run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id })).expect_err("it is stale");
    assert_eq!(error.code().name(), "E_DRAFT_STALE");
    let details = error.details().expect("details");
    assert_eq!((&details["base_revision"], &details["revision"]), (&json!(1), &json!(2)));
    let diff = details["diff"].as_str().expect("a diff");
    assert!(diff.contains("-description: Keeps a note") && diff.contains("+description: Keeps one note"), "{diff}");
    // The editor shows the other change. If the text is saved unchanged, the draft stays stale.
    let edit = |editor: &str| scratch.finish(scratch.command().env("EDITOR", editor).args(["draft", "edit", &id]));
    let left = edit("grep -q '^#| +description: Keeps one note'");
    assert!(left.status == 0 && left.stdout.contains("is unchanged"), "{left}");
    assert_eq!(scratch.json(&["draft", "list"])["drafts"][0]["state"], "stale");
    let taken = edit("sed -i 's/Keeps a note/Keeps one note/'");
    assert_eq!(taken.status, 0, "{taken}");
    let draft = scratch.json(&["draft", "show", &id]);
    assert_eq!((&draft["state"], &draft["base_revision"]), (&json!("open"), &json!(2)));
    assert!(!draft["yaml"].as_str().expect("a text").contains("#|"));
    run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id })).expect("it is no longer stale");
    let text = scratch.ok(&["workflow", "show", "keep_note"]);
    assert!(text.contains("Keeps one note") && text.contains("name: second"), "{text}");
}

#[test]
fn a_workflow_that_changes_while_its_draft_is_edited_is_named_in_the_error() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": changed(), "replaces": "keep_note" }));
    let note = scratch.file("note.yaml", NOTE.replace("Keeps a note", "Keeps one note"));
    let lines = format!("sed -i s/second/third/ \"$1\"\n{BINARY} workflow import {} --update\n", note.display());
    let editor = format!("sh {}", scratch.file("editor.sh", lines).display());
    let edited = scratch.finish(scratch.command().env("EDITOR", editor).args(["draft", "edit", &id]));
    let what = "Workflow 'keep_note' has changed in the meantime: it is now at revision 2; the draft was not edited";
    assert!(edited.status == 1 && edited.stderr.contains(what), "{edited}");
    assert!(edited.stderr.contains("mcpkg draft edit "), "{edited}");
    let draft = scratch.json(&["draft", "show", &id]);
    assert_eq!((&draft["state"], &draft["yaml"]), (&json!("stale"), &json!(changed())));
}

#[test]
fn a_draft_is_stale_if_its_name_was_taken_or_its_workflow_deleted() {
    let scratch = Scratch::with_project();
    let new = propose(&scratch, json!({ "yaml": NOTE }));
    scratch.file("note.yaml", NOTE);
    scratch.ok(&["workflow", "import", "note.yaml"]);
    let error = run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": new })).expect_err("the name is taken");
    assert!(error.message().starts_with("A workflow 'keep_note' was created after"), "{error}");
    let of_gone = propose(&scratch, json!({ "yaml": changed(), "replaces": "keep_note" }));
    scratch.ok(&["workflow", "delete", "keep_note"]);
    let error = run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": of_gone })).expect_err("it is gone");
    assert!(error.message().ends_with("was deleted after the draft was made"), "{error}");
    // The name is free again.
    run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": new })).expect("it is free");
    let actions = scratch.json(&["workflow", "history", "keep_note"]);
    assert_eq!(actions["revisions"].as_array().map(Vec::len), Some(3), "its history goes on: {actions:#}");
}

#[test]
fn a_draft_names_the_workflow_it_replaces_and_may_rename_it() {
    let scratch = kept();
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let mut refused = |arguments: Value| {
        let (text, failed) = client.call("propose_workflow", arguments);
        assert!(failed, "{text}");
        serde_json::from_str::<Value>(&text).expect("JSON")["error"].clone()
    };
    let unsaid = refused(json!({ "yaml": changed() }));
    assert_eq!((&unsaid["code"], &unsaid["category"]), (&json!("E_ALREADY_EXISTS"), &json!("conflict")));
    let unknown = refused(json!({ "yaml": changed(), "replaces": "kep_note" }));
    assert_eq!((&unknown["code"], &unknown["hint"]), (&json!("E_NOT_FOUND"), &json!("did you mean 'keep_note'?")));
    scratch.file("note.yaml", changed());
    scratch.ok(&["workflow", "import", "note.yaml", "--update"]);
    let late = refused(json!({ "yaml": NOTE, "replaces": "keep_note", "revision": 1 }));
    assert_eq!(late["code"], "E_DRAFT_STALE");
    assert!(late["details"]["diff"].as_str().is_some_and(|diff| diff.contains("+      name: second")), "{late:#}");
    client.finish();
    assert!(
        scratch.json(&["draft", "list", "--all"])["drafts"].as_array().expect("drafts").is_empty(),
        "nothing was kept"
    );
    let renamed = NOTE.replace("workflow: keep_note", "workflow: keep_one");
    let id = propose(&scratch, json!({ "yaml": renamed, "replaces": "keep_note", "revision": 2 }));
    run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id })).expect("it is approved");
    assert_eq!(scratch.run(&["workflow", "show", "keep_note"]).status, 1);
    assert_eq!(scratch.json(&["workflow", "show", "keep_one"])["revision"], 3);
}

#[test]
fn a_draft_belongs_to_its_project_and_a_read_only_key_proposes_nothing() {
    let scratch = kept();
    let id = propose(&scratch, json!({ "yaml": changed(), "replaces": "keep_note" }));
    scratch.ok(&["project", "create", "q"]);
    for command in ["show", "diff", "validate", "plan", "reject"] {
        let ran = scratch.run(&["-p", "q", "draft", command, &id]);
        assert!(
            ran.status == 1 && ran.stderr.contains(&format!("Project 'q' has no draft '{id}'")),
            "{command}: {ran}"
        );
    }
    let made = scratch.json(&["access", "create", "reader", "--read-only"]);
    let key = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let server = Http::start(&scratch, &["--groups", "content,workflow"]);
    let call = |tool: &str, arguments: Value| {
        let request = http::modern("/mcp", "tools/call", json!({ "name": tool, "arguments": arguments }));
        server.send(&request.with("Authorization", &key)).message()
    };
    let read = call("get_draft", json!({ "id": id }));
    assert_eq!(read["result"]["structuredContent"]["workflow"], "keep_note", "{read:#}");
    let refused = call("propose_workflow", json!({ "yaml": changed(), "replaces": "keep_note" }));
    assert!(refused["error"]["message"] == "This access key can only read", "{refused:#}");
    assert_eq!(scratch.json(&["draft", "list", "--all"])["drafts"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_number_of_open_drafts_is_limited_and_decided_ones_are_pruned() {
    let scratch = kept();
    scratch.ok(&["limit", "set", "drafts", "--number", "2"]);
    let arguments = || json!({ "yaml": changed(), "replaces": "keep_note" });
    let ids = [(); 2].map(|()| propose(&scratch, arguments()));
    let error = run(&scratch.context(), &["draft", "add"], arguments()).expect_err("too many wait");
    assert_eq!(error.code().name(), "E_TOO_MANY");
    scratch.ok(&["draft", "reject", &ids[0]]);
    propose(&scratch, arguments());
    assert!(scratch.ok(&["prune", "--yes"]).contains("1 row of drafts"));
    assert_eq!(scratch.run(&["draft", "show", &ids[0]]).status, 1);
    assert_eq!(scratch.json(&["draft", "list", "--all"])["drafts"].as_array().map(Vec::len), Some(2));
    // The base text of a draft is kept, even if its revision is removed.
    scratch.file("note.yaml", NOTE.replace("later", "ever"));
    scratch.ok(&["workflow", "import", "note.yaml", "--update"]);
    scratch.ok(&["compact", "--keep-revisions", "1", "--yes"]);
    scratch.ok(&["compact"]);
    assert!(scratch.ok(&["draft", "diff", &ids[1]]).contains("\n-      name: note\n+      name: second\n"));
    scratch.ok(&["check", "--deep"]);
}

#[test]
fn the_note_of_a_decision_reaches_the_proposer() {
    let scratch = kept();
    let arguments = || json!({ "yaml": changed(), "replaces": "keep_note" });
    let note = "use \"app_7f3\"\u{202e}";
    let quoted = r#""use \"app_7f3\"" <U+202E right-to-left>"#;
    let (no, yes) = (propose(&scratch, arguments()), propose(&scratch, arguments()));
    scratch.ok(&["draft", "reject", &no, "--note", note]);
    run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": yes, "note": note })).expect("it is approved");
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    for (id, state) in [(&no, "rejected"), (&yes, "approved")] {
        let (text, _) = client.call("get_draft", json!({ "id": id }));
        let draft: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&draft["state"], &draft["note"]), (&json!(state), &json!(note)), "{draft:#}");
        let (text, failed) = client.call("execute", json!({ "draft_id": id }));
        let error = serde_json::from_str::<Value>(&text).expect("JSON")["error"].clone();
        assert!(failed && error["details"]["note"] == note, "{error:#}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.ends_with(&format!("was already {state} by shell: {quoted}")), "{message}");
        let shown = scratch.ok(&["draft", "show", id]);
        assert!(shown.contains(&format!("\nshell: {quoted}\n")), "{shown}");
    }
    client.finish();
}

#[test]
fn a_draft_keeps_the_text_of_its_author() {
    let scratch = Scratch::with_project();
    let text = "# Looks first.\nworkflow:  w\ntags: [mine]  # nobody knows this key\n\nsteps:\n- id: a\n  run: \"mcpkg:prompt:lst\"";
    let id = propose(&scratch, json!({ "yaml": text }));
    let draft = scratch.json(&["draft", "show", &id]);
    assert_eq!(draft["yaml"], text);
    // The positions are those in the author's text.
    let places: Vec<_> = draft["findings"].as_array().expect("findings").iter().collect();
    let of = |code: &str| places.iter().find(|found| found["code"] == code).map(|found| found["line"].clone());
    assert_eq!((of("unknown_key"), of("unknown_command")), (Some(json!(3)), Some(json!(7))), "{draft:#}");
    let secret = text.replace("Looks first", "ghp_0123456789abcdefghijklmnopqrstuvwxyz");
    let refused = scratch.run_with_input(&["draft", "add", "-"], secret.as_bytes());
    assert!(refused.status == 1 && refused.stderr.contains("The comment on line 1"), "{refused}");
}

#[test]
fn a_plan_of_a_draft_with_errors_names_them_all_and_plans_the_rest() {
    let scratch = Scratch::with_project();
    let text = NOTE.replace("      name: note\n", "      nmae: note\n") + "  - id: more\n    run: mcpkg:prompt:lst\n";
    let id = propose(&scratch, json!({ "yaml": text }));
    let ran = scratch.run(&["--json", "draft", "plan", &id, "--input", "text=x"]);
    let data: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let errors: Vec<_> = data["errors"].as_array().expect("errors").iter().map(|found| &found["code"]).collect();
    assert_eq!(errors, ["missing_required_arg", "unknown_with_key", "unknown_command"], "{data:#}");
    assert!(ran.status == 1 && data["id"] == id && data["plan"].get("plan_hash").is_none(), "{data:#}");
    let steps = data["plan"]["steps"].as_array().expect("steps").iter();
    let steps: Vec<_> = steps.map(|step| (step["id"].as_str(), step["line"].as_i64(), &step["with"])).collect();
    assert_eq!(
        steps,
        [(Some("look"), Some(8), &json!({})), (Some("keep"), Some(10), &json!({ "nmae": "note", "content": "x" }))]
    );
    let shown = scratch.run(&["draft", "plan", &id]).stdout;
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text}: {shown}"));
    assert!(place("[unknown_with_key]") < place("[unknown_command]") && place("[unknown_command]") < place("keep\t"));
    // Only `draft plan` accepts a text with errors. The `dry_run` tool still refuses it.
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    let (text, failed) = client.call("dry_run", json!({ "yaml": text }));
    assert!(failed && text.contains("E_WORKFLOW_INVALID"), "{text}");
    client.finish();
}

#[test]
fn single_hunks_of_a_draft_are_approved() {
    let scratch = kept();
    let both = changed().replace("# Keeps what is said.", "# Keeps it.");
    let id = propose(&scratch, json!({ "yaml": both, "replaces": "keep_note" }));
    assert_eq!(scratch.json(&["draft", "diff", &id])["hunks"].as_array().map(Vec::len), Some(2));
    let approve = |hunks: Value| run(&agreeing(&scratch), &["draft", "approve"], json!({ "id": id, "hunks": hunks }));
    assert!(approve(json!([3])).expect_err("there are two").message().starts_with("There is no hunk 3"));
    let told = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let seen = std::sync::Arc::clone(&told);
    let context = asking(&scratch, move |body| *seen.lock().expect("a lock") = format!("{body:?}"));
    let workflow = run(&context, &["draft", "approve"], json!({ "id": id, "hunks": [2] })).expect("it is approved");
    assert_eq!((&workflow["revision"], &workflow["hunks"]), (&json!(2), &json!([2])), "{workflow:#}");
    let told = told.lock().expect("a lock");
    assert!(told.contains("name: second") && !told.contains("Keeps it."), "a person saw that part alone: {told}");
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), changed());
    assert_eq!(scratch.json(&["draft", "show", &id])["state"], "approved");
}
