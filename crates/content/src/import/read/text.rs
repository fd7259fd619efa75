//! Reads instructions and subagents: the text, and when it applies.

use crate::answer;
use crate::import::paths::agents::{Form, Role};
use crate::import::paths::destination::Destination;
use crate::import::reason::Note;
use crate::item::File;
use crate::same::variants::{self, Rule};
use mcpkg_agents::agents;
use mcpkg_agents::forms::Scope;
use mcpkg_agents::forms::matter::{self, Matter};
use mcpkg_agents::forms::read::unread;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::names;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules::Applies;

/// The maximum size, in bytes, of a file whose front matter is read.
pub const MAX_DESCRIBED: u64 = 16 << 20;

/// The text of instructions or of a subagent.
pub struct Text {
    /// When the text applies, according to its front matter alone.
    pub scope: Scope,
    /// The rule in the file; `None` unless the file is exactly what a deploy would write for a rule.
    pub rule: Option<Rule>,
    /// The parts of the file, if a deploy wrote a block into it.
    pub block: Option<Block>,
    /// Notes about the text. They apply only if the file is not split because of its block.
    pub notes: Vec<Note>,
    /// Whether the file is small enough to compare it with others.
    pub is_small: bool,
}

/// The parts of a file into which a deploy wrote a block of instructions.
pub struct Block {
    /// The names and texts of the instructions in the block.
    pub instructions: Vec<(String, Vec<u8>)>,
    /// The files that the block imports, relative to the file's folder.
    pub imports: Vec<&'static str>,
    /// The user's text outside the block; `None` if all text is in the block.
    pub users: Option<Box<(NewContent, Text)>>,
}

impl Text {
    pub fn read(file: &File, to: &Destination) -> Result<Self> {
        if file.content.size() > MAX_DESCRIBED {
            let applies = if to.form == Form::Plain { Applies::Always } else { Applies::Manual };
            let scope = Scope { applies, ..Scope::default() };
            return Ok(Self { scope, rule: None, block: None, notes: Vec::new(), is_small: false });
        }
        let bytes = file.content.bytes()?;
        let text = answer::text(bytes.to_vec())?;
        let (scope, notes) = scope(file, to, &text);
        let is_instructions = to.role == Role::Instructions;
        let rule = match is_instructions && to.scope.is_empty() {
            true => variants::rule(to.form, &to.label, &bytes, &scope),
            false => None,
        };
        let block = (is_instructions && to.form == Form::Plain).then(|| variants::block(&bytes)).flatten();
        let block = block.map(|variants::Block { users, imports, instructions }| {
            let users = users.map(|users| {
                let content = NewContent::from(users);
                let text = Self::read(&File { content: content.clone(), ..file.clone() }, to)?;
                Ok::<_, Error>(Box::new((content, text)))
            });
            Ok::<_, Error>(Block { instructions, imports, users: users.transpose()? })
        });
        Ok(Self { scope, rule, block: block.transpose()?, notes, is_small: true })
    }
}

/// Reads a file's description, and when the file applies.
fn scope(file: &File, to: &Destination, text: &str) -> (Scope, Vec<Note>) {
    let mut notes = Vec::new();
    let mut scope = match to.form {
        Form::Plain => Scope::default(),
        Form::Rule(format) => format.read(text),
        Form::Unread => unread(text),
    };
    if to.form == Form::Plain {
        let keys = front_matter(file, text, &mut notes);
        let agent = to.agent.and_then(agents::with_id).filter(|agent| agent.imports.needs_subagent_name);
        if let Some(agent) = agent.filter(|_| to.role == Role::Subagent && !is_subagent(text)) {
            let why = format!("lacks a `name` or `description`, so {} does not load the file", agent.title);
            notes.push(Note::of(file, None, why));
        }
        scope.description = keys.description;
    }
    scope.description = scope.description.filter(|text| names::description(Some(text.clone())).is_ok());
    (scope, notes)
}

/// Parses front matter. Malformed front matter counts as text, and adds a note.
pub fn front_matter(file: &File, text: &str, notes: &mut Vec<Note>) -> Matter {
    let read = matter::split(text).and_then(|split| split.map(|(yaml, _)| matter::parse(yaml)).transpose());
    match read {
        Ok(matter) => matter.unwrap_or_default(),
        Err(error) => {
            notes.push(Note::of(file, line_of(&error), format!("was imported unchanged: {error}")));
            Matter::default()
        }
    }
}

/// Returns whether front matter contains `name` and `description`, which every subagent needs.
fn is_subagent(text: &str) -> bool {
    let keys = matter::split(text).ok().flatten().and_then(|(yaml, _)| matter::keys(yaml).ok());
    keys.is_some_and(|keys| ["name", "description"].iter().all(|key| keys.map.contains_key(*key)))
}

/// Returns the line of an error in a file's front matter. Line 1 is the `---`.
pub fn line_of(error: &Error) -> Option<usize> {
    let line = error.details().and_then(|details| details["line"].as_u64());
    Some(line.and_then(|line| usize::try_from(line).ok()).map_or(1, |line| line + 1))
}
