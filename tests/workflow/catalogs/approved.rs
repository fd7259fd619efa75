//! Tests that a request contains exactly the approved arguments, including null, or that nothing is sent.

use std::collections::BTreeMap;

use mcpkg_base::error::Code;
use mcpkg_base::http::{Outgoing, Url};
use mcpkg_workflow::api::request::request;
use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::imported;
use crate::support::api::Api;
use crate::support::fuzz::Cases;
use crate::support::{Client, Scratch, config};
use crate::workflow::runs::{approve, code, execute, with_nonce};

/// Imports an API with nullable fields, served at `base`. The document declares some writing operations as reads, so
/// that `--yes` is enough in a shell.
fn people(base: &str) -> Scratch {
    let nullable = json!({ "type": ["string", "null"], "enum": ["a", "b", null] });
    let body = json!({ "type": "object", "properties": {
        "due": { "type": ["string", "null"], "format": "date" },
        "owner": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
        "old": { "type": "string", "nullable": true },
        "n": { "type": ["integer", "null"] },
        "pick": nullable,
        "any": {},
        "name": { "type": "string" },
    } });
    let id = json!({ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } });
    let query = json!({ "name": "q", "in": "query", "schema": { "type": ["string", "null"] } });
    let header = json!({ "name": "X-H", "in": "header", "schema": { "type": "array", "items": {} } });
    let form = json!({ "content": { "application/x-www-form-urlencoded": { "schema": body } } });
    let patch = json!({ "parameters": [id, query, header], "requestBody": { "content": { "application/json": { "schema": body } } } });
    let mut put = json!({ "parameters": [id], "requestBody": form });
    let mut read = patch.clone();
    (read["x-mcpkg-effect"], put["x-mcpkg-effect"]) = (json!("read"), json!("read"));
    let paths = json!({ "/people/{id}": { "patch": patch, "put": put }, "/known/{id}": { "patch": read } });
    let scratch = Scratch::new();
    scratch.ok(&["project", "create", "p"]);
    scratch
        .file("people.json", json!({ "openapi": "3.1.0", "info": { "title": "People" }, "paths": paths }).to_string());
    scratch.ok(&["catalog", "import", "people.json", "--prefix", "t", "--base-url", base]);
    scratch
}

#[test]
fn null_is_sent_in_json_by_agents_workflows_and_the_shell() {
    let api = Api::start();
    let scratch = people(&api.base());
    let nulls = json!({ "due": null, "owner": null, "old": null, "n": null, "pick": null, "any": null });
    let mut with = nulls.as_object().expect("an object").clone();
    with.insert("person_id".to_owned(), json!(1));
    let yaml = "workflow: w\nsteps:\n  - id: a\n    run: t:people:update\n    with: {person_id: 1, due: null, owner: null, old: null, n: null, pick: null, any: null}\n";
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for call in
        [json!({ "command": "t:people:update", "args": with, "wait_s": 0 }), json!({ "yaml": yaml, "wait_s": 0 })]
    {
        let asked = execute(&mut client, call.clone());
        assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
        assert!(asked["error"]["details"]["effects"].to_string().contains("due = null"), "{asked}");
        approve(&scratch, &asked);
        let ran = execute(&mut client, with_nonce(&call, &asked));
        assert_eq!(ran["state"], "succeeded", "{ran}");
    }
    client.finish();
    let arguments = ["due", "owner", "old", "n", "pick", "any"].map(|name| format!("{name}=null"));
    let arguments = arguments.iter().flat_map(|argument| ["--arg", argument.as_str()]);
    let run: Vec<&str> =
        ["command", "run", "t:known:update", "--yes", "--arg", "known_id=1"].into_iter().chain(arguments).collect();
    scratch.ok(&run);
    // The text `null` also stands for null.
    scratch.ok(&[
        "command",
        "run",
        "t:known:update",
        "--yes",
        "--arg",
        "known_id=1",
        "--arg",
        "due=\"null\"",
        "--arg",
        "name=null",
    ]);
    let bodies: Vec<Value> = api.seen().iter().map(|seen| serde_json::from_slice(&seen.body).expect("JSON")).collect();
    assert_eq!(bodies, [nulls.clone(), nulls.clone(), nulls, json!({ "due": "null", "name": "null" })]);
}

