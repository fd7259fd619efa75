//! Tests of tools: processes killed while they install, update, uninstall and publish; full disks; clocks that go back;
//! and two processes that use one tool.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use mcpkg_base::clock::Clock;
use mcpkg_core::op::Context;
use serde_json::{Value, json};

use super::{assert_refused, assert_sound, error_code, under_strace};
use crate::support::{Mount, Random, Saved, Scratch, eventually, kill_stride, skipped};
use crate::tools::homes::{Homes, TOOL, installed, run};
use crate::tools::trusting;

/// What a database and a registry's folder record about changes to tools, without the times.
#[derive(Debug, PartialEq, Eq)]
struct State {
    installs: BTreeSet<String>,
    names: BTreeSet<String>,
    archives: BTreeSet<String>,
    listed: BTreeSet<String>,
    events: BTreeSet<String>,
    published: BTreeSet<String>,
}

impl State {
    fn of(home: &Scratch, registry: &Path) -> Self {
        let database = rusqlite::Connection::open(home.db()).expect("the database");
        let texts = |sql: &str| {
            let mut statement = database.prepare(sql).expect("a statement");
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
            rows.collect::<Result<BTreeSet<_>, _>>().expect("texts")
        };
        Self {
            installs: texts("SELECT scope || ' ' || name || '@' || version || ' ' || active FROM tool_install"),
            names: texts("SELECT mcp_name || ' ' || tool || ':' || action FROM tool_name"),
            archives: texts(
                "SELECT p.registry || ' ' || p.name || '@' || p.version || ' ' || b.size
                   FROM tool_package AS p JOIN blob AS b ON b.id = p.blob_id",
            ),
            listed: texts("SELECT registry || ' ' || name || '@' || version FROM tool_listing"),
            events: texts(
                "SELECT kind || ' ' || subject FROM event
                  WHERE outcome = 'ok' AND kind IN ('tool.install', 'tool.update', 'tool.uninstall')",
            ),
            published: published(registry),
        }
    }
}

/// Returns the versions in a registry's folder. Checks that each has all of its files.
fn published(registry: &Path) -> BTreeSet<String> {
    let tool = registry.join("tools").join(TOOL);
    let versions = std::fs::read_dir(tool).into_iter().flatten().flatten();
    let versions: BTreeSet<String> =
        versions.map(|version| version.file_name().into_string().expect("a version")).collect();
    for version in &versions {
        for file in ["package.json", "manifest.json", "bundle.tar.gz", "attestations"] {
            assert!(registry.join("tools").join(TOOL).join(version).join(file).exists(), "{version} has no {file}");
        }
    }
    versions
}

/// Returns the paths of temporary files below a folder, which a killed process left behind.
fn leftovers(folder: &Path) -> Vec<String> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if [".publishing-", ".mcpkg-", ".index-behind", ".unpacking-"].iter().any(|mark| name.starts_with(mark)) {
                found.push(entry.path().display().to_string());
            }
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

/// Runs a command many times, and kills it at a different system call each time. Checks that the command is done
/// completely or not at all, and that running it again works. Returns how many runs were killed, or `None` without
/// strace.
fn sweep(
    home: &Scratch,
    registry: &Path,
    command: &[&str],
    calls: &[(&str, RangeInclusive<usize>, usize)],
) -> Option<usize> {
    let saved = Saved::of(&[home.path(), registry]);
    let before = State::of(home, registry);
    home.ok(command);
    let after = State::of(home, registry);
    assert_ne!(before, after, "the command does something");
    let (mut killed, mut whole) = (0, 0);
    for (call, range, step) in calls {
        for n in range.clone().step_by(step * kill_stride()) {
            saved.restore();
            let ran = home.finish(under_strace(home, &format!("{call}:signal=SIGKILL:when={n}"))?.args(command));
            let found = State::of(home, registry);
            let at = format!("{} killed at {call} {n}", command.join(" "));
            assert!(found == before || found == after, "{at}: {found:#?}\nis neither {before:#?}\nnor {after:#?}");
            if ran.status == 0 {
                assert_eq!(found, after, "{at}");
                break;
            }
            killed += 1;
            whole += usize::from(found == after);
            assert_sound(home);
            let again = home.run(&[&["--json"], command].concat());
            let is_gone = command[1] == "uninstall" && error_code(&again).as_deref() == Some("E_TOOL_NOT_FOUND");
            assert!(again.status == 0 || is_gone && found == after, "{at}: {again}");
            assert_eq!(State::of(home, registry), after, "{at}, and done again");
            assert_eq!(leftovers(registry), [] as [String; 0], "{at}, and done again");
            assert_eq!(leftovers(home.path()), [] as [String; 0], "{at}, and done again");
        }
    }
    eprintln!("{}: {killed} killed, {whole} of them when it was done", command.join(" "));
    Some(killed)
}

