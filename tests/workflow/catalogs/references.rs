//! Tests documents in which operations and their parts are references, within the document or to other files.

use serde_json::{Value, json};

use super::{imported, refused};
use crate::support::Scratch;

/// Returns a line for each command of a catalog: its id and its required arguments.
fn commands(scratch: &Scratch, catalog: &str) -> Vec<String> {
    let shown = scratch.json(&["catalog", "show", catalog]);
    let ids = shown["commands"].as_array().expect("commands").iter().map(|one| one["id"].as_str().expect("an id"));
    let one = |id: &str| {
        let spec = scratch.json(&["command", "show", id]);
        let names = |key: &str| -> Vec<String> {
            let all = spec[key].as_array().into_iter().flatten();
            let needed = all.filter(|one| key == "positionals" || one["required"] == true);
            needed.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
        };
        format!("{id} {}", [names("positionals"), names("flags")].concat().join(","))
    };
    ids.map(one).collect()
}

#[test]
fn an_operation_may_be_a_reference() {
    let text = |name: &str, place: &str| json!({ "name": name, "in": place, "required": true, "schema": { "type": "string" } });
    let document = json!({
        "openapi": "3.1.0",
        "paths": {
            "/a": { "get": { "$ref": "#/components/x-ops/list" }, "post": { "$ref": "#/components/x-ops/nothing" } },
            "/b/{id}": { "delete": { "$ref": "#/components/x-ops/again" } },
            "/c": { "$ref": "#/components/pathItems/c" },
            "/d": { "get": { "$ref": "https://elsewhere.example/d.yaml" }, "put": { "$ref": "#/openapi" } },
        },
        "components": {
            "x-ops": {
                "list": { "operationId": "list", "parameters": [{ "$ref": "#/components/parameters/q" }] },
                "again": { "$ref": "#/components/x-ops/one" },
                "one": { "operationId": "one", "parameters": [text("id", "path"), text("tag", "query")] },
            },
            "pathItems": { "c": { "post": {
                "requestBody": { "$ref": "#/components/requestBodies/c" },
                "responses": { "201": { "$ref": "#/components/responses/c" } },
            } } },
            "parameters": { "q": text("q", "query") },
            "requestBodies": { "c": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/c" } } } } },
            "responses": { "c": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/c" } } } } },
            "schemas": { "c": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } } },
        },
    });
    let made = imported(document.to_string(), "t").expect("an import");
    let told: Vec<String> = made
        .commands
        .iter()
        .map(|command| {
            let spec = &command.spec;
            let needed = spec.flags.iter().filter(|flag| flag.required).map(|flag| flag.name.as_str());
            let names: Vec<&str> = spec.positionals.iter().map(|one| one.name.as_str()).chain(needed).collect();
            let fields: Vec<&str> = spec.output_contract.fields.iter().map(|field| field.name.as_str()).collect();
            format!("{} {names:?} {fields:?}", spec.id)
        })
        .collect();
    assert_eq!(told, ["t:a:list [\"q\"] []", "t:b:delete [\"b_id\", \"tag\"] []", "t:c:create [\"name\"] [\"name\"]"]);
    let left: Vec<String> = made
        .left_out
        .iter()
        .map(|one| format!("{} {}", one.rule.word(), one.operation.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(left, ["ref_unknown POST /a", "ref_external GET /d", "ref_unknown PUT /d"]);
}

/// Writes a document that consists of several files to `api/` in the scratch folder.
fn in_files(scratch: &Scratch) {
    let file = |name: &str, text: &str| drop(scratch.file(name, text));
    file(
        "api/root.yaml",
        "openapi: 3.0.3\ninfo: {title: Parts}\nservers: [{url: https://parts.example.com}]\npaths:\n  \
        /machines:\n    post: {$ref: parts/create.yaml}\n    delete: {$ref: './parts/delete.yaml'}\n  \
        /machines/{id}:\n    get: {$ref: parts/get.yaml#/operations/one}\n  \
        /disks: {$ref: parts/deep/disks.json}\n",
    );
    file(
        "api/parts/create.yaml",
        "operationId: mk\nrequestBody: {$ref: body.yaml}\nresponses: {'201': {description: ok}}\n",
    );
    file(
        "api/parts/body.yaml",
        "required: true\ncontent: {application/json: {schema: {$ref: 'deep/schemas.yaml#/Machine'}}}\n",
    );
    file(
        "api/parts/deep/schemas.yaml",
        "Machine: {type: object, required: [name, size], properties: {name: {$ref: '#/Name'}, size: {$ref: '../../root.yaml#/components/schemas/Size'}}}\nName: {type: string}\n",
    );
    file(
        "api/parts/delete.yaml",
        "operationId: byTag\nparameters: [{name: tag, in: query, required: true, schema: {type: string}}]\n",
    );
    file(
        "api/parts/get.yaml",
        "operations:\n  one:\n    parameters:\n      - {name: id, in: path, required: true, schema: {type: string}}\n",
    );
    file("api/parts/deep/disks.json", "{\"get\": {\"operationId\": \"disks\"}}");
}

#[test]
fn files_below_the_document_are_part_of_it() {
    let scratch = Scratch::new();
    in_files(&scratch);
    let root = std::fs::read_to_string(scratch.path().join("api/root.yaml")).expect("a file");
    scratch.file("api/root.yaml", format!("{root}components: {{schemas: {{Size: {{type: integer}}}}}}\n"));
    scratch.ok(&["catalog", "import", "api/root.yaml", "--prefix", "t"]);
    let expected =
        ["t:disks:list ", "t:machines:create name,size", "t:machines:delete tag", "t:machines:info machine_id"];
    assert_eq!(commands(&scratch, "t"), expected);
    let size = scratch.json(&["command", "show", "t:machines:create"]);
    assert_eq!(size["flags"][1]["type"], "integer", "{size}");
    // If one of the files changes, the document has changed.
    assert!(scratch.ok(&["catalog", "refresh", "t", "--check"]).contains("up to date"));
    scratch.file(
        "api/parts/delete.yaml",
        "operationId: byTag\nparameters: [{name: label, in: query, required: true, schema: {type: string}}]\n",
    );
    let ran = scratch.run(&["catalog", "refresh", "t", "--check"]);
    assert!(ran.status == 3 && ran.stdout.contains("`label` is new, and required"), "{ran}");
}

#[test]
fn no_file_is_read_outside_of_the_folder_of_the_document() {
    let scratch = Scratch::new();
    in_files(&scratch);
    let operation = "operationId: stolen\nparameters: []\n";
    scratch.file("outside.yaml", operation);
    std::os::unix::fs::symlink(scratch.path().join("outside.yaml"), scratch.path().join("api/link.yaml"))
        .expect("a link");
    std::os::unix::fs::symlink(scratch.path(), scratch.path().join("api/up")).expect("a link");
    let outside = scratch.path().join("outside.yaml").display().to_string();
    let references = [
        "../outside.yaml",
        "parts/../../outside.yaml",
        "link.yaml",
        "up/outside.yaml",
        &outside,
        "file:///etc/passwd",
        "%2e%2e/outside.yaml",
        "none.yaml",
        "parts",
    ];
    let mut paths = serde_json::Map::new();
    for (n, reference) in references.iter().enumerate() {
        paths.insert(format!("/p{n}"), json!({ "get": { "$ref": reference } }));
    }
    scratch.file("api/root.json", json!({ "openapi": "3.0.0", "paths": paths }).to_string());
    let error = refused(&scratch, &["api/root.json"]);
    let violations = error["details"]["violations"].as_array().expect("violations");
    assert_eq!(violations.len(), references.len(), "{error}");
    assert!(violations.iter().all(|one| one["code"] == "ref_external"), "{error}");
}

#[test]
fn errors_name_the_file_and_the_place_in_it() {
    let scratch = Scratch::new();
    in_files(&scratch);
    let imported = scratch.json(&["catalog", "import", "api/root.yaml", "--prefix", "t"]);
    let left_out = &imported["left_out"][0];
    assert_eq!(
        (&left_out["code"], &left_out["operation"]),
        (&json!("ref_unknown"), &json!("POST /machines")),
        "{imported}"
    );
    assert_eq!((&left_out["file"], &left_out["line"]), (&json!("parts/deep/schemas.yaml"), &json!(1)), "{imported}");
    assert!(
        left_out["message"].as_str().is_some_and(|message| message.contains("`#/components/schemas/Size`")),
        "{imported}"
    );
    // A cycle through several files is reported like one within a document.
    scratch.file("api/a.yaml", "$ref: b.yaml\n");
    scratch.file("api/b.yaml", "$ref: a.yaml\n");
    scratch.file(
        "api/cycle.json",
        json!({ "openapi": "3.0.0", "paths": { "/a": { "get": { "$ref": "a.yaml" } } } }).to_string(),
    );
    let error = refused(&scratch, &["api/cycle.json"]);
    assert_eq!(error["details"]["violations"][0]["code"], Value::from("ref_cycle"), "{error}");
}
