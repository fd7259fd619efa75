//! Defines the type of a doctor check, and how deep a check goes.

use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Finding};

/// How thorough a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Quick checks only: no other host is contacted, and no large archive is read.
    Brief,
    Whole,
}

pub(super) type Look = fn(&Context, Depth) -> Result<Vec<Finding>>;
