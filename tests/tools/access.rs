//! Tests access control of the registry that a server offers. It uses the same access keys as /mcp.

use std::io::{BufReader, Write};

use serde_json::json;

use super::team::{Team, body, refused, request};
use super::trust::folder;
use crate::support::http::read_response;
use crate::support::{Request, http};

const TOOL: &str = "/tools/alice/weather";
const VERSION: &str = "/tools/alice/weather/versions/1.0.0";

/// Starts a team's server with alice's tool. Also returns her key.
fn with_tool(arguments: &[&str], visibility: &str) -> (Team, String) {
    let team = Team::start(arguments);
    let key = team.key(&["alice", "--publish", "alice"]);
    let folder = folder(&team.scratch, "alice/weather", "Sun");
    let published = team.publish(&folder, visibility, Some(&key));
    assert_eq!(published.status, 201, "{}", published.text());
    (team, key)
}

/// Paths for reading tools.
const READS: [&str; 7] = [
    "/tools/search?q=weather",
    TOOL,
    VERSION,
    "/tools/alice/weather/versions/1.0.0/download",
    "/tools/alice/weather/versions/1.0.0/attestations",
    "/tools/alice/weather/versions/1.0.0/trust/attestations/x",
    "/tools/alice/nothing",
];

/// Requests that write.
const WRITES: [(&str, &str); 7] = [
    ("POST", "/tools/alice/weather/versions"),
    ("POST", "/tools/alice/weather/versions/1.0.0/yank"),
    ("POST", "/tools/alice/weather/versions/1.0.0/unyank"),
    ("PATCH", "/tools/alice/weather/visibility"),
    ("POST", "/tools/alice/weather/versions/1.0.0/attestations"),
    ("DELETE", "/tools/alice/weather/versions/1.0.0/attestations?auditor=x"),
    ("POST", "/tools/alice/new/versions"),
];

#[test]
fn x62_writing_needs_a_key_that_was_made_for_it() {
    let team = Team::start(&[]);
    // There is no key yet. Requests from this machine can read, but not write.
    assert_eq!(team.ask("GET", "/tools/search", None).status, 200);
    for (method, path) in WRITES {
        let answer = team.tell(method, path, None, &json!({}));
        assert_eq!(refused(&answer), (401, "UNAUTHORIZED".to_owned()), "{method} {path}");
        assert!(answer.header("www-authenticate").is_some_and(|told| told.starts_with("Bearer")), "{path}");
    }
    let plain = team.key(&["plain"]);
    let bob = team.key(&["bob", "--publish", "bob,alicex,alice/weather"]);
    let auditor = team.key(&["carol", "--attest"]);
    for (method, path) in WRITES {
        assert_eq!(refused(&team.tell(method, path, None, &json!({}))).0, 401, "{method} {path}");
        assert_eq!(refused(&team.tell(method, path, Some(&format!("{bob}x")), &json!({}))).0, 401, "{method} {path}");
        let answer = team.tell(method, path, Some(&plain), &json!({}));
        assert_eq!(refused(&answer), (403, "FORBIDDEN".to_owned()), "{method} {path}");
        let (by_bob, by_auditor) = match path.contains("attestations") {
            true => ("FORBIDDEN", None),
            false => ("NAMESPACE_MISMATCH", Some("FORBIDDEN")),
        };
        assert_eq!(
            refused(&team.tell(method, path, Some(&bob), &json!({}))),
            (403, by_bob.to_owned()),
            "{method} {path}"
        );
        if let Some(code) = by_auditor {
            assert_eq!(refused(&team.tell(method, path, Some(&auditor), &json!({}))), (403, code.to_owned()), "{path}");
        }
    }
    // The server refuses this upload before it reads the body, and the client still gets the reason.
    let large = request("POST", "/tools/alice/weather/versions", Some(&plain)).body(vec![b'x'; 20 << 20]);
    assert_eq!(refused(&team.server.send(&large)), (403, "FORBIDDEN".to_owned()));
    assert_eq!(team.scratch.json(&["tool", "search", "weather"])["total"], 0);
}

