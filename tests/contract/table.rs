//! Invariants that every operation keeps.

use std::collections::HashSet;

use mcpkg::op::{Effect, Entry};
use mcpkg::operations;

fn command(entry: &Entry) -> clap::Command {
    let mut command = mcpkg::cli::command();
    command.build();
    entry.cli.iter().fold(command, |command, word| {
        command.find_subcommand(word).unwrap_or_else(|| panic!("`{word}` of {} is a command", entry.tool)).clone()
    })
}

#[test]
fn names_are_unique_and_well_formed() {
    let mut tools = HashSet::new();
    let mut paths = HashSet::new();
    for entry in operations() {
        assert!(tools.insert(entry.tool), "the tool {} comes twice", entry.tool);
        // A tool may stand for a part of a shell command.
        assert!(!entry.faces.shell() || paths.insert(entry.cli), "`{}` comes twice", entry.cli.join(" "));
        let good = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(entry.tool.len() <= 64 && good(entry.tool), "{}", entry.tool);
        assert!((1..=2).contains(&entry.cli.len()), "{}", entry.tool);
        for text in [entry.title, entry.about] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: `{text}`", entry.tool);
        }
    }
}

#[test]
fn agents_never_get_what_is_the_users() {
    for entry in operations().filter(|entry| entry.faces.tool()) {
        assert_ne!(entry.effect, Effect::Destroy, "{} cannot be undone", entry.tool);
        for word in ["project", "import", "export", "backup", "database", "events"] {
            assert!(!entry.tool.ends_with(word), "{} is for the shell only", entry.tool);
        }
    }
}

#[test]
fn an_agents_schema_and_the_shells_arguments_are_the_same_fields() {
    for entry in operations().filter(|entry| entry.faces.shell() && !entry.has_contract_schema()) {
        let command = command(entry);
        let schema = entry.input_schema();
        let required = schema.get("required").and_then(|names| names.as_array()).cloned().unwrap_or_default();
        for (name, property) in schema["properties"].as_object().expect("properties") {
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_id() == name)
                .unwrap_or_else(|| panic!("`{}` has no argument {name}", entry.cli.join(" ")));
            assert!(argument.get_help().is_some(), "{} of {} has no help", name, entry.tool);
            assert!(property["description"].is_string(), "{} of {} has no description", name, entry.tool);
            assert!(property["type"].is_string(), "{} of {} has no plain type: {property}", name, entry.tool);
            assert_eq!(
                argument.is_required_set(),
                required.contains(&name.as_str().into()),
                "whether {name} of {} is required",
                entry.tool
            );
        }
    }
}

#[test]
fn hints_follow_the_effect() {
    let tools = mcpkg::mcp::listed_tools(None);
    for tool in tools.as_array().expect("tools") {
        let entry = operations().find(|entry| tool["name"] == entry.tool).expect("an operation");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], !entry.effect.changes(), "{tool}");
        assert_eq!(hints["openWorldHint"], false, "{tool}");
        assert!(tool["title"].is_string(), "{tool}");
        if entry.effect.changes() {
            assert_eq!(hints["destructiveHint"], entry.effect != Effect::Create, "{tool}");
        }
    }
}

#[test]
fn the_default_list_stays_small() {
    let size = mcpkg::mcp::listed_tools(Some(&["content".to_owned()])).to_string().len();
    assert!(size <= 8 * 1024, "tools/list of the content group is {size} bytes");
}

#[test]
fn clap_finds_no_fault_in_the_tree() {
    mcpkg::cli::command().debug_assert();
}
