//! Compares requests and answers with recorded ones in `tests/fixtures/registry/exchanges.json`. mcpkg's registry has
//! the same paths as Enact's.
//!
//! The server must give these answers. The client must make these requests and accept these answers. The file contains
//! words in angle brackets for values that differ between runs, such as times. `UPDATE_DOCS=1` records the answers
//! again.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mcpkg_base::hex;
use mcpkg_registry::package::archive::{self, Opened};
use mcpkg_registry::trust::statement::{self, Says};
use mcpkg_registry::trust::{Identity, Subject, dsse};
use mcpkg_store::tools::attestations;
use serde_json::{Value, json};

use super::team::{Team, done, form, request};
use super::trusting;
use crate::support::http::Response;
use crate::support::{Scratch, eventually};

const TOOL: &str = "alice/weather";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/registry/exchanges.json")
}

fn exchanges() -> Vec<Value> {
    let text = std::fs::read_to_string(fixture()).expect("the recorded set");
    serde_json::from_str(&text).expect("JSON")
}

/// The package of the recorded requests, and its signature.
struct Package {
    folder: Scratch,
    opened: Opened,
    identity: String,
    bundle: String,
}

impl Package {
    fn new() -> Self {
        let folder = Scratch::new();
        let manifest = "name: alice/weather\nversion: 1.0.0\ndescription: Tells the weather of a city\ntags: [forecast]\n\
                        license: MIT\nrepository: https://example.com/weather\ncommand: echo sunny\n";
        folder.file("weather/enact.yaml", manifest);
        let opened = archive::pack(&folder.path().join("weather")).expect("an archive").opened;
        let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
        let identity = Identity::of(&key.verifying_key());
        let subject = Subject { name: TOOL.to_owned(), version: "1.0.0".to_owned(), sha256: opened.sha256 };
        let statement = statement::write(&subject, None, &Says::Made, Some(&identity), 0);
        let bundle = dsse::sign(statement.as_bytes(), &key).expect("signed");
        Self { folder, opened, identity: identity.as_str().to_owned(), bundle }
    }

    /// Returns a different archive for the same version.
    fn other(&self) -> Vec<u8> {
        let other = Scratch::new();
        let text = std::fs::read_to_string(self.folder.path().join("weather/enact.yaml")).expect("the manifest");
        other.file("weather/enact.yaml", text.replace("sunny", "rainy"));
        archive::pack(&other.path().join("weather"))
            .expect("an archive")
            .opened
            .content
            .bytes()
            .expect("its bytes")
            .into_owned()
    }

    fn escaped_identity(&self) -> String {
        self.identity.replace(':', "%3A").replace('/', "%2F").replace('+', "%2B")
    }

