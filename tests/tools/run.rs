//! Tests `mcpkg tool run` on a folder, `tool runs`, `tool env` and `tool allow` with the real binary.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::secrets::{PLAIN, shapes};
use crate::support::{Scratch, at_a_terminal, eventually, ignores_hangups, skipped};

const MANIFEST: &str = "name: test/greet\nversion: 1.0.0\ndescription: Greets\n\
    scripts: {main: [sh, greet.sh, '{{name}}']}\n\
    inputSchema: {type: object, required: [name], properties: {name: {type: string}}}\n\
    outputSchema: {type: object, required: [greeting], properties: {greeting: {type: string}}}\n\
    env: {TOKEN: {description: A token, secret: true, required: true}}\n";

/// Returns a scratch folder with a tool in it. Returns `None` if no tool can run on this machine.
fn with_tool() -> Option<Scratch> {
    let scratch = Scratch::new();
    scratch.file("greet/enact.yaml", MANIFEST);
    let script =
        "echo \"${#TOKEN} $TOKEN\" >&2; echo x > /output/left.txt; printf '{\"greeting\": \"hello %s\"}' \"$1\"";
    scratch.file("greet/greet.sh", script);
    scratch.file("true/enact.yaml", "name: test/true\nversion: 1.0.0\ndescription: Does nothing\ncommand: \"true\"\n");
    let ran = scratch.run(&["--json", "tool", "run", "./true"]);
    if ran.stdout.contains("E_RUNNER_UNAVAILABLE") {
        skipped("bubblewrap does not run here");
        return None;
    }
    assert_eq!(ran.status, 0, "{ran}");
    Some(scratch)
}

#[test]
fn an_unknown_input_is_refused_with_the_known_ones() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/weather"]);
    let ran = scratch.run(&["tool", "run", "./weather", "-i", "city=Bern"]);
    assert!(ran.status == 1 && ran.stderr.contains("'city'") && ran.stderr.contains("valid arguments: name"), "{ran}");
}

#[test]
fn a_folder_is_run_as_declared_and_each_run_is_recorded() {
    let Some(scratch) = with_tool() else { return };
    let run = ["tool", "run", "./greet", "-i", "name=$(id) world"];
    // A required variable must be set first.
    let refused = scratch.run(&run);
    assert!(refused.status == 1 && refused.stderr.contains("TOKEN"), "{refused}");
    let token = scratch.file("token", "tell-nobody\n");
    crate::support::set_mode(&token, 0o600);
    let reference = format!("file:{}", token.display());
    scratch.ok(&["tool", "env", "set", "TOKEN", &reference, "--for", "test/*"]);
    let listed = scratch.json(&["tool", "env", "list"]);
    assert_eq!((&listed["variables"][0]["name"], &listed["variables"][0]["read"]), (&json!("TOKEN"), &json!(true)));
    let ran = scratch.json(&[&run[..], &["-o", "out"]].concat());
    assert_eq!(ran["output"], json!({ "greeting": "hello $(id) world" }));
    assert_eq!((&ran["stderr"], &ran["verification"]["status"]), (&json!("11 ***\n"), &json!("unverified")));
    assert_eq!(std::fs::read_to_string(scratch.path().join("out/left.txt")).expect("a file"), "x\n");
    let again = scratch.run(&[&run[..], &["-o", "out"]].concat());
    assert!(again.status == 1 && again.stderr.contains("already exists"), "{again}");
    let wrong = scratch.run(&["--json", "tool", "run", "./greet", "-a", "{\"name\": 5}"]);
    assert!(wrong.stdout.contains("E_TOOL_INPUT"), "{wrong}");
    let runs = scratch.json(&["tool", "runs", "--tool", "test/greet"]);
    let outcomes: Vec<_> = runs["runs"].as_array().expect("rows").iter().map(|run| run["outcome"].clone()).collect();
    assert!(outcomes.contains(&json!("ok")) && outcomes.contains(&json!("E_TOOL_ENV")), "{outcomes:?}");
    let id = runs["runs"][0]["id"].as_str().expect("an id");
    assert!(scratch.ok(&["tool", "runs", id]).contains("input_sha256: "));
    scratch.ok(&["tool", "env", "unset", "TOKEN", "--for", "test/*"]);
    assert_eq!(scratch.run(&run).status, 1);
}

