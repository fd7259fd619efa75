//! Stage 3 of an import: reads each file according to its destination.
//!
//! A [`Draft`] contains the information from a single file. Files are not compared with each other here. So a draft has
//! no name yet, and another file may have the same content. The next stage, [`crate::import::place`], chooses names and
//! finds duplicates.

pub mod agent_file;
pub mod skill;
pub mod stray;
pub mod text;

use std::collections::{BTreeMap, HashSet};

use super::paths::agents::{self, Role};
use super::paths::destination::{Destination, InSkill};
use super::reason::{Note, Reason, naming};
use crate::answer;
use crate::argument;
use crate::item::{self, Entry, File, What, server::Server};
use agent_file::AgentFile;
use mcpkg_agents::agents::client_of;
use mcpkg_agents::commands::{self, toml_file};
use mcpkg_agents::forms::sections;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_agents::template;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::prompts::Attributes;
use skill::Skill;
use text::Text;

/// The result of stage 3. Drafts are in the order in which they get their names.
pub struct Drafts<'f> {
    /// The files that a manifest lists. They become exactly the listed items.
    pub listed: Vec<Listed<'f>>,
    pub skills: Vec<Skill<'f>>,
    pub others: Vec<Draft<'f>>,
    /// The paths of the `AGENTS.md` files, which other agents' files may import (`@AGENTS.md`).
    pub imported: HashSet<String>,
}

/// A file that a manifest lists.
pub struct Listed<'f> {
    pub file: &'f File,
    pub entry: Entry,
    pub content: NewContent,
    pub note: Option<Note>,
}

/// The information from a single file.
pub struct Draft<'f> {
    pub file: &'f File,
    pub to: &'f Destination,
    pub says: Says,
    /// Notes about the file. They apply even if the file turns out to be a duplicate.
    pub notes: Vec<Note>,
}

/// The content of a file, by the kind of item that the file becomes.
pub enum Says {
    Prompt {
        attributes: Attributes,
        content: NewContent,
    },
    /// Instructions or a subagent.
    Text(Text),
    /// A file that only one agent reads, and the MCP servers in it.
    AgentFile {
        kind: Kind,
        content: NewContent,
        servers: Vec<Server>,
        /// Why the content differs from the file, if it does.
        altered: Option<String>,
    },
    /// A plain file.
    File,
    /// A command that is malformed even for its agent, for this reason. If no deploy wrote it, it becomes a plain file.
    BadCommand(String),
    /// The file cannot be imported, for this reason.
    Nothing(Reason),
}

/// Reads the files, which must be sorted by path. Files that a manifest lists need no destination. Within each kind, files
/// for which `is_first` returns true come first, so that they keep their names.
pub fn read<'f>(
    files: impl IntoIterator<Item = (&'f File, Option<&'f Destination>)>,
    is_first: impl Fn(&File) -> bool,
    mut secrets: Secrets,
) -> Result<Drafts<'f>> {
    let mut drafts = Drafts { listed: Vec::new(), skills: Vec::new(), others: Vec::new(), imported: HashSet::new() };
    let (mut skills, mut others) = (BTreeMap::<&InSkill, (&Destination, Vec<&File>)>::new(), Vec::new());
    for (file, to) in files {
        if sections::is_imported(&file.relative) {
            drafts.imported.insert(file.relative.clone());
        }
        match (&file.listed, to) {
            (Some(entry), _) => drafts.listed.push(listed(file, entry).map_err(|error| naming(&file.relative, error))?),
            (None, Some(to)) => match &to.skill {
                Some(skill) => skills.entry(skill).or_insert_with(|| (to, Vec::new())).1.push(file),
                None => others.push((file, to)),
            },
            (None, None) => {}
        }
    }
    let (before, new): (Vec<_>, Vec<_>) =
        skills.into_iter().partition(|(_, (_, files))| files.iter().any(|file| is_first(file)));
    for (skill, (to, files)) in before.into_iter().chain(new) {
        drafts.skills.push(Skill::read(skill, to, files, &secrets)?);
    }
    // A command that asks for its arguments in words does not contain their names. Read it last, so that it becomes a
    // duplicate of the command that does contain them.
    // Files in one client's folder of a plugin are for that client alone, so they are read last: of two equal files, the one
    // for all agents is the original.
    others.sort_by_key(|(file, to)| {
        let asks = to.role == Role::Prompt && agents::asks_in_words(to.agent);
        (asks, client_of(&file.relative).is_some())
    });
    let (before, new): (Vec<_>, Vec<_>) = others.into_iter().partition(|(file, _)| is_first(file));
    for (file, to) in before.into_iter().chain(new) {
        let draft = Draft::read(file, to, &mut secrets).map_err(|error| naming(&file.relative, error))?;
        drafts.others.push(draft);
    }
    Ok(drafts)
}

