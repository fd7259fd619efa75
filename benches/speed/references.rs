//! Implements most of the programs that mcpkg's speed is compared with: blocking loops that do as little as possible,
//! an axum handler, and SQLite's library.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use mcpkg_base::clock::Clock;
use mcpkg_store::Store;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use xxhash_rust::xxh3::xxh3_64;

use crate::data;

/// Answers each line with itself.
pub fn echo() {
    lines(|line, output| output.write_all(line));
}

/// Answers each line with the content of `file`.
pub fn replay(file: &Path) {
    let answer = std::fs::read(file).expect("the answer to replay can be read");
    lines(|_, output| output.write_all(&answer));
}

/// Prints its address, and then answers each POST to `/mcp`, and each GET of `/things/...` and `/download`, with the
/// content of `file`. This is an axum handler; it reads the whole body of a POST.
pub fn handler(file: &Path) {
    let answer = Bytes::from(std::fs::read(file).expect("the answer to give can be read"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("{}", json!({ "address": listener.local_addr().expect("an address").to_string() }));
        let whole = answer.clone();
        let handle = async move |_: Bytes| ([(CONTENT_TYPE, "application/json")], answer);
        let thing = whole.clone();
        let one = async move || ([(CONTENT_TYPE, "application/json")], thing);
        let download = async move || ([(CONTENT_TYPE, "application/gzip")], whole);
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("no delay"));
        let routes = Router::new().route("/mcp", post(handle)).route("/things/{thing}", get(one));
        let routes = routes.route("/download", get(download));
        axum::serve(listener, routes).await.expect("it serves");
    });
}

/// The tables of [`write`].
const JOURNAL: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE content (id INTEGER PRIMARY KEY, sha256 BLOB NOT NULL UNIQUE, bytes BLOB NOT NULL);
    CREATE TABLE journal (path TEXT NOT NULL, content INTEGER NOT NULL);
    CREATE TABLE deployed (path TEXT PRIMARY KEY, content INTEGER NOT NULL);
    CREATE TABLE state (ended INTEGER NOT NULL);
    INSERT INTO state VALUES (1);";

/// Makes the database that [`write`] needs.
pub fn make_journal(database: &Path) {
    let made = Connection::open(database).and_then(|connection| connection.execute_batch(JOURNAL));
    made.expect("the journal can be made");
}

/// Copies every file below `from` to the same place below `to`: all of them or, after a power loss, none. This needs
/// the same I/O as a deploy, in the same order. First stores the contents and a journal in one transaction, in a
/// database that [`make_journal`] made. Then writes all files under temporary names and syncs them with 16 threads,
/// moves them into place, and syncs the folders. Finally a transaction records the files and ends the journal.
pub fn write(from: &Path, to: &Path, database: &Path) {
    let mut connection = Connection::open(database).expect("the database opens");
    connection.execute_batch("PRAGMA synchronous = FULL").expect("the setting");
    let (mut folders, mut made, mut files) = (vec![from.to_owned()], Vec::new(), Vec::new());
    while let Some(next) = folders.pop() {
        let folder = to.join(next.strip_prefix(from).expect("a folder below"));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for entry in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry")) {
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
            } else {
                files.push((entry.path(), folder.join(entry.file_name())));
            }
        }
        made.push(folder);
    }
    let contents: Vec<Vec<u8>> = files.iter().map(|(from, _)| std::fs::read(from).expect("a file")).collect();
    let path = |place: &Path| place.to_str().expect("a plain path").to_owned();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
    let mut ids: Vec<i64> = Vec::new();
    {
        let mut content = transaction
            .prepare(
                "INSERT INTO content (sha256, bytes) VALUES (?1, ?2) ON CONFLICT (sha256) DO UPDATE SET sha256 = sha256
                 RETURNING id",
            )
            .expect("a statement");
        let mut journal = transaction.prepare("INSERT INTO journal VALUES (?1, ?2)").expect("a statement");
        for ((_, place), bytes) in files.iter().zip(&contents) {
            let id = content.query_row(params![&Sha256::digest(bytes)[..], bytes], |row| row.get(0)).expect("a row");
            journal.execute(params![path(place), id]).expect("a row");
            ids.push(id);
        }
    }
    transaction.execute("UPDATE state SET ended = 0", []).expect("a row");
    transaction.commit().expect("it is committed");
    sync_each(files.iter().zip(&contents).map(|((_, place), bytes)| {
        let mut file = File::create_new(place.with_extension("new")).expect("a new file");
        file.write_all(bytes).expect("the bytes are written");
        file
    }));
    for (_, place) in &files {
        let beside = place.with_extension("new");
        std::fs::hard_link(&beside, place).and_then(|()| std::fs::remove_file(&beside)).expect("it is put in place");
    }
    sync_each(made.iter().map(|folder| File::open(folder).expect("the folder opens")));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
    {
        let mut deployed = transaction.prepare("INSERT INTO deployed VALUES (?1, ?2)").expect("a statement");
        for ((_, place), id) in files.iter().zip(ids) {
            deployed.execute(params![path(place), id]).expect("a row");
        }
    }
    transaction.execute("UPDATE state SET ended = 1", []).expect("a row");
    transaction.commit().expect("it is committed");
}

