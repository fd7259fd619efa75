//! Tests the choice of the runner for a tool, and the environment that each runner provides.

use std::time::{Duration, Instant};

use mcpkg_base::error::Code;
use mcpkg_registry::run::{Call, Content, InputFile, Wished, run};
use serde_json::{Value, json};

use super::sandbox::Sandbox;
use super::trusting;
use crate::support::{Client, Ran, Scratch, at_a_terminal, eventually, running, set_mode, skipped};

const IMAGE: &str = "localhost/mcpkg-none:1";

/// Returns a scratch folder with a tool whose manifest has this `from`.
fn with_tool(from: &str) -> Scratch {
    let scratch = Scratch::new();
    let manifest = format!("name: test/tool\nversion: 1.0.0\ndescription: A tool\nfrom: {from}\ncommand: echo ran\n");
    scratch.file("tool/enact.yaml", manifest);
    scratch
}

/// Runs the tool with only these scripts on PATH.
fn run_with(scratch: &Scratch, programs: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let folder = scratch.path().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, script) in programs {
        let program = scratch.file(&format!("programs/{name}"), format!("#!/bin/sh\n{script}\n"));
        set_mode(&program, 0o755);
    }
    let command = ["--json", "tool", "run", "./tool"];
    scratch.finish(scratch.command().env("PATH", folder).args(command).args(arguments))
}

#[track_caller]
fn error(ran: &Ran) -> Value {
    assert_ne!(ran.status, 0, "{ran}");
    serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))["error"].take()
}

#[test]
fn x36_without_a_runner_nothing_runs() {
    let scratch = with_tool("host");
    let refused = error(&run_with(&scratch, &[], &[]));
    assert_eq!(refused["code"], "E_RUNNER_UNAVAILABLE");
    let runners =
        json!([{ "runner": "bubblewrap", "reason": "bubblewrap is not installed: there is no `bwrap` on PATH" }]);
    assert_eq!(refused["details"]["runners"], runners);
    // An outdated bubblewrap fails with an unknown option, so the reason names the version that is needed.
    let old = [("bwrap", "echo 'bwrap: Unknown option --disable-userns' >&2; exit 1")];
    let refused = error(&run_with(&scratch, &old, &[]));
    let reason = refused["details"]["runners"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("older than 0.8"), "{reason}");
    // A program that succeeds without running the tool is not a runner.
    let refused = error(&run_with(&scratch, &[("bwrap", "exit 0")], &[]));
    assert_eq!(refused["code"], "E_RUNNER_UNAVAILABLE");
    // `--runner none` alone is not enough.
    let refused = error(&run_with(&scratch, &[], &["--runner", "none"]));
    let reason = refused["details"]["runners"][0]["reason"].as_str().expect("a reason");
    assert!(refused["code"] == "E_RUNNER_UNAVAILABLE" && reason.contains("execution.allow_unsandboxed"), "{refused}");
}

#[test]
fn x37_an_engine_whose_daemon_is_dead_does_not_count() {
    let scratch = with_tool(IMAGE);
    let dead = "case $1 in --version) echo version 99; exit 0;; esac; echo 'Cannot connect to the daemon' >&2; exit 1";
    let refused = error(&run_with(&scratch, &[("docker", dead), ("podman", dead)], &[]));
    assert_eq!(refused["code"], "E_RUNNER_UNAVAILABLE");
    for number in [0, 1] {
        assert_eq!(refused["details"]["runners"][number]["reason"], "Cannot connect to the daemon", "{refused}");
    }
    // The docker client succeeds, but its daemon does not respond.
    let silent = "exit 0";
    let refused = error(&run_with(&scratch, &[("docker", silent)], &[]));
    assert_eq!(
        refused["details"]["runners"][1],
        json!({ "runner": "docker", "reason": "the daemon does not respond" })
    );
}

