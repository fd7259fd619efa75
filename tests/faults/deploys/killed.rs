//! Tests that kill the process of a deploy or rollback.

use super::{Big, counts, deployed, summary};
use crate::support::{finds, runs_all, skipped};

/// Commands of several kinds. Each of them finds and settles an interrupted deploy.
const NEXT: [&[&str]; 7] = [
    &["prompt", "list"],
    &["plan", "--repo", "../../repo"],
    &["project", "list"],
    &["snapshot", "list", "--all"],
    &["status", "--repo", "../../repo"],
    &["search", "x"],
    &["events"],
];

/// The numbers of the files at which the process is killed: the first ones, the last ones, and some between.
const AT: [usize; 18] = [1, 2, 3, 4, 11, 29, 58, 77, 100, 123, 150, 151, 188, 222, 241, 270, 299, 300];

/// A part of [`AT`].
const FEW: [usize; 4] = [1, 58, 151, 300];

fn at() -> &'static [usize] {
    if runs_all() { &AT } else { &FEW }
}

#[test]
fn kill_9_after_the_nth_of_300_files_leaves_none_of_them_deployed() {
    let big = Big::new();
    let mut in_the_middle = 0;
    for (n, next) in at().iter().zip(NEXT.iter().cycle()) {
        // linkat is called once for each file: to put the new file in place, or to keep the old one under a temporary
        // name.
        let Some(ran) = big.run_traced(&format!("linkat:signal=SIGKILL:when={n}"), &Big::deploy()) else {
            return skipped("there is no strace");
        };
        assert_ne!(ran.status, 0, "it was to die at file {n}: {ran}");
        let left = big.ground.tree();
        in_the_middle += usize::from(left != big.before && left != big.after);
        big.ground.ok(next);
        assert!(!big.settled(&format!("killed at file {n}")), "all of it is there");
        assert_eq!(summary(&big.ground), counts(100, 100, 100), "killed at file {n}");
        deployed(&big.ground);
        assert!(big.settled("deployed again"));
        assert_eq!(summary(&big.ground), counts(0, 0, 0));
        big.back();
    }
    assert_eq!(in_the_middle, at().len(), "each kill leaves a state between");
}

#[test]
fn kill_9_in_the_middle_of_a_rollback_leaves_the_deployed_state() {
    let big = Big::new();
    deployed(&big.ground);
    let rollback = ["rollback", "--to", big.first.as_str(), "--yes"];
    // By default, the deploys above are followed by the first commands, and these rollbacks by the others.
    let (stride, skipped_commands) = if runs_all() { (2, 1) } else { (1, FEW.len()) };
    for (n, next) in at().iter().step_by(stride).zip(NEXT.iter().cycle().skip(skipped_commands)) {
        let Some(ran) = big.run_traced(&format!("linkat:signal=SIGKILL:when={n}"), &rollback) else {
            return skipped("there is no strace");
        };
        assert_ne!(ran.status, 0, "it was to die at file {n}: {ran}");
        big.ground.ok(next);
        assert!(big.settled(&format!("killed at file {n}")), "all of it was rolled back");
        assert_eq!(summary(&big.ground), counts(0, 0, 0));
        big.back();
        deployed(&big.ground);
    }
}

#[test]
fn kill_9_at_any_step_leaves_one_of_the_two_states() {
    let big = Big::new();
    let (mut before, mut after, mut uncleaned) = (0, 0, 0);
    let steps: [(&str, &[usize]); 6] = [
        ("mkdirat", &[1, 2]),
        // This rename writes the record that this machine began the journal.
        ("rename", &[1]),
        ("renameat", &[1, 50, 100]),
        // 200 calls while files are written, and then 200 to remove the old files that were kept.
        ("unlinkat", &[1, 100, 199, 200, 201, 202, 203, 300, 400, 401, 402, 403]),
        ("fsync", &[1, 2, 4, 6, 8, 10, 12]),
        ("pwrite64", &[1, 20, 40, 60, 80, 100, 120]),
    ];
    // Tests a deploy and a rollback at each step. Without `runs_all`, tests every third step, with a deploy and a
    // rollback in turn.
    let stride = if runs_all() { 1 } else { 3 };
    for (step, at) in steps {
        for (turn, n) in at.iter().step_by(stride).enumerate() {
            for rolls_back in
                [false, true].into_iter().filter(|rolls_back| runs_all() || *rolls_back == (turn % 2 == 1))
            {
                let arguments: &[&str] =
                    if rolls_back { &["rollback", "--to", big.first.as_str(), "--yes"] } else { &Big::deploy() };
                if rolls_back {
                    deployed(&big.ground);
                }
                let Some(ran) = big.run_traced(&format!("{step}:signal=SIGKILL:when={n}"), arguments) else {
                    return skipped("there is no strace");
                };
                let when = format!("killed at {step} {n} of {}", arguments[0]);
                let left = big.ground.tree();
                big.ground.ok(&["prompt", "list"]);
                let is_second = big.settled(&when);
                assert!(ran.status != 0 || is_second != rolls_back, "{when}: it ended well");
                if ran.status != 0 {
                    before += usize::from(is_second == rolls_back);
                    after += usize::from(is_second != rolls_back);
                    uncleaned += usize::from(is_second != rolls_back && !left.leftovers().is_empty());
                }
                let expected = if is_second { counts(0, 0, 0) } else { counts(100, 100, 100) };
                assert_eq!(summary(&big.ground), expected, "{when}");
                if is_second {
                    big.back();
                }
            }
        }
    }
    eprintln!("{before} kills left the state before, {after} the one after, {uncleaned} of them with old files beside");
    let enough = before * stride >= 8 && after * stride >= 4 && uncleaned * stride >= 2;
    assert!(enough, "{before} before, {after} after, {uncleaned} with old files");
}

/// Ctrl-C waits for the undo, so the undo must not sync once for each file.
#[test]
fn an_undo_syncs_each_folder_once() {
    if finds("strace").is_none() {
        return skipped("there is no strace");
    }
    let big = Big::new();
    let trace = big.ground.scratch.path().join("trace");
    let words = ["strace", "-f", "-qq", "-o", trace.to_str().expect("a path"), "-e", "trace=linkat,fsync"];
    let inject = ["-e", "inject=linkat:error=EIO:when=200+"];
    let mut command = big.ground.command_under(&[&words[..], &inject[..]].concat());
    let ran = big.ground.scratch.finish(command.args(Big::deploy()));
    assert_eq!(ran.status, 1, "{ran}");
    assert!(!big.settled("undone"));
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let (_, undone) = trace.split_once("(INJECTED)").expect("a link that failed");
    let syncs = undone.lines().filter(|line| line.contains("fsync(")).count();
    assert!((1..60).contains(&syncs), "{syncs} times for some 200 files in 12 folders:\n{undone}");
}
