//! Measures installed tools: calls, lists, installs, verification and searches, and how long other requests wait during
//! calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mcpkg_store::Store;
use mcpkg_store::tools::listings::{self, Listing};
use serde_json::{Value as Json, json};

use crate::Effort;
use crate::data::{self, Data};
use crate::ground::{Ground, Packed};
use crate::peer::{self, Peer, line, reference};
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value, median};
use crate::web::{Web, stateless};

const CALL: &str = "warm call of an installed tool that runs `true`: p50";
const INSTALL: &str = "install of a signed tool of 200 files and 1 MiB";
const VERIFY: &str = "verify of 100 tools of 64 KiB";
const SEARCH: &str = "enact__search, 20 hits among 100000 packages against 1000: p50";
const WAIT_SAME: &str = "prompts/get while 8 calls of a sleeping tool wait: p50";
const WAIT_OTHER: &str = "prompts/get of another client while they wait: p50";
const BIG: &str = "peak of an install of 50 MiB";
const RUNS: &str = "resident after 1000 runs against after 100";
const TOLD: &str = "commit of an install to list_changed in another process: median";

/// The number of installed tools in the rows about tools/list.
const MANY: usize = 1_000;

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    let pages = ["first", "last"].map(|page| format!("tools/list, {page} page of {MANY} installed tools: p50"));
    let fresh = ["first", "last"].map(|page| format!("tools/list, {page} page of {MANY} installed tools, fresh: p50"));
    let rows = [CALL, INSTALL, VERIFY, SEARCH, WAIT_SAME, WAIT_OTHER, BIG, RUNS, TOLD];
    if !rows.iter().copied().chain(pages.iter().chain(&fresh).map(String::as_str)).any(|row| table.wants(row)) {
        return;
    }
    let ground = Ground::make(data);
    if pages.iter().chain(&fresh).any(|row| table.wants(row)) {
        lists(&ground, effort, table, [&pages, &fresh]);
    }
    if table.wants(INSTALL) {
        install(&ground, effort, table);
    }
    if table.wants(VERIFY) {
        verify(&ground, effort, table);
    }
    if table.wants(SEARCH) {
        search(&ground, effort, table);
    }
    if table.wants(TOLD) {
        told(&ground, effort, table);
    }
    if table.wants(BIG) {
        big(&ground, table);
    }
    let runs = [CALL, WAIT_SAME, WAIT_OTHER, RUNS];
    if !runs.iter().any(|row| table.wants(row)) {
        return;
    }
    if !can_run(&ground) {
        println!("skipped: what runs tools, since bubblewrap does not work here");
        return;
    }
    if table.wants(CALL) {
        call(&ground, effort, table);
    }
    if table.wants(WAIT_SAME) {
        wait_same(&ground, effort, table);
    }
    if table.wants(WAIT_OTHER) {
        wait_other(&ground, effort, table);
    }
    if table.wants(RUNS) {
        memory(&ground, effort, table);
    }
}

fn row(table: &mut Table, what: &str, ours: Value, reference: Option<Value>, bar: Bar) {
    table.push(Row { what: what.to_owned(), ours, off: None, reference, bar });
}

fn can_run(ground: &Ground) -> bool {
    let folder = ground.package("bench/probe", "scripts: {main: [\"true\"]}");
    let probe = ["tool", "run", folder.to_str().expect("a readable name")];
    let output = ground.command(&ground.database("probe.db")).args(probe).output().expect("mcpkg starts");
    output.status.success()
}

/// Starts a server on a database and does the handshake.
fn serve(ground: &Ground, database: &Path) -> Peer {
    let mut command = ground.command(database);
    command.arg("serve");
    Peer::shake_hands(command)
}

fn request(id: u64, method: &str, parameters: &Json) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }).to_string())
}

