//! Tests of `mcpkg client check` with good servers, and with servers that are missing, hang, end or print garbage.

use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use super::*;
use crate::support::Scratch;

/// Creates a link named `mcpkg` to the shell, and returns its path. A new script would not do: a child process of another
/// test may still have the script open for writing, and then the script cannot be run.
fn shell(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("bin/mcpkg");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    if !path.exists() {
        std::os::unix::fs::symlink("/bin/sh", &path).expect("a link");
    }
    path
}

/// Writes an agent's entry that runs a script with the link that [`shell`] creates.
fn scripted(ground: &Ground, agent: &str, script: &str) {
    let path = shell(&ground.scratch);
    let case = cases().into_iter().find(|case| case.agent == agent).expect("an agent");
    let (program, args) = (serde_json::json!(path), serde_json::json!(["-c", script, "serve"]));
    if case.is_toml {
        case.put(ground, format!("[mcp_servers.mcpkg]\ncommand = {program}\nargs = {args}\n"));
    } else {
        case.put(ground, format!(r#"{{"{}":{{"mcpkg":{{"command":{program},"args":{args}}}}}}}"#, case.key));
    }
}

/// Runs `client check`, and returns the name, state and text of each step for the first client.
fn steps(ground: &Ground, arguments: &[&str], status: i32) -> Vec<(String, String, String)> {
    let ran = run(ground, &[&["check", "--json"], arguments].concat());
    assert_eq!(ran.status, status, "{ran}");
    let data: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran}"));
    assert_eq!(data["ok"], status == 0);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let steps = data["clients"][0]["steps"].as_array().expect("steps");
    steps.iter().map(|step| (text(&step["step"]), text(&step["state"]), text(&step["what"]))).collect()
}

fn step(steps: &[(String, String, String)], name: &str) -> (String, String) {
    let (_, state, what) = steps.iter().find(|(step, ..)| step == name).unwrap_or_else(|| panic!("{name}: {steps:?}"));
    (state.clone(), what.clone())
}

#[test]
fn a_good_server_passes_as_every_agent_starts_it() {
    let ground = Ground::new();
    ground.ok(&["prompt", "create", "hello", "Hello"]);
    for agent in agents().iter().map(|agent| agent.name) {
        ok(&ground, &["add", agent]);
        let steps = steps(&ground, &[agent], 0);
        assert!(steps.iter().all(|(_, state, _)| state == "ok"), "{agent}: {steps:?}");
        assert_eq!(step(&steps, "prompts").1, "1 prompt", "{agent}");
        let revision = match agent {
            "claude-code" | "copilot" => "2026-07-28",
            "codex" | "gemini" => "2025-06-18",
            _ => "2025-11-25",
        };
        assert!(step(&steps, "greeting").1.ends_with(revision), "{agent}: {steps:?}");
    }
    let shown = run(&ground, &["check"]);
    assert!(shown.status == 0 && shown.stdout.contains("this mcpkg"), "{shown}");
}

#[test]
fn codex_passes_on_few_variables_and_its_own_folder() {
    let ground = Ground::new();
    scripted(&ground, "codex", "/usr/bin/env > \"$HOME/seen\"; pwd >> \"$HOME/seen\"");
    let ran = ground.scratch.finish(command(&ground).args(["check", "codex"]).env("SECRET", "x").env("LANG", "C"));
    assert_eq!(ran.status, 1, "{ran}");
    let seen = std::fs::read_to_string(ground.home().join("seen")).expect("what it saw");
    assert!(!seen.contains("SECRET") && !seen.contains("MCPKG_DB") && seen.contains("LANG=C"), "{seen}");
    assert!(seen.trim_end().ends_with("/.codex"), "{seen}");
}

#[test]
fn each_step_reports_what_is_wrong() {
    let ground = Ground::new();
    scripted(&ground, "cursor", "echo 'no such license' >&2; exit 3");
    let seen = steps(&ground, &["cursor"], 1);
    let (state, what) = step(&seen, "greeting");
    assert!(state == "failed" && what.contains("exit status: 3") && what.contains("no such license"), "{what}");
    assert_eq!(step(&seen, "tools").0, "skipped");

    scripted(&ground, "cursor", "echo Welcome to mcpkg; /bin/cat > /dev/null");
    let seen = steps(&ground, &["cursor"], 1);
    assert_eq!(step(&seen, "greeting").1, "the server printed `Welcome to mcpkg`, which is not an MCP message");
    assert_eq!(step(&seen, "end").0, "ok");

    std::fs::remove_file(ground.scratch.path().join("bin/mcpkg")).expect("a file");
    let seen = steps(&ground, &["cursor"], 1);
    let (state, what) = step(&seen, "program");
    assert!(state == "failed" && what.contains("does not exist"), "{what}");
    assert_eq!(step(&seen, "start").0, "skipped");

    ground.scratch.file("ground/home/.cursor/mcp.json", "{");
    assert_eq!(step(&steps(&ground, &["cursor"], 1), "configuration").0, "failed");

    let none = run(&ground, &["check", "gemini"]);
    assert!(none.status == 1 && none.stderr.contains("mcpkg client add gemini"), "{none}");
}

#[test]
fn a_server_that_hangs_is_given_up_and_killed() {
    let ground = Ground::new();
    scripted(&ground, "cursor", "echo $$ > \"$HOME/pid\"; exec /bin/sleep 1000");
    let began = Instant::now();
    let seen = steps(&ground, &["cursor"], 1);
    assert!(began.elapsed() < Duration::from_secs(60), "{seen:?}");
    assert_eq!(step(&seen, "greeting").1, "no response to initialize within 10 seconds");
    assert_eq!(
        step(&seen, "end"),
        ("failed".to_owned(), "the server did not exit when its input closed, so mcpkg killed the server".to_owned())
    );
    let id = std::fs::read_to_string(ground.home().join("pid")).expect("an id");
    assert!(!std::path::Path::new("/proc").join(id.trim()).exists(), "{id}");
}

/// Serves one canned answer to each connection. Returns the port, and a thread that returns the requests.
fn web(answers: Vec<String>) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = std::thread::spawn(move || {
        let mut asked = Vec::new();
        let mut answers = answers.into_iter();
        while let Some(answer) = answers.as_slice().first().cloned() {
            let (mut stream, _) = listener.accept().expect("a connection");
            let Ok(request) = read_request(&mut BufReader::new(&stream)) else { continue };
            asked.push(request);
            stream.write_all(answer.as_bytes()).expect("an answer");
            answers.next();
        }
        asked
    });
    (port, server)
}

