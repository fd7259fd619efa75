//! Tests with sources that are cut off, rewritten, moved or deleted, and with processes killed while they fetch one.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{assert_sound, fails, under_strace};
use crate::support::{Scratch, Upstream, eventually, kill_stride, signal, skill, skipped};

const MAIN: &str = "skill://a/SKILL.md";

fn upstream() -> Upstream {
    Upstream::new(&[
        ("skills/a/SKILL.md", &skill("a", "one\n")),
        ("skills/a/notes.md", &"note\n".repeat(2000)),
        ("commands/c.md", "Do it\n"),
    ])
}

/// Returns the state of the project: the commit of its source, the number of its items, and the text of the skill.
fn state(scratch: &Scratch) -> (Option<String>, usize, Option<String>) {
    let sources = scratch.json(&["source", "list"])["sources"].clone();
    let commit = sources[0]["commit"].as_str().map(str::to_owned);
    let resources = scratch.json(&["resource", "list"])["resources"].as_array().map_or(0, Vec::len);
    let prompts = scratch.json(&["prompt", "list"])["prompts"].as_array().map_or(0, Vec::len);
    let shown = scratch.run(&["resource", "show", MAIN]);
    (commit, resources + prompts, (shown.status == 0).then_some(shown.stdout))
}

/// Writes a replacement for ssh. It runs the command that git sends to the other host, and pipes the output through
/// `filter`, which is a shell command.
fn ssh(scratch: &Scratch, filter: &str) -> String {
    // git passes the host and the command. git notices the end only when no process holds the pipe open.
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec 3>&1 4<&0\n\
         sh -c \"$1\" <&4 3>&- 4<&- | {filter} >&3 3>&- 4<&- &\nexec >&- 3>&- <&- 4<&-\nwait\n"
    );
    let path = scratch.file("ssh.sh", script).display().to_string();
    format!("sh {path}")
}

/// Returns a filter that passes this many bytes, and then ends the connection.
fn cut_off(bytes: usize) -> String {
    format!("(dd bs=1 count={bytes} 2>/dev/null; kill $$)")
}

fn over_ssh(scratch: &Scratch, filter: &str, arguments: &[&str]) -> Command {
    let mut command = scratch.command();
    command.env("GIT_SSH_COMMAND", ssh(scratch, filter)).env("GIT_SSH_VARIANT", "simple").args(arguments);
    command
}

#[test]
fn a_clone_that_is_cut_off_changes_nothing_and_the_next_one_is_whole() {
    let upstream = upstream();
    let scratch = Scratch::with_project();
    let url = format!("ssh://host{}", upstream.bare().display());
    let add = ["--json", "source", "add", url.as_str(), "--yes"];
    let mut ended = 0;
    for bytes in [0, 40, 300, 500, 700, 900, 1100, 5000] {
        let ran = scratch.finish(&mut over_ssh(&scratch, &cut_off(bytes), &add));
        if ran.status == 0 {
            break;
        }
        ended += 1;
        assert!(fails(&ran, "E_GIT_FAILED"), "after {bytes} bytes: {ran}");
        assert_eq!(state(&scratch), (None, 0, None), "after {bytes} bytes");
    }
    assert!(ended >= 4, "only {ended} clones were cut off");
    let ran = scratch.finish(&mut over_ssh(&scratch, "cat", &add));
    assert_eq!(ran.status, 0, "{ran}");
    let (before, items, _) = state(&scratch);
    assert_eq!(items, 3);
    // An update that is cut off.
    let after = upstream.commit(&[("skills/a/SKILL.md", &skill("a", "two\n"))]);
    let update = ["--json", "source", "update", "kit"];
    let ran = scratch.finish(&mut over_ssh(&scratch, &cut_off(300), &update));
    assert!(fails(&ran, "E_GIT_FAILED"), "{ran}");
    assert_eq!(state(&scratch), (before, 3, Some(skill("a", "one\n"))));
    let ran = scratch.finish(&mut over_ssh(&scratch, "cat", &update));
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(state(&scratch), (Some(after), 3, Some(skill("a", "two\n"))));
    assert_sound(&scratch);
}

#[test]
fn a_bundle_that_is_cut_off_changes_nothing() {
    let upstream = upstream();
    let scratch = Scratch::with_project();
    let bundle = scratch.path().join("kit.bundle");
    upstream.git(&["bundle", "create", "-q", &bundle.display().to_string(), "main"]);
    let whole = std::fs::read(&bundle).expect("the bundle");
    for part in [20, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&bundle, &whole[..part]).expect("a file");
        let ran = scratch.run(&["--json", "source", "add", "kit.bundle", "--yes"]);
        assert!(ran.status != 0, "{part} bytes: {ran}");
        assert_eq!(state(&scratch), (None, 0, None), "{part} bytes");
    }
    std::fs::write(&bundle, &whole).expect("a file");
    scratch.ok(&["source", "add", "kit.bundle", "--yes"]);
}

