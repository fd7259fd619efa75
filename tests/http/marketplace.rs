//! Tests `serve --http --marketplace`: git clones and updates plugins, and skills and MCP servers are listed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{Http, Request, Scratch, finds, skipped};

const SKILL: &str = "---\nname: review\ndescription: Reviews changes.\n---\nLook at the diff.\n";

/// Creates a database with the project `p`, which has a command and a skill, and the project `q`, which has a prompt.
fn scratch() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("src/.claude/skills/review/SKILL.md", SKILL);
    scratch.file("src/.claude/skills/review/ref/a.md", "More\n");
    scratch.file("src/.claude/commands/fix.md", "---\ndescription: Fix it\n---\nFix $ARGUMENTS\n");
    scratch.ok(&["import", "src"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "of-q", "Text of q"]);
    scratch
}

fn serve(scratch: &Scratch) -> Http {
    Http::start(scratch, &["--marketplace"])
}

fn key(scratch: &Scratch, arguments: &[&str]) -> String {
    let made = scratch.json(&[&["access", "create"], arguments].concat());
    made["key"].as_str().expect("a key").to_owned()
}

/// Runs git without the machine's git settings.
fn git(scratch: &Scratch, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.current_dir(scratch.path()).env("HOME", scratch.path()).env("GIT_TERMINAL_PROMPT", "0");
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    command.args(arguments).output().expect("git starts")
}

