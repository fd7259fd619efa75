//! Random histories of repositories, with changes of many kinds on both sides of a merge.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::imported::{FILE, Files, LINK, PROGRAM, Stream};
use super::shop::REPOS;

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
pub const CONFIG: [(&str, &str); 19] = [
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
pub enum Edit {
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
pub enum Side {
    Main,
    Develop,
    Branch,
}

/// What a repository has checked out.
#[derive(Clone, Copy, Debug)]
pub enum Out {
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
pub struct Commit {
    pub side: Side,
    /// Whether the commit merges the other side: the branch merges develop, or develop merges the branch.
    pub merges: bool,
    pub edits: Vec<Edit>,
}

#[derive(Clone, Debug)]
pub struct History {
    pub commits: Vec<Commit>,
    pub out: Out,
    pub config: Vec<usize>,
}

#[derive(Clone, Debug)]
pub struct Case {
    pub repos: Vec<History>,
    pub released: bool,
    pub squash: bool,
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

pub fn case() -> impl Strategy<Value = Case> {
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
    pub fn stream(&self, branch: &str) -> Stream {
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
