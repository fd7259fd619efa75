//! A list from which a person chooses before something is written.

use super::Body;
use mcpkg_base::error::Result;

/// What a person sees and chooses from.
#[derive(Debug)]
pub struct Pick {
    /// What the person reads above the list.
    pub shown: Body,
    pub heading: String,
    pub question: String,
    pub groups: Vec<PickGroup>,
}

#[derive(Clone, Debug)]
pub struct PickGroup {
    pub title: String,
    /// Whether the items are listed from the start.
    pub is_open: bool,
    pub items: Vec<PickItem>,
}

#[derive(Clone, Debug)]
pub struct PickItem {
    pub title: String,
    /// More lines about the item. They are never cut, because a person agrees to exactly this.
    pub details: Vec<String>,
    pub is_ticked: bool,
}

/// Lets a person choose, and returns for each group which of its items are ticked. Fails if the person leaves.
pub type Choose = dyn Fn(Pick) -> Result<Vec<Vec<bool>>> + Send + Sync;
