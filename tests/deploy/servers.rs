//! Tests MCP servers and agent-specific files: where a deploy writes them, what it leaves alone, and who must consent.

use mcpkg_deploy::targets::Target;
use serde_json::{Value, json};

use crate::deploy::answers::{tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::{AgentFixture, agents, at_a_terminal, skipped};

/// Returns a place with a project of three MCP servers.
fn place() -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.ok(&["mcp", "add", "files", "-e", "ROOT_DIR", "--", "npx", "-y", "server-files", "a b"]);
    place.ok(&["mcp", "add", "docs", "--url", "https://docs.example/mcp", "-H", "Authorization=Bearer env:DOCS_TOKEN"]);
    place.ok(&["mcp", "add", "old", "--url", "https://old.example/sse", "--transport", "sse"]);
    place
}

/// Deploys, with the consent of a person at a terminal. Returns `None` if there is no terminal.
#[track_caller]
fn deploy(place: &Place, more: &[&str]) -> Option<String> {
    approved(place, &[&["deploy", "--apply", "--yes"], more].concat())
}

/// Runs a command that needs consent, approves the request at a terminal, and runs the command again.
#[track_caller]
fn approved(place: &Place, arguments: &[&str]) -> Option<String> {
    let error = place.refused(arguments, "E_CONSENT_REQUIRED");
    let mut command = place.command();
    command.args(["consent", "approve", word(&error["details"]["consent"])]);
    let (said, ok) = at_a_terminal(&command, "y\n")?;
    assert!(ok, "{said}");
    let data = place.data(arguments);
    Some(data["snapshot_id"].as_str().unwrap_or_default().to_owned())
}

