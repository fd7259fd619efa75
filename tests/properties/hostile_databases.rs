//! Tests with databases from strangers: random rows in the tables of a valid file, objects of other programs, and
//! random bytes in pages. Each command has to end in time and without a bug, and must leave all other files unchanged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::{Value, ValueRef};
use serde_json::json;

use crate::support::fuzz::{Cases, bounded};
use crate::support::{Random, Scratch};

/// The limits for every command: its time, and its memory in MiB in addition to that of an idle process.
const DEADLINE: Duration = Duration::from_secs(20);
const MIB: u64 = 384;

/// The commands to run on each file. `OUT` is replaced with a folder for their output.
const COMMANDS: [&[&str]; 24] = [
    &["prompt", "list"],
    &["prompt", "show", "hello"],
    &["prompt", "history", "hello"],
    &["prompt", "create", "fresh", "words"],
    &["prompt", "update", "hello", "--content", "other words"],
    &["prompt", "restore", "hello", "1"],
    &["prompt", "delete", "plain"],
    &["resource", "list"],
    &["resource", "show", "doc"],
    &["skill", "list"],
    &["search", "words"],
    &["project", "list"],
    &["access", "list"],
    &["events"],
    &["check"],
    &["check", "--deep"],
    &["doctor"],
    &["snapshot", "list"],
    &["plan", "--root", "OUT/root"],
    &["export", "OUT/export"],
    &["sync"],
    &["sync", "OUT/team"],
    &["backup", "OUT/backup.db"],
    &["project", "delete", "p", "--yes"],
];

/// Returns a valid database with many kinds of rows. It is created once.
fn valid() -> &'static [u8] {
    static VALID: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    VALID.get_or_init(make)
}

fn make() -> Vec<u8> {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "hello", "Hello {{ name }}", "-d", "Greets", "--argument", "name"]);
    scratch.ok(&["prompt", "create", "plain", "words"]);
    scratch.ok(&["prompt", "update", "plain", "--content", "more words"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc.md", "# Words"]);
    let skill = "---\nname: review\ndescription: Reviews\n---\nLook at it\n";
    scratch.ok(&["resource", "create", "review", "skill://review/SKILL.md", skill]);
    scratch.ok(&["access", "create", "key"]);
    fs::create_dir_all(scratch.path().join("out/root")).expect("a root");
    let root = scratch.path().join("out/root").display().to_string();
    scratch.ok(&["deploy", "--apply", "--yes", "--root", &root]);
    fs::remove_dir_all(scratch.path().join("out")).expect("the root goes");
    scratch.ok(&["backup", "valid.db"]);
    fs::read(scratch.path().join("valid.db")).expect("the file")
}

/// A scratch folder with files around the database that no command may change.
struct World {
    scratch: Scratch,
    before: BTreeSet<(PathBuf, Vec<u8>)>,
}

impl World {
    fn new(database: &[u8]) -> Self {
        let scratch = Scratch::new();
        for (path, text) in [(".ssh/authorized_keys", "a key"), ("bystander.txt", "as it was"), ("sub/other.md", "x")] {
            scratch.file(path, text);
        }
        let before = Self::look(scratch.path());
        fs::write(scratch.db(), database).expect("the database");
        fs::create_dir_all(scratch.path().join("out/root")).expect("a folder");
        Self { scratch, before }
    }

    /// Syncs the project with a folder, so that there are rows about it to change. Nothing may get into the folder's
    /// `.git`.
    fn synced(self) -> Self {
        let team = self.scratch.path().join("out/team").display().to_string();
        self.scratch.ok(&["sync", &team]);
        fs::create_dir_all(self.git().join("hooks")).expect("folders");
        self
    }

    fn git(&self) -> PathBuf {
        self.scratch.path().join("out/team/.git")
    }

    /// Returns all files, except those of the database, those below `out`, and mcpkg's state below the home folder.
    fn look(root: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, found: &mut BTreeSet<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with("test.db")
                    || matches!(name.as_str(), "out" | "state" | ".local" | ".cache" | ".config")
                {
                    continue;
                }
                if path.is_dir() {
                    walk(&path, found);
                } else {
                    found.insert((path.clone(), fs::read(&path).expect("a file")));
                }
            }
        }
        let mut found = BTreeSet::new();
        walk(root, &mut found);
        found
    }

    /// Runs some of the commands and a server, within the limits.
    fn run(&self, random: &mut Random, what: &str) {
        let root = self.scratch.path().join("out").display().to_string();
        for _ in 0..4 {
            let words = COMMANDS[random.below(COMMANDS.len())];
            let words: Vec<_> = words.iter().map(|word| word.replace("OUT", &root)).collect();
            eprintln!("{what}: {}", words.join(" "));
            bounded(self.scratch.command().args(&words), b"", MIB, DEADLINE);
            let _ = fs::remove_file(self.scratch.path().join("out/backup.db"));
        }
        let mut input = String::new();
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        for (id, (method, params)) in [
            ("initialize", hello),
            ("prompts/list", json!({})),
            ("resources/list", json!({})),
            ("tools/list", json!({})),
            ("prompts/get", json!({ "name": "hello", "arguments": { "name": "x" } })),
            ("resources/read", json!({ "uri": "file:///doc.md" })),
            ("tools/call", json!({ "name": "list_skills", "arguments": {} })),
        ]
        .into_iter()
        .enumerate()
        {
            input += &format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        }
        let outcome = bounded(self.scratch.command().arg("serve"), input.as_bytes(), MIB, DEADLINE);
        for line in outcome.stdout.lines() {
            let message: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{what}: {line:?}"));
            assert_eq!(message["jsonrpc"], "2.0", "{what}: {line}");
            assert_ne!(message["error"]["message"], "Internal error; see the server's log", "{what}: {outcome:?}");
        }
        assert_eq!(Self::look(self.scratch.path()), self.before, "{what}: something else was written");
        assert!(!self.git().exists() || Self::look(&self.git()).is_empty(), "{what}: something was written for git");
    }
}

