//! Tests contract 000's tools: their names, their exact schemas, and which arguments they accept and refuse. Also tests
//! that agentpack's defects D33 to D35 and D39 are fixed.

use mcpkg_core::op::Entry;
use mcpkg_deploy::targets::Target;
use serde_json::{Map, Value, json};

use crate::deploy::answers::{tool, tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::{Client, LEGACY, modern_meta};

const TOOLS: [&str; 11] = [
    "plan",
    "diff",
    "preview",
    "status",
    "doctor",
    "deploy",
    "deploy_apply",
    "rollback",
    "evolve_propose",
    "evolve_restore",
    "explain",
];

/// Returns a property of a tool's schema, as the contract writes it.
fn property(tool: &str, name: &str) -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let off = json!({ "type": "boolean", "default": false });
    let off_about = |about: &str| json!({ "type": "boolean", "default": false, "description": about });
    match (tool, name) {
        (_, "repo") => text("Path to the agentpack config repo (default: $AGENTPACK_HOME/repo)."),
        (_, "profile") => json!({ "type": "string", "default": "default" }),
        (_, "target") => {
            json!({ "type": "string", "default": "all", "enum": ["all", "codex", "claude_code", "cursor", "vscode"] })
        }
        (_, "machine") => text("Machine id for machine overlays. Omit to auto-detect."),
        (_, "diff") => off_about("Include diffs (like `agentpack preview --diff`)."),
        (_, "only") => {
            json!({ "type": "array", "items": { "type": "string", "enum": ["missing", "modified", "extra"] } })
        }
        (_, "adopt") => off_about("Allow overwriting existing unmanaged files (adopt updates)."),
        ("deploy_apply", "dry_run") => {
            off_about("Force dry-run behavior (do not apply even if this tool is the apply variant).")
        }
        (_, "dry_run") => off,
        (_, "confirm_token") => text("Token returned by the deploy tool; binds the apply to the reviewed plan."),
        ("deploy_apply" | "rollback", "yes") => {
            json!({ "const": true, "description": "Required explicit approval for mutating operations." })
        }
        (_, "yes") => off_about("Required explicit approval when not dry_run."),
        (_, "to") => text("Snapshot id to rollback to."),
        ("evolve_propose", "module_id") => text("Only propose changes for a single module id."),
        (_, "module_id") => text("Only restore missing outputs attributable to a module id."),
        (_, "scope") => json!({
            "type": "string",
            "default": "global",
            "enum": ["global", "machine", "project"],
            "description": "Overlay scope to write into.",
        }),
        (_, "branch") => text("Branch name to create (default: evolve/propose-<timestamp>)."),
        (_, "kind") => json!({
            "type": "string",
            "enum": ["plan", "diff", "status"],
            "description": "Maps to `agentpack explain <kind> --json`.",
        }),
        other => panic!("the contract has no {other:?}"),
    }
}

