//! Tests targets that contract 000 does not know, such as Gemini and Copilot. Each gets files in its own format, except
//! that agents that read the same file share it.

use insta::assert_snapshot;
use mcpkg_deploy::targets::Target;
use serde_json::{Value, json};

use crate::deploy::answers::word;
use crate::deploy::place::Place;
use crate::support::agents;

/// Returns the targets that contract 000 does not know, except Claude Desktop.
fn others() -> impl Iterator<Item = &'static str> {
    Target::all_names().into_iter().filter(|name| !Target::contract_names().contains(name) && *name != "claude_desktop")
}

impl Place {
    /// Enables every target.
    fn all_on(&self) {
        self.ok(&[&["target", "enable"][..], &Target::all_names()].concat());
    }

    fn notes(&self, arguments: &[&str]) -> Vec<String> {
        let envelope = self.envelope(arguments);
        envelope["warnings"].as_array().expect("a list").iter().map(|text| word(text).to_owned()).collect()
    }

    fn reasons(&self, arguments: &[&str]) -> Vec<String> {
        let data = self.data(&[&["plan"], arguments].concat());
        let said = |item: &Value| format!("{} {}", word(&item["target"]), word(&item["reason_code"]));
        data["left_out"].as_array().map(|items| items.iter().map(said).collect()).unwrap_or_default()
    }
}

fn place() -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place
}

#[test]
fn all_means_the_targets_that_are_enabled_for_the_project_or_the_user() {
    let place = place();
    let targets = |arguments: &[&str]| place.data(&[&["plan"], arguments].concat())["targets"].clone();
    assert_eq!(targets(&[]), json!(Target::contract_names()));
    assert_eq!(targets(&["--target", "gemini"]), json!(["gemini"]), "each can be named in the shell");
    assert_snapshot!(place.ok(&["target", "enable", "gemini"]), @"`all` now includes claude_code, codex, cursor, gemini, vscode in project 'p'");
    place.ok(&["target", "disable", "vscode", "cursor"]);
    assert_eq!(targets(&[]), json!(["claude_code", "codex", "gemini"]));
    place.ok(&["target", "disable", "codex", "--all-projects"]);
    assert_eq!(targets(&[]), json!(["claude_code", "codex", "gemini"]), "the project says so itself");
    place.ok(&["project", "create", "q"]);
    assert_eq!(targets(&["-p", "q"]), json!(["claude_code", "cursor", "vscode"]));
    let row = |target: &Target| {
        let state = if ["claude_code", "cursor", "vscode"].contains(&target.name()) { "on" } else { "off" };
        format!("{}\t{}\t{state}\tall projects", target.name(), target.facts().title)
    };
    let rows: Vec<String> = Target::all().iter().map(row).collect();
    assert_eq!(place.ok(&["-p", "q", "target", "list"]).lines().collect::<Vec<_>>(), rows);
    // Deleting a project also deletes its choice of targets.
    place.ok(&["project", "delete", "p", "--yes"]);
    place.ok(&["project", "create", "p"]);
    assert_eq!(targets(&["-p", "p"]), json!(["claude_code", "cursor", "vscode"]));
    let refused = place.run(&["target", "enable", "gemni"]);
    assert!(refused.status == 1 && refused.stderr.contains("did you mean 'gemini'"), "{refused}");
    let all: Vec<&str> = ["-p", "q", "target", "disable"].into_iter().chain(Target::all_names()).collect();
    assert!(place.run(&all).stderr.contains("must stay"));
}

#[test]
fn an_agent_can_name_the_contracts_targets_and_enabled_ones() {
    let place = place();
    let mut client = place.server(&["--as", "agentpack"]);
    let asked = |client: &mut _| crate::deploy::answers::tool(client, "plan", json!({ "target": "gemini" }));
    assert_eq!(asked(&mut client)["errors"][0]["code"], "E_TARGET_UNSUPPORTED");
    place.ok(&["target", "enable", "gemini"]);
    assert_eq!(asked(&mut client)["data"]["targets"], json!(["gemini"]));
    client.finish();
}

