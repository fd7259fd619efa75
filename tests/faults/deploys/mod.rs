//! Deploys that die, fail or meet each other: what is on disk is entirely before or entirely after.

mod disks;
mod elsewhere;
mod killed;
mod meanwhile;
mod power;
mod together;

use std::process::Command;

use serde_json::{Value, json};

use super::strace;
use crate::support::{Ground, Ran, Tree};

const MANIFEST: &str = "version: 1
profiles:
  default: {include_tags: [base]}
targets:
  claude_code: {mode: files, scope: project, options: {write_repo_skills: true}}
modules:
  - {id: 'skill:big', type: skill, tags: [base], source: {local_path: {path: modules/big}}}
";

/// A config repo whose skill has 200 files, deployed; and what it becomes: 100 of them updated, 100 deleted, 100 more.
struct Big {
    ground: Ground,
    /// The snapshot of the first state.
    first: String,
    /// What is on disk in the first state, and in the second.
    before: Tree,
    after: Tree,
}

impl Big {
    fn new() -> Self {
        Self::filling(Ground::new())
    }

    fn filling(ground: Ground) -> Self {
        ground.in_repo("agentpack.yaml", MANIFEST);
        ground.put(".claude/skills/big/part0/mine.md", "hand-written\n", 0o444);
        ground.put("README.md", "of the project\n", 0o640);
        Self::write_state(&ground, 1);
        let first = deployed(&ground);
        let before = ground.tree();
        Self::write_state(&ground, 2);
        deployed(&ground);
        let after = ground.tree();
        let big = Self { ground, first, before, after };
        assert!(big.before.differences(&big.after).len() >= 300);
        big.back();
        big
    }

    /// Writes a state of the skill: of every three files one is there always, one at first, one later.
    fn write_state(ground: &Ground, state: usize) {
        let _ = std::fs::remove_dir_all(ground.repo().join("modules"));
        ground.in_repo("modules/big/SKILL.md", "---\nname: big\ndescription: Big\n---\nIt stays\n");
        for n in (0..300).filter(|n| n % 3 == 0 || n % 3 == state) {
            // The folders of the last files come and go with them.
            let folder = if n < 240 { format!("part{}", n / 40) } else { format!("only{}/deep", n % 3) };
            let path = ground.in_repo(&format!("modules/big/{folder}/f{n:03}.md"), format!("state {state} of {n}\n"));
            if n % 5 < state {
                crate::support::set_mode(&path, 0o755);
            }
        }
    }

    /// Back to the first state.
    #[track_caller]
    fn back(&self) {
        self.ground.data(&["rollback", "--to", &self.first, "--yes"]);
        self.ground.tree().assert_is(&self.before, "after the rollback");
    }

    /// The arguments of a deploy of the second state.
    fn deploy() -> [&'static str; 5] {
        ["deploy", "--repo", "../../repo", "--apply", "--yes"]
    }

    /// A command to which `inject` is done.
    fn traced(&self, inject: &str, arguments: &[&str]) -> Option<Command> {
        let words = strace(inject)?;
        let mut command = self.ground.command_under(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.args(arguments);
        Some(command)
    }

    fn run_traced(&self, inject: &str, arguments: &[&str]) -> Option<Ran> {
        Some(self.ground.scratch.finish(&mut self.traced(inject, arguments)?))
    }

    /// What is on disk after the next command, which looks after what was left half done: one of two states. Returns
    /// whether it is the second.
    #[track_caller]
    fn settled(&self, when: &str) -> bool {
        let tree = self.ground.tree();
        assert!(tree.leftovers().is_empty(), "{when}: {:?}", tree.leftovers());
        let of = |other: &Tree| tree.differences(other).len();
        let is_second = of(&self.after) < of(&self.before);
        tree.assert_is(if is_second { &self.after } else { &self.before }, when);
        is_second
    }
}

/// Deploys the config repo and returns the snapshot.
#[track_caller]
fn deployed(ground: &Ground) -> String {
    let data = ground.data(&Big::deploy());
    assert_eq!(data["applied"], true, "{data}");
    data["snapshot_id"].as_str().expect("a snapshot").to_owned()
}

/// What the plan counts.
#[track_caller]
fn summary(ground: &Ground) -> Value {
    ground.data(&["plan", "--repo", "../../repo"])["summary"].take()
}

/// The summary of a plan that does this.
fn counts(create: usize, update: usize, delete: usize) -> Value {
    json!({ "create": create, "update": update, "delete": delete })
}
