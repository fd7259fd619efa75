//! `mcpkg command`, as a person sees it.

use insta::assert_snapshot;

use crate::support::Scratch;

#[test]
fn commands_are_found_and_shown() {
    let scratch = Scratch::with_project();
    assert_snapshot!(scratch.run(&["command", "search", "create", "prompt", "--limit", "2"]), @"");
    assert_snapshot!(scratch.run(&["command", "search", "kangaroo"]), @"");
    assert_snapshot!(scratch.run(&["command", "show", "mcpkg", "prompt", "list"]), @"");
    assert_snapshot!(scratch.run(&["command", "show", "mcpkg:prompt:lst"]), @"");
    assert_snapshot!(scratch.run(&["command", "search", "prompt", "--limit", "0"]), @"");
    assert_snapshot!(scratch.run(&["command", "providers", "--filter", "skill"]), @"");
}

#[test]
fn looking_makes_no_database() {
    let scratch = Scratch::new();
    assert!(scratch.run(&["command", "search", "prompt"]).status != 0);
    assert!(!scratch.db().exists());
}
