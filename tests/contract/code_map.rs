//! Writes docs/code-map.md from the first `//!` lines of the sources, or checks that it is current.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{docs, house};

/// A module: its file, and the first paragraph of its `//!` lines.
struct Module {
    file: PathBuf,
    about: String,
}

impl Module {
    fn read(file: PathBuf) -> Self {
        let text = std::fs::read_to_string(&file).expect("a source");
        let lines = text.lines().map_while(|line| line.strip_prefix("//!")).take_while(|line| !line.is_empty());
        let about = lines.map(str::trim).collect::<Vec<_>>().join(" ");
        assert!(!about.is_empty(), "{} does not say what it is for", file.display());
        // Links to items do not work on a page, so keep only their text.
        let link = Regex::new(r"\[(`[^`]+`|[^\]]+)\](\([^)]*\))?").expect("a pattern");
        Self { about: link.replace_all(&about, "$1").into_owned(), file }
    }

    fn first_sentence(&self) -> &str {
        let end = self.about.match_indices(". ").map(|(at, _)| at).find(|at| !self.about[..*at].ends_with("e.g"));
        end.map_or(self.about.trim_end_matches('.'), |end| &self.about[..end])
    }
}

/// Returns the modules in a folder except tests, ordered by name.
fn modules(folder: &Path) -> Vec<(String, Module)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let file = if entry.is_dir() { entry.join("mod.rs") } else { entry };
        let is_module = file.extension().is_some_and(|extension| extension == "rs") && file.is_file();
        if is_module && !["lib", "main", "mod", "tests"].contains(&name.as_str()) {
            found.push((name, Module::read(file)));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

#[test]
fn docs_of_the_code_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let inside = |path: &Path| path.strip_prefix(root).expect("a source").to_string_lossy().replace('\\', "/");
    let mut page = String::from(
        "# Code map\n\nEvery crate, its modules and the modules inside those, each with the first sentence of its source.\n\
         [Architecture](architecture.md) explains how they work together.\n",
    );
    let mut count = 0;
    for folder in house::folders() {
        let krate = Module::read(folder.join("lib.rs"));
        let title = inside(&folder);
        write!(page, "\n## {}\n\n{}\n\n", title.trim_end_matches("/src"), krate.about).expect("text");
        for (name, module) in modules(&folder) {
            count += 1;
            let path = inside(&module.file);
            writeln!(page, "- [`{name}`](../{path}): {}", module.first_sentence()).expect("text");
            if module.file.ends_with("mod.rs") {
                for (name, inner) in modules(module.file.parent().expect("a folder")) {
                    count += 1;
                    writeln!(page, "  - [`{name}`](../{}): {}", inside(&inner.file), inner.first_sentence())
                        .expect("text");
                }
            }
        }
    }
    assert!(count > 400, "only {count} modules");
    docs::check("../code-map.md", &page);
}
