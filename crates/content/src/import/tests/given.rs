//! Tests the export of a project as a plugin: what agents find in the plugin, and what an import of it restores.

use std::collections::HashMap;

use super::*;
use crate::export::plugin::marketplace::{Market, of_several};
use crate::export::plugin::{About, Content, Plugin, Remark, Wish, files, of_project};
use crate::item::{self, Entry};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules;
use mcpkg_store::servers::{self as rows, Definition, Text};

impl World {
    pub(super) fn put(&self, entry: Entry, content: NewContent) {
        if item::check(&entry, &content).is_err() {
            return;
        }
        // The store refuses some items, such as duplicates of a name or URI.
        let _ = self.context.write("test", "", |db, project, author| {
            let item = item::Item { path: String::new(), entry, content };
            let planned = (&[&item][..], &[Action::Create][..]);
            merge::apply::apply(db, author, project, &self.context.clock, planned, &HashMap::new(), |_| Ok(()))
        });
    }

    pub(super) fn server(&self, name: &str, definition: Definition, enabled: bool) -> &Self {
        let _ = self.context.write("test", "", |db, project, _| {
            let uuid = self.context.clock.uuid();
            rows::insert(db, project, uuid, name, definition, rows::Origin::default(), enabled, 1).map(drop)
        });
        self
    }

    pub(super) fn content(&self) -> Content {
        self.context.read(Content::read).unwrap()
    }

    pub(super) fn plugin(&self) -> Plugin {
        self.context.read(|db, project| of_project(db, project, &Wish::default())).unwrap()
    }
}

fn text(plugin: &Plugin, path: &str) -> String {
    let file = plugin.files.iter().find(|file| file.path == path);
    let file = file.unwrap_or_else(|| panic!("no {path} among {:?}", paths(plugin)));
    String::from_utf8(file.bytes.clone()).unwrap()
}

pub(super) fn json(plugin: &Plugin, path: &str) -> Value {
    serde_json::from_str(&text(plugin, path)).unwrap()
}

fn paths(plugin: &Plugin) -> Vec<&str> {
    plugin.files.iter().map(|file| file.path.as_str()).collect()
}

pub(super) fn lines(plugin: &Plugin) -> Vec<String> {
    plugin.remarks.iter().map(Remark::line).collect()
}

fn program(command: &str, args: &[Text]) -> Definition {
    Definition { args: args.to_vec(), ..Definition::stdio(Text::plain(command)) }
}

/// Creates a project with one item of each kind.
fn one_of_each() -> World {
    let world = World::new();
    world.file("skills/us/SKILL.md", "---\nname: us\ndescription: Uses us\n---\nBody\n");
    world.file("skills/us/run.sh", "#!/bin/sh\n");
    world.file("commands/git/uc.md", "---\ndescription: Commits\n---\nCommit $ARGUMENTS\n");
    world.file("agents/ua.md", "---\nname: ua\ndescription: Reviews\ntools: Read, Grep\n---\nReview.\n");
    world.file(
        ".mcp.json",
        r#"{ "mcpServers": { "p-one": { "command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/srv.py"],
            "env": { "TOKEN": "${TOKEN}" } } } }"#,
    );
    world.file("srv.py", "print()\n");
    world.file(
        "hooks/hooks.json",
        r#"{ "hooks": { "SessionStart": [{ "hooks": [
        { "type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}/hooks/start.sh\" --now" } ] }] } }"#,
    );
    world.file("hooks/start.sh", "#!/bin/sh\n");
    world.file("CLAUDE.md", "Be brief.\n");
    world.file(".claude-plugin/plugin.json", r#"{ "name": "old", "description": "All of it", "license": "MIT" }"#);
    set_executable(&world.path("skills/us/run.sh"));
    world.import(&[], &[""]).unwrap();
    world
}

