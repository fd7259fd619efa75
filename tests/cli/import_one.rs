//! `mcpkg import` of one file or one folder by its name: what it is does not depend on how much of its tree is named.

use crate::support::{Scratch, agents};

const TOKEN: &str = "tok-SECRET-123";

/// Files of MCP servers with a token, as agents have them: the path, the agent, and the text.
fn servers() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    agents().iter().flat_map(|agent| agent.server_files.iter().map(|path| (&**path, agent.id, &*agent.server_text)))
}

const MCP_SERVERS: &str =
    r#"{"mcpServers":{"m":{"command":"node","args":["x"],"env":{"API_TOKEN":"tok-SECRET-123"}}}}"#;

/// What else agents have in their folders: the path, the text, and the word for what it becomes.
fn others() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of_agents = agents().iter().flat_map(|agent| &agent.imports);
    of_agents.map(|(path, text, kind)| (&**path, &**text, &**kind)).chain(OF_NONE)
}

/// Of no agent that mcpkg deploys to.
const OF_NONE: [(&str, &str, &str); 3] = [
    (".clinerules/a.md", "Be brief.\n", "instructions"),
    ("kit/commands/git/go.md", "Do $ARGUMENTS\n", "prompt"),
    ("kit/agents/ag.md", "---\nname: ag\ndescription: x\n---\nBe.\n", "subagent"),
];

/// A project, and below `repo` all these files.
fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    for (path, _, text) in servers() {
        scratch.file(&format!("repo/{path}"), text);
    }
    for (path, text, _) in others() {
        scratch.file(&format!("repo/{path}"), text);
    }
    scratch.file("repo/kit/.claude-plugin/plugin.json", r#"{"name":"kit"}"#);
    scratch
}

/// Whether the token stands anywhere in the database, as raw bytes, or in what the program says of it.
#[track_caller]
fn assert_no_token(scratch: &Scratch, what: &str) {
    let holds = |bytes: &[u8]| bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
    assert!(!holds(&scratch.bytes()), "{what}: the database holds the token");
    if scratch.db().starts_with(scratch.path()) {
        let wal = scratch.path().join("test.db-wal");
        assert!(!std::fs::read(wal).is_ok_and(|bytes| holds(&bytes)), "{what}: the log holds the token");
    }
    for shown in
        [&["resource", "list"][..], &["agent-file", "list"], &["mcp", "list"], &["search", "SECRET"], &["events"]]
    {
        let ran = scratch.run(&[&["--json"], shown].concat());
        assert!(!ran.to_string().contains(TOKEN), "{what}: {ran}");
    }
}

/// What an import of one path says that it makes of each file: its type, its name, and its agent.
fn made(scratch: &Scratch, path: &str) -> Vec<serde_json::Value> {
    let imported = scratch.json(&["import", path, "--dry-run"]);
    let items = imported["created"].as_array().unwrap_or_else(|| panic!("no items: {imported:#}"));
    items
        .iter()
        .map(|item| serde_json::json!([item["type"], item["name"], item["agent"], item["path"], item["uri"]]))
        .collect()
}

#[test]
fn a_file_of_servers_that_is_named_alone_gives_its_servers_and_no_token() {
    for (path, agent, _) in servers() {
        for named in [format!("repo/{path}"), path.rsplit('/').next().expect("a name").to_owned()] {
            let scratch = scratch();
            // Also from within its folder, where the name alone is given.
            let inside = scratch.path().join("repo").join(path);
            let mut command = scratch.command();
            command.args(["import", &named]);
            if !named.starts_with("repo/") {
                command.current_dir(inside.parent().expect("a folder"));
            }
            let ran = scratch.finish(&mut command);
            assert_eq!(ran.status, 0, "{path}: {ran}");
            assert!(!ran.to_string().contains(TOKEN), "{path}: {ran}");
            let servers = scratch.json(&["mcp", "list"]);
            assert_eq!(servers["servers"][0]["name"], "m", "{path}, {agent}: {servers:#}");
            let documents = scratch.json(&["resource", "list"]);
            assert_eq!(documents["resources"].as_array().map_or(0, Vec::len), 0, "{path}: {documents:#}");
            assert_no_token(&scratch, path);
        }
    }
}

#[test]
fn a_file_or_folder_that_is_named_alone_becomes_what_it_is_in_its_tree() {
    let scratch = scratch();
    for (path, _, kind) in others() {
        let (folder, _) = path.rsplit_once('/').expect("a folder");
        // An agent's whole folder holds more than the file.
        let folder = if folder == ".claude" { path } else { folder };
        for named in [path, folder] {
            let made = made(&scratch, &format!("repo/{named}"));
            let types: Vec<&str> = made.iter().filter_map(|item| item[0].as_str()).collect();
            assert_eq!(types, [kind], "{named}: {made:?}");
        }
    }
    // As the whole tree says it, but for what lies in it twice.
    let whole = made(&scratch, "repo");
    for (path, ..) in others().filter(|(path, ..)| !path.starts_with("kit/")) {
        for item in made(&scratch, &format!("repo/{path}")) {
            assert!(whole.contains(&item), "{path}: {item} is not among {whole:#?}");
        }
    }
}

