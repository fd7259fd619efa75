//! Tests imports of whole projects and of parts of projects.

use super::*;

#[test]
fn a_project_comes_in_whole() {
    let world = World::new();
    let skill = "---\nname: x\ndescription: Does x\n---\n# X\n";
    world
        .file("CLAUDE.md", "# Rules\n")
        .file("web/AGENTS.md", "# Web\n")
        .file(
            ".claude/commands/review/pr.md",
            "---\ndescription: Review a PR\nargument-hint: [pr] \
            [focus]\nallowed-tools: Bash\n---\nReview $ARGUMENTS as {{ this }}\n",
        )
        .file(".claude/commands/plain.md", "Just {{ do }} it")
        .file(".github/prompts/explain.prompt.md", "---\nmode: agent\n---\nExplain")
        .file(".claude/skills/x/SKILL.md", skill)
        .file(".claude/skills/x/scripts/run.sh", "#!/bin/sh\n")
        .file(".cursor/rules/a.mdc", "---\ndescription: TypeScript\nglobs: *.ts\n---\nUse const\n")
        .file("docs/a b#.md", "")
        .file("logo.png", b"\x89PNG\xff")
        .file(".gitignore", "secret.txt\ntarget/\n")
        .file("secret.txt", "s")
        .file("target/out.txt", "o")
        .file(".env", "TOKEN=x")
        .file(".claude/settings.json", "{}")
        .file(".claude/.credentials.json", "{}")
        .file(".config/app.toml", "x = 1")
        .file(".git/config", "c");
    set_executable(&world.path(".claude/skills/x/scripts/run.sh"));
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(
        sentence_of(&reply),
        "Imported 1 skill, 3 commands, 3 rules, 2 other files, 1 agent's file into project 'p'"
    );
    let left_out = "skipped 7 files: in an agent's folder, but not \
        a command, skill, rule or subagent: 1; hidden: 3; listed in .gitignore: 2; version control: 1; `-v` lists them";
    assert_eq!(reply.hints, [left_out]);

    let (attributes, text) = world.prompt("review.pr");
    assert_eq!(attributes.description.as_deref(), Some("Review a PR"));
    assert_eq!(attributes.arguments[0].description.as_deref(), Some("[pr] [focus]"));
    assert_eq!(text, "Review $ARGUMENTS as {{ this }}\n");
    assert_eq!(attributes.dialect, Some(prompts::Dialect::Claude));
    assert_eq!(attributes.file.as_deref(), Some("review/pr.md"));
    assert!(attributes.front_matter.is_some_and(|front| front.ends_with("allowed-tools: Bash\n---\n")));
    let (attributes, text) = world.prompt("plain");
    assert_eq!((attributes, text.as_str()), (prompts::Attributes::default(), "Just {{ do }} it"));
    assert_eq!(world.prompt("explain").1, "Explain");

    let (attributes, bytes) = world.resource("skill://x/SKILL.md");
    assert_eq!((attributes.description.as_deref(), bytes.as_slice()), (Some("Does x"), skill.as_bytes()));
    assert_eq!(world.resource("skill://x/scripts/run.sh").0.executable, cfg!(unix));
    assert_eq!(world.resource("instructions://a.mdc").0.description.as_deref(), Some("TypeScript"));
    assert!(!world.resource("file:///logo.png").0.text);
    assert_eq!(world.resource("file:///docs/a%20b%23.md").1, b"");
    let mut uris = world.uris();
    uris.sort();
    let expected = [
        "file:///docs/a%20b%23.md",
        "file:///logo.png",
        "instructions://CLAUDE.md",
        "instructions://a.mdc",
        "instructions://web.AGENTS.md",
        "skill://x/SKILL.md",
        "skill://x/scripts/run.sh",
    ];
    assert_eq!(uris, expected);

    let again = world.import(&[], &["", ".claude", "CLAUDE.md"]).unwrap();
    assert_eq!(sentence_of(&again), "Imported nothing into project 'p' (11 unchanged)");
}

#[test]
fn a_part_of_a_project_keeps_its_names() {
    let world = World::new();
    world.file(".claude/commands/dir/x.md", "x").file(".claude/skills/s/SKILL.md", "s").file("docs/a.md", "a");
    world.import(&[], &[".claude/commands/dir/x.md", ".claude/skills/s", "docs/a.md"]).unwrap();
    assert_eq!(world.prompt("dir.x").1, "x");
    world.resource("skill://s/SKILL.md");
    world.resource("file:///a.md");
}

