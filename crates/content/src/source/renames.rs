//! Detects files that were moved within a source, so that an update keeps their items.
//!
//! A missing skill and a new skill are the same if they share a file (with equal paths and bytes), or if at least half
//! of the lines in their SKILL.md are equal. Then the other files of the skill are considered moved as well. A file
//! outside a skill was moved if a new file of the same kind has equal bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use similar::TextDiff;

use super::contents::SourceFile;
use crate::item::Entry;
use crate::skills::MAIN;
use mcpkg_base::error::Result;
use mcpkg_store::sources::ItemRow;

/// The maximum size of a text that is compared, in bytes.
const MAX: usize = 64 << 10;

/// The minimum share of equal lines for two texts to be considered the same.
const LIKE: f32 = 0.5;

/// Returns the new path of each moved file, by its former path. `load` returns the former content of a row.
pub fn find(
    before: &[(ItemRow, Entry)],
    after: &[SourceFile],
    load: impl Fn(&ItemRow) -> Result<Vec<u8>>,
) -> Result<BTreeMap<String, String>> {
    let old_paths: BTreeSet<&str> = before.iter().map(|(row, _)| row.path.as_str()).collect();
    let new_paths: BTreeSet<&str> = after.iter().map(|taken| taken.path.as_str()).collect();
    let gone: Vec<_> = before.iter().filter(|(row, _)| !new_paths.contains(row.path.as_str())).collect();
    let new: Vec<_> = after.iter().filter(|taken| !old_paths.contains(taken.path.as_str())).collect();
    let mut moved = BTreeMap::new();
    if gone.is_empty() || new.is_empty() {
        return Ok(moved);
    }
    follow_skills(&gone, &new, load, &mut moved)?;
    let mut by_bytes: HashMap<(&str, [u8; 32]), Vec<&str>> = HashMap::new();
    for file in new.iter().filter(|file| file.item.entry.what.in_skill().is_none()) {
        by_bytes.entry((scheme(&file.item.entry), file.sha256)).or_default().push(&file.path);
    }
    for (row, entry) in gone.iter().filter(|(_, entry)| entry.what.in_skill().is_none()) {
        let same = by_bytes.get_mut(&(scheme(entry), row.sha256)).filter(|paths| !paths.is_empty());
        if let Some(path) = same.map(|paths| paths.remove(0)) {
            moved.insert(row.path.clone(), path.to_owned());
        }
    }
    Ok(moved)
}

/// Matches missing skills with new skills.
fn follow_skills(
    gone: &[&(ItemRow, Entry)],
    new: &[&SourceFile],
    load: impl Fn(&ItemRow) -> Result<Vec<u8>>,
    moved: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut old_skills: BTreeMap<&str, BTreeMap<&str, &ItemRow>> = BTreeMap::new();
    for (row, entry) in gone {
        if let Some((name, below)) = entry.what.in_skill() {
            old_skills.entry(name).or_default().insert(below, row);
        }
    }
    let mut new_skills: BTreeMap<&str, BTreeMap<&str, &SourceFile>> = BTreeMap::new();
    for taken in new {
        if let Some((name, below)) = taken.item.entry.what.in_skill() {
            new_skills.entry(name).or_default().insert(below, taken);
        }
    }
    // A skill is gone only if its SKILL.md is missing. Otherwise it stayed, and only lost a file.
    old_skills.retain(|_, files| files.contains_key(MAIN));
    new_skills.retain(|_, files| files.contains_key(MAIN));
    for old in old_skills.values() {
        let mut best: Option<(f32, &str)> = None;
        for (name, files) in &new_skills {
            let score = likeness(old, files, &load)?;
            if score >= LIKE && best.is_none_or(|(other, _)| score > other) {
                best = Some((score, name));
            }
        }
        let Some(files) = best.and_then(|(_, name)| new_skills.remove(name)) else { continue };
        for (below, row) in old {
            if let Some(taken) = files.get(below) {
                moved.insert(row.path.clone(), taken.path.clone());
            }
        }
    }
    Ok(())
}

/// Returns how similar two skills are: more than 1 if they share files, otherwise the share of equal lines in SKILL.md.
fn likeness(
    old: &BTreeMap<&str, &ItemRow>,
    new: &BTreeMap<&str, &SourceFile>,
    load: impl Fn(&ItemRow) -> Result<Vec<u8>>,
) -> Result<f32> {
    let same = old.iter().filter(|(below, row)| new.get(**below).is_some_and(|file| file.sha256 == row.sha256)).count();
    if same > 0 {
        return Ok(1.0 + u16::try_from(same).map_or(f32::from(u16::MAX), f32::from));
    }
    let (Some(row), Some(taken)) = (old.get(MAIN), new.get(MAIN)) else { return Ok(0.0) };
    let (before, after) = (load(row)?, taken.item.content.bytes()?);
    match (std::str::from_utf8(&before), std::str::from_utf8(&after)) {
        (Ok(before), Ok(after)) if before.len() <= MAX && after.len() <= MAX => {
            Ok(TextDiff::from_lines(before, after).ratio())
        }
        _ => Ok(0.0),
    }
}

/// Returns the scheme of an item's URI, which shows the item's kind.
fn scheme(entry: &Entry) -> &str {
    entry.what.uri().and_then(|uri| uri.split_once("://")).map_or("prompt", |(scheme, _)| scheme)
}