#[test]
fn a_missing_image_is_not_fetched() {
    if Sandbox::podman().is_none() {
        return;
    }
    let scratch = with_tool(IMAGE);
    let missing = error(&scratch.run(&["--json", "tool", "run", "./tool"]));
    assert_eq!(missing["code"], "E_IMAGE_MISSING");
    assert_eq!(missing["details"]["image"], IMAGE);
    assert_eq!(missing["details"]["pull"], format!("podman pull {IMAGE}"));
    // An image name from the manifest must not become an option of the engine.
    let scratch = with_tool("'--privileged'");
    let refused = error(&scratch.run(&["--json", "tool", "run", "./tool"]));
    let reason = refused["details"]["runners"][0]["reason"].as_str().expect("a reason");
    assert!(reason.contains("is not an image name"), "{refused}");
}

#[test]
fn a_runner_that_a_tool_does_not_suit_is_refused() {
    let scratch = with_tool("host");
    for runner in ["podman", "docker", "wasm"] {
        let refused = error(&scratch.run(&["--json", "tool", "run", "./tool", "--runner", runner]));
        assert_eq!(refused["code"], "E_RUNNER_UNAVAILABLE", "{refused}");
    }
    let scratch = with_tool(IMAGE);
    let refused = error(&scratch.run(&["--json", "tool", "run", "./tool", "--runner", "bubblewrap"]));
    assert_eq!(refused["details"]["runners"][0]["reason"], format!("test/tool needs the image {IMAGE}"));
}

#[test]
fn x41_inputs_variables_and_outputs_are_the_same_in_every_runner() {
    for sandbox in Sandbox::each() {
        let file = sandbox.path().join("a file.txt");
        std::fs::write(&file, "from the user\n").expect("a file");
        std::fs::write(sandbox.path().join("tool/own.txt"), "its own\n").expect("a file");
        let given = vec![
            InputFile { at: "/input/file/a file.txt".to_owned(), content: Content::Path(file) },
            InputFile { at: "/input/.values/text".to_owned(), content: Content::Bytes(b"a value".to_vec()) },
        ];
        let script = "cat \"$1\" \"$2\"; echo; cat own.txt; pwd; echo $HOME $USER $TMPDIR; echo to-stderr >&2; \
            mkdir -p /output/deep; echo left > /output/deep/file; ln -s /etc/passwd /output/link; \
            echo x > /tmp/x && echo y > /dev/shm/y && cat /tmp/x";
        let words = ["sh", "-c", script, "sh", "/input/file/a file.txt", "/input/.values/text"];
        let call = Call { given, ..sandbox.call(&words) };
        let outcome = run(&sandbox.context, &call).expect("a run");
        let expected = "from the user\na value\nits own\n/workspace\n/tmp tool /tmp\nx\n";
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), (expected, "to-stderr\n"));
        let files: Vec<(&str, &[u8])> = outcome.files.iter().map(|file| (file.path.as_str(), &*file.bytes)).collect();
        assert_eq!(files, [("deep/file", &b"left\n"[..])]);
        assert_eq!(outcome.left_out, ["link"]);
        assert_eq!(outcome.image.is_some(), !sandbox.is_bubblewrap());
        let failed = sandbox.run(&["sh", "-c", "echo why >&2; exit 5"]).expect_err("failed");
        assert_eq!(failed.details().expect("details")["exit_code"], 5);
        assert_eq!(sandbox.run(&["no-such-program"]).expect_err("not there").code(), Code::ToolFailed);
    }
}

