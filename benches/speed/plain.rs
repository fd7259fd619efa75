//! Implements plain programs on PostgreSQL, which are the references for mcpkg on PostgreSQL.

use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::available_parallelism;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use axum::serve::ListenerExt;
use mcpkg_base::clock::Clock;
use mcpkg_store::Store;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type};
use postgres::{Client, NoTls, Statement};
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::task::block_in_place;

use crate::data;

/// For each POST, runs the statements in `plan` on a connection from a pool, and answers with the content of `answer`.
/// The pool has as many connections as mcpkg uses for reads.
pub fn statements(address: &str, plan: &Path, answer: &Path) {
    let read = |file: &Path| std::fs::read(file).expect("the file can be read");
    let plan: Vec<Json> = serde_json::from_slice(&read(plan)).expect("statements");
    let answer = Bytes::from(read(answer));
    let size = available_parallelism().map_or(2, |processors| processors.get().clamp(2, 8));
    let pool = Arc::new(Pool::new((0..size).map(|_| Planned::new(address, &plan)).collect()));
    serve(move |_| {
        pool.with(Planned::run);
        answer.clone()
    });
}

/// Answers POSTs that call create_prompt: writes the prompt's rows in one transaction through mcpkg's store, and
/// returns mcpkg's answer.
pub fn hand(address: &str) {
    let store = Store::open(Path::new(address)).expect("the database opens");
    let clock = Clock::system();
    serve(move |body| {
        let call: Json = serde_json::from_slice(&body).expect("the call can be parsed");
        let of = |field: &str| call["params"]["arguments"][field].as_str().expect("an argument").to_owned();
        let (name, content) = (of("name"), of("content"));
        let project = data::create(&store, &clock, &name, None, &content).expect("the prompt can be written");
        let text = format!("Created prompt '{name}' in project '{project}'");
        let result = json!({ "content": [{ "type": "text", "text": text }], "isError": false });
        json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }).to_string().into()
    });
}

/// Listens for commits. After each notification, reads the new events and writes one line for each.
pub fn listen(address: &str) {
    let mut client = connect(address);
    client.batch_execute("LISTEN mcpkg").expect("it listens");
    let news =
        client.prepare("SELECT seq, at, actor, project, kind, subject, outcome FROM event WHERE seq > $1 ORDER BY seq");
    let news = news.expect("the statement is prepared");
    let mut last: i64 = client.query_one("SELECT coalesce(max(seq), 0) FROM event", &[]).expect("a row").get(0);
    let mut output = std::io::stdout();
    writeln!(output, "{}", json!({ "jsonrpc": "2.0", "method": "ready" })).expect("a line");
    loop {
        client.notifications().blocking_iter().next().expect("the connection lasts");
        for row in client.query(&news, &[&last]).expect("rows") {
            last = row.get(0);
            let told = json!({ "subject": row.get::<_, String>(5) });
            writeln!(output, "{}", json!({ "jsonrpc": "2.0", "method": "changed", "params": told })).expect("a line");
        }
    }
}

/// Connects to the schema of mcpkg.
fn connect(address: &str) -> Client {
    let mut config: postgres::Config = address.parse().expect("an address");
    config.options("-c search_path=mcpkg").connect(NoTls).expect("the server takes a connection")
}

/// Calls `answer` with the body of each POST, and returns the result to the client. First prints the address.
fn serve(answer: impl Fn(Bytes) -> Bytes + Clone + Send + Sync + 'static) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("{}", json!({ "address": listener.local_addr().expect("an address").to_string() }));
        let handle = async move |body: Bytes| ([(CONTENT_TYPE, "application/json")], block_in_place(|| answer(body)));
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("no delay"));
        axum::serve(listener, Router::new().route("/mcp", post(handle))).await.expect("it serves");
    });
}

/// A pool of connections.
struct Pool {
    free: Mutex<Vec<Planned>>,
    given_back: Condvar,
}

impl Pool {
    fn new(connections: Vec<Planned>) -> Self {
        Self { free: Mutex::new(connections), given_back: Condvar::new() }
    }

    fn with(&self, f: impl FnOnce(&mut Planned)) {
        let mut free = self.free.lock().expect("the pool");
        let mut connection = loop {
            match free.pop() {
                Some(connection) => break connection,
                None => free = self.given_back.wait(free).expect("the pool"),
            }
        };
        drop(free);
        f(&mut connection);
        self.free.lock().expect("the pool").push(connection);
        self.given_back.notify_one();
    }
}

/// A connection and the statements to run on it.
struct Planned {
    client: Client,
    plan: Vec<Step>,
}

enum Step {
    Prepared(Statement, Vec<Parameter>),
    Text(String),
}

impl Planned {
    fn new(address: &str, plan: &[Json]) -> Self {
        let mut client = connect(address);
        let step = |step: &Json| {
            let sql = step["sql"].as_str().expect("a statement");
            if step["prepared"] == false {
                return Step::Text(sql.to_owned());
            }
            let parameters = step["parameters"].as_array().expect("parameters").iter();
            let parameters = parameters.map(|value| Parameter(value.as_str().map(str::to_owned))).collect();
            Step::Prepared(client.prepare(sql).expect("the statement is prepared"), parameters)
        };
        let plan = plan.iter().map(step).collect();
        Self { client, plan }
    }

    fn run(&mut self) {
        for step in &self.plan {
            match step {
                Step::Text(text) => self.client.batch_execute(text).expect("it runs"),
                Step::Prepared(statement, parameters) => {
                    let bound: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|one| one as _).collect();
                    self.client.query(statement, &bound).expect("it runs");
                }
            }
        }
    }
}

/// A value as PostgreSQL's log writes it; `None` is NULL.
#[derive(Debug)]
struct Parameter(Option<String>);

impl ToSql for Parameter {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        match *ty {
            Type::INT8 => text.parse::<i64>()?.to_sql(ty, out),
            Type::INT4 => text.parse::<i32>()?.to_sql(ty, out),
            Type::FLOAT8 => text.parse::<f64>()?.to_sql(ty, out),
            Type::TEXT => text.to_sql(ty, out),
            _ => Err(format!("a parameter of the type {ty}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    postgres::types::to_sql_checked!();
}
