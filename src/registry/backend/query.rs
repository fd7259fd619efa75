//! What a search asks of a registry, and what it finds.

use unicode_normalization::char::is_combining_mark;

use crate::clock::Millis;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Any text: its words are looked for in names, descriptions and tags. Without a word every tool is found.
    pub text: String,
    /// Tags, each of which a tool has to have.
    pub tags: Vec<String>,
    /// The most hits to return.
    pub limit: u32,
    /// Whether no other host is asked: what was kept of earlier answers has to do.
    pub offline: bool,
    /// Whether each registry is asked anew, also where an answer of its that was kept still holds.
    pub refresh: bool,
}

impl Query {
    /// Returns its words: what stands between characters that are neither letters nor digits.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        // A mark belongs to the letter before it.
        self.text
            .split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .filter(|word| word.contains(char::is_alphanumeric))
    }
}

/// A tool that was found, by the version that counts: the highest that is neither yanked nor a pre-release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its name.
    pub name: String,
    /// The version.
    pub version: String,
    /// What it does, in one line: a stranger's words.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// What a registry found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The best of it, best first.
    pub hits: Vec<Hit>,
    /// How many tools match.
    pub total: u64,
    /// When the registry answered so.
    pub checked_at: Millis,
    /// Whether the registry could not be asked, and an older answer of its stands in.
    pub stale: bool,
}
