//! Tests that a password among the arguments is sent as approved, and is not stored in the database, logs or records.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Ground, code, execute, with_nonce};
use crate::support::api::Trouble;
use crate::support::{Client, at_a_terminal, eventually};

/// The prefix of each password that is a text.
const PLANTED: &str = "planted-";

/// The password that is a number.
const NUMBER: u64 = 47_224_722;

fn document(base: &str) -> Value {
    let (text, secret) = (json!({ "type": "string" }), json!({ "type": "string", "format": "password" }));
    let properties = json!({
        "name": secret,
        "password": text,
        "pin": { "type": "string", "writeOnly": true },
        "more": { "type": "object", "properties": { "api_key": text, "tokens": { "type": "array", "items": text } } },
        "region": text,
        // In nested objects, only the schema marks secrets.
        "account": { "type": "object", "properties": {
            "value": secret, "note": text, "code": { "type": "integer", "x-secret": true },
        } },
        "users": { "type": "array", "items": { "$ref": "#/components/schemas/User" } },
        "vault": { "type": "object", "additionalProperties": secret },
        "both": { "allOf": [{ "properties": { "one": text } }, { "properties": { "one": { "writeOnly": true } } }] },
    });
    let user = json!({ "type": "object", "properties": {
        "who": text, "pin": { "$ref": "#/components/schemas/Text", "writeOnly": true },
        "friends": { "type": "array", "items": { "$ref": "#/components/schemas/User" } },
    } });
    let schema = json!({ "type": "object", "properties": properties });
    let answer = json!({ "200": { "description": "ok", "content": { "application/json": { "schema": { "type": "object" } } } } });
    let post = |id: &str, media: &str, schema: &Value| {
        let mut content = json!({});
        content[media]["schema"] = schema.clone();
        json!({ "operationId": id, "requestBody": { "content": content }, "responses": answer })
    };
    let mut coded = post("coded", "application/json", &schema);
    coded["parameters"] = json!([
        { "name": "code", "in": "path", "required": true, "schema": secret },
        { "name": "hint", "in": "query", "x-secret": true, "schema": text },
        { "name": "X-Pin", "in": "header", "schema": { "type": "string", "writeOnly": true } },
    ]);
    let list = json!({ "type": "array", "items": { "$ref": "#/components/schemas/User" } });
    json!({
        "openapi": "3.0.3", "info": { "title": "Sec", "version": "1" }, "servers": [{ "url": base }],
        "components": { "schemas": { "User": user, "Text": text } },
        // One operation creates an app. The others return their request's body as text.
        "paths": {
            "/login": { "post": post("login", "application/json", &schema) },
            "/apps": { "post": post("app", "application/json", &schema) },
            "/spaces/{code}": { "post": coded },
            "/forms": { "post": post("form", "application/x-www-form-urlencoded", &schema) },
            "/parts": { "post": post("parts", "multipart/form-data", &schema) },
            "/users": { "post": post("users", "application/json", &list) },
        },
    })
}

fn arguments() -> Value {
    json!({
        "name": "planted-by-format-4711",
        "password": "planted-by-name-4712",
        "pin": "planted-write-only-4713",
        "more": { "api_key": "planted-inside-4714", "tokens": ["planted-in-a-list-4715"] },
        "region": "eu",
        "account": { "value": "planted-nested-4716", "note": "seen", "code": NUMBER },
        "users": [{ "who": "ada", "pin": "planted-beside-a-reference-4717",
                    "friends": [{ "who": "bob", "pin": "planted-deep-4718", "friends": [] }] }],
        "vault": { "any": "planted-in-a-map-4719" },
        "both": { "one": "planted-in-a-part-4720" },
    })
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => walk(&path, files),
            path => files.push(path),
        }
    }
}

#[track_caller]
fn nowhere(place: &str, text: &str) {
    for secret in [PLANTED, &NUMBER.to_string()] {
        if let Some(at) = text.find(secret) {
            let around: String = text[..at].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
            let after: String = text[at..].chars().take(60).collect();
            panic!("{place} has a password: {around}>>>{after}");
        }
    }
}

/// A ground with the document above, and a server that logs everything.
struct Planted {
    ground: Ground,
    client: Client,
    /// A folder that the search skips: the log, and files that a person wrote.
    own: TempDir,
}

impl Planted {
    fn new() -> Self {
        let ground = Ground::new();
        let file = ground.scratch.file("sec.json", document(&ground.api.base()).to_string()).display().to_string();
        ground.scratch.ok(&["catalog", "import", &file, "--prefix", "sec", "--yes"]);
        let own = tempfile::tempdir().expect("a folder");
        let mut command = ground.scratch.command();
        let log = File::create(own.path().join("server.log")).expect("a log");
        command.arg("serve").env("MCPKG_LOG", "debug").stderr(log);
        let client = Client::spawn(&mut command).shake_hands("2025-06-18");
        Self { ground, client, own }
    }

