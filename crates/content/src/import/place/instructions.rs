//! Places instructions and subagents: adds them as items, or reports them as duplicates.

use std::path::Path;

use super::{Placing, origin};
use crate::import::paths::agents::{Form, Role};
use crate::import::paths::destination::Destination;
use crate::import::read::text::{Block, Text};
use crate::item::{File, Item, Origin, What, name};
use crate::media;
use crate::same::variants::{self, Rule};
use crate::uri::encode;
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::sections::with_newline;
use mcpkg_agents::forms::{self, Scope};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::modules::Applies;

impl Placing {
    pub(super) fn text(&mut self, file: &File, to: &Destination, text: Text) -> Result<()> {
        let Text { scope, rule, block, notes, is_small } = text;
        if let Some(block) = block
            && self.block(file, to, block)?
        {
            return Ok(());
        }
        self.placed.account.notes.extend(notes);
        if is_small
            && (self.is_variant(file, to, &scope, rule.as_ref())?
                || (rule.is_none() && self.takes_over_rule(file, to, &scope)?))
        {
            return Ok(());
        }
        let Scope { applies, description, notes, .. } = scope.within(&to.scope);
        for (line, note) in notes {
            self.placed.account.note(file, line, note);
        }
        if is_small && self.takes_over_section(file, to, &applies)? {
            return Ok(());
        }
        let wanted = to.wanted_name();
        let is_equal = |item: &Item| match &item.entry.what {
            What::Resource(other) => {
                item.content == file.content && item.entry.origin.applies == applies && other.description == description
            }
            What::Prompt(_) | What::AgentFile { .. } | What::Server => false,
        };
        let named = self.known.named(to.role, &wanted);
        if let Some(at) = named.iter().copied().find(|at| is_equal(&self.placed.items[*at])) {
            self.duplicate(file, at);
            return Ok(());
        }
        let at = self.placed.items.len();
        if let Some(rule) = rule {
            self.known.set_rule(at, rule);
        }
        let origins = to.origins(&file.relative);
        let (name, uri) = if to.role == Role::Subagent {
            let (subagent, name) = self.names.subagent(wanted.clone(), &origins, &file.relative);
            (name, to.uri(&subagent))
        } else {
            let name = self.names.resource(wanted.clone(), &origins, &file.relative);
            let uri = to.uri(&name);
            (name, uri)
        };
        self.known.set_name(to.role, wanted, at);
        self.known.set_stem(forms::stem(&to.label), forms::stem(&name), at);
        self.resource(file, name, uri, description, origin(file, to, applies))
    }

    /// Places a file with a managed block: the instructions that a deploy put into the block, and the user's text
    /// around the block. Returns false if there is no text around it, and the block has no instructions and imports no
    /// `AGENTS.md`. Then the caller treats the file as ordinary text.
    fn block(&mut self, file: &File, to: &Destination, block: Block) -> Result<bool> {
        let Block { instructions, imports, users } = block;
        // A block may consist only of imports. The instructions are then in the imported files.
        let import =
            imports.iter().map(|import| next_to(&file.relative, import)).find(|path| self.imported.contains(path));
        if instructions.is_empty() && users.is_none() && import.is_none() {
            return Ok(false);
        }
        // If all sections came from existing items, the path of the last one's file. If there are no sections, the
        // imported AGENTS.md. `None` if a section became a new item: then this file is not a duplicate.
        let mut original = Some(import.unwrap_or_default());
        let applies = Scope::default().within(&to.scope).applies;
        for (name, text) in instructions {
            match self.section(file, &name, text, &applies)? {
                Some(at) => original = original.map(|_| self.placed.items[at].path.clone()),
                None => original = None,
            }
        }
        match (users, original) {
            (None, Some(original)) => self.same(file.relative.clone(), original),
            (users, _) => {
                self.placed.partial.push(file.relative.clone());
                if let Some((content, text)) = users.map(|users| *users) {
                    self.text(&File { content, ..file.clone() }, to, text)?;
                }
            }
        }
        Ok(true)
    }

