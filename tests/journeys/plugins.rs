//! Tests that one command adds a repository of plugins, in each of the formats that agents load.

use serde_json::{Value, json};

use crate::support::{Ground, Ran, Scratch};

fn ground() -> Ground {
    Ground::below(Scratch::new())
}

fn put_all(ground: &Ground, files: &[(&str, &str)]) {
    for (path, text) in files {
        ground.put(path, text, 0o644);
    }
}

fn up(ground: &Ground, agents: &str) -> Ran {
    let mut command = ground.command();
    command.env("PATH", "/usr/bin:/bin").env("XDG_DATA_HOME", ground.scratch.path().join("data"));
    command.env("XDG_CACHE_HOME", ground.scratch.path().join("cache"));
    command.args(["up", "--yes", "--agents", agents]);
    ground.scratch.finish(&mut command)
}

fn agent(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\nYou do {name}.\n")
}

#[test]
fn listed_subagents_become_subagents_of_five_agents() {
    let ground = ground();
    let list = json!({ "name": "core", "agents": ["./api.md", "./ui.md"] }).to_string();
    put_all(
        &ground,
        &[
            ("categories/01/.claude-plugin/plugin.json", &list),
            ("categories/01/api.md", &agent("api")),
            ("categories/01/ui.md", &agent("ui")),
            ("categories/01/forgotten.md", &agent("forgotten")),
            ("categories/01/README.md", "# Read me\n"),
            (".claude/settings.json", "{}\n"),
            ("src/main.rs", "fn main() {}\n"),
        ],
    );
    let ran = up(&ground, "claude-code,codex,cursor,gemini,opencode");
    assert_eq!(ran.status, 0, "{ran}");
    for name in ["api", "ui"] {
        for file in [
            format!(".claude/agents/{name}.md"),
            format!(".codex/agents/{name}.toml"),
            format!(".cursor/agents/{name}.md"),
            format!(".gemini/agents/{name}.md"),
            format!(".opencode/agent/{name}.md"),
        ] {
            assert!(ground.read(&file).contains(&format!("You do {name}.")), "{file}\n{ran}");
        }
    }
    assert!(!ground.root().join(".claude/agents/forgotten.md").exists());
    assert!(!ground.root().join(".claude/agents/README.md").exists());
    let again = up(&ground, "claude-code,codex,cursor,gemini,opencode");
    assert_eq!(again.stdout, "Nothing changed: 5 agents read project 'root'\n", "{again}");
}

#[test]
fn one_repository_for_four_agents_is_one_plugin() {
    let ground = ground();
    let schema = "https://agent-plugins.org/schemas/1.0.0";
    let open =
        json!({ "$schema": format!("{schema}/plugin.schema.json"), "name": "uni", "version": "1.0.0" }).to_string();
    let open_servers = json!({ "$schema": format!("{schema}/mcp.schema.json"), "mcpServers": { "unim": {
        "type": "stdio", "command": "python3", "args": ["${PLUGIN_ROOT}/srv.py", "unim"],
    } } });
    let servers = json!({ "mcpServers": { "unim": {
        "command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/srv.py", "unim"],
    } } });
    put_all(
        &ground,
        &[
            ("plugin.json", &open),
            (".claude-plugin/plugin.json", r#"{"name": "uni", "version": "1.0.0", "description": "d"}"#),
            (
                ".claude-plugin/marketplace.json",
                r#"{"name": "m", "owner": {"name": "me"}, "plugins": [{"name": "uni", "source": "./"}]}"#,
            ),
            ("mcp.json", &open_servers.to_string()),
            (".mcp.json", &servers.to_string()),
            ("srv.py", "print()\n"),
            ("skills/us/SKILL.md", "---\nname: us\ndescription: d\n---\nUs\n"),
            ("commands/uc.md", "Do it\n"),
            ("agents/ua.md", &agent("ua")),
            ("com.github.copilot/commands/uc.md", "Do it\n"),
            ("com.github.copilot/agents/ua.agent.md", &agent("ua")),
            ("com.github.copilot/agents/only.agent.md", &agent("only")),
            ("com.example.client/agents/other.md", &agent("other")),
        ],
    );
    let imported = ground.ok(&["import", ".", "--create-project", "uni", "--json"]);
    let data: Value = serde_json::from_str(&imported).expect("JSON");
    let names = |key: &str| -> Vec<String> {
        data[key]
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let mut created = names("created");
    created.retain(|name| !name.ends_with(".json"));
    created.sort();
    assert_eq!(created, ["agents.only.md", "agents.ua.md", "uc", "us.SKILL.md"], "{imported}");
    assert_eq!(data["servers"].as_array().map(Vec::len), Some(1), "{imported}");
    assert_eq!((&data["servers"][0]["name"], &data["servers"][0]["enabled"]), (&json!("unim"), &json!(false)));
    let notes = data["notes"].to_string();
    assert!(notes.contains("stays disabled because it needs the plugin's folder"), "{notes}");
    // Copilot's own subagent is deployed only for Copilot. The server is not deployed at all.
    let ran = up(&ground, "claude-code,copilot,cursor");
    assert_eq!(ran.status, 0, "{ran}");
    let is_there = |file: &str| ground.root().join(file).is_file();
    assert!(is_there(".github/agents/only.agent.md") && is_there(".cursor/agents/ua.md"), "{ran}");
    assert!(!is_there(".claude/agents/only.md") && !is_there(".cursor/agents/only.md"), "{ran}");
    assert!(!is_there(".cursor/mcp.json") && !is_there(".github/mcp.json"), "{ran}");
}
