//! Writes the summary of an import, in the terms of the people who wrote the files.

use std::collections::BTreeSet;

use crate::import::merge::items::Action;
use crate::import::merge::servers;
use crate::item::Item;
use crate::skills::MAIN;
use mcpkg_base::plural;

pub(super) fn sentence(project: &str, items: &[Item], actions: &[Action], of_servers: &[servers::Action]) -> String {
    let is_written = |action: &Action| matches!(action, Action::Create | Action::Update(_));
    let written = items.iter().zip(actions).filter(|(_, action)| is_written(action)).map(|(item, _)| item);
    let mut kinds = kinds(written, items);
    kinds.extend(servers::sentence(of_servers));
    let of = |wanted: fn(&Action) -> bool, word: &str| {
        Some(actions.iter().filter(|action| wanted(action)).count()).filter(|n| *n > 0).map(|n| format!("{n} {word}"))
    };
    let updated = of(|action| matches!(action, Action::Update(_)), "updated");
    let unchanged = of(|action| matches!(action, Action::Unchanged | Action::Moved(_)), "unchanged");
    let notes: Vec<_> = updated.into_iter().chain(unchanged).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
    format!("Imported {kinds} into project '{project}'{notes}")
}

/// Counts items in the terms of their authors, such as `3 skills` and `1 rule`. The files of a skill count as one skill if `all`
/// contains its SKILL.md.
pub(super) fn kinds<'i>(items: impl Iterator<Item = &'i Item>, all: &'i [Item]) -> Vec<String> {
    let known: BTreeSet<_> = all.iter().filter(|item| is_main(item)).map(skill_of).collect();
    let (mut skills, mut counts) = (BTreeSet::new(), [0_usize; 5]);
    for item in items {
        let place = match item.word() {
            "skill" if known.contains(&skill_of(item)) => {
                skills.insert(skill_of(item));
                continue;
            }
            "skill" => 3,
            "prompt" => 0,
            "instructions" => 1,
            "subagent" => 2,
            "resource" => 3,
            _ => 4,
        };
        counts[place] += 1;
    }
    let [commands, rules, subagents, others, kept] = counts;
    let kept = (kept, if kept == 1 { "agent's file" } else { "agents' file" });
    let counts = [
        (skills.len(), "skill"),
        (commands, "command"),
        (rules, "rule"),
        (subagents, "subagent"),
        (others, "other file"),
        kept,
    ];
    counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| plural::count(count, noun)).collect()
}

/// Returns whether an item is a skill's SKILL.md.
pub(super) fn is_main(item: &Item) -> bool {
    let inside = item.entry.what.uri().and_then(|uri| uri.strip_prefix("skill://")?.split_once('/'));
    inside.is_some_and(|(_, path)| path == MAIN)
}

/// Returns the name of the skill that an item belongs to.
fn skill_of(item: &Item) -> Option<&str> {
    item.entry.what.uri()?.strip_prefix("skill://")?.split('/').next()
}
