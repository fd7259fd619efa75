//! Tests registries with the real binary: adding, publishing and searching, and registries from somebody else's
//! database.

use serde_json::{Value, json};

use crate::support::{Client, Random, Scratch};

const MANIFEST: &str = "name: alice/utils/weather\nversion: VERSION\ndescription: Tells the weather of a city\n\
                        tags: [forecast]\nlicense: MIT\ncommand: echo sunny\n";

/// Writes a package to the scratch folder.
pub fn package(scratch: &Scratch, version: &str) {
    scratch.file("weather/enact.yaml", MANIFEST.replace("VERSION", version));
    scratch.file("weather/run.sh", "echo sunny\n");
}

fn scratch_with_team() -> Scratch {
    let scratch = Scratch::new();
    package(&scratch, "1.0.0");
    scratch.ok(&["registry", "add", "team", "team-tools", "--create"]);
    scratch
}

fn search(scratch: &Scratch, arguments: &[&str]) -> Value {
    scratch.json(&[&["tool", "search"], arguments].concat())
}

#[test]
fn a_tool_is_found_by_a_part_of_a_text_without_spaces() {
    let scratch = scratch_with_team();
    let manifest =
        "name: alice/zh\nversion: 1.0.0\ndescription: 查询城市的天气预报\ntags: [気象予報]\ncommand: 'true'\n";
    scratch.file("zh/enact.yaml", manifest);
    scratch.ok(&["tool", "publish", "zh", "--to", "team"]);
    for (words, total) in
        [(&["天气"][..], 1), (&["城", "天气预报"], 1), (&["予報"], 1), (&["气"], 1), (&["气天"], 0), (&["天气的"], 0)]
    {
        assert_eq!(search(&scratch, words)["total"], total, "{words:?}");
    }
}

#[test]
fn a_tool_is_published_to_a_folder_found_and_yanked() {
    let scratch = scratch_with_team();
    let dry = scratch.json(&["tool", "publish", "weather", "--to", "team", "--dry-run"]);
    assert_eq!(
        (&dry["published"], &dry["tool"], &dry["files"]),
        (&json!(false), &json!("alice/utils/weather"), &json!(2))
    );
    assert_eq!(search(&scratch, &["weather"])["total"], 0);
    let first = scratch.json(&["tool", "publish", "weather", "--to", "team"]);
    assert_eq!((&first["published"], &first["sha256"]), (&json!(true), &dry["sha256"]));
    assert_eq!(scratch.json(&["tool", "publish", "weather", "--to", "team"])["published"], false);
    scratch.file("weather/run.sh", "echo rain\n");
    let other = scratch.run(&["--json", "tool", "publish", "weather", "--to", "team"]);
    assert!(other.status == 1 && other.stdout.contains("E_ALREADY_EXISTS"), "{other}");
    package(&scratch, "1.1.0");
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);

    let found = search(&scratch, &["city", "weather"]);
    let expected = json!([{
        "name": "alice/utils/weather", "version": "1.1.0", "description": "Tells the weather of a city",
        "tags": ["forecast"], "registry": "team", "trust": "unverified",
    }]);
    assert_eq!(found["results"], expected, "{found}");
    assert_eq!(search(&scratch, &["weather", "--tags", "other"])["total"], 0);
    assert_eq!(search(&scratch, &["weather", "--registry", "local"])["total"], 0);

    let info = scratch.json(&["tool", "info", "alice/utils/weather"]);
    let versions: Vec<&str> = info["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .filter_map(|version| version["version"].as_str())
        .collect();
    assert_eq!(
        (versions, &info["license"], &info["registry"]),
        (vec!["1.1.0", "1.0.0"], &json!("MIT"), &json!("team"))
    );
    let yank = [
        "tool",
        "yank",
        "alice/utils/weather@1.1.0",
        "--registry",
        "team",
        "--reason",
        "wrong",
        "--replacement",
        "1.0.0",
    ];
    scratch.ok(&yank);
    assert_eq!(search(&scratch, &["weather"])["results"][0]["version"], "1.0.0");
    let info = scratch.json(&["tool", "info", "alice/utils/weather"]);
    assert_eq!(info["versions"][0]["yanked"]["replacement"], "1.0.0");
    scratch.ok(&["tool", "unyank", "alice/utils/weather@1.1.0", "--registry", "team"]);
    assert_eq!(search(&scratch, &["weather"])["results"][0]["version"], "1.1.0");
    let vague = scratch.run(&["tool", "yank", "alice/utils/weather", "--registry", "team"]);
    assert!(vague.status == 2 && vague.stderr.contains("@1.2.0"), "{vague}");
}

