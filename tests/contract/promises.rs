//! docs/promises.md names a test for each promise, and every test that keeps a numbered one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Returns the Rust files below `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_promise_is_kept_by_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/promises.md")).expect("docs/promises.md");
    let test =
        Regex::new(r"(?m)#\[(?:tokio::)?test\](?:\s*#\[[^\]]*\])*\s*(?:async )?fn (\w+)\(").expect("an expression");
    let mut tests = BTreeSet::new();
    for folder in ["src", "tests"] {
        for file in sources(&root.join(folder)) {
            let text = std::fs::read_to_string(file).expect("a source file");
            tests.extend(test.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
    let mut named = BTreeSet::new();
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.contains("| promise |")) {
        let kept_by = row.trim_end_matches(" |").rsplit(" | ").next().expect("a column");
        let names: Vec<_> = kept_by.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
        for name in &names {
            assert!(tests.contains(name) || name == "---", "docs/promises.md names no test that is there: {row}");
        }
        named.extend(names);
    }
    let numbered = Regex::new(r"^[djf]\d+_").expect("an expression");
    let missing: Vec<_> = tests.iter().filter(|test| numbered.is_match(test) && !named.contains(*test)).collect();
    assert!(missing.is_empty(), "docs/promises.md lacks {missing:?}");
}
