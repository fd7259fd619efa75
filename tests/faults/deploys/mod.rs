//! Tests of deploys that are killed, fail or run at the same time: the files are always entirely before or entirely
//! after.

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

/// A config repo with a skill of 200 files. The first state is deployed. In the second state, 100 files are updated,
/// 100 are deleted and 100 are new.
struct Big {
    ground: Ground,
    /// The id of the first state's snapshot.
    first: String,
    /// The files on disk in the first state.
    before: Tree,
    /// The files on disk in the second state.
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

    /// Writes state 1 or 2 of the skill. Of every three files, one is in both states, one only in state 1 and one only
    /// in state 2.
    fn write_state(ground: &Ground, state: usize) {
        let _ = std::fs::remove_dir_all(ground.repo().join("modules"));
        ground.in_repo("modules/big/SKILL.md", "---\nname: big\ndescription: Big\n---\nIt stays\n");
        for n in (0..300).filter(|n| n % 3 == 0 || n % 3 == state) {
            // The folders `only1` and `only2` are each in only one of the states.
            let folder = if n < 240 { format!("part{}", n / 40) } else { format!("only{}/deep", n % 3) };
            let path = ground.in_repo(&format!("modules/big/{folder}/f{n:03}.md"), format!("state {state} of {n}\n"));
            if n % 5 < state {
                crate::support::set_mode(&path, 0o755);
            }
        }
    }

    /// Rolls back to the first state.
    #[track_caller]
    fn back(&self) {
        self.ground.data(&["rollback", "--to", &self.first, "--yes"]);
        self.ground.tree().assert_is(&self.before, "after the rollback");
    }

    /// Returns the arguments that deploy the repo's state, which is the second one after [`Big::filling`].
    fn deploy() -> [&'static str; 5] {
        ["deploy", "--repo", "../../repo", "--apply", "--yes"]
    }

    /// Returns a command that runs under strace with the fault `inject`, or `None` without strace.
    fn traced(&self, inject: &str, arguments: &[&str]) -> Option<Command> {
        let words = strace(inject)?;
        let mut command = self.ground.command_under(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.args(arguments);
        Some(command)
    }

    fn run_traced(&self, inject: &str, arguments: &[&str]) -> Option<Ran> {
        Some(self.ground.scratch.finish(&mut self.traced(inject, arguments)?))
    }

    /// Checks that the files are exactly in one of the two states, after a command has settled the interrupted deploy.
    /// Returns whether it is the second state.
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

/// Deploys the config repo, and returns the snapshot's id.
#[track_caller]
fn deployed(ground: &Ground) -> String {
    let data = ground.data(&Big::deploy());
    assert_eq!(data["applied"], true, "{data}");
    data["snapshot_id"].as_str().expect("a snapshot").to_owned()
}

/// Returns how many files the plan would create, update and delete.
#[track_caller]
fn summary(ground: &Ground) -> Value {
    ground.data(&["plan", "--repo", "../../repo"])["summary"].take()
}

/// Returns the summary of a plan with these counts.
fn counts(create: usize, update: usize, delete: usize) -> Value {
    json!({ "create": create, "update": update, "delete": delete })
}
