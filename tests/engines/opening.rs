//! Tests of opening a database on a server: creating the schema, and what is refused.

use std::path::Path;

use mcpkg_base::error::Code;
use mcpkg_store::Store;

use super::{World, free_port, insert, names, project};
use crate::support::postgres::Server;
use crate::support::{Scratch, eventually};

#[test]
fn one_of_six_first_openers_creates_the_schema_and_none_fails() {
    let Some(world) = World::new() else { return };
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..6).map(|_| scope.spawn(|| world.open().location().to_string())).collect();
        openers.into_iter().for_each(|opener| assert_eq!(opener.join().expect("it opens"), world.address));
    });
    let folder = format!("{}/migrations/postgres", env!("CARGO_MANIFEST_DIR"));
    let migrations = std::fs::read_dir(folder).expect("the migrations").count();
    assert_eq!(world.query("SELECT count(*) FROM mcpkg.refinery_schema_history"), format!("{migrations}\n"));
}

#[test]
fn an_older_program_refuses_a_newer_schema_and_a_newer_one_upgrades_only_on_request() {
    let Some(world) = World::new() else { return };
    let running = world.open();
    let project = project(&running);
    let newest = world.query("SELECT max(version) FROM mcpkg.refinery_schema_history");
    world.query(&format!("UPDATE mcpkg.refinery_schema_history SET version = 1000 WHERE version = {newest}"));
    let refused = Store::open(Path::new(&world.address)).err().expect("it is refused");
    assert_eq!(refused.code(), Code::NewerDatabase);
    running.write(|db| insert(db, &project, "a")).expect("what ran before serves on");
    assert_eq!(names(&running), ["a"]);
    world.query("DELETE FROM mcpkg.refinery_schema_history WHERE version < 1000");
    world.query("UPDATE mcpkg.refinery_schema_history SET version = 0");
    let older = Store::open(Path::new(&world.address)).err().expect("it is refused");
    assert_eq!(older.code(), Code::Unavailable);
    assert!(older.message().contains("the older schema 0"), "{}", older.message());
    assert_eq!(world.query("SELECT max(version) FROM mcpkg.refinery_schema_history"), "0\n", "nothing was moved");
}

/// Tables, triggers, rules and functions that others add to the schema could act on each write, so they are refused.
#[test]
fn tables_and_triggers_of_others_in_the_schema_are_refused() {
    let Some(world) = World::new() else { return };
    let store = world.open();
    let project = project(&store);
    let function = "CREATE FUNCTION public.spy() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'";
    world.query(function);
    for (made, named, removed) in [
        (
            "CREATE TRIGGER spy BEFORE INSERT ON mcpkg.prompt FOR EACH ROW EXECUTE FUNCTION public.spy()",
            "the trigger `spy` of `prompt`",
            "DROP TRIGGER spy ON mcpkg.prompt",
        ),
        ("CREATE TABLE mcpkg.notes (t text)", "the table `notes`", "DROP TABLE mcpkg.notes"),
        ("CREATE VIEW mcpkg.seen AS SELECT 1 AS one", "the table `seen`", "DROP VIEW mcpkg.seen"),
        (
            "CREATE RULE quiet AS ON DELETE TO mcpkg.event DO INSTEAD NOTHING",
            "the rule `quiet` of `event`",
            "DROP RULE quiet ON mcpkg.event",
        ),
        (
            "CREATE FUNCTION mcpkg.lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
            "the function `lower`",
            "DROP FUNCTION mcpkg.lower(text)",
        ),
    ] {
        world.query(made);
        let refused = Store::open(Path::new(&world.address)).err().unwrap_or_else(|| panic!("{made}: it opens"));
        assert_eq!(refused.code(), Code::ForeignDatabase, "{}", refused.message());
        assert!(refused.message().contains(named), "{}", refused.message());
        world.query(removed);
    }
    let store = world.open();
    store.write(|db| insert(db, &project, "a")).expect("it is written");
}

/// Takes a database back to version 1: creates its tables with the first migration only, and copies the rows.
fn take_back(world: &World) {
    let tables = include_str!("../../migrations/postgres/V001__schema.sql");
    world.query(&format!(
        "BEGIN;
         SET LOCAL client_min_messages = warning;
         ALTER SCHEMA mcpkg RENAME TO newer;
         CREATE SCHEMA mcpkg;
         SET LOCAL search_path = mcpkg;
         {tables}
         DELETE FROM setting;
         SET CONSTRAINTS ALL DEFERRED;
         DO $$
         DECLARE known record;
         BEGIN
           FOR known IN
             SELECT table_name AS name, string_agg(quote_ident(column_name), ', ') AS columns
               FROM information_schema.columns WHERE table_schema = 'mcpkg' GROUP BY table_name
           LOOP
             EXECUTE format('INSERT INTO mcpkg.%1$I (%2$s) SELECT %2$s FROM newer.%1$I', known.name, known.columns);
           END LOOP;
         END $$;
         CREATE TABLE refinery_schema_history (LIKE newer.refinery_schema_history INCLUDING ALL);
         INSERT INTO refinery_schema_history SELECT * FROM newer.refinery_schema_history WHERE version = 1;
         DROP SCHEMA newer CASCADE;
         COMMIT"
    ));
}

