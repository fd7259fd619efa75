//! Tests with two servers on one database. Clients write through one of them and read through the other at random, and
//! a model in memory has the expected answer of each read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcpkg_store::events::{self, Event};
use mcpkg_store::watch::Change;
use serde_json::{Value, json};

use super::World;
use crate::support::{Http, Random, Scratch, cases, http};

/// The number of clients that work at the same time, each with its own names.
const CLIENTS: usize = 4;
/// The number of names of each kind that a client has.
const NAMES: usize = 3;

/// Returns the number of writes that each client attempts.
fn writes() -> usize {
    cases(80) as usize
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Prompt,
    Resource,
}

const KINDS: [Kind; 2] = [Kind::Prompt, Kind::Resource];

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Resource => "resource",
        }
    }
}

/// The expected state of an item.
#[derive(Clone, Debug, Default)]
struct Item {
    /// The text, unless the item is deleted.
    text: Option<String>,
    description: Option<String>,
    revisions: usize,
}

/// A client, and the model of the items under its names.
struct Client<'s> {
    name: String,
    servers: &'s [Http; 2],
    random: Random,
    items: BTreeMap<(Kind, String), Item>,
    /// The kind, subject and outcome of the events that the client caused.
    caused: Vec<(String, String, String)>,
}

impl<'s> Client<'s> {
    fn new(number: usize, servers: &'s [Http; 2], random: Random) -> Self {
        let name = format!("c{number}");
        let names = |kind| (0..NAMES).map(move |n| (kind, n));
        let items = KINDS.into_iter().flat_map(names).map(|(kind, n)| ((kind, format!("{name}-{n}")), Item::default()));
        Self { items: items.collect(), name, servers, random, caused: Vec::new() }
    }

    /// Sends a request to one of the servers.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.servers[self.random.below(2)].modern("/mcp", method, params)
    }

    /// Calls a tool of one of the servers. Returns its result, and the error text if it failed.
    fn call(&mut self, tool: &str, arguments: Value) -> (Value, Option<String>) {
        let mut answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = answer["result"].take();
        let failed = result["isError"].as_bool().unwrap_or_else(|| panic!("no result of {tool}: {answer} {result}"));
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (result, failed.then_some(text))
    }

    fn any(&mut self) -> (Kind, String) {
        let at = self.random.below(self.items.len());
        self.items.keys().nth(at).expect("one of them").clone()
    }

    /// Writes something through one of the servers, and checks the answer.
    fn write(&mut self, step: usize) {
        let (kind, name) = self.any();
        let verb = ["create", "update", "update", "delete"][self.random.below(4)];
        let text = format!("{} runs", word(&self.name, step));
        let description = (self.random.below(2) == 0).then(|| format!("written in step {step}"));
        let mut arguments = json!({ "name": name });
        if verb != "delete" {
            arguments["content"] = json!(text);
            description.iter().for_each(|description| arguments["description"] = json!(description));
        }
        if (kind, verb) == (Kind::Resource, "create") {
            arguments["uri"] = json!(uri(&name));
        }
        let (_, failed) = self.call(&format!("{verb}_{}", kind.word()), arguments);

        let item = self.items.get_mut(&(kind, name.clone())).expect("it is known");
        let outcome = match (verb, item.text.is_some()) {
            ("create", true) => "E_ALREADY_EXISTS",
            ("update" | "delete", false) => "E_NOT_FOUND",
            _ => "ok",
        };
        assert_eq!(failed.is_some(), outcome != "ok", "{verb} of {name}: {failed:?}");
        self.caused.push((format!("{}.{verb}", kind.word()), name, outcome.to_owned()));
        if outcome == "ok" {
            item.revisions += 1;
            match verb {
                "create" => (item.text, item.description) = (Some(text), description),
                "update" => (item.text, item.description) = (Some(text), description.or(item.description.take())),
                _ => item.text = None,
            }
        }
    }

    /// Reads one item in each possible way, each time through one of the servers.
    fn read(&mut self) {
        let (kind, name) = self.any();
        let item = self.items[&(kind, name.clone())].clone();

        let (method, params) = match kind {
            Kind::Prompt => ("prompts/get", json!({ "name": name })),
            Kind::Resource => ("resources/read", json!({ "uri": uri(&name) })),
        };
        let answer = self.ask(method, params);
        let got = match kind {
            Kind::Prompt => &answer["result"]["messages"][0]["content"]["text"],
            Kind::Resource => &answer["result"]["contents"][0]["text"],
        };
        assert_eq!(got.as_str(), item.text.as_deref(), "{method} of {name}: {answer}");

        let (tool, argument) = match kind {
            Kind::Prompt => ("get_prompt", "name"),
            Kind::Resource => ("read_resource", "uri"),
        };
        let (got, failed) = self.call(tool, json!({ argument: name }));
        assert_eq!(failed.is_none(), item.text.is_some(), "{tool} of {name}: {failed:?}");
        if let Some(text) = &item.text {
            assert_eq!(got["content"][0]["text"].as_str(), Some(&**text), "{tool} of {name}");
        }

        let answer = self.ask("resources/read", json!({ "uri": format!("mcpkg://history/{}/{name}", kind.word()) }));
        let history = answer["result"]["contents"][0]["text"].as_str().unwrap_or("{}");
        let history: Value = serde_json::from_str(history).expect("JSON");
        assert_eq!(history["revisions"].as_array().map_or(0, Vec::len), item.revisions, "history of {name}: {history}");

        let step = self.random.below(writes());
        let word = word(&self.name, step);
        let (found, _) = self.call("search_content", json!({ "query": word }));
        let found = found["structuredContent"]["hits"].as_array().expect("hits").iter();
        let found: Vec<&str> = found.filter_map(|hit| hit["name"].as_str()).collect();
        let holds = |item: &Item| item.text.as_ref().is_some_and(|text| text.starts_with(&word));
        let expected = self.items.iter().filter(|(_, item)| holds(item)).map(|((_, name), _)| name.as_str());
        assert_eq!(found, expected.collect::<Vec<_>>(), "search for {word}");

        let (method, list) = lists(kind);
        let answer = self.ask(method, json!({}));
        assert_eq!(self.named(&answer["result"][list]), self.listed(kind), "{method}");
    }

    /// Returns the items in a list that have this client's names, with their descriptions.
    fn named(&self, list: &Value) -> Vec<(String, Option<String>)> {
        let items = list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let named = items.filter_map(|item| Some((text(&item["name"])?, text(&item["description"]))));
        named.filter(|(name, _)| name.starts_with(&format!("{}-", self.name))).collect()
    }

    /// Returns the items of this client that a list should contain.
    fn listed(&self, kind: Kind) -> Vec<(String, Option<String>)> {
        let live = self.items.iter().filter(|((of, _), item)| *of == kind && item.text.is_some());
        live.map(|((_, name), item)| (name.clone(), item.description.clone())).collect()
    }
}

