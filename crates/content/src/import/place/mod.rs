//! Turns files into prompts, resources and other items.

pub mod instructions;
pub mod skills;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use crate::answer::text;
use crate::item::{self, File, Item};

use crate::import::note::Note;
use crate::import::paths::agents::{Form, Role};
use crate::import::paths::{Destination, InSkill, Kept};
use crate::import::read::agent_file::{KeptFile, KeptFiles};
use crate::import::read::stray;
use crate::import::reason::{LeftOut, Reason};
use crate::item::name;
use crate::item::{Entry, Origin, What};
use crate::same::twins;
use crate::same::variants::{self, PlainRule};
use crate::{argument, media, uri};
use mcpkg_agents::commands::{self, Read, toml_file};
use mcpkg_agents::forms::matter::{self, Matter};
use mcpkg_agents::forms::read::unread;
use mcpkg_agents::forms::{self, Scope};
use mcpkg_agents::template;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names;
use mcpkg_store::modules::Applies;
use mcpkg_store::new_content::NewContent;
use mcpkg_store::prompts::Attributes;
use mcpkg_store::resources;

#[derive(Debug, Default)]
pub struct Understood {
    /// The items. Their names and URIs are unique.
    pub items: Vec<Item>,
    /// Duplicates: the path of the file, and the path of the file that it equals.
    pub same: Vec<(String, String)>,
    /// Files that an item represents only in part, so that writing the item would not restore them.
    pub partial: Vec<String>,
    pub left_out: Vec<LeftOut>,
    /// Files that need a URI or name that a different file already has.
    pub clashes: Vec<Clash>,
    pub notes: Vec<Note>,
    /// Collects the files of single agents, and the MCP servers in them.
    pub kept: KeptFiles,
    /// The number of items that a manifest lists. They come first in `items` and are never changed.
    pub(in crate::import) listed_count: usize,
    /// Rules that contain no more than a deploy writes, by the indexes of their items.
    pub(in crate::import) plain_rules: HashMap<usize, PlainRule>,
    /// The `AGENTS.md` files, which other agents' files import after a deploy.
    pub(in crate::import) imported: HashSet<String>,
    pub(in crate::import) names: [HashSet<String>; 2],
    pub(in crate::import) uris: HashMap<String, usize>,
    /// The indexes of items by the name that they preferred, whether or not they got it.
    pub(in crate::import) wanted: HashMap<(Role, String), Vec<usize>>,
    /// A cache of the files that a deploy would write from a prompt, by the prompt's index.
    forms: HashMap<usize, Vec<String>>,
    /// The indexes of instructions, by the name of their file without its ending.
    pub(in crate::import) stems: HashMap<String, Vec<usize>>,
    files: HashSet<String>,
    /// The names that skills got, by the name of their folder and a hash of their files.
    pub(in crate::import) skills: HashMap<(String, u64), String>,
    /// The names of skills in lower case, because some file systems ignore case.
    pub(in crate::import) skill_names: HashSet<String>,
}

/// A file that needs a name or URI that another file has.
#[derive(Debug)]
pub struct Clash {
    pub wanted: String,
    /// The file that comes second and is not imported.
    pub path: String,
}

/// The name of the file that other agents' files import after a deploy.
pub(in crate::import) const IMPORTED: &str = "AGENTS.md";

/// The largest file whose front matter is read, in bytes.
pub(in crate::import) const MAX_DESCRIBED: u64 = 16 << 20;

/// Turns files, sorted by path, into items according to their places. Files that a manifest lists have no place; they come first,
/// because their names are exact. The same holds for the servers already in `kept`.
pub fn understand<'f>(
    files: impl IntoIterator<Item = (&'f File, Option<&'f Destination>)>,
    kept: KeptFiles,
) -> Result<Understood> {
    understand_after(|_| true, files, kept)
}

