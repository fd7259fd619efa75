//! Tests whether the lists in vendors' manifests replace the default folders or add to them, as was measured with each
//! vendor's agent.

use proptest::prelude::*;

use super::*;
use crate::import::paths::Places;
use crate::item::File;

/// The result of an import: what each file became, by path, and the notes.
pub struct Seen {
    items: BTreeMap<String, String>,
    pub notes: String,
}

impl Seen {
    /// Imports files in memory. Files that no agent reads are left out.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File {
            relative: (*path).to_owned(),
            content: text.as_bytes().to_vec().into(),
            executable: false,
            listed: None,
        };
        let mut files: Vec<File> = files.iter().map(file).collect();
        files.sort_by(|a, b| a.relative.cmp(&b.relative));
        let mut places = Places::of_files(&files.iter().collect::<Vec<_>>());
        let to: Vec<_> = files.iter().map(|file| places.of_file(file).ok().filter(|to| !to.is_unread())).collect();
        let placed = items(files.iter().zip(to.iter().map(Option::as_ref)), Vec::new()).unwrap();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for item in &placed.items {
            let name = match item.entry.what.uri() {
                Some(uri) => uri.rsplit_once("://").unwrap().1.to_owned(),
                None => item.entry.name.clone(),
            };
            seen.insert(item.path.clone(), format!("{} {name}", item.word()));
        }
        for found in &placed.servers {
            let state = if found.server.enabled { "on" } else { "off" };
            seen.entry(found.file.clone()).or_default().push_str(&format!(" [{} {state}]", found.server.name));
        }
        let notes = places.take_notes().into_iter().chain(placed.account.notes);
        let notes: Vec<String> = notes.map(|note| format!("{}: {}", note.path, note.text)).collect();
        Self { items: seen, notes: notes.join("\n") }
    }

    /// Returns what a file became; empty if it was not imported.
    pub fn at(&self, path: &str) -> &str {
        self.items.get(path).map_or("", String::as_str)
    }
}

const CLAUDES: &str = "p/.claude-plugin/plugin.json";
const AGENT: &str = "---\nname: front\ndescription: d\n---\nText\n";

/// Imports a plugin of Claude Code with these fields in its manifest, and with files in default folders and elsewhere.
fn claudes(fields: &str) -> Seen {
    let manifest = format!("{{\"name\": \"p\"{}{fields}}}", if fields.is_empty() { "" } else { ", " });
    Seen::of(&[
        (CLAUDES, &manifest),
        ("p/agents/own.md", "---\nname: own\ndescription: d\n---\nOwn\n"),
        ("p/commands/own.md", "Own\n"),
        ("p/skills/own/SKILL.md", "---\nname: own\ndescription: d\n---\nOwn\n"),
        ("p/hooks/hooks.json", "{\"hooks\": {}}"),
        ("p/x/a.md", AGENT),
        ("p/x/sub/c.md", "C\n"),
        ("p/x/notes.txt", "T\n"),
        ("p/y/s1/SKILL.md", "---\nname: s1\ndescription: d\n---\nS\n"),
        ("p/more-hooks.json", "{\"hooks\": {}}"),
        ("p/mx.json", "{\"one\": {\"command\": \"one\"}}"),
        ("p/my.json", "{\"mcpServers\": {\"two\": {\"command\": \"two\"}}}"),
        ("outside.md", AGENT),
        ("p/README.md", "Read me\n"),
    ])
}

