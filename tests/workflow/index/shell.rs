//! Tests the `mcpkg command` commands.

use insta::assert_snapshot;

use crate::support::Scratch;

#[test]
fn commands_are_found_and_shown() {
    let scratch = Scratch::with_project();
    let mut found = scratch.run(&["command", "search", "create", "prompt", "--limit", "2"]);
    // Replace the cursor: it contains a score that depends on the number of commands in this build.
    let (before, cursor) = found.stderr.split_once("--cursor ").expect("a cursor");
    let (_, after) = cursor.split_once('`').expect("its end");
    found.stderr = format!("{before}--cursor CURSOR`{after}");
    assert_snapshot!(found, @r#"
    status: 0
    --- stdout
    mcpkg:prompt:create	write	Create a new prompt in the selected project
    mcpkg:prompt:diff	read	Show the last change of a prompt, or the difference between two…
    --- stderr
    hint: there are more results: use `--cursor CURSOR`, or a higher --limit
    "#);
    assert_snapshot!(scratch.run(&["command", "search", "kangaroo"]), @r#"
    status: 0
    --- stdout
    --- stderr
    No command matches 'kangaroo'
    "#);
    assert_snapshot!(scratch.run(&["command", "show", "mcpkg", "prompt", "list"]), @r#"
    status: 0
    --- stdout
    mcpkg:prompt:list  read
    List the prompts, commands and instructions stored in the selected project
    cursor	string			Value of next_cursor from the previous page
    limit	integer			Maximum number of prompts per page
    name	string	prompt_name, display
    description	string	
    arguments	array	
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["command", "show", "mcpkg:prompt:lst"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: There is no command 'mcpkg:prompt:lst'
    hint: did you mean 'mcpkg:prompt:list' or 'mcpkg:prompt:delete' or 'mcpkg:prompt:show'?
    "#);
    assert_snapshot!(scratch.run(&["command", "search", "prompt", "--limit", "0"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: invalid value '0' for '--limit <N>': 0 is not in 1..=100

    For more information, try '--help'.
    "#);
    assert_snapshot!(scratch.run(&["command", "providers", "--filter", "skill"]), @r#"
    status: 0
    --- stdout
    mcpkg:resource:list		uri, name, description, mime_type, size
    mcpkg:search	query	kind, project, name, uri, description, snippet
    mcpkg:skill:list		name, description, uri, from, files
    --- stderr
    "#);
}

#[test]
fn looking_makes_no_database() {
    let scratch = Scratch::new();
    if !scratch.is_file() {
        return;
    }
    assert!(scratch.run(&["command", "search", "prompt"]).status != 0);
    assert!(!scratch.db().exists());
}

#[test]
fn an_unknown_group_is_reported_with_the_existing_ones() {
    let scratch = Scratch::with_project();
    let near = scratch.run(&["command", "search", "prompt", "--group", "mcpgk"]);
    assert!(near.stderr.contains("there is no group 'mcpgk'; known groups include mcpkg"), "{near}");
    let nowhere = scratch.run(&["command", "search", "zzzz", "--group", "mcpkg"]);
    assert!(!nowhere.stderr.contains("no group"), "{nowhere}");
}
