//! Plants secrets wherever a workflow uses them, and searches everything that is stored, shown or logged for them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::support::api::Trouble;
use crate::support::plugin::{Play, tool};
use crate::support::{Client, Http, Scratch, at_a_terminal, http, set_mode, skipped};
use crate::workflow::runs::{Ground, code, execute, with_nonce};

/// The characters that percent-encoding leaves unchanged in a part of a URL.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The kind of each planted secret, and its value. The values are chosen so that every encoding looks different.
const PLANTED: [(&str, &str); 6] = [
    ("env", "pl4nted/by env+\"1\"&x"),
    ("file", "pl4nted/by file+\"2\"&x"),
    ("command", "pl4nted/by command+\"3\"&x"),
    ("input", "pl4nted/by input+\"4\"&x"),
    ("plugin", "pl4nted/by plugin+\"5\"&x"),
    ("header", "pl4nted/by header+\"6\"&x"),
];

/// A workflow that sends the secret input and a secret of the catalog. The API repeats them, and later steps use the
/// answer.
const USES: &str = "\
workflow: uses
inputs:
  token: { type: secret }
steps:
  - id: made
    run: hosting:apps:create
    with: { name: '${{ inputs.token }}', region: eu }
  - id: found
    run: hosting:apps:info
    with: { app_id: '${{ steps.made.output.id }}' }
  - id: renamed
    run: hosting:apps:update
    with: { app_id: '${{ steps.found.output.id }}', name: 'x-${{ steps.found.output.name }}' }
  - id: named
    run: hosting:apps:create
    with: { name: 'x-${{ secrets.token }}', region: eu }
  - id: skipped
    run: hosting:apps:list
    if: steps.found.output.name == 'nobody'
    depends_on: [renamed]
final_output:
  name: ${{ steps.found.output.name }}
  given: ${{ inputs.token }}
  named: ${{ steps.named.output.name }}
";

/// A ground with secrets, and everything that was shown during the test.
struct Planted {
    ground: Ground,
    token: PathBuf,
    program: PathBuf,
    play: Play,
    logs: usize,
    shown: Vec<(String, Vec<u8>)>,
}

impl Planted {
    fn new() -> Self {
        let ground = Ground::new();
        let token = ground.scratch.file("planted/token", value("file"));
        set_mode(&token, 0o600);
        let program = ground.scratch.file("planted/print", format!("#!/bin/sh\nprintf %s '{}'\n", value("command")));
        set_mode(&program, 0o700);
        let play = Play::new(ground.scratch.path(), &toy("repeat"));
        Self { ground, token, program, play, logs: 0, shown: Vec::new() }
    }

    /// Returns an mcpkg command that logs everything. Its environment contains four of the secrets.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.ground.scratch.command();
        command.env("MCPKG_LOG", "trace").env("PLANTED_ENV", value("env")).env("PLANTED_INPUT", value("input"));
        command.env("PLANTED_PLUGIN", value("plugin")).env("PLANTED_HEADER", value("header"));
        command.args(arguments);
        command
    }

    /// Runs mcpkg, which may fail, and keeps its output.
    fn shell(&mut self, arguments: &[&str]) {
        for more in [&["-v"][..], &["-vv", "--json"]] {
            let all = [more, arguments].concat();
            let output = self.command(&all).stdin(Stdio::null()).output().expect("mcpkg starts");
            let name = format!("mcpkg {}", all.join(" "));
            self.shown.push((format!("{name}: stdout"), output.stdout));
            self.shown.push((format!("{name}: stderr"), output.stderr));
        }
    }

    /// Runs mcpkg at a terminal where a person answers yes. Returns whether it succeeded; `None` without a terminal.
    fn person(&mut self, arguments: &[&str]) -> Option<bool> {
        let (shown, ended_well) = at_a_terminal(&self.command(arguments), "y\n")?;
        self.shown.push((format!("mcpkg {} at a terminal", arguments.join(" ")), shown.into_bytes()));
        Some(ended_well)
    }

    /// Creates a new file for the log of a server.
    fn log(&mut self) -> File {
        self.logs += 1;
        File::create(self.ground.scratch.path().join(format!("server-{}.log", self.logs))).expect("a file")
    }

    fn keep(&mut self, what: &str, answer: &Value) {
        self.shown.push((what.to_owned(), answer.to_string().into_bytes()));
    }

    /// Returns the places where a secret was found, with its encoding.
    fn found(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(self.ground.scratch.path(), &mut files);
        assert!(files.len() >= 8, "{files:?}");
        let places = files.into_iter().map(|path| {
            let bytes = std::fs::read(&path).expect("a file");
            (path.strip_prefix(self.ground.scratch.path()).expect("below").display().to_string(), bytes)
        });
        let mut found = Vec::new();
        for (place, bytes) in places.chain(self.shown.iter().cloned()) {
            for (kind, value) in PLANTED {
                for (form, text) in forms(value) {
                    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
                    found.extend(at.map(|at| {
                        let around = &bytes[at.saturating_sub(60)..bytes.len().min(at + text.len() + 20)];
                        format!("{place}: {kind} {form}: {}", String::from_utf8_lossy(around).escape_debug())
                    }));
                }
            }
        }
        found
    }
}

