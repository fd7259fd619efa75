//! Tests tools with a build step. The step runs in the sandbox, and its result is stored completely or not at all.

use serde_json::{Value, json};

use super::trusting;
use crate::support::{Ran, Scratch, skipped};

/// Returns a scratch folder with a signed tool. `build` is the part of its manifest about the build. Returns `None` if
/// no tool can run on this machine.
fn with_tool(build: &str, script: &str) -> Option<Scratch> {
    let scratch = Scratch::new();
    let manifest = format!(
        "name: alice/built\nversion: 1.0.0\ndescription: Is built\n{build}\nscripts: {{main: [sh, -c, {}]}}\n",
        json!(script)
    );
    scratch.file("built/enact.yaml", manifest);
    scratch.file("built/source.txt", "source\n");
    let program = scratch.file("built/tool.sh", "#!/bin/sh\necho right\n");
    crate::support::set_mode(&program, 0o755);
    scratch.file("true/enact.yaml", "name: test/true\nversion: 1.0.0\ndescription: Does nothing\ncommand: \"true\"\n");
    if scratch.run(&["--json", "tool", "run", "./true"]).stdout.contains("E_RUNNER_UNAVAILABLE") {
        skipped("bubblewrap does not run here");
        return None;
    }
    scratch.ok(&["tool", "publish", "built", "--to", "local"]);
    scratch.ok(&["tool", "key", "new"]);
    let signed = scratch.json(&["tool", "sign", "alice/built"]);
    trusting(&scratch, signed["identity"].as_str().expect("an identity"));
    Some(scratch)
}

fn install(scratch: &Scratch) -> Ran {
    scratch.run(&["--json", "tool", "install", "alice/built"])
}

fn printed(scratch: &Scratch) -> Value {
    scratch.json(&["tool", "run", "alice/built"])["stdout"].clone()
}

/// Returns the outcomes of build runs, the newest first.
fn builds(scratch: &Scratch) -> Vec<Value> {
    let runs = scratch.json(&["tool", "runs"]);
    let runs = runs["runs"].as_array().expect("rows").clone();
    runs.iter().filter(|run| run["action"] == "build").map(|run| run["outcome"].clone()).collect()
}

#[test]
fn a_tool_is_built_once_and_its_result_is_run() {
    let build = "build: ['mkdir -p node_modules/.bin && cat source.txt > node_modules/made && echo again >> source.txt', \
        'cd node_modules && ln -s ../../tool.sh .bin/tool && cd .. && : > .hidden && echo a > a.log']\n\
        hooks: {postinstall: 'cat node_modules/made source.txt > all.txt'}";
    let script = "cat all.txt; ls -A | tr '\\n' ' '; node_modules/.bin/tool; (echo evil > all.txt) 2>&1 | grep -c only";
    let Some(scratch) = with_tool(build, script) else { return };
    let installed = install(&scratch);
    assert_eq!(installed.status, 0, "{installed}");
    let expected = "source\nsource\nagain\n.hidden a.log all.txt enact.yaml node_modules source.txt tool.sh right\n1\n";
    assert_eq!(printed(&scratch), expected);
    assert_eq!(builds(&scratch), [json!("ok")]);
    // If the cache is gone, the result is restored from the database.
    std::fs::remove_dir_all(scratch.path().join(".cache/mcpkg/tools")).expect("a cache");
    assert_eq!(printed(&scratch), expected);
    assert_eq!(builds(&scratch), [json!("ok")]);
    // Neither an edited file nor a replaced link in the cache is used.
    let trees = std::fs::read_dir(scratch.path().join(".cache/mcpkg/tools")).expect("a cache").flatten();
    let edited = trees.filter(|tree| tree.path().join("all.txt").exists()).map(|tree| {
        let link = tree.path().join("node_modules/.bin/tool");
        std::fs::remove_file(&link).expect("a link");
        std::os::unix::fs::symlink("/usr/bin/id", link).expect("a link");
    });
    assert_eq!(edited.count(), 1);
    assert_eq!(printed(&scratch), expected);
}

#[test]
fn x38_a_build_that_fails_fails_the_install_and_leaves_nothing() {
    for build in ["build: ['true', 'echo broken >&2; exit 7', 'true']", "hooks: {postinstall: 'exit 7'}"] {
        let Some(scratch) = with_tool(build, "echo never") else { return };
        let failed = install(&scratch);
        let error: Value = serde_json::from_str(&failed.stdout).expect("JSON");
        assert_eq!((&error["error"]["code"], failed.status), (&json!("E_TOOL_FAILED"), 1), "{failed}");
        assert_eq!(error["error"]["details"]["exit_code"], 7);
        assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]));
        assert_eq!(builds(&scratch), [json!("E_TOOL_FAILED")]);
        let cache = scratch.path().join(".cache/mcpkg/tools");
        assert_eq!(std::fs::read_dir(cache).map_or(0, Iterator::count), 0, "something is left in the cache");
    }
}