#[test]
fn kill_9_at_each_step_of_add_leaves_none_of_it_or_all() {
    let upstream = upstream();
    let commit = upstream.git(&["rev-parse", "HEAD"]);
    let (mut killed, mut whole) = (0, 0);
    // pwrite64 writes the database's pages. git and mcpkg make the other calls in the cache.
    let sweeps = [("pwrite64", 1..=61, 6), ("write", 1..=25, 4), ("mkdir", 1..=22, 5), ("rename", 1..=5, 1)];
    for (call, range, step) in sweeps {
        for n in range.step_by(step * kill_stride()) {
            let scratch = Scratch::with_project();
            let Some(mut command) = under_strace(&scratch, &format!("{call}:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            command.args(["source", "add", &upstream.url(), "--yes"]);
            killed += usize::from(scratch.finish(&mut command).status != 0);
            let (found, items, text) = state(&scratch);
            match found {
                None => assert_eq!((items, text), (0, None), "{call} {n}"),
                Some(found) => {
                    whole += 1;
                    assert_eq!((found, items, text), (commit.clone(), 3, Some(skill("a", "one\n"))), "{call} {n}");
                    scratch.ok(&["source", "remove", "kit"]);
                }
            }
            assert_sound(&scratch);
            // The next command succeeds, whatever the cache contains.
            scratch.ok(&["source", "add", &upstream.url(), "--yes"]);
            assert_eq!(state(&scratch).1, 3, "{call} {n}");
        }
    }
    assert!(killed * kill_stride() >= 15, "only {killed} commands were killed");
    eprintln!("{killed} commands were killed, {whole} had written the whole source");
}

#[test]
fn kill_9_at_each_step_of_update_leaves_the_old_or_the_new_state() {
    let upstream = upstream();
    let before = upstream.git(&["rev-parse", "HEAD"]);
    let bare = upstream.bare().display().to_string();
    let first = format!("{bare}-first");
    upstream.git(&["clone", "-q", "--bare", &bare, &first]);
    let after = upstream.commit(&[("skills/a/SKILL.md", &skill("a", "two\n")), ("commands/d.md", "New\n")]);
    let mut killed = 0;
    for (call, range, step) in [("pwrite64", 1..=61, 6), ("write", 1..=22, 4), ("rename", 1..=3, 1)] {
        for n in range.step_by(step * kill_stride()) {
            let scratch = Scratch::with_project();
            // The source gets a new commit between `add` and `update`: during `add`, a git setting redirects the
            // source's URL to an older copy.
            let config = format!("[url \"file://{first}\"]\n\tinsteadOf = {}\n", upstream.url());
            let config = scratch.file("gitconfig", config);
            let mut add = scratch.command();
            add.env("GIT_CONFIG_GLOBAL", config).args(["source", "add", &upstream.url(), "--yes"]);
            assert_eq!(scratch.finish(&mut add).status, 0);
            let Some(mut command) = under_strace(&scratch, &format!("{call}:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            killed += usize::from(scratch.finish(command.args(["source", "update", "kit"])).status != 0);
            let found = state(&scratch);
            let was = (Some(before.clone()), 3, Some(skill("a", "one\n")));
            let is = (Some(after.clone()), 4, Some(skill("a", "two\n")));
            assert!(found == was || found == is, "{call} {n}: {found:?}");
            assert_sound(&scratch);
            scratch.ok(&["source", "update", "kit"]);
            assert_eq!(state(&scratch), is, "{call} {n}");
        }
    }
    assert!(killed * kill_stride() >= 12, "only {killed} commands were killed");
}

#[test]
fn a_rewritten_history_needs_force_and_is_merged_then() {
    let upstream = upstream();
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--yes"]);
    scratch.ok(&["prompt", "update", "c", "Mine\n"]);
    upstream.write("skills/a/SKILL.md", &skill("a", "rewritten\n"));
    upstream.git(&["add", "-A"]);
    upstream.git(&["commit", "-q", "--amend", "-m", "other"]);
    upstream.git(&["push", "-q", "--force", "origin", "main"]);
    let before = state(&scratch);
    let outdated = scratch.json(&["source", "outdated"]);
    assert_eq!(outdated["sources"][0]["state"], "rewritten");
    let ran = scratch.run(&["--json", "source", "update", "kit"]);
    assert!(ran.status == 1 && fails(&ran, "E_SOURCE_CHANGED") && ran.stdout.contains("--force"), "{ran}");
    assert_eq!(state(&scratch), before);
    let updated = scratch.json(&["source", "update", "kit", "--force"]);
    assert_eq!(updated["sources"][0]["forced"], true);
    assert_eq!(state(&scratch).2, Some(skill("a", "rewritten\n")));
    assert_eq!(scratch.ok(&["prompt", "show", "c"]), "Mine\n", "what was changed here stays");
}

#[test]
fn a_tag_that_was_moved_needs_force() {
    let upstream = upstream();
    upstream.git(&["tag", "v1"]);
    upstream.git(&["push", "-q", "origin", "v1"]);
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &upstream.url(), "--ref", "v1", "--yes"]);
    // The branch gets a new commit, which does not affect the tag.
    upstream.commit(&[("skills/a/SKILL.md", &skill("a", "two\n"))]);
    assert_eq!(scratch.json(&["source", "update"])["sources"][0]["state"], "current");
    upstream.git(&["tag", "-f", "v1"]);
    upstream.git(&["push", "-q", "--force", "origin", "v1"]);
    assert_eq!(scratch.json(&["source", "outdated"])["sources"][0]["state"], "moved");
    let ran = scratch.run(&["source", "update", "kit"]);
    assert!(ran.status == 1 && ran.stderr.contains("tag 'v1'") && ran.stderr.contains("was moved"), "{ran}");
    scratch.ok(&["source", "update", "kit", "--force"]);
    assert_eq!(state(&scratch).2, Some(skill("a", "two\n")));
}

#[test]
fn a_source_that_disappeared_is_reported_and_the_others_still_are() {
    let (gone, stays) = (upstream(), upstream());
    let scratch = Scratch::with_project();
    scratch.ok(&["source", "add", &gone.url(), "--name", "gone", "--yes"]);
    scratch.ok(&["source", "add", &stays.url(), "--name", "stays", "--prefix", "s", "--yes"]);
    let branch = upstream();
    branch.git(&["push", "-q", "origin", "main:other"]);
    scratch.ok(&["source", "add", &branch.url(), "--ref", "other", "--name", "branch", "--prefix", "b", "--yes"]);
    branch.git(&["push", "-q", "origin", ":other"]);
    drop(gone);
    stays.commit(&[("skills/a/SKILL.md", &skill("a", "two\n"))]);
    let ran = scratch.run(&["--json", "source", "update"]);
    assert_eq!(ran.status, 1, "{ran}");
    let told: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let states: Vec<_> = told["sources"].as_array().expect("sources").iter().map(|s| s["state"].clone()).collect();
    assert_eq!(states, ["failed", "failed", "updated"], "{told}");
    assert_eq!(told["sources"][0]["error"]["code"], "E_NOT_FOUND", "the branch is gone: {told}");
    assert_eq!(scratch.ok(&["resource", "show", "skill://s-a/SKILL.md"]), skill("a", "two\n"));
    assert_eq!(scratch.ok(&["resource", "show", MAIN]), skill("a", "one\n"), "what came stays");
    let ran = scratch.run(&["source", "outdated", "--check"]);
    assert_eq!(ran.status, 1, "that one cannot be reached says more than that another differs: {ran}");
    // The content that was fetched before can still be locked.
    scratch.ok(&["source", "lock"]);
}

#[test]
fn ctrl_c_ends_a_fetch_at_once_with_nothing_done() {
    let upstream = upstream();
    let scratch = Scratch::with_project();
    let url = format!("ssh://host{}", upstream.bare().display());
    // The other host is slow.
    let began = scratch.path().join("began");
    let mut command =
        over_ssh(&scratch, &format!("(touch {}; sleep 60)", began.display()), &["source", "add", &url, "--yes"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mcpkg starts");
    eventually("the fetch began", || began.exists().then_some(()));
    signal(child.id(), "INT");
    let start = Instant::now();
    let status = child.wait().expect("mcpkg ends");
    assert_eq!(status.code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(10), "it waited for the other host");
    assert_eq!(state(&scratch), (None, 0, None));
}

#[test]
fn two_processes_add_one_repository_at_the_same_time() {
    let upstream = upstream();
    let scratch = Scratch::with_project();
    let url = upstream.url();
    let spawn = |prefix: &str| {
        let mut command = scratch.command();
        command.args(["source", "add", &url, "--name", prefix, "--prefix", prefix, "--yes"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mcpkg starts")
    };
    let children = ["x", "y", "z"].map(spawn);
    for child in children {
        let output = child.wait_with_output().expect("mcpkg ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(scratch.json(&["source", "list"])["sources"].as_array().map(Vec::len), Some(3));
    assert_sound(&scratch);
}
