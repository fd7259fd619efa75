//! Tests with damaged files.

use std::fs;

use mcpkg_store::resources;
use serde_json::{Value, json};

use super::{assert_refused, content_of, error_code};
use crate::support::{Client, Scratch};

/// Returns a scratch with 60 prompts in a database that no process uses, and the bytes of the database.
fn at_rest() -> (Scratch, Vec<u8>) {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for n in 0..60 {
        let name = format!("n{n}");
        client.call("create_prompt", json!({ "name": name, "content": content_of(&name, 5000) }));
    }
    client.finish();
    let bytes = fs::read(scratch.db()).expect("the database");
    (scratch, bytes)
}

/// Checks that commands and a server refuse the file with `code`, and leave it unchanged.
#[track_caller]
fn assert_untouched(scratch: &Scratch, code: &str) {
    let before = fs::read(scratch.db()).ok();
    for arguments in [&["prompt", "list"][..], &["prompt", "create", "n", "x"], &["check"], &["serve"]] {
        assert_refused(scratch, arguments, code);
    }
    assert_eq!(fs::read(scratch.db()).ok(), before, "the file was touched");
}

#[test]
fn f08_a_file_with_a_wrong_header_or_cut_in_half_is_refused_and_untouched() {
    let (scratch, whole) = at_rest();
    let mut wrong = whole.clone();
    wrong[..16].copy_from_slice(b"SQLite format 4\0");
    for bytes in [&wrong[..], &whole[..whole.len() / 2], &whole[..5000], &whole[..99], b"no database at all"] {
        fs::write(scratch.db(), bytes).expect("a damaged file");
        assert_untouched(&scratch, "E_DB_CORRUPT");
    }
    // For a backup that is cut off, the error names the backup and the damage.
    fs::write(scratch.db(), &whole).expect("a whole file");
    let backup = scratch.file("backup.db", &whole[..whole.len() / 2]);
    let ran = scratch.run(&["restore", &backup.display().to_string(), "--yes"]);
    assert!(ran.stderr.contains("backup.db` is damaged: the file is cut off after"), "{ran}");
}

#[test]
fn a_backup_that_was_cut_is_named_and_the_database_is_not_called_damaged() {
    let (scratch, whole) = at_rest();
    let cut = scratch.path().join("cut.db");
    for size in [whole.len() / 2, 5000] {
        fs::write(&cut, &whole[..size]).expect("a cut backup");
        let ran = scratch.run(&["restore", cut.to_str().expect("a path"), "--yes"]);
        assert_eq!(ran.status, 1, "{ran}");
        assert!(ran.stderr.contains("cut.db") && !ran.stderr.contains("The database is damaged"), "{ran}");
    }
    scratch.ok(&["check", "--deep"]);
}

#[test]
fn f08_a_zeroed_page_is_reported_and_never_served_as_good() {
    let (scratch, whole) = at_rest();
    let pages = whole.len() / 4096;
    for page in [0, 1, 2, 3, pages / 4, pages / 2, pages - 2] {
        let mut bytes = whole.clone();
        // On the first page, keep the header, which identifies the application.
        let start = if page == 0 { 100 } else { page * 4096 };
        bytes[start..(page + 1) * 4096].fill(0);
        fs::write(scratch.db(), bytes).expect("a damaged file");
        for arguments in
            [&["--json", "check", "--deep"][..], &["--json", "prompt", "list"], &["--json", "search", "n7"]]
        {
            let ran = scratch.run(arguments);
            assert!(matches!(ran.status, 0 | 1), "page {page}: {ran}");
            if ran.status == 1 {
                let code = error_code(&ran);
                assert!(matches!(code.as_deref(), Some("E_DB_CORRUPT" | "E_DAMAGED")), "page {page}: {ran}");
            }
        }
        // A server returns either what was stored or an error.
        let mut client = Client::start(&scratch, &[]);
        if client.try_shake_hands("2025-06-18") {
            for n in 0..60 {
                let name = format!("n{n}");
                let got = client.request("prompts/get", json!({ "name": name }));
                let text = &got["result"]["messages"][0]["content"]["text"];
                assert!(text.is_null() || *text == content_of(&name, 5000), "page {page}: {name}");
            }
        }
    }
}

