//! Tests random histories of three repositories: a finish gives the same result as a manual `git merge --no-ff`, and an
//! undo takes back all of it. `PROPTEST_CASES` can set the number of histories.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use super::imported::Stream;
use super::random_histories::{CONFIG, Case, History, Out, case};
use super::shop::{REPOS, Shop};
use crate::support::{Tree, config};

/// The complete state: indexes, configurations, work trees with modes and links, and all refs except those that keep
/// old commits.
#[derive(PartialEq, Eq)]
struct State {
    refs: Vec<String>,
    tree: Tree,
}

impl State {
    fn of(shop: &Shop) -> Self {
        let mut refs = Vec::new();
        for (repo, _) in REPOS {
            let folder = shop.repo(repo);
            let listed = shop.git(&folder, &["worktree", "list", "--porcelain", "-z"]);
            let mut lines: Vec<String> = listed.split('\0').map(str::to_owned).collect();
            for place in lines.clone().iter().filter_map(|line| line.strip_prefix("worktree ")) {
                for line in [&["ls-files", "-s", "-z"][..], &["status", "--porcelain", "-z", "-uall", "--ignored"]] {
                    lines.push(shop.git(Path::new(place), line));
                }
            }
            lines.push(shop.git(&folder, &["for-each-ref", "--format=%(refname) %(objectname) %(upstream)"]));
            lines.push(shop.git(&folder, &["config", "--local", "--list"]));
            let own = |line: &&str| !line.starts_with("refs/mcpkg/");
            refs.extend(
                lines.iter().map(|all| all.lines().map(str::trim_end).filter(own).collect::<Vec<_>>().join("\n")),
            );
        }
        let mut tree = Tree::of(&shop.root());
        tree.0.retain(|path, _| !path.iter().any(|part| part == ".git" || part == ".smctl"));
        Self { refs, tree }
    }

    #[track_caller]
    fn assert_is(&self, other: &Self, when: &str) {
        let differ = self.refs.iter().zip(&other.refs).find(|(is, was)| is != was);
        assert!(differ.is_none() && self.refs.len() == other.refs.len(), "{when}: is | should be {differ:?}");
        self.tree.assert_is(&other.tree, when);
    }
}

/// The result of a manual merge: the tree, nothing to merge, or the paths with conflicts.
#[derive(Debug, PartialEq, Eq)]
enum Merged {
    Tree(String),
    Nothing,
    Conflicts(BTreeSet<String>),
}

/// Merges manually in a copy of a repository.
fn by_hand(shop: &Shop, copy: &Path, target: &str, branch: &str) -> Merged {
    shop.git(copy, &["checkout", "-q", "-f", target]);
    let before = shop.git(copy, &["rev-parse", "HEAD"]);
    let output = shop.git_command(copy).args(["merge", "-q", "--no-ff", "--no-edit", branch]).output().expect("git");
    let unmerged = shop.git_command(copy).args(["ls-files", "-u", "-z"]).output().expect("git starts").stdout;
    let names = unmerged.split(|byte| *byte == 0).filter_map(|line| line.splitn(2, |byte| *byte == b'\t').nth(1));
    let names: BTreeSet<String> = names.map(told).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) if shop.git(copy, &["rev-parse", "HEAD"]) == before => Merged::Nothing,
        Some(0) => Merged::Tree(shop.git(copy, &["rev-parse", "HEAD^{tree}"])),
        Some(1) if !names.is_empty() => Merged::Conflicts(names),
        status => panic!("git merge by hand: {status:?}: {said}"),
    }
}

/// Returns a path as answers show it. If a file makes way for a folder, git adds `~` and the commit or branch to the
/// file's name. This part is removed.
fn told(path: &[u8]) -> String {
    let path = PathBuf::from(OsStr::from_bytes(path)).display().to_string();
    path.split('~').next().unwrap_or_default().to_owned()
}

