//! The objects of a mirror, as one program of git gives them (`git cat-file --batch`): it is asked for one after the other.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ChildStdout};

use super::changed;
use super::tree::{Change, Mode};
use crate::error::{Code, Error, Result};
use crate::hex;

/// What git is asked with.
pub(super) const BATCH: [&str; 2] = ["cat-file", "--batch"];

/// Bytes of the largest folder that is compared entry by entry.
const MAX_TREE: u64 = 16 << 20;

/// The mode of a folder in a tree.
const FOLDER: &str = "40000";

/// A git that is asked for objects.
pub struct Objects {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// The entries of a folder: the mode and the id of each, by its name.
type Tree = BTreeMap<Vec<u8>, (String, String)>;

impl Objects {
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Self {
        Self { to, from: BufReader::with_capacity(64 << 10, from) }
    }

    /// Returns what differs between two commits below `path`; `None` where the older one is not here any more, where one of
    /// them has no folder there, and where a folder is too large to be compared.
    ///
    /// # Errors
    /// `E_GIT_FAILED`.
    pub fn changes(&mut self, old: &str, new: &str, path: &str) -> Result<Option<Vec<Change>>> {
        let (Some(old), Some(new)) = (self.folder(old, path)?, self.folder(new, path)?) else { return Ok(None) };
        let above = if path.is_empty() { String::new() } else { format!("{path}/") };
        let (mut changes, mut folders) = (Vec::new(), vec![(above, old, new)]);
        while let Some((above, old, mut new)) = folders.pop() {
            let mut pairs: Vec<_> = old.into_iter().map(|(name, was)| (new.remove(&name), name, Some(was))).collect();
            pairs.extend(new.into_iter().map(|(name, is)| (Some(is), name, None)));
            for (is, name, was) in pairs.into_iter().filter(|(is, _, was)| is != was) {
                let path = format!("{above}{}", String::from_utf8_lossy(&name));
                if let (Some((FOLDER, was)), Some((FOLDER, is))) = (in_words(&was), in_words(&is)) {
                    let (Some(was), Some(is)) = (self.tree(was)?, self.tree(is)?) else { return Ok(None) };
                    folders.push((path + "/", was, is));
                    continue;
                }
                let mode = |side: &Option<_>| in_words(side).and_then(|(mode, _)| Mode::parse(mode));
                let (old, new) = (mode(&was), mode(&is));
                changes.push(Change { path, old, new, object: is.map(|(_, object)| object).unwrap_or_default() });
            }
        }
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Some(changes))
    }

    /// Hands the content of each object to `each`, in their order, with its place in the list.
    ///
    /// # Errors
    /// What `each` returns; `E_SOURCE_CHANGED` where an object is missing; `E_GIT_FAILED`.
    pub fn read<'o>(
        &mut self,
        objects: impl Iterator<Item = &'o str>,
        mut each: impl FnMut(usize, &mut dyn Read) -> Result<()>,
    ) -> Result<()> {
        for (at, object) in objects.enumerate() {
            let line = self.ask(object)?;
            content(&line, &mut self.from, |content| each(at, content))?;
        }
        Ok(())
    }

    /// Returns what a commit has in the folder `path`, all of it where that is empty.
    fn folder(&mut self, commit: &str, path: &str) -> Result<Option<Tree>> {
        let mut found = self.tree(&format!("{commit}^{{tree}}"))?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let inside = found.and_then(|mut tree| tree.remove(name.as_bytes()));
            let Some((FOLDER, object)) = in_words(&inside) else { return Ok(None) };
            found = self.tree(object)?;
        }
        Ok(found)
    }

    /// Returns a tree; `None` where there is none, or a very large one.
    fn tree(&mut self, name: &str) -> Result<Option<Tree>> {
        let line = self.ask(name)?;
        let Some(size) = size_of("tree", &line) else { return Ok(None) };
        let (mut bytes, mut said) = (Vec::new(), (&mut self.from).take(size + 1));
        if size > MAX_TREE {
            std::io::copy(&mut said, &mut std::io::sink()).map_err(lost)?;
            return Ok(None);
        }
        said.read_to_end(&mut bytes).map_err(lost)?;
        bytes.pop();
        // An id has as many bytes as git's own name of the object says in digits.
        let id = line.split(' ').next().unwrap_or_default().len() / 2;
        entries(&bytes, id).ok_or_else(odd).map(Some)
    }

    /// Asks for an object, and returns what git says of it before its content.
    fn ask(&mut self, name: &str) -> Result<String> {
        self.to.write_all(format!("{name}\n").as_bytes()).map_err(lost)?;
        let mut line = String::new();
        if self.from.read_line(&mut line).map_err(lost)? == 0 {
            return Err(odd());
        }
        Ok(line)
    }
}

