//! Tests malicious and malformed documents. Each is refused with a specific code, in bounded time and memory.

use mcpkg_base::error::Code;
use mcpkg_workflow::api::violation::Rule;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{hosting, imported, refused};
use crate::support::{Scratch, config};

#[test]
fn each_bad_document_is_refused_with_its_rule_and_place() {
    let scratch = Scratch::new();
    let deep = format!("{{\"openapi\": {}", "[".repeat(5_000));
    for (text, rule, line) in [
        (&b""[..], "syntax", Some(1)),
        (b"\x00\x01\xff\xfe", "syntax", Some(1)),
        (b"{\"openapi\": \"3.0.0\", ", "syntax", Some(1)),
        (b"openapi: 3.0.0\npaths: [\n", "syntax", Some(2)),
        (b"openapi: 3.0.0\nopenapi: 3.0.1\npaths: {}\n", "syntax", Some(2)),
        (deep.as_bytes(), "syntax", Some(1)),
        (b"swagger: '1.2'\npaths: {}\n", "openapi_version", Some(1)),
        (b"swagger: '2.0'\npaths: {}\n", "no_operations", Some(2)),
        (b"{\n\"openapi\": \"2.0\"}", "openapi_version", Some(2)),
        (b"openapi: 3.0.0\n", "paths_missing", Some(1)),
        (b"openapi: 3.0.0\npaths: nothing\n", "paths_missing", Some(1)),
        (b"openapi: 3.0.0\npaths: {}\n", "no_operations", Some(2)),
        (b"openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses: {'200': {$ref: '#/x'}}\n", "ref_unknown", Some(5)),
        (b"openapi: 3.0.0\npaths:\n  /a:\n    $ref: https://evil.example/a.yaml\n", "ref_external", Some(4)),
    ] {
        scratch.file("bad", text);
        let error = refused(&scratch, &["bad"]);
        let said = String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        assert_eq!(error["code"], "E_CATALOG_INVALID", "{said}: {error}");
        let violation = &error["details"]["violations"][0];
        assert_eq!(violation["code"], rule, "{said}: {error}");
        assert_eq!(violation["line"].as_u64(), line, "{said}: {error}");
    }
    assert_eq!(scratch.json(&["catalog", "list"])["catalogs"], json!([]));
}

#[test]
fn a_document_that_is_too_large_is_refused() {
    let yaml = format!("openapi: 3.0.0\n{}", "# padding\n".repeat(1_700_000));
    let error = imported(yaml, "x").expect_err("too large");
    assert!(error.code() == Code::CatalogInvalid && error.message().contains("the limit is 16777216"), "{error}");
    let paths: serde_json::Map<String, Value> = (0..20_001).map(|n| (format!("/p{n}"), json!({ "get": {} }))).collect();
    let error = imported(json!({ "openapi": "3.0.0", "paths": paths }).to_string(), "x").expect_err("too many");
    assert!(error.message().contains("it has 20001 operations"), "{error}");
}

#[test]
fn operations_of_one_name_and_id_stay_apart() {
    let paths = ["/a/{x}", "/a/{y}", "/a/{z}/", "/A/{x}"].map(|path| {
        let name = path.trim_start_matches("/a/").trim_start_matches("/A/").trim_matches(['{', '}', '/']).to_owned();
        let parameter = json!([{ "name": name, "in": "path", "required": true, "schema": {} }]);
        (
            path.to_owned(),
            json!({ "parameters": parameter, "get": { "operationId": "same" }, "delete": { "operationId": "same" } }),
        )
    });
    let paths: serde_json::Map<String, Value> = paths.into_iter().collect();
    let imported = imported(json!({ "openapi": "3.0.0", "paths": paths }).to_string(), "x").expect("an import");
    let mut ids: Vec<_> = imported.commands.iter().map(|command| command.spec.id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 8, "{ids:?}");
}

