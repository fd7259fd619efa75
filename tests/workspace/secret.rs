//! Tests that the password of a URL is in nothing that mcpkg answers, writes or stores.
//!
//! The tests put a password in places that take a URL. A server asks for the password, so it is also used. Then
//! everything that was printed, answered, logged and stored is searched for the password in several encodings.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, Engine};
use serde_json::{Value, json};

use super::shop::{REPOS, Shop};
use crate::support::{Client, at_a_terminal, command_lines, finds, skipped};

/// The part of the password that is the same in a URL and outside one.
const CORE: &str = "GeheimesWort4711";
const PASSWORD: &str = "a/GeheimesWort4711@b";
const IN_URL: &str = "a%2FGeheimesWort4711%40b";

/// Returns the encodings of the password.
fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let percent: String = CORE.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let hex: String = CORE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let utf16: Vec<u8> = CORE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut forms = vec![
        ("as it is", CORE.into()),
        ("all percent-encoded", percent.into()),
        ("in hex", hex.into()),
        ("as UTF-16", utf16),
        ("backwards", CORE.bytes().rev().collect()),
    ];
    // Base64 has three forms, depending on the bytes before the text. Leave out the ends, which depend on the bytes
    // next to the text.
    for before in 0..3 {
        let padded = format!("{}{CORE}", "x".repeat(before));
        let whole = BASE64_STANDARD_NO_PAD.encode(padded);
        let (start, end) = ([0, 2, 3][before], whole.len() - 3);
        forms.push(("in base64", whole.as_bytes()[start..end].to_vec()));
    }
    forms
}

/// Fails if the bytes contain a form of the password. Case is ignored, except for base64.
#[track_caller]
fn search(place: &str, bytes: &[u8]) {
    let lower = bytes.to_ascii_lowercase();
    for (how, form) in forms() {
        let (within, form) = if how == "in base64" { (bytes, form) } else { (&lower[..], form.to_ascii_lowercase()) };
        let found = within.windows(form.len()).position(|window| window == form);
        if let Some(at) = found {
            let around = &bytes[at.saturating_sub(80)..bytes.len().min(at + 80)];
            panic!("{place} has the password {how}: {}", String::from_utf8_lossy(around));
        }
    }
}

/// Searches each file below a folder, except those into which the user wrote the password.
fn search_files(folder: &Path, own: &[PathBuf]) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        search("the name of a file", path.as_os_str().as_encoded_bytes());
        if own.contains(&path) {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            count += search_files(&path, own);
        } else if let Ok(bytes) = fs::read(&path) {
            search(&path.display().to_string(), &bytes);
            count += 1;
        }
    }
    count
}

/// A server of bare repositories that asks for the password.
struct Guarded {
    port: u16,
    /// The number of requests with the password.
    opened: Arc<AtomicUsize>,
    /// The arguments of programs that contained the password during requests.
    arguments: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn new(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let opened = Arc::new(AtomicUsize::new(0));
        let arguments = Arc::new(Mutex::new(Vec::new()));
        let (counted, seen) = (Arc::clone(&opened), Arc::clone(&arguments));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, counted, seen) = (folder.clone(), Arc::clone(&counted), Arc::clone(&seen));
                thread::spawn(move || {
                    seen.lock().expect("a list").extend(arguments_with(port));
                    serve(&stream, &folder, &counted)
                });
            }
        });
        Self { port, opened, arguments }
    }

    fn url(&self, repo: &str) -> String {
        format!("http://ada:{IN_URL}@127.0.0.1:{}/{repo}.git", self.port)
    }
}

/// Returns the command lines on this machine that contain the password and this port, if there is a /proc.
fn arguments_with(port: u16) -> Vec<String> {
    let port = format!(":{port}/");
    command_lines().filter(|line| line.contains(CORE) && line.contains(&port)).collect()
}

/// Answers one request with a file of a repository, if the password is right.
fn serve(mut stream: &TcpStream, folder: &Path, opened: &AtomicUsize) -> Option<()> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next()?;
    let wanted = format!("authorization: basic {}", BASE64_STANDARD.encode(format!("ada:{PASSWORD}")));
    let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let is_known = headers.iter().any(|line| line.len() == wanted.len() && line.eq_ignore_ascii_case(&wanted));
    let path = first.split(' ').nth(1)?.split('?').next()?.trim_start_matches('/');
    let (status, body) = match fs::read(folder.join(path)) {
        _ if !is_known => ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"", Vec::new()),
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    opened.fetch_add(usize::from(is_known), Ordering::Relaxed);
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), &body].concat()).ok()
}

/// Runs commands, and searches their output.
struct Watched<'s> {
    shop: &'s Shop,
}

