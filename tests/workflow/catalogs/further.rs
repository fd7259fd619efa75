//! Tests multipart forms with files, APIs with a second origin and its own secret, and Swagger 2.0.

use mcpkg_base::http::{Outgoing, Url};
use mcpkg_workflow::api::request::request;
use serde_json::{Value, json};

use super::{fields, imported};
use crate::support::Scratch;
use crate::support::api::Api;

/// Returns the parts of a multipart body: the header lines of each, and its bytes as text.
fn parts(outgoing: &Outgoing) -> Vec<(String, String)> {
    let media = outgoing.headers["content-type"].to_str().expect("a media type");
    let boundary = media.strip_prefix("multipart/form-data; boundary=").expect("a multipart form");
    let body = String::from_utf8_lossy(&outgoing.body).into_owned();
    let (between, last) = (format!("--{boundary}\r\n"), format!("--{boundary}--\r\n"));
    let parts = body.strip_suffix(&last).expect("an end").split(&between).skip(1);
    let part = |part: &str| {
        let (head, bytes) = part.strip_suffix("\r\n").expect("an end").split_once("\r\n\r\n").expect("a head");
        (head.to_owned(), bytes.to_owned())
    };
    parts.map(part).collect()
}

fn upload(version: &str, file: Value) -> mcpkg_workflow::spec::CommandSpec {
    let object = json!({ "type": "object", "properties": { "id": { "type": "integer" } } });
    let schema = json!({ "type": "object", "required": ["file"], "properties": {
        "purpose": { "type": "string" }, "file": file, "more": { "type": "array", "items": file }, "tags": { "type": "array", "items": { "type": "string" } },
        "parent": object, "picture": file, "at": { "type": "integer" },
    } });
    let encoding =
        json!({ "picture": { "contentType": "image/png, image/jpeg" }, "tags": { "contentType": "application/json" } });
    let body =
        json!({ "required": true, "content": { "multipart/form-data": { "schema": schema, "encoding": encoding } } });
    let document = json!({ "openapi": version, "paths": { "/files": { "post": { "requestBody": body } } } });
    imported(document.to_string(), "t").expect("an import").commands.remove(0).spec
}

#[test]
fn a_form_of_several_parts_carries_files_texts_and_json() {
    for (version, file) in [
        ("3.0.3", json!({ "type": "string", "format": "binary" })),
        ("3.1.0", json!({ "type": "string", "contentMediaType": "application/octet-stream" })),
    ] {
        let spec = upload(version, file);
        assert!(spec.runnable, "{:?}", spec.why_not);
        let base = Url::parse("https://api.example.com").expect("a URL");
        let made = |arguments: Value| request(&base, &spec, &fields(arguments));
        let arguments = json!({
            "purpose": "a\r\nb", "file": "aGk=", "more": ["YQ==", { "name": "b\".txt", "type": "text/plain", "data": "Yg==" }],
            "tags": ["x", "y"], "parent": { "id": 7 }, "picture": { "name": "p.png", "data": "AA==" }, "at": 3,
        });
        let outgoing = made(arguments.clone()).expect("a request");
        let part = |head: &str, bytes: &str| (format!("Content-Disposition: form-data; {head}"), bytes.to_owned());
        let octets = "\r\nContent-Type: application/octet-stream";
        assert_eq!(
            parts(&outgoing),
            [
                part("name=\"purpose\"", "a\r\nb"),
                part(&format!("name=\"file\"; filename=\"file\"{octets}"), "hi"),
                part(&format!("name=\"more\"; filename=\"more\"{octets}"), "a"),
                part("name=\"more\"; filename=\"b%22.txt\"\r\nContent-Type: text/plain", "b"),
                part("name=\"tags\"\r\nContent-Type: application/json", "[\"x\",\"y\"]"),
                part("name=\"parent\"\r\nContent-Type: application/json", "{\"id\":7}"),
                part("name=\"picture\"; filename=\"p.png\"\r\nContent-Type: image/png", "\0"),
                part("name=\"at\"", "3"),
            ]
        );
        // The same arguments make the same body, so a retry sends the same bytes.
        assert_eq!(made(arguments).expect("a request").body, outgoing.body);
        for (file, says) in [
            (json!("no base64!"), "it is not base64"),
            (json!({ "name": "x" }), "pass the file as base64"),
            (json!({ "data": "aGk=", "nam": "x" }), "pass the file as base64"),
            (json!({ "data": "aGk=", "type": "a\r\nX: b" }), "control characters"),
            (json!(null), "needs the argument 'file'"),
        ] {
            let error = made(json!({ "file": file })).expect_err("a refusal");
            assert!(error.message().contains(says), "{error}");
        }
    }
}

