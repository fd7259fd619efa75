//! Notifications of changes over stdio: after commands at the shell, a restore, and the choice of another project.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Scratch, Wait, eventually};

const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";

/// Returns the notifications received so far, and those that follow until none comes for 400 ms.
fn notifications(client: &mut Client) -> Vec<String> {
    let mut methods: Vec<String> =
        client.seen.drain(..).filter_map(|line| line["method"].as_str().map(str::to_owned)).collect();
    while let Wait::Line(line) = client.wait(Duration::from_millis(400)) {
        methods.extend(line["method"].as_str().map(str::to_owned));
    }
    methods
}

#[test]
fn a_shell_edit_reaches_running_servers() {
    let scratch = Scratch::with_project();
    let mut legacy = Client::legacy(&scratch, "2025-06-18");
    let mut modern = Client::modern(&scratch);
    let filter = json!({ "promptsListChanged": true });
    let listen = modern.post("subscriptions/listen", json!({ "notifications": filter }));
    modern.notification("notifications/subscriptions/acknowledged");
    // Wait for the server to start, because its watch begins a moment later.
    legacy.result("ping", json!({}));
    scratch.ok(&["prompt", "create", "a", "x"]);
    legacy.notification(PROMPTS);
    let told = modern.notification(PROMPTS);
    let id = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(id, &json!(listen), "{told}");
    assert_eq!(legacy.result("prompts/list", json!({}))["prompts"][0]["name"], "a");
    // The newer client gets only the notifications that it asked for.
    scratch.ok(&["resource", "create", "r", "file:///r", "x"]);
    legacy.notification(RESOURCES);
    assert_eq!(notifications(&mut modern), Vec::<String>::new());
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "select", "q"]);
    let mut both = notifications(&mut legacy);
    both.sort();
    both.dedup();
    assert_eq!(both, [PROMPTS, RESOURCES]);
    modern.notification(PROMPTS);
    // When the client closes its input, its open `subscriptions/listen` request gets its result.
    modern.close_input();
    assert!(modern.answer(&json!(listen))["result"].is_object());
    assert!(modern.ended().success());
    legacy.finish();
}

#[test]
fn refused_changes_and_reads_send_no_notification() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.result("ping", json!({}));
    assert_eq!(scratch.run(&["prompt", "create", "a", "x"]).status, 1);
    scratch.ok(&["prompt", "list"]);
    assert_eq!(notifications(&mut client), Vec::<String>::new());
    client.finish();
}

#[test]
fn a_bound_folder_wins_over_the_selected_project() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "of-q", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    assert_eq!(client.result("prompts/list", json!({}))["prompts"], json!([]));
    scratch.ok(&["project", "select", "q", "--here"]);
    assert_eq!(client.result("prompts/list", json!({}))["prompts"][0]["name"], "of-q");
    let mut named = Client::start(&scratch, &["--project", "p"]).shake_hands("2025-06-18");
    assert_eq!(named.result("prompts/list", json!({}))["prompts"], json!([]));
    let mut missing = Client::start(&scratch, &["--project", "nope"]).shake_hands("2025-06-18");
    assert_eq!(
        missing.error("prompts/list", json!({}))["message"]
            .as_str()
            .map(|m| m.starts_with("Project 'nope' does not exist")),
        Some(true)
    );
}

#[test]
fn a_restore_reaches_running_servers() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "old", "x"]);
    scratch.ok(&["backup", "b.db"]);
    scratch.ok(&["prompt", "create", "new", "x"]);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    let names = |client: &mut Client| -> Vec<Value> {
        let listed = client.result("prompts/list", json!({}));
        listed["prompts"].as_array().expect("prompts").iter().map(|prompt| prompt["name"].clone()).collect()
    };
    assert_eq!(names(&mut client), ["new", "old"]);
    let refused = scratch.run(&["restore", "b.db", "--yes"]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("Servers are connected"), "{refused}");
    let done = scratch.ok(&["restore", "b.db", "--yes", "--while-serving"]);
    assert!(done.contains("the previous content is in <SCRATCH>/") && done.contains(".before-restore-"), "{done}");
    client.notification(PROMPTS);
    assert_eq!(names(&mut client), ["old"]);
    assert!(!client.call("create_prompt", json!({ "name": "after", "content": "x" })).1);
    client.finish();
    eventually("no server is connected any more", || {
        (scratch.run(&["restore", "b.db", "--yes"]).status == 0).then_some(())
    });
    assert_eq!(scratch.json(&["prompt", "list"])["prompts"].as_array().expect("prompts").len(), 1);
}

#[test]
fn an_open_stream_does_not_keep_the_server_running_or_share_its_id() {
    let scratch = Scratch::with_project();
    for _ in 0..10 {
        let mut client = Client::modern(&scratch);
        let listen = client.post("subscriptions/listen", json!({ "notifications": { "promptsListChanged": true } }));
        let params = json!({ "_meta": crate::support::modern_meta() });
        client.send(&json!({ "jsonrpc": "2.0", "id": listen, "method": "tools/list", "params": params }));
        client.close_input();
        let answers = [client.answer(&json!(listen)), client.answer(&json!(listen))];
        assert!(answers.iter().any(|answer| answer["error"]["code"] == -32600), "{answers:?}");
        assert!(client.ended().success());
    }
}

#[test]
fn the_first_skill_changes_only_the_short_list_of_tools() {
    const TOOLS: &str = "notifications/tools/list_changed";
    let scratch = Scratch::with_project();
    let mut short = Client::legacy(&scratch, "2025-11-25");
    let mut whole = Client::start(&scratch, &["--groups", "all"]).shake_hands("2025-11-25");
    for client in [&mut short, &mut whole] {
        client.result("ping", json!({}));
    }
    let lists = |client: &mut Client| client.result("tools/list", json!({})).to_string().contains("update_skill");
    assert!(!lists(&mut short) && lists(&mut whole));
    scratch.ok(&["skill", "create", "review", "# Look", "--description", "Reviews a change"]);
    short.notification(TOOLS);
    assert!(lists(&mut short));
    assert!(!notifications(&mut whole).contains(&TOOLS.to_owned()));
    // A second skill does not change the list of tools.
    scratch.ok(&["skill", "create", "fix", "# Mend", "--description", "Mends a fault"]);
    assert!(!notifications(&mut short).contains(&TOOLS.to_owned()));
    scratch.ok(&["skill", "delete", "review", "--yes"]);
    scratch.ok(&["skill", "delete", "fix", "--yes"]);
    short.notification(TOOLS);
    assert!(!lists(&mut short));
    short.finish();
    whole.finish();
}
