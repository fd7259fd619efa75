//! Tests of power loss while files are written, and just after a command reported success. The files are on a file
//! system that the test shuts down: what was not synced is lost.

use super::{Big, deployed};
use crate::support::{Disk, Ground, Scratch, Tree, runs_all, skipped};

/// What is on the disk that loses its power.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    /// Only the files. The database is elsewhere, so syncing it does not sync the files as well.
    Files,
    /// The database and the files.
    All,
}

/// The disks to test: ext4 and xfs with only the files, and ext4 with the database too.
const DISKS: [(&str, Holds); 3] = [("ext4", Holds::Files), ("xfs", Holds::Files), ("ext4", Holds::All)];

/// Returns a disk with a ground on it.
fn ground(system: &'static str, holds: Holds) -> Option<(Disk, Ground)> {
    let scratch = match holds {
        Holds::Files => Scratch::with_project_here(),
        Holds::All => Scratch::new(),
    };
    let at = match holds {
        Holds::Files => scratch.path().join("ground"),
        Holds::All => scratch.path().to_owned(),
    };
    let disk = Disk::new(system, &at)?;
    // The new file system has a folder `lost+found`, which is not in the expected tree.
    let _ = std::fs::remove_dir(at.join("lost+found"));
    if holds == Holds::All {
        scratch.ok(&["project", "create", "p"]);
    }
    Some((disk, Ground::below(scratch)))
}

#[test]
fn power_loss_loses_no_deploy_and_no_rollback_that_reported_success() {
    for (system, holds) in DISKS {
        let Some((mut disk, ground)) = ground(system, holds) else { continue };
        let big = Big::filling(ground);
        disk.flush();
        deployed(&big.ground);
        disk.cut();
        big.ground.tree().assert_is(&big.after, &format!("{system}, {holds:?}: deployed"));
        big.back();
        disk.cut();
        big.ground.tree().assert_is(&big.before, &format!("{system}, {holds:?}: rolled back"));
        // The next command also checks that the database agrees with the files.
        deployed(&big.ground);
        assert!(big.settled("deployed again"));
    }
}

#[test]
fn power_loss_in_the_middle_leaves_one_of_the_two_states() {
    // These calls create temporary files and folders, sync them, link files to their places, remove old files, and
    // write the database.
    let steps: [(&str, &[usize]); 5] = [
        ("openat", &[900]),
        ("fsync", &[2, 5, 9]),
        ("linkat", &[1, 150, 300]),
        ("unlinkat", &[100, 199, 201, 300]),
        ("pwrite64", &[20, 60]),
    ];
    for (on, (system, holds)) in DISKS.into_iter().enumerate() {
        let Some((mut disk, ground)) = ground(system, holds) else { continue };
        let big = Big::filling(ground);
        for (nth, (step, at)) in steps.into_iter().enumerate() {
            let cases: Vec<_> = at.iter().flat_map(|n| [(n, false), (n, true)]).collect();
            // By default, each disk has one of the first four cases of a step, and the next disk the next case.
            let few = &cases[..cases.len().min(4)];
            for (n, rolls_back) in if runs_all() { &cases[..] } else { &few[(on + nth) % few.len()..][..1] } {
                let arguments: &[&str] =
                    if *rolls_back { &["rollback", "--to", big.first.as_str(), "--yes"] } else { &Big::deploy() };
                if *rolls_back {
                    deployed(&big.ground);
                }
                disk.flush();
                let Some(ran) = big.run_traced(&format!("{step}:signal=SIGKILL:when={n}"), arguments) else {
                    return skipped("there is no strace");
                };
                disk.cut();
                let when = format!("{system}, {holds:?}: cut at {step} {n} of {}", arguments[0]);
                big.ground.ok(&["prompt", "list"]);
                let is_second = big.settled(&when);
                assert!(ran.status != 0 || is_second != *rolls_back, "{when}: it ended well");
                // What the undo restored is synced too.
                disk.cut();
                assert_eq!(big.settled(&format!("{when}, and again")), is_second, "{when}");
                if is_second {
                    big.back();
                }
            }
        }
    }
}

#[test]
fn the_next_command_completes_an_undo_that_a_power_loss_interrupted() {
    for (system, holds) in DISKS {
        let Some((mut disk, ground)) = ground(system, holds) else { continue };
        let big = Big::filling(ground);
        disk.flush();
        let ran = big.run_traced("linkat:signal=SIGKILL:when=250", &Big::deploy());
        let Some(_) = ran else { return skipped("there is no strace") };
        disk.flush();
        for n in [1, 60, 120] {
            let inject = format!("renameat:signal=SIGKILL:when={n}");
            let ran = big.run_traced(&inject, &["prompt", "list"]).expect("strace");
            assert_ne!(ran.status, 0, "it was to die in the undo: {ran}");
            disk.cut();
        }
        big.ground.ok(&["prompt", "list"]);
        disk.cut();
        assert!(!big.settled(&format!("{system}, {holds:?}")), "all of it is there");
    }
}

#[test]
fn power_loss_loses_nothing_of_up_or_of_its_undo() {
    for (system, holds) in DISKS {
        let Some((mut disk, ground)) = ground(system, holds) else { continue };
        for (name, content) in [
            ("home/.claude.json", "{ \"theme\": \"dark\" }\n"),
            ("home/.codex/config.toml", "model = \"x\" # mine\n"),
            ("home/.cursor/mcp.json", "{}"),
            ("root/CLAUDE.md", "# House rules\n\nUse British spelling.\n"),
            ("root/.claude/commands/review.md", "---\ndescription: Review\n---\nReview $ARGUMENTS\n"),
            ("root/.cursor/rules/ts.mdc", "---\ndescription: TS\nglobs: \"**/*.ts\"\n---\nBe strict.\n"),
        ] {
            ground.scratch.file(&format!("ground/{name}"), content);
        }
        disk.flush();
        let first = ground.tree();
        let up = |arguments: &[&str]| {
            let mut command = ground.command();
            let data = ground.scratch.path().join("data");
            command.env("PATH", "/usr/bin:/bin").env("XDG_DATA_HOME", &data).env("XDG_CACHE_HOME", &data);
            let ran = ground.scratch.finish(command.arg("up").args(arguments).arg("--yes"));
            assert_eq!(ran.status, 0, "{ran}");
        };
        up(&["--agents", "claude-code,codex,cursor"]);
        let set_up: Tree = ground.tree();
        assert!(set_up.differences(&first).len() > 6, "{:?}", set_up.differences(&first));
        disk.cut();
        ground.tree().assert_is(&set_up, &format!("{system}, {holds:?}: set up"));
        up(&["--undo"]);
        ground.tree().assert_is(&first, "undone");
        disk.cut();
        ground.tree().assert_is(&first, &format!("{system}, {holds:?}: undone"));
    }
}
