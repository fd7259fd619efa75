//! Tests the same story for every target, from a project and from a config repo: deploy, edit, deploy again, change,
//! roll back, remove a module, and propose edits.

use crate::deploy::answers::word;
use crate::deploy::place::Place;

/// A target, the files that it gets, and the path of a stray file, which must be reported as drift.
pub struct Case {
    /// The target's line in `agentpack.yaml`, or the target's name for a project.
    pub target: &'static str,
    pub files: &'static [&'static str],
    /// The files that are deleted when the story removes modules.
    pub removed: &'static [&'static str],
    pub stray: &'static str,
}

const SKILL: &str = "---\nname: tidy\ndescription: Tidies up\n---\nTidy one.\n";
const COMMAND: &str = "---\ndescription: Reviews\n---\nReview one.\n";

/// Returns a text for a round of the story: `one` is replaced with the round's word.
fn text(base: &str, round: &str) -> String {
    base.replace("one", round)
}

/// The modules of a project, for a target and a scope.
pub struct FromProject(pub Place, pub &'static str, pub &'static str);
/// The modules of a config repo that configures one target.
pub struct FromRepo(pub Place, pub &'static str);

/// Where the story's modules come from.
pub trait Origin {
    fn place(&self) -> &Place;
    /// The arguments that name the source and the target.
    fn words(&self) -> Vec<String>;
    fn change(&self, round: &str);
    /// Removes modules: from a project, the command; from a config repo, the command and the prompt, and for Cursor also
    /// one of the instructions.
    fn remove(&self);
    /// Proposes the edits. Then accepts the proposals or, for a config repo, merges the proposed branch.
    fn evolve(&self);
}

impl Origin for FromProject {
    fn place(&self) -> &Place {
        &self.0
    }

    fn words(&self) -> Vec<String> {
        ["--target", self.1, "--scope", self.2].map(str::to_owned).to_vec()
    }

    fn change(&self, round: &str) {
        self.0.instructions("style", &text("Be brief one.\n", round));
        self.0.prompt("review", &text("Review one.\n", round));
        self.0.resource("skill://tidy/SKILL.md", &text(SKILL, round));
    }

    fn remove(&self) {
        self.0.ok(&["module", "remove", "command:review"]);
    }

    fn evolve(&self) {
        let data = self.0.data(&["evolve", "propose", "--yes", "--target", self.1, "--scope", self.2]);
        let proposals = data["proposals"].as_array().expect("proposals");
        assert!(proposals.len() >= 2, "{data:#}");
        for proposal in proposals {
            self.0.ok(&["evolve", "accept", &proposal["id"].to_string(), "--yes"]);
        }
    }
}

impl FromRepo {
    fn declare(&self, round: &str, with_last: bool) {
        let command = text(COMMAND, round);
        let (a, b, skill) = (text("A one.\n", round), text("B one.\n", round), text(SKILL, round));
        let ask = text("Ask one.\n", round);
        let mut modules = vec![("instructions:a", a.as_str()), ("instructions:b", &b), ("skill:tidy", &skill)];
        if !with_last && self.1.starts_with("cursor") {
            modules.remove(1);
        }
        if with_last {
            modules.extend([("command:review", command.as_str()), ("prompt:ask", &ask)]);
        }
        self.0.declare(&[self.1], &modules);
        self.0.commit();
    }
}

impl Origin for FromRepo {
    fn place(&self) -> &Place {
        &self.0
    }

    fn words(&self) -> Vec<String> {
        vec!["--repo".to_owned(), self.0.repo().display().to_string()]
    }

    fn change(&self, round: &str) {
        self.declare(round, true);
    }

    fn remove(&self) {
        self.declare("one", false);
    }

    fn evolve(&self) {
        let data = self.0.of_repo(&["evolve", "propose", "--yes"]);
        self.0.git(&self.0.repo(), &["merge", "-q", "--ff-only", word(&data["branch"])]);
    }
}

pub fn story(origin: &dyn Origin, case: &Case) {
    let place = origin.place();
    let words = origin.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let target = case.target;
    origin.change("one");
    let empty = place.files();
    let first = place.deploy(&words);
    let mut files: Vec<String> = case.files.iter().map(|file| (*file).to_owned()).collect();
    files.sort();
    assert_eq!(place.files(), files, "{target}");
    assert_eq!(place.planned(&words), [""; 0], "{target}: a plan after a deploy is empty");
    assert_eq!(place.drift(&words), [""; 0], "{target}");

    // Edit a file by hand, and add a file that nobody deployed.
    let edited = case.files[case.files.len() - 1];
    place.write(edited, place.read(edited).replace("one", "by hand"));
    place.write(case.stray, "stray\n");
    let mut drift = [format!("modified user_modified {edited}"), format!("extra extra {}", case.stray)];
    let mut found = place.drift(&words);
    drift.sort();
    found.sort();
    assert_eq!(found, drift, "{target}");
    place.deploy(&[&words[..], &["--adopt"]].concat());
    assert!(place.read(edited).contains("one"), "{target}");
    assert_eq!(place.read(case.stray), "stray\n", "{target}: a deploy leaves it");

    // Change the source, deploy, and roll back.
    let with_stray = place.tree();
    origin.change("two");
    place.deploy(&words);
    assert!(place.read(edited).contains("two"), "{target}");
    place.data(&[&["rollback", "--to", &first, "--yes"], &words[..]].concat());
    assert_eq!(place.tree(), with_stray, "{target}: the bytes of the first deploy, and the stray file");

    // Removing modules deletes their files and no others.
    origin.remove();
    let changes = place.planned(&words);
    let deletes: Vec<&str> = changes.iter().filter_map(|change| change.strip_prefix("delete ")).collect();
    assert_eq!(deletes, case.removed, "{target}: {changes:?}");
    place.deploy(&words);
    let mut left: Vec<String> = files.iter().filter(|file| !case.removed.contains(&file.as_str())).cloned().collect();
    left.push(case.stray.to_owned());
    left.sort();
    assert_eq!(place.files(), left, "{target}");

    // A rollback to pristine restores the state before the first deploy.
    place.data(&[&["rollback", "--to", "pristine", "--yes"], &words[..]].concat());
    assert_eq!(place.files().len(), empty.iter().filter(|file| *file != "folder").count() + 1, "{target}");
    assert_eq!(place.read(case.stray), "stray\n");
}

/// Edits every deployed file, proposes the edits and accepts them. A deploy then changes nothing.
pub fn round_trip(origin: &dyn Origin, case: &Case) {
    let place = origin.place();
    let words = origin.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    origin.change("one");
    place.deploy(&words);
    for file in case.files {
        let text = place.read(file);
        assert!(text.contains("one"), "{file}: {text}");
        place.write(file, text.replace("one", "one, as a user has it"));
    }
    let edited = place.tree();
    origin.evolve();
    assert_eq!(place.planned(&words), [""; 0], "{}", case.target);
    assert_eq!(place.drift(&words), [""; 0], "{}", case.target);
    let data = place.data(&[&["deploy", "--apply", "--yes"], &words[..]].concat());
    assert_eq!(data["reason"], "no_changes", "{data:#}");
    assert_eq!(place.tree(), edited, "{}", case.target);
}

const PROJECT: [Case; 4] = [
    Case {
        target: "claude_code",
        files: &["root/AGENTS.md", "root/.claude/skills/tidy/SKILL.md", "root/.claude/commands/review.md"],
        removed: &["root/.claude/commands/review.md"],
        stray: "root/.claude/commands/stray.md",
    },
    Case {
        target: "codex",
        files: &["root/AGENTS.md", "root/.agents/skills/review/SKILL.md", "root/.agents/skills/tidy/SKILL.md"],
        removed: &["root/.agents/skills/review/SKILL.md"],
        stray: "root/.agents/skills/stray/SKILL.md",
    },
    Case {
        target: "cursor",
        files: &["root/AGENTS.md", "root/.agents/skills/tidy/SKILL.md", "root/.cursor/commands/review.md"],
        removed: &["root/.cursor/commands/review.md"],
        stray: "root/.cursor/rules/stray.mdc",
    },
    Case {
        target: "vscode",
        files: &["root/AGENTS.md", "root/.agents/skills/review/SKILL.md", "root/.agents/skills/tidy/SKILL.md"],
        removed: &["root/.agents/skills/review/SKILL.md"],
        stray: "root/.agents/skills/stray.md",
    },
];

const REPO: [Case; 4] = [
    Case {
        target: "claude_code: {scope: both, options: {write_user_skills: true, write_repo_skills: true}}",
        files: &[
            "home/.claude/commands/review.md",
            "home/.claude/skills/tidy/SKILL.md",
            "root/.claude/skills/tidy/SKILL.md",
            "root/.claude/commands/review.md",
        ],
        removed: &["home/.claude/commands/review.md", "root/.claude/commands/review.md"],
        stray: "home/.claude/commands/stray.md",
    },
    Case {
        target: "codex: both",
        files: &[
            "home/.codex/AGENTS.md",
            "home/.codex/prompts/ask.md",
            "home/.codex/skills/tidy/SKILL.md",
            "root/.codex/skills/tidy/SKILL.md",
            "root/AGENTS.md",
        ],
        removed: &["home/.codex/prompts/ask.md"],
        stray: "home/.codex/prompts/stray.md",
    },
    Case {
        target: "cursor: project",
        files: &[
            "root/.cursor/rules/instructions_b--349bcb0697.mdc",
            "root/.cursor/rules/instructions_a--1b59cb31ea.mdc",
        ],
        removed: &["root/.cursor/rules/instructions_b--349bcb0697.mdc"],
        stray: "root/.cursor/rules/stray.mdc",
    },
    Case {
        target: "vscode: project",
        files: &["root/.github/prompts/ask.prompt.md", "root/.github/copilot-instructions.md"],
        removed: &["root/.github/prompts/ask.prompt.md"],
        stray: "root/.github/prompts/stray.prompt.md",
    },
];

/// Returns a place with an empty project.
pub fn project(case: &Case, scope: &'static str) -> FromProject {
    let place = Place::new();
    place.ok(&["project", "create", "p"]);
    FromProject(place, case.target, scope)
}

#[test]
fn every_target_keeps_its_promises_to_a_project() {
    PROJECT.iter().for_each(|case| story(&project(case, "project"), case));
}

#[test]
fn every_target_keeps_its_promises_to_a_config_repo() {
    REPO.iter().for_each(|case| story(&FromRepo(Place::new(), case.target), case));
}

#[test]
fn d13_d14_d18_edits_for_any_target_go_back_into_a_project_and_deploy_unchanged() {
    PROJECT.iter().for_each(|case| round_trip(&project(case, "project"), case));
}

#[test]
fn d13_d14_d18_edits_for_any_target_go_back_into_a_config_repo_and_deploy_unchanged() {
    REPO.iter().for_each(|case| round_trip(&FromRepo(Place::new(), case.target), case));
}
