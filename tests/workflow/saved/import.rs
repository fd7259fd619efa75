//! Tests the import of workflow files. An import succeeds for all files or for none.

use super::{NOTE, kept};
use crate::support::Scratch;

/// A workflow in another program's format.
const FOREIGN: &str = "\
workflow: foreign
title: null
inputs:
  name:
    provider: mcpkg prompt:list
    example: {id: note}
steps:
  - id: keep
    run: mcpkg prompt:create
    when: inputs.name
    with:
      name: note
      content: ${{ inputs.name }}
    depends_on: []
";

fn named(name: &str) -> String {
    NOTE.replace("workflow: keep_note", &format!("workflow: {name}"))
}

#[test]
fn a_folder_is_imported_whole_or_not_at_all() {
    let scratch = Scratch::with_project();
    scratch.file("flows/a.yaml", named("a"));
    scratch.file("flows/b.yml", named("b"));
    scratch.file("flows/compose.yaml", "services: {}\n");
    scratch.file("flows/notes.md", "# Notes\n");
    scratch.file("flows/more/d.yaml", named("d"));
    scratch.file("flows/pictures/e.png", "no text");
    let dry = scratch.run(&["workflow", "import", "flows", "--dry-run"]);
    assert!(dry.stdout.contains("a\tcreated\t2\tflows/a.yaml\nb\tcreated\t2\tflows/b.yml\n"), "{dry}");
    assert!(dry.stderr.contains("skipped `flows/compose.yaml`: it has no `workflow` field"), "{dry}");
    assert!(dry.stderr.contains("skipped the folder `flows/more/`") && !dry.stderr.contains("pictures"), "{dry}");
    assert_eq!(scratch.json(&["workflow", "list"])["workflows"].as_array().map(Vec::len), Some(0));
    scratch.file("flows/c.yaml", "workflow: c\nsteps: [\n");
    let broken = scratch.run(&["workflow", "import", "flows"]);
    assert!(broken.status == 1 && broken.stderr.contains("`flows/c.yaml` cannot be read as a workflow"), "{broken}");
    assert_eq!(scratch.json(&["workflow", "list"])["workflows"].as_array().map(Vec::len), Some(0));
    scratch.file("flows/c.yaml", named("a"));
    let twins = scratch.run(&["workflow", "import", "flows"]);
    assert!(twins.status == 1 && twins.stderr.contains("Two files contain workflow 'a'"), "{twins}");
    std::fs::remove_file(scratch.path().join("flows/c.yaml")).expect("a file");
    scratch.ok(&["workflow", "import", "flows"]);
    assert_eq!(scratch.ok(&["workflow", "show", "b"]), named("b"));
    let again = scratch.ok(&["workflow", "import", "flows"]);
    assert!(again.contains("a\tunchanged") && again.contains("b\tunchanged"), "{again}");
    assert_eq!(scratch.json(&["workflow", "history", "a"])["revisions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn findings_in_a_file_are_shown_and_set_the_exit_status() {
    let scratch = Scratch::with_project();
    let text = "workflow: res\nsteps:\n  - {id: a, run: sec:login:create, with: {user: u}}\n\
        \u{20} - {id: b, run: sh:problem:list, depends_on: [a]}\n";
    scratch.file("res.yaml", text);
    for arguments in [&["--dry-run"][..], &[]] {
        let ran = scratch.run(&[&["workflow", "import", "res.yaml"], arguments].concat());
        assert!(ran.status == 1 && ran.stdout.contains("res\tcreated\t2\tres.yaml"), "{ran}");
        assert!(ran.stderr.contains("res.yaml:3:") && ran.stderr.contains("[unknown_command]"), "{ran}");
    }
    // The workflow was imported nevertheless, but cannot run.
    assert_eq!(scratch.ok(&["workflow", "show", "res"]), text);
    let again = scratch.run(&["--json", "workflow", "import", "res.yaml"]);
    let told: serde_json::Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!((again.status, &told["workflows"][0]["findings"][0]["code"]), (1, &"unknown_command".into()), "{again}");
    // A warning does not change the exit status.
    scratch.file("odd.yaml", named("odd").replacen("steps:", "colour: red\nsteps:", 1));
    let odd = scratch.run(&["workflow", "import", "odd.yaml"]);
    assert!(odd.status == 0 && odd.stderr.contains("[unknown_key]"), "{odd}");
}

#[test]
fn existing_workflows_change_only_with_update() {
    let scratch = kept();
    scratch.file("note.yaml", NOTE.replace("later", "ever"));
    scratch.file("new.yaml", named("new"));
    let refused = scratch.run(&["workflow", "import", "note.yaml", "new.yaml"]);
    assert!(refused.status == 1 && refused.stderr.contains("1 workflow would be overwritten"), "{refused}");
    assert_eq!(scratch.ok(&["workflow", "show", "keep_note"]), NOTE);
    assert_eq!(scratch.run(&["workflow", "show", "new"]).status, 1, "all or nothing");
    scratch.ok(&["workflow", "import", "note.yaml", "new.yaml", "--update", "-m", "Both"]);
    assert!(scratch.ok(&["workflow", "show", "keep_note"]).contains("# for ever"));
    assert_eq!(scratch.json(&["workflow", "history", "new"])["revisions"][0]["message"], "Both");
    let piped = scratch.run_with_input(&["workflow", "import", "-"], named("piped").as_bytes());
    assert!(piped.status == 0 && piped.stdout.contains("piped\tcreated\t2\tstandard input"), "{piped}");
}

#[test]
fn a_foreign_workflow_is_converted_with_a_note_for_each_change() {
    let scratch = Scratch::with_project();
    scratch.file("foreign.yaml", FOREIGN);
    let ran = scratch.run(&["workflow", "import", "foreign.yaml"]);
    assert_eq!(ran.status, 0, "{ran}");
    for note in [
        "the workflow: removed empty fields: title",
        "input 'name': `mcpkg prompt:list` is now `mcpkg:prompt:list`",
        "input 'name': the example is now text",
        "step 'keep': `when` is now `if`",
        "step 'keep': removed empty fields: depends_on",
        "step 'keep': `mcpkg prompt:create` is now `mcpkg:prompt:create`",
    ] {
        assert!(ran.stderr.contains(&format!("foreign.yaml: {note}")), "{note}: {ran}");
    }
    let text = scratch.ok(&["workflow", "show", "foreign"]);
    assert!(text.contains("if: inputs.name") && text.contains("run: mcpkg:prompt:create"), "{text}");
    assert!(!text.contains("null") && !text.contains("when") && text.ends_with('\n'), "{text}");
    // The exported text needs no more corrections.
    scratch.file("mended.yaml", &text);
    let again = scratch.run(&["workflow", "import", "mended.yaml"]);
    assert!(again.stdout.contains("foreign\tunchanged") && !again.stderr.contains("is now"), "{again}");
}
