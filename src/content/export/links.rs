//! Which links and copies an export makes: those that an import takes for the same thing as what they lead to, or are copies of.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::back::{Expected, comes_back, understand};
use super::layout::is_safe;
use crate::content::import::links::end;
use crate::content::import::place::Places;
use crate::content::import::scan::File;
use crate::error::Result;
use crate::store::links::{Link, Target};

/// Returns those of the links that lead to one of these files or copies, or to a folder of some, and those of the copies that are
/// of one of these files, by path; none of them is a second file of the project when the export is imported.
///
/// # Errors
/// As [`understand`].
pub fn fitting(links: Vec<Link>, files: &[File], expected: &[Expected<'_>]) -> Result<Vec<Link>> {
    let (links, copies): (Vec<Link>, Vec<Link>) =
        links.into_iter().partition(|link| matches!(link.target, Target::Link(_)));
    let mut paths: Vec<&str> = files.iter().map(|file| file.relative.as_str()).collect();
    let mut made = fitting_copies(free(copies, &paths), files, expected)?;
    paths.extend(made.iter().map(|copy| copy.path.as_str()));
    made.extend(fitting_links(links, &paths, &paths));
    Ok(made)
}

/// Returns those of the links that lead to one of these files, or to a folder of some, where none of the paths is `taken`.
pub(in crate::content) fn fitting_links(links: Vec<Link>, taken: &[&str], files: &[&str]) -> Vec<Link> {
    free(links, taken).into_iter().filter(|link| is_one_thing(link, files)).collect()
}

/// Returns those at a path that no file has or lies below, and no folder of files.
fn free(links: Vec<Link>, files: &[&str]) -> Vec<Link> {
    let taken: BTreeSet<String> = files.iter().map(|file| file.to_lowercase()).collect();
    let is_free = |path: &str| {
        let (lower, folder) = (path.to_lowercase(), format!("{}/", path.to_lowercase()));
        let above = lower.match_indices('/').any(|(at, _)| taken.contains(&lower[..at]));
        !taken.contains(&lower)
            && !above
            && !taken.range(folder.clone()..).next().is_some_and(|it| it.starts_with(&folder))
    };
    links.into_iter().filter(|link| is_safe(&link.path) && is_free(&link.path)).collect()
}

/// Returns those of the copies that an import takes for the same as their files, and beside which it brings back all else.
fn fitting_copies(copies: Vec<Link>, files: &[File], expected: &[Expected<'_>]) -> Result<Vec<Link>> {
    let originals: BTreeMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let copy = |link: Link| {
        let Target::Copy(original) = &link.target else { return None };
        let file = File { relative: link.path.clone(), listed: None, ..(*originals.get(original.as_str())?).clone() };
        Some((link, file))
    };
    let mut copies: Vec<(Link, File)> = copies.into_iter().filter_map(copy).collect();
    while !copies.is_empty() {
        let understood = understand(files.iter().chain(copies.iter().map(|(_, file)| file)))?;
        let same: HashSet<(&str, &str)> =
            understood.same.iter().map(|(path, original)| (path.as_str(), original.as_str())).collect();
        let before = copies.len();
        copies.retain(
            |(link, _)| matches!(&link.target, Target::Copy(original) if same.contains(&(&link.path, original))),
        );
        if copies.len() < before {
            continue;
        }
        // A copy may also change what other files are taken for.
        if !comes_back(&understood, files, expected).all(|back| back) {
            copies.clear();
        }
        break;
    }
    Ok(copies.into_iter().map(|(link, _)| link).collect())
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
