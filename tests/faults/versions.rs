//! Tests with databases of other versions, and with clocks that go back.

use std::fs;

use mcpkg_base::clock::Clock;
use serde_json::{Value, json};

use super::{assert_refused, assert_sound};
use crate::support::{Client, Scratch, skipped};

/// Changes a database with SQL while no process uses it, as another program would.
fn alter(scratch: &Scratch, sql: &str) {
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    connection.execute_batch(sql).expect("the change");
}

#[test]
fn f16_a_newer_schema_is_refused_and_untouched() {
    for journal in ["WAL", "DELETE"] {
        let scratch = Scratch::with_project();
        alter(&scratch, &format!("PRAGMA user_version = 99; PRAGMA journal_mode = {journal};"));
        let before = fs::read(scratch.db()).expect("the database");
        for arguments in [&["prompt", "list"][..], &["prompt", "create", "n", "x"], &["serve"]] {
            assert_refused(&scratch, arguments, "E_DB_NEWER");
        }
        assert!(fs::read(scratch.db()).expect("the database") == before, "the {journal} file was touched");
    }
}

#[test]
fn a_newer_database_names_the_version_to_install() {
    let scratch = Scratch::with_project();
    alter(&scratch, "PRAGMA user_version = 99");
    for (upgraded_by, hint) in [
        ("9.1.0", "hint: install mcpkg 9.1.0 or newer, which upgraded this database, or restore a backup"),
        // The next one is older than this version, and the one after it is not a version.
        ("0.0.9", "hint: use a newer version of mcpkg, or restore a backup"),
        ("9.1.0 from elsewhere", "hint: use a newer version of mcpkg, or restore a backup"),
        ("+9.1.00", "hint: install mcpkg 9.1.0 or newer"),
    ] {
        alter(&scratch, &format!("UPDATE setting SET value = '{upgraded_by}' WHERE key = 'upgraded_by'"));
        let refused = scratch.run(&["prompt", "list"]);
        assert_eq!(refused.status, 1, "{refused}");
        assert!(refused.stderr.contains(hint), "{upgraded_by}: {refused}");
    }
}

#[test]
fn f16_a_version_that_no_schema_has_is_refused_and_untouched() {
    for version in [-1, i32::MIN] {
        let scratch = Scratch::with_project();
        scratch.ok(&["backup", "backup.db"]);
        alter(&scratch, &format!("PRAGMA user_version = {version}; PRAGMA journal_mode = DELETE;"));
        let before = fs::read(scratch.db()).expect("the database");
        for arguments in [&["prompt", "list"][..], &["check"], &["serve"], &["restore", "backup.db", "--yes"]] {
            assert_refused(&scratch, arguments, "E_DB_CORRUPT");
        }
        assert!(fs::read(scratch.db()).expect("the database") == before, "{version}: the file was touched");
    }
}

#[test]
fn f16_an_upgrade_that_was_interrupted_goes_on() {
    // Before the fourth schema, mcpkg set the schema's number after it created the schema.
    for version in [1, 2] {
        let scratch = Scratch::new();
        let fixture = format!("{}/tests/fixtures/v3.db", env!("CARGO_MANIFEST_DIR"));
        fs::copy(&fixture, scratch.db()).expect("a copy");
        alter(&scratch, &format!("PRAGMA user_version = {version}"));
        assert_eq!(scratch.ok(&["prompt", "show", "plain"]), "two");
        assert_sound(&scratch);
    }
}

#[test]
fn checksums_that_an_upgrade_did_not_come_to_are_filled_in_by_the_next_command() {
    let scratch = Scratch::new();
    // Schema 6 added checksums.
    let fixture = format!("{}/tests/fixtures/v6.db", env!("CARGO_MANIFEST_DIR"));
    fs::copy(&fixture, scratch.db()).expect("a copy");
    alter(&scratch, "UPDATE blob SET checksum = NULL WHERE id > 1");
    assert_eq!(scratch.ok(&["prompt", "show", "plain"]), "two");
    assert_has_checksums(&scratch);
}

