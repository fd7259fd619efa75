//! Tests calls to a real HTTP server, including its failures.

use std::time::Instant;

use mcpkg_base::error::{Code, Error};
use mcpkg_core::op::Context;
use mcpkg_workflow::api::call::{Answered, Call, call};
use serde_json::{Value, json};

use super::{command, fields, fixture, scratch};
use crate::support::api::{Api, Trouble};
use crate::support::{Scratch, eventually};

/// An API server, and a database into which its document was imported.
struct Ground {
    api: Api,
    scratch: Scratch,
}

impl Ground {
    fn new() -> Self {
        let api = Api::start();
        let scratch = scratch(&api.base());
        Self { api, scratch }
    }

    fn context(&self) -> Context {
        self.scratch.context()
    }

    fn ask(&self, id: &str, arguments: Value) -> mcpkg_base::error::Result<Answered> {
        self.ask_in(&self.context(), id, arguments, None)
    }

    fn ask_in(
        &self,
        context: &Context,
        id: &str,
        arguments: Value,
        key: Option<&str>,
    ) -> mcpkg_base::error::Result<Answered> {
        let (catalog, spec) = command(context, &format!("hosting:{id}"));
        call(context, Call { catalog: &catalog, spec: &spec, arguments: &fields(arguments), key })
    }

    #[track_caller]
    fn refused(&self, id: &str, arguments: Value, code: Code, says: &str) -> Error {
        let error = self.ask(id, arguments).expect_err("a failure");
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(says), "{error}");
        error
    }
}

#[test]
fn an_api_is_asked_and_its_answers_are_read() {
    let ground = Ground::new();
    let made = ground.ask("apps:create", json!({ "region": "eu", "name": "web" })).expect("an app");
    assert_eq!((made.status, &made.output["name"], made.attempts), (201, &json!("web"), 1));
    let id = made.output["id"].clone();
    let shown = ground.ask("apps:info", json!({ "app_id": id })).expect("the app");
    assert_eq!(shown.output, made.output);
    assert_eq!(ground.ask("apps:logs:list", json!({ "app_id": id })).expect("the log").output, json!("started\n"));
    let gone = ground.ask("apps:delete", json!({ "app_id": id })).expect("gone");
    assert_eq!((gone.status, gone.output), (204, Value::Null));
    let seen = ground.api.seen();
    assert_eq!(seen[0].headers["accept-encoding"], "identity");
    assert_eq!(seen[0].headers["content-type"], "application/json");
    assert_eq!(seen[0].body, b"{\"name\":\"web\",\"region\":\"eu\"}");
    assert_eq!(ground.api.count("POST /api/v1/apps"), 1);
}

#[test]
fn x11_any_other_status_than_2xx_is_a_failure() {
    let ground = Ground::new();
    let error =
        ground.refused("apps:info", json!({ "app_id": "none" }), Code::HttpFailed, "'hosting:apps:info' answered 404");
    let details = error.details().expect("details");
    assert_eq!((&details["status"], &details["excerpt"]), (&json!(404), &json!("{\"message\":\"no such app\"}")));
    for status in [400, 500, 502] {
        ground.api.trouble([Trouble::Status(status, vec![], "{\"error\": \"broken\"}")]);
        ground.refused("apps:list", json!({}), Code::HttpFailed, &format!("answered {status}"));
    }
    ground.api.trouble([Trouble::Status(304, vec![], "")]);
    ground.refused("apps:list", json!({}), Code::HttpFailed, "answered 304");
}

#[test]
fn connection_failures_have_a_code() {
    let ground = Ground::new();
    for (trouble, says) in [
        (Trouble::Drop, "Cannot send a request"),
        (Trouble::Garbage, "the server does not speak HTTP"),
        (Trouble::Half, "the connection was lost"),
        (Trouble::NoJson, "returned invalid JSON"),
        (Trouble::Large(9 << 20), "the response is larger than 8388608 bytes"),
        (Trouble::Status(200, vec![("content-length", "99999999".to_owned())], "short"), ""),
    ] {
        ground.api.trouble([trouble]);
        ground.refused("apps:list", json!({}), Code::HttpFailed, says);
    }
    // The next call succeeds.
    assert_eq!(ground.ask("apps:list", json!({})).expect("an answer").output, json!([]));
}