/// Returns the schema of a tool, as the contract writes it.
fn schema(tool: &str) -> Value {
    const CHOICE: [&str; 4] = ["repo", "profile", "target", "machine"];
    let with = |more: &[&'static str]| [&CHOICE[..], more].concat();
    let (required, names): (&[&str], Vec<&str>) = match tool {
        "plan" | "diff" | "deploy" => (&[], with(&["dry_run"])),
        "preview" => (&[], with(&["diff", "dry_run"])),
        "status" => (&[], with(&["only", "dry_run"])),
        "doctor" => (&[], vec!["repo", "target"]),
        "deploy_apply" => (&["yes", "confirm_token"], with(&["adopt", "dry_run", "confirm_token", "yes"])),
        "rollback" => (&["to", "yes"], vec!["repo", "to", "yes"]),
        "evolve_propose" => (&[], with(&["module_id", "scope", "branch", "dry_run", "yes"])),
        "evolve_restore" => (&[], with(&["module_id", "dry_run", "yes"])),
        "explain" => (&["kind"], with(&["kind"])),
        other => panic!("the contract has no {other}"),
    };
    let properties: Map<String, Value> =
        names.into_iter().map(|name| (name.to_owned(), property(tool, name))).collect();
    let mut schema = json!({ "type": "object", "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(properties);
    schema
}

fn listed(client: &mut Client) -> Vec<Value> {
    client.result("tools/list", json!({}))["tools"].as_array().expect("tools").clone()
}

#[test]
fn d33_the_tools_are_the_contracts_in_its_order_with_its_schemas() {
    let place = Place::new();
    let mut client = place.server(&["--as", "agentpack"]);
    let tools = listed(&mut client);
    assert_eq!(tools.iter().map(|tool| word(&tool["name"])).collect::<Vec<_>>(), TOOLS);
    for (tool, name) in tools.iter().zip(TOOLS) {
        // Compare as text, because the order of the keys must match too.
        assert_eq!(format!("{:#}", tool["inputSchema"]), format!("{:#}", schema(name)), "{name}");
        jsonschema::validator_for(&tool["inputSchema"]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let writes = ["deploy_apply", "rollback", "evolve_propose", "evolve_restore"].contains(&name);
        assert_eq!(tool["annotations"]["readOnlyHint"], !writes, "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
    }
    client.finish();

    // Under the default identity, the tools keep the contract's order, and mcpkg's own properties come after the
    // contract's.
    let mut client = place.server(&["--groups", "all"]);
    let tools = listed(&mut client);
    for tool in tools.iter().filter(|tool| TOOLS.contains(&word(&tool["name"]))) {
        let name = word(&tool["name"]);
        let added: &[&str] = match name {
            "rollback" => &["adopt"],
            "plan" => &["cursor", "hashes", "only"],
            "deploy" => &["only"],
            "deploy_apply" => &["only", "adopt_paths"],
            "diff" => &["cursor", "limit"],
            "preview" | "status" | "explain" => &["cursor"],
            _ => &[],
        };
        let properties = tool["inputSchema"]["properties"].as_object().expect("properties");
        let contract = schema(name);
        let contract = contract["properties"].as_object().expect("properties").keys().map(String::as_str);
        assert!(
            properties.keys().map(String::as_str).eq(contract.chain(added.iter().copied())),
            "{name}: {properties:?}"
        );
    }
    let names: Vec<String> = tools.iter().map(|tool| word(&tool["name"]).to_owned()).collect();
    assert!(names.iter().any(|name| name == "create_prompt"), "{names:?}");
    let rollback = listed(&mut client).into_iter().find(|tool| tool["name"] == "rollback").expect("rollback");
    assert_eq!(rollback["inputSchema"]["properties"]["adopt"]["default"], false, "{rollback}");
    let ours: Vec<&str> = names.iter().map(String::as_str).filter(|name| TOOLS.contains(name)).collect();
    assert_eq!(ours, TOOLS);
    client.finish();
}

fn entry(tool: &str) -> Entry {
    *mcpkg::DOMAINS.operations().find(|entry| entry.tool == tool).expect("an operation")
}

/// Returns every value that a property's schema allows, or some of each kind.
fn values(property: &Value) -> Vec<Value> {
    if let Some(only) = property.get("const") {
        return vec![only.clone()];
    }
    if let Some(values) = property["enum"].as_array() {
        return values.clone();
    }
    match word(&property["type"]) {
        "boolean" => vec![json!(true), json!(false)],
        "array" => {
            let items = values(&property["items"]);
            vec![json!([]), json!(items), json!([items[0], items[0]])]
        }
        _ => vec![json!(""), json!("x"), json!("ünï \"✓\"\n")],
    }
}

#[test]
fn every_value_that_a_schema_allows_is_accepted() {
    for tool in TOOLS {
        let schema = schema(tool);
        let properties = schema["properties"].as_object().expect("properties");
        let mut least = Map::new();
        for name in schema["required"].as_array().into_iter().flatten() {
            least.insert(word(name).to_owned(), values(&properties[word(name)])[0].clone());
        }
        let mut whole = least.clone();
        let take = |arguments: &Map<String, Value>| {
            let arguments = Value::Object(arguments.clone());
            assert!(jsonschema::is_valid(&schema, &arguments), "{tool}: {arguments}");
            entry(tool).from_agent(arguments.clone()).unwrap_or_else(|error| panic!("{tool} {arguments}: {error}"));
        };
        take(&least);
        for (name, property) in properties {
            for value in values(property) {
                let mut arguments = least.clone();
                arguments.insert(name.clone(), value.clone());
                take(&arguments);
                whole.insert(name.clone(), value);
            }
        }
        take(&whole);
    }
}

#[test]
fn arguments_that_a_schema_does_not_allow_are_errors_in_an_envelope() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let command = |tool: &str| match tool {
        "deploy_apply" => "deploy".to_owned(),
        other => other.replace('_', "."),
    };
    for name in TOOLS {
        let schema = schema(name);
        let mut wrong = vec![json!({ "no_such_field": 1 }), json!({ "targt": "all" })];
        for (property, about) in schema["properties"].as_object().expect("properties") {
            let other = if about["type"] == "string" { json!(7) } else { json!("seven") };
            wrong.push(json!({ property: other }));
            wrong.push(json!({ property: { "a": 1 } }));
            if about.get("enum").is_some() && property != "target" {
                wrong.push(json!({ property: "nonsense" }));
            }
        }
        for arguments in wrong {
            let error = tool_refused(&mut client, name, arguments.clone(), "E_INVALID_ARGUMENT");
            let field = arguments.as_object().expect("an object").keys().next().expect("a field");
            assert!(word(&error["message"]).contains(field.as_str()), "{name} {arguments}: {error:#}");
            let envelope = tool(&mut client, name, arguments);
            let named = word(&envelope["command"]);
            assert!(named == command(name) || name == "explain" && named.starts_with("explain"), "{envelope:#}");
        }
    }
    // An unknown target has its own error code, and the error lists the known targets.
    let error = tool_refused(&mut client, "plan", json!({ "target": "zed" }), "E_TARGET_UNSUPPORTED");
    let allowed = [vec!["all"], Target::contract_names()].concat();
    assert_eq!(error["details"]["allowed"], json!(allowed), "{error:#}");
    assert_eq!(error["details"]["reason_code"], "target_filter_unsupported");
    client.finish();
}

#[test]
fn every_tool_returns_an_envelope_with_its_command_for_good_and_bad_calls() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    let good = [
        ("plan", json!({}), "plan"),
        ("diff", json!({}), "diff"),
        ("preview", json!({ "diff": true }), "preview"),
        ("status", json!({}), "status"),
        ("doctor", json!({}), "doctor"),
        ("deploy", json!({}), "deploy"),
        ("evolve_propose", json!({ "dry_run": true }), "evolve.propose"),
        ("evolve_restore", json!({ "dry_run": true }), "evolve.restore"),
        ("explain", json!({ "kind": "plan" }), "explain.plan"),
        ("explain", json!({ "kind": "diff" }), "explain.diff"),
        ("explain", json!({ "kind": "status" }), "explain.status"),
    ];
    let nowhere = place.scratch.path().join("nowhere");
    for (name, arguments, command) in good {
        let envelope = tool(&mut client, name, arguments.clone());
        assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(true), &json!(command)), "{envelope:#}");
        assert_eq!(envelope["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!((&envelope["errors"], envelope["warnings"].is_array()), (&json!([]), true));
        let mut bad = arguments;
        bad["repo"] = json!(nowhere);
        let envelope = tool(&mut client, name, bad);
        assert_eq!((&envelope["ok"], &envelope["command"]), (&json!(false), &json!(command)), "{envelope:#}");
        assert_eq!(envelope["errors"][0]["code"], "E_CONFIG_MISSING", "{envelope:#}");
    }
    let token = tool_data(&mut client, "deploy", json!({}))["confirm_token"].clone();
    let applied = tool(&mut client, "deploy_apply", json!({ "yes": true, "confirm_token": token }));
    assert_eq!((&applied["command"], &applied["command_id"]), (&json!("deploy"), &json!("deploy --apply")));
    let back = tool(&mut client, "rollback", json!({ "to": "pristine", "yes": true }));
    assert_eq!((&back["ok"], &back["command"]), (&json!(true), &json!("rollback")), "{back:#}");
    client.finish();
}

#[test]
fn d34_an_unsupported_version_is_answered_with_the_contracts_version() {
    let place = Place::new();
    for identity in [&["--as", "agentpack"][..], &[]] {
        for version in ["1999-01-01", "2024-10-07", "2099-12-31", "x"].into_iter().chain(LEGACY) {
            let mut client = Client::spawn(place.command().arg("serve").args(identity));
            let info = json!({ "name": "t", "version": "1" });
            let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
            let result = client.result("initialize", params);
            let spoken = if LEGACY.contains(&version) { version } else { "2025-06-18" };
            assert_eq!(result["protocolVersion"], spoken, "{version}");
            let name = if identity.is_empty() { "mcpkg" } else { "agentpack" };
            assert_eq!(result["serverInfo"]["name"], name);
            assert!(result["capabilities"]["tools"].is_object());
            client.finish();
        }
    }
}

#[test]
fn d35_an_unknown_tool_is_a_protocol_error() {
    let place = Place::with_project();
    let mut client = place.server(&["--as", "agentpack"]);
    // A server with `--as agentpack` does not know the tools of the default identity.
    for name in ["no_such_tool", "create_prompt", "deploy_shell", "module_set"] {
        let error = client.error("tools/call", json!({ "name": name, "arguments": {} }));
        assert_eq!(error["code"], -32602, "{error}");
        assert!(word(&error["message"]).contains(name), "{error}");
    }
    assert_eq!(tool(&mut client, "plan", json!({}))["ok"], true, "the server goes on");
    client.finish();
}

#[test]
fn d39_a_server_keeps_running_if_the_first_message_is_server_discover() {
    let place = Place::with_project();
    for identity in [&["--as", "agentpack"][..], &[]] {
        let mut client = Client::spawn(place.command().arg("serve").args(identity));
        let result = client.result("server/discover", json!({ "_meta": modern_meta() }));
        let name = if identity.is_empty() { "mcpkg" } else { "agentpack" };
        assert!(result.to_string().contains(&format!("\"name\":\"{name}\"")), "{result}");
        let arguments = json!({ "name": "plan", "arguments": {}, "_meta": modern_meta() });
        let result = client.result("tools/call", arguments);
        assert_eq!(result["structuredContent"]["command"], "plan", "{result}");
        client.finish();
    }
}
