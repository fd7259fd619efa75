//! Tests of the rules in docs/architecture.md: which module may import which, where some names may be used, and how
//! large files and folders are.

use std::path::{Path, PathBuf};

use super::pages::{files, read};

/// The crates, from the lowest up. A crate may use only crates that precede it here, and of those only the ones up to
/// `content`.
const CRATES: [&str; 10] =
    ["base", "store", "core", "agents", "content", "deploy", "registry", "workspace", "workflow", "console"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the source folders of the program and of each crate.
pub(super) fn folders() -> Vec<PathBuf> {
    let crates = CRATES.iter().map(|name| root().join("crates").join(name).join("src"));
    std::iter::once(root().join("src")).chain(crates).collect()
}

/// Returns the path and text of every source of the program and its crates.
pub(super) fn sources() -> Vec<(PathBuf, String)> {
    let found: Vec<(PathBuf, String)> = folders().iter().flat_map(|folder| below(folder)).collect();
    assert!(found.len() > 1000, "only {} sources", found.len());
    found
}

/// Returns the sources below a folder.
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

/// Returns the room of a file, which is the unit that some rules apply to. In the program, `base`, `core` and `agents`,
/// a room is a folder or a file. Every other crate is one room.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(root()).expect("a source");
    let mut names = inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let rooms = match names.next().as_deref() {
        Some("crates") => {
            let name = names.next().expect("a crate");
            names.next();
            if !["base", "core", "agents"].contains(&name.as_str()) {
                return name;
            }
            names.next()
        }
        _ => names.next(),
    };
    rooms.expect("a name").trim_end_matches(".rs").to_owned()
}

/// Returns code without comments and test modules.
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
            // Items at the top level end with a brace in the first column.
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

/// Returns the crates that a crate's manifest names, including dev-dependencies.
fn named_by(manifest: &str) -> Vec<&str> {
    let names = manifest.lines().filter_map(|line| line.strip_prefix("mcpkg-"));
    names.map(|line| line.split(['.', ' ']).next().unwrap_or_default()).collect()
}

#[test]
fn crates_use_those_below_them() {
    let folders = std::fs::read_dir(root().join("crates")).expect("a folder");
    assert_eq!(folders.count(), CRATES.len(), "each crate has its place among the others");
    for (place, name) in CRATES.iter().enumerate() {
        let manifest =
            std::fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).expect("a manifest");
        for other in named_by(&manifest) {
            let below = CRATES.iter().position(|known| *known == other).expect("a crate");
            assert!(below < place && below <= 4, "{name} uses {other}");
        }
        // Versions and features are the same for all crates.
        let own = manifest.lines().find(|line| line.contains("version = \"") || line.contains("features = ["));
        assert_eq!(own, None, "crates/{name}/Cargo.toml: this belongs into the workspace's table");
    }
}

/// Without `--workspace`, a command may skip the crates.
#[test]
fn commands_that_check_everything_name_the_workspace() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect("a file");
    for (file, commands) in [
        (".ci/run", &["cargo fmt --all --check", "cargo clippy --workspace ", "cargo test --workspace "][..]),
        (".ci/full", &["cargo clippy --workspace ", "cargo test --workspace "]),
        ("README.md", &["cargo test --workspace"]),
        ("justfile", &["cargo test --workspace\n"]),
    ] {
        let text = read(file);
        for command in commands {
            assert!(text.contains(command), "{file} does not run `{command}`");
        }
    }
    let members = read("Cargo.toml");
    assert!(members.contains("default-members = [\".\", \"crates/*\"]"));
}

/// Returns the source files of the program and the tests that contain a property test.
fn properties() -> Vec<(PathBuf, String)> {
    let all = sources().into_iter().chain(below(&root().join("tests")));
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

#[test]
fn the_sql_engine_is_named_in_its_folder_only() {
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/store/src/engine");
    for (path, text) in sources() {
        // Both engines use r2d2 (pools) and refinery (migrations), so the whole `engine` folder may name them.
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

/// Only `platform` distinguishes between operating systems. Other code calls the same names in `platform` on every system.
/// Tests may check for the system themselves.
#[test]
fn systems_are_distinguished_in_one_place() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "platform") {
        if path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs") {
            continue;
        }
        // PostgreSQL hosts can be sockets, but only on Unix.
        let is_database = ["passwords.rs", "address.rs"]
            .iter()
            .any(|name| path.ends_with(Path::new("crates/store/src/engine/postgres").join(name)));
        for line in code(text).lines() {
            let is_cfg = line.contains("cfg") && ["unix", "windows"].iter().any(|system| line.contains(system));
            let named =
                ["target_os", "rustix::", "rlimit::", "winapi", "std::os::", "signal_hook::iterator", "canonicalize("];
            let found = named.iter().any(|name| line.contains(name)) || is_cfg && !is_database;
            assert!(!found, "{} looks at the system instead of using mcpkg_base::platform: {line}", path.display());
        }
    }
}