    /// Finds the item that a section of a block was written from. If there is none, adds the section as an item and
    /// returns `None`.
    fn section(&mut self, file: &File, name: &str, text: Vec<u8>, applies: &Applies) -> Result<Option<usize>> {
        let uri = format!("instructions://{}", encode(name));
        let content = NewContent::from(text.clone());
        let items = &mut self.placed.items;
        if let Some(at) = self.known.with_uri(&uri).filter(|at| items[*at].content == content) {
            if at >= self.known.listed
                && let (Applies::Globs(known), Applies::Globs(more)) = (&mut items[at].entry.origin.applies, applies)
            {
                let new: Vec<String> = more.iter().filter(|glob| !known.contains(glob)).cloned().collect();
                known.extend(new);
            }
            return Ok(Some(at));
        }
        let rule = Rule { stem: forms::stem(name).to_owned(), text: with_newline(&text) };
        // When a deploy writes a rule to a file of its own, it may change characters of the name.
        let as_file = Rule { stem: forms::file_letters(&rule.stem), ..rule.clone() };
        for rule in [&rule, &as_file] {
            // If a section applies to several folders, a deploy writes it into a file in each of these folders. So each of
            // these files covers only one of the section's globs.
            let covers = |own: &Applies| variants::covers(own, applies);
            if let Some(at) = self.known.instructions(items, rule, None, covers)? {
                return Ok(Some(at));
            }
        }
        let resource = self.names.resource(name::letters(name), &[], &file.relative);
        self.known.set_stem(&rule.stem, &rule.stem, items.len());
        let origin = Origin { applies: applies.clone(), ..Origin::default() };
        self.resource(&File { content, ..file.clone() }, resource, uri, None, origin)?;
        Ok(None)
    }

    /// Reports a file as a duplicate if a deploy wrote it from an existing item. If a deploy wrote an existing subagent
    /// from this file instead, the file replaces the subagent. Returns false if the file still has to be placed.
    fn is_variant(&mut self, file: &File, to: &Destination, scope: &Scope, rule: Option<&Rule>) -> Result<bool> {
        let items = &self.placed.items;
        let original = match (to.role, rule) {
            (Role::Instructions, Some(rule)) => {
                let is_alike = |own: &Applies| variants::apply_alike(own, &scope.applies);
                self.known.instructions(items, rule, scope.description.as_deref(), is_alike)?
            }
            (Role::Subagent, _) => {
                let original = self.subagent_of(to, &file.content.bytes()?)?;
                if original.is_none() && self.takes_over_subagent(file, to)? {
                    return Ok(true);
                }
                original
            }
            _ => None,
        };
        let Some(at) = original else { return Ok(false) };
        if let What::Resource(attributes) = &mut self.placed.items[at].entry.what
            && attributes.description.is_none()
            && at >= self.known.listed
        {
            attributes.description.clone_from(&scope.description);
        }
        self.duplicate(file, at);
        Ok(true)
    }

    /// Finds a subagent from which a deploy would write exactly this file, for the agent that the file belongs to.
    fn subagent_of(&self, to: &Destination, file: &[u8]) -> Result<Option<usize>> {
        let (name, agent) = (to.wanted_name(), to.agent.unwrap_or_default());
        for at in self.known.named(Role::Subagent, &name) {
            let item = &self.placed.items[*at];
            let What::Resource(attributes) = &item.entry.what else { continue };
            let own = item.content.bytes()?;
            if variants::is_of_subagent(&name, attributes.description.as_deref(), &own, agent, file) {
                return Ok(Some(*at));
            }
        }
        Ok(None)
    }