#[test]
fn no_encoding_of_a_secret_remains_in_a_tools_output() {
    let Some(scratch) = with_tool() else { return };
    let secrets = [("SHORT", "hunter2222"), ("LONG", "hunter2222-and-longer-tail"), ("ODD", "pa\"ss-word-1234")];
    let declared: Vec<String> = secrets.iter().map(|(name, _)| format!("{name}: {{secret: true}}")).collect();
    let manifest = format!(
        "name: test/leak\nversion: 1.0.0\ndescription: Leaks\nscripts: {{main: [sh, leak.sh]}}\nenv: {{{}}}\n",
        declared.join(", ")
    );
    scratch.file("leak/enact.yaml", &manifest);
    let script =
        r#"printf '{"%s": ["%s", "\\u0068unter2222", "pa\\"ss-word-1234"]}' "$SHORT" "$LONG"; echo "$LONG $ODD" >&2"#;
    scratch.file("leak/leak.sh", script);
    for (name, value) in secrets {
        let file = scratch.file(name, value);
        crate::support::set_mode(&file, 0o600);
        scratch.ok(&["tool", "env", "set", name, &format!("file:{}", file.display()), "--for", "test/*"]);
    }
    let ran = scratch.json(&["tool", "run", "./leak"]);
    assert_eq!(ran["output"], json!({ "***": ["***", "***", "***"] }));
    assert_eq!(ran["stderr"], json!("*** ***\n"));
    assert!(!ran.to_string().contains("tail") && !ran.to_string().contains("ss-word"), "{ran}");
}

/// Writes a tool with a secret. The script can write the secret to files.
fn with_leak(scratch: &Scratch, script: &str) {
    scratch.file(
        "files/enact.yaml",
        "name: test/files\nversion: 1.0.0\ndescription: Leaves files\nscripts: {main: [sh, files.sh]}\nenv: {KEY: {secret: true}}\n",
    );
    scratch.file("files/files.sh", script);
    let file = scratch.file("KEY", "hunter2222-in-files");
    crate::support::set_mode(&file, 0o600);
    scratch.ok(&["tool", "env", "set", "KEY", &format!("file:{}", file.display()), "--for", "test/*"]);
}

#[test]
fn no_secret_leaves_a_run_in_a_file() {
    let Some(scratch) = with_tool() else { return };
    let script =
        r#"echo "key=$KEY" > /output/k.md; printf '\377%s' "$KEY" > /output/k.bin; printf '\377' > /output/ok.bin"#;
    with_leak(&scratch, script);
    let ran = scratch.json(&["tool", "run", "./files", "-o", "left"]);
    let names: Vec<_> = ran["files"].as_array().expect("files").iter().map(|file| file["path"].clone()).collect();
    assert_eq!(names, [json!("k.md"), json!("ok.bin")], "{ran}");
    assert!(ran["warnings"].to_string().contains("k.bin (the file contains a secret)"), "{ran}");
    assert_eq!(std::fs::read_to_string(scratch.path().join("left/k.md")).expect("a file"), "key=***\n");
    // An agent gets text files of an installed tool as text, with secrets hidden.
    scratch.ok(&["tool", "publish", "./files", "--to", "local"]);
    super::installed::signed(&scratch, "test/files");
    scratch.ok(&["tool", "install", "test/files"]);
    let mut client = super::installed::enact(&scratch);
    let result = client.result("tools/call", json!({ "name": "test__files", "arguments": {} }));
    let contents: Vec<_> =
        result["content"].as_array().expect("blocks").iter().map(|block| &block["resource"]).collect();
    assert_eq!((&contents[1]["text"], &contents[1]["mimeType"]), (&json!("key=***\n"), &json!("text/markdown")));
    assert_eq!(contents[2]["blob"], "/w==", "{result}");
    assert_eq!(result["_meta"]["mcpkg/run"]["left_out"], json!(["k.bin (the file contains a secret)"]), "{result}");
    client.finish();
    // The output folder cannot have the path of a file. The conflict is reported before the tool runs.
    let runs = || scratch.json(&["tool", "runs", "--tool", "test/files"])["runs"].as_array().expect("rows").len();
    let before = runs();
    let refused = scratch.run(&["tool", "run", "./files", "-o", "KEY"]);
    assert!(refused.status == 2 && refused.stderr.contains("the tool was not run"), "{refused}");
    assert_eq!(runs(), before);
    let refused = scratch.run(&["tool", "run", "./files", "-t", "99h"]);
    assert!(refused.status == 2 && refused.stderr.contains("at most 1h"), "{refused}");
}

