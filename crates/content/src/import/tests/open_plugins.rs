//! Tests that plugins are read by the rules of Agent Plugins 1.0. Each row of a test is named after a rule of the
//! specification.

use super::plugins::Seen;
use super::*;

const SCHEMA: &str = "\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\"";
const GOOD: &str = "{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json\", \"name\": \"p\"}";
const SKILL: &str = "---\nname: s\ndescription: d\n---\nS\n";

fn servers(entries: &str) -> String {
    format!(
        "{{\"$schema\": \"https://agent-plugins.org/schemas/1.0.0/mcp.schema.json\", \"mcpServers\": {{{entries}}}}}"
    )
}

/// Imports a plugin with this manifest, two skills and a server.
fn plugin(manifest: &str) -> Seen {
    let servers = servers("\"m\": {\"type\": \"stdio\", \"command\": \"m\"}");
    Seen::of(&[
        ("p/plugin.json", manifest),
        ("p/skills/s/SKILL.md", SKILL),
        ("p/skills/grp/deep/SKILL.md", "---\nname: deep\ndescription: d\n---\nD\n"),
        ("p/mcp.json", &servers),
    ])
}

#[test]
fn a_manifest_is_closed() {
    // Each row: the rule, fields after the schema, and the note about a field that is ignored.
    for (rule, fields, note) in [
        ("only the name is required", r#""name": "a""#, ""),
        (
            "every metadata field is allowed",
            r#""name": "a.b-c", "version": "x", "description": "d", "author": {"name": "n", "email": "e", "url": "u"}, "homepage": "h", "repository": "r", "license": "l", "keywords": ["k"], "extensions": {"com.a.b": {"x": 1}}"#,
            "",
        ),
        ("a version need not be semantic", r#""name": "a", "version": "not a version", "homepage": "not a url""#, ""),
        (
            "an unknown field is reported and ignored",
            r#""name": "a", "skills": "./other""#,
            "has the unknown field `skills`, which agents ignore",
        ),
        (
            "servers in the manifest are an unknown field",
            r#""name": "a", "mcpServers": {"x": {"command": "x"}}"#,
            "has the unknown field `mcpServers`",
        ),
        (
            "extensions that are no object are ignored",
            r#""name": "a", "extensions": 3"#,
            "has `extensions` that are not an object",
        ),
        (
            "a name has up to 64 characters",
            r#""name": "a123456789012345678901234567890123456789012345678901234567890123""#,
            "",
        ),
    ] {
        let seen = plugin(&format!("{{{SCHEMA}, {fields}}}"));
        assert_eq!(seen.at("p/plugin.json"), "plugin p/plugin.json", "{rule}: {}", seen.notes);
        assert_eq!(seen.at("p/skills/s/SKILL.md"), "skill s/SKILL.md", "{rule}");
        assert_eq!(seen.at("p/skills/grp/deep/SKILL.md"), "", "{rule}");
        assert_eq!(seen.at("p/mcp.json"), "servers p/mcp.json [m off]", "{rule}");
        assert!(seen.notes.contains(note), "{rule}: {}", seen.notes);
        assert_eq!(seen.notes.contains("p/plugin.json: "), !note.is_empty(), "{rule}: {}", seen.notes);
    }
}

#[test]
fn any_other_violation_rejects_the_plugin() {
    for (rule, manifest, why) in [
        ("the name is required", format!("{{{SCHEMA}}}"), "it has no `name`"),
        ("the name is a string", format!("{{{SCHEMA}, \"name\": 1}}"), "its `name` is not a string"),
        ("the name is not empty", format!("{{{SCHEMA}, \"name\": \"\"}}"), "its `name` must have 1 to 64"),
        ("the name has no capitals", format!("{{{SCHEMA}, \"name\": \"My\"}}"), "its `name` must have"),
        ("the name begins with a letter or digit", format!("{{{SCHEMA}, \"name\": \"-a\"}}"), "its `name` must have"),
        ("the name ends with a letter or digit", format!("{{{SCHEMA}, \"name\": \"a.\"}}"), "its `name` must have"),
        ("the name has no double hyphen", format!("{{{SCHEMA}, \"name\": \"a--b\"}}"), "its `name` must have"),
        ("the name has no double period", format!("{{{SCHEMA}, \"name\": \"a..b\"}}"), "its `name` must have"),
        (
            "the name is at most 64 long",
            format!("{{{SCHEMA}, \"name\": \"{}\"}}", "a".repeat(65)),
            "its `name` must have",
        ),
        (
            "a version is a string",
            format!("{{{SCHEMA}, \"name\": \"a\", \"version\": 1}}"),
            "its `version` is not a string",
        ),
        (
            "an author is an object",
            format!("{{{SCHEMA}, \"name\": \"a\", \"author\": \"me\"}}"),
            "its `author` is not an object",
        ),
        (
            "an author is closed",
            format!("{{{SCHEMA}, \"name\": \"a\", \"author\": {{\"x\": \"y\"}}}}"),
            "its `author` may have only",
        ),
        (
            "keywords are strings",
            format!("{{{SCHEMA}, \"name\": \"a\", \"keywords\": [1]}}"),
            "its `keywords` is not a list",
        ),
        (
            "a namespace holds an object",
            format!("{{{SCHEMA}, \"name\": \"a\", \"extensions\": {{\"com.a.b\": 1}}}}"),
            "its `extensions` has a value",
        ),
        (
            "a later version is not supported",
            GOOD.replace("1.0.0", "9.0.0"),
            "it targets Agent Plugins 9.0.0, and mcpkg supports 1.0.0",
        ),
        ("a draft is not supported", GOOD.replace("1.0.0", "1.1.0"), "it targets Agent Plugins 1.1.0"),
        (
            "the schema is exactly the one of manifests",
            GOOD.replace("plugin.schema", "mcp.schema"),
            "its `$schema` is not one of Agent Plugins",
        ),
        ("it is JSON", format!("{GOOD},"), "it is not valid JSON"),
    ] {
        let seen = plugin(&manifest);
        assert!(
            seen.notes.contains(&format!("p/plugin.json: was ignored, and no agent loads the plugin with it: {why}")),
            "{rule}: {}",
            seen.notes
        );
        assert_eq!((seen.at("p/plugin.json"), seen.at("p/mcp.json")), ("", ""), "{rule}");
        // Without a valid manifest, the folder is read like any other folder.
        assert_eq!(seen.at("p/skills/grp/deep/SKILL.md"), "skill deep/SKILL.md", "{rule}");
    }
}

#[test]
fn skills_lie_in_their_fixed_place_and_follow_their_specification() {
    for (rule, path, text, why) in [
        ("a child with a SKILL.md is a skill", "p/skills/s/SKILL.md", SKILL.to_owned(), None),
        ("a skill deeper in the folder is skipped", "p/skills/grp/s/SKILL.md", SKILL.to_owned(), Some("")),
        (
            "its name is its folder's",
            "p/skills/t/SKILL.md",
            SKILL.to_owned(),
            Some("its `name` is `s`, and its folder is `t`"),
        ),
        (
            "a name is required",
            "p/skills/s/SKILL.md",
            "---\ndescription: d\n---\n".to_owned(),
            Some("it has no `name`"),
        ),
        (
            "a name has no capitals",
            "p/skills/S/SKILL.md",
            SKILL.replace("name: s", "name: S"),
            Some("its `name` must have"),
        ),
        (
            "a name has no double hyphen",
            "p/skills/a--b/SKILL.md",
            SKILL.replace("name: s", "name: a--b"),
            Some("its `name` must have"),
        ),
        (
            "a description is required",
            "p/skills/s/SKILL.md",
            "---\nname: s\n---\n".to_owned(),
            Some("it has no `description`"),
        ),
        (
            "a description is not empty",
            "p/skills/s/SKILL.md",
            "---\nname: s\ndescription: ''\n---\n".to_owned(),
            Some("its `description` is empty"),
        ),
        (
            "a description is at most 1024 long",
            "p/skills/s/SKILL.md",
            SKILL.replace(": d", &format!(": {}", "d".repeat(1025))),
            Some("longer than 1024"),
        ),
        ("front matter is required", "p/skills/s/SKILL.md", "S\n".to_owned(), Some("it has no front matter")),
        (
            "front matter is YAML",
            "p/skills/s/SKILL.md",
            "---\nname: s\ndescription: a: b: c\n---\n".to_owned(),
            Some("not valid YAML"),
        ),
    ] {
        let seen = Seen::of(&[
            ("p/plugin.json", GOOD),
            (path, &text),
            ("p/skills/ok/SKILL.md", &SKILL.replace("name: s", "name: ok")),
        ]);
        assert_eq!(seen.at(path).is_empty(), why.is_some(), "{rule}: {}", seen.notes);
        assert!(seen.notes.contains(why.unwrap_or_default()), "{rule}: {}", seen.notes);
        assert_eq!(seen.at("p/skills/ok/SKILL.md"), "skill ok/SKILL.md", "{rule}: the rest loads");
    }
    // With a manifest of its own, Claude Code loads the skills by its own rules, and names them after their folders.
    let both = [
        ("p/plugin.json", GOOD),
        ("p/.claude-plugin/plugin.json", "{\"name\": \"p\"}"),
        ("p/skills/t/SKILL.md", SKILL),
    ];
    assert_eq!(Seen::of(&both).at("p/skills/t/SKILL.md"), "skill t/SKILL.md");
}

#[test]
fn servers_have_one_of_three_closed_forms() {
    let remote = |url: &str| format!("\"type\": \"streamable-http\", \"url\": \"{url}\"");
    // Each row: the rule, an entry, and why it is skipped; empty if it is valid.
    let rows = [
        (
            "a bare command",
            r#""type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "b"}"#.to_owned(),
            "",
        ),
        ("a command in the plugin", r#""type": "stdio", "command": "./bin/x""#.to_owned(), ""),
        ("a legacy server", r#""type": "sse", "url": "https://h.example/sse""#.to_owned(), ""),
        (
            "a server with headers",
            format!("{}, \"headers\": {{\"X-A\": \"b\"}}", remote("https://h.example/mcp?x=1")),
            "",
        ),
        ("http to this computer", remote("http://localhost:80/mcp"), ""),
        ("http to a loopback address", remote("http://127.0.0.2/mcp"), ""),
        ("http to the IPv6 loopback address", remote("http://[::1]:8080/mcp"), ""),
        ("a folder in the plugin", r#""type": "stdio", "command": "x", "cwd": "./data""#.to_owned(), ""),
        ("the plugin's root", r#""type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}""#.to_owned(), ""),
        ("a folder in the data", r#""type": "stdio", "command": "x", "cwd": "${PLUGIN_DATA}/a""#.to_owned(), ""),
        ("a type is required", r#""command": "x""#.to_owned(), "has no `type`"),
        ("http is not a type", r#""type": "http", "url": "https://h.example/""#.to_owned(), "has a `type` other than"),
        ("an unknown field", r#""type": "stdio", "command": "x", "timeout": 1"#.to_owned(), "has the field `timeout`"),
        (
            "a field of another form",
            r#""type": "stdio", "command": "x", "url": "https://h.example/""#.to_owned(),
            "has the field `url`",
        ),
        ("a command is required", r#""type": "stdio""#.to_owned(), "has no `command`"),
        (
            "a command is one word",
            r#""type": "stdio", "command": "npx -y x""#.to_owned(),
            "has a `command` that is neither",
        ),
        (
            "a command does not leave the plugin",
            r#""type": "stdio", "command": "./../x""#.to_owned(),
            "has a `command` that is neither",
        ),
        (
            "a command is not a path elsewhere",
            r#""type": "stdio", "command": "/bin/x""#.to_owned(),
            "has a `command` that is neither",
        ),
        (
            "a command has no placeholder",
            r#""type": "stdio", "command": "${PLUGIN_ROOT}/x""#.to_owned(),
            "has a `command` that is neither",
        ),
        (
            "arguments are strings",
            r#""type": "stdio", "command": "x", "args": "a""#.to_owned(),
            "has `args` that are not",
        ),
        (
            "variables are strings",
            r#""type": "stdio", "command": "x", "env": {"A": 1}"#.to_owned(),
            "has a `env` that is not",
        ),
        (
            "PLUGIN_ROOT is the client's",
            r#""type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}"#.to_owned(),
            "sets PLUGIN_ROOT",
        ),
        (
            "a folder begins with its root",
            r#""type": "stdio", "command": "x", "cwd": "data""#.to_owned(),
            "has a `cwd` outside",
        ),
        (
            "a folder is not elsewhere",
            r#""type": "stdio", "command": "x", "cwd": "/tmp""#.to_owned(),
            "has a `cwd` outside",
        ),
        (
            "a folder does not leave the plugin",
            r#""type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}/../.."#.to_owned() + "\"",
            "has a `cwd` outside",
        ),
        ("a URL is required", r#""type": "sse""#.to_owned(), "has no `url`"),
        ("a URL is absolute", remote("/mcp"), "that is not an absolute http or https URL"),
        ("plain http stays on this computer", remote("http://h.example/mcp"), "with http to another computer"),
        ("a URL has no user", remote("https://u:p@h.example/"), "with a user name"),
        ("a URL has no fragment", remote("https://h.example/#a"), "with a fragment"),
        ("a URL has no placeholder for its host", remote("https://${HOST}/"), "that is not valid"),
        (
            "a header is there once",
            format!("{}, \"headers\": {{\"X-A\": \"b\", \"x-a\": \"c\"}}", remote("https://h.example/")),
            "has a header twice",
        ),
        (
            "a header has a valid name",
            format!("{}, \"headers\": {{\"a b\": \"c\"}}", remote("https://h.example/")),
            "has an invalid header",
        ),
        ("an entry is an object", "3".to_owned(), "is not an object"),
    ];
    for (rule, entry, why) in rows {
        let entry = if entry == "3" { entry } else { format!("{{{entry}}}") };
        let text = servers(&format!("\"good\": {{\"type\": \"stdio\", \"command\": \"good\"}}, \"m\": {entry}"));
        let seen = Seen::of(&[("p/plugin.json", GOOD), ("p/mcp.json", &text)]);
        let expected =
            if why.is_empty() { "servers p/mcp.json [good off] [m off]" } else { "servers p/mcp.json [good off]" };
        assert_eq!(seen.at("p/mcp.json"), expected, "{rule}: {}", seen.notes);
        let note = format!(
            "lists MCP server 'm', which agents skip: it {}",
            if why.starts_with("has") || why.starts_with("sets") || why.starts_with("is") {
                why
            } else {
                "has a `url`"
            }
        );
        assert_eq!(seen.notes.contains(&note), !why.is_empty(), "{rule}: {}", seen.notes);
        assert!(seen.notes.contains(why), "{rule}: {}", seen.notes);
    }
}

#[test]
fn a_file_of_servers_that_is_not_valid_turns_servers_off_and_nothing_else() {
    let good = servers("\"m\": {\"type\": \"stdio\", \"command\": \"m\"}");
    for (rule, text, why) in [
        ("it is JSON", "{".to_owned(), "it is not valid JSON"),
        ("it is an object", "[]".to_owned(), "it is not a JSON object"),
        ("a schema is required", "{\"mcpServers\": {}}".to_owned(), "it has no `$schema`"),
        ("its version is the manifest's", good.replace("1.0.0", "1.1.0"), "it targets Agent Plugins 1.1.0"),
        ("it is closed", good.replace("\"mcpServers\"", "\"x\": 1, \"mcpServers\""), "it has the unknown field `x`"),
        (
            "servers are an object",
            good.replace("{\"m\": {\"type\": \"stdio\", \"command\": \"m\"}}", "[]"),
            "it has no object `mcpServers`",
        ),
    ] {
        let seen = Seen::of(&[("p/plugin.json", GOOD), ("p/skills/s/SKILL.md", SKILL), ("p/mcp.json", &text)]);
        assert_eq!((seen.at("p/mcp.json"), seen.at("p/skills/s/SKILL.md")), ("", "skill s/SKILL.md"), "{rule}");
        assert!(seen.notes.contains(&format!("p/mcp.json: was skipped: {why}")), "{rule}: {}", seen.notes);
    }
    // `mcp.json` counts only at the top of the plugin.
    let seen = Seen::of(&[("p/plugin.json", GOOD), ("p/x/mcp.json", &good), ("mcp.json", &good)]);
    assert_eq!((seen.at("p/x/mcp.json"), seen.at("mcp.json")), ("", ""));
}

#[test]
fn a_clients_folder_belongs_to_that_client_alone() {
    let agent = "---\nname: ua\ndescription: d\n---\nA\n";
    let seen = Seen::of(&[
        ("p/plugin.json", GOOD),
        ("p/com.github.copilot/agents/ua.agent.md", agent),
        ("p/com.github.copilot/agents/ub.md", "B\n"),
        ("p/com.github.copilot/commands/uc.md", "C\n"),
        ("p/com.github.copilot/hooks/hooks.json", "{}"),
        ("p/com.github.copilot/hooks.json", "{}"),
        ("p/com.github.copilot/skills/s/SKILL.md", SKILL),
        ("p/com.example.client/agents/x.md", agent),
        ("p/com.example.client/SKILL.md", SKILL),
        ("p/com.example.client/CLAUDE.md", "For nobody\n"),
    ]);
    for (path, what) in [
        ("agents/ua.agent.md", "subagent ua"),
        ("agents/ub.md", "subagent ub"),
        ("commands/uc.md", "prompt uc"),
        ("hooks/hooks.json", "hook p/com.github.copilot/hooks/hooks.json"),
        ("hooks.json", ""),
        ("skills/s/SKILL.md", ""),
    ] {
        assert_eq!(seen.at(&format!("p/com.github.copilot/{path}")), what, "{path}");
    }
    for path in ["agents/x.md", "SKILL.md", "CLAUDE.md"] {
        assert_eq!(seen.at(&format!("p/com.example.client/{path}")), "", "{path}");
    }
}

#[test]
fn a_repository_with_several_manifests_is_one_plugin() {
    let claudes = r#"{"mcpServers": {"unim": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/srv.py", "unim"]}, "npx": {"command": "npx"}}}"#;
    let open = servers(
        r#""unim": {"type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/srv.py", "unim"]}, "npx": {"type": "stdio", "command": "npx"}"#,
    );
    let seen = Seen::of(&[
        ("plugin.json", GOOD),
        (".claude-plugin/plugin.json", "{\"name\": \"p\", \"version\": \"1.0.0\"}"),
        (".claude-plugin/marketplace.json", "{\"name\": \"m\"}"),
        (".mcp.json", claudes),
        ("mcp.json", &open),
        ("skills/us/SKILL.md", "---\nname: us\ndescription: d\n---\nS\n"),
        ("commands/uc.md", "C\n"),
        ("com.github.copilot/commands/uc.md", "C\n"),
        ("agents/ua.md", SKILL),
        ("com.github.copilot/agents/ua.agent.md", SKILL),
        ("srv.py", "print()\n"),
    ]);
    for (path, what) in [
        ("skills/us/SKILL.md", "skill us/SKILL.md"),
        ("commands/uc.md", "prompt uc"),
        ("com.github.copilot/commands/uc.md", ""),
        ("agents/ua.md", "subagent ua"),
        (".mcp.json", "servers .mcp.json [npx on] [unim off]"),
        ("mcp.json", "servers mcp.json"),
        ("srv.py", ""),
    ] {
        let mut found: Vec<&str> = seen.at(path).split(" [").collect();
        found[1..].sort_unstable();
        assert_eq!(found.join(" ["), what, "{path}\n{}", seen.notes);
    }
    assert!(
        seen.notes
            .contains(".mcp.json: lists MCP server 'unim', which stays disabled because it needs the plugin's folder"),
        "{}",
        seen.notes
    );
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_plugin_is_read() {
    let world = World::new();
    let outside = world.folder.path().join("outside");
    std::fs::create_dir_all(outside.join("skills/s")).unwrap();
    std::fs::write(outside.join("skills/s/SKILL.md"), SKILL).unwrap();
    std::fs::write(outside.join("plugin.json"), GOOD).unwrap();
    std::fs::write(outside.join("mcp.json"), servers("\"m\": {\"type\": \"stdio\", \"command\": \"m\"}")).unwrap();
    world
        .file("one/plugin.json", GOOD)
        .file("two/README.md", "x")
        .file("one/skills/ok/SKILL.md", SKILL.replace("name: s", "name: ok"));
    for (link, to) in [("two/plugin.json", "plugin.json"), ("one/mcp.json", "mcp.json"), ("one/skills/s", "skills/s")] {
        std::os::unix::fs::symlink(outside.join(to), world.path(link)).unwrap();
    }
    let reply = world.import_as(&["--dry-run"], &[""]).unwrap();
    let created: Vec<&str> =
        reply.data["created"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap()).collect();
    assert_eq!(created, ["one/skills/ok/SKILL.md", "one/plugin.json"]);
    let left = reply.data["left_out"].to_string();
    assert_eq!(left.matches("a link that leads out of the folder").count(), 3, "{left}");
}

#[cfg(unix)]
#[test]
fn links_may_stay_in_the_plugin_but_not_lead_to_its_neighbours() {
    let world = World::new();
    let named = |name: &str| SKILL.replace("name: s", &format!("name: {name}"));
    world
        .file("p/plugin.json", GOOD)
        .file("p/kept/SKILL.md", named("kept"))
        .file("p/skills/own/SKILL.md", named("own"));
    world.file("other/theirs/SKILL.md", named("theirs")).file("other/manifest.json", GOOD).file("q/mcp.json", "{}");
    world.file("other/servers.json", servers("\"m\": {\"type\": \"stdio\", \"command\": \"m\"}"));
    let links = [
        ("p/skills/kept", "../kept"),
        ("p/skills/theirs", "../../other/theirs"),
        ("p/mcp.json", "../other/servers.json"),
        ("q/plugin.json", "../other/manifest.json"),
    ];
    for (link, to) in links {
        std::os::unix::fs::symlink(to, world.path(link)).unwrap();
    }
    let reply = world.import_as(&["--dry-run"], &[""]).unwrap();
    let servers = reply.data["servers"].as_array().unwrap();
    assert!(servers.is_empty(), "{servers:?}");
    let left = reply.data["left_out"].to_string();
    assert!(left.contains(r#""p/mcp.json","reason":"a link that leads out"#), "{left}");
    assert!(
        !left.contains("p/skills/kept") && !reply.data["created"].to_string().contains("\"q/plugin.json\""),
        "{reply:?}"
    );
}