#[test]
fn x39_a_build_has_neither_the_network_nor_the_users_files_and_variables() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let Some(scratch) = with_tool("build: 'true'", "true") else { return };
    let secret = scratch.file(".ssh/id_ed25519", "PRIVATE");
    let build = format!(
        "hooks: {{postinstall: {}}}",
        json!(format!(
            "env > env.txt; cat {0} > key.txt 2>&1; echo evil > {0} 2> write.txt; \
             (exec 3<>/dev/tcp/127.0.0.1/{port}) > net.txt 2>&1 && echo reached > net.txt; \
             (bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached') >> net.txt 2>&1; id > id.txt; \
             grep CapEff /proc/self/status > caps.txt; true",
            secret.display()
        ))
    );
    let script = "cat env.txt key.txt net.txt caps.txt";
    let Some(scratch) = with_tool(&build, script) else { return };
    let installed = scratch.finish(scratch.command().env("SECRET_OF_MINE", "tell-nobody").args([
        "--json",
        "tool",
        "install",
        "alice/built",
    ]));
    assert_eq!(installed.status, 0, "{installed}");
    let printed = printed(&scratch).as_str().expect("a text").to_owned();
    assert!(!printed.contains("tell-nobody") && !printed.contains("PRIVATE"), "{printed}");
    assert!(!printed.contains("reached\n") && printed.contains("CapEff:\t0000000000000000"), "{printed}");
    assert!(printed.contains("HOME=/tmp"), "{printed}");
    listener.set_nonblocking(true).expect("set");
    assert!(listener.accept().is_err(), "the build came");
}

#[test]
fn a_build_from_somebody_elses_database_is_repeated() {
    let Some(scratch) = with_tool("build: 'echo made > made.txt'", "cat made.txt") else { return };
    assert_eq!(install(&scratch).status, 0);
    assert_eq!(printed(&scratch), "made\n");
    // The record in the user's files proves that this user built the result. Without the record, the row may come from
    // anybody.
    let records = scratch.state().join("mcpkg/approved/tool-builds");
    std::fs::remove_dir_all(records).expect("records");
    assert_eq!(printed(&scratch), "made\n");
    assert_eq!(builds(&scratch), [json!("ok"), json!("ok")]);
    assert_eq!(printed(&scratch), "made\n");
    assert_eq!(builds(&scratch).len(), 2);
}

#[test]
fn a_build_that_takes_too_much_fails() {
    for (build, code) in [
        ("build: 'mkfifo pipe'", "E_TOOL_OUTPUT"),
        ("build: 'head -c 300000000 /dev/zero > large'", "E_TOOL_"),
        (
            "build: 'i=0; while [ $i -lt 20 ]; do head -c 60000000 /dev/zero > large$i || exit 3; i=$((i+1)); done'",
            "E_TOOL_FAILED",
        ),
    ] {
        let Some(scratch) = with_tool(build, "true") else { return };
        let failed = install(&scratch);
        assert!(failed.status == 1 && failed.stdout.contains(code), "{build}: {failed}");
        assert_eq!(scratch.json(&["tool", "list"])["tools"], json!([]));
    }
}

#[test]
fn a_folder_is_built_before_each_run() {
    let Some(scratch) = with_tool("build: 'cat source.txt > made.txt'", "cat made.txt") else { return };
    let run = || scratch.json(&["tool", "run", "./built"])["stdout"].clone();
    assert_eq!(run(), "source\n");
    scratch.file("built/source.txt", "changed\n");
    assert_eq!(run(), "changed\n");
    assert!(!scratch.path().join("built/made.txt").exists(), "the folder itself was changed");
}

#[test]
fn a_build_uses_the_network_if_a_person_allowed_it() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let tried =
        format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo reached > net.txt || echo kept out > net.txt");
    let build = format!("build: {}", json!(format!("bash -c '{tried}'")));
    let Some(scratch) = with_tool(&build, "cat net.txt") else { return };
    let mut command = scratch.command();
    command.args(["tool", "allow", "alice/built", "network"]);
    let Some((shown, done)) = crate::support::at_a_terminal(&command, "y\n") else {
        return skipped("there is no script");
    };
    assert!(done, "{shown}");
    assert_eq!(install(&scratch).status, 0);
    assert_eq!(printed(&scratch), "reached\n");
}
