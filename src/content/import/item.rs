//! From files to prompts and resources.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Value, json};

use super::manifest::{self, Entry, What};
use super::matter::{self, Matter};
use super::place::{self, Destination, Role, is_agents};
use super::scan::File;
use crate::content::answer::text;
use crate::content::command::words::{self, Spelling};
use crate::content::command::{self, Read};
use crate::content::{media, names};
use crate::error::{Code, Error, Result};
use crate::store::prompts::Attributes;
use crate::store::resources;
use crate::store::source::Source;

/// A prompt or resource that a file becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The file's path below the import root.
    pub path: String,
    /// Name and attributes.
    pub entry: Entry,
    /// The content.
    pub content: Source,
}

impl Item {
    /// The item as data.
    pub fn data(&self) -> Value {
        let what = &self.entry.what;
        let mut data = json!({ "kind": what.word(), "name": self.entry.name, "path": self.path });
        if let Some(uri) = what.uri() {
            data["uri"] = uri.into();
        }
        data
    }
}

/// What files become.
#[derive(Debug, Default)]
pub struct Understood {
    /// No two have the same name or URI.
    pub items: Vec<Item>,
    /// Files that want a name or URI that another, different one has.
    pub clashes: Vec<Clash>,
    /// What people should know of it.
    pub hints: Vec<String>,
    names: [HashSet<String>; 2],
    uris: HashMap<String, usize>,
    files: HashSet<String>,
    strangers: usize,
}

/// Two files that want one name or URI.
#[derive(Debug)]
pub struct Clash {
    /// The name or URI.
    pub wanted: String,
    /// The file that comes too late.
    pub path: String,
}

/// Bytes of a file whose front matter is looked at.
const MAX_DESCRIBED: u64 = 16 << 20;

/// Returns what `files`, sorted by path, become. What a manifest lists goes first: its names are exact.
///
/// # Errors
/// `E_INVALID_ARGUMENT`, `E_TEMPLATE_FAILED` where an item may not be stored; `E_FILE_FAILED` where a file is no
/// longer what it was.
pub fn understand<'f>(files: impl IntoIterator<Item = &'f File>) -> Result<Understood> {
    let mut understood = Understood::default();
    let (listed, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.listed.is_some());
    for file in listed {
        if let Some(entry) = file.listed.clone() {
            manifest::check(&entry, &file.content).map_err(|error| naming(&file.relative, error))?;
            let fresh = understood.names[usize::from(entry.what.is_prompt())].insert(entry.name.clone());
            if fresh {
                understood.add(file, entry, file.content.clone());
            } else {
                understood.clashes.push(Clash { wanted: entry.name, path: file.relative.clone() });
            }
        }
    }
    for file in others {
        understood.place(file).map_err(|error| naming(&file.relative, error))?;
    }
    if understood.strangers > 0 {
        let files = understood.strangers;
        understood.hints.push(format!("left out of agents' folders, as no command, skill or rule: {files} files"));
    }
    Ok(understood)
}

impl Understood {
    /// Adds what the rules of paths make of a file.
    fn place(&mut self, file: &File) -> Result<()> {
        let place = Destination::of(&file.relative);
        // An agent's folder holds settings, transcripts and credentials too, which nobody means to serve.
        if place.role == Role::File && is_agents(Path::new(&file.relative), Path::new("")) {
            self.strangers += 1;
            return Ok(());
        }
        match (place.role, file.content.is_text()) {
            (Role::Prompt, true) => {
                self.prompt(file, &place, &text(file.content.bytes()?.into_owned())?);
                Ok(())
            }
            (Role::Prompt, false) => {
                self.hints
                    .push(format!("`{}` is not UTF-8 text, so it is no prompt; it was not imported", file.relative));
                Ok(())
            }
            _ => self.resource(file, &place),
        }
    }

    fn prompt(&mut self, file: &File, place: &Destination, text: &str) {
        let Read { mut attributes, content, odd } = command::read(text, place.dialect);
        if let Some(error) = odd {
            self.hints.push(format!("`{}` was imported as it stands: {error}", file.relative));
        }
        if content.is_empty() {
            self.hints.push(format!("`{}` has no text, so it is no prompt; it was not imported", file.relative));
            return;
        }
        // What comes in as it stands stays where it is.
        let content = if content == text { file.content.clone() } else { content.into_bytes().into() };
        // Agents that have folders of their own may have the same command.
        let wanted = place.wanted_name();
        let is_same = |item: &Item| match &item.entry.what {
            What::Prompt(other) if item.entry.name == wanted => {
                let same =
                    item.content == content && *other == Attributes { file: other.file.clone(), ..attributes.clone() };
                same || is_spelled_from(item, other, text)
            }
            _ => false,
        };
        if self.names[1].contains(&wanted) && self.items.iter().any(is_same) {
            return;
        }
        let name = self.name(true, wanted, &file.relative);
        let own = format!("{name}.md");
        attributes.file = place.file.clone().filter(|path| *path != own && self.files.insert(path.to_lowercase()));
        if attributes.file.is_none() {
            self.files.insert(own.to_lowercase());
        }
        self.add(file, Entry { name, what: What::Prompt(attributes) }, content);
    }