#[test]
fn f09_a_flipped_bit_in_a_content_is_found_by_its_hash() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "small", "the quick brown marker"]);
    // The second content is stored in three chunks. The bit is flipped in the last one.
    let large = scratch.file("large.txt", format!("{}{}end", content_of("large", 2_500_000), "LASTCHUNK"));
    scratch.ok(&["resource", "create", "large", "file:///large.txt", &format!("@{}", large.display())]);
    scratch.ok(&["prompt", "create", "filled", "the yellow marker of {{ name }}", "--argument", "name"]);
    scratch.ok(&["prompt", "create", "sound", "as it was"]);
    let mut bytes = fs::read(scratch.db()).expect("the database");
    for marker in [&b"quick brown marker"[..], b"LASTCHUNK", b"yellow marker"] {
        let at =
            bytes.windows(marker.len()).position(|window| window == marker).expect("the content stands in the file");
        bytes[at] ^= 1;
    }
    fs::write(scratch.db(), bytes).expect("a damaged file");
    let checked = scratch.ok(&["check"]);
    assert!(checked.contains("is sound"), "SQLite's own check does not see it");
    assert!(checked.contains("to verify its contents and names too, run `mcpkg check --deep`"), "{checked}");
    let backup = scratch.run(&["backup", "bad.db"]);
    assert!(backup.status == 1 && backup.stderr.contains("test.db` is damaged, and no backup was written"), "{backup}");
    assert!(!backup.stderr.contains("bad.db") && !scratch.path().join("bad.db").exists(), "{backup}");
    let deep = scratch.run(&["check", "--deep"]);
    assert_eq!(deep.status, 1, "{deep}");
    for named in ["prompt 'small' revision 1 in project 'p'", "resource 'large' revision 1 in project 'p'"] {
        assert!(deep.stderr.contains(named), "{deep}");
    }
    assert!(!deep.stderr.contains("sound'"), "{deep}");
    // `doctor` suggests a restore, because editing a damaged template would not repair it.
    let found = scratch.run(&["--json", "doctor"]);
    let found: Value = serde_json::from_str(&found.stdout).expect("findings");
    let is_filled = |finding: &&Value| finding["what"].as_str().is_some_and(|what| what.contains("'filled'"));
    let filled = found["data"]["checks"].as_array().into_iter().flatten().find(is_filled);
    assert!(filled.is_some_and(|finding| finding["action"] == "mcpkg check --deep; mcpkg restore FILE"), "{found}");
    assert_refused(&scratch, &["prompt", "show", "small"], "E_DAMAGED");
    assert_refused(&scratch, &["resource", "show", "large", "-o", "out.txt"], "E_DAMAGED");
    assert!(!scratch.path().join("out.txt").exists(), "damaged bytes were written");
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for (method, params) in
        [("prompts/get", json!({ "name": "small" })), ("resources/read", json!({ "uri": "file:///large.txt" }))]
    {
        let error = client.error(method, params);
        assert_eq!(error["code"], -32603);
        assert!(error["message"].as_str().is_some_and(|message| message.contains("is damaged")), "{error}");
    }
    assert!(client.call("get_prompt", json!({ "name": "small" })).1);
    assert!(client.result("prompts/get", json!({ "name": "sound" })).is_object());
    client.finish();
}

/// Changes a database with SQL while no process uses it, as a damaged disk might.
fn damage(scratch: &Scratch, sql: &str) {
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    connection.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF").expect("no checks");
    connection.execute_batch(sql).expect("the change");
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).expect("one file");
}