#[track_caller]
fn good(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = git(scratch, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Runs a git command that must fail, and returns its error output.
#[track_caller]
fn refused(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = git(scratch, arguments);
    assert!(!output.status.success(), "{arguments:?} went well");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn url(server: &Http, path: &str) -> String {
    format!("http://{}{path}", server.address)
}

/// Returns the commit at the HEAD of a remote repository.
#[track_caller]
fn head(scratch: &Scratch, url: &str) -> String {
    good(scratch, &["ls-remote", url, "HEAD"]).split_whitespace().next().expect("a commit").to_owned()
}

fn json_of(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

fn version(clone: &Path) -> String {
    let versions = [".claude-plugin/plugin.json", "plugin.json", "gemini-extension.json"]
        .map(|file| json_of(clone.join(file))["version"].as_str().expect("a version").to_owned());
    assert!(versions.iter().all(|version| *version == versions[0]), "{versions:?}");
    versions[0].clone()
}

#[test]
fn git_clones_a_project_as_a_plugin_and_gets_its_changes() {
    let scratch = scratch();
    let server = serve(&scratch);
    let address = url(&server, "/marketplace/p.git");
    for (folder, more) in [("whole", &[][..]), ("shallow", &["--depth", "1"]), ("v0", &["-c", "protocol.version=0"])] {
        good(&scratch, &[&["clone", "-q"], more, &[&address, folder]].concat());
        let clone = scratch.path().join(folder);
        let market = json_of(clone.join(".claude-plugin/marketplace.json"));
        assert_eq!((&market["name"], &market["plugins"][0]["source"]), (&json!("p"), &json!("./")), "{market}");
        assert_eq!(std::fs::read_to_string(clone.join("skills/review/SKILL.md")).expect("a skill"), SKILL);
        assert!(clone.join("skills/review/ref/a.md").is_file() && clone.join("commands/fix.md").is_file());
    }
    let [whole, shallow] = ["whole", "shallow"].map(|folder| scratch.path().join(folder));
    let before = version(&whole);
    scratch.ok(&["prompt", "create", "added", "Added text"]);
    for clone in [&whole, &shallow] {
        let at = clone.to_str().expect("a path");
        good(&scratch, &["-C", at, "fetch", "-q", "--depth", "1", "origin", "main"]);
        good(&scratch, &["-C", at, "reset", "-q", "--hard", "FETCH_HEAD"]);
        assert!(clone.join("commands/added.md").is_file());
        let number = |version: &str| version.rsplit('.').next().and_then(|text| text.parse::<u64>().ok());
        assert!(number(&version(clone)) > number(&before), "{before} {}", version(clone));
    }
    // A clone of all projects contains each project as a separate plugin.
    good(&scratch, &["clone", "-q", "--depth", "1", &url(&server, "/marketplace.git"), "all"]);
    let market = json_of(scratch.path().join("all/.claude-plugin/marketplace.json"));
    let named: Vec<_> = market["plugins"].as_array().expect("plugins").iter().map(|plugin| &plugin["name"]).collect();
    assert_eq!(named, ["p", "q"], "{market}");
    assert!(scratch.path().join("all/plugins/q/commands/of-q.md").is_file());
}

#[test]
fn equal_content_gives_equal_commits() {
    let scratch = scratch();
    let server = serve(&scratch);
    let address = url(&server, "/marketplace/p.git");
    let first = head(&scratch, &address);
    // Changes to other projects, and events that change no file of the plugin, do not make a new commit.
    scratch.ok(&["-p", "q", "prompt", "create", "more", "x"]);
    scratch.file("root/x", "");
    scratch.ok(&["deploy", "--target", "claude_code", "--apply", "--yes", "--root", "root"]);
    assert_eq!(head(&scratch, &address), first);
    // A copy of the database on another server gives the same commit, and so does an emptied cache.
    let cache = scratch.path().join(".cache/mcpkg/marketplace");
    assert!(cache.is_dir());
    let mut anew = None;
    if scratch.is_file() {
        let fresh = Scratch::new();
        scratch.ok(&["backup", &fresh.path().join("test.db").display().to_string()]);
        let other = serve(&fresh);
        anew = Some(head(&fresh, &url(&other, "/marketplace/p.git")));
    }
    std::fs::remove_dir_all(&cache).expect("the cache goes");
    let again = head(&scratch, &address);
    assert!(anew.is_none_or(|anew| anew == again), "the servers have different commits");
    scratch.ok(&["prompt", "create", "added", "Added text"]);
    assert_ne!(head(&scratch, &address), again);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&cache).expect("the cache").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

/// Changes the state that the cache keeps of the repositories, as if another version of mcpkg had laid them out.
fn lay_out_differently(scratch: &Scratch) {
    let cache = scratch.path().join(".cache/mcpkg/marketplace");
    for folder in std::fs::read_dir(cache).expect("the cache").flatten() {
        let path = folder.path().join("state.json");
        let mut state = json_of(path.clone());
        state["made_by"] = json!("0.0.1");
        for made in state["plugins"].as_object_mut().expect("plugins").values_mut() {
            made["files"] = json!("of another layout");
        }
        std::fs::write(path, state.to_string()).expect("the state");
    }
}

#[test]
fn a_plugin_with_a_new_layout_gets_a_new_version() {
    let scratch = scratch();
    let server = serve(&scratch);
    let address = url(&server, "/marketplace/p.git");
    let number = |folder: &str| {
        good(&scratch, &["clone", "-q", "--depth", "1", &address, folder]);
        let version = version(&scratch.path().join(folder));
        version.strip_prefix("1.0.").and_then(|number| number.parse::<u64>().ok()).expect("a version")
    };
    let first = number("first");
    lay_out_differently(&scratch);
    let second = number("second");
    assert!(second > first, "{first}, {second}");
    assert_eq!(number("unchanged"), second);
    // The next change of the project does not use that number again.
    scratch.ok(&["prompt", "create", "added", "Added text"]);
    let third = number("third");
    assert!(third > second, "{second}, {third}");
}

#[test]
fn concurrent_clones_are_all_complete() {
    let scratch = scratch();
    let server = serve(&scratch);
    let address = url(&server, "/marketplace/p.git");
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (scratch, address) = (&scratch, &address);
            scope.spawn(move || good(scratch, &["clone", "-q", "--depth", "1", address, &format!("c{n}")]));
        }
    });
    let made = std::fs::read_dir(scratch.path().join(".cache/mcpkg/marketplace")).expect("the cache").count();
    assert_eq!(made, 1);
}

#[test]
fn if_there_are_keys_one_is_needed_and_shows_only_its_project() {
    let scratch = scratch();
    let server = serve(&scratch);
    let (all, of_q) = (key(&scratch, &["all"]), key(&scratch, &["of-q", "--project", "q"]));
    let p = url(&server, "/marketplace/p.git");
    let with = |key: &str, path: &str| format!("http://any:{key}@{}{path}", server.address);
    assert!(refused(&scratch, &["clone", &p, "a"]).contains("could not read Username"));
    assert!(refused(&scratch, &["clone", &with("mcpkg_wrong", "/marketplace/p.git"), "a"]).contains("Authentication"));
    good(&scratch, &["clone", "-q", "--depth", "1", &with(&all, "/marketplace/p.git"), "basic"]);
    let bearer = format!("http.extraHeader=Authorization: Bearer {all}");
    good(&scratch, &["-c", &bearer, "clone", "-q", "--depth", "1", &p, "bearer"]);
    // The error is the same whether the other project exists or not.
    let other = refused(&scratch, &["clone", &with(&of_q, "/marketplace/p.git"), "a"]);
    let none = refused(&scratch, &["clone", &with(&of_q, "/marketplace/x.git"), "a"]);
    assert!(other.contains("not found") && none.contains("not found"), "{other}{none}");
    good(&scratch, &["clone", "-q", &with(&of_q, "/marketplace/q.git"), "q"]);
    good(&scratch, &["clone", "-q", &with(&of_q, "/marketplace.git"), "only-q"]);
    assert!(scratch.path().join("only-q/plugins/q").is_dir() && !scratch.path().join("only-q/plugins/p").exists());
    for path in ["/.well-known/agent-skills/index.json", "/v0.1/servers", "/marketplace/p/v0.1/servers"] {
        let open = server.send(&Request::new("GET", path));
        let asked = open.header("www-authenticate").unwrap_or_default();
        assert!(open.status == 401 && asked.starts_with("Basic "), "{path}: {open:?}");
        let sent = server.send(&Request::new("GET", path).with("Authorization", &format!("Bearer {of_q}")));
        assert_eq!(sent.status, if path.starts_with("/marketplace") { 404 } else { 200 }, "{path}: {sent:?}");
    }
    // At other endpoints, a password does not count as a key.
    let basic = Request::new("GET", "/metrics").with("Authorization", "Basic YTpi");
    assert_eq!(server.send(&basic).status, 401);
}

#[test]
fn nothing_else_is_served_and_nothing_can_be_written() {
    let scratch = scratch();
    let server = serve(&scratch);
    good(&scratch, &["clone", "-q", &url(&server, "/marketplace/p.git"), "clone"]);
    let clone = scratch.path().join("clone");
    let at = clone.to_str().expect("a path");
    assert!(refused(&scratch, &["-C", at, "push", "origin", "HEAD:other"]).contains("403"));
    for path in [
        "/marketplace",
        "/marketplace/p.git",
        "/marketplace/p.git/HEAD",
        "/marketplace/p.git/config",
        "/marketplace/p.git/objects/info/packs",
        "/marketplace/../p.git/info/refs?service=git-upload-pack",
        "/marketplace/p.git/../q.git/info/refs?service=git-upload-pack",
        "/marketplace/%2e%2e.git/info/refs?service=git-upload-pack",
        "/marketplace/%70.git/info/refs?service=git-upload-pack",
        "/marketplace/.git/info/refs?service=git-upload-pack",
        "/marketplace/none.git/info/refs?service=git-upload-pack",
        "/.well-known/agent-skills",
        "/.well-known/agent-skills/../../../etc/passwd",
        "/.well-known/agent-skills/none.tar.gz",
        "/v0.1/servers/none/versions/latest",
    ] {
        assert_eq!(server.send(&Request::new("GET", path)).status, 404, "{path}");
    }
    let upload = "/marketplace/p.git/git-upload-pack";
    for (request, status) in [
        (Request::new("GET", "/marketplace/p.git/info/refs"), 403),
        (Request::new("GET", "/marketplace/p.git/info/refs?service=git-receive-pack"), 403),
        (Request::new("GET", upload), 405),
        (Request::new("POST", "/v0.1/servers"), 405),
        (Request::new("DELETE", "/.well-known/agent-skills/index.json"), 405),
        (Request::new("POST", upload).body("0000"), 415),
        (wanted(upload).body(vec![b'0'; (1 << 20) + 1]), 413),
        (wanted(upload).with("Content-Encoding", "gzip").body("not gzip"), 400),
        (wanted(upload).body("this is no request of git"), 500),
    ] {
        let bytes = request.bytes();
        let response = server.send(&request);
        assert_eq!(
            response.status,
            status,
            "{:?}: {response:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(80)])
        );
    }
    // The server still works after all these requests.
    assert!(!head(&scratch, &url(&server, "/marketplace/p.git")).is_empty());
}

fn wanted(path: &str) -> Request {
    Request::new("POST", path).with("Content-Type", "application/x-git-upload-pack-request")
}

#[test]
fn skills_are_listed_with_archives_that_match_their_digests() {
    let scratch = scratch();
    let server = serve(&scratch);
    for base in ["", "/marketplace/p"] {
        let path = format!("{base}/.well-known/agent-skills/index.json");
        let response = server.send(&Request::new("GET", &path));
        let index: Value = serde_json::from_slice(&response.body).expect("JSON");
        let entry = &index["skills"][0];
        assert_eq!((&entry["name"], &entry["description"]), (&json!("review"), &json!("Reviews changes.")), "{index}");
        assert_eq!(response.header("cache-control"), Some("private, no-cache"));
        let tag = response.header("etag").expect("a tag").to_owned();
        assert_eq!(server.send(&Request::new("GET", &path).with("If-None-Match", &tag)).status, 304);
        let archive = format!("{base}/.well-known/agent-skills/{}", entry["url"].as_str().expect("a URL"));
        let archive = server.send(&Request::new("GET", &archive)).body;
        assert_eq!(entry["digest"], format!("sha256:{}", mcpkg_base::sha256::hex(&archive)));
        let file = scratch.file("review.tar.gz", &archive);
        let listed = Command::new("tar").arg("-tzf").arg(file).output().expect("tar starts").stdout;
        assert_eq!(String::from_utf8_lossy(&listed), "SKILL.md\nref/a.md\n");
    }
}

#[test]
fn npx_skills_installs_from_the_address_of_the_server() {
    let Some(skills) = finds("skills") else {
        return skipped("there is no `skills` on the PATH: npm install -g skills");
    };
    let scratch = scratch();
    let server = serve(&scratch);
    for (folder, path) in [("one", ""), ("two", "/marketplace/p")] {
        let at = scratch.path().join(folder);
        std::fs::create_dir(&at).expect("a folder");
        let mut command = Command::new(&skills);
        command.current_dir(&at).env("HOME", &at).env("DISABLE_TELEMETRY", "1");
        let output = command.args(["add", &url(&server, path), "--yes", "-a", "codex"]).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let installed = std::fs::read_to_string(at.join(".agents/skills/review/SKILL.md"));
        assert_eq!(installed.ok().as_deref(), Some(SKILL), "{said}");
        assert!(at.join(".agents/skills/review/ref/a.md").is_file(), "{said}");
    }
}

#[test]
fn servers_are_listed_in_pages_and_without_secrets() {
    let scratch = scratch();
    scratch.file(
        "servers/.mcp.json",
        json!({ "mcpServers": {
            "files": { "command": "npx", "args": ["-y", "@scope/files@1.2.3", "/data"], "env": { "TOKEN": "hunter2-hunter2" } },
            "fetch": { "command": "uvx", "args": ["fetch"] },
            "far": { "type": "http", "url": "https://mcp.example.com/mcp", "headers": { "X-Key": "${KEY}" } },
            "own": { "command": "node", "args": ["server.js"] },
        }})
        .to_string(),
    );
    scratch.ok(&["import", "servers", "--yes"]);
    for name in ["files", "fetch", "far", "own"] {
        scratch.run(&["mcp", "enable", name, "--yes"]);
    }
    let server = serve(&scratch);
    let get = |path: &str| {
        let response = server.send(&Request::new("GET", path));
        let text = response.text();
        assert!(!text.contains("hunter2"), "{text}");
        (response.status, serde_json::from_str::<Value>(&text).unwrap_or_default())
    };
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let (status, page) = get(&format!("/v0.1/servers?limit=2&cursor={cursor}"));
        assert_eq!(status, 200, "{page}");
        let servers = page["servers"].as_array().expect("servers");
        assert_eq!(page["metadata"]["count"], servers.len());
        names.extend(servers.iter().map(|one| one["server"]["name"].as_str().expect("a name").to_owned()));
        match page["metadata"]["nextCursor"].as_str() {
            Some(next) => cursor = next.replace('/', "%2F"),
            None => break,
        }
    }
    assert_eq!(names, ["mcpkg.p/far", "mcpkg.p/fetch", "mcpkg.p/files"]);
    let (_, files) = get("/v0.1/servers/mcpkg.p%2Ffiles/versions/latest");
    let package = &files["server"]["packages"][0];
    assert_eq!((&package["identifier"], &package["version"]), (&json!("@scope/files"), &json!("1.2.3")), "{files}");
    assert_eq!(package["environmentVariables"][0]["isSecret"], true);
    let (_, far) = get("/v0.1/servers?search=far");
    assert_eq!(far["servers"][0]["server"]["remotes"][0]["headers"][0]["name"], "X-Key", "{far}");
    assert_eq!(get("/v0.1/servers?limit=0").0, 400);
    assert_eq!(get("/v0.1/servers/mcpkg.p%2Fown/versions").0, 404);
}

#[test]
fn without_git_the_answer_reports_it() {
    let scratch = scratch();
    let mut command = scratch.command();
    command.env("PATH", scratch.path());
    let server = Http::spawn(command.args(["--json", "serve", "--http", "--marketplace", "--port", "0"]));
    let response = server.send(&Request::new("GET", "/marketplace/p.git/info/refs?service=git-upload-pack"));
    assert!(response.status == 501 && response.text().contains("git is not installed"), "{response:?}");
    assert_eq!(server.send(&Request::new("GET", "/.well-known/agent-skills/index.json")).status, 200);
}