/// Returns a random value of any type. Extreme values are more likely.
fn value(random: &mut Random, world: &str) -> Value {
    let texts = [
        "",
        ".",
        "..",
        "/",
        "../../x",
        "../../bystander.txt",
        ".git/hooks/post-checkout",
        "hello",
        "p",
        "\n",
        "\u{0}",
        "[]",
        "{}",
        "null",
        "[1]",
        "skill://a/SKILL.md",
    ];
    match random.below(12) {
        0 => Value::Null,
        1 => Value::Integer(i64::MAX),
        2 => Value::Integer(i64::MIN),
        3 => Value::Integer(random.below(4) as i64 - 1),
        4 => Value::Real(f64::INFINITY),
        5 => Value::Text(texts[random.below(texts.len())].to_owned()),
        6 => Value::Text(format!("{world}/bystander.txt")),
        7 => Value::Text(format!("{world}/.ssh/authorized_keys")),
        8 => Value::Text("x".repeat(1 << random.below(25))),
        9 => Value::Text(format!("[{}]", "[".repeat(random.below(3000)))),
        10 => Value::Blob(vec![random.below(256) as u8; random.below(40)]),
        _ => Value::Text(format!("[\"a\",\n\"{}\"]", random.below(9))),
    }
}

/// Gives all rows valid checksums, with the statements of the migration that added checksums.
fn seal(connection: &Connection) {
    let flags = rusqlite::functions::FunctionFlags::SQLITE_UTF8;
    let checksum = |context: &rusqlite::functions::Context<'_>| {
        let mut bytes = Vec::new();
        for n in 0..context.len() {
            let (kind, long, fixed) = match context.get_raw(n) {
                ValueRef::Null => (0, None, None),
                ValueRef::Integer(integer) => (1, None, Some(integer.to_le_bytes())),
                ValueRef::Real(real) => (2, None, Some(real.to_le_bytes())),
                ValueRef::Text(text) => (3, Some(text), None),
                ValueRef::Blob(blob) => (4, Some(blob), None),
            };
            bytes.push(kind);
            bytes.extend(fixed.into_iter().flatten());
            bytes.extend(long.map(|long| (long.len() as u64).to_le_bytes()).into_iter().flatten());
            bytes.extend(long.into_iter().flatten());
        }
        Ok(xxhash_rust::xxh3::xxh3_64(&bytes).cast_signed())
    };
    connection.create_scalar_function("checksum", -1, flags, checksum).expect("the function");
    let migration = include_str!("../../migrations/sqlite/V004__checksums.sql");
    let updates = migration.split_once("UPDATE").and_then(|(_, rest)| rest.split_once("--")).expect("the updates").0;
    connection.execute_batch(&format!("UPDATE{updates}")).expect("the rows are sealed");
}

/// Changes or adds rows in tables of the file. Skips changes that a constraint refuses.
fn spoil_rows(path: &Path, world: &str, random: &mut Random) -> String {
    let connection = Connection::open(path).expect("the database opens");
    let loose = "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA journal_mode = DELETE;";
    connection.execute_batch(loose).expect("no checks");
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'search'";
    let tables: Vec<String> = connection
        .prepare(names)
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .expect("the tables");
    let mut told = String::new();
    for _ in 0..=random.below(6) {
        let table = &tables[random.below(tables.len())];
        let columns: Vec<String> = connection
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .expect("the columns");
        let done = if random.below(3) == 0 {
            let places: Vec<_> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
            let sql = format!("INSERT OR REPLACE INTO {table} VALUES ({})", places.join(", "));
            let values: Vec<_> = columns.iter().map(|_| value(random, world)).collect();
            connection.execute(&sql, rusqlite::params_from_iter(values))
        } else {
            let column = &columns[random.below(columns.len())];
            let sql = format!("UPDATE OR IGNORE {table} SET {column} = ?1 WHERE rowid % ?2 = 0");
            connection.execute(&sql, rusqlite::params![value(random, world), random.below(3) as i64 + 1])
        };
        told += &format!("{table} {done:?}; ");
    }
    // Set valid checksums: a stranger can do that too.
    if random.below(2) == 0 {
        told += "sealed; ";
        seal(&connection);
    }
    told
}

