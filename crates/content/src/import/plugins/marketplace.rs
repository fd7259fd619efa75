//! Reads the marketplaces of a repository: files that list the plugins which agents can install from it.
//!
//! A marketplace comes from somebody else. If a plugin is malformed, or its path leads out of the repository, mcpkg
//! adds a note and keeps the other plugins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::place::{AT_TOP, FILES, Listed, ReadFile};
use crate::import::reason::Note;
use crate::source::address::{self, Address};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::plural;
use mcpkg_base::shell::quote;
use mcpkg_core::names;

/// The maximum size of a marketplace's file in bytes.
const MAX: u64 = 8 << 20;

/// The maximum length of a description, in characters.
const DESCRIBED: usize = 200;

/// The lists in an entry that name files and folders of the plugin.
const LISTS: [&str; 5] = ["skills", "commands", "agents", "hooks", "mcpServers"];

/// The plugins that a repository lists.
#[derive(Debug, Default)]
pub struct Marketplace {
    pub plugins: Vec<Plugin>,
    /// Notes about the entries that cannot be used.
    pub notes: Vec<Note>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Plugin {
    pub name: String,
    pub description: Option<String>,
    pub place: Place,
    file: &'static str,
    /// The entry, if it has lists that import reads.
    entry: Option<Map<String, Value>>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// The plugin is in the same repository.
    Here {
        /// The plugin's folder; empty for the root.
        folder: String,
        /// The files and folders that belong to the plugin: the plugin's folder, unless the entry lists others.
        paths: Vec<String>,
    },
    /// The plugin is in another repository. This is the command that adds it.
    Elsewhere(String),
    /// mcpkg cannot add the plugin from where it is, such as npm.
    Unsupported(String),
}

impl Marketplace {
    /// Reads the marketplaces of the repository in the folder `top`. Returns `None` if the repository has none.
    pub fn read(top: &Path) -> Option<Self> {
        let real = mcpkg_base::platform::real(top).ok()?;
        let is_inside = |path: &Path| mcpkg_base::platform::real(path).is_ok_and(|path| path.starts_with(&real));
        let is_folder = |folder: &str| {
            let path = top.join(folder);
            path.is_dir() && is_inside(&path)
        };
        let mut all: Option<Self> = None;
        for name in FILES {
            let path = top.join(name);
            if std::fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let all = all.get_or_insert_default();
            match is_inside(&path).then(|| file::read_text(&path, MAX)) {
                Some(Ok(text)) => all.add(name, &text, &is_folder),
                Some(Err(error)) => all.note(name, format!("cannot be read as a marketplace: {error}")),
                None => all.note(name, "is a link that leads out of the repository".to_owned()),
            }
        }
        all
    }

    /// Reads the marketplaces among the files at `paths`.
    pub(super) fn among(paths: &BTreeSet<&str>, read: ReadFile<'_>) -> Self {
        let is_folder = |folder: &str| {
            let from = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            paths.range(from.as_str()..).next().is_some_and(|path| path.starts_with(&from))
        };
        let mut all = Self::default();
        for file in FILES.into_iter().filter(|file| paths.contains(file)) {
            if let Some(text) = read(file) {
                all.add(file, &String::from_utf8_lossy(&text), &is_folder);
            }
        }
        all
    }

    fn note(&mut self, file: &str, text: String) {
        self.notes.push(Note { path: file.to_owned(), line: None, text });
    }

