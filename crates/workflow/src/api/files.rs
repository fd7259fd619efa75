//! Collects the files that a document refers to: reads each once, and embeds it in the document so that all references are
//! internal.
//!
//! mcpkg reads only files below the document's own folder, and follows no link out of it. A reference to any other file stays
//! unchanged.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::parse::{MOST_JSON, parse};
use super::places::{KEY, Part};
use mcpkg_base::disk::folders::Folders;

const MOST: usize = 10_000;

/// Embeds the files that a document refers to, directly or indirectly, and rewrites the references to them. Skips files that
/// cannot be read or are outside of the document's folder.
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
    // The loop reaches the files that are added while it runs.
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
    /// The place in the document where each file is embedded. `None` if the file cannot be read.
    known: HashMap<PathBuf, Option<String>>,
    parts: Vec<Part>,
    values: Vec<Value>,
    /// The number of bytes that may still be read.
    left: u64,
}

impl Files {
    /// Rewrites the references in a value of the file `name`. The value is embedded at `at` in the document.
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

    /// Rewrites a reference in the file `name` to point inside the document. Returns `None` if it must stay unchanged.
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

    /// Reads a file and returns where it is embedded in the document.
    fn read(&mut self, path: &Path) -> Option<String> {
        if self.parts.len() == MOST {
            return None;
        }
        // Skip a file whose real folder is outside of the document's folder.
        let held = mcpkg_base::platform::real(&self.folder.join(path.parent()?))
            .ok()
            .filter(|held| held.starts_with(&self.folder))?;
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

/// Resolves `.` and `..` in a path relative to a folder. Returns `None` if the path leads out of the document's folder.
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
