//! The house of docs/architecture.md: what imports what, and what is named where.

use std::path::{Path, PathBuf};

pub(super) fn sources() -> Vec<(PathBuf, String)> {
    let found = below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(found.len() > 30);
    found
}

/// The sources below a folder.
fn below(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(below(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&entry).expect("a source");
            found.push((entry, text));
        }
    }
    found
}

/// The room of a file: the first folder, or the file's own name.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a source");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Code without comments and without modules of tests, wherever in the file they stand.
pub(super) fn code(text: &str) -> String {
    let mut kept = Vec::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if !line.starts_with("#[cfg(") || !line.contains("test") {
            kept.push(line);
            continue;
        }
        let under_test = lines.next().unwrap_or_default();
        if under_test.ends_with('{') {
            // Items begin and end in the first column.
            lines.find(|line| line.starts_with('}')).expect("an end");
        }
    }
    kept.join("\n")
}

#[test]
fn modules_of_tests_are_left_out_and_what_follows_is_read() {
    let text = "use a;\n#[cfg(test)]\nmod tests {\n    use b;\n}\n#[cfg(test)]\nmod more;\n// use c;\nuse d;";
    assert_eq!(code(text), "use a;\nuse d;");
}

/// The paths below `crate::` that a file names.
fn used(text: &str) -> Vec<String> {
    let code = code(text);
    let path = |rest: &str| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_:".contains(c))).unwrap_or(rest.len());
        rest[..end].to_owned()
    };
    code.split("crate::").skip(1).map(path).collect()
}

/// What outside of a domain names it, besides its line in lib.rs. A new domain is named by nobody: it is its folder, its
/// file in the store, its migration, and its line.
const NAMED_BY: &[(&str, &[&str])] = &[
    // What a project holds is what MCP calls prompts, resources and skills, and what is deployed.
    ("content", &["deploy/", "mcp/", "workflow/"]),
    // Contract 000's own identity.
    ("deploy", &["mcp/config.rs"]),
    // Contract 002's.
    ("registry", &["mcp/config.rs"]),
    // Contract 003's.
    ("workspace", &["mcp/config.rs"]),
    // Contract 004's.
    ("workflow", &["mcp/config.rs"]),
    // A server asks who comes in, and a client is told when it needs a key.
    ("access", &["client/", "mcp/"]),
    // Plans are confirmed and consented to; so is a tool that nobody signed. Clients ask their users.
    ("consent", &["deploy/", "mcp/", "registry/", "workflow/", "workspace/"]),
    // Where each agent reads MCP servers.
    ("client", &["deploy/"]),
    // Where the database is.
    ("database", &["cli/globals.rs", "client/"]),
];

#[test]
fn a_domain_is_named_by_nobody_but_its_line() {
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("lib.rs");
    for domain in mcpkg::DOMAINS.iter() {
        assert_eq!(lib.matches(&format!("pub mod {};", domain.name)).count(), 1);
        assert_eq!(lib.matches(&format!("{}::", domain.name)).count(), 1, "{} has one line in the table", domain.name);
        let known = NAMED_BY.iter().find(|(name, _)| *name == domain.name).map_or(&[][..], |(_, files)| files);
        let mut unused: Vec<&str> = known.to_vec();
        for (path, text) in sources().iter().filter(|(path, _)| room(path) != domain.name) {
            let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a source");
            let inside = inside.to_string_lossy().replace('\\', "/");
            if used(text).iter().any(|used| used.split("::").next() == Some(domain.name)) {
                let place = known.iter().find(|place| inside.starts_with(**place));
                assert!(place.is_some(), "src/{inside} names the domain {}", domain.name);
                unused.retain(|place| !inside.starts_with(place));
            }
        }
        assert!(unused.is_empty(), "{unused:?} no longer name the domain {}", domain.name);
    }
}

/// Every source of the program and of the tests that shows a property.
fn properties() -> Vec<(PathBuf, String)> {
    let folders = ["src", "tests"].map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder));
    let all = folders.iter().flat_map(|folder| below(folder));
    all.filter(|(path, text)| !path.ends_with("contract/house.rs") && text.contains("proptest!")).collect()
}

#[test]
fn every_property_runs_from_the_seed_of_all() {
    let found = properties();
    assert!(found.len() > 40, "{}", found.len());
    for (path, text) in found {
        let heads = text.matches("proptest! {").count() + text.matches("proptest!(").count();
        let seeded = text.matches("config(").count() - text.matches("proptest_config(").count();
        assert!(heads <= seeded, "a property in {} does not take its configuration from `config`", path.display());
    }
}

/// Small rooms that name nothing and that every room may name.
const ANYWHERE: [&str; 10] = ["diff", "hex", "inside", "json", "machine", "marks", "names", "plural", "seed", "shell"];

