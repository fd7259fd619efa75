//! Tests of `mcpkg skill`.

use insta::assert_snapshot;

use crate::support::Scratch;

const PDF: &str = "---\nname: pdf\ndescription: Reads PDFs\n---\n# PDF\n";

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("in/pdf/SKILL.md", PDF);
    scratch.file("in/pdf/scripts/run.sh", "#!/bin/sh\nls\n");
    scratch.file("in/pdf/.hidden", "kept\n");
    executable(&scratch, "in/pdf/scripts/run.sh");
    scratch
}

#[cfg(unix)]
fn executable(scratch: &Scratch, path: &str) {
    crate::support::set_mode(&scratch.path().join(path), 0o755);
}

#[cfg(not(unix))]
fn executable(_: &Scratch, _: &str) {}

#[test]
fn a_folder_becomes_a_skill_and_comes_out_again() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "create", "pdf", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Created skill 'pdf' in project 'p' with 3 files
    --- stderr
    "#);
    scratch.ok(&["prompt", "create", "review", "Look", "-d", "Reviews code"]);
    assert_snapshot!(scratch.run(&["skill", "list"]), @r#"
    status: 0
    --- stdout
    pdf	skill	3	66	Reads PDFs
    review	prompt	1	54	Reviews code
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "scripts/run.sh"]), @r#"
    status: 0
    --- stdout
    #!/bin/sh
    ls
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "show", "review"]), @r#"
    status: 0
    --- stdout
    ---
    name: review
    description: "Reviews code"
    ---

    Look--- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "run.sh"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'pdf' has no file 'run.sh'
    hint: it has .hidden, SKILL.md, scripts/run.sh
    "#);
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "-o", "out"]), @r#"
    status: 0
    --- stdout
    Wrote skill 'pdf' to out (3 files)
    --- stderr
    "#);
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/SKILL.md")).expect("a file"), PDF);
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/.hidden")).expect("a file"), "kept\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(scratch.path().join("out/scripts/run.sh")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "-o", "out"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: The folder `out` is not empty
    hint: choose a folder that is empty or does not exist; an export never overwrites files
    "#);
    scratch.ok(&["skill", "show", "review", "-o", "review"]);
    assert!(scratch.path().join("review/SKILL.md").exists());
}

#[test]
fn the_folders_name_is_used_and_another_name_in_the_front_matter_is_allowed() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "create", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Created skill 'pdf' in project 'p' with 3 files
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "create", "other", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Created skill 'other' in project 'p' with 3 files
    --- stderr
    hint: `name` is 'pdf', but the skill is called 'other'; some agents use `name` instead of the folder's name
    "#);
}