/// In version 1, the index took a text without spaces for one word.
#[test]
fn an_upgraded_index_finds_words_inside_a_text() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::new();
    let run = |arguments: &[&str]| {
        let mut command = scratch.command();
        command.env("MCPKG_DB", &world.address).args(arguments);
        scratch.finish(&mut command)
    };
    let ok = |arguments: &[&str]| {
        let ran = run(arguments);
        assert_eq!(ran.status, 0, "{ran}");
        ran.stdout
    };
    ok(&["project", "create", "p"]);
    ok(&["prompt", "create", "zh", "请把季度报告翻译成英文"]);
    ok(&["prompt", "create", "latin", "a report"]);
    world.query("UPDATE mcpkg.search SET words = to_tsvector('mcpkg.words', 'zh 请把季度报告翻译成英文') WHERE id = 2");
    assert!(!ok(&["search", "报告"]).contains("zh"));
    take_back(&world);
    let refused = run(&["search", "报告"]);
    assert!(refused.status == 1 && refused.stderr.contains("`mcpkg init` with this address"), "{refused}");
    ok(&["init"]);
    for (query, name) in [("报告", "zh"), ("翻译成英文", "zh"), ("report", "latin")] {
        assert!(ok(&["search", query]).contains(name), "{query}");
    }
    ok(&["check", "--deep"]);
}

#[test]
fn a_password_appears_nowhere() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::new();
    let named = world.address.replace("mcpkg@", "mcpkg:s3cr3t@");
    let run = |database: &str, arguments: &[&str]| {
        let mut command = scratch.command();
        command.env("MCPKG_DB", database).env("MCPKG_LOG", "trace").args(arguments);
        scratch.finish(&mut command)
    };
    let printed = [
        run(&named, &["init", "-v"]),
        run(&named, &["project", "create", "p"]),
        run(&named, &["client", "add", "cursor"]),
        run(&named, &["client", "show", "codex"]),
        run(&named, &["doctor", "--json"]),
        run(&named, &["events", "--json"]),
        run(&named, &["backup", "missing/folder.db", "-v"]),
        run(&named.replace("/t", "/no"), &["project", "list", "-v"]),
        run(&format!("{named}?sslmode=s3cr3t"), &["project", "list", "-v"]),
    ];
    for ran in printed {
        assert!(!ran.to_string().contains("s3cr3t"), "{ran}");
    }
    // mcpkg does not write a password into an agent's file, and without it the agent could not connect.
    let refused = run(&named, &["client", "add", "cursor"]);
    assert!(refused.status == 2 && refused.stderr.contains("contains a password"), "{refused}");
    let trail = world.query("SELECT subject || actor || kind FROM mcpkg.event");
    assert!(!trail.is_empty() && !trail.contains("s3cr3t"));
    let found = std::process::Command::new("grep").args(["-rl", "s3cr3t"]).arg(scratch.path()).output().expect("grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "files with the password");
}

/// Tests that a stored password may change while servers run: it is read again when the server refuses the earlier one.
#[test]
fn a_password_that_was_changed_is_read_again() {
    let port = free_port();
    let prepare = |folder: &Path| {
        let rules = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
        crate::support::postgres::write_for_the_server(&folder.join("data/pg_hba.conf"), rules);
    };
    let Some(server) = Server::start_with(port, "-c listen_addresses=127.0.0.1 -c fsync=off", prepare) else { return };
    server.query("ALTER USER mcpkg PASSWORD 'first'");
    let kept = crate::support::folder();
    let write = |text: &str| crate::support::postgres::write_for_the_server(&kept.path().join("password"), text);
    let reads = kept.path().join("reads");
    write("first");
    for source in ["file", "command"] {
        let file = kept.path().join("password").display().to_string();
        let words = match source {
            "file" => file,
            _ => format!("sh -c 'echo x >> {}; cat {file}'", reads.display()).replace(' ', "%20").replace('\'', "%27"),
        };
        let scratch = Scratch::at(&format!("postgres://mcpkg@127.0.0.1:{port}/postgres?password={source}:{words}"));
        server.query("ALTER USER mcpkg PASSWORD 'first'");
        write("first");
        scratch.run(&["project", "create", "p"]);
        let mut client = crate::support::Client::start(&scratch, &["-p", "p"]).shake_hands("2025-06-18");
        assert!(client.result("prompts/list", serde_json::json!({})).is_object());
        server.query("ALTER USER mcpkg PASSWORD 'second'");
        write("second");
        server.end_connections("/postgres");
        crate::support::eventually("it is read again", || {
            client.request("prompts/list", serde_json::json!({}))["result"].is_object().then_some(())
        });
        let name = serde_json::json!({ "name": source, "content": "x" });
        crate::support::eventually("it is written again", || {
            (!client.call("create_prompt", name.clone()).1).then_some(())
        });
        client.finish();
    }
    // Each of the two processes reads the password when it starts, and once more after the change, but not for each
    // connection.
    let reads = std::fs::read_to_string(&reads).expect("the reads").lines().count();
    assert!((2..=5).contains(&reads), "it was read {reads} times");
}

