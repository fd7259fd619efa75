//! The files of prompts whose attributes are in a manifest: importing them restores exactly these attributes.

use super::dialect::Dialect;
use super::{Read, matter, read, source, toml_file};
use mcpkg_store::prompts::Attributes;

/// Returns the file that reads as exactly this prompt, apart from the file's path; `None` if there is no such file.
pub fn exact(name: &str, attributes: &Attributes, text: &str) -> Option<String> {
    let file = source(name, attributes, text).ok()?;
    let read = read_like(&file, attributes);
    (read.content == text && is_same(&read.attributes, attributes)).then_some(file)
}

/// The header for a text that would otherwise be read differently.
const ALONE: &str = "---\n# The text follows as it is; mcpkg.export.json says the rest.\n---\n";

/// Returns the file of a prompt whose attributes a manifest lists: the one that it was imported from where that can be, else its
/// text. [`listed`] reads it as this prompt.
pub fn to_list(name: &str, attributes: &Attributes, text: &str) -> String {
    let reads_back = |file: &String| {
        let (read, content) = listed(file, attributes);
        read == *attributes && content == text
    };
    let files = exact(name, attributes, text).into_iter().chain([text.to_owned()]);
    files.into_iter().find(reads_back).unwrap_or_else(|| ALONE.to_owned() + text)
}

/// Returns what the file of a prompt says whose attributes a manifest lists as `known`: what it reads as where those are the same,
/// or where the front matter that [`exact`] writes was edited. Any other file is the text alone.
pub fn listed(file: &str, known: &Attributes) -> (Attributes, String) {
    if let Some(text) = file.strip_prefix(ALONE) {
        return (known.clone(), text.to_owned());
    }
    let Read { attributes, content, .. } = read_like(file, known);
    let begins = |file: &str| matches!(matter::split(file), Ok(Some(_)));
    let had_front = || exact("", known, &content).is_some_and(|was| begins(&was));
    if is_same(&attributes, known) || (content != file && had_front()) {
        return (Attributes { file: known.file.clone(), ..attributes }, content);
    }
    (known.clone(), file.to_owned())
}

/// Reads a file as one that holds a prompt like `known`.
fn read_like(file: &str, known: &Attributes) -> Read {
    let is_toml = known.front_matter.as_deref().is_some_and(toml_file::is_frame);
    match is_toml.then(|| toml_file::read(file).ok()).flatten() {
        Some((attributes, content)) => Read { attributes, content, odd: None },
        None => read(file, known.dialect.unwrap_or(Dialect::Claude)),
    }
}

/// Whether attributes are the same, apart from the file's path.
fn is_same(read: &Attributes, known: &Attributes) -> bool {
    Attributes { file: known.file.clone(), ..read.clone() } == *known
}
