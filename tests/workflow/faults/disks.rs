//! Tests full and read-only disks.

use serde_json::{Value, json};

use super::{WAITING, approved, begun, requests_noted};
use crate::faults::{assert_refused, assert_sound, fill};
use crate::support::api::Trouble;
use crate::support::{Client, Mount, Scratch, eventually, skipped};
use crate::workflow::runs::{Ground, code, execute};

/// Returns the API's answer that lets the run of [`WAITING`] continue.
fn go() -> Trouble {
    Trouble::Status(200, vec![("content-type", "application/json".to_owned())], "[{\"id\": \"go\"}]")
}

#[test]
fn no_request_is_sent_if_the_disk_is_too_full_to_record_it() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    let Some(_mount) = Mount::in_memory("12m", scratch.path()) else {
        return skipped("a full disk needs root and tmpfs");
    };
    let ground = Ground::on(scratch);
    let scratch = &ground.scratch;
    let mut client = Client::start(scratch, &[]).shake_hands("2025-06-18");
    let id = begun(&ground, &mut client, WAITING);
    eventually("it waits", || (ground.api.count("GET") >= 2).then_some(()));
    let filler = fill(scratch, "filler");
    // The write-ahead log still has room, so writes succeed for a while.
    let state = || scratch.json(&["workflow", "runs", &id])["state"].clone();
    for _ in 0..6 {
        if eventually_or_not(|| state() == "interrupted") {
            break;
        }
    }
    assert_eq!(state(), "interrupted");
    let run = ground.run();
    let (noted, sent) = (requests_noted(&run), ground.api.seen().len());
    assert!(noted == sent || noted == sent + 1, "{sent} requests came, and {noted} were noted");
    // Neither the server nor a shell sends anything now.
    ground.api.trouble([go()]);
    assert_refused(scratch, &["workflow", "resume", &id], "E_DISK_FULL");
    let large = json!({ "yaml": format!("# {}\n{WAITING}", "x".repeat(200_000)), "wait_s": 0 });
    assert_eq!(code(&execute(&mut client, large)), "E_DISK_FULL");
    assert_eq!(ground.api.seen().len(), sent);
    client.finish();
    std::fs::remove_file(filler).expect("the filler goes");
    scratch.ok(&["workflow", "resume", &id]);
    assert_eq!(ground.run()["state"], "succeeded");
    assert_eq!(ground.api.count("POST /api/v1/databases"), 1);
    assert_sound(scratch);
}

/// Returns whether a condition becomes true before the deadline.
fn eventually_or_not(f: impl Fn() -> bool) -> bool {
    let until = std::time::Instant::now() + crate::support::DEADLINE;
    while std::time::Instant::now() < until {
        if f() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    false
}

#[test]
fn reads_work_on_a_read_only_disk() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    let Some(mount) = Mount::in_memory("12m", scratch.path()) else {
        return skipped("a read-only file system needs root and tmpfs");
    };
    let ground = Ground::on(scratch);
    let scratch = &ground.scratch;
    scratch.file("waiting.yaml", WAITING);
    let mut client = Client::start(scratch, &[]).shake_hands("2025-06-18");
    let arguments = approved(&ground, &mut client, WAITING, &json!({}));
    client.finish();
    mount.remount("ro");
    let found = scratch.ok(&["command", "search", "create", "app"]);
    assert!(found.contains("hosting:apps:create"), "{found}");
    for read in [
        &["command", "show", "hosting:apps:create"][..],
        &["command", "providers"],
        &["workflow", "validate", "waiting.yaml"],
        &["workflow", "plan", "waiting.yaml"],
        &["workflow", "render", "waiting.yaml"],
        &["workflow", "runs"],
        &["catalog", "list"],
        &["draft", "list"],
    ] {
        scratch.ok(read);
    }
    let mut client = Client::start(scratch, &[]).shake_hands("2025-06-18");
    let mut call = |tool: &str, arguments: Value| {
        let result = client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        result["structuredContent"].clone()
    };
    assert_eq!(call("search_commands", json!({ "query": "create app" }))["results"][0]["id"], "hosting:apps:create");
    assert_eq!(call("validate_workflow", json!({ "yaml": WAITING }))["errors"], json!([]));
    let steps = call("dry_run", json!({ "yaml": WAITING }))["plan"]["steps"].clone();
    assert_eq!(steps.as_array().expect("steps").len(), 2);
    assert_eq!(call("propose_workflow", json!({ "yaml": WAITING }))["error"]["code"], "E_READ_ONLY");
    assert_eq!(call("execute", json!({ "yaml": WAITING }))["error"]["code"], "E_READ_ONLY");
    assert_eq!(call("execute", arguments)["error"]["code"], "E_READ_ONLY");
    client.finish();
    assert_refused(scratch, &["command", "run", "hosting:apps:list", "--yes"], "E_READ_ONLY");
    assert!(ground.api.seen().is_empty());
}