fn listed<'f>(file: &'f File, entry: &Entry) -> Result<Listed<'f>> {
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
    let mut note = None;
    if let What::Prompt(Attributes { template: true, dialect: None, arguments, .. }) = &entry.what
        && let Err(error) = template::check_declared(&answer::text(content.bytes()?.into_owned())?, arguments)
    {
        note = Some(Note::of(file, None, format!("is not deployed until you fix it: {error}")));
    }
    if entry.what == What::Server {
        return Err(Error::new(Code::InvalidArgument, "a manifest cannot list a file as an MCP server"));
    }
    Ok(Listed { file, entry, content, note })
}

impl<'f> Draft<'f> {
    fn read(file: &'f File, to: &'f Destination, secrets: &mut Secrets) -> Result<Self> {
        let mut notes: Vec<Note> = to.note.map(|note| Note::of(file, None, note)).into_iter().collect();
        let says = says(file, to, secrets, &mut notes)?;
        Ok(Self { file, to, says, notes })
    }
}

fn says(file: &File, to: &Destination, secrets: &mut Secrets, notes: &mut Vec<Note>) -> Result<Says> {
    if let Some(is) = to.for_agent {
        return Ok(match agent_file::read(file, to, is, secrets)? {
            Ok(AgentFile { kind, content, servers, notes: more, altered }) => {
                notes.extend(more);
                Says::AgentFile { kind, content, servers, altered }
            }
            Err((reason, note)) => {
                notes.push(note);
                Says::Nothing(reason)
            }
        });
    }
    if stray::holds_values(file, secrets)? {
        let (reason, note) = stray::left_out(file);
        notes.push(note);
        return Ok(Says::Nothing(reason));
    }
    if to.role != Role::File && !file.content.is_text() {
        return Ok(Says::Nothing(Reason::NotText));
    }
    match to.role {
        Role::Prompt => prompt(file, to, notes),
        Role::Instructions | Role::Subagent => Ok(Says::Text(Text::read(file, to)?)),
        Role::Skill | Role::Kept | Role::File => Ok(Says::File),
    }
}

fn prompt(file: &File, to: &Destination, notes: &mut Vec<Note>) -> Result<Says> {
    let text = answer::text(file.content.bytes()?.into_owned())?;
    let (attributes, content) = match file.relative.ends_with(".toml") {
        true => match toml_file::read(&text) {
            Ok(read) => read,
            Err(why) => return Ok(Says::BadCommand(why)),
        },
        false => {
            let commands::Read { attributes, content, odd } = commands::read(&text, to.dialect);
            if let Some(error) = odd {
                notes.push(Note::of(file, text::line_of(&error), format!("was imported unchanged: {error}")));
            }
            (attributes, content)
        }
    };
    if content.is_empty() {
        return Ok(Says::Nothing(Reason::Empty));
    }
    // If the content is unchanged, keep the reference to the file instead of a copy in memory.
    let content = if content == text { file.content.clone() } else { content.into_bytes().into() };
    Ok(Says::Prompt { attributes, content })
}
