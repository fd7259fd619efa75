//! Tests that a server notices at once when another server changes what a request may access.

use mcpkg_base::clock;
use serde_json::{Value, json};

use super::World;
use crate::support::postgres::Server;
use crate::support::{Http, Request, Scratch, http};

/// A scratch folder whose commands use a database on a server.
struct Shell<'a> {
    scratch: Scratch,
    address: &'a str,
}

impl<'a> Shell<'a> {
    /// Creates the projects `p`, which is selected, and `q`. Each has a prompt.
    fn new(address: &'a str) -> Self {
        let shell = Self { scratch: Scratch::new(), address };
        for project in ["p", "q"] {
            shell.ok(&["project", "create", project]);
            shell.ok(&["-p", project, "prompt", "create", "greet", &format!("of {project}")]);
        }
        shell.ok(&["project", "select", "p"]);
        shell
    }

    #[track_caller]
    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.scratch.finish(self.scratch.command().env("MCPKG_DB", self.address).args(arguments));
        assert_eq!(ran.status, 0, "mcpkg {}\n{ran}", arguments.join(" "));
        ran.stdout
    }

    fn key(&self, arguments: &[&str]) -> String {
        let made = self.ok(&[&["--json", "access", "create"], arguments].concat());
        let made: Value = serde_json::from_str(&made).expect("JSON");
        made["key"].as_str().expect("a key").to_owned()
    }

    fn serve(&self, more: &str) -> Http {
        let address = format!("{}{more}", self.address);
        let arguments = ["--json", "serve", "--http", "--port", "0"];
        Http::spawn(self.scratch.command().env("MCPKG_DB", address).args(arguments))
    }
}

/// Returns one read of each kind. With `again`, each has a token of its own, so that it differs from all earlier reads.
fn reads(path: &str, key: Option<&str>, again: bool) -> [Request; 4] {
    let calls = [
        ("prompts/get", json!({ "name": "greet" })),
        ("prompts/list", json!({})),
        ("tools/call", json!({ "name": "get_prompt", "arguments": { "name": "greet" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "of" } })),
    ];
    calls.map(|(method, parameters)| {
        let mut request = http::modern(path, method, parameters);
        if again {
            let token = json!(clock::unique().to_string());
            request = request.edited(|message| message["params"]["_meta"]["progressToken"] = token);
        }
        match key {
            Some(key) => request.with("Authorization", &format!("Bearer {key}")),
            None => request,
        }
    })
}

/// Sends each kind of read to each server, and checks the status of the answers.
#[track_caller]
fn all(servers: &[Http; 2], path: &str, key: Option<&str>, status: u16) {
    // Repeated reads and new reads are answered in different ways.
    for again in [true, false, true, false] {
        for server in servers {
            for request in reads(path, key, again) {
                let answer = server.send(&request);
                assert_eq!(answer.status, status, "{}", answer.text());
                assert_eq!(answer.text().contains("\"result\""), status == 200, "{}", answer.text());
            }
        }
    }
}

#[test]
fn a_key_revoked_through_one_server_is_refused_by_another_at_its_next_read() {
    let Some(world) = World::new() else { return };
    let shell = Shell::new(&world.address);
    let servers = [(); 2].map(|()| shell.serve(""));
    all(&servers, "/mcp", None, 200);
    // Once a key exists, every request needs a key.
    let lasting = shell.key(&["lasting"]);
    all(&servers, "/mcp", None, 401);
    all(&servers, "/mcp", Some(&lasting), 200);

    for way in 0..4 {
        let name = format!("short-{way}");
        let key = shell.key(&[&name, "--project", "q"]);
        for path in ["/mcp", "/projects/q/mcp"] {
            all(&servers, path, Some(&key), 200);
        }
        shell.ok(&["access", "revoke", &name, "--yes"]);
        // The very next read of each server and of each kind is refused.
        for (server, again) in [(0, way % 2 == 0), (1, way % 2 == 1)] {
            let refused = servers[server].send(&reads("/mcp", Some(&key), again)[way]);
            assert_eq!(refused.status, 401, "{}", refused.text());
            assert!(!refused.text().contains("of q"), "{}", refused.text());
        }
        all(&servers, "/mcp", Some(&lasting), 200);
    }
}

#[test]
fn a_deleted_or_newly_selected_project_is_noticed_at_the_next_read() {
    let Some(world) = World::new() else { return };
    let shell = Shell::new(&world.address);
    let servers = [(); 2].map(|()| shell.serve(""));
    let text = |server: &Http, again| {
        let [get, ..] = reads("/mcp", None, again);
        server.send(&get).message()["result"]["messages"][0]["content"]["text"].clone()
    };
    for project in ["p", "q", "p", "q"] {
        shell.ok(&["project", "select", project]);
        for (server, again) in servers.iter().zip([true, false]) {
            assert_eq!(text(server, again), format!("of {project}"));
        }
        all(&servers, "/mcp", None, 200);
        all(&servers, "/projects/p/mcp", None, 200);
    }
    shell.ok(&["project", "delete", "p", "--yes"]);
    all(&servers, "/projects/p/mcp", None, 404);
    all(&servers, "/projects/q/mcp", None, 200);
}

#[test]
fn a_new_read_is_one_round_trip() {
    let Some(server) = Server::start_with(5432, "-c listen_addresses= -c log_line_prefix=%p:", |_| {}) else { return };
    let address = server.database();
    let shell = Shell::new(&address);
    let serving = shell.serve("?options=-c%20log_statement%3Dall");
    let key = shell.key(&["k"]);
    // Read with methods of the protocol, not with tools. The first reads make each connection prepare their statements.
    let read = |method: usize| {
        let answer = serving.send(&reads("/projects/q/mcp", Some(&key), true)[method]);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let log = || std::fs::read_to_string(server.folder().join("log")).expect("the server's log");
    for method in [0, 1] {
        (0..20).for_each(|_| read(method));
        let before = log().len();
        (0..10).for_each(|_| read(method));
        let log = &log()[before..];
        let of_reads = log.lines().filter(|line| line.contains("SELECT found.*")).count();
        assert_eq!(of_reads, 10, "{log}");
        // The server's listener makes its own statements, about one per second.
        let looks = log.lines().filter(|line| line.ends_with(": SELECT pg_current_snapshot()::text")).count();
        assert!(looks < 5, "{looks} looks beside 10 reads: {log}");
    }
}
