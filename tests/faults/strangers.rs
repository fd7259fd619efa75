//! Tests with databases from strangers, and with pipes, links and devices where mcpkg expects files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{assert_refused, assert_sound};
use crate::support::{Client, Http, Request, Scratch, eventually};

/// Changes a database with SQL while no process uses it, as another program would.
fn alter(scratch: &Scratch, sql: &str) {
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    connection.execute_batch(sql).expect("the change");
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).expect("one file");
}

const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

#[test]
fn f28_a_file_with_objects_of_somebody_else_is_refused_and_nothing_of_them_runs() {
    for (change, object) in [
        ("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM prompt; END".to_owned(), "the trigger `t`"),
        (
            format!("DROP TABLE selection; CREATE VIEW selection AS {ENDLESS} SELECT 1 AS one, i AS project_id FROM n"),
            "the view `selection`",
        ),
        ("CREATE TABLE more (a)".to_owned(), "the table `more`"),
        (
            "CREATE TABLE _litestream_seq (a); CREATE TRIGGER t AFTER INSERT ON _litestream_seq BEGIN SELECT 1; END"
                .to_owned(),
            "the trigger `t`",
        ),
        ("DROP INDEX resource_blob".to_owned(), "the index `resource_blob`"),
        ("ALTER TABLE prompt ADD COLUMN more BLOB AS (zeroblob(900000000))".to_owned(), "`prompt`"),
    ] {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "kept", "x"]);
        scratch.ok(&["backup", "good.db"]);
        alter(&scratch, &change);
        let before = fs::read(scratch.db()).expect("the database");
        for arguments in [
            &["prompt", "list"][..],
            &["prompt", "create", "n", "x"],
            &["check", "--deep"],
            &["backup", "out.db"],
            &["search", "x"],
            &["serve"],
        ] {
            assert_refused(&scratch, arguments, "E_DB_FOREIGN");
        }
        let ran = scratch.run(&["prompt", "list"]);
        assert!(ran.stderr.contains(object), "{change}: {ran}");
        assert!(fs::read(scratch.db()).expect("the database") == before, "{change}: the file was touched");
        // `restore` refuses the file too.
        fs::rename(scratch.db(), scratch.path().join("foreign.db")).expect("a rename");
        fs::rename(scratch.path().join("good.db"), scratch.db()).expect("a rename");
        assert_refused(&scratch, &["restore", "foreign.db", "--yes"], "E_DB_FOREIGN");
        assert_eq!(scratch.ok(&["prompt", "show", "kept"]), "x");
    }
}

#[test]
fn f28_tables_of_litestream_and_analyze_are_left_alone() {
    let scratch = Scratch::with_project();
    alter(&scratch, "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER UNIQUE); ANALYZE;");
    scratch.ok(&["prompt", "create", "n", "x"]);
    assert_sound(&scratch);
    scratch.ok(&["backup", "b.db"]);
    scratch.ok(&["restore", "b.db", "--yes"]);
}

#[test]
fn f28_a_trigger_that_another_process_makes_meanwhile_never_runs() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    client.call("create_prompt", serde_json::json!({ "name": "kept", "content": "x" }));
    let other = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    other.execute_batch("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM prompt; END").expect("a trigger");
    let (text, is_error) = client.call("create_prompt", serde_json::json!({ "name": "second", "content": "x" }));
    assert!(!is_error, "{text}");
    client.finish();
    let left: i64 = other.query_row("SELECT count(*) FROM prompt", [], |row| row.get(0)).expect("a count");
    assert_eq!(left, 2);
}

#[test]
fn f28_rows_that_are_deleted_leave_the_index_without_triggers() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "one", "needle"]);
    scratch.ok(&["resource", "create", "two", "file:///two.md", "needle"]);
    scratch.ok(&["prompt", "delete", "one"]);
    assert_eq!(scratch.json(&["search", "needle"])["hits"].as_array().map(Vec::len), Some(1));
    scratch.ok(&["resource", "delete", "two"]);
    scratch.ok(&["prompt", "create", "one", "needle"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["project", "delete", "p", "--yes"]);
    assert_sound(&scratch);
}