#[test]
fn a_larger_answer_is_accepted_if_a_person_raised_the_limit() {
    let ground = Ground::new();
    ground.scratch.ok(&["catalog", "set", "hosting", "--max-answer", "10"]);
    ground.api.trouble([Trouble::Large(9 << 20)]);
    assert_eq!(ground.ask("apps:list", json!({})).expect("an answer").bytes, 9 << 20);
}

#[test]
fn a_call_to_a_stalled_server_ends_at_its_timeout_or_when_canceled() {
    let ground = Ground::new();
    ground.scratch.ok(&["catalog", "set", "hosting", "--timeout", "1"]);
    for trouble in [Trouble::Stall, Trouble::HeadAlone] {
        ground.api.trouble([trouble]);
        ground.refused("apps:list", json!({}), Code::Timeout, "did not respond to 'hosting:apps:list' in time");
    }
    ground.scratch.ok(&["catalog", "set", "hosting", "--timeout", "600"]);
    ground.api.trouble([Trouble::Stall]);
    let context = ground.context();
    let cancelled = context.cancelled.clone();
    let begun = Instant::now();
    let (api, before) = (&ground.api, ground.api.seen().len());
    let error = std::thread::scope(|scope| {
        scope.spawn(move || {
            eventually("it is asked", || (api.seen().len() > before).then_some(()));
            cancelled.cancel();
        });
        ground.ask_in(&context, "apps:list", json!({}), None).expect_err("cancelled")
    });
    assert_eq!(error.code(), Code::Cancelled);
    assert!(begun.elapsed() < crate::support::DEADLINE);
}

#[test]
fn requests_to_a_busy_server_are_retried_if_that_is_safe() {
    let ground = Ground::new();
    let busy = |status: u16| Trouble::Status(status, vec![("retry-after", "0".to_owned())], "");
    ground.api.trouble([busy(429), busy(503), busy(429)]);
    assert_eq!(ground.ask("apps:list", json!({})).expect("an answer").attempts, 4);
    // The fourth attempt is the last.
    ground.api.trouble([busy(429), busy(429), busy(429), busy(429)]);
    ground.refused("apps:list", json!({}), Code::HttpFailed, "answered 429");
    // mcpkg also retries idempotent commands, and those with an idempotency key.
    ground.api.trouble([busy(503)]);
    ground.refused("apps:delete", json!({ "app_id": "none" }), Code::HttpFailed, "answered 404");
    ground.api.trouble([busy(503)]);
    let keyed =
        ground.ask_in(&ground.context(), "apps:create", json!({ "region": "eu" }), Some("run-1")).expect("an app");
    assert_eq!(keyed.attempts, 2);
    assert_eq!(ground.api.seen().last().expect("a request").headers["idempotency-key"], "run-1");
    let again =
        ground.ask_in(&ground.context(), "apps:create", json!({ "region": "eu" }), Some("run-1")).expect("the app");
    assert_eq!((again.output, ground.api.apps()), (keyed.output, 1));
    // mcpkg does not retry other commands. It also does not retry if `retry-after` is missing, invalid or too long.
    ground.api.trouble([busy(503)]);
    let error = ground.refused("apps:create", json!({ "region": "eu" }), Code::HttpFailed, "answered 503");
    assert!(error.hints()[0].contains("does not retry"), "{:?}", error.hints());
    for headers in [vec![], vec![("retry-after", "61".to_owned())], vec![("retry-after", "soon".to_owned())]] {
        ground.api.trouble([Trouble::Status(503, headers, "")]);
        ground.refused("apps:list", json!({}), Code::HttpFailed, "answered 503");
    }
    assert_eq!(ground.api.count("POST /api/v1/apps"), 4);
    // mcpkg does not retry either if the wait would exceed the call's timeout.
    ground.scratch.ok(&["catalog", "set", "hosting", "--timeout", "20"]);
    ground.api.trouble([Trouble::Status(503, vec![("retry-after", "30".to_owned())], "")]);
    ground.refused("apps:list", json!({}), Code::HttpFailed, "answered 503");
}

