//! Tests refreshes of changed documents: what they show, what they keep, and what happens to a person's corrections.

use serde_json::{Value, json};

use super::{command, hosting, refused};
use crate::support::Scratch;
use crate::support::api::{Api, Trouble};

/// Returns a scratch database with the fixture imported from a file that tests can change.
fn ground() -> (Scratch, Value) {
    let (scratch, mut document) = (Scratch::new(), hosting());
    // Remove the operations that the import would leave out. These tests do not need them.
    document["paths"].as_object_mut().expect("paths").retain(|path, _| !path.starts_with("/broken"));
    scratch.file("api.json", document.to_string());
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "hosting"]);
    (scratch, document)
}

fn change(document: &mut Value) {
    let paths = document["paths"].as_object_mut().expect("paths");
    paths.shift_remove("/pipelines/{pipeline_id}/promotions/{name}.json");
    paths.insert("/stacks".to_owned(), json!({ "get": { "operationId": "stacks/list", "responses": {} } }));
    let apps = &mut document["paths"]["/apps"];
    let parameters = apps["get"]["parameters"].as_array_mut().expect("parameters");
    parameters[0]["required"] = json!(true);
    parameters[0]["schema"]["enum"] = json!(["eu"]);
    parameters.remove(4);
    apps["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]["size"] =
        json!({ "type": "string" });
    document["components"]["schemas"]["Size"]["properties"].as_object_mut().expect("properties").clear();
    document["paths"]["/apps/{id}/logs"]["get"]["summary"] = json!("Follow the log");
    document["info"]["version"] = json!("2.0.0");
}

#[test]
fn a_refresh_shows_what_changed_and_asks() {
    let (scratch, mut document) = ground();
    let current = scratch.run(&["catalog", "refresh", "hosting", "--check"]);
    assert_eq!(
        (current.status, current.stdout.as_str()),
        (0, "The commands of the catalog 'hosting' are up to date\n"),
        "{current}"
    );
    change(&mut document);
    scratch.file("api.json", document.to_string());
    let before = scratch.json(&["catalog", "show", "hosting"]);
    let shown = scratch.run(&["catalog", "refresh", "hosting", "--check"]);
    assert_eq!(shown.status, 3, "{shown}");
    insta::assert_snapshot!(shown.stdout, @"
    + hosting:stacks:list
    - hosting:pipelines:promotions:info
    ~ hosting:apps:create: `size` is new
    ! hosting:apps:list: `region` is required now; the values that `region` accepts changed; `limit` was removed
    ~ hosting:apps:logs:list: its description or other details changed
    ! hosting:databases:create: `plan` was removed; the response no longer has `plan`
    ! hosting:databases:info: the response no longer has `plan`
    ! hosting:databases:list: the response no longer has `plan`
    ! hosting:databases:search:create: the response no longer has `plan`
    ");
    let unasked = scratch.run(&["catalog", "refresh", "hosting"]);
    assert!(unasked.status == 1 && unasked.stderr.contains("needs to be confirmed"), "{unasked}");
    assert_eq!(scratch.json(&["catalog", "show", "hosting"]), before, "nothing was written");
    let done = scratch.json(&["catalog", "refresh", "hosting", "--yes"]);
    assert_eq!(
        (&done["refreshed"], &done["version"], &done["breaking"]),
        (&json!(true), &json!("2.0.0"), &json!(true))
    );
    let again = scratch.run(&["catalog", "refresh", "hosting"]);
    assert_eq!((again.status, again.stdout.as_str()), (0, "The catalog 'hosting' is up to date\n"), "{again}");
    let ids = scratch.json(&["catalog", "show", "hosting"])["commands"].to_string();
    assert!(ids.contains("hosting:stacks:list") && !ids.contains("promotions"));
}

#[test]
fn another_type_breaks_callers_also_in_a_path_and_in_a_list() {
    let scratch = Scratch::new();
    let api = |kind: &str| {
        let parameters = json!([
            { "name": "id", "in": "path", "required": true, "schema": { "type": kind } },
            { "name": "sizes", "in": "query", "schema": { "type": "array", "items": { "type": kind } } },
        ]);
        json!({
            "openapi": "3.0.3",
            "info": { "title": "Apps", "version": "1" },
            "servers": [{ "url": "http://127.0.0.1:9" }],
            "paths": { "/apps/{id}": { "get": { "operationId": "apps/info", "parameters": parameters, "responses": {} } } },
        })
    };
    scratch.file("api.json", api("string").to_string());
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "hosting"]);
    scratch.file("api.json", api("integer").to_string());
    let shown = scratch.run(&["catalog", "refresh", "hosting", "--check"]);
    assert_eq!(
        shown.stdout,
        "! hosting:apps:info: the type of `app_id` is now integer (previously string); the values that `sizes` accepts have \
         other types\n"
    );
}