#[test]
fn an_older_backup_has_checksums_once_it_is_restored() {
    let scratch = Scratch::with_project();
    let fixture = format!("{}/tests/fixtures/v5.db", env!("CARGO_MANIFEST_DIR"));
    scratch.ok(&["restore", &fixture, "--yes"]);
    assert_has_checksums(&scratch);
}

/// Checks that the database has this version's schema, and that all content has a checksum.
#[track_caller]
fn assert_has_checksums(scratch: &Scratch) {
    let database = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, u32>(0)).expect("a number");
    assert!(number("SELECT count(*) FROM blob") > 2);
    assert_eq!(number("SELECT count(*) FROM blob WHERE checksum IS NULL"), 0);
    assert_eq!(number("PRAGMA user_version"), mcpkg_store::SCHEMA_VERSION);
    assert_sound(scratch);
}

#[test]
fn f16_a_backup_of_a_newer_schema_is_not_restored() {
    let scratch = Scratch::with_project();
    scratch.ok(&["backup", "backup.db"]);
    fs::rename(scratch.db(), scratch.path().join("mine.db")).expect("a rename");
    fs::rename(scratch.path().join("backup.db"), scratch.db()).expect("a rename");
    alter(&scratch, "PRAGMA user_version = 99");
    fs::rename(scratch.db(), scratch.path().join("newer.db")).expect("a rename");
    fs::rename(scratch.path().join("mine.db"), scratch.db()).expect("a rename");
    assert_refused(&scratch, &["restore", "newer.db", "--yes"], "E_DB_NEWER");
    assert_eq!(scratch.json(&["project", "list"])["projects"][0]["name"], "p");
}

#[test]
fn f16_a_migration_history_that_is_not_ours_is_refused_and_untouched() {
    let later = format!(
        "INSERT INTO refinery_schema_history
         SELECT {}, 'later', applied_on, checksum FROM refinery_schema_history WHERE version = 1",
        mcpkg_store::SCHEMA_VERSION + 1
    );
    for change in [
        "UPDATE refinery_schema_history SET checksum = '1'",
        "UPDATE refinery_schema_history SET name = 'other'",
        &later,
    ] {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "before", "x"]);
        alter(&scratch, &format!("{change}; PRAGMA user_version = 0; PRAGMA journal_mode = DELETE;"));
        let before = fs::read(scratch.db()).expect("the database");
        assert_refused(&scratch, &["prompt", "list"], "E_MIGRATION_DIVERGED");
        alter(&scratch, "PRAGMA journal_mode = DELETE");
        // SQLite marks WAL mode in bytes 18 and 19 of the header, and counts changes in bytes 24 and 92.
        let after = fs::read(scratch.db()).expect("the database");
        assert_eq!(before.len(), after.len());
        assert!(before[100..] == after[100..], "the content was touched");
    }
}