/// The system calls that change the database's file.
const DATABASE: [(&str, RangeInclusive<usize>, usize); 3] =
    [("pwrite64", 1..=200, 1), ("fdatasync", 1..=20, 1), ("ftruncate", 1..=5, 1)];

#[test]
fn kill_9_at_each_step_of_install_update_and_uninstall_leaves_the_old_or_the_new_state() {
    let homes = Homes::new();
    if !homes.user.is_file() {
        return;
    }
    let registry = homes.folder("team");
    let registry = Path::new(&registry);
    homes.publish(TOOL, "1.0.0");
    for command in [&["tool", "install", TOOL][..], &["tool", "update", TOOL], &["tool", "uninstall", TOOL]] {
        if command[1] == "update" {
            homes.publish(TOOL, "1.1.0");
        }
        let Some(killed) = sweep(&homes.user, registry, command, &DATABASE) else {
            return skipped("there is no strace");
        };
        assert!(killed * kill_stride() >= 8, "only {killed} of {command:?} were killed");
        // Make sure that the command is done before the next one is swept.
        homes.user.run(command);
    }
}

#[test]
fn kill_9_at_each_step_of_an_install_that_builds_leaves_the_old_or_the_new_state() {
    let homes = Homes::new();
    if !homes.user.is_file() {
        return;
    }
    let more = "build: ['echo built > made']\nscripts: {main: [cat, made]}\n";
    homes.publish_as(TOOL, "1.0.0", more, "alice", "team");
    let nothing = "name: test/true\nversion: 1.0.0\ndescription: Does nothing\ncommand: \"true\"\n";
    homes.author.file("true/enact.yaml", nothing);
    let probe = homes.author.run(&["--json", "tool", "run", "./true"]);
    if error_code(&probe).as_deref() == Some("E_RUNNER_UNAVAILABLE") {
        return skipped("tools cannot be run here");
    }
    let calls = [("pwrite64", 1..=200, 3), ("fdatasync", 1..=20, 1), ("rename,renameat,renameat2", 1..=8, 1)];
    let registry = homes.folder("team");
    let Some(killed) = sweep(&homes.user, Path::new(&registry), &["tool", "install", TOOL], &calls) else {
        return skipped("there is no strace");
    };
    assert!(killed * kill_stride() >= 8, "only {killed} were killed");
    assert_eq!(homes.user.ok(&["tool", "run", TOOL]).trim(), "built");
}

#[test]
fn kill_9_at_each_step_of_an_install_of_a_lock_leaves_all_of_it_or_nothing() {
    let homes = Homes::new();
    if !homes.user.is_file() {
        return;
    }
    for version in ["1.0.0", "1.1.0"] {
        homes.publish(TOOL, version);
        homes.user.ok(&["tool", "install", &format!("{TOOL}@{version}")]);
    }
    homes.user.ok(&["tool", "lock", "all.lock"]);
    homes.user.ok(&["tool", "uninstall", TOOL]);
    let home = Scratch::new();
    home.ok(&["registry", "add", "team", &homes.folder("team")]);
    trusting(&home, &homes.identity);
    std::fs::copy(homes.user.path().join("all.lock"), home.path().join("all.lock")).expect("a copy");
    let command = ["tool", "install", "--locked", "all.lock"];
    let Some(killed) = sweep(&home, Path::new(&homes.folder("team")), &command, &DATABASE) else {
        return skipped("there is no strace");
    };
    assert!(killed * kill_stride() >= 8, "only {killed} were killed");
}

#[test]
fn kill_9_at_each_step_of_publish_leaves_the_old_or_the_new_state() {
    let homes = Homes::new();
    if !homes.user.is_file() {
        return;
    }
    homes.publish(TOOL, "1.0.0");
    let folder = homes.package(TOOL, "1.1.0", "");
    homes.author.ok(&["tool", "sign", &folder, "--key", "alice"]);
    let registry = homes.folder("team");
    let registry = Path::new(&registry);
    let Some(killed) = sweep(&homes.author, registry, &["tool", "publish", &folder, "--to", "local"], &DATABASE) else {
        return skipped("there is no strace");
    };
    assert!(killed * kill_stride() >= 5, "only {killed} were killed");
    // A publish to a folder writes its files first, and then records in the database what was published.
    let files = [
        ("write", 1..=12, 1),
        ("openat", 60..=400, 17),
        ("rename,renameat,renameat2", 1..=14, 1),
        ("fsync,fdatasync", 1..=24, 2),
        ("mkdir,mkdirat", 1..=8, 1),
        ("unlink,unlinkat", 1..=6, 1),
    ];
    let publish = ["tool", "publish", &folder, "--to", "team"];
    let killed = sweep(&homes.author, registry, &publish, &files).expect("there is a strace");
    assert!(killed * kill_stride() >= 15, "only {killed} were killed");
    // The index lists what is in the folder, even if processes were killed before they wrote it.
    homes.author.ok(&publish);
    let index = std::fs::read_to_string(registry.join("index.json")).expect("the index");
    assert!(index.contains("1.1.0"), "{index}");
}

