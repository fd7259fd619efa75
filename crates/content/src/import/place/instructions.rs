//! Recognizes files that a deploy wrote from an item for several agents, so that each item is imported only once.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::import::paths::Destination;
use crate::import::paths::agents::{Form, Role};
use crate::import::place::{IMPORTED, Understood};
use crate::item::File;
use crate::item::Item;
use crate::item::name;
use crate::item::{Origin, What};
use crate::media;
use crate::same::twins;
use crate::same::variants::{self, Gathered, PlainRule};
use crate::uri::{decode, encode};
use mcpkg_agents::commands::skill::split_front;
use mcpkg_agents::forms::sections::with_newline;
use mcpkg_agents::forms::{self, Scope};
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;
use mcpkg_store::new_content::NewContent;

impl Item {
    /// Gives the item the content and path of a file; returns its former path.
    fn move_to(&mut self, file: &File, place: &Destination) -> String {
        self.content = file.content.clone();
        self.entry.origin.agent = place.agent.map(str::to_owned);
        self.entry.origin.path = Some(file.relative.clone());
        std::mem::replace(&mut self.path, file.relative.clone())
    }
}

impl Understood {
    /// Imports a file with a managed block: the instructions that a deploy put into the block, and the user's text around it.
    /// Returns false if the file has no such block.
    pub(in crate::import) fn is_gathered(&mut self, file: &File, place: &Destination) -> Result<bool> {
        if place.role != Role::Instructions || place.form != Form::Plain {
            return Ok(false);
        }
        let found = variants::gathered(&file.content.bytes()?);
        let Some(Gathered { users, instructions }) = found else { return Ok(false) };
        // The file may only import AGENTS.md, which then contains the instructions.
        let folder = file.relative.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let beside = Some(format!("{folder}{IMPORTED}")).filter(|path| self.imported.contains(path));
        if instructions.is_empty() && users.is_none() && beside.is_none() {
            return Ok(false);
        }
        let twin = self.gathered(file, place, instructions, beside.unwrap_or_default())?;
        match (users, twin) {
            (None, Some(twin)) => self.same.push((file.relative.clone(), twin)),
            (users, _) => {
                self.partial.push(file.relative.clone());
                if let Some(users) = users {
                    self.loaded(&File { content: users.into(), ..file.clone() }, place)?;
                }
            }
        }
        Ok(true)
    }

    /// Checks whether instructions from a managed block were written from this plain file. If so, the file replaces them as the
    /// item, and this returns true.
    pub(in crate::import) fn is_written_from(
        &mut self,
        file: &File,
        place: &Destination,
        applies: &Applies,
    ) -> Result<bool> {
        if place.role != Role::Instructions || place.form != Form::Plain {
            return Ok(false);
        }
        let wanted = place.wanted_name();
        let Some(at) = self.uris.get(&place.uri(&wanted)).copied() else { return Ok(false) };
        let item = &mut self.items[at];
        let is_of_block = item.entry.origin.path.is_none() && item.path != file.relative;
        if !is_of_block
            || item.entry.origin.applies != *applies
            || with_newline(&item.content.bytes()?) != with_newline(&file.content.bytes()?)
        {
            return Ok(false);
        }
        let before = item.move_to(file, place);
        if let What::Resource(attributes) = &mut item.entry.what {
            attributes.executable = file.executable;
        }
        self.wanted.entry((place.role, wanted)).or_default().push(at);
        // The earlier file contained nothing else, so it is a duplicate of this file.
        if !self.items.iter().any(|item| item.path == before) {
            self.partial.retain(|path| *path != before);
            self.same.push((before, file.relative.clone()));
        }
        Ok(true)
    }

