//! Tests that the names, descriptions and input schemas of contract 003's tools are those of its JSON blocks.

use mcpkg_core::op::{Entry, Shape};
use serde_json::{Value, json};

use crate::support::{Client, Scratch};

/// The JSON blocks of the contract, in its order.
const BLOCKS: &str = include_str!("../fixtures/contract_003.json");

/// Tools that the contract describes only in words. Each row has the tool, the tool with the same schema, and the tool
/// that precedes it in the contract.
const SAME: [(&str, &str, &str); 2] = [
    ("smctl_flow_hotfix_start", "smctl_flow_feature_start", "smctl_flow_release_finish"),
    ("smctl_flow_hotfix_finish", "smctl_flow_feature_finish", "smctl_flow_hotfix_start"),
];

/// Returns the contract's twenty tools in its order. If the contract does not describe a tool, the description is null.
fn contract() -> Vec<Value> {
    let mut tools: Vec<Value> = serde_json::from_str(BLOCKS).expect("JSON");
    assert_eq!(tools.len(), 18);
    for (name, like, behind) in SAME {
        let schema = tools.iter().find(|tool| tool["name"] == like).expect(like)["inputSchema"].clone();
        let place = tools.iter().position(|tool| tool["name"] == behind).expect(behind);
        tools.insert(place + 1, json!({ "name": name, "description": null, "inputSchema": schema }));
    }
    tools
}

fn operations() -> impl Iterator<Item = &'static Entry> {
    mcpkg::DOMAINS.operations().filter(|entry| entry.group == mcpkg_workspace::GROUP)
}

#[test]
fn its_tools_are_the_contracts_to_the_letter() {
    let contract = contract();
    let served = mcpkg::mcp::listed_tools(Some(&[mcpkg_workspace::GROUP.to_owned()]));
    let served = served.as_array().expect("tools");
    assert!(!served.is_empty());
    let mut order = Vec::new();
    for tool in served {
        let place = contract.iter().position(|known| known["name"] == tool["name"]);
        order.push(place.unwrap_or_else(|| panic!("{} is not a tool of the contract", tool["name"])));
        let known = &contract[order[order.len() - 1]];
        if known["description"].is_string() {
            assert_eq!(tool["description"], known["description"], "{}", tool["name"]);
        }
        // Compare text, so that the order of the keys counts.
        assert_eq!(tool["inputSchema"].to_string(), known["inputSchema"].to_string(), "{}", tool["name"]);
        assert!(tool.get("outputSchema").is_none(), "{}", tool["name"]);
        assert!(tool["title"].is_string() && tool["annotations"].is_object(), "{tool}");
    }
    assert_eq!(order, (0..20).collect::<Vec<_>>(), "all of them, in the contract's order");
}

#[test]
fn its_operations_fail_in_the_contracts_form() {
    for entry in operations() {
        assert_eq!(entry.shape, Shape::Rpc, "{}", entry.tool);
        assert!(!entry.faces.tool() || entry.has_contract_schema(), "{}", entry.tool);
    }
}

#[test]
fn its_list_is_8_kib_at_most() {
    let scratch = Scratch::new();
    let mut client = Client::start(&scratch, &["--as", "smctl"]).shake_hands("2025-06-18");
    let listed = client.result("tools/list", json!({}));
    let bytes = listed.to_string().len();
    assert!(bytes <= 8 << 10, "tools/list is {bytes} bytes");
    let names: Vec<&str> =
        listed["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    let served: Vec<&str> = operations().filter(|entry| entry.faces.tool()).map(|entry| entry.tool).collect();
    assert_eq!(names, served);
    client.finish();
}
