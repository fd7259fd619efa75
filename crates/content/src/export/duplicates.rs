//! Chooses the duplicates that an export writes: those that an import would recognize as duplicates again
//! ([`crate::same`]). No chosen duplicate's path is below the path of another.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::back::{Candidate, Expected, Group, beside, comes_back, files_of, importable, imported, is_restored};
use super::layout::{Layout, is_safe};
use crate::import::find::links::end;
use crate::import::paths::Places;
use crate::import::paths::agents::lies_in_folder;
use crate::import::place::Placed;
use crate::import::place::servers::ServerInFile;
use crate::item::File;
use crate::same::Duplicate;
use mcpkg_base::error::Result;
use mcpkg_store::links::{Link, Target};

/// Returns the links to write. Each link leads to one of `files`, or to a folder with some of them. Agents must treat
/// these files the same at the link as at their own paths ([`is_one_thing`]). The link's own path must be free.
pub(crate) fn fitting_links(links: Vec<Link>, layout: &mut Layout, files: &[&str]) -> Vec<Link> {
    links.into_iter().filter(|link| is_one_thing(link, files) && claim(layout, &link.path)).collect()
}

/// Reserves a path. Returns false if the path is not safe, or if it equals, contains or is below a reserved path.
fn claim(layout: &mut Layout, path: &str) -> bool {
    is_safe(path) && layout.claim(path)
}

/// The files of an export's items, without duplicates.
#[derive(Clone, Copy)]
pub struct Own<'o> {
    pub files: &'o [File],
    /// The item that an import should restore from each file.
    pub expected: &'o [Expected<'o>],
}

impl<'o> Own<'o> {
    /// Returns what an import would read from these files together with `others`; [`beside`] decides between files at
    /// the same path.
    fn with<'a>(self, others: impl Iterator<Item = &'a File> + Clone) -> Result<Placed>
    where
        'o: 'a,
    {
        imported(beside(self.files, others))
    }

    /// Returns for each file whether an import restores the expected item; `None` if the import finds additional items
    /// or clashing names.
    fn come_back(self, placed: &Placed) -> Option<Vec<bool>> {
        let has_no_more = placed.items.len() <= self.files.len() && placed.clashes.is_empty();
        has_no_more.then(|| comes_back(placed, self.files, self.expected).collect())
    }
}

/// Returns the copies and variants that could be written in addition to the files, or instead of some of them. `layout`
/// contains the paths of the files.
pub fn candidates(copies: &[Link], variants: Vec<Candidate>, layout: &mut Layout, files: &[File]) -> Vec<Group> {
    let by_path: HashMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let copy = |link: Link| {
        let Target::Copy(original) = &link.target else { return None };
        let file = File { relative: link.path.clone(), listed: None, ..(*by_path.get(original.as_str())?).clone() };
        Some((link, file))
    };
    let mut all: Vec<Candidate> = of_files(copies, files).into_iter().filter_map(copy).chain(variants).collect();
    all.retain(|(link, _)| by_path.contains_key(link.path.as_str()) || claim(layout, &link.path));
    grouped(all, &by_path)
}

/// The files that an export writes, except links.
pub struct Fitting {
    pub files: Vec<File>,
    pub duplicates: Vec<Group>,
    /// The MCP servers that an import would find in the files.
    pub servers: Vec<ServerInFile>,
}

