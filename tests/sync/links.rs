//! Tests of links: the folder gets the project's links once, and from then on the project follows the folder's links.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::Scratch;

/// Returns a project whose tree has a link, synced with `team`.
fn linked() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("tree/AGENTS.md", "Rules\n");
    symlink("AGENTS.md", scratch.path().join("tree/CLAUDE.md")).expect("a link");
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["sync", "team"]);
    scratch
}

fn leads_to(scratch: &Scratch, path: &str) -> Option<String> {
    fs::read_link(scratch.path().join(path)).ok().map(|to| to.display().to_string())
}

fn is_same(scratch: &Scratch) {
    let told = scratch.ok(&["sync"]);
    assert!(told.contains("are in sync"), "{told}");
    assert_eq!(scratch.run(&["sync", "--check"]).status, 0);
}

#[test]
fn a_folder_is_given_the_links_of_the_project() {
    let scratch = linked();
    assert_eq!(leads_to(&scratch, "team/CLAUDE.md").as_deref(), Some("AGENTS.md"));
    is_same(&scratch);
    // A link that is added later is written too, and `--check` reports it first.
    scratch.file("tree/web/AGENTS.md", "Rules of the web\n");
    symlink("AGENTS.md", scratch.path().join("tree/web/CLAUDE.md")).expect("a link");
    scratch.ok(&["import", "tree"]);
    let check = scratch.run(&["sync", "--check"]);
    assert!(check.status == 3 && check.stdout.contains("write\tlink to AGENTS.md\tweb/CLAUDE.md"), "{check}");
    scratch.ok(&["sync"]);
    assert_eq!(leads_to(&scratch, "team/web/CLAUDE.md").as_deref(), Some("AGENTS.md"));
    is_same(&scratch);
}

#[test]
fn the_project_follows_the_folder() {
    let scratch = linked();
    // A link from a colleague is added to the project and exported.
    symlink("AGENTS.md", scratch.path().join("team/GEMINI.md")).expect("a link");
    assert_eq!(scratch.run(&["sync", "--check"]).status, 3);
    scratch.ok(&["sync"]);
    scratch.ok(&["export", "with"]);
    assert_eq!(leads_to(&scratch, "with/GEMINI.md").as_deref(), Some("AGENTS.md"));
    // A link that was deleted in the folder does not come back anywhere.
    fs::remove_file(scratch.path().join("team/CLAUDE.md")).expect("the link");
    scratch.ok(&["sync"]);
    is_same(&scratch);
    scratch.ok(&["export", "without"]);
    assert_eq!([leads_to(&scratch, "without/CLAUDE.md"), leads_to(&scratch, "team/CLAUDE.md")], [None, None]);
    // A link that leads to no item is not added to the project.
    fs::remove_file(scratch.path().join("team/GEMINI.md")).expect("the link");
    symlink("/etc/hostname", scratch.path().join("team/GEMINI.md")).expect("a link");
    scratch.ok(&["sync"]);
    is_same(&scratch);
    scratch.ok(&["export", "elsewhere"]);
    assert!(!scratch.path().join("elsewhere/GEMINI.md").exists());
    // A file that replaces a link is an item.
    fs::remove_file(scratch.path().join("team/GEMINI.md")).expect("the link");
    scratch.file("team/GEMINI.md", "Rules for Gemini\n");
    scratch.ok(&["sync"]);
    is_same(&scratch);
    scratch.ok(&["export", "file"]);
    assert_eq!(fs::read_to_string(scratch.path().join("file/GEMINI.md")).expect("a file"), "Rules for Gemini\n");
}

#[test]
fn a_link_deleted_in_one_folder_does_not_come_back_through_another() {
    let scratch = linked();
    scratch.ok(&["sync", "other"]);
    fs::remove_file(scratch.path().join("team/CLAUDE.md")).expect("the link");
    for folder in ["team", "other", "team", "other"] {
        scratch.ok(&["sync", folder]);
    }
    assert_eq!(leads_to(&scratch, "team/CLAUDE.md"), None);
    assert_eq!(leads_to(&scratch, "other/CLAUDE.md").as_deref(), Some("AGENTS.md"));
}