/// Like [`understand`], but files for which `first` is true come first: they keep their items, and equal files become duplicates.
pub fn understand_after<'f>(
    first: impl Fn(&File) -> bool,
    files: impl IntoIterator<Item = (&'f File, Option<&'f Destination>)>,
    kept: KeptFiles,
) -> Result<Understood> {
    let mut understood = Understood { kept, ..Understood::default() };
    let (mut skills, mut others) = (BTreeMap::<&InSkill, (&Destination, Vec<&File>)>::new(), Vec::new());
    for (file, place) in files {
        if file.relative.ends_with(IMPORTED) {
            understood.imported.insert(file.relative.clone());
        }
        match (&file.listed, place) {
            (Some(entry), _) => understood.listed(file, entry).map_err(|error| naming(&file.relative, error))?,
            (None, Some(place)) => match &place.skill {
                Some(skill) => skills.entry(skill).or_insert_with(|| (place, Vec::new())).1.push(file),
                None => others.push((file, place)),
            },
            (None, None) => {}
        }
    }
    let (before, new): (Vec<_>, Vec<_>) =
        skills.into_iter().partition(|(_, (_, files))| files.iter().any(|file| first(file)));
    for (skill, (place, files)) in before.into_iter().chain(new) {
        understood.skill(skill, place, &files)?;
    }
    // A command that asks for its arguments in words has lost their names, so it is a copy of the one that has them.
    others.sort_by_key(|(_, place)| place.role == Role::Prompt && agents::asks_in_words(place.agent));
    let (before, new): (Vec<_>, Vec<_>) = others.into_iter().partition(|(file, _)| first(file));
    for (file, place) in before.into_iter().chain(new) {
        understood.place(file, place).map_err(|error| naming(&file.relative, error))?;
    }
    understood.take_out_commands();
    understood.kept.finish();
    Ok(understood)
}

impl Understood {
    fn listed(&mut self, file: &File, entry: &Entry) -> Result<()> {
        let (mut entry, mut content) = (entry.clone(), file.content.clone());
        if let What::Prompt(attributes) = &mut entry.what {
            let written = argument::prompt(content.bytes()?.into_owned())?;
            let (read, text) = commands::listed(&written, attributes);
            *attributes = read;
            if text != written {
                content = text.into_bytes().into();
            }
        }
        item::check(&entry, &content)?;
        if let What::Prompt(Attributes { template: true, dialect: None, arguments, .. }) = &entry.what
            && let Err(error) = template::check_declared(&text(content.bytes()?.into_owned())?, arguments)
        {
            self.note(file, None, format!("is not deployed until you fix it: {error}"));
        }
        if entry.what == What::Server {
            return Err(Error::new(Code::InvalidArgument, "a manifest cannot list a file as an MCP server"));
        }
        let is_free = match &entry.what {
            What::AgentFile { .. } => true,
            what => self.names[usize::from(what.is_prompt())].insert(entry.name.clone()),
        };
        if is_free {
            self.know_again(&entry);
            self.listed_count = self.items.len() + 1;
            self.add(file, entry, content);
        } else {
            self.clashes.push(Clash { wanted: entry.name, path: file.relative.clone() });
        }
        Ok(())
    }

    /// Registers a listed item, so that files that a deploy wrote from it are recognized as duplicates.
    fn know_again(&mut self, entry: &Entry) {
        let at = self.items.len();
        let (role, name) = match (&entry.what, entry.what.uri().and_then(|uri| uri.split_once("://"))) {
            (What::Prompt(_), _) => (Role::Prompt, entry.name.clone()),
            (_, Some(("subagent", name))) => (Role::Subagent, uri::decode(name).unwrap_or_default()),
            (_, Some(("instructions", name))) => {
                let name = uri::decode(name).unwrap_or_default();
                self.know_by(forms::stem(&name), forms::stem(&name));
                return;
            }
            _ => return,
        };
        self.wanted.entry((role, name)).or_default().push(at);
    }

    /// Adds a file according to its place.
    fn place(&mut self, file: &File, place: &Destination) -> Result<()> {
        if let Some(note) = place.note {
            self.note(file, None, note);
        }
        if let Some(kept) = place.kept {
            return self.keep(file, place, kept);
        }
        if self.is_strange(file)? {
            return Ok(());
        }
        if place.role != Role::File && !file.content.is_text() {
            self.leave_out(file, Reason::NotText);
            return Ok(());
        }
        match place.role {
            Role::Prompt => self.prompt(file, place, &text(file.content.bytes()?.into_owned())?),
            Role::Instructions | Role::Subagent => self.loaded(file, place),
            Role::Skill | Role::Kept | Role::File => self.document(file, place),
        }
    }

    /// Adds a file that only one agent reads.
    fn keep(&mut self, file: &File, place: &Destination, kept: Kept) -> Result<()> {
        match self.kept.read(file, place, kept)? {
            Ok(KeptFile { kind, content, notes }) => {
                self.notes.extend(notes);
                let what = What::AgentFile { holds: kind, executable: file.executable };
                let origin = origin(file, place, Applies::Always);
                self.add(file, Entry { name: file.relative.clone(), what, origin }, content);
            }
            Err((reason, note)) => {
                self.notes.push(note);
                self.leave_out(file, reason);
            }
        }
        Ok(())
    }

