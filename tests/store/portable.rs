//! Each statement of the table files is taken by PostgreSQL too.
//!
//! How a new statement comes in without anybody remembering it: [`mcpkg::store`]'s `Db` takes no text but what the macro
//! `sql!` made, and this test finds each `sql!` in the sources. One that it cannot put together fails the test. What only
//! SQLite takes is made with `sqlite_sql!`, which stands in `store/engine/sqlite/` alone.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::support::postgres::Server;

/// A statement, and where it stands.
struct Statement {
    place: String,
    text: String,
}

/// The macros without arguments that stand for a piece of a statement, by file and name, and the calls of `sql!`.
#[derive(Default)]
struct Found {
    pieces: HashMap<(String, String), TokenStream>,
    calls: Vec<(String, usize, TokenStream)>,
}

fn store() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store")
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

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

impl Found {
    fn read(&mut self, file: &str, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Ident(name) if name == "macro_rules" && is_punct(tokens.get(at), '!') => {
                    let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(rules))) =
                        (tokens.get(at + 1), tokens.get(at + 2))
                    else {
                        panic!("{file}: a macro that cannot be read");
                    };
                    let rules: Vec<TokenTree> = rules.stream().into_iter().collect();
                    if let [TokenTree::Group(arguments), _, _, TokenTree::Group(body), ..] = &rules[..]
                        && arguments.stream().is_empty()
                    {
                        self.pieces.insert((file.to_owned(), name.to_string()), body.stream());
                    }
                    at += 3;
                }
                TokenTree::Ident(name) if name == "sql" && is_punct(tokens.get(at), '!') => {
                    let Some(TokenTree::Group(call)) = tokens.get(at + 1) else { continue };
                    self.calls.push((file.to_owned(), name.span().start().line, call.stream()));
                    at += 2;
                }
                TokenTree::Group(group) if group.delimiter() != Delimiter::None || !group.stream().is_empty() => {
                    self.read(file, group.stream());
                }
                _ => {}
            }
        }
    }

    /// Puts the pieces together that stand between commas.
    fn text(&self, file: &str, pieces: TokenStream) -> String {
        let pieces: Vec<TokenTree> = pieces.into_iter().collect();
        let pieces = pieces.split(|token| is_punct(Some(token), ',')).filter(|piece| !piece.is_empty());
        pieces.map(|piece| self.piece(file, piece)).collect()
    }

    fn piece(&self, file: &str, piece: &[TokenTree]) -> String {
        match piece {
            [TokenTree::Literal(literal)] => {
                let parsed: syn::LitStr = syn::parse_str(&literal.to_string()).expect("a string");
                parsed.value()
            }
            [.., TokenTree::Ident(name), bang, TokenTree::Group(arguments)] if is_punct(Some(bang), '!') => {
                if name == "concat" {
                    return self.text(file, arguments.stream());
                }
                assert!(arguments.stream().is_empty(), "{file}: `{name}!` has arguments");
                let (file, body) = self.named(file, &name.to_string());
                self.text(file, body)
            }
            _ => panic!("{file}: a piece of a statement that cannot be read: {piece:?}"),
        }
    }

    /// Returns the macro `name` of a file, else the one of that name that there is.
    fn named<'f>(&'f self, file: &'f str, name: &str) -> (&'f str, TokenStream) {
        if let Some(body) = self.pieces.get(&(file.to_owned(), name.to_owned())) {
            return (file, body.clone());
        }
        let mut found = self.pieces.iter().filter(|((_, other), _)| other == name);
        let ((file, _), body) = found.next().unwrap_or_else(|| panic!("{file}: no macro `{name}!` was found"));
        assert!(found.next().is_none(), "two files have a macro `{name}!`");
        (file, body.clone())
    }
}

fn statements() -> Vec<Statement> {
    let mut found = Found::default();
    for (file, text) in sources() {
        found.read(&file, text.parse().unwrap_or_else(|error| panic!("{file}: {error}")));
    }
    let calls = found.calls.iter();
    let statements = calls.map(|(file, line, pieces)| Statement {
        place: format!("src/store/{file}:{line}"),
        text: found.text(file, pieces.clone()),
    });
    statements.collect()
}

/// Writes a statement as PostgreSQL has it: `?N` is `$N`, and a hint to SQLite's planner is left out. Nothing else
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
        let own = text.contains("sqlite_sql!");
        match file.as_str() {
            "engine/sql.rs" | "engine/sqlite/mod.rs" => assert_eq!(makes, 1, "{file}: the macro alone"),
            _ => assert_eq!(makes, 0, "{file} makes a statement without `sql!`"),
        }
        assert!(!own || file.starts_with("engine/sqlite/"), "{file} makes a statement that only SQLite takes");
    }
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
    // The test would see one that is refused.
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
    let own = |name: &&str| name.starts_with("search.") || *name == "revision.rowid";
    let of_postgresql: Vec<&str> = listed.lines().filter(|name| !own(name)).collect();

    let scratch = crate::support::Scratch::new();
    drop(mcpkg::store::Store::open(&scratch.db()).expect("a database"));
    let connection = rusqlite::Connection::open(scratch.db()).expect("the file");
    let sql = "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
                WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'search%'
                  AND m.name <> 'refinery_schema_history'";
    let mut statement = connection.prepare(sql).expect("a query");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    let mut of_sqlite: Vec<String> = rows.map(|row| row.expect("a name")).collect();
    of_sqlite.sort_unstable();
    assert_eq!(of_postgresql, of_sqlite);
}

#[test]
fn a_constraint_that_decides_is_there_on_both_engines() {
    // A `Unique` names its table and columns; SQLite's answer names them too, PostgreSQL's the constraint.
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
