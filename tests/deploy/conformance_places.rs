//! Tests the story of [`super::conformance`] in other places: a project in the user's own folders, and a config repo
//! with the current layout.

use crate::deploy::conformance::{Case, FromRepo, project, round_trip, story};
use crate::deploy::place::Place;

const USER: [Case; 4] = [
    Case {
        target: "claude_code",
        files: &["home/.claude/CLAUDE.md", "home/.claude/skills/tidy/SKILL.md", "home/.claude/commands/review.md"],
        removed: &["home/.claude/commands/review.md"],
        stray: "home/.claude/commands/stray.md",
    },
    Case {
        target: "codex",
        files: &["home/.codex/AGENTS.md", "home/.agents/skills/review/SKILL.md", "home/.agents/skills/tidy/SKILL.md"],
        removed: &["home/.agents/skills/review/SKILL.md"],
        stray: "home/.agents/skills/stray/SKILL.md",
    },
    Case {
        target: "cursor",
        files: &["home/.cursor/skills/tidy/SKILL.md", "home/.cursor/commands/review.md"],
        removed: &["home/.cursor/commands/review.md"],
        stray: "home/.cursor/commands/stray.md",
    },
    Case {
        target: "vscode",
        files: &["home/.agents/skills/review/SKILL.md", "home/.agents/skills/tidy/SKILL.md"],
        removed: &["home/.agents/skills/review/SKILL.md"],
        stray: "home/.agents/skills/stray/SKILL.md",
    },
];

const CURRENT: [Case; 4] = [
    Case {
        target: "claude_code: {scope: project, options: {layout: current}}",
        files: &[
            "root/.claude/rules/a.md",
            "root/.claude/rules/b.md",
            "root/.claude/skills/tidy/SKILL.md",
            "root/.claude/commands/review.md",
        ],
        removed: &["root/.claude/commands/review.md"],
        stray: "root/.claude/rules/stray.md",
    },
    Case {
        target: "codex: {scope: project, options: {layout: current}}",
        files: &[
            "root/AGENTS.md",
            "root/.agents/skills/ask/SKILL.md",
            "root/.agents/skills/review/SKILL.md",
            "root/.agents/skills/tidy/SKILL.md",
        ],
        removed: &["root/.agents/skills/ask/SKILL.md", "root/.agents/skills/review/SKILL.md"],
        stray: "root/.agents/skills/stray/SKILL.md",
    },
    Case {
        target: "cursor: {scope: project, options: {layout: current}}",
        files: &[
            "root/.cursor/rules/b.mdc",
            "root/.agents/skills/tidy/SKILL.md",
            "root/.cursor/commands/review.md",
            "root/.cursor/rules/a.mdc",
        ],
        removed: &["root/.cursor/commands/review.md", "root/.cursor/rules/b.mdc"],
        stray: "root/.cursor/rules/stray.mdc",
    },
    Case {
        target: "vscode: {scope: project, options: {layout: current, write_prompts: true}}",
        files: &[
            "root/.agents/skills/ask/SKILL.md",
            "root/.agents/skills/review/SKILL.md",
            "root/.agents/skills/tidy/SKILL.md",
            "root/.github/prompts/ask.prompt.md",
            "root/.github/copilot-instructions.md",
        ],
        removed: &[
            "root/.agents/skills/ask/SKILL.md",
            "root/.agents/skills/review/SKILL.md",
            "root/.github/prompts/ask.prompt.md",
        ],
        stray: "root/.github/prompts/stray.prompt.md",
    },
];

#[test]
fn every_target_keeps_its_promises_in_the_users_own_folders() {
    USER.iter().for_each(|case| story(&project(case, "user"), case));
}

#[test]
fn every_target_keeps_its_promises_to_a_config_repo_with_todays_layout() {
    CURRENT.iter().for_each(|case| story(&FromRepo(Place::new(), case.target), case));
}

#[test]
fn edits_in_the_users_own_folders_go_back_and_deploy_unchanged() {
    USER.iter().for_each(|case| round_trip(&project(case, "user"), case));
}

#[test]
fn edits_in_todays_layout_go_back_and_deploy_unchanged() {
    CURRENT.iter().for_each(|case| round_trip(&FromRepo(Place::new(), case.target), case));
}
