//! Tests the traces and metrics that a server sends to a receiver of OpenTelemetry, on every transport.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Http, Request, Scratch, eventually, http, skipped};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// How a receiver treats requests.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Takes,
    /// Accepts connections and never answers.
    Hangs,
    /// Answers with this status.
    Refuses(u16),
}

/// A receiver of OTLP over HTTP.
struct Collector {
    address: SocketAddr,
    received: Receiver<Received>,
    /// The connections that get no answer. They stay open.
    _held: Receiver<TcpStream>,
}

struct Received {
    path: String,
    /// The headers, in lower case.
    head: String,
    body: Value,
}

impl Collector {
    fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let ((sender, received), (holder, held)) = (channel(), channel());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = receive(stream, mood, &sender, &holder);
            }
        });
        Self { address, received, _held: held }
    }

    /// Sets the variables of `command`, so that the server it starts sends its spans here.
    fn serve(&self, command: &mut Command) {
        command
            .arg("--otlp")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.address))
            .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2")
            .env("OTEL_SERVICE_NAME", "prompts")
            .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
            .env("OTEL_BSP_SCHEDULE_DELAY", "50")
            .env("OTEL_METRIC_EXPORT_INTERVAL", "100");
    }

    /// Waits for this many spans, and returns them with their resource. Fails if there are more.
    #[track_caller]
    fn spans(&self, count: usize) -> Vec<Value> {
        let mut spans = Vec::new();
        let end = Instant::now() + Duration::from_secs(30);
        while spans.len() < count {
            let left = end.saturating_duration_since(Instant::now());
            let received = self.received.recv_timeout(left).unwrap_or_else(|_| panic!("{count} spans: {spans:#?}"));
            assert!(received.head.contains("content-type: application/json"), "{}", received.head);
            assert!(received.head.contains("authorization: bearer hunter2"), "{}", received.head);
            if received.path != "/v1/traces" {
                continue;
            }
            for group in list(&received.body["resourceSpans"]) {
                let resource = attributes(&group["resource"]);
                assert_eq!(
                    (resource["service.name"].as_str(), resource["deployment.environment.name"].as_str()),
                    ("prompts", "test")
                );
                assert!(resource.contains_key("service.version") && resource.contains_key("service.instance.id"));
                spans.extend(list(&group["scopeSpans"]).iter().flat_map(|scope| list(&scope["spans"]).clone()));
            }
        }
        assert_eq!(spans.len(), count, "{spans:#?}");
        spans
    }

    /// Waits until `is_it` is true for the newest value of a metric. Returns the metric's data points.
    #[track_caller]
    fn metric(&self, name: &str, is_it: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        eventually(name, || {
            let received = self.received.recv_timeout(Duration::from_secs(20)).expect("metrics");
            let metrics: Vec<Value> = list(&received.body["resourceMetrics"])
                .iter()
                .flat_map(|group| list(&group["scopeMetrics"]))
                .flat_map(|scope| list(&scope["metrics"]).clone())
                .collect();
            let metric = metrics.iter().find(|metric| metric["name"] == name)?;
            let points = ["histogram", "sum", "gauge"].map(|kind| list(&metric[kind]["dataPoints"]).clone()).concat();
            is_it(&points).then_some(points)
        })
    }
}

fn receive(mut stream: TcpStream, mood: Mood, to: &Sender<Received>, held: &Sender<TcpStream>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).expect("JSON");
    let _ = to.send(Received { path, head, body });
    let status = match mood {
        Mood::Hangs => {
            let _ = held.send(stream);
            return Ok(());
        }
        Mood::Takes => 200,
        Mood::Refuses(status) => status,
    };
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}")
}

fn list(value: &Value) -> &Vec<Value> {
    static NONE: Vec<Value> = Vec::new();
    value.as_array().unwrap_or(&NONE)
}

fn attributes(of: &Value) -> BTreeMap<String, String> {
    let pair = |pair: &Value| {
        let value = pair["value"]["stringValue"].as_str().expect("a string");
        (pair["key"].as_str().expect("a key").to_owned(), value.to_owned())
    };
    list(&of["attributes"]).iter().map(pair).collect()
}