/// Returns the median time until the answer to a request.
fn p50(peer: &mut Peer, samples: usize, mut next: impl FnMut() -> Vec<u8>) -> Duration {
    let mut times: Vec<Duration> = (0..samples)
        .map(|_| {
            let request = next();
            let start = Instant::now();
            peer.ask(&request);
            start.elapsed()
        })
        .collect();
    median(&mut times)
}

/// Returns the medians of two measurements that take turns. The first round only warms up.
fn in_rounds(effort: &Effort, mut turn: impl FnMut() -> [Duration; 2]) -> [Duration; 2] {
    let rounds: Vec<[Duration; 2]> = (0..=effort.rounds).map(|_| turn()).collect();
    std::array::from_fn(|which| median(&mut rounds[1..].iter().map(|round| round[which]).collect::<Vec<_>>()))
}

fn answer_of(peer: &mut Peer, request: &[u8]) -> Vec<u8> {
    let answer = peer.ask(request).to_vec();
    let said = String::from_utf8_lossy(&answer);
    assert!(said.contains("\"result\":") && !said.contains("\"isError\":true"), "{said}");
    answer
}

/// Starts a reference process that always sends this answer.
fn replay(ground: &Ground, name: &str, answer: &[u8]) -> Peer {
    let file = ground.path(name);
    fs::write(&file, answer).expect("the answer can be kept");
    Peer::start(reference(&["--replay", file.to_str().expect("a readable name")]))
}

fn lists(ground: &Ground, effort: &Effort, table: &mut Table, names: [&[String; 2]; 2]) {
    let database = ground.database("many.db");
    let packed: Vec<Packed> = (0..MANY)
        .map(|n| {
            let lines = "scripts: {main: [\"true\", \"{{text}}\"]}\ninputSchema:\n  type: object\n  properties:\n    \
                         text: {type: string, description: What it works on}\n    \
                         units: {type: string, enum: [metric, imperial], description: The units of the answer}\n  \
                         required: [text]";
            Packed::of(&ground.package(&format!("many/tool-{n:04}"), lines))
        })
        .collect();
    let store = Store::open(&database).expect("the database opens");
    let installed = store.write(|db| packed.iter().try_for_each(|tool| tool.install(db)));
    installed.expect("the tools are installed");
    drop(store);
    let mut ours = serve(ground, &database);
    let (mut cursors, mut cursor) = (vec![json!({})], json!({}));
    loop {
        let answer = answer_of(&mut ours, &request(1, "tools/list", &cursor));
        let page: Json = serde_json::from_slice(&answer).expect("JSON");
        let Some(next) = page["result"]["nextCursor"].as_str() else { break };
        cursor = json!({ "cursor": next });
        cursors.push(cursor.clone());
    }
    assert_eq!(cursors.len(), 5, "pages");
    for (which, page) in [&cursors[0], &cursors[cursors.len() - 1]].into_iter().enumerate() {
        let again = request(1, "tools/list", page);
        let answer = answer_of(&mut ours, &again);
        let mut reference = replay(ground, "page", &answer);
        let samples = effort.samples(300);
        let mut number = 1_000_000;
        let mut fresh = || {
            number += 1;
            let mut parameters = page.clone();
            parameters["_meta"] = json!({ "progressToken": number });
            request(1, "tools/list", &parameters)
        };
        let mut both = |fresh_too: bool| {
            in_rounds(effort, || match fresh_too {
                false => [p50(&mut ours, samples, || again.clone()), p50(&mut reference, samples, || again.clone())],
                true => [p50(&mut ours, samples, &mut fresh), p50(&mut reference, samples, || again.clone())],
            })
        };
        for (fresh_too, names, bar) in [(false, names[0], Bar::Times(6.0)), (true, names[1], Bar::None)] {
            if table.wants(&names[which]) {
                let [ours, reference] = both(fresh_too);
                row(table, &names[which], Value::Time(ours), Some(Value::Time(reference)), bar);
            }
        }
    }
}