fn in_words(entry: &Option<(String, String)>) -> Option<(&str, &str)> {
    entry.as_ref().map(|(mode, object)| (mode.as_str(), object.as_str()))
}

/// Reads a tree whose ids have `id` bytes; `None` where it is something else.
fn entries(mut bytes: &[u8], id: usize) -> Option<Tree> {
    let mut tree = Tree::new();
    while !bytes.is_empty() {
        let space = memchr::memchr(b' ', bytes)?;
        let end = space + memchr::memchr(0, &bytes[space..])?;
        let object = bytes.get(end + 1..end + 1 + id)?;
        let mode = std::str::from_utf8(&bytes[..space]).ok()?.to_owned();
        tree.insert(bytes[space + 1..end].to_owned(), (mode, hex::encode(object)));
        bytes = &bytes[end + 1 + id..];
    }
    Some(tree)
}

/// Returns the size of the object that a line of git's tells of, where it is of a kind.
fn size_of(kind: &str, line: &str) -> Option<u64> {
    let mut words = line.split_whitespace().skip(1);
    words.next().filter(|is| *is == kind)?;
    words.next()?.parse().ok()
}

/// Reads what `git cat-file --batch` prints to its end.
pub(super) fn contents(said: &mut dyn Read, mut each: impl FnMut(usize, &mut dyn Read) -> Result<()>) -> Result<()> {
    let mut said = BufReader::with_capacity(64 << 10, said);
    let mut line = String::new();
    for at in 0.. {
        line.clear();
        if said.read_line(&mut line).map_err(lost)? == 0 {
            return Ok(());
        }
        content(&line, &mut said, |content| each(at, content))?;
    }
    Ok(())
}

/// Hands the content of a file to `each`, after the line that tells of it.
fn content(line: &str, said: &mut impl Read, each: impl FnOnce(&mut dyn Read) -> Result<()>) -> Result<()> {
    let Some(object) = line.split_whitespace().next() else { return Err(odd()) };
    let Some(size) = size_of("blob", line) else {
        return Err(changed(format!("The repository does not hold its object {object}")));
    };
    let mut content = said.take(size);
    each(&mut content)?;
    std::io::copy(&mut content, &mut std::io::sink()).map_err(lost)?;
    if content.limit() > 0 || content.into_inner().read_exact(&mut [0]).is_err() {
        return Err(odd());
    }
    Ok(())
}

/// Returns the failure of reading what git prints.
pub(super) fn lost(error: std::io::Error) -> Error {
    Error::new(Code::GitFailed, format!("Cannot read what git prints: {error}")).with_source(error)
}

/// Returns the failure of a git that says something else than it does.
pub(super) fn odd() -> Error {
    Error::new(Code::GitFailed, "git printed something else than was asked for, or ended too early")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_one_after_the_other_or_not_at_all() {
        let mut seen = Vec::new();
        let said = b"aa blob 3\nabc\nbb blob 0\n\n";
        let mut collect = |at: usize, content: &mut dyn Read| {
            let mut text = String::new();
            // What is not read is passed over.
            if at > 0 {
                content.read_to_string(&mut text).map_err(lost)?;
            }
            seen.push((at, text));
            Ok(())
        };
        contents(&mut &said[..], &mut collect).unwrap();
        assert_eq!(seen, [(0, String::new()), (1, String::new())]);
        let cut = contents(&mut &b"aa blob 9\nabc"[..], |_, _| Ok(())).unwrap_err();
        assert_eq!(cut.code(), Code::GitFailed);
        let missing = contents(&mut &b"aa missing\n"[..], |_, _| Ok(())).unwrap_err();
        assert_eq!(missing.code(), Code::SourceChanged);
    }

    #[test]
    fn a_tree_is_read_whole_or_not_at_all() {
        let said = [b"100644 a.md\0".as_slice(), &[1; 20], b"40000 b c\0", &[0xab; 20]].concat();
        let tree = entries(&said, 20).unwrap();
        assert_eq!(tree[b"a.md".as_slice()], ("100644".to_owned(), "01".repeat(20)));
        assert_eq!(tree[b"b c".as_slice()], ("40000".to_owned(), "ab".repeat(20)));
        assert_eq!(entries(&said[..said.len() - 1], 20), None);
        assert_eq!(entries(b"what", 20), None);
        assert_eq!(entries(b"", 20), Some(Tree::new()));
    }
}
