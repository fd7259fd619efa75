//! Tests how much each agent loads in each session, now and after a deploy, and the warnings at the agents' limits.

use serde_json::Value;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

impl Place {
    /// Returns the bytes and the files that a target loads, as a command reports them.
    fn loaded(&self, arguments: &[&str], target: &str) -> (u64, Vec<String>) {
        let data = self.data(arguments);
        let budgets = data["budget"].as_array().expect("a list");
        let budget = budgets.iter().find(|budget| budget["target"] == target).expect("the target");
        assert_eq!(budget["tokens"].as_u64(), budget["bytes"].as_u64().map(|bytes| bytes / 4));
        let files = budget["files"].as_array().expect("files").iter();
        let file = |file: &Value| {
            let path = self.short(word(&file["path"]));
            format!("{} {}", path.strip_prefix("root/").unwrap_or(&path), file["bytes"])
        };
        (budget["bytes"].as_u64().expect("a number"), files.map(file).collect())
    }

    fn warnings(&self, arguments: &[&str]) -> Vec<String> {
        let envelope = self.envelope(arguments);
        envelope["warnings"].as_array().expect("a list").iter().map(|text| word(text).to_owned()).collect()
    }
}

fn place(modules: &[(&str, usize, &[&str])]) -> Place {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    for (name, bytes, says) in modules {
        place.instructions(name, &format!("{}\n", "x".repeat(bytes - 1)));
        if !says.is_empty() {
            place.ok(&[&["module", "set", &format!("instructions:{name}")][..], says].concat());
        }
    }
    place
}

#[test]
fn plan_and_status_count_what_is_loaded_in_each_session() {
    let place = place(&[("a", 100, &[]), ("py", 50, &["--globs", "*.py"]), ("own", 10, &["--targets", "cursor"])]);
    place.write("root/AGENTS.md", "Mine.\n");
    place.write("root/.claude/rules/mine.md", "Always.\n");
    place.write("root/.claude/rules/some.md", "---\npaths: x\n---\nSometimes.\n");
    place.write("root/.github/copilot-instructions.md", "Copilot.\n");
    assert_eq!(
        place.loaded(&["status"], "claude_code"),
        (14, vec![".claude/rules/mine.md 8".into(), "AGENTS.md 6".into()])
    );
    let planned = place.loaded(&["plan"], "claude_code");
    let block = place.data(&["plan"])["changes"].to_string();
    assert!(block.contains("AGENTS.md"), "{block}");
    place.deploy(&["--adopt"]);
    let size = place.read("root/AGENTS.md").len();
    // The marker lines do not count for Claude Code, which drops comments.
    let markers: usize =
        place.read("root/AGENTS.md").lines().filter(|line| line.starts_with("<!--")).map(str::len).sum();
    assert_eq!(planned.1, [".claude/rules/mine.md 8".to_owned(), format!("AGENTS.md {}", size - markers)]);
    assert_eq!(place.loaded(&["plan"], "codex"), (size as u64, vec![format!("AGENTS.md {size}")]));
    assert_eq!(
        place.loaded(&["plan"], "vscode").1,
        [".claude/rules/mine.md 8".to_owned(), ".github/copilot-instructions.md 9".into(), format!("AGENTS.md {size}")]
    );
    let own = place.read("root/.cursor/rules/own.mdc").len();
    assert_eq!(
        place.loaded(&["status"], "cursor").1,
        [format!(".cursor/rules/own.mdc {own}"), format!("AGENTS.md {size}")]
    );
    for target in ["claude_code", "codex", "cursor", "vscode"] {
        assert_eq!(place.loaded(&["plan"], target), place.loaded(&["status"], target), "{target}");
    }
    let line = place.ok(&["plan"]);
    assert!(line.contains(&format!("Codex {size} bytes (about {} tokens)", size / 4)), "{line}");
    // A file that hides AGENTS.md is loaded instead of it. A link to AGENTS.md is loaded once.
    place.write("root/CLAUDE.md", "Only this.\n");
    assert_eq!(place.loaded(&["status"], "claude_code").1, [".claude/rules/mine.md 8", "CLAUDE.md 11"]);
    std::fs::remove_file(place.root().join("CLAUDE.md")).expect("a file");
    std::os::unix::fs::symlink("AGENTS.md", place.root().join("CLAUDE.md")).expect("a link");
    assert_eq!(place.loaded(&["status"], "claude_code"), planned);
}

