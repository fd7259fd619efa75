//! Additional files of an export: copies of items' files, and forms, which are items in another agent's format.

use std::collections::HashSet;

use crate::item::File;
use mcpkg_store::links::Link;

/// A copy or form, with its file.
pub type Second = (Link, File);

/// Copies and forms that can only be written together, because they belong to one skill; or a single one.
pub type Group = Vec<Second>;

/// Returns the files together with others. These replace files at the same path, unless the manifest lists those.
pub fn beside<'a>(files: &'a [File], others: impl Iterator<Item = &'a File> + Clone) -> impl Iterator<Item = &'a File> {
    let paths: HashSet<&str> = others.clone().map(|file| file.relative.as_str()).collect();
    let stays = move |file: &&File| file.listed.is_some() || !paths.contains(file.relative.as_str());
    let listed: HashSet<&str> =
        files.iter().filter(|file| file.listed.is_some()).map(|file| file.relative.as_str()).collect();
    files.iter().filter(stays).chain(others.filter(move |file| !listed.contains(file.relative.as_str())))
}

pub fn files_of(groups: &[Group]) -> impl Iterator<Item = &File> + Clone {
    groups.iter().flatten().map(|(_, file)| file)
}
