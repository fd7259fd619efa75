//! Tests random histories of three repositories: a finish gives the same result as a manual `git merge --no-ff`, and an
//! undo takes back all of it. `PROPTEST_CASES` can set the number of histories.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;

use super::imported::{FILE, Files, LINK, PROGRAM, Stream};
use super::shop::{REPOS, Shop};
use crate::support::{Tree, config};

/// The paths that commits write. Some are folders of others, so that files and folders replace each other.
const PATHS: [&[u8]; 13] = [
    b"a.txt",
    b"dir/b.txt",
    b"dir/sub/c.txt",
    b"other/d.txt",
    "grüße/é \u{2603}.txt".as_bytes(),
    b"with space/tab\tand\nline.txt",
    LONG.as_bytes(),
    b"dir",
    b"caf\xe9.txt",
    b"-dash.txt",
    b"a.txt/below.txt",
    b"union.list",
    b"picture.bin",
];

const LONG: &str = "long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long/\
    long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long/\
    long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long-long.txt";

const FOLDERS: [&[u8]; 5] = [b"dir", b"other", "grüße".as_bytes(), b"moved", b"dir/sub"];

/// Lines of `.gitattributes`. Files contain no carriage returns, so no file looks changed after git writes it with one
/// of these lines.
const ATTRIBUTES: [&str; 11] = [
    "union.list merge=union",
    "* merge=union",
    "*.txt -text",
    "*.txt text",
    "* text=auto",
    "*.txt text eol=crlf",
    "a.txt export-ignore",
    "*.bin binary",
    "*.txt -merge",
    "*.txt merge=unheard-of",
    "*.txt ident",
];

/// Settings of a repository that affect merges, checkouts and the index.
const CONFIG: [(&str, &str); 19] = [
    ("merge.renames", "false"),
    ("merge.directoryRenames", "true"),
    ("merge.directoryRenames", "false"),
    ("merge.renormalize", "true"),
    ("merge.renameLimit", "1"),
    ("merge.conflictStyle", "zdiff3"),
    ("merge.ff", "only"),
    ("merge.ff", "false"),
    ("merge.autoStash", "true"),
    ("diff.algorithm", "histogram"),
    ("diff.renames", "copies"),
    ("core.autocrlf", "true"),
    ("core.quotePath", "true"),
    ("core.splitIndex", "true"),
    ("index.version", "4"),
    ("status.showUntrackedFiles", "no"),
    ("status.renames", "false"),
    ("branch.develop.mergeOptions", "--squash"),
    ("branch.develop.mergeOptions", "--no-ff --no-commit"),
];

/// A change in one commit. Small numbers stand for paths, so that both sides often change the same file.
#[derive(Clone, Debug)]
enum Edit {
    Line(usize, usize, u8),
    Write(usize, u8),
    Delete(usize),
    Rename(usize, usize),
    RenameFolder(usize, usize),
    Execute(usize),
    Link(usize),
    Bytes(usize, u8),
    Attributes(usize, usize),
}

/// The branch of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Main,
    Develop,
    Branch,
}

/// What a repository has checked out.
#[derive(Clone, Copy, Debug)]
enum Out {
    Main,
    Develop,
    Branch,
    Detached,
    /// The branch, in a worktree of its own.
    Set,
    /// develop, in a worktree elsewhere, and the branch in the repository.
    Elsewhere,
}