#[test]
fn registries_are_listed_shown_indexed_and_removed() {
    let scratch = scratch_with_team();
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);
    let web = ["registry", "add", "web", "https://tools.example.com/r/", "--token", "env:T", "--priority", "-5"];
    scratch.ok(&web);
    let list = scratch.json(&["registry", "list"]);
    let names: Vec<(&str, i64)> = list["registries"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|registry| Some((registry["name"].as_str()?, registry["priority"].as_i64()?)))
        .collect();
    assert_eq!(names, [("web", -5), ("local", 0), ("team", 10)]);
    let web = scratch.json(&["registry", "show", "web"]);
    assert_eq!((&web["location"], &web["token"]), (&json!("https://tools.example.com/r"), &json!("env:T")));
    assert_eq!(scratch.json(&["registry", "index", "team"])["tools"], 1);
    for (arguments, status, says) in [
        (&["registry", "add", "team", "elsewhere"][..], 1, "registry 'team' already exists"),
        (&["registry", "add", "local", "elsewhere"], 1, "already"),
        (&["registry", "add", "x", "elsewhere"], 1, "elsewhere"),
        (&["registry", "add", "x", "weather"], 1, "--create"),
        (&["registry", "add", "x", "weather", "--create"], 1, "neither empty nor a registry"),
        (&["registry", "add", "X/y", "weather"], 2, "not a valid registry name"),
        (&["registry", "add", "x", "http://example.com"], 2, "only for this machine"),
        (&["registry", "add", "x", "https://a", "--token", "sk-secret"], 2, "where the secret is stored"),
        (&["registry", "index", "web"], 2, "not a folder"),
        (&["registry", "show", "taem"], 1, "did you mean 'team'"),
        (&["registry", "remove", "local"], 2, "it is part of this database"),
    ] {
        let ran = scratch.run(arguments);
        let said = ran.stderr.to_lowercase();
        assert!(ran.status == status && said.contains(&says.to_lowercase()), "{arguments:?}: {ran}");
        assert!(!said.contains("sk-secret"));
    }
    scratch.ok(&["registry", "remove", "team"]);
    assert_eq!(search(&scratch, &["weather", "--registry", "local"])["total"], 0);
    assert!(scratch.run(&["registry", "show", "team"]).stderr.contains("Registry 'team' does not exist"));
    assert!(scratch.path().join("team-tools/registry.json").exists());
}

#[test]
fn the_hint_for_a_bare_folder_can_be_pasted() {
    let scratch = scratch_with_team();
    let published = scratch.run(&["tool", "publish", "weather", "--to", "team", "--dry-run"]);
    assert!(published.stderr.contains("sign it with `mcpkg tool sign ./weather`"), "{published}");
    for verb in ["sign", "audit", "verify"] {
        let more: &[&str] = if verb == "audit" { &["--result", "passed"] } else { &[] };
        let ran = scratch.run(&[&["tool", verb, "weather"], more].concat());
        assert!(ran.status == 1 && ran.stderr.contains("to use the folder `weather`, write `./weather`"), "{ran}");
        let ran = scratch.run(&[&["tool", verb, "nowhere"], more].concat());
        assert!(ran.status == 1 && !ran.stderr.contains("to use the folder"), "{ran}");
    }
}