    /// Adds the instructions of a block. If another file contains all of them already, returns its path. For a block without
    /// instructions, returns `beside`, the file that the block imports.
    fn gathered(
        &mut self,
        file: &File,
        place: &Destination,
        instructions: Vec<(String, Vec<u8>)>,
        beside: String,
    ) -> Result<Option<String>> {
        let mut twin = Some(beside);
        let applies = Scope::default().within(&place.scope).applies;
        for (name, text) in instructions {
            let uri = format!("instructions://{}", encode(&name));
            let content = NewContent::from(text.clone());
            let known = self.uris.get(&uri).copied().filter(|at| self.items[*at].content == content);
            if let Some(at) = known {
                let item = &mut self.items[at];
                if at >= self.listed_count
                    && let (Applies::Globs(known), Applies::Globs(more)) = (&mut item.entry.origin.applies, &applies)
                {
                    let new: Vec<String> = more.iter().filter(|glob| !known.contains(glob)).cloned().collect();
                    known.extend(new);
                }
                twin = twin.map(|_| item.path.clone());
                continue;
            }
            let scope = Scope { applies: applies.clone(), ..Scope::default() };
            let rule = PlainRule { stem: forms::stem(&name).to_owned(), text: with_newline(&text) };
            // A deploy writes such a rule to one file per folder, and each file has one of the globs.
            let known = self.says_the_same(&rule, &scope, variants::covers)?;
            // A deploy may have changed characters of the name for its file.
            let as_file = PlainRule { stem: forms::file_letters(&rule.stem), ..rule.clone() };
            let known =
                known.map_or_else(|| self.says_the_same(&as_file, &scope, variants::covers), |at| Ok(Some(at)))?;
            if let Some(at) = known {
                twin = twin.map(|_| self.items[at].path.clone());
                continue;
            }
            twin = None;
            let resource = self.name(false, name::letters(&name), &[], &file.relative);
            self.know_by(&rule.stem, &rule.stem);
            let part = File { content, ..file.clone() };
            self.resource(&part, resource, uri, None, Origin { applies: applies.clone(), ..Origin::default() })?;
        }
        Ok(twin)
    }

    /// Checks whether the file is a rule or subagent that a deploy wrote for one more agent. If so, reports it as a duplicate.
    pub(in crate::import) fn is_written_again(
        &mut self,
        file: &File,
        place: &Destination,
        scope: &Scope,
    ) -> Result<bool> {
        let bytes = file.content.bytes()?;
        let twin = match place.role {
            Role::Instructions if place.scope.is_empty() => {
                let rule = variants::plain_rule(place.form, &place.label, &bytes, scope);
                let said = rule.map(|rule| self.says_the_same(&rule, scope, variants::apply_alike));
                said.transpose()?.flatten()
            }
            Role::Subagent if self.is_fuller_subagent(file, place, &bytes)? => return Ok(true),
            Role::Subagent => self.same_subagent(place, &bytes)?,
            _ => None,
        };
        let Some(at) = twin else { return Ok(false) };
        let item = &mut self.items[at];
        if let What::Resource(attributes) = &mut item.entry.what
            && attributes.description.is_none()
            && at >= self.listed_count
        {
            attributes.description.clone_from(&scope.description);
        }
        self.same.push((file.relative.clone(), item.path.clone()));
        Ok(true)
    }

    /// Finds instructions with the same name, text and scope as a rule.
    fn says_the_same(
        &self,
        rule: &PlainRule,
        scope: &Scope,
        applies: impl Fn(&Applies, &Applies) -> bool,
    ) -> Result<Option<usize>> {
        for at in self.stems.get(&rule.stem).into_iter().flatten() {
            let item = &self.items[*at];
            let What::Resource(attributes) = &item.entry.what else { continue };
            let described = attributes.description.is_none()
                || scope.description.is_none()
                || attributes.description == scope.description;
            let name = decode(attributes.uri.strip_prefix("instructions://").unwrap_or_default()).unwrap_or_default();
            let content = item.content.bytes()?;
            let applies = applies(&item.entry.origin.applies, &scope.applies);
            if described && applies && variants::says(&name, &content, rule) {
                return Ok(Some(*at));
            }
        }
        Ok(None)
    }

    /// Finds a subagent from which a deploy would write exactly this file for this agent.
    fn same_subagent(&self, place: &Destination, file: &[u8]) -> Result<Option<usize>> {
        let (name, agent) = (place.wanted_name(), place.agent.unwrap_or_default());
        for at in self.wanted.get(&(Role::Subagent, name.clone())).into_iter().flatten() {
            let item = &self.items[*at];
            let What::Resource(attributes) = &item.entry.what else { continue };
            let own = item.content.bytes()?;
            if variants::is_form_of(&name, attributes.description.as_deref(), &own, agent, file) {
                return Ok(Some(*at));
            }
        }
        Ok(None)
    }

    /// Checks whether an earlier subagent was written from this file for an agent that supports less. If so, this file
    /// replaces it.
    fn is_fuller_subagent(&mut self, file: &File, place: &Destination, bytes: &[u8]) -> Result<bool> {
        let name = place.wanted_name();
        if self.same_subagent(place, bytes)?.is_some() {
            return Ok(false);
        }
        let known = self.wanted.get(&(Role::Subagent, name.clone())).into_iter().flatten();
        for at in known.filter(|at| **at >= self.listed_count) {
            let item = &mut self.items[*at];
            let What::Resource(attributes) = &mut item.entry.what else { continue };
            let agent = item.entry.origin.agent.as_deref().unwrap_or_default();
            let less = item.content.bytes()?;
            if !variants::is_form_of(&name, attributes.description.as_deref(), bytes, agent, &less) {
                continue;
            }
            attributes.mime_type =
                media::from_file(file.content.clone(), None, Path::new(&file.relative))?.mime_type.into();
            let before = item.move_to(file, place);
            self.same.push((before, file.relative.clone()));
            return Ok(true);
        }
        Ok(false)
    }