    /// Replaces the words in angle brackets with values.
    fn filled(&self, value: &Value) -> Value {
        let bundle: Value = serde_json::from_str(&self.bundle).expect("JSON");
        match value {
            Value::String(text) if text == "<BUNDLE>" => bundle,
            Value::String(text) if text == "<SIZE>" => json!(&self.opened.content.bytes().expect("its bytes").len()),
            Value::String(text) => {
                let sha256 = hex::encode(&self.opened.sha256);
                let text = text.replace("<SHA256>", &sha256).replace("<AUDITOR>", &self.escaped_identity());
                json!(text.replace("<TIME>", "2026-01-01T00:00:00Z").replace("<IDENTITY>", &self.identity))
            }
            Value::Array(values) => values.iter().map(|value| self.filled(value)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect(),
            value => value.clone(),
        }
    }

    /// Replaces values that differ between runs with words in angle brackets.
    fn normalised(&self, value: &Value) -> Value {
        let bundle: Value = serde_json::from_str(&self.bundle).expect("JSON");
        if *value == bundle {
            return json!("<BUNDLE>");
        }
        match value {
            Value::String(text) if text.len() == 20 && text.ends_with('Z') && text.starts_with("20") => json!("<TIME>"),
            Value::String(text) => {
                let text = text.replace(&hex::encode(&self.opened.sha256), "<SHA256>");
                let of_bundle = mcpkg_base::sha256::hex(self.bundle.as_bytes());
                json!(text.replace(&of_bundle, "<ATTESTATION>").replace(&self.identity, "<IDENTITY>"))
            }
            Value::Number(number) if number.as_u64() == Some(self.opened.content.size()) => json!("<SIZE>"),
            Value::Array(values) => values.iter().map(|value| self.normalised(value)).collect(),
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), self.normalised(value))).collect(),
            value => value.clone(),
        }
    }

    /// Returns the part of an answer that is recorded.
    fn recorded(&self, response: &Response) -> Value {
        let mut answer = json!({ "status": response.status });
        if let Some(tag) =
            response.header("etag").filter(|_| response.body == *self.opened.content.bytes().expect("its bytes"))
        {
            answer["etag"] = self.normalised(&json!(tag));
        }
        for header in ["www-authenticate", "allow"] {
            if let Some(value) = response.header(header) {
                answer[header] = json!(value);
            }
        }
        match response.body == *self.opened.content.bytes().expect("its bytes") {
            true => answer["archive"] = json!(true),
            false => {
                let body = serde_json::from_slice(&response.body).unwrap_or_else(|_| panic!("{}", response.text()));
                answer["json"] = self.normalised(&body);
            }
        }
        answer
    }
}

/// Waits until this many downloads are counted. The server counts a download after it has answered.
fn counted(team: &Team, downloads: u64) {
    eventually("the download is counted", || {
        let count = |db: &mcpkg_store::Db<'_>| mcpkg_store::tools::packages::downloads(db, "local", TOOL);
        (team.scratch.store().read(count).expect("a count") == downloads).then_some(())
    });
}

#[test]
fn the_server_gives_the_recorded_answers() {
    let (team, package, mut recorded) = (Team::start(&[]), Package::new(), exchanges());
    let keys = [
        ("alice", team.key(&["alice", "--publish", "alice", "--attest"])),
        ("bob", team.key(&["bob", "--publish", "bob"])),
        ("reader", team.key(&["reader", "--read-only"])),
    ];
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut downloads = 0;
    for exchange in &mut recorded {
        let ask = package.filled(&exchange["ask"]);
        let key = keys.iter().find(|(name, _)| exchange["as"] == *name).map(|(_, key)| key.as_str());
        let asked = request(ask["method"].as_str().expect("a method"), ask["path"].as_str().expect("a path"), key);
        let asked = match (&ask["form"], &ask["json"]) {
            (Value::Object(parts), _) => {
                let bundle = match parts["bundle"].as_str().expect("a bundle") {
                    "<ARCHIVE>" => package.opened.content.bytes().expect("its bytes").into_owned(),
                    "<OTHER>" => package.other(),
                    text => text.as_bytes().to_vec(),
                };
                form(asked, &bundle, parts["visibility"].as_str().expect("a visibility"))
            }
            (_, Value::Null) => asked,
            (_, body) => asked.with("Content-Type", "application/json").body(body.to_string()),
        };
        let answer = package.recorded(&team.server.send(&asked));
        if update {
            exchange["answer"] = answer.clone();
        } else {
            assert_eq!(answer, exchange["answer"], "{}", exchange["what"]);
        }
        if answer["archive"] == true {
            downloads += 1;
            counted(&team, downloads);
        }
    }
    if update {
        std::fs::write(fixture(), format!("{:#}\n", Value::Array(recorded))).expect("written");
    }
}

/// Gives recorded answers, and remembers which requests were made.
struct Replay {
    exchanges: Vec<Value>,
    archive: Vec<u8>,
    /// The index of the last request that changed something.
    at: Option<usize>,
    asked: BTreeSet<usize>,
    forms: Vec<Vec<u8>>,
}

