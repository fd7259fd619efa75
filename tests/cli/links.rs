//! Tests of links and copies of files: an import makes one item of a file and its links or copies, and an export
//! creates the links and copies again.

use std::os::unix::fs::symlink;
use std::path::Path;

use mcpkg_store::links::{Link, Target, Variant, put};

use crate::support::{Scratch, Tree, set_mode};
use sha2::Digest;

/// Returns a tree with links to a file, to a folder, and from a subfolder.
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

/// Returns the exported tree, without its manifest.
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
    // Importing the export gives the same project, including the links.
    scratch.ok(&["export", "whole"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "import", "whole"]);
    scratch.ok(&["-p", "q", "export", "again"]);
    Tree::of(&scratch.path().join("whole")).assert_is(&Tree::of(&scratch.path().join("again")), "exported again");
    // An import that changes nothing records no event.
    let events = |scratch: &Scratch| scratch.json(&["events"])["events"].as_array().map_or(0, Vec::len);
    let before = events(&scratch);
    scratch.ok(&["import", "tree"]);
    assert_eq!(events(&scratch), before);
}

#[test]
fn a_link_that_no_longer_applies_is_skipped() {
    let scratch = linked();
    scratch.ok(&["import", "tree"]);
    // A file replaces the link.
    std::fs::remove_file(scratch.path().join("tree/CLAUDE.md")).expect("the link");
    scratch.file("tree/CLAUDE.md", "Rules for Claude\n");
    scratch.ok(&["import", "tree", "--update"]);
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "the file came back");
    // The file that the link pointed to is deleted.
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
    let link = |text: &str| Target::Link(text.to_owned());
    let copy = |path: &str| Target::Copy(path.to_owned());
    // A variant needs the SHA-256 of stored content. This is the rules' SHA-256.
    let sha256 = sha2::Sha256::digest(b"Rules\n").into();
    let variant = |of: &str| Target::Variant(Variant { of: of.to_owned(), sha256, executable: true });
    for (path, target) in [
        ("evil12", variant("AGENTS.md")),
        ("../evil13", variant("AGENTS.md")),
        (".git/hooks/evil14", variant("AGENTS.md")),
        ("web/AGENTS.md", variant("web/AGENTS.md")),
        ("AGENTS.md/evil15", variant("AGENTS.md")),
        ("evil6", copy("etc/passwd")),
        ("evil7", copy("../outside")),
        ("evil8", copy("AGENTS.md")),
        ("../CLAUDE.md", copy("AGENTS.md")),
        // `x` is a link. A path below `x` is really in the folder that `x` leads to, so the target of `evil9` would be
        // outside the exported tree.
        (".agents/skills/pdf/x", link("../../../web")),
        (".agents/skills/pdf/x/evil9", link("../../../../web")),
        (".agents/skills/pdf/x/evil9/evil10", link("../../../../../AGENTS.md")),
        ("mcpkg.export.json/evil11", link("../AGENTS.md")),
        ("MCPKG.export.json", link("AGENTS.md")),
        ("evil", link("/etc")),
        ("evil2", link("../../outside")),
        ("../evil3", link("AGENTS.md")),
        ("web/evil4", link("../../AGENTS.md")),
        ("AGENTS.md/evil5", link("web")),
        (".git/config", link("../AGENTS.md")),
        ("web", link(".agents")),
    ] {
        let link = Link { path: path.to_owned(), target };
        let written = scratch.context().write("import", "x", |db, project, _| put(db, project.id, &link));
        written.expect("a row");
    }
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
}

