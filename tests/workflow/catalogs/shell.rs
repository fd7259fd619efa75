//! Tests the `mcpkg catalog` commands.

use serde_json::json;

use super::{fixture, refused, scratch};
use crate::support::Scratch;

#[test]
fn an_id_without_its_prefix_gets_a_hint_with_the_full_id() {
    let scratch = scratch("http://127.0.0.1:9/api");
    let ran = scratch.run(&["command", "show", "apps:create"]);
    assert!(ran.stderr.contains("did you mean 'hosting:apps:create'"), "{ran}");
}

#[test]
fn an_api_is_imported_shown_changed_and_removed() {
    let scratch = Scratch::new();
    scratch.file(
        "api.yaml",
        "\
openapi: 3.0.3
info: {title: Notes REST API v2, version: '2'}
servers: [{url: 'https://notes.example.com/v2'}]
security: [{token: []}]
paths:
  /notes:
    get: {summary: List notes, responses: {}}
    post: {summary: Write a note, parameters: [{name: sid, in: cookie, schema: {}}], responses: {}}
  /notes/{id}:
    get: {summary: Read a note, responses: {}}
components:
  securitySchemes: {token: {type: http, scheme: bearer}}
",
    );
    let ran = scratch.run(&["catalog", "import", "api.yaml"]);
    insta::assert_snapshot!(ran.to_string(), @"
    status: 0
    --- stdout
    Imported 2 commands from Notes REST API v2 2 as 'notes'
    --- stderr
    warning: 10:10: path_parameter_undeclared: the path placeholder `{id}` has no matching path parameter; skipped GET /notes/{id}
    hint: commands use the security scheme 'token'; say where its secret is stored: `mcpkg catalog set notes --auth token=env:NAME`
    hint: 1 command cannot be run; for the reasons, see `mcpkg catalog show notes`
    ");
    assert_eq!(scratch.ok(&["catalog", "list"]), "notes\tNotes REST API v2\t2\t2\tyes\thttps://notes.example.com/v2\n");
    scratch.ok(&["catalog", "set", "notes", "--auth", "token=env:NOTES", "--header", "X-Team=env:TEAM"]);
    let shown = scratch.json(&["catalog", "show", "notes"]);
    assert_eq!(shown["schemes"], json!([{ "name": "token", "takes": "bearer token", "secret": "env:NOTES" }]));
    assert_eq!(shown["headers"], json!({ "X-Team": "env:TEAM" }));
    scratch.ok(&["catalog", "set", "notes", "--header", "X-Team=", "--auth", "token="]);
    let shown = scratch.json(&["catalog", "show", "notes"]);
    assert_eq!((&shown["headers"], &shown["schemes"][0]["secret"]), (&json!({}), &json!(null)));
    let unasked = scratch.run(&["catalog", "remove", "notes"]);
    assert!(unasked.status == 1 && unasked.stderr.contains("needs to be confirmed"), "{unasked}");
    scratch.ok(&["catalog", "remove", "notes", "--yes"]);
    assert!(scratch.ok(&["catalog", "list"]).is_empty());
    let kinds: Vec<String> = scratch.json(&["events"])["events"]
        .as_array()
        .expect("events")
        .iter()
        .map(|event| event["kind"].as_str().expect("a kind").to_owned())
        .collect();
    let written: Vec<&str> = kinds.iter().map(String::as_str).filter(|kind| kind.starts_with("catalog")).collect();
    assert_eq!(written, ["catalog.import", "catalog.set", "catalog.set", "catalog.remove"]);
}

#[test]
fn catalog_show_prints_a_fact_per_line_and_full_reasons() {
    let scratch = scratch("http://127.0.0.1:1");
    let shown = scratch.ok(&["catalog", "show", "hosting"]);
    for line in [
        "server: https://eu.hosting.example.com/api/v1  by region",
        "scheme: token  bearer token",
        "hosting:stacks:info\tread\tnot run\tGET /stacks/{id}",
        "hosting:stacks:info cannot be run: `id` uses the unsupported style label",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
}

#[test]
fn names_that_are_taken_or_reserved_are_refused() {
    let scratch = scratch("http://127.0.0.1:1");
    let document = fixture("hosting.json").display().to_string();
    for (arguments, code, says) in [
        (&["--prefix", "mcpkg"][..], "E_INVALID_ARGUMENT", "reserved for mcpkg's own commands"),
        (&["--prefix", "tool"], "E_INVALID_ARGUMENT", "mcpkg's own"),
        (&["--prefix", "workflow"], "E_INVALID_ARGUMENT", "mcpkg's own"),
        (&["--prefix", "a:b"], "E_INVALID_ARGUMENT", "is not a valid group of commands"),
        (&["--prefix", "Ä"], "E_INVALID_ARGUMENT", "is not a valid group of commands"),
        (&["--prefix", "hosting"], "E_ALREADY_EXISTS", "Catalog 'hosting' already exists"),
        (
            &["--prefix", "hosting", "--name", "other"],
            "E_ALREADY_EXISTS",
            "already has commands in the group 'hosting'",
        ),
        (&[], "E_ALREADY_EXISTS", "Catalog 'hosting' already exists"),
    ] {
        let error = refused(&scratch, &[&[document.as_str()], arguments].concat());
        assert_eq!(error["code"], code, "{arguments:?}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(says)), "{arguments:?}: {error}");
    }
    // The empty prefix uses the first segment of each path as the group. If one of them is a group of mcpkg's own
    // commands, the whole import is refused.
    let paths = json!({ "/tool/x": { "get": {} }, "/apps": { "get": {} } });
    scratch.file("tool.json", json!({ "openapi": "3.0.0", "paths": paths }).to_string());
    assert_eq!(refused(&scratch, &["tool.json", "--prefix", ""])["code"], "E_INVALID_ARGUMENT");
    scratch.ok(&["catalog", "import", &document, "--prefix", "", "--name", "bare"]);
    scratch.file("apps.json", json!({ "openapi": "3.0.0", "paths": { "/apps": { "get": {} } } }).to_string());
    let error = refused(&scratch, &["apps.json", "--prefix", ""]);
    assert!(
        error["message"].as_str().is_some_and(|message| message.contains("already has commands in the group 'apps'")),
        "{error}"
    );
}

#[test]
fn a_literal_secret_is_refused_and_not_shown() {
    let scratch = scratch("http://127.0.0.1:1");
    let document = fixture("hosting.json").display().to_string();
    const VALUE: &str = "sk-live-0123456789";
    for arguments in [
        &["import", document.as_str(), "--prefix", "x", "--auth", "token=sk-live-0123456789"][..],
        &["import", document.as_str(), "--prefix", "x", "--header", "X-Key=sk-live-0123456789"],
        &["set", "hosting", "--auth", "token=sk-live-0123456789"],
        &["set", "hosting", "--header", "X-Key=sk-live-0123456789"],
    ] {
        let ran = scratch.run(&[&["catalog"], arguments].concat());
        assert!(ran.status == 2 && ran.stderr.contains("env:API_TOKEN"), "{ran}");
        assert!(!ran.stderr.contains(VALUE) && !ran.stdout.contains(VALUE), "{ran}");
    }
    let stored = scratch.bytes();
    assert!(!stored.windows(VALUE.len()).any(|window| window == VALUE.as_bytes()));
    for (arguments, says) in [
        (&["--auth", "tokn=env:A"][..], "did you mean 'token'?"),
        (&["--auth", "session=env:A"], "mcpkg cannot send a secret for the security scheme 'session'"),
        (&["--auth", "token"], "needs a name and a reference to its secret"),
        (&["--header", "Host=env:A"], "The header 'Host' cannot be set: it is invalid, or mcpkg sets it itself"),
        (&["--header", "a b=env:A"], "cannot be set"),
        (&["--base-url", "http://example.com"], "is not a valid base URL"),
        (&["--base-url", "https://u:p@example.com"], "is not a valid base URL"),
        (&["--timeout", "601"], "601"),
        (&["--max-answer", "65"], "65"),
    ] {
        let ran = scratch.run(&[&["catalog", "set", "hosting"], arguments].concat());
        assert!(ran.status == 2 && ran.stderr.contains(says), "{arguments:?}: {ran}");
    }
}

#[test]
fn two_imports_of_one_name_at_once_leave_one() {
    let scratch = Scratch::new();
    scratch.ok(&["init"]);
    let document = fixture("hosting.json").display().to_string();
    let running: Vec<_> = (0..4)
        .map(|_| {
            let mut command = scratch.command();
            command
                .args(["catalog", "import", &document])
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            command.spawn().expect("mcpkg starts")
        })
        .collect();
    let done =
        running.into_iter().map(|mut child| child.wait().expect("it ends")).filter(|status| status.success()).count();
    assert_eq!(done, 1);
    assert_eq!(scratch.json(&["catalog", "list"])["catalogs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn catalog_set_without_changes_is_a_usage_error() {
    let scratch = scratch("https://hosting.example.com");
    let refused = scratch.run(&["catalog", "set", "hosting"]);
    assert!(refused.status == 2 && refused.stderr.contains("--base-url, --header, --auth"), "{refused}");
}
