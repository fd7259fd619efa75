//! Tests with full disks, and with folders and files that cannot be written, in the middle of a deploy.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::meanwhile::{assert_undone, deploy_with};
use super::{Big, counts, deployed, summary};
use crate::support::{Ground, Mount, Scratch, as_bound_user, is_root, set_mode, skipped};

/// Fills a file system to the last byte.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("a file");
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// Checks that a deploy fails in the middle with this `cause` and is undone, and that it succeeds after `mend`.
#[track_caller]
fn undone_then_good(big: &Big, wrapper: &[&str], cause: &str, mend: impl FnOnce()) {
    let mut command = big.ground.command_under(wrapper);
    let ran = big.ground.scratch.finish(command.arg("--json").args(Big::deploy()));
    let envelope: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    let error = &envelope["errors"][0];
    assert_eq!((ran.status, error["code"].as_str()), (1, Some("E_DEPLOY_UNDONE")), "{envelope:#}");
    assert_eq!(error["details"]["cause"], cause, "{envelope:#}");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("mcpkg restored all files")), "{envelope:#}");
    assert!(!big.settled("undone"));
    assert_eq!(summary(&big.ground), counts(100, 100, 100));
    mend();
    deployed(&big.ground);
    assert!(big.settled("deployed after all"));
}

/// A file or folder that is immutable until this value is dropped.
struct Immutable(PathBuf);

impl Immutable {
    fn new(path: PathBuf) -> Option<Self> {
        let set = is_root()
            && Command::new("chattr")
                .arg("+i")
                .arg(&path)
                .stderr(std::process::Stdio::null())
                .status()
                .is_ok_and(|it| it.success());
        set.then_some(Self(path))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let _ = Command::new("chattr").arg("-i").arg(&self.0).status();
    }
}

#[test]
fn an_immutable_file_or_folder_in_the_middle_undoes_all() {
    for name in ["f222.md", "f223.md", ""] {
        let big = Big::new();
        let Some(held) = Immutable::new(big.ground.root().join(".claude/skills/big/part5").join(name)) else {
            return skipped("an immutable file needs root, chattr and a file system that knows it");
        };
        undone_then_good(&big, &[], "E_IO_PERMISSION_DENIED", || drop(held));
    }
}

#[test]
fn a_folder_that_another_user_may_not_write_in_undoes_all() {
    let Some(wrapper) = as_bound_user() else {
        return skipped("root may write everywhere, and no other user can run the binary where it stands");
    };
    for folder in ["part0", "part3", "part5"] {
        let big = Big::new();
        let at = big.ground.root().join(".claude/skills/big").join(folder);
        set_mode(&at, 0o555);
        let big = Big { before: big.ground.tree(), ..big };
        let give = |to: &str| {
            let status = Command::new("chown").args(["-R", to]).arg(big.ground.scratch.path()).status();
            assert!(status.expect("chown starts").success());
        };
        if is_root() {
            give("nobody");
        }
        let mut command = big.ground.command_under(wrapper);
        let ran = big.ground.scratch.finish(command.arg("--json").args(Big::deploy()));
        assert!(ran.stdout.contains("E_DEPLOY_UNDONE") && ran.stdout.contains("E_IO_PERMISSION_DENIED"), "{ran}");
        assert!(!big.settled("undone"));
        if is_root() {
            give("root");
        }
        set_mode(&at, 0o755);
        deployed(&big.ground);
        assert!(big.settled("deployed after all"));
    }
}

#[test]
fn a_read_only_file_system_in_the_middle_undoes_all() {
    let big = Big::new();
    let at = big.ground.root().join(".claude/skills/big/part4");
    let from = at.to_string_lossy().into_owned();
    let Some(mount) = is_root().then(|| Mount::new(&["--bind", &from], &at)).flatten() else {
        return skipped("a mount needs root");
    };
    mount.remount("bind,ro");
    undone_then_good(&big, &[], "E_IO_PERMISSION_DENIED", || drop(mount));
}