fn value(kind: &str) -> &'static str {
    PLANTED.iter().find(|(name, _)| *name == kind).expect("a kind").1
}

/// Returns encodings of a value.
fn forms(value: &str) -> Vec<(&'static str, String)> {
    vec![
        ("plain", value.to_owned()),
        ("JSON", Value::from(value).to_string().trim_matches('"').to_owned()),
        ("percent", utf8_percent_encode(value, &UNRESERVED).to_string()),
        ("form", utf8_percent_encode(value, &UNRESERVED).to_string().replace("%20", "+")),
        ("base64", STANDARD.encode(value).trim_end_matches('=').to_owned()),
        ("base64url", URL_SAFE_NO_PAD.encode(value)),
        ("debug", value.escape_debug().to_string()),
    ]
}

/// Collects all files below a folder, except the folder that stores the secrets.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if path.ends_with("planted") => {}
            true => walk(&path, files),
            false => files.push(path),
        }
    }
}

/// Runs the commands of a shell for catalogs, workflows and runs.
fn in_the_shell(planted: &mut Planted) {
    let file = planted.ground.scratch.file("uses.yaml", USES).display().to_string();
    for words in [
        &["catalog", "show", "hosting"][..],
        &["catalog", "refresh", "hosting", "--check"],
        &["command", "show", "hosting:apps:create"],
        &["command", "run", "hosting:apps:list", "--yes"],
        &["command", "run", "hosting:apps:list", "--arg", "nam=x", "--yes"],
        &["command", "run", "hosting:apps:create", "--arg", "region=eu"],
        &["workflow", "validate", &file],
        &["workflow", "plan", &file, "--input", "token=env:PLANTED_INPUT"],
        &["workflow", "import", &file],
        &["workflow", "run", &file, "--input", "token=env:PLANTED_INPUT"],
        &["workflow", "run", &file, "--input", "token=env:NOWHERE"],
    ] {
        planted.shell(words);
    }
}

/// Runs a workflow with a secret input several times, once successfully and otherwise with different failures. Returns
/// false if there is no terminal.
fn by_a_person(planted: &mut Planted) -> bool {
    let run = ["-v", "workflow", "run", "uses.yaml", "--input", "token=env:PLANTED_INPUT"];
    let echo: &'static str = Box::leak(format!("{{\"message\": \"{}\"}}", value("input").escape_debug()).into());
    for trouble in [None, Some(Trouble::Status(500, Vec::new(), echo)), Some(Trouble::Half), Some(Trouble::Drop)] {
        planted.ground.api.trouble(trouble);
        if planted.person(&run).is_none() {
            return false;
        }
    }
    planted.ground.api.require("another");
    planted.person(&run).is_some()
}

/// Returns what the plugin lists, and how it answers calls. The description of its tool contains the plugin's secret.
fn toy(call: &str) -> Value {
    json!({ "tools": [tool("tell", "Tells $TOKEN", json!({}))], "call": call })
}

