//! Tests changes of a plugin's tools, of its command line, and of the machine that runs it.

use mcpkg_core::consent::approvable::Approvable as _;
use serde_json::{Value, json};

use super::{Ground, call, person, person_runs, tools};
use crate::support::plugin::{Play, tool};
use crate::support::{Scratch, eventually, skipped};

/// Returns the tools that the plugin lists later: one has another description, one is missing, and one is new.
fn later() -> Value {
    let text = json!({ "text": { "type": "string" } });
    json!([
        tool("add_note", "Adds a note, and sends it to everybody.", text),
        tool("add", "Adds numbers", json!({ "a": { "type": "integer" } })),
        tool("send", "Sends", json!({})),
    ])
}

#[test]
fn a_changed_tool_is_not_run_by_an_old_plan_and_is_flagged_until_reviewed() {
    let ground = Ground::new();
    ground.play.now(&json!({ "tools": later() }));
    // The call was planned with the old tools, but the started plugin lists the new ones.
    let failed = ground.call("toy:add_note", json!({})).expect_err("another tool");
    assert_eq!((failed.error.code().name(), failed.may_be_done), ("E_PLAN_CHANGED", false), "{}", failed.error);
    assert!(!ground.play.log().iter().any(|line| line.starts_with("called")));
    let listed = ground.listed();
    assert_eq!(listed["state"], "changed");
    assert_eq!(listed["changed"], json!({ "added": ["send"], "changed": ["add_note"], "removed": ["list_notes"] }));
    assert!(
        ground
            .scratch
            .run(&["doctor", "--scope", "user"])
            .stdout
            .contains("3 tools of 'toy' changed since a person last approved them")
    );
    let ran = ground.scratch.run(&["plugin", "check", "toy", "--check"]);
    assert_eq!(ran.status, 3, "{ran}");
    for line in [
        "+ toy:send  Sends",
        "- toy:list_notes",
        "~ toy:add_note  description",
        "+Adds a note, and sends it to everybody.",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {ran}");
    }
    // The consent request reports the change.
    let asked = ground.scratch.run(&["--json", "command", "run", "toy:add_note", "--arg", "text=a", "--yes"]);
    assert!(
        asked.stdout.contains("this tool changed since a person last approved it: `mcpkg plugin check toy`"),
        "{asked}"
    );
    // `--yes` does not count as a person's review.
    assert_eq!(ground.scratch.run(&["plugin", "check", "toy", "--yes"]).status, 3);
    assert_eq!(ground.listed()["state"], "changed");
    let taken = ground.person_runs(&["plugin", "check"], json!({ "name": "toy" })).expect("it is looked at");
    assert_eq!(taken["taken_over"], true);
    assert_eq!(ground.listed()["state"], "well");
    assert_eq!(ground.scratch.run(&["plugin", "check", "--check"]).status, 0);
    ground.call("toy:send", json!({})).expect("an answer");
}

#[test]
fn trusted_annotations_do_not_count_for_a_changed_tool() {
    let hinted = |description: &str| {
        let mut read = tool("read_it", description, json!({}));
        read["annotations"] = json!({ "readOnlyHint": true });
        json!({ "tools": [read] })
    };
    let ground = Ground::playing(hinted("Reads"));
    ground.person_runs(&["plugin", "set"], json!({ "name": "toy", "trust_annotations": true })).expect("it is set");
    let effect = || ground.scratch.json(&["command", "show", "toy:read_it"])["effect"].clone();
    assert_eq!(effect(), "read");
    ground.play.now(&hinted("Reads, and more"));
    assert_eq!(ground.scratch.run(&["plugin", "check", "toy"]).status, 3);
    assert_eq!(effect(), "write");
    ground.person_runs(&["plugin", "check"], json!({ "name": "toy" })).expect("it is looked at");
    assert_eq!(effect(), "read");
}

#[test]
fn a_tool_list_change_of_a_running_plugin_reaches_every_process() {
    let ground = Ground::new();
    ground.play.now(&json!({ "tools": tools(), "call": "tell" }));
    ground.call("toy:add_note", json!({})).expect("an answer");
    let mut more = tools();
    more.as_array_mut().expect("a list").push(tool("late", "Comes late", json!({})));
    ground.play.now(&json!({ "tools": more, "call": "tell" }));
    ground.call("toy:add_note", json!({})).expect("an answer");
    // Search in a shell, which is another process.
    let found = || ground.scratch.json(&["command", "search", "late"])["results"][0]["id"] == "toy:late";
    eventually("the new tool is found", || found().then_some(()));
    assert_eq!(ground.listed()["changed"]["added"], json!(["late"]));
}