/// Syncs files with 16 threads. Each file is synced as soon as the iterator returns it.
fn sync_each(files: impl Iterator<Item = File>) {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<File>(64);
    let receiver = std::sync::Mutex::new(receiver);
    let next = || receiver.lock().expect("no thread panics").recv();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let Ok(file) = next() {
                    file.sync_all().expect("it is synced");
                }
            });
        }
        files.for_each(|file| sender.send(file).expect("a thread takes it"));
        drop(sender);
    });
}

/// Imports every file below `folder` into the selected project of a database that mcpkg made. It hashes the files, and fills the
/// same tables and the same index as an import, with plain statements in one transaction.
pub fn take(folder: &Path, database: &Path) {
    let mut connection = Connection::open(database).expect("the database opens");
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON").expect("the settings");
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).expect("a transaction");
    let clock = Clock::system();
    let now = clock.now();
    {
        let prepare = |sql| transaction.prepare(sql).expect("the statement is prepared");
        let mut blob = prepare(
            "INSERT INTO blob (sha256, size, head, checksum) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (sha256) DO UPDATE SET size = size RETURNING id",
        );
        let mut resource = prepare(
            "INSERT INTO resource (uuid, project_id, name, uri, mime_type, text, blob_id, revision, created_at, updated_at)
             VALUES (?1, (SELECT project_id FROM selection), ?2, ?3, 'text/markdown', 1, ?4, 1, ?5, ?5)",
        );
        let mut revision = prepare(
            "INSERT INTO revision (project_id, kind, item, number, action, name, attributes, blob_id, actor, at)
             VALUES ((SELECT project_id FROM selection), 'resource', ?1, 1, 'create', ?2, ?3, ?4, 'bench', ?5)",
        );
        let mut index =
            prepare("INSERT INTO search (rowid, project, name, description, body) VALUES (?1, 'p1', ?2, '', ?3)");
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry")) {
                if entry.file_type().expect("a type").is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let bytes = std::fs::read(entry.path()).expect("a file");
                let text = std::str::from_utf8(&bytes).expect("a text");
                let (size, sum) = (bytes.len() as i64, xxh3_64(&bytes).cast_signed());
                let blob: i64 = blob
                    .query_row(params![&Sha256::digest(&bytes)[..], size, bytes, sum], |row| row.get(0))
                    .expect("the content is written");
                let path = entry.path().strip_prefix(folder).expect("a file below").display().to_string();
                let (name, uri) = (path.replace('/', "."), format!("file:///{path}"));
                let uuid = clock.uuid();
                let item = params![uuid.as_bytes(), name, uri, blob, now];
                resource.execute(item).expect("the resource is written");
                let id = transaction.last_insert_rowid();
                let attributes = json!({ "uri": uri, "mime_type": "text/markdown", "text": true }).to_string();
                let kept = params![uuid.as_bytes(), name, attributes, blob, now];
                revision.execute(kept).expect("the revision is written");
                index.execute(params![2 * id + 1, name, text]).expect("the words are written");
            }
        }
        let event = "INSERT INTO event (at, actor, project, kind, subject, outcome)
                     VALUES (?1, 'bench', 'bench', 'import', '', 'ok')";
        transaction.execute(event, [now]).expect("the event is written");
    }
    transaction.commit().expect("the transaction is committed");
}

