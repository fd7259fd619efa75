//! Tests of the entries written for each agent, and of the messages about them.

use insta::assert_snapshot;
use mcpkg_agents::agents::ALL;
use mcpkg_agents::agents::agent::{Key, Url};
use serde_json::json;

use super::*;

fn written(ground: &Ground, arguments: &[&str]) -> Value {
    data(ground, &[&["add"], arguments, &["--dry-run"]].concat())["entry"].clone()
}

#[test]
fn each_agent_starts_this_binary_on_this_database() {
    let ground = Ground::new();
    let db = ground.scratch.db().display().to_string();
    for agent in agents() {
        let wanted = agent.start.to_string().replace("{BINARY}", BINARY).replace("{DB}", &db);
        assert_eq!(written(&ground, &[agent.name]).to_string(), wanted, "{}", agent.name);
    }
}

#[test]
fn a_project_entry_names_its_project_and_a_user_entry_only_on_request() {
    let ground = Ground::new();
    ground.ok(&["project", "create", "q"]);
    let pinned = |arguments: &[&str]| {
        let entry = written(&ground, arguments);
        let args: Vec<String> = serde_json::from_value(entry["args"].clone()).expect("arguments");
        args.iter().position(|word| word == "--project").map(|at| args[at + 1].clone())
    };
    assert_eq!(pinned(&["cursor"]), None);
    assert_eq!(pinned(&["cursor", "--project", "q"]).as_deref(), Some("q"));
    assert_eq!(pinned(&["cursor", "--scope", "project"]).as_deref(), Some("p"));
    ground.ok(&["project", "select", "q", "--here"]);
    assert_eq!(pinned(&["cursor", "--scope", "project"]).as_deref(), Some("q"));
    let ran = run(&ground, &["add", "cursor", "--project", "nope"]);
    assert!(ran.status == 1 && ran.stderr.contains("'nope' does not exist"), "{ran}");
}

#[test]
fn the_usual_database_needs_no_flag() {
    let ground = Ground::new();
    let shown = |data_home: Option<&str>| {
        let mut command = command(&ground);
        command.args(["add", "codex", "--dry-run", "--json"]).env_remove("MCPKG_DB").env_remove("XDG_DATA_HOME");
        if let Some(folder) = data_home {
            command.env("XDG_DATA_HOME", ground.home().join(folder));
        }
        ground.scratch.finish(&mut command).stdout
    };
    assert!(!shown(None).contains("--db"));
    // Codex does not pass XDG_DATA_HOME on to the server, so without `--db` the server would look elsewhere.
    assert!(shown(Some("data")).contains("--db"));
}

