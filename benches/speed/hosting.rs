//! Makes databases whose catalogs contain commands: those of an invented hosting API, or of a given document.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value as Json, json};

use crate::data::Data;
use crate::peer::mcpkg;

/// The number of commands of the hosting API.
pub const COMMANDS: usize = 5_000;

/// The id of one of the hosting API's commands.
pub const COMMAND: &str = "hosting:addons:addons-7:info";

/// Returns the path of a database with the commands of the hosting API. Makes the database on the first call.
pub fn database(data: &Data) -> PathBuf {
    let (document, database) = (data.path("hosting.json"), data.path("hosting.db"));
    if database.exists() {
        return database;
    }
    data.empty("hosting.db");
    fs::write(&document, described().to_string()).expect("a document");
    import(data, &database, &document, "hosting");
    database
}

/// Returns the folder in which mcpkg records this user's approvals.
pub fn approved(data: &Data) -> PathBuf {
    data.path("state/mcpkg/approved")
}

/// Returns the command that imports a document into a database.
pub fn importing(data: &Data, database: &Path, document: &Path, prefix: &str) -> Command {
    let mut command = mcpkg(database);
    command.env("XDG_STATE_HOME", data.path("state")).stdout(Stdio::null());
    command.args(["catalog", "import", "-q", "--prefix", prefix]).arg(document);
    command
}

/// Imports a document into a database.
pub fn import(data: &Data, database: &Path, document: &Path, prefix: &str) {
    let status = importing(data, database, document, prefix).status().expect("mcpkg starts");
    assert!(status.success(), "the import failed");
}

/// Describes the hosting API: ten resources with a hundred lists each. One in nineteen lists is about postgres.
fn described() -> Json {
    const THINGS: [&str; 10] =
        ["app", "addon", "pipeline", "database", "domain", "release", "dyno", "key", "webhook", "collaborator"];
    let text = json!({ "type": "string" });
    let place = |name: &str| json!([{ "name": name, "in": "path", "required": true, "schema": text }]);
    let mut paths = Map::new();
    for n in 0..COMMANDS / 5 {
        let (thing, of, part) = (THINGS[n % 10], THINGS[n / 10 % 10], n / 100);
        let plan = if n.is_multiple_of(19) { " with a postgres plan" } else { "" };
        let query = |name: &str| json!({ "name": name, "in": "query", "schema": text });
        let operation = |verb: &str, answer: Json| {
            json!({
                "summary": format!("{verb} a {thing} of a {of} in region {}{plan}", n % 37),
                "parameters": [query("region"), query("limit"), query(&format!("page_{}", n % 11))],
                "responses": { "200": { "description": "It", "content": { "application/json": { "schema": answer } } } },
            })
        };
        let one = json!({ "$ref": "#/components/schemas/Thing" });
        let all = json!({ "type": "array", "items": one });
        let lists = format!("/{of}s/{{{of}_id}}/{thing}s-{part}");
        paths.insert(format!("{lists}/{{item}}"), json!({
            "parameters": [place(&format!("{of}_id"))[0], place("item")[0]],
            "get": operation("Show", one.clone()), "patch": operation("Change", one.clone()), "delete": operation("Delete", one.clone()),
        }));
        paths.insert(lists, json!({
            "parameters": place(&format!("{of}_id")), "get": operation("List", all), "post": operation("Create", one),
        }));
    }
    let fields = ["id", "name", "region", "state", "plan", "owner_id", "created_at", "updated_at"];
    let fields: Map<String, Json> = fields.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
    json!({
        "openapi": "3.1.0", "info": { "title": "Hosting", "version": "1" },
        "servers": [{ "url": "https://api.example.org" }], "paths": paths,
        "components": { "schemas": { "Thing": { "type": "object", "properties": fields } } },
    })
}