impl Replay {
    /// Returns the recorded answer to a request, or 404 if there is none. The same request may be recorded several
    /// times. A read then gets the first answer before the next change, or else the newest earlier one. A change gets
    /// the next answer, or else the last one.
    fn answer(&mut self, method: &str, path: &str, body: Vec<u8>) -> Vec<u8> {
        let same = |exchange: &Value| exchange["ask"]["method"] == method && exchange["ask"]["path"] == path;
        let all: Vec<usize> = (0..self.exchanges.len()).filter(|n| same(&self.exchanges[*n])).collect();
        let is_after = |n: &usize| self.at.is_none_or(|at| *n > at);
        let changes = |n: &usize| self.exchanges[*n]["client"] == true && self.exchanges[*n]["ask"]["method"] != "GET";
        // A read that was recorded after the next change does not apply yet.
        let end = (0..self.exchanges.len()).find(|n| is_after(n) && changes(n)).unwrap_or(self.exchanges.len());
        let next = match method {
            "GET" => all.iter().find(|n| is_after(n) && **n < end).or(all.iter().rfind(|n| !is_after(n))),
            _ => all.iter().find(|n| is_after(n)).or(all.last()),
        };
        let Some(&n) = next else {
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}".to_vec();
        };
        self.asked.insert(n);
        if method != "GET" {
            self.at = Some(n);
            match &self.exchanges[n]["ask"]["json"] {
                Value::Null => self.forms.push(body),
                expected => assert_eq!(serde_json::from_slice::<Value>(&body).ok().as_ref(), Some(expected), "{path}"),
            }
        }
        let answer = &self.exchanges[n]["answer"];
        let (kind, body) = match answer["archive"] == true {
            true => ("application/gzip", self.archive.clone()),
            false => ("application/json", answer["json"].to_string().into_bytes()),
        };
        let tag = answer["etag"].as_str().map(|tag| format!("ETag: {tag}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {} X\r\nContent-Type: {kind}\r\n{tag}Content-Length: {}\r\nConnection: close\r\n\r\n",
            answer["status"],
            body.len()
        );
        [head.as_bytes(), &body].concat()
    }
}

fn serve(mut stream: TcpStream, replay: &Mutex<Replay>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
    }
    let mut words = head.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    assert!(lower.contains("authorization: bearer t0ken"), "{head}");
    let answer = replay.lock().ok()?.answer(method, path, body);
    stream.write_all(&answer).ok()
}

