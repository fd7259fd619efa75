//! Parses a manifest. Reports errors with their positions, and warns about unknown keys.

use std::ops::Range;
use std::time::Duration;

use toml_edit::{Document, Item, TableLike, Value};

use super::check::{self, Placed};
use super::{COMMAND, Fault, Flow, Gate, Manifest, Repo, Specs, Worktrees, invalid};
use crate::names;
use mcpkg_base::error::{Result, nearest};
use mcpkg_base::redact::without_password;

/// The known tables and their keys.
const TABLES: [(&str, &[&str]); 7] = [
    ("workspace", &["name", "root"]),
    (
        "flow",
        &[
            "main_branch",
            "develop_branch",
            "feature_prefix",
            "release_prefix",
            "hotfix_prefix",
            "tag_prefix",
            "changelog",
        ],
    ),
    ("worktree", &["base_dir", "cleanup_on_remove"]),
    ("spec", &["openspec_dir"]),
    ("gate", &["url", "timeout_secs"]),
    // smctl uses these tables; mcpkg ignores them.
    ("logging", &[]),
    ("verify", &[]),
];

/// The known keys of a repository.
const REPO: [&str; 10] = [
    "name",
    "url",
    "path",
    "default_branch",
    "smctl_home",
    "build_cmd",
    "test_cmd",
    "clean_cmd",
    "depends_on",
    "timeout_secs",
];

/// The maximum value of any timeout, in seconds.
const DAY: u64 = 86_400;

/// Parses a manifest. Error messages call it `shown`.
///
/// # Errors
/// `E_WORKSPACE_INVALID` with all errors in `details.findings`.
pub fn read(text: &str, shown: &str) -> Result<Manifest> {
    let mut reader = Reader { text, faults: Vec::new(), warnings: Vec::new() };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let place = error.span().unwrap_or(0..0);
            reader.fault(Some(place), error.message().lines().next().unwrap_or("it is not TOML").to_owned());
            return Err(invalid(shown, &reader.faults));
        }
    };
    let manifest = reader.manifest(document.as_table());
    for (place, message) in check::repos(&manifest) {
        reader.fault(place, message);
    }
    if reader.faults.is_empty() {
        Ok(Manifest {
            warnings: reader.warnings.iter().map(|warning| format!("{shown}:{warning}")).collect(),
            ..manifest.manifest
        })
    } else {
        reader.faults.sort_by_key(|fault| (fault.line, fault.column));
        Err(invalid(shown, &reader.faults))
    }
}

/// The text being parsed, and the problems found so far.
struct Reader<'t> {
    text: &'t str,
    faults: Vec<Fault>,
    warnings: Vec<String>,
}

