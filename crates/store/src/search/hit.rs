//! The results of a search.

use crate::revisions::Kind;

/// A prompt or resource that holds the words, best first.
#[derive(Clone, Debug)]
pub struct Hit {
    pub kind: Kind,
    /// The name of its project.
    pub project: String,
    pub name: String,
    pub uri: Option<String>,
    pub description: Option<String>,
    /// How well it fits; higher is better, only comparable within one search.
    pub score: f64,
}