/// Returns the expected merges of a finish in order, each with its target.
fn expected(shop: &Shop, repo: &str, branch: &str, released: bool) -> Vec<(&'static str, Merged)> {
    let copy = shop.scratch.path().join("by hand").join(repo);
    std::fs::create_dir_all(&copy).expect("a folder");
    let copied = std::process::Command::new("cp").arg("-a").arg(shop.repo(repo).join(".git")).arg(&copy).status();
    assert!(copied.expect("cp starts").success());
    let _ = shop.git_command(&copy).args(["config", "--unset-all", "branch.develop.mergeOptions"]).status();
    if !released {
        return vec![("develop", by_hand(shop, &copy, "develop", branch))];
    }
    let on_main = by_hand(shop, &copy, "main", branch);
    if let Merged::Conflicts(_) = on_main {
        return vec![("main", on_main)];
    }
    shop.git(&copy, &["tag", "-a", "-m", "x", "v1.0.0"]);
    let on_develop = by_hand(shop, &copy, "develop", "v1.0.0");
    vec![("main", on_main), ("develop", on_develop)]
}

/// Checks out what the case needs, and adds untracked files.
fn set_up(shop: &Shop, repo: &str, history: &History, branch: &str) {
    let folder = shop.repo(repo);
    let (_, path) = REPOS.into_iter().find(|(name, _)| *name == repo).expect("a repository");
    let set = shop.root().join(".worktrees/login").join(path).display().to_string();
    let elsewhere = shop.scratch.path().join("elsewhere").join(repo).display().to_string();
    // Remove all files first, so that git writes each file with the attributes of the new commit.
    let switch = |to: &[&str]| {
        shop.git(&folder, &["rm", "-q", "-r", "-f", "."]);
        shop.git(&folder, &[&["checkout", "-q", "-f"], to].concat());
    };
    match history.out {
        Out::Main => switch(&["main"]),
        Out::Develop => switch(&["develop"]),
        Out::Branch => switch(&[branch]),
        Out::Detached => switch(&["--detach", "develop"]),
        Out::Set => {
            switch(&["develop"]);
            shop.git(&folder, &["worktree", "add", "-q", &set, branch]);
        }
        Out::Elsewhere => {
            switch(&[branch]);
            shop.git(&folder, &["worktree", "add", "-q", &elsewhere, "develop"]);
        }
    }
    for file in ["untracked.txt", "mine.ignored"] {
        std::fs::write(folder.join(file), "mine\n").expect("a file");
    }
}

/// Returns the work trees of a repository, each with its checked-out commit.
fn places(shop: &Shop, repo: &str) -> BTreeMap<PathBuf, String> {
    let listed = shop.git(&shop.repo(repo), &["worktree", "list", "--porcelain", "-z"]);
    let places = listed.split('\0').filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from);
    places.map(|place| (place.clone(), shop.git(&place, &["rev-parse", "HEAD"]))).collect()
}

/// Checks that a work tree is the same as its commit. git does not rewrite a file that is equal in two commits, even if
/// other attributes would change it (carriage returns, `$Id$`). git reports such a file as changed once it reads the
/// file again, after a manual merge too. Whether it reads the file depends on the file's time.
fn assert_unchanged(shop: &Shop, place: &Path, was: Option<&String>) {
    let changed = shop.git(place, &["status", "--porcelain", "-z", "--untracked-files=no"]);
    let changed: Vec<&str> = changed.split('\0').filter(|line| !line.is_empty()).collect();
    if changed.is_empty() {
        return;
    }
    let was = was.unwrap_or_else(|| panic!("{}: a new work tree has changes: {changed:?}", place.display()));
    let differ = shop.git(place, &["diff", "--name-only", "--no-renames", "-z", was, "HEAD"]);
    let differ: BTreeSet<&str> = differ.split('\0').collect();
    assert!(differ.iter().any(|path| path.ends_with(".gitattributes")), "{}: {changed:?}", place.display());
    for line in changed {
        let left_alone = line.strip_prefix(" M ").is_some_and(|path| !differ.contains(path));
        assert!(left_alone, "{}: inverse changes: {line}", place.display());
    }
}

