//! What each agent loads in each session: counted as it stands and as it will, and warned of at the agent's limit.

use serde_json::Value;

use crate::deploy::answers::word;
use crate::deploy::place::Place;

impl Place {
    /// What a command says that a target loads: the bytes, and the files below the scratch folder.
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
    // Claude Code leaves out the marker lines, which are comments.
    let markers: usize =
        place.read("root/AGENTS.md").lines().filter(|line| line.starts_with("<!--")).map(str::len).sum();
    assert_eq!(planned.1, [".claude/rules/mine.md 8".to_owned(), format!("AGENTS.md {}", size - markers)]);
    assert_eq!(place.loaded(&["plan"], "codex"), (size as u64, vec![format!("AGENTS.md {size}")]));
    assert_eq!(
        place.loaded(&["plan"], "vscode").1,
        [".github/copilot-instructions.md 9".to_owned(), format!("AGENTS.md {size}")]
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
    // What hides AGENTS.md is loaded in its place; a link to it is loaded once.
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
fn a5_codex_is_warned_of_what_it_would_cut() {
    let place = place(&[("big", 20_000, &[]), ("small", 100, &[]), ("sub", 20_000, &["--globs", "sub/**"])]);
    let warnings = place.warnings(&["plan", "--target", "codex"]);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.starts_with("Codex loads 32768 bytes of AGENTS.md files at most: the last 7"), "{warning}");
    assert!(warning.contains("/root/sub/AGENTS.md` are cut"), "{warning}");
    assert!(warning.ends_with("instructions:sub, instructions:big, instructions:small"), "{warning}");
    assert_eq!(place.warnings(&["plan", "--target", "cursor"]), [""; 0]);
    place.deploy(&["--target", "codex"]);
    let used = place.read("root/AGENTS.md").len() + place.read("root/sub/AGENTS.md").len();
    let data = place.data(&["status", "--target", "codex"]);
    assert_eq!(data["budget"][0]["limit"]["used"], used);
    assert_eq!(place.warnings(&["status", "--target", "codex"]), warnings);
    // Beside one another they do not add up, and what has a scope is no longer at the root.
    place.ok(&["module", "set", "instructions:big", "--globs", "other/**"]);
    assert_eq!(place.warnings(&["plan", "--target", "codex"]), [""; 0]);
    assert_eq!(place.loaded(&["plan"], "codex").1.len(), 1);
    // The user's own file does not count against the limit.
    place.ok(&["module", "set", "instructions:big", "--applies", "always"]);
    place.instructions("big", &"x".repeat(40_000));
    let warnings = place.warnings(&["plan", "--scope", "user", "--target", "codex"]);
    assert!(!warnings.iter().any(|warning| warning.contains("cut")), "{warnings:?}");
    assert!(place.loaded(&["plan", "--scope", "user"], "codex").0 > 40_000);
}