#[test]
fn a_url_takes_its_key_from_the_environment() {
    let ground = Ground::new();
    let url = "https://tools.example/mcp";
    for agent in ALL.iter().filter(|agent| matches!(agent.client.url, Url::Entry { .. })) {
        let (takes_key, agent) = (!matches!(agent.client.url, Url::Entry { key: Key::Unsupported, .. }), agent.name);
        let with_key = [agent, "--http", url, "--key-env", "TEAM_KEY"];
        if takes_key {
            let entry = written(&ground, &with_key).to_string();
            assert!(entry.contains(url) && entry.contains("TEAM_KEY"), "{agent}: {entry}");
        } else {
            let refused = run(&ground, &[&["add"], &with_key[..]].concat());
            assert!(refused.status == 2 && refused.stderr.contains("does not fill in environment"), "{refused}");
        }
        let entry = written(&ground, &[agent, "--http", "http://127.0.0.1:3000/mcp"]);
        assert!(!entry.to_string().contains("KEY"), "{agent}: {entry}");
    }
    assert_snapshot!(run(&ground, &["add", "claude-desktop", "--http", url]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Claude Desktop's file supports commands only, not URLs
    hint: leave out --http: Claude Desktop then starts mcpkg itself
    hint: add a URL on the public internet under Settings > Connectors
    "#);
    assert_snapshot!(run(&ground, &["add", "codex", "--http", "https://u:secret@tools.example/"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: 'https://***@tools.example/' is not the URL of a server: a key must come from the environment (--key-env NAME), never from the URL
    hint: give a URL such as http://127.0.0.1:3000/mcp
    "#);
}

#[test]
fn a_url_names_the_project_of_a_project_entry_or_of_the_option() {
    let ground = Ground::new();
    let url = "http://127.0.0.1:3000/mcp";
    let pinned = |arguments: &[&str]| written(&ground, &[&["cursor", "--http"], arguments].concat())["url"].clone();
    assert_eq!(pinned(&[url]), url);
    assert_eq!(pinned(&[url, "--scope", "project"]), "http://127.0.0.1:3000/projects/p/mcp");
    // The project may exist only on the other server, not in this database.
    assert_eq!(pinned(&[url, "--project", "far"]), "http://127.0.0.1:3000/projects/far/mcp");
    let whole = "https://a.example/projects/q/mcp";
    assert_eq!(pinned(&[whole, "--scope", "project"]), whole);
    assert_eq!(pinned(&[whole, "--project", "q"]), whole);
    assert_snapshot!(run(&ground, &["add", "cursor", "--http", whole, "--project", "p"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: 'https://a.example/projects/q/mcp' is the URL of the project 'q', not of 'p'
    hint: leave out --project, or give the URL that ends in /projects/p/mcp
    "#);
    assert_snapshot!(run(&ground, &["add", "cursor", "--http", "https://a.example/", "--scope", "project"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Cannot add the project 'p' to 'https://a.example/': the URL's path is not /mcp
    hint: give the complete URL, which ends in /projects/p/mcp
    "#);
    assert!(run(&ground, &["add", "cursor", "--http", url, "--project", "a/b"]).stderr.contains("invalid characters"));
    assert!(!ground.home().join(".cursor").exists());
}

#[test]
fn a_key_is_never_written() {
    let ground = Ground::new();
    let key = ground.ok(&["access", "create", "laptop"]);
    let url = "http://127.0.0.1:3000/mcp";
    assert_snapshot!(run(&ground, &["add", "codex", "--http", url, "--key-env", key.trim()]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: --key-env takes the name of a variable, but was given an access key
    hint: give the variable's name, such as MCPKG_KEY; the key itself is never written to a file
    "#);
    assert_snapshot!(run(&ground, &["add", "codex", "--http", url, "--key-env", "9-0123456789abcdef"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: '9-0123456789...' is not a valid environment variable name
    hint: use letters, digits and underscores, without a digit at the start; a key is not a name
    hint: give the variable's name, such as MCPKG_KEY; the key itself is never written to a file
    "#);
    let ran = run(&ground, &["add", "codex", "--http", url, "--key-env", "ghp_0123456789abcdefghijABCDEFGHIJ012345"]);
    assert!(ran.status == 2 && !ran.to_string().contains("0123456789abcdef"), "{ran}");
    assert!(!ground.home().join(".codex").exists());
    // This server will ask for a key, so a hint names `--key-env`.
    let ran = run(&ground, &["add", "codex", "--http", url]);
    assert!(ran.status == 0 && ran.stderr.contains("add --key-env MCPKG_KEY"), "{ran}");
}

#[test]
fn add_and_remove_report_what_they_did() {
    let ground = Ground::new();
    let shown = |arguments: &[&str]| plain(&ground, &run(&ground, arguments).to_string());
    assert_snapshot!(shown(&["add", "claude-code", "--dry-run"]), @r#"
    status: 0
    --- stdout
    --- /dev/null
    +++ <SCRATCH>/ground/home/.claude.json
    @@ -0,0 +1,9 @@
    +{
    +  "mcpServers": {
    +    "mcpkg": {
    +      "type": "stdio",
    +      "command": "<MCPKG>",
    +      "args": ["serve", "--db", "<SCRATCH>/test.db"]
    +    }
    +  }
    +}
    --- stderr
    "#);
    assert_snapshot!(shown(&["add", "claude-code"]), @r#"
    status: 0
    --- stdout
    Added 'mcpkg' in <SCRATCH>/ground/home/.claude.json
    --- stderr
    hint: Claude Code was not found on this machine; it will read the file after you install it
    hint: test the connection with `mcpkg client check claude-code`
    "#);
    assert_snapshot!(shown(&["add", "claude-code"]), @r#"
    status: 0
    --- stdout
    Claude Code already has 'mcpkg', in <SCRATCH>/ground/home/.claude.json
    --- stderr
    "#);
    assert_snapshot!(shown(&["add", "codex", "--scope", "project", "--name", "team"]), @r#"
    status: 0
    --- stdout
    Added 'team' in <SCRATCH>/ground/root/.codex/config.toml
    --- stderr
    hint: Codex was not found on this machine; it will read the file after you install it
    hint: Codex reads a project's config.toml only in folders that you have marked as trusted in Codex
    hint: test the connection with `mcpkg client check codex`
    "#);
    assert_snapshot!(shown(&["show", "codex", "--name", "team"]), @r#"
    status: 0
    --- stdout
    The user's (<SCRATCH>/ground/home/.codex/config.toml): no entry
    This folder's (<SCRATCH>/ground/root/.codex/config.toml): 'team'

    [mcp_servers.team]
    command = "<MCPKG>"
    args = ["serve", "--db", "<SCRATCH>/test.db", "--project", "p"]

    To add by hand:

    [mcp_servers.team]
    command = "<MCPKG>"
    args = ["serve", "--db", "<SCRATCH>/test.db"]
    --- stderr
    "#);
    assert_snapshot!(shown(&["remove", "codex"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Codex has no entry 'mcpkg' in `<SCRATCH>/ground/home/.codex/config.toml`
    hint: `mcpkg client list` shows which agents are connected
    "#);
    assert_snapshot!(shown(&["remove", "claude-code"]), @r#"
    status: 0
    --- stdout
    Removed <SCRATCH>/ground/home/.claude.json, which contained only the entry 'mcpkg'
    --- stderr
    "#);
    let events = ground.ok(&["events"]);
    assert!(events.contains("client.add") && events.contains("claude-code:user:mcpkg"), "{events}");
    assert!(events.contains("client.remove"), "{events}");
}

#[test]
fn the_list_shows_what_each_entry_runs() {
    let ground = Ground::new();
    ok(&ground, &["add", "cursor"]);
    ok(&ground, &["add", "vscode", "--scope", "project", "--name", "team"]);
    ground.scratch.file(
        "ground/home/.gemini/settings.json",
        r#"{"mcpServers":{"mcpkg":{"command":"/no/mcpkg","args":["serve"]}}}"#,
    );
    let list = data(&ground, &["list"]);
    let entry = |agent: &str| {
        let clients = list["clients"].as_array().expect("agents");
        clients.iter().find(|client| client["agent"] == agent).expect("an agent").clone()
    };
    assert_eq!(entry("cursor")["entries"][0]["binary"], "this");
    assert_eq!(entry("cursor")["installed"], true);
    assert_eq!(entry("vscode")["entries"][0]["name"], "team");
    assert_eq!(entry("vscode")["entries"][0]["scope"], "project");
    assert_eq!(entry("gemini")["entries"][0]["binary"], "missing");
    assert_eq!(entry("windsurf")["entries"], json!([]));
    let shown = run(&ground, &["list"]).stdout;
    assert!(shown.contains("vscode\tnot found\tteam\tproject\t") && shown.contains("this one"), "{shown}");
    assert!(shown.contains("windsurf\tnot found\t-\t-\t-\t-\t-\n"), "{shown}");
}

#[test]
fn the_doctor_checks_every_entry() {
    let fresh = crate::support::Scratch::new();
    let told = fresh.run(&["doctor"]);
    assert!(told.status == 0 && told.stdout.contains("mcpkg project create NAME"), "{told}");
    assert_eq!(fresh.run(&["doctor", "--check"]).status, 3);

    let ground = Ground::new();
    ok(&ground, &["add", "cursor"]);
    ground
        .scratch
        .file("ground/home/.codex/config.toml", "[mcp_servers.mcpkg]\ncommand = '/no/mcpkg'\nargs = ['serve']\n");
    ground.scratch.file("ground/home/.gemini/settings.json", "{");
    let checks = ground.data(&["doctor"])["checks"].clone();
    let found = |area: &str, state: &str| {
        let checks = checks.as_array().expect("checks");
        let is = |check: &&Value| check["area"] == area && check["state"] == state;
        checks.iter().filter(is).map(|check| check["what"].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("database", "ok").len(), 1, "{checks:#}");
    assert_eq!(found("selection", "ok"), ["using project 'p' (selected)"]);
    assert!(found("clients", "ok")[0].starts_with("Cursor (user) runs "), "{checks:#}");
    let problems = found("clients", "problem");
    assert!(
        problems[0].contains("Codex (user) runs a program that does not exist")
            && problems[1].contains("settings.json"),
        "{problems:?}"
    );
    assert_eq!(ground.run(&["doctor", "--check"]).status, 3);
}
