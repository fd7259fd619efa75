//! Tests the results of contract 002's six tools. Each result and each failure matches the schema from tools/list, and
//! its text contains the same data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcpkg_registry::package::check_input;
use serde_json::{Value, json};

use super::installed::{META, enact, extract, signed, with_extract};
use super::trusting;
use crate::support::{Client, Scratch, skipped};

const TOOL: &str = "alice/pdf/extract";

/// A client and the output schemas of its tools.
struct Table {
    client: Client,
    schemas: BTreeMap<String, Value>,
}

impl Table {
    fn new(scratch: &Scratch) -> Self {
        let mut client = enact(scratch);
        let tools = client.result("tools/list", json!({}))["tools"].take();
        let schema = |tool: &Value| (tool["name"].as_str().expect("a name").to_owned(), tool["outputSchema"].clone());
        let schemas: BTreeMap<_, _> = tools.as_array().expect("tools").iter().map(schema).collect();
        assert!(META.iter().all(|tool| schemas[*tool]["properties"]["error"].is_object()), "{schemas:?}");
        Self { client, schemas }
    }

    /// Calls a tool. The result must be `expected`: `ok`, or an error code.
    #[track_caller]
    fn answers(&mut self, tool: &'static str, arguments: Value, expected: &str) {
        let result = self.client.result("tools/call", json!({ "name": tool, "arguments": arguments }));
        let data = &result["structuredContent"];
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().expect("a text")).expect("JSON");
        assert_eq!(&text, data, "{tool}: the text is the data");
        let misfits = check_input(&self.schemas[tool], data);
        assert!(misfits.is_empty(), "{tool}: {misfits:?}: {data}");
        let error = &data["error"];
        assert_eq!(result["isError"], error.is_object(), "{tool}: {result}");
        let code = error["code"].as_str().unwrap_or("ok");
        if code == "E_RUNNER_UNAVAILABLE" && expected != code {
            skipped("tools cannot be run here");
            return;
        }
        assert_eq!(code, expected, "{tool} {arguments}: {data}");
        if code != "ok" {
            let is_said = |key: &str| error[key].as_str().is_some_and(|text| !text.is_empty());
            assert!(is_said("message") && is_said("category"), "{tool}: {error}");
        }
    }

    /// Calls each of `tools` with `name` as the argument `tool`. Each result must be `expected`.
    #[track_caller]
    fn all(&mut self, tools: &[&'static str], name: &str, expected: &str) {
        for tool in tools {
            self.answers(tool, json!({ "tool": name }), expected);
        }
    }
}

/// Publishes a tool with these lines in its manifest, signed by a trusted identity.
fn odd(scratch: &Scratch, name: &str, lines: &str) {
    let front = format!("---\nname: {name}\nversion: 1.0.0\ndescription: An odd one\n{lines}\n---\n");
    let folder = scratch.file(&format!("{name}/SKILL.md"), front).parent().expect("a folder").display().to_string();
    scratch.ok(&["tool", "publish", &folder, "--to", "local"]);
    signed(scratch, name);
}

const FETCH: [&str; 3] = ["enact__learn", "enact__install", "enact__run"];

