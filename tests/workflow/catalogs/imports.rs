//! Tests the result of an import: names, arguments, answers, and reports of what was left out.

use mcpkg_workflow::api::violation::Rule;
use mcpkg_workflow::spec::{CommandEffect, Idempotency};
use serde_json::json;

use super::{fixture, hosting, imported};

#[test]
fn both_twins_make_the_same_commands() {
    let json = imported(std::fs::read(fixture("hosting.json")).expect("the fixture"), "hosting").expect("an import");
    let yaml = imported(std::fs::read(fixture("hosting.yaml")).expect("the twin"), "hosting").expect("an import");
    assert_eq!((json.openapi.as_str(), yaml.openapi.as_str()), ("3.1.0", "3.0.3"));
    assert_eq!(json.commands, yaml.commands);
    assert_eq!(
        (json.title, json.version, json.servers, json.schemes),
        (yaml.title, yaml.version, yaml.servers, yaml.schemes)
    );
    let rules = |left_out: &[mcpkg_workflow::api::violation::Violation]| -> Vec<(Rule, String)> {
        left_out.iter().map(|violation| (violation.rule, violation.path.clone())).collect()
    };
    assert_eq!(rules(&json.left_out), rules(&yaml.left_out));
}

#[test]
fn each_operation_has_its_name() {
    let imported = imported(hosting().to_string(), "hosting").expect("an import");
    let names: Vec<String> = imported
        .commands
        .iter()
        .map(|command| {
            let why = command.spec.why_not.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{} = {} {}{why}", command.spec.id, command.method, command.path)
        })
        .collect();
    insta::assert_snapshot!(names.join("\n"), @"
    hosting:apps:addons:create = POST /apps/{id}/addons
    hosting:apps:addons:list = GET /apps/addons
    hosting:apps:addons:list-for-app = GET /apps/{id}/addons
    hosting:apps:create = POST /apps
    hosting:apps:delete = DELETE /apps/{id}
    hosting:apps:info = GET /apps/{id}
    hosting:apps:list = GET /apps
    hosting:apps:logs:create = POST /apps/{id}/logs
    hosting:apps:logs:list = GET /apps/{id}/logs
    hosting:apps:replace = PUT /apps/{id}
    hosting:apps:slug:create = POST /apps/{id}/slug
    hosting:apps:slug:update = PUT /apps/{id}/slug
    hosting:apps:update = PATCH /apps/{id}
    hosting:databases:create = POST /databases
    hosting:databases:info = GET /databases/{id}
    hosting:databases:list = GET /databases
    hosting:databases:search:create = POST /databases/search
    hosting:pipelines:create = POST /pipelines
    hosting:pipelines:list = GET /pipelines
    hosting:pipelines:promotions:info = GET /pipelines/{pipeline_id}/promotions/{name}.json (`session` is sent in a cookie, which is not supported)
    hosting:stacks:info = GET /stacks/{id} (`id` uses the unsupported style label)
    hosting:uploads:create = POST /uploads
    ");
    let literal = super::imported(hosting().to_string(), "").expect("an import");
    let create =
        literal.commands.iter().find(|command| command.spec.id == "apps:create").expect("the contract's own id");
    assert_eq!((create.spec.group.as_str(), create.spec.name.as_str()), ("apps", "create"));
}

#[test]
fn specs_say_all_that_a_request_needs() {
    let imported = imported(hosting().to_string(), "hosting").expect("an import");
    let mut shown = String::new();
    for id in [
        "apps:list",
        "apps:create",
        "apps:addons:create",
        "pipelines:promotions:info",
        "databases:create",
        "pipelines:create",
    ] {
        let id = format!("hosting:{id}");
        let command =
            imported.commands.iter().find(|command| command.spec.id == id).unwrap_or_else(|| panic!("no {id}"));
        let mut spec = command.spec.clone();
        // The output fields already show the schema.
        spec.output_contract.schema = None;
        shown.push_str(&serde_json::to_string_pretty(&spec).expect("JSON"));
        shown.push('\n');
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn the_import_reports_what_it_left_out_and_where() {
    let text = std::fs::read_to_string(fixture("hosting.json")).expect("the fixture");
    let imported = imported(text.clone(), "hosting").expect("an import");
    let found: Vec<_> = imported
        .left_out
        .iter()
        .map(|violation| (violation.rule, violation.operation.as_deref().expect("an operation")))
        .collect();
    let expected = [
        (Rule::RefUnknown, "GET /broken/unknown"),
        (Rule::RefExternal, "GET /broken/outside"),
        (Rule::DuplicateParameter, "GET /broken/twice"),
        (Rule::PathParameterUndeclared, "GET /broken/{undeclared}"),
        (Rule::RefCycle, "GET /broken/cycle"),
    ];
    let mut sorted = expected.to_vec();
    sorted.sort();
    let mut rules = found.clone();
    rules.sort();
    assert_eq!(rules, sorted);
    for violation in &imported.left_out {
        let line = text.lines().nth(violation.line - 1).expect("a line");
        let rest: String = line.chars().skip(violation.column - 1).collect();
        let begins = match violation.rule {
            Rule::RefUnknown => "\"#/components/responses/None\"",
            Rule::RefExternal => "\"other.yaml#/Thing\"",
            Rule::RefCycle => "\"#/components/schemas/Loop\"",
            Rule::DuplicateParameter => "{ \"name\": \"a\"",
            _ => "{ \"operationId\": \"broken/undeclared\"",
        };
        assert!(rest.starts_with(begins), "{}: {rest}", violation.line());
    }
    assert!(imported.commands.iter().all(|command| !command.path.starts_with("/broken")));
}

#[test]
fn effects_and_idempotency_follow_the_method_unless_the_document_sets_them() {
    let imported = imported(hosting().to_string(), "hosting").expect("an import");
    let of = |id: &str| {
        let command =
            imported.commands.iter().find(|command| command.spec.id == id).unwrap_or_else(|| panic!("no {id}"));
        (command.spec.effect, command.spec.idempotency)
    };
    for (id, expected) in [
        ("hosting:apps:list", (CommandEffect::Read, Idempotency::Safe)),
        ("hosting:apps:create", (CommandEffect::Write, Idempotency::Key)),
        ("hosting:apps:addons:create", (CommandEffect::Write, Idempotency::None)),
        ("hosting:apps:replace", (CommandEffect::Write, Idempotency::Idempotent)),
        ("hosting:apps:update", (CommandEffect::Write, Idempotency::None)),
        ("hosting:apps:delete", (CommandEffect::Destroy, Idempotency::Idempotent)),
        ("hosting:databases:search:create", (CommandEffect::Read, Idempotency::Safe)),
        ("hosting:pipelines:create", (CommandEffect::Write, Idempotency::Idempotent)),
    ] {
        assert_eq!(of(id), expected, "{id}");
    }
}

#[test]
fn an_operation_may_have_a_server_of_its_own() {
    let serving = |url: &str| json!({ "get": { "servers": [{ "url": url }], "responses": {} } });
    let document = |general: &str| {
        json!({ "openapi": "3.0.0", "servers": [{ "url": general }], "paths": {
        "/a": { "get": { "responses": {} } }, "/b": serving("https://b.example.com/x/"), "/c": serving("/other"), "/d": serving("https://{t}.example.com"),
    } })
    };
    let served = |general: &str| -> Vec<(Option<String>, bool)> {
        let imported = imported(document(general).to_string(), "t").expect("an import");
        imported.commands.into_iter().map(|command| (command.spec.base_url, command.spec.runnable)).collect()
    };
    let b = (Some("https://b.example.com/x".to_owned()), true);
    let c = (Some("https://a.example.com/other".to_owned()), true);
    assert_eq!(served("https://a.example.com/v1"), [(None, true), b.clone(), c, (None, false)]);
    // The document was imported from a file, so relative servers have no base.
    assert_eq!(served("/v1"), [(None, true), b, (None, false), (None, false)]);
}

#[test]
fn newer_documents_have_more_methods() {
    let document = json!({ "openapi": "3.2.0", "info": { "title": "T" }, "paths": { "/things": {
        "query": { "responses": {} },
        "additionalOperations": { "LINK": { "responses": {} } },
        "summary": "of the path",
    }, "x-other": {} } });
    let imported = imported(document.to_string(), "t").expect("an import");
    let found: Vec<_> = imported
        .commands
        .iter()
        .map(|one| (one.spec.id.as_str(), one.spec.effect, one.spec.summary.as_str()))
        .collect();
    let expected = [
        ("t:things:link", CommandEffect::Write, "of the path"),
        ("t:things:query", CommandEffect::Read, "of the path"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn json_lists_everything_that_was_left_out_and_text_only_the_number() {
    let scratch = crate::support::Scratch::with_project();
    let answer = |reference: &str| json!({ "get": { "responses": { "200": { "$ref": reference } } } });
    let mut paths = serde_json::Map::new();
    paths.insert("/fine".to_owned(), json!({ "get": { "responses": { "200": { "description": "ok" } } } }));
    paths.extend((0..30).map(|n| (format!("/broken{n}"), answer("#/components/responses/None"))));
    let document = json!({
        "openapi": "3.0.3", "info": { "title": "Half", "version": "1" }, "paths": paths,
        "servers": [{ "url": "https://api.example.com" }],
    });
    scratch.file("half.json", document.to_string());
    let import = ["catalog", "import", "half.json", "--prefix", "half"];
    let json = scratch.run(&[&["--json"], &import[..]].concat());
    let told: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(told["left_out"].as_array().map(Vec::len), Some(30), "{json}");
    assert!(!json.stdout.contains(" more"), "{json}");
    scratch.ok(&["catalog", "remove", "half", "--yes"]);
    let text = scratch.run(&import);
    assert!(text.stderr.contains("skipped 30 parts of the document; `-v` lists them"), "{text}");
    scratch.ok(&["catalog", "remove", "half", "--yes"]);
    let whole = scratch.run(&[&import[..], &["-v"]].concat());
    assert_eq!(whole.stderr.matches("#/components/responses/None").count(), 30, "{whole}");
}
