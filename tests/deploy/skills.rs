//! Tests skills: how each agent treats them, which parts mcpkg rewrites because an agent would reject them, and that
//! copies stay one skill.

use serde_json::{Value, json};

use crate::deploy::answers::word;
use crate::deploy::place::Place;
use mcpkg_deploy::targets::Target;

/// Returns a place with the selected project `p`, for every target.
fn place() -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.ok(&[&["target", "enable"][..], &Target::all_names()].concat());
    place
}

fn json_of(place: &Place, words: &[&str]) -> Value {
    let ran = place.scratch.finish(place.command().arg("--json").args(words));
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// Imports the folder `from` next to the root, and returns the notes on single files.
fn import(place: &Place) -> Vec<String> {
    let reply = json_of(place, &["import", "../from"]);
    let notes = reply["notes"].as_array().unwrap_or_else(|| panic!("notes in {reply:#}")).iter();
    notes.map(|note| format!("{} {}", word(&note["path"]), word(&note["note"]))).collect()
}

/// Returns what a plan says about skills.
fn said(place: &Place, more: &[&str]) -> Vec<String> {
    let envelope = place.envelope(&[&["plan"], more].concat());
    let notes = envelope["warnings"].as_array().expect("a list").iter().map(word);
    notes.filter(|note| note.contains("skill")).map(str::to_owned).collect()
}

#[track_caller]
fn assert_says(notes: &[String], words: &str) {
    assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:#?}");
}

#[test]
fn a16_a_name_that_differs_from_the_folders_is_reported() {
    let place = place();
    place.write("from/.agents/skills/a/SKILL.md", "---\nname: b\ndescription: d\n---\nText.\n");
    assert_says(
        &import(&place),
        "is called `a` (the name of its folder) in Claude Code, but `b` (the `name` in its front matter) in other agents",
    );
    let validated = place.run(&["skill", "validate"]);
    assert!(
        validated.status == 1 && validated.stderr.contains("`name` is 'b', but the skill is called 'a'"),
        "{validated}"
    );
    assert_says(
        &said(&place, &[]),
        "module 'skill:a' is called `a` by Claude Code and `b` by Codex, Copilot CLI, Gemini CLI, OpenCode",
    );
    assert_eq!(said(&place, &["--target", "windsurf"]), [""; 0], "of Windsurf that is not known");
}

#[test]
fn a17_skills_that_some_agents_reject_are_written_in_a_form_that_all_load() {
    let place = place();
    let odd = "\u{feff}---\nname: pdf\ndescription: Review: it\n---\n\nText.\n";
    place.write("from/.claude/skills/pdf/SKILL.md", odd);
    place.write(
        "from/.claude/skills/long/SKILL.md",
        format!("---\nname: long\ndescription: {}\n---\nText.\n", "x".repeat(1025)),
    );
    let notes = import(&place);
    for words in ["byte order mark; Codex and Gemini", "is not valid YAML", "longer than 1024 characters"] {
        assert_says(&notes, words);
    }
    let validated = place.run(&["skill", "validate"]).stderr;
    for words in
        ["pdf/SKILL.md:1: it begins with a byte order mark", "put the value in quotes", "`description` has 1025"]
    {
        assert!(validated.contains(words), "{validated}");
    }
    let notes = said(&place, &[]);
    assert_says(
        &notes,
        "'skill:pdf' is written without a byte order mark, with quotes in the front matter, because Codex, Copilot CLI, Gemini CLI would otherwise not load the skill",
    );
    assert_says(
        &notes,
        "'skill:long' is written with the first 1,024 characters of the description, because Copilot CLI",
    );
    place.deploy(&[]);
    let sound = "---\nname: pdf\ndescription: \"Review: it\"\n---\n\nText.\n";
    assert_eq!(place.read("root/.agents/skills/pdf/SKILL.md"), sound);
    assert_eq!(place.read("root/.claude/skills/pdf/SKILL.md"), odd, "Claude Code takes it as it is");
    assert!(place.read("root/.agents/skills/long/SKILL.md").contains(&format!("\"{}\"\n", "x".repeat(1024))));
    assert_eq!(place.drift(&[]), [""; 0]);
    assert_eq!(place.planned(&["--target", "cursor"]), [""; 0], "all that read the folder have one file");
    // Importing the deployed files changes nothing in the project. A new project gets the original skill.
    for project in ["p", "q"] {
        if project == "q" {
            place.ok(&["project", "create", "q"]);
        }
        let again = json_of(&place, &["-p", project, "import", "."]);
        assert_eq!((&again["updated"], &again["conflicts"]), (&json!([]), &json!([])), "{again:#}");
        assert_eq!(again["created"].as_array().map(Vec::len), Some(if project == "p" { 0 } else { 2 }), "{again:#}");
        assert_eq!(place.ok(&["-p", project, "skill", "show", "pdf"]).matches('\u{feff}').count(), 1, "{project}");
    }
    // The edit goes into the project's skill, without mcpkg's repairs.
    place.write("root/.agents/skills/pdf/SKILL.md", sound.replace("Text.", "More text."));
    let data = place.data(&["evolve", "propose", "--yes", "--target", "codex"]);
    place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
    place.deploy(&[]);
    assert_eq!(place.read("root/.claude/skills/pdf/SKILL.md"), odd.replace("Text.", "More text."));
    assert_eq!(place.drift(&[]), [""; 0]);
}

#[test]
fn a_faulty_skill_stays_in_the_folder_that_it_was_imported_from() {
    let place = place();
    let odd = |name: &str| format!("\u{feff}---\nname: {name}\ndescription: Review: it\n---\n\nText.\n");
    place.write("root/.agents/skills/pdf/SKILL.md", odd("pdf"));
    place.write("root/.claude/skills/web/SKILL.md", odd("web"));
    place.ok(&["import", "."]);
    let own = "; your own `.agents/skills/pdf/SKILL.md` is not changed";
    let notes = said(&place, &[]);
    assert_eq!(notes.iter().filter(|note| note.contains(own)).count(), 1, "{notes:#?}");
    place.deploy(&[]);
    assert_eq!(place.read("root/.agents/skills/pdf/SKILL.md"), odd("pdf"), "the user's own file");
    assert!(place.read("root/.agents/skills/web/SKILL.md").contains("\"Review: it\""), "a copy is mended");
    assert_eq!(place.read("root/.claude/skills/pdf/SKILL.md"), odd("pdf"), "Claude Code takes it as it is");
    assert_eq!((place.planned(&[]), place.drift(&[])), (vec![], vec![]));
    // A rollback leaves the user's file alone.
    place.ok(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.read("root/.agents/skills/pdf/SKILL.md"), odd("pdf"));
    assert!(!place.exists("root/.agents/skills/web/SKILL.md"));
    // If the user's file is edited and imported, the other agents get the edit.
    place.write("root/.agents/skills/pdf/SKILL.md", odd("pdf").replace("Text.", "More text."));
    place.ok(&["import", ".", "--update"]);
    place.deploy(&[]);
    assert_eq!(place.read("root/.agents/skills/pdf/SKILL.md"), odd("pdf").replace("Text.", "More text."));
    assert_eq!(place.read("root/.claude/skills/pdf/SKILL.md"), odd("pdf").replace("Text.", "More text."));
}

#[test]
fn a18_a_skill_in_two_folders_is_one_and_a_name_that_codex_cannot_call_is_reported() {
    let place = place();
    for folder in ["from/.agents/skills", "from/.claude/skills"] {
        place.write(&format!("{folder}/one/SKILL.md"), "---\nname: one\ndescription: d\n---\nText.\n");
        place.write(&format!("{folder}/one/run.sh"), "#!/bin/sh\n");
    }
    place.write("from/.agents/skills/a.b/SKILL.md", "---\nname: a.b\ndescription: d\n---\nText.\n");
    place.write("from/.agents/skills/x/SKILL.md", "---\nname: one\ndescription: d\n---\nText.\n");
    assert_says(&import(&place), "cannot be called as `$a.b` in Codex");
    let skills = json_of(&place, &["skill", "list"]);
    assert_eq!(skills["skills"].as_array().map(Vec::len), Some(3), "{skills:#}");
    let notes = said(&place, &["--target", "codex"]);
    assert_says(&notes, "'skill:a.b' cannot be called as `$a.b` in Codex, because the name has a dot");
    assert_says(&notes, "`$one` calls no skill in Codex, because skill:one and skill:x share that name");
    assert!(!said(&place, &["--target", "gemini"]).iter().any(|note| note.contains('$')), "Gemini has no `$name`");
}

#[test]
fn a20_nested_skills_are_reported_for_agents_that_do_not_find_them() {
    let place = place();
    let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nText.\n");
    place.write("from/.agents/skills/grp/SKILL.md", text("grp"));
    place.write("from/.agents/skills/grp/inner/SKILL.md", text("inner"));
    place.write("from/.agents/skills/more/deep/SKILL.md", text("deep"));
    let notes = import(&place);
    assert_says(&notes, "inner/SKILL.md is inside the skill 'grp', where Claude Code and Gemini do not find it");
    assert_says(&notes, "more/deep/SKILL.md is nested too deep for Claude Code and Gemini");
    assert_says(
        &said(&place, &[]),
        "'skill:grp' contains nested skills that are not found by Claude Code, Gemini CLI: inner",
    );
    assert_eq!(said(&place, &["--target", "codex"]), [""; 0]);
    place.deploy(&["--target", "claude_code"]);
    assert!(place.exists("root/.claude/skills/deep/SKILL.md"), "one that was deeper is where it is found");
}

#[test]
fn a21_a_skill_that_is_never_used_unasked_stays_so_in_codex() {
    let place = place();
    let text = "---\nname: ship\ndescription: d\ndisable-model-invocation: true\nalwaysApply: true\n---\nShip.\n";
    place.write("from/.claude/skills/ship/SKILL.md", text);
    import(&place);
    let notes = said(&place, &[]);
    assert_says(
        &notes,
        "'skill:ship' gets agents/openai.yaml, so that Codex cannot use the skill on its own, and can be used by Gemini CLI",
    );
    assert_says(&notes, "'skill:ship' is always loaded by Cursor, because the skill has `alwaysApply: true`");
    let before = place.tree();
    place.deploy(&[]);
    let policy = "root/.agents/skills/ship/agents/openai.yaml";
    assert!(place.read(policy).contains("policy:\n  allow_implicit_invocation: false\n"));
    assert!(!place.exists("root/.claude/skills/ship/agents"), "Claude Code goes by the key");
    assert_eq!(place.drift(&[]), [""; 0]);
    // An import does not take the policy file for one of the skill's own files.
    let again = json_of(&place, &["import", "."]);
    assert_eq!((&again["created"], &again["updated"]), (&json!([]), &json!([])), "{again:#}");
    // The user's own policy file is kept, and the plan reports it.
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
    place.resource("skill://ship/agents/openai.yaml", "policy:\n  allow_implicit_invocation: true\n");
    assert_says(&said(&place, &[]), "has its own agents/openai.yaml, which lets Codex use the skill on its own");
    place.deploy(&["--target", "codex"]);
    assert!(place.read(policy).ends_with("true\n"));
}