impl Watched<'_> {
    /// Runs a command with all logs, once for people and once with `--json`. Returns whether both succeeded.
    fn run(&self, line: &[&str]) -> bool {
        let mut well = true;
        for face in [&["-vv"][..], &["-vv", "--json"]] {
            let mut command = self.shop.command();
            command.args([face, line].concat()).env("MCPKG_LOG", "trace");
            let output = command.output().expect("mcpkg starts");
            for (name, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)] {
                search(&format!("{name} of {line:?}"), bytes);
            }
            well &= output.status.success();
        }
        well
    }

    /// Starts a server that logs everything to a file of its own.
    fn server(&self, modern: bool, name: &str) -> Client {
        let log = File::create(self.shop.scratch.path().join(format!("{name}.log"))).expect("a log");
        let mut command = self.shop.command();
        command.args(["serve", "--as", "smctl"]).env("MCPKG_LOG", "trace").stderr(log);
        match modern {
            true => Client::modern_with(&mut command, json!({})),
            false => Client::spawn(&mut command).shake_hands("2025-06-18"),
        }
    }
}

/// Sends a request to a server, and searches the answer.
fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.request(method, params);
    search(method, answer.to_string().as_bytes());
    answer
}

fn call(client: &mut Client, tool: &str, arguments: Value) -> Value {
    ask(client, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

/// Returns repositories behind the server, and a workspace that does not exist yet.
fn guarded() -> (Shop, Guarded) {
    let shop = Shop::bare();
    for (repo, _) in REPOS {
        shop.git(&shop.origin(repo), &["update-server-info"]);
    }
    let server = Guarded::new(shop.scratch.path().join("work/origins"));
    (shop, server)
}

/// Returns whether this machine's git supports HTTP.
fn speaks_http(shop: &Shop) -> bool {
    let ran = shop.git_command(&shop.root()).args(["remote-http"]).output().expect("git starts");
    let speaks = !String::from_utf8_lossy(&ran.stderr).contains("is not a git command");
    if !speaks {
        skipped("git speaks no HTTP");
    }
    speaks
}

/// Runs commands, reads resources and calls tools that only show something, and searches their output. Also searches
/// all files.
fn look_everywhere(shop: &Shop, own: &[PathBuf]) {
    let watched = Watched { shop };
    for line in [
        &["workspace", "status"][..],
        &["workspace", "sync", "--dry-run"],
        &["workspace", "sync"],
        &["workspace", "kept"],
        &["workspace", "recover"],
        &["worktree", "list"],
        &["flow", "feature", "list"],
        &["flow", "log"],
        &["spec", "list"],
        &["builds", "list"],
        &["builds", "show"],
        &["consent", "list"],
        &["events"],
        &["doctor"],
        &["check"],
        &["prune", "--dry-run"],
    ] {
        watched.run(line);
    }
    for modern in [false, true] {
        let mut client = watched.server(modern, "reads");
        let listed = ask(&mut client, "resources/list", json!({}));
        for resource in listed["result"]["resources"].as_array().into_iter().flatten() {
            ask(&mut client, "resources/read", json!({ "uri": resource["uri"] }));
        }
        for tool in ["smctl_workspace_status", "smctl_worktree_list", "smctl_spec_status"] {
            call(&mut client, tool, json!({}));
        }
        client.finish();
    }
    let backup = shop.scratch.path().join("backup.db");
    let _ = fs::remove_file(&backup);
    shop.ok(&["backup", &backup.display().to_string()]);
    assert!(search_files(shop.scratch.path(), own) > 100, "the files that there are");
    assert!(shop.scratch.state().is_dir(), "what the user approved is among them");
}

#[test]
fn x34_a_password_that_clones_is_found_nowhere() {
    let (shop, server) = guarded();
    if !speaks_http(&shop) {
        return;
    }
    let watched = Watched { shop: &shop };
    let urls = REPOS.map(|(repo, path)| format!("{}={path}", server.url(repo)));
    let mut line = vec!["workspace", "init", "shop"];
    line.extend(urls[..2].iter().flat_map(|url| ["--repo", url]));
    watched.run(&[&line[..], &["--dry-run"]].concat());
    // The server does not have the last repository, so the other clones are removed again.
    let missing = server.url("missing");
    assert!(!watched.run(&[&line[..], &["--repo", &missing]].concat()));
    assert!(server.opened.swap(0, Ordering::Relaxed) > 0, "the password was used");
    assert!(!shop.repo("lib").exists() && !shop.repo("api").exists());
    watched.run(&line);
    assert!(shop.repo("api").join("code.txt").exists() && server.opened.load(Ordering::Relaxed) > 0);
    watched.run(&["workspace", "add", &missing]);
    watched.run(&["workspace", "add", &urls[2]]);
    assert!(shop.repo("web").join("code.txt").exists());
    // Add the same repository again, and addresses that are not repositories.
    watched.run(&["workspace", "add", &urls[2]]);
    watched.run(&["workspace", "add", &format!("http://ada:{IN_URL}@127.0.0.1:1/more.git")]);
    watched.run(&["workspace", "add", &format!("foo://ada:{IN_URL}@127.0.0.1/more.git")]);
    watched.run(&["workspace", "add", &format!("http://ada:{IN_URL}@127.0.0.1:{}/lib.git=../out", server.port)]);
    // A user may not know that the password has to be encoded.
    watched.run(&["workspace", "add", &format!("http://ada:{PASSWORD}@127.0.0.1:{}/more.git", server.port)]);
    watched.run(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    watched.run(&["flow", "feature", "finish", "login", "--dry-run"]);
    watched.run(&["flow", "feature", "finish", "login"]);
    watched.run(&["--yes", "flow", "push"]);
    look_everywhere(&shop, &[]);
}

#[test]
fn x34_a_password_that_an_agent_clones_with_is_found_nowhere() {
    for modern in [false, true] {
        let (shop, server) = guarded();
        if !speaks_http(&shop) {
            return;
        }
        let mut client = Watched { shop: &shop }.server(modern, "agent");
        let init = |url: String| json!({ "name": "shop", "repos": [{ "url": url, "path": "lib" }] });
        for url in [
            server.url("missing"),
            format!("http://ada:{IN_URL}@127.0.0.1:1/lib.git"),
            format!("https://ada:{PASSWORD}@127.0.0.1:1/lib.git"),
            format!("file://ada:{IN_URL}@127.0.0.1/lib.git"),
        ] {
            let answer = call(&mut client, "smctl_workspace_init", init(url));
            assert!(answer["error"].is_object() || answer["result"]["isError"] == true, "{answer}");
        }
        call(&mut client, "smctl_workspace_init", init(server.url("lib")));
        assert!(shop.repo("lib").join("code.txt").exists());
        let seen = server.arguments.lock().expect("a list").clone();
        assert_eq!(seen, [""; 0], "who looks at the machine's processes sees no password");
        call(&mut client, "smctl_workspace_init", init(server.url("lib")));
        // URLs in arguments that are not for URLs.
        for (tool, arguments) in [
            ("smctl_flow_feature_start", json!({ "name": server.url("lib") })),
            ("smctl_worktree_add", json!({ "name": "x", "repos": [server.url("lib")] })),
            ("smctl_worktree_add", json!({ "name": "x", "branch": server.url("lib") })),
            ("smctl_spec_status", json!({ "name": server.url("lib") })),
            ("smctl_build", json!({ "repo": server.url("lib") })),
            ("smctl_build", json!({ "url": server.url("lib") })),
        ] {
            call(&mut client, tool, arguments);
        }
        client.finish();
        look_everywhere(&shop, &[]);
    }
}

/// A password that a user wrote into git's settings, the manifest or a build's output stays there and is not copied
/// elsewhere.
#[test]
fn x34_a_password_that_a_user_stored_is_not_copied_elsewhere() {
    let (shop, server) = guarded();
    shop.ok(&shop.init_line());
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let origin = shop.origin("web").display().to_string();
    assert!(text.contains(&origin), "{text}");
    let says = format!("sh -c 'echo from {}; echo {} >&2; exit 1'", server.url("lib"), server.url("web"));
    let text = text.replace(&origin, &server.url("web"));
    let text = text.replace("name = \"lib\"\n", &format!("name = \"lib\"\nbuild_cmd = \"{says}\"\n"));
    fs::write(&manifest, format!("{text}\n[gate]\nurl = \"{}\"\n", server.url("gate"))).expect("a manifest");
    let lib = shop.repo("lib");
    shop.git(&lib, &["remote", "set-url", "origin", &server.url("lib")]);
    shop.git(&shop.repo("api"), &["remote", "set-url", "origin", &format!("http://ada:{IN_URL}@127.0.0.1:1/api.git")]);
    fs::remove_dir_all(shop.repo("web")).expect("gone");
    let own = [manifest, lib.join(".git/config"), shop.repo("api").join(".git/config")];
    let watched = Watched { shop: &shop };
    watched.run(&["workspace", "sync"]);
    for line in [
        &["build"][..],
        &["build", "--dry-run"],
        &["worktree", "add", "side"],
        &["worktree", "remove", "side"],
        &["flow", "feature", "start", "login", "--repo", "lib"],
        &["--yes", "flow", "push", "login"],
        &["flow", "feature", "finish", "login"],
        &["workspace", "remove", "web", "--dry-run"],
        &["workspace", "init", "again"],
    ] {
        watched.run(line);
    }
    let mut client = watched.server(false, "agent");
    let asked = call(&mut client, "smctl_build", json!({ "repo": "lib" }));
    let request = asked["error"]["data"]["consent"].as_str().expect("a request").to_owned();
    watched.run(&["consent", "show", &request]);
    if finds("script").is_some() {
        let mut command = shop.command();
        let (said, _) = at_a_terminal(command.args(["consent", "approve", &request]), "y\n").expect("a terminal");
        search("a terminal", said.as_bytes());
        let failed = call(&mut client, "smctl_build", json!({ "repo": "lib" }));
        assert_eq!(failed["error"]["code"], -32004, "{failed}");
    } else {
        skipped("there is no script(1): no agent's build was consented to");
    }
    client.finish();
    look_everywhere(&shop, &own);
}