#[test]
fn an_outdated_index_is_completed_by_the_next_change() {
    let homes = Homes::new();
    homes.publish(TOOL, "1.0.0");
    let registry = homes.folder("team");
    let registry = Path::new(&registry);
    // The state after a publish that was killed just before it listed the new version in the index.
    let index = std::fs::read(registry.join("index.json")).expect("the index");
    homes.publish(TOOL, "1.1.0");
    std::fs::write(registry.join("index.json"), index).expect("the index of before");
    std::fs::write(registry.join(".index-behind"), "").expect("the mark");
    std::fs::write(registry.join(".mcpkg-begun"), "half").expect("a file that was begun");
    homes.publish("alice/other", "1.0.0");
    let found = homes.user.json(&["tool", "search", "weather", "--registry", "team"]);
    let version = |name: &str| {
        let results = found["results"].as_array().expect("results");
        results.iter().find(|result| result["name"] == name).map(|result| result["version"].clone())
    };
    assert_eq!((version(TOOL), version("alice/other")), (Some(json!("1.1.0")), Some(json!("1.0.0"))), "{found}");
    assert_eq!(leftovers(registry), [] as [String; 0]);
}

#[test]
fn a_tree_that_was_killed_half_unpacked_is_removed_by_the_next_run() {
    let homes = Homes::new();
    // The first run unpacks a copy of the tool. The test then replaces it with a copy that is only half unpacked.
    homes.publish_as(TOOL, "1.0.0", "scripts:\n  main: [\"true\"]\n", "alice", "team");
    let user = &homes.user;
    user.ok(&["tool", "install", TOOL]);
    let first = user.run(&["--json", "tool", "run", TOOL]);
    if error_code(&first).as_deref() == Some("E_RUNNER_UNAVAILABLE") {
        return skipped("tools cannot be run here");
    }
    let trees = user.path().join(".cache/mcpkg/tools");
    let tree = std::fs::read_dir(&trees).expect("the copies").flatten().map(|entry| entry.path());
    let tree = tree.into_iter().find(|path| path.is_dir()).expect("a tree");
    let begun = trees.join(format!(".unpacking-{}-abc123", tree.file_name().expect("a name").to_string_lossy()));
    std::fs::create_dir_all(begun.join("half")).expect("a folder");
    std::fs::remove_dir_all(&tree).expect("gone");
    assert_eq!(user.run(&["tool", "run", TOOL]).status, 0);
    assert!(tree.is_dir() && leftovers(&trees).is_empty(), "{:?}", leftovers(&trees));
}

#[test]
fn the_next_run_removes_the_input_files_of_a_killed_run() {
    let homes = Homes::new();
    let mark = format!("9{:07}.5", std::process::id());
    let main = format!("[sh, -c, 'if [ -s \"$0\" ]; then sleep {mark}; fi', '{{{{file:text}}}}']");
    let schema = "inputSchema: {type: object, properties: {text: {type: string}}, required: [text]}\n";
    homes.publish_as(TOOL, "1.0.0", &format!("scripts:\n  main: {main}\n{schema}"), "alice", "team");
    let (user, temporary) = (&homes.user, tempfile::tempdir().expect("a folder"));
    user.ok(&["tool", "install", TOOL]);
    let run = |text: &str| {
        let mut command = user.command();
        command.env("TMPDIR", temporary.path()).args(["--json", "tool", "run", TOOL, "-i", &format!("text={text}")]);
        command
    };
    let left = || std::fs::read_dir(temporary.path()).expect("a folder").flatten().map(|entry| entry.path());
    let first = user.finish(&mut run(""));
    if error_code(&first).as_deref() == Some("E_RUNNER_UNAVAILABLE") {
        return skipped("tools cannot be run here");
    }
    assert!(first.status == 0 && left().count() == 0, "{first}");

    let mut killed = run("a secret").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mcpkg starts");
    let given = eventually("the run has what it was given", || {
        let mut given = left().map(|folder| folder.join("given-0"));
        given.find(|file| std::fs::read(file).is_ok_and(|bytes| bytes == b"a secret"))
    });
    // Another run at the same time does not remove the input file.
    assert_eq!(user.finish(&mut run("")).status, 0);
    assert!(given.exists() && left().count() == 1);
    killed.kill().and_then(|()| killed.wait()).expect("killed");
    assert!(given.exists(), "what is killed leaves what it had");
    assert_eq!(user.finish(&mut run("")).status, 0);
    assert_eq!(left().count(), 0, "{:?}", left().collect::<Vec<_>>());
}