fn call(ground: &Ground, effort: &Effort, table: &mut Table) {
    let database = ground.database("call.db");
    ground.install(&database, &ground.package("bench/true", "scripts: {main: [\"true\"]}"), "bench/true");
    let mut ours = serve(ground, &database);
    let request = request(1, "tools/call", &json!({ "name": "bench__true", "arguments": {} }));
    answer_of(&mut ours, &request);
    // The plan describes the sandbox of a call, so that the reference can use the same one.
    let plan = ground.run(&database, &["tool", "run", "bench/true", "--dry-run"]);
    let copy = ground.copy(plan["sha256"].as_str().expect("a digest"));
    let file = ground.path("plan.json");
    fs::write(&file, plan.to_string()).expect("the plan can be kept");
    let mut sandbox = reference(&["--sandbox"]);
    sandbox.args([file, copy]);
    let mut reference = Peer::start(ground.at_home(sandbox));
    let samples = effort.samples(40);
    let [ours, reference] = in_rounds(effort, || {
        [p50(&mut ours, samples, || request.clone()), p50(&mut reference, samples, || request.clone())]
    });
    row(table, CALL, Value::Time(ours), Some(Value::Time(reference)), Bar::Times(1.3));
}

/// Runs a command, which must succeed, and returns its duration.
fn run(mut command: Command) -> Duration {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    time
}

/// Makes a database of a user who has added the author's registry and trusts the author's key.
fn user(ground: &Ground, name: &str, registry: &str) -> PathBuf {
    let database = ground.database(name);
    ground.run(&database, &["registry", "add", registry, ground.path(registry).to_str().expect("a readable name")]);
    ground.trust(&database);
    database
}

fn registry(ground: &Ground, name: &str) {
    let folder = ground.path(name);
    let folder = folder.to_str().expect("a readable name");
    ground.run(&ground.database("author.db"), &["registry", "add", name, folder, "--create"]);
}

fn install(ground: &Ground, effort: &Effort, table: &mut Table) {
    let folder = ground.package("bench/many-files", "scripts: {main: [\"true\"]}");
    let text = data::sources(1 << 20);
    for n in 0..200 {
        let content = &text[n * 5_000..][..5_000];
        fs::write(folder.join(format!("file-{n:03}.txt")), content).expect("a file");
    }
    registry(ground, "team");
    ground.publish(&folder, "team");
    let fresh = user(ground, "fresh.db", "team");
    let bundle = ground.path("team/tools/bench/many-files/1.0.0/bundle.tar.gz");
    let (database, unpacked) = (ground.database("installing.db"), ground.path("unpacked"));
    let [ours, reference] = in_turn(effort.samples(20) * effort.rounds, || {
        for ending in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", database.display()));
        }
        fs::copy(&fresh, &database).expect("a copy of the database");
        let mut ours = ground.command(&database);
        ours.args(["tool", "install", "bench/many-files"]);
        let ours = run(ours);
        let _ = fs::remove_dir_all(&unpacked);
        fs::create_dir(&unpacked).expect("a folder");
        let mut sum = Command::new("sha256sum");
        sum.arg(&bundle);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&bundle).arg("-C").arg(&unpacked);
        let mut sync = Command::new("sync");
        sync.arg(&unpacked);
        [ours, run(sum) + run(tar) + run(sync)]
    });
    row(table, INSTALL, Value::Time(ours), Some(Value::Time(reference)), Bar::Times(2.5));
}

