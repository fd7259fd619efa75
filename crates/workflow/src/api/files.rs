//! The files that a document of a file refers to: read once each, and put into the document, so that all references lead to places
//! inside it.
//!
//! Only files below the document's own folder are read, and no link leads out of it. What is not there, or lies elsewhere, stays a
//! reference out of the document.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::parse::{MOST_JSON, parse};
use super::places::{KEY, Part};
use mcpkg_base::disk::folders::Folders;

/// The most files that a document may refer to.
const MOST: usize = 10_000;

/// Reads the files that a document at a path refers to, and those that these refer to, and makes the references lead to them.
pub fn gather(document: &mut Value, path: &Path) -> Vec<Part> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let mut files = Files {
        folder: folder.to_owned(),
        folders: Folders::below(vec![folder.to_owned()]),
        known: HashMap::from([(PathBuf::from(name), Some(String::new()))]),
        parts: Vec::new(),
        values: Vec::new(),
        left: MOST_JSON as u64,
    };
    files.point(document, Path::new(name), "");
    // Each of them may add more.
    let mut next = 0;
    while next < files.parts.len() {
        let mut value = files.values[next].take();
        let name = PathBuf::from(&files.parts[next].name);
        files.point(&mut value, &name, &format!("/{KEY}/{next}"));
        files.values[next] = value;
        next += 1;
    }
    if let (Some(fields), false) = (document.as_object_mut(), files.parts.is_empty()) {
        fields.insert(KEY.to_owned(), Value::Array(files.values));
    }
    files.parts
}

struct Files {
    folder: PathBuf,
    folders: Folders,
    /// Where each file that was asked for stands in the document; `None` where it cannot be read.
    known: HashMap<PathBuf, Option<String>>,
    parts: Vec<Part>,
    values: Vec<Value>,
    /// How many bytes are still read.
    left: u64,
}

impl Files {
    /// Makes the references of a value of the file `name`, which stands at `at` in the document, lead to places in the document.
    fn point(&mut self, value: &mut Value, name: &Path, at: &str) {
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.point(value, name, at)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(reference) if key == "$ref" => {
                            if let Some(inside) = self.inside(reference, name, at) {
                                *reference = inside;
                            }
                        }
                        value => self.point(value, name, at),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns a reference of the file `name` as one within the document; `None` where it stays as it is.
    fn inside(&mut self, reference: &str, name: &Path, at: &str) -> Option<String> {
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return None;
        }
        if file.is_empty() {
            return (!at.is_empty()).then(|| format!("#{at}{fragment}"));
        }
        let path = below(name.parent()?, &percent_decode_str(file).decode_utf8().ok()?)?;
        let at = match self.known.get(&path) {
            Some(known) => known.clone(),
            None => {
                let read = self.read(&path);
                self.known.insert(path, read.clone());
                read
            }
        };
        at.map(|at| format!("#{at}{fragment}"))
    }

    /// Reads a file, and returns where it stands in the document.
    fn read(&mut self, path: &Path) -> Option<String> {
        if self.parts.len() == MOST {
            return None;
        }
        // A link to a folder above leads out as well, though what holds folders open opens those on the way to its root.
        let held =
            self.folder.join(path.parent()?).canonicalize().ok().filter(|held| held.starts_with(&self.folder))?;
        let whole = held.join(path.file_name()?);
        let (folder, name) = self.folders.holding(&whole).ok()??;
        let bytes = folder.read(name, self.left).ok()?;
        let size = bytes.len() as u64;
        let (text, format, value) = parse(bytes).ok()?;
        self.left = self.left.saturating_sub(size);
        self.parts.push(Part { name: path.to_str()?.to_owned(), text, format });
        self.values.push(value);
        Some(format!("/{KEY}/{}", self.parts.len() - 1))
    }
}

/// Returns the path that a relative one names from a folder, without `.` and `..`; `None` where it leads out of the root of all.
fn below(folder: &Path, relative: &str) -> Option<PathBuf> {
    if relative.contains("://") || relative.contains('\0') {
        return None;
    }
    let mut path = folder.to_owned();
    for part in Path::new(relative).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    path.file_name().is_some().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_never_leads_out() {
        let from = |folder: &str, relative: &str| below(Path::new(folder), relative);
        assert_eq!(from("", "./a/../b.yaml"), Some("b.yaml".into()));
        assert_eq!(from("a/b", "../../c.yaml"), Some("c.yaml".into()));
        for (folder, relative) in [
            ("", "../a.yaml"),
            ("a", "../../a.yaml"),
            ("", "/etc/passwd"),
            ("", "file:///etc/passwd"),
            ("a", ".."),
            ("", "https://x/a"),
        ] {
            assert_eq!(from(folder, relative), None, "{relative}");
        }
    }
}