/// Returns the containers that run the tool in this folder. Other tests start containers at the same time.
fn containers(tool: &std::path::Path) -> Vec<String> {
    let mounted = format!("volume={}", tool.display());
    let listed = std::process::Command::new("podman")
        .args(["ps", "--all", "--filter", "name=^mcpkg-", "--filter", &mounted, "--format", "{{.Names}}"])
        .output()
        .expect("podman lists containers");
    String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn x33_a_container_ends_with_its_run_even_if_the_server_was_killed() {
    let Some(sandbox) = Sandbox::podman() else { return };
    let mark = format!("8{:07}.5", std::process::id());
    let deaf = format!("trap '' TERM; (trap '' TERM; setsid sleep {mark}) & while true; do sleep {mark}; done");
    let limits = Wished { time: Some(Duration::from_secs(2)), ..Wished::default() };
    let begun = Instant::now();
    let call = Call { limits, ..sandbox.call(&["sh", "-c", &deaf]) };
    assert_eq!(run(&sandbox.context, &call).expect_err("too long").code(), Code::ToolTimeout);
    assert!(begun.elapsed() >= Duration::from_secs(4), "it was not asked first");
    eventually("no process is left", || (running(&mark) == 0).then_some(()));
    // A tool that handles the signal ends by itself.
    let tidy = format!("trap 'exit 0' TERM; sleep {mark} & wait");
    let call = Call { limits, ..sandbox.call(&["sh", "-c", &tidy]) };
    let begun = Instant::now();
    assert_eq!(run(&sandbox.context, &call).expect_err("too long").code(), Code::ToolTimeout);
    assert!(begun.elapsed() < Duration::from_millis(3_900), "it was killed though it listened");
    // Kill mcpkg with SIGKILL while it runs the tool.
    let scratch = Scratch::new();
    let image = super::image::made().expect("an image");
    let manifest =
        format!("name: test/tool\nversion: 1.0.0\ndescription: A tool\nfrom: {image}\ncommand: sleep {mark}\n");
    scratch.file("tool/enact.yaml", manifest);
    let mut command = scratch.command();
    command.args(["tool", "run", "./tool"]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut running_command = command.spawn().expect("mcpkg starts");
    eventually("the tool runs", || (running(&format!("sleep {mark}")) > 0).then_some(()));
    let tool = scratch.path().join("tool");
    assert_eq!(containers(&tool).len(), 1, "the container is found by its mount");
    running_command.kill().expect("killed");
    running_command.wait().expect("ended");
    eventually("no process is left", || (running(&mark) == 0).then_some(()));
    eventually("no container is left", || containers(&tool).is_empty().then_some(()));
}

#[test]
fn a_dry_run_shows_what_each_runner_would_start() {
    let Some(sandbox) = Sandbox::podman() else { return };
    drop(sandbox);
    let scratch = with_tool(&super::image::made().expect("an image"));
    scratch.file(
        "tool/enact.yaml",
        format!(
            "name: test/tool\nversion: 1.0.0\ndescription: A tool\nfrom: {}\ncommand: echo ran\n\
             env: {{TOKEN: {{secret: true, default: tell-nobody}}}}\n",
            super::image::made().expect("an image")
        ),
    );
    let plan = scratch.json(&["tool", "run", "./tool", "--dry-run"]);
    assert_eq!((&plan["runner"], &plan["verdict"]), (&json!("podman"), &json!("unverified")));
    let command = plan["runners"][0]["command"].to_string();
    assert!(
        command.contains("--network") && command.contains("--cap-drop") && !command.contains("tell-nobody"),
        "{command}"
    );
    assert_eq!(plan["environment"]["TOKEN"], "the manifest");
    let mounts: Vec<&Value> = plan["mounts"].as_array().expect("mounts").iter().map(|mount| &mount["path"]).collect();
    assert!(mounts.contains(&&json!("/workspace")), "{mounts:?}");
    assert!(plan["limits"]["memory"].is_u64());
    assert_eq!(containers(&scratch.path().join("tool")), [""; 0]);
}

/// Returns a scratch folder with a signed and installed tool that prints what it can reach.
fn installed() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("secret", "PRIVATE");
    let script = "cat ../../../secret $HOME/secret 2>/dev/null; cat \"$SECRET_FILE\"; echo left > \"${OUTPUT:-/output}/left.txt\"; \
        cat own.txt; echo no > own.txt; (setsid sleep 5550000.25 > /dev/null 2>&1 &); env | cut -d= -f1 | sort | tr '\\n' ' '";
    let manifest = format!(
        "name: alice/free\nversion: 1.0.0\ndescription: Is free\nenv: {{SECRET_FILE: {{default: {}}}}}\n\
         scripts: {{main: [sh, -c, {}]}}\n",
        scratch.path().join("secret").display(),
        json!(script)
    );
    scratch.file("free/enact.yaml", manifest);
    scratch.file("free/own.txt", "its own\n");
    scratch.ok(&["tool", "publish", "free", "--to", "local"]);
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/free"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    scratch.ok(&["tool", "install", "alice/free"]);
    scratch
}

#[test]
fn unsandboxed_runs_need_a_setting_and_a_grant_and_never_happen_over_http() {
    let scratch = installed();
    let run = |scratch: &Scratch| scratch.run(&["--json", "tool", "run", "alice/free"]);
    let first = run(&scratch);
    if first.stdout.contains("E_RUNNER_UNAVAILABLE") {
        return skipped("bubblewrap does not run here");
    }
    let sandboxed = |ran: &Ran| {
        assert!(ran.stdout.contains("\"runner\": \"bubblewrap\"") && !ran.stdout.contains("PRIVATE"), "{ran}");
    };
    sandboxed(&first);
    let at_terminal = |arguments: &[&str]| {
        let mut command = scratch.command();
        command.args(arguments);
        at_a_terminal(&command, "y\n")
    };
    let refused = scratch.run(&["--json", "tool", "allow", "alice/free", "unsandboxed", "--yes"]);
    assert!(refused.stdout.contains("E_TERMINAL_REQUIRED"), "{refused}");
    let Some((shown, done)) = at_terminal(&["tool", "allow", "alice/free", "unsandboxed"]) else {
        return skipped("there is no script");
    };
    assert!(done && shown.contains("without a sandbox"), "{shown}");
    // Without the setting, the grant is not enough.
    sandboxed(&run(&scratch));
    let (shown, done) = at_terminal(&["tool", "config", "execution.allow_unsandboxed", "true"]).expect("a terminal");
    assert!(done, "{shown}");
    let free = run(&scratch);
    assert_eq!(free.status, 0, "{free}");
    let free: Value = serde_json::from_str(&free.stdout).expect("JSON");
    assert_eq!((&free["runner"], &free["verification"]["status"]), (&json!("none"), &json!("verified")));
    assert!(free["not_limited"].as_array().is_some_and(|limits| limits.contains(&json!("disk"))), "{free}");
    let stdout = free["stdout"].as_str().expect("a text");
    assert!(stdout.starts_with("PRIVATEits own\n") && !stdout.contains("CARGO"), "{stdout}");
    assert_eq!(free["files"][0]["path"], "left.txt");
    // Detached processes end with the run, and the tool's changes to its own files are gone.
    eventually("no process is left", || (running("sleep 5550000.25") == 0).then_some(()));
    let again: Value = serde_json::from_str(&run(&scratch).stdout).expect("JSON");
    assert_eq!(again["stdout"], free["stdout"]);
    let listed = scratch.json(&["tool", "list"]);
    assert_eq!(listed["tools"][0]["unsandboxed"], true);
    assert!(scratch.ok(&["tool", "list"]).contains("verified, no sandbox"));
    // A call over the network always uses the sandbox.
    let server = crate::support::Http::start(&scratch, &[]);
    let called = server.modern("/mcp", "tools/call", json!({ "name": "alice__free", "arguments": {} }));
    assert_eq!(called["result"]["_meta"]["mcpkg/run"]["runner"], "bubblewrap", "{called}");
    drop(server);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let called = client.result("tools/call", json!({ "name": "alice__free", "arguments": {} }));
    assert_eq!(called["_meta"]["mcpkg/run"]["runner"], "none", "{called}");
    client.finish();
    scratch.ok(&["tool", "allow", "alice/free", "unsandboxed", "--revoke"]);
    sandboxed(&run(&scratch));
}

#[test]
fn a_user_can_replace_a_tools_image() {
    let scratch = with_tool(IMAGE);
    let unavailable = error(&run_with(&scratch, &[], &[]));
    assert_eq!(unavailable["code"], "E_RUNNER_UNAVAILABLE");
    scratch.ok(&["tool", "config", "execution.stand_in", IMAGE, "--yes"]);
    let ran = scratch.run(&["--json", "tool", "run", "./tool", "--runner", "bubblewrap"]);
    if ran.stdout.contains("E_RUNNER_UNAVAILABLE") {
        return skipped("bubblewrap does not run here");
    }
    let ran: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&ran["stdout"], &ran["runner"]), (&json!("ran\n"), &json!("bubblewrap")));
}
