//! Tests tool search: an agent that loads tools on demand has to find the right tool by the words of an everyday
//! request.
//!
//! The tools are scored as Claude Code 2.1.330 scores them.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Client, Scratch};
use crate::workspace::shop::Shop;

/// The requests as Claude Code makes them, each with the tool that it should find.
const REQUESTS: &str = include_str!("../fixtures/tool_search.txt");

/// The tool that a request should find if the right tool is not listed.
const OTHERWISE: &str = "search_commands";

/// The requests for which another tool scores at least as high, because the parts of a tool's name count more than
/// other words.
const MISSED: [&str; 4] = ["prompt history revisions", "run workflow", "call api list apps", "restore deleted prompt"];

/// Returns the requests, each with the listed tool that it should find.
fn requests(tools: &[Value]) -> Vec<(&'static str, &'static str)> {
    let lines = REQUESTS.lines().map(|line| line.split_once(" -> ").expect("a request and a tool"));
    let listed = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    let requests: Vec<_> = lines
        .map(|(request, tool)| (request, tool.split_whitespace().next().expect("a tool")))
        .map(|(request, tool)| (request, if listed(tool) { tool } else { OTHERWISE }))
        .collect();
    assert_eq!(requests.len(), 22);
    requests
}

/// Returns the score of a tool for a request. The parts of the tool's name count most, then the words of its hint, then
/// the words of its description.
fn score(request: &str, tool: &Value) -> usize {
    let text = |key: &str| tool[key].as_str().expect(key).to_lowercase();
    let (name, description) = (text("name"), text("description"));
    let whole = ["mcpkg", &name];
    let parts: Vec<&str> =
        whole.iter().flat_map(|name| name.split(['_', '.'])).filter(|part| !part.is_empty()).collect();
    let words: Vec<&str> = description.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let hint = tool["_meta"]["anthropic/searchHint"].as_str().unwrap_or_default();
    let hints: Vec<&str> = hint.split(|c: char| !c.is_alphanumeric()).collect();
    let points = |has_it: bool, has_part: bool, [exact, within]: [usize; 2]| match (has_it, has_part) {
        (true, _) => exact,
        (false, true) => within,
        (false, false) => 0,
    };
    let of_word = |word: &str| {
        let of_parts = points(parts.contains(&word), parts.iter().any(|part| part.contains(word)), [12, 6]);
        let of_name = points(whole.contains(&word), whole.iter().any(|name| name.contains(word)), [12, 4]);
        of_parts + of_name + if words.contains(&word) { 2 } else { 0 } + if hints.contains(&word) { 4 } else { 0 }
    };
    request.split(' ').map(of_word).sum()
}

/// Returns the requests for which another tool has the same score as the right one, or a higher one.
fn missed(tools: &[Value]) -> Vec<&'static str> {
    let is_missed = |(request, meant): &(&str, &str)| {
        let scores = tools.iter().map(|tool| (tool["name"] == *meant, score(request, tool)));
        let best = |own: bool| scores.clone().filter(|(is_meant, _)| *is_meant == own).map(|(_, score)| score).max();
        best(true) <= best(false)
    };
    requests(tools).into_iter().filter(is_missed).map(|(request, _)| request).collect()
}

fn listed(command: &mut Command) -> Vec<Value> {
    let mut client = Client::spawn(command.arg("serve")).shake_hands("2025-11-25");
    let tools = client.result("tools/list", json!({}))["tools"].as_array().expect("tools").clone();
    client.finish();
    tools
}

#[test]
fn everyday_requests_find_the_right_tool_in_a_plain_folder() {
    let scratch = Scratch::with_project();
    let missed = missed(&listed(&mut scratch.command()));
    assert_eq!(missed, MISSED, "a description lost a word that users say, or gained one");
}

#[test]
fn everyday_requests_find_the_right_tool_in_a_repository_of_a_workspace() {
    let shop = Shop::new();
    shop.scratch.ok(&["project", "create", "p"]);
    let missed = missed(&listed(shop.command().current_dir(shop.repo("api"))));
    assert_eq!(missed, MISSED, "a description lost a word that users say, or gained one");
}

#[test]
fn a_hint_repeats_no_request() {
    for entry in mcpkg::DOMAINS.operations().filter(|entry| !entry.search_hint.is_empty()) {
        for (request, _) in
            REQUESTS.lines().filter_map(|line| line.split_once(" -> ")).filter(|(request, _)| request.contains(' '))
        {
            assert!(!entry.search_hint.contains(request), "the hint of {} repeats '{request}'", entry.tool);
        }
    }
}

#[test]
fn descriptions_begin_with_the_contracts_text_and_equal_it_under_the_contracts_identity() {
    let scratch = Scratch::with_project();
    let of = |arguments: &[&str]| {
        let mut command = scratch.command();
        let mut client = Client::spawn(command.arg("serve").args(arguments)).shake_hands("2025-11-25");
        let tools = client.result("tools/list", json!({}))["tools"].as_array().expect("tools").clone();
        client.finish();
        tools
    };
    let all = of(&["--groups", "all"]);
    let mut longer = 0;
    for identity in ["agentpack", "enact", "smctl", "assistant"] {
        for tool in of(&["--as", identity]) {
            let Some(ours) = all.iter().find(|ours| ours["name"] == tool["name"]) else { continue };
            let [own, ours] = [&tool, ours].map(|tool| tool["description"].as_str().expect("a description"));
            let rest = ours.strip_prefix(own.trim_end_matches('.')).unwrap_or_else(|| panic!("{ours}"));
            assert!(rest.is_empty() || rest.starts_with('.'), "{ours}");
            longer += usize::from(ours.len() > own.len());
            let entry = mcpkg::DOMAINS.operations().find(|entry| tool["name"] == entry.tool).expect("an operation");
            assert_eq!(own, entry.about);
        }
    }
    assert!(longer >= 3, "{longer}");
    let create = all.iter().find(|tool| tool["name"] == "create_resource").expect("a tool");
    let said = "Create a new resource in the selected project. Save or remember this note, document or image";
    assert_eq!(create["description"], said);
}
