//! The results of a search.

use crate::revisions::Kind;

/// A prompt or resource that matches a search.
#[derive(Clone, Debug)]
pub struct Hit {
    pub kind: Kind,
    pub project: String,
    pub name: String,
    pub uri: Option<String>,
    pub description: Option<String>,
    /// How well the item matches. Higher is better. Only comparable within one search.
    pub score: f64,
}