    /// Adds the plugins in the text of a marketplace's file.
    fn add(&mut self, file: &'static str, text: &str, is_folder: &dyn Fn(&str) -> bool) {
        let value: Value = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(value) => value,
            Err(error) => return self.note(file, format!("is not valid JSON: {error}")),
        };
        // Other programs also have a file called `marketplace.json`. Copilot accepts the file only if it names an
        // owner.
        if file == AT_TOP && !value["owner"].is_object() {
            return;
        }
        let Some(entries) = value["plugins"].as_array() else {
            return self.note(file, "has no list of plugins".to_owned());
        };
        let root = value["metadata"]["pluginRoot"].as_str().and_then(inside);
        let mut known: BTreeSet<String> = self.plugins.iter().map(|plugin| plugin.name.clone()).collect();
        let mut new: Vec<(Plugin, bool)> = Vec::new();
        for (number, entry) in (1..).zip(entries) {
            let Some(name) = entry["name"].as_str().filter(|name| names::check("Plugin", name).is_ok()) else {
                self.note(file, format!("has a plugin without a valid name; it is number {number}"));
                continue;
            };
            if !known.insert(name.to_owned()) {
                continue;
            }
            match place(entry, root.as_deref(), is_folder) {
                Ok(place) => {
                    let description = entry["description"].as_str().and_then(|text| text.lines().next());
                    let description = description.map(|text| text.chars().take(DESCRIBED).collect());
                    let is_strict = entry["strict"] != Value::Bool(false);
                    let has_lists = file == FILES[0] && LISTS.iter().any(|key| !entry[*key].is_null());
                    let entry = entry.as_object().filter(|_| has_lists).cloned();
                    new.push((Plugin { name: name.to_owned(), description, place, file, entry }, is_strict));
                }
                Err(why) => self.note(file, format!("lists the plugin '{name}', {why}")),
            }
        }
        // A plugin with `strict: false` consists only of the files that its entry lists. The same applies to plugins
        // that share a folder, because the folder does not show which file belongs to which plugin.
        let mut users: BTreeMap<String, usize> = BTreeMap::new();
        for (plugin, _) in &new {
            if let Place::Here { folder, .. } = &plugin.place {
                *users.entry(folder.clone()).or_default() += 1;
            }
        }
        for (mut plugin, is_strict) in new {
            if let Place::Here { folder, paths } = &mut plugin.place
                && (paths.is_empty() || (is_strict && users.get(folder) == Some(&1)))
            {
                *paths = vec![folder.clone()];
            }
            self.plugins.push(plugin);
        }
    }

    /// Returns the names of the plugins in the repository itself.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        let here = self.plugins.iter().filter(|plugin| matches!(plugin.place, Place::Here { .. }));
        here.map(|plugin| plugin.name.as_str())
    }

    /// Returns the plugins in the repository, for an import.
    pub fn listed(&self) -> Vec<Listed> {
        let listed = |plugin: &Plugin| match &plugin.place {
            Place::Here { folder, paths } => Some(Listed {
                name: plugin.name.clone(),
                file: plugin.file,
                folder: folder.clone(),
                is_whole: paths.contains(folder),
                entry: plugin.entry.clone(),
            }),
            _ => None,
        };
        self.plugins.iter().filter_map(listed).collect()
    }

    /// Returns the folders and files of the repository that belong to plugins, and whether these plugins are chosen.
    pub fn parts(&self, chosen: &[String]) -> BTreeMap<String, bool> {
        let mut parts = BTreeMap::new();
        for plugin in &self.plugins {
            if let Place::Here { paths, .. } = &plugin.place {
                for path in paths {
                    *parts.entry(path.clone()).or_default() |= chosen.contains(&plugin.name);
                }
            }
        }
        parts
    }

    /// Fails if a chosen plugin is not in the repository.
    pub fn check(all: Option<&Self>, chosen: &[String]) -> Result<()> {
        for name in chosen {
            let Some(all) = all else {
                let why = format!("The repository has no marketplace, so it has no plugin '{name}'");
                return Err(Error::new(Code::NotFound, why).hint("to add only some of its files, use `--only`"));
            };
            let missing = || format!("The marketplace has no plugin '{name}' in this repository");
            match all.plugins.iter().find(|plugin| plugin.name == *name).map(|plugin| &plugin.place) {
                Some(Place::Here { .. }) => {}
                Some(Place::Elsewhere(command)) => {
                    return Err(Error::new(Code::NotFound, missing()).hint(format!("to add it: `{command}`")));
                }
                Some(Place::Unsupported(what)) => {
                    return Err(
                        Error::new(Code::NotFound, missing()).hint(format!("it is {what}, which mcpkg cannot add"))
                    );
                }
                None => {
                    let some = format!("its plugins: {}", plural::first(all.own(), 10));
                    return Err(Error::new(Code::NotFound, missing()).suggest(name, all.own(), some));
                }
            }
        }
        Ok(())
    }

    /// Returns the plugins as JSON. `chosen` is empty if all are taken.
    pub fn data(&self, chosen: &[String]) -> Value {
        let data = |plugin: &Plugin| {
            let mut data = json!({ "name": plugin.name, "taken": self.is_taken(plugin, chosen) });
            if let Some(description) = &plugin.description {
                data["description"] = description.as_str().into();
            }
            match &plugin.place {
                Place::Here { paths, .. } => data["paths"] = json!(paths),
                Place::Elsewhere(command) => data["command"] = command.as_str().into(),
                Place::Unsupported(what) => data["unsupported"] = what.as_str().into(),
            }
            data
        };
        self.plugins.iter().map(data).collect()
    }

    pub fn is_taken(&self, plugin: &Plugin, chosen: &[String]) -> bool {
        matches!(plugin.place, Place::Here { .. }) && (chosen.is_empty() || chosen.contains(&plugin.name))
    }
}