#[test]
fn a_project_is_laid_out_for_four_agents() {
    let plugin = one_of_each().plugin();
    let expected = [
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "agents/ua.md",
        "com.github.copilot/agents/ua.md",
        "com.github.copilot/commands/git.uc.md",
        "com.github.copilot/hooks/hooks.json",
        "commands/git/uc.md",
        "commands/git/uc.toml",
        "gemini-extension.json",
        "hooks/hooks.json",
        "hooks/start.sh",
        "mcp.json",
        "plugin.json",
        "skills/us/SKILL.md",
        "skills/us/run.sh",
        "srv.py",
    ];
    assert_eq!(paths(&plugin), expected);
    assert!(plugin.files.iter().any(|file| file.path == "skills/us/run.sh" && file.executable == cfg!(unix)));
    let own = json!({ "name": "p", "description": "All of it", "license": "MIT" });
    assert_eq!(json(&plugin, ".claude-plugin/plugin.json"), own);
    let schema = "https://agent-plugins.org/schemas/1.0.0";
    let portable = json!({ "$schema": format!("{schema}/plugin.schema.json"), "name": "p", "description": "All of it", "license": "MIT" });
    assert_eq!(json(&plugin, "plugin.json"), portable);
    let server = |root: &str| json!({ "command": "python3", "args": [format!("${{{root}}}/srv.py")] });
    let mut claude = server("CLAUDE_PLUGIN_ROOT");
    (claude["type"], claude["env"]) = ("stdio".into(), json!({ "TOKEN": "${TOKEN}" }));
    assert_eq!(json(&plugin, ".mcp.json"), json!({ "mcpServers": { "p-one": claude } }));
    let mut common = server("PLUGIN_ROOT");
    common["type"] = "stdio".into();
    let common = json!({ "$schema": format!("{schema}/mcp.schema.json"), "mcpServers": { "p-one": common } });
    assert_eq!(json(&plugin, "mcp.json"), common);
    let mut gemini = server("extensionPath");
    gemini["env"] = json!({ "TOKEN": "${TOKEN}" });
    let gemini =
        json!({ "name": "p", "version": "0.0.0", "description": "All of it", "mcpServers": { "p-one": gemini } });
    assert_eq!(json(&plugin, "gemini-extension.json"), gemini);
    assert_eq!(
        text(&plugin, "commands/git/uc.toml"),
        "description = \"Commits\"\nprompt = \"\"\"\nCommit {{args}}\n\"\"\"\n"
    );
    assert!(text(&plugin, "com.github.copilot/agents/ua.md").contains("tools: [\"read\",\"search\"]"));
    let counts: Vec<_> = plugin.holds.clone();
    assert_eq!(counts, [("command", 1), ("skill", 1), ("subagent", 1), ("agent's file", 2), ("MCP server", 1)]);
    let expected = [
        "not for Codex: 1 command (git.uc): it loads no commands from plugins",
        "not for Gemini CLI: 1 subagent (ua): it rejects the file, which has Claude Code's tools or keys, or lacks a name or \
         a description",
        "not for Codex: 1 subagent (ua): it loads no subagents from plugins",
        "changed: 1 MCP server (p-one): it is disabled in the project, because it needs the plugin's folder, but not in the \
         plugin",
        "changed for Codex and Copilot CLI: 1 MCP server (p-one: variable TOKEN): mcp.json cannot contain references; set \
         the variable where the agent starts",
        "not for Codex: 1 agent's file (hooks/hooks.json): it loads no hooks from such plugins",
        "changed for Gemini CLI: 1 agent's file (hooks/hooks.json): it runs the hooks whose events it has too, but \
         does not set CLAUDE_PLUGIN_ROOT",
        "not in the plugin: 1 rule (CLAUDE.md): agents load no instructions from plugins",
        "changed: 1 document (srv.py): an import reads it only with --documents",
    ];
    assert_eq!(lines(&plugin), expected);
}

#[test]
fn importing_the_plugin_restores_the_project() {
    let from = one_of_each();
    let out = from.path("out");
    from.run::<Export>(&["--plugin"], std::slice::from_ref(&out)).unwrap();
    let to = World::new();
    to.run::<Import>(&["--documents", "--only", "!*.toml"], &[out]).unwrap();
    let mut expected = from.items();
    expected.remove(&(false, "CLAUDE.md".to_owned()));
    let mut found = to.items();
    found.retain(|(_, name), _| {
        !name.starts_with("com.github.copilot") && !name.ends_with("plugin.json") && name != "mcp.json"
    });
    assert_eq!(found, expected);
    let names = |world: &World| world.content().servers.into_iter().map(|server| server.name).collect::<Vec<_>>();
    assert_eq!((names(&to), names(&from)), (vec!["p-one".to_owned()], vec!["p-one".to_owned()]));
    assert_eq!(to.content().servers[0].definition, from.content().servers[0].definition);
}