/// Returns a word that only this client writes, and only in this step.
fn word(client: &str, step: usize) -> String {
    format!("{client}s{step:03}")
}

fn uri(name: &str) -> String {
    format!("note:{name}")
}

fn lists(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Prompt => ("prompts/list", "prompts"),
        Kind::Resource => ("resources/list", "resources"),
    }
}

#[test]
fn clients_read_what_was_written_through_either_server() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::new();
    let command = || {
        let mut command = scratch.command();
        command.env("MCPKG_DB", &world.address);
        command
    };
    let made = scratch.finish(command().args(["project", "create", "p"]));
    assert_eq!(made.status, 0, "{made}");
    let servers = [(); 2].map(|()| Http::spawn(command().args(["--json", "serve", "--http", "--port", "0"])));

    // A watch reports each event exactly once.
    let store = world.open();
    let begun = store.read(events::newest).expect("a place");
    let mut watch = store.watch(store.position().expect("a position")).expect("a watch");
    let is_over = AtomicBool::new(false);
    let mut random = Random::new();
    let (clients, told) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut told = Vec::new();
            loop {
                let is_last = is_over.load(Ordering::Acquire);
                match watch.look().expect("a look") {
                    Change::Events(events) => told.extend(events),
                    Change::None if is_last => return told,
                    Change::None => drop(watch.wait(Duration::from_millis(50))),
                    Change::Restored => panic!("nothing was restored"),
                }
            }
        });
        let clients = (0..CLIENTS).map(|number| Client::new(number, &servers, random.another()));
        let working: Vec<_> = clients
            .map(|mut client| {
                scope.spawn(move || {
                    for step in 0..writes() {
                        client.write(step);
                        client.read();
                    }
                    client
                })
            })
            .collect();
        let clients: Vec<Result<Client<'_>, _>> = working.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Release);
        let told: Vec<Event> = watching.join().expect("it ends");
        (clients.into_iter().map(|client| client.expect("the model is right")).collect::<Vec<_>>(), told)
    });

    let trail = store.read(|db| events::after(db, begun, usize::MAX)).expect("the trail");
    assert_eq!(told, trail);
    assert!(trail.windows(2).all(|pair| pair[0].seq < pair[1].seq), "{trail:?}");
    for client in &clients {
        let own = trail.iter().filter(|event| event.subject.starts_with(&format!("{}-", client.name)));
        let own = own.map(|event| (event.kind.clone(), event.subject.clone(), event.outcome.clone()));
        assert_eq!(own.collect::<Vec<_>>(), client.caused, "in the order in which {} did it", client.name);
        for (kind, server) in KINDS.into_iter().flat_map(|kind| [(kind, &servers[0]), (kind, &servers[1])]) {
            let (method, list) = lists(kind);
            let answer = server.modern("/mcp", method, json!({}));
            assert_eq!(client.named(&answer["result"][list]), client.listed(kind), "{method} at the end");
        }
    }
    assert_eq!(trail.len(), clients.iter().map(|client| client.caused.len()).sum::<usize>());
    let checked = scratch.finish(command().args(["check", "--deep"]));
    assert_eq!(checked.status, 0, "{checked}");
}

/// Sessions belong to revisions with a handshake. Their clients start a new session when asked to. Requests of the
/// newest revision need no session.
#[test]
fn only_the_server_where_a_session_began_knows_it() {
    let Some(world) = World::new() else { return };
    let scratch = Scratch::new();
    let serve = || {
        let mut command = scratch.command();
        Http::spawn(command.env("MCPKG_DB", &world.address).args(["--json", "serve", "--http", "--port", "0"]))
    };
    let servers = [serve(), serve()];
    let session = servers[0].session("/mcp", "2025-11-25");
    let ping = http::message("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    let ping = ping.with("Mcp-Session-Id", &session).with("MCP-Protocol-Version", "2025-11-25");
    assert_eq!(servers[0].send(&ping).status, 200);
    assert_eq!(servers[1].send(&ping).status, 404);
    for server in &servers {
        assert!(server.modern("/mcp", "prompts/list", json!({}))["result"].is_object());
    }
}