#[test]
fn redirects_stay_within_the_origin() {
    let ground = Ground::new();
    let to = |status: u16, address: &str| Trouble::Status(status, vec![("location", address.to_owned())], "");
    ground.api.trouble([to(302, "/api/v1/apps"), to(307, "apps?x=1")]);
    assert_eq!(ground.ask("apps:list", json!({})).expect("an answer").output, json!([]));
    ground.api.trouble(vec![to(301, "/api/v1/apps"); 6]);
    ground.refused("apps:list", json!({}), Code::HttpRefused, "redirects more than 5 times");
    let other = Api::start();
    for (address, host) in [
        (other.base(), other.base()[7..].trim_end_matches("/api/v1").to_owned()),
        ("https://evil.example/".to_owned(), "evil.example".to_owned()),
        ("//evil.example:81/x".to_owned(), "evil.example:81".to_owned()),
    ] {
        ground.api.trouble([to(302, &address)]);
        ground.refused(
            "apps:list",
            json!({}),
            Code::HttpRefused,
            &format!("redirects to {host}, which is a different"),
        );
    }
    ground.api.trouble([to(302, "file:///etc/passwd")]);
    ground.refused("apps:list", json!({}), Code::HttpRefused, "redirects to an invalid address");
    // Only a GET request follows redirects.
    ground.api.trouble([to(307, "/api/v1/apps")]);
    ground.refused("apps:create", json!({ "region": "eu" }), Code::HttpRefused, "redirects a POST to 127.0.0.1");
    assert_eq!((ground.api.apps(), other.seen().len()), (0, 0));
}

#[test]
fn secrets_go_to_their_own_origin_alone_and_come_back_nowhere() {
    const SECRET: &str = "hunter2-é&=/";
    let ground = Ground::new();
    let token = ground.scratch.file("token", "hunter2-token\n");
    let odd = ground.scratch.file("odd", SECRET);
    set_private(&token);
    set_private(&odd);
    let [token, odd] = [token, odd].map(|path| format!("file:{}", path.display()));
    ground.api.require("Bearer hunter2-token");
    let error = ground.refused("apps:list", json!({}), Code::HttpFailed, "answered 401");
    assert!(error.hints()[0].contains("mcpkg catalog set hosting --auth token=env:NAME"), "{:?}", error.hints());
    ground.scratch.ok(&["catalog", "set", "hosting", "--auth", &format!("token={token}")]);
    ground.ask("apps:list", json!({})).expect("an answer");
    // Set basic credentials, a key in the query, and a custom header.
    ground.scratch.ok(&[
        "catalog",
        "set",
        "hosting",
        "--auth",
        &format!("basic={odd}"),
        "--auth",
        &format!("key={odd}"),
        "--header",
        &format!("X-Own={token}"),
    ]);
    let basic = ground.refused("databases:list", json!({}), Code::HttpFailed, "answered 401");
    let excerpt = basic.details().expect("details")["excerpt"].as_str().expect("an excerpt").to_owned();
    assert!(excerpt.contains("'Basic ***'"), "{excerpt}");
    ground.refused("pipelines:list", json!({}), Code::HttpFailed, "answered 401");
    let seen = ground.api.seen();
    let [.., of_basic, of_key] = &seen[..] else { panic!("requests") };
    assert_eq!(of_basic.headers["x-own"], "hunter2-token");
    assert!(of_key.line.ends_with("?key=hunter2-%C3%A9%26%3D%2F"), "{}", of_key.line);
    assert!(!of_key.headers.contains_key("authorization"));
    // The database contains none of these secrets.
    let stored = ground.scratch.bytes();
    let holds = |bytes: &[u8]| stored.windows(bytes.len()).any(|window| window == bytes);
    assert!(!holds(b"hunter2-token") && !holds(SECRET.as_bytes()));
    // If a secret is missing, the call fails before anything is sent.
    let before = ground.api.seen().len();
    ground.scratch.ok(&["catalog", "set", "hosting", "--auth", "token=env:MCPKG_NO_SUCH_SECRET"]);
    ground.refused("apps:list", json!({}), Code::SecretMissing, "env:MCPKG_NO_SUCH_SECRET");
    assert_eq!(ground.api.seen().len(), before);
}

fn set_private(path: &std::path::Path) {
    crate::support::set_mode(path, 0o600);
}

#[test]
fn commands_of_another_origin_are_not_called() {
    let ground = Ground::new();
    let error = ground.refused("uploads:create", json!({}), Code::HttpRefused, "its host is uploads.example.com");
    assert!(error.message().contains("'hosting:uploads:create' cannot be run"), "{error}");
}