#[test]
fn corrections_survive_a_refresh() {
    let (scratch, mut document) = ground();
    let patch = |arguments: &[&str]| scratch.json(&[&["catalog", "patch"], arguments].concat());
    patch(&["hosting:databases:create", "--name", "databases:make", "--effect", "destroy", "--idempotency", "key"]);
    patch(&["hosting:apps:addons:list-for-app", "--list", "none"]);
    patch(&[
        "hosting:databases:list",
        "--tag",
        "id=database_id,main",
        "--pagination",
        "style=cursor,param=after,next=next",
    ]);
    let check = |scratch: &Scratch| {
        let context = scratch.context();
        let (_, made) = command(&context, "hosting:databases:make");
        assert_eq!((made.name.as_str(), made.method.as_deref()), ("databases:make", Some("POST")));
        assert_eq!(serde_json::to_value((made.effect, made.idempotency)).expect("JSON"), json!(["destroy", "key"]));
        let (_, addons) = command(&context, "hosting:apps:addons:list-for-app");
        let names: Vec<&str> = addons.output_contract.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!((addons.output_contract.list, names), (None, vec!["total", "items", "notices"]));
        let (_, databases) = command(&context, "hosting:databases:list");
        let id = databases.output_contract.fields.iter().find(|field| field.name == "id").expect("an id");
        assert_eq!(id.tags, ["database_id", "main"]);
        let pagination = json!(databases.output_contract.pagination);
        assert_eq!(pagination, json!({ "style": "cursor", "param": "after", "next_cursor_path": "next" }));
    };
    check(&scratch);
    change(&mut document);
    scratch.file("api.json", document.to_string());
    scratch.ok(&["catalog", "refresh", "hosting", "--yes"]);
    check(&scratch);
    // The corrected command keeps the id from the correction, and no other command takes it.
    let shown = scratch.json(&["catalog", "show", "hosting"]);
    let made = shown["commands"]
        .as_array()
        .expect("commands")
        .iter()
        .find(|one| one["id"] == "hosting:databases:make")
        .expect("it");
    assert_eq!(made["patch"]["id"], "hosting:databases:make");
    scratch.ok(&["catalog", "patch", "hosting:databases:make", "--clear"]);
    command(&scratch.context(), "hosting:databases:create");
    // A new command does not take an id that a person gave to another command.
    scratch.ok(&["catalog", "patch", "hosting:apps:list", "--name", "teams:list"]);
    document["paths"]["/teams"] = json!({ "get": { "responses": {} } });
    scratch.file("api.json", document.to_string());
    assert_eq!(scratch.json(&["catalog", "refresh", "hosting", "--yes"])["added"], json!(["hosting:teams:list-get"]));
    // If a command disappears, its corrections are removed too, and the refresh reports this.
    scratch.ok(&["catalog", "patch", "hosting:stacks:list", "--effect", "write"]);
    document["paths"].as_object_mut().expect("paths").shift_remove("/stacks");
    scratch.file("api.json", document.to_string());
    let told = scratch.run(&["catalog", "refresh", "hosting", "--yes"]);
    assert!(told.stderr.contains("'hosting:stacks:list' was removed, along with its corrections"), "{told}");
}

#[test]
fn an_invalid_correction_is_refused() {
    let (scratch, _) = ground();
    for (arguments, status, says) in [
        (&["hosting:apps:lst", "--effect", "read"][..], 1, "did you mean 'hosting:apps:list'?"),
        (&["hosting:apps:list", "--name", "apps:create"], 1, "Command 'hosting:apps:create' already exists"),
        (&["hosting:apps:list", "--name", "a b"], 2, "'a b' is not a valid part of a command's name"),
        (&["hosting:apps:list", "--effect", "none"], 2, "possible values: read, write, destroy"),
        (&["hosting:apps:list", "--tag", "idd=x"], 2, "has no field 'idd'"),
        (&["hosting:apps:list", "--tag", "x"], 2, "is not of the form FIELD=TAG"),
        (&["hosting:apps:list", "--pagination", "param=x"], 2, "style=..."),
        (&["hosting:apps:list", "--pagination", "style=odd"], 2, "is not a valid pagination setting"),
    ] {
        let ran = scratch.run(&[&["catalog", "patch"], arguments].concat());
        assert!(ran.status == status && ran.stderr.contains(says), "{arguments:?}: {ran}");
    }
}