#[test]
fn an_invalid_index_is_reported_and_not_stored() {
    let scratch = scratch_with_team();
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);
    assert_eq!(search(&scratch, &["weather"])["total"], 1);
    let path = scratch.path().join("team-tools/index.json");
    let good = std::fs::read(&path).expect("the index");
    let rows = || {
        let sql = "SELECT registry || ' ' || name || ' ' || version || ' ' || description FROM tool_listing ORDER BY 1";
        scratch.column(sql)
    };
    let before = rows();
    let mut random = Random::new();
    for round in 0..24 {
        let length = random.below(4096);
        let bytes = match round % 4 {
            0 => random.bytes(length),
            // A part of the valid index, cut off before its last bracket.
            1 => good[..length % (good.len() - 2)].to_vec(),
            2 => String::from_utf8_lossy(&good).replace("\"version\": 1,", "\"version\": 2,").into_bytes(),
            _ => vec![b'['; 1 + 64 * length],
        };
        std::fs::write(&path, &bytes).expect("another index");
        let ran = scratch.run(&["--json", "tool", "search", "weather", "--registry", "team"]);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            matches!(ran.status, 0 | 1) && told.contains("index.json"),
            "{:?}: {ran}",
            bytes.escape_ascii().to_string()
        );
        assert_eq!(rows(), before, "{:?}", bytes.escape_ascii().to_string());
    }
    std::fs::write(&path, &good).expect("the index as it was");
    assert_eq!(search(&scratch, &["weather"])["total"], 1);
}

#[test]
fn a_registry_from_somebody_elses_database_is_not_contacted() {
    let scratch = scratch_with_team();
    scratch.ok(&["tool", "publish", "weather", "--to", "team"]);
    // For another user or on another machine, nothing is approved.
    std::fs::remove_dir_all(scratch.state()).expect("the records");
    let ran = scratch.run(&["--json", "tool", "search", "weather"]);
    let found: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&found["total"], &found["registries"][1]["state"]), (&json!(0), &json!("unapproved")));
    assert_eq!(ran.status, 1, "no other registry was asked");
    let info = scratch.run(&["--json", "tool", "info", "alice/utils/weather"]);
    assert!(info.status == 1 && info.stdout.contains("E_UNAPPROVED"), "{info}");
}

#[test]
fn an_agent_searches_as_the_contract_says() {
    let scratch = scratch_with_team();
    scratch.ok(&["tool", "publish", "weather"]);
    let tools = mcpkg::mcp::listed_tools(None);
    let tool = tools.as_array().expect("tools").iter().find(|tool| tool["name"] == "enact__search").expect("a tool");
    let contract = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string", "description": "Search query (keywords, descriptions, or tags)" },
            "limit": { "type": "number", "description": "Maximum results to return", "default": 10 },
        },
        "required": ["query"],
    });
    assert_eq!(tool["inputSchema"], contract);
    assert_eq!(tool["description"], "Search the Enact registry for tools. Returns matching tools with descriptions.");
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    let mut client = Client::start(&scratch, &[]).shake_hands("2025-11-25");
    for arguments in [json!({ "query": "\"weather" }), json!({ "query": "weather", "limit": 1.0 })] {
        let answer = client.result("tools/call", json!({ "name": "enact__search", "arguments": arguments }));
        assert_eq!(answer["isError"], false, "{answer}");
        let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().expect("text")).expect("JSON");
        assert_eq!(text, answer["structuredContent"]);
        assert_eq!(text["results"][0]["name"], "alice/utils/weather");
        assert_eq!(text["stale"], false);
        assert_eq!(text["registries"][0]["state"], "ok");
    }
    let answer = client.result("tools/call", json!({ "name": "enact__search", "arguments": { "limit": 3 } }));
    assert_eq!(answer["isError"], true);
    client.finish();
}
