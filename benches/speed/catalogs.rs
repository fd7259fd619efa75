//! Measures the import of a large OpenAPI document by a process: GitHub's document from npm, or a generated one of the
//! same size.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value as Json, json};

use crate::Effort;
use crate::data::Data;
use crate::hosting;
use crate::process::{in_turn, timed};
use crate::table::{Bar, Row, Table, Value};

const IMPORT: &str = "catalog import of a document of 13 MB, as a process, against serde_json reading it";

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(IMPORT) {
        return;
    }
    let (document, empty) = (document(data), data.empty("catalogs.db"));
    let database = data.path("catalogs-imported.db");
    let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", database.display()));
        }
        fs::copy(&empty, &database).expect("a copy of the empty database");
        let ours = timed(&mut hosting::importing(data, &database, &document, "big"));
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

/// Returns the path of GitHub's own document, which comes from npm. If it is not available, prints the reason and
/// returns `None`.
pub fn github() -> Option<PathBuf> {
    let script = ". tests/support/outside.sh; need_github_api; echo \"$document\"";
    let mut bash = Command::new("bash");
    bash.args(["-euc", script]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = bash.output().map_err(|error| println!("skipped: GitHub's own document: {error}")).ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let path = PathBuf::from(&said);
    if !path.is_file() {
        println!("{said}: GitHub's own document");
        return None;
    }
    Some(path)
}

/// Returns the path of GitHub's document, or of a generated one of the same size.
fn document(data: &Data) -> PathBuf {
    github().unwrap_or_else(|| {
        let path = data.path("big.json");
        fs::write(&path, made().to_string()).expect("a document");
        path
    })
}

/// Generates a document with 1,200 operations and 13 MB. As in GitHub's document, most of it is descriptions and
/// examples.
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
