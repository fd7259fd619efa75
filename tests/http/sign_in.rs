//! Tests signing in with tokens of an issuer: which tokens are admitted, what they may access, and how others are
//! refused.

use serde_json::{Value, json};

use crate::support::issuer::Issuer;
use crate::support::tokens::Signer;
use crate::support::{Http, Request, Scratch, eventually, http};
use crate::workflow::runs;

const URL: &str = "https://mcp.example";

/// A server with two projects, and an issuer with one key.
struct Ground {
    scratch: Scratch,
    signer: Signer,
    issuer: Issuer,
    server: Http,
}

impl Ground {
    /// Starts the server with these access rules, given as arguments of `access rule add`.
    fn new(rules: &[&[&str]]) -> Self {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "of-p", "P"]);
        scratch.ok(&["project", "create", "q"]);
        scratch.ok(&["-p", "q", "prompt", "create", "of-q", "Q"]);
        for rule in rules {
            scratch.ok(&[&["access", "rule", "add"], *rule].concat());
        }
        let signer = Signer::p256("one");
        let issuer = Issuer::start(&[&signer]);
        let server = Self::serve(&scratch, &issuer, &["--public-url", URL]);
        Self { scratch, signer, issuer, server }
    }

    fn serve(scratch: &Scratch, issuer: &Issuer, more: &[&str]) -> Http {
        Http::start(scratch, &[&["--oauth-issuer", &issuer.url()], more].concat())
    }

    /// Returns a token for the endpoint at `path`, for a person in these groups.
    fn token(&self, path: &str, groups: &[&str]) -> String {
        self.token_with(path, json!({ "groups": groups }))
    }

    fn token_with(&self, path: &str, more: Value) -> String {
        self.signer.token(&self.issuer.claims(&format!("{URL}{path}"), 300, more))
    }

    fn ask(&self, path: &str, token: &str) -> http::Response {
        self.server.send(&with(http::modern(path, "prompts/list", json!({})), token))
    }

    fn call(&self, token: &str, tool: &str, arguments: Value) -> http::Response {
        let params = json!({ "name": tool, "arguments": arguments });
        self.server.send(&with(http::modern("/mcp", "tools/call", params), token))
    }
}

fn with(request: Request, token: &str) -> Request {
    request.with("Authorization", &format!("Bearer {token}"))
}

fn challenge(response: &http::Response) -> &str {
    response.header("www-authenticate").unwrap_or_default()
}

#[test]
fn clients_are_told_where_to_sign_in() {
    let ground = Ground::new(&[]);
    for (path, resource) in [
        ("/mcp", "/mcp"),
        ("/projects/q/mcp", "/projects/q/mcp"),
        ("/projects/nope/mcp", "/projects/nope/mcp"),
        ("/sse", "/sse"),
        ("", "/mcp"),
    ] {
        // The client's headers do not change the metadata.
        let request = Request::new("GET", &format!("/.well-known/oauth-protected-resource{path}"))
            .with("Host", "evil.example")
            .with("X-Forwarded-Host", "evil.example")
            .with("Origin", "https://page.example");
        let answer = ground.server.send(&request);
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some("*")), "{path}");
        let metadata = answer.message();
        assert_eq!(metadata["resource"], format!("{URL}{resource}"), "{path}");
        assert_eq!(metadata["authorization_servers"], json!([ground.issuer.url()]));
        assert_eq!(metadata["scopes_supported"], json!(["openid"]));
    }
    for path in ["/x", "/projects/a$b/mcp", "/projects/q"] {
        let answer = ground.server.send(&Request::new("GET", &format!("/.well-known/oauth-protected-resource{path}")));
        assert_eq!(answer.status, 404, "{path}");
    }
    for method in ["GET", "POST", "DELETE", "OPTIONS"] {
        let answer = ground.server.send(&Request::new(method, "/projects/q/mcp"));
        assert_eq!(answer.status, 401, "{method}");
        assert_eq!(
            challenge(&answer),
            format!(
                "Bearer realm=\"mcpkg\", \
                 resource_metadata=\"{URL}/.well-known/oauth-protected-resource/projects/q/mcp\", scope=\"openid\""
            )
        );
    }
    // mcpkg is not an authorization server, and reports that in OAuth's error format.
    for path in ["/register", "/authorize", "/token", "/.well-known/oauth-authorization-server"] {
        let answer = ground.server.send(&Request::new("POST", path));
        assert_eq!((answer.status, &answer.message()["error"]), (404, &json!("invalid_request")), "{path}");
    }
}

