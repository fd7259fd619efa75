//! Chooses the links, copies and forms that an export makes: those that an import recognizes as the same as their
//! originals. None is below another.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::back::{Expected, comes_back, importable, is_said, understand};
use super::layout::{Layout, is_safe};
use super::second_places::{Group, Second, beside, files_of};
use crate::import::item::Understood;
use crate::import::kept::Found;
use crate::import::links::end;
use crate::import::place::Places;
use crate::import::scan::{File, lies_in_agents_folder};
use mcpkg_base::error::Result;
use mcpkg_store::links::{Link, Target};

/// Returns those of the links that lead to one of these files, or to a folder of some, and whose paths are free.
pub(crate) fn fitting_links(links: Vec<Link>, layout: &mut Layout, files: &[&str]) -> Vec<Link> {
    links.into_iter().filter(|link| is_one_thing(link, files) && claim(layout, &link.path)).collect()
}

/// Reserves a path that does not equal, contain or lie below another one.
fn claim(layout: &mut Layout, path: &str) -> bool {
    is_safe(path) && layout.claim(path)
}

/// The files of an export: those of its items, with what each is to bring back.
#[derive(Clone, Copy)]
pub struct Own<'o> {
    pub files: &'o [File],
    /// What each is to bring back.
    pub expected: &'o [Expected<'o>],
}

impl<'o> Own<'o> {
    /// Returns what an import makes of the files together with others, which replace those that have their paths.
    fn with<'a>(self, others: impl Iterator<Item = &'a File> + Clone) -> Result<Understood>
    where
        'o: 'a,
    {
        understand(beside(self.files, others))
    }

    /// Says of each file whether what was made of it is what is expected; `None` if something was made that is not.
    fn come_back(self, understood: &Understood) -> Option<Vec<bool>> {
        let has_no_more = understood.items.len() <= self.files.len() && understood.clashes.is_empty();
        has_no_more.then(|| comes_back(understood, self.files, self.expected).collect())
    }
}

/// Returns the copies and forms that could be added to the files, or replace them. `layout` has the paths of the files.
pub fn candidates(copies: &[Link], forms: Vec<Second>, layout: &mut Layout, files: &[File]) -> Vec<Group> {
    let by_path: HashMap<&str, &File> = files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let copy = |link: Link| {
        let Target::Copy(original) = &link.target else { return None };
        let file = File { relative: link.path.clone(), listed: None, ..(*by_path.get(original.as_str())?).clone() };
        Some((link, file))
    };
    let mut all: Vec<Second> = of_files(copies, files).into_iter().filter_map(copy).chain(forms).collect();
    all.retain(|(link, _)| by_path.contains_key(link.path.as_str()) || claim(layout, &link.path));
    grouped(all, &by_path)
}

/// The files of an export, without links.
pub struct Fitting {
    /// The files of the items.
    pub files: Vec<File>,
    /// The copies and forms.
    pub seconds: Vec<Group>,
    /// The MCP servers that are read from the files.
    pub servers: Vec<Found>,
}