#[test]
fn documents_that_expand_exponentially_stay_bounded() {
    // Each schema refers to the next layer 20 times: 20^30 leaves.
    let layer = |n: usize| {
        let next: serde_json::Map<String, Value> =
            (0..20).map(|k| (format!("p{k}"), json!({ "$ref": format!("#/components/schemas/L{}", n + 1) }))).collect();
        (format!("L{n}"), json!({ "type": "object", "properties": next }))
    };
    let mut schemas: serde_json::Map<String, Value> = (0..30).map(layer).collect();
    schemas.insert("L30".to_owned(), json!({ "type": "string" }));
    // Each composition refers to the next one twice: 2^40 parts.
    for n in 0..40 {
        let next = json!({ "$ref": format!("#/components/schemas/A{}", n + 1) });
        schemas.insert(format!("A{n}"), json!({ "allOf": [next, next] }));
    }
    schemas.insert("A40".to_owned(), json!({ "type": "object" }));
    let answering = |name: &str| json!({ "get": { "responses": { "200": { "content": { "application/json": { "schema": { "$ref": format!("#/components/schemas/{name}") } } } } } } });
    let document = json!({ "openapi": "3.1.0", "paths": { "/l": answering("L0"), "/a": answering("A0") }, "components": { "schemas": schemas } });
    let begun = std::time::Instant::now();
    let imported = imported(document.to_string(), "x").expect("an import");
    assert!(begun.elapsed() < crate::support::DEADLINE);
    assert_eq!(imported.left_out.len(), 1);
    assert_eq!(
        (imported.left_out[0].rule, imported.left_out[0].operation.as_deref()),
        (Rule::LimitExceeded, Some("GET /a"))
    );
    assert!(imported.commands[0].spec.output_contract.more_fields.is_some());
    let size: usize =
        imported.commands.iter().map(|command| serde_json::to_string(&command.spec).expect("JSON").len()).sum();
    assert!(size < 1 << 20, "{size} bytes");
}

#[test]
fn texts_of_a_document_are_shown_without_control_characters() {
    let scratch = Scratch::new();
    let document = json!({ "openapi": "3.0.0", "info": { "title": "Evil \u{1b}[2J title" }, "paths": {
        "/a\u{1b}[31m": { "get": { "summary": "one\u{7}\nline", "description": "x" } },
    } });
    scratch.file("evil.json", document.to_string());
    scratch.ok(&["catalog", "import", "evil.json", "--prefix", "evil"]);
    for arguments in [&["catalog", "list"][..], &["catalog", "show", "evil"]] {
        let shown = scratch.ok(arguments);
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }
}

/// Replaces a value of the fixture. `path` leads there: each number selects a field or element, modulo their count.
fn mutated(document: &mut Value, path: &[usize], with: Value) {
    let Some((first, rest)) = path.split_first() else {
        *document = with;
        return;
    };
    match document {
        Value::Object(fields) if !fields.is_empty() => {
            let n = first % fields.len();
            let (_, value) = fields.iter_mut().nth(n).expect("a field");
            mutated(value, rest, with);
        }
        Value::Array(values) if !values.is_empty() => {
            let n = first % values.len();
            mutated(&mut values[n], rest, with);
        }
        other => *other = with,
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn any_change_of_a_document_is_imported_or_refused(
        path in proptest::collection::vec(0..40_usize, 1..9),
        with in prop_oneof![
            Just(Value::Null), Just(json!([])), Just(json!({})), Just(json!(-1)), Just(json!("#/")), Just(json!(true)),
            Just(json!({ "$ref": "#/components/schemas/App" })), Just(json!({ "$ref": 7 })), Just(json!([[["x"]]])),
            "\\PC{0,12}".prop_map(Value::from),
        ],
    ) {
        let mut document = hosting();
        mutated(&mut document, &path, with);
        match imported(document.to_string(), "hosting") {
            Ok(imported) => {
                let mut ids: Vec<&str> = imported.commands.iter().map(|command| command.spec.id.as_str()).collect();
                let count = ids.len();
                ids.sort_unstable();
                ids.dedup();
                prop_assert_eq!(ids.len(), count);
                for violation in &imported.left_out {
                    prop_assert!(violation.line > 0 && violation.operation.is_some());
                }
            }
            Err(error) => prop_assert_eq!(error.code(), Code::CatalogInvalid),
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let error = imported(bytes, "x").expect_err("no document");
        prop_assert_eq!(error.code(), Code::CatalogInvalid);
    }
}

#[test]
fn each_rule_has_its_own_word() {
    for (rule, word) in [
        (Rule::OpenapiVersion, "openapi_version"),
        (Rule::RefCycle, "ref_cycle"),
        (Rule::PathParameterUndeclared, "path_parameter_undeclared"),
    ] {
        assert_eq!(rule.word(), word);
    }
}