/// Returns where the plugin of an entry is, with the paths that the entry lists. The text of an error continues the
/// note `lists the plugin 'NAME', ...`.
fn place(entry: &Value, root: Option<&str>, is_folder: &dyn Fn(&str) -> bool) -> std::result::Result<Place, String> {
    let source = &entry["source"];
    let text = |key: &str| source[key].as_str().filter(|text| !text.is_empty());
    let folder = match (source.as_str(), text("source")) {
        (Some(path), _) => path,
        (None, Some("local")) => text("path").unwrap_or_default(),
        (None, Some("github")) => return elsewhere(text("repo").unwrap_or_default(), source),
        (None, Some("url" | "git" | "git-subdir")) => return elsewhere(text("url").unwrap_or_default(), source),
        (None, Some(kind)) => {
            let what = text("package").or_else(|| text("url")).unwrap_or_default();
            let kind = kind.chars().filter(char::is_ascii_alphanumeric).take(20).collect::<String>();
            return Ok(Place::Unsupported(format!("a plugin from {kind} {what}").trim_end().to_owned()));
        }
        (None, None) => return Err("which has no source".to_owned()),
    };
    let out = || "whose folder is not in the repository".to_owned();
    let plain = inside(folder).ok_or_else(out)?;
    // A path without `./` is relative to the marketplace's `pluginRoot`.
    let folder = match root.filter(|_| !folder.starts_with("./")) {
        Some(root) => below(root, &plain),
        None => plain,
    };
    if !is_folder(&folder) {
        return Err(out());
    }
    let mut paths = Vec::new();
    for value in LISTS.iter().map(|key| &entry[*key]) {
        for path in listed(value) {
            paths.push(below(&folder, &inside(path).ok_or_else(out)?));
        }
    }
    Ok(Place::Here { folder, paths })
}