#[test]
fn an_agent_gets_a_tools_output_without_text_that_looks_like_a_secret() {
    let Some(scratch) = with_tool() else { return };
    let script = r#"printf '{"password": "made-up", "text": "ghp_0123456789abcdefghij"}'; echo 'token=to-stderr' >&2; echo 'secret: in-a-file' > /output/a.txt"#;
    with_leak(&scratch, script);
    // A person gets the tool's output unchanged, since they may need exactly this.
    let ran = scratch.json(&["tool", "run", "./files", "-o", "left"]);
    assert_eq!(ran["output"], json!({ "password": "made-up", "text": "ghp_0123456789abcdefghij" }));
    scratch.ok(&["tool", "publish", "./files", "--to", "local"]);
    super::installed::signed(&scratch, "test/files");
    scratch.ok(&["tool", "install", "test/files"]);
    let mut client = super::installed::enact(&scratch);
    let result = client.result("tools/call", json!({ "name": "test__files", "arguments": {} })).to_string();
    for secret in ["made-up", "ghp_", "to-stderr", "in-a-file"] {
        assert!(!result.contains(secret), "{secret}: {result}");
    }
    assert!(result.contains("token=***") && result.contains("secret: ***"), "{result}");
    client.finish();
}

#[test]
fn no_shape_of_a_secret_reaches_an_agent_from_a_tool() {
    let Some(scratch) = with_tool() else { return };
    let secrets = shapes();
    let printed: String = secrets.iter().map(|(name, printed, _)| format!("{name}:\n{printed}\n")).collect();
    with_leak(&scratch, "cat all.txt; cat utf16.txt >&2; cp utf16.txt /output/a.txt");
    scratch.file("files/all.txt", printed + &PLAIN.join("\n"));
    let utf16: Vec<u8> = "password: in-utf-16\r\nthe end\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    scratch.file("files/utf16.txt", utf16);
    scratch.ok(&["tool", "publish", "./files", "--to", "local"]);
    super::installed::signed(&scratch, "test/files");
    scratch.ok(&["tool", "install", "test/files"]);
    let mut client = super::installed::enact(&scratch);
    let result = client.result("tools/call", json!({ "name": "test__files", "arguments": {} })).to_string();
    for (name, _, secret) in secrets {
        assert!(!result.contains(secret), "{name}: {result}");
    }
    assert!(result.contains("AWS, secret:") && result.contains("test result: ok. 12 passed"), "{result}");
    assert!(!result.contains("in-utf-16") && result.contains("password: ***\\r\\nthe end"), "{result}");
    client.finish();
}