fn json_of(place: &Place, path: &str) -> Value {
    serde_json::from_str(&place.read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn each_agent_gets_servers_in_its_own_file_and_form() {
    let place = place();
    if deploy(&place, &[]).is_none() {
        return skipped("there is no script(1)");
    }
    let claude = json!({ "mcpServers": {
        "docs": { "type": "http", "url": "https://docs.example/mcp", "headers": { "Authorization": "Bearer ${DOCS_TOKEN}" } },
        "files": { "type": "stdio", "command": "npx", "args": ["-y", "server-files", "a b"], "env": { "ROOT_DIR": "${ROOT_DIR}" } },
        "old": { "type": "sse", "url": "https://old.example/sse" },
    } });
    assert_eq!(json_of(&place, "root/.mcp.json"), claude);
    let cursor = json_of(&place, "root/.cursor/mcp.json");
    assert_eq!(cursor["mcpServers"]["docs"]["headers"]["Authorization"], "Bearer ${env:DOCS_TOKEN}");
    assert_eq!(json_of(&place, "root/.vscode/mcp.json")["servers"]["files"]["env"]["ROOT_DIR"], "${env:ROOT_DIR}");
    let codex = place.read("root/.codex/config.toml");
    assert!(
        codex.contains("bearer_token_env_var = \"DOCS_TOKEN\"") && codex.contains("env_vars = [\"ROOT_DIR\"]"),
        "{codex}"
    );
    assert!(!codex.contains("old"), "Codex speaks no SSE: {codex}");
    let plan = place.data(&["plan"]);
    let left = json!([{ "module_id": "mcp_server:old", "target": "codex", "reason_code": "transport" }]);
    assert_eq!((&plan["left_out"], &plan["changes"]), (&left, &json!([])));
    // Nothing is pending, and a second deploy has nothing to consent to.
    assert_eq!(place.data(&["deploy", "--apply", "--yes"])["reason"], "no_changes");
}

#[test]
fn every_target_gets_servers_in_its_own_file_and_form() {
    let place = place();
    place.ok(&["mcp", "add", "plain", "--", "node", "server.js"]);
    place.ok(&[&["target", "enable"][..], &Target::all_names()].concat());
    let left_out = |scope: &[&str]| {
        let plan = place.data(&[&["plan"], scope].concat());
        let said = |item: &Value| {
            let id = word(&item["module_id"]).trim_start_matches("mcp_server:").to_owned();
            format!("{} {id} {}", word(&item["target"]), word(&item["reason_code"]))
        };
        let mut left_out: Vec<String> = plan["left_out"].as_array().expect("a list").iter().map(said).collect();
        left_out.sort();
        left_out
    };
    let expected = |of: fn(&AgentFixture) -> &Vec<String>| {
        let mut all: Vec<String> =
            agents().iter().flat_map(|agent| of(agent).iter().map(|left| format!("{} {left}", agent.id))).collect();
        all.sort();
        all
    };
    assert_eq!(left_out(&[]), expected(|agent| &agent.left_out.project));
    assert_eq!(left_out(&["--scope", "user"]), expected(|agent| &agent.left_out.user));

    let before = place.tree();
    for (scope, base) in [("project", "root"), ("user", "home")] {
        if deploy(&place, &["--scope", scope]).is_none() {
            return skipped("there is no script(1)");
        }
        for agent in agents() {
            let (left_out, file) = match scope {
                "project" => (&agent.left_out.project, agent.project_file.as_ref()),
                _ => (&agent.left_out.user, Some(&agent.user_file)),
            };
            let Some(file) = file.filter(|_| left_out.len() < 4).map(|file| format!("{base}/{file}")) else { continue };
            if let Some(tables) = agent.servers.as_array() {
                let toml = place.read(&file);
                let has_all = tables.iter().all(|table| toml.contains(word(table)));
                assert!(has_all && !toml.contains("old"), "{}: {toml}", agent.name);
                continue;
            }
            assert_eq!(json_of(&place, &file), json!({ &*agent.key: agent.servers }), "{}: {file}", agent.name);
        }
        assert_eq!(place.planned(&["--scope", scope]), [""; 0], "{scope}");
        place.data(&["rollback", "--to", "pristine", "--scope", scope, "--yes"]);
        assert_eq!(place.tree(), before, "{scope}");
    }
}

#[test]
fn opencode_keeps_its_file_with_comments() {
    let place = place();
    let mine = "{\n  // mine\n  \"model\": \"x\",\n}\n";
    place.write("root/opencode.jsonc", mine);
    if deploy(&place, &["--target", "opencode"]).is_none() {
        return skipped("there is no script(1)");
    }
    let text = place.read("root/opencode.jsonc");
    assert!(text.contains("// mine") && text.contains("server-files"), "{text}");
    assert!(!place.exists("root/opencode.json"), "one of the two is enough");
    place.data(&["rollback", "--to", "pristine", "--target", "opencode", "--yes"]);
    assert_eq!(place.read("root/opencode.jsonc"), mine);
}

#[test]
fn a34_a_plan_says_that_copilot_reads_another_file() {
    let place = place();
    place.ok(&["target", "enable", "copilot"]);
    let says = |words: &[&str]| {
        let ran = place.run(words);
        ran.stderr.contains("Copilot CLI reads `.mcp.json` and ignores `.github/mcp.json` if both exist")
    };
    assert!(says(&["plan"]), "both are to be written");
    assert!(!says(&["plan", "--target", "copilot"]), "only its own is");
    place.write("root/.mcp.json", "{}");
    assert!(says(&["plan", "--target", "copilot"]) && says(&["status", "--target", "copilot"]), "the user has one");
    assert!(!says(&["plan", "--target", "cursor"]));
}

#[test]
fn hooks_that_two_agents_read_go_to_both_and_opencodes_plugin_only_to_opencode() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.write("from/.github/hooks/hooks.json", "{ \"version\": 1, \"hooks\": {} }");
    place.write("from/.opencode/plugin/a.js", "export const A = async () => ({})\n");
    place.ok(&["import", "../from"]);
    place.ok(&["target", "enable", "copilot", "opencode"]);
    let plan = place.data(&["plan"]);
    let changes = plan["changes"].as_array().expect("changes").iter();
    let mut files: Vec<String> =
        changes.map(|change| format!("{} {}", change["targets"], place.short(word(&change["path"])))).collect();
    files.sort();
    assert_eq!(
        files,
        ["[\"copilot\",\"vscode\"] root/.github/hooks/hooks.json", "[\"opencode\"] root/.opencode/plugin/a.js"]
    );
    assert_eq!(plan["code"].as_array().map(Vec::len), Some(2), "{plan:#}");
}

#[test]
fn a36_files_that_opencode_writes_into_its_folder_are_not_extra() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.prompt("review", "Review.\n");
    let own = ["package.json", ".gitignore", "bun.lock", "package-lock.json", "node_modules/a/index.js"];
    for (scope, folder) in [("project", "root/.opencode"), ("user", "home/.config/opencode")] {
        place.deploy(&["--target", "opencode", "--scope", scope]);
        for file in own {
            place.write(&format!("{folder}/{file}"), "{}");
        }
        let status = place.data(&["status", "--extras", "--target", "opencode", "--scope", scope]);
        assert_eq!(status["drift"], json!([]), "{status:#}");
        // The user's own file among the deployed files is reported as extra.
        place.write(&format!("{folder}/command/mine.md"), "Mine.\n");
        let status = place.data(&["status", "--extras", "--target", "opencode", "--scope", scope]);
        assert_eq!(status["drift"].as_array().map(Vec::len), Some(1), "{status:#}");
    }
}

