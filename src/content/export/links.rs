//! Which links and copies an export makes: those that an import takes for the same thing as what they lead to, or are copies of. None
//! lies below another.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::back::{Expected, comes_back, understand};
use super::layout::{Layout, is_safe};
use crate::content::import::links::end;
use crate::content::import::place::Places;
use crate::content::import::scan::File;
use crate::error::Result;
use crate::store::links::{Link, Target};

/// Returns those of the links that lead to one of these files, or to a folder of some, and whose paths are free.
pub(in crate::content) fn fitting_links(links: Vec<Link>, layout: &mut Layout, files: &[&str]) -> Vec<Link> {
    free(links.into_iter().filter(|link| is_one_thing(link, files)).collect(), layout)
}

/// Returns those whose path no other one has or lies below or above, and has it taken by them.
fn free(links: Vec<Link>, layout: &mut Layout) -> Vec<Link> {
    links.into_iter().filter(|link| is_safe(&link.path) && layout.claim(&link.path)).collect()
}

/// Copies that an import takes for the same as their files together or not at all: those of one skill, or a single one.
type Group = Vec<(Link, File)>;

/// Returns those of the copies that an import takes for the same as their files, and beside which it brings back all else. Those
/// that belong together stand together. `layout` has the paths of the files.
///
/// # Errors
/// As [`understand`].
pub fn fitting_copies(
    copies: Vec<Link>,
    layout: &mut Layout,
    files: &[File],
    expected: &[Expected<'_>],
) -> Result<Vec<Vec<Link>>> {
    let copies = of_files(&copies, files);
    let mut groups = grouped(free(copies, layout), files);
    let mut fitting = Vec::new();
    while !groups.is_empty() {
        let understood = understand(files.iter().chain(groups.iter().flatten().map(|(_, file)| file)))?;
        let same: HashMap<&str, &str> =
            understood.same.iter().map(|(path, other)| (path.as_str(), other.as_str())).collect();
        let taken_for = |path: &str| same.get(path).copied().unwrap_or(path).to_owned();
        let is_same = |(link, _): &(Link, File)| match &link.target {
            Target::Copy(original) => taken_for(&link.path) == taken_for(original),
            Target::Link(_) => false,
        };
        let before = groups.len();
        groups.retain(|group| group.iter().all(is_same));
        if groups.len() == before {
            add_fitting(groups, &mut fitting, files, expected)?;
            break;
        }
    }
    Ok(fitting.into_iter().map(|group| group.into_iter().map(|(link, _)| link).collect()).collect())
}

/// Returns the copies of these files, each of a file itself: an import finds copies of the first of several, and the item may lie at
/// another one.
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

/// Adds those of the groups beside which all files come back: a copy may also change what another file is taken for. Where not all
/// do, each half is tried by itself.
fn add_fitting(
    mut groups: Vec<Group>,
    fitting: &mut Vec<Group>,
    files: &[File],
    expected: &[Expected<'_>],
) -> Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let copies = fitting.iter().chain(&groups).flatten().map(|(_, file)| file);
    let understood = understand(files.iter().chain(copies))?;
    if comes_back(&understood, files, expected).all(|back| back) {
        fitting.append(&mut groups);
    } else if groups.len() > 1 {
        let others = groups.split_off(groups.len() / 2);
        add_fitting(groups, fitting, files, expected)?;
        add_fitting(others, fitting, files, expected)?;
    }
    Ok(())
}

/// Returns the copies of these files, by the skill that they are of.
fn grouped(copies: Vec<Link>, files: &[File]) -> Vec<Group> {
    let originals: BTreeMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let copy = |link: Link| {
        let Target::Copy(original) = &link.target else { return None };
        let file = File { relative: link.path.clone(), listed: None, ..(*originals.get(original.as_str())?).clone() };
        Some((link, file))
    };
    let copies: Vec<(Link, File)> = copies.into_iter().filter_map(copy).collect();
    let mut paths: Vec<&str> =
        originals.keys().copied().chain(copies.iter().map(|(link, _)| link.path.as_str())).collect();
    paths.sort_unstable();
    let places = Places::of_export(paths.into_iter());
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (link, file) in copies {
        let skill = places.of(&link.path).ok().and_then(|place| place.skill);
        let key = skill.map_or_else(|| link.path.clone(), |skill| skill.folder);
        groups.entry(key).or_default().push((link, file));
    }
    groups.into_values().collect()
}

/// Whether a link leads to files, and each is the same to an agent behind it as where it lies.
pub(in crate::content) fn is_one_thing(link: &Link, files: &[&str]) -> bool {
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
    let mut all: Vec<&str> = files.iter().copied().chain(shown.iter().map(|(shown, _)| shown.as_str())).collect();
    all.sort_unstable();
    let places = Places::of_export(all.into_iter());
    let same = |(shown, file): &(String, &str)| match (places.of(shown), places.of(file)) {
        (Ok(shown), Ok(file)) => shown.role == file.role,
        _ => false,
    };
    !shown.is_empty() && shown.iter().all(same)
}
