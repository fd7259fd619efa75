//! Builds the list from which a person chooses what `mcpkg up` sets up.
//!
//! Unticked items are left out with `--only` patterns, so a command can make the same choice. Items that only a person
//! can allow are in a group of their own, and are not ticked at first.

use std::collections::{BTreeSet, HashSet};

use super::find::{Found, key_of_code, key_of_finding};
use super::show;
use super::wish::Wish;
use crate::plan::code::Code;
use mcpkg_agents::audit::Finding;
use mcpkg_content::import::Group;
use mcpkg_core::op::{PickGroup, PickItem};

/// The groups of the list, and the meaning of each of their items.
pub(super) struct Choices {
    pub(super) groups: Vec<PickGroup>,
    meanings: Vec<Vec<Meaning>>,
}

/// The meaning of an item of the list.
#[derive(Default)]
struct Meaning {
    /// The `--only` patterns that match the item's files, if it is imported.
    patterns: Vec<String>,
    /// What a person allows by ticking the item.
    keys: Vec<String>,
}

/// What a person chose.
pub(super) struct Picked {
    /// The patterns of `--only` that make the same choice. `None` if nothing is left out.
    pub(super) only: Option<Vec<String>>,
    /// What the person allowed.
    pub(super) allowed: HashSet<String>,
}

impl Choices {
    pub(super) fn of(found: &Found, wish: &Wish) -> Self {
        let mut choices = Self { groups: Vec::new(), meanings: Vec::new() };
        let (mut looks, mut of_looks) = (Vec::new(), Vec::new());
        let critical: Vec<&Finding> = found.critical().collect();
        let same = &found.gathered.account.same;
        let same: Vec<_> = same.iter().map(|same| (same.path.as_str(), same.of.as_str())).collect();
        let mut groups = found.groups.iter().chain(&found.of_source);
        while let Some(group) = groups.next() {
            let (mut items, mut meanings, mut paths) = (Vec::new(), Vec::new(), Vec::new());
            // A file with MCP servers is also a file of its agent. It is listed only once.
            let is_later = |path: &&String| groups.clone().any(|group| group.paths.contains(path));
            for path in group.paths.iter().filter(|path| !is_later(path)).collect::<BTreeSet<_>>() {
                let patterns = patterns(path, &same);
                let is_in = |finding: &&&Finding| is_at_or_below(&finding.path, path);
                let findings: Vec<&Finding> = critical.iter().filter(is_in).copied().collect();
                if findings.is_empty() {
                    paths.extend(group.paths.iter().filter(|other| *other == path).cloned());
                    items.push(item(path, Vec::new(), true));
                    meanings.push(Meaning { patterns, keys: Vec::new() });
                } else {
                    looks.push(item(path, details(&findings), false));
                    of_looks.push(Meaning { patterns, keys: findings.into_iter().map(key_of_finding).collect() });
                }
            }
            if !items.is_empty() {
                choices.add(Group { noun: group.noun, paths }.counted(), false, items, meanings);
            }
        }
        let runs = found.runs();
        for codes in together(&runs) {
            let (title, details) = show::program(wish, &codes);
            looks.push(item(&title, details, false));
            of_looks.push(Meaning { keys: codes.into_iter().map(key_of_code).collect(), ..Meaning::default() });
        }
        // Findings in content that the project already has.
        let known: HashSet<String> = critical.into_iter().map(key_of_finding).collect();
        let stored: Vec<&Finding> =
            found.outgoing.critical().filter(|finding| !known.contains(&key_of_finding(finding))).collect();
        for path in stored.iter().map(|finding| &finding.path).collect::<BTreeSet<_>>() {
            let findings: Vec<&Finding> = stored.iter().filter(|finding| finding.path == *path).copied().collect();
            looks.push(item(path, details(&findings), false));
            let keys = findings.into_iter().map(key_of_finding).collect();
            of_looks.push(Meaning { keys, ..Meaning::default() });
        }
        if !looks.is_empty() {
            choices.add("Look at this first; only you can allow it".to_owned(), true, looks, of_looks);
        }
        choices
    }

    fn add(&mut self, title: String, is_open: bool, items: Vec<PickItem>, meanings: Vec<Meaning>) {
        self.groups.push(PickGroup { title, is_open, items });
        self.meanings.push(meanings);
    }

    /// Returns what the ticks mean. `only` are the `--only` patterns that the list was made with.
    pub(super) fn picked(&self, ticks: &[Vec<bool>], only: &[String]) -> Picked {
        let (mut taken, mut left, mut allowed) = (Vec::new(), Vec::new(), HashSet::new());
        for (ticks, meanings) in ticks.iter().zip(&self.meanings) {
            for (is_ticked, meaning) in ticks.iter().zip(meanings) {
                if *is_ticked {
                    allowed.extend(meaning.keys.iter().cloned());
                    taken.extend(&meaning.patterns);
                } else {
                    left.extend(&meaning.patterns);
                }
            }
        }
        Picked { only: patterns_of(&taken, &left, only), allowed }
    }
}