#[test]
fn imports_go_down_only() {
    for (path, text) in sources() {
        let room = room(&path);
        let allowed: &[&str] = match room.as_str() {
            "main" | "lib" | "cli" => continue,
            "mcp" => &[
                "present",
                "op",
                "access",
                "consent",
                "content",
                "deploy",
                "registry",
                "workspace",
                "workflow",
                "redact",
                "store",
                "error",
                "file",
                "clock",
                "disk",
                // How often a resource is looked at again goes by what a look costs.
                "process::spent",
                // The signals that end a server.
                "process::ending",
                "DOMAINS",
            ],
            "present" => &["op", "error"],
            "op" => &["approved", "store", "error", "clock", "redact", "schema", "disk"],
            "schema" => &[],
            "store" => &["error", "clock", "file", "disk"],
            "error" => &["redact"],
            "file" | "redact" => &[],
            "editor" => &["error", "file", "process"],
            "process" => &["file"],
            "names" => &["error", "store"],
            room if ANYWHERE.contains(&room) => &[],
            "secret" => &["disk", "error", "file", "process", "redact"],
            "http" => &[],
            "disk" => &["clock", "error", "file"],
            "approved" => &["disk", "error", "file"],
            "clock" => &["error"],
            // What a repository names is run once the records of this user have it.
            "git" => &["approved", "error", "file", "process", "redact"],
            // What `content/mod.rs` names for other domains.
            // A key says which tools its clients list.
            "access" => &["op", "store", "error", "clock", "redact"],
            "consent" => &["op", "approved", "store", "error", "clock", "disk", "hex"],
            "deploy" => &[
                "op",
                "mcp_servers",
                "consent",
                "approved",
                "store",
                "error",
                "clock",
                "git",
                "process",
                "redact",
                "disk",
                "file",
                "content::command",
                "content::completions",
                "content::files",
                "content::formats",
                "content::proposals",
                "content::skills",
                "content::uri",
                // Where each agent reads MCP servers.
                "client::project_file",
                "client::user_file",
            ],
            // Types of the rows, and how agents' files write them.
            "mcp_servers" => &["store", "redact"],
            "client" => &[
                "op",
                "mcp_servers",
                "store",
                "error",
                "clock",
                "git",
                "disk",
                "file",
                "http",
                "process",
                "redact",
                "secret",
                "access::required",
                "database::default_path",
            ],
            "registry" => &[
                "op", "consent", "approved", "store", "error", "clock", "process", "http", "secret", "redact", "disk",
                "file",
            ],
            // `prune` walks the tables of each domain that grow.
            // The password of a server's address.
            "database" => &["op", "store", "error", "file", "clock", "secret"],
            // The editor; sources, which are fetched by git and approved on this machine; MCP servers of agents' files.
            "content" => &[
                "op",
                "store",
                "error",
                "file",
                "clock",
                "editor",
                "git",
                "approved",
                "redact",
                "disk",
                "mcp_servers",
                "process",
                "secret",
            ],
            // Repositories, which are changed by git and under this user's records; commands of builds; gates elsewhere.
            "workspace" => &[
                "op", "consent", "approved", "store", "error", "file", "clock", "process", "git", "disk", "redact",
                "http",
            ],
            // Commands are what agents have as tools: every operation, and every tool that is data. Drafts are approved as
            // requests are; texts are edited.
            "workflow" => &[
                "op",
                "schema",
                "consent",
                "approved",
                "store",
                "error",
                "file",
                "clock",
                "process",
                "redact",
                "disk",
                "editor",
                "http",
                "secret",
                // Plugins are MCP servers of the project, and named as they are.
                "mcp_servers",
                "content::answer",
                "content::completions",
                "content::servers",
            ],
            domain if mcpkg::DOMAINS.iter().any(|known| known.name == domain) => {
                &["op", "store", "error", "file", "clock"]
            }
            // A program of its own stands outside of the library.
            "bin" => &[],
            other => panic!("a room nobody knows: {other}"),
        };
        for path_used in used(&text) {
            let name = path_used.split("::").next().unwrap_or_default();
            let named = allowed.iter().any(|allowed| {
                name == *allowed || path_used == *allowed || path_used.starts_with(&format!("{allowed}::"))
            });
            assert!(name == room || named || ANYWHERE.contains(&name), "{} names crate::{path_used}", path.display());
        }
    }
}

#[test]
fn the_sql_engine_is_named_in_its_folder_only() {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/engine");
    for (path, text) in sources() {
        // Both engines have a pool, and their migrations are run alike.
        for (engine, folder) in [
            ("rusqlite", engines.join("sqlite")),
            ("postgres::{", engines.join("postgres")),
            ("postgres::Client", engines.join("postgres")),
            ("r2d2", engines.clone()),
            ("refinery", engines.clone()),
        ] {
            assert!(path.starts_with(folder) || !code(&text).contains(engine), "{} names {engine}", path.display());
        }
    }
}

