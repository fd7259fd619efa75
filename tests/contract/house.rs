//! The house of docs/architecture.md: what imports what, and what is named where.

use std::path::{Path, PathBuf};

pub(super) fn sources() -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&entry).expect("a source");
                found.push((entry, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 30);
    found
}

/// The room of a file: the first folder, or the file's own name.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("a source");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// Code without what tests and comments say, wherever in the file they stand.
fn code(text: &str) -> String {
    let mut shipped = Vec::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        let is_test = line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
        if !is_test {
            shipped.push(line);
            continue;
        }
        // The item that is of tests only, up to its own closing brace.
        let mut item = lines.by_ref().skip_while(|line| line.starts_with("#["));
        if item.next().is_some_and(|line| !line.ends_with(';')) {
            let _ = item.find(|line| *line == "}");
        }
    }
    shipped.join("\n")
}

#[test]
fn imports_go_down_only() {
    const DOMAINS: [&str; 5] = ["access", "client", "content", "database", "deploy"];
    for (path, text) in sources() {
        let room = room(&path);
        let allowed: &[&str] = match room.as_str() {
            "main" | "lib" | "cli" => continue,
            "mcp" => &[
                "present",
                "op",
                "hex",
                "access",
                "content",
                "deploy",
                "redact",
                "store",
                "error",
                "file",
                "clock",
                "operations",
            ],
            "present" => &["op", "error"],
            "op" => &["approved", "store", "error", "clock", "schema"],
            "schema" => &[],
            "diff" | "hex" | "shell" => &[],
            "store" => &["error", "clock", "file", "hex"],
            "error" => &[],
            "file" | "process" | "redact" => &[],
            "disk" => &["error", "file", "store"],
            "approved" => &["disk", "error", "file", "hex"],
            "clock" => &["error"],
            "git" => &["error", "file", "process", "redact"],
            // What `content/mod.rs` names for other domains.
            // A key says which tools its clients list.
            "access" => {
                &["op", "store", "error", "clock", "hex", "redact", "content::names", "content::GROUPS", "operations"]
            }
            "deploy" => &[
                "op",
                "approved",
                "store",
                "error",
                "clock",
                "diff",
                "git",
                "hex",
                "process",
                "shell",
                "redact",
                "disk",
                "file",
                "content::command",
                "content::files",
                "content::skills",
                "content::uri",
                "client::health",
                "content::health",
                "database::health",
            ],
            "client" => &[
                "op",
                "store",
                "error",
                "clock",
                "diff",
                "hex",
                "shell",
                "git",
                "disk",
                "file",
                "redact",
                "access::required",
                "content::names",
                "database::default_path",
            ],
            domain if DOMAINS.contains(&domain) => &["op", "store", "error", "file", "clock", "diff", "hex", "shell"],
            other => panic!("a room nobody knows: {other}"),
        };
        for used in code(&text).split("crate::").skip(1) {
            let end = used.find(|c: char| !(c.is_ascii_alphanumeric() || "_:".contains(c))).unwrap_or(used.len());
            let path_used = &used[..end];
            let name = path_used.split("::").next().unwrap_or_default();
            let named = allowed.iter().any(|allowed| {
                name == *allowed || path_used == *allowed || path_used.starts_with(&format!("{allowed}::"))
            });
            assert!(name == room || named, "{} names crate::{path_used}", path.display());
        }
    }
}

#[test]
fn the_sql_engine_is_named_in_the_store_only() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "store") {
        for engine in ["rusqlite", "r2d2", "refinery"] {
            assert!(!code(text).contains(engine), "{} names {engine}", path.display());
        }
    }
}

#[test]
fn git_is_run_in_one_place() {
    for (path, text) in sources().iter().filter(|(path, _)| room(path) != "git") {
        assert!(!code(text).contains("Command::new(\"git\")"), "{} runs git", path.display());
    }
}

#[test]
fn files_are_read_in_one_place() {
    // A folder that is synced, a shell's own pipe, the name of the machine.
    const OTHERWISE: [&str; 4] = ["store/open.rs", "store/source.rs", "disk.rs", "deploy/repo/identity.rs"];
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
