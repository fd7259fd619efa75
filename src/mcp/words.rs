//! Lets a prompt's last argument contain several words, for clients that split the text that a user types.
//!
//! Claude Code passes one word to each argument of a prompt, and drops the rest. So mcpkg lists more arguments for
//! Claude Code than the prompt has, and appends the words in the additional ones to the prompt's last argument.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcpkg_base::error::{Error, Result};
use mcpkg_content::answer::arguments;
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::prompts::Argument;

/// The name of the client that splits its input into words.
pub(super) const SPLITS: &str = "claude-code";

/// The number of additional arguments to list.
const MORE: usize = 24;

/// The prefix of the additional arguments' names; a number follows it, as in `word_1`.
const PREFIX: &str = "word_";

/// Appends a prompt's arguments, a JSON array, as one client needs them.
///
/// If a prompt takes the whole line that the user types after its name (`takes_line`), its only argument is listed as
/// required, because some clients ask only for required arguments. This is not done for a client that splits its input
/// (`splits`), because it sends the typed text anyway.
pub(super) fn push(stored: &[u8], takes_line: bool, splits: bool, out: &mut Vec<u8>) -> Result<()> {
    if !splits && !takes_line {
        out.extend_from_slice(stored);
        return Ok(());
    }
    let stored = std::str::from_utf8(stored);
    let stored = stored.map_err(|error| damaged_value("a prompt's arguments are not UTF-8").with_source(error))?;
    let mut shown = arguments(Some(stored))?;
    if splits {
        let more = if shown.is_empty() { 0 } else { MORE };
        let argument = |number| Argument { name: format!("{PREFIX}{number}"), description: None, required: false };
        shown.extend((1..=more).map(argument));
    } else if let [only] = shown.as_mut_slice() {
        only.required = true;
    }
    serde_json::to_writer(out, &shown).map_err(|error| {
        Error::internal(
            "a prompt's arguments cannot be written as \
        JSON",
        )
        .with_source(error)
    })
}

/// Returns the client's arguments with the additional words appended to the last one.
pub(super) fn joined<'g>(
    given: &'g BTreeMap<String, String>,
    declared: &[Argument],
) -> Cow<'g, BTreeMap<String, String>> {
    let is_own = |name: &str| declared.iter().any(|argument| argument.name == name);
    let words = (1..=MORE).map(|number| format!("{PREFIX}{number}")).filter(|name| !is_own(name));
    let words: Vec<String> = words.filter(|name| given.contains_key(name)).collect();
    let (Some(last), false) = (declared.last(), words.is_empty()) else { return Cow::Borrowed(given) };
    let mut joined = given.clone();
    for word in words {
        let Some(word) = joined.remove(&word) else { continue };
        let text = joined.entry(last.name.clone()).or_default();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word);
    }
    Cow::Owned(joined)
}
