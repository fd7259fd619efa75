//! Stage 4 of an import: turns drafts into items. Each item has a unique name and URI, and no content is stored twice.
//!
//! Drafts are placed one after the other. A draft with the same content as an existing item becomes a duplicate of the item
//! ([`crate::same`] explains when, and which file is the original). Any other draft becomes an item. It gets its preferred
//! name or, if that is taken, a name with its folder as a prefix ([`names`]). Two different files that need the same URI
//! clash.

pub mod names;
pub mod servers;

mod instructions;
mod known;
mod skills;

use std::collections::HashSet;
use std::path::Path;

use super::account::Account;
use super::paths::{agents::Role, destination::Destination};
use super::read::{Draft, Drafts, Listed, Says};
use super::reason::{LeftOut, Reason, naming};
use crate::item::{Entry, File, Item, Origin, What, server::Server};
use crate::media;
use crate::same::Duplicate;
use crate::same::variants;
use known::Known;
use mcpkg_agents::agents::client_of;
use mcpkg_agents::commands::{self, inert};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::names as rules;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules::Applies;
use mcpkg_store::prompts::Attributes;
use mcpkg_store::resources;
use names::Names;
use servers::{ServerInFile, Servers};

/// The items of an import.
#[derive(Debug, Default)]
pub struct Placed {
    pub items: Vec<Item>,
    pub servers: Vec<ServerInFile>,
    /// Files that become an item only in part, so that writing the item would not restore the file.
    pub partial: Vec<String>,
    /// Files that are not imported, because a different file already has their URI or name.
    pub clashes: Vec<Clash>,
    /// The files that became duplicates or were skipped, and notes.
    pub account: Account,
}

/// A file whose name or URI is taken by a different file.
#[derive(Debug)]
pub struct Clash {
    pub wanted: String,
    /// The second file, which is not imported.
    pub path: String,
}

/// The items that were already placed, and what is needed to place the next draft.
struct Placing {
    placed: Placed,
    names: Names,
    known: Known,
    servers: Servers,
    /// The names of skills in folders where agents look for skills, in lower case.
    read_skills: HashSet<String>,
    /// The paths of the `AGENTS.md` files, which other agents' files may import (`@AGENTS.md`).
    imported: HashSet<String>,
}

/// Places the drafts. `servers` are the MCP servers that a manifest lists. Everything in a manifest keeps its exact name.
pub fn place(drafts: Drafts<'_>, servers: Vec<Server>) -> Result<Placed> {
    let Drafts { listed, skills, others, imported } = drafts;
    let mut placing = Placing {
        placed: Placed::default(),
        names: Names::default(),
        known: Known::default(),
        servers: Servers::listed(servers),
        read_skills: HashSet::new(),
        imported,
    };
    listed.into_iter().for_each(|listed| placing.listed(listed));
    skills.iter().try_for_each(|skill| placing.skill(skill))?;
    for draft in others {
        let path = draft.file.relative.as_str();
        placing.draft(draft).map_err(|error| naming(path, error))?;
    }
    placing.remove_skills_of_commands();
    let Placing { placed, servers, .. } = placing;
    Ok(Placed { servers: servers.finish(), ..placed })
}

impl Placing {
    fn listed(&mut self, Listed { file, entry, content, note }: Listed<'_>) {
        self.placed.account.notes.extend(note);
        let is_free = match &entry.what {
            What::AgentFile { .. } => true,
            what => self.names.take(what.is_prompt(), &entry.name),
        };
        if is_free {
            self.known.set_listed(&entry, self.placed.items.len());
            self.add(file, entry, content);
        } else {
            self.placed.clashes.push(Clash { wanted: entry.name, path: file.relative.clone() });
        }
    }

    fn draft(&mut self, Draft { file, to, says, notes }: Draft<'_>) -> Result<()> {
        self.placed.account.notes.extend(notes);
        match says {
            Says::Prompt { attributes, content } => self.prompt(file, to, attributes, content),
            Says::Text(text) => self.text(file, to, text),
            Says::AgentFile { kind, content, servers, altered } => {
                let origins = to.origins(&file.relative);
                servers.into_iter().for_each(|server| self.servers.add(server, &file.relative, &origins));
                if let Some(at) = self.for_all(file, &content) {
                    self.duplicate(file, at);
                    return Ok(());
                }
                let altered = altered.map(|why| (file.relative.clone(), why));
                self.placed.account.altered.extend(altered);
                let what = What::AgentFile { holds: kind, executable: file.executable };
                self.add(
                    file,
                    Entry { name: file.relative.clone(), what, origin: origin(file, to, Applies::Always) },
                    content,
                );
                Ok(())
            }
            Says::File => self.document(file, to),
            Says::BadCommand(why) => match self.command_of(to, &file.content.bytes()?) {
                Some(at) => {
                    self.duplicate(file, at);
                    Ok(())
                }
                None => {
                    let note = format!("was imported as a plain file: {why}");
                    self.placed.account.note(file, None, note);
                    self.document(file, &Destination::as_file(&file.relative))
                }
            },
            Says::Nothing(reason) => {
                self.leave_out(file, reason);
                Ok(())
            }
        }
    }

    /// For a file in one client's folder of a plugin, finds the equal file that is for all agents. For example,
    /// `com.github.copilot/hooks/a.sh` -> `hooks/a.sh`.
    fn for_all(&self, file: &File, content: &NewContent) -> Option<usize> {
        let folder = client_of(&file.relative)?.imports.namespace?;
        let path = file.relative.replacen(&format!("{folder}/"), "", 1);
        let at = self.known.with_uri(&format!("agent-file:{path}")).filter(|at| *at < self.placed.items.len())?;
        let item = &self.placed.items[at];
        (item.content == *content && item.entry.what.is_executable() == file.executable).then_some(at)
    }