#[test]
fn a35_a_plan_with_servers_says_what_will_run_and_needs_a_person() {
    let place = place();
    let plan = place.ok(&["plan", "--target", "claude_code"]);
    let ran = place.run(&["plan", "--target", "claude_code"]);
    assert!(
        ran.stderr.contains("Claude Code will run this code: 'files' starts npx -y server-files 'a b'"),
        "{plan}\n{ran}"
    );
    assert!(ran.stderr.contains("`claude -p` starts the servers of .mcp.json"), "{ran}");
    let before = place.tree();
    let mut client = place.server(&["--groups", "deploy"]);
    let offered = tool_data(&mut client, "deploy", json!({ "target": "claude_code" }));
    assert!(word(&offered["code"][0]["runs"]).contains("docs"), "{offered:#}");
    let token = word(&offered["confirm_token"]).to_owned();
    let arguments = json!({ "target": "claude_code", "yes": true, "confirm_token": token });
    let error = tool_refused(&mut client, "deploy_apply", arguments.clone(), "E_CONSENT_REQUIRED");
    assert!(error["details"]["effects"].to_string().contains("server-files"), "{error:#}");
    assert_eq!(place.tree(), before, "an agent's token is not enough");
    place.refused(&["deploy", "--apply", "--yes"], "E_CONSENT_REQUIRED");
    assert_eq!(place.tree(), before, "nor is --yes");
    let mut command = place.command();
    command.args(["consent", "approve", word(&error["details"]["consent"])]);
    let Some((said, ok)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script(1)") };
    assert!(ok && said.contains("'files' starts npx"), "{said}");
    let applied = tool_data(&mut client, "deploy_apply", arguments);
    assert_eq!(applied["applied"], true, "{applied:#}");
    // Removing entries runs nothing, so it needs no consent.
    place.ok(&["mcp", "remove", "files", "--yes"]);
    place.data(&["deploy", "--apply", "--yes", "--target", "claude_code"]);
    assert!(json_of(&place, "root/.mcp.json")["mcpServers"].get("files").is_none());
    client.finish();
}

#[test]
fn what_the_user_wrote_in_the_file_stays() {
    let place = place();
    let mine = "{\n  // mine\n  \"mcpServers\": {\n    \"own\": { \"url\": \"https://own.example\" }, // keep\n  },\n  \"more\": 1\n}\n";
    place.write("root/.cursor/mcp.json", mine);
    let toml = "# mine\nmodel = 'x'\n\n[mcp_servers.own] # keep\ncommand = 'own'\n";
    place.write("root/.codex/config.toml", toml);
    let before = place.tree();
    if deploy(&place, &[]).is_none() {
        return skipped("there is no script(1)");
    }
    let cursor = place.read("root/.cursor/mcp.json");
    assert!(cursor.contains("// mine") && cursor.contains("// keep") && cursor.contains("\"docs\""), "{cursor}");
    assert!(place.read("root/.codex/config.toml").starts_with(toml));
    // A rollback restores every byte.
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
    // The user's later edits stay too, even in a file that a deploy has changed.
    deploy(&place, &[]);
    let edited = place.read("root/.cursor/mcp.json").replace("\"more\": 1", "\"more\": 2");
    place.write("root/.cursor/mcp.json", &edited);
    place.ok(&["mcp", "remove", "docs", "--yes"]);
    place.data(&["deploy", "--apply", "--yes"]);
    let cursor = place.read("root/.cursor/mcp.json");
    assert!(cursor.contains("\"more\": 2") && cursor.contains("own") && !cursor.contains("docs"), "{cursor}");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.read("root/.cursor/mcp.json"), mine.replace("\"more\": 1", "\"more\": 2"));
}