/// Adds two plugins: a program with a secret in a variable, and a URL with a secret in a header. Also tries to add a
/// URL whose server repeats the request and is not an MCP server.
fn plugins(planted: &mut Planted, there: &Http) {
    let given = planted.play.given();
    let words = |key: &str| -> Vec<String> {
        let words = given[key].as_array().expect("words").iter();
        words.map(|word| word.as_str().expect("a text").to_owned()).collect()
    };
    let (env, kept, program) = (words("env").remove(0), words("keep_env").remove(0), words("command"));
    let add = ["plugin", "add", "toy", "-e", &env, "--keep-env", &kept, "-e", "TOKEN=env:PLANTED_PLUGIN", "--"];
    let add: Vec<&str> = add.into_iter().chain(program.iter().map(String::as_str)).collect();
    assert_eq!(planted.person(&add), Some(true), "{:?}", planted.shown.last());
    let (url, echo) = (format!("http://{}/mcp", there.address), format!("{}/mcp", planted.ground.api.base()));
    let add = ["plugin", "add", "far", "--url", &url, "-H", "X-Token=env:PLANTED_HEADER"];
    assert_eq!(planted.person(&add), Some(true), "{:?}", planted.shown.last());
    let add = ["plugin", "add", "echo", "--url", &echo, "-H", "Authorization=env:PLANTED_HEADER"];
    assert_eq!(planted.person(&add), Some(false), "{:?}", planted.shown.last());
    let sent = planted.ground.api.seen().last().expect("a request").headers.clone();
    assert_eq!(sent["authorization"], value("header"));
    for words in [
        &["plugin", "list"][..],
        &["plugin", "check"],
        &["mcp", "show", "toy"],
        &["mcp", "show", "far"],
        &["command", "search", "--group", "toy", "tells"],
        &["command", "show", "toy:tell"],
    ] {
        planted.shell(words);
    }
}

/// Calls plugins as an agent. One answer contains the secret, and one program prints it as it dies.
fn calls_plugins(planted: &mut Planted, client: &mut Client) {
    for (call, arguments) in [
        ("repeat", json!({ "command": "toy:tell", "args": {}, "wait_s": 0 })),
        ("die", json!({ "command": "toy:tell", "args": {}, "wait_s": 0 })),
        ("", json!({ "command": "far:list_prompts", "args": {}, "wait_s": 0 })),
    ] {
        planted.play.now(&toy(call));
        let asked = execute(client, arguments.clone());
        planted.keep("what an agent is asked", &asked);
        planted.ground.approve(&asked);
        let done = execute(client, with_nonce(&arguments, &asked));
        planted.keep("what a plugin answers", &done);
        match call {
            "repeat" => assert_eq!(done["final_output"], "the token is ***", "{done}"),
            "die" => assert_eq!(code(&done), "E_STEP_UNCERTAIN", "{done}"),
            _ => assert_eq!(code(&done), "ok", "{done}"),
        }
    }
}

/// Makes an agent's calls over stdio: some are refused, some fail and some succeed.
fn over_stdio(planted: &mut Planted, has_plugins: bool) {
    let log = planted.log();
    let mut client = Client::spawn_logging(&mut planted.command(&["serve"]), log.into());
    client = client.shake_hands("2025-06-18");
    let commands = [
        json!({ "command": "hosting:apps:list", "args": {}, "wait_s": 0 }),
        json!({ "command": "hosting:apps:create", "args": { "region": "eu", "name": "agent" }, "wait_s": 0 }),
    ];
    for arguments in commands {
        let asked = execute(&mut client, arguments.clone());
        planted.keep("what an agent is asked", &asked);
        planted.ground.approve(&asked);
        let done = execute(&mut client, with_nonce(&arguments, &asked));
        planted.keep("what an agent is answered", &done);
        assert_eq!(code(&done), "E_STEP_FAILED", "the API repeats what it was sent: {done}");
    }
    for (tool, arguments) in [
        ("execute", json!({ "yaml": USES, "inputs": { "token": "env:PLANTED_INPUT" } })),
        ("dry_run", json!({ "yaml": USES, "sample_inputs": { "token": "env:PLANTED_INPUT" } })),
        ("validate_workflow", json!({ "yaml": USES })),
        ("propose_workflow", json!({ "yaml": USES })),
        ("get_command_spec", json!({ "id": "hosting:apps:create", "detail": "full" })),
        ("list_runs", json!({})),
    ] {
        let answer = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        planted.keep(tool, &answer);
    }
    let runs = planted.ground.scratch.json(&["workflow", "runs"]);
    for run in runs["runs"].as_array().expect("runs") {
        let id = run["run"].as_str().expect("an id");
        let told = client.request("tools/call", json!({ "name": "list_runs", "arguments": { "run": id } }));
        planted.keep("list_runs", &told);
        let read = client.request("resources/read", json!({ "uri": format!("mcpkg://run/{id}") }));
        planted.keep("resources/read", &read);
    }
    if has_plugins {
        calls_plugins(planted, &mut client);
    }
    for line in std::mem::take(&mut client.seen) {
        planted.keep("a notification", &line);
    }
    client.finish();
}