    /// Finds the prompt from which a deploy would write this file, for any agent.
    fn command_of(&mut self, to: &Destination, file: &[u8]) -> Option<usize> {
        let named = self.known.named(to.role, &to.wanted_name()).to_vec();
        named.into_iter().find(|at| self.known.is_command_of(&self.placed.items, *at, file))
    }

    fn prompt(&mut self, file: &File, to: &Destination, mut attributes: Attributes, content: NewContent) -> Result<()> {
        let wanted = to.wanted_name();
        for at in self.known.named(to.role, &wanted).to_vec() {
            let item = &self.placed.items[at];
            let What::Prompt(other) = &item.entry.what else { continue };
            let is_equal =
                item.content == content && *other == Attributes { file: other.file.clone(), ..attributes.clone() };
            if is_equal || self.known.is_command_of(&self.placed.items, at, &file.content.bytes()?) {
                self.duplicate(file, at);
                return Ok(());
            }
            // A deploy may have written the placed file from this file, if this file's agent does not fill in
            // arguments. Then this file is the original, and replaces the placed one.
            if at >= self.known.listed
                && to.agent.is_some_and(|agent| !inert::fills_in_arguments(agent))
                && let Ok(text) = std::str::from_utf8(&item.content.bytes()?)
                && let Ok(written) = commands::source(&item.entry.name, other, text)
                && variants::commands_of(&wanted, &attributes, &content.bytes()?).contains(&written)
            {
                attributes.file.clone_from(&other.file);
                let variant = self.take_over(at, file, to);
                let item = &mut self.placed.items[at];
                (item.entry.what, item.content) = (What::Prompt(attributes), content);
                self.known.forget_commands(at);
                self.same(variant, file.relative.clone());
                return Ok(());
            }
        }
        let name = self.names.prompt(wanted.clone(), &to.origins(&file.relative), &file.relative);
        attributes.file = self.names.prompt_file(&name, to.file.clone());
        self.known.set_name(to.role, wanted, self.placed.items.len());
        // Prompts have no executable bit, so an executable file becomes an item only in part.
        self.placed.partial.extend(file.executable.then(|| file.relative.clone()));
        let entry = Entry { name, what: What::Prompt(attributes), origin: origin(file, to, Applies::Always) };
        self.add(file, entry, content);
        Ok(())
    }

    /// Adds a file that no agent loads by itself.
    fn document(&mut self, file: &File, to: &Destination) -> Result<()> {
        // If an item with this URI was already placed, `add` will not add the file, so the file must not use up a name.
        let without_name = to.uri("");
        let known = self.known.with_uri(&without_name).map(|at| self.placed.items[at].entry.name.clone());
        let name = known.unwrap_or_else(|| self.names.resource(to.wanted_name(), &[], &file.relative));
        let uri = if to.role == Role::File { without_name } else { to.uri(&name) };
        self.resource(file, name, uri, None, Origin::default())
    }

    fn resource(
        &mut self,
        file: &File,
        name: String,
        uri: String,
        description: Option<String>,
        origin: Origin,
    ) -> Result<()> {
        rules::check_uri(&uri)?;
        let media = media::from_file(file.content.clone(), None, Path::new(&file.relative))?;
        let (mime_type, executable) = (Some(media.mime_type), file.executable);
        let what = What::Resource(resources::Attributes { uri, description, mime_type, text: media.text, executable });
        self.add(file, Entry { name, what, origin }, media.content);
        Ok(())
    }

    /// Adds an item. If its URI is taken, the file is either a duplicate of an equal item or clashes with a different one.
    fn add(&mut self, file: &File, entry: Entry, content: NewContent) {
        let item = Item { path: file.relative.clone(), entry, content };
        let uri = match &item.entry.what {
            What::Prompt(_) | What::Server => return self.placed.items.push(item),
            What::Resource(attributes) => attributes.uri.clone(),
            What::AgentFile { .. } => format!("agent-file:{}", item.entry.name),
        };
        match self.known.with_uri(&uri).filter(|at| *at < self.placed.items.len()) {
            Some(at) if self.placed.items[at].entry == item.entry && self.placed.items[at].content == item.content => {
                self.duplicate(file, at);
            }
            Some(_) => self.placed.clashes.push(Clash { wanted: uri, path: item.path }),
            None => {
                self.known.set_uri(uri, self.placed.items.len());
                self.placed.items.push(item);
            }
        }
    }

    /// Reports a file as a duplicate of the item with index `at`.
    fn duplicate(&mut self, file: &File, at: usize) {
        self.same(file.relative.clone(), self.placed.items[at].path.clone());
    }

    fn same(&mut self, path: String, of: String) {
        self.placed.account.same.push(Duplicate { path, of });
    }

    fn leave_out(&mut self, file: &File, reason: Reason) {
        self.placed.account.left_out.push(LeftOut::file(&file.relative, reason));
    }

    /// Replaces the content and path of an item with those of a file. Returns the item's former path.
    fn take_over(&mut self, at: usize, file: &File, to: &Destination) -> String {
        let item = &mut self.placed.items[at];
        item.content = file.content.clone();
        item.entry.origin.agent = to.agent.map(str::to_owned);
        item.entry.origin.path = Some(file.relative.clone());
        std::mem::replace(&mut item.path, file.relative.clone())
    }
}

fn origin(file: &File, to: &Destination, applies: Applies) -> Origin {
    Origin { applies, agent: to.agent.map(str::to_owned), path: Some(file.relative.clone()) }
}

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
