//! Tests `serve --audit-log`, which writes a line about each call on every transport, with names and sizes but without contents.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Client, Http, Mount, Request, Scratch, eventually, http, ignores_hangups, signal, skipped};

fn scratch() -> (Scratch, PathBuf) {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "Look at it."]);
    scratch.ok(&["resource", "create", "notes", "memo://notes", "Some notes."]);
    let log = scratch.path().join("audit.jsonl");
    (scratch, log)
}

fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Waits for this many lines.
#[track_caller]
fn wait_for(log: &Path, count: usize) -> Vec<Value> {
    let found = eventually("lines of the audit log", || Some(lines(log)).filter(|lines| lines.len() >= count));
    assert_eq!(found.len(), count, "{found:#?}");
    found
}

/// The facts of a line that do not depend on time: requester, project, method, tool, subject, outcome and code.
fn facts(line: &Value) -> String {
    let shown = ["requester", "project", "method", "tool", "subject", "outcome", "code"];
    let shown = shown.map(|name| line[name].as_str().unwrap_or("-"));
    shown.join(" ")
}

fn path(log: &Path) -> &str {
    log.to_str().expect("UTF-8")
}

#[test]
fn each_call_over_stdio_has_a_line() {
    let (scratch, log) = scratch();
    let mut client = Client::start(&scratch, &["--audit-log", path(&log)]).shake_hands("2025-06-18");
    for _ in 0..3 {
        client.result("prompts/get", json!({ "name": "review" }));
    }
    client.error("prompts/get", json!({ "name": "none" }));
    client.result("resources/read", json!({ "uri": "memo://notes" }));
    client.result("ping", json!({}));
    client.call("update_prompt", json!({ "name": "review", "content": "Look twice." }));
    client.call("update_prompt", json!({ "name": "none", "content": "x" }));
    for _ in 0..3 {
        client.call("get_prompt", json!({ "name": "review" }));
    }
    client.call("get_prompt", json!({ "name": "none" }));
    client.error("tools/call", json!({ "name": "nothing", "arguments": {} }));
    client.error("no/method", json!({}));
    client.finish();
    let found = lines(&log);
    let told: Vec<String> = found.iter().map(facts).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    user p initialize - - ok -
    user p prompts/get - review ok -
    user p prompts/get - review ok -
    user p prompts/get - review ok -
    user p prompts/get - none error E_NOT_FOUND
    user p resources/read - memo://notes ok -
    user p tools/call update_prompt review ok -
    user p tools/call update_prompt none error E_NOT_FOUND
    user p tools/call get_prompt review ok -
    user p tools/call get_prompt review ok -
    user p tools/call get_prompt review ok -
    user p tools/call get_prompt none error E_NOT_FOUND
    user p tools/call nothing - error -32602
    user p no/method - - error -32601
    ");
    assert_eq!(found[0]["client"], "test-client");
    for line in &found {
        assert!(line["time"].as_str().is_some_and(|time| time.len() == "2026-11-21T10:00:00.000Z".len()), "{line}");
        assert!(line["bytes_in"].as_u64() > Some(30) && line["bytes_out"].as_u64() > Some(20), "{line}");
        assert!(line["micros"].is_u64() && line["from"].is_null(), "{line}");
    }
}

