//! Tests that kill or interrupt processes in the middle of writes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{assert_sound, content_of, prompts, under_strace};
use crate::support::{Random, Raw, Scratch, call, handshake, ignores_hangups, runs_all, signal, skipped};

/// Returns a request that creates prompt number `n`. The request's id is `n`.
fn create(n: i64, size: usize) -> String {
    let name = format!("n{n}");
    call(n, "create_prompt", &json!({ "name": name, "content": content_of(&name, size) }))
}

/// Returns the names of the prompts that these answers acknowledge.
fn acknowledged(lines: &[Value]) -> BTreeSet<String> {
    let created = lines.iter().filter(|line| line["result"]["isError"] == false);
    created.map(|line| format!("n{}", line["id"])).collect()
}

#[test]
fn f01_kill_9_at_random_loses_nothing_acknowledged() {
    const EACH: i64 = 40;
    let rounds = if runs_all() { 200 } else { 50 };
    let scratch = Scratch::with_project();
    let mut random = Random::new();
    let mut expected = BTreeSet::new();
    let mut cut_short = 0;
    for round in 0..rounds {
        let mut server = Raw::start(&scratch, &[]);
        let first = 1 + round * EACH;
        let lines: String = (first..first + EACH).map(|n| create(n, random.below(2000))).collect();
        server.write(&lines);
        // Wait for some answers first, so that most kills happen during the writes, even on a slow machine.
        let mut answers: Vec<Value> = (0..random.below(8)).map(|_| server.answer()).collect();
        std::thread::sleep(Duration::from_micros(random.below(10_000) as u64));
        server.kill();
        answers.extend(server.rest());
        let acknowledged = acknowledged(&answers);
        cut_short += usize::from((1..EACH as usize).contains(&acknowledged.len()));
        expected.extend(acknowledged);
        let found = prompts(&scratch);
        let lost: Vec<_> = expected.difference(&found).collect();
        assert!(lost.is_empty(), "round {round}: lost {lost:?}");
    }
    eprintln!("{} acknowledged; {cut_short} of {rounds} kills came in the middle of the writes", expected.len());
    assert!(cut_short > rounds as usize / 2, "only {cut_short} kills came in the middle of the writes");
    assert_sound(&scratch);
    for name in expected {
        let shown = scratch.context().read(|db, project| {
            let prompt = mcpkg_store::prompts::get(db, project, &name)?;
            mcpkg_store::blobs::get(db, prompt.blob)
        });
        let text = String::from_utf8(shown.expect("the content is whole")).expect("UTF-8");
        assert_eq!(text, content_of(&name, text.len()));
    }
}

#[test]
fn f02_kill_at_the_nth_write_loses_nothing_acknowledged() {
    let mut killed = 0;
    // The first writes belong to opening the database. After that, a creation takes one to two dozen writes.
    for n in (1..=61).step_by(4) {
        let scratch = Scratch::with_project();
        let Some(mut command) = under_strace(&scratch, &format!("pwrite64:signal=SIGKILL:when={n}")) else {
            return skipped("there is no strace");
        };
        let mut server = Raw::spawn(&scratch, command.arg("serve"));
        server.write(handshake());
        server.write((1..=4).map(|n| create(n, 6000)).collect::<String>());
        server.input = None;
        let acknowledged = acknowledged(&server.rest());
        killed += usize::from(!server.ended().success());
        let found = prompts(&scratch);
        assert!(acknowledged.is_subset(&found), "killed at write {n}: {acknowledged:?} but {found:?}");
        assert_sound(&scratch);
    }
    assert!(killed >= 8, "only {killed} servers were killed");
}

#[test]
fn f16_kill_while_the_file_is_created_leaves_none_or_a_complete_one() {
    let mut killed = 0;
    for fault in ["pwrite64", "fsync", "rename", "unlink"] {
        for n in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89] {
            let scratch = Scratch::new();
            let Some(mut command) = under_strace(&scratch, &format!("{fault}:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            let status = scratch.finish(command.args(["project", "create", "p"])).status;
            if status == 0 {
                break;
            }
            killed += 1;
            // The next command finds no database or a sound one, with or without the project.
            scratch.ok(&["init"]);
            let listed = scratch.json(&["project", "list"]);
            assert!(listed["projects"].as_array().is_some_and(|projects| projects.len() <= 1), "{listed}");
            assert_sound(&scratch);
        }
    }
    assert!(killed >= 10, "only {killed} commands were killed");
}

#[test]
fn f15_a_restore_or_backup_that_is_killed_leaves_the_state_before_or_after_it() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let mut killed = 0;
    let stride = if runs_all() { 1 } else { 2 };
    for n in [1, 12, 30, 50, 80, 130, 200, 300].into_iter().step_by(stride) {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "old", &content_of("old", 90_000)]);
        scratch.ok(&["backup", "backup.db"]);
        scratch.ok(&["prompt", "create", "new", &content_of("new", 90_000)]);
        for command in [&["restore", "backup.db", "--yes"][..], &["backup", "again.db"]] {
            let Some(mut traced) = under_strace(&scratch, &format!("pwrite64:signal=SIGKILL:when={n}")) else {
                return skipped("there is no strace");
            };
            killed += usize::from(scratch.finish(traced.args(command)).status != 0);
            let found = prompts(&scratch);
            assert!(found == set(&["old", "new"]) || found == set(&["old"]), "killed at write {n}: {found:?}");
            assert_sound(&scratch);
            // A backup gets its name only when it is complete.
            if scratch.path().join("again.db").exists() {
                scratch.ok(&["--db", "again.db", "check", "--deep"]);
            }
        }
        scratch.ok(&["backup", "last.db"]);
        scratch.ok(&["restore", "last.db", "--yes"]);
    }
    assert!(killed * stride >= 6, "only {killed} commands were killed");
}

#[test]
fn f26_a_signal_or_the_end_of_input_in_mid_write_answers_what_was_accepted() {
    for end in ["TERM", "INT", "HUP", "EOF"] {
        if end == "HUP" && ignores_hangups() {
            skipped("SIGHUP is ignored here, and by servers too");
            continue;
        }
        let scratch = Scratch::with_project();
        let mut server = Raw::start(&scratch, &[]);
        server.write((1..=150).map(|n| create(n, 500)).collect::<String>());
        let first = server.answer();
        match end {
            "EOF" => server.input = None,
            name => signal(server.pid(), name),
        }
        let mut acknowledged = acknowledged(&server.rest());
        acknowledged.extend(self::acknowledged(&[first]));
        assert!(server.ended().success(), "after {end}");
        server.assert_no_panic();
        // Everything that was acknowledged is there, and everything that is there was acknowledged.
        assert_eq!(acknowledged, prompts(&scratch), "after {end}");
        if end == "EOF" {
            assert_eq!(acknowledged.len(), 150);
        }
    }
}
