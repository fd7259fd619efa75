//! Reads the lists in a vendor's manifest: `"agents": ["./api.md"]`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::Value;

use super::place::{ReadFile, join};
use crate::import::paths::agents::{self, Form, Role};
use crate::import::paths::destination::{Destination, keys_in};
use crate::import::reason::Note;
use crate::skills::MAIN;
use mcpkg_agents::agents::Agent;
use mcpkg_agents::agents::imports::{Holds, List, Manifest};
use mcpkg_agents::commands::dialect::Dialect;
use mcpkg_agents::forms::matter::Keys;
use mcpkg_base::inside::stays_inside;
use mcpkg_base::plural;
use mcpkg_store::agent_files::Kind;

/// What a manifest says about the files in its plugin.
#[derive(Default)]
pub struct Lists {
    pub files: BTreeMap<String, Destination>,
    pub kept: BTreeMap<String, Kind>,
    /// The texts of commands that are written in the manifest itself, by the paths under which they are imported.
    pub inline: BTreeMap<String, String>,
    /// Skills' own folders, and folders that contain such folders.
    pub skills: Vec<String>,
    /// The default folders that the manifest's agent does not read, because the manifest replaces them.
    pub replaced: BTreeSet<&'static str>,
    pub notes: Vec<Note>,
}

/// The reason why an entry of a manifest has no effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    /// The path does not stay in the plugin, or does not begin with `./` where that is needed.
    Path,
    /// A folder where only files are allowed, or a file that is not Markdown.
    NotMarkdown,
    Form,
    Missing,
    NoSkill,
}

impl Wrong {
    /// Returns whether a strict agent rejects the whole plugin for this reason.
    const fn is_fatal(self) -> bool {
        matches!(self, Self::Path | Self::NotMarkdown | Self::Form)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Path => "must begin with `./` and stay in the plugin's folder",
            Self::NotMarkdown => "must be a file whose name ends with `.md`",
            Self::Form => "must be a path",
            Self::Missing => "is not among the plugin's files",
            Self::NoSkill => "is not a skill's folder, or a folder of skills",
        }
    }
}

/// An entry of a list: a path, and the name that the entry gives to the file.
struct Entry<'m> {
    name: Option<&'m str>,
    path: &'m str,
}

/// The state of reading one manifest.
struct Reading<'r> {
    folder: &'r str,
    agent: &'static Agent,
    form: &'static Manifest,
    paths: &'r BTreeSet<&'r str>,
    lists: Lists,
    wrong: BTreeMap<(Wrong, &'static str), Vec<String>>,
}

impl Lists {
    /// Reads the manifest at `path` of the plugin in `folder`, as `agent` does.
    pub fn read(
        path: &str,
        folder: &str,
        agent: &'static Agent,
        form: &'static Manifest,
        text: &[u8],
        paths: &BTreeSet<&str>,
    ) -> Self {
        let note = |text: String| Note { path: path.to_owned(), line: None, text };
        let refused = |why: &str| Self {
            notes: vec![note(format!("was ignored, because {} rejects the plugin: {why}", agent.title))],
            ..Self::default()
        };
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
        let manifest = match serde_json::from_slice(text) {
            Ok(Value::Object(manifest)) => manifest,
            Ok(_) => return refused("it is not a JSON object"),
            Err(error) => return refused(&format!("it is not valid JSON ({error})")),
        };
        let listed = || form.lists.iter().any(|list| manifest.contains_key(list.key));
        let has_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        if form.is_strict && listed() && !manifest.get("name").and_then(Value::as_str).is_some_and(has_name) {
            return refused("its `name` is missing, empty or contains a space");
        }
        let mut reading = Reading { folder, agent, form, paths, lists: Self::default(), wrong: BTreeMap::new() };
        for list in form.lists {
            let is_hidden = list.hidden_by.is_some_and(|file| paths.contains(join(folder, file).as_str()));
            if let Some(value) = manifest.get(list.key).filter(|_| !is_hidden) {
                reading.list(list, value);
            }
        }
        let Reading { mut lists, wrong, .. } = reading;
        let said = |((wrong, key), paths): (&(Wrong, &str), &Vec<String>)| match paths.as_slice() {
            [path] => format!("`{path}` in `{key}` {}", wrong.text()),
            [path, ..] => {
                format!("{} in `{key}`, such as `{path}`: each {}", plural::count(paths.len(), "entry"), wrong.text())
            }
            [] => String::new(),
        };
        if let Some(fatal) = wrong.iter().find(|((wrong, _), _)| form.is_strict && wrong.is_fatal()) {
            return refused(&said(fatal));
        }
        lists.notes.extend(wrong.iter().map(|wrong| note(format!("has an entry without effect: {}", said(wrong)))));
        lists
    }
}