#[test]
fn a_certificate_is_verified_wherever_tls_is_spoken() {
    let port = free_port();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let prepare = |folder: &Path| {
        for (name, text) in [("server.crt", made.cert.pem()), ("server.key", made.signing_key.serialize_pem())] {
            crate::support::postgres::write_for_the_server(&folder.join("data").join(name), &text);
        }
    };
    let Some(server) = Server::start_with(port, "-c listen_addresses=127.0.0.1 -c fsync=off -c ssl=on", prepare) else {
        return;
    };
    let address = |more: &str| format!("postgres://mcpkg@localhost:{port}/postgres?{more}");
    let unknown = Store::open(Path::new(&address("sslmode=verify-full"))).err().expect("it is refused");
    assert_eq!(unknown.code(), Code::Unavailable);
    assert!(unknown.message().contains("certificate"), "{}", unknown.message());
    let roots = server.folder().join("data/server.crt");
    let opened = Store::open(Path::new(&address(&format!("sslrootcert={}", roots.display())))).expect("it opens");
    drop(opened);
    // The server ends a process of its own a moment after its connection.
    let connected = "SELECT count(*) FROM pg_stat_ssl WHERE ssl";
    eventually("nobody is connected any more", || (server.query(connected) == "0\n").then_some(()));
    let other = address(&format!("sslrootcert={}", roots.display())).replace("localhost", "127.0.0.1");
    let other = Store::open(Path::new(&other)).err().expect("another name than the certificate's is refused");
    assert!(other.message().contains("certificate"), "{}", other.message());
    assert!(Store::open(Path::new(&address("sslmode=disable"))).is_ok());
}

#[test]
fn tables_and_schemas_of_others_are_left_alone() {
    let Some(world) = World::new() else { return };
    world.query("CREATE TABLE public.project (mine TEXT)");
    drop(world.open());
    assert_eq!(world.query("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"), "1\n");

    let Some(world) = World::new() else { return };
    world.query("CREATE SCHEMA mcpkg");
    world.query("CREATE TABLE mcpkg.project (mine TEXT)");
    let refused = Store::open(Path::new(&world.address)).err().expect("it is refused");
    assert_eq!(refused.code(), Code::ForeignDatabase);
    assert_eq!(world.query("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'mcpkg'"), "1\n");
}

#[test]
fn the_error_names_the_right_that_a_user_lacks() {
    let Some(world) = World::new() else { return };
    let name = format!("u{}", uuid::Uuid::new_v4().simple());
    world.query(&format!("CREATE ROLE {name} LOGIN"));
    let address = world.address.replace("mcpkg@", &format!("{name}@"));
    let refused = Store::open(Path::new(&address)).err().expect("it is refused");
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.message().contains("permission denied for database"), "{}", refused.message());
    drop(world.open());
    let refused = Store::open(Path::new(&address)).err().expect("it is refused");
    assert!(refused.message().contains("permission denied for"), "{}", refused.message());
    world.query(&format!("DROP ROLE {name}"));
}

#[test]
fn a_test_reads_and_changes_the_database_at_its_address() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::at(&format!("{}?pool_timeout=60", world.address));
    scratch.ok(&["project", "create", "p"]);
    let bytes = scratch.in_sql(b"\x01\xff");
    let insert = format!("INSERT INTO setting (key, value) VALUES ('of_test', encode({bytes}, 'hex'))");
    assert_eq!(scratch.change(&insert), 1);
    assert_eq!(scratch.column("SELECT value FROM setting WHERE key = 'of_test'"), ["01ff"]);
    assert!(scratch.bytes().starts_with(b"SQLite format 3"), "it is a backup");
    assert!(!scratch.path().join("test.db").exists());
}