/// Formats a span as one line: its name, whether it has the client's span as its parent, whether it failed, and its
/// attributes except the addresses.
fn shown(span: &Value) -> String {
    let parent = match (span["traceId"].as_str(), span.get("parentSpanId").and_then(Value::as_str)) {
        (Some(TRACE), Some(SPAN)) => "child",
        (Some(own), None) if own.len() == 32 && own != TRACE => "root",
        other => panic!("{other:?}"),
    };
    assert_eq!((span["kind"].as_u64(), span["spanId"].as_str().map(str::len)), (Some(2), Some(16)), "{span}");
    let time = |key: &str| span[key].as_str().and_then(|nanos| nanos.parse::<u64>().ok()).expect("nanoseconds");
    assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    let status = if span["status"]["code"] == 2 { "failed" } else { "ok" };
    let mut text = format!("{} | {parent} {status} |", span["name"].as_str().expect("a name"));
    for (key, value) in attributes(span) {
        if !matches!(key.as_str(), "mcp.method.name" | "network.transport" | "network.protocol.name" | "client.address")
        {
            write!(text, " {key}={value}").expect("a string");
        }
    }
    text
}

fn all(spans: &[Value]) -> String {
    spans.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn scratch() -> Option<Scratch> {
    if !cfg!(feature = "otlp") {
        skipped("built without otlp");
        return None;
    }
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "review", "Look at it."]);
    scratch.ok(&["resource", "create", "notes", "memo://notes", "Some notes."]);
    Some(scratch)
}

/// Adds a trace context to the parameters of a request.
fn traced(mut params: Value, flags: &str) -> Value {
    params["_meta"] = json!({ "traceparent": format!("00-{TRACE}-{SPAN}-{flags}"), "tracestate": "vendor=opaque" });
    params
}