#[test]
fn every_answer_of_the_six_fits_its_schema() {
    let scratch = with_extract();
    let mut table = Table::new(&scratch);
    let file = |tool: &str| json!({ "tool": tool, "args": { "file": "x" } });

    // Successful calls and invalid arguments.
    table.answers("enact__search", json!({ "query": "pdf" }), "ok");
    table.answers("enact__search", json!({ "limit": 3 }), "E_INVALID_ARGUMENT");
    table.answers("enact__list", json!({}), "ok");
    table.answers("enact__learn", json!({ "tool": TOOL }), "ok");
    table.answers("enact__run", file(TOOL), "ok");
    table.answers("enact__install", json!({ "tool": TOOL }), "ok");
    table.answers("enact__install", json!({ "tool": TOOL }), "ok");
    table.answers("enact__list", json!({}), "ok");
    table.answers("enact__search", json!({ "query": "pdf" }), "ok");
    table.all(&FETCH, "nobody/nothing", "E_TOOL_NOT_FOUND");
    table.all(&FETCH, "nobody/nothing@7.0.0", "E_TOOL_NOT_FOUND");
    table.all(&FETCH, "alice/pdf/extract@7.0.0", "E_VERSION_NOT_FOUND");
    for tool in ["enact__learn", "enact__install", "enact__uninstall", "enact__run"] {
        table.answers(tool, json!({ "tool": "no name" }), "E_INVALID_ARGUMENT");
        table.answers(tool, json!({}), "E_INVALID_ARGUMENT");
    }
    table.answers(
        "enact__learn",
        json!({ "tool": "alice/pdf/extract@1.2.0", "version": "1.3.0" }),
        "E_INVALID_ARGUMENT",
    );
    table.all(&["enact__uninstall"], "nobody/nothing", "E_TOOL_NOT_FOUND");
    table.all(&["enact__uninstall"], "alice/pdf/extract@7.0.0", "E_VERSION_NOT_FOUND");

    // The outcomes of runs.
    table.answers("enact__run", json!({ "tool": TOOL, "args": { "file": 5 } }), "E_TOOL_INPUT");
    table.answers("enact__run", json!({ "tool": "alice/pdf/extract:nope" }), "E_INVALID_ARGUMENT");
    odd(&scratch, "odd/fails", "command: \"echo no >&2; exit 3\"");
    table.all(&["enact__run"], "odd/fails", "E_TOOL_FAILED");
    odd(&scratch, "odd/slow", "command: sleep 30\ntimeout: 200ms");
    table.all(&["enact__run"], "odd/slow", "E_TOOL_TIMEOUT");
    odd(&scratch, "odd/text", "command: echo text\noutputSchema: {type: object}");
    table.all(&["enact__run"], "odd/text", "E_TOOL_OUTPUT");
    odd(&scratch, "odd/env", "command: echo text\nenv: {TOKEN: {description: A token, secret: true, required: true}}");
    table.all(&["enact__run"], "odd/env", "E_TOOL_ENV");
    odd(&scratch, "odd/document", "tags: [text]");
    table.all(&["enact__run"], "odd/document", "ok");
    scratch.ok(&["toolset", "create", "pdf", "--empty"]);
    scratch.ok(&["toolset", "add", "pdf", TOOL]);
    scratch.ok(&["toolset", "use", "pdf"]);
    table.all(&["enact__run"], "odd/document", "E_NOT_IN_TOOLSET");
    table.answers("enact__install", json!({ "tool": "odd/document" }), "ok");
    table.answers("enact__list", json!({}), "ok");
    scratch.ok(&["toolset", "use", "--all"]);
    table.all(&["enact__uninstall"], "odd/document", "ok");

    // Trust: tools that are unsigned, failed an audit, were yanked, or have a new publisher.
    extract(&scratch, "un/signed", "1.0.0");
    table.all(&FETCH, "un/signed", "E_CONSENT_REQUIRED");
    odd(&scratch, "bad/audit", "command: echo text");
    scratch.ok(&["tool", "audit", "bad/audit", "--result", "failed"]);
    table.all(&FETCH, "bad/audit", "E_TRUST_FAILED");
    odd(&scratch, "old/yanked", "command: echo text");
    scratch.ok(&["tool", "yank", "old/yanked@1.0.0", "--reason", "wrong"]);
    table.all(&FETCH, "old/yanked@1.0.0", "E_VERSION_YANKED");
    scratch.ok(&["tool", "trust", "policy", "require_attestation"]);
    table.all(&FETCH, "un/signed", "E_TRUST_REQUIRED");
    table.answers("enact__search", json!({ "query": "signed" }), "ok");
    extract(&scratch, TOOL, "1.3.0");
    scratch.ok(&["tool", "key", "new", "second"]);
    let other = scratch.json(&["tool", "sign", "alice/pdf/extract@1.3.0", "--key", "second"]);
    trusting(&scratch, other["identity"].as_str().expect("an identity"));
    table.all(&["enact__install"], "alice/pdf/extract@1.3.0", "E_PUBLISHER_CHANGED");
    table.all(&["enact__uninstall"], TOOL, "ok");
    table.client.finish();
}

/// Returns the folder of a version in the registry `team-tools`.
fn released(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.path().join("team-tools/tools").join(name).join("1.0.0")
}

#[test]
fn errors_of_registries_have_their_codes() {
    let scratch = Scratch::new();
    scratch.ok(&["--db", "author.db", "registry", "add", "team", "team-tools", "--create"]);
    scratch.ok(&["registry", "add", "team", "team-tools"]);
    for name in ["far/tampered", "far/other", "far/changed", "far/gone"] {
        let front = format!("---\nname: {name}\nversion: 1.0.0\ndescription: From afar\ncommand: echo text\n---\n");
        let folder = scratch.file(&format!("{name}/SKILL.md"), front).parent().expect("a folder").display().to_string();
        scratch.ok(&["--db", "author.db", "tool", "publish", &folder, "--to", "team"]);
    }
    let mut table = Table::new(&scratch);
    let bundle = released(&scratch, "far/tampered").join("bundle.tar.gz");
    let mut bytes = std::fs::read(&bundle).expect("an archive");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&bundle, bytes).expect("written");
    table.all(&FETCH, "far/tampered", "E_DIGEST_MISMATCH");

    // Replace this tool's archive with that of another tool.
    let copy = |file: &str| {
        let from = released(&scratch, "far/gone").join(file);
        std::fs::copy(from, released(&scratch, "far/other").join(file)).expect("copied");
    };
    copy("bundle.tar.gz");
    let record = released(&scratch, "far/gone").join("package.json");
    let text = std::fs::read_to_string(record).expect("a record").replace("far/gone", "far/other");
    std::fs::write(released(&scratch, "far/other").join("package.json"), text).expect("written");
    table.all(&FETCH, "far/other", "E_ARCHIVE_INVALID");

    // A known version now has a different archive.
    table.all(&["enact__learn"], "far/changed", "E_CONSENT_REQUIRED");
    let record = released(&scratch, "far/changed").join("package.json");
    let mut package: Value = serde_json::from_slice(&std::fs::read(&record).expect("a record")).expect("JSON");
    package["sha256"] = json!("0".repeat(64));
    std::fs::write(&record, package.to_string()).expect("written");
    table.all(&FETCH, "far/changed", "E_DIGEST_CHANGED");

    // The registry of a known tool is gone.
    table.all(&["enact__learn"], "far/gone", "E_CONSENT_REQUIRED");
    std::fs::rename(scratch.path().join("team-tools"), scratch.path().join("elsewhere")).expect("moved");
    table.all(&FETCH, "far/gone", "E_REGISTRY_UNREACHABLE");
    table.answers("enact__search", json!({ "query": "afar" }), "ok");
    table.client.finish();
}