/// Makes an agent's calls over HTTP.
fn over_http(planted: &mut Planted) {
    let key = planted.ground.scratch.json(&["access", "create", "ci", "--execute"]);
    let key = key["key"].as_str().expect("a key").to_owned();
    let log = planted.log();
    let mut server = Http::spawn_with(&mut planted.command(&["--json", "serve", "--http", "--port", "0"]), log.into());
    let arguments = json!({ "command": "hosting:apps:list", "args": {}, "wait_s": 0 });
    let ask = |server: &Http, arguments: &Value| {
        let request = http::modern("/mcp", "tools/call", json!({ "name": "execute", "arguments": arguments }));
        server.send(&request.with("authorization", &format!("Bearer {key}"))).message()
    };
    let asked = ask(&server, &arguments);
    let object = asked["result"]["structuredContent"].clone();
    planted.ground.approve(&object);
    let done = ask(&server, &with_nonce(&arguments, &object));
    planted.keep("over HTTP", &asked);
    planted.keep("over HTTP", &done);
    assert_eq!(code(&done["result"]["structuredContent"]), "E_STEP_FAILED", "{done}");
    server.kill();
}

#[test]
fn x41_x42_a_planted_secret_survives_nowhere() {
    let mut planted = Planted::new();
    let (file, command) = (format!("X-File=file:{}", planted.token.display()), planted.program.display().to_string());
    let command = format!("token=command:{command}");
    let headers = ["--header", "X-Env=env:PLANTED_ENV", "--header", &file, "--auth", &command];
    planted.shell(&[&["catalog", "set", "hosting"][..], &headers].concat());
    in_the_shell(&mut planted);
    // First check that the secrets arrived where they belong.
    let sent = planted.ground.api.seen().last().expect("a request").headers.clone();
    assert_eq!((sent["x-env"].as_str(), sent["x-file"].as_str()), (value("env"), value("file")));
    assert_eq!(sent["authorization"], format!("Bearer {}", value("command")));
    let elsewhere = Scratch::with_project();
    let there = Http::start(&elsewhere, &[]);
    let is_terminal = by_a_person(&mut planted);
    match is_terminal {
        true => {
            let bodies: Vec<Vec<u8>> = planted.ground.api.seen().into_iter().map(|seen| seen.body).collect();
            for kind in ["input", "command"] {
                let given = Value::from(value(kind)).to_string();
                let given = given.trim_matches('"');
                assert!(bodies.iter().any(|body| String::from_utf8_lossy(body).contains(given)), "{kind} was sent");
            }
            plugins(&mut planted, &there);
        }
        false => {
            planted.ground.api.require("another");
            skipped("there is no script of util-linux");
        }
    }
    over_stdio(&mut planted, is_terminal);
    over_http(&mut planted);
    let runs = planted.ground.scratch.json(&["workflow", "runs"]);
    let ids = runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str());
    for id in ids.map(str::to_owned).collect::<Vec<_>>() {
        planted.shell(&["workflow", "runs", &id]);
    }
    for words in [
        &["workflow", "runs"][..],
        &["workflow", "list"],
        &["workflow", "export", "uses", "exported.yaml"],
        &["draft", "list"],
        &["consent", "list"],
        &["events"],
        &["doctor"],
        &["export", "exported"],
        &["backup", "copy.db"],
        &["check", "--deep"],
    ] {
        planted.shell(words);
    }
    let found = planted.found();
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn x43_the_result_of_a_run_contains_no_inputs() {
    let ground = Ground::new();
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let arguments =
        json!({ "command": "hosting:apps:list", "args": { "labels": ["given-by-nobody-else"] }, "wait_s": 0 });
    let asked = execute(&mut client, arguments.clone());
    ground.approve(&asked);
    let params = json!({ "name": "execute", "arguments": with_nonce(&arguments, &asked) });
    let answer = client.result("tools/call", params);
    assert_eq!(answer["structuredContent"]["state"], "succeeded", "{answer}");
    assert!(ground.api.seen()[0].line.contains("given-by-nobody-else"));
    assert!(!answer.to_string().contains("given-by-nobody-else"), "{answer}");
    client.finish();
}