#[test]
fn access_rules_decide_what_a_signed_in_person_may_do() {
    let ground = Ground::new(&[
        &["--claim", "groups=platform"],
        &["--claim", "groups=support", "--project", "q", "--read-only"],
    ]);
    let platform = ground.token("/mcp", &["x", "platform"]);
    let support = ground.token("/mcp", &["support"]);
    let prompt = |token: &str| ground.ask("/mcp", token).message()["result"]["prompts"][0]["name"].clone();
    assert_eq!((prompt(&platform), prompt(&support)), (json!("of-p"), json!("of-q")));
    // Tools that a token may not use are not listed, and calls of them are refused.
    let tools = |token: &str| ground.server.send(&with(http::modern("/mcp", "tools/list", json!({})), token)).text();
    assert!(tools(&platform).contains("create_prompt") && !tools(&support).contains("create_prompt"));
    assert!(!tools(&platform).contains("\"execute\""), "commands need a right of their own");
    let write = json!({ "name": "new", "content": "x" });
    let refused = ground.call(&support, "create_prompt", write.clone());
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(challenge(&refused).contains("insufficient_scope") && challenge(&refused).contains("resource_metadata="));
    assert_eq!(ground.call(&platform, "create_prompt", write).message()["result"]["isError"], false);
    // The audit trail names the person.
    let events = ground.scratch.json(&["events"]).to_string();
    assert!(events.contains("person:u1:"), "{events}");
    // A person whom no rule matches has no access. The answer names scopes that may help.
    ground.scratch.ok(&["access", "rule", "add", "--claim", "scope=mcp:read", "--read-only"]);
    let stranger = ground.token_with("/mcp", json!({ "groups": ["other"], "scope": "profile" }));
    let refused = ground.ask("/mcp", &stranger);
    assert_eq!(refused.status, 403);
    assert!(challenge(&refused).contains("scope=\"profile openid mcp:read\""), "{}", challenge(&refused));
    // The removal of a rule takes effect with the next request.
    ground.scratch.ok(&["access", "rule", "remove", "--claim", "groups=support", "--project", "q", "--yes"]);
    assert_eq!(ground.ask("/mcp", &support).status, 403);
}

#[test]
fn a_token_is_for_one_endpoint_unless_an_audience_is_named() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let (of_all, of_q) = (ground.token("/mcp", &["platform"]), ground.token("/projects/q/mcp", &["platform"]));
    assert_eq!((ground.ask("/mcp", &of_all).status, ground.ask("/projects/q/mcp", &of_q).status), (200, 200));
    // A token is refused at another endpoint, including that of another project.
    for (path, token) in [("/projects/q/mcp", &of_all), ("/mcp", &of_q), ("/projects/p/mcp", &of_q)] {
        let refused = ground.ask(path, token);
        assert_eq!(refused.status, 401, "{path}");
        assert!(challenge(&refused).contains("invalid_token"), "{path}");
    }
    assert_eq!(ground.server.send(&with(Request::new("GET", "/metrics"), &of_all)).status, 401);
    let server = Ground::serve(&ground.scratch, &ground.issuer, &["--oauth-audience", "api://mcpkg,other"]);
    let named = ground.signer.token(&ground.issuer.claims("api://mcpkg", 300, json!({ "groups": ["platform"] })));
    for path in ["/mcp", "/projects/q/mcp"] {
        let send = |token: &str| server.send(&with(http::modern(path, "prompts/list", json!({})), token)).status;
        assert_eq!((send(&named), send(&of_all)), (200, 401), "{path}");
    }
}