#[test]
fn hooks_of_a_manifest_are_with_the_others() {
    let world = World::new();
    let hook = |command: &str| json!({ "hooks": [{ "type": "command", "command": command }] });
    world.file("hooks/hooks.json", json!({ "description": "d", "hooks": { "Stop": [hook("one")] } }).to_string());
    world.file("hooks/more.json", json!({ "hooks": { "Stop": [hook("two")] } }).to_string());
    world.file("config/hooks.json", json!({ "hooks": { "SessionEnd": [hook("three")] } }).to_string());
    world.file("config/bad.json", json!({ "Stop": [hook("none")] }).to_string());
    world.file("bin/x.sh", "#!/bin/sh\n");
    let inline = json!({ "Stop": [hook("\"${CLAUDE_PLUGIN_ROOT}/bin/x.sh\"")], "PreCompact": [hook("four")] });
    let wrapped = json!({ "hooks": { "Stop": [hook("nothing")] } });
    let list = ["./hooks/hooks.json", "./hooks/more.json", "./config/hooks.json", "./config/bad.json", "./gone.json"];
    let mut list: Vec<Value> = list.map(Value::from).to_vec();
    list.extend([inline, wrapped]);
    world.file(
        ".claude-plugin/plugin.json",
        json!({ "name": "old", "hooks": list, "lspServers": { "go": { "command": "gopls" } }, "keywords": ["a"] })
            .to_string(),
    );
    world.file("inner/.claude-plugin/plugin.json", json!({ "name": "in", "hooks": { "Stop": [] } }).to_string());
    world.file(".cursor-plugin/plugin.json", json!({ "name": "old", "hooks": { "stop": [] } }).to_string());
    world.import(&["--documents"], &[""]).unwrap();
    let plugin = world.plugin();
    let expected = json!({ "description": "d", "hooks": {
        "Stop": [hook("one"), hook("two"), hook("\"${CLAUDE_PLUGIN_ROOT}/bin/x.sh\"")],
        "SessionEnd": [hook("three")],
        "PreCompact": [hook("four")],
    } });
    assert_eq!(json(&plugin, "hooks/hooks.json"), expected);
    assert_eq!(json(&plugin, "com.github.copilot/hooks/hooks.json"), expected);
    assert_eq!(json(&plugin, ".claude-plugin/plugin.json"), json!({ "name": "p", "keywords": ["a"] }));
    assert_eq!(text(&plugin, "bin/x.sh"), "#!/bin/sh\n");
    let expected = [
        "not in the plugin: 1 agent's file (.claude-plugin/plugin.json: lspServers): the plugin's manifests have only what \
         all agents accept",
        "not in the plugin: 2 agents' files (.cursor-plugin/plugin.json: hooks, inner/.claude-plugin/plugin.json: hooks): \
         only hooks in `hooks/` and .claude-plugin/plugin.json are written",
        "not in the plugin: 1 agent's file (gone.json): the manifest names it, and the project does not hold it",
        "not in the plugin: 1 agent's file (.claude-plugin/plugin.json): Claude Code ignores some of its hooks, because \
         they are not lists by event",
        "changed: 3 agents' files (config/hooks.json, hooks/more.json, .claude-plugin/plugin.json): its hooks are in \
         hooks/hooks.json",
        "changed: 1 agent's file (hooks/hooks.json): it also has the hooks of the manifest",
        "not for Codex: 1 agent's file (hooks/hooks.json): it loads no hooks from such plugins",
        "changed for Gemini CLI: 1 agent's file (hooks/hooks.json): it runs the hooks whose events it has too, but does \
         not set CLAUDE_PLUGIN_ROOT",
        "not in the plugin: 1 agent's file (config/bad.json): only hooks in the folder `hooks` are written",
        "changed: 1 document (bin.x.sh): an import reads it only with --documents",
    ];
    assert_eq!(lines(&plugin), expected);

    // Without `hooks/hooks.json`, an export creates it from the manifest's hooks, and a second export writes the same
    // file.
    let world = World::new();
    world.file(".claude-plugin/plugin.json", json!({ "name": "p", "hooks": { "Stop": [hook("one")] } }).to_string());
    world.import(&[], &[""]).unwrap();
    let first = world.plugin();
    assert_eq!(json(&first, "hooks/hooks.json"), json!({ "hooks": { "Stop": [hook("one")] } }));
    assert_eq!(first.holds, [("agent's file", 1)]);
    let out = world.path("out");
    world.run::<Export>(&["--plugin"], std::slice::from_ref(&out)).unwrap();
    let to = World::new();
    to.run::<Import>(&[], &[out]).unwrap();
    assert_eq!(to.plugin().files, first.files);

    // Hooks are not added to a file that cannot be read.
    let world = World::new();
    world.file("hooks/hooks.json", "{ // mine\n}");
    world.file(".claude-plugin/plugin.json", json!({ "name": "p", "hooks": { "Stop": [hook("one")] } }).to_string());
    world.import(&[], &[""]).unwrap();
    let plugin = world.plugin();
    assert_eq!(text(&plugin, "hooks/hooks.json"), "{ // mine\n}");
    let expected = [
        "not in the plugin: 1 agent's file (.claude-plugin/plugin.json): its hooks cannot be added to hooks/hooks.json, \
         which is not a JSON object with lists by event",
        "not for Codex: 1 agent's file (hooks/hooks.json): it loads no hooks from such plugins",
        "changed for Gemini CLI: 1 agent's file (hooks/hooks.json): it runs the hooks whose events it has too, but does \
         not set CLAUDE_PLUGIN_ROOT",
    ];
    assert_eq!(lines(&plugin), expected);
}