    fn prompt(&mut self, file: &File, place: &Destination, text: &str) -> Result<()> {
        let Read { mut attributes, content, odd } = match file.relative.ends_with(".toml") {
            false => commands::read(text, place.dialect),
            true => match toml_file::read(text) {
                Ok((attributes, content)) => Read { attributes, content, odd: None },
                Err(why) => {
                    if let Some(twin) = self.twin_by_form(place, text) {
                        self.same.push((file.relative.clone(), self.items[twin].path.clone()));
                        return Ok(());
                    }
                    self.note(file, None, format!("was imported as a plain file: {why}"));
                    return self.document(file, &Destination::as_file(&file.relative));
                }
            },
        };
        if let Some(error) = odd {
            self.note(file, line_of(&error), format!("was imported unchanged: {error}"));
        }
        if content.is_empty() {
            self.leave_out(file, Reason::Empty);
            return Ok(());
        }
        // If the content is unchanged, keep referring to the file instead of holding a copy in memory.
        let content = if content == text { file.content.clone() } else { content.into_bytes().into() };
        // The same command may be in the folders of several agents.
        let wanted = place.wanted_name();
        let twin = self.wanted.get(&(place.role, wanted.clone())).cloned().unwrap_or_default().into_iter().find(|at| {
            let item = &self.items[*at];
            let What::Prompt(other) = &item.entry.what else { return false };
            let same = || *other == Attributes { file: other.file.clone(), ..attributes.clone() };
            let forms = self.forms.entry(*at).or_insert_with(|| twins::forms(&item.entry.name, other, &item.content));
            (item.content == content && same()) || forms.iter().any(|form| form == text)
        });
        if let Some(twin) = twin {
            self.same.push((file.relative.clone(), self.items[twin].path.clone()));
            return Ok(());
        }
        let name = self.name(true, wanted.clone(), &place.origins(&file.relative), &file.relative);
        let own = format!("{name}.md");
        attributes.file = place.file.clone().filter(|path| *path != own && self.files.insert(path.to_lowercase()));
        if attributes.file.is_none() {
            self.files.insert(own.to_lowercase());
        }
        let origin = origin(file, place, Applies::Always);
        self.wanted.entry((place.role, wanted)).or_default().push(self.items.len());
        // Prompts do not store an executable bit, so the file is only represented in part.
        self.partial.extend(file.executable.then(|| file.relative.clone()));
        self.add(file, Entry { name, what: What::Prompt(attributes), origin }, content);
        Ok(())
    }

    /// Registers the next item, which are instructions, under the name of its file and under the file name that a deploy uses.
    pub(in crate::import) fn know_by(&mut self, stem: &str, name: &str) {
        let deployed = forms::file_letters(name);
        if deployed != stem {
            self.stems.entry(deployed).or_default().push(self.items.len());
        }
        self.stems.entry(stem.to_owned()).or_default().push(self.items.len());
    }

    /// Finds the prompt from which a deploy would write this text for some agent.
    fn twin_by_form(&mut self, place: &Destination, text: &str) -> Option<usize> {
        let known = self.wanted.get(&(place.role, place.wanted_name()))?.clone();
        known.into_iter().find(|at| {
            let item = &self.items[*at];
            let What::Prompt(attributes) = &item.entry.what else { return false };
            let forms =
                self.forms.entry(*at).or_insert_with(|| twins::forms(&item.entry.name, attributes, &item.content));
            forms.iter().any(|form| form == text)
        })
    }