#[test]
fn an_expired_or_foreign_token_does_not_count_as_a_guess() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let expired = ground.signer.token(&ground.issuer.claims(&format!("{URL}/mcp"), -61, json!({})));
    let foreign = ground.token_with("/mcp", json!({ "iss": "https://other.example" }));
    let unknown = Signer::p256("unknown").token(&ground.issuer.claims(&format!("{URL}/mcp"), 300, json!({})));
    for token in [&expired, &foreign, &unknown] {
        for _ in 0..24 {
            let refused = ground.ask("/mcp", token);
            assert_eq!(refused.status, 401, "{}", refused.text());
            assert!(challenge(&refused).contains("error=\"invalid_token\""));
            assert!(!refused.text().contains(token.as_str()));
        }
    }
    // The server read the issuer's keys once at its start, and at most once more for all the tokens with an unknown
    // key.
    assert!(ground.issuer.asked("/keys") <= 2, "{}", ground.issuer.asked("/keys"));
    // A forged signature counts as a guess.
    let forged = Signer::p256("one").token(&ground.issuer.claims(&format!("{URL}/mcp"), 300, json!({})));
    let last = (0..30).map(|_| ground.ask("/mcp", &forged).status).last();
    assert_eq!(last, Some(429));
    assert_eq!(ground.ask("/mcp", &ground.token("/mcp", &["platform"])).status, 200);
    // On a server without an issuer, no token counts as a guess.
    let plain = Http::start(&ground.scratch, &["--require-key"]);
    let refused = (0..30).map(|_| plain.send(&with(http::modern("/mcp", "prompts/list", json!({})), &expired)).status);
    assert!(refused.collect::<Vec<_>>().iter().all(|status| *status == 401));
}

#[test]
fn keys_and_tokens_work_at_once() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let made = ground.scratch.json(&["access", "create", "ci", "--read-only"]);
    let key = made["key"].as_str().expect("a key");
    assert_eq!(
        (ground.ask("/mcp", key).status, ground.ask("/mcp", &ground.token("/mcp", &["platform"])).status),
        (200, 200)
    );
    assert_eq!(ground.ask("/mcp", "mcpkg_000000000000_0").status, 401);
    // A session belongs to the person who began it.
    let token = ground.token("/mcp", &["platform"]);
    let begun = ground.server.send(&with(http::message("/mcp", &http::hello("2025-11-25")), &token));
    let session = begun.header("mcp-session-id").expect("a session").to_owned();
    let read = http::in_session("/mcp", &session, "prompts/list", json!({}));
    let other = ground.token_with("/mcp", json!({ "sub": "u2", "groups": ["platform"] }));
    let again = ground.token_with("/mcp", json!({ "groups": ["platform"], "jti": "2" }));
    let sent = |shown: &str| ground.server.send(&with(read.clone(), shown)).status;
    assert_eq!((sent(&token), sent(&again), sent(&other), sent(key)), (200, 200, 404, 404));
}

#[test]
fn a_stream_ends_with_its_token_or_its_rule() {
    let ground = Ground::new(&[&["--claim", "groups=platform"], &["--claim", "groups=support", "--project", "p"]]);
    let listen = |token: &str| {
        let wanted = json!({ "notifications": { "promptsListChanged": true } });
        let events = ground.server.open(&with(http::modern("/mcp", "subscriptions/listen", wanted), token));
        events.message();
        events
    };
    let last = |events: &http::Events| std::iter::from_fn(|| events.raw()).last();
    // The clocks of issuer and server may differ by a minute, so a token that expired 57 seconds ago is valid for 3
    // more.
    let groups = json!({ "groups": ["platform"] });
    let soon = ground.signer.token(&ground.issuer.claims(&format!("{URL}/mcp"), -57, groups));
    let over = Some(": the token is no longer valid".to_owned());
    assert_eq!(last(&listen(&soon)), over);
    assert_eq!(ground.ask("/mcp", &soon).status, 401);
    let support = listen(&ground.token("/mcp", &["support"]));
    ground.scratch.ok(&["access", "rule", "remove", "--claim", "groups=support", "--project", "p", "--yes"]);
    assert_eq!(last(&support), over);
}