#[test]
fn f09_a_changed_row_is_reported_and_never_served() {
    for (table, column, value) in [
        ("prompt", "name", "'damag3d'"),
        ("prompt", "description", "'another'"),
        ("prompt", "description", "x'ff'"),
        ("prompt", "arguments", "'[]'"),
        ("prompt", "template", "1 - template"),
        ("prompt", "blob_id", "(SELECT max(id) FROM blob)"),
        ("prompt", "uuid", "randomblob(16)"),
        ("prompt", "updated_at", "updated_at + 1"),
        ("resource", "name", "'damag3d'"),
        ("resource", "uri", "'file:///damag3d'"),
        ("resource", "mime_type", "'text/html'"),
        ("resource", "blob_id", "(SELECT max(id) FROM blob)"),
        ("resource", "text", "1 - text"),
    ] {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "damaged", "one {{ a }}", "-d", "of mine", "--argument", "a"]);
        scratch.ok(&["prompt", "create", "sound", "two"]);
        scratch.ok(&["resource", "create", "damaged", "file:///damaged", "three"]);
        scratch.ok(&["resource", "create", "sound", "file:///sound", "four"]);
        scratch.ok(&["backup", "good.db"]);
        let context = scratch.context();
        let before = context.read(|db, project| resources::get(db, project, "damaged")).expect("a resource");
        drop(context);
        let value = if value == "x'ff'" { "CAST(x'ff' AS TEXT)" } else { value };
        damage(&scratch, &format!("UPDATE {table} SET {column} = {value} WHERE name = 'damaged'"));
        let case = format!("{table}.{column}");
        let name = if column == "name" { "damag3d" } else { "damaged" };
        let unchanged = scratch
            .context()
            .read(|db, project| resources::unchanged(db, project.id, &before.name, &before.attributes, &before.sha256));
        assert_eq!(unchanged.expect("read").is_some(), table == "prompt", "{case}");
        let deep = scratch.run(&["check", "--deep"]);
        assert!(deep.status == 1 && deep.stderr.contains(&format!("'{name}'")), "{case}: {deep}");
        assert_refused(&scratch, &["backup", "bad.db"], "E_DB_CORRUPT");
        assert_refused(&scratch, &[table, "show", name], "E_DAMAGED");
        // Lists show which row is damaged, and still show the others.
        let listed = scratch.ok(&[table, "list"]);
        assert!(listed.contains("sound"), "{case}: {listed}");
        let in_list = !matches!(column, "template" | "blob_id" | "uuid" | "updated_at" | "text");
        assert!(listed.contains("Damaged in the database"), "{case}: {listed}");
        let mut client = Client::legacy(&scratch, "2025-06-18");
        let listed = client.result(&format!("{table}s/list"), json!({})).to_string();
        assert_eq!(listed.contains("Damaged in the database"), in_list, "{case}: {listed}");
        let (method, damaged, sound) = match table {
            "prompt" => ("prompts/get", json!({ "name": name }), json!({ "name": "sound" })),
            _ => {
                let uri = if column == "uri" { "file:///damag3d" } else { "file:///damaged" };
                ("resources/read", json!({ "uri": uri }), json!({ "uri": "file:///sound" }))
            }
        };
        let error = client.error(method, damaged);
        assert!(error["message"].as_str().is_some_and(|it| it.contains("is damaged")), "{case}: {error}");
        assert!(client.result(method, sound).is_object(), "{case}");
        client.finish();
        // Restoring an earlier revision repairs the row.
        if column != "name" && column != "uuid" {
            scratch.ok(&[table, "restore", name, "1"]);
            let shown = scratch.run(&[table, "show", name]);
            // `show` fails for a prompt with an argument, because no value is given. That is not damage.
            assert!(!shown.stderr.contains("damaged: its row"), "{case}: {shown}");
        }
    }
}