    /// Writes a file that the search skips.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.own.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }

    fn asked(&mut self, call: &Value) -> Value {
        let asked = execute(&mut self.client, call.clone());
        assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
        nowhere("what is asked", &asked.to_string());
        asked
    }

    /// Runs a call with a person's consent.
    fn run(&mut self, call: &Value) -> Value {
        let asked = self.asked(call);
        self.ground.approve(&asked);
        let answer = execute(&mut self.client, with_nonce(call, &asked));
        nowhere("the answer", &answer.to_string());
        answer
    }

    fn sent(&self) -> Vec<Value> {
        let seen = self.ground.api.seen();
        seen.iter().map(|seen| serde_json::from_slice(&seen.body).unwrap_or_default()).collect()
    }

    /// Searches everything that is stored for the passwords.
    fn search(self) {
        let Self { ground, client, own } = self;
        client.finish();
        let scratch = &ground.scratch;
        for line in [
            &["workflow", "runs"][..],
            &["--json", "workflow", "runs"],
            &["consent", "list", "--all"],
            &["--json", "consent", "list"],
            &["events"],
            &["draft", "list"],
            &["doctor"],
        ] {
            let ran = scratch.run(line);
            nowhere(&format!("{line:?}"), &format!("{}{}", ran.stdout, ran.stderr));
        }
        let runs = scratch.json(&["workflow", "runs"]);
        for run in runs["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()) {
            nowhere("a run", &scratch.json(&["workflow", "runs", run]).to_string());
            nowhere("a run", &scratch.ok(&["workflow", "runs", run]));
        }
        nowhere("the log", &std::fs::read_to_string(own.path().join("server.log")).expect("a log"));
        let tables = scratch.tables();
        assert!(tables.iter().any(|(_, rows)| rows.contains("sec:login:create")), "the runs are looked at");
        tables.iter().for_each(|(table, rows)| nowhere(table, rows));
        let mut files = Vec::new();
        walk(scratch.path(), &mut files);
        assert!(files.len() > 4, "{files:?}");
        for path in files {
            nowhere(&path.display().to_string(), &String::from_utf8_lossy(&std::fs::read(&path).expect("a file")));
        }
    }
}

fn call(id: &str, arguments: &Value) -> Value {
    json!({ "command": id, "args": arguments, "wait_s": 20 })
}

