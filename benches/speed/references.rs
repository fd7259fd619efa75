//! What mcpkg is compared with: blocking loops that do the least one can, a handler of axum, and SQLite's library.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use axum::serve::ListenerExt;
use mcpkg::clock::Clock;
use mcpkg::store::Store;
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use serde_json::{json, value::RawValue};
use tokio::net::TcpListener;

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

/// Answers each POST with the content of `file`, as a handler of axum that reads its body; prints its address.
pub fn handler(file: &Path) {
    let answer = Bytes::from(std::fs::read(file).expect("the answer to give can be read"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("{}", json!({ "address": listener.local_addr().expect("an address").to_string() }));
        let handle = async move |_: Bytes| ([(CONTENT_TYPE, "application/json")], answer);
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("no delay"));
        axum::serve(listener, Router::new().route("/mcp", post(handle))).await.expect("it serves");
    });
}

/// Writes every file below `from` below `to`, at the same place: beside it, synced, renamed; at last the folders.
pub fn write(from: &Path, to: &Path) {
    let mut folders = vec![from.to_owned()];
    let mut written = Vec::new();
    while let Some(next) = folders.pop() {
        let folder = to.join(next.strip_prefix(from).expect("a folder below"));
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for entry in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry")) {
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path());
                continue;
            }
            let bytes = std::fs::read(entry.path()).expect("a file");
            let place = folder.join(entry.file_name());
            let beside = place.with_extension("new");
            let mut file = File::create_new(&beside).expect("a new file");
            file.write_all(&bytes).and_then(|()| file.sync_data()).expect("the bytes are written");
            std::fs::rename(&beside, &place).expect("a rename");
        }
        written.push(folder);
    }
    for folder in written {
        File::open(&folder).and_then(|folder| folder.sync_all()).expect("the folder is synced");
    }
}

/// Answers each create_prompt: parses it, writes its rows in one transaction, says so.
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

/// SQLite's own library on a database, in this process.
pub struct Library(Connection);

impl Library {
    /// Opens the database for reading.
    pub fn open(database: &Path) -> Self {
        Self(Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the database opens"))
    }

    /// Runs the query behind search_content of [`data::WORD`], reads what it gives, and returns how many rows those are.
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

/// Hands each line of the input to `answer`, without any buffer of the standard library between.
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
