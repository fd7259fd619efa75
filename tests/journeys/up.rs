//! Tests `mcpkg up`: one command and one question make several agents read the same content, and `--undo` takes it
//! back.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Ground, Ran, Scratch, Tree, Upstream, at_a_terminal, screen_at, skill, skipped, typed_on};

pub const AGENTS: &str = "claude-code,codex,cursor,gemini,opencode";

/// Returns a home with five agents' folders, and a project with files of five agents. There is no database yet.
pub fn ground() -> Ground {
    let ground = Ground::below(Scratch::new());
    for (name, content) in [
        (".claude.json", "{ \"theme\": \"dark\" }\n"),
        (".claude/commands/mine.md", "Mine\n"),
        (".codex/config.toml", "model = \"x\" # mine\n"),
        (".cursor/mcp.json", "{}"),
        (".gemini/settings.json", "{\n\t\"a\": 1\n}\n"),
    ] {
        ground.scratch.file(&format!("ground/home/{name}"), content);
    }
    for (name, content) in [
        ("CLAUDE.md", "# House rules\n\nUse British spelling.\n"),
        ("AGENTS.md", "Run `make test`.\n"),
        (".claude/commands/review.md", "---\ndescription: Review\n---\nReview $ARGUMENTS\n"),
        (".claude/skills/release/SKILL.md", "---\nname: release\ndescription: Cut a release.\n---\n1. Tag.\n"),
        (".cursor/rules/ts.mdc", "---\ndescription: TS\nglobs: \"**/*.ts\"\nalwaysApply: false\n---\nBe strict.\n"),
        (".github/instructions/py.instructions.md", "---\napplyTo: \"**/*.py\"\n---\nUse black.\n"),
        (".gemini/commands/gem.toml", "description = \"Gem\"\nprompt = \"Polish {{args}}\"\n"),
        (".opencode/agent/critic.md", "---\ndescription: A critic\nmode: subagent\n---\nCriticise.\n"),
        ("main.rs", "fn main() {}\n"),
    ] {
        ground.put(name, content, 0o644);
    }
    ground
}

pub fn with_server(ground: &Ground) {
    ground.put(
        ".mcp.json",
        "{ \"mcpServers\": { \"files\": { \"command\": \"npx\", \"args\": [\"-y\", \"files\"] } } }\n",
        0o644,
    );
}

/// Returns the `mcpkg up` command, with no agent on PATH, and with its data outside the folders that tests compare.
pub fn command(ground: &Ground, arguments: &[&str]) -> Command {
    let mut command = ground.command();
    command.env("PATH", "/usr/bin:/bin").env("XDG_DATA_HOME", ground.scratch.path().join("data"));
    command.env("XDG_CACHE_HOME", ground.scratch.path().join("cache"));
    command.arg("up").args(arguments);
    command
}

fn run(ground: &Ground, arguments: &[&str]) -> Ran {
    ground.scratch.finish(&mut command(ground, arguments))
}

#[track_caller]
fn ok(ground: &Ground, arguments: &[&str]) -> Ran {
    let ran = run(ground, arguments);
    assert_eq!(ran.status, 0, "mcpkg up {}\n{ran}", arguments.join(" "));
    ran
}

