//! Files that moved within a source: an update follows them.
//!
//! A skill that is gone and one that is new are the same where they share a file, or where at least half of the lines of
//! their SKILL.md are the same; its other files follow it. Of other files the bytes tell.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use similar::TextDiff;

use super::contents::Taken;
use crate::import::manifest::Entry;
use mcpkg_base::error::Result;
use mcpkg_store::sources::ItemRow;

/// Bytes of a text that is compared with others.
const MAX: usize = 64 << 10;

/// The share of two texts that must be equal.
const LIKE: f32 = 0.5;

/// Returns the new path of each file that moved, by its old one. `load` returns the content that a row had.
pub fn find(
    before: &[(ItemRow, Entry)],
    after: &[Taken],
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
    for file in new.iter().filter(|file| in_skill(&file.item.entry).is_none()) {
        by_bytes.entry((scheme(&file.item.entry), file.sha256)).or_default().push(&file.path);
    }
    for (row, entry) in gone.iter().filter(|(_, entry)| in_skill(entry).is_none()) {
        let same = by_bytes.get_mut(&(scheme(entry), row.sha256)).filter(|paths| !paths.is_empty());
        if let Some(path) = same.map(|paths| paths.remove(0)) {
            moved.insert(row.path.clone(), path.to_owned());
        }
    }
    Ok(moved)
}

/// Pairs the skills that are gone with new ones.
fn follow_skills(
    gone: &[&(ItemRow, Entry)],
    new: &[&Taken],
    load: impl Fn(&ItemRow) -> Result<Vec<u8>>,
    moved: &mut BTreeMap<String, String>,
) -> Result<()> {
    let mut old_skills: BTreeMap<&str, BTreeMap<&str, &ItemRow>> = BTreeMap::new();
    for (row, entry) in gone {
        if let Some((name, below)) = in_skill(entry) {
            old_skills.entry(name).or_default().insert(below, row);
        }
    }
    let mut new_skills: BTreeMap<&str, BTreeMap<&str, &Taken>> = BTreeMap::new();
    for taken in new {
        if let Some((name, below)) = in_skill(&taken.item.entry) {
            new_skills.entry(name).or_default().insert(below, taken);
        }
    }
    // A skill that stays where it was and lost a file did not move.
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

const MAIN: &str = "SKILL.md";

/// Returns how much of two skills is the same: 1 and more for each file that is, else the part of SKILL.md that is.
fn likeness(
    old: &BTreeMap<&str, &ItemRow>,
    new: &BTreeMap<&str, &Taken>,
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

/// Returns the name of the skill that an item is a file of, and the path in it, as its URI has them.
fn in_skill(entry: &Entry) -> Option<(&str, &str)> {
    entry.what.uri()?.strip_prefix("skill://")?.split_once('/')
}

/// Returns what tells the kind of an item.
fn scheme(entry: &Entry) -> &str {
    entry.what.uri().and_then(|uri| uri.split_once("://")).map_or("prompt", |(scheme, _)| scheme)
}