#[test]
fn output_of_a_tool_cannot_control_the_terminal() {
    let Some(scratch) = with_tool() else { return };
    with_leak(&scratch, r#"printf '\033]0;owned\007 gone\n' >&2; exit 3"#);
    let ran = scratch.run(&["tool", "run", "./files"]);
    assert!(ran.status == 1 && !ran.stderr.contains('\u{1b}'), "{ran}");
    assert!(ran.stderr.contains("^[]0;owned^G gone"), "{ran}");
    scratch.file("files/files.sh", r"printf '\033]0;owned\007\tgone\n'");
    assert_eq!(scratch.ok(&["tool", "run", "./files"]), "\u{1b}]0;owned\u{7}\tgone\n", "a pipe has it as it is");
    let mut command = scratch.command();
    command.args(["tool", "run", "./files"]);
    let Some((shown, _)) = at_a_terminal(&command, "") else { return skipped("there is no script") };
    assert!(shown.contains("^[]0;owned^G") && !shown.contains("\u{1b}]0;"), "{shown}");
}

#[test]
fn truncated_output_contains_no_part_of_a_secret() {
    let Some(scratch) = with_tool() else { return };
    let manifest = "name: test/long\nversion: 1.0.0\ndescription: Long\nscripts: {main: [sh, long.sh]}\nenv: {KEY: {secret: true}}\n";
    scratch.file("long/enact.yaml", manifest);
    // The first 768 KiB and the last 256 KiB are kept.
    let script = "fill() { head -c $1 /dev/zero | tr '\\0' $2; }\n\
        fill 786427 x; printf %s \"$KEY\"; fill 300000 y; printf %s \"$KEY\"; fill 262139 z\n";
    scratch.file("long/long.sh", script);
    let file = scratch.file("key", "hunter2222");
    crate::support::set_mode(&file, 0o600);
    scratch.ok(&["tool", "env", "set", "KEY", &format!("file:{}", file.display()), "--for", "test/*"]);
    let ran = scratch.json(&["tool", "run", "./long"]);
    let stdout = ran["stdout"].as_str().expect("text");
    let (begun, ended) = stdout.split_once("\n... 300010 bytes left out ...\n").expect("it is cut");
    assert!(begun.ends_with("xx***") && ended.starts_with("***zz"), "{} {}", &begun[786_400..], &ended[..30]);
    assert_eq!(stdout.matches("***").count(), 2);
}

#[test]
fn a_secret_that_is_too_short_to_be_hidden_is_refused() {
    let Some(scratch) = with_tool() else { return };
    let file = scratch.file("pin", "q~7");
    crate::support::set_mode(&file, 0o600);
    scratch.ok(&["tool", "env", "set", "TOKEN", &format!("file:{}", file.display()), "--for", "test/*"]);
    let run = ["--json", "tool", "run", "./greet", "-i", "name=you"];
    let refused = scratch.run(&run);
    assert!(refused.stdout.contains("E_TOOL_ENV") && refused.stdout.contains("less than 4 bytes"), "{refused}");
    assert!(refused.stdout.contains("--value TEXT") && !refused.stdout.contains("q~7"), "{refused}");
    // A value that is not a secret may be short.
    scratch.ok(&["tool", "env", "set", "TOKEN", "--value", "123", "--for", "test/*"]);
    assert_eq!(scratch.run(&run).status, 0);
    scratch.file("pin", "q~7w");
    scratch.ok(&["tool", "env", "set", "TOKEN", &format!("file:{}", file.display()), "--for", "test/*"]);
    let ran = scratch.run(&run);
    assert!(ran.status == 0 && !ran.to_string().contains("q~7w"), "{ran}");
}

#[test]
fn a_dry_run_shows_the_plan_and_runs_nothing() {
    let scratch = Scratch::new();
    scratch.file("greet/enact.yaml", MANIFEST);
    let plan = scratch.json(&["tool", "run", "./greet", "-i", "name=you", "--dry-run"]);
    assert_eq!(plan["argv"], json!(["sh", "greet.sh", "you"]));
    assert_eq!((&plan["network"], &plan["verdict"]), (&json!(false), &json!("unverified")));
    assert!(plan["limits"]["memory"].as_u64().is_some_and(|bytes| bytes == 1 << 30));
    assert!(plan["environment"]["TOKEN"].is_null() && plan["environment"]["HOME"].is_string());
    assert_eq!(scratch.json(&["tool", "runs"])["runs"], json!([]));
}

#[test]
fn access_beyond_the_sandbox_is_allowed_only_at_a_terminal() {
    let scratch = Scratch::new();
    scratch.file("greet/enact.yaml", MANIFEST);
    let refused = scratch.run(&["--json", "tool", "allow", "./greet", "network", "--yes"]);
    assert!(refused.stdout.contains("E_TERMINAL_REQUIRED"), "{refused}");
    for folder in ["/", "/usr", "/etc", "."] {
        let refused = scratch.run(&["--json", "tool", "allow", "./greet", "files", folder]);
        assert!(refused.stdout.contains("E_INVALID_ARGUMENT"), "{folder}: {refused}");
    }
    let mut command = scratch.command();
    command.args(["tool", "allow", "./greet", "network"]);
    let Some((shown, done)) = at_a_terminal(&command, "y\n") else { return skipped("there is no script") };
    assert!(done && shown.contains("Allow ") && shown.contains("to reach every host"), "{shown}");
    let granted = scratch.json(&["tool", "allow", "./greet"]);
    assert_eq!((&granted["granted"][0]["kind"], &granted["granted"][0]["counts"]), (&json!("network"), &json!(true)));
    scratch.file("other/enact.yaml", MANIFEST);
    assert_eq!(scratch.json(&["tool", "allow", "./other"])["granted"], json!([]));
    assert_eq!(scratch.json(&["tool", "run", "./greet", "-i", "name=you", "--dry-run"])["network"], json!(true));
    assert_eq!(scratch.json(&["tool", "run", "./other", "-i", "name=you", "--dry-run"])["network"], json!(false));
    let all = scratch.json(&["tool", "allow"]);
    assert_eq!(all["granted"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&all["granted"][0]["tool"], &all["granted"][0]["kind"]),
        (&granted["tool"], &json!("network")),
        "{all}"
    );
    assert!(scratch.ok(&["tool", "allow"]).contains("\tnetwork\tyes\tnobody (the folder "));
    scratch.ok(&["tool", "allow", "./greet", "network", "--revoke"]);
    assert_eq!(scratch.ok(&["tool", "allow"]), "");
    assert_eq!(scratch.json(&["tool", "allow", "./greet"])["granted"], json!([]));
}

#[test]
fn a_killed_run_is_recorded_as_such_and_a_closed_terminal_cancels() {
    let Some(scratch) = with_tool() else { return };
    scratch.file("slow/enact.yaml", "name: test/slow\nversion: 1.0.0\ndescription: Waits\ncommand: sleep 30\n");
    let newest = || scratch.json(&["tool", "runs", "--tool", "test/slow"])["runs"][0].clone();
    let locks = || {
        let entries = std::fs::read_dir(scratch.path()).expect("a folder").flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().contains(".run-")).count()
    };
    let mut before = newest()["id"].clone();
    for (signal, outcome) in [("-KILL", "interrupted"), ("-HUP", "E_CANCELLED")] {
        if signal == "-HUP" && ignores_hangups() {
            skipped("SIGHUP is ignored here, and by what is run too");
            continue;
        }
        let mut command = scratch.command();
        command.args(["tool", "run", "./slow"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = command.spawn().expect("mcpkg starts");
        let id = eventually("it runs", || {
            let run = newest();
            (run["id"] != before && run["outcome"].is_null()).then(|| run["id"].clone())
        });
        let sent = Command::new("kill").args([signal, &running.id().to_string()]).status().expect("kill");
        assert!(sent.success());
        running.wait().expect("it ended");
        // The server notices after some time that the process is gone.
        eventually("it ended so", || (newest()["outcome"] == outcome).then_some(()));
        assert_eq!(newest()["id"], id);
        before = id;
    }
    if scratch.is_file() {
        assert_eq!(locks(), 1, "of the run that was killed");
        scratch.ok(&["tool", "prune", "--yes"]);
        assert_eq!(locks(), 0);
    }
}

#[test]
fn an_action_of_a_folder_is_named_after_its_path() {
    let Some(scratch) = with_tool() else { return };
    let manifest =
        "name: test/pair\nversion: 1.0.0\ndescription: Two\nscripts: {one: [echo, one], two: [echo, '{{x}}']}\n";
    scratch.file("pair/enact.yaml", manifest);
    let refused = scratch.run(&["tool", "run", "./pair"]);
    assert!(refused.status == 2 && refused.stderr.contains("`:one`"), "{refused}");
    assert_eq!(scratch.ok(&["tool", "run", "./pair:one"]), "one\n");
    assert_eq!(scratch.ok(&["tool", "run", "./pair:two", "-i", "x=a b"]), "a b\n");
    let unknown = scratch.run(&["tool", "run", "./pair:tow", "-i", "x=y"]);
    assert!(unknown.stderr.contains("did you mean 'two'?"), "{unknown}");
    let shown = scratch.ok(&["tool", "run", "./pair:two", "-i", "x=a b", "--dry-run"]);
    for line in ["tool: test/pair:two", "verdict: unverified", "argv: echo 'a b'", "network: no", "limit processes: "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.lines().count() < 50 && !shown.contains("--unshare"), "{shown}");
}

#[test]
fn a_tool_that_is_run_at_a_terminal_cannot_access_it() {
    let Some(scratch) = with_tool() else { return };
    let script = "(echo evil > /dev/tty) 2>&1; test -t 0 && echo at a terminal; readlink /proc/self/fd/0";
    let manifest = format!(
        "name: test/tty\nversion: 1.0.0\ndescription: Writes\nscripts: {{main: [sh, -c, {}]}}\n",
        json!(script)
    );
    scratch.file("tty/enact.yaml", manifest);
    let mut command = scratch.command();
    command.args(["tool", "run", "./tty"]);
    let Some((shown, _)) = at_a_terminal(&command, "") else { return skipped("there is no script(1)") };
    assert!(shown.contains("/dev/tty") && shown.contains("/dev/null"), "{shown}");
    assert!(!shown.contains("at a terminal") && !shown.lines().any(|line| line.trim() == "evil"), "{shown}");
}
