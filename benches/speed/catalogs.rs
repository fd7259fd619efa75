//! Import of a big OpenAPI document, as a process: GitHub's, where `tests/e2e/catalog.sh` fetched it, else one of its size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Map, Value as Json, json};

use crate::Effort;
use crate::data::Data;
use crate::peer::mcpkg;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};

const IMPORT: &str = "catalog import of a document of 13 MB, as a process, against serde_json reading it";

/// Measures the row of this file.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(IMPORT) {
        return;
    }
    let (document, empty) = (document(data), data.empty("catalogs.db"));
    let database = data.path("catalog.db");
    let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", database.display()));
        }
        fs::copy(&empty, &database).expect("a copy of the empty database");
        let mut command = mcpkg(&database);
        command.env("XDG_STATE_HOME", data.path("state")).args(["catalog", "import", "-q", "--prefix", "big"]);
        let begun = Instant::now();
        let status = command.arg(&document).stdout(Stdio::null()).status().expect("mcpkg starts");
        let ours = begun.elapsed();
        assert!(status.success(), "the import failed");
        let begun = Instant::now();
        let bytes = fs::read(&document).expect("the document");
        let read: Json = serde_json::from_slice(&bytes).expect("JSON");
        let reference = begun.elapsed();
        drop(read);
        [ours, reference]
    });
    let (ours, reference) = (Value::Time(ours), Some(Value::Time(reference)));
    table.push(Row { what: IMPORT.to_owned(), ours, off: None, reference, bar: Bar::Times(10.0) });
}

/// Returns the path of the document.
fn document(data: &Data) -> PathBuf {
    let outside = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/outside/octokit/api.github.com.json");
    if outside.exists() {
        return outside;
    }
    println!("skipped: GitHub's own document, since tests/e2e/catalog.sh did not fetch it; one of its size stands in");
    let path = data.path("big.json");
    fs::write(&path, made().to_string()).expect("a document");
    path
}

/// Makes a document of 1,200 operations and 13 MB: most of it words and examples, as in GitHub's.
fn made() -> Json {
    let words = "Says at some length what this is for, and what to look at before it is used. ".repeat(10);
    let property =
        |n: usize| (format!("field_{n}"), json!({ "type": "string", "description": words, "example": words }));
    let schema = |n: usize| {
        let mut properties: Map<String, Json> = (0..24).map(property).collect();
        properties.insert("owner".to_owned(), json!({ "$ref": format!("#/components/schemas/S{}", (n + 1) % 200) }));
        (format!("S{n}"), json!({ "type": "object", "properties": properties }))
    };
    let path = |n: usize| {
        let answer = json!({ "$ref": format!("#/components/schemas/S{}", n % 200) });
        let list = json!({ "type": "array", "items": answer });
        let with = |schema: Json| json!({ "200": { "content": { "application/json": { "schema": schema, "example": words } } } });
        let parameter = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
        let get = json!({ "operationId": format!("group{n}/list"), "summary": "List", "description": words, "responses": with(list) });
        let body = json!({ "required": true, "content": { "application/json": { "schema": answer } } });
        let put = json!({ "operationId": format!("group{n}/put"), "summary": "Put", "requestBody": body, "responses": with(answer) });
        (format!("/things/{{id}}/group{n}"), json!({ "parameters": parameter, "get": get, "put": put }))
    };
    let paths: Map<String, Json> = (0..600).map(path).collect();
    let schemas: Map<String, Json> = (0..200).map(schema).collect();
    json!({ "openapi": "3.0.3", "info": { "title": "Big", "version": "1" }, "paths": paths, "components": { "schemas": schemas } })
}