#[test]
fn null_is_refused_where_a_request_cannot_contain_it() {
    let api = Api::start();
    let scratch = people(&api.base());
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for (command, args, says) in [
        (
            "t:people:update",
            json!({ "person_id": 1, "q": null }),
            "Argument 'q': it is sent in the query, which cannot express null",
        ),
        ("t:people:update", json!({ "person_id": null }), "Argument 'person_id'"),
        ("t:people:update", json!({ "person_id": 1, "X-H": null }), "in a header"),
        ("t:people:update", json!({ "person_id": 1, "name": null }), "Argument 'name': it takes string, not null"),
        ("t:people:replace", json!({ "person_id": 1, "due": null }), "in a body that is not JSON"),
    ] {
        let refused = execute(&mut client, json!({ "command": command, "args": args, "wait_s": 0 }));
        assert_eq!(code(&refused), "E_INVALID_ARGUMENT", "{refused}");
        assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains(says)), "{refused}");
    }
    client.finish();
    let text = "workflow: w\nsteps:\n  - id: a\n    run: t:people:update\n    with: {person_id: 1, q: null, name: null, due: null}\n";
    scratch.file("w.yaml", text);
    let checked = scratch.run(&["workflow", "validate", "w.yaml", "--json"]);
    let found: Value = serde_json::from_str(&checked.stdout).expect("JSON");
    let found = found.to_string();
    assert_eq!(found.matches("literal_type_mismatch").count(), 2, "{found}");
    assert!(
        found.contains("`q` of t:people:update is null") && found.contains("`name` of t:people:update is null"),
        "{found}"
    );
    assert_eq!(api.seen().len(), 0);
}

const BASE: &str = "https://api.example.com/v1";

/// The place of an argument in a request, and its encoding there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Path,
    Pairs,
    Comma,
    Deep,
    Json,
    Header,
    Body,
}

const WAYS: [Way; 7] = [Way::Path, Way::Pairs, Way::Comma, Way::Deep, Way::Json, Way::Header, Way::Body];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        4 => "[ -~é\n]{0,5}".prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => leaf(),
        1 => proptest::collection::vec(leaf(), 0..3).prop_map(Value::from),
        1 => proptest::collection::btree_map("[a-e\\[]{1,2}", leaf(), 0..3).prop_map(|fields| json!(fields)),
    ]
}

/// Returns a document with one operation that takes an argument for each of `ways`, named `a`, `b` and so on.
fn document(ways: &[Way], is_form: bool) -> Value {
    let name = |n: usize| char::from(b'a' + n as u8).to_string();
    let (mut parameters, mut properties, mut encoding) = (Vec::new(), Map::new(), Map::new());
    let mut path = "/x".to_owned();
    for (n, way) in ways.iter().enumerate() {
        let name = name(n);
        let styled = |style: &str, explode: bool| json!({ "name": name, "in": "query", "style": style, "explode": explode, "schema": {} });
        parameters.push(match way {
            Way::Path => {
                path += &format!("/{{{name}}}");
                json!({ "name": name, "in": "path", "required": true, "schema": {} })
            }
            Way::Pairs => styled("form", true),
            Way::Comma => styled("form", false),
            Way::Deep => styled("deepObject", true),
            Way::Json => json!({ "name": name, "in": "query", "content": { "application/json": { "schema": {} } } }),
            Way::Header => json!({ "name": name, "in": "header", "schema": {} }),
            Way::Body => {
                properties.insert(name.clone(), json!({}));
                encoding.insert(name, json!({ "style": "deepObject" }));
                continue;
            }
        });
    }
    let media = if is_form { "application/x-www-form-urlencoded" } else { "application/json" };
    let mut operation = json!({ "parameters": parameters });
    if !properties.is_empty() {
        let schema = json!({ "type": "object", "properties": properties });
        operation["requestBody"] = json!({ "content": { media: { "schema": schema, "encoding": encoding } } });
    }
    json!({ "openapi": "3.0.3", "paths": { path: { "post": operation } } })
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().expect("UTF-8").into_owned()
}

