//! Tests that convert servers between the formats of all agents.

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::loss::{Lost, Unsayable};
use super::read::Read;
use super::secrets::Secrets;
use crate::agents;

use mcpkg_store::servers::{Definition, Part, Text, Transport};

fn dialect(agent: &str) -> &'static Dialect {
    agents::dialect_of(agent).expect("an agent")
}

fn read(agent: &str, entry: Value) -> Definition {
    dialect(agent).read(&entry, &[]).expect("a server").definition
}

fn written(agent: &str, definition: &Definition) -> Value {
    Value::Object(dialect(agent).write(definition, false).expect("an entry").fields.into_iter().collect())
}

#[test]
fn a_url_gets_the_type_that_claude_code_needs() {
    let cursor = read("cursor", json!({ "url": "https://a/mcp", "headers": { "X": "${env:T}" } }));
    let expected = json!({ "type": "http", "url": "https://a/mcp", "headers": { "X": "${T}" } });
    assert_eq!(written("claude_code", &cursor), expected);
    let http = read("gemini", json!({ "httpUrl": "https://a/mcp" }));
    assert_eq!(written("claude_code", &http), json!({ "type": "http", "url": "https://a/mcp" }));
    let sse = read("gemini", json!({ "url": "https://a/sse" }));
    assert_eq!(sse.transport, Transport::Sse);
    assert_eq!(written("claude_code", &sse), json!({ "type": "sse", "url": "https://a/sse" }));
    assert_eq!(written("gemini", &sse), json!({ "url": "https://a/sse" }));
    assert_eq!(dialect("codex").write(&sse, false), Err(Unsayable::Transport));
    assert_eq!(written("windsurf", &http), json!({ "serverUrl": "https://a/mcp" }));
    assert_eq!(dialect("claude_desktop").write(&http, false), Err(Unsayable::Transport));
    assert_eq!(written("opencode", &http), json!({ "type": "remote", "url": "https://a/mcp" }));
}

#[test]
fn references_are_converted_to_each_agents_syntax_or_refused() {
    let headers = json!({ "type": "http", "url": "https://a", "headers": { "Authorization": "Bearer ${T:-x}" } });
    let bearer = read("claude_code", headers);
    let codex = dialect("codex").write(&bearer, false).expect("an entry");
    assert_eq!(codex.fields.last(), Some(&("bearer_token_env_var".to_owned(), json!("T"))));
    assert_eq!(codex.lost, [Lost::Defaults]);
    let own =
        read("codex", json!({ "url": "https://a", "env_http_headers": { "X": "V" }, "bearer_token_env_var": "T" }));
    let expected =
        json!({ "type": "http", "url": "https://a", "headers": { "X": "${V}", "Authorization": "Bearer ${T}" } });
    assert_eq!(written("claude_code", &own), expected);
    // Copilot and Gemini read `$T` as a reference. Claude Code and VS Code read it as text.
    for agent in ["copilot", "gemini"] {
        let bare = read(agent, json!({ "command": "a", "args": ["$T", "${U:-d}"] }));
        assert_eq!(written("claude_code", &bare)["args"], json!(["${T}", "${U:-d}"]));
        assert_eq!(written("cursor", &bare)["args"], json!(["${env:T}", "${env:U}"]));
        let literal = read("claude_code", json!({ "command": "a", "args": ["$T", "$5"] }));
        assert_eq!(dialect(agent).write(&literal, false), Err(Unsayable::Literal));
        assert_eq!(written("vscode", &literal)["args"], json!(["$T", "$5"]));
    }
    // Codex replaces no references, and passes variables on under their own names.
    let env = json!({ "command": "a", "env": { "A": "${A}", "B": "b" } });
    assert_eq!(
        written("codex", &read("claude_code", env)),
        json!({ "command": "a", "env": { "B": "b" }, "env_vars": ["A"] })
    );
    for no in [json!({ "command": "a", "env": { "A": "${B}" } }), json!({ "command": "${A}" })] {
        assert_eq!(dialect("codex").write(&read("claude_code", no), false), Err(Unsayable::Variables));
    }
    let folder = read("vscode", json!({ "command": "a", "args": ["${workspaceFolder}"], "cwd": "x" }));
    assert_eq!(dialect("claude_code").write(&folder, false), Err(Unsayable::Literal));
    let cwd = read("vscode", json!({ "command": "a", "cwd": "x" }));
    assert_eq!(dialect("cursor").write(&cwd, false).map(|written| written.lost), Ok(vec![Lost::Folder]));
    let input = read("vscode", json!({ "command": "a", "env": { "A": "${input:a}" } }));
    assert_eq!(dialect("cursor").write(&input, false), Err(Unsayable::Inputs));
    let file = read("opencode", json!({ "type": "local", "command": ["a", "{file:~/t}"] }));
    assert_eq!(dialect("claude_code").write(&file, false), Err(Unsayable::Files));
}