#[test]
fn x61_only_its_publishers_see_a_private_tool() {
    let (team, key) = with_tool(&[], "private");
    let (reader, bob) = (team.key(&["reader"]), team.key(&["bob", "--publish", "bob", "--attest"]));
    let status = |path: &str, key: &str| team.ask("GET", path, Some(key)).status;
    for path in &READS[1..5] {
        assert_eq!(status(path, &key), 200, "{path}");
        for other in [&reader, &bob] {
            let hidden = team.ask("GET", path, Some(other));
            let missing = team.ask("GET", &path.replace("weather", "nothing"), Some(other));
            assert_eq!((refused(&hidden), missing.status), ((404, "NOT_FOUND".to_owned()), 404), "{path}");
            assert_eq!(hidden.text(), missing.text().replace("nothing", "weather"), "{path} tells that it is there");
        }
    }
    let attest = team.tell("POST", READS[4], Some(&bob), &json!({ "bundle": { "payloadType": "x" } }));
    assert!(matches!(attest.status, 404 | 422), "{}", attest.text());
    let search = |key: &str| body(&team.ask("GET", READS[0], Some(key)))["total"].clone();
    assert_eq!((search(&key), search(&reader)), (json!(0), json!(0)));
    // An agent over HTTP with another key does not see the tool either.
    let learn = json!({ "name": "enact__learn", "arguments": { "tool": "alice/weather" } });
    let ask = http::modern("/mcp", "tools/call", learn).with("Authorization", &format!("Bearer {reader}"));
    let answer = team.server.send(&ask).message();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "E_TOOL_NOT_FOUND", "{answer}");
    // The user at the shell sees the tool. The publisher can make it visible to others.
    assert_eq!(team.scratch.json(&["tool", "info", "alice/weather"])["versions"][0]["version"], "1.0.0");
    let show =
        |word: &str| team.tell("PATCH", "/tools/alice/weather/visibility", Some(&key), &json!({ "visibility": word }));
    assert_eq!(body(&show("unlisted"))["visibility"], "unlisted");
    assert_eq!((status(TOOL, &reader), search(&reader)), (200, json!(0)));
    assert_eq!(show("public").status, 200);
    assert_eq!((status(TOOL, &reader), search(&reader)), (200, json!(1)));
    assert_eq!(refused(&show("secret")), (422, "VALIDATION_ERROR".to_owned()));
    show("private");
    assert_eq!((status(TOOL, &reader), search(&reader)), (404, json!(0)));
}

#[test]
fn a_key_of_one_project_does_not_reach_the_registry() {
    let (team, _) = with_tool(&[], "public");
    team.scratch.ok(&["project", "create", "p"]);
    let key = team.key(&["of-p", "--project", "p"]);
    for path in READS {
        assert_eq!(refused(&team.ask("GET", path, Some(&key))), (403, "FORBIDDEN".to_owned()), "{path}");
    }
    for (method, path) in WRITES {
        assert_eq!(refused(&team.tell(method, path, Some(&key), &json!({}))).0, 403, "{method} {path}");
    }
    let both = team.scratch.run(&["access", "create", "x", "--project", "p", "--publish", "alice"]);
    assert!(both.status == 2 && both.stderr.contains("need a key for all projects"), "{both}");
    for bad in ["", "*", "Alice", "alice/", "alice,,bob"] {
        let ran = team.scratch.run(&["access", "create", "x", &format!("--publish={bad}")]);
        assert_eq!(ran.status, 2, "{bad}: {ran}");
    }
}

#[test]
fn keys_name_the_namespaces_they_publish_in() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--read-only", "--publish", "alice,bob/utils", "--attest"]);
    let shown = team.scratch.json(&["access", "show", "ci"]);
    assert_eq!((&shown["publish"], &shown["attest"]), (&json!(["alice", "bob/utils"]), &json!(true)), "{shown}");
    let listed = team.scratch.ok(&["access", "list"]);
    assert!(listed.contains("read, publish alice bob/utils, attest"), "{listed}");
    assert!(team.scratch.ok(&["access", "show", "ci"]).contains("may: read, publish alice bob/utils, attest"));
    // Over MCP this key can only read. Once revoked, it is refused.
    let call = json!({ "name": "create_prompt", "arguments": { "name": "x", "content": "x" } });
    let call = http::modern("/mcp", "tools/call", call).with("Authorization", &format!("Bearer {key}"));
    assert_eq!(team.server.send(&call).status, 403);
    assert_eq!(team.tell("POST", "/tools/alice/x/versions/1.0.0/yank", Some(&key), &json!({})).status, 404);
    team.scratch.ok(&["access", "revoke", "ci", "--yes"]);
    assert_eq!(refused(&team.tell("POST", "/tools/alice/x/versions/1.0.0/yank", Some(&key), &json!({}))).0, 401);
}