fn verify(ground: &Ground, effort: &Effort, table: &mut Table) {
    let database = ground.database("verify.db");
    ground.trust(&database);
    for n in 0..100 {
        let folder = ground.package(&format!("bench/signed-{n:03}"), "scripts: {main: [\"true\"]}");
        // Random content cannot be compressed, so that the archive is as large as its content.
        fs::write(folder.join("noise"), data::noise_from(n, 64 << 10)).expect("a file");
        let path = folder.to_str().expect("a readable name").to_owned();
        ground.run(&database, &["tool", "sign", &path]);
        ground.run(&database, &["tool", "publish", &path]);
    }
    let mode = |mode: &str| {
        let mut command = ground.at_home(reference(&[mode, database.to_str().expect("a readable name")]));
        let output = command.output().expect("this program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let nanoseconds = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        Duration::from_nanos(nanoseconds)
    };
    let [ours, reference] = in_turn(effort.samples(20) * effort.rounds, || [mode("--verify"), mode("--check")]);
    row(table, VERIFY, Value::Time(ours), Some(Value::Time(reference)), Bar::Times(2.0));
}

fn search(ground: &Ground, effort: &Effort, table: &mut Table) {
    let mut peers = [100_000, 1_000].map(|packages: usize| {
        let database = ground.database(&format!("search-{packages}.db"));
        let store = Store::open(&database).expect("the database opens");
        let listing = |n: usize| Listing {
            name: format!("bench/tool-{n:06}"),
            version: "1.0.0".to_owned(),
            description: match n.is_multiple_of(packages / 20) {
                true => format!("Finds the needle of number {n}"),
                false => format!("Does what tools do, and is number {n} of many"),
            },
            tags: vec!["bench".to_owned()],
            published_at: 0,
        };
        for start in (0..packages).step_by(10_000) {
            let mut numbers = start..packages.min(start + 10_000);
            let listed = store.write(|db| numbers.try_for_each(|n| listings::put(db, "local", &listing(n))));
            listed.expect("the packages can be listed");
        }
        drop(store);
        serve(ground, &database)
    });
    let arguments = json!({ "query": "needle", "limit": 20 });
    let search = request(1, "tools/call", &json!({ "name": "enact__search", "arguments": arguments }));
    for peer in &mut peers {
        let answer = answer_of(peer, &search);
        let answer: Json = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["result"]["structuredContent"]["results"].as_array().map(Vec::len), Some(20), "{answer}");
    }
    let samples = effort.samples(200);
    let [large, small] = in_rounds(effort, || peers.each_mut().map(|peer| p50(peer, samples, || search.clone())));
    row(table, SEARCH, Value::Time(large), Some(Value::Time(small)), Bar::Times(2.0));
}

/// Makes a database with a prompt and a tool that sleeps. Returns the database and the parameters of the tool's call.
fn sleeping(ground: &Ground, name: &str) -> (PathBuf, Json) {
    let database = ground.database(name);
    ground.install(&database, &ground.package("bench/sleep", "scripts: {main: [\"sleep\", \"600\"]}"), "bench/sleep");
    ground.run(&database, &["project", "create", "p"]);
    ground.run(&database, &["prompt", "create", "greet", &"Hello. ".repeat(146)]);
    (database, json!({ "name": "bench__sleep", "arguments": {} }))
}

/// The number of calls of the sleeping tool. Only some of them can run at the same time, so the others wait. One client may
/// have this many calls in flight.
const WAITING: u64 = 8;

/// The number of calls that can run at the same time even on the smallest machine. Each call that runs is recorded as a run.
const RUNNING: usize = 2;

