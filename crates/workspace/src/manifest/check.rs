//! Checks the repositories of a manifest against each other: unique names and paths, known dependencies, no cycles.

use std::collections::HashMap;
use std::ops::Range;

use super::Manifest;
use mcpkg_base::error::nearest;

/// A range of bytes in the manifest's text; `None` for something that the text does not contain.
pub(super) type Place = Option<Range<usize>>;

/// A manifest with the positions that error messages need.
pub(super) struct Placed {
    pub(super) manifest: Manifest,
    /// The position of each repository, and the positions of its dependencies.
    pub(super) repos: Vec<(Place, Vec<Place>)>,
}

/// A problem and its position.
type PlacedProblem = (Place, String);

/// Returns the problems in a manifest's repositories: duplicate names and paths, and unknown or circular dependencies.
pub(super) fn repos(placed: &Placed) -> Vec<PlacedProblem> {
    let mut found = Vec::new();
    let repos = &placed.manifest.repos;
    let (mut names, mut paths) = (HashMap::new(), HashMap::new());
    for (repo, (place, _)) in repos.iter().zip(&placed.repos) {
        if !repo.name.is_empty() && names.insert(repo.name.as_str(), ()).is_some() {
            found.push((place.clone(), format!("two repositories are called \"{}\"", repo.name)));
        }
        let path = repo.path.trim_end_matches('/');
        if let Some(other) = paths.insert(path, repo.name.as_str()) {
            found.push((place.clone(), format!("\"{}\" and \"{other}\" have the same folder, `{path}`", repo.name)));
        }
    }
    for (repo, (_, places)) in repos.iter().zip(&placed.repos) {
        for (depends_on, place) in repo.depends_on.iter().zip(places) {
            if !names.contains_key(depends_on.as_str()) {
                let near = nearest(depends_on, names.keys().copied());
                let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
                found.push((place.clone(), format!("no repository is called \"{depends_on}\"{near}")));
            }
        }
    }
    if let Some(cycle) = cycle(placed) {
        let place = placed.repos.get(cycle[0]).and_then(|(_, places)| places.first().cloned()).flatten();
        let names: Vec<_> = cycle.iter().map(|index| repos[*index].name.as_str()).collect();
        found.push((place, format!("repositories depend on each other in a cycle: {}", names.join(" -> "))));
    }
    found
}

/// Returns the first dependency cycle as indices of repositories. The first index is repeated at the end.
fn cycle(placed: &Placed) -> Option<Vec<usize>> {
    let repos = &placed.manifest.repos;
    let index: HashMap<&str, usize> =
        repos.iter().enumerate().map(|(index, repo)| (repo.name.as_str(), index)).collect();
    let mut done = vec![false; repos.len()];
    for start in 0..repos.len() {
        // The path from `start`: each repository with the number of its dependencies visited so far.
        let mut way = vec![(start, 0)];
        while let Some((at, next)) = way.last_mut() {
            let depends_on = repos[*at].depends_on.get(*next).map(|name| index.get(name.as_str()).copied());
            *next += 1;
            match depends_on {
                None => {
                    done[*at] = true;
                    way.pop();
                }
                Some(Some(on)) if !done[on] => {
                    if let Some(begin) = way.iter().position(|(at, _)| *at == on) {
                        return Some(way[begin..].iter().map(|(at, _)| *at).chain([on]).collect());
                    }
                    way.push((on, 0));
                }
                Some(_) => {}
            }
        }
    }
    None
}
