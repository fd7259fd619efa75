//! Indexes of the items that were already placed, to find an item with the same content as a file.

use std::collections::HashMap;

use crate::import::paths::agents::Role;
use crate::item::{Entry, Item, What};
use crate::same::variants::{self, Rule};
use crate::uri;
use mcpkg_agents::forms;
use mcpkg_base::error::Result;
use mcpkg_store::modules::Applies;

/// Indexes of the items that were already placed. A number refers to an item by its index in the list of items.
#[derive(Default)]
pub struct Known {
    /// The number of items that a manifest lists. They come first in the list, and are never changed.
    pub listed: usize,
    by_uri: HashMap<String, usize>,
    /// Items by their preferred name, whether or not they got it.
    by_name: HashMap<(Role, String), Vec<usize>>,
    /// Instructions by the name of their file without its extension.
    by_stem: HashMap<String, Vec<usize>>,
    /// The names of placed skills, by the name of their folder and a hash of their files.
    skills: HashMap<(String, u64), String>,
    /// Rules that contain no more than a deploy writes. The file that a deploy wrote a rule from may replace the rule.
    rules: HashMap<usize, Rule>,
    /// The texts that a deploy would write from a prompt. They are computed when they are first needed.
    commands: HashMap<usize, Vec<String>>,
}

impl Known {
    pub fn with_uri(&self, uri: &str) -> Option<usize> {
        self.by_uri.get(uri).copied()
    }

    pub fn set_uri(&mut self, uri: String, at: usize) {
        self.by_uri.insert(uri, at);
    }

    pub fn move_uri(&mut self, from: &str, to: String) {
        if let Some(at) = self.by_uri.remove(from) {
            self.by_uri.insert(to, at);
        }
    }

    pub fn named(&self, role: Role, name: &str) -> &[usize] {
        // A lookup with borrowed parts would need a trait of its own. Copying a name is cheap.
        self.by_name.get(&(role, name.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub fn set_name(&mut self, role: Role, name: String, at: usize) {
        self.by_name.entry((role, name)).or_default().push(at);
    }

    /// Records instructions under the name of their file, and under the file name that a deploy would derive from `name`.
    pub fn set_stem(&mut self, stem: &str, name: &str, at: usize) {
        let deployed = forms::file_letters(name);
        if deployed != stem {
            self.by_stem.entry(deployed).or_default().push(at);
        }
        self.by_stem.entry(stem.to_owned()).or_default().push(at);
    }

    /// Records an item that a manifest lists, so that files written from it by a deploy are recognized as duplicates.
    pub fn set_listed(&mut self, entry: &Entry, at: usize) {
        self.listed = at + 1;
        match (&entry.what, entry.what.uri().and_then(|uri| uri.split_once("://"))) {
            (What::Prompt(_), _) => self.set_name(Role::Prompt, entry.name.clone(), at),
            (_, Some(("subagent", name))) => {
                self.set_name(Role::Subagent, uri::decode(name).unwrap_or_default(), at);
            }
            (_, Some(("instructions", name))) => {
                let name = uri::decode(name).unwrap_or_default();
                self.set_stem(forms::stem(&name), forms::stem(&name), at);
            }
            _ => {}
        }
    }

    /// Returns the name of a placed skill with the same files and the same folder name.
    pub fn skill(&self, folder: &str, hash: u64) -> Option<String> {
        self.skills.get(&(folder.to_owned(), hash)).cloned()
    }

    pub fn set_skill(&mut self, folder: &str, hash: u64, name: String) {
        self.skills.entry((folder.to_owned(), hash)).or_insert(name);
    }

    pub fn set_rule(&mut self, at: usize, rule: Rule) {
        self.rules.insert(at, rule);
    }

    pub fn remove_rule(&mut self, at: usize) {
        self.rules.remove(&at);
    }

    /// Returns whether a deploy would write this text for some agent, from the prompt with index `at`.
    pub fn is_command_of(&mut self, items: &[Item], at: usize, text: &[u8]) -> bool {
        let item = &items[at];
        let What::Prompt(attributes) = &item.entry.what else { return false };
        let commands = self.commands.entry(at).or_insert_with(|| {
            let content = item.content.bytes();
            content.map_or_else(|_| Vec::new(), |content| variants::commands_of(&item.entry.name, attributes, &content))
        });
        commands.iter().any(|command| command.as_bytes() == text)
    }

    /// Forgets what a deploy would write from the prompt with index `at`, because the prompt was replaced.
    pub fn forget_commands(&mut self, at: usize) {
        self.commands.remove(&at);
    }

    /// Finds instructions that have the same name and text as a rule, and a scope for which `applies` returns true. If
    /// both have a description, the descriptions must be equal.
    pub fn instructions(
        &self,
        items: &[Item],
        rule: &Rule,
        description: Option<&str>,
        applies: impl Fn(&Applies) -> bool,
    ) -> Result<Option<usize>> {
        for at in self.by_stem.get(&rule.stem).into_iter().flatten() {
            let item = &items[*at];
            let What::Resource(attributes) = &item.entry.what else { continue };
            let own = attributes.description.as_deref();
            let is_described_alike = own.is_none() || description.is_none() || own == description;
            let name = attributes.uri.strip_prefix("instructions://").unwrap_or_default();
            let name = uri::decode(name).unwrap_or_default();
            let content = item.content.bytes()?;
            if is_described_alike
                && applies(&item.entry.origin.applies)
                && variants::is_same_rule(&name, &content, rule)
            {
                return Ok(Some(*at));
            }
        }
        Ok(None)
    }

    /// Finds a rule that a deploy could have written from a file with this name, text and scope.
    pub fn rule_from(&self, items: &[Item], stem: &str, text: &[u8], applies: &Applies) -> Option<usize> {
        let is_from = |at: &usize| {
            let is_same = |rule: &Rule| rule.text == text || variants::is_inert(text, &rule.text);
            let is_text = self.rules.get(at).is_some_and(|rule| rule.stem == stem && is_same(rule));
            is_text && variants::apply_alike(&items[*at].entry.origin.applies, applies)
        };
        self.by_stem.get(stem).into_iter().flatten().copied().find(is_from)
    }
}