/// Returns the decoded pairs of a query or form. A value with commas is split into its elements.
fn pairs(encoded: &str) -> Vec<(String, Vec<String>)> {
    let pairs = encoded.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').expect("a pair");
        (decoded(name), value.split(',').map(decoded).collect())
    };
    pairs.map(pair).collect()
}

/// Returns the pairs that a query or form should contain for an argument.
fn expected(name: &str, way: Way, value: &Value) -> Vec<(String, Vec<String>)> {
    let one = |name: String, value: &Value| (name, vec![text(value)]);
    match (way, value) {
        (Way::Json, value) => vec![(name.to_owned(), vec![value.to_string()])],
        (_, Value::Array(values)) if values.is_empty() => Vec::new(),
        (Way::Comma, Value::Array(values)) => vec![(name.to_owned(), values.iter().map(text).collect())],
        (Way::Comma, Value::Object(fields)) => {
            let elements: Vec<String> = fields.iter().flat_map(|(key, value)| [key.clone(), text(value)]).collect();
            vec![(name.to_owned(), if elements.is_empty() { vec![String::new()] } else { elements })]
        }
        (Way::Pairs, Value::Array(values)) => values.iter().map(|value| one(name.to_owned(), value)).collect(),
        (Way::Pairs, Value::Object(fields)) => fields.iter().map(|(key, value)| one(key.clone(), value)).collect(),
        (_, Value::Array(values)) => values.iter().map(|value| one(format!("{name}[]"), value)).collect(),
        (_, Value::Object(fields)) => fields.iter().map(|(key, value)| one(format!("{name}[{key}]"), value)).collect(),
        (_, value) => vec![one(name.to_owned(), value)],
    }
}

/// Returns whether a request cannot express the value in this place.
fn is_beyond(
    name: &str,
    (way, value): (Way, &Value),
    arguments: &BTreeMap<String, (Way, Value)>,
    declared: &[(String, Way)],
    is_form: bool,
) -> bool {
    let holds_null = match value {
        Value::Null => true,
        Value::Array(values) => values.contains(&Value::Null),
        Value::Object(fields) => fields.values().any(Value::is_null),
        _ => false,
    };
    let plain = match value {
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| format!("{key},{}", text(value))).collect::<Vec<_>>().join(",")
        }
        value => text(value),
    };
    let in_query = |way: Way| matches!(way, Way::Pairs | Way::Comma | Way::Deep | Way::Json);
    let keys: Vec<&String> = value.as_object().into_iter().flatten().map(|(key, _)| key).collect();
    let is_another = |key: &&String| {
        let mut spread = arguments.iter().filter(|(other, (way, _))| *way == Way::Pairs && *other != name);
        let is_of = |other: &str| *key == other || key.starts_with(&format!("{other}["));
        declared.iter().any(|(other, way)| in_query(*way) && is_of(other))
            || spread
                .any(|(_, (_, value))| value.as_object().is_some_and(|fields| fields.keys().any(|other| is_of(other))))
    };
    match way {
        Way::Json => false,
        Way::Body if !is_form => false,
        _ if holds_null => true,
        Way::Path => ["", ".", ".."].contains(&plain.as_str()),
        Way::Header => plain.contains('\n'),
        Way::Pairs => keys.iter().any(is_another),
        Way::Deep | Way::Body => keys.iter().any(|key| key.contains('[')),
        Way::Comma => false,
    }
}

fn sent(document: &Value, arguments: &Map<String, Value>) -> mcpkg_base::error::Result<Outgoing> {
    let spec = imported(document.to_string(), "t").expect("an import").commands.remove(0).spec;
    assert!(spec.runnable, "{:?}", spec.why_not);
    request(&Url::parse(BASE).expect("a URL"), &spec, arguments)
}

/// The arguments of an operation: for each, its index in `WAYS`, and the value if there is one.
type Given = Vec<(usize, Option<Value>)>;