#[test]
fn a8_gemini_reads_agents_md_by_an_import_and_copilot_reads_it_once() {
    let place = place();
    place.all_on();
    place.instructions("style", "Be brief.\n");
    place.instructions("own", "For Gemini.\n");
    place.ok(&["module", "set", "instructions:own", "--targets", "gemini"]);
    let before = place.tree();
    let notes = place.notes(&["plan"]);
    assert!(
        notes.contains(&"Gemini CLI reads AGENTS.md through the line `@AGENTS.md` in GEMINI.md".to_owned()),
        "{notes:?}"
    );
    place.deploy(&[]);
    assert!(place.read("root/AGENTS.md").contains("Be brief."));
    assert_snapshot!(place.read("root/GEMINI.md"), @"
    <!-- mcpkg:begin: this part is kept by mcpkg; what stands outside of it is yours -->
    @AGENTS.md

    <!-- agentpack:module=instructions:own -->
    For Gemini.
    <!-- /agentpack -->
    <!-- mcpkg:end -->
    ");
    assert_eq!(place.files(), ["root/AGENTS.md", "root/GEMINI.md"]);
    assert_eq!(place.drift(&[]), [""; 0]);
    for target in others() {
        assert_eq!(place.planned(&["--target", target]), [""; 0], "{target}");
    }
    // An edit of a section in GEMINI.md can be proposed.
    place.write("root/GEMINI.md", place.read("root/GEMINI.md").replace("For Gemini", "For Gemini alone"));
    let data = place.data(&["evolve", "propose", "--yes"]);
    place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
    assert_eq!(place.ok(&["resource", "show", "instructions---own"]), "For Gemini alone.\n");
    // The user edited the file, but it now equals the desired content. The next deploy makes it mcpkg's again.
    place.data(&["deploy", "--apply", "--yes"]);
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
    // If the user's own GEMINI.md imports AGENTS.md, nothing is added.
    place.ok(&["module", "set", "instructions:own", "--enabled", "false"]);
    place.write("root/GEMINI.md", "@./AGENTS.md\n");
    place.deploy(&["--target", "gemini"]);
    assert_eq!(place.files(), ["root/AGENTS.md", "root/GEMINI.md"]);
    assert_eq!(place.read("root/GEMINI.md"), "@./AGENTS.md\n");
}

#[test]
fn a14_a_rule_is_written_once_for_all_agents_that_read_it() {
    let place = place();
    place.all_on();
    place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n", "-d", "How: we write"]);
    place.ok(&["module", "set", "instructions:py", "--globs", "**/*.py"]);
    place.deploy(&[]);
    let (mut files, reasons): (Vec<_>, Vec<_>) = agents()
        .iter()
        .filter(|agent| !agent.scoped_rule.is_empty())
        .partition(|agent| agent.scoped_rule.contains('/'));
    files.sort_by_key(|agent| &agent.scoped_rule);
    assert_eq!(place.files(), files.iter().map(|agent| &*agent.scoped_rule).collect::<Vec<_>>());
    assert_eq!(
        place.read("root/.windsurf/rules/py.md"),
        "---\ntrigger: glob\ndescription: \"How: we write\"\nglobs: **/*.py\n---\n\nType it.\n"
    );
    let mut reasons: Vec<String> = reasons.iter().map(|agent| format!("{} {}", agent.id, agent.scoped_rule)).collect();
    reasons.sort();
    assert_eq!(place.reasons(&[]), reasons, "Copilot and VS Code read `.claude/rules`");
    // If Claude Code is not a target, VS Code and Copilot share a file.
    let place = self::place();
    place.ok(&["target", "enable", "copilot"]);
    place.ok(&["target", "disable", "claude_code", "codex", "cursor"]);
    place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n"]);
    place.ok(&["module", "set", "instructions:py", "--globs", "**/*.py"]);
    place.deploy(&[]);
    assert_eq!(place.files(), ["root/.github/instructions/py.instructions.md"]);
    // A rule for one subfolder is written to AGENTS.md in that folder, and GEMINI.md there imports it. Antigravity and
    // VS Code get rules with globs instead, because they do not read these files in subfolders.
    let place = self::place();
    place.all_on();
    place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n"]);
    place.ok(&["module", "set", "instructions:py", "--globs", "src/py/**"]);
    place.deploy(&[]);
    let own = agents().iter().map(|agent| &*agent.folder_rule).filter(|file| !file.is_empty());
    let shared = ["root/.github/instructions/py.instructions.md", "root/src/py/AGENTS.md", "root/src/py/GEMINI.md"];
    assert_eq!(place.files(), own.chain(shared).collect::<Vec<_>>());
    assert!(place.read("root/src/py/GEMINI.md").contains("\n@AGENTS.md\n"));
    assert_eq!(place.reasons(&[]), ["claude_desktop only_servers"]);
    // If only Gemini is a target, the text is in its own file.
    let place = self::place();
    place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n"]);
    place.ok(&["module", "set", "instructions:py", "--globs", "src/py/**"]);
    place.deploy(&["--target", "gemini"]);
    assert_eq!(place.files(), ["root/src/py/GEMINI.md"]);
    assert!(place.read("root/src/py/GEMINI.md").contains("Type it."));
}

#[test]
fn a22_to_a25_a27_a28_commands_have_the_placeholders_that_each_agent_fills_in() {
    let place = place();
    place.write(
        "root/in/.claude/commands/git/explain.md",
        "---\ndescription: Explains\narguments: [topic, reader]\nmodel: opus\n---\nExplain $topic to $reader.\nOn !`date`.\n",
    );
    place.write("root/in/.claude/commands/costs.md", "It costs \\$0.50, $ARGUMENTS\n");
    place.write("root/in/.claude/commands/odd.md", "(!`date`)\n");
    place.ok(&["import", "in"]);
    std::fs::remove_dir_all(place.root().join("in")).expect("a folder");
    place.deploy(&["--target", "gemini"]);
    assert_snapshot!(place.read("root/.gemini/commands/git/explain.toml"), @"
    description = \"Explains\"
    prompt = \"\"\"
    The user gives these arguments, one after the other: {{args}}
    - {topic}
    - {reader}

    Explain {topic} to {reader}.
    On !{date}.
    \"\"\"
    ");
    assert_eq!(place.read("root/.gemini/commands/costs.toml"), "prompt = \"\"\"\nIt costs $0.50, {{args}}\n\"\"\"\n");
    place.deploy(&["--target", "opencode"]);
    assert_eq!(
        place.read("root/.opencode/command/git/explain.md"),
        "---\ndescription: \"Explains\"\n---\nExplain $1 to $2.\nOn !`date`.\n"
    );
    // OpenCode has no escape syntax, so a space keeps plain text from being filled in or run.
    assert_eq!(place.reasons(&["--target", "opencode"]), [""; 0]);
    assert_eq!(place.read("root/.opencode/command/costs.md"), "It costs $ 0.50, $ARGUMENTS\n");
    assert_eq!(place.read("root/.opencode/command/odd.md"), "(! `date`)\n");
    let notes = place.notes(&["plan", "--target", "opencode"]);
    assert!(notes.iter().any(|note| note.ends_with("opencode runs without asking")), "{notes:?}");
    place.deploy(&["--target", "windsurf"]);
    assert!(place.read("root/.windsurf/workflows/git.explain.md").contains("{topic} to {reader}"));
    place.deploy(&["--target", "copilot"]);
    assert!(place.exists("root/.agents/skills/git-explain/SKILL.md"));
    // Prompt files are written only on request.
    assert!(!place.exists("root/.github/prompts") && !place.exists("home/.codex/prompts"));
    for target in others() {
        place.data(&["deploy", "--apply", "--yes", "--target", target]);
        assert_eq!(place.drift(&["--target", target]), [""; 0], "{target}");
    }
    // Edits of these files are converted back to Claude Code's syntax.
    let edited = |target: &str, file: &str, from: &str, to: &str| {
        place.write(file, place.read(file).replace(from, to));
        let data = place.data(&["evolve", "propose", "--yes", "--target", target]);
        assert_eq!(data["skipped"], json!([]), "{target}: {data:#}");
        place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
        place.data(&["deploy", "--apply", "--yes", "--target", target]);
        assert_eq!(place.drift(&["--target", target]), [""; 0], "{target}");
    };
    let gemini = "root/.gemini/commands/git/explain.toml";
    edited("gemini", gemini, "On !{date}", "At !{date}, {reader}: $0.50");
    assert_eq!(
        place.reasons(&["--target", "opencode"]),
        ["opencode placeholders"],
        "a space would change its shell code"
    );
    edited("gemini", gemini, ": $0.50", "");
    place.deploy(&["--target", "opencode"]);
    edited("opencode", "root/.opencode/command/git/explain.md", "At !`date`", "By !`date`");
    place.deploy(&["--target", "claude_code"]);
    let own = place.read("root/.claude/commands/git/explain.md");
    assert!(own.contains("model: opus") && own.contains("By !`date`, $reader."), "{own}");
}

#[test]
fn a26_a_command_of_both_user_and_project_that_gemini_renames_is_reported() {
    let place = place();
    place.prompt("review", "Review.\n");
    place.deploy(&["--target", "gemini", "--scope", "user"]);
    place.deploy(&["--target", "gemini"]);
    let notes = place.notes(&["status", "--target", "gemini"]);
    assert!(
        notes.iter().any(|note| note.contains("`review.toml` both in the user's folder and in the project")),
        "{notes:?}"
    );
}

#[test]
fn subagents_have_the_form_of_each_agent() {
    let place = place();
    let text = "---\nname: Code Reviewer\ndescription: \"Reviews: a change\"\ntools: Read, Grep, Task\nmodel: opus\n---\nYou review.\n";
    place.resource("subagent://reviewer", text);
    place.deploy(&["--target", "gemini"]);
    assert_eq!(
        place.read("root/.gemini/agents/reviewer.md"),
        "---\nname: code-reviewer\ndescription: \"Reviews: a change\"\ntools:\n  - read_file\n  - read_many_files\n  \
         - grep_search\n  - glob\n  - list_directory\n---\n\nYou review.\n"
    );
    place.deploy(&["--target", "opencode"]);
    assert_eq!(
        place.read("root/.opencode/agent/reviewer.md"),
        "---\nmode: subagent\ndescription: \"Reviews: a change\"\ntools:\n  \"*\": false\n  read: true\n  grep: true\n  \
         glob: true\n  list: true\n  task: true\n---\n\nYou review.\n"
    );
    place.deploy(&["--target", "copilot"]);
    assert!(place.read("root/.github/agents/reviewer.agent.md").contains("tools: [\"read\",\"search\",\"agent\"]"));
    assert_eq!(place.planned(&["--target", "vscode"]), [""; 0], "VS Code reads the same file");
    assert_eq!(place.reasons(&["--target", "windsurf"]), ["windsurf no_subagents"]);
    let notes = place.notes(&["plan", "--target", "gemini"]);
    assert!(notes.iter().any(|note| note.contains("does not support Task")), "{notes:?}");
    // If no tool is left, the list is omitted: an empty list would mean no tools.
    place.resource("subagent://reviewer", &text.replace("Read, Grep, Task", "Task"));
    let notes = place.notes(&["plan", "--target", "gemini"]);
    assert!(notes.iter().any(|note| note.contains("supports none of the listed tools")), "{notes:?}");
    place.deploy(&["--target", "gemini"]);
    assert!(!place.read("root/.gemini/agents/reviewer.md").contains("tools"));
    // In the home folder, each agent has its own folder.
    for (target, file) in [
        ("gemini", "home/.gemini/agents/reviewer.md"),
        ("opencode", "home/.config/opencode/agent/reviewer.md"),
        ("copilot", "home/.copilot/agents/reviewer.agent.md"),
    ] {
        place.deploy(&["--scope", "user", "--target", target]);
        assert!(place.exists(file), "{target}");
    }
}

#[test]
fn texts_longer_than_windsurf_reads_are_left_out() {
    let place = place();
    place.instructions("long", &"x".repeat(12_001));
    place.ok(&["module", "set", "instructions:long", "--applies", "manual"]);
    assert_eq!(place.reasons(&["--target", "windsurf"]), ["windsurf too_long"]);
    place.ok(&["module", "set", "instructions:long", "--applies", "always", "--targets", "windsurf"]);
    assert_eq!(place.reasons(&["--target", "windsurf"]), ["windsurf too_long"]);
    place.ok(&["prompt", "create", "long", &"y".repeat(12_001)]);
    assert_eq!(place.reasons(&["--target", "windsurf"]).len(), 2);
    let notes = place.notes(&["plan", "--target", "windsurf", "--scope", "user"]);
    assert!(notes.iter().any(|note| note.contains("6000 bytes of global_rules.md")), "{notes:?}");
}

#[test]
fn claude_desktop_gets_only_mcp_servers() {
    let place = place();
    place.instructions("style", "Be brief.\n");
    place.resource("skill://tidy/SKILL.md", "---\nname: tidy\ndescription: d\n---\nTidy.\n");
    for scope in [&["--target", "claude_desktop"][..], &["--target", "claude_desktop", "--scope", "user"]] {
        assert_eq!(place.planned(scope), [""; 0]);
        assert_eq!(place.reasons(scope), ["claude_desktop only_servers", "claude_desktop only_servers"]);
    }
    assert_eq!(place.reasons(&[]), [""; 0], "`all` does not mean it");
}

#[test]
fn in_the_users_own_folders_each_agent_has_its_own_file() {
    let place = place();
    place.instructions("style", "Be brief.\n");
    place.ok(&["resource", "create", "py", "instructions://py", "Type it.\n"]);
    place.ok(&["module", "set", "instructions:py", "--globs", "**/*.py"]);
    let before = place.tree();
    for agent in agents().iter().filter(|agent| !agent.user_instructions.is_empty()) {
        let (target, files) = (agent.id, &agent.user_instructions);
        place.deploy(&["--scope", "user", "--target", target]);
        assert_eq!(&place.files(), files, "{target}");
        place.data(&["rollback", "--to", "pristine", "--scope", "user", "--target", target, "--yes"]);
    }
    assert_eq!(place.tree(), before);
}

#[test]
fn a1_a2_a6_and_a19_are_reported_by_doctor_and_status() {
    let place = place();
    // VS Code also reads CLAUDE.local.md and Claude Code's rules, so leave it out.
    place.ok(&["target", "disable", "vscode"]);
    place.instructions("style", "Be brief.\n");
    place.resource("skill://tidy/SKILL.md", "---\nname: tidy\ndescription: d\n---\nTidy.\n");
    place.deploy(&[]);
    let told = |place: &Place| [place.notes(&["doctor"]), place.notes(&["status"])];
    assert_eq!(told(&place), [[""; 0]; 2]);
    let says = |words: &str| {
        for notes in told(&place) {
            assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:?}");
        }
    };
    place.write("root/CLAUDE.local.md", "");
    assert_eq!(told(&place), [[""; 0]; 2], "an empty one hides nothing");
    place.write("root/CLAUDE.local.md", "Mine.\n");
    says("CLAUDE.local.md` hides it; to fix this, add the line `@AGENTS.md` to `");
    place.deploy(&["--target", "claude_code"]);
    assert!(place.read("root/.claude/rules/style.md").contains("Be brief."), "it has a rule in its place");
    place.write("root/CLAUDE.local.md", "@AGENTS.md\n");
    assert!(told(&place)[0].is_empty());
    std::fs::remove_file(place.root().join("CLAUDE.local.md")).expect("a file");
    place.write("CLAUDE.md", "Above.\n");
    says("CLAUDE.md` hides it (it is above the root)");
    std::fs::remove_file(place.root().parent().expect("a folder").join("CLAUDE.md")).expect("a file");
    place.write("home/.claude/CLAUDE.md", "The user's own.\n");
    place.write("root/AGENTS.override.md", "Over.\n");
    says("AGENTS.override.md` instead of the AGENTS.md next to it");
    std::fs::remove_file(place.root().join("AGENTS.override.md")).expect("a file");
    place.write("home/.claude/skills/tidy/SKILL.md", "---\nname: tidy\n---\n");
    says("home/.claude/skills/tidy` instead of the project's");
}