/// The fixtures were made with these commands:
/// `project create p; prompt create hello 'Hello {{ name }}' -d Greets --argument name; prompt create plain one;
/// prompt update plain --content two; resource create doc file:///doc.md '# Doc' -m text/markdown;
/// resource create raw file:///raw.bin @raw (bytes 0, 255, 1, 254); prompt create gone x; prompt delete gone;
/// access create key (from v3 on); backup v1.db`.
/// The index of `v17.db` is the last one that indexes text without spaces (such as Chinese) as whole words. It also
/// contains:
/// `prompt create zh 请把季度报告翻译成英文; prompt create latin 'a report';
/// resource create restoring file:///restoring データベースの復元 -d 백업과복원`
#[test]
fn f17_a_database_of_every_schema_version_opens_with_its_content() {
    for version in 1..=mcpkg_store::SCHEMA_VERSION {
        let scratch = Scratch::new();
        let fixture = format!("{}/tests/fixtures/v{version}.db", env!("CARGO_MANIFEST_DIR"));
        fs::copy(&fixture, scratch.db()).unwrap_or_else(|error| panic!("{fixture}: {error}"));
        assert_sound(&scratch);
        let mut client = Client::legacy(&scratch, "2025-06-18");
        let mut text = |name: &str, arguments: Value| {
            let got = client.result("prompts/get", json!({ "name": name, "arguments": arguments }));
            got["messages"][0]["content"]["text"].as_str().map(str::to_owned)
        };
        assert_eq!(text("hello", json!({ "name": "Ada" })).as_deref(), Some("Hello Ada"));
        assert_eq!(text("plain", json!({})).as_deref(), Some("two"));
        let doc = client.result("resources/read", json!({ "uri": "file:///doc.md" }));
        assert_eq!(doc["contents"][0]["text"], "# Doc");
        assert_eq!(doc["contents"][0]["mimeType"], "text/markdown");
        let raw = client.result("resources/read", json!({ "uri": "file:///raw.bin" }));
        assert_eq!(raw["contents"][0]["blob"], "AP8B/g==");
        client.finish();
        assert_eq!(scratch.json(&["prompt", "history", "plain"])["revisions"].as_array().map(Vec::len), Some(2));
        scratch.ok(&["prompt", "restore", "gone", "1"]);
        assert_eq!(scratch.ok(&["prompt", "show", "gone"]), "x");
        assert_eq!(scratch.json(&["search", "doc"])["hits"][0]["name"], "doc");
        let keys = scratch.json(&["access", "list"])["keys"].as_array().map(Vec::len);
        assert_eq!(keys, Some(usize::from(version >= 3)));
        // The file was upgraded, so it can be written.
        scratch.ok(&["prompt", "create", "new", "x"]);
        scratch.ok(&["access", "create", "another"]);
        assert_sound(&scratch);
    }
}

#[test]
fn an_older_index_is_upgraded_and_finds_words_inside_a_text() {
    let scratch = Scratch::new();
    let fixture = format!("{}/tests/fixtures/v17.db", env!("CARGO_MANIFEST_DIR"));
    fs::copy(&fixture, scratch.db()).expect("a copy");
    for _ in ["opened", "restored"] {
        for (query, hits) in [("报告", 1), ("復元", 1), ("복원", 1), ("report", 1), ("报复", 0)] {
            let found = scratch.json(&["search", query]);
            assert_eq!(found["hits"].as_array().map(Vec::len), Some(hits), "{query}: {found}");
        }
        assert_sound(&scratch);
        scratch.ok(&["restore", &fixture, "--yes"]);
    }
}

/// Runs an operation in this process, and returns its data.
fn run(context: &mcpkg_core::op::Context, command: &[&str], arguments: Value) -> Value {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    let call = entry.from_agent(arguments).expect("good arguments");
    call.run(context).unwrap_or_else(|error| panic!("{}: {error}", command.join(" "))).data
}

#[test]
fn f18_a_clock_that_goes_back_changes_no_order() {
    let scratch = Scratch::with_project();
    let mut context = scratch.context();
    context.clock = Clock::fixed(1_000_000_000_000);
    let make = |content: &str| {
        run(&context, &["prompt", "create"], json!({ "name": "a", "content": content }));
        context.clock.advance(-1000);
        run(&context, &["prompt", "update"], json!({ "name": "a", "content": format!("{content} again") }));
        context.clock.advance(-1000);
        run(&context, &["prompt", "delete"], json!({ "name": "a" }));
        context.clock.advance(-1000);
    };
    make("first");
    make("second");
    // A prompt that is created again continues the history of its name, whatever the clock says.
    let history = run(&context, &["prompt", "history"], json!({ "name": "a" }));
    let actions = history["revisions"].as_array().expect("revisions").iter();
    let back = ["delete", "update", "create"];
    assert_eq!(actions.map(|revision| revision["action"].clone()).collect::<Vec<_>>(), [back, back].concat());
    run(&context, &["prompt", "restore"], json!({ "name": "a", "revision": 5 }));
    assert_eq!(run(&context, &["prompt", "show"], json!({ "name": "a" }))["text"], "second again");
    let events = run(&context, &["events"], json!({ "limit": 7 }));
    let kinds: Vec<&str> =
        events["events"].as_array().expect("events").iter().filter_map(|e| e["kind"].as_str()).collect();
    let once = ["prompt.create", "prompt.update", "prompt.delete"];
    assert_eq!(kinds, [&once[..], &once[..], &["prompt.restore"]].concat());
}

