//! Tests of `mcpkg import`: what it reports as imported, and what happened to every other file.

use insta::assert_snapshot;

use crate::support::{Scratch, as_bound_user, set_mode, skipped};

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    for (path, text) in [
        ("repo/AGENTS.md", "# Rules\n"),
        ("repo/web/AGENTS.md", "# Web\n"),
        ("repo/.cursor/rules/py.mdc", "---\nglobs: [\"*.py\"]\n---\nPython\n"),
        ("repo/plugins/git/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDFs\n---\n"),
        ("repo/plugins/git/commands/commit.md", "Commit $ARGUMENTS\n"),
        ("repo/plugins/git/agents/bot.md", "---\nname: bot\ndescription: Helps\n---\nHelp\n"),
        ("repo/plugins/hub/commands/commit.md", "Commit $ARGUMENTS\n"),
        ("repo/.mcp.json", "{}"),
        ("repo/.env", "TOKEN=x"),
        ("repo/node_modules/a/b.js", ""),
        ("repo/README.md", "# Read me\n"),
    ] {
        scratch.file(path, text);
    }
    scratch
}

#[test]
fn a_repository_is_shown_in_full_before_it_is_imported() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["import", "--documents", "repo", "--dry-run"]), @r#"
    status: 0
    --- stdout
    3	create	instructions
    1	create	prompt
    1	create	resource
    1	create	servers
    1	create	skill
    1	create	subagent
    1	same	as another file
    1	skipped	hidden
    1	skipped	node_modules
    --- stderr
    hint: `.cursor/rules/py.mdc:2` has `globs` as a list in brackets, which matches nothing in Cursor; write `globs: a,b`
    hint: that is 1 skill, 1 command, 3 rules, 1 subagent, 1 other file, 1 agent's file
    hint: dry run: the files were not imported; `-v` lists them
    "#);
    let verbose = scratch.run(&["-v", "import", "--documents", "repo", "--dry-run"]).stderr;
    for line in [
        "plugins/git/commands/commit.md: create prompt commit",
        "plugins/git/skills/pdf/SKILL.md: create skill pdf.SKILL.md (skill://pdf/SKILL.md)",
        "plugins/hub/commands/commit.md: same: as plugins/git/commands/commit.md",
        "node_modules/: skipped: node_modules (1 file)",
    ] {
        assert!(verbose.lines().any(|told| told == line), "{line}: {verbose}");
    }
    assert_snapshot!(scratch.run(&["-v", "import", "--documents", "repo", "--only", "plugins/hub"]), @r#"
    status: 0
    --- stdout
    Imported 1 command into project 'p'
    --- stderr
    .cursor/rules/py.mdc: skipped: not matched by --only
    .env: skipped: not matched by --only
    .mcp.json: skipped: not matched by --only
    AGENTS.md: skipped: not matched by --only
    README.md: skipped: not matched by --only
    node_modules/: skipped: node_modules (1 file)
    plugins/git/agents/bot.md: skipped: not matched by --only
    plugins/git/commands/commit.md: skipped: not matched by --only
    plugins/git/skills/pdf/SKILL.md: skipped: not matched by --only
    web/AGENTS.md: skipped: not matched by --only
    hint: skipped 10 files: node_modules: 1; not matched by --only: 9
    "#);
}

