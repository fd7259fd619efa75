//! Tests import and export with all layouts that agents read or that published collections use.

use super::*;
use mcpkg_store::modules::{self, Applies, Row};

/// Each entry: path, content, type, and URI or name. For instructions, the last text also says when they apply.
const CORPUS: &[(&str, &str, &str, &str)] = &[
    ("AGENTS.md", "# Rules\n", "instructions", "instructions://AGENTS.md always"),
    ("web/AGENTS.md", "# Web\n", "instructions", r#"instructions://web.AGENTS.md {"globs":["web/**"]}"#),
    ("web/api/CLAUDE.md", "# API\n", "instructions", r#"instructions://web.api.CLAUDE.md {"globs":["web/api/**"]}"#),
    ("GEMINI.md", "# Gemini\n", "instructions", "instructions://GEMINI.md always"),
    (".cursorrules", "Old\n", "instructions", "instructions://.cursorrules always"),
    ("rules/x/.cursorrules", "X\n", "instructions", "instructions://rules.x..cursorrules manual"),
    (".windsurfrules", "Wind\n", "instructions", "instructions://.windsurfrules always"),
    (".clinerules/a.md", "Cline\n", "instructions", "instructions://a.md always"),
    (
        ".cursor/rules/py.mdc",
        "---\nglobs: **/*.py\n---\nP\n",
        "instructions",
        r#"instructions://py.mdc {"globs":["**/*.py"]}"#,
    ),
    (
        "web/.cursor/rules/w.mdc",
        "---\nglobs: *.ts\n---\nW\n",
        "instructions",
        r#"instructions://web.w.mdc {"globs":["web/**/*.ts"]}"#,
    ),
    (".cursor/rules/not-read.md", "N\n", "instructions", "instructions://not-read.md manual"),
    (
        "published/d.mdc",
        "---\ndescription: D\nglobs:\nalwaysApply: false\n---\n",
        "instructions",
        "instructions://published.d.mdc described",
    ),
    (
        ".claude/rules/ts.md",
        "---\npaths: \"src/**/*.ts\"\n---\nT\n",
        "instructions",
        r#"instructions://ts.md {"globs":["src/**/*.ts"]}"#,
    ),
    (
        ".windsurf/rules/m.md",
        "---\ntrigger: model_decision\ndescription: M\n---\n",
        "instructions",
        "instructions://m.md described",
    ),
    (".github/copilot-instructions.md", "C\n", "instructions", "instructions://copilot-instructions.md always"),
    (
        ".github/instructions/go.instructions.md",
        "---\r\napplyTo: '**/*.go'\r\n---\r\nG\r\n",
        "instructions",
        r#"instructions://go.instructions.md {"globs":["**/*.go"]}"#,
    ),
    (
        "instructions/all.instructions.md",
        "\u{feff}---\napplyTo: '**'\n---\nA\n",
        "instructions",
        "instructions://all.instructions.md always",
    ),
    (".claude/commands/review/pr.md", "---\ndescription: R\n---\nReview $1\n", "prompt", "review.pr"),
    (".opencode/command/oc.md", "Do $1\n", "prompt", "oc"),
    (".cursor/commands/cu.md", "Cu\n", "prompt", "cu"),
    (".windsurf/workflows/wf.md", "Wf\n", "prompt", "wf"),
    (".github/prompts/vs.prompt.md", "---\nmode: agent\n---\nV\n", "prompt", "vs"),
    ("prompts/pub.prompt.md", "Pub\n", "prompt", "pub"),
    ("commands/root.md", "Root\n", "prompt", "root"),
    ("plugins/git/commands/commit.md", "Commit $ARGUMENTS\n", "prompt", "commit"),
    ("plugins/hub/commands/commit.md", "Another\n", "prompt", "hub-commit"),
    (".claude/agents/rev.md", "---\nname: rev\ndescription: R\n---\nYou review\n", "subagent", "subagent://rev"),
    ("plugins/git/agents/bot.md", "---\nname: bot\ndescription: B\n---\nB\n", "subagent", "subagent://bot"),
    ("agents/plan.agent.md", "---\ndescription: P\n---\nP\n", "subagent", "subagent://plan"),
    ("old.chatmode.md", "---\ndescription: O\n---\nO\n", "subagent", "subagent://old"),
    (".opencode/agent/oa.md", "---\ndescription: O\n---\nO\n", "subagent", "subagent://oa"),
    (".github/agents/gh.agent.md", "---\ndescription: G\n---\nG\n", "subagent", "subagent://gh"),
    (".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n", "skill", "skill://pdf/SKILL.md"),
    (".claude/skills/pdf/scripts/run.sh", "#!/bin/sh\n", "skill", "skill://pdf/scripts/run.sh"),
    (".claude/skills/pdf/.hidden/x", "h", "skill", "skill://pdf/.hidden/x"),
    ("skills/deep/in/group/SKILL.md", "---\nname: group\ndescription: G\n---\n", "skill", "skill://group/SKILL.md"),
    (
        "plugins/git/skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: other\n---\n",
        "skill",
        "skill://git-pdf/SKILL.md",
    ),
    (".codex/skills/cx/SKILL.md", "---\nname: cx\ndescription: C\n---\n", "skill", "skill://cx/SKILL.md"),
    (".github/skills/gs/SKILL.md", "---\nname: gs\ndescription: G\n---\n", "skill", "skill://gs/SKILL.md"),
    ("anywhere/else/sk/SKILL.md", "---\nname: sk\ndescription: S\n---\n", "skill", "skill://sk/SKILL.md"),
    ("anywhere/else/sk/agents/a.agent.md", "A\n", "skill", "skill://sk/agents/a.agent.md"),
    (".gemini/commands/g/x.toml", "prompt = \"x\"\n", "prompt", "g.x"),
    (".gemini/commands/g/y.toml", "prompt = 3\n", "resource", "file:///.gemini/commands/g/y.toml"),
    (".codex/agents/t.toml", "developer_instructions = \"x\"\n", "subagent", "subagent://t"),
    (".mcp.json", "{ \"mcpServers\": { } }\n", "servers", ".mcp.json"),
    (".vscode/mcp.json", "// none\n{}", "servers", ".vscode/mcp.json"),
    (".claude/settings.json", "{\"permissions\": {}}", "permission", ".claude/settings.json"),
    (".cursorignore", "*.pem\n", "ignore", ".cursorignore"),
    (".cursor/hooks.json", "{}", "hook", ".cursor/hooks.json"),
    (".codex/rules/a.rules", "", "permission", ".codex/rules/a.rules"),
    ("plugins/git/.claude-plugin/plugin.json", "{}", "plugin", "plugins/git/.claude-plugin/plugin.json"),
    ("plugins/git/hooks/hooks.json", "{}", "hook", "plugins/git/hooks/hooks.json"),
    (".opencode/plugin/p.js", "run()\n", "hook", ".opencode/plugin/p.js"),
    ("README.md", "# Read me\n", "resource", "file:///README.md"),
    ("plugins/git/README.md", "# Git\n", "resource", "file:///plugins/git/README.md"),
];

/// Each entry: the path of a skipped file, and the reason.
const LEFT_OUT: &[(&str, &str)] = &[
    (".codex/config.toml", "cannot be read in its agent's format"),
    (".claude/transcripts/a.jsonl", "in an agent's folder, but not a command, skill, rule or subagent"),
    (".env", "hidden"),
    ("ignored.log", "listed in .gitignore"),
    (".gitignore", "hidden"),
];

fn corpus() -> World {
    let world = World::new();
    for (path, content, ..) in CORPUS {
        world.file(path, content);
    }
    for (path, _) in LEFT_OUT {
        world.file(path, if *path == ".gitignore" { "*.log\n" } else { "{}" });
    }
    set_executable(&world.path(".claude/skills/pdf/scripts/run.sh"));
    world.file(".git/config", "").file("node_modules/a/SKILL.md", "").file("node_modules/b.js", "");
    // The same command in another plugin, and a different skill with the same name.
    world.file("plugins/copy/commands/commit.md", "Commit $ARGUMENTS\n");
    world.file("plugins/copy/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: other\n---\n");
    world
}

/// Returns the module rows by the paths that the modules were imported from.
fn rows(world: &World) -> BTreeMap<String, Row> {
    let rows = world.context.read(|db, project| modules::all(db, project.id)).unwrap();
    rows.into_iter().filter_map(|row| Some((row.path.clone()?, row))).collect()
}

#[test]
fn every_layout_is_seen_and_every_file_has_its_place() {
    let world = corpus();
    let reply = world.import(&["--dry-run"], &[""]).unwrap();
    let created = reply.data["created"].as_array().unwrap();
    let mut found: Vec<[String; 3]> = Vec::new();
    for item in created {
        let word = |key: &str| item[key].as_str().map(str::to_owned);
        let mut place = word("uri").or_else(|| word("name")).unwrap();
        if let Some(applies) = item.get("applies") {
            place = format!("{place} {}", applies.as_str().map_or_else(|| applies.to_string(), str::to_owned));
        }
        found.push([word("path").unwrap(), word("type").unwrap(), place]);
    }
    let mut expected: Vec<[String; 3]> =
        CORPUS.iter().map(|(path, _, kind, place)| [*path, *kind, *place].map(str::to_owned)).collect();
    // `plugins/copy` comes before `plugins/git`, so its files become the items.
    for [path, ..] in &mut expected {
        for copied in ["commands/commit.md", "skills/pdf/SKILL.md"] {
            if *path == format!("plugins/git/{copied}") {
                *path = format!("plugins/copy/{copied}");
            }
        }
    }
    for [path, kind, place] in &mut expected {
        if path == "plugins/copy/skills/pdf/SKILL.md" {
            (*kind, *place) = ("skill".to_owned(), "skill://copy-pdf/SKILL.md".to_owned());
        }
    }
    found.sort();
    expected.sort();
    pretty_eq(&found, &expected);
    let left_out: BTreeMap<&str, &str> = reply.data["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| (left["path"].as_str().unwrap(), left["reason"].as_str().unwrap()))
        .collect();
    let mut wanted: BTreeMap<&str, &str> = LEFT_OUT.iter().copied().collect();
    wanted.extend([(".git/", "version control"), ("node_modules/", "node_modules")]);
    assert_eq!(left_out, wanted);
    let same: Vec<_> =
        reply.data["same"].as_array().unwrap().iter().map(|same| same["path"].as_str().unwrap()).collect();
    assert_eq!(same, ["plugins/git/skills/pdf/SKILL.md", "plugins/git/commands/commit.md"]);
    let all = CORPUS.len() + LEFT_OUT.len() + 3 + 2;
    let (taken, left) = (CORPUS.len(), LEFT_OUT.len() + 3);
    assert_eq!(reply.data["files"], json!({ "total": all, "imported": taken, "same": 2, "left_out": left }));
}

fn pretty_eq(found: &[[String; 3]], expected: &[[String; 3]]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn an_export_gives_the_same_tree_back_and_importing_that_changes_nothing() {
    let world = corpus();
    let reply = world.import(&[], &[""]).unwrap();
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let manifest: Value = serde_json::from_slice(&std::fs::read(out.join(manifest::FILE)).unwrap()).unwrap();
    assert_eq!(manifest["files"], json!({}), "paths and front matter say it all");
    for item in reply.data["created"].as_array().unwrap() {
        let path = item["path"].as_str().unwrap();
        assert_eq!(std::fs::read(out.join(path)).unwrap(), std::fs::read(world.path(path)).unwrap(), "{path}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(out.join(".claude/skills/pdf/scripts/run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    let before = (world.items(), rows(&world));
    let again = world.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    let count = CORPUS.len();
    assert_eq!(sentence_of(&again), format!("Imported nothing into project 'p' ({count} unchanged)"));
    assert_eq!((world.items(), rows(&world)), before);
    let other = World::new();
    other.run::<Import>(&[], &[out]).unwrap();
    assert_eq!(other.items(), before.0);
    let told = |rows: BTreeMap<String, Row>| -> Vec<_> {
        rows.into_iter().map(|(path, row)| (path, row.agent, row.applies)).collect()
    };
    assert_eq!(told(rows(&other)), told(before.1));
}

#[test]
fn tags_survive_an_import_and_a_different_scope_is_a_conflict() {
    let world = World::new();
    world.file(".cursor/rules/a.mdc", "---\nglobs: *.py\n---\nText\n");
    world.import(&[], &[""]).unwrap();
    let row = rows(&world).remove(".cursor/rules/a.mdc").unwrap();
    assert_eq!((row.agent.as_deref(), &row.applies), (Some("cursor"), &Applies::Globs(vec!["*.py".to_owned()])));
    let changed = Row { applies: Applies::Manual, tags: vec!["t".to_owned()], ..row.clone() };
    world.context.write("t", "", |db, project, _| modules::put(db, project.id, &changed)).unwrap();
    let refused = world.import(&[], &[""]).unwrap_err();
    assert!(refused.message().contains("it applies to different files or at different times"), "{refused}");
    world.import(&["--update"], &[""]).unwrap();
    let now = rows(&world).remove(".cursor/rules/a.mdc").unwrap();
    assert_eq!(now, Row { tags: vec!["t".to_owned()], ..row });
    let history = world.context.read(|db, p| revisions::history(db, p.id, revisions::Kind::Resource, "a.mdc")).unwrap();
    assert_eq!(history.len(), 1, "the content is the same");
}

#[test]
fn only_selects_files_and_as_sets_their_kind() {
    let world = World::new();
    world.file("tools/a.md", "A $1").file("tools/b.txt", "B").file("docs/c.md", "C").file("docs/d.md", "D");
    let reply = world.import(&["--dry-run", "--only", "tools", "--as", "prompt"], &[""]).unwrap();
    let names: Vec<_> =
        reply.data["created"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tools.a", "tools.b"]);
    assert_eq!(reply.data["files"], json!({ "total": 4, "imported": 2, "same": 0, "left_out": 2 }));
    let reply = world.import(&["--dry-run", "--only", "*.md", "--only", "!docs/d.md"], &[""]).unwrap();
    assert_eq!(reply.data["files"]["imported"], 2);
    for (kind, uri) in [
        ("instructions", "instructions://docs.c.md"),
        ("subagent", "subagent://docs.c"),
        ("resource", "file:///docs/c.md"),
        ("skill", "skill://p/docs/c.md"),
    ] {
        let reply = world.import(&["--dry-run", "--as", kind, "--only", "c.md"], &[""]).unwrap();
        assert_eq!(reply.data["created"][0]["uri"], uri);
    }
    assert_eq!(world.import(&["--only", "{"], &[""]).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_skills_folder_on_its_own_is_imported_as_one_skill() {
    let world = World::new();
    world.file("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n").file("skills/pdf/agents/a.md", "a");
    world.file("skills/csv/SKILL.md", "---\nname: csv\ndescription: x\n---\n").file("skills/csv/README.md", "r");
    world.import(&[], &["skills/pdf"]).unwrap();
    world.import(&[], &["skills/csv"]).unwrap();
    let mut uris = world.uris();
    uris.sort();
    let expected = ["skill://csv/README.md", "skill://csv/SKILL.md", "skill://pdf/SKILL.md", "skill://pdf/agents/a.md"];
    assert_eq!(uris, expected);
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    assert!(out.join("pdf/SKILL.md").is_file() && out.join("csv/README.md").is_file());
}

#[test]
fn malformed_front_matter_is_kept_and_reported_with_its_line() {
    let world = World::new();
    let broken = "---\r\nname: x\r\npaths: [a\r\n\tb: {\r\n---\r\nText\r\n";
    world.file(".claude/rules/broken.md", broken);
    let reply = world.import(&[], &[""]).unwrap();
    assert_eq!(world.resource("instructions://broken.md").1, broken.as_bytes());
    let note = &reply.data["notes"][0];
    assert_eq!((note["path"].as_str(), note["line"].is_u64()), (Some(".claude/rules/broken.md"), true), "{note}");
    assert!(reply.hints[0].starts_with("`.claude/rules/broken.md:"), "{:?}", reply.hints);
}

#[test]
fn a_skill_where_no_agent_looks_gives_way_to_one_of_the_same_name() {
    let world = World::new();
    let skill = |text: &str| format!("---\nname: tdd\ndescription: {text}\n---\n{text}\n");
    world.file("docs/ja/skills/tdd/SKILL.md", skill("Kensa")).file("docs/ja/skills/tdd/more.md", "More\n");
    world.file("docs/ja/skills/only/SKILL.md", skill("Only")).file("docs/copy/skills/tdd/SKILL.md", skill("Tests"));
    world.file("skills/tdd/SKILL.md", skill("Tests")).file(".claude-plugin/plugin.json", r#"{"name": "p"}"#);
    let reply = world.import_as(&[], &[""]).unwrap();
    assert_eq!(world.uris(), ["skill://only/SKILL.md", "skill://tdd/SKILL.md"]);
    assert_eq!(world.resource("skill://tdd/SKILL.md").1, skill("Tests").as_bytes());
    let left = |path: &str| json!({ "path": path, "reason": "agents find another skill of that name" });
    let expected = [left("docs/ja/skills/tdd/SKILL.md"), left("docs/ja/skills/tdd/more.md")];
    assert_eq!(reply.data["left_out"], json!(expected));
    let why = "1 skill was skipped, such as `docs/ja/skills/tdd/SKILL.md`: agents do not look there";
    assert!(reply.hints.iter().any(|hint| hint.starts_with(why)), "{:?}", reply.hints);
    // The skipped skills can be imported into a project of their own.
    world.import_as(&["--create-project", "ja"], &["docs/ja/skills"]).unwrap();
    // Skills with the same name are all imported if they are in several plugins or in several folders where agents
    // look.
    let world = World::new();
    world.file("plugins/a/skills/tdd/SKILL.md", skill("A")).file("plugins/b/skills/tdd/SKILL.md", skill("B"));
    world.file(".cursor/skills/tdd/SKILL.md", skill("C")).file("plugins/c/other/tdd/SKILL.md", skill("D"));
    world.file("plugins/c/.claude-plugin/plugin.json", r#"{"name": "c", "skills": ["./other/tdd"]}"#);
    world.import_as(&[], &[""]).unwrap();
    let names =
        ["skill://tdd/SKILL.md", "skill://a-tdd/SKILL.md", "skill://b-tdd/SKILL.md", "skill://other-tdd/SKILL.md"];
    for name in names {
        world.resource(name);
    }
    // If agents look for none of the skills with the same name, all of them are imported.
    let world = World::new();
    world.file("x/tdd/SKILL.md", skill("X")).file("y/tdd/SKILL.md", skill("Y"));
    world.import_as(&[], &[""]).unwrap();
    assert_eq!(world.uris().len(), 2);
}