    /// If a deploy wrote an already placed subagent from this file, puts this file in its place. The placed subagent
    /// lacks the fields that its agent does not support. Returns whether there was such a subagent.
    fn takes_over_subagent(&mut self, file: &File, to: &Destination) -> Result<bool> {
        let name = to.wanted_name();
        let bytes = file.content.bytes()?;
        let known = self.known.named(Role::Subagent, &name).iter().copied().filter(|at| *at >= self.known.listed);
        for at in known.collect::<Vec<_>>() {
            let item = &mut self.placed.items[at];
            let What::Resource(attributes) = &mut item.entry.what else { continue };
            let agent = item.entry.origin.agent.as_deref().unwrap_or_default();
            let less = item.content.bytes()?;
            if variants::is_of_subagent(&name, attributes.description.as_deref(), &bytes, agent, &less) {
                attributes.mime_type = mime_type(file)?;
                let variant = self.take_over(at, file, to);
                self.same(variant, file.relative.clone());
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// If a deploy wrote an already placed rule from this file, puts this file in its place. Returns whether there was
    /// such a rule.
    fn takes_over_rule(&mut self, file: &File, to: &Destination, scope: &Scope) -> Result<bool> {
        // A deploy names a rule after the path of its original, if the original applies to a folder.
        let stem = match (to.role, to.form, to.scope.is_empty()) {
            (Role::Instructions, Form::Rule(_) | Form::Plain, true) => forms::stem(&to.label).to_owned(),
            (Role::Instructions, Form::Plain, false) => forms::file_letters(forms::stem(&file.relative)),
            _ => return Ok(false),
        };
        let text = with_newline(split_front(&file.content.bytes()?).1);
        let applies = scope.clone().within(&to.scope).applies;
        let Some(at) = self.known.rule_from(&self.placed.items, &stem, &text, &applies) else { return Ok(false) };
        let name = self.names.resource(to.wanted_name(), &to.origins(&file.relative), &file.relative);
        let uri = to.uri(&name);
        let entry = &mut self.placed.items[at].entry;
        let What::Resource(attributes) = &mut entry.what else { return Ok(false) };
        let before = std::mem::replace(&mut attributes.uri, uri.clone());
        attributes.description = attributes.description.take().or_else(|| scope.description.clone());
        attributes.mime_type = mime_type(file)?;
        attributes.executable = file.executable;
        self.names.release(&std::mem::replace(&mut entry.name, name));
        self.known.move_uri(&before, uri);
        self.known.remove_rule(at);
        let variant = self.take_over(at, file, to);
        self.same(variant, file.relative.clone());
        Ok(true)
    }

    /// If a deploy wrote an already placed section of a block from this file, puts this file in its place. Returns
    /// whether there was such a section.
    fn takes_over_section(&mut self, file: &File, to: &Destination, applies: &Applies) -> Result<bool> {
        if to.role != Role::Instructions || to.form != Form::Plain {
            return Ok(false);
        }
        let wanted = to.wanted_name();
        let Some(at) = self.known.with_uri(&to.uri(&wanted)) else { return Ok(false) };
        let item = &mut self.placed.items[at];
        let is_section = item.entry.origin.path.is_none() && item.path != file.relative;
        if !is_section
            || item.entry.origin.applies != *applies
            || with_newline(&item.content.bytes()?) != with_newline(&file.content.bytes()?)
        {
            return Ok(false);
        }
        if let What::Resource(attributes) = &mut item.entry.what {
            attributes.executable = file.executable;
        }
        let shared = self.take_over(at, file, to);
        self.known.set_name(to.role, wanted, at);
        // If nothing else came from the shared file, the shared file is a duplicate of this file.
        if !self.placed.items.iter().any(|item| item.path == shared) {
            self.placed.partial.retain(|path| *path != shared);
            self.same(shared, file.relative.clone());
        }
        Ok(true)
    }
}

/// Resolves `import`, such as `../AGENTS.md`, against the folder of `file`.
fn next_to(file: &str, import: &str) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let (folder, import) = match import.strip_prefix("../") {
        Some(import) => (folder.rsplit_once('/').map_or("", |(folder, _)| folder), import),
        None => (folder, import),
    };
    if folder.is_empty() { import.to_owned() } else { format!("{folder}/{import}") }
}

fn mime_type(file: &File) -> Result<Option<String>> {
    Ok(media::from_file(file.content.clone(), None, Path::new(&file.relative))?.mime_type.into())
}