/// Answers each call of create_prompt: parses the call, writes the prompt's rows in one transaction, and reports
/// success.
pub fn hand(database: &Path) {
    let store = Store::open(database).expect("the database opens");
    let clock = Clock::system();
    lines(|line, output| {
        let call: Call<'_> = serde_json::from_slice(line).expect("the call can be parsed");
        let Arguments { name, description, content } = call.params.arguments;
        let created = data::create(&store, &clock, &name, description, &content);
        let project = created.expect("the prompt can be written");
        let id = call.id.get();
        let text = format!("Created prompt '{name}' in project '{project}'");
        let answer = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\
             \"isError\":false}}}}\n"
        );
        output.write_all(answer.as_bytes())
    });
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    arguments: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    name: String,
    description: Option<String>,
    content: String,
}

/// A connection to a database with SQLite's own library, in this process.
pub struct Library(Connection);

impl Library {
    /// Opens the database for reading.
    pub fn open(database: &Path) -> Self {
        Self(Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the database opens"))
    }

    /// Runs the query that a `search_content` for [`data::WORD`] uses, reads all rows of the result, and returns their
    /// number.
    pub fn search(&self) -> usize {
        let mut statement = self.0.prepare_cached(SEARCH).expect("the query is prepared");
        let query = format!("project : \"p1\" AND {{name description body}} : (\"{}\"*)", data::WORD);
        let rows = statement.query_map([query], |row| {
            let text = |column| row.get::<_, Option<String>>(column);
            Ok((text(0)?, text(1)?, text(2)?, text(3)?, text(4)?, row.get::<_, f64>(5)?, row.get::<_, i64>(6)?))
        });
        rows.expect("the query runs").inspect(|row| assert!(row.is_ok(), "a row")).count()
    }
}

const SEARCH: &str = "WITH hit AS MATERIALIZED (
    SELECT rowid AS id, bm25(search, 0, 10, 4, 1) AS badness FROM search
     WHERE search MATCH ?1 ORDER BY badness LIMIT 20)
  SELECT 'prompt', project.name, prompt.name, NULL, prompt.description, badness, prompt.blob_id
    FROM hit JOIN prompt ON prompt.id = hit.id / 2 JOIN project ON project.id = project_id
   WHERE hit.id % 2 = 0
  UNION ALL
  SELECT 'resource', project.name, resource.name, uri, resource.description, badness, resource.blob_id
    FROM hit JOIN resource ON resource.id = hit.id / 2 JOIN project ON project.id = project_id
   WHERE hit.id % 2 = 1
  ORDER BY badness, 2, 3";

/// Calls `answer` with each line of the input. Bypasses the buffers of the standard library.
fn lines(mut answer: impl FnMut(&[u8], &mut File) -> io::Result<()>) {
    let raw = |fd: io::Result<std::os::fd::OwnedFd>| File::from(fd.expect("a standard stream can be duplicated"));
    let mut input = raw(io::stdin().as_fd().try_clone_to_owned());
    let mut output = raw(io::stdout().as_fd().try_clone_to_owned());
    let mut buffer = vec![0; 64 << 10];
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(filled * 2, 0);
        }
        let read = input.read(&mut buffer[filled..]).expect("the input can be read");
        if read == 0 {
            return;
        }
        filled += read;
        let mut start = 0;
        while let Some(end) = buffer[start..filled].iter().position(|byte| *byte == b'\n') {
            let next = start + end + 1;
            answer(&buffer[start..next], &mut output).expect("the answer can be written");
            start = next;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
}