#[track_caller]
fn data(ground: &Ground, arguments: &[&str]) -> Value {
    let ran = ok(ground, &[arguments, &["--json"]].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"))
}

/// Answers the question at a terminal. Returns `None` if there is no terminal.
fn asked(ground: &Ground, arguments: &[&str], answer: &str) -> Option<String> {
    typed_on(80, &command(ground, arguments), "[y/N", &format!("{answer}\n"))
}

#[test]
fn five_agents_read_the_same_and_everything_goes_back_to_the_byte() {
    let ground = ground();
    with_server(&ground);
    let first = ground.tree();
    let up = ["--agents", AGENTS];
    let Some(said) = asked(&ground, &up, "y") else { return skipped("there is no script(1)") };
    assert!(said.contains("Set up root for Claude Code, Codex, Cursor, Gemini CLI and OpenCode? [y/N"), "{said}");
    assert!(said.contains("'files' starts npx -y files"), "{said}");
    assert!(said.contains("connected Claude Code, Codex, Cursor, Gemini CLI and OpenCode"), "{said}");
    // AGENTS.md and Claude Code's own rules contain the instructions of all agents.
    let shared = ground.read("AGENTS.md");
    assert!(shared.contains("British spelling") && shared.contains("make test"), "{shared}");
    assert!(ground.read(".claude/rules/AGENTS.md").contains("make test"));
    assert!(ground.read("GEMINI.md").contains("@AGENTS.md"));
    // Each agent gets the other agents' commands.
    assert!(ground.read(".cursor/commands/gem.md").contains("Polish"));
    assert!(ground.read(".gemini/commands/review.toml").contains("Review"));
    assert!(ground.read(".opencode/command/review.md").contains("Review"));
    for file in [".agents/skills/release/SKILL.md", ".claude/rules/ts.md", ".cursor/rules/py.mdc", ".codex/config.toml"]
    {
        assert!(ground.root().join(file).is_file(), "{file}");
    }
    for file in [".claude.json", ".codex/config.toml", ".cursor/mcp.json", ".gemini/settings.json"] {
        let text = std::fs::read_to_string(ground.home().join(file)).expect("a file");
        assert!(text.contains("serve"), "{file}: {text}");
    }
    let again = ok(&ground, &["--agents", AGENTS, "--yes"]);
    assert_eq!(again.stdout, "Nothing changed: 5 agents read project 'root'\n", "{again}");
    // Without --target, other commands use the same agents.
    assert_eq!(ground.data(&["plan"])["changes"], json!([]));
    assert_eq!(ground.data(&["status"])["drift"], json!([]));
    let targets = ground.scratch.json(&["target", "list"]);
    let targets = targets["targets"].as_array().expect("a list");
    assert_eq!(targets.iter().filter(|target| target["enabled"] == true).count(), 5, "{targets:?}");
    let said = asked(&ground, &["--undo"], "y").expect("a terminal");
    assert!(said.contains("disconnected 5 agents"), "{said}");
    ground.tree().assert_is(&first, "after --undo");
    assert!(said.contains("mcpkg project delete root"), "{said}");
    ground.ok(&["project", "show", "root"]);
    let none = ok(&ground, &["--undo", "--yes"]);
    assert!(none.stdout.starts_with("Nothing to undo"), "{none}");
}

#[test]
fn a_text_stays_in_its_file_if_agents_md_is_a_link() {
    let ground = Ground::below(Scratch::new());
    ground.put("docs/agents.md", "For all.\n", 0o644);
    std::os::unix::fs::symlink("docs/agents.md", ground.root().join("AGENTS.md")).expect("a link");
    ground.put("GEMINI.md", "Only Gemini reads this.\n", 0o644);
    let first = ground.tree();
    ok(&ground, &["--agents", "claude-code,codex,gemini", "--no-connect", "--yes"]);
    let text = ground.read("GEMINI.md");
    assert!(text.contains("Only Gemini reads this.") && text.contains("@AGENTS.md"), "{text}");
    assert_eq!(ground.read("docs/agents.md"), "For all.\n");
    ok(&ground, &["--undo", "--yes"]);
    ground.tree().assert_is(&first, "after --undo");
}

#[test]
fn the_screen_fits_and_answering_no_writes_nothing() {
    let ground = ground();
    with_server(&ground);
    let first = ground.tree();
    let every = "claude-code,codex,cursor,vscode,windsurf,gemini,copilot,opencode,antigravity,kiro";
    let shown = screen_at((80, 40), &command(&ground, &["--agents", every]), "[y/N", "n\n");
    let Some((rows, said, status)) = shown else { return skipped("there is no script(1)") };
    let screen = rows.join("\n");
    assert_eq!(status, 1, "{said}");
    // The beginning has not scrolled off the screen.
    assert!(screen.contains("Found in "), "{screen}");
    for part in ["2 commands", "1 skill", "4 rules", "1 subagent", "1 MCP server", "Would be written:", "tokens"] {
        assert!(screen.contains(part), "{part} is not on the screen:\n{screen}");
    }
    assert!(screen.contains("Set up root for 10 agents?"), "{screen}");
    if ground.scratch.is_file() {
        assert!(!ground.scratch.db().exists(), "the database was made before the answer");
    }
    ground.tree().assert_is(&first, "after no");
}

#[test]
fn a_dry_run_writes_nothing() {
    let ground = ground();
    let first = ground.tree();
    let shown = data(&ground, &["--agents", AGENTS, "--dry-run"]);
    assert_eq!((&shown["dry_run"], &shown["new"]), (&true.into(), &true.into()));
    assert_eq!(shown["home"][0]["kind"], "command", "{shown:#}");
    ground.tree().assert_is(&first, "after a dry run");
    if ground.scratch.is_file() {
        assert!(!ground.scratch.db().exists());
    }
    ok(&ground, &["--agents", "codex", "--yes"]);
    ground.put("CLAUDE.md", "# Others\n", 0o644);
    let stored = || match ground.scratch.is_file() {
        true => ground.scratch.bytes(),
        // Two backups of the same database differ in their bytes.
        false => ground.ok(&["events", "--json"]).into_bytes(),
    };
    let (before, bytes) = (ground.tree(), stored());
    let shown = data(&ground, &["--agents", AGENTS, "--dry-run"]);
    assert_eq!(shown["found"][0]["kind"], "rule", "{shown:#}");
    before.assert_is(&ground.tree(), "after a dry run");
    assert!(bytes == stored(), "the database changed");
}

#[test]
fn only_the_difference_is_imported_and_written() {
    let ground = ground();
    let up = ["--agents", "claude-code,codex,cursor", "--yes"];
    ok(&ground, &up);
    let held = |ground: &Ground| ground.ok(&["resource", "list"]).lines().count();
    let before = held(&ground);
    // Edit the user's own file, and a file that a deploy wrote.
    ground.put("CLAUDE.md", "# House rules\n\nUse American spelling.\n", 0o644);
    let deployed = ".agents/skills/release/SKILL.md";
    let edited = ground.read(deployed) + "2. Announce it.\n";
    ground.put(deployed, &edited, 0o644);
    let changed = data(&ground, &up);
    assert_eq!((&changed["found"][0]["kind"], &changed["found"][0]["count"]), (&"rule".into(), &1.into()));
    assert!(changed["edited"][0].as_str().is_some_and(|path| path.ends_with(deployed)), "{changed:#}");
    assert!(ground.read("AGENTS.md").contains("American"));
    assert_eq!(ground.read(deployed), edited);
    assert_eq!(held(&ground), before, "what a deploy wrote came in as new");
    let again = ok(&ground, &up);
    assert!(again.stdout.starts_with("Nothing changed") && again.stderr.contains("mcpkg evolve propose"), "{again}");
    // The project's version is newer than the file, so the file does not replace it.
    ground.ok(&["prompt", "update", "review", "--content", "Review $ARGUMENTS twice\n"]);
    ok(&ground, &up);
    assert!(ground.ok(&["prompt", "show", "review"]).contains("twice"));
    assert!(ground.read(".cursor/commands/review.md").contains("twice"));
    assert!(!ground.read(".claude/commands/review.md").contains("twice"), "the user's own file was overwritten");
}

#[test]
fn what_agents_would_run_needs_a_person() {
    let ground = ground();
    with_server(&ground);
    let up = ["--agents", "claude-code,codex"];
    let ran = run(&ground, &[&up[..], &["--yes"]].concat());
    assert_eq!(ran.status, 3, "{ran}");
    assert!(ran.stderr.contains("left out: Codex will run this code: 'files' starts npx -y files"), "{ran}");
    assert!(!ground.root().join(".codex/config.toml").exists() && ground.root().join(".agents/skills").exists());
    let again = run(&ground, &[&up[..], &["--yes"]].concat());
    assert_eq!((again.status, again.stdout.starts_with("Nothing changed")), (3, true), "{again}");
    let Some(said) = asked(&ground, &up, "y") else { return skipped("there is no script(1)") };
    assert!(said.contains("'files' starts npx -y files"), "{said}");
    assert!(ground.read(".codex/config.toml").contains("npx"));
    ok(&ground, &[&up[..], &["--yes"]].concat());
}

#[test]
fn a_repository_is_added_as_a_source() {
    let ground = Ground::below(Scratch::new());
    let first = ground.tree();
    let upstream = Upstream::new(&[
        ("skills/tidy/SKILL.md", &skill("tidy", "Tidy up.\n")),
        ("AGENTS.md", "For those who work on it.\n"),
        ("src/main.rs", "fn main() {}\n"),
    ]);
    let up = [&*upstream.url(), "--agents", "codex", "--no-connect"];
    let Some(said) = asked(&ground, &up, "y") else { return skipped("there is no script(1)") };
    assert!(said.contains("tidy") && said.contains("licence"), "{said}");
    assert!(said.contains("--only AGENTS.md") && said.contains("`mcpkg source update kit --documents`"), "{said}");
    assert!(!ground.root().join("AGENTS.md").exists());
    assert!(ground.read(".agents/skills/tidy/SKILL.md").contains("Tidy up"));
    assert!(ground.ok(&["source", "list"]).contains("kit"));
    let again = ok(&ground, &[&up[..], &["--yes"]].concat());
    assert!(again.stdout.starts_with("Nothing changed"), "{again}");
    ok(&ground, &["--undo", "--yes"]);
    ground.tree().assert_is(&first, "after --undo");
}

#[test]
fn a_connection_that_was_there_stays() {
    let ground = ground();
    let mut add = command(&ground, &[]);
    add = {
        let mut other = Command::new(add.get_program());
        for (name, value) in add.get_envs() {
            if let Some(value) = value {
                other.env(name, value);
            }
        }
        other.current_dir(ground.root()).args(["client", "add", "codex"]);
        other
    };
    let added = ground.scratch.finish(&mut add);
    assert_eq!(added.status, 0, "{added}");
    let before = ground.tree();
    let ran = ok(&ground, &["--agents", "codex,cursor", "--yes"]);
    assert!(ran.stdout.contains("connected Cursor\n"), "{ran}");
    ok(&ground, &["--undo", "--yes"]);
    ground.tree().assert_is(&before, "after --undo");
}

#[test]
fn a_folder_that_cannot_be_set_up_is_refused_with_the_reason() {
    let ground = ground();
    let home = ground.home().display().to_string();
    for (folder, why) in [
        (home.as_str(), "is your home folder"),
        ("/", "is a folder above your home folder"),
        ("../home/.claude/commands", "belongs to an agent"),
        ("./nowhere", "There is no folder"),
    ] {
        for yes in [&["--yes"][..], &[]] {
            let ran = run(&ground, &[&[folder], yes].concat());
            assert!(ran.status != 0 && ran.stderr.contains(why), "{folder}\n{ran}");
        }
    }
    let nobody = run(&ground, &["--agents", "codex"]);
    assert!(nobody.status == 1 && nobody.stderr.contains("--yes") && nobody.stderr.contains("--dry-run"), "{nobody}");
    let unknown = run(&ground, &["--agents", "emacs", "--yes"]);
    assert_eq!(unknown.status, 2, "{unknown}");
    let not_set_up = run(&ground, &["--undo", "--yes"]);
    assert!(not_set_up.status == 1 && not_set_up.stderr.contains("is not bound to a project"), "{not_set_up}");
    // A folder without anything for agents is not an error, and nothing is asked.
    ground.scratch.file("ground/root/empty/main.rs", "fn main() {}\n");
    let first = ground.tree();
    let empty = ok(&ground, &["empty", "--agents", "codex", "--yes"]);
    assert!(empty.stdout.starts_with("Found nothing for agents"), "{empty}");
    assert!(
        empty.stderr.contains("mcpkg prompt create") && empty.stderr.contains("mcpkg up anthropics/skills"),
        "{empty}"
    );
    ground.tree().assert_is(&first, "after nothing");
    // No agent is installed, so there is nothing to set up the folder for.
    std::fs::remove_dir_all(ground.home()).expect("the home goes");
    std::fs::create_dir(ground.home()).expect("an empty one");
    let nobody = run(&ground, &["--yes"]);
    assert!(nobody.status == 1 && nobody.stderr.contains("--agents claude-code,codex"), "{nobody}");
}

#[test]
fn after_a_kill_the_next_run_finishes_the_job() {
    let whole = {
        let ground = ground();
        ok(&ground, &["--agents", "claude-code,codex", "--yes"]);
        Tree::of(&ground.root())
    };
    for pause in [20, 60, 100, 150, 200, 300, 400] {
        let ground = ground();
        let first = ground.tree();
        let mut killed = command(&ground, &["--agents", "claude-code,codex", "--yes"]).spawn().expect("mcpkg starts");
        std::thread::sleep(Duration::from_millis(pause));
        killed.kill().expect("a kill");
        killed.wait().expect("it ends");
        ok(&ground, &["--agents", "claude-code,codex", "--yes"]);
        Tree::of(&ground.root()).assert_is(&whole, &format!("killed after {pause} ms"));
        ok(&ground, &["--undo", "--yes"]);
        ground.tree().assert_is(&first, &format!("killed after {pause} ms, and --undo"));
    }
    let ground = ground();
    ground.ok(&["project", "create", "root"]);
    ground.ok(&["project", "select", "root", "--here"]);
    ground.ok(&["import", "."]);
    ok(&ground, &["--agents", "claude-code,codex", "--yes"]);
    Tree::of(&ground.root()).assert_is(&whole, "after an import alone");
}

#[test]
fn a_folder_has_a_project_of_its_own() {
    let ground = ground();
    ok(&ground, &["--agents", "codex", "--no-connect", "--yes"]);
    ground.scratch.file("ground/more/root/CLAUDE.md", "# Another\n");
    let other = data(&ground, &["../more/root", "--agents", "codex", "--no-connect", "--yes"]);
    assert_eq!(other["project"], "root-2");
    // A subfolder belongs to the same project.
    let mut below = command(&ground, &["--agents", "codex", "--no-connect", "--yes"]);
    below.current_dir(ground.root().join(".claude/commands"));
    let ran = ground.scratch.finish(&mut below);
    assert_eq!(ran.stdout, "Nothing changed: 1 agent reads project 'root'\n", "{ran}");
    let (said, _) = at_a_terminal(&command(&ground, &["--undo"]), "n\n").unwrap_or_default();
    assert!(said.is_empty() || said.contains("Take back what was set up in"), "{said}");
}

#[test]
fn an_argument_that_is_neither_a_folder_nor_a_repository_is_reported_first() {
    let ground = ground();
    for arguments in [&["nosuch"][..], &["nosuch", "--yes"]] {
        let ran = run(&ground, arguments);
        assert!(ran.status != 0 && ran.stderr.contains("`nosuch` is not a folder, URL, bundle or owner/repo"), "{ran}");
    }
}

#[test]
fn a_project_without_targets_gets_the_agents_that_are_set_up() {
    let ground = ground();
    ground.ok(&["project", "create", "root"]);
    ok(&ground, &["--agents", "codex,gemini", "--no-connect", "--yes"]);
    let targets = ground.scratch.json(&["target", "list"]);
    let is_on = |target: &&Value| target["enabled"] == true;
    assert_eq!(targets["targets"].as_array().expect("a list").iter().filter(is_on).count(), 2, "{targets}");
}

#[test]
fn a_dry_run_shows_whole_lines_and_what_an_agent_would_cut() {
    let ground = ground();
    ground.put("CLAUDE.md", "Use British spelling.\n".repeat(2_000), 0o644);
    ground.put(".env", "A=b\n", 0o644);
    let ran = ok(&ground, &["--agents", "claude-code,codex", "--dry-run", "-v"]);
    assert!(ran.stdout.contains("Codex loads at most 32768 bytes of AGENTS.md files"), "{ran}");
    assert!(ran.stdout.contains("Left out: ") && !ran.stdout.contains('\u{2026}'), "{ran}");
    assert!(ran.stderr.contains(".env: skipped: hidden"), "{ran}");
}

#[test]
fn a_plugin_of_a_repository_is_added_alone() {
    let ground = Ground::below(Scratch::new());
    let marketplace = json!({ "name": "m", "owner": { "name": "o" }, "plugins": [
        { "name": "git", "source": "./plugins/git" }, { "name": "docs", "source": "./plugins/docs" }] });
    let upstream = Upstream::new(&[
        (".claude-plugin/marketplace.json", &marketplace.to_string()),
        ("plugins/git/skills/rebase/SKILL.md", &skill("rebase", "Rebase\n")),
        ("plugins/docs/skills/pdf/SKILL.md", &skill("pdf", "PDF\n")),
    ]);
    let up = [&*upstream.url(), "--agents", "codex", "--no-connect", "--yes"];
    ok(&ground, &[&up[..], &["--plugin", "docs"]].concat());
    assert!(ground.root().join(".agents/skills/pdf").exists() && !ground.root().join(".agents/skills/rebase").exists());
    let none = run(&ground, &["--plugin", "docs", "--yes"]);
    assert!(none.status == 2 && none.stderr.contains("--plugin chooses from a repository"), "{none}");
    // A missing marketplace is reported before `--yes` is required.
    ground.scratch.file("ground/root/kit/skills/a/SKILL.md", skill("a", "A\n"));
    let refused = ground.run(&["source", "add", "kit", "--plugin", "x"]);
    assert!(refused.stderr.contains("has no marketplace, so it has no plugin 'x'"), "{refused}");
}