    fn resource(&mut self, file: &File, place: &Destination) -> Result<()> {
        let described = matches!(place.role, Role::Skill | Role::Instructions)
            && Path::new(&file.relative).extension().is_some_and(|ending| ending == "md" || ending == "mdc")
            && file.content.is_text()
            && file.content.size() <= MAX_DESCRIBED;
        let description = if described {
            self.front_matter(file, &text(file.content.bytes()?.into_owned())?).0.description
        } else {
            None
        };
        // `add` merges what is the same under the same URI; that must not use up a name.
        let known = match place.role {
            Role::Instructions => None,
            _ => self.uris.get(&place.uri("")).map(|at| self.items[*at].entry.name.clone()),
        };
        let name = known.unwrap_or_else(|| self.name(false, place.wanted_name(), &file.relative));
        let uri = place.uri(&name);
        names::check_uri(&uri)?;
        let media = media::from_file(file.content.clone(), None, Path::new(&file.relative))?;
        let (mime_type, executable) = (Some(media.mime_type), file.executable);
        let what = What::Resource(resources::Attributes { uri, description, mime_type, text: media.text, executable });
        self.add(file, Entry { name, what }, media.content);
        Ok(())
    }

    /// Splits off front matter; what is malformed is content like any other.
    fn front_matter<'t>(&mut self, file: &File, text: &'t str) -> (Matter, &'t str) {
        let read = matter::split(text)
            .and_then(|split| split.map(|(yaml, body)| Ok((matter::parse(yaml)?, body))).transpose());
        match read {
            Ok(split) => split.unwrap_or_else(|| (Matter::default(), text)),
            Err(error) => {
                self.hints.push(format!("`{}` was imported as it stands: {error}", file.relative));
                (Matter::default(), text)
            }
        }
    }

    /// Returns a free name.
    fn name(&mut self, is_prompt: bool, wanted: String, relative: &str) -> String {
        let taken = &mut self.names[usize::from(is_prompt)];
        place::names(wanted, relative).find(|name| taken.insert(name.clone())).unwrap_or_default()
    }

    /// Adds an item, unless one with its URI is there: the same one is merged, another clashes.
    fn add(&mut self, file: &File, entry: Entry, content: Source) {
        let path = file.relative.clone();
        let item = Item { path, entry, content };
        let Some(uri) = item.entry.what.uri() else {
            return self.items.push(item);
        };
        match self.uris.get(uri).and_then(|at| self.items.get(*at)) {
            Some(same) if same.entry == item.entry && same.content == item.content => {}
            Some(_) => self.clashes.push(Clash { wanted: uri.to_owned(), path: item.path }),
            None => {
                self.uris.insert(uri.to_owned(), self.items.len());
                self.items.push(item);
            }
        }
    }
}

/// Whether a file is what a deploy makes of this prompt for an agent that fills in no arguments.
fn is_spelled_from(item: &Item, attributes: &Attributes, file: &str) -> bool {
    let content = item.content.bytes().ok().and_then(|bytes| String::from_utf8(bytes.into_owned()).ok());
    let own = content.and_then(|content| command::to_file(&item.entry.name, attributes, &content).ok());
    own.is_some_and(|own| words::spell(&own, &attributes.arguments, Spelling::Words) == file)
}

fn naming(file: &str, error: Error) -> Error {
    Error::new(error.code(), format!("`{file}` cannot be imported: {error}")).with_source(error)
}

/// Returns the failure of files that want one name or URI.
pub fn clashing(clashes: &[Clash]) -> Error {
    let list: Vec<_> = clashes.iter().map(|clash| format!("{} ({})", clash.wanted, clash.path)).collect();
    let details = clashes.iter().map(|clash| serde_json::json!({ "wanted": clash.wanted, "path": clash.path }));
    Error::new(
        Code::ImportConflict,
        format!("Different files want one name or URI; nothing was imported: {}", list.join(", ")),
    )
    .with_details(serde_json::json!({ "clashes": details.collect::<Vec<_>>() }))
    .hint("make the files the same, remove one, or import them into different projects")
}