#[test]
fn keys_are_rotated_and_an_issuer_may_be_down() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let token = ground.token("/mcp", &["platform"]);
    assert_eq!(ground.ask("/mcp", &token).status, 200);
    let ready = |server: &Http| server.send(&Request::new("GET", "/readyz"));
    assert_eq!(ready(&ground.server).text(), "ready\n");
    // A server that starts while the issuer is down still serves other clients, and reports the problem.
    ground.issuer.down(true);
    let key = ground.scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let late = Ground::serve(&ground.scratch, &ground.issuer, &["--public-url", URL]);
    let send = |token: &str| late.send(&with(http::modern("/mcp", "prompts/list", json!({})), token)).status;
    assert_eq!((send(&key), send(&token)), (200, 503));
    let told = ready(&late);
    assert_eq!(told.status, 200);
    assert!(told.text().contains("the keys of the issuer cannot be read"), "{}", told.text());
    // The first server still uses the keys that it has read.
    assert_eq!(ground.ask("/mcp", &token).status, 200);
    // `doctor` reports the problem once, as a finding.
    let doctor = ground.scratch.run(&["doctor"]);
    assert!(doctor.stdout.contains("nobody can sign in with") && !doctor.stderr.contains("WARN"), "{doctor}");
    // Once the issuer answers, people can sign in without a restart.
    ground.issuer.down(false);
    eventually("the keys are read", || (send(&token) == 200).then_some(()));
    assert_eq!(ready(&late).text(), "ready\n");
}

#[test]
fn tokens_of_each_algorithm_are_accepted() {
    let ground = Ground::new(&[&["--claim", "groups=platform", "--read-only"]]);
    let signers = [Signer::rsa("rsa"), Signer::ed25519("ed25519"), Signer::p256("p256")];
    ground.issuer.publish(&[&signers[0], &signers[1], &signers[2]]);
    let server = Ground::serve(&ground.scratch, &ground.issuer, &["--public-url", URL]);
    for signer in &signers {
        let claims = ground.issuer.claims(&format!("{URL}/mcp"), 300, json!({ "groups": "platform" }));
        let request = with(http::modern("/mcp", "prompts/list", json!({})), &signer.token(&claims));
        assert_eq!(server.send(&request).status, 200, "{}", signer.id);
    }
}

#[test]
fn invalid_documents_of_an_issuer_are_refused() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let token = ground.token("/mcp", &["platform"]);
    let issuer = ground.issuer.url();
    let status = || {
        let server = Ground::serve(&ground.scratch, &ground.issuer, &["--public-url", URL]);
        server.send(&with(http::modern("/mcp", "prompts/list", json!({})), &token)).status
    };
    assert_eq!(status(), 200);
    for (what, metadata) in [
        ("another issuer", json!({ "issuer": format!("{issuer}/"), "jwks_uri": format!("{issuer}/keys") })),
        ("a private address", json!({ "issuer": issuer, "jwks_uri": "https://10.0.0.1/keys" })),
        ("the metadata of a cloud", json!({ "issuer": issuer, "jwks_uri": "https://169.254.169.254/keys" })),
        ("no TLS", json!({ "issuer": issuer, "jwks_uri": "http://login.example/keys" })),
        ("a file", json!({ "issuer": issuer, "jwks_uri": "file:///etc/passwd" })),
        ("no keys", json!({ "issuer": issuer })),
    ] {
        ground.issuer.describe(&metadata);
        assert_eq!(status(), 503, "{what}");
    }
    ground.issuer.describe(&json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }));
    ground.issuer.serve("/keys", 200, format!("{{\"keys\":[],\"more\":\"{}\"}}", "x".repeat(300 << 10)));
    assert_eq!(status(), 503, "an oversized document");
    ground.issuer.serve("/keys", 500, String::new());
    assert_eq!(status(), 503, "an error");
    ground.issuer.publish(&[&ground.signer]);
    assert_eq!(status(), 200);
}

