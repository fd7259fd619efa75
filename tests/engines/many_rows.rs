//! Tests of queries with many rows, which are fetched in batches.

use std::path::Path;

use mcpkg_base::clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::page::Page;
use mcpkg_store::projects::Selection;
use mcpkg_store::{Db, Store, items, resources};

use super::{AUTHOR, project};
use crate::support::postgres::Server;

/// The number of rows. It is more than a batch, and not a multiple of one.
const ROWS: usize = 2_500;

/// A server that logs each statement, and a database with many resources.
struct World {
    server: Server,
    store: Store,
}

impl World {
    fn new() -> Option<Self> {
        // Background work of the server would change the version of the database.
        let options = "-c listen_addresses= -c fsync=off -c log_statement=all -c autovacuum=off";
        let server = Server::start_with(5432, options, |_| {})?;
        let address = server.database();
        let store = Store::open(Path::new(&address)).expect("it opens");
        let project = project(&store);
        let attributes = resources::Attributes {
            uri: "note:0".to_owned(),
            description: None,
            mime_type: None,
            text: true,
            executable: false,
        };
        let ids = items::Ids { uuid: clock::unique(), indexed: None };
        let content = "text".to_owned().into_bytes().into();
        let put = store.write(|db| resources::insert(db, AUTHOR, &project, ids, "r00000", attributes, &content));
        put.expect("a resource");
        server.query_of(
            &address,
            &format!(
                "INSERT INTO mcpkg.resource (uuid, project_id, name, uri, text, blob_id, revision, created_at, updated_at)
                 SELECT uuid_send(gen_random_uuid()), project_id, 'r' || lpad(n::text, 5, '0'), 'note:' || n, text, blob_id,
                        revision, created_at, updated_at FROM mcpkg.resource, generate_series(1, {}) n",
                ROWS - 1
            ),
        );
        Some(Self { server, store })
    }

    /// Runs `f`. Returns how many batches it fetched, and its other statements.
    fn told(&self, f: impl FnOnce()) -> (usize, Vec<String>) {
        let log = || std::fs::read_to_string(self.server.folder().join("log")).expect("the server's log");
        let before = log().len();
        f();
        let log = log()[before..].to_owned();
        let told = log.lines().filter_map(|line| line.split_once("LOG:  ")).map(|(_, told)| told.to_owned());
        let (fetched, others): (Vec<_>, Vec<_>) = told.partition(|told| told.contains(": FETCH 1000 FROM "));
        (fetched.len(), others)
    }
}

/// Returns the names of the resources on a page, and calls `also` after each row with the number of rows.
fn names(db: &Db<'_>, page: &Page, mut also: impl FnMut(usize) -> Result<()>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    resources::each(db, &Selection::default(), page, |line| {
        names.push(String::from_utf8_lossy(line.name).into_owned());
        also(names.len())
    })?;
    Ok(names)
}

#[test]
fn rows_of_a_long_list_are_fetched_in_batches() {
    let Some(world) = World::new() else { return };
    let wanted: Vec<String> = (0..ROWS).map(|n| format!("r{n:05}")).collect();
    let nothing = |_| Ok(());
    let (fetched, told) = world.told(|| {
        let read = world.store.read(|db| names(db, &Page::all(), nothing)).expect("a list");
        assert_eq!(read, wanted, "in a transaction");
    });
    assert_eq!(fetched, 3, "{told:?}");

    // The callback may read something else, and may cancel the query.
    let (fetched, told) = world.told(|| {
        let gives_up = world.store.read(|db| {
            names(db, &Page::all(), |seen| {
                assert!(mcpkg_store::projects::is_any(db)?);
                if seen == 1_200 { Err(Error::new(Code::Cancelled, "given up")) } else { Ok(()) }
            })
        });
        assert_eq!(gives_up.expect_err("it gives up").code(), Code::Cancelled);
    });
    assert_eq!(fetched, 2, "{told:?}");

    // A single statement becomes a transaction, and reports the version that it saw.
    let reader = world.store.reader().expect("a reader");
    let (fetched, told) = world.told(|| {
        let (read, version) = reader.telling(|| reader.statement(|db| names(db, &Page::all(), nothing)));
        assert_eq!(read.expect("a list"), wanted, "in none");
        assert_eq!(version, Some(reader.version().expect("a version")));
    });
    assert_eq!(fetched, 3, "{told:?}");
}

#[test]
fn a_short_list_is_one_round_trip_and_is_prepared_when_it_is_asked_for_again() {
    let Some(world) = World::new() else { return };
    let reader = world.store.reader().expect("a reader");
    for how in ["execute <unnamed>: SELECT", "execute s", "execute s"] {
        let (fetched, told) = world.told(|| {
            let read = reader.statement(|db| names(db, &Page::first(100), |_| Ok(()))).expect("a page");
            assert_eq!(read.len(), 100);
        });
        let executed: Vec<&String> = told.iter().filter(|told| told.starts_with("execute")).collect();
        assert!(fetched == 0 && matches!(executed[..], [one] if one.starts_with(how)), "{how}: {told:?}");
    }
}