#[test]
fn other_hosts_are_contacted_in_one_place() {
    // Listening is allowed everywhere, so `TcpListener` is not in this list.
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
            // The store connects to one other host: the database's.
            let is_database = path.ends_with("store/src/engine/postgres/tls.rs") && connect == "ClientConfig";
            let found = code(text).contains(connect) && !path.ends_with("tests.rs") && !is_database;
            assert!(!found, "{} uses {connect} where mcpkg_base::http speaks to other hosts", path.display());
        }
    }
}

#[test]
fn sha_256_is_computed_in_one_place() {
    for (path, text) in sources().iter().filter(|(path, _)| !path.ends_with("base/src/sha256.rs")) {
        assert!(!code(text).contains("sha2::"), "{} uses sha2 instead of mcpkg_base::sha256", path.display());
    }
}

#[test]
fn files_are_read_in_one_place() {
    // These files open a file or folder to sync it to disk, or a pipe of the shell.
    const OTHERWISE: [&str; 3] =
        ["base/src/platform/unix/files.rs", "store/src/blobs/new_content.rs", "base/src/disk/mod.rs"];
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "file") {
        if OTHERWISE.iter().any(|other| path.ends_with(Path::new("crates").join(other))) || path.ends_with("tests.rs") {
            continue;
        }
        for read in ["fs::read(", "fs::read_to_string(", "File::open("] {
            let found = code(text).contains(read) && !path.components().any(|part| part.as_os_str() == "tests");
            assert!(!found, "{} uses {read} where mcpkg_base::file bounds what is read", path.display());
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

/// In a text joined from lines, a line break in a value would make the rest of the value look like a line of mcpkg's
/// own.
#[test]
fn questions_to_a_person_are_made_of_lines() {
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

/// A folder has at least three files of any kind, or none if it contains only folders, as Cargo's `bin` does.
#[test]
fn a_folder_has_three_files() {
    for folder in folders().iter().flat_map(|root| folders_below(root)) {
        let files = std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let count = files.filter(|path| path.is_file()).count();
        assert!(count == 0 || count >= 3, "{} has {count} files: move them to their neighbours", folder.display());
    }
}

fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let inside: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    inside.iter().flat_map(|folder| folders_below(folder)).chain(inside.clone()).collect()
}

/// A file has at least twenty lines, except files that declare modules or describe an agent.
#[test]
fn a_file_is_worth_opening() {
    let is_free = |path: &Path| {
        ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name))
            || path.parent().is_some_and(|folder| folder.ends_with("crates/agents/src/agents"))
    };
    for (path, text) in sources().iter().filter(|(path, _)| !is_free(path)) {
        let lines = text.lines().count();
        assert!(lines >= 20, "{} has {lines} lines: move them to where they are used", path.display());
    }
}

#[test]
fn no_statement_skips_rows_or_reads_the_clock() {
    let store = sources().into_iter().filter(|(path, _)| room(path) == "store").map(|(path, text)| (path, code(&text)));
    let migrations = files("migrations", ".sql").into_iter().map(|name| (root().join(&name), read(&name)));
    assert!(migrations.len() > 30, "{}", migrations.len());
    for (path, text) in store.chain(migrations) {
        for forbidden in ["OFFSET", "'now'", "CURRENT_TIMESTAMP", "strftime"] {
            assert!(!text.contains(forbidden), "{} uses {forbidden}", path.display());
        }
    }
}

#[test]
fn operations_that_fetch_sources_or_contact_a_server_are_marked_open_world() {
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
fn wasm_host_code_does_not_use_the_machine_directly() {
    let answers = ["wasi/", "files/", "host.rs", "guest.rs", "drive.rs", "budget.rs"];
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/registry/src/run/wasm");
    let mut seen = 0;
    for (path, text) in sources() {
        let Ok(inside) = path.strip_prefix(&room) else { continue };
        let inside = inside.to_string_lossy().replace('\\', "/");
        if !answers.iter().any(|place| inside.starts_with(place)) {
            continue;
        }
        seen += 1;
        let code = code(&text);
        for named in [
            "std::fs",
            "std::net",
            "std::env",
            "std::process",
            "std::io",
            "mcpkg_base::file",
            "mcpkg_base::disk",
            "mcpkg_base::http",
        ] {
            assert!(!code.contains(named), "{inside} names {named}");
        }
    }
    assert!(seen >= 14, "{seen} files");
}
