//! Tests what only some published documents contain: values of several types, forms with an encoding, paths with a
//! query or a format at their end, and answers with a charset or large numbers.

use mcpkg_base::http::Url;
use mcpkg_workflow::api::request::request;
use mcpkg_workflow::spec::CommandSpec;
use serde_json::{Value, json};

use super::{fields, imported};
use crate::support::Scratch;
use crate::support::api::{Api, Trouble};

const BASE: &str = "https://api.example.com/v1";

fn specs(document: &Value) -> Vec<CommandSpec> {
    let imported = imported(document.to_string(), "t").expect("an import");
    assert_eq!(imported.left_out, []);
    imported.commands.into_iter().map(|command| command.spec).collect()
}

/// Returns a request as one line: the method, the URL below the base, and the body. If the arguments are invalid,
/// returns the error.
fn line(spec: &CommandSpec, arguments: Value) -> String {
    match request(&Url::parse(BASE).expect("a URL"), spec, &fields(arguments)) {
        Ok(made) => {
            let url = made.url.as_str().strip_prefix(BASE).expect("below the base");
            format!("{} {url} {}", made.method, String::from_utf8(made.body).expect("a text")).trim_end().to_owned()
        }
        Err(error) => error.message().to_owned(),
    }
}

/// Returns a scratch database into which a document was imported, so that tests can run its commands in a shell.
fn scratch(base: &str, document: &Value) -> Scratch {
    let scratch = Scratch::with_project_here();
    scratch.file("api.json", document.to_string());
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "t", "--base-url", base]);
    scratch
}