#[test]
fn each_call_over_http_has_a_line_with_its_key_and_refusals_too() {
    let (scratch, log) = scratch();
    scratch.ok(&["project", "create", "q"]);
    let key = scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let server = Http::start(&scratch, &["--audit-log", path(&log), "--registry"]);
    let bearer = |request: Request| request.with("Authorization", &format!("Bearer {key}"));
    let ask = |request: Request| server.send(&bearer(request)).status;
    let mut count = 0;
    let mut check = |expected: &str| {
        count += 1;
        let found = wait_for(&log, count);
        assert_eq!(facts(&found[count - 1]), expected);
        assert_eq!(found[count - 1]["from"], "127.0.0.1");
    };
    for _ in 0..3 {
        assert_eq!(ask(http::modern("/mcp", "prompts/get", json!({ "name": "review" }))), 200);
        check("key:ci p prompts/get - review ok -");
    }
    ask(http::modern("/projects/q/mcp", "prompts/get", json!({ "name": "review" })));
    check("key:ci q prompts/get - review error E_NOT_FOUND");
    let update = json!({ "name": "update_prompt", "arguments": { "name": "review", "content": "New." } });
    assert_eq!(ask(http::modern("/mcp", "tools/call", update)), 200);
    check("key:ci p tools/call update_prompt review ok -");
    let wrong = json!({ "name": "update_prompt", "arguments": { "name": "none", "content": "New." } });
    ask(http::modern("/mcp", "tools/call", wrong));
    check("key:ci p tools/call update_prompt none error E_NOT_FOUND");
    // A request without a key.
    assert_eq!(server.send(&http::modern("/mcp", "prompts/list", json!({}))).status, 401);
    check("- - POST - /mcp refused 401");
    assert_eq!(ask(http::modern("/projects/none/mcp", "prompts/list", json!({}))), 404);
    check("- - POST - /projects/none/mcp refused 404");
    assert_eq!(ask(Request::new("GET", "/registry/tools/search")), 200);
    check("key:ci p GET - /registry/tools/search ok -");
    // In a session, rmcp answers some calls, and mcpkg's own fast path answers others.
    let begun = server.send(&bearer(http::message("/mcp", &http::hello("2025-03-26"))));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    check("key:ci p initialize - - ok -");
    let told = http::message("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert_eq!(ask(told.with("Mcp-Session-Id", &session)), 202);
    ask(http::in_session("/mcp", &session, "resources/templates/list", json!({})));
    check("key:ci p resources/templates/list - - ok -");
    let one =
        |id: u8, uri: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": uri } });
    let batch = http::message("/mcp", &json!([one(1, "memo://notes"), one(2, "memo://none")]));
    assert_eq!(ask(batch.with("Mcp-Session-Id", &session)), 200);
    let found = wait_for(&log, count + 2);
    let told: Vec<String> = found[count..].iter().map(facts).collect();
    assert_eq!(
        told,
        ["key:ci p resources/read - memo://notes ok -", "key:ci p resources/read - memo://none error E_NOT_FOUND"]
    );
    // Neither health checks nor unknown paths are calls.
    for path in ["/healthz", "/readyz", "/none"] {
        ask(Request::new("GET", path));
    }
    let count = count + 2;
    ask(Request::new("DELETE", "/mcp").with("Mcp-Session-Id", &session));
    let found = wait_for(&log, count + 1);
    assert_eq!(facts(&found[count]), "key:ci p DELETE - /mcp ok -");
}

#[test]
fn what_is_refused_within_a_batch_has_its_outcome() {
    let (scratch, log) = scratch();
    let key = scratch.json(&["access", "create", "reader", "--read-only"])["key"].as_str().expect("a key").to_owned();
    let server = Http::start(&scratch, &["--audit-log", path(&log)]);
    let ask = |message: &Value| http::message("/mcp", message).with("Authorization", &format!("Bearer {key}"));
    let begun = server.send(&ask(&http::hello("2025-03-26")));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.send(&ask(&told).with("Mcp-Session-Id", &session)).status, 202);
    let update = json!({ "name": "update_prompt", "arguments": { "name": "review", "content": "x" } });
    let requests = [("tools/call", update), ("no/method", json!({})), ("prompts/get", json!({ "name": "review" }))];
    let batch: Value = requests
        .iter()
        .map(|(method, params)| json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params }))
        .collect();
    assert_eq!(server.send(&ask(&batch).with("Mcp-Session-Id", &session)).messages().len(), 3);
    let told: Vec<String> = wait_for(&log, 4).iter().map(facts).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    key:reader p initialize - - ok -
    key:reader p tools/call update_prompt review refused 403
    key:reader p no/method - - error -32601
    key:reader p prompts/get - review ok -
    ");
}

#[test]
fn calls_over_the_older_transport_have_lines() {
    let (scratch, log) = scratch();
    let server = Http::start(&scratch, &["--audit-log", path(&log)]);
    let events = server.open(&Request::new("GET", "/sse"));
    let address = events.data();
    let send = |message: &Value| assert_eq!(server.send(&http::message(&address, message)).status, 202);
    send(&http::hello("2024-11-05"));
    events.message();
    send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": { "name": "review" } }));
    events.message();
    let found = wait_for(&log, 3);
    let told: Vec<String> = found.iter().map(facts).collect();
    assert_eq!(told, ["user p GET - /sse ok -", "user p initialize - - ok -", "user p prompts/get - review ok -"]);
    assert_eq!(found[2]["from"], "127.0.0.1");
}