#[test]
fn json_lists_every_file_and_what_happened_to_it() {
    let scratch = scratch();
    let reply = scratch.json(&["import", "--documents", "repo"]);
    assert_eq!(reply["files"].to_string(), r#"{"total":11,"imported":8,"same":1,"left_out":2}"#);
    assert_eq!(reply["same"][0]["as"], "plugins/git/commands/commit.md");
    assert_eq!(reply["left_out"][0]["reason"], "hidden");
    assert_eq!(reply["notes"][0]["line"], 2);
    let again = scratch.json(&["import", "--documents", "repo"]);
    assert_eq!(again["unchanged"].as_array().map(Vec::len), Some(8));
    scratch.ok(&["export", "out"]);
    let nothing = scratch.json(&["import", "--documents", "out"]);
    assert_eq!((&nothing["created"], &nothing["unchanged"]), (&serde_json::json!([]), &again["unchanged"]));
}

#[test]
fn images_among_more_texts_than_one_transaction_indexes_are_imported() {
    let scratch = Scratch::with_project();
    for n in 1001..=2101 {
        scratch.file(&format!("repo/f{n}.txt"), format!("needle{n}\n"));
    }
    for name in ["a.png", "f1500.png", "z.png"] {
        std::fs::write(scratch.path().join("repo").join(name), [0x89, b'P', 0xff, 0]).expect("a file");
    }
    scratch.ok(&["import", "--documents", "repo"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "source", "add", "./repo", "--documents", "--yes"]);
    for project in ["p", "q"] {
        let all = scratch.json(&["-p", project, "resource", "list"]);
        assert_eq!(all["resources"].as_array().map(Vec::len), Some(1104), "{project}");
        let found = scratch.json(&["-p", project, "search", "needle2101"]);
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    }
    scratch.ok(&["resource", "create", "after", "file:///after", "later"]);
    scratch.ok(&["check", "--deep"]);
}

/// Tests names that some disks refuse, and names that a terminal would act on.
#[test]
fn files_with_any_name_are_exported_and_imported_again() {
    let scratch = Scratch::with_project();
    let odd = ["a\\b", "c\nd", "bell\u{7}", "e:f", "c1\u{85}", "up\\..", "t\tab"];
    for name in odd {
        scratch.file(&format!("repo/docs/{name}.md"), format!("# {name:?}\n"));
        scratch.file(&format!("repo/we\\ird/{name}.txt"), format!("{name:?}\n"));
        scratch.file(&format!("repo/.claude/commands/{name}.md"), format!("---\ndescription: d\n---\nDo {name:?}\n"));
        scratch.file(&format!("repo/.claude/rules/{name}.md"), format!("Rule {name:?}\n"));
        let agent = format!("---\nname: x{}\ndescription: d\n---\nHelp\n", name.len());
        scratch.file(&format!("repo/.claude/agents/{name}.md"), agent);
        scratch.file(&format!("repo/.claude/skills/pdf/{name}.txt"), format!("{name:?}\n"));
        scratch.file(&format!("repo/{name}/.mcp.json"), r#"{ "mcpServers": { "a": { "command": "x" } } }"#);
    }
    scratch.file("repo/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    let imported = scratch.json(&["import", "--documents", "repo"]);
    assert_eq!((&imported["files"]["total"], &imported["files"]["left_out"]), (&50.into(), &0.into()), "{imported}");
    let lists = |project: &str| {
        ["prompt", "resource", "mcp", "agent-file"].map(|what| {
            let mut listed = scratch.json(&["-p", project, what, "list"]);
            let rows = listed.as_object_mut().and_then(|fields| fields.values_mut().next()).expect("rows");
            for row in rows.as_array_mut().expect("rows") {
                row.as_object_mut()
                    .expect("a row")
                    .retain(|key, _| !key.ends_with("_at") && !matches!(key.as_str(), "id" | "project"));
            }
            listed
        })
    };
    scratch.ok(&["export", "out"]);
    scratch.ok(&["project", "create", "q"]);
    let again = scratch.json(&["-p", "q", "import", "--documents", "out"]);
    assert_eq!(again["files"]["left_out"], 0, "{again}");
    assert_eq!(lists("q"), lists("p"));
    scratch.ok(&["-p", "q", "export", "again"]);
    let tree = |folder: &str| crate::support::Tree::of(&scratch.path().join(folder));
    assert!(tree("again") == tree("out"), "another export came of it");
    // Each file is printed on one line, without control characters.
    let told = scratch.run(&["-v", "import", "--documents", "repo", "--dry-run"]).stderr;
    assert!(told.lines().any(|line| line.starts_with("docs/c d.md: unchanged")), "{told}");
    assert!(!told.contains(['\u{7}', '\u{85}']), "{told}");
}

#[test]
fn a_folder_that_cannot_be_read_is_skipped_and_named() {
    let Some(wrapper) = as_bound_user() else {
        return skipped("root may read everything, and no other user can run the binary where it stands");
    };
    let scratch = Scratch::with_project();
    scratch.file("repo/AGENTS.md", "Rules\n");
    scratch.file("repo/closed/notes.md", "Notes\n");
    std::os::unix::fs::symlink("closed/notes.md", scratch.path().join("repo/link.md")).expect("a link");
    std::os::unix::fs::symlink("closed", scratch.path().join("repo/folder")).expect("a link");
    let closed = scratch.path().join("repo/closed");
    set_mode(&closed, 0o000);
    set_mode(scratch.path(), 0o755);
    // Another user runs the command. A dry run only reads, so read access to the database is enough.
    set_mode(&scratch.db(), 0o644);
    let import = |more: &[&str]| {
        scratch.finish(scratch.command_under(wrapper).args(["import", "repo", "-v", "--dry-run"]).args(more))
    };
    let all = import(&[]);
    let only = import(&["--only", "AGENTS.md"]);
    let named = import(&["--only", "closed/**"]);
    // `source add` and `sync` are refused, because an unreadable file would look like a deleted one.
    let refused = [&["source", "add", "repo", "--yes"][..], &["sync", "repo", "--dry-run"]]
        .map(|words| scratch.finish(scratch.command_under(wrapper).args(words)));
    set_mode(&closed, 0o755);
    for ran in refused {
        assert!(
            ran.status == 1 && ran.stderr.contains("permission denied") && ran.stderr.contains("repo/closed"),
            "{ran}"
        );
    }
    assert!(named.stderr.contains("warning: `closed/` cannot be read by this user; skipped"), "{named}");
    for ran in [&all, &only] {
        assert!(ran.stdout.contains("create\tinstructions"), "{ran}");
        assert!(ran.stderr.contains("closed/: skipped: cannot be read by this user"), "{ran}");
        assert!(ran.stderr.contains("link.md: skipped: cannot be read by this user"), "{ran}");
    }
    assert!(all.stderr.contains("warning: `closed/` cannot be read by this user; skipped"), "{all}");
    assert!(!only.stderr.contains("warning"), "{only}");
}

#[test]
fn patterns_that_name_no_file_are_refused() {
    let scratch = Scratch::with_project();
    scratch.file("repo/AGENTS.md", "Rules\n");
    let ran = scratch.run(&["import", "repo", "--only", "*.mdc", "--only", "[bad"]);
    assert_snapshot!(ran, @"
    status: 1
    --- stdout
    --- stderr
    error: No importable file matches `--only`: '*.mdc', '[bad'
    hint: patterns use .gitignore syntax and match the paths listed by `mcpkg import PATH --dry-run -v`
    ");
    scratch.ok(&["import", "repo", "--only", "AGENTS.md"]);
}

#[test]
fn an_import_reports_items_in_the_users_terms() {
    let scratch = Scratch::with_project();
    scratch.file("tree/CLAUDE.md", "Be nice.\n");
    scratch.file("tree/.cursor/rules/rust.mdc", "---\nglobs: \"*.rs\"\nalwaysApply: false\n---\nUse rustfmt.\n");
    scratch.file("tree/.claude/agents/tester.md", "---\nname: tester\ndescription: Tests\n---\nTest\n");
    for command in ["one", "two"] {
        scratch.file(&format!("tree/.claude/commands/{command}.md"), format!("Do {command}\n"));
    }
    for skill in ["pdf", "xls", "doc"] {
        let front = format!("---\nname: {skill}\ndescription: Files\n---\nRead them\n");
        scratch.file(&format!("tree/.claude/skills/{skill}/SKILL.md"), front);
        scratch.file(&format!("tree/.claude/skills/{skill}/more.md"), format!("More about {skill}\n"));
    }
    scratch.file("tree/docs/api.md", "The API\n");
    let kinds = "3 skills, 2 commands, 2 rules, 1 subagent, 1 other file";
    let looked = scratch.run(&["import", "--documents", "tree", "--dry-run"]);
    assert!(looked.stderr.contains(&format!("hint: that is {kinds}\n")), "{looked}");
    assert_eq!(scratch.ok(&["import", "--documents", "tree"]), format!("Imported {kinds} into project 'p'\n"));
    assert_eq!(scratch.ok(&["import", "--documents", "tree"]), "Imported nothing into project 'p' (12 unchanged)\n");
    scratch.file("tree/.claude/skills/pdf/more.md", "Even more\n");
    let updated = scratch.ok(&["import", "--documents", "tree", "--update"]);
    assert_eq!(updated, "Imported 1 skill into project 'p' (1 updated, 11 unchanged)\n");
}

#[test]
fn an_import_looks_for_its_project_first_and_can_make_it() {
    let scratch = Scratch::new();
    scratch.ok(&["init"]);
    scratch.file("tree/CLAUDE.md", "Be nice.\n");
    // The path is not even read, so its absence is not reported.
    insta::assert_snapshot!(scratch.run(&["import", "nowhere"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: No project is selected; select a project with `mcpkg project select NAME`
    hint: `mcpkg project create NAME` creates a project; the first project is selected automatically
    hint: create a project and import into it with `mcpkg import PATH --create-project NAME`
    ");
    insta::assert_snapshot!(scratch.run(&["import", "tree", "--create-project", "app"]), @r"
    status: 0
    --- stdout
    Imported 1 rule into project 'app'
    --- stderr
    ");
    assert!(scratch.ok(&["resource", "list"]).contains("CLAUDE"));
    let second = scratch.run(&["import", "tree", "--create-project", "other"]);
    assert!(
        second.status == 0 && second.stderr.contains("hint: select the new project with `mcpkg project select other`"),
        "{second}"
    );
    insta::assert_snapshot!(scratch.run(&["import", "tree", "--create-project", "app"]), @r"
    status: 1
    --- stdout
    --- stderr
    error: Project 'app' already exists
    hint: import into it with `mcpkg --project app import PATH`
    ");
    // A failed import does not create the project.
    for failed in
        [&["import", "nowhere", "--create-project", "third"][..], &["import", "tree", "--create-project", "a b"]]
    {
        assert_ne!(scratch.run(failed).status, 0);
    }
    let projects = scratch.json(&["project", "list"]);
    assert_eq!(projects["projects"].as_array().map(Vec::len), Some(2), "{projects}");
}

#[test]
fn a_person_is_asked_for_the_name_of_the_first_project() {
    use crate::support::typed_after;
    for (typed, made) in [("\n", "tree"), ("mine\n", "mine")] {
        let scratch = Scratch::new();
        scratch.file("tree/CLAUDE.md", "Be nice.\n");
        let mut import = scratch.command();
        import.args(["import", "tree"]);
        let Some((shown, status)) = typed_after(&import, "Name of the new project [tree]:", typed) else {
            return crate::support::skipped(super::terminal::NO_SCRIPT);
        };
        assert!(status == 0 && shown.contains(&format!("Imported 1 rule into project '{made}'")), "{shown}");
    }
}
