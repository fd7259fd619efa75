//! Tests of `mcpkg import` with one file or folder: an item's type does not depend on how much of its tree is imported.

use crate::support::{Scratch, agents, runs_all};

const TOKEN: &str = "tok-SECRET-123";

/// Returns MCP server files with a token, at the paths and in the formats that agents use: the path, the agent, and the
/// text.
fn servers() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    agents().iter().flat_map(|agent| agent.server_files.iter().map(|path| (&**path, agent.id, &*agent.server_text)))
}

const MCP_SERVERS: &str =
    r#"{"mcpServers":{"m":{"command":"node","args":["x"],"env":{"API_TOKEN":"tok-SECRET-123"}}}}"#;

/// Returns other files at the paths and in the formats that agents use: the path, the text, and the type of the item
/// that an import makes of it.
fn others() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of_agents = agents().iter().flat_map(|agent| &agent.imports);
    of_agents.map(|(path, text, kind)| (&**path, &**text, &**kind)).chain(OF_NONE)
}

/// Files that belong to no agent that mcpkg deploys to.
const OF_NONE: [(&str, &str, &str); 3] = [
    (".clinerules/a.md", "Be brief.\n", "instructions"),
    ("kit/commands/git/go.md", "Do $ARGUMENTS\n", "prompt"),
    ("kit/agents/ag.md", "---\nname: ag\ndescription: x\n---\nBe.\n", "subagent"),
];

/// Returns a project, with the files of [`servers`] and [`others`] below `repo`.
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

/// Checks that the token is neither in the database's raw bytes nor in what commands print.
#[track_caller]
fn assert_no_token(scratch: &Scratch, what: &str) {
    let holds = |bytes: &[u8]| memchr::memmem::find(bytes, TOKEN.as_bytes()).is_some();
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

/// Returns what an import would make of one path: the type, name, agent, path and URI of each item.
fn made(scratch: &Scratch, path: &str) -> Vec<serde_json::Value> {
    let imported = scratch.json(&["import", path, "--dry-run"]);
    let items = imported["created"].as_array().unwrap_or_else(|| panic!("no items: {imported:#}"));
    items
        .iter()
        .map(|item| serde_json::json!([item["type"], item["name"], item["agent"], item["path"], item["uri"]]))
        .collect()
}

#[test]
fn a_server_file_that_is_named_alone_gives_its_servers_and_no_token() {
    for (path, agent, _) in servers() {
        for named in [format!("repo/{path}"), path.rsplit('/').next().expect("a name").to_owned()] {
            let scratch = scratch();
            // Import the file by its path, and by its bare name from within its folder.
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
        // `.claude` contains other files too, so only the file itself is imported.
        let folder = if folder == ".claude" { path } else { folder };
        for named in [path, folder] {
            let made = made(&scratch, &format!("repo/{named}"));
            let types: Vec<&str> = made.iter().filter_map(|item| item[0].as_str()).collect();
            assert_eq!(types, [kind], "{named}: {made:?}");
        }
    }
    // The whole tree gives the same items. Files below `kit/` are not compared, because `kit/agents/ag.md` is a copy of
    // `.claude/agents/ag.md`, and copies become one item.
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
        let strange = [
            format!("docs/copy.{ending}"),
            format!("docs/copy.{ending}.bak"),
            format!("mcp.{ending}.example"),
            format!("mcp.{ending}~"),
            "notes".to_owned(),
            "backup.txt".to_owned(),
            "servers.bak".to_owned(),
            "settings.old".to_owned(),
        ];
        let scratch = Scratch::with_project();
        scratch.file("repo/README.md", "# Read me\n");
        for name in &strange {
            scratch.file(&format!("repo/{name}"), text);
        }
        // Import each file, and then the folder with all of them.
        let each = strange.iter().map(|name| format!("repo/{name}"));
        for named in each.chain(["repo".to_owned()]) {
            let ran = scratch.run(&["import", "--documents", &named]);
            assert!(ran.status == 0 && !ran.to_string().contains(TOKEN), "{named} of {path}: {ran}");
            let why = "skipped: it looks like an MCP server configuration";
            let left_out =
                if named == "repo" { format!("each of {} files was {why}", strange.len()) } else { why.into() };
            assert!(ran.stderr.contains(&left_out), "{named} of {path}: {ran}");
        }
        assert_no_token(&scratch, path);
        assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map_or(0, Vec::len), 1);
    }
    // The token does not reach the database, whatever type the user gives with `--as`.
    for kind in ["resource", "prompt", "instructions", "subagent"] {
        let scratch = Scratch::with_project();
        scratch.file("repo/servers.json", MCP_SERVERS);
        scratch.ok(&["import", "--documents", "repo/servers.json", "--as", kind]);
        assert_no_token(&scratch, kind);
    }
    // The token of a configuration file inside a skill does not reach the database either.
    let scratch = Scratch::with_project();
    scratch.file("repo/skills/s/SKILL.md", "---\nname: s\ndescription: d\n---\ntext\n");
    scratch.file("repo/skills/s/references/mcp.json", MCP_SERVERS);
    scratch.ok(&["import", "--documents", "repo"]);
    assert_no_token(&scratch, "a skill");
    // With a variable instead of the token, the configuration is imported like any other document.
    scratch.file("repo/docs/example.json", MCP_SERVERS.replace(TOKEN, "${API_TOKEN}"));
    scratch.ok(&["import", "--documents", "repo"]);
    assert!(scratch.ok(&["resource", "list"]).contains("docs.example.json"));
}

#[test]
fn a_configuration_with_values_is_left_out_however_it_is_written() {
    let deep = format!("{}{MCP_SERVERS}{}", r#"{ "a": "#.repeat(30), "}".repeat(30));
    let beside = MCP_SERVERS.replace(r#""m":"#, r#""a": { "command": "x" }, "m":"#).replace(r#""command":"node","#, "");
    let long = format!(r#"{{ "past": "{}", {}"#, "long ago ".repeat(470_000), &MCP_SERVERS[1..]);
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
        let is_large = bytes.len() > 1 << 20;
        let file = scratch.file("repo/docs/saved.txt", bytes).display().to_string();
        scratch.file("repo/README.md", "# Read me\n");
        // Import the file, then the folder twice: the last import already knows the other files. By default, import a large
        // file only once, with its folder, because each import takes seconds.
        let all = [file.as_str(), "repo", "repo"];
        for named in if is_large && !runs_all() { &all[1..2] } else { &all } {
            let ran = scratch.run(&["import", "--documents", named]);
            assert_eq!(ran.status, 0, "{what}: {ran}");
            assert!(ran.stderr.contains("it looks like an MCP server configuration"), "{what}: {ran}");
            assert!(!ran.to_string().contains(TOKEN), "{what}: {ran}");
        }
        assert_no_token(&scratch, what);
        assert_eq!(scratch.json(&["resource", "list"])["resources"].as_array().map_or(0, Vec::len), 1, "{what}");
    }
}

#[test]
fn other_files_of_agents_give_no_values_of_servers_either() {
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
fn a_source_does_not_import_a_configuration_with_values_as_a_document() {
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
fn a_sync_does_not_take_a_configuration_with_values_as_a_document() {
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
