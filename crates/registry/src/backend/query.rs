//! Queries to registries, and their hits.

use unicode_normalization::char::is_combining_mark;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_store::Db;
use mcpkg_store::tools::listings::{self, Listing};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The search text. Each word is searched for in names, descriptions and tags. Without words, every tool
    /// matches.
    pub text: String,
    /// Tags that every result must have.
    pub tags: Vec<String>,
    pub limit: u32,
    /// Whether to use only cached responses, without contacting another host.
    pub offline: bool,
    /// Whether to ask each registry even if its cached response is still valid.
    pub refresh: bool,
}

impl Query {
    /// Returns the words of the text; characters other than letters and digits separate words.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        // A combining mark belongs to the letter before it.
        self.text
            .split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .filter(|word| word.contains(char::is_alphanumeric))
    }

    /// Searches the tools that this database lists for a registry, and returns the hits and their total number. The
    /// database lists the tools that were published to it, and those of folder registries.
    pub fn in_database(&self, db: &Db<'_>, registry: &str) -> Result<(Vec<Hit>, u64)> {
        let words: Vec<&str> = self.words().collect();
        let (listings, total) = listings::find(db, registry, &words, &self.tags, self.limit)?;
        let hit = |listing: Listing| {
            let Listing { name, version, description, tags, .. } = listing;
            Hit { name, version, description, tags }
        };
        Ok((listings.into_iter().map(hit).collect(), total))
    }
}

/// A tool that was found. It is represented by its highest version that is not yanked; pre-releases count only if there
/// is nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub name: String,
    pub version: String,
    /// The description, as one line of untrusted text.
    pub description: String,
    pub tags: Vec<String>,
}

/// The result of a search in one registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    pub total: u64,
    /// When the registry sent this result.
    pub checked_at: Millis,
    /// Whether the result may be outdated: it comes from a cached response or index that could not be refreshed.
    pub stale: bool,
}
