//! Decides from a file's path what the file becomes, such as a prompt or a file of a skill, and which name it gets.

pub mod agents;
pub mod destination;
pub mod entered;
pub mod folders;

use std::collections::BTreeMap;

use super::plugins::Plugins;
use super::plugins::place::{MAX_MANIFEST, ReadFile};
use super::reason::{Note, Reason};
use crate::item::File;
use crate::skills::MAIN;
use agents::{Form, Place, Role};
use destination::{Destination, InSkill, PluginFile};
use folders::Folders;
use mcpkg_agents::commands::dialect::Dialect;

/// The kind that the user chose with `--as` for all files, regardless of their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Prompts
    Prompt,
    /// One skill: the whole folder
    Skill,
    /// Instructions
    Instructions,
    /// Subagents
    Subagent,
    /// Resources
    #[value(alias = "document")]
    #[serde(alias = "document")]
    Resource,
}

/// Determines what the files below one import root become.
#[derive(Debug, Default)]
pub struct Places {
    folders: Folders,
    plugins: Plugins,
    /// The kind that the user chose for all files.
    kind: Option<Kind>,
    /// The name of the root's own folder, which is also the name of a skill at the root.
    name: String,
    /// The prefix of all paths: the skill's name if the root as a whole is a skill, otherwise empty.
    prefix: String,
}

/// Folders that do not become part of a name, because the file's extension already says the same.
const BY_ENDING: &[&str] = &["agents/", "chatmodes/", "instructions/", "prompts/", "rules/"];

