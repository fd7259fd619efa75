//! A resource's row, and the keys that find it.

use serde::{Deserialize, Serialize};

use crate::items::{self, Item};
use crate::revisions::Kind;

/// Everything that a user sets on a resource, except its name and content. A revision stores these too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// Unique in its project.
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whether the content is served as text. Otherwise it is served as a base64 blob.
    pub text: bool,
    /// Whether the imported file was executable.
    #[serde(default)]
    pub executable: bool,
}

pub type Resource = Item<Attributes>;

impl items::Attributes for Attributes {
    const KIND: Kind = Kind::Resource;
}

/// How to find a resource: by its name or by its URI.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    Name(&'a str),
    Uri(&'a str),
}

impl Key<'_> {
    /// Returns the column of the name or the URI in the rows of `resource_columns!`.
    pub(super) fn column(self) -> usize {
        match self {
            Key::Name(_) => 1,
            Key::Uri(_) => 2,
        }
    }
}