#[test]
fn the_client_makes_the_recorded_requests_and_accepts_the_answers() {
    let package = Package::new();
    let recorded: Vec<Value> = exchanges().iter().map(|exchange| package.filled(exchange)).collect();
    let by_client: BTreeSet<usize> = (0..recorded.len()).filter(|n| recorded[*n]["client"] == true).collect();
    let archive = package.opened.content.bytes().expect("its bytes").into_owned();
    let exchanges = recorded.clone();
    let replay = Replay { exchanges, archive, at: None, asked: BTreeSet::new(), forms: Vec::new() };
    let replay = Arc::new(Mutex::new(replay));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let served = Arc::clone(&replay);
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| {
            let _ = serve(stream, &served);
        });
    });
    let home = || {
        let home = Scratch::new();
        home.ok(&["registry", "add", "team", &url, "--token", "env:TEAM_TOKEN"]);
        home
    };
    let author = home();
    let insert = |db: &mcpkg_store::Db<'_>| attestations::insert(db, &package.opened.sha256, &package.bundle, None, 0);
    author.store().write(insert).expect("stored");
    let folder = package.folder.path().join("weather");
    let publish = ["tool", "publish", folder.to_str().expect("a path"), "--to", "team"];
    assert_eq!(done(&author, "t0ken", &publish)["published"], true);

    let user = home();
    let found = done(&user, "t0ken", &["tool", "search", "weather", "--registry", "team"]);
    assert_eq!((&found["total"], &found["results"][0]["tags"]), (&json!(1), &json!(["forecast"])), "{found}");
    assert_eq!(done(&user, "t0ken", &["tool", "info", TOOL, "--registry", "team"])["license"], "MIT");
    trusting(&user, &package.identity);
    let installed = done(&user, "t0ken", &["tool", "install", TOOL]);
    assert_eq!(installed["verification"]["status"], "verified", "{installed}");

    let version = format!("{TOOL}@1.0.0");
    let yank = ["tool", "yank", &version, "--registry", "team", "--reason", "wrong units", "--replacement", "1.0.1"];
    done(&author, "t0ken", &yank);
    let other = home();
    trusting(&other, &package.identity);
    let refused = super::team::fails(&other, "t0ken", &["tool", "install", &version]);
    assert_eq!(refused, "E_VERSION_YANKED");
    done(&other, "t0ken", &["tool", "install", &version, "--allow-yanked"]);
    done(&author, "t0ken", &["tool", "unyank", &version, "--registry", "team"]);

    let replay = replay.lock().expect("nobody panicked");
    let missing: Vec<&Value> = by_client.difference(&replay.asked).map(|n| &recorded[*n]["what"]).collect();
    assert!(missing.is_empty(), "the client did not ask: {missing:?}");
    let form = &replay.forms[0];
    let has = |text: &[u8]| form.windows(text.len()).any(|window| window == text);
    assert!(has(&package.opened.content.bytes().expect("its bytes")) && has(b"name=\"visibility\"\r\n\r\npublic\r\n"));
    assert!(has(b"name=\"raw_manifest\"\r\n\r\nname: alice/weather\n") && has(b"name=\"manifest\"; filename="));
}

/// The fields of each answer according to the documentation of Enact's registry.
const MEMBERS: [(&str, &[&str]); 6] = [
    ("search", &["tools", "total", "limit", "offset", "search_type"]),
    (
        "a tool",
        &[
            "name",
            "description",
            "tags",
            "license",
            "author",
            "repository",
            "homepage",
            "visibility",
            "created_at",
            "updated_at",
            "latest_version",
            "versions",
            "versions_total",
            "total_downloads",
        ],
    ),
    (
        "a version",
        &[
            "name",
            "version",
            "manifest",
            "rawManifest",
            "bundle",
            "attestations",
            "yanked",
            "yank_reason",
            "yank_replacement",
            "yanked_at",
            "published_by",
            "published_at",
            "downloads",
        ],
    ),
    ("publish a version", &["name", "version", "bundle_hash", "bundle_size", "download_url", "published_at"]),
    ("take a version back", &["yanked", "version", "reason", "replacement_version", "yanked_at"]),
    ("write without a key", &["error"]),
];

#[test]
fn the_recorded_answers_have_the_documented_fields() {
    let recorded = exchanges();
    for (what, members) in MEMBERS {
        let exchange = recorded.iter().find(|exchange| exchange["what"] == what).expect(what);
        for member in members {
            assert!(exchange["answer"]["json"].get(member).is_some(), "{what} has no {member}");
        }
    }
    let codes: BTreeSet<(u64, &str)> = recorded
        .iter()
        .filter_map(|exchange| {
            let answer = &exchange["answer"];
            Some((answer["status"].as_u64()?, answer["json"]["error"]["code"].as_str()?))
        })
        .collect();
    let expected = [
        (400, "BAD_REQUEST"),
        (401, "UNAUTHORIZED"),
        (403, "FORBIDDEN"),
        (403, "NAMESPACE_MISMATCH"),
        (404, "NOT_FOUND"),
        (405, "METHOD_NOT_ALLOWED"),
        (409, "CONFLICT"),
        (410, "VERSION_YANKED"),
        (422, "VALIDATION_ERROR"),
    ];
    assert_eq!(codes, BTreeSet::from(expected));
}