#[test]
fn the_log_contains_no_contents_and_no_secrets() {
    let (scratch, log) = scratch();
    scratch.ok(&["prompt", "create", "leaky", "hunter2-in-content"]);
    let key = scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let server = Http::start(&scratch, &["--audit-log", path(&log), "--registry"]);
    let ask = |request: Request| server.send(&request.with("Authorization", &format!("Bearer {key}")));
    let planted = json!({
        "name": "leaky", "content": "hunter2-in-argument", "description": "hunter2-in-description",
    });
    ask(http::modern("/mcp", "prompts/get", json!({ "name": "leaky", "arguments": { "a": "hunter2-in-template" } })));
    ask(http::modern("/mcp", "tools/call", json!({ "name": "update_prompt", "arguments": planted })));
    ask(http::modern("/mcp", "tools/call", json!({ "name": "none", "arguments": { "name": "hunter2-in-foreign" } })));
    ask(http::modern("/mcp", "resources/read", json!({ "uri": "https://user:hunter2-in-uri@host/a" })));
    ask(http::modern("/mcp", "prompts/list", json!({ "cursor": "hunter2-in-cursor" }))
        .with("X-Token", "hunter2-in-header"));
    ask(Request::new("GET", "/registry/tools/search?token=hunter2-in-query").with("Cookie", "hunter2-in-cookie"));
    server.send(&http::modern("/mcp", "prompts/list", json!({})).with("Authorization", "Bearer hunter2-in-key"));
    let found = wait_for(&log, 7);
    let text = std::fs::read_to_string(&log).expect("the log");
    assert!(!text.contains("hunter2") && !text.contains(&key), "{text}");
    assert!(!text.contains(key.rsplit('_').next().expect("a secret")), "{text}");
    assert_eq!(found[3]["subject"], "https://***@host/a");
}

#[test]
fn a_full_log_becomes_an_older_one_and_hang_up_opens_it_again() {
    let (scratch, log) = scratch();
    let arguments = ["--audit-log", path(&log), "--audit-log-size", "1024", "--audit-log-keep", "2"];
    let mut client = Client::start(&scratch, &arguments).shake_hands("2025-06-18");
    for _ in 0..40 {
        client.result("prompts/get", json!({ "name": "review" }));
        // Pause, because lines that arrive together are written at once, which could exceed the size of a file.
        std::thread::sleep(std::time::Duration::from_millis(8));
    }
    let older = |n: u8| scratch.path().join(format!("audit.jsonl.{n}"));
    eventually("older files", || older(2).exists().then_some(()));
    for file in [&log, &older(1), &older(2)] {
        assert!(std::fs::metadata(file).expect("a file").len() <= 2048, "{}", file.display());
    }
    assert!(!older(3).exists());
    if ignores_hangups() {
        return skipped("this process ignores SIGHUP");
    }
    let moved = scratch.path().join("moved");
    std::fs::rename(&log, &moved).expect("the log is renamed");
    signal(client.pid(), "HUP");
    eventually("the log is opened again", || log.exists().then_some(()));
    client.result("prompts/get", json!({ "name": "review" }));
    wait_for(&log, 1);
    client.finish();
}

#[test]
fn a_full_disk_is_reported_and_stops_calls_if_the_log_is_required() {
    for required in [false, true] {
        let (scratch, _) = scratch();
        let small = scratch.path().join("small");
        let Some(_mount) = Mount::in_memory("256k", &small) else { return skipped("nothing can be mounted") };
        let log = small.join("audit.jsonl");
        let stderr = scratch.path().join("stderr");
        let mut command = scratch.command();
        command.args(["--json", "serve", "--http", "--port", "0", "--audit-log", path(&log)]);
        if required {
            command.arg("--audit-required");
        }
        let server = Http::spawn_with(&mut command, Stdio::from(std::fs::File::create(&stderr).expect("a file")));
        let ask = || server.send(&http::modern("/mcp", "prompts/get", json!({ "name": "review" })));
        let ready = || server.send(&Request::new("GET", "/readyz"));
        assert_eq!(ask().status, 200);
        wait_for(&log, 1);
        let filler = small.join("filler");
        let written = std::fs::write(&filler, vec![0; 1 << 20]);
        assert!(written.is_err(), "the disk is full");
        // The last page of the log still has space for some lines.
        let refused = eventually("the full disk is noticed", || {
            let answer = ask();
            let ready = ready();
            ready.text().contains("the audit log cannot be written: the disk is full").then_some((answer, ready.status))
        });
        let told = std::fs::read_to_string(&stderr).expect("the log");
        assert!(told.contains("cannot write the audit log"), "{told}");
        let doctor = scratch.run(&["doctor"]);
        assert!(doctor.stdout.contains("audit.jsonl cannot be written: "), "{}", doctor.stdout);
        if required {
            assert_eq!(refused.1, 503);
            let answer = ask();
            assert_eq!((answer.status, answer.header("retry-after")), (503, Some("30")));
            assert!(answer.text().contains("cannot write its audit log"), "{}", answer.text());
        } else {
            assert_eq!((ask().status, refused.1), (200, 200));
        }
        let metrics = |name: &str| server.wait_for_gauge(name, 1);
        if !required {
            metrics("mcpkg_audit_log_failing");
        }
        // When the disk has space again, the waiting lines are written, and calls are accepted.
        let before = lines(&log).len();
        std::fs::remove_file(&filler).expect("the filler goes");
        eventually("calls go on", || (ready().text() == "ready\n" && ask().status == 200).then_some(()));
        eventually("the lines are there", || (lines(&log).len() > before + 1).then_some(()));
    }
}