#[test]
fn a_skill_that_breaks_a_rule_is_not_stored() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "create", "other", "--from", "in"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'other' was not stored: SKILL.md:1: the skill has no such file
    "#);
    assert_snapshot!(scratch.run(&["skill", "create", "Big_Name", "x"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: 'Big_Name' is not a valid skill name: use 1 to 64 characters (a-z, 0-9, and single hyphens between them)
    hint: 'big-name' is a valid name
    "#);
    assert_snapshot!(scratch.run(&["skill", "create", "a", "# Text"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'a' was not stored: SKILL.md:1: it does not begin with front matter
    hint: pass a description (`-d` in the shell), and mcpkg adds the front matter
    "#);
    assert_snapshot!(scratch.run(&["skill", "create", "a"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: The skill needs content: the text of its SKILL.md
    hint: in the shell, `--from DIR` reads all files in a folder
    "#);
    assert_snapshot!(scratch.run(&["skill", "list"]), @r#"
    status: 0
    --- stdout
    --- stderr
    Project 'p' has no skills
    "#);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("in/pdf/passwd")).expect("a link");
        let ran = scratch.run(&["skill", "create", "pdf", "--from", "in/pdf"]).to_string();
        assert!(ran.contains("status: 1") && ran.contains("leads out of"), "{ran}");
    }
}

#[test]
fn an_update_makes_the_skill_the_same_as_the_folder() {
    let scratch = scratch();
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Updated skill 'pdf' in project 'p': 0 files changed
    --- stderr
    "#);
    std::fs::remove_file(scratch.path().join("in/pdf/.hidden")).expect("a file");
    scratch.file("in/pdf/new.md", "# New\n");
    scratch.file("in/pdf/SKILL.md", PDF.replace("Reads", "Writes"));
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Updated skill 'pdf' in project 'p': 3 files changed
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "list"]), @r#"
    status: 0
    --- stdout
    pdf	skill	3	68	Writes PDFs
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "# No front matter"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'pdf' was not stored: SKILL.md:1: it does not begin with front matter
    hint: SKILL.md must begin with the lines `---`, `name: pdf`, `description: ...`, `---`
    "#);
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "more", "--file", "new.md"]), @r#"
    status: 0
    --- stdout
    Updated skill 'pdf' in project 'p': 1 file changed
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["skill", "update", "pfd", "more", "--file", "new.md"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'pfd' does not exist in project 'p'
    hint: did you mean 'pdf'?
    "#);
    scratch.ok(&["prompt", "create", "review", "Look"]);
    assert_snapshot!(scratch.run(&["skill", "update", "review", "more", "--file", "new.md"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'review' does not exist in project 'p'
    hint: 'review' is a prompt that agents see as a skill; change it with `mcpkg prompt update review`
    "#);
}

#[test]
fn a_deletion_is_confirmed_and_can_be_taken_back() {
    let scratch = scratch();
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "delete", "pdf"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Delete the skill 'pdf' with 3 files needs to be confirmed. Nothing was changed
    hint: confirm with --yes
    "#);
    assert_snapshot!(scratch.run(&["skill", "delete", "pdf", "--yes"]), @r#"
    status: 0
    --- stdout
    Deleted skill 'pdf' from project 'p' with 3 files
    --- stderr
    hint: `mcpkg skill restore pdf` restores the skill
    "#);
    assert_eq!(scratch.ok(&["skill", "restore", "pdf"]), "Restored skill 'pdf' in project 'p' with 3 files\n");
    assert_eq!(scratch.ok(&["skill", "show", "pdf"]), PDF);
    let files = scratch.json(&["skill", "show", "pdf"])["files"].as_array().map(Vec::len);
    assert_eq!(files, Some(3));
    assert_eq!(scratch.run(&["skill", "restore", "pdf"]).status, 1, "it is there");
    assert_eq!(scratch.run(&["skill", "restore", "never"]).status, 1);
    // A file that was deleted before the skill stays deleted.
    scratch.ok(&["resource", "delete", "pdf.scripts.run.sh"]);
    scratch.ok(&["skill", "delete", "pdf", "--yes"]);
    assert_eq!(scratch.ok(&["skill", "restore", "pdf"]), "Restored skill 'pdf' in project 'p' with 2 files\n");
    let kinds: Vec<String> = scratch.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| format!("{} {} {}", event["kind"], event["subject"], event["outcome"]))
        .collect();
    assert_eq!(
        kinds[1..4],
        [
            "\"skill.create\" \"pdf\" \"ok\"",
            "\"skill.delete\" \"pdf\" \"E_CONFIRM_REQUIRED\"",
            "\"skill.delete\" \"pdf\" \"ok\""
        ]
    );
}

#[test]
fn every_problem_is_reported_with_file_and_line() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "validate"]), @r#"
    status: 0
    --- stdout
    Found no skills to check
    --- stderr
    "#);
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "validate", "pdf"]), @r#"
    status: 0
    --- stdout
    The skill 'pdf' is valid
    --- stderr
    "#);
    for (name, uri, text) in [
        ("a", "skill://one/SKILL.md", "---\nlicense: MIT\nname: two\n---\n"),
        ("b", "skill://three/refs/a.md", "x"),
        ("c", "skill://pdf/..%2Fx", "x"),
        ("d", "skill://four/SKILL.md", "---\nname: four\ndescription: Review: a PR\n---\n"),
    ] {
        scratch.ok(&["resource", "create", name, uri, text]);
    }
    assert_snapshot!(scratch.run(&["skill", "validate"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Found 5 problems:
      four/SKILL.md:3: the front matter is not valid YAML (mapping values are not allowed in this context); put the value in quotes
      one/SKILL.md:1: the front matter has no `description`
      one/SKILL.md:3: `name` is 'two', but the skill is called 'one'
      pdf/skill://pdf/..%2Fx:1: its URI is not a valid file path
      three/SKILL.md:1: the skill has no such file
    "#);
    assert_snapshot!(scratch.run(&["skill", "validate", "nobody"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Skill 'nobody' does not exist in project 'p'
    hint: `mcpkg skill list` shows the existing skills
    "#);
}

#[test]
fn a_folder_that_cannot_be_a_skill_is_refused_as_a_whole() {
    let scratch = scratch();
    let long = "x".repeat(1025);
    let ran = scratch.run(&["skill", "create", "a", "text", "-d", &long]);
    assert!(ran.status == 1 && ran.stderr.contains("`description` has 1025 characters"), "{ran}");
    assert_eq!(scratch.run(&["skill", "create", "a", "text", "-d", &long[1..]]).status, 0);
    let ran = scratch.run(&["skill", "create", "ä", "x", "-d", "d"]);
    assert!(ran.status == 2 && !ran.stderr.contains("hint"), "{ran}");
    let ran = scratch.run(&["skill", "update", "nope", "x"]);
    assert!(ran.status == 1 && ran.stderr.contains("Skill 'nope' does not exist in project 'p'"), "{ran}");
}

#[test]
fn version_control_is_skipped_and_secrets_are_reported() {
    let scratch = scratch();
    for file in [".hg/store", ".env", "sub/.svn/entries", ".env.example"] {
        scratch.file(&format!("in/pdf/{file}"), "x");
    }
    assert_snapshot!(scratch.run(&["skill", "create", "pdf", "--from", "in/pdf"]), @r#"
    status: 0
    --- stdout
    Created skill 'pdf' in project 'p' with 5 files
    --- stderr
    hint: skipped the version control folder .hg
    hint: `.env` is included, and agents can read the file; to skip the file, list it in .gitignore
    "#);
}