/// The test suite runs a fixed number of cases. `just fuzz` runs cases for a chosen time.
#[test]
fn hostile_specs_and_values_send_what_was_approved_or_nothing() {
    let given = proptest::collection::vec((0..WAYS.len(), proptest::option::weighted(0.8, value())), 1..5);
    let strategy = (given, any::<bool>());
    // Each call of the proptest runner runs one case, and `Cases` counts them. The runner still shrinks
    // counterexamples.
    let mut runner = TestRunner::new(Config { cases: 1, ..config(1) });
    let mut cases = Cases::new("specs and values", 256);
    while cases.more() {
        let run = runner.run(&strategy, |(chosen, is_form)| leaves_as_approved(&chosen, is_form));
        run.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

fn leaves_as_approved(chosen: &Given, is_form: bool) -> Result<(), TestCaseError> {
    let ways: Vec<Way> = chosen.iter().map(|(way, _)| WAYS[*way]).collect();
    let document = document(&ways, is_form);
    let arguments: BTreeMap<String, (Way, Value)> = chosen
        .iter()
        .enumerate()
        .filter_map(|(n, (_, value))| Some((char::from(b'a' + n as u8).to_string(), (ways[n], value.clone()?))))
        .collect();
    let with: Map<String, Value> = arguments.iter().map(|(name, (_, value))| (name.clone(), value.clone())).collect();
    let lacks = (0..ways.len()).any(|n| ways[n] == Way::Path && chosen[n].1.is_none());
    let declared: Vec<(String, Way)> =
        ways.iter().enumerate().map(|(n, way)| (char::from(b'a' + n as u8).to_string(), *way)).collect();
    let beyond =
        arguments.iter().any(|(name, (way, value))| is_beyond(name, (*way, value), &arguments, &declared, is_form));
    let outgoing = match sent(&document, &with) {
        Err(error) => {
            prop_assert_eq!(error.code(), Code::InvalidArgument);
            prop_assert!(lacks || beyond, "{} for {:?}", error, arguments);
            return Ok(());
        }
        Ok(outgoing) => outgoing,
    };
    prop_assert!(!lacks && !beyond, "{:?} left as {}", arguments, outgoing.url.as_str());

    let rest = outgoing.url.as_str().strip_prefix(&format!("{BASE}/x")).expect("below the base");
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let elements = |value: &Value| match value {
        Value::Array(values) => values.iter().map(text).collect(),
        Value::Object(fields) => fields.iter().flat_map(|(key, value)| [key.clone(), text(value)]).collect::<Vec<_>>(),
        value => vec![text(value)],
    };
    let in_path: Vec<Vec<String>> =
        path.split('/').skip(1).map(|part| part.split(',').map(decoded).collect()).collect();
    let of = |wanted: Way| arguments.iter().filter(move |(_, (way, _))| *way == wanted);
    prop_assert_eq!(in_path, of(Way::Path).map(|(_, (_, value))| elements(value)).collect::<Vec<_>>());

    // Values with commas are split at the commas. In other values, commas are percent-encoded.
    let in_query = arguments.iter().filter(|(_, (way, _))| !matches!(way, Way::Path | Way::Header | Way::Body));
    let mut wanted: Vec<_> = in_query.flat_map(|(name, (way, value))| expected(name, *way, value)).collect();
    let mut found = pairs(query);
    wanted.sort();
    found.sort();
    prop_assert_eq!(found, wanted);

    let headers: BTreeMap<String, String> = outgoing
        .headers
        .iter()
        .filter(|(name, _)| *name != "content-type")
        .map(|(name, value)| (name.to_string(), String::from_utf8(value.as_bytes().to_vec()).expect("UTF-8")))
        .collect();
    prop_assert_eq!(
        headers,
        of(Way::Header).map(|(name, (_, value))| (name.clone(), elements(value).join(","))).collect::<BTreeMap<_, _>>()
    );

    let in_body: Map<String, Value> = of(Way::Body).map(|(name, (_, value))| (name.clone(), value.clone())).collect();
    let body = String::from_utf8(outgoing.body).expect("UTF-8");
    if in_body.is_empty() {
        prop_assert_eq!(body, "");
    } else if is_form {
        let mut wanted: Vec<_> = in_body.iter().flat_map(|(name, value)| expected(name, Way::Body, value)).collect();
        let mut found = pairs(&body);
        wanted.sort();
        found.sort();
        prop_assert_eq!(found, wanted);
    } else {
        let found: Value = serde_json::from_str(&body).expect("JSON");
        prop_assert_eq!(found, Value::Object(in_body));
    }
    Ok(())
}