#[test]
fn the_log_of_a_server_that_ended_is_not_checked_any_more() {
    let (scratch, log) = scratch();
    let recorded = || scratch.column("SELECT value FROM setting WHERE key LIKE 'audit.log.%'");
    let client = Client::start(&scratch, &["--audit-log", path(&log)]).shake_hands("2025-06-18");
    assert_eq!(recorded(), [path(&log)]);
    client.finish();
    assert!(recorded().is_empty());
    // A server that ends does not delete the record of another server's log.
    let other = scratch.path().join("other.jsonl");
    let first = Client::start(&scratch, &["--audit-log", path(&log)]).shake_hands("2025-06-18");
    let second = Client::start(&scratch, &["--audit-log", path(&other)]).shake_hands("2025-06-18");
    first.finish();
    assert_eq!(recorded(), [path(&other)]);
    second.finish();
    assert!(recorded().is_empty());
}

#[test]
fn lines_that_do_not_fit_into_the_queue_are_counted_and_reported() {
    let (scratch, _) = scratch();
    let small = scratch.path().join("small");
    let Some(_mount) = Mount::in_memory("6m", &small) else { return skipped("nothing can be mounted") };
    let log = small.join("audit.jsonl");
    let server = Http::start(&scratch, &["--audit-log", path(&log)]);
    let session = server.session("/mcp", "2025-03-26");
    let filler = small.join("filler");
    assert!(std::fs::write(&filler, vec![0; 8 << 20]).is_err(), "the disk is full");
    let get =
        |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": { "name": "review" } });
    let batch = http::message("/mcp", &(0..64).map(get).collect::<Value>()).with("Mcp-Session-Id", &session);
    // The queue holds 10,000 lines, and the last page of the log still has space for some more.
    let (mut calls, mut lost) = (1, 0);
    while lost == 0 {
        assert!(calls < 20_000, "no line is lost");
        for _ in 0..20 {
            assert_eq!(server.send(&batch).messages().len(), 64);
        }
        let metrics = server.send(&Request::new("GET", "/metrics")).text();
        let found =
            metrics.lines().find_map(|line| line.strip_prefix("mcpkg_audit_log_lost_lines_total ")?.parse().ok());
        (calls, lost) = (calls + 20 * 64 + 1, found.expect("a number"));
    }
    assert!(calls > 10_000, "lines were lost after {calls} calls");
    std::fs::remove_file(&filler).expect("the filler goes");
    // Each call has a line, or is counted in a line about lost lines.
    let reported = eventually("each call is in the log", || {
        let text = std::fs::read_to_string(&log).expect("the log");
        let is_complete = text.ends_with('\n') && text.contains(r#""lost":"#);
        let lines = if is_complete { lines(&log) } else { Vec::new() };
        let reported: u64 = lines.iter().filter_map(|line| line["lost"].as_u64()).sum();
        let written = lines.iter().filter(|line| line["lost"].is_null()).count() as u64;
        (written + reported == calls).then_some(reported)
    });
    assert!(reported >= lost, "{reported} are reported, and {lost} were lost");
}

#[test]
fn a_log_that_cannot_be_opened_stops_the_start() {
    let (scratch, _) = scratch();
    let ran = scratch.run(&["serve", "--audit-log", path(&scratch.path().join("none/audit.jsonl"))]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("Cannot open the audit log"), "{}", ran.stderr);
    let ran = scratch.run(&["serve", "--audit-required"]);
    assert_eq!(ran.status, 2);
}