#[test]
fn lists_say_what_a_file_is_and_replace_or_add_as_claude_code_does() {
    let own = [
        ("p/agents/own.md", "subagent own"),
        ("p/commands/own.md", "prompt own"),
        ("p/skills/own/SKILL.md", "skill own/SKILL.md"),
        ("p/hooks/hooks.json", "hook p/hooks/hooks.json"),
    ];
    let all = |seen: &Seen| own.iter().for_each(|(path, what)| assert_eq!(seen.at(path), *what, "{path}"));
    all(&claudes(""));
    // Each row: fields, what a file becomes, and the default file that the list replaces.
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 14] = [
        (r#""agents": "./x/a.md""#, &[("p/x/a.md", "subagent front")], "p/agents/own.md"),
        (r#""agents": ["./x/a.md", "./x/a.md"]"#, &[("p/x/a.md", "subagent front")], "p/agents/own.md"),
        (r#""agents": []"#, &[("p/x/a.md", "")], "p/agents/own.md"),
        (r#""commands": "./x/sub/c.md""#, &[("p/x/sub/c.md", "prompt c")], "p/commands/own.md"),
        (r#""commands": ["./x/"]"#, &[("p/x/sub/c.md", "prompt sub.c"), ("p/x/a.md", "prompt a")], "p/commands/own.md"),
        (r#""commands": ["./x", "./commands"]"#, &[("p/commands/own.md", "prompt own")], ""),
        (r#""commands": {"about": {"source": "./x/a.md"}}"#, &[("p/x/a.md", "prompt about")], "p/commands/own.md"),
        (r#""skills": "./y/s1""#, &[("p/y/s1/SKILL.md", "skill s1/SKILL.md")], ""),
        (r#""skills": ["./y/"]"#, &[("p/y/s1/SKILL.md", "skill s1/SKILL.md")], ""),
        (r#""hooks": "./more-hooks.json""#, &[("p/more-hooks.json", "hook p/more-hooks.json")], ""),
        (r#""hooks": {"SessionStart": []}"#, &[("p/more-hooks.json", "")], ""),
        (r#""mcpServers": "./mx.json""#, &[("p/mx.json", "servers p/mx.json [one off]")], ""),
        (r#""mcpServers": ["./my.json"]"#, &[("p/my.json", "servers p/my.json [two off]")], ""),
        (
            r#""mcpServers": {"in": {"command": "in"}}"#,
            &[(CLAUDES, "plugin p/.claude-plugin/plugin.json [in off]")],
            "",
        ),
    ];
    for (fields, expected, replaced) in cases {
        let seen = claudes(fields);
        for (path, what) in expected {
            assert_eq!(seen.at(path), *what, "{fields}: {path}\n{}", seen.notes);
        }
        for (path, what) in own.iter().filter(|(path, _)| !expected.iter().any(|(other, _)| other == path)) {
            assert_eq!(seen.at(path), if *path == replaced { "" } else { what }, "{fields}: {path}\n{}", seen.notes);
        }
        assert_eq!((seen.at("outside.md"), seen.at("p/README.md")), ("", ""), "{fields}");
        assert!(!seen.notes.contains("rejects") && !seen.notes.contains("effect"), "{fields}: {}", seen.notes);
    }
}

#[test]
fn a_wrong_entry_is_a_note_and_the_rest_comes_in_where_claude_code_loads_it() {
    for (fields, why) in [
        (
            r#""agents": ["./x/a.md", "./no/one.md", "./no/two.md"]"#,
            "2 entries in `agents`, such as `./no/one.md`: each is not among",
        ),
        (r#""commands": ["./x", "./none"]"#, "`./none` in `commands` is not among the plugin's files"),
        (
            r#""skills": ["./y/s1/SKILL.md"], "agents": "./x/a.md""#,
            "`./y/s1/SKILL.md` in `skills` is not a skill's folder",
        ),
        (r#""mcpServers": "./none.json", "agents": "./x/a.md""#, "`./none.json` in `mcpServers` is not among"),
    ] {
        let seen = claudes(fields);
        assert!(seen.notes.contains(&format!("{CLAUDES}: has an entry without effect: ")), "{fields}: {}", seen.notes);
        assert!(seen.notes.contains(why), "{fields}: {}", seen.notes);
        assert_ne!(seen.at("p/x/a.md"), "", "{fields}");
    }
}

#[test]
fn a_manifest_that_claude_code_rejects_has_no_effect() {
    for (manifest, why) in [
        (r#"{"name": "p", "agents": ["./x"]}"#, "must be a file whose name ends with `.md`"),
        (r#"{"name": "p", "agents": ["x/a.md"]}"#, "must begin with `./` and stay in the plugin's folder"),
        (r#"{"name": "p", "agents": ["../outside.md"]}"#, "must begin with `./` and stay"),
        (r#"{"name": "p", "agents": ["./../outside.md"]}"#, "must begin with `./` and stay"),
        (r#"{"name": "p", "agents": ["/etc/passwd.md"]}"#, "must begin with `./` and stay"),
        (r#"{"name": "p", "agents": {"a": "./x/a.md"}}"#, "must be a path"),
        (r#"{"name": "p", "commands": "commands"}"#, "must begin with `./` and stay"),
        (r#"{"name": "p", "skills": ["../y"]}"#, "must begin with `./` and stay"),
        (r#"{"agents": ["./x/a.md"]}"#, "its `name` is missing"),
        (r#"{"name": "a b", "agents": ["./x/a.md"]}"#, "its `name` is missing, empty or contains a space"),
        (r#"{"name": "p", "agents": ["./x/a.md"]"#, "it is not valid JSON"),
        ("[]", "it is not a JSON object"),
    ] {
        let seen =
            Seen::of(&[(CLAUDES, manifest), ("p/agents/own.md", AGENT), ("p/x/a.md", AGENT), ("outside.md", AGENT)]);
        assert!(seen.notes.contains("because Claude Code rejects the plugin"), "{manifest}: {}", seen.notes);
        assert!(seen.notes.contains(why), "{manifest}: {}", seen.notes);
        assert_eq!((seen.at("p/agents/own.md"), seen.at("p/x/a.md")), ("subagent own", ""), "{manifest}");
        assert_eq!(seen.at("outside.md"), "");
    }
}

#[test]
fn each_agents_manifest_counts_for_that_agent() {
    let parts = [
        ("p/x/a.md", AGENT),
        ("p/x/r.mdc", "---\nalwaysApply: true\n---\nR\n"),
        ("p/agents/own.md", "Own\n"),
        ("p/commands/own.md", "Own\n"),
        ("p/mx.json", "{\"mcpServers\": {\"one\": {\"command\": \"one\"}}}"),
    ];
    let with = |manifests: &[(&str, &str)]| Seen::of(&[manifests, &parts].concat());
    // Codex reads neither commands nor subagents, and Claude Code reads the default folders without a manifest.
    let seen =
        with(&[("p/.codex-plugin/plugin.json", r#"{"name": "p", "agents": "./x/a.md", "mcpServers": "./mx.json"}"#)]);
    assert_eq!((seen.at("p/x/a.md"), seen.at("p/agents/own.md")), ("", "subagent own"), "{}", seen.notes);
    assert_eq!(seen.at("p/mx.json"), "servers p/mx.json [one off]");
    let seen = with(&[("p/.cursor-plugin/plugin.json", r#"{"name": "p", "agents": "x", "rules": ["./x/r.mdc"]}"#)]);
    assert_eq!(seen.at("p/x/a.md"), "subagent front", "{}", seen.notes);
    assert_eq!(seen.at("p/x/r.mdc"), "instructions r.mdc");
    // Copilot finds its manifest at each of these paths, and names a subagent after its file.
    for place in ["p/plugin.json", "p/.plugin/plugin.json", "p/.github/plugin/plugin.json"] {
        let seen = with(&[(place, r#"{"name": "p", "agents": ["./x/a.md"]}"#)]);
        assert_eq!(seen.at("p/x/a.md"), "subagent a", "{place}: {}", seen.notes);
        assert!(seen.at(place).starts_with("plugin "), "{place}");
    }
    // A list of one agent does not hide a default folder that another agent reads.
    let lists = r#"{"name": "p", "agents": ["./x/a.md"]}"#;
    let both = with(&[(CLAUDES, lists), ("p/.cursor-plugin/plugin.json", r#"{"name": "p"}"#)]);
    assert_eq!((both.at("p/x/a.md"), both.at("p/agents/own.md")), ("subagent front", "subagent own"));
    assert_eq!(with(&[(CLAUDES, lists), ("p/.cursor-plugin/plugin.json", lists)]).at("p/agents/own.md"), "");
    // `mcpServers` of Copilot's manifest does not count next to `.mcp.json`.
    let hidden = with(&[("p/plugin.json", r#"{"name": "p", "mcpServers": "./mx.json"}"#), ("p/.mcp.json", "{}")]);
    assert_eq!(hidden.at("p/mx.json"), "");
}

#[test]
fn a_plugin_json_of_another_program_is_no_manifest() {
    for text in [
        r#"{"$schema": "https://raw.githubusercontent.com/grafana/x.json", "name": "p", "agents": ["./a.md"]}"#,
        r#"{"id": "p", "agents": ["./a.md"]}"#,
        r#"{"name": "p", "main": "index.js"}"#,
        r#"{"name": "p", "commands": [{"id": "x"}], "agents": "other"}"#,
        "not JSON",
    ] {
        let seen = Seen::of(&[("src/plugin.json", text), ("src/a.md", AGENT)]);
        assert_eq!((seen.at("src/plugin.json"), seen.at("src/a.md"), &*seen.notes), ("", "", ""), "{text}");
    }
}

#[test]
fn listed_subagents_are_imported_and_exported_unchanged() {
    let world = World::new();
    let list = r#"{"name": "core", "agents": ["./api.md", "./ui.md"]}"#;
    let agent = |name: &str| format!("---\nname: {name}\ndescription: Does {name}\ntools: Read\n---\nYou do {name}.\n");
    world.file("categories/01/.claude-plugin/plugin.json", list);
    world.file("categories/01/api.md", agent("api")).file("categories/01/ui.md", agent("ui"));
    world.file("categories/01/README.md", "# Read me\n");
    world.file("categories/02/.claude-plugin/plugin.json", r#"{"name": "x", "agents": ["./api.md"]}"#);
    world.file("categories/02/api.md", agent("other"));
    let reply = world.import_as(&[], &[""]).unwrap();
    assert_eq!(sentence_of(&reply), "Imported 3 subagents, 2 agents' files into project 'p'");
    for uri in ["subagent://api", "subagent://ui", "subagent://other"] {
        world.resource(uri);
    }
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    let manifest: Value = serde_json::from_slice(&std::fs::read(out.join(manifest::FILE)).unwrap()).unwrap();
    assert_eq!(manifest["files"], json!({}), "the plugin's own manifest says it all");
    assert_eq!(std::fs::read(out.join("categories/01/api.md")).unwrap(), agent("api").as_bytes());
    let other = World::new();
    other.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    assert_eq!(other.items(), world.items());
    // Importing a part of the plugin gives the same item.
    let part = World::new();
    std::fs::create_dir_all(part.path("categories")).unwrap();
    part.file("01/.claude-plugin/plugin.json", list).file("01/api.md", agent("api"));
    let reply = part.import_as(&[], &["01/api.md"]).unwrap();
    assert_eq!(reply.data["notes"], json!([]));
    part.resource("subagent://api");
}

#[test]
fn a_command_in_the_manifest_itself_is_a_command() {
    let world = World::new();
    let commands =
        r#"{"inl": {"content": "Look at $ARGUMENTS", "description": "Looks: it"}, "about": {"source": "./x/c1.md"}}"#;
    world.file("p/.claude-plugin/plugin.json", format!(r#"{{"name": "p", "commands": {commands}}}"#));
    world.file("p/x/c1.md", "About\n").file("p/commands/own.md", "Own\n");
    world.import_as(&[], &[""]).unwrap();
    let (attributes, text) = world.prompt("inl");
    assert_eq!((attributes.description.as_deref(), attributes.arguments.len()), (Some("Looks: it"), 1), "{text}");
    assert_eq!(world.items().len(), 2, "the map replaces the folder");
    let again = world.import_as(&[], &[""]).unwrap();
    assert_eq!(again.data["created"], json!([]));
    // An export writes the command to a file, and an import of that file gives the same command.
    let out = world.folder.path().join("out");
    world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
    assert!(std::fs::read_to_string(out.join("p/commands/inl.md")).unwrap().ends_with("Look at $ARGUMENTS"));
    let other = World::new();
    other.run::<Import>(&[], std::slice::from_ref(&out)).unwrap();
    assert_eq!(other.items(), world.items());
}

#[test]
fn an_import_reads_the_marketplaces_of_the_folder() {
    let market = |file: &str, entry: &str| {
        let text = format!(r#"{{"name": "m", "owner": {{"name": "o"}}, "plugins": [{entry}]}}"#);
        Seen::of(&[
            (file, &text),
            ("kit/commands/go.md", "Go\n"),
            ("kit/agents/a.md", AGENT),
            ("kit/x/extra.md", "Extra\n"),
            ("kit/.mcp.json", r#"{"one": {"command": "one"}}"#),
        ])
    };
    let claudes = ".claude-plugin/marketplace.json";
    // A listed folder is a plugin even without a manifest.
    for file in [claudes, ".agents/plugins/marketplace.json", ".github/plugin/marketplace.json", "marketplace.json"] {
        let seen = market(file, r#"{"name": "kit", "source": "./kit"}"#);
        assert_eq!(seen.at("kit/commands/go.md"), "prompt go", "{file}: {}", seen.notes);
        assert_eq!(seen.at("kit/x/extra.md"), "", "{file}");
    }
    let seen = market("marketplace.json", r#"{"name": "kit", "source": "./kit"}"#);
    assert_eq!(seen.at("marketplace.json"), "plugin marketplace.json");
    // The lists of an entry add to the default folders.
    let seen = market(claudes, r#"{"name": "kit", "source": "./kit", "commands": ["./x/extra.md"]}"#);
    assert_eq!((seen.at("kit/commands/go.md"), seen.at("kit/x/extra.md")), ("prompt go", "prompt extra"));
    // A plugin with `strict: false` consists only of the files that its entry lists.
    let seen = market(claudes, r#"{"name": "kit", "source": "./kit", "strict": false, "commands": ["./x/extra.md"]}"#);
    assert_eq!((seen.at("kit/commands/go.md"), seen.at("kit/x/extra.md")), ("", "prompt extra"));
    let seen = market(claudes, r#"{"name": "kit", "source": "./none"}, {"name": "out", "source": "../kit"}"#);
    assert!(seen.notes.contains("lists the plugin 'kit', whose folder is not in the repository"), "{}", seen.notes);
    assert!(seen.notes.contains("lists the plugin 'out', whose folder is not in the repository"), "{}", seen.notes);
    // Other programs also have a file called `marketplace.json`.
    let seen = Seen::of(&[("marketplace.json", r#"{"apps": [{"name": "x"}]}"#), ("kit/commands/go.md", "Go\n")]);
    assert_eq!((seen.at("kit/commands/go.md"), &*seen.notes), ("", ""));
}

#[test]
fn servers_in_the_entry_of_a_marketplace_come_in_if_the_plugin_has_no_manifest() {
    let market = |env: &str| {
        let servers = format!(r#"{{"one": {{"command": "one", "env": {{"TOKEN": "{env}"}}}}}}"#);
        format!(
            "{{\n  \"name\": \"m\", \"owner\": {{\"name\": \"o\"}},\n  \"plugins\": [\n    {{\"name\": \"kit\", \"source\": \"./kit\", \
             \"mcpServers\": {servers}}},\n    {{\"name\": \"box\", \"source\": \"./box\", \"mcpServers\": {{\"one\": {{\"command\": \"two\"}}}}}}\n  ]\n}}\n"
        )
    };
    let file = ".claude-plugin/marketplace.json";
    let files = [("kit/commands/go.md", "Go\n"), ("box/commands/up.md", "Up\n")];
    let of = |more: &[(&str, &str)]| Seen::of(&[&[(file, market("${TOKEN}").as_str())][..], &files, more].concat());
    let seen = of(&[]);
    assert_eq!(seen.at(file), "plugin .claude-plugin/marketplace.json [kit.one off] [box.one off]", "{}", seen.notes);
    let seen = of(&[("box/.claude-plugin/plugin.json", r#"{"name": "box"}"#)]);
    assert_eq!(seen.at(file), "plugin .claude-plugin/marketplace.json [kit.one off]");
    assert!(seen.notes.contains("of the plugin 'box', which Claude Code does not load"), "{}", seen.notes);
    // An export restores the file. But if the file contained a secret value, a reference replaces the value.
    for (env, is_whole) in [("${TOKEN}", true), ("hunter-two", false)] {
        let world = World::new();
        world.file(file, market(env));
        for (path, text) in files {
            world.file(path, text);
        }
        world.import_as(&[], &[""]).unwrap();
        let out = world.folder.path().join("out");
        let reply = world.run::<Export>(&[], std::slice::from_ref(&out)).unwrap();
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(json(&text), json(&market("${TOKEN}")), "{:?}", reply.hints);
        assert_eq!(text == market(env), is_whole);
        assert_eq!(reply.data["altered"].as_array().unwrap().is_empty(), is_whole);
        let manifest: Value = serde_json::from_slice(&std::fs::read(out.join(manifest::FILE)).unwrap()).unwrap();
        assert_eq!(manifest["servers"].as_array().map_or(0, Vec::len), 0, "{manifest}");
    }
}

/// Generates hostile manifests, for example with paths that lead out of the plugin.
fn hostile() -> impl Strategy<Value = String> {
    let path = prop_oneof![
        Just("./a.md".to_owned()),
        Just("./".to_owned()),
        Just(".".to_owned()),
        Just("./../../etc/passwd".to_owned()),
        Just("/etc/passwd".to_owned()),
        Just("./.git/config.md".to_owned()),
        Just("./x/../../y.md".to_owned()),
        Just("./\u{0}.md".to_owned()),
        Just("./..\\..\\x.md".to_owned()),
        "[./a-z\\\\]{0,12}",
        any::<String>(),
    ];
    let value = prop_oneof![
        path.clone().prop_map(Value::from),
        prop::collection::vec(path.clone().prop_map(Value::from), 0..6).prop_map(Value::from),
        (path.clone(), path).prop_map(|(name, path)| json!({ name: { "source": path } })),
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        Just(json!([[["./a.md"]], {}, null, true])),
        Just(json!({ "s": { "type": "stdio", "command": "./../x", "cwd": "${PLUGIN_ROOT}/../.." } })),
    ];
    let keys =
        ["agents", "commands", "skills", "hooks", "mcpServers", "rules", "extensions", "author", "name", "$schema"];
    let field = (prop::sample::select(keys.to_vec()), value);
    let schema = prop_oneof![
        Just(json!("https://agent-plugins.org/schemas/1.0.0/plugin.schema.json")),
        Just(json!("https://agent-plugins.org/schemas/1.0.0/mcp.schema.json")),
        Just(Value::Null),
    ];
    let object = (schema, prop::collection::vec(field, 0..5)).prop_map(|(schema, fields)| {
        let mut object = json!({ "name": "p" });
        if !schema.is_null() {
            object["$schema"] = schema;
        }
        fields.into_iter().for_each(|(key, value)| object[key] = value);
        object.to_string()
    });
    prop_oneof![8 => object, 1 => any::<String>(), 1 => (0..400usize).prop_map(|depth| "[".repeat(depth))]
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn hostile_manifests_end_in_time_and_name_nothing_outside(text in hostile(), other in hostile()) {
        let manifests = ["p/.claude-plugin", "p/.codex-plugin", "p/.cursor-plugin", "p/.plugin", "p"];
        let paths: Vec<String> = manifests.iter().map(|folder| format!("{folder}/plugin.json")).collect();
        let mut files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), text.as_str())).collect();
        files.extend([("p/q/.claude-plugin/plugin.json", other.as_str()), ("p/mcp.json", other.as_str())]);
        let outside = [("secret.md", "S\n"), ("etc/passwd.md", "S\n"), ("pq/a.md", "S\n"), ("y.md", "S\n")];
        let inside = [("p/a.md", AGENT), ("p/x/a.md", AGENT), ("p/q/a.md", AGENT), ("p/skills/a/SKILL.md", AGENT)];
        let seen = Seen::of(&[&files[..], &outside, &inside].concat());
        for (path, _) in outside {
            prop_assert_eq!(seen.at(path), "", "{}", seen.notes);
        }
    }
}