/// Chooses the duplicates to write, and changes the files so that an import still restores each expected item.
pub fn fit(files: &[File], mut duplicates: Vec<Group>, expected: &[Expected<'_>]) -> Result<Fitting> {
    loop {
        let (complete, servers) = importable(files.to_vec(), &duplicates, expected)?;
        let before = duplicates.len();
        duplicates = fitting(duplicates, Own { files: &complete, expected })?;
        // A dropped duplicate may have restored an item, so the manifest may have to list more files.
        if duplicates.len() == before {
            return Ok(Fitting { files: complete, duplicates, servers });
        }
    }
}

/// Returns the groups that an import recognizes as duplicates of their files. Leaves out groups that keep the import
/// from restoring another item.
fn fitting(mut groups: Vec<Group>, own: Own<'_>) -> Result<Vec<Group>> {
    let by_path: HashMap<&str, &File> = own.files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let mut fitting = Vec::new();
    while !groups.is_empty() {
        let placed = own.with(files_of(&groups))?;
        let same: HashMap<&str, &str> =
            placed.account.same.iter().map(|Duplicate { path, of }| (path.as_str(), of.as_str())).collect();
        let partial: HashSet<&str> = placed.partial.iter().map(String::as_str).collect();
        let taken_for = |path: &str| same.get(path).copied().unwrap_or(path).to_owned();
        let is_same = |(link, file): &Candidate| {
            let path = link.path.as_str();
            match (&link.target, by_path.get(path)) {
                (Target::Copy(original), _) => taken_for(path) == taken_for(original),
                (Target::Variant(_), Some(own)) => own.listed.is_none() || own.content == file.content,
                (Target::Variant(_), None) => same.contains_key(path) || partial.contains(path),
                (Target::Link(_) | Target::Altered(_), _) => false,
            }
        };
        let before = groups.len();
        groups.retain(|group| group.iter().all(is_same));
        if groups.len() == before {
            let mut back = own.come_back(&imported(own.files.iter())?).unwrap_or_default();
            add_fitting(groups, &mut fitting, &mut back, own)?;
            break;
        }
    }
    Ok(fitting)
}

/// Returns the copies, each with one of `files` as its original. An import records the first of several equal files as
/// the original, but an export may have written the item to the path of another of the equal files.
fn of_files(copies: &[Link], files: &[File]) -> Vec<Link> {
    let mut beside: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for link in copies {
        if let Target::Copy(original) = &link.target {
            beside.entry(&link.path).or_default().push(original);
            beside.entry(original).or_default().push(&link.path);
        }
    }
    let mut known: HashSet<&str> = files.iter().map(|file| file.relative.as_str()).collect();
    let mut found = Vec::new();
    for file in files {
        let mut next = vec![file.relative.as_str()];
        while let Some(path) = next.pop() {
            for other in beside.get(path).into_iter().flatten().filter(|other| known.insert(other)) {
                found.push(Link { path: (*other).to_owned(), target: Target::Copy(file.relative.clone()) });
                next.push(other);
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Adds the groups to `fitting`, unless a file that an import restored before (`back`) would no longer be restored: a
/// copy can change how an import reads other files. If the groups do not fit together, tries each half on its own.
fn add_fitting(mut groups: Vec<Group>, fitting: &mut Vec<Group>, back: &mut Vec<bool>, own: Own<'_>) -> Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let placed = own.with(files_of(fitting).chain(files_of(&groups)))?;
    match own.come_back(&placed) {
        Some(now) if now.iter().zip(&*back).all(|(now, before)| now >= before) => {
            *back = now;
            fitting.append(&mut groups);
        }
        _ if groups.len() > 1 => {
            let others = groups.split_off(groups.len() / 2);
            add_fitting(groups, fitting, back, own)?;
            add_fitting(others, fitting, back, own)?;
        }
        _ => {}
    }
    Ok(())
}

/// Groups the duplicates of each skill together.
fn grouped(all: Vec<Candidate>, by_path: &HashMap<&str, &File>) -> Vec<Group> {
    let mut paths: Vec<&str> = by_path.keys().copied().chain(all.iter().map(|(link, _)| link.path.as_str())).collect();
    paths.sort_unstable();
    paths.dedup();
    let places = Places::of_export(paths.into_iter(), &|_| None);
    let skill_of = |path: &str| places.of(path).ok().and_then(|place| place.skill);
    let keys: Vec<String> = all
        .iter()
        .map(|(link, _)| skill_of(&link.path).map_or_else(|| link.path.clone(), |skill| skill.folder))
        .collect();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (key, candidate) in keys.into_iter().zip(all) {
        groups.entry(key).or_default().push(candidate);
    }
    groups.into_values().collect()
}

/// Returns the paths of files that need not be written, because the variants in `groups` contain their text. Such files are
/// instructions that were imported from a file with several sections. Returns either all such files or none.
pub fn sections_in_variants(groups: &[Group], own: Own<'_>) -> Result<HashSet<String>> {
    let is_gathered = |expected: &Expected<'_>| {
        expected.is_some_and(|(entry, _)| {
            let is_loaded = entry.what.uri().is_some_and(|uri| uri.starts_with("instructions://"));
            is_loaded && entry.origin.path.is_none()
        })
    };
    let (sections, written): (Vec<_>, Vec<_>) =
        own.files.iter().zip(own.expected).partition(|(_, expected)| is_gathered(expected));
    let has_variants = groups.iter().flatten().any(|(link, _)| matches!(link.target, Target::Variant(_)));
    if sections.is_empty() || !has_variants {
        return Ok(HashSet::new());
    }
    let (files, expected): (Vec<File>, Vec<Expected<'_>>) =
        written.into_iter().map(|(file, expected)| (file.clone(), *expected)).unzip();
    let rest = Own { files: &files, expected: &expected };
    let placed = rest.with(files_of(groups))?;
    let all_back = placed.items.len() == own.files.len()
        && placed.clashes.is_empty()
        && comes_back(&placed, &files, &expected).all(|back| back)
        && sections.iter().all(|(_, expected)| is_restored(&placed, expected));
    let paths = sections.into_iter().map(|(file, _)| file.relative.clone());
    Ok(if all_back { paths.collect() } else { HashSet::new() })
}

/// Returns whether a link leads to files that have the same role for agents at the link as at their own paths.
pub(crate) fn is_one_thing(link: &Link, files: &[&str]) -> bool {
    let Target::Link(text) = &link.target else { return false };
    let Some(end) = end(&link.path, text) else { return false };
    let folder = format!("{end}/");
    let shown: Vec<(String, &str)> = files
        .iter()
        .filter_map(|file| match file.strip_prefix(&folder) {
            Some(below) => Some((format!("{}/{below}", link.path), *file)),
            None => (*file == end).then(|| (link.path.clone(), *file)),
        })
        .collect();
    if shown.iter().any(|(_, file)| *file != end) && !lies_in_folder(&link.path) {
        return true;
    }
    let mut all: Vec<&str> = files.iter().copied().chain(shown.iter().map(|(shown, _)| shown.as_str())).collect();
    all.sort_unstable();
    let places = Places::of_export(all.into_iter(), &|_| None);
    let same = |(shown, file): &(String, &str)| match places.of(shown) {
        Ok(shown) => places.of(file).is_ok_and(|file| file.role == shown.role),
        // Behind a link to a folder, a path may also have no role at all. Then no agent reads the file there, which does no
        // harm.
        Err(_) => *file != end,
    };
    !shown.is_empty() && shown.iter().all(same)
}
