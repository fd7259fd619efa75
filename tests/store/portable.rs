//! Tests that PostgreSQL accepts every statement of the store, and that both engines have the same tables.
//!
//! New statements are included automatically: [`mcpkg_store`]'s `Db` accepts only texts from the macro `sql!`, and this
//! test finds each `sql!` in the sources. It fails if it cannot put one together. Statements for one engine only are
//! made with `sqlite_sql!` or `postgres_sql!`, and only in the folder of that engine.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::support::postgres::Server;

/// A statement, and its place in the sources.
struct Statement {
    place: String,
    text: String,
}

/// The macros without arguments that contain a piece of a statement, by file and name.
type Pieces = HashMap<(String, String), String>;

fn store() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/src")
}

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&entry).expect("a source");
                let name = entry.strip_prefix(store()).expect("a file of the store");
                found.push((name.to_string_lossy().replace('\\', "/"), text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&store(), &mut found);
    found.sort();
    found
}

/// Returns the offset after the closing bracket of the group that begins `text`.
fn end_of_group(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match text.as_bytes()[at] {
            b'"' => at += end_of_string(&text[at..]) - 1,
            b'(' | b'{' => depth += 1,
            b')' | b'}' if depth == 1 => return at + 1,
            b')' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    panic!("a bracket is not closed: {text}");
}

/// Returns the offset after the closing quote of the string literal that begins `text`.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    panic!("a string is not closed: {text}");
}

/// Returns the value of a string literal. The only escape in statements is a backslash at the end of a line.
fn unescaped(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let mut text = lines.next().unwrap_or_default().to_owned();
    lines.for_each(|line| text.push_str(line.trim_start()));
    assert!(!text.contains('\\'), "a statement with an escape: {literal}");
    text
}

fn pieces_of(file: &str, source: &str, pieces: &mut Pieces) {
    for (at, _) in source.match_indices("macro_rules! ") {
        let Some((name, rules)) = source[at + "macro_rules! ".len()..].split_once(" {") else { continue };
        let Some(body) = rules.trim_start().strip_prefix("() => {") else { continue };
        let body = &body[..end_of_group(&format!("{{{body}")) - 2];
        pieces.insert((file.to_owned(), name.to_owned()), body.to_owned());
    }
}

/// Joins the comma-separated parts of `source`: string literals, and the texts of macros.
fn text_of(file: &str, source: &str, pieces: &Pieces) -> String {
    let mut text = String::new();
    let mut rest = source.trim_start();
    while !rest.is_empty() {
        let end = if rest.starts_with('"') {
            let end = end_of_string(rest);
            text.push_str(&unescaped(&rest[1..end - 1]));
            end
        } else {
            let (name, arguments) = rest.split_once('!').unwrap_or_else(|| panic!("{file}: cannot be read: {rest}"));
            assert!(name.chars().all(|c| c.is_alphanumeric() || "_:".contains(c)), "{file}: cannot be read: {rest}");
            let end = end_of_group(arguments);
            if name == "concat" {
                text.push_str(&text_of(file, &arguments[1..end - 1], pieces));
            } else {
                assert_eq!(&arguments[..end], "()", "{file}: `{name}!` has arguments");
                let (file, body) = named(file, name.rsplit(':').next().unwrap_or_default(), pieces);
                text.push_str(&text_of(file, body, pieces));
            }
            name.len() + 1 + end
        };
        rest = rest[end..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    text
}

/// Returns the file and the text of the macro `name`: the one in this file, or else the only one in another file.
fn named<'p>(file: &str, name: &str, pieces: &'p Pieces) -> (&'p str, &'p str) {
    let own = pieces.get_key_value(&(file.to_owned(), name.to_owned()));
    let mut others = pieces.iter().filter(|((_, other), _)| other == name);
    let ((file, _), body) =
        own.or_else(|| others.next()).unwrap_or_else(|| panic!("{file}: no macro `{name}!` was found"));
    assert!(own.is_some() || others.next().is_none(), "two files have a macro `{name}!`");
    (file, body)
}

fn statements() -> Vec<Statement> {
    // Comments contain unmatched brackets and quotes, so empty them. Keep their lines.
    let shipped = |text: &str| -> String {
        let lines = text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
        lines.collect::<Vec<_>>().join("\n")
    };
    let sources: Vec<(String, String)> = sources().into_iter().map(|(file, text)| (file, shipped(&text))).collect();
    let mut pieces = Pieces::new();
    sources.iter().for_each(|(file, text)| pieces_of(file, text, &mut pieces));
    let mut statements = Vec::new();
    for (file, source) in &sources {
        for (at, _) in source.match_indices("sql!(") {
            if source[..at].ends_with('_') {
                continue;
            }
            let call = &source[at + "sql!".len()..];
            let line = source[..at].matches('\n').count() + 1;
            statements.push(Statement {
                place: format!("crates/store/src/{file}:{line}"),
                text: text_of(file, &call[1..end_of_group(call) - 1], &pieces),
            });
        }
    }
    statements
}

/// Translates a statement for PostgreSQL: `?N` becomes `$N`, and a hint to SQLite's planner is removed. Nothing else
/// differs.
fn translated(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len());
    let mut quoted = false;
    for c in sql.chars() {
        quoted ^= c == '\'';
        translated.push(if c == '?' && !quoted { '$' } else { c });
    }
    translated.replace(" INDEXED BY prompt_skill", "")
}

