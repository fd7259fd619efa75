//! Tests of syncs that are killed or fail in the middle: the next sync completes the work, and nothing is lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{assert_sound, error_code, under_strace};
use crate::support::{Ran, Scratch, runs_all, skipped};

/// The content of each file, by path.
type Tree = BTreeMap<String, Vec<u8>>;

fn tree(folder: &Path) -> Tree {
    fn walk(top: &Path, folder: &Path, found: &mut Tree) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                walk(top, &entry, found);
            } else {
                let path = entry.strip_prefix(top).expect("below").display().to_string();
                found.insert(path, fs::read(&entry).expect("a file"));
            }
        }
    }
    let mut found = Tree::new();
    walk(folder, folder, &mut found);
    found
}

/// A home and a folder that were synced. Since then, both sides changed, with every kind of change that a sync handles.
struct Changed {
    scratch: Scratch,
    /// The state that [`Changed::state`] returns after an undisturbed sync.
    expected: (Tree, Tree),
}

const ITEMS: usize = 6;

impl Changed {
    fn new() -> Self {
        let scratch = Scratch::with_project();
        for n in 0..ITEMS {
            let text = format!("{n}\nfirst\nsecond\nthird\n");
            scratch.ok(&["prompt", "create", &format!("p{n}"), &text, "-d", "Described"]);
            scratch.ok(&["resource", "create", &format!("r{n}"), &format!("file:///r{n}.md"), &text]);
        }
        let file = |args: &str| {
            format!(
                "{{\n  \"mcpServers\": {{\n    \"filed\": {{ \"command\": \"x\", \"args\": [\"{args}\"] }}\n  }}\n}}\n"
            )
        };
        scratch.file("repo/.mcp.json", file("first"));
        scratch.file("repo/.cursor/mcp.json", file("first").replace("filed", "other"));
        scratch.ok(&["import", "repo"]);
        scratch.ok(&["mcp", "add", "listed", "--", "x", "first"]);
        scratch.ok(&["sync", "team"]);
        // `taken` is changed in the folder. In the project, `filed` and `listed` are changed, `listed` is also renamed,
        // and `new` is created.
        scratch.file("team/.cursor/mcp.json", file("taken").replace("filed", "other"));
        scratch.ok(&["mcp", "set", "filed", "--", "x", "given"]);
        scratch.ok(&["mcp", "set", "listed", "--rename", "renamed", "--", "x", "given"]);
        scratch.ok(&["mcp", "add", "new", "--url", "https://new.example/mcp"]);
        // Files: changed in the folder, changed in the project, changed on both sides, new in the project, new in the
        // folder, changed only in the manifest.
        scratch.file("team/r0.md", "taken\n");
        scratch.ok(&["prompt", "update", "p0", "--content", "given\n"]);
        scratch.file("team/r1.md", "1\nFIRST\nsecond\nthird\n");
        scratch.ok(&["resource", "update", "r1", "--content", "1\nfirst\nsecond\nTHIRD\n"]);
        scratch.file("team/.claude/commands/p1.md", "---\ndescription: Described\n---\n1\nFIRST\nsecond\nthird\n");
        scratch.ok(&["prompt", "update", "p1", "--content", "1\nfirst\nsecond\nTHIRD\n"]);
        scratch.ok(&["prompt", "create", "new", "new here\n"]);
        scratch.ok(&["resource", "create", "deep", "file:///a/b/c.md", "new here\n"]);
        scratch.file("team/x/y.md", "new there\n");
        scratch.ok(&["prompt", "rename", "p2", "renamed"]);
        scratch.ok(&["resource", "update", "r2", "-d", "Only the manifest says this"]);
        let mut changed = Self { scratch, expected: Default::default() };
        changed.keep();
        changed.scratch.ok(&["sync"]);
        changed.expected = changed.state();
        changed.back();
        changed
    }

    /// Saves the state, for [`Changed::back`].
    fn keep(&self) {
        self.copy("team", "kept-team");
        self.scratch.ok(&["backup", "kept.db"]);
    }

    fn back(&self) {
        fs::remove_dir_all(self.scratch.path().join("team")).expect("gone");
        self.copy("kept-team", "team");
        self.scratch.ok(&["restore", "kept.db", "--yes"]);
    }

    fn copy(&self, from: &str, to: &str) {
        for (path, bytes) in tree(&self.scratch.path().join(from)) {
            self.scratch.file(&format!("{to}/{path}"), bytes);
        }
    }

    /// Returns the files of the folder, and the files that the project exports.
    fn state(&self) -> (Tree, Tree) {
        let out = self.scratch.path().join("out");
        if out.exists() {
            fs::remove_dir_all(&out).expect("gone");
        }
        self.scratch.ok(&["export", "out"]);
        (tree(&self.scratch.path().join("team")), tree(&out))
    }

    /// Runs a sync under strace with the fault `inject`.
    fn sync_under(&self, inject: &str) -> Option<Ran> {
        let mut command = under_strace(&self.scratch, inject)?;
        Some(self.scratch.finish(command.arg("sync")))
    }

    /// Syncs again, and checks that the result is the same as without the fault.
    #[track_caller]
    fn goes_on(&self, when: &str) {
        let again = self.scratch.run(&["sync"]);
        assert_eq!(again.status, 0, "{when}: {again}");
        assert!(self.state() == self.expected, "{when}: {:#?}", differences(&self.state(), &self.expected));
        assert_eq!(self.scratch.run(&["sync", "--check"]).status, 0, "{when}");
        assert_eq!(self.records(), 0, "{when}");
        assert_sound(&self.scratch);
    }