#[test]
fn a_value_that_copilot_would_read_as_a_variable_is_refused() {
    let env = read("claude_code", json!({ "command": "a", "env": { "KEY": "HOME" } }));
    assert_eq!(dialect("copilot").write(&env, false), Err(Unsayable::Literal));
    assert!(dialect("cursor").write(&env, false).is_ok());
}

#[test]
fn every_agent_reads_back_the_entry_that_it_gets() {
    for agent in agents::ALL {
        let dialect = &agent.servers;
        let stdio = Definition {
            args: vec![Text::plain("-y"), Text::plain("a b \"c\"")],
            ..Definition::stdio(Text::plain("npx"))
        };
        assert_eq!(dialect.as_read(&stdio, true).as_ref(), Some(&stdio), "{agent:?}");
        let remote = Definition::remote(Transport::Http, Text::plain("https://a/mcp"));
        if dialect.speaks.contains(&Transport::Http) {
            assert_eq!(dialect.as_read(&remote, true).as_ref(), Some(&remote), "{agent:?}");
        }
    }
    let entry = json!({ "command": "a", "env": { "A": "${env:A}" }, "timeout": 5, "alwaysAllow": ["x"] });
    let own = read("cursor", entry.clone());
    assert_eq!(own.extra.keys().collect::<Vec<_>>(), ["timeout", "alwaysAllow"]);
    let again: Value = Value::Object(dialect("cursor").write(&own, true).unwrap().fields.into_iter().collect());
    assert_eq!(again, entry);
    assert!(written("claude_code", &own).get("timeout").is_none());
}

#[test]
fn an_entry_that_no_agent_would_start_is_not_a_server() {
    for (agent, entry) in [
        ("claude_code", json!("npx")),
        ("claude_code", json!({})),
        ("claude_code", json!({ "command": 1 })),
        ("claude_code", json!({ "command": "a", "args": "b" })),
        ("claude_code", json!({ "type": "ws", "url": "https://a" })),
        ("opencode", json!({ "command": ["a"] })),
        ("opencode", json!({ "type": "local", "command": [] })),
        ("codex", json!({ "command": "a", "enabled": "yes" })),
    ] {
        assert!(dialect(agent).read(&entry, &[]).is_err(), "{entry}");
    }
    let off = dialect("opencode").read(&json!({ "type": "local", "command": ["a"], "enabled": false }), &[]);
    assert!(matches!(off, Ok(Read { enabled: false, .. })));
}

const TOKEN: &str = "ghp_0123456789abcdefghij";

/// Takes the secrets out of an entry of Claude Code. Returns the new entry and the notes.
fn safe(entry: Value, keep: &[&str]) -> (Value, Vec<String>) {
    let mut definition = read("claude_code", entry);
    let keep: Vec<String> = keep.iter().map(|&name| name.to_owned()).collect();
    let out = Secrets::keeping(&keep).take_out("my-api", &mut definition);
    (Value::Object(dialect("claude_code").write(&definition, true).unwrap().fields.into_iter().collect()), out.notes)
}

#[test]
fn values_of_variables_and_headers_become_references() {
    let env = json!({ "A": "plain", "B": "${B}", "C": "${C:-d}", "D": "x-${D}", "E": "" });
    let (entry, notes) = safe(json!({ "command": "a", "env": env }), &[]);
    assert_eq!(entry["env"], json!({ "A": "${A}", "B": "${B}", "C": "${C}", "D": "${D}", "E": "" }));
    assert!(notes[0].contains("set the variable A to that value"), "{notes:?}");
    assert_eq!(notes.len(), 3, "{notes:?}");
    let headers = json!({ "Authorization": "Bearer abc", "X-Key": "k", "Y": "Bearer ${T}" });
    let (entry, _) = safe(json!({ "type": "http", "url": "https://a", "headers": headers }), &[]);
    let expected = json!({ "Authorization": "Bearer ${MY_API_TOKEN}", "X-Key": "${MY_API_X_KEY}", "Y": "Bearer ${T}" });
    assert_eq!(entry["headers"], expected);
    let (entry, notes) = safe(json!({ "command": "a", "env": { "NODE_ENV": "test" } }), &["NODE_ENV"]);
    assert_eq!((entry["env"]["NODE_ENV"].as_str(), notes.len()), (Some("test"), 0));
}