#[test]
fn programs_are_started_in_one_place() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "process") {
        for starter in ["process::Command", "process::{Child, Command", "process::*", "::command::Command"] {
            assert!(!code(text).contains(starter), "{} starts programs", path.display());
        }
        let is_git = room(path) == "git";
        assert!(is_git || !code(text).contains("Program::new(\"git\")"), "{} runs git", path.display());
    }
}

#[test]
fn other_hosts_are_asked_in_one_place() {
    // An own address is listened on elsewhere; the server waits for its own listener.
    const CONNECTS: [&str; 8] = [
        "TcpStream::connect",
        "TcpSocket",
        "UdpSocket",
        "ToSocketAddrs",
        "lookup_host",
        "reqwest",
        "hyper::client",
        "ClientConfig",
    ];
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "http") {
        for connect in CONNECTS {
            // The one other host that the store speaks to is the database's own.
            let is_database = path.ends_with("store/engine/postgres/tls.rs") && connect == "ClientConfig";
            let found = code(text).contains(connect) && !path.ends_with("tests.rs") && !is_database;
            assert!(!found, "{} uses {connect} where crate::http speaks to other hosts", path.display());
        }
    }
}

#[test]
fn files_are_read_in_one_place() {
    // A folder that is synced, a shell's own pipe.
    const OTHERWISE: [&str; 3] = ["store/engine/sqlite/files.rs", "store/new_content.rs", "disk.rs"];
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "file") {
        if OTHERWISE.iter().any(|other| path.ends_with(Path::new("src").join(other))) || path.ends_with("tests.rs") {
            continue;
        }
        for read in ["fs::read(", "fs::read_to_string(", "File::open("] {
            let found = code(text).contains(read) && !path.components().any(|part| part.as_os_str() == "tests");
            assert!(!found, "{} uses {read} where crate::file bounds what is read", path.display());
        }
    }
}

#[test]
fn only_the_shell_prints() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "cli") {
        for macro_name in ["println!", "print!(", "dbg!"] {
            assert!(!code(text).contains(macro_name), "{} uses {macro_name}", path.display());
        }
    }
}

/// A text that is put together of lines may hold a line end in one of them, which then looks like a line of ours.
#[test]
fn what_a_person_is_asked_about_is_lines() {
    for (path, text) in sources() {
        for ask in ["(context.ask)(Body::Text(", "(context.line)(Body::Text("] {
            assert!(!code(&text).contains(ask), "{} asks with a text instead of Body::lines", path.display());
        }
    }
}

#[test]
fn files_stay_short() {
    for (path, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines: where is the seam?", path.display());
    }
    let main = sources().into_iter().find(|(path, _)| path.ends_with("src/main.rs")).expect("main.rs").1;
    assert!(main.lines().count() <= 40);
}

#[test]
fn no_statement_skips_rows_or_reads_the_clock() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) == "store") {
        for forbidden in ["OFFSET", "datetime('now')", "CURRENT_TIMESTAMP", "strftime"] {
            assert!(!code(text).contains(forbidden), "{} uses {forbidden}", path.display());
        }
    }
}

#[test]
fn what_may_fetch_git_sources_or_ask_a_server_says_that_its_world_is_open() {
    let mut found = 0;
    for (path, text) in sources() {
        let code = code(&text);
        let reaches = ["Prepared::new(", ".fetch(context)", "Report::of("].iter().any(|call| code.contains(call));
        let operations = code.matches("impl Operation for ").count();
        if reaches && operations > 0 {
            let open = code.matches("const OPEN_WORLD: bool = true;").count();
            assert_eq!(open, operations, "{}", path.display());
            found += operations;
        }
    }
    assert!(found >= 10, "only {found} operations");
}

#[test]
fn what_answers_a_module_names_nothing_of_the_machine() {
    let answers = ["wasi/", "files/", "host.rs", "guest.rs", "drive.rs", "budget.rs"];
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/registry/run/wasm");
    let mut seen = 0;
    for (path, text) in sources() {
        let Ok(inside) = path.strip_prefix(&room) else { continue };
        let inside = inside.to_string_lossy().replace('\\', "/");
        if !answers.iter().any(|place| inside.starts_with(place)) {
            continue;
        }
        seen += 1;
        let code = code(&text);
        for named in
            ["std::fs", "std::net", "std::env", "std::process", "std::io", "crate::file", "crate::disk", "crate::http"]
        {
            assert!(!code.contains(named), "{inside} names {named}");
        }
    }
    assert!(seen >= 14, "{seen} files");
}
