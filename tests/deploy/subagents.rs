//! Tests subagents: a project's resources below `subagent://` are written in each target's own format.

use mcpkg_store::modules::{self, Row};
use mcpkg_store::resources::{self, Key};
use serde_json::json;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

const TEXT: &str = "---\nname: reviewer\ndescription: \"Reviews: a change\"\ntools: Read, Grep, Bash, mcp__git__log\n\
                    model: opus\n---\n\nYou review.\n\"\"\" \\ ünï\n";

fn place(text: &str) -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    place.resource("subagent://reviewer", text);
    place
}

/// Records that the subagent was imported from an agent's folder.
fn came_from(place: &Place, agent: &str, path: &str) {
    let written = place.scratch.context().write("test", "", |db, project, _| {
        let resource = resources::find(db, project.id, Key::Uri("subagent://reviewer"))?.expect("a resource");
        let (item, agent, path) =
            (format!("resource:{}", resource.uuid), Some(agent.to_owned()), Some(path.to_owned()));
        modules::put(db, project.id, &Row { item, enabled: true, agent, path, ..Row::default() })
    });
    written.expect("a row");
}

const FILES: [&str; 4] = [
    "root/.claude/agents/reviewer.md",
    "root/.codex/agents/reviewer.toml",
    "root/.cursor/agents/reviewer.md",
    "root/.github/agents/reviewer.agent.md",
];

#[test]
fn each_target_has_a_subagent_in_its_own_form() {
    let place = place(TEXT);
    let before = place.tree();
    let envelope = place.envelope(&["plan"]);
    assert_eq!(
        envelope["warnings"],
        json!([
            "module 'subagent:reviewer': written for Codex, which has no tool list, so the subagent can use every tool",
            "module 'subagent:reviewer': only the agent it was written for receives `model`",
            "module 'subagent:reviewer': written for Cursor, which has no tool list, so the subagent can use every tool",
            "module 'subagent:reviewer': written for VS Code, which does not support mcp__git__log",
        ])
    );
    place.deploy(&[]);
    assert_eq!(place.files(), FILES);
    assert_eq!(place.read(FILES[0]), TEXT, "what was made by hand is Claude Code's");
    assert_eq!(
        place.read(FILES[1]),
        "name = \"reviewer\"\ndescription = \"Reviews: a change\"\ndeveloper_instructions = '''\nYou review.\n\"\"\" \\ ünï\n'''\n"
    );
    assert_eq!(
        place.read(FILES[2]),
        "---\nname: reviewer\ndescription: Reviews: a change\n---\n\nYou review.\n\"\"\" \\ ünï\n",
        "Cursor takes quotes for text"
    );
    assert_eq!(
        place.read(FILES[3]),
        "---\nname: reviewer\ndescription: \"Reviews: a change\"\ntools: [\"read\",\"search\",\"execute\"]\n---\n\n\
         You review.\n\"\"\" \\ ünï\n"
    );
    assert_eq!(place.drift(&[]), [""; 0]);
    let shown = place.ok(&["module", "list"]);
    assert_eq!(shown, "subagent:reviewer\tsubagent\tall\t\tyes\t1\t\n");
    place.data(&["rollback", "--to", "pristine", "--yes"]);
    assert_eq!(place.tree(), before);
}

#[test]
fn a29_tools_have_each_agents_names_and_an_empty_list_is_never_written() {
    let place =
        place("---\nname: reviewer\ndescription: d\ntools: [\"view\", \"bash\", \"search\", \"git/log\"]\n---\nText\n");
    came_from(&place, "vscode", ".github/agents/deep/reviewer.agent.md");
    place.deploy(&[]);
    let claude = place.read(FILES[0]);
    assert!(claude.contains("\ntools: Read, Bash, Grep, Glob\n"), "{claude}");
    let own = place.read("root/.github/agents/deep/reviewer.agent.md");
    assert!(own.contains("\"git/log\""), "its own agent has it as it was: {own}");
    place.resource("subagent://reviewer", "---\ndescription: d\ntools: [\"git/log\"]\n---\nText\n");
    let envelope = place.envelope(&["plan", "--target", "claude_code"]);
    assert!(word(&envelope["warnings"][0]).contains("supports none of the listed tools"), "{envelope:#}");
    place.deploy(&[]);
    assert_eq!(place.read(FILES[0]), "---\nname: reviewer\ndescription: \"d\"\n---\n\nText\n");
    // In Cursor, a subagent with only reading tools is read-only.
    place.resource("subagent://reviewer", "---\ndescription: d\ntools: [\"read\", \"web\"]\n---\nText\n");
    place.deploy(&[]);
    assert_eq!(place.read(FILES[2]), "---\nname: reviewer\ndescription: d\nreadonly: true\n---\n\nText\n");
}