#[test]
fn a_file_is_sent_by_the_shell() {
    let api = Api::start();
    let scratch = Scratch::with_project_here();
    let schema = json!({ "type": "object", "properties": { "file": { "type": "string", "format": "binary" } } });
    let body = json!({ "content": { "multipart/form-data": { "schema": schema } } });
    let operation = json!({ "x-mcpkg-effect": "read", "requestBody": body });
    scratch.file("api.json", json!({ "openapi": "3.0.0", "paths": { "/files": { "post": operation } } }).to_string());
    scratch.ok(&["catalog", "import", "api.json", "--prefix", "t", "--base-url", &api.base()]);
    // These four characters are valid base64, and also a number.
    for file in ["file=1234", "file={\"name\":\"a.bin\",\"data\":\"1234\"}"] {
        scratch.ok(&["command", "run", "t:files:create", "--yes", "--arg", file]);
    }
    for (seen, name) in api.seen().iter().zip(["file", "a.bin"]) {
        assert!(seen.headers["content-type"].starts_with("multipart/form-data; boundary="), "{seen:?}");
        let held = |bytes: &[u8]| seen.body.windows(bytes.len()).any(|window| window == bytes);
        assert!(held(b"\r\n\r\n\xd7\x6d\xf8\r\n") && held(format!("filename=\"{name}\"").as_bytes()), "{seen:?}");
    }
    assert_eq!(api.seen().len(), 2);
}