impl Places {
    /// Returns the [`Places`] of an exported folder. A skill cannot be named after that folder, whose name is arbitrary.
    /// `read` returns the contents of files that decide what others become, such as manifests of plugins.
    pub fn of_export<'p>(paths: impl Iterator<Item = &'p str> + Clone, read: ReadFile<'_>) -> Self {
        let plugins = Plugins::read(paths.clone(), read);
        let mut folders = Folders::of(paths, &plugins, read);
        folders.forget_root();
        Self { folders, plugins, ..Self::default() }
    }

    /// Like [`Places::of_export`], but takes the files themselves.
    pub fn of_files(files: &[&File]) -> Self {
        let read = |path: &str| {
            let at = files.iter().find(|file| file.relative == path)?;
            (at.content.size() <= MAX_MANIFEST).then(|| at.content.bytes().ok().map(|bytes| bytes.into_owned()))?
        };
        let mut paths: Vec<&str> = files.iter().map(|file| file.relative.as_str()).collect();
        paths.sort_unstable();
        Self::of_export(paths.into_iter(), &read)
    }

    /// Returns the [`Places`] of a folder called `name` that contains files at `paths`. `is_named` means that the user
    /// named that folder.
    pub fn of_folder<'p>(
        paths: impl Iterator<Item = &'p str> + Clone,
        kind: Option<Kind>,
        (name, is_named): (&str, bool),
        read: ReadFile<'_>,
    ) -> Self {
        let plugins = Plugins::read(paths.clone(), read);
        let mut folders = Folders::of(paths.clone(), &plugins, read);
        let mut prefix = String::new();
        if kind == Some(Kind::Skill) || (is_named && folders.is_one_skill()) {
            prefix = format!("{name}/");
            folders = Folders::one_skill(name);
        }
        Self { folders, plugins, kind, name: name.to_owned(), prefix }
    }

    /// Returns the `name` in a folder's SKILL.md, if it is valid. Agents use this name for a skill at the top of a
    /// repository, because the name of a clone's folder is arbitrary.
    pub fn name_of_root(read: ReadFile<'_>) -> Option<String> {
        let name = read(MAIN).and_then(|text| destination::name_in(&text))?;
        let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (name.len() <= 64 && !name.starts_with('-') && name.bytes().all(is_letter)).then_some(name)
    }

    /// Returns the folder of the Agent Plugin that has a part at this path: its manifest, its servers, a skill or a client's file.
    pub fn open_plugin(&self, relative: &str) -> Option<&str> {
        self.plugins.open_part(relative)
    }

    /// Takes the notes about manifests of plugins.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.plugins.notes)
    }

    /// Takes the texts of commands that are written in a manifest itself, by the paths under which they are imported.
    pub fn take_inline(&mut self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.plugins.inline)
    }

    /// Returns the prefix of all paths: the skill's name if the root as a whole is a skill, otherwise an empty text.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Treats a folder as a plugin. The root is an empty path.
    pub fn add_plugin(&mut self, folder: &str) {
        self.folders.add_plugin(folder);
    }

    /// Returns what the file at `relative` (with `/` separators) becomes, or the reason why it is skipped.
    pub fn of(&self, relative: &str) -> Result<Destination, Reason> {
        if let Some(kind) = self.kind {
            return Ok(self.as_kind(kind, relative));
        }
        if let Some(found) = self.plugins.of(relative) {
            return found;
        }
        if let Some(folder) = self.folders.skill(relative) {
            return Ok(self.skill(folder, relative));
        }
        let parts: Vec<&str> = relative.split('/').collect();
        // If agents' folders are nested, the outermost decides.
        for start in 0..parts.len() {
            let (before, here) = parts.split_at(start);
            if let Some(found) = self.in_agents_folder(before, here) {
                return Ok(found);
            }
        }
        let plugin = self.folders.plugin(relative);
        let inside = plugin.and_then(|plugin| below(relative, plugin));
        let in_plugin =
            |folder: &[&str]| inside.is_some_and(|rest| rest.starts_with(&format!("{}/", folder.join("/"))));
        if let Some((kind, agent, file)) = self.plugins.kept(relative) {
            return Ok(Destination::kept(kind, agent, relative, file));
        }
        if let Some((kind, agent)) = agents::for_agent(&parts, in_plugin) {
            let file = if inside == Some(PLUGINS_SERVERS) { PluginFile::Vendor } else { PluginFile::No };
            let entries = self.plugins.entries(relative).to_vec();
            return Ok(Destination { entries, ..Destination::kept(kind, agent, relative, file) });
        }
        if let Some(found) = instructions(&parts).or_else(|| by_ending(&parts, inside)) {
            return Ok(found);
        }
        let reads = |plugin: &str, path: &str| self.plugins.reads(plugin, path.split('/').next().unwrap_or_default());
        let inside = inside.filter(|rest| reads(plugin.unwrap_or_default(), rest));
        let of_root = || in_roots_folder(relative).filter(|_| reads("", relative));
        if let Some(found) = inside.and_then(in_plugins_folder).or_else(of_root) {
            return Ok(found);
        }
        let folders = &parts[..parts.len() - 1];
        if folders.iter().any(|part| agents::is_folder(part)) {
            // Skip the file: agents' folders also contain transcripts and credentials, which must not be served to others.
            return Err(Reason::NoPlace);
        }
        if parts.last().is_some_and(|name| *name == ".app.json") {
            return Err(Reason::Apps);
        }
        if parts.iter().any(|part| part.starts_with('.')) {
            return Err(Reason::Hidden);
        }
        Ok(Destination::plain(Role::File, relative.to_owned()))
    }

    /// Like [`Places::of`], for a file whose content is known.
    pub fn of_file(&self, file: &File) -> Result<Destination, Reason> {
        self.of(&file.relative).map(|to| to.named_by(file))
    }

    /// Returns whether an import of the whole folder would enter all folders above the file at `relative`.
    pub fn reaches(&self, relative: &str) -> bool {
        let skill = self.folders.skill(relative);
        relative.match_indices('/').all(|(end, _)| {
            let folder = &relative[..end];
            let in_skill = skill.is_some_and(|skill| folder.len() > skill.len());
            entered::is_entered(folder, in_skill).is_ok()
        })
    }

    /// Returns what a file becomes if the user named it directly. Such a file is imported even if it is hidden.
    pub fn named(&self, relative: &str) -> Result<Destination, Reason> {
        match self.of(relative) {
            Err(Reason::Hidden | Reason::Apps) => Ok(Destination::plain(Role::File, relative.to_owned())),
            place => place,
        }
    }

    fn skill(&self, folder: &str, relative: &str) -> Destination {
        let name = if folder.is_empty() { &self.name } else { folder.rsplit('/').next().unwrap_or_default() };
        let agent = folder.split('/').find_map(agents::of_folder);
        let is_unread = self.kind.is_none() && !self.reads_skill(folder);
        let skill = Some(InSkill { is_unread, folder: folder.to_owned(), name: name.to_owned() });
        Destination { agent, skill, ..Destination::plain(Role::Skill, relative.to_owned()) }
    }

    /// Returns whether agents look for a skill in this folder: in an agent's folder, in the `skills` folder of a plugin
    /// or of the root, in a folder that a manifest lists, or at the top of a plugin or of the root.
    fn reads_skill(&self, folder: &str) -> bool {
        let plugin = self.folders.plugin(&format!("{folder}/{MAIN}")).unwrap_or_default();
        let is_whole = folder == plugin || format!("{folder}/") == self.prefix;
        is_whole
            || agents::lies_in_folder(folder)
            || below(folder, plugin).is_some_and(|rest| rest.starts_with("skills/"))
            || self.plugins.lists_skill(folder)
    }

    /// Returns what a file becomes if the user chose a kind with `--as`.
    fn as_kind(&self, kind: Kind, relative: &str) -> Destination {
        let stem = |endings: &[&str]| {
            let ending = endings.iter().find_map(|ending| relative.strip_suffix(ending));
            ending.unwrap_or(relative).to_owned()
        };
        match kind {
            Kind::Prompt => Destination::plain(Role::Prompt, stem(&[".prompt.md", ".md", ".txt"])),
            Kind::Skill => self.skill(relative.split('/').next().unwrap_or_default(), relative),
            Kind::Instructions => {
                let name = relative.rsplit('/').next().unwrap_or_default();
                let (form, agent) = match agents::by_ending(name) {
                    Some((Role::Instructions, form, agent, _)) => (form, Some(agent)),
                    _ => (Form::Plain, None),
                };
                Destination { form, agent, ..Destination::plain(Role::Instructions, relative.to_owned()) }
            }
            Kind::Subagent => Destination { front_name: true, ..Destination::plain(Role::Subagent, stem(SUBAGENTS)) },
            Kind::Resource => Destination::plain(Role::File, relative.to_owned()),
        }
    }

    /// Returns what a file in an agent's folder becomes. `before` is the path above the agent's folder, and `here` is the
    /// rest.
    fn in_agents_folder(&self, before: &[&str], here: &[&str]) -> Option<Destination> {
        let scope = before.join("/");
        for place in agents::places() {
            let Some(inner) = here.strip_prefix(place.folder.as_slice()) else { continue };
            let takes = inner.last().is_some_and(|name| name.ends_with(place.ending));
            if takes && let Some(found) = self.at(place, before, inner) {
                return Some(found);
            }
        }
        let own = agents::in_folder(here)?;
        let label = if own.names_folder { [before, here].concat() } else { [before, &here[1..]].concat() };
        let plain = Destination::plain(Role::Instructions, label.join("/"));
        Some(Destination { agent: Some(own.agent), scope, ..plain })
    }

    fn at(&self, place: &Place, before: &[&str], inner: &[&str]) -> Option<Destination> {
        let label = [before, inner].concat().join("/");
        let agent = place.agent;
        let found = match place.role {
            Role::Prompt => {
                let label = label.strip_suffix(place.ending)?.to_owned();
                let file = before.is_empty().then(|| format!("{label}.md"));
                let dialect = if place.counts_from_one { Dialect::OpenCode } else { Dialect::Claude };
                Destination { file, dialect, ..Destination::plain(Role::Prompt, label) }
            }
            Role::Skill => {
                let folder = [before, place.folder.as_slice(), &inner[..1]].concat().join("/");
                let is_one = inner.len() > 1 && !self.folders.has_skills_below(&folder);
                let relative = format!("{folder}/{}", inner[1..].join("/"));
                is_one.then(|| self.skill(&folder, &relative))?
            }
            Role::Instructions => {
                let note = (place.form == Form::Unread).then_some(
                    "is in a folder that its agent does not read, so it applies only when you add it manually",
                );
                let scope = before.join("/");
                Destination { form: place.form, scope, note, ..Destination::plain(Role::Instructions, label) }
            }
            Role::Subagent => {
                let ending = SUBAGENTS.iter().find(|ending| label.ends_with(**ending))?;
                Destination::plain(Role::Subagent, label[..label.len() - ending.len()].to_owned())
            }
            Role::Kept | Role::File => {
                Destination::plain(Role::File, [before, place.folder.as_slice(), inner].concat().join("/"))
            }
        };
        Some(Destination { agent, ..found })
    }
}