#[test]
fn a30_cursors_front_matter_has_no_quotes_and_no_yaml_list() {
    let place = place("---\nname: \"reviewer\"\ndescription: 'Reviews: it'\ntools:\n- Read\n- Grep\n---\nText\n");
    came_from(&place, "claude_code", ".claude/agents/reviewer.md");
    place.deploy(&["--target", "cursor"]);
    assert_eq!(place.read(FILES[2]), "---\nname: reviewer\ndescription: Reviews: it\nreadonly: true\n---\n\nText\n");
    assert_eq!(place.drift(&["--target", "cursor"]), [""; 0]);
}

#[test]
fn a_subagent_without_a_description_is_written_only_for_its_own_agent() {
    let place = place("---\nname: reviewer\n---\nText\n");
    came_from(&place, "claude_code", ".claude/agents/reviewer.md");
    place.deploy(&[]);
    assert_eq!(place.files(), [FILES[0]]);
    let data = place.data(&["plan"]);
    let reasons: Vec<_> =
        data["left_out"].as_array().expect("a list").iter().map(|item| word(&item["reason_code"])).collect();
    assert_eq!(reasons, ["no_description"; 3]);
}

#[test]
fn edits_of_a_subagent_are_accepted_from_every_format() {
    for file in FILES {
        let place = place(TEXT);
        place.deploy(&[]);
        place.write(file, place.read(file).replace("You review.", "You review\nwell."));
        assert_eq!(place.drift(&[]), [format!("modified user_modified {file}")]);
        let data = place.data(&["evolve", "propose", "--yes"]);
        place.ok(&["evolve", "accept", &data["proposals"][0]["id"].to_string(), "--yes"]);
        let shown = place.ok(&["resource", "show", "subagent---reviewer"]);
        assert_eq!(shown, TEXT.replace("You review.", "You review\nwell."), "{file}");
        place.deploy(&[]);
        assert_eq!(place.drift(&[]), [""; 0]);
    }
    // A file that is no longer valid TOML is reported.
    let place = place(TEXT);
    place.deploy(&[]);
    place.write(FILES[1], "name = \n");
    let data = place.data(&["evolve", "propose", "--yes"]);
    assert!(word(&data["skipped"][0]["reason_message"]).contains("it is not valid TOML"), "{data:#}");
    place.deploy(&["--adopt"]);
    place.write(FILES[1], place.read(FILES[1]).replace("\"reviewer\"", "\"other\"").replace("You", "We"));
    let envelope = place.envelope(&["evolve", "propose", "--yes"]);
    assert!(word(&envelope["warnings"][0]).contains("everything except the text"), "{envelope:#}");
}

#[test]
fn in_the_users_own_folders_two_agents_get_subagents() {
    let place = place(TEXT);
    place.deploy(&["--scope", "user"]);
    assert_eq!(place.files(), ["home/.claude/agents/reviewer.md", "home/.codex/agents/reviewer.toml"]);
    let refused = place.run(&["module", "set", "subagent:reviewer", "--type", "instructions"]);
    assert!(refused.stderr.contains("it can be subagent"), "{refused}");
}

#[test]
fn contract_000_knows_four_types() {
    let place = Place::with_repo(&["codex: project"], &[("subagent:a", "x")]);
    let error = place.refused(&["plan", "--repo", &place.repo().display().to_string()], "E_CONFIG_INVALID");
    assert!(word(&error["message"]).contains("subagent"), "{error:#}");
}
