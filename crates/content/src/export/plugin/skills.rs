//! Lays out skills as `skills/NAME/PATH`. Every agent accepts NAME, and SKILL.md gets the same name if possible.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::making::{CODEX, GEMINI, Making, numbered, word};
use super::name::skill_of;
use crate::item::Entry;
use crate::skills::MAIN;
use mcpkg_agents::commands::skill;
use mcpkg_agents::forms::matter;
use mcpkg_agents::forms::skill::{Main, mended};
use mcpkg_base::error::Result;
use mcpkg_store::blobs::NewContent;

type Item = (Entry, NewContent);

/// Adds the skills. Returns the names of their folders.
pub(super) fn add(making: &mut Making, items: &[Item]) -> Result<HashSet<String>> {
    let mut skills: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (at, (entry, _)) in items.iter().enumerate() {
        if let Some((skill, path)) = skill_of(entry) {
            skills.entry(skill).or_default().push((at, path));
        }
    }
    // Skills that keep their names come first, so that no renamed skill takes one of these names.
    let (kept, renamed): (Vec<_>, Vec<_>) = skills.into_iter().partition(|(name, _)| skill::is_name(name));
    let mut folders = HashSet::new();
    for (name, files) in kept.into_iter().chain(renamed) {
        if !files.iter().any(|(_, path)| path == MAIN) {
            making.left_out(&[], word::SKILL, &name, "it has no SKILL.md");
            continue;
        }
        let folder = numbered(&skill::name(&name), |folder| !folders.contains(folder));
        if folder != name {
            making.renamed(word::SKILL, &name, &folder, "agents need lower-case names without other characters");
        }
        for (at, path) in files {
            file(making, items, at, (&name, &folder), &path)?;
        }
        folders.insert(folder);
    }
    Ok(folders)
}

fn file(making: &mut Making, items: &[Item], at: usize, (name, folder): (&str, &str), path: &str) -> Result<()> {
    let (entry, content) = &items[at];
    let bytes = content.bytes()?;
    let bytes = match path == MAIN {
        true => main(making, name, folder, bytes),
        false => bytes.into_owned(),
    };
    let target = format!("skills/{folder}/{path}");
    if making.put(&target, bytes, entry.what.is_executable()) {
        making.expect(&target, at, word::SKILL, name);
    } else {
        let name = format!("{name}/{path}");
        making.left_out(&[], word::SKILL, &name, "the path is taken, or not valid on every file system");
    }
    Ok(())
}

/// Returns a SKILL.md that every agent loads under the name of its folder, if that is possible.
fn main(making: &mut Making, name: &str, folder: &str, bytes: Cow<'_, [u8]>) -> Vec<u8> {
    let mended = mended(&bytes);
    if mended.is_some() {
        making.changed(&[], word::SKILL, name, "its front matter was corrected, because some agents would reject it");
    }
    let bytes = mended.unwrap_or_else(|| bytes.into_owned());
    let Ok(text) = std::str::from_utf8(&bytes) else {
        making.left_out(&[CODEX, GEMINI], word::SKILL, name, "its SKILL.md is not text");
        return bytes;
    };
    let read = Main::read(text);
    if read.description.is_none() {
        making.left_out(&[CODEX, GEMINI], word::SKILL, name, "its SKILL.md has no description");
    }
    match with_name(text, folder).filter(|_| read.name.as_deref() != Some(folder)) {
        Some(written) => {
            if folder == name {
                making.changed(&[], word::SKILL, name, "`name` in its SKILL.md is now the name of its folder");
            }
            written.into_bytes()
        }
        None => bytes,
    }
}

/// Returns the text with another `name` in its front matter; `None` if the text has no front matter that can be changed.
fn with_name(text: &str, name: &str) -> Option<String> {
    let (_, body) = matter::split(text).ok()??;
    let front = &text[..text.len() - body.len()];
    let written = matter::replace(front, "name", &format!("name: {name}\n")) + body;
    (Main::read(&written).name.as_deref() == Some(name)).then_some(written)
}