#[test]
fn x08_each_command_is_sent_to_its_own_catalog() {
    let (first, second) = (Api::start(), Api::start());
    let scratch = scratch(&first.base());
    let document = fixture("hosting.yaml").display().to_string();
    scratch.ok(&["catalog", "import", &document, "--prefix", "other", "--base-url", &second.base()]);
    scratch.ok(&["catalog", "remove", "hosting", "--yes"]);
    let context = scratch.context();
    let (catalog, spec) = command(&context, "other:apps:list");
    let arguments = fields(json!({}));
    call(&context, Call { catalog: &catalog, spec: &spec, arguments: &arguments, key: None }).expect("an answer");
    assert_eq!((first.seen().len(), second.seen().len()), (0, 1));
}

#[test]
fn private_addresses_are_called_only_if_a_person_allowed_it() {
    let ground = Ground::new();
    ground.scratch.ok(&["catalog", "set", "hosting", "--base-url", "https://10.255.255.1/api", "--timeout", "1"]);
    ground.refused("apps:list", json!({}), Code::HttpRefused, "10.255.255.1 has a private address");
    ground.scratch.ok(&["catalog", "set", "hosting", "--private"]);
    let error = ground.ask("apps:list", json!({})).expect_err("nobody is there");
    assert_ne!(error.code(), Code::HttpRefused, "{error}");
    ground.scratch.ok(&["catalog", "set", "hosting", "--public"]);
    ground.refused("apps:list", json!({}), Code::HttpRefused, "private address");
}

#[test]
fn a_catalog_that_is_not_approved_here_is_not_called() {
    let ground = Ground::new();
    // For another user or on another machine, nothing is approved.
    std::fs::remove_dir_all(ground.scratch.state()).expect("the records");
    ground.refused("apps:list", json!({}), Code::Unapproved, "is not approved on this machine");
    for arguments in [&["catalog", "refresh", "hosting", "--yes"][..], &["catalog", "set", "hosting", "--timeout", "9"]]
    {
        let ran = ground.scratch.run(&[&["--json"], arguments].concat());
        assert!(ran.status == 1 && ran.stdout.contains("E_UNAPPROVED"), "{ran}");
    }
    assert_eq!(ground.api.seen().len(), 0);
}

#[test]
fn doctor_reports_why_a_catalog_cannot_be_called() {
    let ground = Ground::new();
    let told = |ground: &Ground| {
        let printed = ground.scratch.run(&["--json", "doctor"]).stdout;
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        let all = printed.to_string();
        ["is not approved on this machine", "'hosting' has no base URL", "a secret of 'hosting' is missing"]
            .map(|what| all.contains(what))
    };
    assert_eq!(told(&ground), [false, false, false]);
    ground.scratch.ok(&["catalog", "set", "hosting", "--auth", "token=env:MCPKG_NO_SUCH_SECRET"]);
    assert_eq!(told(&ground), [false, false, true]);
    std::fs::remove_dir_all(ground.scratch.state()).expect("the records");
    assert_eq!(told(&ground), [true, false, false]);
}

#[test]
fn tls_is_checked_against_the_roots_of_the_system() {
    let api = Api::start_tls();
    let scratch = scratch(&api.base());
    let context = scratch.context();
    let (catalog, spec) = command(&context, "hosting:apps:list");
    let arguments = fields(json!({}));
    let error =
        call(&context, Call { catalog: &catalog, spec: &spec, arguments: &arguments, key: None }).expect_err("unknown");
    assert!(error.code() == Code::HttpFailed && error.message().contains("cannot set up TLS"), "{error}");
    assert_eq!(api.seen().len(), 0);
    // If the process trusts the certificate, it can fetch a document from this server.
    let certificate = scratch.file("root.pem", api.certificate.as_deref().expect("a certificate"));
    api.trouble([Trouble::Status(200, vec![], "{\"openapi\": \"3.0.0\", \"paths\": {\"/x\": {\"get\": {}}}}")]);
    let url = format!("{}/openapi.json", api.base());
    let ran = scratch.finish(
        scratch.command().args(["catalog", "import", &url, "--prefix", "x"]).env("SSL_CERT_FILE", &certificate),
    );
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(api.count("GET /api/v1/openapi.json"), 1);
}