#[derive(Clone, Debug)]
struct Commit {
    side: Side,
    /// Whether the commit merges the other side: the branch merges develop, or develop merges the branch.
    merges: bool,
    edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
struct History {
    commits: Vec<Commit>,
    out: Out,
    config: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Case {
    repos: Vec<History>,
    released: bool,
    squash: bool,
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = 0..PATHS.len();
    let folder = 0..FOLDERS.len();
    prop_oneof![
        6 => (path.clone(), 0..12_usize, any::<u8>()).prop_map(|(path, line, text)| Edit::Line(path, line, text)),
        2 => (path.clone(), 0..3_u8).prop_map(|(path, text)| Edit::Write(path, text)),
        2 => path.clone().prop_map(Edit::Delete),
        3 => (path.clone(), path.clone()).prop_map(|(path, to)| Edit::Rename(path, to)),
        2 => (folder.clone(), folder.clone()).prop_map(|(folder, to)| Edit::RenameFolder(folder, to)),
        1 => path.clone().prop_map(Edit::Execute),
        1 => path.clone().prop_map(Edit::Link),
        1 => (path, any::<u8>()).prop_map(|(path, byte)| Edit::Bytes(path, byte)),
        2 => (0..FOLDERS.len() + 1, 0..ATTRIBUTES.len()).prop_map(|(folder, rule)| Edit::Attributes(folder, rule)),
    ]
}

fn history() -> impl Strategy<Value = History> {
    let side = prop_oneof![1 => Just(Side::Main), 4 => Just(Side::Develop), 5 => Just(Side::Branch)];
    let merges = proptest::bool::weighted(0.15);
    let commit = (side, merges, proptest::collection::vec(edit(), 1..4));
    let commit = commit.prop_map(|(side, merges, edits)| Commit { side, merges, edits });
    let out = prop_oneof![
        Just(Out::Main),
        Just(Out::Develop),
        Just(Out::Branch),
        Just(Out::Detached),
        Just(Out::Set),
        Just(Out::Elsewhere)
    ];
    (proptest::collection::vec(commit, 0..6), out, proptest::collection::vec(0..CONFIG.len(), 0..3))
        .prop_map(|(commits, out, config)| History { commits, out, config })
}

fn case() -> impl Strategy<Value = Case> {
    let repos = proptest::collection::vec(history(), REPOS.len()..=REPOS.len());
    (repos, proptest::bool::weighted(0.25), proptest::bool::weighted(0.2)).prop_map(|(repos, released, squash)| Case {
        repos,
        released,
        squash: squash && !released,
    })
}

impl Edit {
    fn apply(&self, files: &mut Files) {
        match self {
            Edit::Line(path, line, text) => {
                let Some((_, bytes)) = files.get_mut(PATHS[*path]).filter(|(mode, _)| *mode != LINK) else { return };
                let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let at = line % lines.len();
                lines[at] = format!("changed to {text}").into_bytes();
                *bytes = lines.join(&b'\n');
            }
            Edit::Write(path, text) => put(files, PATHS[*path], FILE, lines(*text)),
            Edit::Delete(path) => drop(files.remove(PATHS[*path])),
            Edit::Rename(path, to) => {
                if let Some((mode, bytes)) = files.remove(PATHS[*path]) {
                    put(files, PATHS[*to], mode, bytes);
                }
            }
            Edit::RenameFolder(folder, to) => {
                let from = [FOLDERS[*folder], b"/"].concat();
                let below: Vec<_> = files.keys().filter(|path| path.starts_with(&from)).cloned().collect();
                for path in below {
                    let (mode, bytes) = files.remove(&path).expect("it was there");
                    put(files, &[FOLDERS[*to], b"/", &path[from.len()..]].concat(), mode, bytes);
                }
            }
            Edit::Execute(path) => {
                if let Some((mode, _)) = files.get_mut(PATHS[*path]).filter(|(mode, _)| *mode == FILE) {
                    *mode = PROGRAM;
                }
            }
            Edit::Link(path) => put(files, PATHS[*path], LINK, b"a.txt".to_vec()),
            Edit::Bytes(path, byte) => put(files, PATHS[*path], FILE, vec![0, byte.saturating_add(14), 0xff, b'\n']),
            Edit::Attributes(folder, rule) => {
                let above = FOLDERS.get(*folder).map_or(Vec::new(), |folder| [folder, &b"/"[..]].concat());
                let path = [&above[..], b".gitattributes"].concat();
                let mut text = files.get(&path).map_or(Vec::new(), |(_, text)| text.clone());
                text.extend(format!("{}\n", ATTRIBUTES[*rule]).bytes());
                put(files, &path, FILE, text);
            }
        }
    }
}

/// Puts a file in place, and removes files and folders that it conflicts with.
fn put(files: &mut Files, path: &[u8], mode: &'static str, bytes: Vec<u8>) {
    let below = |folder: &[u8], path: &[u8]| {
        path.len() > folder.len() && path.starts_with(folder) && path[folder.len()] == b'/'
    };
    files.retain(|other, _| !below(other, path) && !below(path, other));
    files.insert(path.to_vec(), (mode, bytes));
}

fn lines(text: u8) -> Vec<u8> {
    (0..12).map(|line| format!("line {line} of {text}, $Id$\n")).collect::<String>().into_bytes()
}

impl History {
    fn stream(&self, branch: &str) -> Stream {
        let mut stream = Stream::default();
        let mut base = Files::new();
        PATHS[..6].iter().enumerate().for_each(|(n, path)| put(&mut base, path, FILE, lines(n as u8)));
        put(&mut base, b"union.list", FILE, lines(9));
        put(&mut base, b".gitignore", FILE, b"*.ignored\n".to_vec());
        let first = stream.commit("main", None, None, &base);
        stream.branch("develop", first);
        stream.branch(branch, first);
        let mut at = BTreeMap::from(["main", "develop", branch].map(|name| (name, (first, base.clone()))));
        for commit in &self.commits {
            let (to, other) = match commit.side {
                Side::Main => ("main", "main"),
                Side::Develop => ("develop", branch),
                Side::Branch => (branch, "develop"),
            };
            let merged = (commit.merges && to != other && at[to].0 != at[other].0).then(|| at[other].clone());
            let (mark, files) = at.get_mut(to).expect("a branch");
            if let Some((_, theirs)) = &merged {
                for (path, (mode, bytes)) in
                    theirs.iter().filter(|(path, _)| !files.contains_key(*path)).collect::<Vec<_>>()
                {
                    put(files, path, mode, bytes.clone());
                }
            }
            commit.edits.iter().for_each(|edit| edit.apply(files));
            *mark = stream.commit(to, Some(*mark), merged.map(|(mark, _)| mark), files);
        }
        stream
    }
}

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