/// Returns `--only` patterns that select what is taken or exclude what is left out, whichever list is shorter. Returns
/// `None` if nothing is left out.
fn patterns_of(taken: &[&String], left: &[&String], only: &[String]) -> Option<Vec<String>> {
    if left.is_empty() {
        return None;
    }
    if !taken.is_empty() && taken.len() < left.len() {
        let excluded = only.iter().filter(|pattern| pattern.starts_with('!'));
        return Some(taken.iter().copied().chain(excluded).cloned().collect());
    }
    Some(only.iter().cloned().chain(left.iter().map(|pattern| format!("!{pattern}"))).collect())
}

fn item(title: &str, details: Vec<String>, is_ticked: bool) -> PickItem {
    PickItem { title: title.to_owned(), details, is_ticked }
}

fn details(findings: &[&Finding]) -> Vec<String> {
    let lines = |finding: &&Finding| [format!("{}: {}", finding.at(), finding.rule.what), finding.shown.clone()];
    findings.iter().flat_map(lines).collect()
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the patterns that match a file or folder and its duplicates. If only the file were left out, the first of
/// its duplicates would be imported instead. `same` has the path of each duplicate and of its original.
fn patterns<'s>(path: &'s str, same: &[(&'s str, &'s str)]) -> Vec<String> {
    let duplicate = |&(other, of): &(&'s str, &'s str)| {
        let rest = of.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        Some(other.strip_suffix(rest).unwrap_or(other))
    };
    let duplicates: BTreeSet<&str> = same.iter().filter_map(duplicate).collect();
    std::iter::once(path).chain(duplicates).map(pattern).collect()
}

/// Returns the pattern, in .gitignore syntax, that matches only this path.
fn pattern(path: &str) -> String {
    let mut pattern = String::new();
    // Without a slash inside, a pattern matches in every folder. A leading `#` or `!` has a special meaning.
    if !path.trim_end_matches('/').contains('/') || path.starts_with(['#', '!']) {
        pattern.push('/');
    }
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    if pattern.ends_with(' ') {
        pattern.insert(pattern.len() - 1, '\\');
    }
    pattern
}

/// Groups what agents would run. Programs in one file are in one group, because a deploy writes the whole file or
/// nothing. The same program in several files is in one group too.
fn together(runs: &[Code]) -> Vec<Vec<&Code>> {
    let mut groups: Vec<Vec<&Code>> = Vec::new();
    for code in runs {
        let is_related = |group: &Vec<&Code>| group.iter().any(|c| c.runs == code.runs || c.path == code.path);
        let (related, mut others): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_related);
        others.push(related.into_iter().flatten().chain([code]).collect());
        groups = others;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_its_path_alone() {
        for (path, expected) in [
            ("CLAUDE.md", "/CLAUDE.md"),
            (".cursor/rules/ts.mdc", ".cursor/rules/ts.mdc"),
            ("a/[x]*.md", "a/\\[x\\]\\*.md"),
            ("#a/b.md", "/#a/b.md"),
        ] {
            assert_eq!(pattern(path), expected);
        }
    }

    #[test]
    fn a_duplicate_is_left_out_with_its_original() {
        let links = [("CLAUDE.md", "AGENTS.md"), (".agents/skills/a/SKILL.md", ".claude/skills/a/SKILL.md")];
        assert_eq!(patterns("AGENTS.md", &links), ["/AGENTS.md", "/CLAUDE.md"]);
        assert_eq!(patterns(".claude/skills/a", &links), [".claude/skills/a", ".agents/skills/a"]);
        assert_eq!(patterns(".claude/skills/ab", &links), [".claude/skills/ab"]);
    }

    #[test]
    fn the_shorter_list_of_patterns_is_used() {
        let [a, b, c] = ["a/x", "b/x", "c/x"].map(str::to_owned);
        assert_eq!(patterns_of(&[&a, &b], &[], &[]), None);
        assert_eq!(patterns_of(&[&a, &b], &[&c], &[]), Some(vec!["!c/x".to_owned()]));
        assert_eq!(patterns_of(&[&a], &[&b, &c], &["!d".to_owned()]), Some(vec![a.clone(), "!d".to_owned()]));
        // If nothing is taken, exclude everything: a list without patterns would import all files.
        assert_eq!(patterns_of(&[], &[&b], &["*.md".to_owned()]), Some(vec!["*.md".to_owned(), "!b/x".to_owned()]));
    }

    #[test]
    fn programs_in_one_file_are_allowed_together() {
        let runs = [("a", "x.json"), ("b", "y.json"), ("b", "x.json"), ("c", "z.json")];
        let runs = runs.map(|(runs, path)| Code::new(path, runs));
        let sizes: Vec<usize> = together(&runs).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 1]);
    }
}