#[test]
fn f09_a_damaged_revision_is_named_and_not_restored() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "one"]);
    scratch.ok(&["prompt", "update", "n", "--content", "two"]);
    damage(&scratch, "UPDATE revision SET name = 'other' WHERE number = 1");
    let deep = scratch.run(&["check", "--deep"]);
    assert!(deep.status == 1 && deep.stderr.contains("Revision 1 of 'other' is damaged"), "{deep}");
    assert_refused(&scratch, &["prompt", "restore", "n", "1"], "E_DAMAGED");
    assert_eq!(scratch.json(&["prompt", "history", "n"])["revisions"][1]["action"], "damaged");
    assert_eq!(scratch.ok(&["prompt", "show", "n"]), "two");
}

#[test]
fn f09_every_content_that_a_row_names_is_verified_and_every_row() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "n", "text of a prompt"]);
    let root = scratch.path().join("root");
    std::fs::create_dir(&root).expect("a folder");
    let root = root.to_string_lossy().into_owned();
    scratch.file("root/.claude/commands/n.md", "stood before");
    scratch.ok(&["deploy", "--apply", "--yes", "--adopt", "--root", &root, "--target", "claude_code"]);
    let good = fs::read(scratch.db()).expect("the database");
    assert!(scratch.ok(&["check", "--deep"]).contains("is sound"));
    for (sql, says) in [
        (
            "UPDATE blob SET head = CAST('stood befone' AS BLOB) WHERE head = CAST('stood before' AS BLOB)",
            "the original file at",
        ),
        ("UPDATE deployed SET pristine_blob = 4711", "a row of table deployed refers to a missing row"),
        ("UPDATE deployed SET applied_mode = NULL", "image 'applied' in table deployed is malformed"),
        ("UPDATE snapshot_file SET after_blob = 4711", "a row of table snapshot_file refers"),
        ("UPDATE snapshot SET targets = '{}'", "snapshot has malformed targets"),
        ("UPDATE snapshot SET uuid = x'00'", "CHECK constraint failed in snapshot"),
        ("DELETE FROM revision", "does not match its latest revision"),
        ("DELETE FROM prompt", "is missing, although it was never deleted"),
        ("UPDATE project SET name = '../p'", "'../p' has an invalid name"),
        ("DELETE FROM search WHERE rowid IN (SELECT 2 * id FROM prompt)", "the search index does not match"),
        ("UPDATE search_data SET block = zeroblob(length(block)) WHERE id > 100", "search"),
    ] {
        fs::write(scratch.db(), &good).expect("the database as it was");
        damage(&scratch, sql);
        let deep = scratch.run(&["check", "--deep"]);
        assert!(deep.status == 1 && deep.stderr.contains(says), "{sql}: {deep}");
        let backup = scratch.run(&["--json", "backup", "bad.db"]);
        assert!(super::fails(&backup, "E_DB_CORRUPT"), "{sql}: {backup}");
        assert!(!scratch.path().join("bad.db").exists());
    }
}

#[test]
fn f10_a_file_of_another_application_is_refused_and_untouched() {
    let scratch = Scratch::new();
    fs::write(scratch.db(), b"").expect("an empty file");
    assert_untouched(&scratch, "E_DB_CORRUPT");
    // A database of another application: only the application id in the header differs from ours.
    fs::remove_file(scratch.db()).expect("the empty file goes");
    scratch.ok(&["project", "create", "p"]);
    let mut bytes = fs::read(scratch.db()).expect("the database");
    bytes[68..72].copy_from_slice(b"abcd");
    fs::write(scratch.db(), bytes).expect("a foreign file");
    assert_untouched(&scratch, "E_DB_FOREIGN");
    fs::remove_file(scratch.db()).expect("the foreign file goes");
    fs::create_dir(scratch.db()).expect("a folder");
    assert_untouched(&scratch, "E_DB_CORRUPT");
    assert_eq!(fs::read_dir(scratch.db()).expect("the folder").count(), 0);
}