#[test]
fn a_refresh_from_a_broken_document_changes_nothing() {
    let (scratch, _) = ground();
    let before = scratch.json(&["catalog", "show", "hosting"]);
    for (text, code) in [("{", "E_CATALOG_INVALID"), ("openapi: 3.0.0\npaths: {}\n", "E_CATALOG_INVALID")] {
        scratch.file("api.json", text);
        let ran = scratch.run(&["--json", "catalog", "refresh", "hosting", "--yes"]);
        assert!(ran.status == 1 && ran.stdout.contains(code), "{ran}");
    }
    std::fs::remove_file(scratch.path().join("api.json")).expect("the file");
    let gone = scratch.run(&["--json", "catalog", "refresh", "hosting", "--yes"]);
    assert!(gone.status == 1 && gone.stdout.contains("E_NOT_FOUND"), "{gone}");
    assert_eq!(scratch.json(&["catalog", "show", "hosting"]), before);
}

#[test]
fn a_refresh_fetches_the_original_url_and_stays_within_its_origin() {
    let api = Api::start();
    let scratch = Scratch::new();
    let serve = |document: &Value| {
        api.trouble([Trouble::Status(200, vec![], Box::leak(document.to_string().into_boxed_str()))])
    };
    let url = format!("{}/openapi.json", api.base());
    let mut document = json!({ "openapi": "3.0.0", "info": { "title": "Stacks API" }, "servers": [{ "url": "../v1" }],
        "paths": { "/stacks": { "get": { "operationId": "stacks" } } } });
    serve(&document);
    let done = scratch.json(&["catalog", "import", &url]);
    // The base URL in the document is relative to the document's URL.
    assert_eq!(
        (&done["name"], &done["base_url"], &done["source"]),
        (&json!("stacks"), &json!(api.base()), &json!(url))
    );
    document["paths"]["/more"] = json!({ "post": {} });
    api.trouble([Trouble::Status(302, vec![("location", "/api/v1/new.json".to_owned())], "")]);
    serve(&document);
    assert_eq!(scratch.json(&["catalog", "refresh", "stacks", "--yes"])["added"], json!(["stacks:more:create"]));
    assert_eq!(api.count("GET /api/v1/new.json"), 1);
    for (trouble, code) in [
        (Trouble::Status(302, vec![("location", "https://evil.example/".to_owned())], ""), "E_HTTP_REFUSED"),
        (Trouble::Status(404, vec![], "no"), "E_HTTP_FAILED"),
        (Trouble::Drop, "E_HTTP_FAILED"),
        (Trouble::Status(200, vec![], "<html>"), "E_CATALOG_INVALID"),
    ] {
        api.trouble([trouble]);
        let ran = scratch.run(&["--json", "catalog", "refresh", "stacks", "--yes"]);
        assert!(ran.status == 1 && ran.stdout.contains(code), "{code}: {ran}");
    }
    for url in [
        "file:///etc/passwd",
        "http://example.com/openapi.json",
        "ftp://example.com/x",
        "https://user:pass@example.com/x",
    ] {
        let error = refused(&scratch, &[url]);
        assert_eq!(error["code"], "E_INVALID_ARGUMENT", "{error}");
        assert!(!error.to_string().contains("pass@"), "{error}");
    }
}

#[test]
fn a_refresh_reports_which_workflows_and_drafts_it_affects() {
    let (scratch, mut document) = ground();
    scratch.ok(&["project", "create", "p"]);
    let text = "workflow: all\ninputs: {app: {provider: hosting:apps:list}}\nsteps:\n  - {id: a, run: hosting apps:logs:list, with: {app_id: '${{ inputs.app }}'}}\n";
    scratch.file("all.yaml", text);
    scratch.file("other.yaml", "workflow: other\nsteps:\n  - {id: a, run: hosting:pipelines:list}\n");
    scratch.file("gone.yaml", "workflow: gone\nsteps:\n  - {id: a, run: hosting:pipelines:promotions:info}\n");
    scratch.ok(&["workflow", "import", "all.yaml", "other.yaml"]);
    scratch.ok(&["draft", "add", "gone.yaml"]);
    change(&mut document);
    scratch.file("api.json", document.to_string());
    let shown = scratch.run(&["catalog", "refresh", "hosting", "--check"]);
    assert!(
        shown.stdout.contains(
            "  workflow 'all' of project 'p' uses hosting:apps:list (breaking change); hosting:apps:logs:list (changed)\n"
        ),
        "{shown}"
    );
    assert!(
        shown.stdout.contains("of workflow 'gone' of project 'p' uses hosting:pipelines:promotions:info (removed)"),
        "{shown}"
    );
    assert!(!shown.stdout.contains("'other'"), "{shown}");
    let told = scratch.json(&["catalog", "refresh", "hosting", "--yes"]);
    let hits = told["hits"].as_array().expect("hits");
    assert_eq!(
        (hits.len(), &hits[0]["breaking"], &hits[0]["changed"]),
        (2, &json!(["hosting:apps:list"]), &json!(["hosting:apps:logs:list"]))
    );
}
