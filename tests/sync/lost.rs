//! Tests of files that a sync does not take, and of changes that it must not lose.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Scratch, Upstream, tool};

fn text(scratch: &Scratch, path: &str) -> String {
    fs::read_to_string(scratch.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_there(scratch: &Scratch, path: &str) -> bool {
    scratch.path().join(path).exists()
}

fn uris(scratch: &Scratch, project: &str) -> Vec<String> {
    let list = scratch.json(&["-p", project, "resource", "list"]);
    let list = list["resources"].as_array().expect("a list").iter();
    let mut uris: Vec<String> = list.map(|row| row["uri"].as_str().expect("a URI").to_owned()).collect();
    uris.sort_unstable();
    uris
}

fn proposals(scratch: &Scratch) -> usize {
    scratch.json(&["evolve", "list"])["data"]["proposals"].as_array().map_or(0, Vec::len)
}

/// Returns another home that is synced with the same folder.
fn another(scratch: &Scratch) -> Scratch {
    let other = Scratch::with_project();
    other.ok(&["sync", &scratch.path().join("team").display().to_string()]);
    other
}

#[test]
fn sync_takes_what_import_takes_and_what_the_project_has() {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "own", "file:///.config/own", "own\n"]);
    scratch.ok(&["resource", "create", "log", "file:///own.log", "log\n"]);
    scratch.ok(&["sync", "team"]);
    assert_eq!(text(&scratch, "team/.config/own"), "own\n");
    for (path, content) in [
        ("team/.env", "TOKEN=x"),
        ("team/.ssh/id_rsa", "key"),
        ("team/.config/other", "no"),
        ("team/node_modules/a/index.js", "js"),
        ("team/node_modules/a/SKILL.md", "---\nname: a\ndescription: d\n---\nno\n"),
        ("team/.gitignore", "*.log\n"),
        ("team/build.log", "noise"),
        ("team/docs/a.md", "taken"),
    ] {
        scratch.file(path, content);
    }
    scratch.ok(&["sync"]);
    assert_eq!(uris(&scratch, "p"), ["file:///.config/own", "file:///docs/a.md", "file:///own.log"]);
    // Items of the project are synced both ways, whatever their names.
    scratch.file("team/.config/own", "theirs\n");
    scratch.file("team/own.log", "theirs\n");
    scratch.ok(&["sync"]);
    for name in ["own", "log"] {
        assert_eq!(scratch.ok(&["resource", "show", name]), "theirs\n");
    }
    scratch.ok(&["sync", "--check"]);
    // Another home also gets the hidden file that the manifest lists. An import of the folder still skips secrets,
    // build output and the like.
    assert!(uris(&another(&scratch), "p").contains(&"file:///.config/own".to_owned()));
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "import", "team"]);
    let imported = uris(&scratch, "q");
    assert!(
        !imported
            .iter()
            .any(|uri| [".env", "id_rsa", "node_modules", "build.log", "other"].iter().any(|part| uri.contains(part))),
        "{imported:?}"
    );
    assert!(imported.contains(&"file:///docs/a.md".to_owned()), "{imported:?}");
    // An export can be imported completely, even if ignore files match its files.
    scratch.file(".gitignore", "*.log\n*.md\n");
    scratch.ok(&["prompt", "create", "described", "Say it.\n", "-d", "Said"]);
    scratch.ok(&["export", "out"]);
    scratch.ok(&["project", "create", "r"]);
    scratch.ok(&["-p", "r", "import", "out"]);
    assert_eq!(uris(&scratch, "r"), uris(&scratch, "p"));
    let shown = |project| scratch.json(&["-p", project, "prompt", "show", "described", "--raw"]);
    assert_eq!(shown("r")["description"], "Said");
    assert_eq!(shown("r")["text"], "Say it.\n");
}

/// Returns a project that is synced with `team`. Its resource and its MCP server can be synced only with the help of
/// the manifest.
fn listed() -> Scratch {
    let scratch = Scratch::with_project();
    let create =
        ["resource", "create", "schema", "db://schema/v1", "select 1;\n", "-d", "The schema", "-m", "text/x-sql"];
    scratch.ok(&create);
    scratch.ok(&["mcp", "add", "a", "-e", "A_TOKEN", "--", "npx", "-y", "a"]);
    scratch.ok(&["prompt", "create", "review", "Review it.\n"]);
    scratch.ok(&["sync", "team"]);
    scratch
}

const MANIFEST: &str = "team/mcpkg.export.json";

