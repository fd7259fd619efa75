//! Tests that prompts keep the front matter of their files, which is shown, edited and removed. Also tests imports of
//! ignored files.

use crate::support::{Ran, Scratch};

const FILE: &str = "---\ndescription: Reviews a change\nmodel: opus\n---\nReview it\n";

fn imported() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file(".claude/commands/review.md", FILE);
    scratch.ok(&["import", ".claude"]);
    scratch
}

/// Runs `prompt edit`. The editor is a command that gets the file as its argument.
fn edited(scratch: &Scratch, editor: &str) -> Ran {
    scratch.finish(scratch.command().env("EDITOR", editor).args(["prompt", "edit", "review"]))
}

#[test]
fn raw_shows_the_front_matter() {
    let scratch = imported();
    assert_eq!(scratch.ok(&["prompt", "show", "review"]), "Review it\n");
    assert_eq!(scratch.ok(&["prompt", "show", "review", "--raw"]), FILE);
    let data = scratch.json(&["prompt", "show", "review"]);
    assert_eq!((&data["text"], &data["description"]), (&"Review it\n".into(), &"Reviews a change".into()));
    assert_eq!(data["front_matter"], "---\ndescription: Reviews a change\nmodel: opus\n---\n");
    // An update of the description also changes the front matter.
    scratch.ok(&["prompt", "update", "review", "-d", "Finds bugs"]);
    assert!(scratch.ok(&["prompt", "show", "review", "--raw"]).contains("description: \"Finds bugs\"\nmodel: opus\n"));
}

#[test]
fn an_editor_gets_the_front_matter_too() {
    let scratch = imported();
    assert!(edited(&scratch, "true").stdout.contains("is unchanged"));
    assert_eq!(edited(&scratch, "sed -i s/opus/haiku/").status, 0);
    assert_eq!(scratch.ok(&["prompt", "show", "review", "--raw"]), FILE.replace("opus", "haiku"));
    assert_eq!(edited(&scratch, "sed -i s/it/them/").status, 0);
    let both = FILE.replace("opus", "haiku").replace("Review it", "Review them");
    assert_eq!(scratch.ok(&["prompt", "show", "review", "--raw"]), both);
    assert_eq!(edited(&scratch, "sed -i s/Reviews/Reads/").status, 0);
    assert_eq!(scratch.json(&["prompt", "show", "review"])["description"], "Reads a change");
    // The editor removes the four lines of front matter.
    assert_eq!(edited(&scratch, "sed -i 1,4d").status, 0);
    assert_eq!(scratch.ok(&["prompt", "show", "review", "--raw"]), "Review them\n");
    assert!(scratch.json(&["prompt", "show", "review"]).get("front_matter").is_none());
}

#[test]
fn an_edit_that_removes_the_text_is_refused_and_saved() {
    let scratch = imported();
    let ran = edited(&scratch, "sed -i 5d");
    assert!(ran.status == 2 && ran.stderr.contains("Prompt content cannot be empty"), "{ran}");
    assert!(ran.stderr.contains("your text is saved in"), "{ran}");
    assert_eq!(scratch.ok(&["prompt", "show", "review", "--raw"]), FILE);
}

#[test]
fn import_with_all_includes_ignored_files() {
    let scratch = Scratch::with_project();
    scratch.file("tree/.gitignore", "build/\n");
    scratch.file("tree/build/notes.md", "Notes\n");
    scratch.file("tree/a.md", "A\n");
    scratch.file("tree/node_modules/b.md", "B\n");
    let dry_run =
        |arguments: &[&str]| scratch.run(&[&["import", "--documents", "tree", "--dry-run"], arguments].concat());
    let without = dry_run(&[]);
    assert!(without.stdout.contains("1\tskipped\tlisted in .gitignore"), "{without}");
    assert!(without.stderr.contains("; `-v` lists them"), "{without}");
    let verbose = dry_run(&["-v"]);
    assert!(verbose.stderr.contains("build/: skipped: listed in .gitignore (1 file)"), "{verbose}");
    assert!(!verbose.stderr.contains("`-v` lists them"), "{verbose}");
    let all = dry_run(&["--all"]);
    assert!(!all.stdout.contains("listed in .gitignore") && all.stdout.contains("node_modules"), "{all}");
    scratch.ok(&["import", "--documents", "tree", "--all"]);
    assert_eq!(scratch.ok(&["resource", "show", "file:///build/notes.md"]), "Notes\n");
    assert_ne!(scratch.run(&["resource", "show", "file:///node_modules/b.md"]).status, 0);
}