#[test]
fn a_second_origin_is_asked_once_a_person_allows_it_and_with_its_own_secret() {
    let (api, uploads, third) = (Api::start(), Api::start(), Api::start());
    let scratch = Scratch::with_project_here();
    let at = |other: &Api| json!({ "post": { "x-mcpkg-effect": "read", "servers": [{ "url": other.base() }] } });
    let document = json!({
        "openapi": "3.0.0",
        "security": [{ "token": [] }],
        "paths": { "/apps": { "get": {} }, "/uploads": at(&uploads), "/third": at(&third) },
        "components": { "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } } },
    });
    scratch.file("api.json", document.to_string());
    scratch.file("own", "of-its-own");
    scratch.file("other", "of-uploads");
    for name in ["own", "other"] {
        use std::os::unix::fs::PermissionsExt;
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(scratch.path().join(name), private).expect("a mode");
    }
    let file = |name: &str| format!("file:{}", scratch.path().join(name).display());
    let own = format!("token={}", file("own"));
    scratch.ok(&[
        "catalog",
        "import",
        "api.json",
        "--prefix",
        "t",
        "--base-url",
        &api.base(),
        "--auth",
        &own,
        "--header",
        &format!("X-Key={}", file("own")),
    ]);
    let refused = scratch.run(&["command", "run", "t:uploads:create", "--yes"]);
    assert!(refused.status != 0 && refused.stderr.contains("`mcpkg catalog set t --auth token@"), "{refused}");
    assert_eq!(uploads.seen().len(), 0);

    let origin = uploads.base().trim_end_matches("/api/v1").to_owned();
    let allowed = scratch.json(&["catalog", "set", "t", "--auth", &format!("token@{origin}={}", file("other"))]);
    assert_eq!(allowed["origins"][0]["origin"], json!(origin), "{allowed}");
    scratch.ok(&["command", "run", "t:uploads:create", "--yes"]);
    scratch.ok(&["command", "run", "t:apps:list", "--yes"]);
    let sent = |api: &Api| {
        let seen = api.seen();
        let of = |name: &str| seen[0].headers.get(name).cloned();
        (seen.len(), of("authorization"), of("x-key"))
    };
    assert_eq!(sent(&uploads), (1, Some("Bearer of-uploads".to_owned()), None));
    assert_eq!(sent(&api), (1, Some("Bearer of-its-own".to_owned()), Some("of-its-own".to_owned())));
    // An origin that nobody allowed still gets no requests.
    assert_ne!(scratch.run(&["command", "run", "t:third:create", "--yes"]).status, 0);
    assert_eq!(third.seen().len(), 0);

    for (given, says) in [
        ("none@https://x.example=env:X", "has no security scheme 'none'"),
        ("token@ftp://x.example=env:X", "is not a valid origin"),
        ("token@nonsense=env:X", "is not a valid origin"),
    ] {
        let ran = scratch.run(&["catalog", "set", "t", "--auth", given]);
        assert!(ran.status != 0 && ran.stderr.contains(says), "{given}: {ran}");
    }
    // After the permission was removed, the origin gets no more requests.
    scratch.ok(&["catalog", "set", "t", "--auth", &format!("token@{origin}=")]);
    assert_ne!(scratch.run(&["command", "run", "t:uploads:create", "--yes"]).status, 0);
    assert_eq!(uploads.seen().len(), 1);
}

#[test]
fn a_command_with_its_own_server_runs_in_a_catalog_without_base_url() {
    let api = Api::start();
    let scratch = Scratch::with_project_here();
    let own = json!({ "post": { "x-mcpkg-effect": "read", "servers": [{ "url": api.base() }] } });
    let none = json!({ "post": { "x-mcpkg-effect": "read" } });
    let document = |paths| json!({ "openapi": "3.0.0", "paths": paths }).to_string();
    scratch.file("api.json", document(json!({ "/uploads": own.clone(), "/apps": none })));
    let imported = scratch.run(&["catalog", "import", "api.json", "--prefix", "t"]);
    assert!(imported.status == 0 && imported.to_string().contains("has no base URL"), "{imported}");
    scratch.ok(&["command", "run", "t:uploads:create", "--yes"]);
    assert_eq!(api.seen().len(), 1);
    let refused = scratch.run(&["command", "run", "t:apps:create", "--yes"]);
    assert!(refused.status == 1 && refused.stderr.contains("The catalog 't' has no base URL"), "{refused}");

    // If every command has its own server, the import does not report a missing base URL.
    scratch.file("whole.json", document(json!({ "/uploads": own })));
    let imported = scratch.run(&["catalog", "import", "whole.json", "--prefix", "w"]);
    assert!(imported.status == 0 && !imported.to_string().contains("has no base URL"), "{imported}");
}

#[test]
fn swagger_2_is_converted() {
    let scratch = Scratch::new();
    scratch.file("parameters.yaml", "limit: {name: limit, in: query, type: integer, default: 20}\n");
    let pet = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "tag": { "type": "string", "x-nullable": true } } });
    let document = json!({
        "swagger": "2.0",
        "info": { "title": "Pets", "version": "1" },
        "host": "pets.example.com", "basePath": "/v2", "schemes": ["http", "https"],
        "consumes": ["application/json"], "produces": ["application/json"],
        "securityDefinitions": { "key": { "type": "apiKey", "in": "header", "name": "X-Key" }, "basic": { "type": "basic" } },
        "security": [{ "key": [] }],
        "parameters": { "id": { "name": "id", "in": "path", "required": true, "type": "string" }, "pet": { "name": "pet", "in": "body", "required": true, "schema": { "$ref": "#/definitions/Pet" } } },
        "responses": { "Pets": { "description": "All", "schema": { "type": "array", "items": { "$ref": "#/definitions/Pet" } } } },
        "definitions": { "Pet": pet },
        "paths": {
            "/pets": {
                "get": { "parameters": [
                    { "$ref": "parameters.yaml#/limit" },
                    { "name": "tags", "in": "query", "type": "array", "items": { "type": "string" } },
                    { "name": "states", "in": "query", "type": "array", "items": { "type": "string" }, "collectionFormat": "multi" },
                    { "name": "odd", "in": "header", "type": "string", "enum": ["a", "b"] },
                ], "responses": { "200": { "$ref": "#/responses/Pets" } } },
                "post": { "parameters": [{ "$ref": "#/parameters/pet" }], "responses": { "201": { "description": "Made" } } },
            },
            "/pets/{id}": {
                "parameters": [{ "$ref": "#/parameters/id" }],
                "put": { "consumes": ["application/x-www-form-urlencoded"], "security": [{ "basic": [] }], "parameters": [
                    { "name": "name", "in": "formData", "type": "string", "required": true },
                    { "name": "tags", "in": "formData", "type": "array", "items": { "type": "string" } },
                ] },
            },
            "/pets/{id}/picture": { "post": { "parameters": [{ "$ref": "#/parameters/id" }, { "name": "file", "in": "formData", "type": "file", "required": true }] } },
            "/bad": { "get": { "parameters": [{ "$ref": "#/parameters/none" }] } },
        },
    });
    scratch.file("pets.json", document.to_string());
    let imported = scratch.json(&["catalog", "import", "pets.json", "--prefix", "t"]);
    assert_eq!(
        (&imported["openapi"], &imported["base_url"]),
        (&json!("2.0"), &json!("https://pets.example.com/v2")),
        "{imported}"
    );
    assert_eq!(
        (&imported["left_out"][0]["code"], &imported["left_out"][0]["operation"]),
        (&json!("ref_unknown"), &json!("GET /bad"))
    );
    assert_eq!(imported["not_runnable"], 0, "{imported}");
    let told = |id: &str| {
        let spec = scratch.json(&["command", "show", id]);
        let flag = |flag: &Value| {
            let mark = if flag["required"] == true { "!" } else { "" };
            let style = flag["style"].as_str().map(|style| format!(" {style}")).unwrap_or_default();
            format!(
                "{}{mark} {} {}{style}",
                flag["name"].as_str().unwrap(),
                flag["type"].as_str().unwrap(),
                flag["in"].as_str().unwrap()
            )
        };
        let flags: Vec<String> = spec["flags"].as_array().expect("flags").iter().map(flag).collect();
        format!("{} {} {}", flags.join(", "), spec["body"]["content_type"], spec["auth"])
    };
    for (id, expected) in [
        (
            "t:pets:list",
            "limit integer query, tags array query comma, states array query, odd string header null [\"key\"]",
        ),
        ("t:pets:create", "name! string body, tag string body \"application/json\" [\"key\"]"),
        ("t:pets:update", "name! string body, tags array body comma \"application/x-www-form-urlencoded\" [\"basic\"]"),
        ("t:pets:picture:create", "file! any body \"multipart/form-data\" [\"key\"]"),
    ] {
        assert_eq!(told(id), expected, "{id}");
    }
    let list = scratch.json(&["command", "show", "t:pets:list"]);
    assert_eq!((&list["output_contract"]["list"], &list["flags"][0]["default"]), (&json!("."), &json!(20)), "{list}");
    assert_eq!(scratch.json(&["command", "show", "t:pets:create"])["flags"][1]["nullable"], true);
}
