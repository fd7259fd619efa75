//! Tests of files in a synced folder that must not become new items: files that a deploy wrote for other agents, and
//! files that were moved.

use std::fs;

use crate::support::Scratch;

/// Returns a project that is synced with a folder and also deployed in it.
fn both() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("team/.claude/commands/go.md", "---\ndescription: Go\n---\nGo to $ARGUMENTS\n");
    scratch.file("team/.claude/agents/reader.md", "---\nname: reader\ndescription: Reads\n---\nRead.\n");
    scratch.file("team/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    scratch.file("team/.claude/skills/pdf/x.sh", "echo\n");
    scratch.file(
        "team/.cursor/rules/py.mdc",
        "---\ndescription: Python\nglobs: **/*.py\nalwaysApply: false\n---\nTabs.\n",
    );
    scratch.ok(&["sync", "team"]);
    scratch.ok(&["target", "enable", "gemini", "opencode", "copilot"]);
    deploy(&scratch);
    scratch.ok(&["sync"]);
    scratch
}

fn deploy(scratch: &Scratch) {
    scratch.ok(&["deploy", "--root", "team", "--apply", "--adopt", "--yes"]);
}

/// Returns the names of all prompts and resources of the project.
fn names(scratch: &Scratch) -> Vec<String> {
    let listed = ["prompt", "resource"].map(|kind| scratch.json(&[kind, "list"])[format!("{kind}s")].clone());
    let all = listed.iter().flat_map(|list| list.as_array().expect("a list").clone());
    all.filter_map(|item| item["name"].as_str().map(str::to_owned)).collect()
}

#[track_caller]
fn assert_same(scratch: &Scratch, expected: &[String]) {
    let told = scratch.run(&["sync"]);
    assert!(told.status == 0 && told.stdout.contains("are in sync"), "{told}");
    assert_eq!(names(scratch), expected);
}

#[test]
fn a_deployed_file_does_not_become_an_item_when_its_item_changes() {
    let scratch = both();
    let all = names(&scratch);
    assert!(scratch.path().join("team/.gemini/commands/go.toml").exists());
    assert_same(&scratch, &all);
    for (kind, name, text) in [
        ("prompt", "go", "Go home by $ARGUMENTS\n"),
        ("resource", "agents.reader.md", "---\nname: reader\ndescription: Reads\n---\nRead twice.\n"),
        ("resource", "py.mdc", "---\ndescription: Python\nglobs: **/*.py\nalwaysApply: false\n---\nSpaces.\n"),
        ("resource", "pdf.SKILL.md", "---\nname: pdf\ndescription: More\n---\n# PDF 2\n"),
    ] {
        let update = scratch.run(&[kind, "update", name, "--content", text]);
        assert_eq!(update.status, 0, "{all:?}: {update}");
        let told = scratch.ok(&["sync"]);
        assert!(told.contains("1 item written"), "{told}");
        assert_same(&scratch, &all);
    }
    // A deploy updates the other agents' files, and the items stay the same.
    for _ in 0..2 {
        deploy(&scratch);
        assert_same(&scratch, &all);
    }
    let plan = scratch.json(&["plan", "--root", "team"]);
    assert_eq!(plan["data"]["changes"].as_array().map(Vec::len), Some(0), "{plan:#}");
}

#[test]
fn a_change_from_another_home_makes_no_item_of_a_deployed_file() {
    let (scratch, other) = (both(), Scratch::with_project());
    let all = names(&scratch);
    let team = scratch.path().join("team").display().to_string();
    // This time, the other home syncs before the deploy.
    scratch.ok(&["rollback", "--root", "team", "--to", "pristine", "--yes"]);
    other.ok(&["sync", &team]);
    deploy(&scratch);
    assert_eq!(other.run(&["sync", &team]).status, 0);
    assert_eq!(names(&other), all);
    // Only the command's own file is imported. The files that a deploy made of it for other agents are not items.
    scratch.file("team/.claude/commands/go.md", "---\ndescription: Go\n---\nGo away, $ARGUMENTS\n");
    for home in [&other, &scratch] {
        let told = home.run(&["sync", &team]);
        assert_eq!(told.status, 0, "{told}");
        assert_eq!(names(home), all);
        assert_eq!(home.ok(&["prompt", "show", "go", "--raw"]).matches("Go away").count(), 1);
    }
    // A deployed file that a user edits becomes an item of its own.
    scratch.file("team/.cursor/commands/go.md", "Go by Cursor\n");
    other.ok(&["sync", &team]);
    assert_eq!(names(&other).len(), all.len() + 1);
}

#[test]
fn deployed_files_do_not_bring_back_deleted_items() {
    let scratch = both();
    let all = names(&scratch);
    fs::remove_file(scratch.path().join("team/.claude/commands/go.md")).expect("the command");
    fs::remove_dir_all(scratch.path().join("team/.claude/skills/pdf")).expect("the skill");
    let told = scratch.run(&["sync"]);
    assert!(told.status == 1 && told.stdout.contains("3 items proposed"), "{told}");
    for proposal in scratch.json(&["evolve", "list"])["data"]["proposals"].as_array().expect("proposals") {
        scratch.ok(&["evolve", "accept", &proposal["id"].to_string()]);
    }
    scratch.ok(&["sync"]);
    let left: Vec<String> = all.into_iter().filter(|name| name != "go" && !name.starts_with("pdf.")).collect();
    assert_same(&scratch, &left);
}