#[test]
fn the_users_own_entry_is_not_overwritten() {
    let place = place();
    let mine = r#"{ "mcpServers": { "docs": { "type": "http", "url": "https://mine.example" } } }"#;
    place.write("root/.mcp.json", mine);
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.read("root/.mcp.json"), mine);
    if deploy(&place, &["--adopt"]).is_none() {
        return skipped("there is no script(1)");
    }
    assert_eq!(json_of(&place, "root/.mcp.json")["mcpServers"]["docs"]["url"], "https://docs.example/mcp");
    // An entry that was edited after the deploy belongs to the user again.
    let edited = place.read("root/.mcp.json").replace("docs.example", "other.example");
    place.write("root/.mcp.json", &edited);
    place.refused(&["deploy", "--apply", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    place.refused(&["rollback", "--to", "pristine", "--yes"], "E_ADOPT_CONFIRM_REQUIRED");
    assert_eq!(place.read("root/.mcp.json"), edited);
    // The rollback restores a server that agents connect to, so it needs consent.
    approved(&place, &["rollback", "--to", "pristine", "--yes", "--adopt"]);
    assert_eq!(json_of(&place, "root/.mcp.json"), serde_json::from_str::<Value>(mine).expect("JSON"));
}

#[test]
fn a_file_that_holds_a_secret_is_left_alone() {
    let place = place();
    for (path, text) in [
        ("root/.mcp.json", r#"{ "mcpServers": { "own": { "command": "x", "env": { "KEY": "hunter-two" } } } }"#),
        ("root/.codex/config.toml", "[mcp_servers.own]\nurl = 'https://x'\nhttp_headers = { X = 'hunter-two' }\n"),
        (
            "root/.cursor/mcp.json",
            r#"{ "mcpServers": { "own": { "command": "x", "args": ["--token", "hunter-two"] } } }"#,
        ),
        ("root/.vscode/mcp.json", "{ broken"),
    ] {
        place.write(path, text);
    }
    let plan = place.data(&["plan"]);
    assert_eq!(plan["changes"], json!([]));
    let reasons: Vec<&str> =
        plan["left_out"].as_array().expect("a list").iter().map(|l| word(&l["reason_code"])).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "holds_secret").count(), 8, "{plan:#}");
    assert_eq!(reasons.iter().filter(|reason| **reason == "malformed").count(), 3, "{plan:#}");
    let ran = place.run(&["diff"]);
    assert!(!format!("{ran}").contains("hunter-two"), "{ran}");
}

#[test]
fn hooks_and_ignore_files_go_back_only_to_their_own_agent() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    let hooks = "{ \"hooks\": { \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"x.sh\" } ] } ] } }";
    for (path, text) in [
        ("from/.claude/settings.json", hooks),
        ("from/.claude/hooks/x.sh", "#!/bin/sh\n"),
        ("from/.cursorignore", "*.pem\n"),
        ("from/.geminiignore", "*.pem\n"),
        ("from/plugins/a/hooks/hooks.json", "{}"),
        ("from/plugins/a/.claude-plugin/plugin.json", "{}"),
    ] {
        place.write(path, text);
    }
    place.ok(&["import", "../from"]);
    let plan = place.data(&["plan"]);
    let mut files: Vec<String> = plan["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| format!("{} {}", change["targets"], place.short(word(&change["path"]))))
        .collect();
    files.sort();
    let expected = [
        "[\"claude_code\"] root/.claude/hooks/x.sh",
        "[\"claude_code\"] root/.claude/settings.json",
        "[\"cursor\"] root/.cursorignore",
    ];
    assert_eq!(files, expected);
    assert_eq!(plan["code"].as_array().map(Vec::len), Some(2), "an ignore file runs nothing: {plan:#}");
    place.data(&["deploy", "--apply", "--yes", "--target", "cursor"]);
    place.refused(&["deploy", "--apply", "--yes"], "E_CONSENT_REQUIRED");
    if deploy(&place, &[]).is_none() {
        return skipped("there is no script(1)");
    }
    assert_eq!(place.read("root/.claude/settings.json"), hooks);
    // Restoring a missing hook file needs a person's consent too.
    std::fs::remove_file(place.root().join(".claude/settings.json")).expect("a file");
    place.refused(&["evolve", "restore", "--yes"], "E_CONSENT_REQUIRED");
    approved(&place, &["evolve", "restore", "--yes"]);
    assert_eq!(place.read("root/.claude/settings.json"), hooks);
    place.ok(&["agent-file", "remove", ".claude/hooks/x.sh", "--yes"]);
    place.data(&["deploy", "--apply", "--yes"]);
    assert!(!place.exists("root/.claude/hooks/x.sh"));
}