fn schema(scratch: &Scratch) -> [Value; 4] {
    let shown = scratch.json(&["resource", "show", "db://schema/v1"]);
    let list = scratch.json(&["resource", "list"]);
    [
        shown["uri"].clone(),
        shown["text"].clone(),
        shown["mime_type"].clone(),
        list["resources"][0]["description"].clone(),
    ]
}

#[test]
fn a_lost_manifest_is_written_again() {
    let scratch = listed();
    let (manifest, before) = (text(&scratch, MANIFEST), schema(&scratch));
    assert_eq!(before[3], "The schema");
    let servers = scratch.json(&["mcp", "list"]);
    for lost in [None, Some("{ \"version\": 1, \"files\": {} }\n")] {
        match lost {
            None => fs::remove_file(scratch.path().join(MANIFEST)).expect("gone"),
            // The manifest lists no files, as after a merge that took one side of a conflict as a whole.
            Some(other) => drop(scratch.file(MANIFEST, serde_less(&manifest, other))),
        }
        // Changes that were made while the manifest was lost are still synced.
        scratch.file("team/mcpkg.files/schema", format!("select {};\n", lost.map_or(2, str::len)));
        let ran = scratch.run(&["sync"]);
        assert_eq!(ran.status, 0, "{ran}");
        assert!(ran.stderr.contains("was missing entries from the last sync; these entries were added again"), "{ran}");
        assert_eq!(text(&scratch, MANIFEST), manifest);
        let after = schema(&scratch);
        assert_eq!([&after[0], &after[2], &after[3]], [&before[0], &before[2], &before[3]]);
        assert_ne!(after[1], before[1]);
        assert_eq!(proposals(&scratch), 0);
        scratch.ok(&["sync", "--check"]);
    }
    assert_eq!(scratch.json(&["mcp", "list"]), servers);
}

/// Returns the manifest without its files, or `other` if the manifest is not JSON.
fn serde_less(manifest: &str, other: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(manifest) else { return other.to_owned() };
    value["files"] = serde_json::json!({});
    format!("{value:#}\n")
}