#[test]
fn a4_copilots_budget_counts_each_of_the_files_that_differ() {
    let place = place(&[]);
    for (file, text) in [("AGENTS.md", "One.\n"), ("CLAUDE.md", "Other.\n"), ("GEMINI.md", "A third.\n")] {
        place.write(&format!("root/{file}"), text);
    }
    let (bytes, mut files) = place.loaded(&["status", "--target", "copilot"], "copilot");
    files.sort();
    assert_eq!((bytes, files), (21, vec!["AGENTS.md 5".into(), "CLAUDE.md 7".into(), "GEMINI.md 9".into()]));
}

#[test]
fn a5_a_plan_warns_of_what_codex_would_cut() {
    let place = place(&[("big", 20_000, &[]), ("small", 100, &[]), ("sub", 20_000, &["--globs", "sub/**"])]);
    let warnings = place.warnings(&["plan", "--target", "codex"]);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(
        warning.starts_with("Codex loads at most 32768 bytes of AGENTS.md files: it ignores the last 7"),
        "{warning}"
    );
    assert!(warning.contains("/root/sub/AGENTS.md`; "), "{warning}");
    assert!(warning.ends_with("instructions:sub, instructions:big, instructions:small"), "{warning}");
    assert_eq!(place.warnings(&["plan", "--target", "cursor"]), [""; 0]);
    place.deploy(&["--target", "codex"]);
    let used = place.read("root/AGENTS.md").len() + place.read("root/sub/AGENTS.md").len();
    let data = place.data(&["status", "--target", "codex"]);
    assert_eq!(data["budget"][0]["limit"]["used"], used);
    assert_eq!(place.warnings(&["status", "--target", "codex"]), warnings);
    // Files in sibling folders do not add up, and a scoped module is no longer loaded at the root.
    place.ok(&["module", "set", "instructions:big", "--globs", "other/**"]);
    assert_eq!(place.warnings(&["plan", "--target", "codex"]), [""; 0]);
    assert_eq!(place.loaded(&["plan"], "codex").1.len(), 1);
    // With --scope user, the file in the home folder does not count against the limit.
    place.ok(&["module", "set", "instructions:big", "--applies", "always"]);
    place.instructions("big", &"x".repeat(40_000));
    let warnings = place.warnings(&["plan", "--scope", "user", "--target", "codex"]);
    assert!(!warnings.iter().any(|warning| warning.contains("cut")), "{warnings:?}");
    assert!(place.loaded(&["plan", "--scope", "user"], "codex").0 > 40_000);
}

impl Place {
    /// Returns the numbers of skills, commands and subagents that a target lists, and their bytes in total, as a
    /// command reports them.
    fn listed(&self, arguments: &[&str], target: &str) -> (u64, u64, u64, u64) {
        let data = self.data(arguments);
        let budgets = data["budget"].as_array().expect("a list");
        let budget = budgets.iter().find(|budget| budget["target"] == target).expect("the target");
        let files =
            budget["files"].as_array().expect("files").iter().map(|file| file["bytes"].as_u64()).sum::<Option<u64>>();
        let of = |what: &str| budget["listed"][what].as_u64().expect("a number");
        assert_eq!(budget["bytes"].as_u64(), files.map(|files| files + of("bytes")), "{budget:#}");
        (of("skills"), of("commands"), of("subagents"), of("bytes"))
    }

    fn skill(&self, name: &str, front: &str) {
        self.resource(&format!("skill://{name}/SKILL.md"), &format!("---\nname: {name}\n{front}---\nLong text.\n"));
    }
}

/// Returns the total length of names and descriptions.
fn bytes(texts: &[&str]) -> u64 {
    texts.iter().map(|text| text.len() as u64).sum()
}

