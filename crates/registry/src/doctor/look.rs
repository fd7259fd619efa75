//! What a look at an area is: how deep it goes.

use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Finding};

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What takes a moment: no other host is asked, and no large archive is read.
    Brief,
    Whole,
}

/// Looks at one area.
pub(super) type Look = fn(&Context, Depth) -> Result<Vec<Finding>>;