impl Reader<'_> {
    fn fault(&mut self, place: Option<Range<usize>>, message: String) {
        let (line, column) = self.position(place);
        self.faults.push(Fault { line, column, message });
    }

    fn warn(&mut self, place: Option<Range<usize>>, message: &str) {
        let (line, column) = self.position(place);
        self.warnings.push(format!("{line}:{column}: {message}"));
    }

    fn position(&self, place: Option<Range<usize>>) -> (usize, usize) {
        let before = place.and_then(|place| self.text.get(..place.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    fn manifest(&mut self, document: &toml_edit::Table) -> Placed {
        let known = || TABLES.iter().map(|(name, _)| *name).chain(["repos"]);
        for (key, item) in document.iter() {
            if !known().any(|name| name == key) {
                self.unknown(document, key, item, "the manifest", known());
            }
        }
        let workspace = self.table(document, "workspace");
        let name = match workspace {
            Some(table) => self.required(table, "name", None, "[workspace]"),
            None => {
                self.fault(None, "there is no [workspace] table with a `name`".to_owned());
                String::new()
            }
        };
        if let Some((root, place)) = workspace.and_then(|table| self.placed_text(table, "root"))
            && root != "."
        {
            let message = "`root` must be \".\": the workspace is always the folder that contains .smctl";
            self.fault(place, message.to_owned());
        }
        let flow = self.flow(document);
        let worktree = self.table(document, "worktree");
        let worktree = Worktrees {
            base_dir: self.folder(worktree, "base_dir", ".worktrees"),
            cleanup_on_remove: worktree.and_then(|table| self.flag(table, "cleanup_on_remove")).unwrap_or(true),
        };
        let spec = self.table(document, "spec");
        let spec = Specs { openspec_dir: self.folder(spec, "openspec_dir", "openspec") };
        let gate = self.table(document, "gate");
        let gate = Gate {
            url: gate.and_then(|table| self.text(table, "url")).filter(|url| !url.is_empty()),
            timeout: gate.and_then(|table| self.seconds(table, "timeout_secs")).unwrap_or(Duration::from_secs(30)),
        };
        for name in ["logging", "verify"] {
            self.table(document, name);
        }
        let mut repos = Vec::new();
        let mut places = Vec::new();
        for (table, place) in self.repo_tables(document) {
            let (repo, depends) = self.repo(table, place.clone(), &flow.main_branch);
            repos.push(repo);
            places.push((place, depends));
        }
        let manifest = Manifest { name, repos, flow, worktree, spec, gate, warnings: Vec::new() };
        Placed { manifest, repos: places }
    }

    fn flow(&mut self, document: &toml_edit::Table) -> Flow {
        let table = self.table(document, "flow");
        let mut word = |key: &str, usual: &str| {
            let Some((word, place)) = table.and_then(|table| self.placed_text(table, key)) else {
                return usual.to_owned();
            };
            let whole = if key.ends_with("_prefix") { format!("{word}x") } else { word.clone() };
            if !names::is_branch(&whole) {
                self.fault(place, format!("`{key}` cannot be part of a branch or tag name: \"{word}\""));
            }
            word
        };
        let flow = Flow {
            main_branch: word("main_branch", "main"),
            develop_branch: word("develop_branch", "develop"),
            feature_prefix: word("feature_prefix", "feature/"),
            release_prefix: word("release_prefix", "release/"),
            hotfix_prefix: word("hotfix_prefix", "hotfix/"),
            tag_prefix: word("tag_prefix", "v"),
            changelog: None,
        };
        let changelog = match table.and_then(|table| self.placed_text(table, "changelog")) {
            Some((name, _)) if name == "none" || name.is_empty() => None,
            Some((name, place)) => {
                self.inside(&name, place, "changelog");
                Some(name)
            }
            None => None,
        };
        Flow { changelog, ..flow }
    }

    fn repo(
        &mut self,
        table: &dyn TableLike,
        place: Option<Range<usize>>,
        main_branch: &str,
    ) -> (Repo, Vec<Option<Range<usize>>>) {
        for (key, item) in table.iter() {
            if !REPO.contains(&key) {
                self.unknown(table, key, item, "[[repos]]", REPO.into_iter());
            }
        }
        let name = self.required(table, "name", place.clone(), "[[repos]]");
        if !name.is_empty() && !names::is_repo(&name) {
            let (_, place) = self.placed_text(table, "name").unwrap_or_default();
            self.fault(
                place,
                format!("\"{name}\" is not a valid repository name; use letters, digits, `.`, `_`, `-` and `/`"),
            );
        }
        let url = self.required(table, "url", place, "[[repos]]");
        let path = match self.placed_text(table, "path") {
            Some((path, place)) => {
                if path != "." {
                    self.inside(&path, place.clone(), "path");
                    if names::is_path(&path) && !names::is_repo_path(&path) {
                        let why = format!("`path` of a repository is not inside the workspace: \"{path}\"");
                        self.fault(place, why);
                    }
                }
                path
            }
            None => name.clone(),
        };
        let default_branch = match self.placed_text(table, "default_branch") {
            Some((branch, place)) => {
                if !names::is_branch(&branch) {
                    self.fault(place, format!("`default_branch` is not a valid branch name: \"{branch}\""));
                }
                branch
            }
            None => main_branch.to_owned(),
        };
        let usual = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let (depends_on, places) = self.texts(table, "depends_on");
        let repo = Repo {
            name,
            url: without_password(&url),
            path,
            default_branch,
            smctl_home: self.flag(table, "smctl_home").unwrap_or(false),
            build: self.command(table, "build_cmd").unwrap_or_else(|| usual(["cargo", "build"])),
            test: self.command(table, "test_cmd").unwrap_or_else(|| usual(["cargo", "test"])),
            clean: self.command(table, "clean_cmd"),
            depends_on,
            timeout: self.seconds(table, "timeout_secs").unwrap_or(COMMAND),
        };
        (repo, places)
    }

    /// Returns the repositories' tables with their positions. Accepts `[[repos]]` and a list of inline tables.
    fn repo_tables<'d>(&mut self, document: &'d toml_edit::Table) -> Vec<(&'d dyn TableLike, Option<Range<usize>>)> {
        match document.get("repos") {
            None => Vec::new(),
            Some(Item::ArrayOfTables(tables)) => {
                tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect()
            }
            Some(Item::Value(Value::Array(list))) => {
                let mut tables: Vec<(&dyn TableLike, _)> = Vec::new();
                for value in list {
                    match value.as_inline_table() {
                        Some(table) => tables.push((table, value.span())),
                        None => {
                            self.fault(value.span(), "a repository must be a table with `name` and `url`".to_owned())
                        }
                    }
                }
                tables
            }
            Some(item) => {
                self.fault(item.span(), "`repos` must be a list of tables: write [[repos]]".to_owned());
                Vec::new()
            }
        }
    }

    /// Returns a table of the manifest, and warns about unknown keys in it.
    fn table<'d>(&mut self, document: &'d toml_edit::Table, name: &str) -> Option<&'d dyn TableLike> {
        let item = document.get(name)?;
        let Some(table) = item.as_table_like() else {
            self.fault(item.span(), format!("`{name}` must be a table: write [{name}]"));
            return None;
        };
        let keys = TABLES.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, keys)| keys);
        if !keys.is_empty() {
            for (key, item) in table.iter() {
                if !keys.contains(&key) {
                    self.unknown(table, key, item, &format!("[{name}]"), keys.iter().copied());
                }
            }
        }
        Some(table)
    }

    fn unknown<'k>(
        &mut self,
        table: &dyn TableLike,
        key: &str,
        item: &Item,
        of: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        let place = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
        let near = nearest(key, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        self.warn(place, &format!("{of} does not support the key `{key}`, so mcpkg ignores it{near}"));
    }

    fn required(&mut self, table: &dyn TableLike, key: &str, place: Option<Range<usize>>, of: &str) -> String {
        match self.placed_text(table, key) {
            Some((text, place)) if text.trim().is_empty() => {
                self.fault(place, format!("`{key}` of {of} is empty"));
                text
            }
            Some((text, _)) => text,
            None => {
                if !table.contains_key(key) {
                    self.fault(place, format!("{of} has no `{key}`"));
                }
                String::new()
            }
        }
    }

    fn placed_text(&mut self, table: &dyn TableLike, key: &str) -> Option<(String, Option<Range<usize>>)> {
        let item = table.get(key)?;
        match item.as_str() {
            Some(text) => Some((text.to_owned(), item.span())),
            None => self.wrong(key, item, "a string"),
        }
    }

    fn text(&mut self, table: &dyn TableLike, key: &str) -> Option<String> {
        self.placed_text(table, key).map(|(text, _)| text)
    }

    fn flag(&mut self, table: &dyn TableLike, key: &str) -> Option<bool> {
        let item = table.get(key)?;
        item.as_bool().or_else(|| self.wrong(key, item, "true or false"))
    }

    fn seconds(&mut self, table: &dyn TableLike, key: &str) -> Option<Duration> {
        let item = table.get(key)?;
        let seconds = item
            .as_integer()
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|seconds| (1..=DAY).contains(seconds));
        match seconds {
            Some(seconds) => Some(Duration::from_secs(seconds)),
            None => self.wrong(key, item, "a number of seconds from 1 to 86400 (one day)"),
        }
    }

    fn texts(&mut self, table: &dyn TableLike, key: &str) -> (Vec<String>, Vec<Option<Range<usize>>>) {
        let Some(item) = table.get(key) else { return Default::default() };
        let texts = item.as_array().and_then(|list| {
            list.iter().map(|value| Some((value.as_str()?.to_owned(), value.span()))).collect::<Option<Vec<_>>>()
        });
        match texts {
            Some(texts) => texts.into_iter().unzip(),
            None => self.wrong(key, item, "a list of strings").unwrap_or_default(),
        }
    }

    /// Parses a command: either a list of arguments, or a string that is split like a shell command. It is never run by
    /// a shell.
    fn command(&mut self, table: &dyn TableLike, key: &str) -> Option<Vec<String>> {
        let item = table.get(key)?;
        let words = match item.as_str() {
            Some(text) => match shlex::split(text) {
                Some(words) => words,
                None => {
                    self.fault(item.span(), format!("`{key}` has an unclosed quote"));
                    return None;
                }
            },
            None => self.texts(table, key).0,
        };
        if words.first().is_none_or(String::is_empty) {
            if item.as_str().is_some() || item.as_array().is_some_and(toml_edit::Array::is_empty) {
                self.fault(item.span(), format!("`{key}` does not name a program"));
            }
            return None;
        }
        Some(words)
    }

    fn folder(&mut self, table: Option<&dyn TableLike>, key: &str, usual: &str) -> String {
        match table.and_then(|table| self.placed_text(table, key)) {
            Some((path, place)) => {
                self.inside(&path, place, key);
                path
            }
            None => usual.to_owned(),
        }
    }

    fn inside(&mut self, path: &str, place: Option<Range<usize>>, key: &str) {
        if !names::is_path(path) {
            self.fault(place, format!("`{key}` must not lead out of its base folder: \"{path}\""));
        }
    }

    fn wrong<T>(&mut self, key: &str, item: &Item, right: &str) -> Option<T> {
        self.fault(item.span(), format!("`{key}` has the type {}, but must be {right}", item.type_name()));
        None
    }
}
