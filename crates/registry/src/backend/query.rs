//! Queries to registries, and their hits.

use unicode_normalization::char::is_combining_mark;

use mcpkg_base::clock::Millis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Any text; its words are searched in names, descriptions and tags. Without words, every tool matches.
    pub text: String,
    /// Tags that a tool must have, all of them.
    pub tags: Vec<String>,
    /// The most hits to return.
    pub limit: u32,
    /// Whether only cached answers are used, without asking another host.
    pub offline: bool,
    /// Whether each registry is asked even if its cached answer is still valid.
    pub refresh: bool,
}

impl Query {
    /// Returns its words, which are separated by characters that are neither letters nor digits.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        // A combining mark belongs to the letter before it.
        self.text
            .split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .filter(|word| word.contains(char::is_alphanumeric))
    }
}

/// A hit, by the highest version that is neither yanked nor a pre-release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub name: String,
    pub version: String,
    /// What it does, in one line of text from a stranger.
    pub description: String,
    pub tags: Vec<String>,
}

/// What a registry found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many tools match.
    pub total: u64,
    /// When the registry answered so.
    pub checked_at: Millis,
    /// Whether the registry could not be reached, and an older answer is used instead.
    pub stale: bool,
}
