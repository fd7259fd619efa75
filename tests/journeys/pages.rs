//! Tests pages of the docs that a reader follows from top to bottom, by running their commands.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{BINARY, Scratch};

/// A fenced block of a page.
struct Block {
    language: String,
    text: String,
}

/// Returns the fenced blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let page = std::fs::read_to_string(page).expect("the page");
    let fenced = page.split("\n```").skip(1).step_by(2);
    let parts = fenced.filter_map(|block| block.split_once('\n'));
    parts.map(|(language, text)| Block { language: language.to_owned(), text: text.to_owned() }).collect()
}

/// Runs the `sh` blocks of a page in one shell, and returns what each block printed. Checks that each line of a `text`
/// block was printed by the block before it.
#[track_caller]
fn followed(page: &str) -> Vec<String> {
    let scratch = Scratch::new();
    scratch.file(".gitconfig", "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n");
    std::fs::create_dir(scratch.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink(BINARY, scratch.path().join("bin/mcpkg")).expect("a link");
    let mut script = String::new();
    let mut wanted: Vec<(usize, String)> = Vec::new();
    let mut count = 0;
    for block in blocks(page) {
        match block.language.as_str() {
            "sh" => {
                count += 1;
                script += &format!("{}\necho '== end of block {count}'\n", block.text);
            }
            "text" => wanted.extend(block.text.lines().map(|line| (count, line.to_owned()))),
            _ => {}
        }
    }
    assert!(count > 0, "{page} has no commands");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        [scratch.path().join("bin")].into_iter().chain(std::env::split_paths(&path).collect::<Vec<PathBuf>>()),
    )
    .expect("a PATH");
    let mut shell = Command::new("bash");
    // `-e` stops at the first command that fails.
    shell.args(["-eu", "-c", &script]).current_dir(scratch.path()).env_clear().env("PATH", path);
    shell.env("HOME", scratch.path()).env("MCPKG_DB", scratch.db()).env("XDG_STATE_HOME", scratch.state());
    let ran = scratch.finish(&mut shell);
    assert_eq!(ran.status, 0, "{page}: {ran}");
    let mut printed = ran.stdout.as_str();
    let parts: Vec<String> = (1..=count)
        .map(|block| {
            let (part, rest) = printed.split_once(&format!("== end of block {block}\n")).expect("each block ends");
            printed = rest;
            part.to_owned()
        })
        .collect();
    for (block, line) in wanted {
        assert!(parts[block - 1].lines().any(|said| said == line), "{page}: {line}\n{}", parts[block - 1]);
    }
    parts
}

#[test]
fn the_tutorial_can_be_followed() {
    let printed = followed("tutorial.md");
    let [.., undone, cleaned] = printed.as_slice() else { panic!("{printed:?}") };
    assert!(undone.contains("Rolled ") && !undone.contains("??"), "no file of a deploy is left: {undone}");
    assert!(cleaned.contains("Deleted project 'tutorial'"), "{cleaned}");
}

#[test]
fn the_page_about_workspaces_can_be_followed() {
    let printed = followed("how-to/repositories.md").concat();
    for said in [
        "Spec '_workspace:login' is valid, with ",
        "_workspace:login is Active: 0 of 2 tasks done",
        "v1.0.0",
        "Archived the spec '_workspace:login'",
    ] {
        assert!(printed.contains(said), "{said}\n{printed}");
    }
    let archived = printed.lines().rev().find(|line| line.contains("-login")).expect("the list");
    assert!(archived.contains("Archived") && archived.contains("2/2"), "{printed}");
}