/// Returns the path of libfaketime, which changes the clock of a process, if it is installed.
pub(crate) fn faketime() -> Option<String> {
    let libraries =
        ["/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime", "/usr/lib64/faketime"];
    let mut libraries = libraries.iter().map(|folder| format!("{folder}/libfaketime.so.1"));
    let found = libraries.find(|path| fs::exists(path).unwrap_or(false));
    if found.is_none() {
        skipped("there is no libfaketime");
    }
    found
}

/// Returns a command whose clock shows `time`.
fn at(scratch: &Scratch, library: &str, time: &str) -> std::process::Command {
    let mut command = scratch.command();
    command.env("LD_PRELOAD", library).env("FAKETIME", time).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    command
}

#[test]
fn f18_a_clock_before_1970_or_after_9999_stops_nothing() {
    let Some(library) = faketime() else { return };
    let scratch = Scratch::with_project();
    scratch.ok(&["access", "create", "key", "--expires", "1d"]);
    for (n, time) in
        ["@1960-01-01 00:00:00", "@1901-12-14 00:00:00", "@9999-12-31 23:59:58", "+9000y"].iter().enumerate()
    {
        let run = |arguments: &[&str]| {
            let ran = scratch.finish(at(&scratch, &library, time).args(arguments));
            assert!(ran.status == 0 && !ran.stderr.contains("panicked"), "{time}: {ran}");
            ran.stdout
        };
        let (name, backups) = (format!("n{n}"), format!("backups{n}"));
        let new = format!("new{n}.db");
        run(&["--db", &new, "init"]);
        run(&["--db", &new, "check", "--deep"]);
        run(&["prompt", "create", &name, "x"]);
        run(&["prompt", "update", &name, "--content=y"]);
        assert_eq!(run(&["prompt", "show", &name]), "y");
        for arguments in [
            &["prompt", "list"][..],
            &["prompt", "history", &name],
            &["events"],
            &["access", "create", &name, "--expires", "2w"],
            &["access", "list"],
            &["check", "--deep"],
            &["backup", "--keep", "2", &backups],
            &["snapshot", "list", "--all"],
        ] {
            run(arguments);
        }
        // HTTP dates cannot express these times. The server reports this before it listens.
        if *time != "@9999-12-31 23:59:58" {
            let ran = scratch.finish(at(&scratch, &library, time).args(["serve", "--http", "--port", "0"]));
            assert!(ran.status == 2 && ran.stderr.contains("the clock"), "{time}: {ran}");
        }
    }
    assert_sound(&scratch);
}

#[test]
fn f18_a_real_clock_that_goes_back_breaks_nothing() {
    let Some(library) = faketime() else { return };
    let scratch = Scratch::with_project();
    let folder = scratch.path().join("backups");
    fs::create_dir(&folder).expect("a folder");
    for (offset, name) in [("+0", "now"), ("-400d", "past"), ("+400d", "future"), ("-1d", "back")] {
        let run = |arguments: &[&str]| {
            let ran = scratch.finish(at(&scratch, &library, offset).args(arguments));
            assert_eq!(ran.status, 0, "{ran}");
            ran.stdout
        };
        run(&["prompt", "create", name, "x"]);
        run(&["prompt", "update", name, &format!("--content={offset}")]);
        // `--keep` never deletes the backup that was just made, even if its name sorts first.
        let made = run(&["--json", "backup", "--keep", "1", "backups"]);
        let made: Value = serde_json::from_str(&made).expect("JSON");
        assert!(scratch.path().join(made["file"].as_str().expect("a file")).exists(), "{made}");
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1);
    }
    let events = scratch.json(&["events"]);
    let subjects =
        events["events"].as_array().expect("events").iter().skip(1).filter_map(|event| event["subject"].as_str());
    assert_eq!(subjects.collect::<Vec<_>>(), ["now", "now", "past", "past", "future", "future", "back", "back"]);
    assert_sound(&scratch);
}