#[test]
fn names_are_valid_for_every_agent() {
    let world = World::new();
    let skill = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nText\n");
    world.file("skills/Pdf_Tools/SKILL.md", skill("Pdf_Tools"));
    world.file("skills/pdf-tools/SKILL.md", skill("PDF") + "More\n");
    world.file("skills/bare/SKILL.md", "Text\n");
    world.file(".claude/commands/pdf-tools.md", "Make a PDF\n");
    world.import(&[], &[""]).unwrap();
    world.server("one", program("npx", &[]), true).server("two", program("npx", &[]), false);
    let plugin = world.plugin();
    let skills: Vec<&str> = paths(&plugin).into_iter().filter(|path| path.starts_with("skills/")).collect();
    assert_eq!(skills, ["skills/bare/SKILL.md", "skills/pdf-tools-2/SKILL.md", "skills/pdf-tools/SKILL.md"]);
    assert_eq!(text(&plugin, "skills/pdf-tools-2/SKILL.md"), skill("pdf-tools-2"));
    assert_eq!(text(&plugin, "skills/pdf-tools/SKILL.md"), skill("pdf-tools") + "More\n");
    assert!(paths(&plugin).contains(&"commands/pdf-tools.md"));
    assert!(!paths(&plugin).contains(&"com.github.copilot/commands/pdf-tools.md"));
    let servers = json(&plugin, ".mcp.json");
    assert_eq!(servers["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["p-one"]);
    for expected in [
        "renamed: 1 skill (Pdf_Tools -> pdf-tools-2): agents need lower-case names without other characters",
        "changed: 1 skill (pdf-tools): `name` in its SKILL.md is now the name of its folder",
        "not for Codex and Gemini CLI: 1 skill (bare): its SKILL.md has no description",
        "not for Copilot CLI: 1 command (pdf-tools): it lists commands with the skills, and a skill has the same name",
        "not in the plugin: 1 MCP server (two): it is disabled; to enable it, use `mcpkg mcp set NAME --enabled true`",
    ] {
        assert!(lines(&plugin).iter().any(|line| line == expected), "{expected}: {:#?}", lines(&plugin));
    }
}

#[test]
fn a_marketplace_has_a_folder_for_each_plugin() {
    let plugin = |name: &str| {
        let wish = Wish { name: Some(name.to_owned()), version: Some("1.2.0".to_owned()), ..Wish::default() };
        let content = Content::default();
        let about = About::new(&wish, &content).unwrap();
        files(content, about).unwrap()
    };
    let market = Market { name: "team".to_owned(), owner: "We".to_owned() };
    let all = of_several(&[plugin("web"), plugin("api")], &market).unwrap();
    let list: Value = serde_json::from_slice(&all[0].bytes).unwrap();
    let entry = |name: &str| json!({ "name": name, "source": format!("./plugins/{name}") });
    assert_eq!(list, json!({ "name": "team", "owner": { "name": "We" }, "plugins": [entry("web"), entry("api")] }));
    let paths: Vec<&str> = all.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        ".claude-plugin/marketplace.json",
        "plugins/api/.claude-plugin/plugin.json",
        "plugins/api/gemini-extension.json",
        "plugins/api/plugin.json",
        "plugins/web/.claude-plugin/plugin.json",
        "plugins/web/gemini-extension.json",
        "plugins/web/plugin.json",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn an_export_as_a_plugin_overwrites_nothing() {
    let world = one_of_each();
    world.file("out/mine.txt", "mine");
    let error = world.run::<Export>(&["--plugin"], &[world.path("out")]).unwrap_err();
    assert_eq!(error.code(), Code::AlreadyExists);
    let empty = World::new();
    let error = empty.run::<Export>(&["--plugin"], &[empty.path("new")]).unwrap_err();
    assert_eq!(error.message(), "Nothing in project 'p' can be in a plugin");
    assert!(!empty.path("new").exists());
    let error = world.run::<Export>(&["--owner", "me"], &[world.path("new")]).unwrap_err();
    assert_eq!(error.message(), "--owner needs --plugin or --marketplace");
}

#[test]
fn a_marketplace_needs_distinct_projects_with_content() {
    let world = one_of_each();
    world.context.store.write(|db| projects::insert(db, world.context.clock.uuid(), "q", 1).map(drop)).unwrap();
    let export = |projects: &str, to: &str| {
        let given = ["--marketplace", "--projects", projects, "--name", "team", "--owner", "We"];
        world.run::<Export>(&given, &[world.path(to)])
    };
    assert_eq!(export("p,p", "new").unwrap_err().message(), "Projects 'p' and 'p' would both become the plugin 'p'");
    assert_eq!(export("p,q", "new").unwrap_err().message(), "Nothing in project 'q' can be in a plugin");
    assert_eq!(export("p,r", "new").unwrap_err().code(), Code::NotFound);
    let reply = export("p", "new").unwrap();
    assert!(sentence_of(&reply).starts_with("Exported plugin 'p' (1 command, 1 skill, 1 subagent,"), "{reply:?}");
    assert!(world.path("new/plugins/p/plugin.json").exists());
    let list: Value =
        serde_json::from_slice(&std::fs::read(world.path("new/.claude-plugin/marketplace.json")).unwrap()).unwrap();
    assert_eq!((&list["name"], &list["owner"]["name"]), (&json!("team"), &json!("We")));
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(world.path("new/plugins/p/plugin.json")).unwrap()).unwrap();
    assert_eq!(manifest["author"], json!({ "name": "We" }));
}

#[test]
fn a_disabled_module_stays_out() {
    let world = one_of_each();
    let set = |row: modules::Row| {
        world.context.write("test", "", |db, project, _| modules::put(db, project.id, &row)).unwrap()
    };
    set(modules::Row { item: "skill:us".to_owned(), enabled: false, ..modules::Row::default() });
    let plugin = world.plugin();
    assert!(!paths(&plugin).iter().any(|path| path.starts_with("skills/")));
    assert!(lines(&plugin).contains(&"not in the plugin: 1 skill (us): it is disabled".to_owned()));
    let targets = vec!["cursor".to_owned()];
    set(modules::Row { item: "skill:us".to_owned(), enabled: true, targets, ..modules::Row::default() });
    assert!(lines(&world.plugin()).contains(&"not in the plugin: 1 skill (us): it is for other agents".to_owned()));
}