#[test]
fn a_link_that_replaces_a_file_counts_as_a_deletion() {
    let scratch = linked();
    scratch.file("tree/web/AGENTS.md", "Rules of the web\n");
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["sync"]);
    fs::remove_file(scratch.path().join("team/web/AGENTS.md")).expect("the file");
    symlink("../AGENTS.md", scratch.path().join("team/web/AGENTS.md")).expect("a link");
    for _ in 0..2 {
        let told = scratch.run(&["sync"]);
        assert!(told.status == 1 && told.stderr.contains("1 proposal waits for your decision"), "{told}");
    }
    let kept = scratch.json(&["resource", "list"]);
    assert_eq!(kept["resources"].as_array().map(Vec::len), Some(2), "{kept:#}");
    assert!(!scratch.path().join("team/.claude").exists());
    // The item stays in the project, and sync does not replace the link with the item's file.
    let id = scratch.json(&["evolve", "list"])["data"]["proposals"][0]["id"].to_string();
    scratch.ok(&["evolve", "reject", &id]);
    let told = scratch.run(&["sync"]);
    assert!(
        told.status == 1 && told.stderr.contains("`web/AGENTS.md` is a link, and sync never replaces links"),
        "{told}"
    );
    fs::remove_file(scratch.path().join("team/web/AGENTS.md")).expect("the link");
    scratch.ok(&["sync"]);
    assert_eq!(fs::read(scratch.path().join("team/web/AGENTS.md")).expect("the file"), b"Rules of the web\n");
    is_same(&scratch);
}

#[test]
fn a_file_with_a_links_text_counts_as_the_link() {
    let scratch = linked();
    // git writes a link as such a file if the disk does not support links.
    fs::remove_file(scratch.path().join("team/CLAUDE.md")).expect("the link");
    scratch.file("team/CLAUDE.md", "AGENTS.md");
    is_same(&scratch);
    assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map(Vec::len), Some(1));
    scratch.ok(&["export", "out"]);
    assert_eq!(leads_to(&scratch, "out/CLAUDE.md").as_deref(), Some("AGENTS.md"));
    // Any other text is instructions.
    scratch.file("team/CLAUDE.md", "Mind AGENTS.md\n");
    scratch.ok(&["sync"]);
    assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_copy_follows_its_original() {
    let scratch = Scratch::with_project();
    for plugin in ["x", "y"] {
        scratch.file(&format!("team/plugins/{plugin}/commands/go.md"), "---\ndescription: Go\n---\nGo to $1\n");
    }
    scratch.ok(&["sync", "team"]);
    is_same(&scratch);
    scratch.ok(&["prompt", "update", "go", "--content", "Go home by $1\n"]);
    scratch.ok(&["sync"]);
    let text = |plugin: &str| fs::read_to_string(scratch.path().join(format!("team/plugins/{plugin}/commands/go.md")));
    assert!(text("y").expect("a file").ends_with("Go home by $1\n"));
    assert_eq!(text("x").expect("a file"), text("y").expect("a file"));
    is_same(&scratch);
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().map(Vec::len), Some(1));
    // One of the copies changes, and becomes an item.
    scratch.file("team/plugins/y/commands/go.md", "---\ndescription: Go\n---\nGo away, $1\n");
    scratch.ok(&["sync"]);
    is_same(&scratch);
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_link_is_created_only_at_a_free_path_and_leads_nowhere_else() {
    let scratch = Scratch::with_project();
    scratch.file("tree/AGENTS.md", "Rules\n");
    symlink("AGENTS.md", scratch.path().join("tree/CLAUDE.md")).expect("a link");
    scratch.ok(&["import", "tree"]);
    // The user's own files and links are in the way.
    scratch.file("team/notes/x", "");
    symlink("notes", scratch.path().join("team/CLAUDE.md")).expect("a link");
    for (path, text) in
        [("evil", "/etc/passwd"), ("evil2", "../AGENTS.md"), ("../evil3", "AGENTS.md"), ("AGENTS.md/x", "x")]
    {
        let target = mcpkg_store::links::Target::Link(text.to_owned());
        let link = mcpkg_store::links::Link { path: path.to_owned(), target };
        let put =
            |db: &mcpkg_store::Db<'_>,
             project: &mcpkg_store::projects::Project,
             _: mcpkg_store::revisions::Author<'_>| { mcpkg_store::links::put(db, project.id, &link) };
        scratch.context().write("import", "x", put).expect("a row");
    }
    scratch.ok(&["sync", "team"]);
    assert_eq!(leads_to(&scratch, "team/CLAUDE.md").as_deref(), Some("notes"));
    let mut names: Vec<String> = fs::read_dir(scratch.path().join("team"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    assert_eq!(names, ["AGENTS.md", "CLAUDE.md", "mcpkg.export.json", "notes"]);
    assert!(!scratch.path().join("evil3").exists());
}