#[test]
fn a_gitignore_above_applies() {
    let world = World::new();
    world.file(".gitignore", "*.log\n").file("docs/a.md", "a").file("docs/b.log", "b");
    world.import(&[], &["docs"]).unwrap();
    assert_eq!(world.uris(), ["file:///a.md"]);
}

#[test]
fn clashing_names_get_a_folder_as_their_prefix() {
    let world = World::new();
    world
        .file(".claude/commands/a b.md", "1")
        .file(".claude/commands/a-b.md", "2")
        .file(".cursor/commands/a-b.md", "3");
    let long = format!(".claude/commands/{}/{}.md", "d".repeat(200), "x".repeat(200));
    world.file(&long, "4");
    world.import(&[], &[""]).unwrap();
    let names: Vec<String> = world.items().into_keys().map(|(_, name)| name).collect();
    assert_eq!(names.len(), 4);
    assert!(names.iter().all(|name| names::check("Prompt", name).is_ok()), "{names:?}");
    assert_eq!(world.prompt("a-b").1, "1");
    assert_eq!((world.prompt("claude-a-b").1, world.prompt("cursor-a-b").1), ("2".to_owned(), "3".to_owned()));
    assert_eq!(sentence_of(&world.import(&[], &[""]).unwrap()), "Imported nothing into project 'p' (4 unchanged)");
}

#[test]
fn skills_kept_twice_are_one_unless_they_differ() {
    let world = World::new();
    world.file(".claude/skills/x/SKILL.md", "x").file(".agents/skills/x/SKILL.md", "x");
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(sentence_of(&reply), "Imported 1 skill into project 'p'");
    assert!(reply.hints[0].contains("`.claude/skills/x/SKILL.md` has the same content as `.agents/skills/x/SKILL.md`"));
    world.file(".agents/skills/x/SKILL.md", "y");
    world.import(&["--update"], &[""]).unwrap();
    assert_eq!(world.resource("skill://x/SKILL.md").1, b"y");
    assert_eq!(world.resource("skill://claude-x/SKILL.md").1, b"x");
}

#[test]
fn a_command_kept_for_two_agents_is_one_unless_it_differs() {
    let world = World::new();
    for folder in [".claude", ".cursor"] {
        world.file(&format!("{folder}/commands/dir/x.md"), "Do $1").file(&format!("{folder}/commands/y.md"), folder);
    }
    world.import(&[], &[""]).unwrap();
    let files: Vec<_> = world
        .items()
        .into_iter()
        .map(|((_, name), (what, _))| match what {
            What::Prompt(attributes) => (name, attributes.file),
            What::Resource(_) | What::AgentFile { .. } | What::Server => panic!("no prompt"),
        })
        .collect();
    let (other, dir) = ("cursor-y".to_owned(), "dir.x".to_owned());
    assert_eq!(files, [(other, None), (dir, Some("dir/x.md".to_owned())), ("y".to_owned(), None)]);
}

#[test]
fn commands_go_through_import_and_export_to_the_byte() {
    let world = World::new();
    let files = [
        ("a b.md", "---\r\nmodel: opus\r\ndescription: x: y\r\n---\r\nFix $ARGUMENTS, {{ x }}\r\n"),
        ("dir/x.md", "Do $1 {% and %} $2"),
        ("plain.md", "---\nallowed-tools: Bash\n---\n\nPlain"),
        ("odd.md", "---\narguments: [arg1]\n---\n{{ arg1 }} and $1"),
    ];
    for (path, text) in files {
        world.file(&format!(".claude/commands/{path}"), text);
    }
    world.import(&[], &[""]).unwrap();
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(out.join(".claude/commands").join(path)).unwrap(), text);
    }
}

#[test]
fn known_files_are_read_again_if_they_changed() {
    let world = World::new();
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        world.file(name, name);
    }
    world.import(&[], &[""]).unwrap();
    world.file("b.md", "changed").file("e.md", "new").file("c.md", "<<<<<<< HEAD\nc\n=======\nd\n>>>>>>> main\n");
    let choice = recognise::Choice { resources: 4, ..recognise::Choice::default() };
    let found = find::find(&[world.path("")], false, &world.context).unwrap();
    let found = recognise::recognise(found, &choice, &world.context).unwrap();
    assert!(found.files.iter().all(|(file, _)| file.content.path().is_some()), "what is known is not held in memory");
    let again = world.import(&["--update"], &[""]).unwrap();
    assert_eq!(again.data["left_out"][0]["path"], "c.md", "{}", again.data);
    for (name, bytes) in [("a.md", "a.md"), ("b.md", "changed"), ("c.md", "c.md"), ("e.md", "new")] {
        assert_eq!(world.resource(&format!("file:///{name}")).1, bytes.as_bytes());
    }
}