/// Returns files from which an import restores what is `expected` of each, and those of the copies and forms that can be added.
pub fn fit(files: &[File], mut seconds: Vec<Group>, expected: &[Expected<'_>]) -> Result<Fitting> {
    loop {
        let (complete, servers) = importable(files.to_vec(), &seconds, expected)?;
        let before = seconds.len();
        seconds = fitting(seconds, Own { files: &complete, expected })?;
        // If a copy or form is not made, the manifest may have to say what it said.
        if seconds.len() == before {
            return Ok(Fitting { files: complete, seconds, servers });
        }
    }
}

/// Returns the groups that an import recognizes as the same as their files, and that do not change what it restores
/// otherwise.
fn fitting(mut groups: Vec<Group>, own: Own<'_>) -> Result<Vec<Group>> {
    let by_path: HashMap<&str, &File> = own.files.iter().map(|file| (file.relative.as_str(), file)).collect();
    let mut fitting = Vec::new();
    while !groups.is_empty() {
        let understood = own.with(files_of(&groups))?;
        let same: HashMap<&str, &str> =
            understood.same.iter().map(|(path, other)| (path.as_str(), other.as_str())).collect();
        let partial: HashSet<&str> = understood.partial.iter().map(String::as_str).collect();
        let taken_for = |path: &str| same.get(path).copied().unwrap_or(path).to_owned();
        let is_same = |(link, form): &Second| {
            let path = link.path.as_str();
            match (&link.target, by_path.get(path)) {
                (Target::Copy(original), _) => taken_for(path) == taken_for(original),
                (Target::Form(_), Some(file)) => file.listed.is_none() || file.content == form.content,
                (Target::Form(_), None) => same.contains_key(path) || partial.contains(path),
                (Target::Link(_), _) => false,
            }
        };
        let before = groups.len();
        groups.retain(|group| group.iter().all(is_same));
        if groups.len() == before {
            let mut back = own.come_back(&understand(own.files.iter())?).unwrap_or_default();
            add_fitting(groups, &mut fitting, &mut back, own)?;
            break;
        }
    }
    Ok(fitting)
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

/// Adds the groups with which every file that is `back` without them is still restored: a copy can change what an import takes another
/// file for. If not all groups fit, each half is tried by itself.
fn add_fitting(mut groups: Vec<Group>, fitting: &mut Vec<Group>, back: &mut Vec<bool>, own: Own<'_>) -> Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let understood = own.with(files_of(fitting).chain(files_of(&groups)))?;
    match own.come_back(&understood) {
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

/// Puts those together that are of one skill.
fn grouped(all: Vec<Second>, by_path: &HashMap<&str, &File>) -> Vec<Group> {
    let mut paths: Vec<&str> = by_path.keys().copied().chain(all.iter().map(|(link, _)| link.path.as_str())).collect();
    paths.sort_unstable();
    paths.dedup();
    let places = Places::of_export(paths.into_iter());
    let skill_of = |path: &str| places.of(path).ok().and_then(|place| place.skill);
    let keys: Vec<String> = all
        .iter()
        .map(|(link, _)| skill_of(&link.path).map_or_else(|| link.path.clone(), |skill| skill.folder))
        .collect();
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (key, second) in keys.into_iter().zip(all) {
        groups.entry(key).or_default().push(second);
    }
    groups.into_values().collect()
}

/// Returns the paths of those of the files that need not be written, since `groups` say what they do: instructions that came out of a
/// file that gathers several. It is all of them or none.
pub fn said_elsewhere(groups: &[Group], own: Own<'_>) -> Result<HashSet<String>> {
    let is_gathered = |expected: &Expected<'_>| {
        expected.is_some_and(|(entry, _)| {
            let is_loaded = entry.what.uri().is_some_and(|uri| uri.starts_with("instructions://"));
            is_loaded && entry.origin.path.is_none()
        })
    };
    let (said, written): (Vec<_>, Vec<_>) =
        own.files.iter().zip(own.expected).partition(|(_, expected)| is_gathered(expected));
    let has_forms = groups.iter().flatten().any(|(link, _)| matches!(link.target, Target::Form(_)));
    if said.is_empty() || !has_forms {
        return Ok(HashSet::new());
    }
    let (files, expected): (Vec<File>, Vec<Expected<'_>>) =
        written.into_iter().map(|(file, expected)| (file.clone(), *expected)).unzip();
    let rest = Own { files: &files, expected: &expected };
    let understood = rest.with(files_of(groups))?;
    let all_back = understood.items.len() == own.files.len()
        && understood.clashes.is_empty()
        && comes_back(&understood, &files, &expected).all(|back| back)
        && said.iter().all(|(_, expected)| is_said(&understood, expected));
    let paths = said.into_iter().map(|(file, _)| file.relative.clone());
    Ok(if all_back { paths.collect() } else { HashSet::new() })
}

/// Whether a link leads to files, and each means the same to an agent behind the link as at its own path.
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
    if shown.iter().any(|(_, file)| *file != end) && !lies_in_agents_folder(&link.path) {
        return true;
    }
    let mut all: Vec<&str> = files.iter().copied().chain(shown.iter().map(|(shown, _)| shown.as_str())).collect();
    all.sort_unstable();
    let places = Places::of_export(all.into_iter());
    let same = |(shown, file): &(String, &str)| match places.of(shown) {
        Ok(shown) => places.of(file).is_ok_and(|file| file.role == shown.role),
        // A file that means nothing to agents behind a link to a folder cannot mean something else there.
        Err(_) => *file != end,
    };
    !shown.is_empty() && shown.iter().all(same)
}
