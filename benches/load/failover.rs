//! Runs three servers on one database, kills a server, then kills the primary, and promotes a standby.

use std::collections::{HashMap, HashSet};
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcpkg_store::projects::{self, Selection};
use mcpkg_store::{Store, blobs, prompts};
use postgres::{Client, NoTls};
use serde_json::{Value as Json, json};

use crate::cluster::{self, postgres::Server};
use crate::data::{self, Data};
use crate::peer::mcpkg;
use crate::table::{Bar, Row, Table, Value};
use crate::web::{Connection, Web, stateless};

const SERVERS: usize = 3;
const READERS: usize = 32;
const WRITERS: usize = 8;

const LOST: &str = "a primary is killed under load: acknowledged writes lost";
const WRONG: &str = "a primary is killed under load: wrong answers";
const GAP: &str = "a primary is killed under load: time without a write, against PostgreSQL's own";

/// A pause between two writes belongs to the failover only if it begins at most this long after the primary was killed.
/// The pause may begin after the kill, because acknowledgements from before the kill still arrive.
const AFTER: Duration = Duration::from_secs(1);

/// The time that a client waits after a failure.
const PAUSE: Duration = Duration::from_millis(5);

/// The observations of one client.
#[derive(Default)]
struct Seen {
    /// The times at which requests succeeded.
    done: Vec<Instant>,
    /// The number of requests that were refused, or whose connection ended.
    refused: usize,
    /// Wrong answers: an item had other content than expected, or an acknowledged item was missing.
    wrong: Vec<String>,
    /// The names and contents of acknowledged writes.
    acknowledged: HashMap<String, String>,
    /// The names of writes that the server reported as failed.
    failed: HashSet<String>,
}

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, quick: bool, table: &mut Table) {
    if ![LOST, WRONG, GAP].iter().any(|row| table.wants(row)) {
        return;
    }
    let ports = [free_port(), free_port()];
    let Some(primary) = Server::start_with(ports[0], "-c listen_addresses=127.0.0.1", |_| {}) else { return };
    let address = format!(
        "postgres://mcpkg@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write&connect_timeout=1",
        ports[0], ports[1]
    );
    let moved = mcpkg(&data.usual()).args(["move", "--to", &address]).env("HOME", data.path("")).output();
    let moved = moved.expect("mcpkg starts");
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    primary.query("CREATE TABLE public.plain (n bigint PRIMARY KEY)");
    let standby = primary.standby(ports[1]);
    primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    primary.query("SELECT pg_reload_conf()");
    while primary.query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1\n" {
        thread::sleep(Duration::from_millis(20));
    }
    let webs: Vec<Web> = (0..SERVERS).map(|_| cluster::serve(&address, &data.path(""))).collect();
    let contents = contents(&address);

    let third = Duration::from_secs(if quick { 5 } else { 20 });
    let over = AtomicBool::new(false);
    let (killed, readers, writers, plain) = thread::scope(|scope| {
        let (webs, over, contents, address) = (&webs, &over, &contents, &address);
        let readers: Vec<_> = (0..READERS).map(|n| scope.spawn(move || read(webs, over, contents, n))).collect();
        let writers: Vec<_> = (0..WRITERS).map(|n| scope.spawn(move || write(webs, over, n))).collect();
        let plain = scope.spawn(move || write_plainly(address, over));
        thread::sleep(third);
        webs[SERVERS - 1].kill();
        thread::sleep(third / 2);
        let killed = Instant::now();
        primary.kill();
        standby.promote();
        thread::sleep(third + third / 2);
        over.store(true, Ordering::SeqCst);
        let of = |clients: Vec<thread::ScopedJoinHandle<'_, Seen>>| -> Vec<Seen> {
            clients.into_iter().map(|client| client.join().expect("a client ends")).collect()
        };
        (killed, of(readers), of(writers), plain.join().expect("the plain writer ends"))
    });
    drop(webs);

    let (lost, appeared) = compare(&address, &writers);
    let wrong: Vec<&String> = readers.iter().chain(&writers).flat_map(|seen| &seen.wrong).chain(&appeared).collect();
    wrong.iter().take(10).for_each(|wrong| eprintln!("wrong: {wrong}"));
    let counts = |seen: &[Seen]| {
        let done: usize = seen.iter().map(|seen| seen.done.len()).sum();
        (done, seen.iter().map(|seen| seen.refused).sum::<usize>())
    };
    let ((reads, no_reads), (writes, no_writes)) = (counts(&readers), counts(&writers));
    println!(
        "{READERS} clients made {reads} reads, {no_reads} failed; {WRITERS} made {writes} writes, {no_writes} failed"
    );
    println!("a plain program made {} writes meanwhile", plain.len());
    let of = |clients: &[Seen]| clients.iter().flat_map(|seen| seen.done.iter().copied()).collect::<Vec<_>>();
    println!("time without a read: {}", Value::Time(gap(of(&readers), killed)));
    let ours = gap(of(&writers), killed);
    let row = |what: &str, ours, reference, bar| Row { what: what.to_owned(), ours, off: None, reference, bar };
    table.push(row(LOST, Value::Count(lost), None, Bar::Never));
    table.push(row(WRONG, Value::Count(wrong.len()), None, Bar::Never));
    table.push(row(GAP, Value::Time(ours), Some(Value::Time(gap(plain, killed))), Bar::Times(2.0)));
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("an address").port()
}

/// Returns the longest pause between two moments that the failover caused, not counting the part before the kill.
/// Looks only at pauses that end after the primary was killed and begin at most [`AFTER`] later than the kill. In any
/// other pause, the clients only waited for a processor.
fn gap(mut moments: Vec<Instant>, killed: Instant) -> Duration {
    moments.sort_unstable();
    let pairs = moments.windows(2).filter(|pair| pair[1] > killed && pair[0] < killed + AFTER);
    pairs.map(|pair| pair[1] - pair[0].max(killed)).max().unwrap_or_default()
}

