//! Sends a million requests (a hundred thousand with `--quick`), and checks whether the server's memory grows. A busy
//! server gets a million in an hour.

use serde_json::{Value as Json, json};

use crate::data::{self, Data};
use crate::table::{Bar, Row, Table, Value};
use crate::web::{Connection, Web, in_session, stateless};

const CONNECTIONS: usize = 8;
const FIRST: usize = 10_000;
const MEMORY: &str = "resident after a million requests, against ten thousand";

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(data: &Data, quick: bool, table: &mut Table) {
    if !table.wants(MEMORY) {
        return;
    }
    let requests = if quick { 100_000 } else { 1_000_000 };
    let web = Web::serve(&data.usual());
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|n| Client::new(&web, n)).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.tell(n);
    }
    let mut first = 0;
    for n in CONNECTIONS..=requests {
        let client = &mut clients[n % CONNECTIONS];
        client.hear();
        client.tell(n);
        if n == FIRST {
            first = web.resident();
        }
        if n % (requests / 10) == 0 {
            let cpu = web.cpu().as_secs_f64() / n as f64 * 1e6;
            println!("after {n} requests: {}, {cpu:.0} us of CPU each", Value::Memory(web.resident()));
        }
    }
    clients.iter_mut().for_each(Client::hear);
    table.push(Row {
        what: MEMORY.to_owned(),
        ours: Value::Memory(web.resident()),
        off: None,
        reference: Some(Value::Memory(first)),
        bar: Bar::Times(1.2),
    });
}

/// A client with one request in flight. Every second client uses a session.
struct Client {
    connection: Connection,
    session: Option<String>,
    expected: &'static [u8],
}

impl Client {
    fn new(web: &Web, n: usize) -> Self {
        let mut connection = web.connect();
        let session = (n % 2 == 1).then(|| connection.session());
        Self { connection, session, expected: b"" }
    }

    /// Sends request `n`.
    fn tell(&mut self, n: usize) {
        let (method, parameters, expected) = request(n);
        let request = match &self.session {
            None => stateless(method, parameters),
            Some(session) => in_session(session, method, parameters),
        };
        self.expected = expected;
        self.connection.tell(&request).expect("the server takes a request");
    }

    fn hear(&mut self) {
        let answer = self.connection.answer().expect("an answer");
        let right = answer.status == 200 && memchr::memmem::find(answer.body, self.expected).is_some();
        assert!(right, "{} {}", answer.status, String::from_utf8_lossy(answer.body));
    }
}

/// Returns request `n`, and bytes that its answer must contain. Of ten requests, about eight are reads that repeat
/// often, one is a read that differs each time, and one calls a tool. A few requests read a large text, and even
/// fewer write.
fn request(n: usize) -> (&'static str, Json, &'static [u8]) {
    // The requests are in a random order, which is the same in each run.
    let random = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let (kind, which) = (random % 20, usize::try_from(random / 20 % 100).expect("less than a hundred"));
    let prompt = data::prompt(which);
    let call = |tool: &str, arguments: Json| ("tools/call", json!({ "name": tool, "arguments": arguments }));
    let ((method, parameters), expected): (_, &[u8]) = match kind {
        _ if n % 5000 == 17 => {
            let content = format!("changed by request {n}");
            (call("update_prompt", json!({ "name": prompt, "content": content })), br#""isError":false"#)
        }
        _ if n % 1000 == 23 => (("resources/read", json!({ "uri": data::uri("text-1m") })), br#""contents""#),
        0..=7 => (("prompts/get", json!({ "name": prompt })), br#""messages""#),
        8..=12 => (("resources/read", json!({ "uri": data::uri(&format!("doc-{which:03}")) })), br#""contents""#),
        13..=15 => (("prompts/list", json!({})), br#""prompts""#),
        16..=17 => (("prompts/get", json!({ "name": prompt, "_meta": { "progressToken": n } })), br#""messages""#),
        18 => (call("get_prompt", json!({ "name": prompt })), br#""isError":false"#),
        _ => (call("list_prompts", json!({})), br#""isError":false"#),
    };
    (method, parameters, expected)
}
