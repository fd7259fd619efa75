//! Tests in which the database is locked, full or cannot be written, at the beginning or while repositories are
//! written.

use std::path::PathBuf;
use std::process::Command;

use super::{FINISH, Wrapper, assert_finished, error, imported};
use crate::support::{Mount, Ran, eventually, shell_wait, skipped};
use crate::workspace::shop::Shop;

/// Runs `$FAULT` when the first branch moves with its files.
const AT_THE_FIRST_FORWARD: &str = r#"case " $* " in
*" --ff-only "*) if [ -n "$FAULT" ] && mkdir "$FAULT_DONE" 2>/dev/null; then sh -c "$FAULT"; fi;;
esac
exec "$REAL_GIT" "$@""#;

fn command(shop: &Shop, fault: &str) -> Command {
    let wrapper = Wrapper::new(shop, AT_THE_FIRST_FORWARD);
    let mut command = wrapper.command(shop);
    command.env("FAULT", fault).env("FAULT_DONE", shop.scratch.path().join("fault"));
    command.arg("--json");
    command
}

#[test]
fn a_database_that_is_locked_moves_nothing() {
    let shop = imported::on_develop();
    shop.ok(&["flow", "log"]);
    let before = shop.state();
    let mut ran = None;
    let store = shop.scratch.store();
    let held = store.write(|_| {
        ran = Some(shop.run(&[&["--json"], &FINISH[..]].concat()));
        Ok(())
    });
    held.expect("the lock is held");
    let error = error(&ran.expect("it ran"));
    assert_eq!(error["code"], "E_DB_BUSY", "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    shop.ok(&FINISH);
    assert_finished(&shop);
}

#[test]
fn a_database_that_is_locked_later_causes_an_undo() {
    let shop = imported::on_develop();
    let before = shop.state();
    let (reached, go) = (shop.scratch.path().join("reached"), shop.scratch.path().join("go"));
    let fault = format!("touch '{}'; {}", reached.display(), shell_wait(&go));
    let child = command(&shop, &fault)
        .args(FINISH)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("mcpkg starts");
    eventually("a branch is about to move", || reached.exists().then_some(()));
    let mut output = None;
    let store = shop.scratch.store();
    let held = store.write(|_| {
        shop.scratch.file("go", "");
        output = Some(child.wait_with_output().expect("it ends"));
        Ok(())
    });
    held.expect("the lock is held");
    let output = output.expect("it ended");
    let ran = Ran {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    let error = error(&ran);
    assert_eq!(error["code"], "E_DB_BUSY", "{error}");
    assert_eq!(shop.state(), before);
    shop.ok(&FINISH);
    assert_finished(&shop);
}

/// Mounts a small disk for the database.
fn database(shop: &Shop) -> Option<(Mount, PathBuf)> {
    let folder = shop.scratch.path().join("database");
    let mount = Mount::in_memory("4m", &folder)?;
    Some((mount, folder))
}

#[test]
fn a_database_that_cannot_be_written_moves_nothing() {
    let shop = imported::on_develop();
    let Some((mount, folder)) = database(&shop) else { return skipped("a disk of its own needs root and tmpfs") };
    let run = |line: &[&str]| {
        let mut command = shop.command();
        shop.scratch.finish(command.env("MCPKG_DB", folder.join("own.db")).arg("--json").args(line))
    };
    assert_eq!(run(&["flow", "log"]).status, 0);
    let before = shop.state();
    mount.remount("ro");
    let error = error(&run(&FINISH));
    assert!(error["code"] == "E_READ_ONLY" || error["code"] == "E_DB_UNAVAILABLE", "{error}");
    assert!(error["hints"].to_string().contains("writable"), "{error}");
    assert_eq!(shop.state(), before);
    shop.assert_tidy();
    mount.remount("rw");
    let ran = run(&FINISH);
    assert_eq!(ran.status, 0, "{ran}");
    assert_finished(&shop);
}

#[test]
fn a_database_that_is_full_later_causes_an_undo() {
    let shop = imported::on_develop();
    let Some((_mount, folder)) = database(&shop) else { return skipped("a disk of its own needs root and tmpfs") };
    let filler = folder.join("filler");
    let before = shop.state();
    let run = |fault: &str| {
        let mut command = command(&shop, fault);
        shop.scratch.finish(command.env("MCPKG_DB", folder.join("own.db")).args(FINISH))
    };
    let fault = format!("cat /dev/zero > '{}' 2>/dev/null; true", filler.display());
    let first = error(&run(&fault));
    assert_eq!(first["code"], "E_DISK_FULL", "{first}");
    assert_eq!(shop.state(), before);
    // The workspace is restored when there is room again. Nothing else is written before that.
    let again = error(&run(""));
    assert!(again["code"] == "E_DISK_FULL" || again["code"] == "E_WORKSPACE_BUSY", "{again}");
    assert_eq!(shop.state(), before);
    std::fs::remove_file(filler).expect("gone");
    let ran = run("");
    assert_eq!(ran.status, 0, "{ran}");
    assert_finished(&shop);
}