#[test]
fn a_token_never_counts_as_a_persons_yes() {
    let runs = runs::Ground::new();
    runs.scratch.ok(&["access", "rule", "add", "--claim", "groups=platform", "--execute"]);
    let made = runs.scratch.json(&["access", "create", "trusted", "--execute", "--consent"]);
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]);
    let server = Ground::serve(&runs.scratch, &issuer, &["--public-url", URL]);
    let claims = issuer.claims(&format!("{URL}/mcp"), 300, json!({ "groups": ["platform"] }));
    let (key, token) = (made["key"].as_str().expect("a key"), signer.token(&claims));
    let ask = |bearer: &str, params: Value| {
        let asks = |message: &mut Value| {
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({ "elicitation": { "form": {} } });
        };
        server.send(&with(http::modern("/mcp", "tools/call", params).edited(asks), bearer)).message()["result"].take()
    };
    let mut params = json!({ "name": "execute", "arguments": runs::create() });
    // The user trusts the clients with this key to ask.
    let asked = ask(key, params.clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let refused = ask(&token, params.clone());
    assert_eq!(runs::code(&refused["structuredContent"]), "E_CONSENT_REQUIRED", "{refused}");
    // Neither does an answer to a question that the other client was asked.
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({ "consent": { "action": "accept", "content": { "approve": true } } });
    let refused = ask(&token, params);
    assert_ne!(runs::code(&refused["structuredContent"]), "ok", "{refused}");
    assert_eq!(runs.changes(), 0);
}

#[test]
fn tokens_are_not_logged_or_stored() {
    let ground = Ground::new(&[&["--claim", "groups=platform"]]);
    let log = ground.scratch.path().join("log");
    let file = std::fs::File::create(&log).expect("a file");
    let mut command = ground.scratch.command();
    command.env("MCPKG_LOG", "trace").args(["--json", "-vv", "serve", "--http", "--port", "0", "--public-url", URL]);
    let server = Http::spawn_with(command.args(["--oauth-issuer", &ground.issuer.url()]), file.into());
    let good = ground.token("/mcp", &["platform"]);
    let bad = ground.signer.token(&ground.issuer.claims(&format!("{URL}/mcp"), -61, json!({})));
    let create = json!({ "name": "create_prompt", "arguments": { "name": "new", "content": "x" } });
    for token in [&good, &bad] {
        server.send(&with(http::modern("/mcp", "tools/call", create.clone()), token));
    }
    server.end();
    eventually("the log is written", || std::fs::metadata(&log).is_ok_and(|data| data.len() > 0).then_some(()));
    let places = [std::fs::read(&log).expect("a log"), ground.scratch.bytes()];
    for token in [&good, &bad] {
        for part in token.split('.') {
            for place in &places {
                assert!(!String::from_utf8_lossy(place).contains(part));
            }
        }
    }
}

#[test]
fn a_server_for_other_machines_needs_a_public_url() {
    let scratch = Scratch::with_project();
    let serve = |more: &[&str]| {
        scratch.run(&[&["serve", "--http", "--port", "0", "--oauth-issuer", "https://login.example"], more].concat())
    };
    let ran = serve(&["--host", "0.0.0.0"]);
    assert!(ran.status == 2 && ran.stderr.contains("--public-url"), "{ran}");
    for (flag, value) in [("--public-url", "mcp.example"), ("--oauth-audience", "a\"b"), ("--oauth-scope", "a\\b")] {
        let ran = serve(&[flag, value]);
        assert!(ran.status == 2 && ran.stderr.contains(flag), "{flag}: {ran}");
    }
    let ran = scratch.run(&["serve", "--http", "--oauth-issuer", "http://login.example"]);
    assert!(ran.status == 2 && ran.stderr.contains("needs https"), "{ran}");
    let ran = scratch.run(&["serve", "--http", "--oauth-audience", "a"]);
    assert!(ran.status == 2 && ran.stderr.contains("--oauth-issuer"), "{ran}");
}
