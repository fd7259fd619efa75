//! `mcpkg skill`.

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
    assert_snapshot!(scratch.run(&["skill", "create", "pdf", "--from", "in/pdf"]), @"");
    scratch.ok(&["prompt", "create", "review", "Look", "-d", "Reviews code"]);
    assert_snapshot!(scratch.run(&["skill", "list"]), @"");
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "scripts/run.sh"]), @"");
    assert_snapshot!(scratch.run(&["skill", "show", "review"]), @"");
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "run.sh"]), @"");
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "-o", "out"]), @"");
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/SKILL.md")).expect("a file"), PDF);
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/.hidden")).expect("a file"), "kept\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(scratch.path().join("out/scripts/run.sh")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    assert_snapshot!(scratch.run(&["skill", "show", "pdf", "-o", "out"]), @"");
    scratch.ok(&["skill", "show", "review", "-o", "review"]);
    assert!(scratch.path().join("review/SKILL.md").exists());
}

#[test]
fn what_breaks_a_rule_is_not_stored() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "create", "other", "--from", "in/pdf"]), @"");
    assert_snapshot!(scratch.run(&["skill", "create", "other", "--from", "in"]), @"");
    assert_snapshot!(scratch.run(&["skill", "create", "Big_Name", "x"]), @"");
    assert_snapshot!(scratch.run(&["skill", "create", "a", "# Text"]), @"");
    assert_snapshot!(scratch.run(&["skill", "create", "a"]), @"");
    assert_snapshot!(scratch.run(&["skill", "list"]), @"");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", scratch.path().join("in/pdf/passwd")).expect("a link");
        let ran = scratch.run(&["skill", "create", "pdf", "--from", "in/pdf"]).to_string();
        assert!(ran.contains("status: 1") && ran.contains("leads out of"), "{ran}");
    }
}

#[test]
fn an_update_from_a_folder_makes_the_skill_what_it_holds() {
    let scratch = scratch();
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "--from", "in/pdf"]), @"");
    std::fs::remove_file(scratch.path().join("in/pdf/.hidden")).expect("a file");
    scratch.file("in/pdf/new.md", "# New\n");
    scratch.file("in/pdf/SKILL.md", PDF.replace("Reads", "Writes"));
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "--from", "in/pdf"]), @"");
    assert_snapshot!(scratch.run(&["skill", "list"]), @"");
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "# No front matter"]), @"");
    assert_snapshot!(scratch.run(&["skill", "update", "pdf", "more", "--file", "new.md"]), @"");
    assert_snapshot!(scratch.run(&["skill", "update", "pfd", "more", "--file", "new.md"]), @"");
    scratch.ok(&["prompt", "create", "review", "Look"]);
    assert_snapshot!(scratch.run(&["skill", "update", "review", "more", "--file", "new.md"]), @"");
}

#[test]
fn a_deletion_is_confirmed_and_can_be_taken_back() {
    let scratch = scratch();
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "delete", "pdf"]), @"");
    assert_snapshot!(scratch.run(&["skill", "delete", "pdf", "--yes"]), @"");
    scratch.ok(&["resource", "restore", "pdf.SKILL.md", "1"]);
    assert_eq!(scratch.ok(&["skill", "show", "pdf"]), PDF);
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
fn every_problem_is_told_with_file_and_line() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["skill", "validate"]), @"");
    scratch.ok(&["skill", "create", "pdf", "--from", "in/pdf"]);
    assert_snapshot!(scratch.run(&["skill", "validate", "pdf"]), @"");
    for (name, uri, text) in [
        ("a", "skill://one/SKILL.md", "---\nlicense: MIT\nname: two\n---\n"),
        ("b", "skill://three/refs/a.md", "x"),
        ("c", "skill://pdf/..%2Fx", "x"),
        ("d", "skill://four/SKILL.md", "---\nname: four\ndescription: Review: a PR\n---\n"),
    ] {
        scratch.ok(&["resource", "create", name, uri, text]);
    }
    assert_snapshot!(scratch.run(&["skill", "validate"]), @"");
    assert_snapshot!(scratch.run(&["skill", "validate", "nobody"]), @"");
}
