//! Creates repositories quickly, with one `git fast-import` each instead of a clone.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use super::shop::{REPOS, Shop};
use crate::support::Scratch;

/// The files of a commit: the mode and bytes of each path.
pub type Files = BTreeMap<Vec<u8>, (&'static str, Vec<u8>)>;

/// File modes in git's notation.
pub const FILE: &str = "100644";
pub const PROGRAM: &str = "100755";
pub const LINK: &str = "120000";

/// Commits in the format of `git fast-import`.
#[derive(Default)]
pub struct Stream {
    text: Vec<u8>,
    marks: usize,
}

impl Stream {
    /// Adds a commit to a branch, and returns its mark. Its first parent is the branch's last commit, or `from` for a
    /// new branch.
    pub fn commit(&mut self, branch: &str, from: Option<usize>, merged: Option<usize>, files: &Files) -> usize {
        self.marks += 1;
        let mark = self.marks;
        let when = 1_700_000_000 + mark;
        self.line(&format!("commit refs/heads/{branch}\nmark :{mark}\ncommitter Ada <ada@example.org> {when} +0000"));
        self.data(format!("commit {mark}\n").as_bytes());
        from.into_iter().for_each(|from| self.line(&format!("from :{from}")));
        merged.into_iter().for_each(|merged| self.line(&format!("merge :{merged}")));
        self.line("deleteall");
        for (path, (mode, bytes)) in files {
            self.text.extend(format!("M {mode} inline ").bytes());
            self.text.extend(quoted(path));
            self.text.push(b'\n');
            self.data(bytes);
        }
        mark
    }

    /// Creates a branch at a commit.
    pub fn branch(&mut self, name: &str, at: usize) {
        self.line(&format!("reset refs/heads/{name}\nfrom :{at}\n"));
    }

    fn line(&mut self, line: &str) {
        self.text.extend(line.bytes());
        self.text.push(b'\n');
    }

    fn data(&mut self, bytes: &[u8]) {
        self.line(&format!("data {}", bytes.len()));
        self.text.extend(bytes);
        self.text.push(b'\n');
    }
}

fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    quoted
}

impl Shop {
    /// Returns a workspace with the repositories of the streams, each with `main` checked out. Their origins do not
    /// exist.
    pub fn imported(streams: &[Stream; 3]) -> Self {
        let shop = Self { scratch: Scratch::new() };
        shop.scratch.file(
            ".gitconfig",
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[advice]\n\tdetachedHead = false\n",
        );
        let mut manifest = "[workspace]\nname = \"shop\"\n".to_owned();
        for ((repo, path), stream) in REPOS.iter().zip(streams) {
            let url = shop.origin(repo).display().to_string();
            manifest += &format!("\n[[repos]]\nname = \"{repo}\"\nurl = \"{url}\"\npath = \"{path}\"\n");
            import(&shop, &shop.repo(repo), &stream.text);
        }
        shop.scratch.file("work/shop/.smctl/workspace.toml", manifest);
        shop
    }
}

fn import(shop: &Shop, folder: &Path, stream: &[u8]) {
    std::fs::create_dir_all(folder).expect("a folder");
    shop.git(folder, &["init", "-q"]);
    let mut command = shop.git_command(folder);
    let mut child = command.args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().expect("git starts");
    child.stdin.take().expect("its input").write_all(stream).expect("it reads");
    assert!(child.wait().expect("it ends").success(), "{}", String::from_utf8_lossy(stream));
    shop.git(folder, &["reset", "-q", "--hard", "main"]);
}

/// Returns a workspace with a feature that has a commit in each repository, and with new commits on develop. The files
/// of the feature are `code.txt`, which is changed, `deep/er/login.txt`, and `picture.bin`, which does not compress.
pub fn with_feature() -> Shop {
    let text = |text: &str| (FILE, text.as_bytes().to_vec());
    let mut random = 1_u64;
    let mut byte = || {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (random >> 56) as u8
    };
    let picture: Vec<u8> = (0..300_000).map(|_| byte()).collect();
    let stream = |_| {
        let mut stream = Stream::default();
        let mut files = Files::from([(b"README.md".to_vec(), text("#\n")), (b"code.txt".to_vec(), text("one\ntwo\n"))]);
        files.insert(b"deep/old.txt".to_vec(), text("old\n"));
        let first = stream.commit("main", None, None, &files);
        let mut develop = files.clone();
        develop.insert(b"develop.txt".to_vec(), text("develop\n"));
        stream.commit("develop", Some(first), None, &develop);
        files.insert(b"code.txt".to_vec(), text("one\nchanged\n"));
        files.insert(b"deep/er/login.txt".to_vec(), text("login\n"));
        files.insert(b"picture.bin".to_vec(), (FILE, picture.clone()));
        files.insert(b"zebra.txt".to_vec(), text("zebra\n"));
        files.remove(b"deep/old.txt".as_slice());
        stream.commit("feature/login", Some(first), None, &files);
        stream
    };
    Shop::imported(&[0, 1, 2].map(stream))
}

/// Like [`with_feature`], with develop checked out everywhere, so that its files change too.
pub fn on_develop() -> Shop {
    let shop = with_feature();
    REPOS.iter().for_each(|(repo, _)| drop(shop.git(&shop.repo(repo), &["switch", "-q", "develop"])));
    shop
}