impl Lists {
    /// Returns a note about files that look like subagents and are next to listed subagents, but are not listed.
    pub fn forgotten(&self, path: &str, agent: &Agent, paths: &BTreeSet<&str>, read: ReadFile<'_>) -> Option<Note> {
        let folder_of = |path: &str| path.rfind('/').map_or(0, |end| end + 1);
        let subagents = self.files.iter().filter(|(_, to)| to.role == Role::Subagent).map(|(path, _)| path);
        let folders: BTreeSet<&str> = subagents.map(|path| &path[..folder_of(path)]).collect();
        let is_subagent = |text: Vec<u8>| {
            let has = |keys: Keys| ["name", "description"].iter().all(|key| keys.map.contains_key(*key));
            keys_in(&text).is_some_and(has)
        };
        let next = folders.iter().flat_map(|folder| {
            let from = (Bound::Included(*folder), Bound::Unbounded);
            let below = paths.range::<str, _>(from).take_while(|path| path.starts_with(*folder));
            below.filter(|path| folder_of(path) == folder.len() && path.ends_with(".md") && !path.ends_with(MAIN))
        });
        let unlisted = next.filter(|path| !self.files.contains_key(**path)).take(MAX_LOOKED_AT);
        let forgotten: Vec<&str> = unlisted.filter(|path| read(path).is_some_and(is_subagent)).copied().collect();
        let (first, count) = (forgotten.first()?, plural::count(forgotten.len(), "file"));
        let text = format!(
            "does not list {count} that may be subagents, such as `{first}`, so {} does not load them; to import one, use \
             `mcpkg import FILE --as subagent`",
            agent.title
        );
        Some(Note { path: path.to_owned(), line: None, text })
    }
}

/// The maximum number of files next to listed subagents that are read.
const MAX_LOOKED_AT: usize = 1000;

impl<'r> Reading<'r> {
    fn list(&mut self, list: &'static List, value: &Value) {
        let before = self.wrong.len();
        let entries = self.entries(list, value);
        let mut known = BTreeSet::new();
        for Entry { name, path } in entries {
            match self.resolve(path) {
                Some(at) if known.insert((at.clone(), name)) => self.entry(list, name, path, &at),
                Some(_) => {}
                None => self.is_wrong(Wrong::Path, list, path),
            }
        }
        // An agent that is not strict falls back to the default folder if it cannot use the list.
        let replaces = list.replaces.filter(|_| self.form.is_strict || self.wrong.len() == before);
        self.lists.replaced.extend(replaces);
    }

    fn is_wrong(&mut self, wrong: Wrong, list: &List, entry: &str) {
        let shown: String = entry.chars().take(100).collect();
        self.wrong.entry((wrong, list.key)).or_default().push(shown.escape_debug().to_string());
    }

