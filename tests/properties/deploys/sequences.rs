//! Tests random sequences of deploys, edits and rollbacks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcpkg_base::error::Code;
use mcpkg_core::op::Context;
use mcpkg_store::deploys::{self, Image};
use proptest::prelude::*;
use serde_json::json;

use super::{Piece, context, deploy, import, piece, rollback, run, text};
use crate::support::{Ground, Thing, config, set_mode};

#[derive(Clone, Debug)]
enum Step {
    /// Replaces or adds some of the project's items.
    Import(Vec<Piece>),
    /// Deletes a command.
    Drop(u8),
    /// Enables or disables a module.
    Enable(u8, bool),
    Deploy(&'static str),
    /// Replaces the text of a deployed file.
    Edit(usize, String),
    /// Changes the mode of a deployed file.
    Chmod(usize, u32),
    /// Deletes a deployed file.
    Delete(usize),
    /// Replaces a deployed file with a link.
    Link(usize),
    Restore,
    /// Rolls back to one of the snapshots.
    Back(usize),
    Pristine,
}

fn step() -> impl Strategy<Value = Step> {
    let target = proptest::sample::select(vec!["all", "all", "all", "claude_code", "codex", "cursor", "vscode"]);
    let mode = proptest::sample::select(vec![0o600, 0o644, 0o755, 0o444]);
    prop_oneof![
        4 => proptest::collection::vec(piece(), 1..4).prop_map(Step::Import),
        1 => (0..4_u8).prop_map(Step::Drop),
        1 => (0..4_u8, any::<bool>()).prop_map(|(n, on)| Step::Enable(n, on)),
        6 => target.prop_map(Step::Deploy),
        2 => (0..50_usize, text()).prop_map(|(n, text)| Step::Edit(n, text)),
        1 => (0..50_usize, mode).prop_map(|(n, mode)| Step::Chmod(n, mode)),
        1 => (0..50_usize).prop_map(Step::Delete),
        1 => (0..50_usize).prop_map(Step::Link),
        1 => Just(Step::Restore),
        3 => (0..20_usize).prop_map(Step::Back),
        1 => Just(Step::Pristine),
    ]
}

/// The deployed files at some point, by path.
type Kept = BTreeMap<PathBuf, Option<Thing>>;

struct World {
    ground: Ground,
    context: Context,
    snapshots: Vec<(String, Kept)>,
}

impl World {
    /// Returns the deployed files.
    fn kept(&self) -> Vec<deploys::Deployed> {
        let rows = self.context.store.read(|db| deploys::of_place(db, 1)).unwrap_or_default();
        rows.into_iter().filter(|row| row.applied != Image::Absent).collect()
    }

    fn state(&self) -> Kept {
        let tree = self.ground.tree();
        let base = self.ground.path().canonicalize().expect("a folder");
        let of = |row: &deploys::Deployed| {
            let path = PathBuf::from(&row.path).strip_prefix(&base).expect("below").to_owned();
            let thing = match (tree.0.get(&path), &row.applied) {
                // Ignore the actual mode, because the user may have changed bits that a deploy does not set.
                (Some(Thing::File(_, bytes)), Image::File { mode, .. }) => Some(Thing::File(*mode, bytes.clone())),
                (thing, _) => thing.cloned(),
            };
            (path, thing)
        };
        self.kept().iter().map(of).collect()
    }

    /// Returns a file that a deploy wrote completely, not only a block in a user's file.
    fn one(&self, n: usize) -> Option<PathBuf> {
        let whole: Vec<_> = self.kept().into_iter().filter(|row| row.written && !row.block).collect();
        let row = whole.get(n.checked_rem(whole.len())?)?;
        Some(PathBuf::from(&row.path))
    }

    /// Rolls back. Checks that the user's later changes stay until the user agrees to lose them.
    fn back(&self, to: &str) -> Result<serde_json::Value, TestCaseError> {
        let failed = |error: mcpkg_base::error::Error| TestCaseError::fail(error.to_string());
        let before = self.ground.tree();
        match rollback(&self.context, to, false) {
            Err(error) if error.code() == Code::AdoptConfirmRequired => {
                prop_assert!(self.ground.tree() == before, "{} changed files", error);
                rollback(&self.context, to, true).map_err(failed)
            }
            other => other.map_err(failed),
        }
    }

    fn perform(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Import(pieces) => import(&self.ground, &self.context, pieces),
            Step::Drop(n) => drop(run(&self.context, "delete_prompt", json!({ "name": format!("c{n}") }))),
            Step::Enable(n, on) => {
                let id = format!("command:c{n}");
                drop(run(&self.context, "set_module", json!({ "id": id, "enabled": on })));
            }
            Step::Deploy(target) => {
                let data = deploy(&self.context, target).map_err(|error| TestCaseError::fail(error.to_string()))?;
                let planned = run(&self.context, "plan", json!({ "target": target })).expect("a plan");
                prop_assert_eq!(&planned["changes"], &json!([]));
                if let (Some(id), "all") = (data["snapshot_id"].as_str(), *target) {
                    self.snapshots.push((id.to_owned(), self.state()));
                }
            }
            Step::Edit(n, text) => {
                if let Some(path) = self.one(*n) {
                    let _ = std::fs::remove_file(&path);
                    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
                    std::fs::write(path, format!("by hand {text}")).expect("an edit");
                }
            }
            Step::Chmod(n, mode) => {
                if let Some(path) = self.one(*n).filter(|path| path.is_file()) {
                    set_mode(&path, *mode);
                }
            }
            Step::Delete(n) => drop(self.one(*n).map(std::fs::remove_file)),
            Step::Link(n) => {
                if let Some(path) = self.one(*n).filter(|path| std::fs::remove_file(path).is_ok()) {
                    std::os::unix::fs::symlink("by-hand", path).expect("a link");
                }
            }
            Step::Restore => {
                run(&self.context, "evolve_restore", json!({ "yes": true })).expect("restored");
            }
            Step::Back(n) => {
                let Some(n) = n.checked_rem(self.snapshots.len()) else { return Ok(()) };
                let (id, state) = &self.snapshots[n];
                let said = self.back(id)?;
                let now = self.ground.tree();
                for (path, thing) in state {
                    prop_assert_eq!(now.0.get(path), thing.as_ref(), "{} after {}", path.display(), said);
                }
            }
            Step::Pristine => {
                self.back("pristine")?;
            }
        }
        prop_assert!(self.ground.tree().leftovers().is_empty());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 400, ..config(40) })]

    #[test]
    fn pristine_restores_the_first_tree_and_a_snapshot_what_it_left(
        texts in proptest::collection::vec(proptest::option::of(text()), 4),
        pieces in proptest::collection::vec(piece(), 1..5),
        steps in proptest::collection::vec(step(), 1..16),
    ) {
        let ground = Ground::new();
        let names = ["AGENTS.md", ".claude/commands/c0.md", ".claude/skills/s0/SKILL.md", ".cursor/commands/mine.md"];
        for (name, text) in names.iter().zip(&texts) {
            if let Some(text) = text {
                ground.put(name, format!("of the user {text}"), 0o640);
            }
        }
        let context = context(&ground);
        import(&ground, &context, &pieces);
        let first = ground.tree();
        let mut world = World { ground, context, snapshots: Vec::new() };
        for step in std::iter::once(&Step::Deploy("all")).chain(&steps) {
            world.perform(step)?;
        }
        world.back("pristine")?;
        let differences = world.ground.tree().differences(&first);
        prop_assert!(differences.is_empty(), "is | should be {:#?}", differences);
    }
}