#[test]
fn hostile_rows_stop_no_command() {
    if !Scratch::new().is_file() {
        return;
    }
    let mut cases = Cases::new("hostile rows", 8);
    while cases.more() {
        let world = World::new(valid()).synced();
        let told = spoil_rows(&world.scratch.db(), &world.scratch.path().display().to_string(), &mut cases.random);
        world.run(&mut cases.random, &told);
    }
}

#[test]
fn hostile_pages_stop_no_command() {
    if !Scratch::new().is_file() {
        return;
    }
    let mut cases = Cases::new("hostile pages", 8);
    while cases.more() {
        let random = &mut cases.random;
        let mut bytes = valid().to_vec();
        for _ in 0..=random.below(20) {
            // The first pages contain the schema. If they are damaged, the file is refused before anything else is
            // read.
            let start = if random.below(8) == 0 { 0 } else { 16 * 4096 };
            let at = start + random.below(bytes.len() - start);
            match random.below(4) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                2 => {
                    let end = (at + random.below(64)).min(bytes.len());
                    bytes[at..end].fill(random.below(256) as u8);
                }
                _ => {
                    let (one, other) = (at / 4096 * 4096, random.below(bytes.len() / 4096) * 4096);
                    let page = bytes[one..one + 4096].to_vec();
                    bytes[other..other + 4096].copy_from_slice(&page);
                }
            }
        }
        World::new(&bytes).run(random, "pages");
    }
}

#[test]
fn hostile_bits_never_return_content_that_was_not_written() {
    if !Scratch::new().is_file() {
        return;
    }
    use mcpkg_store::{Store, blobs, resources};
    let scratch = Scratch::with_project();
    let text = |n: usize| format!("text of file:///{n}");
    for n in 0..24 {
        scratch.ok(&["resource", "create", &format!("r{n}"), &format!("file:///{n}"), &text(n)]);
    }
    // Use the same URIs in another project, with other texts.
    scratch.ok(&["project", "create", "q"]);
    for n in 0..24 {
        scratch.ok(&["--project", "q", "resource", "create", &format!("r{n}"), &format!("file:///{n}"), "of q"]);
    }
    scratch.ok(&["backup", "whole.db"]);
    let whole = fs::read(scratch.path().join("whole.db")).expect("the file");
    let path = scratch.path().join("spoilt.db");
    let selection = mcpkg_store::projects::Selection::default();
    let mut cases = Cases::new("hostile bits", 200);
    while cases.more() {
        let mut bytes = whole.clone();
        for _ in 0..=cases.random.below(3) {
            let at = cases.random.below(bytes.len());
            bytes[at] ^= 1 << cases.random.below(8);
        }
        fs::write(&path, bytes).expect("a spoilt file");
        let Ok(store) = Store::open(&path) else { continue };
        for n in 0..24 {
            let uri = format!("file:///{n}");
            let read = store.read(|db| {
                resources::with(db, &selection, resources::Key::Uri(&uri), |resource| {
                    Ok((resource.name.to_owned(), resource.uri.to_owned(), blobs::read(db, resource.content)?))
                })
            });
            // The read may fail with an error, or find no row because the index lost it, which `check` reports.
            let Ok(Some((name, of, content))) = read else { continue };
            assert_eq!((name, of, content), (format!("r{n}"), uri, text(n).into_bytes()));
        }
    }
}

#[test]
fn hostile_objects_stop_no_command() {
    if !Scratch::new().is_file() {
        return;
    }
    let mut cases = Cases::new("hostile objects", 5);
    while cases.more() {
        let world = World::new(valid());
        let random = &mut cases.random;
        let connection = Connection::open(world.scratch.db()).expect("the database opens");
        let tables = ["prompt", "resource", "event", "project", "setting", "revision", "blob"];
        let table = tables[random.below(tables.len())];
        let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
        let sql = match random.below(6) {
            0 => format!("CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM prompt; END"),
            1 => format!("CREATE VIEW v AS {endless}"),
            2 => format!("ALTER TABLE {table} RENAME TO was; CREATE VIEW {table} AS {endless}"),
            3 => format!("CREATE INDEX i ON {table} (zeroblob(9000000))"),
            4 => "CREATE VIRTUAL TABLE _litestream_x USING fts5 (a)".to_owned(),
            _ => format!("CREATE TABLE t (a CHECK (a IN (SELECT 1))); DROP TABLE IF EXISTS {table}"),
        };
        let made = connection.execute_batch(&sql);
        let _ = connection.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()));
        drop(connection);
        world.run(random, &format!("{sql}: {made:?}"));
    }
}