    /// Replaces an item that a deploy wrote from this rule by the rule itself.
    fn take_place_of(
        &mut self,
        at: usize,
        file: &File,
        place: &Destination,
        description: Option<String>,
    ) -> Result<()> {
        let name = self.name(false, place.wanted_name(), &place.origins(&file.relative), &file.relative);
        let uri = place.uri(&name);
        let item = &mut self.items[at];
        let What::Resource(attributes) = &mut item.entry.what else { return Ok(()) };
        let before = std::mem::replace(&mut attributes.uri, uri.clone());
        attributes.description = attributes.description.take().or(description);
        attributes.mime_type =
            media::from_file(file.content.clone(), None, Path::new(&file.relative))?.mime_type.into();
        attributes.executable = file.executable;
        self.names[0].remove(&std::mem::replace(&mut item.entry.name, name));
        let path = item.move_to(file, place);
        self.uris.remove(&before);
        self.uris.insert(uri, at);
        self.plain_rules.remove(&at);
        self.same.push((path, file.relative.clone()));
        Ok(())
    }

    /// Checks whether an earlier rule was written from this file. Only a rule that contains no more than a deploy writes can
    /// be. If so, this file replaces it.
    pub(in crate::import) fn is_fuller_rule(
        &mut self,
        file: &File,
        place: &Destination,
        scope: &Scope,
    ) -> Result<bool> {
        // For a file in a folder, a deploy names the rule after the file's path.
        let stem = match (place.role, place.form, place.scope.is_empty()) {
            (Role::Instructions, Form::Rule(_), true) => forms::stem(&place.label).to_owned(),
            (Role::Instructions, Form::Plain, false) => forms::file_letters(forms::stem(&file.relative)),
            _ => return Ok(false),
        };
        let text = with_newline(split_front(&file.content.bytes()?).1);
        let applies = scope.clone().within(&place.scope).applies;
        let is_form = |at: &&usize| {
            let says = self.plain_rules.get(at).is_some_and(|rule| rule.stem == stem && rule.text == text);
            says && variants::apply_alike(&self.items[**at].entry.origin.applies, &applies)
        };
        let Some(at) = self.stems.get(&stem).into_iter().flatten().find(is_form).copied() else { return Ok(false) };
        self.take_place_of(at, file, place, scope.description.clone())?;
        Ok(true)
    }

    /// Removes skills that a deploy wrote from a command, for agents without commands.
    pub(in crate::import) fn take_out_commands(&mut self) {
        let lone = lone_skills(&self.items);
        if lone.is_empty() {
            return;
        }
        let mut commands: HashMap<(String, Vec<u8>), String> = HashMap::new();
        for item in &self.items {
            if let What::Prompt(attributes) = &item.entry.what
                && let Some(skill) = twins::skill(&item.entry.name, attributes, &item.content)
            {
                commands.entry(skill).or_insert_with(|| item.path.clone());
            }
        }
        for (at, skill) in lone.into_iter().rev() {
            let Ok(bytes) = self.items[at].content.bytes().map(|bytes| bytes.into_owned()) else { continue };
            if let Some(twin) = commands.get(&(skill, bytes)) {
                let gone = self.items.remove(at);
                self.same.push((gone.path, twin.clone()));
            }
        }
    }
}

/// Returns the skills that consist only of a SKILL.md: index of the item, and name of the skill.
fn lone_skills(items: &[Item]) -> Vec<(usize, String)> {
    let skill_of = |item: &Item| {
        let path = decode(item.entry.what.uri()?.strip_prefix("skill://")?)?;
        path.split_once('/').map(|(name, file)| (name.to_owned(), file.to_owned()))
    };
    let mut many: HashSet<String> = HashSet::new();
    let mut found: Vec<(usize, String)> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match skill_of(item) {
            Some((name, file)) if file == "SKILL.md" => found.push((at, name)),
            Some((name, _)) => drop(many.insert(name)),
            None => {}
        }
    }
    found.retain(|(_, name)| !many.contains(name));
    found
}
