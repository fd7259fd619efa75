//! `mcpkg search`: full-text search in prompts and resources, best hits first, each with a snippet.

use memchr::memmem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::GROUP;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{self, Body, Context, Effect, Faces, Operation, Reply, Table};
use mcpkg_store::blobs::{self, Verify};
use mcpkg_store::{projects, search};

/// The approximate maximum length of a snippet in bytes.
const SNIPPET: usize = 160;

/// The maximum number of words in a query. Each word costs another index lookup.
const MAX_WORDS: usize = 64;

/// The maximum length of a query in bytes.
const MAX_QUERY: usize = 4096;

/// Search prompts and resources
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Search {
    /// Words or word prefixes to search for; results contain all of them
    #[arg(value_name = "WORDS", required = true, num_args = 1..)]
    #[schemars(with = "String")]
    #[serde(deserialize_with = "words")]
    query: Vec<String>,
    /// Maximum number of results
    #[arg(long)]
    limit: Option<u32>,
    /// Search all projects
    #[arg(long)]
    #[serde(skip)]
    all: bool,
}

fn words<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(vec![String::deserialize(deserializer)?])
}

/// The hits, best first
#[derive(Serialize, JsonSchema)]
pub struct SearchResults {
    hits: Vec<Hit>,
}

#[derive(Serialize, JsonSchema)]
struct Hit {
    /// Kind of result: prompt or resource
    kind: &'static str,
    project: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    snippet: String,
}

impl Operation for Search {
    const TOOL: &'static str = "search_content";
    const CLI: &'static [&'static str] = &["search"];
    const TITLE: &'static str = "Search content";
    const ABOUT: &'static str = "Search the full text of stored prompts, documents and skills";
    const USER_WORDS: &'static str = "Find notes";
    const HELP: &'static str = "A query can have up to 64 words. The whole query can be up to 4,096 bytes long. \
        In Chinese, Japanese, Korean, Thai and similar scripts, a query can match any part of a text. mcpkg \
        searches only the first 16 MiB of each text.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg search sql injection", "mcpkg search --all retry"];
    const EFFECT: Effect = Effect::Read;
    const ONE_AT_A_TIME: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const LISTS: Option<&'static str> = Some("hits");
    type Output = SearchResults;

    fn is_hot(&self) -> bool {
        true
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let text = self.query.join(" ");
        if text.len() > MAX_QUERY {
            let why = format!("The query is {} bytes long, but the limit is {MAX_QUERY} bytes", text.len());
            return Err(Error::new(Code::InvalidArgument, why));
        }
        let words: Vec<&str> = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
        if words.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "The query contains no words"));
        }
        if words.len() > MAX_WORDS {
            let why = format!("The query has {} words, but the limit is {MAX_WORDS} words", words.len());
            return Err(Error::new(Code::InvalidArgument, why));
        }
        let limit = op::limit(self.limit, 20, 1000)?;
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let hits = context.store.read(|db| {
            let project = if self.all { None } else { Some(projects::require(db, &context.selection)?.id) };
            search::find(db, project, &words, limit, |_, content| {
                db.check_deadline()?;
                // A single damaged content must not hide the other hits.
                const DAMAGED: &str = "(its content is damaged)";
                let Some(content) = content else { return Ok(DAMAGED.to_owned()) };
                let mut body = Vec::new();
                let read = blobs::stream(db, content, Verify::Checksum, |piece| {
                    if body.len() < search::INDEXED << 20 {
                        body.extend_from_slice(piece);
                    }
                    Ok(())
                });
                match read {
                    Ok(()) => Ok(snippet(&legible(body), &lower)),
                    Err(error) if error.code() == Code::Damaged => Ok(DAMAGED.to_owned()),
                    Err(error) => Err(error),
                }
            })
        })?;
        let hits = hits.into_iter().map(|(hit, snippet)| {
            let search::Hit { kind, project, name, uri, description, score: _ } = hit;
            Hit { kind: kind.word(), project, name, uri, description, snippet }
        });
        let hits: Vec<Hit> = hits.collect();
        let rows = hits
            .iter()
            .map(|hit| {
                let name = if self.all { format!("{}/{}", hit.project, hit.name) } else { hit.name.clone() };
                let mut row = vec![hit.kind.to_owned(), name, hit.snippet.clone()];
                if !context.is_shell() {
                    row.insert(2, hit.description.clone().unwrap_or_default());
                    row.insert(2, hit.uri.clone().unwrap_or_default());
                }
                row
            })
            .collect();
        let columns: &[&str] = match context.is_shell() {
            true => &["KIND", "NAME", "TEXT"],
            false => &["KIND", "NAME", "URI", "DESCRIPTION", "TEXT"],
        };
        let table = Table { columns, rows, empty: format!("No matches for '{text}'") };
        Reply::written(context, Body::Table(table), &SearchResults { hits })
    }
}

/// Converts content to text. Invalid UTF-8, such as a character that was cut in half, becomes U+FFFD.
fn legible(content: Vec<u8>) -> String {
    String::from_utf8(content).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Returns the text around the first occurrence of any of `words` (lower case), on one line. If the text contains none of
/// them literally, returns the beginning of the text.
fn snippet(body: &str, words: &[String]) -> String {
    let lower = body.to_lowercase();
    // If lower-casing changed the length of the text, positions in the two texts differ. Use the beginning then.
    let found = if lower.len() == body.len() {
        words.iter().filter_map(|word| memmem::find(lower.as_bytes(), word.as_bytes())).min()
    } else {
        None
    };
    let start = body.floor_char_boundary(found.unwrap_or(0).saturating_sub(SNIPPET / 4));
    let end = body.ceil_char_boundary((start + SNIPPET).min(body.len()));
    let mut snippet = String::with_capacity(SNIPPET + 2 * '…'.len_utf8());
    if start > 0 {
        snippet.push('…');
    }
    for (n, word) in body[start..end].split_whitespace().enumerate() {
        if n > 0 {
            snippet.push(' ');
        }
        snippet.push_str(word);
    }
    if end < body.len() {
        snippet.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_are_around_the_word_and_on_one_line() {
        let body = format!("{}needle in\n\thay{}", "é".repeat(300), "z".repeat(300));
        let snippet = snippet(&body, &["needle".to_owned()]);
        assert!(snippet.contains("needle in hay"), "{snippet}");
        assert!(snippet.starts_with('…') && snippet.ends_with('…'));
        assert_eq!(super::snippet("short", &["none".to_owned()]), "short");
    }
}
