//! Tests how a command and its arguments become a request.

use mcpkg_base::error::Code;
use mcpkg_base::http::{Outgoing, Url};
use mcpkg_workflow::api::request::request;
use mcpkg_workflow::spec::CommandSpec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{fields, hosting, imported};

use crate::support::config;

const BASE: &str = "https://eu.hosting.example.com/api/v1";

/// The commands of the fixture.
struct Api(Vec<CommandSpec>);

impl Api {
    fn new() -> Self {
        let imported = imported(hosting().to_string(), "").expect("an import");
        Self(imported.commands.into_iter().map(|command| command.spec).collect())
    }

    fn spec(&self, id: &str) -> &CommandSpec {
        self.0.iter().find(|spec| spec.id == id).unwrap_or_else(|| panic!("no {id}"))
    }

    fn ask(&self, id: &str, arguments: Value) -> mcpkg_base::error::Result<Outgoing> {
        request(&Url::parse(BASE).expect("a URL"), self.spec(id), &fields(arguments))
    }
}

/// Returns a request as one line: method, URL below the base, headers, body.
fn line(outgoing: &Outgoing) -> String {
    let url = outgoing.url.as_str().strip_prefix(BASE).expect("below the base");
    let mut headers: Vec<String> = outgoing
        .headers
        .iter()
        .map(|(name, value)| format!(" {name}={}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    headers.sort();
    let body = String::from_utf8_lossy(&outgoing.body);
    let body = if body.is_empty() { String::new() } else { format!(" | {body}") };
    format!("{} {url}{}{body}", outgoing.method, headers.concat())
}

#[test]
fn arguments_go_where_the_document_says() {
    let api = Api::new();
    for (id, arguments, expected) in [
        ("apps:list", json!({}), "GET /apps"),
        (
            "apps:list",
            json!({ "region": "eu", "limit": 5, "X-Trace": "a b" }),
            "GET /apps?region=eu&limit=5 x-trace=a b",
        ),
        (
            "apps:list",
            json!({ "labels": ["a", "b c"], "states": ["up", "down"] }),
            "GET /apps?labels=a%7Cb%20c&states=up&states=down",
        ),
        ("apps:list", json!({ "filter": { "owner": "Ada & co" } }), "GET /apps?filter%5Bowner%5D=Ada%20%26%20co"),
        ("apps:info", json!({ "app_id": "a/b c%2f?#é" }), "GET /apps/a%2Fb%20c%252f%3F%23%C3%A9"),
        ("apps:info", json!({ "app_id": 7 }), "GET /apps/7"),
        (
            "apps:create",
            json!({ "region": "eu", "env": { "A": "1" } }),
            "POST /apps content-type=application/json | {\"region\":\"eu\",\"env\":{\"A\":\"1\"}}",
        ),
        (
            "apps:create",
            json!({ "region": "eu", "Idempotency-Key": "k" }),
            "POST /apps content-type=application/json idempotency-key=k | {\"region\":\"eu\"}",
        ),
        ("apps:update", json!({ "app_id": "a" }), "PATCH /apps/a"),
        (
            "apps:addons:create",
            json!({ "app_id": "a", "plan": "p", "id": "x" }),
            "POST /apps/a/addons content-type=application/json | {\"plan\":\"p\",\"id\":\"x\"}",
        ),
        (
            "apps:logs:create",
            json!({ "app_id": "a", "body": "{\"x\"}\n" }),
            "POST /apps/a/logs content-type=text/plain | {\"x\"}\n",
        ),
        (
            "apps:slug:update",
            json!({ "app_id": "a", "body": "aGk=" }),
            "PUT /apps/a/slug content-type=application/octet-stream | hi",
        ),
        (
            "pipelines:create",
            json!({ "name": "a b", "stages": ["x", "y&z"] }),
            "POST /pipelines content-type=application/x-www-form-urlencoded | name=a%20b&stages=x&stages=y%26z",
        ),
        (
            "databases:search:create",
            json!({ "body": ["a", "b"] }),
            "POST /databases/search content-type=application/json | [\"a\",\"b\"]",
        ),
        (
            "databases:create",
            json!({ "plan": "small", "app_id": "a" }),
            "POST /databases content-type=application/json | {\"plan\":\"small\",\"app_id\":\"a\"}",
        ),
    ] {
        let made = api.ask(id, arguments.clone()).unwrap_or_else(|error| panic!("{id} {arguments}: {error}"));
        assert_eq!(line(&made), expected);
    }
}

#[test]
fn x09_path_arguments_are_sent_only_in_the_path() {
    let made = Api::new().ask("apps:addons:create", json!({ "app_id": "a", "plan": "p" })).expect("a request");
    assert_eq!(line(&made), "POST /apps/a/addons content-type=application/json | {\"plan\":\"p\"}");
}

#[test]
fn x10_the_query_of_a_post_is_not_in_its_body() {
    let document = json!({ "openapi": "3.0.0", "paths": { "/a": { "post": {
        "parameters": [{ "name": "dry", "in": "query", "schema": { "type": "boolean" } }],
        "requestBody": { "content": { "application/json": { "schema": { "properties": { "dry": {}, "name": {} } } } } },
    } } } });
    let spec = imported(document.to_string(), "").expect("an import").commands.remove(0).spec;
    let made = |arguments: Value| {
        line(&request(&Url::parse(BASE).expect("a URL"), &spec, &fields(arguments)).expect("a request"))
    };
    assert_eq!(
        made(json!({ "dry_query": true, "name": "n" })),
        "POST /a?dry=true content-type=application/json | {\"name\":\"n\"}"
    );
    assert_eq!(made(json!({ "dry_body": false })), "POST /a content-type=application/json | {\"dry\":false}");
}

#[test]
fn arguments_that_cannot_be_sent_are_refused_by_name() {
    let api = Api::new();
    for (id, arguments, code, says) in [
        ("apps:info", json!({}), Code::InvalidArgument, "needs the argument 'app_id'"),
        ("apps:info", json!({ "app_id": null }), Code::InvalidArgument, "needs the argument 'app_id'"),
        ("apps:list", json!({ "region": null }), Code::InvalidArgument, "'region' is null, but is sent in the query"),
        (
            "apps:info",
            json!({ "app_id": "" }),
            Code::InvalidArgument,
            "'app_id' is part of the path and cannot be empty",
        ),
        (
            "apps:info",
            json!({ "app_id": [] }),
            Code::InvalidArgument,
            "'app_id' is part of the path and cannot be empty",
        ),
        ("apps:info", json!({ "app_id": "." }), Code::InvalidArgument, "cannot be '.'"),
        ("apps:info", json!({ "app_id": ".." }), Code::InvalidArgument, "cannot be '..'"),
        ("apps:info", json!({ "app_id": "a", "appid": "b" }), Code::InvalidArgument, "has no argument 'appid'"),
        ("apps:create", json!({ "name": "a" }), Code::InvalidArgument, "needs the argument 'region'"),
        (
            "apps:list",
            json!({ "X-Trace": "a\r\nX-Evil: 1" }),
            Code::InvalidArgument,
            "'X-Trace' cannot be sent as a header: it contains a line break or NUL",
        ),
        ("apps:list", json!({ "X-Trace": "a\nb" }), Code::InvalidArgument, "line break"),
        ("apps:list", json!({ "X-Trace": "a\u{0}b" }), Code::InvalidArgument, "NUL"),
        ("apps:list", json!({ "X-Trace": "a\u{7}b" }), Code::InvalidArgument, "control characters"),
        (
            "apps:slug:update",
            json!({ "app_id": "a", "body": "no base64!" }),
            Code::InvalidArgument,
            "'body' is not valid base64",
        ),
        ("stacks:info", json!({ "stack_id": "a" }), Code::HttpRefused, "`id` uses the unsupported style label"),
        (
            "pipelines:promotions:info",
            json!({ "pipeline_id": "a", "name": "b" }),
            Code::HttpRefused,
            "`session` is sent in a cookie",
        ),
    ] {
        let error = api.ask(id, arguments.clone()).expect_err(id);
        assert_eq!(error.code(), code, "{id} {arguments}: {error}");
        assert!(error.message().contains(says), "{id} {arguments}: {error}");
    }
    let error = api.ask("apps:info", json!({ "app_id": "a", "appid": "b" })).expect_err("unknown");
    assert_eq!(error.hints(), ["did you mean 'app_id'?"]);
}

#[test]
fn a_path_that_leaves_the_base_url_is_refused() {
    for path in ["/a/../../../admin", "/a/%2e%2e/b", "/..;/x/./y", "//evil.example/x", "/a\\..\\b"] {
        let document = json!({ "openapi": "3.0.0", "paths": { path: { "get": { "operationId": "x" } } } });
        let spec = imported(document.to_string(), "p").expect("an import").commands.remove(0).spec;
        match request(&Url::parse(BASE).expect("a URL"), &spec, &fields(json!({}))) {
            Ok(made) => assert!(made.url.as_str().starts_with(&format!("{BASE}/")), "{path}: {}", made.url.as_str()),
            Err(error) => assert_eq!(error.code(), Code::HttpRefused, "{path}: {error}"),
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    /// For any value except `.` and `..`, the request goes to the origin and path of the base, and decoding its URL
    /// returns the value.
    #[test]
    fn x12_a_decoded_request_contains_the_original_value(value in "\\PC{1,40}|[./%\\\\#?&=;:@ ]{1,12}", other in any::<String>()) {
        let api = Api::new();
        prop_assume!(value != "." && value != "..");
        let made = api.ask("apps:info", json!({ "app_id": value })).expect("a request");
        let path = made.url.as_str().strip_prefix(BASE).and_then(|rest| rest.strip_prefix("/apps/")).expect("below the base");
        prop_assert!(!path.contains(['/', '?', '#']));
        prop_assert_eq!(percent_encoding::percent_decode_str(path).decode_utf8_lossy(), value);

        let made = api.ask("apps:list", json!({ "states": [other], "region": other })).expect("a request");
        let parsed = made.url.as_str();
        let query = parsed.split_once('?').expect("a query").1;
        for pair in query.split('&') {
            let (_, sent) = pair.split_once('=').expect("a pair");
            prop_assert_eq!(percent_encoding::percent_decode_str(sent).decode_utf8_lossy(), other.as_str());
        }

        let made = api.ask("apps:create", json!({ "region": other, "name": other })).expect("a request");
        let body: Value = serde_json::from_slice(&made.body).expect("JSON");
        prop_assert_eq!(body, json!({ "region": other, "name": other }));
    }

    #[test]
    fn a_header_is_sent_unchanged_or_refused(value in any::<String>()) {
        match Api::new().ask("apps:list", json!({ "X-Trace": value })) {
            Ok(made) => prop_assert_eq!(made.headers["x-trace"].as_bytes(), value.as_bytes()),
            Err(error) => prop_assert!(error.code() == Code::InvalidArgument && value.chars().any(char::is_control)),
        }
    }
}
