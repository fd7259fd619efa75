//! Tests a deploy and a rollback over random trees.

use mcpkg_base::error::Code;
use proptest::prelude::*;
use serde_json::json;

use super::{Piece, context, deploy, import, piece, rollback, run, text};
use crate::support::{Ground, Tree, config, set_mode};

/// Something that exists before the first deploy.
#[derive(Clone, Debug)]
enum Stands {
    File(String, u32),
    Link(&'static str),
    Folder,
}

/// Paths that deploys write, folders above them, and paths that deploys do not write.
const PLACES: [&str; 24] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".claude",
    ".claude/CLAUDE.md",
    ".claude/commands",
    ".claude/commands/c0.md",
    ".claude/commands/c1.md",
    ".claude/commands/c2.md",
    ".claude/commands/mine.md",
    ".claude/rules/r0.md",
    ".claude/rules/CLAUDE.md",
    ".claude/skills/s0/SKILL.md",
    ".claude/skills/s1",
    ".claude/skills/s0/a folder/rün.sh",
    ".cursor/commands/c0.md",
    ".cursor/rules",
    ".agents",
    ".agents/skills/s0/SKILL.md",
    ".agents/skills/c0/SKILL.md",
    ".agents/skills/c1",
    ".github/copilot-instructions.md",
    "docs/a name with spaces/ünïcode 🎉.md",
    "elsewhere/file.md",
    "a/b/c/d/e",
];

fn stands() -> impl Strategy<Value = Stands> {
    let mode = proptest::sample::select(vec![0o600, 0o644, 0o755, 0o444, 0o400, 0o640]);
    let link = proptest::sample::select(vec![
        "elsewhere",
        "../elsewhere/file.md",
        "missing",
        "/nowhere/at/all",
        ".",
        "../../outside",
        "AGENTS.md",
        "../AGENTS.md",
    ]);
    prop_oneof![
        6 => (text(), mode).prop_map(|(text, mode)| Stands::File(text, mode)),
        3 => link.prop_map(Stands::Link),
        1 => Just(Stands::Folder),
    ]
}

/// Creates the tree below `base`, and skips entries that cannot be created. Adds files and folders with names of `long`
/// bytes.
fn plant(base: &std::path::Path, tree: &[(&'static str, Stands)], long: usize) {
    let elsewhere = base.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    std::fs::create_dir_all(base.join("x".repeat(long)).join("y".repeat(long))).expect("folders");
    std::fs::write(base.join("x".repeat(long)).join("z".repeat(long)), "long").expect("a file");
    for (place, stands) in tree {
        let path = base.join(place);
        // Skip what already exists, and paths below something that is a file.
        if path.symlink_metadata().is_ok() || std::fs::create_dir_all(path.parent().expect("a parent")).is_err() {
            continue;
        }
        match stands {
            Stands::File(text, mode) => {
                if std::fs::write(&path, text).is_ok() {
                    set_mode(&path, *mode);
                }
            }
            Stands::Link(to) => drop(std::os::unix::fs::symlink(to, &path)),
            Stands::Folder => drop(std::fs::create_dir(&path)),
        }
    }
}

fn tree() -> impl Strategy<Value = Vec<(&'static str, Stands)>> {
    proptest::collection::vec((proptest::sample::select(PLACES.to_vec()), stands()), 0..10)
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    proptest::collection::vec(piece(), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..config(64) })]

    #[test]
    fn an_apply_and_a_rollback_to_pristine_leave_the_tree_as_it_was(tree in tree(), pieces in pieces(), long in 1..250_usize) {
        let ground = Ground::new();
        let context = context(&ground);
        plant(&ground.root(), &tree, long);
        let outside = ground.path().join("outside");
        std::fs::create_dir(&outside).expect("a folder");
        import(&ground, &context, &pieces);
        let before = ground.tree();
        let applied = match deploy(&context, "all") {
            Ok(data) => data,
            // A folder at a file's path, or a link that leads out of the root: the deploy is refused and changes
            // nothing.
            Err(error) => {
                prop_assert_eq!(error.code(), Code::InvalidPath, "{}", error);
                let differences = ground.tree().differences(&before);
                prop_assert!(differences.is_empty(), "{error}: {differences:#?}");
                return Ok(());
            }
        };
        prop_assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
        let after = ground.tree();
        let planned = run(&context, "plan", json!({})).expect("a plan");
        prop_assert_eq!(&planned["changes"], &json!([]), "planned after the apply");
        let again = deploy(&context, "all").expect("nothing to do");
        prop_assert_eq!(&again["applied"], &json!(false));
        let back = rollback(&context, "pristine", false).expect("a rollback");
        assert_same(&ground.tree(), &before, "rolled back")?;
        if applied["applied"] == true {
            // Undo the rollback, and then roll back again.
            let id = back["event_snapshot_id"].as_str().expect("a snapshot");
            rollback(&context, id, false).expect("the rollback is taken back");
            assert_same(&ground.tree(), &after, "the rollback taken back")?;
            rollback(&context, &format!("{}^", applied["snapshot_id"].as_str().expect("a snapshot")), false).expect("before the first");
            assert_same(&ground.tree(), &before, "before the first deploy")?;
        }
    }
}

fn assert_same(tree: &Tree, other: &Tree, when: &str) -> Result<(), TestCaseError> {
    let differences = tree.differences(other);
    prop_assert!(differences.is_empty(), "{}: is | should be {:#?}", when, differences);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 40, ..config(8) })]

    #[test]
    fn the_same_holds_in_the_users_own_folders(tree in tree(), pieces in pieces(), codex in proptest::option::of(stands())) {
        let ground = Ground::new();
        plant(&ground.home(), &tree, 3);
        if let Some(stands) = codex {
            plant(&ground.home(), &[(".codex/AGENTS.md", stands)], 3);
        }
        import(&ground, &context(&ground), &pieces);
        let before = ground.tree();
        let applied = ground.envelope(&["deploy", "--scope", "user", "--apply", "--adopt", "--yes"]);
        if applied["ok"] == true {
            prop_assert_eq!(&ground.data(&["plan", "--scope", "user"])["changes"], &json!([]));
            ground.data(&["rollback", "--scope", "user", "--to", "pristine", "--yes"]);
        }
        assert_same(&ground.tree(), &before, &applied.to_string())?;
    }
}