/// Returns the content of each prompt in the usual database.
fn contents(address: &str) -> Vec<String> {
    let store = Store::open(Path::new(address)).expect("the database opens");
    let contents = store.read(|db| (0..100).map(|n| Ok(content(db, &data::prompt(n))?.unwrap_or_default())).collect());
    contents.expect("the prompts can be read")
}

fn content(db: &mcpkg_store::Db<'_>, name: &str) -> mcpkg_base::error::Result<Option<String>> {
    let project = projects::require(db, &Selection::default())?;
    let prompt = prompts::find(db, project.id, name)?;
    let bytes = prompt.map(|prompt| blobs::get(db, prompt.blob)).transpose()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// A client that tries the next server if one does not answer.
struct Roaming<'w> {
    webs: &'w [Web],
    at: usize,
    connection: Option<Connection>,
}

impl<'w> Roaming<'w> {
    fn new(webs: &'w [Web], at: usize) -> Self {
        Self { webs, at, connection: None }
    }

    /// Returns the status and the body of the answer; `None` if there is no connection, or if it ended.
    fn ask(&mut self, request: &[u8]) -> Option<(u16, Json)> {
        if self.connection.is_none() {
            self.at += 1;
            self.connection = self.webs[self.at % self.webs.len()].try_connect().ok();
        }
        let answer = self.connection.as_mut()?.ask(request);
        let answer = answer.map(|answer| (answer.status, serde_json::from_slice(answer.body).unwrap_or_default()));
        if answer.is_err() {
            self.connection = None;
        }
        answer.ok()
    }
}

fn get(name: &str) -> Vec<u8> {
    stateless("prompts/get", json!({ "name": name }))
}

/// Returns the text of a prompt in an answer; `None` if the answer is an error.
fn text(answer: &Json) -> Option<&str> {
    answer["result"]["messages"][0]["content"]["text"].as_str()
}

/// Reads prompts with known content until `over` is set.
fn read(webs: &[Web], over: &AtomicBool, contents: &[String], n: usize) -> Seen {
    let mut client = Roaming::new(webs, n);
    let mut seen = Seen::default();
    for next in (n..).step_by(7) {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let which = next % contents.len();
        match client.ask(&get(&data::prompt(which))) {
            Some((200, answer)) if text(&answer).is_some() => {
                seen.done.push(Instant::now());
                if text(&answer) != Some(&contents[which]) {
                    seen.wrong.push(answer.to_string());
                }
            }
            Some((200, answer)) if answer["error"].to_string().contains("not found") => {
                seen.wrong.push(answer.to_string());
            }
            _ => {
                seen.refused += 1;
                thread::sleep(PAUSE);
            }
        }
    }
    seen
}

/// Creates prompts until `over` is set. Reads each acknowledged prompt through another server.
fn write(webs: &[Web], over: &AtomicBool, n: usize) -> Seen {
    let (mut client, mut other) = (Roaming::new(webs, n), Roaming::new(webs, n + 1));
    let mut seen = Seen::default();
    for number in 0_usize.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (name, content) = (format!("failover-{n}-{number}"), format!("{n} {number}"));
        let arguments = json!({ "name": name, "content": content });
        let call = stateless("tools/call", json!({ "name": "create_prompt", "arguments": arguments }));
        match client.ask(&call) {
            Some((200, answer)) if answer["result"]["isError"] == false => {
                seen.done.push(Instant::now());
                if let Some((200, answer)) = other.ask(&get(&name))
                    && (text(&answer).is_some_and(|text| text != content)
                        || answer["error"].to_string().contains("not found"))
                {
                    seen.wrong.push(format!("after '{name}' was acknowledged: {answer}"));
                }
                seen.acknowledged.insert(name, content);
            }
            Some((_, answer)) if answer.to_string().contains("is not known") => seen.refused += 1,
            Some(_) => {
                seen.refused += 1;
                seen.failed.insert(name);
                thread::sleep(PAUSE);
            }
            // There is no connection, or it ended during the request, so it is unknown whether the write succeeded.
            None => {
                seen.refused += 1;
                thread::sleep(PAUSE);
            }
        }
    }
    seen
}

/// Writes rows with only the PostgreSQL client, without mcpkg. Returns the times of the acknowledgements.
fn write_plainly(address: &str, over: &AtomicBool) -> Vec<Instant> {
    let mut done = Vec::new();
    let mut client: Option<Client> = None;
    for n in 0_i64.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        if client.is_none() {
            client = Client::connect(address, NoTls).ok();
        }
        let written = client.as_mut().map(|client| client.execute("INSERT INTO public.plain VALUES ($1)", &[&n]));
        match written {
            Some(Ok(_)) => done.push(Instant::now()),
            _ => {
                client = None;
                thread::sleep(PAUSE);
            }
        }
    }
    done
}

/// Returns the number of prompts without their acknowledged content, and a line for each prompt that exists although a
/// server reported its write as failed.
fn compare(address: &str, writers: &[Seen]) -> (usize, Vec<String>) {
    let store = Store::open(Path::new(address)).expect("the database opens");
    let compared = store.read(|db| {
        let mut lost = 0;
        let mut appeared = Vec::new();
        for seen in writers {
            for (name, acknowledged) in &seen.acknowledged {
                lost += usize::from(content(db, name)?.as_ref() != Some(acknowledged));
            }
            for name in &seen.failed {
                if content(db, name)?.is_some() {
                    appeared.push(format!("'{name}' was said to have failed, and is there"));
                }
            }
        }
        Ok((lost, appeared))
    });
    compared.expect("the database can be read")
}