#[test]
fn each_call_over_stdio_has_a_span_below_the_clients() {
    let Some(scratch) = scratch() else { return };
    let collector = Collector::start(Mood::Takes);
    let mut command = scratch.command();
    collector.serve(command.arg("serve"));
    let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
    // mcpkg's fast path reads the first one from the database, and caches the answer.
    for _ in 0..2 {
        client.result("prompts/get", traced(json!({ "name": "review" }), "01"));
    }
    client.result("prompts/get", json!({ "name": "review", "_meta": { "traceparent": "00-invalid" } }));
    client.error("prompts/get", traced(json!({ "name": "none" }), "01"));
    client.result("resources/read", traced(json!({ "uri": "memo://notes" }), "01"));
    let update = json!({ "name": "update_prompt", "arguments": { "name": "review", "content": "Look twice." } });
    client.result("tools/call", traced(update, "01"));
    let wrong = json!({ "name": "update_prompt", "arguments": { "name": "none", "content": "x" } });
    client.result("tools/call", traced(wrong, "01"));
    client.error("tools/call", json!({ "name": "nothing", "arguments": {} }));
    // Pings have no spans. Neither do calls in a trace that the client does not record.
    client.result("ping", json!({}));
    client.result("prompts/list", traced(json!({}), "00"));
    client.error("no/method", json!({}));
    client.finish();
    let spans = collector.spans(10);
    insta::assert_snapshot!(all(&spans), @"
    initialize | root ok | jsonrpc.request.id=1 mcp.protocol.version=2025-06-18
    prompts/get review | child ok | gen_ai.prompt.name=review jsonrpc.request.id=2 mcp.protocol.version=2025-06-18
    prompts/get review | child ok | gen_ai.prompt.name=review jsonrpc.request.id=3 mcp.protocol.version=2025-06-18
    prompts/get review | root ok | gen_ai.prompt.name=review jsonrpc.request.id=4 mcp.protocol.version=2025-06-18
    prompts/get none | child failed | error.type=-32602 gen_ai.prompt.name=none jsonrpc.request.id=5 mcp.protocol.version=2025-06-18 mcpkg.error.code=E_NOT_FOUND rpc.response.status_code=-32602
    resources/read | child ok | jsonrpc.request.id=6 mcp.protocol.version=2025-06-18 mcp.resource.uri=memo://notes
    tools/call update_prompt | child ok | gen_ai.operation.name=execute_tool gen_ai.tool.name=update_prompt jsonrpc.request.id=7 mcp.protocol.version=2025-06-18
    tools/call update_prompt | child failed | error.type=tool_error gen_ai.operation.name=execute_tool gen_ai.tool.name=update_prompt jsonrpc.request.id=8 mcp.protocol.version=2025-06-18 mcpkg.error.code=E_NOT_FOUND
    tools/call nothing | root failed | error.type=-32602 gen_ai.operation.name=execute_tool gen_ai.tool.name=nothing jsonrpc.request.id=9 mcp.protocol.version=2025-06-18 rpc.response.status_code=-32602
    no/method | root failed | error.type=-32601 jsonrpc.request.id=12 mcp.protocol.version=2025-06-18 rpc.response.status_code=-32601
    ");
    assert!(spans[1]["traceState"] == "vendor=opaque" && spans[3].get("traceState").is_none(), "{spans:#?}");
    assert_eq!(attributes(&spans[0])["network.transport"], "pipe");
}

#[test]
fn each_call_over_http_has_a_span_and_the_metrics_count_all() {
    let Some(scratch) = scratch() else { return };
    let collector = Collector::start(Mood::Takes);
    let mut command = scratch.command();
    collector.serve(command.args(["--json", "serve", "--http", "--sse", "--port", "0"]));
    let server = Http::spawn(&mut command);
    let context = |message: &mut Value| {
        for (key, value) in traced(json!({}), "01")["_meta"].as_object().expect("metadata") {
            message["params"]["_meta"][key] = value.clone();
        }
    };
    let mut shown_so_far = String::new();
    let mut check = |count| {
        let spans = collector.spans(count);
        assert!(spans.iter().all(|span| attributes(span)["network.transport"] == "tcp"));
        assert!(spans.iter().all(|span| attributes(span)["client.address"] == "127.0.0.1"));
        writeln!(shown_so_far, "{}", all(&spans)).expect("a string");
    };
    for _ in 0..2 {
        let get = http::modern("/mcp", "prompts/get", json!({ "name": "review" })).edited(context);
        assert_eq!(server.send(&get).status, 200);
        check(1);
    }
    let update = json!({ "name": "update_prompt", "arguments": { "name": "review", "content": "New." } });
    server.send(&http::modern("/mcp", "tools/call", update).edited(context));
    check(1);
    server.send(&http::modern("/mcp", "prompts/get", json!({ "name": "none" })).edited(context));
    check(1);
    // In a session, with a batch.
    let session = server.session("/mcp", "2025-03-26");
    check(1);
    let ask =
        |id: u8, uri: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": uri } });
    let batch = http::message("/mcp", &json!([ask(1, "memo://notes"), ask(2, "memo://none")]));
    assert_eq!(server.send(&batch.with("Mcp-Session-Id", &session)).status, 200);
    check(2);
    // Over the older transport, where the front answers.
    let events = server.open(&Request::new("GET", "/sse"));
    let address = events.data();
    let send = |message: &Value| assert_eq!(server.send(&http::message(&address, message)).status, 202);
    send(&http::hello("2024-11-05"));
    events.message();
    send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    send(
        &json!({ "jsonrpc": "2.0", "id": "a", "method": "prompts/get", "params": traced(json!({ "name": "review" }), "01") }),
    );
    events.message();
    check(2);
    let text = shown_so_far.replace(&session, "SESSION");
    insta::assert_snapshot!(text, @"
    prompts/get review | child ok | gen_ai.prompt.name=review jsonrpc.request.id=1 mcp.protocol.version=2026-07-28
    prompts/get review | child ok | gen_ai.prompt.name=review jsonrpc.request.id=1 mcp.protocol.version=2026-07-28
    tools/call update_prompt | child ok | gen_ai.operation.name=execute_tool gen_ai.tool.name=update_prompt jsonrpc.request.id=1 mcp.protocol.version=2026-07-28
    prompts/get none | child failed | error.type=-32602 gen_ai.prompt.name=none jsonrpc.request.id=1 mcp.protocol.version=2026-07-28 mcpkg.error.code=E_NOT_FOUND rpc.response.status_code=-32602
    initialize | root ok | jsonrpc.request.id=0 mcp.protocol.version=2025-03-26
    resources/read | root ok | jsonrpc.request.id=1 mcp.resource.uri=memo://notes mcp.session.id=SESSION
    resources/read | root failed | error.type=-32602 jsonrpc.request.id=2 mcp.resource.uri=memo://none mcp.session.id=SESSION mcpkg.error.code=E_NOT_FOUND rpc.response.status_code=-32602
    initialize | root ok | jsonrpc.request.id=0 mcp.protocol.version=2024-11-05
    prompts/get review | child ok | gen_ai.prompt.name=review jsonrpc.request.id=a mcp.protocol.version=2024-11-05
    ");
    // The metrics count each call once, and contain only names of items that exist.
    let count = |point: &Value| point["count"].as_str().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    let points = collector.metric("mcp.server.operation.duration", |points| points.iter().map(count).sum::<u64>() == 9);
    let mut series: Vec<String> = points
        .iter()
        .map(|point| {
            let all = attributes(point);
            let values =
                ["mcp.method.name", "gen_ai.tool.name", "gen_ai.prompt.name", "error.type", "mcp.protocol.version"];
            let values = values.map(|key| all.get(key).map_or("-", String::as_str));
            format!("{} {}", count(point), values.join(" "))
        })
        .collect();
    series.sort();
    insta::assert_snapshot!(series.join("\n"), @"
    1 initialize - - - 2024-11-05
    1 initialize - - - 2025-03-26
    1 prompts/get - - -32602 2026-07-28
    1 prompts/get - review - 2024-11-05
    1 resources/read - - - -
    1 resources/read - - -32602 -
    1 tools/call update_prompt - - 2026-07-28
    2 prompts/get - review - 2026-07-28
    ");
    // The metrics for Prometheus have the same names here, without `_total`.
    let is_mcp = |point: &&Value| {
        attributes(point)
            == BTreeMap::from(
                [("place", "mcp"), ("status", "200")].map(|(key, value)| (key.to_owned(), value.to_owned())),
            )
    };
    collector.metric("mcpkg_requests", |points| points.iter().find(is_mcp).is_some_and(|point| point["asInt"] == "6"));
    let points = collector.metric("mcpkg_open_streams", |points| points[0]["asInt"] == "1");
    assert!(attributes(&points[0]).is_empty());
    let points = collector.metric("mcpkg_request_duration_seconds", |points| !points.is_empty());
    let buckets = list(&points[0]["bucketCounts"]).len();
    assert_eq!(buckets, list(&points[0]["explicitBounds"]).len() + 1);
}

#[test]
fn what_is_sent_contains_no_contents_and_no_secrets() {
    let Some(scratch) = scratch() else { return };
    scratch.ok(&["prompt", "create", "leaky", "hunter2-in-content"]);
    let key = scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let collector = Collector::start(Mood::Takes);
    let mut command = scratch.command();
    collector.serve(command.args(["--json", "serve", "--http", "--port", "0"]));
    let server = Http::spawn(&mut command);
    let ask = |request: Request| server.send(&request.with("Authorization", &format!("Bearer {key}")));
    let planted = json!({ "name": "leaky", "content": "hunter2-in-argument", "description": "hunter2-in-description" });
    ask(http::modern("/mcp", "prompts/get", json!({ "name": "leaky", "arguments": { "a": "hunter2-in-template" } })));
    ask(http::modern("/mcp", "tools/call", json!({ "name": "update_prompt", "arguments": planted })));
    ask(http::modern("/mcp", "tools/call", json!({ "name": "none", "arguments": { "name": "hunter2-in-foreign" } })));
    ask(http::modern("/mcp", "resources/read", json!({ "uri": "https://user:hunter2-in-uri@host/a" })));
    ask(http::modern("/mcp", "prompts/list", json!({ "cursor": "hunter2-in-cursor" }))
        .with("X-Token", "hunter2-in-header"));
    ask(http::modern("/mcp", "prompts/list", json!({})).edited(|message| message["id"] = json!(key.as_str())));
    ask(http::in_session("/mcp", "hunter2-in-session", "prompts/list", json!({})));
    server.send(&http::modern("/mcp", "prompts/list", json!({})).with("Authorization", "Bearer hunter2-in-key"));
    let count = |point: &Value| point["count"].as_str().and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    let (mut bodies, mut spans) = (String::new(), 0);
    eventually("the calls have spans and are counted", || {
        let received = collector.received.recv_timeout(Duration::from_secs(20)).expect("something");
        bodies.push_str(&received.body.to_string());
        spans += list(&received.body["resourceSpans"][0]["scopeSpans"][0]["spans"]).len();
        let metrics = &received.body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let metric = list(metrics).iter().find(|metric| metric["name"] == "mcp.server.operation.duration")?;
        (list(&metric["histogram"]["dataPoints"]).iter().map(count).sum::<u64>() == 7 && spans == 7).then_some(())
    });
    assert!(bodies.contains("https://***@host/a"), "{bodies}");
    assert!(!bodies.contains("hunter2") && !bodies.contains(&key), "{bodies}");
    assert!(!bodies.contains(key.rsplit('_').next().expect("a secret")), "{bodies}");
}

/// Starts a server over HTTP whose spans go to `collector`, and returns the file with its log.
fn logging(scratch: &Scratch, collector: &Collector) -> (Http, std::path::PathBuf) {
    let stderr = scratch.path().join("stderr");
    let mut command = scratch.command();
    collector.serve(command.args(["--json", "serve", "--http", "--port", "0"]));
    // Send no metrics, so that the test receives only requests with spans.
    command.env("OTEL_METRIC_EXPORT_INTERVAL", "3600000");
    let log = Stdio::from(std::fs::File::create(&stderr).expect("a file"));
    (Http::spawn_with(&mut command, log), stderr)
}

#[test]
fn a_receiver_that_hangs_delays_nothing_and_what_is_dropped_is_counted() {
    let Some(scratch) = scratch() else { return };
    let collector = Collector::start(Mood::Hangs);
    let (server, stderr) = logging(&scratch, &collector);
    let session = server.session("/mcp", "2025-03-26");
    // The receiver does not answer the first request. 2,048 spans are queued, and the others are dropped.
    collector.received.recv_timeout(Duration::from_secs(20)).expect("the first request");
    let get =
        |id: usize| json!({ "jsonrpc": "2.0", "id": id, "method": "prompts/get", "params": { "name": "review" } });
    for _ in 0..40 {
        let batch = http::message("/mcp", &(0..64).map(get).collect::<Value>());
        let begun = Instant::now();
        assert_eq!(server.send(&batch.with("Mcp-Session-Id", &session)).messages().len(), 64);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    server.wait_for_gauge("mcpkg_otlp_dropped_spans_total", 40 * 64 - 2_048);
    let begun = Instant::now();
    server.end();
    server.wait_until_it_ends();
    let mut server = server;
    assert!(server.ended().success());
    assert!(begun.elapsed() < Duration::from_secs(9), "the server waited for {:?}", begun.elapsed());
    let told = std::fs::read_to_string(&stderr).expect("the log");
    assert!(told.matches("cannot send traces and metrics").count() <= 1, "{told}");
}

#[test]
fn a_receiver_that_refuses_is_reported_once() {
    let Some(scratch) = scratch() else { return };
    // Each status, and whether mcpkg drops the spans because another attempt would fail too.
    for (status, is_lost) in [(401, true), (503, false)] {
        let collector = Collector::start(Mood::Refuses(status));
        let (server, stderr) = logging(&scratch, &collector);
        for _ in 0..3 {
            assert_eq!(server.send(&http::modern("/mcp", "prompts/get", json!({ "name": "review" }))).status, 200);
            collector.received.recv_timeout(Duration::from_secs(20)).expect("a request");
        }
        if is_lost {
            server.wait_for_gauge("mcpkg_otlp_dropped_spans_total", 3);
        }
        let told = eventually("the warning", || {
            Some(std::fs::read_to_string(&stderr).expect("the log")).filter(|told| told.contains("cannot send traces"))
        });
        assert_eq!(told.matches("cannot send traces and metrics").count(), 1, "{told}");
        assert!(told.contains(&format!("it returned status {status}")) && !told.contains("hunter2"), "{told}");
        if !is_lost {
            server.wait_for_gauge("mcpkg_otlp_dropped_spans_total", 0);
        }
    }
}

#[test]
fn nothing_is_sent_unless_a_person_asks_for_it() {
    let Some(scratch) = scratch() else { return };
    let collector = Collector::start(Mood::Takes);
    // Agents pass their own variables on to the servers that they start.
    let (mut inherited, mut disabled) = (scratch.command(), scratch.command());
    collector.serve(disabled.arg("serve"));
    disabled.env("OTEL_SDK_DISABLED", "true");
    inherited.arg("serve").env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.address));
    for mut command in [inherited, disabled] {
        let mut client = Client::spawn(&mut command).shake_hands("2025-06-18");
        client.result("prompts/get", json!({ "name": "review" }));
        client.finish();
    }
    assert!(collector.received.try_recv().is_err(), "nothing was sent");
}

#[test]
fn invalid_variables_are_named_without_their_values() {
    let Some(scratch) = scratch() else { return };
    let collector = Collector::start(Mood::Takes);
    for (variable, value, why) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL is invalid"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "hunter2:4317", "OTEL_EXPORTER_OTLP_ENDPOINT is invalid"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", "OTEL_EXPORTER_OTLP_ENDPOINT is not set"),
    ] {
        let mut command = scratch.command();
        collector.serve(command.arg("serve"));
        let ran = scratch.finish(command.env(variable, value));
        assert!(ran.status == 2 && ran.stderr.contains(why) && !ran.stderr.contains("hunter2"), "{ran}");
    }
}