    fn entries<'m>(&mut self, list: &List, value: &'m Value) -> Vec<Entry<'m>> {
        let is_file = matches!(list.holds, Holds::Hooks | Holds::Servers);
        match value {
            Value::String(path) => vec![Entry { name: None, path }],
            Value::Array(values) => {
                let mut entries = Vec::new();
                for value in values {
                    match value {
                        Value::String(path) => entries.push(Entry { name: None, path }),
                        // Servers and hooks in the manifest are stored with the manifest itself.
                        Value::Object(_) if is_file => {}
                        other => self.is_wrong(Wrong::Form, list, &other.to_string()),
                    }
                }
                entries
            }
            Value::Object(_) if is_file => Vec::new(),
            Value::Object(commands) if list.holds == Holds::Commands => {
                let mut entries = Vec::new();
                for (name, command) in commands {
                    let text = |key: &str| command.get(key).and_then(Value::as_str);
                    match (text("source"), text("content")) {
                        (Some(path), _) => entries.push(Entry { name: Some(name), path }),
                        (None, Some(content)) if stays_inside(name) && !name.contains('/') => {
                            self.inline(list, name, text("description"), content);
                        }
                        _ => self.is_wrong(Wrong::Form, list, name),
                    }
                }
                entries
            }
            Value::Null => Vec::new(),
            other => {
                self.is_wrong(Wrong::Form, list, &other.to_string());
                Vec::new()
            }
        }
    }

    /// Records a command whose text is in the manifest, as if it were a file in the plugin's folder of commands.
    fn inline(&mut self, list: &List, name: &str, description: Option<&str>, content: &str) {
        let Some((_, folders)) = agents::in_plugins() else { return };
        let path = join(self.folder, &format!("{}/{name}.md", folders.commands));
        let head = description.map(|text| format!("---\ndescription: {}\n---\n\n", Value::from(text)));
        self.file(list, &path, name);
        self.lists.inline.insert(path, head.unwrap_or_default() + content);
    }

    /// Returns the path relative to the import root; `None` if it does not stay in the plugin, or lacks a required `./`.
    fn resolve(&self, path: &str) -> Option<String> {
        let below = match path.strip_prefix("./") {
            Some(below) => below,
            None if path == "." => "",
            None if self.form.needs_dot => return None,
            None => path,
        };
        let below = below.strip_suffix('/').unwrap_or(below);
        (below.is_empty() || stays_inside(below)).then(|| join(self.folder, below))
    }

    fn entry(&mut self, list: &List, name: Option<&str>, path: &str, at: &str) {
        let is_file = self.paths.contains(at);
        let below = if at.is_empty() { String::new() } else { format!("{at}/") };
        let has_files = self.below(&below).next().is_some();
        match list.holds {
            Holds::Skills => {
                let is_skills = |file: &str| {
                    let rest = file[below.len()..].strip_suffix(MAIN).unwrap_or("no/skill/");
                    rest.is_empty() || (rest.ends_with('/') && rest.matches('/').count() == 1)
                };
                if !has_files && !is_file {
                    self.is_wrong(Wrong::Missing, list, path);
                } else if is_file || !self.below(&below).any(is_skills) {
                    self.is_wrong(Wrong::NoSkill, list, path);
                } else {
                    self.lists.skills.push(at.to_owned());
                }
            }
            Holds::Hooks | Holds::Servers => match is_file {
                true => {
                    let kind = if list.holds == Holds::Hooks { Kind::Hook } else { Kind::Servers };
                    self.lists.kept.insert(at.to_owned(), kind);
                }
                false => self.is_wrong(Wrong::Missing, list, path),
            },
            Holds::Subagents | Holds::Commands | Holds::Rules => {
                let endings: &[&str] = match list.holds {
                    Holds::Rules => &[".mdc", ".md"],
                    Holds::Subagents => &[".agent.md", ".md"],
                    _ => &[".md"],
                };
                let stem =
                    |label: &str| endings.iter().find_map(|ending| label.strip_suffix(ending).map(str::to_owned));
                let file = at.rsplit('/').next().unwrap_or_default();
                if is_file || (!has_files && !list.takes_folders) {
                    match stem(file) {
                        Some(_) if !is_file => self.is_wrong(Wrong::Missing, list, path),
                        Some(stem) => self.file(list, at, name.unwrap_or(&stem)),
                        None => self.is_wrong(Wrong::NotMarkdown, list, path),
                    }
                } else if !has_files {
                    self.is_wrong(Wrong::Missing, list, path);
                } else if !list.takes_folders {
                    self.is_wrong(Wrong::NotMarkdown, list, path);
                } else {
                    let mains: BTreeSet<&str> = self.below(&below).filter_map(|file| file.strip_suffix(MAIN)).collect();
                    let in_skill = |file: &str| {
                        let mut ends = file.match_indices('/').map(|(end, _)| &file[..=end]);
                        ends.any(|folder| folder.len() > below.len() && mains.contains(folder))
                    };
                    let files: Vec<(&str, String)> = self
                        .below(&below)
                        .filter(|file| !file.ends_with("README.md") && !file.ends_with(MAIN) && !in_skill(file))
                        .filter_map(|file| Some((file, stem(&file[below.len()..])?)))
                        .collect();
                    for (file, label) in files {
                        self.file(list, file, &label);
                    }
                }
            }
        }
    }

    /// Returns the paths of the files below a folder, whose path ends with `/` or is empty.
    fn below<'b>(&self, folder: &'b str) -> impl Iterator<Item = &'r str> + use<'r, 'b> {
        let from = (Bound::Included(folder), Bound::Unbounded);
        self.paths.range::<str, _>(from).copied().take_while(move |path| path.starts_with(folder))
    }

    /// Records what a file becomes. `label` is the agent's name for the item. For a file in a listed folder, this is
    /// its path within that folder, without the ending.
    fn file(&mut self, list: &List, path: &str, label: &str) {
        let plain = |role, label: &str| Destination {
            agent: Some(self.agent.id),
            ..Destination::plain(role, label.to_owned())
        };
        let to = match list.holds {
            Holds::Commands => Destination {
                file: Some(format!("{label}.md")),
                dialect: if self.agent.imports.counts_from_one { Dialect::OpenCode } else { Dialect::Claude },
                ..plain(Role::Prompt, label)
            },
            Holds::Rules => {
                let form = self.agent.project.scoped_rules.map_or(Form::Plain, |rules| Form::Rule(rules.format));
                Destination { form, ..plain(Role::Instructions, path.rsplit('/').next().unwrap_or_default()) }
            }
            _ => Destination { front_name: self.form.front_names, ..plain(Role::Subagent, label) },
        };
        self.lists.files.insert(path.to_owned(), to);
    }
}