#[test]
fn a_value_is_valid_when_one_branch_takes_it() {
    let api = Api::start();
    let properties = json!({
        "model": { "anyOf": [{ "type": "string" }, { "type": "string", "enum": ["m1", "m2"] }] },
        "epochs": { "oneOf": [{ "type": "string", "enum": ["auto"] }, { "type": "integer", "minimum": 1 }] },
        "choice": { "oneOf": [{ "type": "string", "enum": ["none"] }, { "type": "object", "properties": { "type": { "type": "string" } } }] },
        "input": { "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
        "kind": { "anyOf": [{ "const": "a" }, { "const": "b" }] },
        "num": { "type": ["integer", "string"] },
        "flag": { "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["inherit"] }] },
        "free": {},
    });
    let document = json!({ "openapi": "3.1.0", "paths": { "/jobs": { "post": { "x-mcpkg-effect": "read", "requestBody": {
        "content": { "application/json": { "schema": { "type": "object", "properties": properties } } } } } } } });
    let scratch = scratch(&api.base(), &document);
    let run = |arguments: &[&str]| {
        let arguments = arguments.iter().flat_map(|argument| ["--arg", argument]);
        let all: Vec<&str> = ["command", "run", "t:jobs:create", "--yes"].into_iter().chain(arguments).collect();
        scratch.run(&all)
    };
    let good = [
        (
            &["model=other", "epochs=auto", "choice=none", "input=hello", "kind=b", "num=7", "free=[1]"][..],
            json!({ "model": "other", "epochs": "auto", "choice": "none", "input": "hello", "kind": "b", "num": 7, "free": [1] }),
        ),
        (
            &["epochs=3", "choice={\"type\":\"x\"}", "input=[\"a\"]", "num=\"7\"", "free=plain words"],
            json!({ "epochs": 3, "choice": { "type": "x" }, "input": ["a"], "num": "7", "free": "plain words" }),
        ),
        // A text such as `7` stays a text if the field accepts no other type that fits it.
        (&["input=7", "free=7"], json!({ "input": "7", "free": 7 })),
    ];
    for (n, (arguments, body)) in good.iter().enumerate() {
        let ran = run(arguments);
        assert_eq!(ran.status, 0, "{ran}");
        assert_eq!(serde_json::from_slice::<Value>(&api.seen()[n].body).expect("JSON"), *body);
    }
    for (argument, says) in [
        ("epochs=never", "it takes \"auto\" or integer, not string"),
        ("epochs=1.5", "it takes \"auto\" or integer, not number"),
        ("choice=[]", "it takes \"none\" or object, not array"),
        ("kind=c", "\"c\" is not one of \"a\", \"b\""),
        ("flag=7", "it takes boolean or \"inherit\", not integer"),
    ] {
        let ran = run(&[argument]);
        assert!(ran.status != 0 && ran.stderr.contains(says), "{argument}: {ran}");
    }
    assert_eq!(api.seen().len(), good.len());
    // The same rules apply to the arguments in a workflow's text.
    scratch.file("w.yaml", "workflow: w\nsteps:\n  - id: a\n    run: t:jobs:create\n    with: {model: other, epochs: never, input: [a], num: true}\n");
    let found: Value =
        serde_json::from_str(&scratch.run(&["workflow", "validate", "w.yaml", "--json"]).stdout).expect("JSON");
    assert_eq!(found.to_string().matches("literal_type_mismatch").count(), 2, "{found}");
}

#[test]
fn a_form_is_written_as_its_encoding_says() {
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let text = || json!({ "type": "string" });
    let deep = json!({ "style": "deepObject", "explode": true });
    let form = |encoding: Value| {
        json!({ "requestBody": { "content": { "application/x-www-form-urlencoded": { "encoding": encoding, "schema": object(json!({
            "name": text(), "metadata": object(json!({})), "expand": { "type": "array", "items": text() }, "lines": { "type": "array", "items": object(json!({ "price": text() })) },
        })) } } } })
    };
    let document = json!({ "openapi": "3.0.0", "paths": {
        "/deep": { "post": form(json!({ "metadata": deep, "expand": deep, "lines": deep })) },
        "/plain": { "post": form(json!({})) },
        "/spread": { "post": form(json!({ "metadata": { "style": "form", "explode": true }, "expand": { "explode": false } })) },
        "/json": { "post": form(json!({ "expand": { "contentType": "application/json" } })) },
        "/odd": { "post": form(json!({ "metadata": { "style": "matrix" } })) },
    } });
    let specs = specs(&document);
    let made = |id: &str, arguments: Value| {
        line(specs.iter().find(|spec| spec.id == id).unwrap_or_else(|| panic!("no {id}")), arguments)
    };
    for (id, arguments, expected) in [
        (
            "t:deep:create",
            json!({ "name": "a", "metadata": { "name": "evil" } }),
            "POST /deep name=a&metadata%5Bname%5D=evil",
        ),
        ("t:deep:create", json!({ "expand": ["x", "y"] }), "POST /deep expand%5B%5D=x&expand%5B%5D=y"),
        (
            "t:deep:create",
            json!({ "lines": [{ "price": "p" }, { "price": "q" }] }),
            "POST /deep lines%5B0%5D%5Bprice%5D=p&lines%5B1%5D%5Bprice%5D=q",
        ),
        (
            "t:deep:create",
            json!({ "metadata": { "a][b": "c" } }),
            "The argument 'metadata' cannot be sent with the key 'a][b': the key contains a bracket, which would mean a nested object",
        ),
        (
            "t:plain:create",
            json!({ "name": "a", "metadata": { "name": "evil" } }),
            "POST /plain name=a&metadata=%7B%22name%22%3A%22evil%22%7D",
        ),
        ("t:plain:create", json!({ "expand": ["x", "y"] }), "POST /plain expand=x&expand=y"),
        ("t:spread:create", json!({ "metadata": { "b": 1 }, "expand": ["x", "y"] }), "POST /spread b=1&expand=x,y"),
        (
            "t:spread:create",
            json!({ "name": "a", "metadata": { "name": "evil" } }),
            "The argument 'metadata' cannot be sent with the key 'name': the key would overwrite another argument of 't:spread:create'",
        ),
        (
            "t:spread:create",
            json!({ "metadata": { "name": "evil" } }),
            "The argument 'metadata' cannot be sent with the key 'name': the key would overwrite another argument of 't:spread:create'",
        ),
        ("t:json:create", json!({ "expand": ["x"] }), "POST /json expand=%5B%22x%22%5D"),
    ] {
        assert_eq!(made(id, arguments.clone()), expected, "{id} {arguments}");
    }
    let odd = specs.iter().find(|spec| spec.id == "t:odd:create").expect("a command");
    assert_eq!(odd.why_not.as_deref(), Some("`metadata` uses the unsupported style matrix"));
}

#[test]
fn an_empty_form_is_nothing_to_send_and_a_free_one_is_an_object() {
    let form = |schema: Value| json!({ "content": { "application/x-www-form-urlencoded": { "schema": schema } } });
    let document = json!({ "openapi": "3.0.0", "paths": { "/a": {
        "get": { "requestBody": form(json!({ "type": "object", "properties": {} })) },
        "post": { "requestBody": form(json!({ "type": "object" })) },
    } } });
    let specs = specs(&document);
    assert!(specs.iter().all(|spec| spec.runnable), "{specs:?}");
    assert_eq!(line(&specs[1], json!({})), "GET /a");
    assert_eq!(
        line(&specs[0], json!({ "body": { "a b": 1, "c": ["x", "y"] } })),
        "POST /a a%20b=1&c=%5B%22x%22%2C%22y%22%5D"
    );
    assert!(line(&specs[0], json!({ "body": { "a": null } })).contains("contains null"));
}

#[test]
fn a_query_in_a_path_is_sent_as_one_and_a_fragment_not_at_all() {
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": {} }, { "name": "x", "in": "query", "schema": {} }]);
    let document = json!({ "openapi": "3.0.0", "paths": {
        "/responses/{id}/cancel?beta=true": { "post": { "parameters": id } },
        "/responses/{id}?beta=true": { "get": { "parameters": id } },
        "/hash#frag?x": { "get": {} },
    } });
    let specs = specs(&document);
    let ids: Vec<&str> = specs.iter().map(|spec| spec.id.as_str()).collect();
    assert_eq!(ids, ["t:hash:list", "t:responses:cancel:create", "t:responses:info"]);
    assert_eq!(line(&specs[0], json!({})), "GET /hash");
    assert_eq!(line(&specs[1], json!({ "response_id": "a?b", "x": 1 })), "POST /responses/a%3Fb/cancel?beta=true&x=1");
    assert_eq!(line(&specs[2], json!({ "response_id": "a" })), "GET /responses/a?beta=true");
}

#[test]
fn a_format_at_the_end_of_paths_splits_no_resource() {
    let sid = json!([{ "name": "Sid", "in": "path", "required": true, "schema": {} }]);
    let document = json!({ "openapi": "3.0.0", "paths": {
        "/Calls.json": { "get": { "operationId": "ListCall" }, "post": { "operationId": "CreateCall" } },
        "/Calls/{Sid}.json": { "get": { "operationId": "FetchCall", "parameters": sid }, "post": { "operationId": "UpdateCall", "parameters": sid } },
    } });
    let specs = specs(&document);
    let told: Vec<String> = specs.iter().map(|spec| format!("{} {}", spec.id, spec.aliases.join(","))).collect();
    assert_eq!(
        told,
        [
            "t:calls:create CreateCall",
            "t:calls:info FetchCall",
            "t:calls:list ListCall",
            "t:calls:update-call UpdateCall"
        ]
    );
    assert_eq!(line(&specs[1], json!({ "Sid": "a.b" })), "GET /Calls/a.b.json");
}

#[test]
fn answers_are_read_whatever_their_charset_and_their_numbers() {
    let api = Api::start();
    let scratch = scratch(&api.base(), &json!({ "openapi": "3.0.0", "paths": { "/a": { "get": {} } } }));
    let answered = |media: &str, body: &'static str| {
        api.trouble([Trouble::Status(200, vec![("content-type", media.to_owned())], body)]);
        scratch.json(&["command", "run", "t:a:list", "--yes"])["final_output"].clone()
    };
    assert_eq!(answered("application/json", "\u{feff}{\"a\":1}"), json!({ "a": 1 }));
    let large = answered(
        "application/json",
        "{\"id\":123456789012345678901234567890,\"far\":1e999,\"near\":18446744073709551615}",
    );
    assert_eq!(
        large,
        json!({ "id": "123456789012345678901234567890", "far": "1e999", "near": 18_446_744_073_709_551_615_u64 })
    );
    // The two bytes of `é` in UTF-8 are two letters in Latin-1.
    assert_eq!(answered("text/plain; charset=ISO-8859-1", "é"), json!("Ã©"));
    assert_eq!(answered("text/plain; charset=utf-8", "é"), json!("é"));
}