#[test]
fn a_plugin_changed_by_another_process_is_restarted_after_a_review() {
    let ground = Ground::new();
    ground.call("toy:add_note", json!({})).expect("an answer");
    let started = ground.play.logged("started").len();
    ground.call("toy:add_note", json!({})).expect("an answer");
    assert_eq!(ground.play.logged("started").len(), started, "one runs, and serves again");
    ground.scratch.ok(&["mcp", "set", "toy", "--env", "TOKEN=four", "--keep-env", "TOKEN"]);
    eventually("what is no longer what was started ends", || ground.play.is_over().then_some(()));
    let nobody = mcpkg_core::op::Context { confirmation: mcpkg_core::op::Confirmation::Nobody, ..ground.person() };
    let failed = call(&nobody, "toy:add_note", json!({})).expect_err("nobody saw it");
    assert_eq!(failed.error.code().name(), "E_UNAPPROVED", "{}", failed.error);
    assert_eq!(ground.listed()["state"], "unapproved");
    ground.call("toy:add_note", json!({})).expect("a person says yes");
    assert!(ground.play.log().contains(&"token of 4 bytes".to_owned()), "{:?}", ground.play.log());
    ground.scratch.ok(&["mcp", "set", "toy", "--enabled", "false"]);
    eventually("what is switched off ends", || ground.play.is_over().then_some(()));
    let spec = ground.scratch.json(&["command", "show", "toy:add_note"]);
    assert_eq!((&spec["runnable"], &spec["why_not"]), (&json!(false), &json!("its plugin is disabled")));
    assert_eq!(ground.listed()["state"], "disabled");
}

#[test]
fn a_plugin_that_is_not_approved_here_is_shown_but_not_run() {
    let ground = Ground::new();
    let started = ground.play.logged("started").len();
    std::fs::remove_dir_all(ground.scratch.state().join("mcpkg/approved/plugins")).expect("nothing is approved");
    let found = ground.scratch.json(&["command", "search", "add note"]);
    assert_eq!(found["results"][0]["id"], "toy:add_note");
    assert_eq!(ground.listed()["state"], "unapproved");
    assert!(
        ground.scratch.run(&["doctor", "--scope", "user"]).stdout.contains("'toy' is not approved on this machine")
    );
    for arguments in [
        &["plugin", "check", "toy"][..],
        &["plugin", "check", "toy", "--yes"],
        &["plugin", "set", "toy", "--timeout", "9"],
    ] {
        let ran = ground.scratch.run(arguments);
        assert!(ran.status == 1 && ran.stderr.contains("is not approved on this machine"), "{arguments:?}: {ran}");
    }
    let nobody = mcpkg_core::op::Context { confirmation: mcpkg_core::op::Confirmation::Nobody, ..ground.person() };
    let failed = call(&nobody, "toy:add_note", json!({})).expect_err("not approved");
    assert_eq!(failed.error.code().name(), "E_UNAPPROVED");
    assert_eq!(ground.play.logged("started").len(), started, "nothing was started");
}

#[test]
fn secrets_of_a_plugin_are_not_stored_or_shown() {
    const SECRET: &str = "correct-horse-battery";
    let scratch = Scratch::with_project();
    let play = Play::new(scratch.path(), &json!({ "tools": tools(), "call": "die" }));
    let secret = scratch.file("secret", SECRET);
    crate::support::set_mode(&secret, 0o600);
    let mut given = play.given();
    given["name"] = json!("toy");
    given["env"].as_array_mut().expect("a list").push(json!("TOKEN=env:MCPKG_TEST_NO_SUCH_TOKEN"));
    let missing = person_runs(&scratch, &["plugin", "add"], given.clone()).expect_err("no secret");
    assert_eq!(missing.code().name(), "E_SECRET_MISSING", "{missing}");
    assert_eq!(scratch.json(&["mcp", "list"])["servers"], json!([]), "nothing was stored");
    // The environment sets the variable, and the plugin prints its value as it dies.
    let mut import = scratch.command();
    let file = json!({ "mcpServers": { "toy": {
        "command": given["command"][0], "args": given["command"].as_array().expect("words")[1..],
        "env": { "TOKEN": "${TOY_TOKEN}", "MCPKG_TEST_PLUGIN": scratch.path().join("play.json") },
    } } });
    let file = scratch.file("mcp.json", file.to_string());
    let imported =
        scratch.finish(import.args(["plugin", "import"]).arg(&file).args(["--keep-env", "MCPKG_TEST_PLUGIN"]));
    assert_eq!(imported.status, 0, "{imported}");
    let plugin = mcpkg_workflow::plugin::plugins::all(&person(&scratch)).expect("plugins").remove(0);
    plugin.approve(&person(&scratch)).expect("it is approved");
    let with_token = |arguments: &[&str]| scratch.finish(scratch.command().env("TOY_TOKEN", SECRET).args(arguments));
    let checked = with_token(&["plugin", "check", "toy"]);
    assert_eq!(checked.status, 3, "{checked}");
    assert!(play.log().contains(&format!("token of {} bytes", SECRET.len())));
    let mut run = scratch.command();
    run.env("TOY_TOKEN", SECRET).args(["command", "run", "toy:add_note"]);
    let Some((shown, ok)) = crate::support::at_a_terminal(&run, "y\n") else { return skipped("there is no script") };
    assert!(!ok && !shown.contains(SECRET), "{shown}");
    let runs = scratch.json(&["workflow", "runs"]);
    let run = scratch.json(&["workflow", "runs", runs["runs"][0]["run"].as_str().expect("a run")]).to_string();
    assert!(run.contains("the token was ***") && !run.contains(SECRET), "{run}");
    let everything = scratch.bytes();
    assert!(!everything.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    assert!(play.is_over());
}