#[test]
fn f11_a_bare_copy_of_a_hot_file_misses_what_a_backup_has() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for n in 0..20 {
        client.call("create_prompt", json!({ "name": format!("n{n}"), "content": "x" }));
    }
    let copy = scratch.path().join("copy.db");
    fs::copy(scratch.db(), &copy).expect("a copy");
    scratch.ok(&["backup", "backup.db"]);
    client.kill();
    let names = |file: &str| {
        let listed = scratch.run(&["--json", "--db", file, "prompt", "list"]);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_default();
        listed["prompts"].as_array().map_or(0, Vec::len)
    };
    assert!(names("copy.db") < 20, "a bare copy is not supposed to have everything");
    assert_eq!(names("backup.db"), 20);
}

#[test]
fn f12_a_damaged_file_is_not_repaired_and_a_backup_restores_everything() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "kept", "x"]);
    scratch.ok(&["backup", "b.db"]);
    fs::write(scratch.db(), vec![7; 8192]).expect("the file is spoilt");
    let refused = scratch.run(&["prompt", "list"]);
    assert_eq!(refused.status, 1, "{refused}");
    assert!(refused.stderr.contains("move the file aside and restore a backup with `mcpkg restore FILE`"), "{refused}");
    // The hint's instructions work.
    fs::rename(scratch.db(), scratch.path().join("spoilt")).expect("it is moved aside");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(scratch.path().join(format!("test.db{suffix}")));
    }
    scratch.ok(&["restore", "b.db", "--yes"]);
    assert_eq!(scratch.ok(&["prompt", "show", "kept"]), "x");
}

#[test]
fn rows_that_name_missing_content_are_reported_as_damage_and_not_as_a_bug() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "hello", "words"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc.md", "# Words"]);
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    let lost = "PRAGMA foreign_keys = OFF; UPDATE prompt SET blob_id = 999; UPDATE resource SET blob_id = 999;
                UPDATE revision SET blob_id = 999;";
    connection.execute_batch(lost).expect("the rows lead nowhere");
    drop(connection);
    for arguments in [
        &["check", "--deep"][..],
        &["prompt", "show", "hello"],
        &["prompt", "history", "hello"],
        &["prompt", "restore", "hello", "1"],
        &["resource", "show", "doc"],
        &["search", "words"],
        &["export", "out"],
        &["backup", "backup.db"],
        &["doctor"],
    ] {
        let ran = scratch.run(&[&["--json"], arguments].concat());
        assert!(matches!(ran.status, 0 | 1), "{arguments:?}: {ran}");
        assert!(!ran.to_string().contains("bug in mcpkg"), "{arguments:?}: {ran}");
    }
    let checked = scratch.run(&["check", "--deep"]);
    assert!(checked.status == 1 && checked.to_string().contains("a row of table prompt refers"), "{checked}");
}

#[test]
fn a_row_that_is_refused_because_of_damage_is_not_reported_as_a_bug() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "first", "words"]);
    // The row of this content is gone, but the index of SHA-256 hashes still lists it.
    let connection = rusqlite::Connection::open(scratch.db()).expect("the database opens");
    connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).expect("one file");
    let find = "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = 'blob'";
    let (page, size): (u32, u32) =
        connection.query_row(find, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("the table");
    drop(connection);
    let mut bytes = fs::read(scratch.db()).expect("the database");
    let begin = ((page - 1) * size) as usize;
    assert_eq!((bytes[begin], bytes[begin + 4]), (0x0d, 1), "a leaf with one row");
    bytes[begin + 4] = 0;
    fs::write(scratch.db(), bytes).expect("the damage");
    let ran = scratch.run(&["--json", "prompt", "create", "hello", "words"]);
    assert_eq!((ran.status, error_code(&ran).as_deref()), (1, Some("E_DB_CORRUPT")), "{ran}");
    assert!(ran.to_string().contains("on page "), "{ran}");
}