#[test]
fn a_skill_that_was_moved_between_agents_folders_is_the_same() {
    let scratch = Scratch::with_project();
    scratch.file("team/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    scratch.file("team/.claude/skills/pdf/run.sh", "echo\n");
    scratch.file("team/.claude/rules/py.md", "---\npaths:\n  - \"**/*.py\"\n---\nTabs.\n");
    scratch.ok(&["sync", "team"]);
    let all = names(&scratch);
    let at = |path: &str| scratch.path().join("team").join(path);
    fs::create_dir(at(".agents")).expect("a folder");
    fs::rename(at(".claude/skills"), at(".agents/skills")).expect("a folder");
    scratch.file("team/.agents/skills/pdf/run.sh", "echo moved\n");
    let told = scratch.run(&["sync"]);
    assert_eq!(told.status, 0, "{told}");
    assert_same(&scratch, &all);
    assert_eq!(scratch.ok(&["resource", "show", "pdf.run.sh"]), "echo moved\n");
    assert!(!at(".claude/skills").exists());
    // From then on, the item has the new path.
    scratch.ok(&["export", "out"]);
    assert!(scratch.path().join("out/.agents/skills/pdf/run.sh").exists());
    assert!(!scratch.path().join("out/.claude/skills").exists());
    scratch.ok(&["resource", "update", "pdf.run.sh", "--content", "echo again\n"]);
    scratch.ok(&["sync"]);
    assert_eq!(fs::read_to_string(at(".agents/skills/pdf/run.sh")).expect("the script"), "echo again\n");
    assert_same(&scratch, &all);
}

#[test]
fn a_file_that_a_deploy_replaced_is_skipped_and_its_text_stays() {
    let scratch = Scratch::with_project();
    for (file, text) in [("AGENTS.md", "For all\n"), ("CLAUDE.md", "For Claude\n"), ("GEMINI.md", "For Gemini\n")] {
        scratch.file(&format!("team/{file}"), text);
    }
    scratch.ok(&["sync", "team"]);
    let all = names(&scratch);
    // An earlier version of mcpkg moved the text of GEMINI.md to AGENTS.md.
    let block = |inner: &str| {
        let kept = "this part is kept by mcpkg; what stands outside of it is yours";
        format!("<!-- mcpkg:begin: {kept} -->\n{inner}<!-- mcpkg:end -->\n")
    };
    let section =
        |name: &str, text: &str| format!("<!-- agentpack:module=instructions:{name} -->\n{text}<!-- /agentpack -->\n");
    let moved = format!("{}\n---\n\n{}", section("AGENTS.md", "For all\n"), section("GEMINI.md", "For Gemini\n"));
    scratch.file("team/AGENTS.md", block(&moved));
    scratch.file("team/GEMINI.md", block("@AGENTS.md\n"));
    for _ in 0..3 {
        let told = scratch.run(&["sync"]);
        assert!(
            told.stderr
                .contains("`GEMINI.md` contains only an import, because a deploy moved its text to another file"),
            "{told}"
        );
        assert_eq!(names(&scratch), all);
        assert_eq!(scratch.ok(&["resource", "show", "GEMINI.md"]), "For Gemini\n");
        assert_eq!(scratch.ok(&["resource", "show", "CLAUDE.md"]), "For Claude\n");
        assert_eq!(scratch.ok(&["resource", "show", "AGENTS.md"]), "For all\n");
    }
}

#[test]
fn a_home_that_comes_later_has_the_same_items() {
    let scratch = Scratch::with_project();
    let rule = "---\ndescription: Style of Rust\nglobs: \"*.rs\"\nalwaysApply: false\n---\nUse rustfmt.\n";
    scratch.file("team/.cursor/rules/rust.mdc", rule);
    scratch.ok(&["sync", "team"]);
    deploy(&scratch);
    assert!(scratch.path().join("team/.claude/rules/rust.md").exists());
    scratch.ok(&["sync"]);
    let other = Scratch::with_project();
    let team = scratch.path().join("team").display().to_string();
    other.ok(&["sync", &team]);
    assert_eq!(names(&other), names(&scratch));
    assert_eq!(other.ok(&["resource", "show", "rust.mdc"]), rule);
    assert_same(&scratch, &["rust.mdc".to_owned()]);
}

#[test]
fn a_nested_file_and_one_with_other_line_ends_are_known_in_each_form() {
    let scratch = Scratch::with_project();
    scratch.file("team/sub/pkg/CLAUDE.md", "Be nice.\n");
    scratch.file("team/sub/AGENTS.md", "Be brief.\n");
    scratch.file("team/.claude/commands/go.md", "---\r\ndescription: CR\r\n---\r\nGo $1\r\n");
    scratch.ok(&["sync", "team"]);
    let all = names(&scratch);
    scratch.ok(&["target", "enable", "gemini", "copilot", "windsurf", "opencode"]);
    deploy(&scratch);
    scratch.run(&["sync"]);
    assert_eq!(names(&scratch), all);
    // An import of the tree into another project also makes each item once.
    let fresh = Scratch::with_project();
    fresh.ok(&["import", &scratch.path().join("team").display().to_string()]);
    assert_eq!(names(&fresh).len(), all.len(), "{:?}", names(&fresh));
}