#[test]
fn a_configuration_with_values_where_no_agent_reads_it_is_left_out() {
    for (path, _, text) in servers() {
        let ending = path.rsplit('.').next().expect("an ending");
        for strange in [
            format!("docs/copy.{ending}"),
            format!("docs/copy.{ending}.bak"),
            format!("mcp.{ending}.example"),
            format!("mcp.{ending}~"),
            "notes".to_owned(),
            "backup.txt".to_owned(),
            "servers.bak".to_owned(),
            "settings.old".to_owned(),
        ] {
            let scratch = Scratch::with_project();
            let file = scratch.file(&format!("repo/{strange}"), text).display().to_string();
            scratch.file("repo/README.md", "# Read me\n");
            for named in [file.as_str(), "repo"] {
                let ran = scratch.run(&["import", "--documents", named]);
                assert_eq!(ran.status, 0, "{strange} of {path}: {ran}");
                assert!(ran.stderr.contains("it looks like an MCP server configuration"), "{strange} of {path}: {ran}");
                assert_no_token(&scratch, &strange);
            }
            assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map_or(0, Vec::len), 1);
        }
    }
    // Whatever the user says that it is.
    for kind in ["resource", "prompt", "instructions", "subagent"] {
        let scratch = Scratch::with_project();
        scratch.file("repo/servers.json", MCP_SERVERS);
        scratch.ok(&["import", "--documents", "repo/servers.json", "--as", kind]);
        assert_no_token(&scratch, kind);
    }
    // A skill's file is a document too.
    let scratch = Scratch::with_project();
    scratch.file("repo/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\ntext\n");
    scratch.file("repo/skills/s/references/mcp.json", MCP_SERVERS);
    scratch.ok(&["import", "--documents", "repo"]);
    assert_no_token(&scratch, "a skill");
    // Without values it is a document as any other.
    scratch.file("repo/docs/example.json", MCP_SERVERS.replace(TOKEN, "${API_TOKEN}"));
    scratch.ok(&["import", "--documents", "repo"]);
    assert!(scratch.ok(&["resource", "list"]).contains("docs.example.json"));
}

#[test]
fn a_configuration_with_values_is_left_out_however_it_is_written() {
    let deep = format!("{}{MCP_SERVERS}{}", r#"{ "a": "#.repeat(30), "}".repeat(30));
    let beside = MCP_SERVERS.replace(r#""m":"#, r#""a": { "command": "x" }, "m":"#).replace(r#""command":"node","#, "");
    let long = format!(r#"{{ "past": "{}", {}"#, "long ago ".repeat(600_000), &MCP_SERVERS[1..]);
    let yaml = "mcpServers:\n  - name: m\n    command: node\n    env:\n      API_TOKEN: tok-SECRET-123\n";
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (what, bytes) in [
        ("deep", deep.clone().into_bytes()),
        ("a sibling", beside.into_bytes()),
        ("more than 4 MiB", long.into_bytes()),
        ("YAML", yaml.as_bytes().to_vec()),
        ("a byte order mark", format!("\u{feff}{MCP_SERVERS}").into_bytes()),
        ("UTF-16", utf16(&format!("\u{feff}{MCP_SERVERS}"))),
        ("UTF-16 without a mark", utf16(MCP_SERVERS)),
        ("the servers alone", br#"{"m":{"command":"node","args":[],"env":{"API_TOKEN":"tok-SECRET-123"}}}"#.to_vec()),
    ] {
        let scratch = Scratch::with_project();
        let file = scratch.file("repo/docs/saved.txt", bytes).display().to_string();
        scratch.file("repo/README.md", "# Read me\n");
        // Twice: the second import knows most of the files.
        for named in [file.as_str(), "repo", "repo"] {
            let ran = scratch.run(&["import", "--documents", named]);
            assert_eq!(ran.status, 0, "{what}: {ran}");
            assert!(ran.stderr.contains("it looks like an MCP server configuration"), "{what}: {ran}");
            assert_no_token(&scratch, what);
        }
        assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map_or(0, Vec::len), 1, "{what}");
    }
}

#[test]
fn an_agents_file_that_is_none_of_servers_holds_no_values_of_them_either() {
    for path in [".claude/settings.json", ".claude/hooks/saved.json", "kit/.claude-plugin/marketplace.json"] {
        let scratch = Scratch::with_project();
        scratch.file(&format!("repo/{path}"), MCP_SERVERS);
        scratch.file("repo/kit/.claude-plugin/plugin.json", r#"{"name":"kit"}"#);
        let ran = scratch.run(&["import", "repo"]);
        assert!(ran.status == 0 && !ran.to_string().contains(TOKEN), "{path}: {ran}");
        assert_no_token(&scratch, path);
    }
}

#[test]
fn a_source_gives_no_configuration_with_values_as_a_document() {
    let scratch = Scratch::with_project();
    scratch.file("kit/docs/saved.txt", MCP_SERVERS);
    scratch.file("kit/docs/guide.md", "# Guide\n");
    let kit = scratch.path().join("kit").display().to_string();
    let ran = scratch.run(&["source", "add", &kit, "--documents", "--yes"]);
    assert!(!ran.to_string().contains(TOKEN), "{ran}");
    assert_no_token(&scratch, "a source");
    assert!(scratch.ok(&["resource", "list"]).contains("guide"), "{ran}");
}

#[test]
fn a_folder_that_is_synced_takes_no_configuration_with_values_for_a_document() {
    let scratch = Scratch::with_project();
    scratch.ok(&["resource", "create", "a", "file:///a.md", "text\n"]);
    scratch.ok(&["sync", "team"]);
    scratch.file("team/docs/copy.json", MCP_SERVERS);
    scratch.file("team/docs/copy.txt", MCP_SERVERS);
    scratch.file("team/.cursor/mcp.json", MCP_SERVERS);
    let ran = scratch.run(&["sync"]);
    assert!(ran.stderr.contains("docs/copy.json") && !ran.to_string().contains(TOKEN), "{ran}");
    assert_no_token(&scratch, "sync");
}