    /// Adds instructions or a subagent.
    pub(in crate::import) fn loaded(&mut self, file: &File, place: &Destination) -> Result<()> {
        let is_small = file.content.size() <= MAX_DESCRIBED;
        if is_small && self.is_gathered(file, place)? {
            return Ok(());
        }
        let scope = match file.content.size() <= MAX_DESCRIBED {
            true => self.scope(file, place)?,
            false if place.form == Form::Plain => Scope::default(),
            false => Scope { applies: Applies::Manual, ..Scope::default() },
        };
        if is_small && self.is_written_again(file, place, &scope)? {
            return Ok(());
        }
        let plain = match is_small && place.role == Role::Instructions && place.scope.is_empty() {
            true => variants::plain_rule(place.form, &place.label, &file.content.bytes()?, &scope),
            false => None,
        };
        if is_small && plain.is_none() && self.is_fuller_rule(file, place, &scope)? {
            return Ok(());
        }
        let Scope { applies, description, notes, .. } = scope.within(&place.scope);
        for (line, note) in notes {
            self.note(file, line, note);
        }
        if is_small && self.is_written_from(file, place, &applies)? {
            return Ok(());
        }
        let wanted = place.wanted_name();
        let is_same = |item: &Item| match &item.entry.what {
            What::Resource(other) => {
                item.content == file.content && item.entry.origin.applies == applies && other.description == description
            }
            What::Prompt(_) | What::AgentFile { .. } | What::Server => false,
        };
        if self.merge(file, place.role, &wanted, is_same) {
            return Ok(());
        }
        if let Some(rule) = plain {
            self.plain_rules.insert(self.items.len(), rule);
        }
        let origins = place.origins(&file.relative);
        let (name, uri) = if place.role == Role::Subagent {
            let mut names = name::names(wanted.clone(), &origins, &file.relative);
            let taken = &mut self.names[0];
            let free = |subagent: &String| subagent.len() <= MAX_SUBAGENT && taken.insert(of_subagent(subagent));
            let subagent = names.find(free).unwrap_or_default();
            (of_subagent(&subagent), place.uri(&subagent))
        } else {
            let name = self.name(false, wanted.clone(), &origins, &file.relative);
            let uri = place.uri(&name);
            (name, uri)
        };
        self.wanted.entry((place.role, wanted)).or_default().push(self.items.len());
        self.know_by(forms::stem(&place.label), forms::stem(&name));
        let origin = origin(file, place, applies);
        self.resource(file, name, uri, description, origin)
    }

    /// Reads the metadata of a file, and when it applies.
    fn scope(&mut self, file: &File, place: &Destination) -> Result<Scope> {
        let text = text(file.content.bytes()?.into_owned())?;
        let mut scope = match place.form {
            Form::Plain => Scope::default(),
            Form::Rule(format) => format.read(&text),
            Form::Unread => unread(&text),
        };
        if place.form == Form::Plain {
            let keys = self.front_matter(file, &text);
            if place.role == Role::Subagent && place.agent == Some("claude_code") && !is_subagent(&text) {
                self.note(file, None, "lacks a `name` or `description`, so Claude Code does not load the file");
            }
            scope.description = keys.description;
        }
        scope.description = scope.description.filter(|text| names::description(Some(text.clone())).is_ok());
        Ok(scope)
    }

    /// Adds a file that no agent loads on its own.
    fn document(&mut self, file: &File, place: &Destination) -> Result<()> {
        // `add` drops a file that equals an item with the same URI. In that case, the file must not take a new name.
        let without_name = place.uri("");
        let known = self.uris.get(&without_name).map(|at| self.items[*at].entry.name.clone());
        let name = known.unwrap_or_else(|| self.name(false, place.wanted_name(), &[], &file.relative));
        let uri = if place.role == Role::File { without_name } else { place.uri(&name) };
        self.resource(file, name, uri, None, Origin::default())
    }

    /// Skips a file that looks like a configuration of MCP servers in a place where no agent reads one. Returns whether it did.
    pub(in crate::import) fn is_strange(&mut self, file: &File) -> Result<bool> {
        let is_strange = self.kept.is_strange(file)?;
        if is_strange {
            let (reason, note) = stray::left_out(file);
            self.notes.push(note);
            self.leave_out(file, reason);
        }
        Ok(is_strange)
    }

    pub(in crate::import) fn resource(
        &mut self,
        file: &File,
        name: String,
        uri: String,
        description: Option<String>,
        origin: Origin,
    ) -> Result<()> {
        names::check_uri(&uri)?;
        let media = media::from_file(file.content.clone(), None, Path::new(&file.relative))?;
        let (mime_type, executable) = (Some(media.mime_type), file.executable);
        let what = What::Resource(resources::Attributes { uri, description, mime_type, text: media.text, executable });
        self.add(file, Entry { name, what, origin }, media.content);
        Ok(())
    }