/// The file in which a plugin lists its MCP servers.
const PLUGINS_SERVERS: &str = ".mcp.json";

/// The endings of subagents' files. Longer endings come first, because a shorter ending also matches.
const SUBAGENTS: &[&str] = &[".agent.md", ".chatmode.md", ".md", ".toml"];

/// Returns the destination of a file whose name identifies it as instructions.
fn instructions(parts: &[&str]) -> Option<Destination> {
    let (name, above) = parts.split_last()?;
    let (agent, form) = agents::instructions(name)?;
    let nested_old = !above.is_empty() && agents::at_root(name).is_some();
    let (form, note) = match nested_old {
        true => (
            Form::Unread,
            Some(
                "is not at the project's root, the only place its agent reads, so it applies only when you add it manually",
            ),
        ),
        false => (form, None),
    };
    let plain = Destination::plain(Role::Instructions, parts.join("/"));
    Some(Destination { agent, form, note, scope: above.join("/"), ..plain })
}

/// Returns the destination of a file that is identified by its ending. `inside` is the path within a plugin.
fn by_ending(parts: &[&str], inside: Option<&str>) -> Option<Destination> {
    let (role, form, agent, ending) = agents::by_ending(parts.last()?)?;
    let whole = parts.join("/");
    let path = inside.unwrap_or(&whole);
    let path = BY_ENDING.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path);
    let label = match role {
        Role::Instructions => path,
        _ => &path[..path.len() - ending.len()],
    };
    let file = (role == Role::Prompt).then(|| format!("{label}.md"));
    Some(Destination { agent: Some(agent), form, file, ..Destination::plain(role, label.to_owned()) })
}

