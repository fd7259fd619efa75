//! Tests of `mcpkg module`.

use insta::assert_snapshot;
use mcpkg_deploy::targets::Target;

use crate::support::Scratch;

fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file(".claude/commands/dir/review.md", "---\ndescription: Reviews\nmodel: opus\n---\nReview $ARGUMENTS\n");
    scratch.file(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: PDFs\n---\n# PDF\n");
    scratch.file(".claude/skills/pdf/run.sh", "ls\n");
    scratch.file("CLAUDE.md", "Rules\n");
    scratch.ok(&["import", ".claude", "CLAUDE.md"]);
    scratch.ok(&["resource", "create", "style", "file:///docs/style.md", "Style", "--mime-type", "text/markdown"]);
    scratch.ok(&["prompt", "create", "hello", "Hello"]);
    scratch
}

#[test]
fn modules_are_listed_shown_and_changed() {
    let scratch = scratch();
    assert_snapshot!(scratch.run(&["module", "list"]), @r#"
    status: 0
    --- stdout
    command:dir.review	command	all		yes	1	
    command:hello	command	all		yes	1	
    instructions:CLAUDE.md	instructions	all		yes	1	always
    skill:pdf	skill	all		yes	2	
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "show", "skill:pdf"]), @r#"
    status: 0
    --- stdout
    skill:pdf: skill, targets all
    SKILL.md	42	no	skill://pdf/SKILL.md
    run.sh	3	no	skill://pdf/run.sh
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "show", "command:dir.review"]), @r#"
    status: 0
    --- stdout
    command:dir.review: command, targets all
    dir/review.md	59	no	prompt dir.review
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "skill:pdf", "--tags", "a, b", "--targets", "codex"]), @r#"
    status: 0
    --- stdout
    Changed module 'skill:pdf' in project 'p' to skill:pdf: skill, targets codex, tags a,b
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "command:hello", "--type", "instructions"]), @r#"
    status: 0
    --- stdout
    Changed module 'command:hello' in project 'p' to instructions:hello: instructions, targets all
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "add", "style"]), @r#"
    status: 0
    --- stdout
    Added module 'instructions:style' to project 'p'
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "remove", "skill:pdf"]), @r#"
    status: 0
    --- stdout
    Module 'skill:pdf' of project 'p' is no longer deployed
    --- stderr
    hint: `mcpkg module set skill:pdf --enabled true` restores the module
    "#);
    assert_snapshot!(scratch.run(&["module", "list"]), @r#"
    status: 0
    --- stdout
    command:dir.review	command	all		yes	1	
    instructions:CLAUDE.md	instructions	all		yes	1	always
    instructions:hello	instructions	all		yes	1	always
    instructions:style	instructions	all		yes	1	always
    skill:pdf	skill	codex	a,b	no	2	
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["module", "remove", "instructions:style"]), @r#"
    status: 0
    --- stdout
    Removed module 'instructions:style' from project 'p'
    --- stderr
    hint: `mcpkg module add style` restores the module
    "#);
    assert_snapshot!(scratch.run(&["module", "add", "skill:pdf"]), @r#"
    status: 0
    --- stdout
    Added module 'skill:pdf' to project 'p'
    --- stderr
    "#);
    scratch.ok(&["module", "set", "skill:pdf", "--tags", "", "--targets", ""]);
    scratch.ok(&["module", "set", "instructions:hello", "--type", "command"]);
    let listed = scratch.json(&["module", "list"]);
    let modules = listed["modules"].as_array().expect("modules");
    assert_eq!(modules.len(), 4);
    assert!(modules.iter().all(|module| module["enabled"] == true && module["targets"] == serde_json::json!([])));
    let events = scratch.json(&["events"]).to_string();
    assert!(events.contains("module.set") && events.contains("module.add") && events.contains("module.remove"));
}

#[test]
fn invalid_modules_are_refused() {
    let scratch = scratch();
    scratch.ok(&["resource", "create", "hello", "instructions://hello", "x"]);
    scratch.ok(&["prompt", "create", "focus", "{{ file }}", "--argument", "file"]);
    assert_snapshot!(scratch.run(&["module", "show", "pdf"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Module 'pdf' does not exist in project 'p'
    hint: did you mean 'skill:pdf'?
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "skil:pdf", "--enabled", "false"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Module 'skil:pdf' does not exist in project 'p'
    hint: did you mean 'skill:pdf'?
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "skill:pdf"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: At least one of --type, --tags, --targets, --applies, --globs or --enabled must be provided
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "skill:pdf", "--type", "prompt"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Module 'skill:pdf' cannot have the type prompt; it can be skill
    "#);
    let all = Target::all_names().join(", ");
    let refused = scratch.run(&["module", "set", "skill:pdf", "--targets", "claude-code"]).to_string();
    assert_snapshot!(refused.replace(&all, "<TARGETS>"), @r#"
    status: 1
    --- stdout
    --- stderr
    error: No target is called 'claude-code'; the targets are <TARGETS>
    hint: did you mean 'claude_code'?
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "command:focus", "--type", "instructions"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Module 'command:focus', a template, cannot have the type instructions; it can be command or prompt
    "#);
    assert_snapshot!(scratch.run(&["module", "set", "command:hello", "--type", "instructions"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Another module of this type already uses this name; nothing was changed
    hint: `mcpkg module list` shows the other module
    "#);
    assert_snapshot!(scratch.run(&["module", "add", "style", "--type", "command"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: Resource 'style' cannot have the type command; it can be instructions or prompt
    "#);
    assert_snapshot!(scratch.run(&["module", "add", "hello"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: 'hello' is a module already: command:hello
    hint: change the module with `mcpkg module set command:hello`
    "#);
    assert_snapshot!(scratch.run(&["module", "add", "file:///docs/stile.md"]), @r#"
    status: 1
    --- stdout
    --- stderr
    error: Resource 'file:///docs/stile.md' does not exist in project 'p'
    hint: did you mean 'file:///docs/style.md'?
    "#);
    let listed = scratch.json(&["module", "list"]);
    assert!(listed["modules"].as_array().expect("modules").iter().all(|module| module["enabled"] == true));
}
