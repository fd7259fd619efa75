//! Tests long calls as tasks: the call is answered at once, and the task can be polled, watched and cancelled. Its
//! result outlives the server, and only its requester can see it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deploy::place::Place;
use crate::deploy::remotes::{hung, runs, started, with_git_of};
use crate::support::{CAPABILITIES, Client, Http, Request, Scratch, eventually, finds, http, shell_wait, signal};

/// Returns the capabilities of a client that supports the tasks extension.
fn extension() -> Value {
    json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

/// Starts a server over stdio for a client with the extension.
pub fn client(place: &Place) -> Client {
    Client::modern_with(with_git_of(place).arg("serve"), extension())
}

/// Returns a place with a git source, and a git that answers only once the file `go` exists.
fn slow() -> Place {
    slow_on(Scratch::new())
}

/// Like [`slow`], in an existing folder.
pub fn slow_on(scratch: Scratch) -> Place {
    let place = Place::on(scratch).and_git_source(&["codex: project"]);
    let git = finds("git").expect("git").display().to_string();
    let wait = shell_wait(&place.scratch.path().join("go"));
    let script = format!("#!/bin/sh\n{wait}\nexec '{git}' \"$@\"\n");
    let shim = place.write("bin/git", script);
    std::fs::set_permissions(shim, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    place
}

pub fn call(place: &Place, tool: &str) -> Value {
    json!({ "name": tool, "arguments": place.arguments(json!({})) })
}

/// Makes a call that takes long, and returns the id of its task.
#[track_caller]
pub fn task(client: &mut Client, call: Value) -> Value {
    let begun = client.result("tools/call", call);
    assert_eq!((&begun["resultType"], &begun["status"]), (&json!("task"), &json!("working")), "{begun}");
    assert!(begun["ttlMs"].as_u64() > Some(0) && begun["pollIntervalMs"].as_u64() > Some(0), "{begun}");
    json!({ "taskId": begun["taskId"] })
}

/// Polls until the task has ended.
#[track_caller]
fn ended(client: &mut Client, task: &Value) -> Value {
    eventually("the task ends", || {
        let task = client.result("tasks/get", task.clone());
        (task["status"] != "working").then_some(task)
    })
}

#[test]
fn a_long_call_is_answered_at_once_and_its_result_is_polled() {
    let place = slow();
    let mut client = client(&place);
    let plan = task(&mut client, call(&place, "plan"));
    assert_eq!(client.result("tasks/get", plan.clone())["status"], "working");
    // Other calls do not wait for the task.
    client.result("prompts/list", json!({}));
    client.result("tools/call", json!({ "name": "list_prompts", "arguments": {} }));
    place.write("go", "");
    let done = ended(&mut client, &plan);
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(false)), "{done:#}");
    assert_eq!(done["result"]["structuredContent"]["command"], "plan", "{done:#}");
    // A client without the extension waits for the answer itself.
    let mut plain = Client::modern_with(with_git_of(&place).arg("serve"), json!({}));
    assert_eq!(plain.result("tools/call", call(&place, "plan"))["structuredContent"]["ok"], true);
    assert_eq!(plain.error("tasks/get", plan)["code"], -32021);
}

#[test]
fn a_result_outlives_its_server_but_is_stored_without_the_token() {
    let place = slow();
    let mut first = client(&place);
    let deploy = task(&mut first, call(&place, "deploy"));
    place.write("go", "");
    let done = ended(&mut first, &deploy);
    let token = done["result"]["structuredContent"]["data"]["confirm_token"].as_str().expect("a token").to_owned();
    first.kill();
    drop(first);
    let mut second = client(&place);
    let kept = second.result("tasks/get", deploy);
    assert_eq!(kept["status"], "completed", "{kept:#}");
    assert_eq!(
        kept["result"]["structuredContent"]["data"]["plan_hash"],
        done["result"]["structuredContent"]["data"]["plan_hash"]
    );
    assert!(!kept.to_string().contains(&token), "the token was stored: {kept:#}");
    // The client that received the token can still use it.
    let arguments = place.arguments(json!({ "yes": true, "confirm_token": token }));
    let applying = second.result("tools/call", json!({ "name": "deploy_apply", "arguments": arguments }));
    let applied = match applying["taskId"].is_string() {
        true => ended(&mut second, &json!({ "taskId": applying["taskId"] }))["result"].take(),
        false => applying,
    };
    assert_eq!(applied["structuredContent"]["data"]["applied"], true, "{applied:#}");
}

#[test]
fn a_cancelled_task_also_ends_what_it_started() {
    let place = hung();
    let mut client = client(&place);
    let plan = task(&mut client, call(&place, "plan"));
    assert_eq!(client.result("tasks/cancel", plan.clone()), json!({ "resultType": "complete" }));
    let done = ended(&mut client, &plan);
    assert_eq!(done["status"], "cancelled", "{done:#}");
    assert!(done.get("result").is_none() && done.get("error").is_none(), "{done:#}");
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
    // Cancelling a task again is not an error, but cancelling or reading an unknown task is.
    client.result("tasks/cancel", plan);
    let unknown = json!({ "taskId": "01900000-0000-7000-8000-000000000000" });
    for method in ["tasks/get", "tasks/cancel"] {
        assert_eq!(client.error(method, unknown.clone())["code"], -32602);
    }
    assert_eq!(client.error("tasks/get", json!({}))["code"], -32602);
    for gone in ["tasks/list", "tasks/result"] {
        assert_eq!(client.error(gone, json!({}))["code"], -32601);
    }
}