/// Waits until [`RUNNING`] calls run. The other calls wait for those.
fn wait_for_runs(ground: &Ground, database: &Path) {
    loop {
        let runs = ground.run(database, &["tool", "runs"])["runs"].as_array().map_or(0, Vec::len);
        if runs >= RUNNING {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_same(ground: &Ground, effort: &Effort, table: &mut Table) {
    let (database, sleep) = sleeping(ground, "wait-same.db");
    let mut peers = [serve(ground, &database), serve(ground, &database)];
    let get = request(1, "prompts/get", &json!({ "name": "greet" }));
    peers.iter_mut().for_each(|peer| drop(answer_of(peer, &get)));
    for n in 0..WAITING {
        peers[0].tell(&request(1_000 + n, "tools/call", &sleep));
    }
    wait_for_runs(ground, &database);
    let samples = effort.samples(2000);
    let [ours, reference] = in_rounds(effort, || peers.each_mut().map(|peer| p50(peer, samples, || get.clone())));
    row(table, WAIT_SAME, Value::Time(ours), Some(Value::Time(reference)), Bar::Times(1.3));
    peers.into_iter().for_each(Peer::kill);
}

fn wait_other(ground: &Ground, effort: &Effort, table: &mut Table) {
    let (database, sleep) = sleeping(ground, "wait-other.db");
    let start = || {
        let mut command = ground.command(&database);
        command.args(["--json", "serve", "--http", "--port", "0"]);
        Web::start(command)
    };
    let webs = [start(), start()];
    let mut connections = webs.each_ref().map(Web::connect);
    let get = stateless("prompts/get", json!({ "name": "greet" }));
    for connection in &mut connections {
        assert_eq!(connection.ask(&get).expect("an answer").status, 200);
    }
    let mut calls: Vec<_> = (0..WAITING).map(|_| webs[0].connect()).collect();
    for connection in &mut calls {
        connection.tell(&stateless("tools/call", sleep.clone())).expect("sent");
    }
    wait_for_runs(ground, &database);
    let samples = effort.samples(1000);
    let [ours, reference] = in_rounds(effort, || {
        connections.each_mut().map(|connection| {
            let mut times: Vec<Duration> = (0..samples)
                .map(|_| {
                    let start = Instant::now();
                    connection.ask(&get).expect("an answer");
                    start.elapsed()
                })
                .collect();
            median(&mut times)
        })
    });
    row(table, WAIT_OTHER, Value::Time(ours), Some(Value::Time(reference)), Bar::Times(1.3));
}

fn big(ground: &Ground, table: &mut Table) {
    let folder = ground.package("bench/big", "scripts: {main: [\"true\"]}");
    fs::write(folder.join("noise"), data::noise_from(7, 49 << 20)).expect("a file");
    registry(ground, "large");
    ground.publish(&folder, "large");
    let mut command = ground.command(&user(ground, "big.db", "large"));
    command.args(["--quiet", "tool", "install", "bench/big"]);
    let mut child = command.spawn().expect("mcpkg starts");
    let mut peak = 0;
    let status = loop {
        // The kernel's figures disappear with the process, so use the highest value that was read before its end.
        peak = peak.max(peer::peak(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().expect("the process can be waited for") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(status.success(), "the install failed");
    row(table, BIG, Value::Memory(peak), None, Bar::Bytes(64 << 20));
}

fn memory(ground: &Ground, effort: &Effort, table: &mut Table) {
    let database = ground.database("runs.db");
    ground.install(&database, &ground.package("bench/true", "scripts: {main: [\"true\"]}"), "bench/true");
    let mut peer = serve(ground, &database);
    let call = request(1, "tools/call", &json!({ "name": "bench__true", "arguments": {} }));
    let mut resident_after = |runs: usize| {
        for _ in 0..runs {
            answer_of(&mut peer, &call);
        }
        peer.resident()
    };
    let first = effort.samples(100);
    let after_first = resident_after(first);
    let at_end = resident_after(9 * first);
    row(table, RUNS, Value::Memory(at_end), Some(Value::Memory(after_first)), Bar::Times(1.2));
}

fn told(ground: &Ground, effort: &Effort, table: &mut Table) {
    let database = ground.database("told.db");
    ground.install(&database, &ground.package("bench/told", "scripts: {main: [\"true\"]}"), "bench/told");
    let [mut one, mut other] = [serve(ground, &database), serve(ground, &database)];
    answer_of(&mut other, &request(1, "tools/list", &json!({})));
    let call = |name: &str| request(1, "tools/call", &json!({ "name": name, "arguments": { "tool": "bench/told" } }));
    let mut times: Vec<Duration> = (0..effort.samples(40))
        .flat_map(|_| ["enact__uninstall", "enact__install"])
        .map(|name| {
            answer_of(&mut one, &call(name));
            let committed = Instant::now();
            other.wait_for("notifications/tools/list_changed");
            committed.elapsed()
        })
        .collect();
    row(table, TOLD, Value::Time(median(&mut times)), None, Bar::None);
}