    /// Parses front matter. If it is malformed, it counts as text, and a note is added.
    pub(in crate::import) fn front_matter(&mut self, file: &File, text: &str) -> Matter {
        let read = matter::split(text).and_then(|split| split.map(|(yaml, _)| matter::parse(yaml)).transpose());
        match read {
            Ok(matter) => matter.unwrap_or_default(),
            Err(error) => {
                self.note(file, line_of(&error), format!("was imported unchanged: {error}"));
                Matter::default()
            }
        }
    }

    /// Reports a file as a duplicate if an equal item has the same preferred name. Returns whether it did.
    fn merge(&mut self, file: &File, role: Role, wanted: &str, is_same: impl Fn(&Item) -> bool) -> bool {
        let known = self.wanted.get(&(role, wanted.to_owned())).into_iter().flatten();
        let twin = known.map(|at| &self.items[*at]).find(|item| is_same(item)).map(|item| item.path.clone());
        let is_merged = twin.is_some();
        self.same.extend(twin.map(|twin| (file.relative.clone(), twin)));
        is_merged
    }

    pub(in crate::import) fn name(
        &mut self,
        is_prompt: bool,
        wanted: String,
        origins: &[String],
        relative: &str,
    ) -> String {
        let taken = &mut self.names[usize::from(is_prompt)];
        name::names(wanted, origins, relative).find(|name| taken.insert(name.clone())).unwrap_or_default()
    }

    /// Adds an item. If its URI is taken, the file is a duplicate of an equal item, or clashes with a different one.
    fn add(&mut self, file: &File, entry: Entry, content: NewContent) {
        let path = file.relative.clone();
        let item = Item { path, entry, content };
        let uri = match &item.entry.what {
            What::Prompt(_) | What::Server => return self.items.push(item),
            What::Resource(attributes) => attributes.uri.clone(),
            What::AgentFile { .. } => format!("agent-file:{}", item.entry.name),
        };
        match self.uris.get(&uri).and_then(|at| self.items.get(*at)) {
            Some(same) if same.entry == item.entry && same.content == item.content => {
                self.same.push((item.path, same.path.clone()));
            }
            Some(_) => self.clashes.push(Clash { wanted: uri, path: item.path }),
            None => {
                self.uris.insert(uri, self.items.len());
                self.items.push(item);
            }
        }
    }

    pub(in crate::import) fn note(&mut self, file: &File, line: Option<usize>, text: impl Into<String>) {
        self.notes.push(Note { path: file.relative.clone(), line, text: text.into() });
    }

    fn leave_out(&mut self, file: &File, reason: Reason) {
        self.left_out.push(LeftOut::file(&file.relative, reason));
    }
}

fn origin(file: &File, place: &Destination, applies: Applies) -> Origin {
    Origin { applies, agent: place.agent.map(str::to_owned), path: Some(file.relative.clone()) }
}

/// The maximum length of a subagent's name. It is shorter than other names, because its resource's name contains more.
const MAX_SUBAGENT: usize = 240;

fn of_subagent(subagent: &str) -> String {
    format!("agents.{subagent}.md")
}

/// Returns whether front matter contains the name and the description that every subagent needs.
fn is_subagent(text: &str) -> bool {
    let keys = matter::split(text).ok().flatten().and_then(|(yaml, _)| matter::keys(yaml).ok());
    keys.is_some_and(|keys| ["name", "description"].iter().all(|key| keys.map.contains_key(*key)))
}

/// Returns the line of an error in a file's front matter, where line 1 is the `---`.
fn line_of(error: &Error) -> Option<usize> {
    let line = error.details().and_then(|details| details["line"].as_u64());
    Some(line.and_then(|line| usize::try_from(line).ok()).map_or(1, |line| line + 1))
}

pub(in crate::import) fn naming(file: &str, error: Error) -> Error {
    Error::new(error.code(), format!("`{file}` cannot be imported: {error}")).with_source(error)
}

/// Returns the error for files that need the same name or URI.
pub fn clashing(clashes: &[Clash]) -> Error {
    let list: Vec<_> = clashes.iter().map(|clash| format!("{} ({})", clash.wanted, clash.path)).collect();
    let details = clashes.iter().map(|clash| serde_json::json!({ "wanted": clash.wanted, "path": clash.path }));
    Error::new(
        Code::ImportConflict,
        format!("Several different files would get the same name or URI; nothing was imported: {}", list.join(", ")),
    )
    .with_details(serde_json::json!({ "clashes": details.collect::<Vec<_>>() }))
    .hint("make the files identical, remove one, or import them into different projects")
}
