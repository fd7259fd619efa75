//! Writes and reads the files of prompts in an export with a manifest. Together, a prompt's file and its entry in the
//! manifest restore exactly the same prompt.

use super::dialect::Dialect;
use super::{Read, matter, read, source, toml_file};
use mcpkg_store::prompts::Attributes;

/// Returns a file that is imported as exactly this prompt, apart from the path; `None` if no file can express the
/// prompt.
pub fn exact(name: &str, attributes: &Attributes, text: &str) -> Option<String> {
    let file = source(name, attributes, text).ok()?;
    let read = read_like(&file, attributes);
    (read.content == text && is_same(&read.attributes, attributes)).then_some(file)
}

/// Front matter without keys. It precedes a text that would be read differently if it were the whole file.
const ALONE: &str = "---\n# The text follows as it is; mcpkg.export.json says the rest.\n---\n";

/// Returns the file of a prompt for an export, which is the first of these that [`listed`] reads as this prompt:
/// 1. the file from [`exact`],
/// 2. the text,
/// 3. [`ALONE`] and the text.
pub fn to_list(name: &str, attributes: &Attributes, text: &str) -> String {
    let reads_back = |file: &String| {
        let (read, content) = listed(file, attributes);
        read == *attributes && content == text
    };
    let files = exact(name, attributes, text).into_iter().chain([text.to_owned()]);
    files.into_iter().find(reads_back).unwrap_or_else(|| ALONE.to_owned() + text)
}

/// Reads a file that [`to_list`] wrote and somebody may have edited. `known` are the prompt's attributes in the
/// manifest. Front matter is read as such if it agrees with `known`, or if [`to_list`] wrote front matter that was
/// then edited. Otherwise the whole file is the text, apart from [`ALONE`] at its start.
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

/// Reads a file as TOML if the prompt with the attributes `known` came from TOML, otherwise as Markdown.
fn read_like(file: &str, known: &Attributes) -> Read {
    let is_toml = known.front_matter.as_deref().is_some_and(toml_file::is_frame);
    match is_toml.then(|| toml_file::read(file).ok()).flatten() {
        Some((attributes, content)) => Read { attributes, content, odd: None },
        None => read(file, known.dialect.unwrap_or(Dialect::Claude)),
    }
}

/// Returns whether the attributes are equal, apart from the file's path.
fn is_same(read: &Attributes, known: &Attributes) -> bool {
    Attributes { file: known.file.clone(), ..read.clone() } == *known
}
