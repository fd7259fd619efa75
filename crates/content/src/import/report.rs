//! Stage 7 of an import: reports the result in the words of the people who wrote the files.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::account::Account;
use super::merge::Action;
use super::merge::servers;
use super::place::servers::ServerInFile;
use crate::item::Item;
use crate::skills::MAIN;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, LISTED_BY_VERBOSE, Reply, Table};

/// What an import did, or would do.
pub struct Report<'r> {
    pub project: &'r str,
    pub items: &'r [Item],
    pub actions: &'r [Action],
    pub servers: &'r [ServerInFile],
    pub of_servers: &'r [servers::Action],
    pub account: &'r Account,
}

impl Report<'_> {
    pub fn dry_run(&self, shows_data: bool) -> Reply {
        let mut reply = Reply::new(Body::Table(self.counted()), self.data(shows_data));
        reply.details = self.items.iter().zip(self.actions).map(|(item, action)| line(item, action)).collect();
        let servers = self.servers.iter().zip(self.of_servers);
        reply.details.extend(servers.map(|(found, action)| servers::line(found, action)));
        reply.hints = self.account.grouped_notes();
        let kinds = kinds(self.items.iter(), self.items);
        if !kinds.is_empty() {
            reply.hints.push(format!("that is {}", kinds.join(", ")));
        }
        reply.hints.push(format!("dry run: the files were not imported{LISTED_BY_VERBOSE}"));
        reply
    }

    pub fn written(&self, shows_data: bool) -> Reply {
        Reply { hints: self.account.hints(), ..Reply::sentence(self.sentence(), self.data(shows_data)) }
    }

    fn sentence(&self) -> String {
        let planned = self.items.iter().zip(self.actions);
        let written = planned.filter(|(_, action)| action.is_written()).map(|(item, _)| item);
        let mut kinds = kinds(written, self.items);
        kinds.extend(servers::sentence(self.of_servers));
        let of = |word: &str| {
            let count = self.actions.iter().filter(|action| action.word() == word).count();
            (count > 0).then(|| format!("{count} {}", if word == "update" { "updated" } else { word }))
        };
        let notes: Vec<_> = of("update").into_iter().chain(of("unchanged")).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
        format!("Imported {kinds} into project '{}'{notes}", self.project)
    }

    /// Counts the items by action and kind, and appends the account's counts of all other files.
    fn counted(&self) -> Table {
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let of_items = self.items.iter().zip(self.actions).map(|(item, action)| (action.word(), item.word()));
        for what in of_items.chain(self.of_servers.iter().map(|action| (action.word(), servers::WORD))) {
            *counts.entry(what).or_default() += 1;
        }
        let counts = counts.into_iter().map(|((action, what), count)| (count, action, what));
        let row =
            |(count, action, what): (u64, &str, &str)| vec![count.to_string(), action.to_owned(), what.to_owned()];
        let rows = counts.chain(self.account.counted()).map(row).collect();
        Table { columns: &["COUNT", "ACTION", "WHAT"], rows, empty: "Found nothing to import".to_owned() }
    }

    fn data(&self, is_shown: bool) -> Value {
        if !is_shown {
            return Value::Null;
        }
        // Several instructions may come from one file, so count paths instead of items.
        let files = self.items.iter().map(|item| item.path.as_str()).collect::<BTreeSet<_>>().len();
        let mut data = Map::from_iter([
            ("project".to_owned(), Value::from(self.project)),
            ("files".to_owned(), self.account.counts(files)),
        ]);
        let keys =
            [("created", "create"), ("updated", "update"), ("unchanged", "unchanged"), ("conflicts", "conflict")];
        for (key, word) in keys {
            let planned = self.items.iter().zip(self.actions).filter(|(_, action)| action.word() == word);
            data.insert(key.to_owned(), planned.map(|(item, _)| item.data()).collect());
        }
        data.insert("same".to_owned(), self.account.same_data());
        data.insert("left_out".to_owned(), self.account.left_out_data());
        data.insert("notes".to_owned(), self.account.notes_data());
        data.insert("servers".to_owned(), servers::data(self.servers, self.of_servers));
        Value::Object(data)
    }
}

/// Returns a line about an item: its file, and what would happen to the item.
fn line(item: &Item, action: &Action) -> String {
    let uri = item.entry.what.uri().map_or(String::new(), |uri| format!(" ({uri})"));
    format!("{}: {} {} {}{uri}", item.path, action.word(), item.word(), item.entry.name)
}

/// The items of one kind, in the words of their authors.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    pub noun: &'static str,
    /// The file of each item; for a skill, its folder.
    pub paths: Vec<String>,
}

impl Group {
    /// Returns the count with its noun: `3 skills`.
    pub fn counted(&self) -> String {
        plural::count(self.paths.len(), self.noun)
    }
}

fn kinds<'i>(items: impl Iterator<Item = &'i Item>, all: &'i [Item]) -> Vec<String> {
    groups(items, all).iter().map(Group::counted).collect()
}

/// Counts items in the words of their authors, such as `3 skills` and `1 rule`. All files of a skill together count as one
/// skill if `all` contains the skill's SKILL.md.
pub fn groups<'i>(items: impl Iterator<Item = &'i Item>, all: &'i [Item]) -> Vec<Group> {
    let known: BTreeSet<_> = all.iter().filter(|item| is_main(item)).map(skill_of).collect();
    let mut skills = BTreeSet::new();
    let mut groups = ["skill", "command", "rule", "subagent", "other file", ""].map(|noun| (noun, Vec::new()));
    for item in items {
        let (place, path) = match item.word() {
            "skill" if known.contains(&skill_of(item)) => {
                if !skills.insert(skill_of(item)) {
                    continue;
                }
                (0, item.path.rsplit_once('/').map_or(item.path.as_str(), |(folder, _)| folder))
            }
            "prompt" => (1, item.path.as_str()),
            "instructions" => (2, item.path.as_str()),
            "subagent" => (3, item.path.as_str()),
            "skill" | "resource" => (4, item.path.as_str()),
            _ => (5, item.path.as_str()),
        };
        groups[place].1.push(path.to_owned());
    }
    groups[5].0 = if groups[5].1.len() == 1 { "agent's file" } else { "agents' file" };
    groups.into_iter().filter(|(_, paths)| !paths.is_empty()).map(|(noun, paths)| Group { noun, paths }).collect()
}

/// Returns whether an item is a skill's SKILL.md.
pub fn is_main(item: &Item) -> bool {
    item.entry.what.in_skill().is_some_and(|(_, path)| path == MAIN)
}

/// Returns the name of the skill that an item belongs to.
fn skill_of(item: &Item) -> Option<&str> {
    item.entry.what.in_skill().map(|(name, _)| name)
}
