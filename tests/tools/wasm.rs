//! Tests WebAssembly tools with the real binary. They run even on machines without any other runner.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::installed::signed;
use crate::support::{Client, Scratch, at_a_terminal, eventually, set_mode, skipped};

/// The beginning of the modules in these tests: imports, a memory, and an output that matches the schema.
const PRELUDE: &str = "(import \"wasi_snapshot_preview1\" \"fd_write\" (func $write (param i32 i32 i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"environ_get\" (func $environ (param i32 i32) (result i32)))
    (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))
    (memory (export \"memory\") 2)
    (data (i32.const 100) \"{\\\"n\\\": 1}\") (data (i32.const 120) \"{\\\"n\\\": \\\"1\\\"}\") (data (i32.const 140) \"said\\n\")
    (func $print (param $fd i32) (param $at i32) (param $length i32)
        (i32.store (i32.const 0) (local.get $at)) (i32.store (i32.const 4) (local.get $length))
        (drop (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))";

/// The actions of the tool `test/module`, each with the body of its module.
const ACTIONS: [(&str, &str); 12] = [
    ("fits", "(call $print (i32.const 1) (i32.const 100) (i32.const 8))"),
    ("misfits", "(call $print (i32.const 1) (i32.const 120) (i32.const 10))"),
    ("fails", "(call $print (i32.const 2) (i32.const 140) (i32.const 5)) (call $exit (i32.const 3))"),
    ("traps", "unreachable"),
    ("loops", "(loop $l (br $l))"),
    ("forever", "(loop $l (br $l))"),
    ("grows", "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 64)) (i32.const -1)))) unreachable"),
    // Requests for memory that always fail: more than any module can have, and more than this module may have.
    ("begs", "(loop $l (drop (memory.grow (i32.const -1))) (br $l))"),
    ("begs-whole", "(loop $l (drop (memory.grow (i32.const 65536))) (br $l))"),
    ("begs-more", "(loop $l (drop (memory.grow (i32.const 2000))) (br $l))"),
    // Prints the environment variables as they lie in memory.
    (
        "tells",
        "(drop (call $environ (i32.const 4096) (i32.const 8192))) (call $print (i32.const 2) (i32.const 8192) (i32.const 300))
         (call $print (i32.const 1) (i32.const 100) (i32.const 8))",
    ),
    ("imports", ""),
];

/// Writes the package of `test/module` to the scratch folder, and returns its path.
fn package(scratch: &Scratch) -> String {
    let mut manifest = "name: test/module\nversion: 1.0.0\ndescription: A module\nlicense: MIT\n\
        resources: {memory: 16MiB}\nenv: {TOKEN: {description: A token, secret: true}}\n\
        inputSchema: {type: object, properties: {word: {type: string}}}\n\
        outputSchema: {type: object, required: [n], properties: {n: {type: integer}}}\nscripts:\n"
        .to_owned();
    for (name, body) in ACTIONS {
        let timeout = if name == "forever" { "1h" } else { "2s" };
        manifest
            .push_str(&format!("  {name}: {{command: [bin/{name}.wasm, [\"{{{{word}}}}\"]], timeout: {timeout}}}\n"));
        let text = match name {
            "imports" => "(module (import \"env\" \"system\" (func)) (func (export \"_start\")))".to_owned(),
            _ => format!("(module {PRELUDE} (func (export \"_start\") {body}))"),
        };
        let module = wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        scratch.file(&format!("module/bin/{name}.wasm"), module);
    }
    manifest.push_str("  text: [bin/text.wasm]\n");
    scratch.file("module/bin/text.wasm", "#!/bin/sh\n");
    let file = scratch.file("module/enact.yaml", manifest);
    file.parent().expect("a folder").display().to_string()
}

/// Returns a scratch folder with `test/module` installed.
fn with_module() -> Scratch {
    let scratch = Scratch::new();
    let folder = package(&scratch);
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(&scratch, "test/module");
    scratch.ok(&["tool", "install", "test/module"]);
    scratch
}

/// Returns an mcpkg command with an empty PATH, so no program is available.
fn alone(scratch: &Scratch, arguments: &[&str]) -> Command {
    let mut command = scratch.command();
    command.env("PATH", scratch.path().join("nothing")).args(arguments);
    command
}

fn error(scratch: &Scratch, action: &str) -> Value {
    let ran = scratch.finish(&mut alone(scratch, &["--json", "tool", "run", &format!("test/module:{action}")]));
    assert_eq!(ran.status, 1, "{ran}");
    serde_json::from_str::<Value>(&ran.stdout).expect("JSON")["error"].clone()
}

#[test]
fn a_module_made_by_init_is_valid_and_runs() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/greet", "--kind", "wasm"]);
    let valid = scratch.run(&["tool", "validate", "greet"]);
    assert!(valid.status == 0 && valid.stderr.is_empty(), "{valid}");
    let run = |arguments: &[&str]| {
        let ran = scratch.finish(&mut alone(&scratch, &[&["--json", "tool", "run", "./greet"], arguments].concat()));
        assert_eq!(ran.status, 0, "{ran}");
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")
    };
    let ran = run(&["-i", "name=Wide World"]);
    assert_eq!((&ran["output"], &ran["runner"]), (&json!({ "greeting": "Hello, Wide World!" }), &json!("wasm")));
    assert_eq!(run(&[])["output"], json!({ "greeting": "Hello, World!" }));
    let plan = run(&["--dry-run"]);
    assert_eq!((&plan["runner"], &plan["argv"]), (&json!("wasm"), &json!(["main.wasm", "World"])));
    let packed = scratch.json(&["tool", "pack", "greet"]);
    assert_eq!(packed["files"], json!(["SKILL.md", "main.wasm", "main.wat", "skill.package.yaml"]));
}

#[test]
fn x41_inputs_and_outputs_of_a_module_are_checked_and_failures_have_codes() {
    let scratch = with_module();
    let fits = scratch.finish(&mut alone(&scratch, &["--json", "tool", "run", "test/module:fits"]));
    assert!(fits.stdout.contains("\"n\": 1") || fits.stdout.contains("\"n\":1"), "{fits}");
    let wrong = alone(&scratch, &["--json", "tool", "run", "test/module:fits", "-a", "{\"word\": 5}"]).output();
    assert!(String::from_utf8_lossy(&wrong.expect("it ran").stdout).contains("E_TOOL_INPUT"));
    for (action, code, says) in [
        ("misfits", "E_TOOL_OUTPUT", "output schema"),
        ("fails", "E_TOOL_FAILED", "status 3: said"),
        ("traps", "E_TOOL_FAILED", "unreachable"),
        ("grows", "E_TOOL_LIMIT", "memory"),
        ("loops", "E_TOOL_TIMEOUT", "2 s"),
        ("imports", "E_TOOL_FAILED", "env::system"),
        ("text", "E_TOOL_FAILED", "not a WebAssembly module"),
    ] {
        let error = error(&scratch, action);
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(says)), "{error}");
    }
    // The hint names the source of the time limit.
    assert!(error(&scratch, "loops")["hint"].as_str().is_some_and(|hint| hint.contains("the tool's manifest")));
    let ended = scratch.finish(&mut alone(&scratch, &["tool", "run", "test/module:loops", "-t", "1s"]));
    assert!(
        ended.stderr.contains("ran for more than 1 s") && ended.stderr.contains("set a longer limit with `-t`"),
        "{ended}"
    );
    let other = scratch.run(&["--json", "tool", "run", "test/module:fits", "--runner", "bubblewrap"]);
    assert!(other.stdout.contains("E_RUNNER_UNAVAILABLE") && other.stdout.contains("WebAssembly"), "{other}");
    // Each run is recorded with its runner.
    let runs = scratch.json(&["tool", "runs", "--tool", "test/module"])["runs"].clone();
    let rows = runs.as_array().expect("rows");
    let outcomes: Vec<&str> = rows.iter().filter_map(|run| run["outcome"].as_str()).collect();
    for code in ["ok", "E_TOOL_INPUT", "E_TOOL_OUTPUT", "E_TOOL_FAILED", "E_TOOL_LIMIT", "E_TOOL_TIMEOUT"] {
        assert!(outcomes.contains(&code), "{code}: {outcomes:?}");
    }
    assert!(rows.iter().any(|run| run["runner"] == "wasm"), "{rows:?}");
    assert!(!scratch.path().join(".cache/mcpkg/tools").exists(), "a module is read in its archive");
}

/// At some optimization levels of the interpreter, a module that asks for memory again and again could end the server. So
/// tests must use the optimization level of releases.
#[test]
fn a_module_that_asks_for_memory_for_ever_ends_its_run_and_not_the_server() {
    assert!(include_str!("../../Cargo.toml").contains("\nwasmi = { opt-level = 2 }\n"), "tests run what users run");
    let scratch = with_module();
    let mut client = Client::spawn(&mut alone(&scratch, &["serve", "--as", "enact"])).shake_hands("2025-06-18");
    // The interpreter itself refuses growth beyond 4 GiB. Such a loop ends at the time limit, like any other.
    for (action, code, limit) in [
        ("begs", "E_TOOL_TIMEOUT", "time"),
        ("begs-whole", "E_TOOL_TIMEOUT", "time"),
        ("begs-more", "E_TOOL_LIMIT", "memory"),
    ] {
        let called = json!({ "name": format!("test__module___{action}"), "arguments": {} });
        let error = client.result("tools/call", called)["_meta"]["mcpkg/error"].clone();
        assert_eq!((&error["code"], &error["details"]["limit"]), (&json!(code), &json!(limit)), "{action}: {error}");
        let fits = client.result("tools/call", json!({ "name": "test__module___fits", "arguments": {} }));
        assert_eq!(fits["structuredContent"], json!({ "n": 1 }), "{action}: {fits}");
    }
    client.finish();
}

#[test]
fn a_secret_is_a_variable_of_the_module_and_hidden_in_its_output() {
    let scratch = with_module();
    let token = scratch.file("token", "tell-nobody");
    set_mode(&token, 0o600);
    scratch.ok(&["tool", "env", "set", "TOKEN", &format!("file:{}", token.display()), "--for", "test/*"]);
    let ran = scratch.json(&["tool", "run", "test/module:tells"]);
    let stderr = ran["stderr"].as_str().expect("text");
    assert!(stderr.contains("TOKEN=***\0") && stderr.contains("HOME=/tmp\0"), "{stderr:?}");
    assert!(!stderr.contains("MCPKG"), "{stderr:?}");
}

#[test]
fn an_installed_module_is_a_tool_that_is_called_and_cancelled() {
    let scratch = with_module();
    let mut client = Client::spawn(&mut alone(&scratch, &["serve", "--as", "enact"])).shake_hands("2025-06-18");
    for _ in 0..3 {
        let called =
            client.result("tools/call", json!({ "name": "test__module___fits", "arguments": { "word": "x" } }));
        assert_eq!(called["structuredContent"], json!({ "n": 1 }), "{called}");
        assert_eq!(called["_meta"]["mcpkg/run"]["runner"], "wasm");
    }
    let refused = client.result("tools/call", json!({ "name": "test__module___misfits", "arguments": {} }));
    assert_eq!(refused["_meta"]["mcpkg/error"]["code"], "E_TOOL_OUTPUT", "{refused}");
    let id = client.post("tools/call", json!({ "name": "test__module___forever", "arguments": {} }));
    let outcomes = || {
        let runs = scratch.json(&["tool", "runs"])["runs"].clone();
        let rows = runs.as_array().expect("rows").iter();
        rows.map(|run| run["outcome"].as_str().unwrap_or("runs").to_owned()).collect::<Vec<_>>()
    };
    eventually("the module runs", || (outcomes().len() == 5).then_some(()));
    let cancelled = json!({ "requestId": id, "reason": "enough" });
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    eventually("the run ended", || (outcomes()[0] != "runs").then_some(()));
    assert_eq!(outcomes()[0], "E_CANCELLED");
    // The server continues.
    let called = client.result("tools/call", json!({ "name": "test__module___fits", "arguments": {} }));
    assert_eq!(called["structuredContent"], json!({ "n": 1 }), "{called}");
    client.finish();
}

#[test]
fn a_module_is_not_listed_as_running_without_a_sandbox() {
    let scratch = with_module();
    for arguments in
        [["tool", "allow", "test/module", "unsandboxed"], ["tool", "config", "execution.allow_unsandboxed", "true"]]
    {
        let mut command = scratch.command();
        command.args(arguments);
        let Some((shown, done)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script") };
        assert!(done, "{shown}");
    }
    let listed = scratch.json(&["tool", "list"]);
    let tool = &listed["tools"][0];
    assert_eq!((&tool["name"], &tool["unsandboxed"]), (&json!("test/module"), &json!(false)), "{listed}");
    assert!(!scratch.ok(&["tool", "list"]).contains("no sandbox"));
}

#[test]
fn doctor_says_that_modules_can_be_run() {
    let scratch = with_module();
    let found = scratch.finish(&mut alone(&scratch, &["tool", "doctor"]));
    assert!(found.stdout.contains("WebAssembly"), "{found}");
}

#[test]
fn a_compiled_program_finds_its_files_and_arguments() {
    let scratch = Scratch::new();
    let manifest = "name: test/c\nversion: 1.0.0\ndescription: C\nresources: {memory: 32MiB}\n\
        scripts: {main: [main.wasm, \"{{file}}\"]}\n\
        inputSchema: {type: object, required: [file], properties: {file: {type: string, format: path}}}\n";
    scratch.file("c/enact.yaml", manifest);
    scratch.file("c/main.wasm", include_bytes!("../fixtures/wasi/program.wasm"));
    scratch.file("c/data/a.txt", "of the package");
    scratch.file("c/data/b.txt", "");
    scratch.file("given.txt", "of the user");
    let ran = scratch.finish(&mut alone(&scratch, &["tool", "run", "./c", "-i", "file=given.txt", "-o", "out"]));
    assert_snapshot!(ran, @r"
    status: 0
    --- stdout
    2 arguments, main.wasm with /input/file/given.txt, at home in /tmp
    data/a.txt: of the package
    /workspace/data/a.txt: of the package
    /input/file/given.txt: of the user
    /etc/passwd: No such file or directory
    ../../etc/passwd: Capabilities insufficient
    . .. a.txt b.txt are in data
    new: Read-only file system
    /tmp/one: hello 42
    stat 0, 9 bytes
    rename 0, unlink 0
    time 0, 1
    sleep 0
    random 0
    input 0
    memory ends in time
    --- stderr
    ");
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/deep/result.txt")).expect("a file"), "a result\n");
    // A module's input cannot be a folder.
    let folder = scratch.finish(&mut alone(&scratch, &["--json", "tool", "run", "./c", "-i", "file=c/data"]));
    assert!(folder.stdout.contains("E_TOOL_INPUT"), "{folder}");
}