#[test]
fn conflicts_are_all_listed_and_nothing_is_half_imported() {
    let world = World::new();
    world.file("a.md", "a").file("b.md", "b");
    world.import(&[], &[""]).unwrap();
    world.file("a.md", "A").file("b.md", "B").file("c.md", "c");
    let before = world.items();

    let trail = world.trail();
    let shown = world.import(&["--dry-run"], &[""]).unwrap();
    let Body::Table(table) = &shown.body else { panic!("{shown:?}") };
    assert_eq!(table.rows, [["2", "conflict", "resource"], ["1", "create", "resource"]]);
    assert_eq!(shown.details[0], "a.md: conflict resource a.md (file:///a.md)");
    assert_eq!((world.items(), world.trail()), (before.clone(), trail));

    let refused = world.import(&[], &[""]).unwrap_err();
    assert_eq!(refused.code(), Code::ImportConflict);
    assert_eq!(refused.details().unwrap()["conflicts"].as_array().map(Vec::len), Some(2));
    assert!(refused.hints()[0].contains("--update"));
    assert_eq!(world.items(), before);

    let updated = world.import(&["--update"], &[""]).unwrap();
    assert_eq!(sentence_of(&updated), "Imported 3 other files into project 'p' (2 updated)");
    assert_eq!(world.resource("file:///a.md").1, b"A");
    let history = world.context.read(|db, p| revisions::history(db, p.id, revisions::Kind::Resource, "a.md")).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(world.trail(), ["import ok", "import E_IMPORT_CONFLICT", "import ok"]);
}

#[test]
fn malformed_commands_are_imported_unchanged() {
    let world = World::new();
    world
        .file(".claude/commands/bad.md", "---\n- no\n- keys\n---\nbody")
        .file(".claude/commands/empty.md", "---\ndescription: x\n---\n")
        .file(
            ".claude/commands/declared.md",
            "---\narguments:\n  - name: file\n    required: true\n---\nLook at {{ file }}, $1",
        );
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(world.prompt("bad").1, "---\n- no\n- keys\n---\nbody");
    let (attributes, text) = world.prompt("declared");
    assert_eq!((attributes.arguments.len(), text.as_str()), (1, "Look at {{ file }}, $1"));
    assert_eq!(world.items().len(), 2);
    assert_eq!(reply.hints.len(), 2, "{:?}", reply.hints);
}