/// Returns the destination of a file in a plugin. `inside` is the path within the plugin.
fn in_plugins_folder(inside: &str) -> Option<Destination> {
    let label = inside.strip_suffix(".md").filter(|label| !label.ends_with("README"))?;
    let (agent, folders) = agents::in_plugins()?;
    let agent = Some(agent);
    if let Some(label) = below(label, folders.commands) {
        let file = Some(format!("{label}.md"));
        return Some(Destination { agent, file, ..Destination::plain(Role::Prompt, label.to_owned()) });
    }
    let label = below(label, folders.subagents)?;
    Some(Destination { agent, ..Destination::plain(Role::Subagent, label.to_owned()) })
}

/// Returns the destination of a file in the root's folder `commands`, where published collections keep commands.
fn in_roots_folder(relative: &str) -> Option<Destination> {
    let (_, folders) = agents::in_plugins()?;
    below(relative, folders.commands).and_then(|_| in_plugins_folder(relative))
}

fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    if folder.is_empty() { Some(path) } else { path.strip_prefix(folder)?.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::name;

    fn of(paths: &[&str]) -> Vec<Result<Destination, Reason>> {
        let folders = Folders::of(paths.iter().copied(), &Plugins::default(), &|_| None);
        let places = Places { folders, ..Places::default() };
        paths.iter().map(|path| places.of(path)).collect()
    }

    fn one(path: &str) -> Destination {
        of(&[path]).remove(0).expect("it is taken")
    }

    #[test]
    fn folders_decide_what_a_file_is() {
        let cases = [
            (".claude/commands/review/pr.md", Role::Prompt, "review.pr"),
            ("web/.claude/commands/pr.md", Role::Prompt, "web.pr"),
            (".github/prompts/a.prompt.md", Role::Prompt, "a"),
            ("prompts/a.prompt.md", Role::Prompt, "a"),
            ("plugins/x/commands/git/a.md", Role::Prompt, "git.a"),
            ("commands/a.md", Role::Prompt, "a"),
            (".codex/prompts/a b.md", Role::Prompt, "a-b"),
            (".windsurf/workflows/w.md", Role::Prompt, "w"),
            (".claude/skills/x/scripts/run.sh", Role::Skill, ".claude.skills.x.scripts.run.sh"),
            ("CLAUDE.md", Role::Instructions, "CLAUDE.md"),
            ("web/AGENTS.md", Role::Instructions, "web.AGENTS.md"),
            ("GEMINI.md", Role::Instructions, "GEMINI.md"),
            (".cursor/rules/a.mdc", Role::Instructions, "a.mdc"),
            (".cursor/rules/a.md", Role::Instructions, "a.md"),
            ("rules-new/a.mdc", Role::Instructions, "rules-new.a.mdc"),
            (".cursorrules", Role::Instructions, ".cursorrules"),
            (".clinerules/a.md", Role::Instructions, "a.md"),
            (".windsurf/rules/a.md", Role::Instructions, "a.md"),
            (".claude/rules/ts/a.md", Role::Instructions, "ts.a.md"),
            ("instructions/a.instructions.md", Role::Instructions, "a.instructions.md"),
            (".github/copilot-instructions.md", Role::Instructions, "copilot-instructions.md"),
            (".claude/agents/x/reviewer.md", Role::Subagent, "x.reviewer"),
            ("plugins/x/agents/reviewer.md", Role::Subagent, "reviewer"),
            ("agents/reviewer.agent.md", Role::Subagent, "reviewer"),
            ("chatmodes/plan.chatmode.md", Role::Subagent, "plan"),
            (".opencode/agent/a.md", Role::Subagent, "a"),
            (".gemini/commands/git/a.toml", Role::Prompt, "git.a"),
            (".codex/agents/a.toml", Role::Subagent, "a"),
            ("plugins/x/README.md", Role::File, "plugins.x.README.md"),
            ("commands/README.md", Role::File, "commands.README.md"),
            ("docs/commands/a.md", Role::File, "docs.commands.a.md"),
            ("agents/notes.md", Role::File, "agents.notes.md"),
            ("docs/é#1.md", Role::File, "docs.--1.md"),
        ];
        for (relative, role, name) in cases {
            let place = one(relative);
            assert_eq!((place.role, place.wanted_name().as_str()), (role, name), "{relative}");
        }
        assert_eq!(one("docs/é#1.md").uri("x"), "file:///docs/%C3%A9%231.md");
        let skill = InSkill { is_unread: false, folder: ".claude/skills/x".to_owned(), name: "x".to_owned() };
        assert_eq!(one(".claude/skills/x/SKILL.md").skill, Some(skill));
        assert_eq!(one("web/.cursor/rules/a.mdc").scope, "web");
        assert_eq!(one("rules/x/.cursorrules").form, Form::Unread);
        assert_eq!(one("rules/x/.cursorrules").wanted_name(), "rules.x..cursorrules");
    }

    #[test]
    fn skipped_files_have_a_reason() {
        for (path, reason) in [
            (".env", Reason::Hidden),
            ("plugins/a/.app.json", Reason::Apps),
            ("a/.b/c.md", Reason::Hidden),
            (".claude/commands/run.sh", Reason::NoPlace),
            (".claude/skills/README.md", Reason::NoPlace),
            (".claude/.credentials.json", Reason::NoPlace),
        ] {
            assert_eq!(of(&[path]).remove(0), Err(reason), "{path}");
        }
        // Everything in a skill's folder belongs to the skill.
        let found = of(&["a/x/SKILL.md", "a/x/.mcp.json", "a/x/.claude/commands/y.md"]);
        assert!(found.iter().all(|place| place.as_ref().is_ok_and(|place| place.role == Role::Skill)), "{found:?}");
    }

    #[test]
    fn a_taken_name_gets_a_folder_as_its_prefix() {
        let first = |path: &str, count: usize| {
            let place = one(path);
            let origins = place.origins(path);
            name::names(place.wanted_name(), &origins, path).take(count).collect::<Vec<_>>()
        };
        assert_eq!(first("plugins/git/commands/x.md", 2), ["x", "git-x"]);
        assert_eq!(first(".cursor/commands/dir/y.md", 2), ["dir.y", "cursor-dir.y"]);
        let path = "a.md";
        assert_eq!(first(path, 2), ["a.md".to_owned(), format!("a.md-{}", name::digest(path, 8))]);
        let main = "plugins/git/skills/pdf/SKILL.md";
        assert_eq!(one(main).origins(main), ["git"]);
    }
}