    /// Returns how many syncs are recorded on this machine as still writing files.
    fn records(&self) -> usize {
        fs::read_dir(self.scratch.state().join("mcpkg/approved/sync-writes")).map_or(0, Iterator::count)
    }
}

fn differences(found: &(Tree, Tree), expected: &(Tree, Tree)) -> Vec<String> {
    let mut differ = Vec::new();
    for (found, expected) in [(&found.0, &expected.0), (&found.1, &expected.1)] {
        let paths: std::collections::BTreeSet<_> = found.keys().chain(expected.keys()).collect();
        for path in paths.into_iter().filter(|path| found.get(*path) != expected.get(*path)) {
            let text = |tree: &Tree| tree.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            differ.push(format!("{path}: {:?}, expected {:?}", text(found), text(expected)));
        }
    }
    differ
}

#[test]
fn kill_9_at_any_step_of_a_sync_loses_nothing_and_the_next_one_goes_on() {
    let changed = Changed::new();
    let (mut killed, mut between, mut recorded) = (0, 0, 0);
    let stride = if runs_all() { 1 } else { 3 };
    let steps: [(&str, &[usize]); 8] = [
        ("pwrite64", &[1, 3, 8, 15, 30, 45, 60, 75, 90, 110]),
        ("fdatasync", &[1, 2, 3, 5, 7, 9]),
        ("fsync", &[1, 2, 3, 4, 5, 6, 7, 8]),
        ("linkat", &[1, 2]),
        ("renameat", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("renameat2", &[1, 3, 5]),
        ("unlinkat", &[1, 2]),
        ("mkdirat", &[1, 2]),
    ];
    for (step, at) in steps {
        for n in at.iter().step_by(stride) {
            let Some(ran) = changed.sync_under(&format!("{step}:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            let when = format!("killed at {step} {n}");
            killed += usize::from(ran.status != 0);
            let left = tree(&changed.scratch.path().join("team"));
            let before = tree(&changed.scratch.path().join("kept-team"));
            between += usize::from(ran.status != 0 && left != before && left != changed.expected.0);
            recorded += changed.records();
            changed.goes_on(&when);
            changed.back();
        }
    }
    assert!(recorded >= between, "{recorded} records");
    eprintln!("{killed} syncs were killed, {between} of them between two files");
    assert!(killed * stride >= 16 && between * stride >= 8, "{killed} killed, {between} between two files");
}

#[test]
fn a_disk_that_refuses_a_write_is_reported_and_the_next_sync_goes_on() {
    let changed = Changed::new();
    for (inject, code) in [
        ("renameat:error=EROFS:when=2", "E_IO_PERMISSION_DENIED"),
        ("fdatasync:error=ENOSPC:when=1", "E_DISK_FULL"),
        ("fdatasync:error=EIO:when=3", "E_FILE_FAILED"),
        ("mkdirat:error=EACCES:when=1", "E_IO_PERMISSION_DENIED"),
    ] {
        let Some(mut command) = under_strace(&changed.scratch, inject) else {
            return skipped("there is no strace");
        };
        let ran = changed.scratch.finish(command.args(["--json", "sync"]));
        assert_eq!((ran.status, error_code(&ran).as_deref()), (1, Some(code)), "{inject}: {ran}");
        let told = ran.to_string();
        assert!(
            !inject.starts_with("mkdirat") || told.contains("the next `mcpkg sync` writes the remaining files"),
            "{told}"
        );
        assert_eq!(changed.scratch.run(&["sync", "--check"]).status, 3, "{inject}");
        changed.goes_on(inject);
        changed.back();
    }
}

#[test]
fn changes_after_a_sync_was_killed_are_not_overwritten() {
    let changed = Changed::new();
    let Some(ran) = changed.sync_under("renameat:signal=SIGKILL:when=1") else {
        return skipped("there is no strace");
    };
    assert_ne!(ran.status, 0, "{ran}");
    // The killed sync was going to write these files.
    changed.scratch.file("team/r1.md", "zero\n1\nFIRST\nsecond\nthird\n");
    changed.scratch.file("team/.claude/commands/p0.md", "somebody else's\n");
    let ran = changed.scratch.run(&["sync"]);
    assert_eq!(ran.status, 1, "{ran}");
    let text = |path: &str| fs::read_to_string(changed.scratch.path().join(path)).expect("a file");
    assert_eq!(text("team/r1.md"), "zero\n1\nFIRST\nsecond\nTHIRD\n", "merged");
    assert_eq!(text("team/.claude/commands/p0.md"), "somebody else's\n");
    assert_eq!(changed.scratch.ok(&["prompt", "show", "p0"]), "given\n");
    assert!(changed.scratch.ok(&["evolve", "list"]).contains("p0"));
}

#[test]
fn two_syncs_of_one_folder_do_not_run_at_once() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "a", "x\n"]);
    scratch.ok(&["sync", "team"]);
    let folder = fs::File::open(scratch.path().join("team")).expect("the folder");
    folder.lock().expect("a lock");
    let ran = scratch.run(&["--json", "sync"]);
    assert_eq!(error_code(&ran).as_deref(), Some("E_DB_BUSY"), "{ran}");
    folder.unlock().expect("unlocked");
    scratch.ok(&["sync"]);
}