/// Reads a whole request. Fails if the client connects without sending one, as it does to see whether the port is open.
fn read_request(reader: &mut impl BufRead) -> std::io::Result<String> {
    let (mut text, mut length) = (String::new(), 0);
    loop {
        let start = text.len();
        if reader.read_line(&mut text)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match text[start..].trim_end().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().map_err(std::io::Error::other)?,
            Some(_) => {}
            None if start > 0 => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(text + &String::from_utf8_lossy(&body))
}

fn answer(kind: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_url_is_asked_the_same() {
    let ground = Ground::new();
    let hello = r#"{"jsonrpc":"2.0","id":"check-1","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"2"}}}"#;
    let tools = r#"{"jsonrpc":"2.0","id":"check-2","result":{"tools":[{},{}]}}"#;
    let (port, server) = web(vec![
        answer("application/json", "Mcp-Session-Id: s1\r\n", hello),
        "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
        answer("text/event-stream", "", &format!("event: message\ndata: {tools}\n\n")),
        "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
    ]);
    let url = format!("http://127.0.0.1:{port}/mcp");
    ok(&ground, &["add", "cursor", "--http", &url, "--key-env", "TEAM_KEY"]);
    assert_eq!(step(&steps(&ground, &["cursor"], 1), "connect").1, "the variable TEAM_KEY is not set");
    let ran = ground.scratch.finish(command(&ground).args(["check", "cursor"]).env("TEAM_KEY", "sesame"));
    assert!(ran.status == 0 && ran.stdout.contains("far 2, 2025-11-25"), "{ran}");
    let asked = server.join().expect("the server ends");
    assert!(asked.iter().all(|request| request.contains("authorization: Bearer sesame")), "{asked:?}");
    assert!(asked[2].contains("mcp-session-id: s1") && asked[2].contains("mcp-protocol-version: 2025-11-25"));
    assert!(asked[3].starts_with("DELETE /mcp ") && asked[3].contains("mcp-session-id: s1"), "{asked:?}");
    // The server has stopped listening.
    let ran = ground.scratch.finish(command(&ground).args(["check", "cursor"]).env("TEAM_KEY", "sesame"));
    assert!(ran.status == 1 && ran.stdout.contains("cannot reach"), "{ran}");
}

#[test]
fn gemini_gets_no_events_that_it_does_not_know() {
    let ground = Ground::new();
    let server = crate::support::Http::start(&ground.scratch, &[]);
    ok(&ground, &["add", "gemini", "--http", &format!("http://{}/mcp", server.address)]);
    let ran = run(&ground, &["check", "gemini"]);
    assert!(ran.status == 0 && ran.stdout.contains(", 2025-06-18"), "{ran}");
    ok(&ground, &["remove", "gemini"]);
    // These servers begin a stream with an event without data: the first in its answer to `initialize`, the second in
    // the stream that the client opens.
    let hello = r#"{"jsonrpc":"2.0","id":"check-1","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"2"}}}"#;
    let event = |data: &str| format!("event: message\ndata: {data}\n\n");
    let gone = "HTTP/1.1 204 No Content\r\n\r\n".to_owned();
    let primed = answer("text/event-stream", "Mcp-Session-Id: s1\r\n", &format!("id: 0\ndata:\n\n{}", event(hello)));
    let plain = answer("text/event-stream", "Mcp-Session-Id: s1\r\n", &event(hello));
    let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned();
    let listens = answer("text/event-stream", "", "id: 1\nretry: 3000\ndata: \n\n");
    for answers in [vec![primed, gone.clone()], vec![plain, accepted, listens, gone]] {
        let (port, _server) = web(answers);
        ok(&ground, &["add", "gemini", "--http", &format!("http://127.0.0.1:{port}/mcp")]);
        let ran = run(&ground, &["check", "gemini"]);
        assert!(ran.status == 1 && ran.stdout.contains("an event without data, which Gemini CLI"), "{ran}");
        ok(&ground, &["remove", "gemini"]);
    }
}

#[test]
fn the_reason_of_a_server_that_refuses_is_shown() {
    let ground = Ground::new();
    let server = crate::support::Http::start(&ground.scratch, &[]);
    let url = |path: &str| format!("http://{}{path}", server.address);
    let told = |url: &str, name: &str, key: Option<&str>| {
        let key_env: &[&str] = if key.is_some() { &["--key-env", "TEAM_KEY"] } else { &[] };
        ok(&ground, &[&["add", "codex", "--name", name, "--http", url], key_env].concat());
        let mut command = command(&ground);
        let ran = ground.scratch.finish(command.args(["check", "codex"]).env("TEAM_KEY", key.unwrap_or_default()));
        ok(&ground, &["remove", "codex", "--name", name]);
        ran
    };
    let ran = told(&url("/projects/nope/mcp"), "team", None);
    assert!(ran.stdout.contains("Project 'nope' does not exist on this server (status 404)"), "{ran}");
    assert!(ran.stderr.contains("`mcpkg project list`"), "{ran}");
    let ran = told(&url("/other"), "team", None);
    assert!(ran.stdout.contains("There is nothing at this address (status 404)"), "{ran}");
    ground.ok(&["project", "create", "q"]);
    let key = ground.ok(&["access", "create", "laptop", "--project", "q"]);
    let ran = told(&url("/mcp"), "team", None);
    assert!(ran.stdout.contains("An access key is required"), "{ran}");
    let add = format!("`mcpkg client add codex --name team --http {} --key-env MCPKG_KEY`", url("/mcp"));
    assert!(ran.stderr.contains(&add), "{ran}");
    let ran = told(&url("/mcp"), "team", Some("sesame"));
    assert!(ran.stdout.contains("This is not an access key (status 401)"), "{ran}");
    assert!(ran.stderr.contains("set TEAM_KEY to the key in the environment of the agent"), "{ran}");
    let ran = told(&url("/mcp"), "team", Some(key.trim()));
    assert_eq!(ran.status, 0, "{ran}");
    let ran = told(&url("/projects/p/mcp"), "team", Some(key.trim()));
    assert!(ran.stdout.contains("This access key does not give access to project 'p' (status 403)"), "{ran}");
    ground.ok(&["access", "revoke", "laptop", "--yes"]);
    let ran = told(&url("/mcp"), "team", Some(key.trim()));
    assert!(ran.stdout.contains("The access key was revoked (status 401)"), "{ran}");
}

#[test]
fn a_server_behind_tls_is_checked_too() {
    let ground = Ground::new();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let certificate = ground.scratch.file("certificate.pem", made.cert.pem()).display().to_string();
    let key = ground.scratch.file("key.pem", made.signing_key.serialize_pem()).display().to_string();
    let server = crate::support::Http::start(&ground.scratch, &["--tls-cert", &certificate, "--tls-key", &key]);
    ok(&ground, &["add", "codex", "--http", &format!("https://localhost:{}/mcp", server.address.port())]);
    let unknown = ground.scratch.finish(command(&ground).args(["check", "codex"]));
    assert!(unknown.status == 1 && unknown.stdout.contains("cannot set up TLS"), "{unknown}");
    assert!(unknown.stderr.contains("NODE_EXTRA_CA_CERTS"), "{unknown}");
    let ran = ground.scratch.finish(command(&ground).args(["check", "codex"]).env("SSL_CERT_FILE", &certificate));
    assert!(ran.status == 0 && ran.stdout.contains("mcpkg 0.1.0, 2025-06-18"), "{ran}");
}