#[test]
fn files_with_conflict_markers_are_skipped() {
    const CONFLICT: &str = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n";
    let scratch = listed();
    let manifest = text(&scratch, MANIFEST);
    scratch.file(MANIFEST, format!("{{\n{CONFLICT}}}\n"));
    let ran = scratch.run(&["sync"]);
    assert!(
        ran.status == 2 && ran.stderr.contains("is unmerged") && ran.stderr.contains("`git checkout --theirs -- "),
        "{ran}"
    );
    scratch.file(MANIFEST, "{");
    let ran = scratch.run(&["sync"]);
    assert!(ran.stderr.contains("remove the file; `mcpkg sync` writes it again"), "{ran}");
    scratch.file(MANIFEST, &manifest);
    let review = "team/.claude/commands/review.md";
    scratch.file(review, CONFLICT);
    scratch.file("team/new.md", CONFLICT);
    assert_snapshot!(scratch.run(&["sync"]), @r"
    status: 1
    --- stdout
    Synced project 'p' with <SCRATCH>/team: nothing to do
    --- stderr
    warning: `.claude/commands/review.md` is unmerged: it contains conflict markers from version control; skipped
    warning: `new.md` is unmerged: it contains conflict markers from version control; skipped
    ");
    assert_eq!(scratch.ok(&["prompt", "show", "review"]), "Review it.\n");
    assert_eq!(text(&scratch, review), CONFLICT);
    let ran = scratch.run(&["import", "team"]);
    assert!(ran.status == 1 && ran.stderr.contains("`new.md` is unmerged"), "{ran}");
    assert_eq!(uris(&scratch, "p"), ["db://schema/v1"]);
    // Once the conflicts are resolved, the files are synced like any other changes.
    scratch.file(review, "Ours and theirs.\n");
    scratch.file("team/new.md", "Both\n");
    scratch.ok(&["sync"]);
    assert_eq!(scratch.ok(&["prompt", "show", "review"]), "Ours and theirs.\n");
}

#[test]
fn files_that_are_unmerged_in_git_are_skipped() {
    let scratch = Scratch::with_project();
    let shared = Upstream::new(&[]);
    let tree = shared.tree();
    let tree = tree.to_str().expect("a readable name");
    scratch.ok(&["prompt", "create", "one", "One.\n"]);
    scratch.ok(&["prompt", "create", "two", "Two.\n"]);
    scratch.ok(&["sync", tree]);
    shared.commit(&[]);
    let (one, two) = (".claude/commands/one.md", ".claude/commands/two.md");
    shared.git(&["checkout", "-qb", "other"]);
    shared.remove(one);
    shared.write(two, "Two, theirs.\n");
    shared.git(&["commit", "-qam", "other"]);
    shared.git(&["checkout", "-q", "main"]);
    shared.remove(two);
    shared.write(one, "One, edited.\n");
    shared.git(&["commit", "-qam", "edit"]);
    // Each file was changed on one side and deleted on the other, so neither has conflict markers.
    let merge = tool("git").args(["merge", "-q", "other"]).current_dir(tree).output().expect("git starts");
    assert!(!merge.status.success());
    for _ in 0..2 {
        let ran = scratch.run(&["sync"]);
        assert_eq!(ran.status, 1, "{ran}");
        for path in [one, two] {
            assert!(ran.stderr.contains(&format!("`{path}` is unmerged: resolve its conflict in git first")), "{ran}");
        }
    }
    assert_eq!(scratch.ok(&["prompt", "show", "one"]), "One.\n");
    assert_eq!(proposals(&scratch), 0);
    shared.git(&["add", one, two]);
    scratch.ok(&["sync"]);
    assert_eq!(scratch.ok(&["prompt", "show", "one"]), "One, edited.\n");
    assert_eq!(scratch.ok(&["prompt", "show", "two"]), "Two, theirs.\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_whose_name_some_disks_refuse_is_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "one", "One.\n"]);
    scratch.file("team/a:b.md", "text\n");
    let odd = scratch.path().join("team").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md"));
    fs::write(odd, "text\n").expect("a file");
    let ran = scratch.run(&["sync", "team"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(
        ran.stderr.contains("and 1 more cannot be synced, because some file systems do not support its name"),
        "{ran}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_name_that_is_not_text_is_escaped() {
    use std::os::unix::ffi::OsStrExt as _;
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "one", "One.\n"]);
    fs::create_dir(scratch.path().join("team")).expect("a folder");
    let odd = scratch.path().join("team").join(std::ffi::OsStr::from_bytes(b"a\n\x1b[31m\xe9.md"));
    fs::write(odd, "text\n").expect("a file");
    let ran = scratch.run(&["sync", "team"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(ran.stderr.contains("`a\\n\\u{1b}[31m\u{fffd}.md` cannot be synced"), "{ran}");
}

#[test]
fn the_file_of_a_prompt_follows_its_name() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "one", "One.\n", "-d", "First"]);
    scratch.file("repo/.claude/commands/two.md", "---\ndescription: Second\n---\nTwo.\n");
    scratch.ok(&["import", "repo"]);
    scratch.ok(&["sync", "team"]);
    let other = another(&scratch);
    scratch.ok(&["prompt", "rename", "one", "first"]);
    scratch.ok(&["prompt", "rename", "two", "second"]);
    scratch.ok(&["prompt", "create", "one", "Another.\n"]);
    scratch.ok(&["sync"]);
    let file = |name: &str| text(&scratch, &format!("team/.claude/commands/{name}.md"));
    assert!(file("first").contains("One.") && file("first").contains("First"), "{}", file("first"));
    assert_eq!(file("one"), "Another.\n");
    assert!(file("second").contains("Second"));
    assert!(!is_there(&scratch, "team/.claude/commands/two.md") && !is_there(&scratch, "team/mcpkg.files"));
    assert!(!text(&scratch, MANIFEST).contains("second"), "it says nothing that the files say");
    scratch.ok(&["sync", "--check"]);
    // The other home renames its prompt, and nothing is proposed.
    other.ok(&["sync"]);
    assert_eq!(other.ok(&["prompt", "show", "second"]), "Two.\n");
    assert_eq!(other.run(&["prompt", "show", "two"]).status, 1);
    assert!(other.ok(&["prompt", "history", "second"]).contains("create"));
    assert_eq!(proposals(&other), 0);
    other.ok(&["sync", "--check"]);
    // A file that was also changed in the folder stays where it is, so that no change is lost.
    scratch.ok(&["prompt", "rename", "second", "last"]);
    scratch.file("team/.claude/commands/second.md", "---\ndescription: Second\n---\nTwo, edited.\n");
    scratch.ok(&["sync"]);
    assert_eq!(scratch.ok(&["prompt", "show", "last"]), "Two, edited.\n");
}