#[test]
fn secrets_in_addresses_and_arguments_become_references() {
    let url = |url: &str| safe(json!({ "type": "http", "url": url }), &[]).0["url"].as_str().unwrap().to_owned();
    assert_eq!(
        url("https://me:pw@h/mcp?x=1&api_key=k"),
        "https://${MY_API_USERINFO}@h/mcp?x=1&api_key=${MY_API_API_KEY}"
    );
    assert_eq!(url(&format!("https://h/s/{TOKEN}/mcp")), "https://h/s/${MY_API_PATH}/mcp");
    assert_eq!(url("https://h:8/mcp/"), "https://h:8/mcp/");
    let args = |args: &[&str]| safe(json!({ "command": "a", "args": args }), &[]).0["args"].clone();
    assert_eq!(args(&["--token", "abc", "-y", "pkg"]), json!(["--token", "${MY_API_TOKEN}", "-y", "pkg"]));
    assert_eq!(args(&["--api-key=abc"]), json!(["--api-key=${MY_API_API_KEY}"]));
    assert_eq!(args(&["run", "-e", "X=1", "img"]), json!(["run", "-e", "X=${MY_API_X}", "img"]));
    assert_eq!(
        args(&["--header", "Authorization: Bearer abc"]),
        json!(["--header", "Authorization: Bearer ${MY_API_TOKEN}"])
    );
    assert_eq!(args(&["postgres://u:p@h/db"]), json!(["postgres://${MY_API_USERINFO}@h/db"]));
    // For databases and ssh, the word before the host is a user name. In other URLs it may be a token.
    for plain in ["postgres://me@h/db", "--url=postgresql://me@h:5432/db?x=1", "ssh://git@h/o"] {
        assert_eq!(args(&["--db", plain]), json!(["--db", plain]));
    }
    assert_eq!(args(&["https://me@h/db"]), json!(["https://${MY_API_USERINFO}@h/db"]));
    assert_eq!(args(&[&format!("postgres://{TOKEN}@h/db")]), json!(["postgres://${MY_API_USERINFO}@h/db"]));
    assert!(!args(&["postgres://me@h/db?password=pw"])[0].to_string().contains("pw"));
    assert_eq!(args(&[TOKEN, "--key", "${K}"]), json!(["${MY_API_ARGUMENT}", "--key", "${K}"]));
    let (entry, _) = safe(json!({ "command": "a", "oauth": { "clientSecret": "s" }, "timeout": 3 }), &[]);
    assert_eq!(entry, json!({ "type": "stdio", "command": "a", "timeout": 3 }));
}

#[test]
fn equal_secrets_share_a_variable() {
    let mut secrets = Secrets::default();
    let mut take = |server: &str, text: &str| {
        let mut definition = read("claude_code", json!({ "command": "a", "env": { "KEY": text } }));
        secrets.take_out(server, &mut definition);
        definition.env[0].1.clone()
    };
    let names = [take("a", "one"), take("b", "two"), take("c", "one"), take("b", "three")];
    let env = |name: &str| Text::new([Part::env(name)]);
    assert_eq!(names, [env("KEY"), env("B_KEY"), env("KEY"), env("B_KEY_2")]);
}

#[test]
fn only_secrets_are_removed_from_a_file() {
    let take = |agent: &str, text: &str| dialect(agent).take_in(text, &mut Secrets::default()).expect("a file");
    let text = "{\n  // mine\n  \"inputs\": [{ \"id\": \"k\", \"type\": \"promptString\" }],\n  \"servers\": {\n    \"a\": \
        { \"command\": \"x\", \"env\": { \"K\": \"${input:k}\" }, \"sandbox\": true },\n  },\n}\n";
    let taken = take("vscode", text);
    assert_eq!((taken.text.as_str(), taken.notes.len()), (text, 0));
    assert_eq!(taken.servers[0].1.definition.inputs, [json!({ "id": "k", "type": "promptString" })]);
    let secret = text.replace("${input:k}", TOKEN);
    let taken = take("vscode", &secret);
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(dense(&taken.text), dense(&text.replace("${input:k}", "${env:K}")));
    // If a comment contains a token, only the servers and their inputs are kept.
    let comment = text.replace("mine", TOKEN);
    let taken = take("vscode", &comment);
    assert!(!taken.text.contains(TOKEN) && taken.text.contains("\"inputs\""), "{}", taken.text);
    let toml = "model = \"m\"\n# mine\n[mcp_servers.a]\ncommand = \"x\" # run\n[mcp_servers.a.env]\nK = \"v\"\n";
    let taken = take("codex", toml);
    assert!(taken.text.contains("command = \"x\" # run") && taken.text.contains("env_vars"), "{}", taken.text);
    assert!(taken.text.contains("model = \"m\"") && !taken.text.contains("\"v\""), "{}", taken.text);
    // Claude Desktop replaces no references, so a server with a secret is removed from the text.
    let desktop = r#"{ "mcpServers": { "a": { "command": "x", "env": { "K": "v" } }, "b": { "command": "y" } } }"#;
    let taken = take("claude_desktop", desktop);
    assert!(!taken.text.contains("\"a\"") && taken.text.contains("\"b\""), "{}", taken.text);
    assert_eq!(taken.servers.len(), 2);
    for (agent, text) in [("claude_code", "{"), ("codex", "a = "), ("vscode", "{ \"servers\": [] }")] {
        assert!(dialect(agent).take_in(text, &mut Secrets::default()).is_err(), "{text}");
    }
    // Importing an imported text again does not change it.
    for (agent, text) in [("vscode", secret.as_str()), ("codex", toml), ("claude_desktop", desktop)] {
        let once = take(agent, text);
        assert_eq!(take(agent, &once.text).text, once.text, "{agent}");
    }
}
