//! Which links an export makes: those that an import takes for the same thing as what they lead to.

use std::collections::BTreeSet;

use super::layout::is_safe;
use crate::content::import::links::end;
use crate::content::import::place::Places;
use crate::store::links::Link;

/// Returns those of the links that lead to one of these files, or to a folder of some, and that are no second file of the
/// project when the export is imported.
pub fn fitting(links: Vec<Link>, files: &[&str]) -> Vec<Link> {
    let taken: BTreeSet<String> = files.iter().map(|file| file.to_lowercase()).collect();
    let is_free = |path: &str| {
        let (lower, folder) = (path.to_lowercase(), format!("{}/", path.to_lowercase()));
        let above = lower.match_indices('/').any(|(at, _)| taken.contains(&lower[..at]));
        !taken.contains(&lower)
            && !above
            && !taken.range(folder.clone()..).next().is_some_and(|it| it.starts_with(&folder))
    };
    links.into_iter().filter(|link| is_safe(&link.path) && is_free(&link.path) && is_one_thing(link, files)).collect()
}

/// Whether each file is the same to an agent behind the link as where it lies.
fn is_one_thing(link: &Link, files: &[&str]) -> bool {
    let Some(end) = end(&link.path, &link.target) else { return false };
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
