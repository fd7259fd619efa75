//! A link and what it leads to are one thing: imported once, and a link again in an export.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Scratch, Tree};

/// A tree whose links lead to a file, to a folder, and from below a folder.
fn linked() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("tree/AGENTS.md", "Rules\n");
    scratch.file("tree/web/AGENTS.md", "Rules of the web\n");
    scratch.file("tree/.agents/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    let at = |path: &str| scratch.path().join("tree").join(path);
    std::fs::create_dir(at(".claude")).expect("a folder");
    symlink("AGENTS.md", at("CLAUDE.md")).expect("a link");
    symlink("./AGENTS.md", at("web/CLAUDE.md")).expect("a link");
    symlink("../.agents/skills", at(".claude/skills")).expect("a link");
    scratch
}

/// The tree of an export, without the manifest that it may have.
fn exported(scratch: &Scratch, folder: &str) -> Tree {
    scratch.ok(&["export", folder]);
    let folder = scratch.path().join(folder);
    let _ = std::fs::remove_file(folder.join("mcpkg.export.json"));
    Tree::of(&folder)
}

fn leads_to(path: &Path) -> String {
    std::fs::read_link(path).map_or_else(|error| error.to_string(), |to| to.display().to_string())
}

#[test]
fn a3_links_come_back_as_links() {
    let scratch = linked();
    let told = scratch.json(&["import", "tree"]);
    assert_eq!(told["files"]["same"], 3, "{told:#}");
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
    assert_eq!(leads_to(&scratch.path().join("out/web/CLAUDE.md")), "./AGENTS.md");
    assert_eq!(leads_to(&scratch.path().join("out/.claude/skills")), "../.agents/skills");
    // Read whole, an export gives the same project, links too.
    scratch.ok(&["export", "whole"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "import", "whole"]);
    scratch.ok(&["-p", "q", "export", "again"]);
    Tree::of(&scratch.path().join("whole")).assert_is(&Tree::of(&scratch.path().join("again")), "exported again");
    // What was so already did not happen.
    let events = |scratch: &Scratch| scratch.json(&["events"])["events"].as_array().map_or(0, Vec::len);
    let before = events(&scratch);
    scratch.ok(&["import", "tree"]);
    assert_eq!(events(&scratch), before);
}

#[test]
fn a_link_that_fits_no_more_is_left_out() {
    let scratch = linked();
    scratch.ok(&["import", "tree"]);
    // A file stands where the link was.
    std::fs::remove_file(scratch.path().join("tree/CLAUDE.md")).expect("the link");
    scratch.file("tree/CLAUDE.md", "Rules for Claude\n");
    scratch.ok(&["import", "tree", "--update"]);
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "the file came back");
    // What the link led to is gone.
    let web = scratch.json(&["resource", "list"]);
    let web = web["resources"].as_array().expect("resources").iter();
    let name = web.filter_map(|it| it["name"].as_str()).find(|name| name.contains("web")).expect("the web's rules");
    scratch.ok(&["resource", "delete", name]);
    scratch.ok(&["export", "without"]);
    assert!(!scratch.path().join("without/web").exists());
    assert_eq!(leads_to(&scratch.path().join("without/.claude/skills")), "../.agents/skills");
}

#[test]
fn a_link_of_a_strangers_database_leads_nowhere_else() {
    let scratch = linked();
    scratch.ok(&["import", "tree"]);
    for (path, target) in [
        ("evil", "/etc"),
        ("evil2", "../../outside"),
        ("../evil3", "AGENTS.md"),
        ("web/evil4", "../../AGENTS.md"),
        ("AGENTS.md/evil5", "web"),
        (".git/config", "../AGENTS.md"),
        ("web", ".agents"),
    ] {
        let link = mcpkg::store::links::Link { path: path.to_owned(), target: target.to_owned() };
        let written =
            scratch.context().write("import", "x", |db, project, _| mcpkg::store::links::put(db, project.id, &link));
        written.expect("a row");
    }
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
}