#[test]
fn a_statement_is_made_in_one_way() {
    for (file, text) in sources() {
        let makes = text.matches("Sql::new(").count();
        let engine = ["sqlite", "postgres"].into_iter().find(|engine| text.contains(&format!("{engine}_sql!")));
        match file.as_str() {
            "engine/sql.rs" | "engine/sqlite/rows.rs" | "engine/postgres/sql.rs" => {
                assert_eq!(makes, 1, "{file}: the macro alone")
            }
            _ => assert_eq!(makes, 0, "{file} makes a statement without `sql!`"),
        }
        let is_home = engine.is_none_or(|engine| file.starts_with(&format!("engine/{engine}/")));
        assert!(is_home, "{file} makes a statement that only {engine:?} takes");
    }
}

/// Returns the columns of queries whose type mcpkg cannot read from a row. For example, a sum of integers is NUMERIC in
/// PostgreSQL, but an integer in SQLite.
fn of_other_types(server: &Server, statements: &[Statement]) -> Vec<String> {
    use postgres::types::Type;
    let read = [Type::INT8, Type::INT4, Type::BOOL, Type::FLOAT8, Type::BYTEA, Type::TEXT, Type::VARCHAR];
    let address = server.address("mcpkg", "postgres");
    let mut client = postgres::Client::connect(&address, postgres::NoTls).expect("the server");
    let mut others = Vec::new();
    for statement in statements {
        let prepared = client.prepare(&translated(&statement.text)).expect("it was prepared before");
        let unread = prepared.columns().iter().filter(|column| !read.contains(column.type_()));
        others.extend(unread.map(|column| format!("{}: {} is {}", statement.place, column.name(), column.type_())));
    }
    others
}

#[test]
fn every_statement_is_prepared_by_postgresql() {
    let statements = statements();
    assert!(statements.len() > 100, "{} statements were found", statements.len());
    let Some(server) = Server::start() else { return };
    server.migrate();
    let script: String = statements
        .iter()
        .enumerate()
        .map(|(n, statement)| format!("PREPARE s{n} AS {};\n", translated(&statement.text).replace('\n', " ")))
        .collect();
    let refused: Vec<String> = server
        .errors(&script)
        .into_iter()
        .map(|(line, error)| {
            let statement = &statements[line - 1];
            format!("{}: {error}\n  {}", statement.place, translated(&statement.text))
        })
        .collect();
    assert!(refused.is_empty(), "PostgreSQL refuses:\n{}", refused.join("\n"));
    let others =
        std::thread::scope(|scope| scope.spawn(|| of_other_types(&server, &statements)).join().expect("an end"));
    assert!(others.is_empty(), "a column has a type that rows do not read; cast it:\n{}", others.join("\n"));
    // Check that the test detects a statement that is refused.
    assert_eq!(server.errors("SELECT 1;\nPREPARE bad AS SELECT rowid FROM prompt;\n").len(), 1);
}

#[test]
fn both_engines_have_the_same_tables_and_columns() {
    let Some(server) = Server::start() else { return };
    server.migrate();
    let listed = server.query(
        "SELECT table_name || '.' || column_name FROM information_schema.columns
          WHERE table_schema = 'public' ORDER BY 1",
    );
    let own =
        |name: &&str| name.starts_with("search.") || name.starts_with("tool_search.") || *name == "revision.rowid";
    let of_postgresql: Vec<&str> = listed.lines().filter(|name| !own(name)).collect();

    let scratch = crate::support::Scratch::new();
    let file = scratch.path().join("file.db");
    drop(mcpkg_store::Store::open(&file).expect("a database"));
    let connection = rusqlite::Connection::open(file).expect("the file");
    let sql = "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'search%'
                  AND m.name NOT LIKE 'tool_search%'
                  AND m.name <> 'refinery_schema_history'";
    let mut statement = connection.prepare(sql).expect("a query");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    let mut of_sqlite: Vec<String> = rows.map(|row| row.expect("a name")).collect();
    of_sqlite.sort_unstable();
    assert_eq!(of_postgresql, of_sqlite);
}

#[test]
fn both_engines_have_the_constraints_that_code_depends_on() {
    // A `Unique` names its table and columns. SQLite's error names them too, but PostgreSQL's error names the
    // constraint.
    let mut named = BTreeMap::new();
    for (file, text) in sources() {
        for declared in text.split("Unique::new(\"").skip(1) {
            let (table, rest) = declared.split_once('"').expect("a table");
            let columns = rest.split(']').next().unwrap_or_default();
            let columns: Vec<&str> = columns.split('"').skip(1).step_by(2).collect();
            named.insert(format!("{table}({})", columns.join(", ")), file.clone());
        }
    }
    assert!(named.len() > 4);
    let Some(server) = Server::start() else { return };
    server.migrate();
    let there = server.query(
        "SELECT conrelid::regclass || substring(pg_get_constraintdef(oid) from '\\(.*\\)') FROM pg_constraint
          WHERE contype IN ('u', 'p')",
    );
    for (unique, file) in named {
        assert!(there.lines().any(|line| line == unique), "{file}: PostgreSQL has no constraint {unique}");
    }
}