#[cfg(unix)]
#[test]
fn links_stay_inside() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    world.file("real/a.md", "a").file("AGENTS.md", "rules");
    symlink("AGENTS.md", world.path("CLAUDE.md")).unwrap();
    symlink("real", world.path("linked")).unwrap();
    symlink("..", world.path("real/loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    std::fs::write(world.path(".hidden.md"), "h").unwrap();
    symlink(".hidden.md", world.path("shown.md")).unwrap();
    let reply = world.import(&[], &[""]).unwrap();
    let mut uris = world.uris();
    uris.sort();
    assert_eq!(uris, ["file:///real/a.md", "file:///shown.md", "instructions://AGENTS.md"]);
    let of = |key: &str| serde_json::to_string(&reply.data[key]).unwrap();
    assert_eq!(of("same"), r#"[{"path":"linked","as":"real"},{"path":"CLAUDE.md","as":"AGENTS.md"}]"#);
    assert!(of("left_out").contains(r#"{"path":"real/loop","reason":"a link to a folder that contains the link"}"#));

    std::fs::write(world.folder.path().join("outside.txt"), "o").unwrap();
    for target in ["../outside.txt", "..", "/", "nowhere", "stray"] {
        symlink(target, world.path("stray")).unwrap();
        let reply = world.import(&["--update"], &[""]).unwrap();
        let why = if target.starts_with(['.', '/']) { "a link that leads out of the folder" } else { "a broken link" };
        assert!(
            reply.data["left_out"].to_string().contains(&format!(r#""path":"stray","reason":"{why}""#)),
            "{reply:?}"
        );
        std::fs::remove_file(world.path("stray")).unwrap();
    }
    assert_eq!(world.uris().len(), uris.len());
}

#[test]
fn a_missing_path_and_a_foreign_manifest_are_refused() {
    let world = World::new();
    let missing = world.import(&[], &["nowhere"]).unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert!(missing.hints().iter().any(|hint| hint.contains("mcpkg source add")), "{:?}", missing.hints());
    let entry = r#"{"kind":"resource","name":"a","uri":"x:y","text":true}"#;
    let manifest = |version: u32, path: &str| format!(r#"{{"version":{version},"files":{{"{path}":{entry}}}}}"#);
    world.file("a", "a");
    std::fs::write(world.folder.path().join("outside.txt"), "o").unwrap();
    for (bad, code) in [
        (manifest(2, "a"), Code::InvalidArgument),
        (manifest(1, "../outside.txt"), Code::InvalidArgument),
        (manifest(1, "gone"), Code::NotFound),
        ("{}".to_owned(), Code::InvalidArgument),
        (manifest(1, "a").replace("x:y", "no uri"), Code::InvalidArgument),
    ] {
        world.file(manifest::FILE, &bad);
        assert_eq!(world.import(&[], &[""]).unwrap_err().code(), code, "{bad}");
    }
    world.file(manifest::FILE, manifest(1, "a"));
    world.import(&[], &[""]).unwrap();
    assert_eq!(world.uris(), ["x:y"]);
}

#[test]
fn a_cancelled_import_changes_nothing() {
    let world = World::new();
    world.file("a.md", "a");
    world.context.cancelled.cancel();
    assert_eq!(world.import(&[], &[""]).unwrap_err().code(), Code::Cancelled);
    assert!(world.items().is_empty());
}

#[test]
fn an_export_is_plain_where_it_can_be() {
    let world = World::new();
    world
        .file(".claude/commands/pr.md", "---\ndescription: Review\n---\nReview it\n")
        .file(".claude/skills/x/run.sh", "#!/bin/sh\n")
        .file("CLAUDE.md", "# Rules\n")
        .file("docs/a b.md", "a");
    set_executable(&world.path(".claude/skills/x/run.sh"));
    world.import(&[], &[""]).unwrap();
    let out = world.folder.path().join("deep/out");
    let reply = world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    assert!(sentence_of(&reply).starts_with("Exported 1 prompt and 3 resources of project 'p' to "));
    let read = |relative: &str| std::fs::read_to_string(out.join(relative)).unwrap();
    assert_eq!(read(".claude/commands/pr.md"), "---\ndescription: Review\n---\nReview it\n");
    assert_eq!(read("CLAUDE.md"), "# Rules\n");
    assert_eq!(read("docs/a b.md"), "a");
    assert_eq!(serde_json::from_str::<Value>(&read(manifest::FILE)).unwrap(), json!({ "version": 1, "files": {} }));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |relative: &str| std::fs::metadata(out.join(relative)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(".claude/skills/x/run.sh"), mode("CLAUDE.md")), (0o755, 0o644));
    }
    assert_eq!(world.run::<Export>(&[], &[out]).unwrap_err().code(), Code::AlreadyExists);
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.file("a.md", "a").file("locked.md", "l");
    std::fs::set_permissions(world.path("locked.md"), std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read the file despite its mode, so skip the check then.
    if std::fs::read(world.path("locked.md")).is_err() {
        let refused = world.import(&[], &[""]).unwrap_err();
        assert!(refused.message().contains("locked.md`"), "{refused}");
        assert!(world.items().is_empty());
    }
}

#[test]
fn the_database_is_not_imported_into_itself() {
    let world = World::new();
    std::fs::write(world.folder.path().join("a.md"), "a").unwrap();
    world.run::<Import>(&["--documents"], &[world.folder.path().to_path_buf()]).unwrap();
    assert_eq!(world.uris(), ["file:///a.md"]);
}

#[test]
fn a_file_that_no_agent_reads_comes_in_when_it_is_named() {
    let world = World::new();
    world.file("AGENTS.md", "a").file("src/main.rs", "b").file("docs/c.md", "c").file(".claude/skills/x/SKILL.md", "d");
    world.file(".claude/skills/x/notes.txt", "e");
    let reply = world.import_as(&[], &[""]).unwrap();
    assert_eq!(reply.data["files"], json!({ "total": 5, "imported": 3, "same": 0, "left_out": 2 }));
    assert_eq!(reply.hints, ["2 files that no agent reads were skipped; `--documents` imports them too"]);
    let is_there = |file: &str| world.uris().iter().any(|known| known.ends_with(file));
    world.import_as(&[], &["docs/c.md"]).unwrap();
    assert!(is_there("/c.md") && !is_there("/main.rs"));
    world.import_as(&["--only", "src/**"], &[""]).unwrap();
    assert!(is_there("/main.rs"));
    // `!src` does not name `e.md`, so `e.md` is not imported: no agent reads it.
    world.file("e.md", "e");
    world.import_as(&["--only", "!src"], &[""]).unwrap();
    assert!(!is_there("/e.md"));
    world.import_as(&["--as", "document"], &["e.md"]).unwrap();
    assert!(is_there("/e.md"));
}

#[test]
fn a_file_that_git_tracks_comes_in_although_an_ignore_file_names_it() {
    let world = World::new();
    let cancelled = tokio_util::sync::CancellationToken::new();
    let git = |arguments: &[&str]| {
        let limits = mcpkg_base::process::Limits::new(mcpkg_base::git::LOCAL, &cancelled);
        mcpkg_base::git::run(&world.path(""), arguments, &limits).is_ok()
    };
    world.file(".gitignore", ".claude/\n*.prompt.md\n").file(".claude/commands/kept.md", "Kept\n");
    world.file("sub/kept.prompt.md", "Kept\n");
    if !git(&["init", "-q"]) || !git(&["add", "--force", "."]) {
        return;
    }
    world.file(".claude/commands/own.md", "Own\n").file("sub/own.prompt.md", "Own\n");
    let reply = world.import_as(&[], &[""]).unwrap();
    let found = world.items();
    let names: Vec<&str> = found.keys().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["kept", "sub.kept"]);
    let left = reply.data["left_out"].as_array().unwrap();
    let ignored = left.iter().filter(|left| left["reason"] == "listed in .gitignore");
    let ignored: Vec<&str> = ignored.map(|left| left["path"].as_str().unwrap()).collect();
    assert_eq!(ignored, [".claude/", "sub/own.prompt.md"]);
    // Import a part of the tree, and then the tree without git.
    let part = world.import_as(&["--dry-run"], &["sub"]).unwrap();
    assert_eq!(part.data["unchanged"].as_array().unwrap().len(), 1);
    std::fs::remove_dir_all(world.path(".git")).unwrap();
    let without = world.import_as(&["--dry-run"], &[""]).unwrap();
    assert_eq!(without.data["unchanged"], json!([]));
}

#[test]
fn names_come_from_front_matter_where_the_folders_name_is_arbitrary() {
    let world = World::new();
    let skill = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nText\n");
    world.file("clone-1/SKILL.md", skill("real-name")).file("clone-1/scripts/a.sh", "#!/bin/sh\n");
    world.file("clone-2/SKILL.md", skill("Not a Name")).file("skills/folder/SKILL.md", skill("other"));
    for folder in ["clone-1", "clone-2", "skills/folder"] {
        world.import_as(&[], &[folder]).unwrap();
    }
    let mut uris = world.uris();
    uris.sort();
    let expected = ["clone-2/SKILL.md", "folder/SKILL.md", "real-name/SKILL.md", "real-name/scripts/a.sh"]
        .map(|path| format!("skill://{path}"));
    assert_eq!(uris, expected);
    let other = World::new();
    other.file("a/01-x.md", skill("reviewer")).file("a/b.md", "No front matter\n");
    other.import_as(&["--as", "subagent"], &["a"]).unwrap();
    let mut uris = other.uris();
    uris.sort();
    assert_eq!(uris, ["subagent://b", "subagent://reviewer"]);
}

#[test]
fn a_skill_in_lower_case_comes_in_with_a_note_and_goes_out_as_it_was() {
    let world = World::new();
    let text = "---\nname: low\ndescription: d\n---\nLow\n";
    world.file("skills/low/skill.md", text).file("skills/low/a.txt", "A\n").file("docs/skill.md", "# How to\n");
    world.file("skills/both/SKILL.md", text.replace("low", "both")).file("skills/both/skill.md", text);
    let reply = world.import_as(&[], &[""]).unwrap();
    let mut uris = world.uris();
    uris.sort();
    let expected =
        ["both/SKILL.md", "both/skill.md", "low/SKILL.md", "low/a.txt"].map(|path| format!("skill://{path}"));
    assert_eq!(uris, expected);
    let notes = reply.data["notes"].to_string();
    assert!(notes.contains("is called skill.md, which agents find only where case does not matter"), "{notes}");
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    assert_eq!(std::fs::read(out.join("skills/low/skill.md")).unwrap(), text.as_bytes());
    let other = World::new();
    other.run::<Import>(&[], &[out]).unwrap();
    assert_eq!(other.items(), world.items());
}

#[test]
fn antigravitys_folder_is_recognised() {
    let world = World::new();
    world.file(".agent/rules/r.md", "---\ntrigger: always_on\n---\nR\n").file(".agent/workflows/w.md", "W\n");
    world
        .file(".agent/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\nS\n")
        .file(".agent/mcp_config.json", "{}");
    let reply = world.import_as(&[], &[""]).unwrap();
    assert_eq!(sentence_of(&reply), "Imported 1 skill, 1 command, 1 rule, 1 agent's file into project 'p'");
}