#[test]
fn a_password_of_a_command_is_sent_and_not_stored() {
    let mut planted = Planted::new();
    let mut coded = arguments();
    for (name, value) in [
        ("code", "planted-in-the-path-4721"),
        ("hint", "planted-in-the-query-4722"),
        ("X-Pin", "planted-in-a-header-4723"),
    ] {
        coded[name] = json!(value);
    }
    let users = json!({ "body": arguments()["users"] });
    for (id, with) in [
        ("sec:login:create", &arguments()),
        ("sec:apps:create", &arguments()),
        ("sec:spaces:create", &coded),
        ("sec:forms:create", &arguments()),
        ("sec:parts:create", &arguments()),
        ("sec:users:create", &users),
    ] {
        // Deny a request in which one value differs, and approve the right one. An approval is bound to the values.
        let mut other = with.clone();
        let user = if id == "sec:users:create" { "/body/0/who" } else { "/users/0/who" };
        *other.pointer_mut(user).expect("a user") = json!("eve");
        let asked = planted.asked(&call(id, &other));
        let request = asked["error"]["details"]["consent"].as_str().expect("a request").to_owned();
        planted.ground.scratch.ok(&["consent", "deny", &request]);
        let done = planted.run(&call(id, with));
        assert_eq!(code(&done), "ok", "{id}: {done}");
    }
    let sent = planted.sent();
    assert_eq!(sent.iter().filter(|body| **body == arguments()).count(), 3, "{sent:?}");
    let seen = planted.ground.api.seen();
    for (place, secret) in [("path", "4721"), ("query", "4722")] {
        assert!(seen.iter().any(|seen| seen.line.contains(secret)), "the {place} is sent: {seen:?}");
    }
    assert!(seen.iter().any(|seen| seen.headers.get("x-pin").is_some_and(|pin| pin.ends_with("4723"))));
    for line in ["POST /api/v1/forms", "POST /api/v1/parts"] {
        let found =
            seen.iter().find(|seen| seen.line.starts_with(line)).unwrap_or_else(|| panic!("no {line}: {seen:?}"));
        assert!(String::from_utf8_lossy(&found.body).contains("planted-nested-4716"), "{line} has it");
    }
    assert!(sent.contains(&arguments()["users"]), "{sent:?}");
    // A different password does not match the approval.
    let again = call("sec:login:create", &arguments());
    let asked = planted.asked(&again);
    planted.ground.approve(&asked);
    for pointer in ["/args/name", "/args/account/value", "/args/users/0/friends/0/pin", "/args/more/tokens/0"] {
        let mut other = with_nonce(&again, &asked);
        *other.pointer_mut(pointer).expect("a value") = json!("another-password");
        assert_eq!(code(&execute(&mut planted.client, other)), "E_CONSENT_MISMATCH", "{pointer}");
    }
    let shown = asked.to_string();
    for part in ["name = *** (22 characters)", "note", "seen", "ada"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A person runs the command in a shell.
    let account = format!("account={}", arguments()["account"]);
    let mut command = planted.ground.scratch.command();
    command.args(["command", "run", "sec:login:create", "--arg", "name=planted-at-the-shell", "--arg", &account]);
    if let Some((shown, ok)) = at_a_terminal(&command, "y\n") {
        assert!(ok, "{shown}");
        nowhere("the terminal", &shown);
    }
    let dry = ["command", "run", "sec:login:create", "--dry-run", "--arg", &account];
    nowhere("a dry run", &planted.ground.scratch.ok(&dry));
    planted.search();
}

#[test]
fn a_command_that_fails_or_is_canceled_leaves_no_password() {
    let mut planted = Planted::new();
    planted.ground.api.require("another");
    assert_eq!(code(&planted.run(&call("sec:login:create", &arguments()))), "E_STEP_FAILED");
    planted.ground.api.reset();
    // The API refuses with a message that contains the password. The message is cut in the middle of the password.
    let said: String = format!("{}{}", "x".repeat(290), "planted-by-format-4711");
    planted.ground.api.trouble([Trouble::Status(422, Vec::new(), said.leak())]);
    assert_eq!(code(&planted.run(&call("sec:login:create", &arguments()))), "E_STEP_FAILED");
    for (end, state) in [("cancel", "canceled"), ("pause", "paused")] {
        planted.ground.api.trouble([Trouble::Late(Duration::from_secs(3))]);
        let call = json!({ "yaml": WORKFLOW, "inputs": inputs() });
        let asked = planted.asked(&call);
        planted.ground.approve(&asked);
        let mut begins = with_nonce(&call, &asked);
        begins["wait_s"] = json!(0);
        let begun = execute(&mut planted.client, begins);
        let run = begun["run"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        let scratch = &planted.ground.scratch;
        scratch.ok(&["workflow", end, &run]);
        eventually("the run stops", || (scratch.json(&["workflow", "runs", &run])["state"] == state).then_some(()));
        let resumed = scratch.run(&["workflow", "resume", &run]);
        assert_ne!(resumed.status, 0, "{resumed}");
        nowhere("a resume", &resumed.stderr);
        assert_eq!(resumed.stderr.contains("mcpkg does not store passwords"), state == "paused", "{resumed}");
    }
    planted.search();
}

const WORKFLOW: &str = "workflow: signs_in\n\
    inputs:\n  who: { type: string }\n  secretly: { type: string }\n  password: { type: string }\n  all: { type: object }\n\
    steps:\n\
    \x20 - id: a\n    run: sec:login:create\n    with:\n      name: '${{ inputs.who }}'\n      password: '${{ inputs.password }}'\n      \
    region: eu\n      account: { value: '${{ inputs.secretly }}', note: seen }\n      users: '${{ inputs.all.people }}'\n\
    \x20 - id: b\n    run: sec:login:create\n    if: steps.a.output.echo == inputs.secretly\n    with: { region: eu }\n    depends_on: [a]\n\
    \x20 - id: c\n    run: sec:login:create\n    body: { region: us, account: { value: '${{ inputs.secretly }}' }, vault: '${{ inputs.all.vault }}' }\n\
    final_output: { said: '${{ inputs.secretly }}', people: '${{ inputs.all.people }}' }\n";

fn inputs() -> Value {
    json!({
        "who": "planted-who-4731",
        // This value is longer than the part of a value that messages show.
        "secretly": format!("planted-secretly-{}", "4732".repeat(30)),
        "password": "planted-password-4733",
        "all": { "people": arguments()["users"], "vault": { "x": "planted-in-an-input-4734" }, "name": "seen" },
    })
}

#[test]
fn a_password_of_a_workflow_is_sent_and_not_stored() {
    let mut planted = Planted::new();
    let whole = json!({ "yaml": WORKFLOW, "inputs": inputs(), "wait_s": 20 });
    let asked = planted.asked(&whole).to_string();
    assert!(asked.contains("ada") && asked.contains("input who = *** (16 characters)"), "{asked}");
    let done = planted.run(&whole);
    assert_eq!(code(&done), "ok", "{done}");
    let sent = planted.sent();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert_eq!((&sent[0]["account"]["value"], &sent[0]["users"]), (&inputs()["secretly"], &arguments()["users"]));
    assert_eq!((&sent[1]["account"]["value"], &sent[1]["vault"]), (&inputs()["secretly"], &inputs()["all"]["vault"]));
    planted.run(&json!({ "yaml": WORKFLOW, "inputs": inputs(), "step": "a", "wait_s": 20 }));
    // The placeholder for a password is never sent: running a step of that run needs the inputs again.
    let run = done["run"].as_str().expect("a run").to_owned();
    let again = execute(&mut planted.client, json!({ "step": "a", "run": run }));
    assert_eq!(code(&again), "E_INPUTS_REQUIRED", "{again}");
    // Check plans, findings, and texts that are made from the call.
    for (tool, with) in [
        (
            "dry_run",
            json!({ "yaml": WORKFLOW, "sample_inputs": inputs(), "step_outputs": { "a": { "echo": "planted-x" } } }),
        ),
        ("validate_workflow", json!({ "yaml": WORKFLOW })),
        ("render_yaml", json!({ "yaml": WORKFLOW })),
        ("propose_workflow", json!({ "yaml": WORKFLOW })),
        (
            "infer_workflow_from_session",
            json!({ "session_log": [{ "command": "sec:login:create", "args": arguments() }] }),
        ),
    ] {
        let answer = planted.client.request("tools/call", json!({ "name": tool, "arguments": with }));
        if tool != "dry_run" {
            nowhere(tool, &answer.to_string());
        } else {
            let answer = answer.to_string().replace("planted-x", "");
            nowhere(tool, &answer);
            assert!(answer.contains("***"), "{answer}");
        }
    }
    // Literal passwords in the text are refused wherever they would be stored or run.
    for (what, with) in [
        ("'${{ inputs.who }}'", "planted-literal-4735"),
        ("'${{ inputs.password }}'", "planted-literal-4736"),
        ("{ value: '${{ inputs.secretly }}', note: seen }", "{ value: planted-literal-4737 }"),
        ("'${{ inputs.all.people }}'", "[{ who: ada, pin: planted-literal-4738 }]"),
        (
            "secretly: { type: string }",
            "secretly: { type: string, default: { from: literal, value: planted-literal-4739 } }",
        ),
        ("'${{ inputs.all.vault }}'", "{ x: planted-literal-4740 }"),
    ] {
        let literal = WORKFLOW.replacen(what, with, 1);
        assert_ne!(literal, WORKFLOW, "{what}");
        for (tool, with) in [
            ("propose_workflow", json!({ "yaml": literal })),
            ("execute", json!({ "yaml": literal, "inputs": inputs(), "wait_s": 0 })),
            ("dry_run", json!({ "yaml": literal })),
        ] {
            let refused = planted.client.result("tools/call", json!({ "name": tool, "arguments": with }));
            assert_eq!(
                refused["structuredContent"]["error"]["code"], "E_WORKFLOW_INVALID",
                "{tool}, {with}: {refused}"
            );
            assert!(refused.to_string().contains("secret_literal"), "{refused}");
            nowhere(tool, &refused.to_string());
        }
    }
    // In the shell: a saved workflow, the plan of a draft, and a run by a person.
    let scratch = &planted.ground.scratch;
    let file = planted.file("signs_in.yaml", WORKFLOW);
    let given = |name: &str| {
        let value = &inputs()[name];
        format!("{name}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let given = ["who", "secretly", "password", "all"].map(given);
    let given: Vec<&str> = given.iter().flat_map(|value| ["--input", value]).collect();
    let draft = scratch.json(&["draft", "list"])["drafts"][0]["id"].as_str().expect("a draft").to_owned();
    nowhere("a draft's plan", &scratch.ok(&[&["--json", "draft", "plan", &draft][..], &given].concat()));
    nowhere("a plan", &scratch.ok(&[&["--json", "workflow", "plan", &file][..], &given].concat()));
    let mut command = scratch.command();
    command.args(["workflow", "run", &file]).args(&given);
    if let Some((shown, ok)) = at_a_terminal(&command, "y\n") {
        assert!(ok, "{shown}");
        nowhere("the terminal", &shown);
    }
    planted.search();
}

#[test]
fn an_answer_that_is_used_as_a_password_is_not_stored() {
    let mut planted = Planted::new();
    let text = "workflow: passes_on\nsteps:\n\
        \x20 - id: a\n    run: sec:apps:create\n    with: { region: eu }\n\
        \x20 - id: b\n    run: sec:login:create\n    with: { region: eu, account: { value: '${{ steps.a.output.region }}' } }\n";
    let outputs = json!({ "a": { "region": "planted-given-4742", "api_key": "planted-given-4743", "id": "app-1" } });
    let alone = json!({ "yaml": text, "step": "b", "step_outputs": outputs, "wait_s": 20 });
    let done = planted.run(&alone);
    assert_eq!(code(&done), "ok", "{done}");
    assert_eq!(planted.sent()[0]["account"]["value"], "planted-given-4742");
    // A later run cannot use an answer that was hidden. It fails, and does not send the placeholder.
    let run = done["run"].as_str().expect("a run").to_owned();
    let again = planted.run(&json!({ "step": "b", "run": run, "wait_s": 20 }));
    assert_eq!(again["error"]["details"]["code"], "E_SECRET_LOST", "{again}");
    assert_eq!(planted.sent().len(), 1);
    // The API answers with the password in a field whose name does not suggest a secret.
    let answer = r#"{"id":"app-1","region":"planted-answered-4741"}"#;
    let json = vec![("content-type", "application/json".to_owned())];
    planted.ground.api.trouble([Trouble::Status(201, json, answer)]);
    let done = planted.run(&json!({ "yaml": text, "wait_s": 20 }));
    assert_eq!(code(&done), "ok", "{done}");
    assert_eq!(planted.sent()[2]["account"]["value"], "planted-answered-4741");
    planted.search();
}

#[test]
fn a_password_of_swagger_2_counts_too() {
    let mut planted = Planted::new();
    let scratch = &planted.ground.scratch;
    let base = planted.ground.api.base();
    let host = base.trim_start_matches("http://").split('/').next().expect("a host");
    let (secret, text) = (json!({ "type": "string", "format": "password" }), json!({ "type": "string" }));
    let answer = json!({ "200": { "description": "ok" } });
    let schema =
        json!({ "type": "object", "properties": { "account": { "$ref": "#/definitions/With" }, "who": text } });
    let document = json!({
        "swagger": "2.0", "info": { "title": "Old", "version": "1" }, "host": host, "basePath": "/api/v1", "schemes": ["http"],
        "definitions": { "With": { "type": "object", "properties": { "value": secret } } },
        "paths": {
            "/old/{code}": { "post": { "parameters": [
                { "name": "code", "in": "path", "required": true, "type": "string", "format": "password" },
                { "name": "hint", "in": "query", "type": "string", "x-secret": true },
                { "name": "body", "in": "body", "schema": schema },
            ], "responses": answer } },
            "/form": { "post": { "consumes": ["application/x-www-form-urlencoded"], "parameters": [
                { "name": "who", "in": "formData", "type": "string" },
                { "name": "phrase", "in": "formData", "type": "string", "x-secret": true },
                { "name": "codes", "in": "formData", "type": "array", "items": secret },
            ], "responses": answer } },
        },
    });
    let file = planted.file("old.json", &document.to_string());
    scratch.ok(&["catalog", "import", &file, "--prefix", "old", "--yes"]);
    for (id, with) in [
        (
            "old:old:create",
            json!({ "code": "planted-a", "hint": "planted-b", "account": { "value": "planted-c" }, "who": "ada" }),
        ),
        ("old:form:create", json!({ "who": "ada", "phrase": "planted-d", "codes": ["planted-e", "planted-f"] })),
    ] {
        let asked = planted.asked(&call(id, &with)).to_string();
        assert!(asked.contains("ada"), "{asked}");
        let done = planted.run(&call(id, &with));
        assert_eq!(code(&done), "ok", "{id}: {done}");
    }
    let seen = planted.ground.api.seen();
    assert!(seen[0].line.contains("planted-a") && seen[0].line.contains("planted-b"), "{seen:?}");
    let sent: Vec<_> = seen.iter().map(|seen| String::from_utf8_lossy(&seen.body)).collect();
    assert!(
        sent[0].contains("planted-c")
            && ["planted-d", "planted-e", "planted-f"].iter().all(|one| sent[1].contains(one)),
        "{sent:?}"
    );
    planted.run(&call("sec:login:create", &json!({ "region": "eu" })));
    planted.search();
}