#[test]
fn two_processes_install_and_uninstall_one_tool() {
    let homes = Homes::new();
    for version in ["1.0.0", "1.1.0"] {
        homes.publish(TOOL, version);
    }
    let user = &homes.user;
    let each = |arguments: &'static [&'static str], fine: &'static [&'static str]| {
        for _ in 0..12 {
            let ran = user.run(&[&["--json"], arguments].concat());
            let code = error_code(&ran);
            assert!(ran.status == 0 || code.as_deref().is_some_and(|code| fine.contains(&code)), "{ran}");
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| each(&["tool", "install", "alice/weather@1.0.0"], &[]));
        scope.spawn(|| each(&["tool", "uninstall", TOOL], &["E_TOOL_NOT_FOUND"]));
        scope.spawn(|| each(&["tool", "update", TOOL], &["E_TOOL_NOT_FOUND", "E_PLAN_CHANGED"]));
    });
    let active = installed(user).into_iter().filter(|(_, _, active)| *active).count();
    assert_eq!(active, usize::from(!installed(user).is_empty()), "{:?}", installed(user));
    assert_sound(user);
    user.ok(&["tool", "install", "alice/weather@1.1.0"]);
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.1.0");
}

#[test]
fn a_disk_that_is_full_while_an_archive_is_stored_installs_nothing() {
    let homes = Homes::new();
    if !homes.user.is_file() {
        return;
    }
    homes.publish(TOOL, "1.0.0");
    // Random bytes do not compress.
    homes.author.file(&format!("packages/{TOOL}-1.1.0/large.bin"), Random::new().bytes(3 << 20));
    homes.publish(TOOL, "1.1.0");
    let user = Scratch::new();
    let Some(_mount) = Mount::in_memory("8m", user.path()) else {
        return skipped("a full disk needs root and tmpfs");
    };
    user.ok(&["registry", "add", "team", &homes.folder("team")]);
    trusting(&user, &homes.identity);
    user.ok(&["tool", "install", "alice/weather@1.0.0"]);
    let lock = user.ok(&["tool", "lock", "-"]);
    let filler = user.file("filler", vec![b'x'; 5 << 20]);
    let before = State::of(&user, Path::new(&homes.folder("team")));
    assert_refused(&user, &["tool", "update", TOOL], "E_DISK_FULL");
    assert_refused(&user, &["tool", "install", TOOL], "E_DISK_FULL");
    assert_eq!(State::of(&user, Path::new(&homes.folder("team"))), before);
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.0.0");
    assert_eq!(user.ok(&["tool", "lock", "-"]), lock);
    std::fs::remove_file(filler).expect("the filler goes");
    user.ok(&["tool", "update", TOOL]);
    assert_eq!(user.ok(&["tool", "run", TOOL]).trim(), "Sun 1.1.0");
    assert_sound(&user);
}

#[test]
fn a_clock_that_goes_back_changes_nothing_of_what_is_installed() {
    let homes = Homes::new();
    homes.publish(TOOL, "1.0.0");
    let clock = Clock::fixed(1_900_000_000_000);
    let context = Context { clock: clock.clone(), ..homes.user.context() };
    run(&context, &["tool", "install"], json!({ "tool": TOOL })).expect("installed");
    homes.publish(TOOL, "1.1.0");
    clock.advance(-1_000_000_000_000);
    let outdated = run(&context, &["tool", "outdated"], json!({})).expect("asked");
    assert_eq!(outdated["tools"][0]["newer"], "1.1.0", "{outdated}");
    let updated = run(&context, &["tool", "update"], json!({ "all": true })).expect("updated");
    assert_eq!(updated["tools"][0]["to"], "1.1.0", "{updated}");
    let listed: Value = run(&context, &["tool", "list"], json!({})).expect("a list");
    assert_eq!((&listed["tools"][0]["version"], &listed["tools"][0]["status"]), (&json!("1.1.0"), &json!("verified")));
    clock.advance(-1_000_000_000_000);
    run(&context, &["tool", "uninstall"], json!({ "tool": TOOL })).expect("uninstalled");
    assert_eq!(installed(&homes.user), []);
}
