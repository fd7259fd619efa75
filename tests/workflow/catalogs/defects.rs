//! Tests that mcpkg's catalogs do not repeat defects of oatty, the program that contract 004 describes. A test whose
//! name begins with `x15_` covers defect 15. Other files of this folder have such tests too.

use serde_json::{Value, json};

use super::{fixture, hosting, scratch};
use crate::support::api::Api;
use crate::support::{Client, Scratch};

#[test]
fn x15_names_stay_whatever_the_document_has_before_or_after() {
    let scratch = Scratch::new();
    let list = |first: &str, second: Option<&str>| {
        let one = |id: &str| json!({ "get": { "operationId": id, "parameters": [{ "name": "org", "in": "path", "required": true, "schema": {} }] } });
        let mut paths = serde_json::Map::new();
        if let Some(second) = second {
            paths.insert(second.to_owned(), json!({ "get": { "operationId": "apps/all" } }));
        }
        paths.insert(first.to_owned(), one("apps/for-org"));
        json!({ "openapi": "3.0.0", "info": { "title": "T" }, "paths": paths }).to_string()
    };
    scratch.file("api.json", list("/orgs/{org}/apps", None));
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "t"]);
    let ids = |scratch: &Scratch| -> Vec<String> {
        let shown = scratch.json(&["catalog", "show", "t"]);
        shown["commands"]
            .as_array()
            .expect("commands")
            .iter()
            .map(|one| format!("{}={}", one["id"].as_str().expect("an id"), one["path"].as_str().expect("a path")))
            .collect()
    };
    assert_eq!(ids(&scratch), ["t:orgs:apps:list=/orgs/{org}/apps"]);
    // The new version of the document begins with a simpler path. In a first import, that path would get the short
    // name.
    scratch.file("api.json", list("/orgs/{org}/apps", Some("/orgs/apps")));
    scratch.ok(&["catalog", "refresh", "t", "--yes"]);
    assert_eq!(ids(&scratch), ["t:orgs:apps:all=/orgs/apps", "t:orgs:apps:list=/orgs/{org}/apps"]);
    // A new import gives the short name to the simpler path. Only existing commands keep their names.
    scratch.ok(&["catalog", "remove", "t", "--yes"]);
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "t"]);
    assert_eq!(ids(&scratch), ["t:orgs:apps:for-org=/orgs/{org}/apps", "t:orgs:apps:list=/orgs/apps"]);
}

#[test]
fn x39_x40_no_agent_can_have_a_url_fetched_or_a_file_read() {
    let api = Api::start();
    let scratch = scratch(&api.base());
    scratch.ok(&["project", "create", "p"]);
    let listed = mcpkg::DOMAINS.operations().filter(|entry| entry.cli.first() == Some(&"catalog"));
    let names: Vec<&str> = listed
        .map(|entry| {
            assert!(!entry.faces.tool(), "{} has a tool", entry.tool);
            entry.tool
        })
        .collect();
    assert_eq!(names.len(), 7);
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for name in names {
        let secret = fixture("hosting.json").display().to_string();
        for document in [api.base(), secret] {
            let arguments = json!({ "document": document, "name": "hosting", "from": document });
            let error = client.error("tools/call", json!({ "name": name, "arguments": arguments }));
            assert_eq!(error["code"], -32602, "{name}: {error}");
        }
    }
    client.finish();
    assert_eq!(api.seen().len(), 0);
}

#[test]
fn the_document_itself_is_not_stored() {
    let scratch = scratch("http://127.0.0.1:1/api");
    let specs = scratch.column("SELECT spec FROM catalog_command");
    assert!(specs.len() > 15 && specs.iter().all(|spec| !spec.contains("$ref")));
    let held: Value = hosting();
    let unique = held["info"]["description"].as_str().expect("a description");
    assert!(!specs.concat().contains(unique));
}