/// Returns a tree with copies of files: two plugins have the same command and subagent, and two agents have the same
/// skill.
fn copied() -> Scratch {
    let scratch = Scratch::with_project();
    for plugin in ["x", "y"] {
        scratch.file(&format!("tree/plugins/{plugin}/commands/go.md"), "---\ndescription: Go\n---\nGo to $1\n");
        scratch.file(&format!("tree/plugins/{plugin}/agents/r.md"), "---\nname: r\ndescription: Reads\n---\nRead\n");
    }
    for folder in [".agents", ".claude"] {
        scratch.file(&format!("tree/{folder}/skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
        let script = scratch.file(&format!("tree/{folder}/skills/pdf/run.sh"), "echo\n");
        set_mode(&script, 0o755);
    }
    scratch
}

#[test]
fn copies_come_back_as_files() {
    let scratch = copied();
    let told = scratch.json(&["import", "tree"]);
    assert_eq!((&told["files"]["imported"], &told["files"]["same"]), (&4.into(), &4.into()), "{told:#}");
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    scratch.ok(&["import", "out"]);
    out.assert_is(&exported(&scratch, "again"), "exported again");
}

#[test]
fn a_copy_follows_its_item_until_it_differs() {
    let scratch = copied();
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["prompt", "update", "go", "--content", "Go home by $1\n"]);
    scratch.ok(&["export", "edited"]);
    let at = |path: &str| std::fs::read_to_string(scratch.path().join(path)).unwrap_or_default();
    assert!(at("edited/plugins/x/commands/go.md").ends_with("Go home by $1\n"));
    assert_eq!(at("edited/plugins/x/commands/go.md"), at("edited/plugins/y/commands/go.md"));
    // One of the two copies changes, and becomes a command of its own.
    scratch.ok(&["prompt", "restore", "go", "1"]);
    scratch.file("tree/plugins/y/commands/go.md", "Go elsewhere\n");
    scratch.ok(&["import", "tree", "--update"]);
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
    // The item that the copies come from is deleted.
    scratch.ok(&["skill", "delete", "pdf", "--yes"]);
    scratch.ok(&["export", "without"]);
    assert!(!scratch.path().join("without/.agents").exists() && !scratch.path().join("without/.claude").exists());
}

#[test]
fn a_copy_that_differs_does_not_affect_other_copies() {
    let scratch = copied();
    scratch.ok(&["import", "tree"]);
    // One skill loses a file. The skills are no longer copies, but the commands still are.
    std::fs::remove_file(scratch.path().join("tree/.claude/skills/pdf/run.sh")).expect("the file");
    scratch.ok(&["import", "tree", "--update"]);
    let out = exported(&scratch, "out");
    Tree::of(&scratch.path().join("tree")).assert_is(&out, "exported");
    // Store a link that no longer applies. The export skips it and reports that.
    let link =
        Link { path: ".claude/skills/pdf/run.sh".into(), target: Target::Copy(".agents/skills/pdf/run.sh".into()) };
    scratch.context().write("import", "x", |db, project, _| put(db, project.id, &link)).expect("a row");
    let told = scratch.run(&["export", "again"]);
    assert!(told.stderr.contains("hint: skipped 1 link, copy or version for another agent:"), "{told}");
    assert!(scratch.path().join("again/plugins/y/commands/go.md").exists());
}

#[test]
fn a_copy_of_a_file_that_is_ignored_where_the_export_lies_is_left_out() {
    let scratch = copied();
    scratch.ok(&["import", "tree"]);
    scratch.file("git/.gitignore", ".agents/\n");
    std::fs::create_dir(scratch.path().join("git/.git")).expect("a folder");
    scratch.ok(&["export", "git/out"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    let told = scratch.json(&["import", "git/out"]);
    assert_eq!((&told["files"]["imported"], &told["files"]["same"]), (&4.into(), &2.into()), "{told:#}");
    assert!(!scratch.path().join("git/out/.claude").exists());
}

#[test]
fn copies_do_not_clash_with_one_another() {
    let scratch = copied();
    scratch.ok(&["import", "tree"]);
    for path in ["plugins/Y/commands/go.md", "plugins/y/commands/go.md/x/commands/go.md"] {
        let link = Link { path: path.into(), target: Target::Copy("plugins/x/commands/go.md".into()) };
        scratch.context().write("import", "x", |db, project, _| put(db, project.id, &link)).expect("a row");
    }
    scratch.ok(&["export", "out"]);
    let there = ["plugins/Y", "plugins/y"].map(|path| scratch.path().join("out").join(path).join("commands").exists());
    assert!(there.iter().filter(|there| **there).count() <= 1, "{there:?}");
}

#[test]
fn a_copy_that_comes_before_the_others_is_the_item_from_then_on() {
    let scratch = copied();
    let at = |path: &str| scratch.path().join("tree").join(path);
    std::fs::rename(at(".agents"), at("../agents")).expect("a folder");
    scratch.ok(&["import", "tree"]);
    // Add a third copy of the command at a path that sorts first, and put the other agent's copy of the skill back.
    scratch.file("tree/plugins/a/commands/go.md", std::fs::read(at("plugins/x/commands/go.md")).expect("a command"));
    std::fs::rename(at("../agents"), at(".agents")).expect("a folder");
    let told = scratch.json(&["import", "tree"]);
    assert_eq!(told["unchanged"].as_array().map(Vec::len), Some(4), "{told:#}");
    let out = exported(&scratch, "out");
    Tree::of(&at("")).assert_is(&out, "exported");
    // An import that changes nothing records no event.
    let events = |scratch: &Scratch| scratch.json(&["events"])["events"].as_array().map_or(0, Vec::len);
    let before = events(&scratch);
    scratch.ok(&["import", "tree"]);
    assert_eq!(events(&scratch), before);
}

/// Returns a tree after a deploy: commands in the formats of several agents, and a block in a file that also has the
/// user's own text.
fn deployed() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("own/.claude/commands/go.md", "---\ndescription: Go\n---\nGo to $ARGUMENTS\n");
    scratch.file("own/.claude/commands/stay.md", "Stay here\n");
    scratch.ok(&["import", "own"]);
    scratch.ok(&["resource", "create", "style", "instructions://style", "Be brief.\n"]);
    scratch.file("tree/AGENTS.md", "My own rules.\n");
    scratch.ok(&["target", "enable", "gemini"]);
    scratch.ok(&["deploy", "--root", "tree", "--apply", "--adopt", "--yes"]);
    set_mode(&scratch.path().join("tree/.claude/commands/stay.md"), 0o755);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    scratch
}

#[test]
fn forms_of_other_agents_come_back() {
    let scratch = deployed();
    let told = scratch.json(&["import", "tree"]);
    let tree = Tree::of(&scratch.path().join("tree"));
    for path in [".cursor/commands/go.md", ".gemini/commands/go.toml", "AGENTS.md"] {
        assert!(scratch.path().join("tree").join(path).exists(), "{path}");
    }
    assert_eq!(told["files"]["left_out"], 0, "{told:#}");
    let out = exported(&scratch, "out");
    tree.assert_is(&out, "exported");
    scratch.ok(&["project", "create", "r"]);
    scratch.ok(&["project", "select", "r"]);
    scratch.ok(&["import", "out"]);
    tree.assert_is(&exported(&scratch, "again"), "exported again");
}

#[test]
fn forms_of_edited_items_are_skipped_and_deleted_forms_are_forgotten() {
    let scratch = deployed();
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["prompt", "update", "go", "--content", "Go home by $ARGUMENTS\n"]);
    let told = scratch.run(&["export", "edited"]);
    assert!(told.stderr.contains("links, copies or versions for other agents"), "{told}");
    let there = |path: &str| scratch.path().join(path).exists();
    assert!(there("edited/.claude/commands/go.md") && there("edited/.cursor/commands/stay.md"));
    assert!(!there("edited/.cursor/commands/go.md") && !there("edited/.gemini/commands/go.toml"));
    // Importing this export gives the same project, without additional items.
    scratch.ok(&["project", "create", "r"]);
    scratch.ok(&["-p", "r", "import", "edited"]);
    let names = |project: &str| scratch.json(&["-p", project, "prompt", "list"])["prompts"].clone();
    assert_eq!(names("r").as_array().map(Vec::len), names("q").as_array().map(Vec::len));
    // The user deletes the files of one agent, and changes the mode of a command.
    scratch.ok(&["prompt", "restore", "go", "1"]);
    std::fs::remove_dir_all(scratch.path().join("tree/.gemini")).expect("the folder");
    set_mode(&scratch.path().join("tree/.claude/commands/stay.md"), 0o644);
    scratch.ok(&["import", "tree"]);
    Tree::of(&scratch.path().join("tree")).assert_is(&exported(&scratch, "out"), "exported");
}

#[test]
fn the_content_of_an_ignored_block_is_exported_by_itself() {
    let scratch = deployed();
    scratch.ok(&["import", "tree"]);
    scratch.file("git/.gitignore", "AGENTS.md\n");
    std::fs::create_dir(scratch.path().join("git/.git")).expect("a folder");
    scratch.ok(&["export", "git/out"]);
    scratch.ok(&["project", "create", "r"]);
    scratch.ok(&["-p", "r", "import", "git/out"]);
    let uris = |project: &str| {
        let listed = scratch.json(&["-p", project, "resource", "list"]);
        let uris = listed["resources"].as_array().expect("resources").iter();
        uris.filter_map(|it| it["uri"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(uris("r"), uris("q"));
    assert!(uris("q").contains(&"instructions://style".to_owned()));
}

#[test]
fn compact_keeps_the_content_of_forms() {
    let (made, scratch) = (deployed(), Scratch::with_project());
    let tree = made.path().join("tree");
    scratch.ok(&["import", &tree.to_string_lossy()]);
    scratch.ok(&["compact"]);
    scratch.ok(&["check", "--deep"]);
    Tree::of(&tree).assert_is(&exported(&scratch, "out"), "exported");
}

#[test]
fn an_export_without_an_ignored_form_imports_the_same_items() {
    let scratch = Scratch::with_project();
    let rule = "---\ndescription: Style of Rust\nglobs: \"*.rs\"\nalwaysApply: false\n---\nUse rustfmt.\n";
    scratch.file("tree/.cursor/rules/rust.mdc", rule);
    scratch.file("tree/.claude/rules/rust.md", "---\npaths:\n  - \"*.rs\"\n---\n\nUse rustfmt.\n");
    scratch.file("tree/.cursor/commands/go.md", "---\ndescription: Go\n---\nGo to $1\n");
    let told = scratch.json(&["import", "tree"]);
    let items = told["files"]["imported"].clone();
    scratch.file("git/.gitignore", ".cursor/\n");
    std::fs::create_dir(scratch.path().join("git/.git")).expect("a folder");
    scratch.ok(&["export", "git/out"]);
    scratch.ok(&["project", "create", "q"]);
    assert_eq!(scratch.json(&["-p", "q", "import", "git/out"])["files"]["imported"], items);
}

#[test]
fn a_deployed_folder_is_imported_as_the_texts_that_the_user_wrote() {
    for (file, name) in [
        (".github/copilot-instructions.md", "copilot-instructions.md"),
        ("CLAUDE.md", "CLAUDE.md"),
        ("GEMINI.md", "GEMINI.md"),
        (".cursor/rules/style.mdc", "style.mdc"),
    ] {
        let scratch = Scratch::with_project();
        let front = if name == "style.mdc" { "---\nalwaysApply: true\n---\n" } else { "" };
        scratch.file(&format!("tree/{file}"), format!("{front}Be nice.\n"));
        scratch.ok(&["import", "tree"]);
        scratch.ok(&["target", "enable", "gemini", "copilot"]);
        scratch.ok(&["deploy", "--root", "tree", "--apply", "--yes"]);
        scratch.ok(&["project", "create", "q"]);
        scratch.ok(&["-p", "q", "import", "tree"]);
        let items = scratch.ok(&["-p", "q", "resource", "list"]);
        let names: Vec<&str> = items.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(names, [name]);
    }
}

#[test]
fn a_block_that_clashes_with_what_was_edited_is_left_out() {
    let scratch = Scratch::with_project();
    scratch.file("tree/.github/copilot-instructions.md", "Be nice.\n");
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["deploy", "--root", "tree", "--apply", "--adopt", "--yes"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["resource", "update", "copilot-instructions.md", "--content", "Be brief.\n"]);
    let told = scratch.run(&["export", "out"]);
    assert!(told.stderr.contains("an import would not restore the same items"), "{told}");
    scratch.ok(&["project", "create", "r"]);
    scratch.ok(&["-p", "r", "import", "out"]);
    // AGENTS.md, which the block in GEMINI.md refers to, is missing here. GEMINI.md is then imported as a file of its
    // own.
    scratch.file("half/GEMINI.md", std::fs::read(scratch.path().join("tree/GEMINI.md")).unwrap_or_else(|_| {
        b"<!-- mcpkg:begin: this part is kept by mcpkg; what stands outside of it is yours -->\n@AGENTS.md\n<!-- mcpkg:end -->\n".to_vec()
    }));
    scratch.ok(&["project", "create", "s"]);
    scratch.ok(&["project", "select", "s"]);
    scratch.ok(&["import", "half"]);
    Tree::of(&scratch.path().join("half")).assert_is(&exported(&scratch, "half-out"), "exported");
}

#[test]
fn text_that_replaced_a_block_keeps_its_mode_and_path() {
    let scratch = Scratch::with_project();
    let own = scratch.file("tree/CLAUDE.md", "Be nice.\n");
    set_mode(&own, 0o755);
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["deploy", "--root", "tree", "--target", "codex", "--apply", "--adopt", "--yes"]);
    for (project, text) in [("q", "Be nice.\n"), ("r", "Be nice.\nAnd more.\n")] {
        scratch.file("tree/CLAUDE.md", text);
        set_mode(&own, 0o755);
        scratch.ok(&["project", "create", project]);
        scratch.ok(&["project", "select", project]);
        scratch.ok(&["import", "tree"]);
        Tree::of(&scratch.path().join("tree")).assert_is(&exported(&scratch, &format!("out-{project}")), project);
    }
}

#[test]
fn importing_a_part_of_a_tree_removes_no_copies() {
    let scratch = Scratch::with_project();
    for agent in [".claude", ".cursor"] {
        scratch.file(&format!("tree/{agent}/commands/go.md"), "Go\n");
    }
    scratch.ok(&["import", "tree"]);
    scratch.ok(&["import", "tree", "--only", ".cursor/**"]);
    Tree::of(&scratch.path().join("tree")).assert_is(&exported(&scratch, "out"), "exported");
}
