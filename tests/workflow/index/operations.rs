//! mcpkg's own operations as commands, one for each that agents have.

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
    // What is the shell's alone no agent has.
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
fn what_a_call_by_name_is_refused_is_no_command() {
    let context = Scratch::new().context();
    let with = |surface| Context { surface: Arc::new(surface), ..context.clone() };
    let reading = with(Surface { read_only: true, ..Surface::default() });
    assert!(Operations.spec(&reading, "mcpkg:prompt:create").unwrap().is_none());
    assert!(Operations.spec(&reading, "mcpkg:prompt:list").unwrap().is_some());
    let deploys = with(Surface { groups: Some(vec!["deploy".to_owned()]), ..Surface::default() });
    assert!(Operations.briefs(&deploys).unwrap().iter().all(|brief| !brief.id.contains("prompt")));
    assert_ne!(Operations.validator(&reading).unwrap(), Operations.validator(&deploys).unwrap());
}