#[test]
fn names_and_descriptions_of_skills_are_counted_as_each_agent_lists_them() {
    let place = place(&[]);
    place.ok(&["target", "enable", "gemini", "opencode", "copilot"]);
    let all = ["claude_code", "codex", "copilot", "cursor", "gemini", "opencode", "vscode"];
    place.skill("tidy", "description: Tidies up\n");
    let tidy = bytes(&["tidy", "Tidies up"]);
    for target in all {
        assert_eq!(place.listed(&["plan"], target), (1, 0, 0, tidy), "{target}");
    }
    assert!(
        place
            .ok(&["plan"])
            .contains(&format!("Codex 0 -> {tidy} bytes (about 0 -> 3 tokens; {tidy} bytes list 1 skill)"))
    );
    // Each agent has its own keys that keep a skill out of the list.
    place.skill("by-hand", "description: By hand\ndisable-model-invocation: true\n");
    place.skill("scoped", "description: Scoped\npaths: src/**\n");
    place.skill("when", "description: When\nwhen_to_use: at night\n");
    let (by_hand, scoped) = (bytes(&["by-hand", "By hand"]), bytes(&["scoped", "Scoped"]));
    let (when, at_night) = (bytes(&["when", "When"]), bytes(&["at night"]));
    let expected = |target: &str| match target {
        "claude_code" => (2, tidy + when + at_night),
        "codex" => (3, tidy + when + scoped),
        "cursor" => (3, tidy + when + by_hand),
        _ => (4, tidy + when + by_hand + scoped),
    };
    for target in all {
        let (skills, bytes) = expected(target);
        assert_eq!(place.listed(&["plan"], target), (skills, 0, 0, bytes), "{target}");
    }
    place.deploy(&[]);
    for target in all {
        let (skills, bytes) = expected(target);
        for command in ["plan", "status"] {
            assert_eq!(place.listed(&[command], target), (skills, 0, 0, bytes), "{command} {target}");
        }
    }
    // The user's own skill counts too. In the plan, a removed skill no longer counts.
    place.write("root/.agents/skills/mine/SKILL.md", "---\nname: mine\ndescription: Mine\n---\nx\n");
    place.ok(&["module", "remove", "skill:tidy"]);
    let (skills, of_all) = expected("gemini");
    assert_eq!(place.listed(&["status"], "gemini"), (skills + 1, 0, 0, of_all + bytes(&["mine", "Mine"])));
    assert_eq!(place.listed(&["plan"], "gemini"), (skills, 0, 0, of_all + bytes(&["mine", "Mine"]) - tidy));
    assert_eq!(place.listed(&["plan"], "claude_code").0, 1, "it reads another folder");
}

#[test]
fn only_the_listed_part_of_a_long_description_counts() {
    let place = place(&[]);
    place.skill("long", &format!("description: {}\n", "é".repeat(3000)));
    let listed = |target: &str| place.listed(&["plan"], target).3 - 4;
    assert_eq!(listed("claude_code"), 2 * 1536);
    // In the file that these agents share, a deploy cuts the description to the length that they accept.
    assert_eq!((listed("codex"), listed("cursor"), listed("vscode")), (2 * 1024, 2 * 1024, 2 * 1024));
}

#[test]
fn commands_as_skills_and_subagents_count_for_agents_that_list_them() {
    let place = place(&[]);
    place.ok(&["prompt", "create", "review", "Review it.\n", "-d", "Reviews"]);
    place.resource("subagent://checker", "---\nname: checker\ndescription: Checks\n---\nYou check.\n");
    let (review, checker) = (bytes(&["review", "Reviews"]), bytes(&["checker", "Checks"]));
    place.ok(&["target", "enable", "copilot", "opencode"]);
    assert_eq!(place.listed(&["plan"], "codex"), (1, 0, 0, review));
    assert_eq!(place.listed(&["plan"], "copilot"), (1, 0, 1, review + checker));
    assert_eq!(place.listed(&["plan"], "opencode"), (1, 0, 1, review + checker), "the skill that Codex is given");
    assert_eq!(place.listed(&["plan", "--target", "claude_code"], "claude_code").2, 1);
    let line = place.ok(&["plan", "--target", "copilot"]);
    assert!(line.contains("bytes list 1 skill and 1 subagent)"), "{line}");
    // With --scope user, only the user's own folders count.
    assert_eq!(place.listed(&["plan", "--scope", "user"], "codex"), (1, 0, 0, review));
    let own = "---\nname: own\ndescription: Of the user\n---\nx\n";
    place.write("home/.agents/skills/own/SKILL.md", own);
    assert_eq!(place.listed(&["plan"], "codex"), (1, 0, 0, review));
    assert_eq!(place.listed(&["status", "--scope", "user"], "codex"), (1, 0, 0, bytes(&["own", "Of the user"])));
}

#[test]
fn a_skill_that_cursor_always_loads_counts_completely() {
    let place = place(&[]);
    place.skill("always", "description: Always\nalwaysApply: true\n");
    let size = "---\nname: always\ndescription: Always\nalwaysApply: true\n---\nLong text.\n".len() as u64;
    assert_eq!(place.loaded(&["plan"], "cursor"), (size, vec![format!(".agents/skills/always/SKILL.md {size}")]));
    assert_eq!(place.listed(&["plan"], "codex"), (1, 0, 0, bytes(&["always", "Always"])));
}
