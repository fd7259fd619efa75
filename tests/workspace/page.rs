//! docs/how-to/repositories.md, run as it stands there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{BINARY, Scratch};

#[test]
#[cfg(unix)]
fn the_page_about_workspaces_can_be_followed() {
    let scratch = Scratch::new();
    scratch.file(".gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n");
    std::fs::create_dir(scratch.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink(BINARY, scratch.path().join("bin/mcpkg")).expect("a link");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/repositories.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let blocks: Vec<&str> = page.split("\n```").filter_map(|part| part.strip_prefix("sh\n")).collect();
    assert_eq!(blocks.len(), 8, "the page's blocks");
    // What fails ends it; the wanted commands are all there.
    let script = blocks.join("\n");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        [scratch.path().join("bin")].into_iter().chain(std::env::split_paths(&path).collect::<Vec<PathBuf>>()),
    )
    .expect("a PATH");
    let mut shell = Command::new("bash");
    shell.args(["-eu", "-c", &script]).current_dir(scratch.path()).env_clear().env("PATH", path);
    shell.env("HOME", scratch.path()).env("MCPKG_DB", scratch.db()).env("XDG_STATE_HOME", scratch.state());
    let ran = scratch.finish(&mut shell);
    assert_eq!(ran.status, 0, "{ran}");
    for said in [
        "Spec '_workspace:login' is valid, with ",
        "_workspace:login is Active: 0 of 2 tasks done",
        "v1.0.0",
        "Archived the spec '_workspace:login'",
    ] {
        assert!(ran.stdout.contains(said), "{said}\n{ran}");
    }
    let archived = ran.stdout.lines().rev().find(|line| line.contains("-login")).expect("the list");
    assert!(archived.contains("Archived") && archived.contains("2/2"), "{ran}");
}