#[test]
fn f29_a_link_that_leads_nowhere_is_an_error_and_stays() {
    let scratch = Scratch::new();
    let target = scratch.path().join("disk/mcpkg.db");
    for (link, target) in [(scratch.db(), target.as_path()), (scratch.db(), Path::new("test.db"))] {
        symlink(target, &link).expect("a link");
        for arguments in [&["prompt", "list"][..], &["init"], &["serve"]] {
            assert_refused(&scratch, arguments, "E_DB_UNAVAILABLE");
        }
        let ran = scratch.run(&["prompt", "list"]);
        assert!(ran.stderr.contains("is a link to") && ran.stderr.contains("mount the disk"), "{ran}");
        assert_eq!(fs::read_link(&link).expect("the link stays"), target);
        fs::remove_file(&link).expect("the link goes");
    }
    // The disk is mounted again.
    symlink(&target, scratch.db()).expect("a link");
    fs::create_dir(scratch.path().join("disk")).expect("a folder");
    let made = scratch.finish(scratch.command().args(["--db", "disk/mcpkg.db", "project", "create", "p"]));
    assert_eq!(made.status, 0, "{made}");
    assert_eq!(scratch.json(&["project", "list"])["projects"][0]["name"], "p");
}

fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a named pipe");
}

#[test]
fn f29_anything_but_a_file_is_refused_at_once_wherever_a_file_is_read() {
    let scratch = Scratch::with_project();
    let at = |name: &str| scratch.path().join(name);
    fifo(&at("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    for folder in ["repo", "ignored", "exported", "agent/.git"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    fifo(&at("repo/agentpack.yaml"));
    fifo(&at("ignored/.gitignore"));
    fs::write(at("ignored/a.md"), "text").expect("a file");
    fifo(&at("exported/mcpkg-manifest.json"));
    for (arguments, says) in [
        (&["--db", "pipe", "prompt", "list"][..], "a named pipe"),
        (&["--db", "socket", "prompt", "list"], "a socket"),
        (&["--db", "/dev/zero", "prompt", "list"], "a device"),
        (&["--db", "repo", "prompt", "list"], "a folder"),
        (&["restore", "pipe", "--yes"], "a named pipe"),
        (&["prompt", "create", "n", "@pipe"], "a named pipe"),
        (&["prompt", "create", "n", "@socket"], "a socket"),
        (&["prompt", "create", "n", "@/dev/zero"], "a device"),
        (&["resource", "create", "n", "file:///n", "@repo"], "a folder"),
        (&["import", "ignored"], "a named pipe"),
        (&["plan", "--repo", "repo"], "a named pipe"),
        (&["serve", "--http", "--port", "0", "--tls-cert", "pipe", "--tls-key", "pipe"], "a named pipe"),
    ] {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        assert!(matches!(ran.status, 1 | 2), "{arguments:?}: {ran}");
        assert!(ran.to_string().contains(says), "{arguments:?}: {ran}");
    }
    // Somebody replaced the lock with a named pipe.
    scratch.ok(&["backup", "good.db"]);
    fs::remove_file(at("test.db.serving")).ok();
    fifo(&at("test.db.serving"));
    assert_refused(&scratch, &["restore", "good.db", "--yes"], "E_DB_UNAVAILABLE");
    // Pipes that the shell passes as files are read like files.
    let words = format!("{} prompt create piped @<(echo from a pipe)", crate::support::BINARY);
    let mut shell = std::process::Command::new("bash");
    let ran = scratch.finish(shell.arg("-c").arg(words).env("MCPKG_DB", scratch.db()).current_dir(scratch.path()));
    assert_eq!(ran.status, 0, "{ran}");
    assert_eq!(scratch.ok(&["prompt", "show", "piped"]), "from a pipe\n");
}

#[test]
fn f29_sizes_are_bounded_before_anything_is_read() {
    let scratch = Scratch::with_project();
    let sparse = |name: &str| {
        let path = scratch.file(name, "");
        fs::File::options().write(true).open(path).and_then(|file| file.set_len(8 << 30)).expect("a sparse file");
    };
    sparse("repo/agentpack.yaml");
    sparse("skills/a/SKILL.md");
    sparse("large.txt");
    symlink("/dev/zero", scratch.path().join("zero.yaml")).expect("a link");
    for (arguments, code) in [
        (&["plan", "--repo", "repo"][..], "E_CONFIG_INVALID"),
        (&["import", "skills"], "E_FILE_FAILED"),
        (&["prompt", "create", "n", "@large.txt"], "E_FILE_FAILED"),
        (&["resource", "create", "n", "file:///n", "@large.txt"], "E_FILE_FAILED"),
    ] {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        assert_eq!(ran.status, 1, "{arguments:?}: {ran}");
        let said = ran.to_string();
        assert!(said.contains(code) && said.contains("larger than the limit of"), "{arguments:?}: {said}");
    }
    fs::remove_file(scratch.path().join("repo/agentpack.yaml")).expect("it goes");
    symlink("/dev/zero", scratch.path().join("repo/agentpack.yaml")).expect("a link");
    let ran = scratch.run(&["plan", "--repo", "repo"]);
    assert!(ran.status == 1 && ran.stderr.contains("a link to `/dev/zero`, outside the config repo"), "{ran}");
    let ran = scratch.run(&["plan", "--repo", "repo", "--allow-outside", "/dev"]);
    assert!(ran.status == 1 && ran.stderr.contains("a device"), "{ran}");
}

/// Returns the paths of unfinished files in the scratch folder.
fn unfinished(scratch: &Scratch) -> Vec<String> {
    let list = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let found = list(scratch.path()).chain(list(&scratch.path().join("away")));
    let mut names: Vec<_> =
        found.map(|path| path.display().to_string()).filter(|it| it.contains("unfinished")).collect();
    names.sort();
    names
}

#[test]
fn f30_what_a_killed_backup_or_restore_leaves_is_swept_by_the_next_command() {
    let scratch = Scratch::with_project();
    let large = scratch.file("large.bin", vec![7; 24 << 20]);
    scratch.ok(&["resource", "create", "large", "file:///large.bin", &format!("@{}", large.display())]);
    scratch.ok(&["backup", "good.db"]);
    fs::create_dir(scratch.path().join("away")).expect("a folder");
    for arguments in [&["backup", "away/b.db"][..], &["restore", "good.db", "--yes"]] {
        let mut child = scratch.command().args(arguments).spawn().expect("it starts");
        eventually("it has begun", || {
            assert!(child.try_wait().expect("its state").is_none(), "it ended too early");
            (unfinished(&scratch).len() == 2).then_some(())
        });
        // While the process lives, other commands do not remove its folder.
        scratch.ok(&["prompt", "list"]);
        assert_eq!(unfinished(&scratch).len(), 2);
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        assert_eq!(unfinished(&scratch).len(), 2);
        scratch.ok(&["prompt", "list"]);
        assert_eq!(unfinished(&scratch), Vec::<String>::new(), "{arguments:?}");
    }
    assert!(!scratch.path().join("away/b.db").exists());
    assert_sound(&scratch);
}

#[test]
fn f30_a_record_leads_the_sweep_to_no_other_folder() {
    let scratch = Scratch::with_project();
    let mine = scratch.file("mine/copy.db", "mine");
    let named = scratch.file(".mcpkg-unfinished-x/other.txt", "other");
    let folder = scratch.path().join("mine");
    scratch.file("test.db.unfinished/.mcpkg-unfinished-a", folder.display().to_string());
    scratch.file("test.db.unfinished/mine", folder.display().to_string());
    scratch.file("test.db.unfinished/.mcpkg-unfinished-x", named.parent().expect("its folder").display().to_string());
    fifo(&scratch.path().join("test.db.unfinished/pipe"));
    scratch.ok(&["prompt", "list"]);
    assert_eq!(fs::read(mine).expect("it stays"), b"mine");
    assert_eq!(fs::read(named).expect("it stays"), b"other");
}

#[test]
fn f30_a_backup_without_keys_does_not_open_a_server_that_asks_for_one() {
    let scratch = Scratch::with_project();
    scratch.ok(&["backup", "keyless.db"]);
    scratch.ok(&["access", "create", "key"]);
    let server = Http::start(&scratch, &[]);
    let status = |server: &Http| server.send(&Request::new("GET", "/mcp")).status;
    assert_eq!(status(&server), 401);
    let ran = scratch.run(&["restore", "keyless.db", "--yes", "--while-serving"]);
    assert!(ran.status == 0 && ran.stderr.contains("still require a key"), "{ran}");
    assert_eq!(status(&server), 401);
    drop(server);
    // Servers that start later ask for a key too, and so do servers after a second restore.
    assert_eq!(status(&Http::start(&scratch, &[])), 401);
    scratch.ok(&["restore", "keyless.db", "--yes"]);
    assert_eq!(status(&Http::start(&scratch, &[])), 401);
}
