//! Tests which operations with an MCP tool are also commands.

use std::collections::HashSet;
use std::sync::Arc;

use mcpkg::DOMAINS;
use mcpkg_core::op::{Context, Entry, Surface};
use mcpkg_workflow::operations::Operations;
use mcpkg_workflow::source::CommandSource;
use serde_json::json;

use crate::support::Scratch;

#[test]
fn each_operation_with_a_tool_is_a_command_of_its_own() {
    let context = Scratch::new().context();
    let briefs = Operations.briefs(&context).unwrap();
    let ids: HashSet<&str> = briefs.iter().map(|brief| brief.id.as_str()).collect();
    let is_offered =
        |entry: &&Entry| entry.faces.command() && !entry.runs_commands && (entry.works)(&context.selection);
    assert_eq!(ids.len(), DOMAINS.operations().filter(is_offered).count());
    assert!(ids.contains("mcpkg:prompt:create") && ids.contains("mcpkg:deploy_apply"), "{ids:?}");
    // Agents cannot reach operations that only the shell has.
    assert!(!ids.contains("mcpkg:project:delete"));
    let spec = |id: &str| Operations.spec(&context, id).unwrap().unwrap();
    let pages = spec("mcpkg:prompt:list").output_contract.pagination.unwrap();
    assert_eq!((&pages["param"], &pages["items_path"]), (&json!("cursor"), &json!("prompts")));
    for id in ids {
        let summary = spec(id).summary;
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{id}");
    }
}

#[test]
fn operations_that_are_refused_as_tools_are_not_commands() {
    let context = Scratch::new().context();
    let with = |surface| Context { surface: Arc::new(surface), ..context.clone() };
    let reading = with(Surface { read_only: true, ..Surface::default() });
    assert!(Operations.spec(&reading, "mcpkg:prompt:create").unwrap().is_none());
    assert!(Operations.spec(&reading, "mcpkg:prompt:list").unwrap().is_some());
    let deploys = with(Surface { groups: Some(vec!["deploy".to_owned()]), ..Surface::default() });
    assert!(Operations.briefs(&deploys).unwrap().iter().all(|brief| !brief.id.contains("prompt")));
    assert_ne!(Operations.validator(&reading).unwrap(), Operations.validator(&deploys).unwrap());
}