#[test]
fn a_path_that_is_as_long_as_the_disk_takes_is_written_and_a_longer_one_refused() {
    for (longest, is_taken) in [(4090, true), (4106, false)] {
        let big = Big::new();
        let root = big.ground.root().canonicalize().expect("a root").join(".claude/skills/big");
        // Linux accepts paths of up to 4095 bytes. Only the length of a file's final path counts. Its temporary name is
        // longer, but the temporary file is created relative to its open folder.
        let mut room = longest - root.as_os_str().len();
        let mut script = "cd modules/big".to_owned();
        while room > 20 {
            let name = "a".repeat(room.saturating_sub(8).min(200));
            script += &format!(" && mkdir {name} && cd {name}");
            room -= name.len() + 1;
        }
        script += " && echo x > x.md";
        let made = Command::new("sh").current_dir(big.ground.repo()).args(["-c", &script]).status();
        assert!(made.expect("sh starts").success());
        if is_taken {
            deployed(&big.ground);
            big.back();
        } else {
            let error = big.ground.refused(&Big::deploy());
            assert_eq!(error["code"], "E_IO_PATH_TOO_LONG", "{error:#}");
            assert!(!big.settled("refused"));
        }
        let state = "find modules/big -type d -name 'aaa*' -prune -exec rm -r {} +";
        let gone = Command::new("sh").current_dir(big.ground.repo()).args(["-c", state]).status();
        assert!(gone.expect("sh starts").success());
        deployed(&big.ground);
        assert!(big.settled("deployed after all"));
    }
}

#[test]
fn a_disk_that_is_full_in_the_middle_undoes_all_though_it_is_full() {
    let scratch = Scratch::with_project_here();
    let Some(mount) = Mount::in_memory("64m", &scratch.path().join("ground")) else {
        return skipped("a full disk needs root and tmpfs");
    };
    let big = Big::filling(Ground::below(scratch));
    // Each file takes a page, and there is room for a third of the new ones.
    mount.remount("size=1100k");
    undone_then_good(&big, &[], "E_DISK_FULL", || mount.remount("size=64m"));
    // A process is killed in the middle, and then the disk fills up. Restoring what the process replaced needs no room.
    big.back();
    for n in [60, 150, 290] {
        let Some(ran) = big.run_traced(&format!("linkat:signal=SIGKILL:when={n}"), &Big::deploy()) else {
            return skipped("there is no strace");
        };
        assert_ne!(ran.status, 0, "{ran}");
        let filler = big.ground.path().join("filler");
        fill(&filler);
        big.ground.ok(&["prompt", "list"]);
        std::fs::remove_file(&filler).expect("the filler goes");
        assert!(!big.settled("put back on a full disk"));
    }
}

#[test]
fn a_full_disk_below_the_database_refuses_or_undoes_all_of_a_deploy() {
    let scratch = Scratch::new();
    let Some(_database) = Mount::in_memory("12m", scratch.path()) else {
        return skipped("a full disk needs root and tmpfs");
    };
    scratch.ok(&["project", "create", "p"]);
    let Some(_ground) = Mount::in_memory("64m", &scratch.path().join("ground")) else {
        return skipped("a full disk needs root and tmpfs");
    };
    let big = Big::filling(Ground::below(scratch));
    let filler = big.ground.scratch.path().join("filler");
    // The disk is full before the journal is written, so nothing has begun.
    fill(&filler);
    let error = big.ground.refused(&Big::deploy());
    assert_eq!(error["code"], "E_DISK_FULL", "{error:#}");
    assert!(!big.settled("not begun"));
    // Plans can be shown, but without a token, which could not be stored.
    let data = big.ground.data(&["plan", "--repo", "../../repo"]);
    assert_eq!(data["summary"], counts(100, 100, 100));
    std::fs::remove_file(&filler).expect("the filler goes");
    // The database's disk fills up after 1, 150 or all 300 changes. The files are on a disk of their own, so they can still
    // be written, but the end of the journal cannot be stored.
    for at in [1, 150, 300] {
        let path = filler.clone();
        let outcome = deploy_with(&big, at, move |_| fill(&path));
        assert!(filler.exists());
        let tree = big.ground.tree();
        // Reads still work while the undo cannot be recorded.
        assert_eq!(big.ground.data(&["plan", "--repo", "../../repo"])["summary"], counts(100, 100, 100));
        std::fs::remove_file(&filler).expect("the filler goes");
        tree.assert_is(&big.before, "put back, though the database is full");
        assert_undone(&big, outcome, "E_DISK_FULL");
    }
    deployed(&big.ground);
    assert!(big.settled("deployed after all"));
}