/// Returns the paths in a list: one path, several, or a map of names to objects with a path.
fn listed(value: &Value) -> Vec<&str> {
    match value {
        Value::String(path) => vec![path],
        Value::Array(paths) => paths.iter().filter_map(Value::as_str).collect(),
        Value::Object(named) => named.values().filter_map(|one| one["source"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the place of a plugin that is in another repository.
fn elsewhere(address: &str, source: &Value) -> std::result::Result<Place, String> {
    let text = |key: &str| source[key].as_str().filter(|text| !text.is_empty());
    let is_here = address.starts_with(['-', '/']) || address.to_ascii_lowercase().starts_with("file:");
    if is_here || (address::short(address).is_none() && Address::check_url(address).is_err()) {
        return Err("whose address is not valid".to_owned());
    }
    let mut command = format!("mcpkg source add {}", quote(address));
    for (option, value) in [("--ref", text("ref").or_else(|| text("sha"))), ("--path", text("path"))] {
        if let Some(value) = value {
            command.push_str(&format!(" {option}={}", quote(value.trim_start_matches("./"))));
        }
    }
    Ok(Place::Elsewhere(command))
}

/// Returns a path in a repository without `./` and a final `/`: `./plugins/a/` -> `plugins/a`. `None` if the path may
/// lead out of the repository.
fn inside(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let is_root = path.is_empty() || path == ".";
    (is_root || stays_inside(path)).then(|| if is_root { String::new() } else { path.to_owned() })
}

fn below(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::find::only::Parts;

    fn read(value: &Value) -> Marketplace {
        let mut all = Marketplace::default();
        let is_folder = |folder: &str| ["", "plugins", "plugins/a", "plugins/b", "kit"].contains(&folder);
        all.add(FILES[0], &value.to_string(), &is_folder);
        all
    }

    fn here(folder: &str, paths: &[&str]) -> Place {
        Place::Here { folder: folder.to_owned(), paths: paths.iter().map(|path| (*path).to_owned()).collect() }
    }

    #[test]
    fn sources_of_plugins_are_parsed() {
        let place = |root: Value, source: Value| {
            let entry = json!({ "name": "p", "source": source });
            read(&json!({ "metadata": { "pluginRoot": root }, "plugins": [entry] })).plugins.pop().map(|p| p.place)
        };
        let add = |rest: &str| Some(Place::Elsewhere(format!("mcpkg source add {rest}")));
        for (root, source, expected) in [
            (Value::Null, json!("./plugins/a"), Some(here("plugins/a", &["plugins/a"]))),
            (Value::Null, json!("plugins/a/"), Some(here("plugins/a", &["plugins/a"]))),
            (Value::Null, json!("./"), Some(here("", &[""]))),
            (Value::Null, json!("."), Some(here("", &[""]))),
            (json!("./plugins"), json!("b"), Some(here("plugins/b", &["plugins/b"]))),
            (json!("./plugins"), json!("./kit"), Some(here("kit", &["kit"]))),
            (Value::Null, json!({ "source": "local", "path": "./kit" }), Some(here("kit", &["kit"]))),
            (Value::Null, json!({ "source": "github", "repo": "o/r", "ref": "v1" }), add("o/r --ref=v1")),
            (
                Value::Null,
                json!({ "source": "git-subdir", "url": "https://x.org/r.git", "path": "./p" }),
                add("https://x.org/r.git --path=p"),
            ),
            (
                Value::Null,
                json!({ "source": "npm", "package": "@o/p" }),
                Some(Place::Unsupported("a plugin from npm @o/p".to_owned())),
            ),
            (Value::Null, json!({ "source": "url", "url": "ext::sh -c id" }), None),
            (Value::Null, json!({ "source": "url", "url": "--upload-pack=x" }), None),
            (Value::Null, json!({ "source": "url", "url": "file:///home/x" }), None),
            (Value::Null, json!({ "source": "url", "url": "/home/x" }), None),
            (Value::Null, json!("../x"), None),
            (Value::Null, json!("./plugins/../../x"), None),
            (Value::Null, json!("/etc"), None),
            (Value::Null, json!("./.git/hooks"), None),
            (json!("../.."), json!("./none"), None),
            (Value::Null, json!(7), None),
            (Value::Null, json!({ "source": ["./plugins/a"] }), None),
            (Value::Null, Value::Null, None),
        ] {
            assert_eq!(place(root.clone(), source.clone()), expected, "{root} {source}");
        }
    }

    #[test]
    fn lists_of_an_entry_choose_paths() {
        let all = read(&json!({ "plugins": [
            { "name": "docs", "source": "./", "strict": false, "skills": ["./skills/pdf", "./skills/docx"] },
            { "name": "rest", "source": "./", "strict": false, "skills": "./skills/art" },
            { "name": "a", "source": "./plugins/a", "commands": ["./more"] },
            { "name": "b", "source": "./plugins/b", "strict": false, "agents": { "x": { "source": "./x.md" } } },
        ] }));
        let places: Vec<_> = all.plugins.iter().map(|plugin| &plugin.place).collect();
        assert_eq!(
            places,
            [
                &here("", &["skills/pdf", "skills/docx"]),
                &here("", &["skills/art"]),
                &here("plugins/a", &["plugins/a"]),
                &here("plugins/b", &["plugins/b/x.md"]),
            ]
        );
        let parts = Parts(all.parts(&["docs".to_owned(), "b".to_owned()]));
        for (path, taken) in [
            ("skills/pdf/SKILL.md", true),
            ("skills/pdfs/SKILL.md", false),
            ("skills/art/SKILL.md", false),
            ("README.md", false),
            ("plugins/a/commands/x.md", false),
            ("plugins/b/x.md", true),
            ("plugins/b/y.md", false),
        ] {
            assert_eq!(parts.takes(path), taken, "{path}");
        }
    }

    #[test]
    fn a_file_belongs_to_the_innermost_plugin() {
        let all =
            read(&json!({ "plugins": [{ "name": "root", "source": "./" }, { "name": "a", "source": "./plugins/a" }] }));
        let root = Parts(all.parts(&["root".to_owned()]));
        assert!(root.takes("commands/x.md") && root.takes("plugins/b/x.md") && !root.takes("plugins/a/x.md"));
        let a = Parts(all.parts(&["a".to_owned()]));
        assert!(a.takes("plugins/a/x.md") && !a.takes("commands/x.md"));
    }

    #[test]
    fn malformed_entries_become_notes_and_the_rest_stays() {
        let good = json!({ "name": "a", "source": "./plugins/a" });
        let all = read(&json!({ "plugins": [
            7, "x", {}, { "name": 7 }, { "name": "bad name", "source": "./kit" }, { "name": "out", "source": "../x" },
            { "name": "list", "source": "./kit", "strict": false, "skills": ["../../etc"] }, good, good,
        ] }));
        assert_eq!(all.own().collect::<Vec<_>>(), ["a"]);
        assert_eq!(all.notes.len(), 7, "{:?}", all.notes);
        for text in ["", "[", "7", "{}", r#"{"plugins":{}}"#, r#"{"plugins":null,"metadata":7}"#] {
            let mut all = Marketplace::default();
            all.add(FILES[1], text, &|_| true);
            assert!(all.plugins.is_empty() && all.notes.len() == 1, "{text}");
        }
        let many: Vec<Value> = (0..10_000).map(|n| json!({ "name": format!("p{n}"), "source": "./kit" })).collect();
        assert_eq!(read(&json!({ "plugins": many })).plugins.len(), 10_000);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_is_not_read() {
        let (top, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let text = json!({ "plugins": [{ "name": "a", "source": "./out" }, { "name": "b", "source": "./in" }] });
        std::fs::create_dir_all(top.path().join(".claude-plugin")).unwrap();
        std::fs::create_dir_all(top.path().join(".agents/plugins")).unwrap();
        std::fs::create_dir_all(top.path().join("in")).unwrap();
        std::fs::write(other.path().join("m.json"), text.to_string()).unwrap();
        std::os::unix::fs::symlink(other.path(), top.path().join("out")).unwrap();
        std::os::unix::fs::symlink(other.path().join("m.json"), top.path().join(FILES[0])).unwrap();
        assert_eq!(Marketplace::read(other.path()).map(|all| all.plugins.len()), None);
        let all = Marketplace::read(top.path()).unwrap();
        assert!(all.plugins.is_empty() && all.notes[0].text.contains("leads out"), "{all:?}");
        std::fs::write(top.path().join(FILES[1]), text.to_string()).unwrap();
        let all = Marketplace::read(top.path()).unwrap();
        assert_eq!((all.own().collect::<Vec<_>>(), all.notes.len()), (vec!["b"], 2), "{all:?}");
    }
}
