//! Tests in which the disk of one of three repositories is full or cannot be written.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{FINISH, assert_finished, imported};
use crate::support::{Mount, free_space, skipped};
use crate::workspace::shop::Shop;
use crate::workspace::worktrees::place;

/// Moves a folder to a small disk of its own.
fn on_a_small_disk(folder: &Path) -> Option<Mount> {
    let aside = folder.with_extension("aside");
    std::fs::rename(folder, &aside).expect("moved");
    let Some(mount) = Mount::in_memory("6m", folder) else {
        std::fs::rename(&aside, folder).expect("moved back");
        return None;
    };
    let copied = std::process::Command::new("cp").arg("-a").arg(aside.join(".")).arg(folder).status();
    assert!(copied.expect("cp starts").success());
    std::fs::remove_dir_all(aside).expect("gone");
    Some(mount)
}

/// Writes a file that leaves this many KiB free on its disk.
fn fill(file: &Path, free: u64) {
    let _ = std::fs::remove_file(file);
    let mut out = std::fs::File::create(file).expect("a file");
    let size = free_space(file).saturating_sub(free << 10);
    let _ = out.write_all(&vec![b'x'; usize::try_from(size).expect("small")]);
    if free == 0 {
        while out.write_all(b"x").is_ok() {}
    }
}

#[test]
fn a_full_disk_in_one_repository_leaves_all_as_before() {
    let shop = imported::on_develop();
    let web = shop.repo("web");
    let Some(_mount) = on_a_small_disk(&web) else { return skipped("a full disk needs root and tmpfs") };
    let before = shop.state();
    let filler = web.join(".git/filler");
    // There is no room for an object, for some objects but no ref, for everything except files, or for some of the
    // files.
    for free in [0, 4, 12, 24, 40, 80, 200] {
        fill(&filler, free);
        let (error, _) = shop.refused(&FINISH);
        assert_eq!(error["code"], "E_GIT_FAILED", "{free} KiB: {error}");
        let hints = error["hints"].to_string();
        assert!(hints.contains("space on the disk") || hints.contains("disk is full"), "{free} KiB: {error}");
        std::fs::remove_file(&filler).expect("gone");
        assert_eq!(shop.state(), before, "{free} KiB");
        shop.assert_tidy();
    }
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// Makes a folder read-only until the mount is dropped.
fn read_only(folder: &Path) -> Option<Mount> {
    let mount = Mount::new(&["--bind", &folder.display().to_string()], folder)?;
    mount.remount("ro,bind");
    Some(mount)
}

/// Returns the folders in `web` that become read-only: git's whole folder, its refs, its objects, and a folder of
/// files.
fn places(shop: &Shop) -> [PathBuf; 4] {
    [".git", ".git/refs", ".git/objects", "deep"].map(|place| shop.repo("web").join(place))
}

#[test]
fn a_repository_that_cannot_be_written_leaves_all_as_before() {
    let shop = imported::on_develop();
    for undo in [false, true] {
        let line: &[&str] = if undo { &["flow", "undo"] } else { &FINISH };
        let mut before = shop.state();
        for place in places(&shop) {
            let Some(mount) = read_only(&place) else { return skipped("a read-only folder needs root") };
            let ran = shop.run(&[&["--json"], line].concat());
            drop(mount);
            // An undo needs no new objects.
            if undo && place.ends_with("objects") && ran.status == 0 {
                shop.ok(&FINISH);
                before = shop.state();
                continue;
            }
            let error = super::error(&ran);
            assert_eq!(error["code"], "E_GIT_FAILED", "{}: {error}", place.display());
            let hints = error["hints"].to_string();
            assert!(hints.contains("read-only") || hints.contains("cannot be written"), "{}: {error}", place.display());
            assert_eq!(shop.state(), before, "{}", place.display());
            shop.assert_tidy();
        }
        shop.ok(line);
        if !undo {
            assert_finished(&shop);
        }
    }
}

#[test]
fn a_worktree_on_another_disk_is_removed_and_restored() {
    let shop = Shop::new();
    let sets = shop.root().join(".worktrees");
    let Some(_mount) = Mount::in_memory("20m", &sets) else { return skipped("another disk needs root and tmpfs") };
    shop.ok(&["worktree", "add", "login"]);
    let file = place(&shop, "login", "api").join("code.txt");
    std::fs::write(&file, "changed\n").expect("a file");
    shop.ok(&["worktree", "remove", "login", "--force", "--yes"]);
    assert_eq!(std::fs::read_dir(&sets).expect("the folder").count(), 0, "nothing is left");
    shop.assert_tidy();
    shop.ok(&["worktree", "restore", "login"]);
    assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("changed\n"));
}

#[test]
fn a_clone_for_another_disk_says_what_to_do() {
    let shop = Shop::new();
    let disk = shop.root().join("disk");
    let Some(_mount) = Mount::in_memory("20m", &disk) else { return skipped("another disk needs root and tmpfs") };
    let origin = shop.scratch.path().join("other").display().to_string();
    shop.git(&shop.root(), &["clone", "-q", &shop.repo("api").display().to_string(), &origin]);
    let (error, _) = shop.refused(&["workspace", "add", &format!("{origin}=disk/other")]);
    assert!(error["hints"].to_string().contains("on another disk than the workspace"), "{error}");
    assert_eq!(std::fs::read_dir(&disk).expect("the folder").count(), 0, "nothing is left");
}