fn check(case: &Case) {
    let branch = if case.released { "release/1.0.0" } else { "feature/login" };
    let streams: Vec<Stream> = case.repos.iter().map(|history| history.stream(branch)).collect();
    let shop = Shop::imported(&streams.try_into().unwrap_or_else(|_| unreachable!("three of them")));
    let mut by_hand = Vec::new();
    for ((repo, _), history) in REPOS.iter().zip(&case.repos) {
        for (key, value) in history.config.iter().map(|n| CONFIG[*n]) {
            shop.git(&shop.repo(repo), &["config", key, value]);
        }
        by_hand.push(expected(&shop, repo, branch, case.released));
        set_up(&shop, repo, history, branch);
    }
    let mut conflicts = Vec::new();
    for ((repo, _), merges) in REPOS.iter().zip(&by_hand) {
        for (target, merged) in merges {
            if let Merged::Conflicts(paths) = merged {
                conflicts.push((*repo, *target, paths.clone()));
            }
        }
    }
    let before = State::of(&shop);
    let old = REPOS.map(|(repo, _)| ["main", "develop", branch].map(|name| shop.id(repo, name)));
    let had = REPOS.map(|(repo, _)| places(&shop, repo));
    let mut line = if case.released {
        vec!["flow", "release", "finish", "1.0.0"]
    } else {
        vec!["flow", "feature", "finish", "login"]
    };
    if case.squash {
        line.push("--squash");
    }
    if !conflicts.is_empty() {
        let (error, _) = shop.refused(&line);
        assert_eq!(error["code"], "E_FLOW_CONFLICT", "{error}");
        let rows = error["details"]["conflicts"].as_array().expect("conflicts");
        let text = |row: &Value| row.as_str().unwrap_or_default().to_owned();
        let told: Vec<_> = rows
            .iter()
            .map(|row| {
                let paths = row["paths"].as_array().expect("paths").iter().map(text);
                let paths = paths.map(|path| path.split('~').next().unwrap_or_default().to_owned());
                (text(&row["repo"]), text(&row["target"]), paths.collect::<BTreeSet<_>>())
            })
            .collect();
        let expected: Vec<_> =
            conflicts.into_iter().map(|(repo, target, paths)| (repo.to_owned(), target.to_owned(), paths)).collect();
        assert_eq!(told, expected);
        State::of(&shop).assert_is(&before, "after a finish that was refused");
        shop.assert_tidy();
        return;
    }
    shop.ok(&line);
    for (n, (repo, _)) in REPOS.into_iter().enumerate() {
        for (target, merged) in &by_hand[n] {
            let was = &old[n][usize::from(*target == "develop")];
            match merged {
                // Squashed commits that change nothing make no commit.
                Merged::Tree(tree) if case.squash && shop.id(repo, &format!("{was}^{{tree}}")) == *tree => {
                    assert_eq!(&shop.id(repo, target), was, "{repo}: nothing to squash into {target}");
                }
                Merged::Tree(tree) => {
                    assert_eq!(&shop.id(repo, &format!("{target}^{{tree}}")), tree, "{repo}: {target}");
                    assert_eq!(&shop.id(repo, &format!("{target}^1")), was, "{repo}: {target}");
                    let second = shop.id(repo, &format!("{target}^2"));
                    let tip = if *target == "develop" && case.released {
                        shop.id(repo, "v1.0.0^{}")
                    } else {
                        old[n][2].clone()
                    };
                    assert_eq!(second, if case.squash { String::new() } else { tip }, "{repo}: {target}");
                }
                _ => assert_eq!(&shop.id(repo, target), was, "{repo}: nothing to merge into {target}"),
            }
        }
        assert_eq!(shop.id(repo, branch), "", "{repo}: the branch is gone");
        for place in places(&shop, repo).keys() {
            assert_unchanged(&shop, place, had[n].get(place));
        }
        for file in ["untracked.txt", "mine.ignored"] {
            assert_eq!(std::fs::read_to_string(shop.repo(repo).join(file)).ok().as_deref(), Some("mine\n"));
        }
    }
    shop.assert_tidy();
    shop.ok(&["flow", "undo"]);
    State::of(&shop).assert_is(&before, "after undo");
    shop.assert_tidy();
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 60, ..config(12) })]

    #[test]
    fn a_finish_gives_what_a_merge_by_hand_gives_and_undo_takes_it_back(case in case()) {
        check(&case);
    }
}