#[test]
fn with_scope_user_servers_go_to_the_users_files() {
    let place = place();
    let plan = place.data(&["plan", "--scope", "user"]);
    let mut paths: Vec<String> =
        plan["changes"].as_array().expect("changes").iter().map(|change| place.short(word(&change["path"]))).collect();
    paths.sort();
    assert_eq!(paths.len(), 3, "{plan:#}");
    for end in [".codex/config.toml", ".cursor/mcp.json", "Code/User/mcp.json"] {
        assert!(paths.iter().any(|path| path.ends_with(end)), "{paths:?}");
    }
    let left = plan["left_out"].to_string();
    assert!(left.contains("own_state"), "{left}");
}

#[test]
fn the_servers_section_stays_with_the_users_comments() {
    const THEIRS: &str = "{\n  // mine\n  \"mcpServers\": {\n    // my servers go here\n  }\n}\n";
    for theirs in [THEIRS, "{\n  \"mcpServers\": {}\n}\n"] {
        let place = place();
        place.write("home/.cursor/mcp.json", theirs);
        place.ok(&["client", "add", "cursor"]);
        let user = ["--target", "cursor", "--scope", "user"];
        if deploy(&place, &user).is_none() {
            return skipped("there is no script(1)");
        }
        place.ok(&["client", "remove", "cursor"]);
        place.data(&[&["rollback", "--to", "pristine", "--yes"][..], &user].concat());
        assert_eq!(place.read("home/.cursor/mcp.json"), theirs);
    }
}

#[test]
fn a_rollback_that_restores_a_server_needs_a_person() {
    let place = place();
    let Some(first) = deploy(&place, &["--target", "cursor"]) else { return skipped("there is no script(1)") };
    place.ok(&["mcp", "remove", "files", "--yes"]);
    place.data(&["deploy", "--apply", "--yes", "--target", "cursor"]);
    assert!(!place.read("root/.cursor/mcp.json").contains("files"));
    place.refused(&["rollback", "--to", &first, "--yes"], "E_CONSENT_REQUIRED");
    approved(&place, &["rollback", "--to", &first, "--yes"]);
    assert!(place.read("root/.cursor/mcp.json").contains("server-files"));
}

#[test]
fn a34_vs_codes_inputs_go_with_the_servers_that_use_them() {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    let asks = r#"{ "inputs": [{ "id": "k", "type": "promptString", "password": true }],
        "servers": { "a": { "type": "stdio", "command": "a", "env": { "K": "${input:k}" } } } }"#;
    place.write("from/.vscode/mcp.json", asks);
    place.ok(&["import", "../from"]);
    let mine = "{\n  // mine\n  \"inputs\": [\n    { \"id\": \"own\", \"type\": \"promptString\" }\n  ],\n  \"servers\": {}\n}\n";
    place.write("root/.vscode/mcp.json", mine);
    if deploy(&place, &[]).is_none() {
        return skipped("there is no script(1)");
    }
    let text = place.read("root/.vscode/mcp.json");
    assert!(text.contains("// mine") && text.contains("\"own\"") && text.contains("${input:k}"), "{text}");
    assert!(text.contains("\"id\": \"k\""), "{text}");
    assert!(!place.exists("root/.mcp.json"), "Claude Code asks for no values");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.read("root/.vscode/mcp.json"), mine);
}