#[test]
fn x53_access_control_holds_for_every_identity() {
    for identity in ["mcpkg", "enact"] {
        let (team, key) = with_tool(&["--as", identity], "public");
        assert_eq!(team.server.address.ip().to_string(), "127.0.0.1");
        for (name, value) in [
            ("Host", "evil.example"),
            ("Origin", "http://evil.example"),
            ("Origin", "null"),
            ("Host", "localhost.evil.example:80"),
        ] {
            let answer = team.server.send(&request("GET", TOOL, Some(&key)).with(name, value));
            assert_eq!(refused(&answer), (403, "FORBIDDEN".to_owned()), "{name}: {value}");
        }
        assert_eq!(refused(&team.ask("GET", TOOL, None)), (401, "UNAUTHORIZED".to_owned()));
        let twice = request("GET", TOOL, Some(&key)).and("Authorization", "Bearer x");
        assert_eq!(refused(&team.server.send(&twice)), (400, "BAD_REQUEST".to_owned()));
        assert_eq!(team.ask("GET", TOOL, Some(&key)).status, 200);
        let metrics = Request::new("GET", "/metrics").with("Authorization", &format!("Bearer {key}"));
        let metrics = team.server.send(&metrics).text();
        assert!(metrics.contains("place=\"registry\",status=\"200\""), "{metrics}");
    }
}

#[test]
fn requests_are_counted_and_their_bodies_limited() {
    let team = Team::start(&["--rate-limit", "3"]);
    let answers: Vec<_> = (0..8).map(|_| team.ask("GET", "/tools/search", None)).collect();
    let over = answers.iter().find(|answer| answer.status == 429).expect("one too many");
    assert_eq!(refused(over), (429, "RATE_LIMITED".to_owned()));
    assert!(over.header("retry-after").is_some());

    let (team, key) = with_tool(&["--timeout", "1"], "public");
    let long = request("POST", &format!("{VERSION}/yank"), Some(&key)).body(vec![b' '; 2 << 20]);
    assert_eq!(refused(&team.server.send(&long)), (413, "BUNDLE_TOO_LARGE".to_owned()));
    // One client sends an incomplete body and waits; another closes its sending side.
    let mut slow = team.server.connect();
    let promised = request("POST", &format!("{VERSION}/yank"), Some(&key)).with("Content-Length", "99").body("{");
    slow.write_all(&promised.bytes()).expect("sent");
    let late = read_response(&mut BufReader::new(slow)).expect("an answer");
    assert_eq!(refused(&late), (408, "BAD_REQUEST".to_owned()));
    let mut cut = team.server.connect();
    cut.write_all(&promised.bytes()).expect("sent");
    cut.shutdown(std::net::Shutdown::Write).expect("no more comes");
    let answer = read_response(&mut BufReader::new(cut));
    assert!(answer.map_or(true, |answer| answer.status == 400));
    assert_eq!(body(&team.ask("GET", VERSION, Some(&key)))["yanked"], false);
    for odd in ["[]", "7", "{", "\u{0}"] {
        let yank = request("POST", &format!("{VERSION}/yank"), Some(&key)).body(odd);
        assert_eq!(refused(&team.server.send(&yank)), (400, "BAD_REQUEST".to_owned()), "{odd}");
    }
    let other = team.tell("POST", &format!("{VERSION}/yank"), Some(&key), &json!({ "replacement_version": "1.0.0" }));
    assert_eq!(refused(&other), (422, "VALIDATION_ERROR".to_owned()));
}

#[test]
fn x60_paths_that_leave_the_registry_are_refused() {
    let (team, key) = with_tool(&[], "public");
    for path in [
        "/tools/../../etc/passwd",
        "/tools/%2e%2e/%2e%2e/etc/passwd",
        "/tools/alice/weather/versions/../../..",
        "/tools/alice/weather/versions/%2e%2e/download",
        "/tools/alice/weather/versions/1.0.0%00/download",
        "/tools/alice/weather%00",
        "/tools/alice%2fweather",
        "/tools/alice/weather/versions/1.0.0%2f..%2f1.0.0",
        "//tools/alice/weather",
        "/",
        "",
    ] {
        let (status, _) = refused(&team.ask("GET", path, Some(&key)));
        assert!(matches!(status, 400 | 404), "{path}: {status}");
    }
}

#[test]
fn x52_concurrent_answers_are_not_mixed_up() {
    let team = Team::start(&[]);
    let names = ["alice", "bob", "carol", "dave"];
    let keys: Vec<String> = names.iter().map(|name| team.key(&[name, "--publish", name])).collect();
    for (name, key) in names.iter().zip(&keys) {
        let folder = folder(&team.scratch, &format!("{name}/secret"), &format!("of {name}"));
        assert_eq!(team.publish(&folder, "private", Some(key)).status, 201);
    }
    std::thread::scope(|scope| {
        for (name, key) in names.iter().zip(&keys) {
            let team = &team;
            scope.spawn(move || {
                for round in 0..12 {
                    let own = team.ask("GET", &format!("/tools/{name}/secret/versions/1.0.0"), Some(key));
                    assert_eq!(body(&own)["published_by"]["username"], *name);
                    let other = names[(round + 1) % names.len()];
                    let expected = if other == *name { 200 } else { 404 };
                    assert_eq!(team.ask("GET", &format!("/tools/{other}/secret"), Some(key)).status, expected);
                }
            });
        }
    });
}
