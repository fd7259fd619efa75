//! Tests the import of oatty's catalogs.

use serde_json::{Value, json};

use super::fixture;
use crate::support::Scratch;

/// Returns a catalog's entry in oatty's registry.json.
fn entry(title: &str, vendor: &str, source: Value, headers: Value) -> Value {
    json!({
        "title": title,
        "description": "",
        "vendor": vendor,
        "manifest_path": "/nowhere/oatty/catalogs/x.bin",
        "import_source": source,
        "import_source_type": "path",
        "headers": headers,
        "base_urls": ["https://eu.hosting.example.com/v1", "https://us.hosting.example.com/v1"],
        "base_url_index": 1,
        "is_enabled": true,
    })
}

fn header(key: &str, value: &str, source: &str) -> Value {
    json!({ "key": key, "value": value, "source": source, "effective": true })
}

/// Writes a registry.json with these catalogs, imports it, and returns the result.
fn take_over(scratch: &Scratch, catalogs: &[Value]) -> Value {
    let file = scratch.file("oatty/registry.json", json!({ "catalogs": catalogs }).to_string());
    scratch.json(&["catalog", "import", "--from-oatty", &file.display().to_string()])
}

#[test]
fn importable_catalogs_are_imported_and_the_others_reported() {
    let scratch = Scratch::new();
    let document = fixture("hosting.json").display().to_string();
    let headers = json!([
        header("X-Team", "${env:HOSTING_TEAM}", "Env"),
        header("Authorization", "Bearer ${env:HOSTING_TOKEN}", "Env"),
        header("X-Key", "${secret:hosting-X-Key}", "Secret"),
        header("X-Raw", "hunter22-in-the-file", "Raw"),
        header("Host", "${env:HOST_HEADER}", "Env"),
    ]);
    let mut disabled = entry("Off", "off", json!(document), json!([]));
    disabled["is_enabled"] = json!(false);
    let mut unencoded = entry("Plain", "plain", json!(document), json!([]));
    unencoded["base_urls"][1] = json!("http://someone:hunter22@api.example.com");
    let mut first = entry("Hosting API", "hosting", json!(document), headers);
    first["base_urls"][0] = json!("https://someone:hunter22@eu.hosting.example.com/v1");
    std::fs::create_dir_all(scratch.path().join("oatty/workflows")).expect("a folder");
    let data = take_over(
        &scratch,
        &[
            first,
            entry("Gone", "gone", json!("/nowhere/gone.json"), json!([header("X-Team", "${env:TEAM}", "Env")])),
            entry("Unknown", "unknown", Value::Null, json!([])),
            entry("Relative", "relative", json!("api.json"), json!([])),
            disabled,
            unencoded,
            entry("Hosting", "other", json!(document), json!([])),
            entry("Twin", "hosting", json!(document), json!([])),
            json!({ "title": 7, "headers": "hunter22" }),
        ],
    );
    let taken: Vec<(&str, &str)> = data["catalogs"]
        .as_array()
        .expect("catalogs")
        .iter()
        .map(|catalog| (catalog["was"].as_str().expect("a title"), catalog["name"].as_str().expect("a name")))
        .collect();
    assert_eq!(taken, [("Hosting API", "hosting")]);
    let left: Vec<(&str, &str)> = data["left"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|left| (left["title"].as_str().expect("a title"), left["why"].as_str().expect("a reason")))
        .collect();
    let told = |title: &str, why: &str| {
        assert!(left.iter().any(|(one, said)| *one == title && said.contains(why)), "{title}, {why}: {left:?}");
    };
    assert_eq!(left.len(), 7, "{left:?}");
    told("Gone", "/nowhere/gone.json");
    told("Unknown", "oatty did not record the catalog's source");
    told("Relative", "without its folder");
    told("Off", "it is disabled in oatty");
    told("Plain", "api.example.com");
    told("Hosting", "hosting");
    told("Twin", "hosting");
    // The hint is the command that imports the catalog, with everything the registry says about it.
    let gone =
        data["left"].as_array().expect("a list").iter().find(|left| left["title"] == "Gone").expect("it is named");
    let hint = gone["hint"].as_str().expect("a hint");
    let twin =
        data["left"].as_array().expect("a list").iter().find(|left| left["title"] == "Twin").expect("it is named");
    assert!(twin["hint"].as_str().is_some_and(|hint| hint.contains("--name NAME --prefix GROUP")), "{twin}");
    for part in ["--prefix gone", "--name gone", "--base-url https://us.hosting.example.com/v1", "X-Team=env:TEAM"] {
        assert!(hint.contains(part), "{part}: {hint}");
    }
    let notes = data["notes"].to_string();
    for told in
        ["X-Key", "hosting-X-Key", "X-Raw", "Host was skipped", "HOSTING_TOKEN", "eu.hosting.example.com", "catalog 9"]
    {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    assert!(!data.to_string().contains("hunter22"), "{data}");
    let shown = scratch.json(&["catalog", "show", "hosting"]);
    assert_eq!(shown["base_url"], "https://us.hosting.example.com/v1");
    assert_eq!(shown["headers"], json!({ "X-Team": "env:HOSTING_TEAM" }));
    assert_eq!(shown["schemes"].to_string().matches("env:HOSTING_TOKEN").count(), 1, "{shown}");
    assert!(!scratch.bytes().windows(8).any(|bytes| bytes == b"hunter22"));
    // Imported catalogs behave like ones that were imported one by one.
    scratch.ok(&["catalog", "refresh", "hosting", "--check"]);
    let again = take_over(&scratch, &[entry("Hosting API", "hosting", json!(document), json!([]))]);
    assert_eq!(
        (again["catalogs"].as_array().map(Vec::len), again["left"].as_array().map(Vec::len)),
        (Some(0), Some(1))
    );
}

#[test]
fn an_invalid_registry_is_refused() {
    let scratch = Scratch::new();
    scratch.file("bad.json", "hunter22");
    let refused = scratch.run(&["catalog", "import", "--from-oatty", "bad.json"]);
    assert_eq!(refused.status, 2, "{refused}");
    assert!(refused.stderr.contains("`bad.json` contains no catalogs: it is not valid JSON at line 1"), "{refused}");
    assert!(refused.stderr.contains("registry.json") && !refused.stderr.contains("hunter22"), "{refused}");
    let missing = scratch.run(&["catalog", "import", "--from-oatty", "none.json"]);
    assert!(missing.status == 1 && missing.stderr.contains("none.json"), "{missing}");
    let both = scratch.run(&["catalog", "import", "api.json", "--from-oatty", "bad.json"]);
    assert_eq!(both.status, 2, "{both}");
    let document = fixture("hosting.json").display().to_string();
    let registry = json!({ "catalogs": [
        entry("Hosting", "hosting", json!(document), json!([header("X-Key", "abc", "Raw")])),
        entry("Other", "other", Value::Null, json!([])),
    ] });
    scratch.file("registry.json", registry.to_string());
    let ran = scratch.run(&["catalog", "import", "--from-oatty", "registry.json"]);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(ran.stdout.starts_with("Imported 1 catalog from `registry.json`: 'hosting' ("), "{ran}");
    for told in
        ["the header X-Key was skipped", "skipped 'Other'", "mcpkg catalog import", "--name other --prefix other"]
    {
        assert!(ran.stderr.contains(told), "{told}: {ran}");
    }
}