#[test]
fn a_task_whose_server_was_killed_has_failed() {
    let place = hung();
    let mut first = client(&place);
    let plan = task(&mut first, call(&place, "plan"));
    // Another server of the same user shows a running task, but cannot cancel it.
    let mut second = client(&place);
    assert_eq!(second.result("tasks/get", plan.clone())["status"], "working");
    assert!(
        second.error("tasks/cancel", plan.clone())["message"]
            .as_str()
            .is_some_and(|why| why.contains("another server"))
    );
    eventually("the plan asks its remote", || (started(&place).len() == 2).then_some(()));
    first.kill();
    let done = ended(&mut second, &plan);
    assert_eq!(done["status"], "failed", "{done:#}");
    assert!(done["error"]["message"].as_str().is_some_and(|why| why.contains("The server stopped")), "{done:#}");
    // What the killed server left behind is removed.
    let left = std::fs::read_dir(place.scratch.path()).expect("a folder");
    assert_eq!(left.flatten().filter(|entry| entry.file_name().to_string_lossy().contains(".tasks-")).count(), 0);
    started(&place).into_iter().for_each(|id| signal(id, "KILL"));
}

#[test]
fn a_server_that_is_asked_to_end_fails_its_tasks_in_time() {
    let place = hung();
    let mut first = client(&place);
    let plan = task(&mut first, call(&place, "plan"));
    let begun = Instant::now();
    signal(first.pid(), "TERM");
    assert!(first.ended().success());
    assert!(begun.elapsed() < Duration::from_secs(10));
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
    let done = client(&place).result("tasks/get", plan);
    assert_eq!(done["status"], "failed", "{done:#}");
}

#[test]
fn a_stream_notifies_of_the_tasks_that_it_names() {
    let place = hung();
    let mut client = client(&place);
    let plan = task(&mut client, call(&place, "plan"));
    let listening = client.post("subscriptions/listen", json!({ "notifications": { "taskIds": [plan["taskId"]] } }));
    assert_eq!(client.notification("notifications/tasks")["params"]["status"], "working");
    client.result("tasks/cancel", plan.clone());
    let told = client.notification("notifications/tasks");
    assert_eq!(
        (&told["params"]["taskId"], &told["params"]["status"]),
        (&plan["taskId"], &json!("cancelled")),
        "{told}"
    );
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening, "{told}");
}

/// Starts a server over HTTP.
fn over_http(command: &mut Command) -> Http {
    Http::spawn(command.args(["--json", "serve", "--http", "--port", "0"]))
}

/// Returns a request with an access key, from a client with the extension.
fn asked(key: &str, method: &str, params: Value) -> Request {
    http::modern("/mcp", method, params)
        .edited(|message| message["params"]["_meta"][CAPABILITIES] = extension())
        .with("Authorization", &format!("Bearer {key}"))
}

#[test]
fn over_http_only_the_key_that_made_a_task_can_see_it() {
    let place = hung();
    let key = |arguments: &[&str]| {
        let made = place.scratch.json(&[&["access", "create"], arguments].concat());
        made["key"].as_str().expect("a key").to_owned()
    };
    let (mine, other) = (key(&["mine"]), key(&["other"]));
    let server = over_http(&mut with_git_of(&place));
    let begun = server.send(&asked(&mine, "tools/call", call(&place, "plan"))).message();
    assert_eq!(begun["result"]["resultType"], "task", "{begun}");
    let plan = json!({ "taskId": begun["result"]["taskId"] });
    let stream =
        server.open(&asked(&mine, "subscriptions/listen", json!({ "notifications": { "taskIds": [plan["taskId"]] } })));
    assert_eq!(stream.message()["params"]["notifications"]["taskIds"][0], plan["taskId"]);
    assert_eq!(stream.message()["params"]["status"], "working");
    // For another key, the task does not exist. With that key, it cannot be watched, polled, answered or cancelled.
    let strangers = server.open(&asked(
        &other,
        "subscriptions/listen",
        json!({ "notifications": { "taskIds": [plan["taskId"]] } }),
    ));
    assert_eq!(strangers.message()["params"]["notifications"]["taskIds"], Value::Null);
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let mut params = plan.clone();
        if method == "tasks/update" {
            params["inputResponses"] = json!({});
        }
        let refused = server.send(&asked(&other, method, params)).message();
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    let status = |key: &str| server.send(&asked(key, "tasks/get", plan.clone())).message()["result"]["status"].clone();
    assert_eq!(status(&mine), "working");
    // Reads are answered while the task runs.
    assert!(server.send(&asked(&other, "prompts/list", json!({}))).message()["result"].is_object());
    assert_eq!(
        server.send(&asked(&mine, "tasks/cancel", plan.clone())).message()["result"],
        json!({ "resultType": "complete" })
    );
    assert_eq!(eventually("it is cancelled", || Some(status(&mine)).filter(|status| status != "working")), "cancelled");
    assert_eq!(stream.message()["params"]["status"], "cancelled");
    for id in started(&place) {
        eventually("git has ended", || (!runs(id)).then_some(()));
    }
}

#[test]
fn a_key_that_may_only_read_has_no_tasks() {
    let place = slow();
    let key = |arguments: &[&str]| {
        let made = place.scratch.json(&[&["access", "create"], arguments].concat());
        made["key"].as_str().expect("a key").to_owned()
    };
    let (reader, writer) = (key(&["reader", "--read-only"]), key(&["writer"]));
    let server = over_http(&mut with_git_of(&place));
    let request = |key: &str| asked(key, "tools/call", call(&place, "plan"));
    let answer = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.send(&request(&reader)).message());
        // Meanwhile, the same call with a key that may write becomes a task.
        let task = server.send(&request(&writer)).message();
        assert_eq!(task["result"]["resultType"], "task", "{task}");
        place.write("go", "");
        waiting.join().expect("an answer")
    });
    assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
}
